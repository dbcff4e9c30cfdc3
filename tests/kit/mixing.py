"""Plays a scenario with roles of a pack at given surfaces: however they are mixed, it must end in the same state.

A player sends and reads messages and moves tasks. Through files it reads and writes the mirrors and never calls moot;
how a task is moved there is up to the pack: `by_file(root, task, state, reason)`. Times, ids of messages and the names
of agents differ between two runs and are left out of the ending.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from moot.surfaces.python import Workspace
from moot.testing.rehearsal import Rehearsal, run_command
from tests.kit.packs import SURFACES, FileAgent

if TYPE_CHECKING:
    from moot.api.protocol import Pack

ByFile = Callable[[str, str, str, str | None], None]
_VOLATILE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\bm-[0-9a-z]{7}\b")


class Player:
    """One role of a pack, as an agent that uses the Python API."""

    def __init__(self, rehearsal: Rehearsal, pack: Pack, role: str, by_file: ByFile) -> None:
        self.rehearsal, self.pack, self.role, self.by_file = rehearsal, pack, role, by_file
        self.workspace = Workspace(rehearsal.path)
        self.workspace.join(agent_of(role), role=role)

    def send(self, kind: str, data: dict[str, Any]) -> None:
        self.workspace.send(type=kind, data={"type": kind, **data})

    def read(self, kind: str) -> list[dict[str, Any]]:
        """The messages of this type in the mailbox of the role, oldest first. They count as read from now on."""
        found = [one for one in self.workspace.mailbox(f"@{self.role}").messages if one.type == kind]
        if unread := [one.id for one in found if not one.taker]:
            self.workspace.ack(unread)
        return [dict(one.data or {}) for one in found]

    def move(self, task: str, state: str, reason: str | None = None) -> None:
        self.workspace.task_move(task, state, reason=reason)


class CommandPlayer(Player):
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


class FilePlayer(Player):
    """Knows only the files."""

    def __init__(self, rehearsal: Rehearsal, pack: Pack, role: str, by_file: ByFile) -> None:
        self.rehearsal, self.pack, self.role, self.by_file = rehearsal, pack, role, by_file
        self.workspace = rehearsal.open()

    def send(self, kind: str, data: dict[str, Any]) -> None:
        mirror = next(mirror for mirror in self.pack.mirrors if kind in mirror.types)
        file = FileAgent(self.rehearsal.path, mirror)
        file.append(file.entry({"type": kind, **data}))
        self.workspace.mirror()

    def read(self, kind: str) -> list[dict[str, Any]]:
        mirror = next(mirror for mirror in self.pack.mirrors if kind in mirror.types)
        file = FileAgent(self.rehearsal.path, mirror)
        if "read" in mirror.fields and file.listed():
            file.write({**file.content(), mirror.fields["read"]: self.workspace.log(limit=1)[0].at})
            self.workspace.mirror()
        return file.listed()

    def move(self, task: str, state: str, reason: str | None = None) -> None:
        self.by_file(self.rehearsal.path, task, state, reason)
        self.workspace.mirror()


PLAYERS: dict[str, type[Player]] = {"python": Player, "cli": CommandPlayer, "file": FilePlayer}


def agent_of(role: str) -> str:
    """The name of the agent that plays a role."""
    return role.title().replace("-", "")


def mixes(pack: Pack) -> list[dict[str, str]]:
    """Every assignment of the pack's roles to surfaces."""
    names = [role.name for role in pack.roles]
    return [dict(zip(names, seats, strict=True)) for seats in product(SURFACES, repeat=len(names))]


def played(
    rehearsal: Rehearsal,
    pack: Pack,
    scenario: Callable[[Mapping[str, Player]], object],
    seats: Mapping[str, str],
    by_file: ByFile,
) -> dict[str, Any]:
    """Play a scenario with these roles at these surfaces: the tasks, messages and files at its end."""
    person = rehearsal.person
    person.mirror()
    cast = {role: PLAYERS[surface](rehearsal, pack, role, by_file) for role, surface in seats.items()}
    try:
        scenario(cast)
        person.mirror()
        assert [entry.reason for entry in person.held()] == []
    finally:
        for player in cast.values():
            player.workspace.close()
    tasks = [
        [task.id, task.title, task.state, task.attempt, task.extra, [(s.verb, s.reason) for s in task.setbacks]]
        for task in person.board(all=True).tasks
    ]
    sent = [event.data for event in person.log(limit=10_000, type="message:sent") if event.pack == pack.name]
    messages = [[data["kind"], data.get("task"), data.get("attempt"), data["data"]] for data in sent]
    return {"tasks": tasks, "messages": messages, "files": _files(rehearsal.path, pack)}


def _files(root: str, pack: Pack) -> dict[str, Any]:
    """The mirrors, without what differs between two runs."""
    found = {}
    for mirror in pack.mirrors:
        path = os.path.join(root, mirror.path)
        if "{" not in mirror.path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = _VOLATILE.sub("", file.read())
            for role in pack.roles:
                text = text.replace(agent_of(role.name), role.name)
            found[mirror.path] = json.loads(text) if path.endswith(".json") else text.splitlines()
    return found
