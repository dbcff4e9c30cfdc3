"""Plays a scenario with every assignment of a pack's roles to surfaces: all of them must end in the same state.

    def scenario(cast):
        cast["lead"].send("task", {…})
        for message in cast["worker"].read("task"):
            cast["worker"].send("result", {…})
        cast["lead"].move("task-001", "done")

    ends = {" ".join(seats): played(make(), pack, scenario, seats, by_file) for seats in mixes(pack)}

or, where a fresh workspace for each of them is at hand, `mix(make, pack, scenario, by_file)`, which compares them.

A player sends and reads messages and moves tasks. Through files it reads and writes the mirrors and never calls moot;
how a task is moved there is up to the pack: `by_file(root, task, state, reason)`. Times, ids of messages and the names
of agents differ between two runs and are left out of the comparison.
"""

from __future__ import annotations

import json
import os
import re  # noqa: TID253 (only tests load this module)
from abc import ABC, abstractmethod
from itertools import product

from moot.core.record import Record
from moot.surfaces.python import Workspace
from moot.testing.packs import SURFACES, FileAgent
from moot.testing.rehearsal import run_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from moot.api.protocol import Pack
    from moot.testing.rehearsal import Rehearsal

    Scenario = Callable[[Mapping[str, "Player"]], object]
    ByFile = Callable[[str, str, str, str | None], None]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MESSAGE = re.compile(r"\bm-[0-9a-z]{7}\b")


class Player(ABC):
    """One role of a pack, at one surface."""

    def __init__(self, rehearsal: Rehearsal, pack: Pack, role: str, by_file: ByFile | None) -> None:
        self.rehearsal, self.pack, self.role, self._by_file = rehearsal, pack, role, by_file

    @abstractmethod
    def send(self, kind: str, data: dict[str, Any]) -> None:
        """Send a message of the pack."""

    @abstractmethod
    def read(self, kind: str) -> list[dict[str, Any]]:
        """The messages of this type in the mailbox of the role, oldest first. They count as read from now on."""

    @abstractmethod
    def move(self, task: str, state: str, reason: str | None = None) -> None:
        """Move a task to a state of its lifecycle."""

    def close(self) -> None:  # noqa: B027 (a player of files has nothing to close)
        """Nobody plays this role any more."""


class FilePlayer(Player):
    """Knows only the files."""

    def _file(self, kind: str) -> FileAgent:
        return FileAgent(self.rehearsal.path, next(mirror for mirror in self.pack.mirrors if kind in mirror.types))

    def send(self, kind: str, data: dict[str, Any]) -> None:
        file = self._file(kind)
        file.append(file.entry({"type": kind, **data}))
        self.rehearsal.person.mirror()

    def read(self, kind: str) -> list[dict[str, Any]]:
        file = self._file(kind)
        mirror = next(mirror for mirror in self.pack.mirrors if kind in mirror.types)
        read = mirror.fields.get("read")
        if read and file.listed():
            now = self.rehearsal.person.log(limit=1)[0].at
            file.write({**file.content(), read: now})
            self.rehearsal.person.mirror()
        return file.listed()

    def move(self, task: str, state: str, reason: str | None = None) -> None:
        assert self._by_file is not None, f"no way to move {task} in a file was given"
        self._by_file(self.rehearsal.path, task, state, reason)
        self.rehearsal.person.mirror()


class PythonPlayer(Player):
    """An agent that uses the Python API."""

    def __init__(self, rehearsal: Rehearsal, pack: Pack, role: str, by_file: ByFile | None) -> None:
        super().__init__(rehearsal, pack, role, by_file)
        self.workspace = Workspace(rehearsal.path)
        self.workspace.join(agent_of(role), role=role)

    def send(self, kind: str, data: dict[str, Any]) -> None:
        self.workspace.send(type=kind, data={"type": kind, **data})

    def read(self, kind: str) -> list[dict[str, Any]]:
        found = [one for one in self.workspace.mailbox(f"@{self.role}").messages if one.type == kind]
        if unread := [one.id for one in found if not one.taker]:
            self.workspace.ack(unread)
        return [dict(one.data or {}) for one in found]

    def move(self, task: str, state: str, reason: str | None = None) -> None:
        self.workspace.task_move(task, state, reason=reason)

    def close(self) -> None:
        self.workspace.close()


