"""The real command in a real repository: run it, hear what it says, look at what it left.

Every run is checked for what no answer may ever do: print a traceback, or let a control character out raw.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import moot
from moot.logs.sqlite import SqliteLog
from tests.person import AS_A_PERSON

SOURCES = Path(moot.__file__).resolve().parents[1]
PATIENCE = 60.0
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# One of several: "1 events". What is counted is a noun with an s, and moot counts these.
MISCOUNTED = re.compile(
    r"(?<![#\w.,:-])1 (events|commits|streams|tasks|messages|effects|problems|attempts|other claims|claims|agents|bytes"
    r"|entries|files|worktrees|defects|fields|requests|handlers|receipts|checks)\b"
)


class Ran(NamedTuple):
    """What a run came to."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        assert self.code == 0, self
        return json.loads(self.out)["result"]

    @property
    def error(self) -> dict[str, Any]:
        assert self.code != 0, self
        return json.loads(self.out)


class Command:
    """`moot`, as called from one repository, with nothing of this process's environment."""

    def __init__(self, repo: Path, linked: Path, home: Path) -> None:
        self.repo = repo
        self.linked = linked
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            **AS_A_PERSON,
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(SOURCES),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def __call__(
        self,
        *words: str | bytes,
        agent: str | None = None,
        incarnation: int | None = None,
        cwd: Path | None = None,
        input: str | bytes = b"",  # noqa: A002 (as in subprocess)
        before: Any = None,
        **environment: str,
    ) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "moot", *words],
            cwd=cwd or self.repo,
            env=self._environment(agent, incarnation, environment),
            input=input.encode() if isinstance(input, str) else input,
            preexec_fn=before,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ran.err, ran.err
        assert not RAW.search(ran.out), ran
        assert not RAW.search(ran.err), ran
        assert not MISCOUNTED.search(ran.out + ran.err), ran
        return ran

    def at_a_terminal(self, *words: str, agent: str | None = None, program: Sequence[str] = ("-m", "moot")) -> Ran:
        """The same with a terminal as output, as a person has it. `program`: what Python runs."""
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(
                [sys.executable, *program, *words],
                cwd=self.repo,
                env=self._environment(agent, None, {"TERM": "xterm-256color", "COLUMNS": "160"}),
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
            )
        finally:
            os.close(theirs)
        try:
            shown = _everything(ours)
            return Ran(process.wait(PATIENCE), shown.decode().replace("\r\n", "\n"), "")
        finally:
            os.close(ours)
            if process.poll() is None:
                process.kill()
                process.wait()

    def popen(self, *words: str, agent: str | None = None) -> subprocess.Popen[str]:
        """A run that goes on; the caller ends it."""
        return subprocess.Popen(
            [sys.executable, "-m", "moot", *words],
            cwd=self.repo,
            env=self._environment(agent, None, {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def head(self) -> int:
        """The position of the last event in the log."""
        log = SqliteLog(str(self.repo / ".git" / "moot"))
        try:
            return log.head()
        finally:
            log.close()

    def _environment(self, agent: str | None, incarnation: int | None, more: dict[str, str]) -> dict[str, str]:
        who = {"MOOT_AGENT": agent} if agent is not None else {}
        if incarnation is not None:
            who["MOOT_INCARNATION"] = str(incarnation)
        return {**self.environment, **who, **more}


def tokens(text: str) -> float:
    """An upper estimate for English and commands, the same everywhere: a quarter of the characters, 1.3 per word."""
    return max(len(text) / 4, 1.3 * len(text.split()))


def _everything(terminal: int) -> bytes:
    """All that comes out of a terminal until the other side is closed."""
    shown, end = b"", time.monotonic() + PATIENCE
    while (left := end - time.monotonic()) > 0:
        if not select.select([terminal], [], [], left)[0]:
            break
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says so when the last writer is gone
            return shown
        if not piece:
            return shown
        shown += piece
    raise TimeoutError(shown)


def git(directory: Path, *words: str) -> str:
    somebody = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *somebody, *words], cwd=directory, env=env, check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    return done.stdout


def new_command(directory: Path) -> Command:
    """A repository with a second worktree below `directory`, and the command in it."""
    directory = Path(os.path.realpath(directory))
    repo, linked, home = directory / "repo", directory / "linked", directory / "home"
    home.mkdir()
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "begin")
    git(repo, "worktree", "add", "-q", str(linked))
    return Command(repo, linked, home)
