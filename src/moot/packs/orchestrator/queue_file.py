"""The form `queue`: `queue.json`, the list of tasks. What it shows are the tasks in the log, and nothing else.

A new entry becomes a pending task. A changed field edits its task, and a changed status moves it: both are changes by
the team lead, who owns the file. What is refused is held, and the file shows the true state again. Leaving an entry or
a key out has no effect. Keys that the pack does not know are kept: those of a task with the task, those of the file in
a document.
"""

from __future__ import annotations

from moot.api.protocol.form import Form, Malformed, Rendering, Taken
from moot.core.principal import Actor, role
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.core.event import Event
    from moot.core.schema import Defect
    from moot.engine.unit_of_work import Work
    from moot.packs.orchestrator.queue_news import QueueNews
    from moot.views.store import Store

LISTS = ("tasks", "completed")
OWN = ("version", *LISTS, "current", "lastUpdated")  # the keys of the file; others are foreign


class QueueContent(Record):
    """The parsed content of the file: its entries, each with its list and its place in it, and the foreign keys."""

    entries: tuple[tuple[str, int, Any], ...]
    foreign: dict[str, Any]
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

    def follows(self, event: Event) -> bool:
        return event.stream.startswith("task/") or event.stream == f"document/{self.document}"

    def render(self, store: Store, one: Instance) -> Rendering:  # noqa: ARG002 (the same in every worktree)
        from moot.packs.orchestrator.queue_entries import rendered

        return rendered(self, store)

    def read(self, data: bytes) -> QueueContent:
        from moot.api.protocol import strict_json

        content = strict_json.load(data)
        lists = {name: content.get(name, []) for name in LISTS} if isinstance(content, dict) else {}
        if (
            not isinstance(content, dict)
            or "tasks" not in content
            or not all(isinstance(x, list) for x in lists.values())
        ):
            raise Malformed('the file is not an object with the lists "tasks" and "completed"')
        return QueueContent(
            entries=tuple((name, place, entry) for name in LISTS for place, entry in enumerate(lists[name])),
            foreign={name: value for name, value in content.items() if name not in OWN},
            data=data,
        )

    def corrected(self, data: Any, *, whole: bool) -> QueueContent:
        from moot.api.protocol import strict_json

        if whole and isinstance(data, dict) and "tasks" in data:
            return self.read(strict_json.dump(data))
        entry = {key: value for key, value in data.items() if key != "updatedAt"} if isinstance(data, dict) else data
        return self.read(strict_json.dump({"tasks": [entry]}))  # without a time: it is not an old copy

    def vet(self, data: bytes) -> list[Defect]:
        if unread := super().vet(data):
            return unread
        from moot.packs.orchestrator.queue_entries import defects_of

        found = self.read(data).entries
        return [
            defect.replace(path=f"{name}[{place}]{f'.{defect.path}' if defect.path else ''}")
            for name, place, entry in found
            for defect in defects_of(self, entry)
        ]

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return self.speakers

    def observe(self, call: Call, one: Instance, content: QueueContent, memo: Any, author: str) -> QueueNews | None:  # noqa: ARG002
        from moot.packs.orchestrator.queue_news import compared

        return compared(self, call, content, memo)

    def take(self, work: Work, one: Instance, content: QueueContent, memo: Any, facts: QueueNews) -> Taken:  # noqa: ARG002
        from moot.packs.orchestrator.queue_edits import Edits

        return Edits(self, work, one, content).take(facts)
