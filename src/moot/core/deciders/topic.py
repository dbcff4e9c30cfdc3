"""Free events: what somebody wants others to know, in words of their own.

What always holds:
- A type reads `noun:participle`, in lower-case words, such as `build:finished`.
- The event types of the core are the core's, and so are the nouns of its first kinds: no free event can be taken for
  one that a rule has decided.
- Its data is a JSON object and has a limit.

A free event changes nothing. Others follow it, wait for it, or have something done because of it.
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
    """Any free event: its type is its own, its fields are those that it was given."""

    type: str  # type: ignore[misc]  # of each event, and not of the class
    data: dict[str, Any]

    def plain(self) -> dict[str, Any]:
        return self.data


class Free(Payload):
    """The same as the views meet it: whatever it says, nothing of it is folded. Every field holds words."""

    words = (ALL,)


class _Types(dict[str, type[Payload]]):
    """Every type that can be emitted."""

    def get(self, name: str, default: Any = None) -> Any:
        return Free if is_type(name) else default


EVENTS: dict[str, type[Payload]] = _Types()


class Emit(Record):
    """`owned` are the nouns and the single types that nobody may use, each with what makes such events."""

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
            f"{command.type[:80]!r} is no type of an event.",
            "Write noun:participle in lower-case words, such as build:finished or cache:warmed_up.",
            type=command.type,
        )
    noun = command.type.partition(":")[0]
    maker = command.owned.get(noun)
    if maker is not None:
        raise Refused(
            "event_owned",
            f"Events about {'an' if noun[0] in 'aeiou' else 'a'} {noun} are moot's own; nobody can write one by hand.",
            f"{maker} makes them. For something of your own, take another noun.",
            type=command.type,
        )
    maker = command.owned.get(command.type)
    if maker is not None:
        raise Refused(
            "event_owned",
            f"{command.type} is an event of moot's own; nobody can write one by hand.",
            f"{maker} makes them. For something of your own, take another word after {noun}:.",
            type=command.type,
        )
    if not is_word(command.topic):
        raise Usage(
            "bad_topic",
            f"{command.topic[:80]!r} cannot be the name of a stream.",
            "Take a lower-case letter, then up to 63 of them, digits, '_' or '-', such as nightly-builds.",
            stream=command.topic,
        )
    if command.size > command.limit:
        raise Refused(
            "event_too_large",
            f"The event has {command.size} bytes; the limit is {command.limit}.",
            "Put the long part into a file and name its path, or raise messages.limit in moot.toml.",
            size=command.size,
            limit=command.limit,
        )
    return [Emitted(type=command.type, data=command.data)]


KIND = Kind(
    name="topic",
    events=EVENTS,
    decide=decide,
    made_by="`moot emit`",
    check="moot.core.integrity.import_checks:topic",
)
