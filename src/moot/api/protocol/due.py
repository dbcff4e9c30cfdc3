"""What the clock has made due in packs, such as a time limit that has passed.

Nothing runs on a timer: every call that syncs files looks, and so does `moot mirror --watch`. A pack looks outside of a
commit whether anything is due, and returns a decision only then. The decision checks it again.
"""

from __future__ import annotations

from moot.core.pack_code import PackCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work


def do_what_is_due(call: Call) -> list[Event]:
    """Commit what is due in the active packs, each by itself. Returns the new events."""
    found: list[Event] = []
    for protocol in call.packs.having("due"):
        with PackCode(protocol.pack.name, "due"):
            act = protocol.due(call)
        if act is not None:
            found += call.engine.commit("moot", _guarded(protocol.pack.name, act)).events
    return found


def _guarded(pack: str, act: Callable[[Work], None]) -> Callable[[Work], None]:
    def decide(work: Work) -> None:
        with PackCode(pack, "due"):
            act(work)

    return decide
