"""A task that is done releases those that wait for it; one that is opened again holds them back.

Opened again, it also waits itself for whatever it needs and is not done (any more).
"""

from __future__ import annotations

from moot.core.task import BlockTask, Moved, ReadyTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.payload import Payload
    from moot.core.reactions import Step, World


def dependencies(key: str, happened: Payload, world: World) -> Iterator[Step]:
    if not isinstance(happened, Moved):
        return
    if happened.phase == "done":
        for name in world.dependents(key):
            yield "task", name, ReadyTask(done=key)
    elif happened.verb == "reopen":
        missing = tuple(need for need in world.task(key).needs if world.task(need).phase != "done")
        yield "task", key, BlockTask(on=missing)
        for name in world.dependents(key):
            yield "task", name, BlockTask(on=(key,))
