"""What a changed `queue.json` means, and how it is taken.

An entry is compared with its task, and with what the file showed when it was last rendered (the memo): a key that still
has that value was not changed by the writer. An entry that the file has shown before, times included, is an old copy.

A changed status is an edit that may be several moves ahead of the log: the lifecycle's path between the two states is
recorded, and what nobody reported is flagged as inferred. A new `rejectionReason` puts `rejected` on the path. The
moves are made in rounds with the mailboxes, so that each message finds its task in the attempt and state it was written
for: a task waits in `in_progress` while messages about it come in. Only a state that no path reaches is held.
"""

from __future__ import annotations

import os

from moot.api.answer import Notice
from moot.api.protocol import LAST
from moot.api.protocol.content import fingerprint
from moot.api.protocol.form import Taken
from moot.api.protocol.held_entries import HeldEntries, as_written
from moot.api.protocol.journal_lines import WARN, note
from moot.core import flat_json, timestamps
from moot.core.deciders.document import ChangeDocument, OpenDocument
from moot.core.errors import Held, MootError, Refused
from moot.core.kind import kind_of, meta_of
from moot.core.principal import Actor, role
from moot.core.record import Record
from moot.core.schema.phrases import shown
from moot.core.task import PRIORITIES, AddTask, DescribeTask, EditTask, MoveTask, refusals
from moot.core.text import command_line, counted
from moot.packs.orchestrator.protocol import INFERRED, path, rejection
from moot.packs.orchestrator.queue_file import (
    COMPLETED,
    CURRENT,
    FIXED,
    OPTIONAL,
    OURS,
    REJECTED,
    checksum,
    entry_of,
)
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.form import Instance
    from moot.core.lifecycle import Edge, Lifecycle
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.orchestrator.queue_file import QueueContent, QueueForm

ADOPTED = "adopted: it was in queue.json before moot"
BEYOND = "beyond_limit: no more attempts were left"
_MOST = 500  # entries in one commit
_LARGEST = 8 * 1024 * 1024  # bytes of an entry, as of a message
_TICK = 0.0005  # seconds: times have milliseconds
_MOVING = ("status", "rejectionReason")
_STATES = ("pending", "in_progress", "awaiting_review", "completed", "rejected")
_NAMED = f"{OURS}named"  # mailboxes of other roles that were named
_BY_LIST = {COMPLETED: "completed", REJECTED: "rejected"}


class QueueChange(Record):
    """An entry that is new, or differs from its task."""

    list: str
    place: int
    entry: Any
    keys: tuple[str, ...] = ()  # those that were changed
    task: str = ""  # its id; empty: a new task without one
    was: str = ""  # its state when the file was read; empty: a new task
    older: bool = False  # it does not claim to be newer than its task
    error: MootError | None = None

    @property
    def wanted(self) -> Any:
        status = self.entry.get("status")
        return status if status is not None else _BY_LIST.get(self.list, self.was or "pending")

    @property
    def reason(self) -> str:
        given = self.entry.get("rejectionReason")
        return given.strip() if isinstance(given, str) else ""


class QueueNews(Record):
    """What the file has and the log does not."""

    changes: tuple[QueueChange, ...] = ()
    leaves: Mapping[str, Any] = {}  # of the document: keys of others
    stale: tuple[str, ...] = ()  # tasks whose entries are from an old copy
    others: tuple[str, ...] = ()  # mailboxes of other roles
    ttl: float = 0.0  # of new tasks
    adopting: bool = False  # moot has never written the file
    idle: int = -1  # see `moot.api.protocol.form.in_rounds`


# --- what is new in a file -------------------------------------------------------------------------------------------


