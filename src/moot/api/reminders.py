"""What a caller is told beside the answer, whatever it asked for. Loaded only where there is something to tell."""

from __future__ import annotations

from moot.api.answer import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moot.core.deciders.entry import Entry

_NAMED = 3


def of_held(entries: Sequence[Entry]) -> Notice:
    named = ", ".join(entry.id for entry in entries[:_NAMED]) + ("…" if len(entries) > _NAMED else "")
    return Notice("entries_held", f"Held back from a file: {named}. `moot held` says why.")


def of_effects(caused: int, state: str) -> Iterator[Notice]:
    """Only while nobody performs them."""
    from moot.engine.runners import anybody_runs

    if anybody_runs(state):
        return
    said = f"{caused} effects wait" if caused > 1 else "An effect waits"
    yield Notice("nobody_handles", f"{said}, and nobody performs effects here: `moot handle` does.")
