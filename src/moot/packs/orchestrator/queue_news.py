"""What a `queue.json` has that the log does not: the entries that differ, and are not from an old copy of the file.

An entry is compared with what the file showed when it was last rendered (the memo). A key that still has that value was
not changed by the writer, even if the log has moved on. An entry whose `updatedAt` is older than that of its task comes
from an old copy, and nothing of it is taken. An equal one means a change.
"""

from __future__ import annotations

from moot.core import flat_json, timestamps
from moot.core.errors import Held, MootError, Refused
from moot.core.record import Record
from moot.core.text import command_line
from moot.packs.orchestrator.adoption import RESUMED, mode_of, recorded
from moot.packs.orchestrator.queue_entries import (
    FIXED,
    OPTIONAL,
    checksum,
    created_at,
    digest,
    entry_of,
    foreign,
    own_tasks,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.task import Task
    from moot.packs.orchestrator.queue_file import QueueContent, QueueForm

_TICK = 0.0005  # seconds: times have milliseconds
_LARGEST = 8 * 1024 * 1024  # bytes of an entry, as of a message


class QueueChange(Record):
    """An entry that is new, or differs from its task."""

    list: str
    place: int
    entry: Any
    keys: tuple[str, ...] = ()  # those that were changed; empty: a new task
    task: str = ""  # its id, if the entry has none
    error: MootError | None = None


class QueueNews(Record):
    """What the file has and the log does not."""

    changes: tuple[QueueChange, ...] = ()
    foreign: Mapping[str, Any] | None = None
    stale: tuple[str, ...] = ()  # tasks whose entries are from an old copy
    ttl: float = 0.0  # of new tasks
    last: bool = False  # the mailboxes have been absorbed
    adopting: bool = False  # the file is from before moot was used: the states that it records are taken over


def compared(form: QueueForm, call: Call, content: QueueContent, memo: Any) -> QueueNews | None:
    store = call.engine.store
    tasks = {task.id: task for task in own_tasks(form, store)}
    others = foreign(form, store).leaves
    theirs = flat_json.flatten(content.foreign, {})
    mode = mode_of(form, call, memo)
    found = _Comparison(form, tasks, memo if isinstance(memo, dict) else None, mode).run(content)
    news = found.replace(
        adopting=bool(mode),
        foreign=theirs if flat_json.difference(others, theirs).set else None,
        ttl=call.settings.task_ttl,
    )
    return news if news.changes or news.stale or news.foreign is not None else None


class _Comparison:
    """Compares the entries of one content with the tasks in the log."""

    def __init__(
        self, form: QueueForm, tasks: Mapping[str, Task], memo: Mapping[str, Any] | None, adoption: str
    ) -> None:
        self._form, self._tasks, self._memo, self._adoption = form, tasks, memo, adoption
        self._stale: list[str] = []

    def run(self, content: QueueContent) -> QueueNews:
        named = {self._name(entry) for _, _, entry in content.entries}
        spare = self._nameless(named)
        found: list[QueueChange] = []
        seen: dict[str, str] = {}  # the title of each id that was in the file before
        for name, place, entry in content.entries:
            change = QueueChange(list=name, place=place, entry=entry)
            identity = self._name(entry)
            if not isinstance(entry, dict) or _size(entry) > _LARGEST:
                found.append(change.replace(error=_unfit(entry)))
            elif identity is None:
                if known := spare.get(digest(entry)):  # a copy of an entry that got its id since
                    found += self._resumed(change, self._tasks[known.pop(0)])
                else:
                    found.append(change)
            elif identity in self._tasks:
                task = self._tasks[identity]
                found += (
                    self._resumed(change, task)
                    if self._adoption and self._memo is None
                    else self._changed(change, task)
                )
            elif identity in seen:
                found.append(change.replace(error=_taken(identity, seen[identity])))
            else:
                found.append(change)
            if identity is not None and isinstance(entry, dict):
                seen.setdefault(identity, str(entry.get("title")))
        found.sort(key=lambda change: self._name(change.entry) is None)  # ids are allotted after those that were chosen
        return QueueNews(changes=tuple(found), stale=tuple(dict.fromkeys(self._stale)))

    @staticmethod
    def _name(entry: Any) -> str | None:
        name = entry.get("id") if isinstance(entry, dict) else None
        return name if isinstance(name, str) and name else None

    def _nameless(self, named: set[str | None]) -> dict[str, list[str]]:
        """The tasks that were made from each entry without an id, except those that the file names by now."""
        found: dict[str, list[str]] = {}
        for task in self._tasks.values():
            file, _, printed = (task.origin or "").rpartition("#")
            if file == self._form.spec.path and task.id not in named:
                found.setdefault(printed, []).append(task.id)
        return found

    def _resumed(self, change: QueueChange, task: Task) -> list[QueueChange]:
        """A known task in a file that moot did not write: only an interrupted adoption goes on."""
        if self._adoption != RESUMED or recorded(change) == task.state:
            return []
        return [change.replace(keys=("status",), task=task.id)]

    def _changed(self, change: QueueChange, task: Task) -> list[QueueChange]:
        entry, shown = change.entry, entry_of(task)
        base = None if self._memo is None else self._memo.get(task.id)
        keys = tuple(
            name
            for name, value in entry.items()
            if name not in FIXED and not flat_json.same(value, shown.get(name)) and not _is_nothing(name, value, shown)
            if base is None or base.get(name) != checksum(value)
        )
        if not keys:
            return []
        if "title" in keys and not _is_same_time(entry.get("createdAt"), created_at(task)):
            return [change.replace(error=_taken(task.id, task.title))]  # not made from the entry that moot wrote
        if _is_older(entry.get("updatedAt"), task.changed_at):
            self._stale.append(task.id)
            return []
        return [change.replace(keys=keys, task=task.id)]


def _is_nothing(name: str, value: Any, shown: Mapping[str, Any]) -> bool:
    """Whether a null says that there is no value, as the log does."""
    return value is None and name in OPTIONAL and shown.get(name) is None


def _is_older(written: Any, known: str) -> bool:
    return (apart := _apart(written, known)) is not None and apart < -_TICK  # an equal one means a change


def _is_same_time(written: Any, known: str) -> bool:
    return (apart := _apart(written, known)) is not None and abs(apart) <= _TICK


def _apart(written: Any, known: str) -> float | None:
    """By how many seconds the first time is later; None if one of them is not a time."""
    there, here = timestamps.parse(written) if isinstance(written, str) else None, timestamps.parse(known)
    return None if there is None or here is None else there - here


def _size(entry: Any) -> int:
    import json

    return len(json.dumps(entry, ensure_ascii=False).encode())


def _unfit(entry: Any) -> MootError:
    if isinstance(entry, dict):
        return Refused(
            "entry_too_large",
            f"The entry has {_size(entry)} bytes; the limit is {_LARGEST}.",
            "Put the long part into a file of the repository and name that file.",
            size=_size(entry),
            limit=_LARGEST,
        )
    return Refused("bad_entry", "An entry of the queue is not an object.", "Give it at least a title.")


def _taken(name: str, title: str) -> Held:
    add = command_line("task show", name)
    return Held(
        "task_exists",
        f"The id {name} is already used by the task “{title}”.",
        f"Leave the id out to get the next free one, or choose another (`{add}`).",
        task=name,
        title=title,
    )
