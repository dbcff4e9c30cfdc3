"""A task that is done unblocks the tasks that wait for it; a reopened task blocks them again.

This applies in every state: a task that is released or reopened later must know what it still waits for.
"""

from __future__ import annotations

from moot.core.task import OTHER, BlockTask, Moved, ReadyTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.core.payload import Payload
    from moot.core.reactions import Step, World


def dependencies(key: str, happened: Payload, world: World) -> Iterable[Step]:
    return _released(key, happened, world) if isinstance(happened, Moved) else ()


def _released(key: str, happened: Moved, world: World) -> Iterator[Step]:
    if happened.phase == "done":
        for name in world.dependents(key):
            yield "task", name, ReadyTask(done=key)
    elif happened.verb == "reopen" or happened.type == OTHER:  # a pack's verb may have moved it out of done
        for name in world.dependents(key):
            yield "task", name, BlockTask(on=(key,))
