"""The form `queue`: `queue.json`, the list of tasks. What it shows are the tasks in the log, and nothing else.

A new entry becomes a task in the state that the file gives it. A changed field edits its task, and a changed status
moves it: both are changes by the team lead, who owns the file (`moot.packs.orchestrator.queue_edits`). Leaving an entry
or a key out has no effect. Keys and values that the pack does not know are kept: those of a task with the task, those
of the file in a document.
"""

from __future__ import annotations

from moot.api.protocol.form import Form, Malformed, Rendering, Taken
from moot.core import flat_json
from moot.core.principal import Actor, role
from moot.core.record import Record
from moot.core.task import PRIORITIES
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.core.event import Event
    from moot.core.schema import Defect
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.orchestrator.queue_edits import QueueChange, QueueNews
    from moot.views.store import Store

TASKS, COMPLETED, REJECTED = LISTS = ("tasks", "completed", "rejected")
OWN = ("version", TASKS, COMPLETED, "current", "lastUpdated")  # the keys of the file; others are foreign
FIXED = ("id", "createdAt", "updatedAt")  # the keys of an entry that only moot sets
OPTIONAL = ("platform", "rejectionReason", "acceptanceCriteria")  # null means that there is none
OURS = "//"  # in the document, what does not come from a key of the file
CURRENT = f"{OURS}current"  # the task that an adopted file named


class QueueContent(Record):
    """The parsed content of the file: its entries, each with its list and its place in it, and the foreign keys."""

    entries: tuple[tuple[str, int, Any], ...]
    foreign: dict[str, Any]
    current: object
    data: bytes


class QueueForm(Form):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"author": {"type": "string"}, "entry": {"type": "object"}},
        "required": ["author", "entry"],
        "additionalProperties": False,
    }

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        author = spec.fields["author"]
        self.actor = Actor(principal=role(author), roles=(author,))
        self.speakers = (self.actor.principal,)
        self.document = f"{spec.pack}.-.{spec.name}"  # the same in every worktree
        self.wanted: dict[str, QueueChange] = {}  # what the file asks for until it is written, by task

    def follows(self, event: Event) -> bool:
        return event.stream.startswith("task/") or event.stream == f"document/{self.document}"

    def render(self, store: Store, one: Instance) -> Rendering:  # noqa: ARG002 (the same in every worktree)
        """First the task that is offered next, which is the most urgent and oldest one."""
        from moot.views.feeds import shown

        self.wanted.clear()
        tasks, document = self.tasks(store), states.state(store, "document", self.document)[0]
        now = current(tasks, document.leaves.get(CURRENT))
        kept = {at: value for at, value in document.leaves.items() if not at.startswith(OURS)}
        foreign = flat_json.unflatten(kept, {})
        lists: dict[str, list[dict[str, Any]]] = {TASKS: [], COMPLETED: []}
        lists |= {REJECTED: []} if REJECTED in foreign else {}
        for task in sorted(tasks, key=lambda task: task.phase != "done" and PRIORITIES.index(task.priority)):
            lists[list_of(task) if list_of(task) in lists else TASKS].append(entry_of(task))
        content = {
            "version": "1.0",
            **lists,
            "current": now,
            "lastUpdated": max(document.changed_at, *(task.changed_at for task in tasks), "") or None,
            **{name: value for name, value in foreign.items() if name != REJECTED},
        }
        memo = {entry["id"]: prints(entry) for name in lists for entry in lists[name]}
        return Rendering(data=f"{shown(content, '')}\n".encode(), memo=memo)

    def tasks(self, store: Store) -> list[Task]:
        """The tasks of the pack, oldest first."""
        return [task for task in queries.tasks(store) if task.lifecycle == self.spec.pack]

    def read(self, data: bytes) -> QueueContent:
        from moot.core import strict_json

        content: Any = strict_json.load(data)
        lists = {name: content[name] for name in LISTS if name in content} if isinstance(content, dict) else {}
        if not lists or not all(isinstance(found, list) for found in lists.values()):
            raise Malformed(f"the file is not an object with the lists {', '.join(LISTS)}")
        foreign = {name: value for name, value in content.items() if name not in OWN}
        return QueueContent(
            entries=tuple((name, place, entry) for name in lists for place, entry in enumerate(lists[name])),
            foreign={**foreign, REJECTED: []} if REJECTED in lists else foreign,
            current=content.get("current"),
            data=data,
        )

    def vet(self, data: bytes) -> list[Defect]:
        if unread := super().vet(data):
            return unread
        return [
            defect.replace(path=f"{name}[{place}]{f'.{defect.path}' if defect.path else ''}")
            for name, place, entry in self.read(data).entries
            for defect in self.defects(entry)
        ]

    def defects(self, entry: Any) -> list[Defect]:
        """What is wrong with an entry, except for its status."""
        from moot.core.schema import Defect, defects
        from moot.core.schema.phrases import shown

        if not isinstance(entry, dict):
            return [Defect("", "an object", shown(entry))]
        return defects(self.spec.fields["entry"], {k: v for k, v in entry.items() if (k, v) != ("id", None)})

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return self.speakers

    def observe(self, call: Call, one: Instance, content: QueueContent, memo: Any, author: str) -> QueueNews | None:  # noqa: ARG002
        from moot.packs.orchestrator.queue_edits import compared

        return compared(self, call, one, content, memo)

    def take(self, work: Work, one: Instance, content: QueueContent, memo: Any, facts: QueueNews) -> Taken:  # noqa: ARG002
        from moot.packs.orchestrator.queue_edits import Edits

        return Edits(self, work, one, content, facts).take()


def entry_of(task: Task) -> dict[str, Any]:
    """The entry: the keys of the protocol in their order, then what others have added.

    A value that a task cannot have is shown as it was written.
    """
    from moot.packs.orchestrator.protocol import rejection

    extra = {name: value for name, value in task.extra.items() if name != "updatedAt"}
    entry = {
        "id": task.id,
        "title": task.title,
        "description": task.body or extra.pop("description", ""),
        "type": extra.pop("type", "feature"),
        "priority": (extra.pop("priority", None) or "medium") if task.priority == "medium" else task.priority,
        "platform": extra.pop("platform", None),
        "status": task.state,
        "createdAt": extra.pop("createdAt", task.added_at),
        "updatedAt": task.changed_at,
    }
    if task.phase != "done" and (reason := rejection(task)) is not None:
        entry["rejectionReason"] = reason
    if "acceptanceCriteria" in extra:
        entry["acceptanceCriteria"] = extra.pop("acceptanceCriteria")
    return {**entry, **{name: value for name, value in extra.items() if name not in entry}}


def list_of(task: Task) -> str:
    return {"done": COMPLETED, "stopped": REJECTED}.get(task.phase, TASKS)


def current(tasks: Iterable[Task], adopted: str | None) -> str | None:
    """The unfinished task that was started last. One that an adopted file named counts until another is started."""
    known = {task.id: task for task in tasks}
    going = [task for task in known.values() if task.phase in ("working", "review")]
    started = max(going, key=lambda task: task.token, default=None)
    if adopted in known and known[adopted].phase != "done" and (started is None or started.since == started.added_at):
        return adopted
    return started.id if started is not None else None


def prints(entry: Mapping[str, Any]) -> dict[str, int]:
    """A checksum of each value that others may change."""
    return {name: checksum(value) for name, value in entry.items() if name not in FIXED}


def checksum(value: Any) -> int:
    from zlib import crc32

    from moot.api.protocol.content import fingerprint

    return crc32(value.encode() if isinstance(value, str) else fingerprint({"": value}).encode())
