"""A repository in which the two roles meet, and the ways into it: the CLI, an open session, plain files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest

from moot.api.answer import Answer, plain
from moot.core.errors import MootError
from moot.engine.clock import Clock
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON
from tests.specs.orchestrator import samples

if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.event import Event
    from moot.core.task import Task

FILES = {
    "developer": ".claude-orchestrator/tasks/messages/to-developer.json",
    "team-lead": ".claude-orchestrator/tasks/messages/to-team-lead.json",
}
FOLDER = ".claude-orchestrator"
QUEUE = f"{FOLDER}/tasks/queue.json"
STATUS = f"{FOLDER}/tasks/status.json"
LOG = f"{FOLDER}/logs/log.md"
PATIENCE = 60.0  # seconds; a loaded machine is slow, a broken wait ends


class ShiftedClock(Clock):
    """A machine whose time of day is off by so many seconds."""

    def __init__(self, by: float) -> None:
        self.by = by

    def wall_seconds(self) -> float:
        return super().wall_seconds() + self.by


class LaterClock(Clock):
    """A machine on which time passes when a test says so."""

    passed = 0.0

    def wall_seconds(self) -> float:
        return super().wall_seconds() + self.passed

    def monotonic(self) -> float:
        return super().monotonic() + self.passed


class Spoken:
    """What a call of the CLI came to."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def result(self) -> Any:
        assert self.code == 0, self.out + self.err
        return self.json["result"]

    @property
    def warnings(self) -> dict[str, str]:
        return by_code((warning["code"], warning["message"]) for warning in self.json["warnings"])


