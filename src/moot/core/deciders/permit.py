"""Permits: how many may work at once, first come, first served.

What always holds:
- A permit is asked for, granted, and returned. Nobody has two seats.
- A seat is granted while fewer hold one than the asker's own limit, and nobody who holds a seat, or waits longer,
  wants one of the same things (a target, a file, a document).
- Seats are granted in the order in which they were asked for. Only somebody who waits for a thing can be passed by
  others who do not want that thing.
- The commit that frees a seat also grants the next ones.
- A seat whose process has ended is taken back, by evidence that the process has ended, never because of a clock.

    waiting → holding → (gone)
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record, unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Self

    from moot.core.kind import Meta

STAGES = "stages"  # the permit for everything that runs stages in this workspace
_MOST = 1000  # seats


# --- commands --------------------------------------------------------------------------------------------------------


class AskPermit(Record):
    """`run` asks for a seat. `driver`: the token of the lock of its process. `wants`: things that it wants alone."""

    run: str
    driver: str
    limit: int = 1  # how many may hold a seat at once, including this one
    wants: tuple[str, ...] = ()


class ReturnPermit(Record):
    """Free a seat, or stop waiting. `reason`: why it was taken back, if its process has ended."""

    run: str
    reason: str = ""


# --- events ----------------------------------------------------------------------------------------------------------


class PermitAsked(AskPermit, Payload):
    type = "permit:asked"
    said = "{run} asks for a seat of {limit}"
    marks = ("run", "driver")
    names = ("wants",)


class PermitGranted(Payload):
    type = "permit:granted"
    said = "granted to {run}"
    marks = ("run",)
    run: str


class PermitReturned(ReturnPermit, Payload):
    type = "permit:returned"
    said = "{run} is done"
    asides = (("reason", "{reason}"),)
    words = ("reason",)
    marks = ("run",)


EVENTS: dict[str, type[Payload]] = {cls.type: cls for cls in (PermitAsked, PermitGranted, PermitReturned)}


# --- state -----------------------------------------------------------------------------------------------------------


class Seat(Record):
    run: str
    driver: str
    limit: int = 1
    wants: tuple[str, ...] = ()
    at: str = ""  # when it was asked for
    held: bool = False


class Permit(Record):
    """`seats`: in the order in which they were asked for."""

    id: str
    seats: tuple[Seat, ...] = ()

    @property
    def held(self) -> tuple[Seat, ...]:
        return tuple(seat for seat in self.seats if seat.held)

    @property
    def waiting(self) -> tuple[Seat, ...]:
        return tuple(seat for seat in self.seats if not seat.held)

    def seat(self, run: str) -> Seat | None:
        return next((seat for seat in self.seats if seat.run == run), None)

    def in_the_way(self, run: str) -> tuple[Seat, ...]:
        """The seats that this one waits for: those that hold, and those that came earlier."""
        seat = self.seat(run)
        if seat is None or seat.held:
            return ()
        earlier = self.seats[: self.seats.index(seat)]
        return tuple(one for one in self.seats if one.held or one in earlier)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        permit = super().of(data)
        return permit.replace(seats=tuple(Seat.of(one) for one in data.get("seats", ())))


# --- rules -----------------------------------------------------------------------------------------------------------


def decide(state: Permit, command: AskPermit | ReturnPermit, _facts: object = None) -> list[Payload]:
    match command:
        case AskPermit():
            return _ask(state, command)
        case ReturnPermit():
            if state.seat(command.run) is None:
                return []
            seats = tuple(seat for seat in state.seats if seat.run != command.run)
            return [PermitReturned(**command.__dict__), *_granted(seats)]
        case _:
            unreachable(command)


def _ask(state: Permit, command: AskPermit) -> list[Payload]:
    if state.seat(command.run) is not None:
        raise Refused(
            "permit_asked", f"{command.run} has already asked for a seat.", "Wait until it is granted.", run=command.run
        )
    if len(state.seats) >= _MOST or command.limit < 1:
        raise Refused(
            "permit_full",
            f"{len(state.seats)} runs hold a seat or wait for one; the limit is {_MOST}.",
            "Let some of them end first.",
        )
    seat = Seat(**command.__dict__)
    return [PermitAsked(**command.__dict__), *_granted((*state.seats, seat))]


def _granted(seats: tuple[Seat, ...]) -> Iterator[PermitGranted]:
    """The seats that can be granted now, in order."""
    held = sum(seat.held for seat in seats)
    taken = {thing for seat in seats if seat.held for thing in seat.wants}
    for seat in seats:
        if seat.held:
            continue
        if held >= seat.limit:
            return  # nobody passes
        if taken.isdisjoint(seat.wants):
            held += 1
            yield PermitGranted(run=seat.run)
        taken.update(seat.wants)


def evolve(state: Permit, event: Payload, meta: Meta) -> Permit:
    match event:
        case PermitAsked():
            return state.replace(seats=(*state.seats, Seat(at=meta.at, **event.__dict__)))
        case PermitGranted():
            return state.replace(
                seats=tuple(seat.replace(held=True) if seat.run == event.run else seat for seat in state.seats)
            )
        case PermitReturned():
            return state.replace(seats=tuple(seat for seat in state.seats if seat.run != event.run))
        case _:
            raise TypeError(f"not an event of a permit: {event!r}")


KIND = Kind(
    name="permit",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Permit,
    columns=lambda state: {"open": bool(state.seats), "title": state.id, "state": "in use" if state.seats else "free"},
    made_by="`moot run`",
)
