"""Following the log: the one loop behind `log --follow` and the Python API's `follow` and `follow_async`.

A follower counts as present, keeps the packs' files in sync, and survives a log that is unavailable for a while.
Each event is delivered once and in order. Output and threads are the caller's concern.
"""

from __future__ import annotations

import time

from moot.api.answer import Notice
from moot.api.explain import about_task
from moot.api.verbs.events import PAUSE, LogPosition, in_trouble, matches
from moot.core.errors import Unavailable
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.event import Event

ROUND = 2.0  # seconds between presence stamps and checks of files


class Heard(Record):
    """The result of one round: matching events, if any, and warnings."""

    events: tuple[Event, ...] = ()
    warnings: tuple[Notice, ...] = ()
    trouble: str | None = None  # the code of a failure that is being retried


def follow(
    call: Call,
    after: int,
    types: tuple[str, ...],
    streams: tuple[str, ...],
    *,
    task: str | None = None,
    end: float | None = None,
    stop: int | None = None,
) -> Iterator[Heard]:
    """Events after `after`, until the clock reaches `end` or the file descriptor `stop` is readable.

    `task`: only events about this task.

    Failures are reported and retried. If `end` is reached during a failure, the error is raised, because events may
    have been missed.
    """
    position, about = LogPosition(call.engine.log, after), about_task(call, task)
    while True:
        left = ROUND if end is None else max(0.0, min(end - call.clock.monotonic(), ROUND))
        trouble: Unavailable | None = None
        try:
            if position.lost():
                yield Heard(warnings=(replaced(position.after),))
            for events in call.engine.log.follow(position.after, timeout=left, stop=stop):
                if position.lost():
                    yield Heard(warnings=(replaced(position.after),))
                    break
                position.pass_by(events)
                fitting = tuple(event for event in events if about(event) and matches(event, types, streams))
                if fitting:
                    yield Heard(events=fitting)
            call.stamp()
            yield Heard(warnings=call.mirrors.sync(call, patient=True) if call.mirrors is not None else ())
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
    return Notice("log_replaced", f"The log was replaced by another one; following continues after position {after}.")


def stopped(stop: int, within: float = 0.0) -> bool:
    """Whether the descriptor is readable, or its other end is closed, `within` this many seconds."""
    import select

    poll = select.poll()
    poll.register(stop, select.POLLIN)
    return bool(poll.poll(within * 1000))