class CommandPlayer(PythonPlayer):
    """An agent that uses the command line."""

    def _run(self, *words: str) -> Any:
        done = run_command(self.workspace, self.rehearsal.path, ("--json", *words), self.rehearsal.patience)
        return json.loads(done)["result"]

    def send(self, kind: str, data: dict[str, Any]) -> None:
        self._run("send", "--type", kind, "--data", json.dumps({"type": kind, **data}))

    def read(self, kind: str) -> list[dict[str, Any]]:
        found = [one for one in self._run("mailbox", f"@{self.role}")["messages"] if one["type"] == kind]
        if unread := [one["id"] for one in found if not one["taker"]]:
            self._run("ack", *unread)
        return [one["data"] for one in found]

    def move(self, task: str, state: str, reason: str | None = None) -> None:
        self._run("task", "move", task, state, *(("--reason", reason) if reason else ()))


_PLAYERS: dict[str, type[Player]] = {"python": PythonPlayer, "cli": CommandPlayer, "file": FilePlayer}


class Ending(Record):
    """How a scenario ended."""

    tasks: list[Any]
    messages: list[Any]
    files: dict[str, Any]


def agent_of(role: str) -> str:
    """The name of the agent that plays a role."""
    return role.title().replace("-", "")


def mixes(pack: Pack) -> list[dict[str, str]]:
    """Every assignment of the pack's roles to surfaces."""
    names = [role.name for role in pack.roles]
    return [dict(zip(names, seats, strict=True)) for seats in product(SURFACES, repeat=len(names))]


def played(
    rehearsal: Rehearsal, pack: Pack, scenario: Scenario, seats: Mapping[str, str], by_file: ByFile | None = None
) -> Ending:
    """Play a scenario with these roles at these surfaces."""
    rehearsal.person.mirror()
    cast = {role: _PLAYERS[surface](rehearsal, pack, role, by_file) for role, surface in seats.items()}
    try:
        scenario(cast)
        rehearsal.person.mirror()
        held = [one.reason for one in rehearsal.person.held()]
        assert not held, f"held: {'; '.join(held)}"
        return _ending(rehearsal, pack)
    finally:
        for player in cast.values():
            player.close()


def mix(
    make: Callable[[], Rehearsal], pack: Pack, scenario: Scenario, by_file: ByFile | None = None
) -> dict[str, Ending]:
    """Play it with every assignment, each in a workspace of its own, and check that all ended in the same way."""
    found = {" ".join(map("=".join, seats.items())): seats for seats in mixes(pack)}
    ends = {name: played(make(), pack, scenario, seats, by_file) for name, seats in found.items()}
    (first, wanted), *others = ends.items()
    for name, end in others:
        compare(first, wanted, name, end)
    return ends


def compare(one: str, first: Ending, other: str, second: Ending) -> None:
    """Check that two plays ended in the same way."""
    for part in ("tasks", "messages", "files"):
        here, there = first.__dict__[part], second.__dict__[part]
        assert here == there, f"{part} differ.\n{one}: {here}\n{other}: {there}"


def _ending(rehearsal: Rehearsal, pack: Pack) -> Ending:
    person = rehearsal.person
    tasks = [
        {
            "id": task.id,
            "title": task.title,
            "state": task.state,
            "attempt": task.attempt,
            "extra": task.extra,
            "setbacks": [(step.verb, step.attempt, step.reason) for step in task.setbacks],
        }
        for task in person.board(all=True).tasks
    ]
    sent = [event for event in person.log(limit=10_000, type="message:sent") if event.pack == pack.name]
    messages = [[e.data["kind"], e.data.get("task"), e.data.get("attempt"), e.data["data"]] for e in sent]
    return Ending(tasks=tasks, messages=messages, files=_files(rehearsal, pack))


def _files(rehearsal: Rehearsal, pack: Pack) -> dict[str, Any]:
    """The mirrors, without what differs between two runs."""
    found = {}
    for mirror in pack.mirrors:
        path = os.path.join(rehearsal.path, mirror.path)
        if "{" in mirror.path or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = _MESSAGE.sub("ID", _TIME.sub("TIME", file.read()))
        for role in pack.roles:
            text = text.replace(agent_of(role.name), role.name)
        found[mirror.path] = json.loads(text) if path.endswith(".json") else text.splitlines()
    return found
