"""A task as an entry of `queue.json`, and the file as a whole. Nothing here reads a file or decides anything."""

from __future__ import annotations

from zlib import crc32

from moot.api.protocol.content import fingerprint
from moot.api.protocol.form import Rendering
from moot.core import flat_json
from moot.core.schema import Defect, defects
from moot.core.schema.phrases import shown as shown_value
from moot.core.task import PRIORITIES
from moot.views import queries, states
from moot.views.feeds import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.core.deciders.document import Document
    from moot.core.task import Task
    from moot.packs.orchestrator.queue_file import QueueForm
    from moot.views.store import Store

VERSION = "1.0"
USUAL_TYPE = "feature"
TIMES = ("createdAt", "updatedAt")
FIXED = ("id", *TIMES)  # what only moot sets
OPTIONAL = ("platform", "rejectionReason", "acceptanceCriteria")  # null means that there is none


def entry_of(task: Task) -> dict[str, Any]:
    """The entry: the keys of the protocol in their order, then what others have added."""
    extra = {name: value for name, value in task.extra.items() if name not in TIMES}
    entry = {
        "id": task.id,
        "title": task.title,
        "description": task.body,
        "type": extra.pop("type", USUAL_TYPE),
        "priority": task.priority,
        "platform": extra.pop("platform", None),
        "status": task.state,
        "createdAt": created_at(task),
        "updatedAt": task.changed_at,
    }
    if (reason := rejection(task)) is not None:
        entry["rejectionReason"] = reason
    if "acceptanceCriteria" in extra:
        entry["acceptanceCriteria"] = extra.pop("acceptanceCriteria")
    return {**entry, **{name: value for name, value in extra.items() if name not in entry}}


def created_at(task: Task) -> str:
    """When the task was created: if it was adopted, what its file said."""
    found: str = task.extra.get("createdAt", task.added_at)
    return found


def rejection(task: Task) -> str | None:
    """The reason of the last rejection. It stays until the task is completed: the next attempt must deal with it."""
    if task.phase == "done":
        return None
    return next((step.reason for step in reversed(task.setbacks) if step.verb == "reject"), None)


def rendered(form: QueueForm, store: Store) -> Rendering:
    """The file: first the task that is offered next, which is the most urgent and oldest one."""
    tasks = own_tasks(form, store)
    entries = {task.id: entry_of(task) for task in sorted(tasks, key=lambda task: PRIORITIES.index(task.priority))}
    done = {task.id for task in tasks if task.phase == "done"}
    document = foreign(form, store)
    changes = [document.changed_at, *(task.changed_at for task in tasks)]
    content = {
        "version": VERSION,
        "tasks": [entry for name, entry in entries.items() if name not in done],
        "completed": [entries[task.id] for task in tasks if task.id in done],
        "current": current(tasks),
        "lastUpdated": max(changes) or None,
        **flat_json.unflatten(document.leaves, {}),
    }
    return Rendering(
        data=f"{shown(content, '')}\n".encode(), memo={name: prints(entry) for name, entry in entries.items()}
    )


def own_tasks(form: QueueForm, store: Store) -> list[Task]:
    """The tasks of the pack, oldest first."""
    return [task for task in queries.tasks(store) if task.lifecycle == form.spec.pack]


def foreign(form: QueueForm, store: Store) -> Document:
    """The keys of the file that the pack does not know."""
    found: Document = states.state(store, "document", form.document)[0]
    return found


def current(tasks: Iterable[Task]) -> str | None:
    """The task that was started last, of those that are in work or in review."""
    started = [task for task in tasks if task.phase in ("working", "review")]
    return max(started, key=lambda task: task.token).id if started else None


def prints(entry: Mapping[str, Any]) -> dict[str, int]:
    """A checksum of each value that others may change."""
    return {name: checksum(value) for name, value in entry.items() if name not in FIXED}


def checksum(value: Any) -> int:
    return crc32(value.encode() if isinstance(value, str) else fingerprint({"": value}).encode())


def digest(entry: Mapping[str, Any]) -> str:
    """What an entry without an id is known by. The order of its keys does not matter."""
    from hashlib import blake2b

    return blake2b(fingerprint({"": entry}).encode(), digest_size=16).hexdigest()


def defects_of(form: QueueForm, entry: Any) -> list[Defect]:
    """What is wrong with an entry, whatever it says about the state of its task."""
    if not isinstance(entry, dict):
        return [Defect("", "an object", shown_value(entry))]
    given = {name: value for name, value in entry.items() if value is not None or name not in (*OPTIONAL, "id")}
    return defects(form.spec.fields["entry"], given)
