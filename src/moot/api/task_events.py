"""The events about a task, found while the log is read: its own, those of its messages, checks and other things."""

from __future__ import annotations

from moot.core.kind import find
from moot.core.task.refusals import unknown
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.views.store import Store

_SHARED = ("mailbox", "topic")  # streams that belong to nothing in particular


def about_task(call: Call, task: str | None) -> Callable[[Event], bool]:
    """Whether an event is about a task. Without a task, every event is wanted."""
    if task is None:
        return lambda _event: True
    found = TaskEvents(call.engine.read(), task)
    if not found.exists:
        raise unknown(task, queries.task_ids(call.engine.store))
    return found.has


class TaskEvents:
    """Recognizes the events about one task. Also those that come later, if it gets to see all events in order."""

    def __init__(self, store: Store, task: str) -> None:
        self._task = task
        messages = [("message", message.id) for message in queries.messages_of_task(store, task)]
        held = [("entry", entry.id) for entry in queries.held_entries(store, closed=True) if entry.task == task]
        known = [("task", task), *messages, *held, *queries.things_of_task(store, task)]
        self._streams = {f"{kind}/{name}" for kind, name in known}
        self._ids = {name for _, name in known}
        self.exists = len(known) > 1 or states.task(store, task)[0].exists

    def has(self, event: Event) -> bool:
        kind, slash, name = event.stream.partition("/")
        if event.data.get("task") == self._task and slash and kind not in _SHARED and find(kind) is not None:
            self._streams.add(event.stream)
            self._ids.add(name)
        return event.stream in self._streams or any(mentions(value, self._ids) for value in event.data.values())


def mentions(value: object, ids: set[str]) -> bool:
    """Whether a value of an event is one of these ids, or a list with one of them."""
    if isinstance(value, list):
        return any(mentions(item, ids) for item in value)
    return isinstance(value, str) and value in ids
