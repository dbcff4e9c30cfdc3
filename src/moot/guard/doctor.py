"""What `moot doctor` says about the guard: nothing if it was never installed."""

from __future__ import annotations

import os

from moot.api.verbs.workspace import Finding
from moot.guard import hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.location import Place


def guard_findings(place: Place) -> list[Finding]:
    if not os.path.lexists(os.path.join(place.state, hooks.RECORD)):
        return []
    found = hooks.status(place)
    if found.guarded:
        return [Finding("guard", good=True, message="commits and pushes are checked")]
    wrong = "; ".join(one.said for one in found.hooks if not one.guarded)
    remedy = "`moot guard install` repairs it; `moot guard remove` removes the rest of it."
    return [Finding("guard", good=False, message=wrong, remedy=remedy)]
