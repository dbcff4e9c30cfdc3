"""The last events as sentences, each read from the log once."""

from __future__ import annotations

from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.sentences import sentence
from moot.log import REDACTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.event import Event

_MOST = 30
_READ = 50  # some of them are not shown
_DERIVED = ("feed:listed",)  # they follow from other events of the same commit


class RecentEvent(Record):
    position: int
    at: str
    by: str
    type: str
    stream: str
    text: str


class Recent:
    """Keeps the last events between two overviews, so that only new ones are read."""

    def __init__(self) -> None:
        self._events: tuple[RecentEvent, ...] = ()

    def up_to(self, call: Call, position: int) -> tuple[RecentEvent, ...]:
        if self._events and self._events[-1].position > position:
            self._events = ()  # the log was replaced
        last = max(self._events[-1].position if self._events else 0, position - _READ)
        news = call.engine.log.read(last, position - last) if last < position else []
        if self._events and any(event.stream == REDACTIONS for event in news):  # a kept text may be gone
            self._events = ()
            return self.up_to(call, position)
        self._events = (*self._events, *map(_recent_event, news))[-_READ:]
        return tuple(event for event in self._events if event.type not in _DERIVED)[-_MOST:]


def _recent_event(event: Event) -> RecentEvent:
    return RecentEvent(
        position=event.position,
        at=event.at,
        by=name_of(event.by),
        type=event.type,
        stream=event.stream,
        text=sentence(event),
    )
