"""send, reply, thread: send messages and read conversations."""

from __future__ import annotations

from moot.api.answer import Answer, named
from moot.api.catalogue import KEY, Param, Verb
from moot.api.message_view import ROOM, message_lines, newest_whole, of_message
from moot.core import addresses
from moot.core.deciders.mailbox import AnswerMessage
from moot.core.deciders.message import WANTS, SendMessage, Sent, known
from moot.core.errors import Unknown, Usage
from moot.core.json_codec import dumps
from moot.core.principal import name_of
from moot.core.record import Record
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.message import Message
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work


class StoredMessage(Record):
    """A stored message: its id and its recipients."""

    id: str
    thread: str
    to: tuple[str, ...]
    position: int
    repeated: bool = False
    flags: tuple[str, ...] = ()


def send(
    call: Call,
    to: tuple[str, ...],
    text: str | None,
    type: str,  # noqa: A002 (named after the option)
    data: Any,
    thread: str | None,
    task: str | None,
    within: float | None,
    expires: float | None,
    dry_run: bool,
    receipt: str | None,
) -> Answer:
    if type == "reply":
        raise Usage("bad_arguments", "A reply needs the id of a message.", "Use `reply`: moot reply ID 'text'")
    if type not in WANTS:
        return call.packs.send(call, type, to, data, text, thread, dry_run=dry_run, receipt=receipt)
    if receipt is not None:
        raise Usage(
            "bad_arguments",
            f"A {type} does not contain the result of a command.",
            "Omit --receipt, or name it in the text.",
        )
    if data is not None and not isinstance(data, dict):
        raise Usage("bad_json", "--data must be a JSON object.", 'For example: --data \'{"branch": "main"}\'.')
    words, others = (to[0], to[1:]) if text is None and len(to) == 1 else (text, to)
    if type == "note" and words is not None and data is None and (typed := call.packs.typed(words)) is not None:
        return call.packs.send(call, typed[0], others, typed[1], None, thread, dry_run=dry_run)
    if to and text is None and data is None:
        raise Usage("bad_arguments", "`send` needs a text.", "For example: moot send Yeats 'The parser is ready.'")

    def act(work: Work) -> None:
        sender = call.actor(work)
        if task is not None:
            work.known_task(task)
        names = addresses.resolve(work, call.packs.shared_roles, call.packs.addresses(work, to), sender)
        root = known(work.message(thread)).thread if thread is not None else None
        command = SendMessage(
            kind=type,
            sender=sender.principal,
            to=names,
            wants=WANTS[type],
            size=_size(text, data),
            limit=call.settings.message_limit,
            text=text or "",
            data=data,
            task=task,
            within=within,
            expires=expires,
        )
        work.do("message", work.new_message(), command, thread=root)

    if dry_run:
        from moot.api.dry_run import dry_run as dry_run_of

        return dry_run_of(call, act)
    return stored(call.commit(act))


def stored(outcome: Outcome, kind: str | None = None) -> Answer:
    """The answer to a send. It is derived from the events, so a repeat gets the same answer. `kind`: what was sent."""
    event = next(e for e in outcome.events if e.type == Sent.type and kind in (None, e.data["kind"]))
    identity = event.stream.partition("/")[2]
    receipt = StoredMessage(
        id=identity,
        thread=event.thread or identity,
        to=tuple(event.data["to"]),
        position=event.position,
        repeated=outcome.repeated,
        flags=tuple(event.data.get("flags", ())),
    )
    again = " (repeated with the same key)" if outcome.repeated else ""
    return Answer(result=receipt, say=(f"{identity} stored for {', '.join(receipt.to)}{again}",))


def reply(call: Call, id: str, text: str, data: Any) -> Answer:  # noqa: A002
    if data is not None and not isinstance(data, dict):
        raise Usage("bad_json", "--data must be a JSON object.", "For example: --data '{\"ok\": true}'.")
    boxes = call.mailboxes()

    def act(work: Work) -> None:
        me = call.actor(work)
        original = known(work.message(id))
        mine = addresses.to_settle(work, boxes, original, me)
        if (
            name_of(original.sender).lower() == me.name.lower()
        ):  # an addition to the caller's own message, or an answer to itself
            to = tuple(name for name in original.to if name.lower() != me.name.lower()) or (me.name,)
            mine = [box for box in mine if not box.startswith("@") or addresses.taken_by(work, box, original, me)]
        else:
            to = (addresses.mailbox_of(work, original.sender),)
        command = SendMessage(
            kind="reply",
            sender=me.principal,
            to=to,
            wants="nothing",
            size=_size(text, data),
            limit=call.settings.message_limit,
            text=text,
            data=data,
            reply_to=id,
            task=original.task,
        )
        identity = work.new_message()
        work.do("message", identity, command, thread=original.thread)
        for box in mine if original.wants != "nothing" else ():
            work.do("mailbox", box, AnswerMessage(id=id, reply=identity, who=me.principal))

    return stored(call.commit(act))


