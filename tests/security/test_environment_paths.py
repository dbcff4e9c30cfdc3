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


def test_git_init_in_a_plain_workspace_is_noticed_and_its_log_is_carried_over(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    plain = tmp_path / "plain"
    plain.mkdir()
    command("init", cwd=plain)
    command("join", "Ada", cwd=plain)
    assert command("send", "Ada", "remember me", agent="Ada", cwd=plain).code == 0
    events = command("export", "-", cwd=plain).out
    subprocess.run(["git", "init", "-q"], cwd=plain, check=True, timeout=60)
    for words in (["board"], ["inbox"], ["send", "Ada", "x"]):
        ran = command("--json", *words, agent="Ada", cwd=plain)
        assert ran.error["error"] == "no_log"
        assert str(plain / ".moot" / "log.db") in ran.error["message"]
        assert "moot init --carry-over" in ran.error["remedy"]
    assert "log_left_behind" in command("init", cwd=plain).err, "nor is a new one begun beside it"
    assert not (plain / ".git" / "moot" / "log.db").exists()
    ran = command("--json", "init", "--carry-over", cwd=plain)
    kept = Path(ran.result["carried_over"])
    assert command("export", "-", cwd=plain).out == events
    assert "remember me" in command("inbox", agent="Ada", cwd=plain).out
    assert kept.parent == plain / ".moot"
    assert kept.stat().st_mode & 0o777 == 0o600
    fresh = new_home(tmp_path, kept)
    assert command("export", "-", cwd=fresh).out == events, "the old log is kept, whole"
    assert command("verify", cwd=plain).code == 0
    assert "nothing_to_carry_over" in command("init", "--carry-over", cwd=plain).err
    assert command("init", cwd=plain).code == 0


def new_home(tmp_path: Path, log: Path) -> Path:
    """A plain workspace with this log."""
    home = tmp_path / "fresh"
    (home / ".moot").mkdir(parents=True, mode=0o700)
    (home / ".moot" / "log.db").write_bytes(log.read_bytes())
    return home


def test_one_who_still_has_the_old_log_open_is_told_and_writes_nothing_into_it(tmp_path: Path) -> None:
    from moot.core.errors import MootError
    from moot.core.event import Commit, Draft
    from moot.logs.sqlite import SqliteLog

    command = new_command(tmp_path)
    plain = tmp_path / "plain"
    plain.mkdir()
    command("init", cwd=plain)
    command("join", "Ada", cwd=plain)
    old = SqliteLog(str(plain / ".moot"))
    try:
        old.append(Commit(id="c1", at="2031-05-08T09:30:00.125Z", by="moot"), {}, [Draft("topic/a", "a:b", {"x": 1})])
        subprocess.run(["git", "init", "-q"], cwd=plain, check=True, timeout=60)
        assert command("init", "--carry-over", cwd=plain).code == 0
        with pytest.raises(MootError) as told:
            old.append(Commit(id="c2", at="2031-05-08T09:30:01.125Z", by="moot"), {}, [Draft("topic/a", "a:b", {})])
        assert told.value.code == "no_log"
    finally:
        old.close()
    new = SqliteLog(str(plain / ".git" / "moot"))
    try:
        assert "a:b" in [event.type for event in new.read(0, 100)], "also what was only in its write-ahead log"
    finally:
        new.close()


def test_two_logs_are_not_made_one(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    command("init")
    plain = new_home(tmp_path, command.repo / ".git" / "moot" / "log.db")
    (plain / ".moot").rename(command.repo / ".moot")
    before = (command.repo / ".moot" / "log.db").read_bytes()
    assert "workspace_exists" in command("init", "--carry-over").err
    assert (command.repo / ".moot" / "log.db").read_bytes() == before
    assert command("board").code == 0
