"""`moot redact`: finds the events and fields, appends the tombstones, and removes the text from other files."""

from __future__ import annotations

import os
import time
from itertools import islice

from moot.core.deciders import message
from moot.core.deciders.feed import Listed
from moot.core.errors import Unknown, Usage
from moot.core.event import Commit
from moot.core.integrity.blob import named_by
from moot.core.integrity.redaction import MARK, Redact, Redacted, blanked, digest_of, words_of
from moot.core.kind import kinds
from moot.core.record import Record
from moot.engine.blobs import Blobs
from moot.log import REDACTIONS, Duplicate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import MessageType
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.log import Log

_PAGE = 500
_LONGEST = 20.0  # seconds to wait for the removal of replaced files
_PAUSE = 0.2  # seconds between two checks
_MOST = 1000  # tombstones in one commit
_NAMED = 20  # other events with the same text that are reported
_TELLING = 8  # characters; a shorter text occurs in too many events by chance


class RedactedField(Record):
    """The result of a redaction."""

    positions: tuple[int, ...]
    fields: tuple[str, ...]
    erased: bool = False
    also: tuple[int, ...] = ()  # other events that still contain the text
    removed: tuple[str, ...] = ()  # the SHA-256 of blobs whose bytes are gone
    shared: tuple[int, ...] = ()  # other events that name these blobs


def redact(call: Call, what: str, fields: tuple[str, ...], reason: str, *, erase: bool) -> RedactedField:
    """Append the tombstones. Views and mirrors are rebuilt without the text."""
    events = _meant(call, what)
    wanted = {event.position: _fields(call, event, fields) for event in events}
    blobs = {event.position: named_by(event, fields or None) for event in events}
    if fields and not any(wanted.values()) and not any(blobs.values()):
        holds = sorted({name for event in events for name in words_of(event)})
        raise Usage(
            "no_such_field",
            f"Nothing of {what} has the field {', '.join(fields)}.",
            f"It holds: {', '.join(holds) or 'no text'}.",
            holds=holds,
        )
    todo = [event for event in events if wanted[event.position] or blobs[event.position]] or events[:1]
    for notice, repeats in _notices(call, events, wanted):
        todo.append(notice)
        wanted[notice.position] = repeats

    def act(work: Work) -> None:
        person, before = call.actor(work).person, work.facts.find("tombstones", _version(work))
        for event in some:
            known = before.get(event.position)
            removed = blobs.get(event.position, ())
            if known and {*wanted[event.position], *removed} <= {*known["fields"], *known["removed"]} and person:
                continue
            digest = known["digest"] if known else digest_of(event.data)
            command = Redact(
                event=event,
                digest=digest,
                fields=wanted[event.position],
                reason=reason,
                before=tuple(known["fields"]) if known else (),
                removed=removed,
            )
            work.do(REDACTIONS, "", command, facts=person)

    some, rest = todo[:_MOST], todo[_MOST:]
    call.commit(act)
    while rest:  # if this is interrupted, running it again completes it
        some, rest = rest[:_MOST], rest[_MOST:]
        call.commit_aside(act)
    call.engine.read()
    if len(todo) > _MOST:
        call.sync()
    gone_blobs = tuple(dict.fromkeys(digest for event in todo for digest in blobs.get(event.position, ())))
    Blobs(call.place.state).remove(gone_blobs)  # including those that an interrupted run left
    if erase:
        _erase(call, todo)
    if erase or gone_blobs:
        _outwait(call)
    gone = sorted({field for event in todo for field in wanted[event.position]})
    return RedactedField(
        positions=tuple(event.position for event in todo),
        fields=tuple(gone),
        erased=erase,
        also=tuple(_elsewhere(call, todo)),
        removed=gone_blobs,
        shared=tuple(_sharing(call, gone_blobs, {event.position for event in todo})),
    )


def _version(work: Work) -> int:
    """The position of the last tombstone."""
    row = work.store.row("entity", REDACTIONS)
    return row[0] if row else 0


def _notices(
    call: Call, events: list[Event], wanted: dict[int, tuple[str, ...]]
) -> Iterator[tuple[Event, tuple[str, ...]]]:
    """The messages and rows of the same commits that repeat the text, and the fields that do. Users cannot find these.

    Of a row, only the values that repeat it: the others are the state of something.
    """
    raw, texts = call.engine.log.raw, set[str]()
    for event in events:
        texts |= _going(event, wanted[event.position])
    for commit in {event.commit: None for event in events} if texts else ():
        known = raw.append(Commit(id=commit, at="", by=""), {}, ())
        for event in raw.read(known.first - 1, known.last - known.first + 1) if isinstance(known, Duplicate) else ():
            if event.type not in (message.Sent.type, Listed.type) or event.position in wanted:
                continue
            inner = event.type == Listed.type
            fields = tuple(_leaves("puts", event.data.get("puts"))) if inner else _fields(call, event, ())
            repeats = tuple(f for f in fields if _repeat(_going(event, (f,)), texts))
            if repeats:
                yield event, repeats


