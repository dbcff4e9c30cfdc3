"""`moot redact`: finds the events and fields, has the log replace the text, and removes it from other files."""

from __future__ import annotations

import os
import time
from itertools import islice

from moot.core.deciders import message
from moot.core.deciders.feed import Listed
from moot.core.errors import Held, Unknown, Usage
from moot.core.event import Commit
from moot.core.integrity.blob import named_by
from moot.core.integrity.redaction import MARK, Redact, Redacted, blanked, without, words_of
from moot.core.kind import kinds
from moot.core.record import Record
from moot.engine.blob_names import removed_in
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
    from moot.views.store import Store

_PAGE = 500
_LONGEST = 20.0  # seconds to wait for the removal of replaced files
_PAUSE = 0.2  # seconds between two checks
_MOST = 1000  # tombstones in one commit, which is one run
_NAMED = 20  # other events with the same text that are reported
_TELLING = 8  # characters; a shorter text occurs in too many events by chance


class RedactedField(Record):
    """The result of a redaction."""

    positions: tuple[int, ...]
    fields: tuple[str, ...]
    also: tuple[int, ...] = ()  # other events that still contain the text
    removed: tuple[str, ...] = ()  # the SHA-256 of blobs whose bytes are gone
    shared: tuple[int, ...] = ()  # other events that name these blobs
    more: int = 0  # events for another run


def redact(call: Call, what: str, fields: tuple[str, ...], reason: str) -> RedactedField:
    """Replace the text in the log, views, mirrored files and blobs. Run again, it completes what a kill cut short."""
    before = _last_redaction(call.engine.read())
    events = _meant(call, what)
    wanted = {event.position: _fields(call, event, fields) for event in events}
    named = {event.position: named_by(event, fields or None) for event in events}
    if fields and not any(wanted.values()) and not any(named.values()):
        holds = sorted({name for event in events for name in words_of(event)})
        raise Usage(
            "no_such_field",
            f"Nothing of {what} has the field {', '.join(fields)}.",
            f"It holds: {', '.join(holds) or 'no text'}.",
            holds=holds,
        )
    removed = removed_in(call.engine.log)
    blobs = {at: tuple(one for one in found if removed.get(one, 0) < at) for at, found in named.items()}
    found = [event for event in events if wanted[event.position] or named[event.position]] or events[:1]
    for notice, repeats in _notices(call, found, wanted):
        found.append(notice)
        wanted[notice.position] = repeats
    left = {event.position: blanked(event, wanted[event.position]) for event in found}
    bare = {event.position for event in found if not wanted[event.position] and not named.get(event.position)}
    todo = [e for e in found if left[e.position] != e.data or blobs.get(e.position) or e.position in bare][:_MOST]
    texts = {text for event in todo for text in _going(event, wanted[event.position]) if len(text) >= _TELLING}

    def act(work: Work) -> None:
        person = call.actor(work).person
        if _last_redaction(work.store) != before:
            raise Held("log_moved", "Somebody else redacted something at this moment.", "Try again.")
        for event in todo:
            if left[event.position] != event.data:
                work.rows[event.position] = left[event.position]
            going, gone = wanted[event.position], blobs.get(event.position, ())
            work.do(REDACTIONS, "", Redact(event=event, fields=going, reason=reason, removed=gone), facts=person)

    call.commit(act)
    call.engine.read()
    call.engine.log.archive.rewrite()
    gone_blobs = tuple(dict.fromkeys(digest for event in found for digest in named.get(event.position, ())))
    Blobs(call.place.state).remove(gone_blobs)
    _outwait(call)
    positions = {event.position for event in found}
    return RedactedField(
        positions=tuple(event.position for event in todo or found),
        fields=tuple(sorted({field for event in found for field in wanted[event.position]})),
        also=tuple(_elsewhere(call.engine.log, positions, texts)),
        removed=gone_blobs,
        shared=tuple(_sharing(call.engine.log, positions, gone_blobs)),
        more=sum(left[event.position] != event.data for event in found) - len(todo) if len(todo) == _MOST else 0,
    )


def _last_redaction(store: Store) -> int:
    row = store.row("entity", REDACTIONS)
    return row[0] if row else 0


def _notices(
    call: Call, events: list[Event], wanted: dict[int, tuple[str, ...]]
) -> Iterator[tuple[Event, tuple[str, ...]]]:
    """The messages and rows of the same commits that repeat the text, and the fields that do. Users cannot find these.

    Of a row, only the values that repeat it: the others are the state of something.
    """
    log, texts = call.engine.log, set[str]()
    for event in events:
        texts |= _going(event, wanted[event.position])
    for commit in {event.commit: None for event in events} if texts else ():
        known = log.append(Commit(id=commit, at="", by=""), {}, ())
        for event in log.read(known.first - 1, known.last - known.first + 1) if isinstance(known, Duplicate) else ():
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


def _elsewhere(log: Log, but: set[int], texts: set[str]) -> Iterator[int]:
    """Events that still contain a redacted text. For example, the message of a pack also describes its task."""
    others = (one for one in _read(log) if one.position not in but and one.type != Redacted.type)
    return (
        one.position for one in islice((one for one in others if _repeat(_said(one), texts)), _NAMED if texts else 0)
    )


def _sharing(log: Log, but: set[int], digests: tuple[str, ...]) -> Iterator[int]:
    """Other events that name the same blobs."""
    for event in _read(log) if digests else ():
        if event.position not in but and not {*digests}.isdisjoint(named_by(event)):
            yield event.position


def _going(event: Event, fields: Iterable[str]) -> set[str]:
    """The texts that are only in these fields."""
    fields = tuple(fields)
    return _said(event) - {"", *_texts({name: one for name, one in blanked(event, fields).items() if name != MARK})}


def _said(event: Event) -> set[str]:
    return {text for name, value in event.data.items() if name != MARK for text in _texts(value)}


def _repeat(others: Iterable[str], texts: Iterable[str]) -> bool:
    return any(text in other for other in others for text in texts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


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
    log = call.engine.log
    number = what.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 16:
        yield from (event for event in log.read(int(number) - 1, 1) if event.position == int(number))
        return
    commit, dot, n = what.rpartition(".")
    if dot and n.isascii() and n.isdigit() and len(n) < 8:
        known = log.append(Commit(id=commit, at="", by=""), {}, ())
        if isinstance(known, Duplicate) and known.first + int(n) <= known.last:
            yield from log.read(known.first + int(n) - 1, 1)
            return
    kind, slash, key = what.partition("/")
    many = [one for one in kinds() if not one.single]
    named = [one.stream(key) for one in many if slash and one.name == kind]
    silent: list[Event] = []
    for stream in named or [*(one.stream(what) for one in many), *((what,) if slash else ())]:
        events = list(_read(log, stream))
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
        # The text form of a pack's message repeats its data.
        form = event.pack is not None and any(name.partition(".")[0] == "data" for name in asked)
        asked += ("text",) * (form and bool(event.data.get("text")) and "text" not in asked)
        there = (name for name in asked if any(name == one or name.startswith(f"{one}.") for one in holds))
        return tuple(name for name in there if without(event.data, name))
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
