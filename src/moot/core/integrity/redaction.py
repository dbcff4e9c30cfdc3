"""Redaction: which fields of an event can be redacted, and what replaces them.

What always holds:
- Text is replaced in the log itself, in the commit that appends the tombstone.
- A tombstone names an event by position, commit and number, and keeps the digest that its data had when it was stored.
- A redacted event has that digest under `redacted`, and its data is what the last tombstone about it left (`rest`).
- Only text is redacted. Everything that rules depend on (names, states, numbers of a task) stays.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.event import TOMBSTONE
from moot.core.integrity.blob import is_digest
from moot.core.integrity.chain import digest_of
from moot.core.json_codec import storable
from moot.core.kind import Kind, payload_of
from moot.core.payload import ALL, Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.core.event import Draft, Event

MARK = "redacted"  # the key of a redacted event's data that holds the digest of the original
BLANK = "[redacted]"
_BLANKS: dict[str, Any] = {
    "raw": f'"{BLANK}"',  # it is parsed as JSON later
    "options": [],  # without options, any answer is allowed
}


class Redacted(Payload):
    """The tombstone."""

    type = TOMBSTONE
    said = "redacted the text of #{position}"
    asides = (("fields", "{fields}"), ("removed", "removed the blobs {removed}"))
    names = ("reason",)
    marks = ("commit", "digest", "fields", "removed", "rest")
    position: int
    commit: str
    n: int
    digest: str
    rest: str  # the digest of the data that is left
    fields: tuple[str, ...] = ()
    reason: str = ""
    removed: tuple[str, ...] = ()  # the SHA-256 of removed blobs; the event still references them


EVENTS: dict[str, type[Payload]] = {Redacted.type: Redacted}


class Redact(Record):
    """Redact these fields of `event`: paths such as `text` or `data.instructions`. `removed`: its blobs to remove."""

    event: Event
    fields: tuple[str, ...] = ()
    reason: str = ""
    removed: tuple[str, ...] = ()


def decide(_state: None, command: Redact, person: bool) -> list[Payload]:  # noqa: FBT001
    event = command.event
    if not person:
        raise Refused("people_only", "Only a person may redact.", "Ask a person to run it in their own terminal.")
    if event.type == Redacted.type:
        raise Refused("is_a_tombstone", "A redaction cannot be redacted.", "Name the event that holds the text.")
    if not command.fields and not command.removed:
        raise Refused(
            "nothing_to_redact",
            f"{event.type} at position {event.position} holds no text.",
            "`moot log --json` shows what it holds.",
            position=event.position,
        )
    for field in command.fields:
        _check(event, field)
    return [
        Redacted(
            position=event.position,
            commit=event.commit,
            n=event.n,
            digest=event.digest or "",
            fields=command.fields,
            reason=command.reason,
            removed=command.removed,
            rest=digest_of(storable(blanked(event, command.fields)).encode()).hex(),
        )
    ]


def words_of(event: Event | Draft) -> tuple[str, ...]:
    """The text fields of an event that are not empty."""
    words = _words(event)
    there = (name for name, value in event.data.items() if name != MARK and value not in ("", None, [], {}))
    return tuple(name for name in there if words is None or name in words)


def _words(event: Event | Draft) -> tuple[str, ...] | None:
    """The text fields of this type of event; None if no rule reads it, so that every field may hold text."""
    if event.type == Redacted.type:
        return ()
    known = payload_of(event)
    return None if known is None or ALL in known.words else (*known.words, *known.quiet)


def _check(event: Event, field: str) -> None:
    holds = words_of(event)
    if not any(field == name or field.startswith(f"{name}.") for name in holds):
        raise Refused(
            "not_redactable",
            f"{field!r} is not a text field of {event.type} at position {event.position}.",
            f"Its text fields: {', '.join(holds) or 'none'}. Fields that rules depend on cannot be redacted.",
            field=field,
            holds=list(holds),
        )


def is_redacted(data: Mapping[str, Any]) -> bool:
    """Whether this is the data of a redacted event. A custom event may have this key, but not with a digest."""
    return is_digest(data.get(MARK))


def blanked(event: Event, fields: Iterable[str]) -> dict[str, Any]:
    """The data without the content of these fields, and with the digest of the original. Without fields, as it is."""
    found = {name: value for name, value in event.data.items() if name != MARK}
    for field in fields:
        found = without(found, field) or found
    return {**found, MARK: event.digest} if fields else event.data


def without(data: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """A copy with the value at `path` blanked; None if there is none. Keys may contain dots."""
    if path in data:
        return {**data, path: _BLANKS[path] if path in _BLANKS else _blank(data[path])}
    for name, inner in data.items():
        if path.startswith(f"{name}.") and isinstance(inner, dict):
            rest = without(inner, path[len(name) + 1 :])
            if rest is not None:
                return {**data, name: rest}
    return None


def _blank(value: Any) -> Any:
    """An empty value of the same type."""
    match value:
        case str():
            return BLANK
        case dict():
            return {}
        case list() | tuple():
            return [BLANK] if value and all(isinstance(item, str) for item in value) else []
        case bool() | None:
            return value
        case _:
            return 0


KIND = Kind(name="redactions", events=EVENTS, decide=decide, single=True)
