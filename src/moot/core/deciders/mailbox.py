"""Mailboxes: the delivery status of each message for one recipient.

What always holds:
- The stages are stored, offered, then acked, answered, expired or dead. None is undone, with one exception: a message
  that somebody writes into a protocol's file again becomes unread again.
- Offered means shown. It is recorded after the output is written, never before.
- A note is settled once offered, a message that wants an ack once acked, one that wants an answer once answered. Until
  then it is shown to each new incarnation. Acking a message that wants an answer marks it as read; it stays open.
- A role's mailbox has many readers. The first to acknowledge a message takes it, and only the taker can answer it.
- Clearing only hides a message from the protocol's file. A hidden unread message stays unread.
- The time of the last read never moves backwards.

A mailbox is an agent's name or `@role`. The state is a slice: the entries that a command is about.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.kind import NOWHERE, Kind
from moot.core.payload import Payload
from moot.core.principal import name_of, same_agent
from moot.core.record import Record, unreachable
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.kind import Meta


class Offered(Payload):
    type = "message:offered"
    said = "was shown {ids}"
    marks = ("ids", "to")
    ids: tuple[str, ...]
    to: str


class Acked(Payload):
    type = "message:acked"
    said = "{who} acknowledged {ids}"
    marks = ("ids", "who", "read_at")
    ids: tuple[str, ...]
    who: str
    read_at: str


class Answered(Payload):
    type = "message:answered"
    said = "{who} answered {id} with {reply}"
    marks = ("id", "reply", "who")
    id: str
    reply: str
    who: str


class Expired(Payload):
    type = "message:expired"
    said = "{ids} expired"
    marks = ("ids",)
    ids: tuple[str, ...]


class Died(Payload):
    type = "message:dead"
    said = "{ids} will never be read"
    quiet = ("reason",)
    marks = ("ids",)
    ids: tuple[str, ...]
    reason: str


class Cleared(Payload):
    type = "mailbox:cleared"
    said = "cleared {ids} from the file ({reason})"
    quiet = ("reason",)
    marks = ("ids", "read_at")
    ids: tuple[str, ...]
    reason: str  # completed, reset, emptied (by a file's writer)
    read_at: str | None = None


class MessagesRestored(Payload):
    type = "mailbox:restored"
    said = "put {ids} back into the file, unread again"
    marks = ("ids",)
    ids: tuple[str, ...]


EVENTS: dict[str, type[Payload]] = {
    cls.type: cls for cls in (Offered, Acked, Answered, Expired, Died, Cleared, MessagesRestored)
}


class MailboxEntry(Record):
    """One message at one recipient."""

    id: str
    wants: str = "nothing"
    seen: tuple[str, ...] = ()  # the principals it was shown to
    taker: str | None = None
    reply: str | None = None
    ended: str | None = None  # acked, answered, expired, dead
    hidden: str | None = None  # why it was cleared from the file

    @property
    def settled(self) -> bool:
        return self.ended is not None or (self.wants == "nothing" and bool(self.seen))

    @property
    def stage(self) -> str:
        return self.ended or ("acked" if self.taker else "offered" if self.seen else "stored")


class Mailbox(Record):
    name: str
    entries: dict[str, MailboxEntry] = {}  # noqa: RUF012
    last_read: str | None = None

    @property
    def shared(self) -> bool:
        return self.name.startswith("@")

    def taken_by_another(self, entry: MailboxEntry, who: str) -> bool:
        return self.shared and entry.taker is not None and not same_agent(entry.taker, who)


class Offer(Record):
    ids: tuple[str, ...]
    to: str


class Ack(Record):
    ids: tuple[str, ...]
    who: str
    at: str


class AnswerMessage(Record):
    id: str
    reply: str
    who: str


class Expire(Record):
    ids: tuple[str, ...]


class Bury(Record):
    ids: tuple[str, ...]
    reason: str


class Clear(Record):
    ids: tuple[str, ...]
    reason: str
    at: str | None = None  # new time of the last read, if the clear counts as a read


class Restore(Record):
    """Somebody wrote these messages into the file again, so they are unread again."""

    ids: tuple[str, ...]


def decide(
    box: Mailbox, command: Offer | Ack | AnswerMessage | Expire | Bury | Clear | Restore, _facts: object = None
) -> list[Payload]:
    match command:
        case Offer():
            new = tuple(i for i in command.ids if _open(box, i) and command.to not in box.entries[i].seen)
            return [Offered(ids=new, to=command.to)] if new else []
        case Ack():
            return _ack(box, command)
        case AnswerMessage():
            entry = _own(box, command.id)
            _check_taker(box, entry, command.who)
            if entry.ended in ("expired", "dead", "answered"):
                return []  # the reply itself is stored; nothing is left to settle
            return [Answered(id=command.id, reply=command.reply, who=command.who)]
        case Expire():
            ids = tuple(i for i in command.ids if _open(box, i))
            return [Expired(ids=ids)] if ids else []
        case Bury():
            ids = tuple(i for i in command.ids if _open(box, i))
            return [Died(ids=ids, reason=command.reason)] if ids else []
        case Clear():
            ids = tuple(i for i in command.ids if i in box.entries and box.entries[i].hidden is None)
            cleared = Cleared(ids=ids, reason=command.reason, read_at=_later(box, command.at))
            return [cleared] if ids or command.at else []
        case Restore():
            ids = tuple(i for i in command.ids if i in box.entries and box.entries[i].hidden is not None)
            return [MessagesRestored(ids=ids)] if ids else []
        case _:
            unreachable(command)


def _open(box: Mailbox, message: str) -> bool:
    return message in box.entries and not box.entries[message].settled


def _ack(box: Mailbox, command: Ack) -> list[Payload]:
    new = []
    for message in command.ids:
        entry = _own(box, message)
        _check_taker(box, entry, command.who)
        if entry.ended in ("expired", "dead"):
            raise Refused(
                "message_ended",
                f"{message} is {entry.ended}.",
                "Send a new message if it still matters.",
                message=message,
            )
        if entry.ended is None and entry.taker is None:
            new.append(message)
    return [Acked(ids=tuple(new), who=command.who, read_at=_later(box, command.at) or command.at)] if new else []


def _own(box: Mailbox, message: str) -> MailboxEntry:
    if message not in box.entries:
        raise Unknown(
            "not_in_mailbox",
            f"{message} is not in the mailbox of {box.name}.",
            "`moot inbox` lists your messages.",
            message=message,
            mailbox=box.name,
        )
    return box.entries[message]


def _check_taker(box: Mailbox, entry: MailboxEntry, who: str) -> None:
    if box.taken_by_another(entry, who):
        taker = name_of(entry.taker or "")
        raise Held(
            "message_taken",
            f"{entry.id} was taken by {taker}.",
            f"Leave it to {taker}, or ask: `{command_line('send', taker)} '…'`.",
            message=entry.id,
            taker=entry.taker,
        )


def _later(box: Mailbox, at: str | None) -> str | None:
    """The later of `at` and the last read. Times of the same format compare as text."""
    if at is None or box.last_read is None:
        return at
    return max(at, box.last_read)


def _acked(entry: MailboxEntry, who: str) -> MailboxEntry:
    if entry.wants != "answer":
        return entry.replace(ended="acked", taker=who)
    return entry.replace(taker=who, seen=entry.seen if who in entry.seen else (*entry.seen, who))


def evolve(box: Mailbox, event: Payload, _meta: Meta = NOWHERE) -> Mailbox:
    def with_entries(ids: tuple[str, ...], **changes: Any) -> Mailbox:
        changed = {i: box.entries[i].replace(**changes) for i in ids if i in box.entries}
        return box.replace(entries={**box.entries, **changed})

    match event:
        case Offered():
            changed = {
                i: box.entries[i].replace(seen=(*box.entries[i].seen, event.to)) for i in event.ids if i in box.entries
            }
            return box.replace(entries={**box.entries, **changed})
        case Acked():
            acked = {i: _acked(box.entries[i], event.who) for i in event.ids if i in box.entries}
            return box.replace(entries={**box.entries, **acked}, last_read=event.read_at)
        case Answered():
            return with_entries((event.id,), ended="answered", taker=event.who, reply=event.reply)
        case Expired():
            return with_entries(event.ids, ended="expired")
        case Died():
            return with_entries(event.ids, ended="dead")
        case Cleared():
            box = with_entries(event.ids, hidden=event.reason)
            return box.replace(last_read=event.read_at) if event.read_at else box
        case MessagesRestored():
            return with_entries(event.ids, hidden=None, ended=None, taker=None, seen=())
        case _:
            raise TypeError(f"not an event of a mailbox: {event!r}")


def parts(about: Record) -> tuple[str, ...]:
    """The ids of the messages that a command or an event is about."""
    fields = about.__dict__
    return fields["ids"] if "ids" in fields else (fields["id"],)


KIND = Kind(
    name="mailbox",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Mailbox,
    lowers=True,
    parts=parts,
    made_by="`moot inbox`, `moot ack`, `moot reply`, or a file of a pack",
)
