"""Messages: the text, the recipients, and the response that the sender wants.

What always holds:
- One event stores a message for all its recipients.
- Recipients are resolved before a message is sent: `to` names mailboxes that exist.
- Nothing is truncated. A message over the limit is refused with its size and the limit.
- Delivery status is kept per recipient (`moot.core.deciders.mailbox`), so recipients never wait for each other.

    wants     `nothing` (a note: settled once shown), `ack`, `answer`
"""

from __future__ import annotations

from moot.core.errors import Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.principal import label
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.kind import Meta

WANTS = {"note": "nothing", "request": "answer", "reply": "nothing"}
RECIPIENT_LIMIT = 1000
CLAIMED = "claimed"  # the evidence of a result that its sender wrote


class Sent(Payload):
    type = "message:sent"
    said = "sent a {kind} to {to}: {text}"
    words = ("text", "data")
    names = ("flags",)
    marks = (
        "kind",
        "sender",
        "to",
        "wants",
        "reply_to",
        "task",
        "role",
        "source",
        "mirror",
        "evidence",
        "runs",
    )
    kind: str
    sender: str
    to: tuple[str, ...]
    wants: str
    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: str | None = None
    task: str | None = None
    attempt: int | None = None
    within: float | None = None
    expires: float | None = None
    role: str | None = None
    source: str | None = None
    flags: tuple[str, ...] = ()
    mirror: str = ""  # the mirror that shows it; empty: none
    evidence: str | None = None  # of a result in it: a receipt, or `claimed`; None: it has no such result
    runs: tuple[str, ...] = ()  # the receipts of its task and attempt, oldest first


EVENTS: dict[str, type[Payload]] = {Sent.type: Sent}


class Message(Record):
    """A message as stored in the log."""

    id: str
    position: int = 0
    thread: str = ""
    kind: str = ""
    sender: str = ""
    to: tuple[str, ...] = ()
    wants: str = "nothing"
    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: str | None = None
    task: str | None = None
    attempt: int | None = None
    within: float | None = None
    expires: float | None = None
    role: str | None = None
    source: str | None = None
    flags: tuple[str, ...] = ()
    evidence: str | None = None
    runs: tuple[str, ...] = ()
    at: str = ""

    @property
    def exists(self) -> bool:
        return self.position > 0


class SendMessage(Record):
    kind: str
    sender: str
    to: tuple[str, ...]
    wants: str
    size: int
    limit: int
    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: str | None = None
    task: str | None = None
    attempt: int | None = None
    within: float | None = None
    expires: float | None = None
    role: str | None = None
    source: str | None = None
    flags: tuple[str, ...] = ()
    mirror: str = ""
    evidence: str | None = None
    runs: tuple[str, ...] = ()


def known(message: Message) -> Message:
    """The message. Raises if it does not exist."""
    if not message.exists:
        raise Unknown(
            "unknown_message",
            f"There is no message {message.id!r}.",
            "`moot inbox` lists yours.",
            message=message.id,
        )
    return message


def decide(state: Message, command: SendMessage, _facts: object = None) -> list[Payload]:
    if state.exists:
        raise Refused("message_exists", f"The message id {state.id} is already used.", "Omit the id.", message=state.id)
    if not command.to:
        raise Refused("no_recipient", "The message has no recipient.", "Name an agent, @role or @all.")
    if len(command.to) > RECIPIENT_LIMIT:
        raise Refused(
            "too_many_recipients", f"{len(command.to)} recipients are too many.", f"Name at most {RECIPIENT_LIMIT}."
        )
    if not command.text.strip() and not command.data:
        raise Refused("empty_message", "The message is empty.", "Give it a text or --data.")
    if command.size > command.limit:
        raise Refused(
            "message_too_large",
            f"The message has {command.size} bytes; the limit is {command.limit}.",
            "Put the long part into a file and give its path, or raise messages.limit in moot.toml.",
            size=command.size,
            limit=command.limit,
        )
    fields = {**command.__dict__, "to": _each_once(command.to)}
    del fields["size"], fields["limit"]
    return [Sent.made(fields)]


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names without duplicates. Case does not matter: two spellings are one mailbox."""
    if len(names) == 1:
        return names
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.lower(), name)
    return tuple(found.values())


def plain(name: str, fields: dict[str, Any], *, position: int, at: str, thread: str | None) -> dict[str, Any]:
    """A message as JSON-ready data: the fields of its event, its id and its place in the log."""
    return {"id": name, "position": position, "thread": thread or name, "at": at, **fields}


def evolve(state: Message, event: Payload, meta: Meta) -> Message:
    if isinstance(event, Sent):
        fields = {name: value for name, value in event.__dict__.items() if name != "mirror"}
        return Message(**plain(state.id, fields, position=meta.position, at=meta.at, thread=meta.thread))
    raise TypeError(f"not an event of a message: {event!r}")


def columns(state: Message) -> dict[str, Any]:
    return {"title": f"{state.kind} from {label(state.sender)} to {', '.join(state.to)}", "task": state.task}


KIND = Kind(
    name="message",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Message,
    columns=columns,
    plural="messages",
    made_by="`moot send`, `moot reply`, `moot ack`",
)
