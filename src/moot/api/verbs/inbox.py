"""inbox, ack, overdue: what becomes of a message at its recipient."""

from __future__ import annotations

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.api.letters import Letter, of_delivery, told
from moot.core import timestamps
from moot.core.deciders.mailbox import Ack, Expire, Offer
from moot.core.errors import Unknown
from moot.core.principal import name_of
from moot.core.record import Record
from moot.views import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.session import Session
    from moot.engine.work import Work
    from moot.views.look import Delivery

_SHOWN = 50


class Inbox(Record):
    """What is new to you, and what you have seen and not settled."""

    new: tuple[Letter, ...]
    waiting: tuple[Letter, ...]


def inbox(session: Session, all: bool, peek: bool, limit: int) -> Answer:  # noqa: A002
    boxes = session.mailboxes()
    found = look.inbox(session.engine.read(), boxes, max(1, limit))
    me = session.me()
    if me is not None and (me.here or not me.exists):
        session.try_out(lambda _work: None)  # who is unknown or was replaced is told so; who left may still look
    principal = me.principal if me and me.exists else boxes[0]
    expired = [d for d in found if _expired(session, d)]
    live = [d for d in found if d not in expired]
    new = [d for d in live if principal not in d.entry.seen]
    seen = [d for d in live if principal in d.entry.seen]
    result = Inbox(new=tuple(map(of_delivery, new)), waiting=tuple(map(of_delivery, seen)))
    lines = [line for item in result.new for line in told(item)]
    if all:
        lines += [line for item in result.waiting for line in told(item)]
    elif seen:
        lines.append(f"{len(seen)} seen and not settled: {', '.join(item.id for item in result.waiting[:10])}")

    def shown() -> None:
        _record_showing(session, new, expired, principal)

    quiet = peek or (session.caller.agent is not None and me is not None and not me.here)
    return Answer(result=result, say=tuple(lines) or ("No mail.",), after=None if quiet else shown)


def _expired(session: Session, delivery: Delivery) -> bool:
    sent = timestamps.parse(delivery.message.at)
    limit = delivery.message.expires
    return limit is not None and sent is not None and session.clock.wall_seconds() > sent + limit


def _record_showing(session: Session, new: list[Delivery], expired: list[Delivery], principal: str) -> None:
    """Offered is said after the output went out, and only if something new was shown."""
    if not new and not expired:
        return

    def act(work: Work) -> None:
        for box in dict.fromkeys(d.mailbox for d in (*new, *expired)):
            shown = tuple(d.entry.id for d in new if d.mailbox == box)
            over = tuple(d.entry.id for d in expired if d.mailbox == box)
            if shown:
                work.do_mailbox(box, Offer(ids=shown, to=principal))
            if over:
                work.do_mailbox(box, Expire(ids=over))

    session.commit_aside(act)


def ack(session: Session, ids: tuple[str, ...]) -> Answer:
    boxes = session.mailboxes()

    def act(work: Work) -> None:
        me = session.actor(work)
        for name in dict.fromkeys(ids):
            message = work.message(name)
            if not message.exists:
                raise Unknown("unknown_message", f"There is no message {name!r}.", "`moot inbox` lists yours.")
            mine = next((box for box in boxes if box.lower() in {to.lower() for to in message.to}), None)
            if mine is None:
                raise Unknown(
                    "not_in_mailbox",
                    f"{name} is not in your mailbox; it went to {', '.join(message.to)}.",
                    "`moot inbox` lists what is.",
                    message=name,
                )
            work.do_mailbox(mine, Ack(ids=(name,), who=me.principal, at=work.at))

    outcome = session.commit(act)
    done = tuple(dict.fromkeys(ids))
    said = f"acked {', '.join(done)}" if outcome.events else f"{', '.join(done)}: acked before"
    return Answer(result={"acked": list(done)}, say=(said,))


class Overdue(Record):
    id: str
    mailbox: str
    sender: str
    text: str
    waited: float
    within: float | None
    stage: str


def overdue(session: Session, all: bool) -> Answer:  # noqa: A002
    now = session.clock.wall_seconds()
    late = []
    for delivery in look.waiting(session.engine.read()):
        message = delivery.message
        waited = round(now - (timestamps.parse(message.at) or now), 3)
        if all or (message.within is not None and waited > message.within):
            item = Overdue(
                id=message.id,
                mailbox=delivery.mailbox,
                sender=name_of(message.sender),
                text=message.text,
                waited=waited,
                within=message.within,
                stage=delivery.entry.stage,
            )
            late.append(item)
    rows = tuple((o.id, o.mailbox, o.sender, f"{o.waited:.0f} s", o.stage, o.text[:60]) for o in late)
    lines = tuple(f"{o.id} {o.mailbox} has not answered {o.sender} for {o.waited:.0f} s ({o.stage})" for o in late)
    table = Table(("message", "waits for", "from", "since", "stage", ""), rows, title="Overdue")
    return Answer(result=late, say=lines or ("Nothing is overdue.",), table=table if rows else None)


VERBS = (
    Verb(
        "inbox",
        "Show your mail: what is new, and what you have not settled.",
        inbox,
        params=(
            Param("all", "Show again in full what you have seen and not settled.", type="flag"),
            Param("peek", "Look without counting as shown.", type="flag"),
            Param("limit", "At most so many.", type="int", default=_SHOWN),
        ),
        examples=("moot inbox",),
        detail="What was shown counts as offered, after it went out. Confirm with `ack`, answer with `reply`.",
    ),
    Verb(
        "ack",
        "Confirm messages. In a role's mailbox the first to confirm takes the message.",
        ack,
        params=(Param("ids", "The messages.", positional=True, many=True, required=True), KEY),
        examples=("moot ack m-4k2xw9a",),
    ),
    Verb(
        "overdue",
        "Requests whose answer is late.",
        overdue,
        params=(Param("all", "All that wait for an answer, late or not.", type="flag"),),
        examples=("moot overdue",),
        writes=False,
    ),
)