def _leaves(path: str, value: Any) -> Iterator[str]:
    """The paths of all texts in a value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}", inner)
    elif isinstance(value, (str, list)):
        yield path


def _elsewhere(call: Call, events: list[Event]) -> Iterator[int]:
    """Events that still contain a redacted text. For example, the message of a pack also describes its task."""
    log = call.engine.log
    texts: set[str] = set()
    for event in events:
        said = log.tombstones().get(event.position)
        if said is not None:
            texts |= {text for text in _going(event, said["fields"]) if len(text) >= _TELLING}
    others = (event for event in _read(log) if event.type != Redacted.type and _repeat(_said(event), texts))
    return (event.position for event in islice(others, _NAMED if texts else 0))


def _sharing(call: Call, digests: tuple[str, ...], but: set[int]) -> Iterator[int]:
    """Other events that name the same blobs."""
    for event in _read(call.engine.log) if digests else ():
        if event.position not in but and not {*digests}.isdisjoint(named_by(event)):
            yield event.position


def _going(event: Event, fields: Iterable[str]) -> set[str]:
    """The texts that are only in these fields, without those that were erased before."""
    return _said(event) - {"", *_texts(blanked(event, fields, ""))}


def _said(event: Event) -> set[str]:
    return {text for name, value in event.data.items() if name != MARK for text in _texts(value)}


def _repeat(others: Iterable[str], texts: Iterable[str]) -> bool:
    return any(text in other for other in others for text in texts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _erase(call: Call, events: list[Event]) -> None:
    tombstones = call.engine.log.tombstones()
    rows = {}
    for event in events:
        said = tombstones[event.position]
        if said["fields"]:
            rows[event.position] = blanked(event, said["fields"], said["digest"])
    call.engine.log.archive.erase(rows)


def _outwait(call: Call) -> None:
    """Wait for the mirrors to remove replaced files, which they do when no process can write to them any more."""
    end = call.clock.monotonic() + _LONGEST
    while call.mirrors is not None and (kept := call.mirrors.kept(call)):
        if call.clock.monotonic() > end:
            call.warn("mirror_kept", f"Still open in another process, and kept until it is closed: {', '.join(kept)}.")
            return
        call.progress("waiting for processes with open files", 0, 0)
        time.sleep(_PAUSE)
        call.sync()


def copies(directory: str) -> list[str]:
    """Logs that a restore replaced and kept. They may still contain the text."""
    return sorted(name for name in os.listdir(directory) if name.startswith("log-") and name.endswith(".db"))


def _meant(call: Call, what: str) -> list[Event]:
    """The events that the caller names, with their text."""
    found = list(_events(call, what))
    if not found:
        raise Unknown(
            "unknown_thing",
            f"There is no event {what[:80]!r}.",
            "Name a position (`moot log` shows them), the id of an event, a message or another thing, or topic/build.",
            thing=what,
        )
    return found


def _events(call: Call, what: str) -> Iterator[Event]:
    raw = call.engine.log.raw
    number = what.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 16:
        yield from (event for event in raw.read(int(number) - 1, 1) if event.position == int(number))
        return
    commit, dot, n = what.rpartition(".")
    if dot and n.isascii() and n.isdigit() and len(n) < 8:
        known = raw.append(Commit(id=commit, at="", by=""), {}, ())
        if isinstance(known, Duplicate) and known.first + int(n) <= known.last:
            yield from raw.read(known.first + int(n) - 1, 1)
            return
    kind, slash, key = what.partition("/")
    many = [one for one in kinds() if not one.single]
    named = [one.stream(key) for one in many if slash and one.name == kind]
    silent: list[Event] = []
    for stream in named or [*(one.stream(what) for one in many), *((what,) if slash else ())]:
        events = list(_read(raw, stream))
        if any(map(words_of, events)):
            yield from events
            return
        silent = silent or events
    yield from silent


def _read(log: Log, stream: str | None = None) -> Iterator[Event]:
    after = 0
    while page := log.read(after, _PAGE, stream):
        yield from page
        after = page[-1].position


def _fields(call: Call, event: Event, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The fields to redact: those asked for, as far as the event has them, or all that contain text."""
    holds = words_of(event)
    if asked:
        if event.data.get("data") is not None and "data" in asked:
            asked = tuple(name for name in asked if name != "data") + _inside(call, event)
        return tuple(name for name in asked if any(name == h or name.startswith(f"{h}.") for h in holds))
    return tuple(name for name in holds if name != "data") + (_inside(call, event) if "data" in holds else ())


def _inside(call: Call, event: Event) -> tuple[str, ...]:
    """What to redact in the data of a message: everything, or in a pack's message what its protocol does not need."""
    spec = call.packs.find(str(event.data.get("kind"))) if event.pack is not None else None
    if spec is None:
        return ("data",)
    return tuple(f"data.{path}" for path in _loose(spec, spec.schema, event.data["data"]))


def _loose(spec: MessageType, schema: dict[str, Any], data: dict[str, Any]) -> Iterator[str]:
    known = schema.get("properties", {})
    for name, value in data.items():
        rule = known.get(name, {})
        rule = spec.schema.get("$defs", {}).get(rule.get("$ref", "").removeprefix("#/$defs/"), rule)
        if name in (spec.task, spec.stamp, *spec.paths) or "const" in rule or "enum" in rule or "format" in rule:
            continue
        if isinstance(value, dict) and rule.get("properties"):
            yield from (f"{name}.{inner}" for inner in _loose(spec.replace(paths=()), rule, value))
        elif isinstance(value, (str, list, dict)) and value:
            yield name
