"""Series: a number for each key, once.

What always holds:
- A key that was assigned a number keeps it: asking again changes nothing.
- A new number is higher than every one that the series has given, and than `above`, which the caller has seen in use.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from moot.core.kind import Meta

_MOST = 100_000


class AssignNumber(Record):
    """`data`: what its pack keeps with the number. In it, `{number}` is replaced by the number, in `width` digits."""

    key: str
    above: int = 0
    width: int = 1
    data: Mapping[str, Any] = {}


class Assignment(Record):
    key: str
    number: int
    data: Mapping[str, Any] = {}
    at: str = ""


class NumberAssigned(Payload):
    type = "series:assigned"
    said = "{number} for {key}"
    words = ("data",)
    names = ("key",)
    key: str
    number: int
    data: Mapping[str, Any] = {}


class Series(Record):
    """`given`: by key, in the order of their numbers."""

    id: str
    given: Mapping[str, Assignment] = {}

    @property
    def last(self) -> int:
        return max((one.number for one in self.given.values()), default=0)

    def plain(self) -> dict[str, Any]:
        """As in every record, without looking into each of many assignments: they have nothing but JSON."""
        return {"id": self.id, "given": {key: one.__dict__ for key, one in self.given.items()}}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["id"], {key: Assignment.of(one) for key, one in data.get("given", {}).items()})


def decide(state: Series, command: AssignNumber, _facts: object = None) -> list[Payload]:
    if command.key in state.given:
        return []
    if len(state.given) >= _MOST:
        raise Refused("series_full", f"{state.id} has given {_MOST} numbers.", "Start another one.", series=state.id)
    number = max(state.last, command.above) + 1
    text = str(number).zfill(command.width)
    data = {k: v.replace("{number}", text) if isinstance(v, str) else v for k, v in command.data.items()}
    return [NumberAssigned(command.key, number, data)]


def evolve(state: Series, event: Payload, meta: Meta) -> Series:
    if not isinstance(event, NumberAssigned):
        raise TypeError(f"not an event of a series: {event!r}")
    return state.replace(given={**state.given, event.key: Assignment(at=meta.at, **event.__dict__)})


KIND = Kind(
    name="series",
    events={NumberAssigned.type: NumberAssigned},
    decide=decide,
    evolve=evolve,
    state=Series,
    columns=lambda state: {"open": True, "title": state.id, "state": f"{len(state.given)} given"},
    pack=lambda name: name.partition(".")[0],
    made_by="a pack",
)
