"""Whether a choice of a person would change a result that could be reused. A choice without effect runs no stage again.

    level      of the methods whose level is unclear; they may have this level already
    existing   of the blocks that only the person may replace; there may be none, or this may be done already

Pure.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.packs.rspec import architect, isolation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def level_applies(document: Mapping[str, Any], project: str, level: str) -> str:
    """Why the levels must be decided again with this one; empty if nothing would change."""
    try:
        unclear = isolation.decide(document, project).unclear
    except Refused:  # the stage that comes next says what is wrong
        return ""
    found = {one["name"]: (one.get("test_config") or {}).get("test_level") for one in document.get("methods") or ()}
    others = [name for name in unclear if found[name] != level]
    return f"the level {level} was chosen for {', '.join(others)}" if others else ""


def existing_applies(
    document: Mapping[str, Any], spec: bytes | None, written: bytes | None, done: frozenset[str]
) -> str:
    """Why the spec must be planned again to replace existing blocks; empty if nothing would change."""
    try:
        conflicts = architect.plan_spec(document, spec, written, done=done).conflicts
    except Refused:
        return ""
    return f"overwrite was chosen for {', '.join(one.method for one in conflicts)}" if conflicts else ""
