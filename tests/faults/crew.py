"""Real processes in a real repository, and how a test talks to them: one JSON value per line, every wait bounded."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Self

import moot
from moot.api.answer import plain
from moot.core.errors import MootError
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON, ME

if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.clock import Clock

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(moot.__file__).resolve().parents[1]
PATIENCE = 60.0  # seconds; a loaded machine is slow, a broken wait ends
RACERS = 50


class Worker:
    """Another process that does what it is told (see `worker.py`), as a context manager that ends it."""

    def __init__(self, module: str = "tests.faults.worker", sources: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(sources or SOURCES), str(ROOT)])},
        )
        self._heard = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        return self.process.pid

    def tell(self, do: str, **arguments: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, patience: float = PATIENCE) -> Any:
        """What it says next. Fails if it ends or says nothing."""
        assert self.process.stdout
        file, deadline = self.process.stdout.fileno(), monotonic() + patience
        while b"\n" not in self._heard:
            readable, _, _ = select.select([file], [], [], max(0.0, deadline - monotonic()))
            assert readable, f"process {self.pid} says nothing"
            said = os.read(file, 1 << 16)
            assert said, f"process {self.pid} ended with {self.process.wait(PATIENCE)}"
            self._heard += said
        line, self._heard = self._heard.split(b"\n", 1)
        return json.loads(line)

    def ask(self, do: str, patience: float = PATIENCE, **arguments: Any) -> Any:
        self.tell(do, **arguments)
        return self.hear(patience)

    def run(self, verb: str, **arguments: Any) -> Outcome:
        """Carry out a verb in the session that it entered."""
        return Outcome(self.ask("run", verb=verb, arguments=arguments))

    def stop(self) -> None:
        """As Ctrl-Z does, or a laptop's lid for one process."""
        os.kill(self.pid, signal.SIGSTOP)
        self.has_stopped()

    def has_stopped(self) -> bool:
        """Wait until it stands still. False: it did not, and has answered."""
        assert self.process.stdout
        answer = [self.process.stdout]

        def stopped() -> str | None:
            if os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG):
                return "stopped"
            return "answered" if select.select(answer, [], [], 0)[0] else None

        return until(stopped, f"process {self.pid} stops") == "stopped"

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()


