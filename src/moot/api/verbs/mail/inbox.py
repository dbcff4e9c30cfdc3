"""inbox, ack, overdue: read and confirm messages."""

from __future__ import annotations

from moot.api.answer import Answer, Table, named, typed
from moot.api.catalogue import KEY, Param, Verb
from moot.api.message_view import (
    ROOM,
    Letter,
    expired,
    is_overdue,
    message_lines,
    of_delivery,
    size_in_words,
    waiting_messages,
    weight,
)
from moot.core import timestamps
from moot.core.deciders.mailbox import Ack, Bury, Expire, Offer
from moot.core.deciders.message import known
from moot.core.principal import label, name_of
from moot.core.record import Record
from moot.core.text import age, command_line, from_agent
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.deciders.message import Message
    from moot.core.principal import Actor
    from moot.engine.unit_of_work import Work
    from moot.views.queries import Delivery

_SHOWN = 50
_NAMED = 10  # maximum number of ids in the line about messages seen before
_EXPIRED_AT_ONCE = 1000


class Inbox(Record):
    """New messages, and messages seen but not settled: the oldest of each, and how many more there are.

    With --all also the newest settled ones, oldest first.
    """

    new: tuple[Letter, ...]
    waiting: tuple[Letter, ...]
    more_new: int = 0
    more_waiting: int = 0
    more_bytes: int = 0  # approximate size of the new messages that are not included
    settled: tuple[Letter, ...] = ()
    more_settled: int | None = None  # None: not counted


def inbox(call: Call, all: bool, peek: bool, limit: int, bytes: int) -> Answer:  # noqa: A002
    return mail(call, all=all, peek=peek, limit=limit, bytes=bytes)


def mail(
    call: Call,
    *,
    all: bool = False,  # noqa: A002
    peek: bool = False,
    limit: int = _SHOWN,
    bytes: int = ROOM,  # noqa: A002
    agent: str | None = None,
) -> Answer:
    """The caller's mail. `agent`: the name in the commands of the answer; default: if the caller gave it."""
    agent = agent or named(call)
    me = call.me()
    if me is not None and (me.here or not me.exists):
        call.try_out(lambda _work: None)  # refuses unknown and replaced agents; an agent that left may still read
    reader = me.principal if me and me.exists else call.mailboxes()[0]
    new = waiting_messages(call, reader, limit, seen=False, room=bytes)
    used = sum(weight(delivery.message) for delivery in new.mail)
    seen = waiting_messages(call, reader, limit, seen=True, room=max(0, bytes - used))
    result = Inbox(
        new=tuple(map(of_delivery, new.mail)),
        waiting=tuple(map(of_delivery, seen.mail)),
        more_new=new.more,
        more_waiting=seen.more,
        more_bytes=new.left,
    )
    used += sum(weight(delivery.message) for delivery in seen.mail)
    settled, older = _settled(call, reader, limit, max(0, bytes - used)) if all else ((), None)
    result = result.replace(settled=settled, more_settled=older)
    quiet = peek or (me is not None and not me.here)

    def shown() -> None:
        _record_showing(call, new.mail, (*new.expired, *seen.expired)[:_EXPIRED_AT_ONCE], reader)

    room = (bytes, max(bytes, used + new.left), max(bytes, used + seen.left))
    lines = _lines(result, limit, room, in_full=all, quiet=quiet, agent=agent)
    if settled or older:
        lines = (*lines, *_settled_lines(call, reader, result, limit, bytes, used))
    unread = new.more if me is not None and me.here else None
    return Answer(result=result, say=lines or ("No mail.",), after=None if quiet else shown, unread=unread)


def _lines(
    result: Inbox, limit: int, room: tuple[int, int, int], *, in_full: bool, quiet: bool, agent: str | None
) -> tuple[str, ...]:
    """`room`: the limit in bytes, the bytes of all new messages, and the bytes of all messages seen before."""
    lines = [line for item in result.new for line in message_lines(item, room[0], agent)]
    if result.more_new:  # the next call shows the ones that follow
        how = f"moot inbox --peek{_wider(limit, result.more_new, room[0], room[1])}" if quiet else "moot inbox"
        size = f", {size_in_words(result.more_bytes)}" if len(result.new) < limit else ""
        lines.append(f"{result.more_new} more{size}: {from_agent(how, agent) if agent else how}")
    if in_full:
        lines += [line for item in result.waiting for line in message_lines(item, agent=agent)]
        if result.more_waiting:
            how = f"moot inbox --all{_wider(limit, result.more_waiting, room[0], room[2])}"
            lines.append(f"{result.more_waiting} more seen and not settled: {from_agent(how, agent) if agent else how}")
    elif count := len(result.waiting) + result.more_waiting:
        ids = ", ".join(item.id for item in result.waiting[:_NAMED])
        typed_all = from_agent("moot inbox --all", agent) if agent else "moot inbox --all"
        lines.append(f"{count} seen and not settled: {ids or typed_all}{'…' if count > _NAMED else ''}")
    return tuple(lines)


def _settled(call: Call, reader: str, limit: int, room: int) -> tuple[tuple[Letter, ...], int]:
    """The newest settled messages that fit, oldest first, and the number of others."""
    store, boxes = call.engine.read(), call.mailboxes()
    found = [d for box in boxes for d in queries.settled(store, box, reader, limit)]
    kept: list[Delivery] = []
    for delivery in sorted(found, key=lambda d: -d.message.position)[:limit]:
        room -= weight(delivery.message)
        if room < 0:
            break
        kept.append(delivery)
    total = sum(queries.count_settled(store, box, reader)[0] for box in boxes)
    return tuple(map(of_delivery, reversed(kept))), total - len(kept)


