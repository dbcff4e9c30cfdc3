"""The form `mailbox`: one JSON object with `messages`, oldest first, and `lastRead`.

Entries of a file are matched to known messages by full content and count; only a surplus is new. What is missing
from a file was not removed by it, except that an emptied array is a clear. Nothing here touches a file.
"""

from __future__ import annotations

import json

from moot.api.answer import Notice
from moot.core import timestamps
from moot.core.deciders.entry import HoldEntry
from moot.core.deciders.mailbox import Ack, Clear, Restore
from moot.core.deciders.message import SendMessage
from moot.core.errors import MootError, Refused
from moot.core.phrases import NOTHING, shown
from moot.core.principal import Actor, role
from moot.core.record import Record
from moot.core.schema import Defect
from moot.core.text import command_line
from moot.engine.clock import iso
from moot.mirrors import strict_json
from moot.views import load, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from moot.api.call import Call
    from moot.api.pack import MessageType, MirrorSpec
    from moot.engine.work import Work
    from moot.views.look import Delivery

_PUT_BACK = ("emptied", "asked")  # cleared by somebody's hand; a completed or reset task stays cleared


class Malformed(ValueError):
    """Valid JSON, and yet no mailbox."""


class Absorbed(Record):
    """What came of a file's content."""

    warnings: tuple[Notice, ...] = ()


def rendered(session: Call, spec: MirrorSpec) -> tuple[bytes, tuple[str, ...]]:
    """The file's content as the log has it, and the ids of the messages that it shows."""
    store = session.engine.read()
    types = {kind: found for kind in spec.types if (found := session.packs.find(kind, spec.pack))}
    visible = look.shown_in_file(store, spec.mailbox, spec.types)
    messages = [types[d.message.kind].render(d.message.data or {}) for d in visible]
    content = {"messages": messages, "lastRead": look.last_read(store, spec.mailbox)}
    return strict_json.dump(content), tuple(d.entry.id for d in visible)


def absorb(
    session: Call, spec: MirrorSpec, path: str, data: bytes, roots: tuple[str, ...], *, had: tuple[str, ...]
) -> Absorbed:
    """Take in what somebody wrote. `had`: the messages that the writer had in front of it in this file.

    Raises `strict_json.Torn` or `Malformed` when the content as a whole cannot be taken.
    """
    content = strict_json.load(data)
    if not isinstance(content, dict) or not isinstance(content.get("messages"), list):
        raise Malformed('a mailbox is an object with the array "messages" and "lastRead"')
    return _Taking(session, spec, path, roots, data).take(content["messages"], content.get("lastRead"), had)


