"""Messages that wait for a reader, and how a message is shown."""

from __future__ import annotations

from moot.core import timestamps
from moot.core.deciders.message import CLAIMED, WANTS
from moot.core.json_codec import dumps
from moot.core.principal import label
from moot.core.record import Record
from moot.core.text import command_line, counted, fence, first_few, from_agent, one_line, option
from moot.engine.clock import local
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.message import Message
    from moot.views.queries import Delivery


ROOM = 256 << 10  # maximum bytes of message text in one answer


class WaitingMessages(Record):
    """Messages that wait for one reader: those to show, the number of others (about `left` bytes), and expired ones."""

    mail: tuple[Delivery, ...]
    more: int
    expired: tuple[Delivery, ...]
    left: int = 0


def waiting_messages(call: Call, reader: str, limit: int, *, seen: bool, room: int | None = None) -> WaitingMessages:
    """The oldest messages that the reader has seen but not settled, or that are new, over all its mailboxes.

    `room`: maximum total size in bytes of whole messages. New messages include at least one, however large.
    """
    store, now = call.engine.read(), call.clock.wall_seconds()
    boxes = call.mailboxes()
    live: list[Delivery] = []
    late: list[Delivery] = []
    all_read = True
    for box in boxes:
        enough, size = len(live) + limit, 0
        for delivery in queries.unsettled(store, box, reader, seen=seen):
            (late if expired(delivery, now) else live).append(delivery)
            size += weight(delivery.message)
            if len(live) >= enough or (room is not None and size > room):
                all_read = False
                break
    live.sort(key=lambda d: d.message.position)
    shown = tuple(_fitting(live[:limit], room, least=not seen))
    if all_read and len(shown) == len(live):
        return WaitingMessages(mail=shown, more=0, expired=tuple(late))
    there = [queries.count_unsettled(store, box, reader, seen=seen) for box in boxes]
    left = sum(size for _, size in there) - sum(weight(d.message) for d in shown)
    more = sum(count for count, _ in there) - len(shown) - len(late)
    return WaitingMessages(mail=shown, more=more, expired=tuple(late), left=max(left, 0))


def _fitting(mail: list[Delivery], room: int | None, *, least: bool) -> Iterator[Delivery]:
    used = 0
    for number, delivery in enumerate(mail):
        used += weight(delivery.message)
        if room is not None and used > room and (number or not least):
            return
        yield delivery


def weight(message: Message | Letter) -> int:
    """Its approximate size in bytes."""
    text = message.text
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size + (len(dumps(message.data)) if message.data is not None else 0)


def size_in_words(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return counted(size, "byte")


def expired(delivery: Delivery, now: float) -> bool:
    """Whether it has expired, recorded or not."""
    sent, limit = timestamps.parse(delivery.message.at), delivery.message.expires
    return limit is not None and sent is not None and now > sent + limit


def is_overdue(delivery: Delivery, now: float) -> bool:
    """Whether the answer is late. An expired message no longer needs one."""
    message = delivery.message
    if message.within is None or expired(delivery, now):
        return False
    return now - (timestamps.parse(message.at) or now) > message.within


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
    times: tuple[tuple[str, str | None, str | None], ...] = ()  # for each recipient when it was shown, and settled
    cut: int | None = None  # the size of the whole message in bytes, if it was cut
    evidence: str | None = None  # of a result in it: the receipt that moot took it from, or `claimed`
    runs: tuple[str, ...] = ()  # the receipts of its task and attempt
    via: str | None = None  # `file PATH` for a message that came from a file of the repository


def of_message(message: Message, stages: tuple[tuple[str, str], ...] = ()) -> Letter:
    """A message as everybody sees it; `stages` has its state at each recipient."""
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
        evidence=message.evidence,
        runs=message.runs,
        via=f"file {message.source}" if message.source else None,
    )


def of_delivery(delivery: Delivery) -> Letter:
    """A message as one recipient sees it."""
    entry = delivery.entry
    return of_message(delivery.message).replace(
        mailbox=delivery.box, stage=entry.stage, taker=entry.taker, hidden=entry.hidden
    )


def cut(letter: Letter, room: int) -> Letter:
    """The whole message if it fits, otherwise the beginning of its text without its data."""
    if letter.cut is not None or (size := weight(letter)) <= room:
        return letter
    text = letter.text or dumps(letter.data)
    return letter.replace(text=text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore"), data=None, cut=size)


def newest_whole(letters: Iterable[Letter], room: int = ROOM) -> tuple[Letter, ...]:
    """All messages: the last in full, earlier ones in full while they fit, and the rest cut."""
    found: list[Letter] = []
    for letter in reversed(list(letters)):
        found.append(cut(letter, room) if found else letter)
        room = max(0, room - weight(letter))
    return tuple(reversed(found))


def evidence_lines(item: Letter | Message) -> list[str]:
    """Where a result in the message comes from, and the checks of its attempt."""
    if item.evidence is None:
        return []
    how = "claimed by its sender" if item.evidence == CLAIMED else f"observed by moot in {item.evidence}"
    if not item.runs:
        return [f"result: {how}"]
    more = command_line("receipts", options=option("--task", item.task or ""))
    return [f"result: {how}; runs of the attempt: {first_few(item.runs)} ({more})"]


def message_lines(item: Letter, room: int | None = None, agent: str | None = None) -> list[str]:
    """The lines for an agent. Message text is fenced, so it cannot be mistaken for moot's output.

    `room`: maximum number of bytes shown. If the message is cut, a line shows how to read the rest. `agent`: the name
    that the commands contain, if any.
    """

    def command(verb: str, options: str = "") -> str:
        said = command_line(verb, item.id, options=options)
        return from_agent(said, agent) if agent else said

    if room is not None:
        item = cut(item, room)
    about = f" about {item.task}" if item.task else ""
    box = f" to {item.mailbox}" if item.mailbox and item.mailbox.startswith("@") else ""
    via = f" via {one_line(item.via, 200)}" if item.via else ""
    head = f"{item.id} {item.type} from {item.sender}{box}{about} at {local(item.at)}{via}"
    if item.stages:
        head += f" [{', '.join(f'{box} {stage}' for box, stage in item.stages)}]"
    lines = [head]
    if item.text:
        lines += fence(item.text).splitlines()
    if item.data is not None and (not item.text or item.type in WANTS):  # the text of a pack's message is its data
        import json

        lines += fence(json.dumps(item.data, ensure_ascii=False, indent=1)).splitlines()
    if item.cut is not None:
        whole = command("thread", "--only")
        lines.append(f"cut: the message has {size_in_words(item.cut)}. To read all of it: {whole}")
    lines += [f"! {flag}" for flag in item.flags]
    if item.task is not None and item.thread == item.task and not item.stages:  # moot's own mail about a move
        said = command_line("task show", item.task)
        lines.append(f"see: {from_agent(said, agent) if agent else said}")
    run = item.data.get("run") if item.data is not None and item.type not in WANTS else None
    if isinstance(run, str) and run.startswith("run-"):  # the run that a pack's message is about
        lines.append(f"see: {command_line('run show', run)}")
    lines += evidence_lines(item)
    if not item.stages and item.stage in ("stored", "offered", "acked"):
        if item.wants == "answer":
            lines.append(f"needs an answer: {command('reply')} '…'")
        elif item.wants == "ack" and item.stage != "acked":
            lines.append(f"needs confirmation: {command('ack')}")
    return lines