class Outcome:
    """What a verb came to in another process: an answer, or a refusal."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        self.error: str | None = said.get("error")
        self.exit: int = said.get("exit", 0)
        self.details: dict[str, Any] = said.get("details", {})
        self.text = f"{said.get('message', '')} {said.get('remedy', '')}"

    def __repr__(self) -> str:
        return f"Outcome({self.said})"

    @property
    def won(self) -> bool:
        return self.error is None

    @property
    def result(self) -> Any:
        assert self.won, self.said
        return self.said["result"]

    @property
    def warnings(self) -> list[str]:
        return self.said["warnings"]


class Crew:
    """Many workers that start at the same moment."""

    def __init__(self, size: int, gate: Path) -> None:
        self.workers = [Worker() for _ in range(size)]
        self._gate = gate
        gate.touch()

    def enter(self, repo: Repo, *, join: bool = True, queue: bool = True) -> list[str]:
        """Everybody opens a session: as an agent of its own, or all as one person. Returns the principals.

        Without `queue` writers do not wait for each other in front of the log, and conflicts do the work.
        """
        names = [f"Agent-{number:02}" for number in range(len(self.workers))] if join else [None] * len(self.workers)
        for number, (worker, name) in enumerate(zip(self.workers, names, strict=True)):
            incarnation = repo.join(name) if name else None
            views = None if queue else str(repo.root.parent / f"views-{number}")
            worker.tell("enter", cwd=str(repo.root), agent=name, incarnation=incarnation, views=views)
        for worker in self.workers:
            worker.hear()
        return [f"{name}#1" if name else ME for name in names]

    def race(self, steps: Callable[[int], Sequence[tuple[str, dict[str, Any]]]]) -> list[list[Outcome]]:
        """Each worker runs its steps, beginning when all are ready. What became of them, per worker."""
        with closed_gate(self._gate):
            for number, worker in enumerate(self.workers):
                worker.tell("race", gate=str(self._gate), steps=list(steps(number)))
            for worker in self.workers:
                assert worker.hear() == "ready"
        return [[Outcome(said) for said in worker.hear()] for worker in self.workers]

    def race_once(self, verb: str, *arguments: dict[str, Any]) -> list[Outcome]:
        """Each worker runs one verb; several sets of arguments are dealt out in turn."""
        found = self.race(lambda number: [(verb, arguments[number % len(arguments)])])
        return [outcome for (outcome,) in found]

    def end(self) -> None:
        for worker in self.workers:
            worker.end()


@contextmanager
def closed_gate(path: Path) -> Iterator[None]:
    """Whoever waits at the gate (`worker.wait_at`) is let through at the end, all in one moment."""
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


class Repo:
    """A repository that is a workspace, seen from this process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env = {
            **AS_A_PERSON,
            "PATH": os.environ["PATH"],
            "HOME": str(root.parent),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self._sessions: list[Call] = []
        self._own: Call | None = None

    @classmethod
    def create(cls, root: Path, settings: str = "", packs: tuple[str, ...] = ()) -> Repo:
        repo = cls.plain(root)
        if settings:
            (root / "moot.toml").write_text(settings, encoding="utf-8")
        Admin(str(root), repo.env).create(packs)
        return repo

    @classmethod
    def plain(cls, root: Path) -> Repo:
        """A repository without anything of moot."""
        root.mkdir(parents=True)
        repo = cls(root)
        repo.git("init", "--quiet", "--template=", ".")
        return repo

    @property
    def state(self) -> Path:
        return self.root / ".git" / "moot"

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, env=self.env, check=True, timeout=PATIENCE)

    def add_worktree(self, name: str) -> Path:
        self.git("-c", "user.name=anna", "-c", "user.email=anna@localhost", "commit", "-q", "--allow-empty", "-m", "-")
        self.git("worktree", "add", "-q", f"../{name}")
        return self.root.parent / name

    def session(self, agent: str | None = None, incarnation: int | None = None, clock: Clock | None = None) -> Call:
        session = open_call(str(self.root), self.env, agent=agent, incarnation=incarnation, clock=clock)
        self._sessions.append(session)
        return session

    @property
    def own(self) -> Call:
        """This process's session, as a person."""
        self._own = self._own or self.session()
        return self._own

    def run(self, verb: str, **arguments: Any) -> Any:
        """Carry out a verb as a person; its result as JSON-ready data."""
        return plain(self.own.run(verb, arguments).result)

    def join(self, name: str, *roles: str) -> int:
        """Let an agent join; its incarnation."""
        session = open_call(str(self.root), self.env)
        try:
            return session.run("join", {"name": name, "role": roles}).result.incarnation
        finally:
            close(session)

    def events(self, *types: str) -> list[Event]:
        """The log, or all of it that has one of these types."""
        found: list[Event] = []
        log = self.own.engine.log
        while page := log.read(found[-1].position if found else 0, 5000):
            found += page
        return [event for event in found if not types or event.type in types]

    def verify(self) -> None:
        """Raises unless log and views are sound."""
        self.own.run("verify", {})

    def close(self) -> None:
        for session in self._sessions:
            close(session)


def close(session: Call) -> None:
    session.engine.log.close()
    session.engine.store.close()


def outcome_of(session: Call, verb: str, **arguments: Any) -> Outcome:
    """The same as `Worker.run`, in this process."""
    try:
        answer = session.run(verb, arguments)
        if answer.after:
            answer.after()
        return Outcome({"result": plain(answer.result), "warnings": [warning.code for warning in answer.warnings]})
    except MootError as error:
        return Outcome({**error.plain(), "exit": error.exit_code})


def until(true: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait for a condition, within bounds."""
    deadline = monotonic() + patience
    while not (found := true()):
        assert monotonic() < deadline, f"waited in vain: {what}"
        sleep(0.01)
    return found


def alive(pid: int) -> bool:
    """Whether a process, perhaps of somebody else, still runs: one that nobody has buried does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")
