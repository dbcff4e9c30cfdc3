"""What is released when an agent leaves or is replaced, and when a task is done or ends.

A task that waits is told in every state: one that is released or reopened later must know what it still waits for.
"""

from __future__ import annotations

from moot.core.claims import ReleaseAll, ReleaseForTask, SupersedeHolder
from moot.core.deciders.agent import Joined, Left
from moot.core.deciders.mailbox import Bury
from moot.core.principal import agent, label
from moot.core.task import OTHER, BlockTask, LapseTask, Moved, ReadyTask, is_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.core.payload import Payload
    from moot.core.reactions import Step, World


def departures(key: str, happened: Payload, world: World) -> Iterable[Step]:
    return _gone(key, happened, world) if isinstance(happened, (Joined, Left)) else ()


def _gone(key: str, happened: Joined | Left, world: World) -> Iterator[Step]:
    if isinstance(happened, Joined) and happened.replaces is not None:
        old = agent(happened.name, happened.replaces)
        yield from _let_go(old, f"replaced by {agent(happened.name, happened.incarnation)}", world, failed=True)
        yield "claims", "", SupersedeHolder(old=(old,))
    elif isinstance(happened, Left):
        name = world.agent_name(key)
        old = agent(name, happened.incarnation)
        yield from _let_go(old, f"{name} left", world, failed=False)
        yield "claims", "", ReleaseAll(holder=old)
        if happened.retired:
            yield "mailbox", name, Bury(ids=tuple(world.open_mail(name)), reason=f"{name} retired")


def _let_go(holder: str, reason: str, world: World, *, failed: bool) -> Iterator[Step]:
    for task in world.tasks_held_by(holder):
        yield "task", task, LapseTask(silent_for=0.0, ttl=0.0, reason=reason, failed=failed)


def dependencies(key: str, happened: Payload, world: World) -> Iterable[Step]:
    return _released(key, happened, world) if isinstance(happened, Moved) else ()


def _released(key: str, happened: Moved, world: World) -> Iterator[Step]:
    if happened.phase == "done":
        for name in world.dependents(key):
            yield "task", name, ReadyTask(done=key)
    elif happened.verb == "reopen" or happened.type == OTHER:  # a pack's verb may have moved it out of done
        for name in world.dependents(key):
            yield "task", name, BlockTask(on=(key,))


def ended_tasks(key: str, moved: Moved, world: World) -> Iterator[Step]:
    yield from _ended(ReleaseForTask(task=key, reason=f"{key} {is_in(moved.target)}"), world)


def taken_over_tasks(key: str, moved: Moved, world: World) -> Iterator[Step]:
    if moved.holder is not None:
        reason = f"{key} was taken over by {label(moved.holder)}"
        yield from _ended(ReleaseForTask(task=key, reason=reason, new_holder=moved.holder), world)


def _ended(command: ReleaseForTask, world: World) -> Iterator[Step]:
    claims = world.claims()
    if any(map(command.ends, (*claims.live.values(), *claims.waiting.values()))):
        yield "claims", "", command
