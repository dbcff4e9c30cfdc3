"""The last events in words, for whoever looks at them again and again."""

from __future__ import annotations

from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.sentences import sentence
from moot.log import REDACTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.event import Event

_EVENTS = 30


class Happened(Record):
    position: int
    at: str
    by: str
    type: str
    stream: str
    text: str


class Recent:
    """The last events in words. Whoever looks again and again keeps it: an event is read and told once."""

    def __init__(self) -> None:
        self._told: tuple[Happened, ...] = ()

    def up_to(self, call: Call, position: int) -> tuple[Happened, ...]:
        if self._told and self._told[-1].position > position:
            self._told = ()  # another log than before
        last = max(self._told[-1].position if self._told else 0, position - _EVENTS)
        news = call.engine.log.read(last, position - last) if last < position else []
        if self._told and any(event.stream == REDACTIONS for event in news):  # what was told may have lost its text
            self._told = ()
            return self.up_to(call, position)
        self._told = (*self._told, *map(_happened, news))[-_EVENTS:]
        return self._told


def _happened(event: Event) -> Happened:
    return Happened(
        position=event.position,
        at=event.at,
        by=name_of(event.by),
        type=event.type,
        stream=event.stream,
        text=sentence(event),
    )