def compared(form: QueueForm, call: Call, one: Instance, content: QueueContent, memo: Any) -> QueueNews | None:
    store = call.engine.store
    tasks = {task.id: task for task in form.tasks(store)}
    known = states.state(store, "document", form.document)[0].leaves
    leaves = {at: v for at, v in flat_json.flatten(content.foreign, {}).items() if not _is_kept(known, at, v)}
    adopting = memo is None and not tasks
    if adopting and isinstance(content.current, str):
        leaves[CURRENT] = content.current
    changes, stale = _Comparison(form, call, tasks, memo if isinstance(memo, dict) else {}).run(content)
    others = tuple(name for name in _other_mailboxes(form, one) if f"{_NAMED}/{name}" not in known)
    news = QueueNews(
        changes=changes, leaves=leaves, stale=stale, others=others, ttl=call.settings.task_ttl, adopting=adopting
    )
    form.wanted.update({change.task: change for change in changes if change.task and change.error is None})
    protocol: Any = form.packs.protocol(form.spec.pack)
    protocol.wanted = form.wanted
    return news if changes or leaves or stale or others else None


def _is_kept(known: Mapping[str, Any], at: str, value: Any) -> bool:
    return at in known and flat_json.same(known[at], value)


def _other_mailboxes(form: QueueForm, one: Instance) -> list[str]:
    """Files of roles that the protocol does not have, beside its own."""
    own = [mirror.path for mirror in form.packs.mirrors if mirror.pack == form.spec.pack and mirror.mailbox]
    try:
        names = os.listdir(os.path.join(one.root, os.path.dirname(own[0])))
    except OSError:
        return []
    known = {os.path.basename(path) for path in own}
    return sorted(n for n in names if n.startswith("to-") and n.endswith(".json") and n not in known)[:_MOST]


class _Comparison:
    """Compares the entries of one content with the tasks in the log."""

    def __init__(self, form: QueueForm, call: Call, tasks: Mapping[str, Task], memo: Mapping[str, Any]) -> None:
        self._form, self._call, self._tasks, self._memo = form, call, tasks, memo

    def run(self, content: QueueContent) -> tuple[tuple[QueueChange, ...], tuple[str, ...]]:
        named = {_name(entry) for _, _, entry in content.entries}
        spare = self._nameless(named)
        found: list[QueueChange] = []
        stale: dict[str, None] = {}
        seen: dict[str, str] = {}  # the title of each id that was in the file before
        for name, place, entry in content.entries:
            identity = _name(entry)
            change = QueueChange(list=name, place=place, entry=entry, task=identity)
            if not isinstance(entry, dict) or _size(entry) > _LARGEST:
                found.append(change.replace(error=_unfit(entry)))
            elif identity in self._tasks:
                changed = self._changed(change, self._tasks[identity])
                if changed is None:
                    stale[identity] = None
                elif changed.keys or changed.error:
                    found.append(changed)
            elif identity in seen:
                found.append(change.replace(error=_taken(identity, seen[identity])))
            elif not identity and (known := spare.get(_digest(entry))):
                known.pop()  # a copy of an entry that got its id since
            else:
                found.append(change.replace(keys=tuple(entry)))
            if identity:
                seen.setdefault(identity, str(entry.get("title")))
        found.sort(key=lambda change: not change.task)  # ids are allotted after those that were chosen
        return tuple(found), tuple(stale)

    def _nameless(self, named: set[str]) -> dict[str, list[str]]:
        """The tasks that were made from each entry without an id, except those that the file names by now."""
        found: dict[str, list[str]] = {}
        for task in self._tasks.values():
            file, _, printed = (task.origin or "").rpartition("#")
            if file == self._form.spec.path and task.id not in named:
                found.setdefault(printed, []).append(task.id)
        return found

    def _changed(self, change: QueueChange, task: Task) -> QueueChange | None:
        """What was changed in the entry of a known task; None: it is an old copy."""
        change = change.replace(was=task.state)
        entry, now, base = {**change.entry, "status": change.wanted}, entry_of(task), self._memo.get(task.id, {})
        keys = [key for key in entry if key not in FIXED and not flat_json.same(entry[key], now.get(key))]
        keys = [key for key in keys if entry[key] is not None or key not in OPTIONAL or now.get(key) is not None]
        keys = [key for key in keys if base.get(key) != checksum(entry[key])]
        if "rejectionReason" in keys and (task.phase == "done" or change.reason in ("", rejection(task))):
            keys.remove("rejectionReason")
        if keys and self._was_shown(task.id, change.entry):
            return None
        if "title" in keys and _seconds_after(entry.get("createdAt"), now["createdAt"]) != 0:
            return change.replace(error=_taken(task.id, task.title))  # not made from the entry that moot wrote
        after = _seconds_after(entry.get("updatedAt"), task.changed_at)
        return change.replace(keys=tuple(keys), older=after is None or after < 0)

    def _was_shown(self, name: str, entry: dict[str, Any]) -> bool:
        """Whether the file has shown exactly this before."""
        kind, position = kind_of("task"), 0
        state = kind.new(name)
        while events := self._call.engine.log.read(position, 500, kind.stream(name)):
            for event in events:
                state = kind.evolve(state, kind.events[event.type].of(event.data), meta_of(event))
                if state.changed_at == entry.get("updatedAt") and flat_json.same(entry_of(state), entry):
                    return True
            position = events[-1].position
        return False


