"""Messages: what was said, to whom, and what it wants.

What always holds:
- A message is stored for every recipient in one event, or for none.
- Its audience is resolved before it is sent: `to` names mailboxes that exist.
- Nothing is cut: what is over the limit is refused with the size and the limit.
- What becomes of it belongs to the recipients (`moot.core.deciders.mailbox`), so that they never wait for each other.

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


class Sent(Payload):
    type = "message:sent"
    said = "sent a {kind} to {to}: {text}"
    words = ("text", "data")
    names = ("flags",)
    marks = ("kind", "sender", "to", "wants", "reply_to", "task", "role", "source", "mirror", "trace")
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
    mirror: str | None = None  # the one that shows it; "": none does; None: not said, then it is one of its pack's
    trace: str | None = None  # W3C traceparent of what sent it


EVENTS: dict[str, type[Payload]] = {Sent.type: Sent}


class Message(Record):
    """A message as it stands in the log."""

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
    trace: str | None = None
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
    mirror: str | None = None


def known(message: Message) -> Message:
    """The same, if there is such a message."""
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
        raise Refused("message_exists", f"The message id {state.id} is taken.", "Leave the id out.", message=state.id)
    if not command.to:
        raise Refused("no_recipient", "There is nobody to send this to.", "Name an agent, @role or @all.")
    if len(command.to) > RECIPIENT_LIMIT:
        raise Refused(
            "too_many_recipients", f"{len(command.to)} recipients are too many.", f"{RECIPIENT_LIMIT} at most."
        )
    if not command.text.strip() and not command.data:
        raise Refused("empty_message", "The message is empty.", "Give it a text or --data.")
    if command.size > command.limit:
        raise Refused(
            "message_too_large",
            f"The message has {command.size} bytes; the limit is {command.limit}.",
            "Put the long part into a file and name its path, or raise messages.limit in moot.toml.",
            size=command.size,
            limit=command.limit,
        )
    fields = {**command.__dict__, "to": _each_once(command.to), "trace": None}
    del fields["size"], fields["limit"]
    return [Sent.made(fields)]


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    """Two spellings of a name are one mailbox."""
    if len(names) == 1:
        return names
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.lower(), name)
    return tuple(found.values())


def plain(name: str, said: dict[str, Any], *, position: int, at: str, thread: str | None) -> dict[str, Any]:
    """A message as data: what was said, and where that stands in the log."""
    return {"id": name, "position": position, "thread": thread or name, "at": at, **said}


def evolve(state: Message, event: Payload, meta: Meta) -> Message:
    if isinstance(event, Sent):
        said = {name: value for name, value in event.__dict__.items() if name != "mirror"}
        return Message(**plain(state.id, said, position=meta.position, at=meta.at, thread=meta.thread))
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
    check="moot.core.integrity.import_checks:message",
)
