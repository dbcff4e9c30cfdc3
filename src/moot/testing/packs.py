"""Helpers to test a pack: load it, try every move, play its samples through every surface.

    load, defects   the pack in a folder, and all its defects as text for a snapshot
    pairs           every state with every verb of a lifecycle, and the outcome
    samples, play   the messages in `samples/`, sent through Python, the command line and the files
    FileAgent       an agent that knows only the file
    ledger          the requirements, and the tests that name them

`moot.testing.torture` damages files and checks that nothing is lost. `moot.testing.mixing` plays a scenario with every
assignment of the roles to surfaces. `moot.testing.stages` tries the stages of a pipeline.
"""

from __future__ import annotations

import json
import os

from moot.api.protocol import PARTS, Protocol
from moot.api.protocol.checking import parse
from moot.api.protocol.loading import pack_of
from moot.core.deciders.task import decide
from moot.core.errors import MootError, Usage
from moot.core.principal import Actor
from moot.core.record import Record
from moot.core.task import MoveTask, Task
from moot.mirrors.forms import forms
from moot.surfaces.python import Workspace
from moot.testing.rehearsal import run_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from moot.api.protocol import MessageType, MirrorSpec, Pack
    from moot.core.lifecycle import Edge, Lifecycle
    from moot.testing.rehearsal import Rehearsal

SURFACES = ("python", "cli", "file")


def load(folder: str | os.PathLike[str], code: type[Protocol] | None = None) -> Pack:
    """The pack in a folder. Raises `Usage` with all its defects. `code` is its `Protocol`, if there is one."""

    def read(name: str) -> bytes:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    parts = tuple(part for part in PARTS if code and getattr(code, part) is not getattr(Protocol, part))
    found = parse(os.path.basename(folder), read, forms=forms(code), coded="hear" in parts)
    return pack_of(found.data, found.schemas).replace(digest=found.digest, parts=parts)


def defects(folder: str | os.PathLike[str], code: type[Protocol] | None = None) -> str:
    """All defects of a pack, one per line: file, line, key, text. Empty if there are none."""
    try:
        load(folder, code)
    except Usage as error:
        said = [f"{p['file']}:{p['line']}: {p['key'] or '-'}: {p['text']}\n" for p in error.details["problems"]]
        return "".join(said)
    return ""


# --- lifecycles ------------------------------------------------------------------------------------------------------


class Pair(Record):
    """A state and a verb, with their edge, if there is one."""

    lifecycle: Lifecycle
    state: str
    verb: str
    edge: Edge | None

    def __str__(self) -> str:
        return f"{self.verb}-from-{self.state}"

    def tried(self) -> str:
        """The next state, or the code of the refusal if no actor can make the move."""
        life, said = self.lifecycle.replace(attempts=1000), "nobody"  # the number of attempts does not matter here
        phase = life.phase(self.state)
        for review in (True, False):
            task = Task(
                id="task-1",
                title="A task",
                state=self.state,
                phase=phase,
                lifecycle=life.name,
                creator="Maker#1",
                review=review,
                holder="Holder#1" if phase == "working" else None,
                author="Holder#1" if phase != "open" else None,
                report="m-1",
            )
            for actor in _actors(life):
                owner = "Owner#1" if self.edge is not None and self.edge.holds == "owner" else None
                command = MoveTask(
                    verb=self.verb, actor=actor, reason="because", report="m-1", receipt="r-1", owner=owner
                )
                try:
                    (moved, *_) = decide(task, command, life)
                except MootError as error:
                    said = error.code
                else:
                    return str(moved.__dict__["target"])
        return said


def pairs(lifecycle: Lifecycle) -> list[Pair]:
    """Every state with every verb of the lifecycle."""
    return [
        Pair(lifecycle=lifecycle, state=state, verb=verb, edge=lifecycle.edge(verb, state))
        for state in lifecycle.names
        for verb in dict.fromkeys(edge.verb for edge in lifecycle.edges)
    ]


def _actors(life: Lifecycle) -> list[Actor]:
    """One actor of each sort that the edges of a lifecycle name."""
    roles = tuple(dict.fromkeys(who for edge in life.edges for who in edge.who))
    members = [Actor(f"{role.title()}#1", roles=(role,)) for role in roles]
    return [*members, Actor("Holder#1", roles=roles), Actor("Maker#1"), Actor("person:somebody")]


# --- samples ---------------------------------------------------------------------------------------------------------


class Sample(Record):
    """A message to send. Samples are played in the order of their names."""

    name: str
    type: str
    data: dict[str, Any]


