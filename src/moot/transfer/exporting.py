"""Exports the log as envelopes, page by page, however long it is."""

from __future__ import annotations

from moot.core.event import Commit
from moot.core.integrity.blob import named_by
from moot.log import REDACTIONS, Duplicate
from moot.transfer import cloudevents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from moot.core.event import Event
    from moot.log import Log, Shown
    from moot.transfer.blob_lines import BlobExport

_PAGE = 1000


def exported(
    log: Shown, after: int, fits: Callable[[Event], bool], blobs: BlobExport
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Pages of envelopes in order, each with the position up to which the log was read."""
    source, upto = cloudevents.source_of(log.archive.identity()), log.head()
    redacted = _redacted(log, upto)
    rest: list[Event] = []
    while after < upto and (page := log.read(after, min(_PAGE, upto - after))):
        after = page[-1].position
        events, rest = rest + page, []
        while after < upto and events and events[-1].commit == page[-1].commit:
            rest.append(events.pop())  # its commit may continue on the next page
        rest.reverse()
        yield from ((after, page) for page in _in_envelopes(events, source, fits, redacted, blobs))
    if log.handle.damage is not None and rest and not _ended(log, rest[-1]):
        rest = []  # the rest of its commit cannot be read
    yield from ((after, page) for page in _in_envelopes(rest, source, fits, redacted, blobs))


def _ended(log: Log, event: Event) -> bool:
    """Whether the event is the last one of its commit."""
    known = log.append(Commit(id=event.commit, at="", by=""), {}, ())
    return isinstance(known, Duplicate) and known.last == event.position


def _redacted(log: Log, upto: int) -> set[int]:
    """The positions of events whose redaction is exported too."""
    found: set[int] = set()
    after = 0
    while page := log.read(after, _PAGE, REDACTIONS):
        found |= {event.data["position"] for event in page if event.position <= upto and "position" in event.data}
        after = page[-1].position
    return found


def _in_envelopes(
    events: list[Event], source: str, fits: Callable[[Event], bool], redacted: set[int], blobs: BlobExport
) -> Iterator[list[dict[str, Any]]]:
    """The events of complete commits. A blob comes before the commit that names it, each piece as a page."""
    of = {event.commit: event.n + 1 for event in events}
    page: list[dict[str, Any]] = []
    fitting = [event for event in events if fits(event)]
    naming = {event.commit for event in fitting if named_by(event)}
    for event in fitting:
        if event.commit in naming:
            naming.discard(event.commit)
            for digest in blobs.named_by(one for one in fitting if one.commit == event.commit):
                yield page
                page = []
                yield from ([piece] for piece in blobs.envelopes(digest))
        page.append(cloudevents.envelope(_provable(event, redacted), of[event.commit], source))
    yield page


def _provable(event: Event, redacted: set[int]) -> Event:
    """The event without its digest if it is redacted, but by a redaction that came too late for this export."""
    if "redacted" not in event.data or event.position in redacted:
        return event
    from moot.core.integrity.redaction import is_redacted

    return event.replace(digest=None) if is_redacted(event.data) else event