class _Taking:
    """One file's content on its way into the log."""

    def __init__(self, session: Call, spec: MirrorSpec, path: str, roots: tuple[str, ...], data: bytes) -> None:
        self._session, self._spec, self._path, self._roots, self._data = session, spec, path, roots, data
        self._protocol = session.packs.protocol(spec.pack)
        sender = next(t.sender for kind in spec.types if (t := session.packs.find(kind)))
        self._writer = Actor(principal=role(sender), roles=(sender,))
        self._warnings: list[Notice] = []
        self._held: set[str] | None = None  # what is held already, and
        self._written: list[str] = []  # the entries as they were written: both found out when one is to be held

    def take(self, entries: list[Any], last_read: object, had: tuple[str, ...]) -> Absorbed:
        in_hand: list[str] = []
        for place, count in _counted(entries):
            in_hand += self._entry(entries[place], count, place)
        if not entries and had:
            if not self._is_own_render(last_read):
                self._emptied(last_read, had)
        elif last_read is not None:
            self._read(in_hand, last_read)
        return Absorbed(warnings=tuple(self._warnings))

    def _entry(self, entry: Any, count: int, place: int) -> list[str]:
        """The ids of the messages that these equal entries are, after taking in what is new."""
        spec = self._type(entry)
        if isinstance(spec, MootError):
            self._hold(entry, place, spec)
            return []
        known = self._known(spec, entry)
        task, _ = load.task(self._session.engine.store, str(entry.get(spec.task or "")))
        if known and task.phase == "done":
            return []  # a copy from the past; it delivers nothing again
        current = [d for d in known if d.message.attempt == task.attempt]
        self._put_back(current, count)
        ids = [d.entry.id for d in current][:count]
        for _ in range(count - len(current)):
            taken = self._accept(spec, entry, place)
            ids += [taken] if taken else []
        return ids

    def _type(self, entry: Any) -> MessageType | MootError:
        kind = entry.get("type") if isinstance(entry, dict) else None
        spec = self._session.packs.find(kind, self._spec.pack) if isinstance(kind, str) else None
        if spec is None or spec.pack != self._spec.pack:
            types = [t.name for p in self._session.packs.packs if p.name == self._spec.pack for t in p.messages]
            found = (shown(entry["type"]) if "type" in entry else NOTHING) if isinstance(entry, dict) else shown(entry)
            wrong = Defect("type", " or ".join(types), found)
            return Refused(
                "unknown_type",
                f"An entry is no message of this protocol: {wrong.sentence}.",
                f"The types are {' and '.join(types)}.",
                known=types,
                defects=[wrong.full()],
            )
        if spec.name not in self._spec.types:
            files = [m.path for m in self._session.packs.mirrors if spec.name in m.types]
            home = ", ".join(files or spec.addresses)
            return Refused(
                "wrong_mailbox", f"A {spec.name} does not belong in this file.", f"It belongs in {home}.", mailbox=home
            )
        return spec

    def _known(self, spec: MessageType, entry: dict[str, Any]) -> list[Delivery]:
        task = entry.get(spec.task) if spec.task else None
        if not isinstance(task, str):
            return []
        text = self._protocol.same(spec, entry, self._roots)
        found = look.mailbox(self._session.engine.read(), self._spec.mailbox, task)
        return [d for d in found if d.message.kind == spec.name and self._same(spec, d) == text]

    def _same(self, spec: MessageType, delivery: Delivery) -> str:
        return self._protocol.same(spec, delivery.message.data or {}, self._roots)

    def _put_back(self, known: list[Delivery], count: int) -> None:
        """An entry equal to one that a clear had hidden is shown again."""
        visible = sum(d.entry.hidden is None for d in known)
        hidden = [d.entry.id for d in known if d.entry.hidden in _PUT_BACK][: max(0, count - visible)]
        if hidden:
            self._commit(lambda work: work.do("mailbox", self._spec.mailbox, Restore(ids=tuple(hidden), unread=True)))

    def _accept(self, spec: MessageType, entry: dict[str, Any], place: int) -> str | None:
        session, identity = self._session, ""
        saying = session.packs.saying(
            session, spec, entry, roots=self._roots, sender=self._writer, source=self._spec.path
        )

        def act(work: Work) -> None:
            nonlocal identity
            identity = work.new_message()
            session.packs.hear(work, saying.replace(id=identity))

        try:
            self._commit(act)
        except MootError as error:
            if error.kind == "unavailable" or error.code == "lost_race":
                raise  # nothing is wrong with the entry: it stays in the file, and the next call takes it
            self._hold(entry, place, error)
            return None
        return identity

    def _hold(self, entry: Any, place: int, error: MootError) -> None:
        """Keep what could not be taken, tell its recipient, and take it out of the file."""
        if self._held is None:
            held = look.held_entries(self._session.engine.read())
            self._held = {_canonical(json.loads(h.raw)) for h in held if h.raw and h.mirror == self._spec.name}
            self._written = _as_written(self._data)
        if _canonical(entry) in self._held:
            return  # the same entry again, out of a copy from before it was taken out
        self._held.add(_canonical(entry))
        identity = f"h-{self._session.clock.token(7)}"
        task = entry.get("taskId") if isinstance(entry, dict) else None
        said = f"{error.message} {error.remedy}"
        command = HoldEntry(
            path=self._spec.path,
            mirror=self._spec.name,
            raw=self._written[place],
            code=error.code,
            reason=said,
            defects=tuple(error.details.get("defects", ())),
            task=task if isinstance(task, str) else None,
        )

        def act(work: Work) -> None:
            work.do("entry", identity, command)
            text = f"An entry of {self._spec.path} is held as {identity}: {said}"
            note = SendMessage(
                kind="note",
                sender="moot",
                to=(self._spec.mailbox,),
                wants="nothing",
                size=len(text.encode()),
                limit=1 << 24,
                text=text,
                task=None,
            )
            work.do("message", work.new_message(), note)

        self._commit(act)
        self._warnings.append(Notice("entry_held", f"{identity}: an entry of {self._path} is held: {said}"))

    def _is_own_render(self, last_read: object) -> bool:
        """Whether an empty file is, to the byte, one that moot wrote once: a copy from the past, and nobody's clear."""
        if self._data != strict_json.dump({"messages": [], "lastRead": last_read}):
            return False
        store = self._session.engine.read()
        return last_read is None or look.was_last_read(store, self._spec.mailbox, str(last_read))

    def _emptied(self, last_read: object, had: tuple[str, ...]) -> None:
        """An emptied array is a clear of what was there to see. What is unread stays unread, and is named."""
        store = self._session.engine.read()
        shown = look.shown_in_file(store, self._spec.mailbox, self._spec.types)
        there = [d for d in shown if d.entry.id in had]
        if not there:
            return
        ids = tuple(d.entry.id for d in there)

        def act(work: Work) -> None:
            at = _time(last_read, work.mailbox(self._spec.mailbox, ids).last_read, work.at)
            work.do("mailbox", self._spec.mailbox, Clear(ids=ids, reason="emptied", at=at))

        self._commit(act)
        unread = [d for d in there if not d.entry.settled]
        if unread:
            listed = ", ".join(f"{d.entry.id} ({d.message.task})" for d in unread)
            said = f"{self._path} was emptied. Unread and hidden now: {listed}."
            back = f"`{command_line('mailbox restore', self._spec.mailbox)}` puts them back."
            self._warnings.append(Notice("mailbox_emptied", f"{said} {back}"))

    def _read(self, ids: list[str], last_read: object) -> None:
        """Whoever sets `lastRead` has read the messages in the file it wrote, and no others."""
        store = self._session.engine.read()
        if isinstance(last_read, str) and look.was_last_read(store, self._spec.mailbox, last_read):
            return  # it stood there before
        if _seconds(last_read) is None:
            self._warnings.append(
                Notice("bad_last_read", f"{self._path}: lastRead is no date and time; left as it was.")
            )
            return
        readers = self._spec.mailbox.removeprefix("@")

        def act(work: Work) -> None:
            box = work.mailbox(self._spec.mailbox, ids)
            unread = tuple(i for i in dict.fromkeys(ids) if i in box.entries and not box.entries[i].settled)
            if unread:
                at = _time(last_read, box.last_read, work.at) or work.at
                work.do("mailbox", self._spec.mailbox, Ack(ids=unread, who=role(readers), at=at))

        self._commit(act, by=role(readers))

    def _commit(self, act: Callable[[Work], None], by: str | None = None) -> None:
        commit_from(self._session, self._spec.path, by or self._writer.principal, act)


