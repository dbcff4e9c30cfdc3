"""Redaction: which fields of an event can be redacted, what replaces them, and how a redacted event is verified.

What always holds:
- A tombstone names an event by position, commit and number, and keeps the digest of its original data.
- A redacted event shows that digest under `redacted`. A row that was erased in the log reads exactly the same.
- Only text is redacted. Everything that rules depend on (names, states, numbers of a task) stays.
- A redacted row holds either the original data or exactly the data without the redacted text (`fault_of`).
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.event import TOMBSTONE
from moot.core.integrity.blob import REMOVED, is_digest, named_by
from moot.core.kind import Kind, payload_of
from moot.core.payload import ALL, Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moot.core.event import Draft, Event

MARK = "redacted"  # the key of a redacted event's data that holds the digest of the original
BLANK = "[redacted]"
_DIGEST = 64  # letters
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
    fields: tuple[str, ...]
    reason: str = ""
    removed: tuple[str, ...] = ()  # the SHA-256 of removed blobs; the event still references them
    rest: str = ""  # digest of the data without the text redacted so far; empty in tombstones of earlier versions


EVENTS: dict[str, type[Payload]] = {Redacted.type: Redacted}


class Redact(Record):
    """Redact the text of `event`. `fields` are paths such as `text` or `data.instructions`; empty means all text.

    `removed` are blobs of the event to remove; if there are any, empty `fields` means no fields.
    `before` are the fields that were redacted before.
    """

    event: Event
    digest: str
    fields: tuple[str, ...] = ()
    reason: str = ""
    before: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def decide(_state: None, command: Redact, person: bool) -> list[Payload]:  # noqa: FBT001
    event = command.event
    if not person:
        raise Refused("people_only", "Only a person may redact.", "Ask a person to run it in their own terminal.")
    if event.type == Redacted.type:
        raise Refused("is_a_tombstone", "A redaction cannot be redacted.", "Name the event that holds the text.")
    fields = command.fields or (() if command.removed else words_of(event))
    if not fields and not command.removed:
        raise Refused(
            "nothing_to_redact",
            f"{event.type} at position {event.position} holds no text.",
            "`moot log --json` shows what it holds.",
            position=event.position,
        )
    for field in fields:
        _check(event, field)
    return [
        Redacted(
            position=event.position,
            commit=event.commit,
            n=event.n,
            digest=command.digest,
            fields=tuple(dict.fromkeys(fields)),
            reason=command.reason,
            removed=command.removed,
            rest=rest_of(event, (*command.before, *fields)),
        )
    ]


def words_of(event: Event | Draft) -> tuple[str, ...]:
    """The text fields of an event that are not empty."""
    there = (name for name, value in event.data.items() if name != MARK and value not in ("", None, [], {}))
    return may_go(event, there)


def is_free(event: Event | Draft) -> bool:
    """Whether no rule reads this type of event, so every field can be redacted. True for types of later versions."""
    return _words(event) is None


def may_go(event: Event | Draft, fields: Iterable[str]) -> tuple[str, ...]:
    """Those of the fields that can be redacted. Other fields stay, even if a tombstone names them."""
    if event.type == Redacted.type:
        return ()
    words = _words(event)
    return tuple(field for field in fields if words is None or field.partition(".")[0] in words)


def _words(event: Event | Draft) -> tuple[str, ...] | None:
    """The text fields of this type of event; None if every field may hold text."""
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
    if _without(event.data, field) is None:
        raise Refused(
            "not_redactable",
            f"There is no {field!r} in {event.type} at position {event.position}.",
            "`moot log --json` shows what it holds.",
            field=field,
        )


def shown(event: Event, tombstone: Mapping[str, Any]) -> Event:
    """The event without its redacted text."""
    if tombstone.get("commit") != event.commit or tombstone.get("n") != event.n:
        return event  # the tombstone is about an event of another log
    return event.replace(data=blanked(event, tombstone.get("fields", ()), str(tombstone.get("digest", ""))))


def is_redacted(data: Mapping[str, Any]) -> bool:
    """Whether this is the data of a redacted event. A custom event may have this key, but not with a digest."""
    mark = data.get(MARK)
    return isinstance(mark, str) and len(mark) == _DIGEST


def blanked(event: Event | Draft, fields: Iterable[str], digest: str) -> dict[str, Any]:
    """The data without the content of these fields, and with the digest of the original. Idempotent.

    If none of the fields can be redacted, the data is unchanged.
    """
    going = may_go(event, fields)
    if not going:
        return event.data
    found = {name: value for name, value in event.data.items() if name != MARK}
    for field in going:
        found = _without(found, field) or found
    return {**found, MARK: digest}


def rest_of(event: Event | Draft, fields: Iterable[str]) -> str:
    """The digest of the data without the content of these fields, whether they are blank already or not."""
    return digest_of({name: value for name, value in blanked(event, fields, "").items() if name != MARK})


def is_well_formed(said: Mapping[str, Any]) -> bool:
    """Whether the data can be that of a tombstone. Other data in that stream redacts nothing."""
    position, n, fields = said.get("position"), said.get("n"), said.get("fields")
    return (
        type(position) is int
        and position > 0
        and type(n) is int
        and isinstance(said.get("commit"), str)
        and is_digest(said.get("digest"))
        and isinstance(fields, (list, tuple))
        and bool(fields or said.get(REMOVED))
        and all(isinstance(field, str) and field for field in fields)
        and isinstance(said.get(REMOVED, []), (list, tuple))
        and all(map(is_digest, said.get(REMOVED, ())))
        and (not said.get("rest") or is_digest(said["rest"]))
    )


def fault_of(event: Event | Draft, tombstones: Sequence[Mapping[str, Any]], *, written: bool) -> str | None:
    """What is wrong with an event that these tombstones name, in their order; None if it is genuine.

    `written`: its data matches its digest, so it is the original.
    """
    if not tombstones:
        return None if written else "its data was changed"
    if not all(map(is_well_formed, tombstones)):
        return "a redaction that names it is malformed"
    named = tuple(field for said in tombstones for field in said["fields"])
    if not takes_words(event, named):
        return "a redaction names a field that is not text"
    if not all(removes_named(event, said) for said in tombstones):
        return "a redaction removes a blob that the event does not name"
    try:
        fits = _is_genuine(event, tombstones, written=written)
    except (ValueError, RecursionError):  # not something that JSON can say
        fits = False
    return None if fits else "it matches neither the original data nor the redacted data of its redaction"


def takes_words(event: Event | Draft, fields: Sequence[str]) -> bool:
    """Whether each of the fields is text that exists, or existed before an enclosing field was redacted."""
    if not set(fields) <= set(may_go(event, fields)):
        return False
    return all(
        _without(event.data, field) is not None or any(field.startswith(f"{other}.") for other in fields)
        for field in fields
    )


def removes_named(event: Event | Draft, said: Mapping[str, Any]) -> bool:
    """Whether a tombstone removes only blobs that the event references. True if its type is not known here."""
    return is_free(event) or set(said.get(REMOVED, ())) <= set(named_by(event))


def _is_genuine(event: Event | Draft, tombstones: Sequence[Mapping[str, Any]], *, written: bool) -> bool:
    digest, data = tombstones[0]["digest"], event.data
    if any(said["digest"] != digest for said in tombstones):
        return False
    named: tuple[str, ...] = ()
    forms: list[tuple[tuple[str, ...], str]] = []
    for said in tombstones:
        named = (*named, *said["fields"])
        forms.append((named, str(said.get("rest") or "")))
    if written and digest_of(data) == digest:
        return all(rest in ("", rest_of(event, fields)) for fields, rest in forms)
    # It was erased, by all of the tombstones or by the first ones. Either way, the rest must match the last one.
    return (
        data.get(MARK) == digest
        and forms[-1][1] in ("", rest_of(event, named))
        and any(
            blanked(event, fields, digest) == data and rest in ("", rest_of(event, fields)) for fields, rest in forms
        )
    )


def _without(data: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """A copy with the value at `path` blanked; None if there is none. Keys may contain dots."""
    if path in data:
        return {**data, path: _BLANKS[path] if path in _BLANKS else _blank(data[path])}
    for name, inner in data.items():
        if path.startswith(f"{name}.") and isinstance(inner, dict):
            rest = _without(inner, path[len(name) + 1 :])
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


def digest_of(data: Mapping[str, Any]) -> str:
    """SHA-256 of the data in canonical form: sorted keys, ASCII."""
    import hashlib
    import json

    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


KIND = Kind(name="redactions", events=EVENTS, decide=decide, single=True)
