"""Where moot is called from and what the environment says: the current directory is a stranger's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.command import Command, new_command

POPULAR = ["json", "os", "apsw", "rich", "stat", "fcntl", "time", "errno", "re", "__future__", "runpy", "collections",
           "encodings", "subprocess", "tomllib", "hashlib", "sitecustomize", "usercustomize", "typing"]  # fmt: skip


def planted() -> list[str]:
    """What a stranger may call a file. Some are imported by Python's `-m` itself, before moot; nobody can help that."""
    script = "import runpy, importlib.util, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    found = [name for name in POPULAR if name not in done.stdout.split()]
    assert {"json", "apsw", "__future__"} <= set(found)
    return found


@pytest.mark.parametrize("how", [["-m", "moot"], ["-Bm", "moot"], ["-m", "moot.__main__"]], ids=" ".join)
@pytest.mark.parametrize(
    "words", [["--version"], ["board"], ["agents"], ["verify"], ["check", "--", "true"]], ids=" ".join
)
def test_python_m_moot_imports_nothing_from_the_current_directory(
    tmp_path: Path, how: list[str], words: list[str]
) -> None:
    command = new_command(tmp_path)
    command("init")
    command("join", "Ada")
    loot = tmp_path / "loot"
    for name in planted():
        (command.repo / f"{name}.py").write_text(f"open({str(loot)!r}, 'a').write(__name__)\n")
    done = subprocess.run(
        [sys.executable, *how, *words],
        cwd=command.repo,
        env={**command.environment, "MOOT_AGENT": "Ada"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not loot.exists(), loot.read_text()
    assert done.returncode == 0, done.stderr


def test_a_program_that_imports_moot_keeps_its_own_path(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    (command.repo / "mine.py").write_text("import moot, sys\nimport theirs\nprint(moot.__version__, theirs.x)\n")
    (command.repo / "theirs.py").write_text("x = 5\n")
    for words in (["-m", "mine"], ["mine.py"], ["-c", "import mine"]):
        done = subprocess.run(
            [sys.executable, *words], cwd=command.repo, env=command.environment, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.stdout.endswith(" 5\n"), done.stderr


@pytest.fixture
def two(tmp_path: Path) -> tuple[Command, Command]:
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        command = new_command(tmp_path / name)
        command("init")
        command("join", "Ada")
        found.append(command)
    return found[0], found[1]


def test_a_directory_that_is_named_beats_the_variable(two: tuple[Command, Command]) -> None:
    one, other = two
    heads = one.head(), other.head()
    there = {"MOOT_WORKSPACE": str(one.repo)}
    assert other("-C", str(other.repo), "send", "Ada", "hi", agent="Ada", **there).code == 0
    assert (one.head(), other.head() > heads[1]) == (heads[0], True)
    assert other("send", "Ada", "hi", agent="Ada", **there).code == 0
    assert one.head() > heads[0], "without a name the variable holds"
    before = one.head()
    ran = other("-C", str(other.repo), "as", "Bob", "--", sys.executable, "-m", "moot", "send", "Ada", "hi", **there)
    assert ran.code == 0, ran
    assert one.head() == before, "and what is run there is in the same workspace"
    assert "no_workspace" in other("-C", "/", "board", **there).err


# A log that `git init` leaves behind


def test_git_init_in_a_plain_workspace_is_noticed_and_the_remedy_continues_with_its_log(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    plain = tmp_path / "plain"
    plain.mkdir()
    command("init", cwd=plain)
    command("join", "Ada", cwd=plain)
    assert command("send", "Ada", "remember me", agent="Ada", cwd=plain).code == 0
    assert command("claim", "f.py", agent="Ada", cwd=plain).code == 0
    events = command("export", "-", cwd=plain).out
    subprocess.run(["git", "init", "-q"], cwd=plain, check=True, timeout=60)
    for words in (["board"], ["inbox"], ["send", "Ada", "x"]):
        ran = command("--json", *words, agent="Ada", cwd=plain)
        assert ran.error["error"] == "no_log"
        assert str(plain / ".moot" / "log.db") in ran.error["message"]
    refused = command("--json", "init", cwd=plain).error
    assert refused["error"] == "log_left_behind"
    subprocess.run(["sh", "-c", refused["remedy"].split("`")[1]], cwd=plain, check=True, timeout=60)
    assert command("export", "-", cwd=plain).out == events
    assert "remember me" in command("inbox", agent="Ada", cwd=plain).out
    assert command("join", "Eve", cwd=plain).code == 0
    taken = command("claim", "f.py", "--json", agent="Eve", cwd=plain)
    assert taken.error["error"] == "file_held", "Ada counts as seen as before"
    assert command("verify", cwd=plain).code == 0
    assert command("init", cwd=plain).code == 0
