"""One module per kind of entity: its rules in words, its commands, its events, `decide` and `evolve`.

Deciders never import each other; `moot.core.reactions` says what follows from what.

Most commands need few of them. Those of `LATE` are imported when the first event of their kind is met, and have one
shape: `State` (with an `id`, and `open`: whether anybody still looks for it), `EVENTS`, `stream(id)`,
`decide(state, command)` and `evolve(state, event, at=…)`. Their streams are called by their kind.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LATE = ("artifact", "dependency", "decision", "checkpoint", "receipt")


def late(kind: str) -> Any:
    """The decider of this kind."""
    match kind:
        case "artifact":
            from moot.core.deciders import artifact

            return artifact
        case "dependency":
            from moot.core.deciders import dependency

            return dependency
        case "decision":
            from moot.core.deciders import decision

            return decision
        case "checkpoint":
            from moot.core.deciders import checkpoint

            return checkpoint
        case "receipt":
            from moot.core.deciders import receipt

            return receipt
        case _:
            raise TypeError(f"no decider of this kind: {kind}")
