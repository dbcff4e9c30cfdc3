"""Whether a choice of a person would change a result that could be reused. A choice without effect runs no stage again.

    level      of the methods whose level is unclear; they may have this level already
    existing   of the blocks that only the person may replace; there may be none, or this may be done already

Pure.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.packs.rspec import architect, isolation
from moot.packs.rspec.spec_blocks import blocks_of

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
    document: Mapping[str, Any], spec: bytes | None, written: bytes | None, choice: str, done: frozenset[str]
) -> str:
    """Why the spec must be planned again with this choice for existing blocks; empty if nothing would change."""
    try:
        conflicts = architect.plan_spec(document, spec, written, {}, "", done).conflicts
    except Refused:
        return ""
    blocks = [block.name for block in blocks_of(spec or b"", document["class_name"]).blocks]
    planned = [one["name"] for one in (document.get("structure") or {}).get("methods") or ()]
    kept = [name for name in blocks if name not in planned]
    appended = [name for name in planned if blocks.count(name) > 1]
    done_before = {"keep": kept, "append": appended}.get(choice, [])
    names = [one.method for one in conflicts if choice in one.choices and one.method not in done_before]
    return f"{choice} was chosen for {', '.join(names)}" if names else ""