def thread(call: Call, id: str, only: bool) -> Answer:  # noqa: A002
    store = call.engine.read()
    first = [_message(call, id)] if only else queries.thread(store, id)
    if not first or states.task(store, id)[1]:  # the thread of a task has only moot's own notices
        first = queries.messages_of_task(store, id) or queries.messages_of_agent(store, id)
    first = first or queries.thread(store, _message(call, id).thread)
    letters = []
    for message in first:
        called = {name.lower(): name for name in message.to}
        chain = queries.chain(store, message.id)
        stages = tuple((called.get(box, box), entry.stage) for box, entry, _, _ in chain)
        times = tuple((called.get(box, box), shown, settled) for box, _, shown, settled in chain)
        letters.append(of_message(message, stages=stages).replace(times=times))
    if not only:
        letters = list(newest_whole(letters))
    room, agent = None if only else ROOM, named(call)
    return Answer(result=letters, say=tuple(line for item in letters for line in message_lines(item, room, agent)))


def _size(text: str | None, data: Any) -> int:
    return len((text or "").encode()) + (len(dumps(data).encode()) if data is not None else 0)


def _message(call: Call, name: str) -> Message:
    message, _ = states.message(call.engine.read(), name)
    if not message.exists:
        raise Unknown("unknown_message", f"There is no message or thread {name!r}.", "`moot inbox` lists yours.")
    return message


_DATA = Param("data", "A JSON object: inline, @FILE, or - for standard input.", type="json")

VERBS = (
    Verb(
        "send",
        "Send a message. It is stored for all recipients, or refused.",
        send,
        kind="speak",
        params=(
            Param("to", "Agents, @role or @all. Messages of a pack have fixed recipients.", positional=True, many=True),
            Param("text", "The text: the last argument.", type="words", positional=True),
            Param("type", "note, request (needs an answer), or a message type of a pack.", default="note"),
            _DATA,
            Param("thread", "Any message of the thread that this belongs to."),
            Param("task", "The task this is about."),
            Param("within", "When the answer is due (see `overdue`): 90s, 30m, 2h.", type="seconds"),
            Param("expires", "Stop showing it after this long.", type="seconds"),
            Param("dry_run", "Validate the message without sending it.", type="flag"),
            Param(
                "receipt",
                "Messages of a pack with a build result: take it from this receipt of `moot check`, or from your "
                "`last` one.",
                limit=200,
            ),
            KEY,
        ),
        examples=(
            "moot send Yeats 'The parser is on main.'",
            "moot send @reviewer --type request --within 30m 'Please look at task-002.'",
        ),
        detail=(
            "A note is settled once it was shown. A request stays open until it is answered with `moot reply`, and is "
            "shown to each new incarnation of its recipient. `moot thread ID` shows its state at each recipient. "
            "A report can have moot's own word for its build: run it with `moot check --task TASK -- COMMAND`, as "
            "often as you need, then send the report without the result and with `--receipt last`. Its recipient sees "
            "that moot observed the result, and all runs of the attempt. A result that you write yourself is shown as "
            "claimed. A note that has the text form of a pack's message is sent as that message; a text that begins "
            "like one and differs is refused, with the place and the form."
        ),
    ),
    Verb(
        "reply",
        "Answer a message. An answer settles a request.",
        reply,
        kind="speak",
        params=(
            Param("id", "The message to answer.", positional=True, required=True),
            Param("text", "The text.", type="words", positional=True, required=True),
            _DATA,
            KEY,
        ),
        examples=("moot reply m-4k2xw9a 'Reviewed, two remarks in the thread.'",),
    ),
    Verb(
        "thread",
        "Show a conversation, with the state of each message at each recipient.",
        thread,
        kind="look",
        params=(
            Param("id", "Any message of the conversation; or a task or an agent.", positional=True, required=True),
            Param("only", "Show only this message, in full.", type="flag"),
        ),
        examples=("moot thread m-4k2xw9a", "moot thread m-4k2xw9a --only"),
        detail=(
            "Of a task: all messages about it. Of an agent: all that it sent or received. In a very long conversation, "
            "the newest messages are shown in full and older ones are cut."
        ),
        writes=False,
    ),
)
