"""Reads that continue when nothing can be written: a stalled process holds the writer lock, or the disk is full.

They use the shared views as they are, and a private copy with the events that the views lack. The answer says up to
which position it is current. Loaded only in that case.
"""

from __future__ import annotations

from moot.api.call import READ_PATIENCE
from moot.core.errors import Unavailable
from moot.core.text import counted
from moot.engine.engine import Engine
from moot.views.private_copy import PrivateCopy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.api.answer import Answer
    from moot.api.call import Call

_IN_THE_WAY = ("locked", "read_only", "disk_full", "views_unusable", "mirror_lock_unusable")
_LONGEST = 30.0  # seconds to wait for a process that is making progress, which avoids folding the same events twice
_UNCLEAR = 5.0  # the same for a process of unknown state, or one that waits for the disk


def read_without_writing(
    call: Call, again: Callable[[], Answer], does: Callable[[], Answer], error: Unavailable
) -> Answer:
    """Complete a read that failed with `error`: call `again` once the writer is done, or `does` without writing."""
    waited = READ_PATIENCE
    while error.code == "locked" and waited < _patience_with(error.details.get("pid")):
        try:
            return again()
        except Unavailable as another:
            error, waited = another, waited + READ_PATIENCE
    if error.code not in _IN_THE_WAY:
        raise error
    usual = call.engine
    views = PrivateCopy(call.place.state, monotonic=usual.clock.monotonic)
    engine = Engine(usual.log, views, usual.clock, usual.lifecycles, usual.reactions)
    engine.progress, engine.lookups = usual.progress, {**usual.lookups, **engine.lookups}
    call.engine = engine  # until the end of the call
    try:
        position = engine.read().cursor()
    except Unavailable:
        call.use_own_engine()
        raise error from None
    lacks = f" The shared views lack {counted(views.behind, 'event')}, read from the log." if views.behind else ""
    call.warn("views_behind", f"As of position {position}. {error.message}{lacks}")
    return does()


def _patience_with(pid: object) -> float:
    """How long to wait for the process that holds the lock."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return _UNCLEAR
    return 0.0 if state in "Tt" else _UNCLEAR if state == "D" else _LONGEST