def commit_from(session: Call, path: str, by: str, act: Callable[[Work], None]) -> None:
    """Commit what somebody wrote into this file of the repository; the commit says so."""

    def signed(work: Work) -> None:
        work.via = f"file {path}"
        act(work)

    session.engine.commit(by, signed)


def _seconds(last_read: object) -> float | None:
    return timestamps.parse(last_read) if isinstance(last_read, str) else None


def _time(last_read: object, before: str | None, now: str) -> str | None:
    """The time that was written; the present one if it lies in the future or before the last read."""
    seconds = _seconds(last_read)
    if seconds is None:
        return None
    given = iso(seconds + 1e-6)  # a float may lie a hair below the millisecond that was written
    return given if (before or "") <= given <= now else now


def _canonical(entry: Any) -> str:
    return json.dumps(entry, sort_keys=True)


def _counted(entries: list[Any]) -> list[tuple[int, int]]:
    """Where each entry stands first, and how often an equal one is there."""
    found: dict[str, tuple[int, int]] = {}
    for place, entry in enumerate(entries):
        first, count = found.get(_canonical(entry), (place, 0))
        found[_canonical(entry)] = (first, count + 1)
    return list(found.values())


def _as_written(data: bytes) -> list[str]:
    """The entries of a mailbox, known to be valid, as their writer put them."""
    text, value = data.decode("utf-8-sig"), json.JSONDecoder().raw_decode

    def past(at: int) -> int:
        while text[at] in " \t\r\n,:":
            at += 1
        return at

    key, at = value(text, past(text.index("{") + 1))
    while key != "messages":
        key, at = value(text, past(value(text, past(at))[1]))
    at, found = past(past(at) + 1), []
    while text[at] != "]":
        end = value(text, at)[1]
        found.append(text[at:end])
        at = past(end)
    return found
