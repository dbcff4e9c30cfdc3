"""A repository with a pipeline whose agent is a script, and helpers to run it in this process or in another one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moot import Workspace
from moot.core.errors import AwaitedFailed, MootError, TimedOut

HERE = Path(__file__).resolve().parent
PATIENCE = 60
GOOD = """
os.makedirs("reports", exist_ok=True)
open(report, "w").write("".join(f"- {h}\\n" for h in headings) + "\\n\\n")
print("status: success")
"""
PREAMBLE = """
import json, os, re, signal, subprocess, sys, time
prompt = sys.stdin.read()
source = re.search("Read the source: (.*)", prompt)[1]
report = re.search("Write the report: (.*)", prompt)[1]
note = re.search("In (.*), change only", prompt)[1]
headings = json.loads(re.search('{"outline":.*}', prompt)[0])["outline"]
with open("RAN", "a") as file:
    file.write(source + "\\n")
"""


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether it runs. A zombie does not: whoever has adopted it may never look."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


class Notes:
    """The repository. `agent` writes the agent's script."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.script = root.parent / "agent.py"
        self.agent(GOOD)
        self.source("a.txt", "# One\ntext\n# Two\n")
        (root / ".gitignore").write_text("RAN\nFAULT\nnotes/\n")
        self.configure()
        with Workspace.init(root, person=True):
            pass
        self.person = Workspace(root, person=True)
        self.person.allow("notes.draft_report", yes=True)

    def configure(self, more: str = "", timeout: str = "60s", parallel: int = 1) -> None:
        command = json.dumps([sys.executable, str(self.script)])
        (self.root / "moot.toml").write_text(
            f'packs = ["notes"]\n[pack.notes]\nparallel = {parallel}\n[run.notes]\n'
            f'draft_report = {{ command = {command}, timeout = "{timeout}" }}\n{more}'
        )

    def reopen(self) -> None:
        """Use the settings as they are now."""
        self.person.close()
        self.person = Workspace(self.root, person=True)

    def rename_agent(self) -> None:
        """The same agent by another command."""
        self.script = self.script.rename(self.script.with_name("other.py"))
        self.configure()
        self.reopen()
        self.person.allow("notes.draft_report", yes=True)

    def agent(self, body: str) -> None:
        self.script.write_text(PREAMBLE + body)

    def source(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run(self, *paths: str, **options: Any) -> list[str]:
        """Run it here. The steps as `stage what`, without those that only announce."""
        self.error: MootError | None = None
        self.steps: list[Any] = []
        found = []
        try:
            for step in self.person.run("notes", list(paths) or ["a.txt"], **options):
                self.steps.append(step)
                if step.what not in ("ready", "opened", "started"):
                    found.append(f"{step.stage} {step.what}".strip())
        except (AwaitedFailed, TimedOut) as error:
            self.error = error
        return found

    def elsewhere(self, *words: str, fault: str = "") -> subprocess.CompletedProcess[str]:
        """Run it in another process, which may kill itself at a point."""
        if fault:
            (self.root / "FAULT").write_text(fault)
        command = [sys.executable, "-m", "moot", "--person", "run", "notes", *(words or ("a.txt",))]
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            command, cwd=self.root, env=env, text=True, capture_output=True, timeout=PATIENCE, check=False
        )

    def note(self, name: str = "a") -> dict[str, object]:
        found: dict[str, object] = json.loads((self.root / "notes" / f"{name}.json").read_text())
        return found

    def ran(self) -> int:
        """How often the agent was started."""
        path = self.root / "RAN"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def states(self, run: str | None = None) -> dict[str, str]:
        status: Any = self.person.run_status(run)
        return {one.stage: one.state for one in status.stages}

    def drivers(self) -> list[str]:
        folder = self.root / ".git" / "moot" / "drivers"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place where the pack is installed, for this process and those that it starts."""
    site = tmp_path / "site"
    shutil.copytree(HERE / "notes", site / "notespack", ignore=shutil.ignore_patterns("__pycache__"))
    about = site / "notespack-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: notespack\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[moot.packs]\nnotes = notespack.protocol:Notes\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    yield site
    for name in [name for name in sys.modules if name.partition(".")[0] == "notespack"]:
        del sys.modules[name]


@pytest.fixture
def notes(tmp_path: Path, site: Path) -> Iterator[Notes]:
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=PATIENCE)
    made = Notes(root)
    yield made
    made.person.verify()  # whatever happened, log and views agree
    made.person.close()
