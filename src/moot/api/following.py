"""Following the log: the one loop behind `log --follow` and the Python API's `follow` and `follow_async`.

Whoever follows counts as present, keeps the packs' files in step, and stays when the log cannot be used for a while.
Each event comes once and in order. How it is shown, and in which thread this runs, is known to others.
"""

from __future__ import annotations

import time

from moot.api.answer import Notice
from moot.api.log_position import Trail
from moot.api.verbs.events import PAUSE, in_trouble, matches
from moot.core.errors import Unavailable
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.event import Event

ROUND = 2.0  # seconds between signs of life, and looks at files that others write


class Heard(Record):
    """What came in one round: events that fit, or none; and what one should know."""

    events: tuple[Event, ...] = ()
    warnings: tuple[Notice, ...] = ()
    trouble: str | None = None  # the code of what failed and is being tried again


def follow(
    call: Call,
    after: int,
    types: tuple[str, ...],
    streams: tuple[str, ...],
    *,
    end: float | None = None,
    stop: int | None = None,
) -> Iterator[Heard]:
    """Past `after`, until the clock says `end` or the file descriptor `stop` has something to read.

    What fails is told and tried again. Only when the time is over meanwhile, it is raised: there may be events that
    were not seen.
    """
    trail = Trail(call.engine.log, after)
    while True:
        left = ROUND if end is None else max(0.0, min(end - call.clock.monotonic(), ROUND))
        trouble: Unavailable | None = None
        try:
            if trail.lost():
                yield Heard(warnings=(replaced(trail.after),))
            for events in call.engine.log.follow(trail.after, timeout=left, stop=stop):
                if trail.lost():
                    yield Heard(warnings=(replaced(trail.after),))
                    break
                trail.pass_by(events)
                fitting = tuple(event for event in events if matches(event, types, streams))
                if fitting:
                    yield Heard(events=fitting)
            call.stamp()
            yield Heard(warnings=call.mirrors.sync(call) if call.mirrors is not None else ())
        except Unavailable as error:
            trouble = error
            yield Heard(warnings=(in_trouble(error),), trouble=error.code)
        if stop is not None and stopped(stop):
            return
        if end is not None and call.clock.monotonic() >= end:
            if trouble is not None:
                raise trouble
            return
        if trouble is not None:
            pause = PAUSE if end is None else max(0.0, min(end - call.clock.monotonic(), PAUSE))
            if stop is None:
                time.sleep(pause)
            else:
                stopped(stop, pause)


def replaced(after: int) -> Notice:
    return Notice("log_replaced", f"Another log was put into the place of this one; it goes on after position {after}.")


def stopped(stop: int, within: float = 0.0) -> bool:
    """Whether there is something to read, or its other end was closed, now or `within` so many seconds."""
    import select

    poll = select.poll()
    poll.register(stop, select.POLLIN)
    return bool(poll.poll(within * 1000))
