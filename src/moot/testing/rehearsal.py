"""A workspace in a temporary directory, with agents that run scripts.

Each agent is a thread with its own workspace. It uses the Python API, and runs command lines as real processes. Every
wait is bounded.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shlex
import shutil  # noqa: TID253 (only tests load this module)
import subprocess  # noqa: TID253
import sys
import threading  # noqa: TID253
import time

import moot.api
import moot.core
import moot.engine
import moot.logs
import moot.views
from moot.core.errors import MootError, TimedOut
from moot.core.identity import AGENTS_SHELLS
from moot.surfaces.python import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    Step = str | Callable[[Workspace], Any]
    Script = Step | Sequence[Step]
    Found = TypeVar("Found")

_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_CEILING_DIRECTORIES", "TRACEPARENT")
_SHOWN = 10  # events shown when a wait times out


def _load_verbs() -> None:
    """Import what the agents' threads would import, one after the other.

    pytest rewrites each module as it is loaded, and the parser of Python 3.11 fails if two threads use it at once.
    """
    for room in (moot.core, moot.views, moot.engine, moot.api, moot.logs):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)


class ScriptedAgent:
    """A running agent. `result` waits for the script, returns its result or raises its exception."""

    def __init__(self, name: str, root: str, script: Script, roles: Sequence[str], patience: float) -> None:
        self.name = name
        self.failure: BaseException | None = None
        self.reported = False
        self._root = root
        self._steps = (script,) if isinstance(script, str) or callable(script) else tuple(script)
        self._roles = roles
        self._patience = patience
        self._returned: Any = None
        _load_verbs()
        self._thread = threading.Thread(target=self._run, name=f"moot-agent-{name}", daemon=True)
        self._thread.start()

    @property
    def working(self) -> bool:
        return self._thread.is_alive()

    def result(self, timeout: float | None = None) -> Any:
        """The result of the script's last step. Raises its exception, or `TimedOut` if it is still running."""
        self.wait(self._patience if timeout is None else timeout)
        self.raise_failure()
        if self.working:
            self.reported = True
            raise self.too_slow()
        return self._returned

    def wait(self, timeout: float) -> None:
        self._thread.join(timeout)

    def raise_failure(self) -> None:
        if self.failure is not None:
            self.reported = True
            raise self.failure

    def too_slow(self) -> TimedOut:
        return TimedOut(
            "agent_still_working",
            f"{self.name} is still running.",
            "Give its waits a shorter timeout, or the test more patience: @pytest.mark.moot(patience=…).",
            agent=self.name,
        )

    def _run(self) -> None:
        try:
            with Workspace(self._root) as ws:
                ws.join(self.name, role=self._roles, client="moot.testing")
                try:
                    for step in self._steps:
                        self._returned = self._command(ws, step) if isinstance(step, str) else step(ws)
                except BaseException as error:
                    self.failure = error  # set before it leaves, because leaving wakes the waiters
                    raise
                finally:
                    self._leave(ws)
        except BaseException as error:  # the outermost edge of a thread: the test raises it
            self.failure = self.failure or error

    def _leave(self, ws: Workspace) -> None:
        """Leave, unless the script has left or another agent has taken over the name."""
        if ws.agent == self.name and any(m.name == self.name and m.incarnation == ws.incarnation for m in ws.agents()):
            ws.leave()

    def _command(self, ws: Workspace, line: str) -> str:
        return run_command(ws, self._root, shlex.split(line), self._patience)


def run_command(agent: Workspace, root: str, words: Sequence[str], patience: float) -> str:
    """Run a `moot` command as this agent, in a real process; returns its output."""
    env = {**os.environ, "MOOT_AGENT": str(agent.agent), "MOOT_INCARNATION": str(agent.incarnation)}
    argv = [sys.executable, "-m", "moot", *words]
    done = subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, timeout=patience, check=False)
    if done.returncode:
        raise AssertionError(
            f"{agent.agent}: `moot {shlex.join(words)}` ended with {done.returncode}: {done.stderr.strip()}"
        )
    return done.stdout


