"""What waits for a reader, a message as its reader sees it, and the lines that tell it."""

from __future__ import annotations

from moot.core import timestamps
from moot.core.principal import label
from moot.core.record import Record
from moot.core.text import command_line, fence
from moot.views import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.session import Session
    from moot.core.deciders.message import Message
    from moot.views.look import Delivery


class Pile(Record):
    """What waits for one reader: some of it, how much more there is, and what of it is too late now."""

    mail: tuple[Delivery, ...]
    more: int
    expired: tuple[Delivery, ...]


def pile(session: Session, reader: str, limit: int, *, seen: bool) -> Pile:
    """The oldest of what the reader has seen and not settled, or of what is new to it, over all its mailboxes."""
    store, now = session.engine.read(), session.clock.wall_seconds()
    boxes = session.mailboxes()
    live: list[Delivery] = []
    late: list[Delivery] = []
    for box in boxes:
        enough = len(live) + limit
        for delivery in look.unsettled(store, box, reader, seen=seen):
            (late if expired(delivery, now) else live).append(delivery)
            if len(live) >= enough:
                break
    live.sort(key=lambda d: d.message.position)
    shown = tuple(live[:limit])
    if len(live) < limit:
        return Pile(mail=shown, more=0, expired=tuple(late))
    there = sum(look.count_unsettled(store, box, reader, seen=seen) for box in boxes)
    return Pile(mail=shown, more=there - len(shown) - len(late), expired=tuple(late))


def expired(delivery: Delivery, now: float) -> bool:
    """Whether its time is over, recorded or not."""
    sent, limit = timestamps.parse(delivery.message.at), delivery.message.expires
    return limit is not None and sent is not None and now > sent + limit


class Letter(Record):
    id: str
    sender: str
    to: tuple[str, ...]
    type: str
    wants: str
    text: str
    data: dict[str, Any] | None
    at: str
    thread: str
    reply_to: str | None
    task: str | None
    attempt: int | None
    flags: tuple[str, ...]
    mailbox: str | None = None
    stage: str | None = None
    taker: str | None = None
    hidden: str | None = None
    stages: tuple[tuple[str, str], ...] = ()
    trace: str | None = None


def of_message(message: Message, stages: tuple[tuple[str, str], ...] = ()) -> Letter:
    """As everybody sees it; `stages` says where it stands at each recipient."""
    return Letter(
        id=message.id,
        sender=label(message.sender),
        to=message.to,
        type=message.kind,
        wants=message.wants,
        text=message.text,
        data=message.data,
        at=message.at,
        thread=message.thread,
        reply_to=message.reply_to,
        task=message.task,
        attempt=message.attempt,
        flags=message.flags,
        stages=stages,
        trace=message.trace,
    )


def of_delivery(delivery: Delivery) -> Letter:
    """As one recipient sees it."""
    entry = delivery.entry
    return of_message(delivery.message).replace(
        mailbox=delivery.mailbox, stage=entry.stage, taker=entry.taker, hidden=entry.hidden
    )


def told(item: Letter) -> list[str]:
    """The lines for an agent. What others wrote is fenced, so that it cannot pass for moot's own words."""
    about = f" about {item.task}" if item.task else ""
    box = f" to {item.mailbox}" if item.mailbox and item.mailbox.startswith("@") else ""
    head = f"{item.id} {item.type} from {item.sender}{box}{about} at {item.at}"
    if item.stages:
        head += f" [{', '.join(f'{box} {stage}' for box, stage in item.stages)}]"
    lines = [head]
    if item.text:
        lines += fence(item.text).splitlines()
    if item.data is not None:
        import json

        lines += fence(json.dumps(item.data, ensure_ascii=False, indent=1)).splitlines()
    lines += [f"! {flag}" for flag in item.flags]
    if not item.stages and item.stage in ("stored", "offered", "acked"):
        if item.wants == "answer":
            lines.append(f"wants an answer: {command_line('reply', item.id)} '…'")
        elif item.wants == "ack" and item.stage != "acked":
            lines.append(f"wants a confirmation: {command_line('ack', item.id)}")
    return lines