class Refusal:
    """An error as its caller sees it."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.code: str = said["error"]
        self.kind: str = said["kind"]
        self.message: str = said["message"]
        self.remedy: str = said["remedy"]
        self.details: dict[str, Any] = said.get("details", {})

    @property
    def text(self) -> str:
        return f"{self.message} {self.remedy}"

    @property
    def places(self) -> list[str]:
        """Where the defects are."""
        return [defect["path"] for defect in self.details.get("defects", ())]

    def defect(self, path: str) -> dict[str, str]:
        return next(defect for defect in self.details["defects"] if defect["path"] == path)


class Project:
    def __init__(self, root: Path, clock: Clock | None = None) -> None:
        self.root = root
        home = str(root.with_name(f"{root.name}-home"))  # no project is its user's home
        self.env = {**AS_A_PERSON, "PATH": os.environ["PATH"], "HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}
        self.clock = clock
        self._sessions: dict[str | None, Call] = {}

    @classmethod
    def create(cls, root: Path, settings: str = "") -> Project:
        root.mkdir(parents=True)
        made = cls(root)
        made.git("init", "--quiet", "--template=", ".")
        if settings:
            (root / "moot.toml").write_text(
                f'packs = ["orchestrator"]\n[tasks]\nlifecycle = "orchestrator"\n{settings}', encoding="utf-8"
            )
        Admin(str(root), made.env).create(("orchestrator",))
        return made

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, env=self.env, check=True, capture_output=True, text=True)
        return done.stdout

    def at(self, root: Path) -> Project:
        """The same repository, entered from another directory."""
        return Project(root, self.clock)

    def close(self) -> None:
        for session in self._sessions.values():
            session.engine.log.close()
            session.engine.store.close()
        self._sessions = {}

    # --- in this process -----------------------------------------------------------------------------------------

    def session(self, agent: str | None = None) -> Call:
        if agent not in self._sessions:
            self._sessions[agent] = open_call(str(self.root), self.env, agent=agent, clock=self.clock)
        return self._sessions[agent]

    def run(self, verb: str, agent: str | None = None, **arguments: Any) -> Answer:
        """Carry out a verb as an agent, or as a person. What a surface does after showing the answer is done too."""
        answer = self.session(agent).run(verb, arguments)
        if answer.after:
            answer.after()
        return answer

    def ask(self, verb: str, agent: str | None = None, **arguments: Any) -> Any:
        """The answer's result as JSON-ready data."""
        return plain(self.run(verb, agent, **arguments).result)

    def refusal(self, verb: str, agent: str | None = None, **arguments: Any) -> Refusal:
        """The refusal that a verb must meet. Nothing may have been written by it."""
        before, files = self.head(), self.raw_files()
        with pytest.raises(MootError) as caught:
            self.run(verb, agent, **arguments)
        assert self.head() == before
        assert self.raw_files() == files
        return Refusal(caught.value.plain())

    def join(self, name: str, *roles: str) -> str:
        self.run("join", name, name=name, role=roles)
        return name

    def assign(self, message: dict[str, Any] | None = None, agent: str | None = None, **more: Any) -> Any:
        data = samples.assignment() if message is None else message
        return self.ask("send", agent, type="task_assignment", data=data, **more)

    def report(self, message: dict[str, Any] | None = None, agent: str = "Dev", **more: Any) -> Any:
        """A report of the developer, who joins for it."""
        if not any(member["name"] == agent for member in self.ask("agents")):
            self.join(agent, "developer")
        data = samples.report() if message is None else message
        return self.ask("send", agent, type="completion_report", data=data, **more)

    def task(self, name: str = "task-001") -> Task:
        return self.run("task show", task=name).result.task

    def state(self, name: str = "task-001") -> str:
        return self.task(name).state

    def mailbox(self, role: str, **more: Any) -> list[dict[str, Any]]:
        """The messages of a role's mailbox, without the notes that moot itself puts there."""
        found = self.ask("mailbox", name=f"@{role}", **more)
        return [letter for letter in found["messages"] if letter["type"] != "note"]

    def head(self) -> int:
        return self.session().engine.log.head()

    def events(self, *types: str, after: int = 0) -> list[Event]:
        found = self.session().engine.log.read(after, 10_000)
        return [event for event in found if not types or event.type in types]

    def moves(self, task: str = "task-001") -> list[tuple[str, str]]:
        """The edges that a task took."""
        story = [event for event in self.events() if event.stream == f"task/{task}" and "target" in event.data]
        return [(event.data["source"], event.data["target"]) for event in story]

    # --- in a process of its own -----------------------------------------------------------------------------------

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "moot", "--json", *words]

    def environment(self, agent: str | None = None) -> dict[str, str]:
        source = str(Path(__file__).resolve().parents[3] / "src")
        return {**self.env, "PYTHONPATH": source, **({"MOOT_AGENT": agent} if agent else {})}

    def cli(self, *words: str, agent: str | None = None, given: str = "", cwd: Path | None = None) -> Spoken:
        """A call of the command line, answered as JSON. `given` is its standard input."""
        done = subprocess.run(
            self.command(*words),
            cwd=cwd or self.root,
            env=self.environment(agent),
            input=given.encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return Spoken(done)

    def voice(self, *words: str, agent: str | None = None, given: str = "") -> Spoken:
        """A call of the command line, answered as text: what an agent reads."""
        command = [word for word in self.command(*words) if word != "--json"]
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment(agent),
            input=given.encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return Spoken(done)

    def cli_send(self, message: dict[str, Any], agent: str | None = None, *more: str) -> Spoken:
        return self.cli("send", "--type", message["type"], "--data", "-", *more, agent=agent, given=json.dumps(message))

    def cli_refusal(self, *words: str, agent: str | None = None, given: str = "") -> Refusal:
        """The refusal that a call must meet. Nothing may have been written by it."""
        before, files = self.head(), self.raw_files()
        spoken = self.cli(*words, agent=agent, given=given)
        assert spoken.code != 0, spoken.out
        assert self.head() == before
        assert self.raw_files() == files
        return Refusal(spoken.json)

    def start(self, *words: str, agent: str | None = None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(*words),
            cwd=self.root,
            env=self.environment(agent),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    # --- as those who know only the files --------------------------------------------------------------------------

    def path(self, role: str) -> Path:
        """The mailbox file of a role."""
        return self.root / FILES[role]

    def file(self, role: str) -> dict[str, Any]:
        return json.loads(self.path(role).read_text(encoding="utf-8"))

    def raw_files(self) -> dict[str, bytes | None]:
        return {role: self.path(role).read_bytes() if self.path(role).is_file() else None for role in FILES}

    def write(self, role: str, content: Any, last_read: Any = None) -> None:
        """Write a mailbox file as an agent does: a list stands for its messages, text for itself."""
        if isinstance(content, list):
            content = {"messages": content, "lastRead": last_read}
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        self.path(role).parent.mkdir(parents=True, exist_ok=True)
        self.path(role).write_text(text, encoding="utf-8")

    def append(self, role: str, *messages: Any) -> None:
        """The three steps by hand: read the file, append, write it back."""
        content = self.file(role)
        self.write(role, {**content, "messages": [*content["messages"], *messages]})

    def queue(self) -> dict[str, Any]:
        return json.loads((self.root / QUEUE).read_text(encoding="utf-8"))

    def entry(self, task: str = "task-001") -> dict[str, Any]:
        """A task as the queue file shows it."""
        content = self.queue()
        (found,) = [entry for entry in (*content["tasks"], *content["completed"]) if entry["id"] == task]
        return found

    def write_queue(self, content: Any) -> None:
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        (self.root / QUEUE).parent.mkdir(parents=True, exist_ok=True)
        (self.root / QUEUE).write_text(text, encoding="utf-8")

    def status(self) -> dict[str, Any]:
        return json.loads((self.root / STATUS).read_text(encoding="utf-8"))

    def write_status(self, content: Any) -> None:
        (self.root / STATUS).write_text(json.dumps(content, indent=2), encoding="utf-8")

    def journal(self) -> list[str]:
        """The lines of the development log that are not blank."""
        return [line for line in (self.root / LOG).read_text(encoding="utf-8").splitlines() if line.strip()]

    def write_journal(self, text: str) -> None:
        (self.root / LOG).write_text(text, encoding="utf-8")

    def enqueue(self, *entries: Any) -> None:
        """Append entries to the queue, as an agent does that knows only the file."""
        content = self.queue()
        self.write_queue({**content, "tasks": [*content["tasks"], *entries]})

    def edit(self, task: str = "task-001", **changes: Any) -> None:
        """Change an entry of the queue, and nothing else."""
        content = self.queue()
        for name in ("tasks", "completed"):
            content[name] = [{**e, **changes} if e["id"] == task else e for e in content[name]]
        self.write_queue(content)

    def look(self) -> dict[str, str]:
        """Any call of moot: it absorbs what the files say, and renders what the log says. Returns its warnings."""
        return by_code((warning.code, warning.message) for warning in self.run("board").warnings)

    def held(self) -> list[dict[str, Any]]:
        return self.ask("held")


def by_code(warnings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What is said under each code of a warning."""
    said: dict[str, str] = {}
    for code, message in warnings:
        said[code] = f"{said[code]}\n{message}" if code in said else message
    return said


def until(true: Callable[[], Any], what: str) -> Any:
    """Wait for a condition, within bounds."""
    deadline = monotonic() + PATIENCE
    while monotonic() < deadline:
        if found := true():
            return found
        sleep(0.02)
    pytest.fail(f"waited in vain: {what}")


def bodies(letters: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the messages say, as the protocol's fields."""
    return [letter["data"] for letter in letters]
