"""File claims that were made for a task end with it."""

from __future__ import annotations

from moot.core.claims import ReleaseForTask
from moot.core.task import is_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.reactions import Step, World
    from moot.core.task import Moved


def ended_tasks(key: str, moved: Moved, world: World) -> Iterator[Step]:
    if any(claim.task == key for claim in world.claims().live.values()):
        yield "claims", "", ReleaseForTask(task=key, reason=f"{key} {is_in(moved.target)}")
