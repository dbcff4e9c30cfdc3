"""Days with a pipeline for Python files in a folder of the repository, whose agent is a script."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.runs.pipelines.conftest import PATIENCE, is_running, until
from tests.surfaces.command import new_command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.surfaces.command import Ran

PACK = """
name = "python"
title = "Python files from specs"
version = "1.0"

[pipeline.files]
spec = "specs/{stem}.md"
tests = "tests/test_{stem}.py"

[[stage]]
name = "implement"
task = "Write the functions that the spec describes."
reads = ["spec"]
writes = ["source"]

[[stage]]
name = "compile"
answer = "exit"
reads = ["source"]

[[stage]]
name = "test"
answer = "exit"
reads = ["source", "tests"]
"""
TESTS = """
import unittest, prices
class TotalTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(prices.total([2, 3]), 5)
"""
AGENT = """
import os, signal, sys, time
prompt = sys.stdin.read()
open(os.path.dirname(__file__) + "/prompt", "w").write(prompt)
def save(text):
    with open("prices.py", "w") as file:
        file.write(text)
RIGHT = "def total(prices):\\n    return sum(prices)\\n"
WRONG = RIGHT.replace(")\\n", ") + 1\\n").replace("prices) + 1:", "prices):")
BROKEN = RIGHT.replace("sum", "sum(")
"""
DONE = "print('status: success')\n"


class Project:
    """The repository, after a person has set it up and allowed its commands."""

    def __init__(self, folder: Path) -> None:
        self.moot = new_command(folder)
        self.root, self._script, self.prompt = self.moot.repo, folder / "agent.py", folder / "prompt"
        commands = {
            "implement": [str(self._script)],
            "compile": ["-m", "py_compile", "{source}"],
            "test": ["-B", "-m", "unittest", "-q", "{tests}"],
        }
        lines = [f"{name} = {json.dumps([sys.executable, *words])}" for name, words in commands.items()]
        self.write(
            "moot.toml", "\n".join(['packs = ["python"]', "[pack.python]", 'path = "pack"', "[run.python]", *lines])
        )
        self.write("pack/pack.toml", PACK)
        self.write("specs/prices.md", "`total(prices)` is their sum.\n")
        self.write("tests/test_prices.py", TESTS)
        self.write("prices.py", "")
        self.write(".gitignore", "__pycache__/\n")
        for words in (("init",), ("allow", "--all", "--yes")):
            assert self.moot(*words).code == 0

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)

    def agent(self, body: str) -> None:
        self._script.write_text(f"{AGENT}{body}\n{DONE}")

    def run(self, *words: str) -> list[str]:
        """The ends of stages, and of the run."""
        return ends(self.moot("run", "python", "prices.py", *words))


def ends(ran: Ran) -> list[str]:
    found = re.findall(r"^prices\.py: (\w+ (?:passed|reused|failed)|finished.*|stopped.*)", ran.out, re.MULTILINE)
    assert ran.code == (0 if not any("failed" in one for one in found) else 6), ran
    return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_check_fails_the_agent_is_told_why_it_passes_and_a_change_repeats_only_its_own_stages(
    project: Project,
) -> None:
    project.agent("save(RIGHT if 'AssertionError: 6 != 5' in prompt else WRONG)")
    assert project.run() == ["implement passed", "compile passed", "test failed"]
    assert project.prompt.read_text().startswith("Write the functions that the spec describes.\n")
    said = project.moot("run", "explain").out
    commands = re.search("repeat implement: `moot (.*)`, then go on: `moot (.*)`", said)
    assert commands is not None, said
    repeat, go_on = (shlex.split(one) for one in commands.groups())
    assert ends(project.moot(*repeat)) == ["implement passed", "stopped after implement"]
    assert "test: exit code 1" in project.prompt.read_text()
    assert ends(project.moot(*go_on)) == ["implement reused", "compile passed", "test passed", "finished"]
    project.write("tests/test_prices.py", f"{TESTS}# More will follow.\n")
    assert project.run() == ["implement reused", "compile reused", "test passed", "finished"]
    project.write("specs/prices.md", "`total(prices)` is the sum of prices.\n")
    project.agent("save(RIGHT)")
    assert project.run() == ["implement passed", "compile reused", "test reused", "finished"]


def test_a_stage_that_failed_is_corrected_by_the_agent_or_by_a_person_and_the_next_one_runs(project: Project) -> None:
    project.agent("save(BROKEN); sys.exit(3)")
    assert project.run() == ["implement failed"]
    project.agent("save(RIGHT.replace('sum', 'sum' if 'exit code 3' in prompt else ''))")
    assert project.run("--resume") == ["implement passed", "compile passed", "test passed", "finished"]
    project.agent("save(BROKEN); sys.exit(3)")
    assert project.run("--again") == ["implement failed"]
    right = "def total(prices):\n    return sum(prices, 0)  # by hand\n"
    project.write("prices.py", right)
    project.agent("")
    assert project.run("--resume") == ["implement passed", "compile passed", "test passed", "finished"]
    project.agent("save(BROKEN)")
    assert project.run("--again") == ["implement passed", "compile failed"]
    project.write("prices.py", right)
    assert project.run("--resume") == ["implement reused", "compile passed", "test reused", "finished"]
    assert (project.root / "prices.py").read_text() == right


def test_a_run_is_killed_and_restored_and_goes_on_and_the_agent_of_before_writes_no_more(
    project: Project, tmp_path: Path
) -> None:
    project.write("prices.py", "# mine\n")
    project.agent(
        f"open({str(tmp_path / 'up')!r}, 'w').write(str(os.getpid()))\nos.kill(os.getppid(), signal.SIGKILL)\n"
        "while True:\n    save(BROKEN)\n    time.sleep(0.01)"
    )
    assert project.moot("run", "python", "prices.py").code == -signal.SIGKILL
    orphan = int((tmp_path / "up").read_text())
    until(lambda: "sum(" in (project.root / "prices.py").read_text())
    assert is_running(orphan)
    assert "interrupted" in project.moot("run", "status").out
    assert project.moot("run", "restore", "last", "implement").code == 0
    assert (project.root / "prices.py").read_text() == "# mine\n"
    until(lambda: not is_running(orphan))
    project.agent("save(open('prices.py').read() + RIGHT)")
    assert project.run("--resume") == ["implement passed", "compile passed", "test passed", "finished"]
    assert (project.root / "prices.py").read_text().startswith("# mine\ndef total")
    assert project.moot("verify").code == 0


def test_an_agent_that_saves_its_file_five_times_causes_no_warning(project: Project) -> None:
    project.agent("for text in (BROKEN, WRONG, '', BROKEN, RIGHT):\n    save(text)\n    time.sleep(0.05)")
    ran = project.moot("run", "python", "prices.py")
    assert ends(ran)[-1] == "finished"
    assert (ran.err, "warning" in ran.out) == ("", False)


FULL = """
mount -t tmpfs -o size=16m none "$0" && cp -r "$1" "$0/repo" && cd "$0/repo"
moot() { shift; "$PYTHON" -m moot "$@"; echo "code $?"; }
moot - allow --all --yes
echo FULL; moot - run python prices.py
rm ../ballast
echo ROOM; moot - run status; moot - run python prices.py --resume; moot - verify
"""
FILLS = """
if not os.path.exists("../ballast") and not os.path.exists("../freed"):
    open("../freed", "w")
    with open("../ballast", "wb", 0) as file:
        try:
            while file.write(bytes(1 << 16)):
                pass
        except OSError:
            pass
save(RIGHT)
"""


def test_a_disk_fills_up_in_mid_run_and_the_run_goes_on_when_there_is_room(project: Project, tmp_path: Path) -> None:
    own_mounts = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if shutil.which("unshare") is None or subprocess.run([*own_mounts, "true"], check=False).returncode:
        pytest.skip("nobody may mount anything here")
    disk = tmp_path / "disk"
    disk.mkdir()
    project.agent(FILLS)
    command = [*own_mounts, "sh", "-c", FULL, str(disk), str(project.root)]
    environment = {**project.moot.environment, "PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    full, room = done.stdout.partition("FULL")[2].split("ROOM")
    assert re.search(r"\[(disk_full|blob_unwritable)\]\n$", done.stderr), done
    assert ("code 7" in full, "Traceback" in done.stderr) == (True, False), done
    status, resumed, verified = room.split("code 0\n")[:3]
    assert "interrupted at implement" in status, done
    assert "prices.py: finished" in resumed, done
    assert verified, done
