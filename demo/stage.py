"""A temporary repository with two worktrees, and the processes of the demo.

Only processes that were started here are killed, by their ids.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from moot.core.identity import AGENTS_SHELLS
from moot.place.account import login

HERE = Path(__file__).resolve().parent

# Variables that would make the processes of the demo use something outside of it.
FOREIGN = ("GIT_", "MOOT_", "PYTHONDONTWRITEBYTECODE", *AGENTS_SHELLS)


class Stage:
    """Two worktrees: `desk`, on main, for planning and reviewing; `bench` for building."""

    agents = HERE / "agents"

    def __init__(self, speed: float, settings: str) -> None:
        """`settings`: the content of moot.toml."""
        self.settings = settings
        self.root = Path(tempfile.mkdtemp(prefix="moot-demo-"))
        self.desk, self.bench = self.root / "desk", self.root / "bench"
        self.person = login()
        self.env = self._environment(speed)
        self.started: dict[str, subprocess.Popen[bytes]] = {}

    def build(self) -> None:
        """Create the repository, its two worktrees, and a `moot` command that runs the code of this tree."""
        command = self.root / "bin" / "moot"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m moot "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        (self.root / "run").mkdir(0o700)
        (self.root / "lib").mkdir()
        (self.root / "lib" / "craft.py").symlink_to(HERE / "craft.py")
        self.desk.mkdir()
        self.git("init", "--quiet")
        self.git("symbolic-ref", "HEAD", "refs/heads/main")
        (self.desk / "moot.toml").write_text(self.settings, encoding="utf-8")
        (self.desk / ".gitignore").write_text(".claude-orchestrator/\n__pycache__/\n", encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "An empty till")
        self.git("worktree", "add", "--quiet", "-b", "bench", str(self.bench))

    def git(self, *words: str) -> str:
        """Run git at the desk."""
        command = ["git", *words]
        done = subprocess.run(command, cwd=self.desk, env=self.env, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def run(self, *words: str, timeout: float = 60, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command at the desk, or in another folder, and wait for it."""
        pipe = subprocess.PIPE
        return subprocess.run(
            words,
            cwd=folder or self.desk,
            env=self.env,
            check=False,
            stdout=pipe,
            stderr=pipe,
            text=True,
            timeout=timeout,
        )

    def start(self, name: str, folder: Path, *words: str) -> None:
        """Start a process in its own process group. Its output goes into a file."""
        environment = {**self.env, "GIT_AUTHOR_NAME": name, "GIT_COMMITTER_NAME": name}
        with self.said(name).open("ab") as out:
            self.started[name] = subprocess.Popen(
                words,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def start_script(self, name: str, folder: Path, script: str) -> None:
        self.start(name, folder, sys.executable, str(self.agents / script))

    def start_agent(self, name: str, folder: Path, script: str, *options: str) -> None:
        """Start an agent script under a name: `moot as NAME -- python SCRIPT`."""
        self.start(name, folder, "moot", "as", name, *options, "--", sys.executable, str(self.agents / script))

    def said(self, name: str) -> Path:
        return self.root / f"{name}.txt"

    def kill(self, name: str) -> None:
        """Kill a process and its children, as a crash would."""
        process = self.started.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self, name: str) -> None:
        """Ask a process to end, and wait for it."""
        process = self.started.pop(name)
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)

    def ended_well(self, name: str) -> bool:
        """Whether a process ended with success."""
        return name in self.started and self.started[name].poll() == 0

    def failed(self) -> list[str]:
        """The processes that ended with an error."""
        return [name for name, process in self.started.items() if process.poll()]

    def clear(self, *, keep: bool) -> None:
        for name in list(self.started):
            if self.started[name].poll() is None:
                self.kill(name)
        if not keep:
            shutil.rmtree(self.root, ignore_errors=True)

    def _environment(self, speed: float) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        return {
            **kept,
            "PATH": f"{self.root / 'bin'}{os.pathsep}{kept.get('PATH', os.defpath)}",
            # Only `craft.py`. Its folder also has the finished program, which no agent may import by accident.
            "PYTHONPATH": os.pathsep.join([str(self.root / "lib"), *filter(None, [kept.get("PYTHONPATH")])]),
            "MOOT_PERSON": "1",
            "XDG_RUNTIME_DIR": str(self.root / "run"),
            "DEMO_SPEED": str(speed),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "person",
            "GIT_COMMITTER_NAME": "person",
            "GIT_AUTHOR_EMAIL": "demo@localhost",
            "GIT_COMMITTER_EMAIL": "demo@localhost",
        }