class Rehearsal:
    """The value of `moot_workspace`: a person in the workspace, and agents that run scripts."""

    def __init__(self, path: str, packs: str | Sequence[str], patience: float) -> None:
        self.path = path
        self.patience = patience
        self.agents: list[ScriptedAgent] = []
        self.person = Workspace.init(path, packs, person=True)

    def open(self, agent: str | None = None) -> Workspace:
        """Open another handle on the workspace, for an agent or the person. The caller closes it."""
        return Workspace(self.path, agent=agent, person=agent is None)

    def agent(self, name: str, script: Script, *, role: str | Sequence[str] = ()) -> ScriptedAgent:
        """Start an agent in its own thread: it joins, runs its script and leaves.

        A script is a function that gets the agent's `Workspace`, or a `moot` command line, or a list of both.
        """
        agent = ScriptedAgent(name, self.path, script, (role,) if isinstance(role, str) else role, self.patience)
        self.agents.append(agent)
        return agent

    def until(self, found: Callable[[Workspace], Found], timeout: float | None = None) -> Found:
        """Check after each event until `found(person's workspace)` is true, and return that value.

        Raises the exception of an agent that fails meanwhile, or `TimedOut` with the last events.
        """
        end = time.monotonic() + (self.patience if timeout is None else timeout)
        while True:
            last = self.person.log(limit=1)
            position = last[0].position if last else 0
            for agent in self.agents:
                agent.raise_failure()
            if value := found(self.person):
                return value
            left = end - time.monotonic()
            if left <= 0:
                raise self._timed_out()
            next(self.person.follow(after=position, timeout=left), None)

    def join(self, timeout: float | None = None) -> None:
        """Wait until every agent has ended, and raise their failures."""
        end = time.monotonic() + (self.patience if timeout is None else timeout)
        for agent in self.agents:
            agent.result(max(0.0, end - time.monotonic()))

    def close(self) -> None:
        """End the test: stop all agents, raise failures that were not raised yet, verify the log."""
        failures = self._failures()
        try:
            if not any(agent.working for agent in self.agents):
                self.person.verify()
        except MootError as error:
            failures.append(error)
        finally:
            self.person.close()
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise BaseExceptionGroup("scripted agents failed", failures)

    def _failures(self) -> list[BaseException]:
        failures: list[BaseException] = []
        end = time.monotonic() + self.patience
        for agent in self.agents:
            agent.wait(max(0.0, end - time.monotonic()))
            if not agent.reported and agent.failure is not None:
                failures.append(agent.failure)
            elif not agent.reported and agent.working:
                failures.append(agent.too_slow())
        return failures

    def _timed_out(self) -> TimedOut:
        last = [
            f"{event.position} {event.type} {event.stream} by {event.by}" for event in self.person.log(limit=_SHOWN)
        ]
        return TimedOut(
            "timeout",
            "The condition did not become true. The last events: " + ("; ".join(last) or "none"),
            "Check which event is missing, or wait longer: until(…, timeout=…).",
        )


def rehearse(
    path: os.PathLike[str],
    without: Callable[..., None],
    packs: str | Sequence[str] = (),
    *,
    files: Sequence[str] = (),
    git: bool = True,
    patience: float = 30.0,
) -> Iterator[Rehearsal]:
    """A rehearsal in `path`. Variables of moot in the environment of the test run are ignored.

    `files` are files and folders of the current directory that the workspace starts with.
    """
    for name in (*_FOREIGN, *AGENTS_SHELLS, *(name for name in os.environ if name.startswith("MOOT_"))):
        without(name, raising=False)
    if git:
        _make_repository(os.fspath(path))
    for name in files:
        _copy(name, os.path.join(path, name))
    rehearsal = Rehearsal(os.fspath(path), packs, patience)
    try:
        yield rehearsal
    finally:
        rehearsal.close()


def _copy(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def _make_repository(path: str) -> None:
    if shutil.which("git") is None:
        return  # without git, use a plain directory
    subprocess.run(["git", "init", "--quiet", path], check=True, timeout=60, stdin=subprocess.DEVNULL)
    author = ("-c", "user.name=moot", "-c", "user.email=moot@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", "-C", path, *author, "commit", "--quiet", "--allow-empty", "--no-verify", "-m", "start"],
        check=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