def _name(entry: Any) -> str:
    name = entry.get("id") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


def _seconds_after(written: Any, known: str) -> float | None:
    """By how many seconds the first time is later; None if one of them is not a time."""
    there, here = timestamps.parse(written) if isinstance(written, str) else None, timestamps.parse(known)
    if there is None or here is None:
        return None
    return 0.0 if abs(there - here) <= _TICK else there - here


def _size(entry: Any) -> int:
    import json

    return len(json.dumps(entry, ensure_ascii=False).encode())


def _digest(entry: Mapping[str, Any]) -> str:
    """What an entry without an id is known by. The order of its keys does not matter."""
    from hashlib import blake2b

    return blake2b(fingerprint({"": entry}).encode(), digest_size=16).hexdigest()


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
    return Held(
        "task_exists",
        f"The id {name} is already used by the task “{title}”.",
        f"Leave the id out to get the next free one, or choose another (`{command_line('task show', name)}`).",
        task=name,
        title=title,
    )


# --- in a commit -----------------------------------------------------------------------------------------------------


class Edits:
    """Takes the changes of one content, in one commit."""

    def __init__(self, form: QueueForm, work: Work, one: Instance, content: QueueContent, news: QueueNews) -> None:
        self._form, self._work, self._one, self._content, self._news = form, work, one, content, news
        self._held: dict[str, HeldEntries] = {}
        self._notices: list[Notice] = []
        self._stale = [*news.stale]

    def take(self) -> Taken:
        news, put_off, done = self._news, list[QueueChange](), 0
        for change in news.changes[:_MOST]:
            error, more = self._taken(change)
            if error is not None and error.code == "too_many_events" and self._work.drafts:
                break  # the commit is full; the entry goes into the next one
            done += 1
            if more is not None:
                put_off.append(more)
            if error is not None:
                self._hold(change, error)
        if news.leaves or news.others:
            self._keep({**news.leaves, **{f"{_NAMED}/{name}": True for name in news.others}})
        if self._stale:
            self._say(WARN, "queue_stale", f"the entry of {', '.join(self._stale)} is an old copy; it was not taken")
        if news.others:
            listed = ", ".join(news.others)
            self._say(
                WARN, "other_mailboxes", f"{listed}: mailboxes of roles that this protocol does not have; left alone"
            )
        rest, left = news.changes[done:], news.replace(leaves={}, stale=(), others=())
        return Taken(
            notices=tuple(self._notices),
            rest=left.replace(changes=rest) if rest else None,
            later=left.replace(changes=tuple(put_off)) if put_off else None,
        )

    def _taken(self, change: QueueChange) -> tuple[MootError | None, QueueChange | None]:
        """Take a change: why it is held, and what of it must wait for other files."""
        if change.error is not None:
            return change.error, None
        try:
            with self._work.savepoint():
                if self._news.idle < 0:
                    self._check(change)
                return None, self._add(change) if not change.was else self._change(change)
        except MootError as error:
            if error.kind == "unavailable":
                raise  # the entry is valid: it stays in the file, and the next call takes it
            return error, None

    def _check(self, change: QueueChange) -> None:
        wrong = [d for d in self._form.defects(change.entry) if d.path in change.keys or not change.was]
        if wrong:  # of a known task, what the writer did not change does not matter
            raise Refused(
                "bad_entry",
                f"The entry has {counted(len(wrong), 'defect')}: {'; '.join(d.sentence for d in wrong)}.",
                f"Correct all of them in {self._form.spec.path}.",
                defects=[d.full() for d in wrong],
            )

    # --- new tasks ----------------------------------------------------------------------------------------------------

    def _add(self, change: QueueChange) -> QueueChange | None:
        """Add a task in the state that the file gives it.

        One that was rejected before and goes on has messages of several attempts: they may create it, and then it takes
        the same path as a known one.
        """
        entry, wanted, news = change.entry, change.wanted, self._news
        if change.task and self._work.task(change.task).exists:
            life = self._work.lifecycle(self._form.spec.pack)
            return self._change(change.replace(was=life.initial))
        if change.task and change.reason and wanted in _STATES[:3] and news.idle < 1:
            return change
        from moot.api.verbs.tasks.tasks import next_id

        fields, extra = _fields(entry)
        if isinstance(at := entry.get("createdAt"), str) and timestamps.is_date_time(at):
            extra["createdAt"] = at
        command = AddTask(
            title=entry["title"],
            creator=self._form.actor.principal,
            body=fields.get("body", ""),
            priority=fields.get("priority", "medium"),
            ttl=news.ttl,
            extra=extra,
            lifecycle=self._form.spec.pack,
            origin=None if change.task else f"{self._form.spec.path}#{_digest(entry)}",
            state=wanted if wanted in _STATES else _BY_LIST.get(change.list, ""),
            reason=change.reason or ("no reason was given" if wanted == "rejected" else None),
            flags=(ADOPTED,) if news.adopting or wanted != "pending" else (),
        )
        added = self._work.do("task", change.task or next_id(self._work), command)
        if wanted not in _STATES:
            self._hold(change, _unknown(added, wanted))
        return None

    # --- known tasks --------------------------------------------------------------------------------------------------

    def _change(self, change: QueueChange) -> QueueChange | None:
        edited = tuple(key for key in change.keys if key not in (*_MOVING, *FIXED))
        ended = self._work.task(change.task).phase in ("done", "stopped")
        if edited and not ended:
            self._edit(change, edited)
            change = change.replace(keys=tuple(key for key in change.keys if key in _MOVING))
        if set(change.keys) & set(_MOVING) and (self._news.idle < 0 or not self._move(change)):
            return change
        if edited and ended:  # it can be edited once it is pending again
            self._edit(change, edited)
        return None

    def _edit(self, change: QueueChange, keys: tuple[str, ...]) -> None:
        fields, extra = _fields({key: change.entry[key] for key in keys}, self._work.task(change.task))
        if fields:
            self._work.do("task", change.task, EditTask(actor=self._form.actor, **fields))
        if extra:
            self._work.do("task", change.task, DescribeTask(extra=extra))

    def _move(self, change: QueueChange) -> bool:
        """Move a task along its path. False: it must wait for messages."""
        moved = False
        while True:
            task = self._work.task(change.task)
            life = self._work.lifecycle(task.lifecycle)
            way = path(life, task, change)
            is_done = not way and (moved or task.state != change.was or change.reason == rejection(task))
            if way is None or (not way and not is_done):
                return self._cannot(change, task, life)
            if not way:
                return True
            if not change.reason and any(edge.verb == "reject" for edge in way):
                raise Refused(
                    "reason_missing",
                    f"{task.id} is to be rejected without a reason.",
                    "Set rejectionReason together with the status.",
                    task=task.id,
                )
            if task.phase == "working" and (self._news.idle < 1 or moved):
                return False  # a report, or the instructions of this attempt, may still come
            self._take(change, task, way)
            if len(way) == 1:
                return True
            moved = True

    def _take(self, change: QueueChange, task: Task, way: tuple[Edge, ...]) -> None:
        edge, life = way[0], self._work.lifecycle(task.lifecycle)
        alone = len(way) == 1 and "report" not in edge.needs
        reason = change.reason if edge.verb == "reject" else None
        flags = self._form.packs.move(self._work, task, edge.verb, reason or f"set in {self._form.spec.path}")
        beyond = task.attempt + edge.attempt > life.attempts and edge.attempt
        command = MoveTask(
            verb=edge.verb,
            actor=Actor(principal=role(edge.who[0]), roles=edge.who[:1]),
            reason=reason,
            recorded="report" in edge.needs or bool(beyond),
            flags=(*flags, *(() if alone else (INFERRED,)), *((BEYOND,) if beyond else ())),
        )
        self._work.do("task", task.id, command)
        if beyond:
            told = f"attempt {task.attempt + 1} of {life.attempts} was started in {self._form.spec.path}"
            self._say(WARN, "beyond_limit", f"{task.id}: {told}")

    def _cannot(self, change: QueueChange, task: Task, life: Lifecycle) -> bool:
        """The file shows a state that no path reaches. True: there is nothing to do."""
        if task.state != change.was:
            return True  # messages of the same look were ahead
        if self._news.idle < LAST:
            return False
        if task.state in _STATES[1:3] and change.wanted in _STATES[: _STATES.index(task.state)] and change.older:
            self._stale.append(task.id)
            return True
        if change.wanted == task.state:
            raise Refused(
                "reason_without_rejection",
                f"{task.id} has a new rejectionReason, but its status is not changed to rejected.",
                "Set both together. The reason of an earlier rejection cannot be changed.",
                task=task.id,
            )
        if change.wanted in _STATES:
            refusals.verb_to(life, task, change.wanted)
        raise _unknown(task, change.wanted)

    # --- the rest -------------------------------------------------------------------------------------------------

    def _hold(self, change: QueueChange, error: MootError) -> None:
        held = self._held.get(change.list)
        if held is None:
            content, name = self._content, change.list
            held = HeldEntries(
                self._form.spec,
                ("id",),
                self._work.store,
                lambda: as_written(content.data, name),
                to=f"@{self._form.actor.roles[0]}",
            )
            self._held[change.list] = held
        if identity := held.hold(self._work, change.entry, change.place, error):
            said = f"an entry of {self._one.name} is held: {error.message} {error.remedy}"
            self._notices.append(Notice("entry_held", f"{identity}: {said}"))

    def _keep(self, leaves: Mapping[str, Any]) -> None:
        """Keep the foreign keys of the file. A key that is left out stays."""
        work, form = self._work, self._form
        try:
            with work.savepoint():
                if not work.state("document", form.document).status:
                    mirror = f"{form.spec.pack}/{form.spec.name}"
                    work.do("document", form.document, OpenDocument(mirror=mirror, leaves={}))
                work.do("document", form.document, ChangeDocument(author=form.actor.roles[0], set=leaves))
        except Refused as error:
            self._notices.append(Notice("change_refused", f"{self._one.name}: {error.message} {error.remedy}"))

    def _say(self, level: str, code: str, text: str) -> None:
        note(self._work, self._form.spec.pack, level, f"{self._one.path}: {text}")
        self._notices.append(Notice(code, f"{self._one.name}: {text}."))


def _fields(entry: Mapping[str, Any], known: Task | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a task, and what is kept beside them: other keys, and values that a task cannot have."""
    fields: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in entry.items():
        if key == "title" and isinstance(value, str) and value.strip():
            fields["title"] = value
        elif key == "description" and isinstance(value, str):
            fields["body"] = value
        elif key == "priority" and value in PRIORITIES:
            fields["priority"] = value
            extra |= {"priority": None} if known is not None and "priority" in known.extra else {}
        elif key == "priority":
            fields["priority"], extra["priority"] = "medium", value
        elif key not in (*FIXED, *_MOVING) and not (value is None and key in OPTIONAL):
            extra[key] = value
    return fields, extra


def _unknown(task: Task, status: Any) -> Refused:
    return Refused(
        "unknown_state",
        f"The status {shown(status)} of {task.id} is not a state of the protocol.",
        f"Use one of {', '.join(_STATES)}.",
        task=task.id,
        states=list(_STATES),
    )
