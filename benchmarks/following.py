"""Measures how soon after an append returns a follower in another process has the event.

Both processes read the same monotonic clock. For comparison, a byte is sent through a pipe to a process that waits for
it, alternating with the appends: this is the latency of the machine itself.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from typing import TYPE_CHECKING, Any, Self

import workspaces
from common import Row, percentile

from moot import Workspace
from moot.core.identity import decide
from moot.wiring import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from workspaces import Stage

    from moot.api.call import Call

_PACE = 0.02  # seconds between two sends
_POLL = 5.0  # the interval of a protocol that polls, in seconds
_PATIENCE = 60.0


class Other:
    """Another process that reports when it received what. The context manager ends it."""

    def __init__(self, role: Callable[..., None], *arguments: Any) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=role, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        self.heard()
        return self

    def heard(self) -> Any:
        if not self.pipe.poll(_PATIENCE):
            raise TimeoutError("the other process does not answer")
        return self.pipe.recv()

    def __exit__(self, *_: object) -> None:
        self._process.join(10)
        self._process.kill()


def measure(stage: Stage) -> list[Row]:
    repository, size = stage.populated("following", 0), stage.size
    with Other(_follow, repository, size.followed) as follower, Other(_listen, size.followed) as listener:
        appended = _send(repository, size.followed, listener.pipe)
        seen, bare = follower.heard(), listener.heard()
    delays = [(seen[position] - moment) / 1e6 for position, moment in appended.items()]
    note = (
        f"From the return of the append in one process to the arrival of the event in another, {size.followed} times "
        f"at about {1 / _PACE:.0f} a second; in between the sender writes the views and wakes the follower. "
        f"For comparison, a byte through a pipe: median {statistics.median(bare):.2f} ms, "
        f"p99 {percentile(bare, 0.99):.2f} ms."
    )
    worst = f" The longest: {max(delays):.2f} ms; through the pipe: {max(bare):.2f} ms."
    return [
        Row("follow.median", statistics.median(delays), "ms", "< 2", note),
        Row("follow.p99", percentile(delays, 0.99), "ms", "< 10", note + worst),
        Row("follow.poll", _POLL / 2 * 1e3, "ms", None, "Computed, not measured: the mean delay of a 5 s poll."),
    ]


def _follow(pipe: Connection[Any, Any], repository: str, count: int) -> None:
    """The follower. Reports when it received each position."""
    seen: dict[int, int] = {}
    with Workspace(repository, agent=workspaces.READER, incarnation=1) as ws:
        events = ws.follow(types="message:sent", timeout=_PATIENCE)
        pipe.send("ready")
        for event in events:
            seen[event.position] = time.monotonic_ns()
            if len(seen) == count:
                break
    pipe.send(seen)


def _listen(pipe: Connection[Any, Any], count: int) -> None:
    """The comparison. Reports how many milliseconds each timestamp took to arrive."""
    pipe.send("ready")
    pipe.send([(time.monotonic_ns() - sent) / 1e6 for sent in (pipe.recv() for _ in range(count))])


def _send(repository: str, count: int, bare: Connection[Any, Any]) -> dict[int, int]:
    """Send notes, and return when the append of each position returned."""
    session = open_workspace(repository, {}).call(decide({}, agent=workspaces.SENDER, incarnation=1))
    appended = _watch(session)
    try:
        for _ in range(count):
            time.sleep(_PACE / 2)
            bare.send(time.monotonic_ns())
            time.sleep(_PACE / 2)
            session.run("send", {"to": (workspaces.OTHER,), "text": "The parser is on main."})
    finally:
        session.engine.log.close()
        session.engine.store.close()
    return appended


def _watch(session: Call) -> dict[int, int]:
    """Record when each append to this session's log returns."""
    moments: dict[int, int] = {}
    append: Any = session.engine.log.append

    def watched(*arguments: Any) -> Any:
        result = append(*arguments)
        moments[result.last] = time.monotonic_ns()
        return result

    vars(session.engine.log)["append"] = watched
    return moments
