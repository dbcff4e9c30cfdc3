"""The form `mailbox`: one JSON object with `messages`, oldest first, and `lastRead`.

Entries of a file are matched to known messages by full content and count; only a surplus is new. What is missing
from a file was not removed by it, except that an emptied array is a clear. Nothing here touches a file.
"""

from __future__ import annotations

import json

from moot.api.answer import Notice
from moot.api.pack import Submission
from moot.core import timestamps
from moot.core.deciders.entry import HoldEntry
from moot.core.deciders.mailbox import Ack, Clear, Restore
from moot.core.deciders.message import SendMessage
from moot.core.errors import MootError, Refused
from moot.core.principal import Actor, role
from moot.core.record import Record
from moot.engine.clock import iso
from moot.mirrors import strict_json
from moot.views import load, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.pack import MessageType, MirrorSpec
    from moot.api.session import Session
    from moot.engine.work import Work
    from moot.views.look import Delivery

_PUT_BACK = ("emptied", "asked")  # cleared by somebody's hand; a completed or reset task stays cleared


class Malformed(ValueError):
    """Valid JSON, and yet no mailbox."""


class Absorbed(Record):
    """What came of a file's content."""

    warnings: tuple[Notice, ...] = ()


def rendered(session: Session, spec: MirrorSpec) -> tuple[bytes, int]:
    """The file's content as the log has it, and how many messages it shows."""
    store = session.engine.read()
    protocol = session.packs.protocol(spec.pack)
    types = {kind: session.packs.find(kind) for kind in spec.types}
    shown = look.shown_in_file(store, spec.mailbox, spec.types)
    messages = [protocol.render(types[d.message.kind], d.message.data or {}) for d in shown]  # type: ignore[arg-type]
    return strict_json.dump({"messages": messages, "lastRead": look.last_read(store, spec.mailbox)}), len(messages)


def absorb(session: Session, spec: MirrorSpec, path: str, data: bytes, roots: tuple[str, ...], *, had: int) -> Absorbed:
    """Take in what somebody wrote. `had`: how many messages moot had rendered into this file before.

    Raises `strict_json.Torn` or `Malformed` when the content as a whole cannot be taken.
    """
    content = strict_json.load(data)
    if not isinstance(content, dict) or not isinstance(content.get("messages"), list):
        raise Malformed('a mailbox is an object with the array "messages" and "lastRead"')
    return _Taking(session, spec, path, roots).take(content["messages"], content.get("lastRead"), had)


