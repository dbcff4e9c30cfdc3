"""Measures whether a long log slows anything down: a send and an inbox in a large and in a small workspace."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import workspaces
from common import Row, interleaved, timed

from moot import Workspace

if TYPE_CHECKING:
    from workspaces import Stage

_WAITING = 10  # requests that the inbox shows each time
_BURST = 4
_TEXT = "The parser is on main. All tests pass."


def measure(stage: Stage) -> list[Row]:
    size = stage.size
    with ExitStack() as opened:
        variants = {}
        for name, events in (("small", size.small), ("large", size.events)):
            repository = stage.populated(f"growing-{name}", events)
            sender = opened.enter_context(Workspace(repository, agent=workspaces.SENDER, incarnation=1))
            reader = opened.enter_context(Workspace(repository, agent=workspaces.READER, incarnation=1))
            for number in range(_WAITING):
                sender.send(workspaces.READER, f"Question {number}", type="request")
            reader.inbox()
            variants[f"send {name}"] = timed(partial(sender.send, workspaces.OTHER, _TEXT), _BURST)
            variants[f"inbox {name}"] = timed(reader.inbox, _BURST)
        interleaved(variants, 0, 3)
        rounds = interleaved(variants, size.seconds, size.least)
    rows = []
    for verb, what in (("send", "A note sent"), ("inbox", f"An inbox with {_WAITING} requests read")):
        ratio = rounds.ratio(f"{verb} large", f"{verb} small")
        large, small = (rounds.median(f"{verb} {name}") * 1e6 for name in ("large", "small"))
        note = (
            f"{what} in one process: {large:,.0f} µs with {size.events:,} events in the log, "
            f"{small:,.0f} µs with {size.small:,}; {ratio}."
        )
        rows.append(Row(f"grow.{verb}", ratio.median, "x small log", "<= 1.2", note))
    return rows
