"""CustomEvent events: events with types of the user's own.

What always holds:
- A type has the form `noun:participle`, in lower-case words, such as `build:finished`.
- The core's event types and the nouns of its first kinds are reserved. So a custom event cannot be mistaken for one
  that a rule has decided.
- Its data is a JSON object of limited size.

A custom event changes no state. Agents can follow it or wait for it, and handlers can react to it.
"""

from __future__ import annotations

from moot.core.errors import Refused, Usage
from moot.core.kind import Kind
from moot.core.payload import ALL, Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_REST = _LETTERS | frozenset("0123456789_-")
_LONGEST = 64


class Emitted(Payload):
    """Any custom event, with its own type and data."""

    type: str  # type: ignore[misc]  # per event, not per class
    data: dict[str, Any]

    def plain(self) -> dict[str, Any]:
        return self.data


class CustomEvent(Payload):
    """A custom event as the views read it. No field is folded, and every field may hold text."""

    words = (ALL,)


class _Types(dict[str, type[Payload]]):
    """A mapping that knows every valid type of a custom event."""

    def get(self, name: str, default: Any = None) -> Any:
        return CustomEvent if is_type(name) else default


EVENTS: dict[str, type[Payload]] = _Types()


class Emit(Record):
    """`owned` maps the reserved nouns and event types to the commands that write such events."""

    type: str
    topic: str
    data: dict[str, Any]
    size: int
    limit: int
    owned: Mapping[str, str]


def is_word(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and text[0] in _LETTERS and all(letter in _REST for letter in text)


def is_type(text: str) -> bool:
    noun, colon, participle = text.partition(":")
    return bool(colon) and is_word(noun) and is_word(participle)


def decide(_state: None, command: Emit, _facts: object = None) -> list[Payload]:
    if not is_type(command.type):
        raise Usage(
            "bad_event_type",
            f"{command.type[:80]!r} is not a valid event type.",
            "Use noun:participle in lower-case words, such as build:finished or cache:warmed_up.",
            type=command.type,
        )
    noun = command.type.partition(":")[0]
    maker = command.owned.get(noun)
    if maker is not None:
        raise Refused(
            "event_owned",
            f"The noun {noun!r} is reserved for moot's own events; they cannot be emitted by hand.",
            f"{maker} writes them. Choose another noun for your own events.",
            type=command.type,
        )
    maker = command.owned.get(command.type)
    if maker is not None:
        raise Refused(
            "event_owned",
            f"The type {command.type} is reserved for moot's own events; they cannot be emitted by hand.",
            f"{maker} writes them. Choose another word after {noun}: for your own events.",
            type=command.type,
        )
    if not is_word(command.topic):
        raise Usage(
            "bad_topic",
            f"{command.topic[:80]!r} is not a valid stream name.",
            "Use a lower-case letter, then up to 63 lower-case letters, digits, '_' or '-', such as nightly-builds.",
            stream=command.topic,
        )
    if command.size > command.limit:
        raise Refused(
            "event_too_large",
            f"The event has {command.size} bytes; the limit is {command.limit}.",
            "Put the long part into a file and give its path, or raise messages.limit in moot.toml.",
            size=command.size,
            limit=command.limit,
        )
    return [Emitted(type=command.type, data=command.data)]


KIND = Kind(
    name="topic",
    events=EVENTS,
    decide=decide,
    made_by="`moot emit`",
)