class _Taking:
    """One file's content on its way into the log."""

    def __init__(self, session: Session, spec: MirrorSpec, path: str, roots: tuple[str, ...]) -> None:
        self._session, self._spec, self._path, self._roots = session, spec, path, roots
        self._protocol = session.packs.protocol(spec.pack)
        sender = next(t.sender for kind in spec.types if (t := session.packs.find(kind)))
        self._writer = Actor(principal=role(sender), roles=(sender,))
        self._warnings: list[Notice] = []

    def take(self, entries: list[Any], last_read: object, had: int) -> Absorbed:
        in_hand: list[str] = []
        for entry, count in _counted(entries):
            in_hand += self._entry(entry, count)
        if not entries and had:
            self._emptied(last_read)
        elif last_read is not None:
            self._read(in_hand, last_read)
        return Absorbed(warnings=tuple(self._warnings))

    def _entry(self, entry: Any, count: int) -> list[str]:
        """The ids of the messages that these equal entries are, after taking in what is new."""
        spec = self._type(entry)
        if isinstance(spec, MootError):
            self._hold(entry, spec)
            return []
        known = self._known(spec, entry)
        current = [d for d in known if d.message.attempt == self._attempt(entry)]
        if known and self._is_done(entry):
            return []  # a copy from the past; it delivers nothing again
        self._put_back(current, count)
        ids = [d.entry.id for d in current][:count]
        for _ in range(count - len(current)):
            taken = self._accept(spec, entry)
            ids += [taken] if taken else []
        return ids

    def _type(self, entry: Any) -> MessageType | MootError:
        kind = entry.get("type") if isinstance(entry, dict) else None
        spec = self._session.packs.find(kind) if isinstance(kind, str) else None
        if spec is None or spec.pack != self._spec.pack:
            types = [t.name for p in self._session.packs.packs if p.name == self._spec.pack for t in p.messages]
            return Refused(
                "unknown_type",
                f"{kind!r} is no message type of this protocol.",
                f"The types are {' and '.join(types)}.",
                known=types,
            )
        if spec.name not in self._spec.types:
            home = next((m.path for m in self._session.packs.mirrors if spec.name in m.types), spec.mailbox)
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

    def _attempt(self, entry: dict[str, Any]) -> int:
        return load.task(self._session.engine.store, str(entry.get("taskId")))[0].attempt

    def _is_done(self, entry: dict[str, Any]) -> bool:
        return load.task(self._session.engine.store, str(entry.get("taskId")))[0].phase == "done"

    def _put_back(self, known: list[Delivery], count: int) -> None:
        """An entry equal to one that a clear had hidden is shown again."""
        visible = sum(d.entry.hidden is None for d in known)
        hidden = [d.entry.id for d in known if d.entry.hidden in _PUT_BACK][: max(0, count - visible)]
        if hidden:
            self._commit(lambda work: work.do_mailbox(self._spec.mailbox, Restore(ids=tuple(hidden))))

    def _accept(self, spec: MessageType, entry: dict[str, Any]) -> str | None:
        session = self._session
        submission = Submission(
            spec=spec,
            data=entry,
            id=f"m-{session.clock.token(7)}",
            sender=self._writer,
            limit=session.packs.limit(spec.pack, session.settings.message_limit),
            roots=self._roots,
            now=session.clock.wall_seconds(),
            source=self._spec.path,
        )
        try:
            self._commit(lambda work: self._protocol.accept(work, submission))
        except MootError as error:
            if error.kind == "unavailable":
                raise
            self._hold(entry, error)
            return None
        return submission.id

    def _hold(self, entry: Any, error: MootError) -> None:
        """Keep what could not be taken, tell its recipient, and take it out of the file."""
        raw = json.dumps(entry, ensure_ascii=False, indent=2)
        held = look.held_entries(self._session.engine.read())
        if any(item.raw == raw and item.mirror == self._spec.name for item in held):
            return  # the same entry again, out of a copy from before it was taken out
        identity = f"h-{self._session.clock.token(7)}"
        task = entry.get("taskId") if isinstance(entry, dict) else None
        said = f"{error.message} {error.remedy}"
        command = HoldEntry(
            path=self._spec.path,
            mirror=self._spec.name,
            raw=raw,
            code=error.code,
            reason=said,
            defects=tuple(error.details.get("defects", ())),
            task=task if isinstance(task, str) else None,
        )

        def act(work: Work) -> None:
            work.do_entry(identity, command)
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
            work.do_message(f"m-{self._session.clock.token(7)}", note, None)

        self._commit(act)
        self._warnings.append(Notice("entry_held", f"{identity}: an entry of {self._path} is held: {said}"))

    def _emptied(self, last_read: object) -> None:
        """An emptied array is a clear. It may be an accident, so what is unread stays unread, and is named."""
        store = self._session.engine.read()
        shown = look.shown_in_file(store, self._spec.mailbox, self._spec.types)
        if not shown:
            return
        ids = tuple(d.entry.id for d in shown)
        at = self._time_of(last_read)
        self._commit(lambda work: work.do_mailbox(self._spec.mailbox, Clear(ids=ids, reason="emptied", at=at)))
        unread = [d for d in shown if not d.entry.settled]
        if unread:
            listed = ", ".join(f"{d.entry.id} ({d.message.task})" for d in unread)
            said = f"{self._path} was emptied. Unread and hidden now: {listed}."
            back = f"`moot mailbox restore {self._spec.mailbox}` puts them back."
            self._warnings.append(Notice("mailbox_emptied", f"{said} {back}"))

    def _read(self, ids: list[str], last_read: object) -> None:
        """Whoever sets `lastRead` has read the messages in the file it wrote, and no others."""
        store = self._session.engine.read()
        if isinstance(last_read, str) and look.was_last_read(store, self._spec.mailbox, last_read):
            return  # it stood there before
        at = self._time_of(last_read)
        if at is None:
            self._warnings.append(
                Notice("bad_last_read", f"{self._path}: lastRead is no date and time; left as it was.")
            )
            return
        readers = next(t.to for kind in self._spec.types if (t := self._session.packs.find(kind)))

        def act(work: Work) -> None:
            box = work.mailbox(self._spec.mailbox, ids)
            unread = tuple(i for i in dict.fromkeys(ids) if i in box.entries and not box.entries[i].settled)
            if unread:
                work.do_mailbox(self._spec.mailbox, Ack(ids=unread, who=role(readers), at=at))

        self._session.engine.commit(role(readers), act)

    def _time_of(self, last_read: object) -> str | None:
        """The time that was written; the present one if it lies in the future or before the last read."""
        seconds = timestamps.parse(last_read) if isinstance(last_read, str) else None
        if seconds is None:
            return None
        now = self._session.clock.wall()
        given = iso(seconds)
        before = look.last_read(self._session.engine.store, self._spec.mailbox) or ""
        return given if before <= given <= now else now

    def _commit(self, act: Any) -> None:
        self._session.engine.commit(self._writer.principal, act)


def _counted(entries: list[Any]) -> list[tuple[Any, int]]:
    """Equal entries together, in the order of their first appearance."""
    found: dict[str, tuple[Any, int]] = {}
    for entry in entries:
        text = json.dumps(entry, sort_keys=True)
        found[text] = (entry, found[text][1] + 1 if text in found else 1)
    return list(found.values())
