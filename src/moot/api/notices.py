"""Warnings that any answer can carry. Imported only when there is one."""

from __future__ import annotations

from moot.api.answer import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moot.api.call import Call
    from moot.core.event import Event


def of_effects(call: Call, events: Sequence[Event]) -> Iterator[Notice]:
    """Warnings about effects that these events request: no runner performs them, or a pack cannot find a handler."""
    yield from of_waiting(sum(event.type == "effect:requested" for event in events), call.place.state)
    if call.packs.having("effects"):
        from moot.api.protocol.pack_effects import notices

        yield from notices(call, events)


def of_waiting(caused: int, state: str) -> Iterator[Notice]:
    """A warning, if no runner performs effects."""
    if not caused:
        return
    from moot.place.locks import anybody_runs

    if anybody_runs(state):
        return
    said = f"{caused} effects wait" if caused > 1 else "An effect waits"
    yield Notice("nobody_handles", f"{said}, but no runner performs effects here. Start one: `moot handle`.")
