"""File claims that were made for a task end with it, or when somebody else starts it."""

from __future__ import annotations

from moot.core.claims import ReleaseForTask
from moot.core.principal import label
from moot.core.task import is_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.reactions import Step, World
    from moot.core.task import Moved


def ended_tasks(key: str, moved: Moved, world: World) -> Iterator[Step]:
    yield from _released(ReleaseForTask(task=key, reason=f"{key} {is_in(moved.target)}"), world)


def taken_over_tasks(key: str, moved: Moved, world: World) -> Iterator[Step]:
    if moved.holder is not None:
        reason = f"{key} was taken over by {label(moved.holder)}"
        yield from _released(ReleaseForTask(task=key, reason=reason, new_holder=moved.holder), world)


def _released(command: ReleaseForTask, world: World) -> Iterator[Step]:
    if any(map(command.ends, world.claims().live.values())):
        yield "claims", "", command