def _settled_lines(call: Call, reader: str, result: Inbox, limit: int, room: int, used: int) -> Iterator[str]:
    if result.more_settled:
        store = call.engine.read()
        size = used + sum(queries.count_settled(store, box, reader)[1] for box in call.mailboxes())
        how = f"moot inbox --all{_wider(limit, result.more_settled, room, size)}"
        yield f"{result.more_settled} older settled: {typed(call, how)}"
    if result.settled:
        yield f"{len(result.settled)} settled:"
    for item in result.settled:
        yield from message_lines(item, agent=named(call))


def _wider(limit: int, more: int, room: int, needed: int) -> str:
    """The options that would show everything."""
    return f" --limit {limit + more}" + (f" --bytes {needed}" if needed > room else "")


def _record_showing(call: Call, new: tuple[Delivery, ...], late: tuple[Delivery, ...], reader: str) -> None:
    """Record messages as offered: after the output was written, and only if something new was shown."""
    if not new and not late:
        return

    def act(work: Work) -> None:
        for box in dict.fromkeys(d.mailbox for d in (*new, *late)):
            shown = tuple(d.entry.id for d in new if d.mailbox == box)
            over = tuple(d.entry.id for d in late if d.mailbox == box)
            if shown:
                work.do("mailbox", box, Offer(ids=shown, to=reader))
            if over:
                work.do("mailbox", box, Expire(ids=over))

    call.commit_aside(act)


def ack(call: Call, ids: tuple[str, ...]) -> Answer:
    boxes = call.mailboxes()

    def act(work: Work) -> None:
        me = call.actor(work)
        for name in dict.fromkeys(ids):
            _confirm(work, boxes, known(work.message(name)), me)

    outcome = call.commit(act)
    done = tuple(dict.fromkeys(ids))
    said = f"acked {', '.join(done)}" if outcome.events else f"{', '.join(done)}: already acked"
    owed = [name for name in done if _owed(call, name, boxes)]
    reminders = (f"{name} still needs an answer: {typed(call, command_line('reply', name))} '…'" for name in owed)
    return Answer(result={"acked": list(done), "unanswered": owed}, say=(said, *reminders))


def _confirm(work: Work, boxes: tuple[str, ...], message: Message, me: Actor) -> None:
    from moot.core.addresses import own_boxes, retired

    for box in own_boxes(work, boxes, message, me):
        work.do("mailbox", box, Ack(ids=(message.id,), who=me.principal, at=work.at))
        if message.wants == "answer" and retired(work, message.sender):  # the answer has no recipient any more
            work.do("mailbox", box, Bury(ids=(message.id,), reason=f"{name_of(message.sender)} retired"))


def _owed(call: Call, message: str, boxes: tuple[str, ...]) -> bool:
    """Whether one of these mailboxes still owes an answer to the message."""
    mine = {box.lower() for box in boxes}
    chain = queries.chain(call.engine.read(), message)
    return any(box in mine and entry.wants == "answer" and not entry.settled for box, entry, _, _ in chain)


class Overdue(Record):
    id: str
    mailbox: str
    sender: str
    text: str
    waited: float
    within: float | None
    stage: str
    taker: str | None = None


def overdue(call: Call, all: bool) -> Answer:  # noqa: A002
    now = call.clock.wall_seconds()
    late = []
    for delivery in queries.waiting(call.engine.read()):
        message = delivery.message
        if is_overdue(delivery, now) or (all and not expired(delivery, now)):
            waited = round(now - (timestamps.parse(message.at) or now), 3)
            item = Overdue(
                id=message.id,
                mailbox=delivery.box,
                sender=label(message.sender),
                text=message.text,
                waited=waited,
                within=message.within,
                stage=delivery.entry.stage,
                taker=delivery.entry.taker,
            )
            late.append(item)
    rows = tuple((o.id, o.mailbox, o.sender, age(o.waited), _stage(o), o.text[:60]) for o in late)
    lines = tuple(f"{o.id} {o.mailbox} has not answered {o.sender} for {age(o.waited)} ({_stage(o)})" for o in late)
    table = Table(("message", "waits for", "from", "since", "stage", ""), rows, title="Overdue")
    return Answer(result=late, say=lines or ("Nothing is overdue.",), table=table if rows else None)


def _stage(item: Overdue) -> str:
    return f"{item.stage} by {name_of(item.taker)}" if item.taker else item.stage


VERBS = (
    Verb(
        "inbox",
        "Show your new messages, and those you have not settled.",
        inbox,
        kind="speak",
        params=(
            Param("all", "Also show, in full, messages that you have seen, and recently settled ones.", type="flag"),
            Param("peek", "Do not mark the messages as shown.", type="flag"),
            Param("limit", "Maximum number of new, of seen and of settled messages.", type="int", default=_SHOWN),
            Param("bytes", "Maximum size of the text in bytes; the rest stays new.", type="int", default=ROOM),
        ),
        examples=("moot inbox", "moot inbox --all"),
        past=True,
        detail="Messages count as offered once the output was written. Confirm with `ack`, answer with `reply`. "
        "Messages are never split. A message larger than the limit comes alone: complete in JSON and in Python, while "
        "the text output shows its beginning and how to read the rest.",
    ),
    Verb(
        "ack",
        "Confirm messages. In a role's mailbox, the first agent to confirm a message takes it.",
        ack,
        kind="speak",
        params=(Param("ids", "The messages.", positional=True, many=True, required=True), KEY),
        examples=("moot ack m-4k2xw9a",),
        detail="A request still needs an answer (`moot reply`); in a role's mailbox, from the agent that took it.",
    ),
    Verb(
        "overdue",
        "List requests whose answer is overdue.",
        overdue,
        kind="look",
        params=(Param("all", "Include requests that are not overdue yet.", type="flag"),),
        examples=("moot overdue",),
        writes=False,
    ),
)