def samples(folder: str | os.PathLike[str]) -> list[Sample]:
    """The messages in the folder `samples` of a pack: JSON objects with a `type`."""
    home = os.path.join(folder, "samples")
    found = []
    for name in sorted(os.listdir(home)):
        if name.endswith(".json"):
            with open(os.path.join(home, name), encoding="utf-8") as file:
                data = json.load(file)
            found.append(Sample(name=name.removesuffix(".json"), type=data["type"], data=data))
    return found


def play(rehearsal: Rehearsal, pack: Pack, said: Sequence[Sample], surface: str) -> list[dict[str, Any]]:
    """Send the samples through a surface. Returns for each: recipients, data, and the state of its task.

    Each role of the pack is an agent of that name. A message that no file shows is sent through Python instead.
    """
    cast = {role.name: Workspace(rehearsal.path) for role in pack.roles}
    for name, workspace in cast.items():
        workspace.join(name.title().replace("-", ""), role=name)
    try:
        return [_played(rehearsal, pack, cast, sample, surface) for sample in said]
    finally:
        for workspace in cast.values():
            workspace.close()


def _played(
    rehearsal: Rehearsal, pack: Pack, cast: dict[str, Workspace], sample: Sample, surface: str
) -> dict[str, Any]:
    spec = next((spec for spec in pack.messages if sample.type in (spec.name, spec.word)), None)
    assert spec is not None, f"the pack {pack.name} has no type {sample.type!r} (sample {sample.name})"
    sender = cast[spec.senders[0] if spec.senders else next(iter(cast))]
    mirror = next((mirror for mirror in pack.mirrors if spec.name in mirror.types), None)
    if surface == "cli":
        words = ("send", "--type", spec.name, "--data", json.dumps(sample.data))
        run_command(sender, rehearsal.path, words, rehearsal.patience)
    elif surface == "file" and mirror is not None:
        rehearsal.person.mirror()
        agent = FileAgent(rehearsal.path, mirror)
        agent.append(agent.entry(sample.data))
        rehearsal.person.mirror()
    else:
        sender.send(type=spec.name, data=sample.data)
    return _stored(rehearsal.person, spec, sample)


def _stored(person: Workspace, spec: MessageType, sample: Sample) -> dict[str, Any]:
    sent = [e for e in person.log(limit=1000, type="message:sent") if e.data["kind"] == spec.name]
    held = "; ".join(entry.reason for entry in person.held())
    assert sent, f"the sample {sample.name} was not stored{f'; held: {held}' if held else ''}"
    last = sent[-1]
    task = last.data.get("task")
    return {
        "type": spec.name,
        "to": sorted(last.data["to"]),
        "data": last.data["data"],
        "state": person.task_show(task).task.state if task else None,
    }


# --- agents that know only files -------------------------------------------------------------------------------------


class FileAgent:
    """An agent that reads a file of entries, changes it and writes it back. It does not know moot."""

    def __init__(self, root: str | os.PathLike[str], mirror: MirrorSpec) -> None:
        self.path = os.path.join(root, mirror.path)
        self.entries: str | None = mirror.fields.get("entries")  # None: the file is the list itself
        self.kind: str = mirror.fields.get("type", "type")

    def raw(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def content(self) -> Any:
        return json.loads(self.raw().decode("utf-8-sig"))

    def listed(self) -> list[Any]:
        """The entries that the file shows."""
        content = self.content()
        found: list[Any] = content if self.entries is None else content[self.entries]
        return found

    def entry(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message as the file has it: its type is under the key of the mirror, or left out."""
        if self.kind == "type":
            return message
        rest = {key: value for key, value in message.items() if key != "type"}
        return {self.kind: message["type"], **rest} if self.kind else rest

    def write(self, content: Any, **form: Any) -> None:
        """Write in place, as some editors do, instead of renaming."""
        self.write_bytes(json.dumps(content, **form).encode())

    def write_bytes(self, data: bytes) -> None:
        with open(self.path, "wb") as file:
            file.write(data)

    def append(self, *entries: Any) -> None:
        self.write(self.holding([*self.listed(), *entries], self.content()))

    def empty(self) -> None:
        self.write(self.holding([], self.content()))

    def holding(self, entries: list[Any], beside: Any = None) -> Any:
        """The content of a file with these entries, and the other keys of `beside`."""
        return entries if self.entries is None else {**(beside or {}), self.entries: entries}

    def delete(self) -> None:
        os.unlink(self.path)


def file_agent(
    root: str | os.PathLike[str], mirror: MirrorSpec, script: Sequence[Callable[[FileAgent], Any] | dict[str, Any]]
) -> FileAgent:
    """Run a file agent with a script: functions that get the agent, and entries that it appends."""
    agent = FileAgent(root, mirror)
    for step in script:
        step(agent) if callable(step) else agent.append(step)
    return agent
