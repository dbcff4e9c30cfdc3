"""What agents and tasks wait for.

An artifact satisfies the needs for the names it provides: who needs them is notified, and tasks no longer wait for it.
The agents that wait at a checkpoint receive the answer as mail, in the same commit.
"""

from __future__ import annotations

from moot.core.deciders.artifact import ArtifactCreated, ArtifactModified
from moot.core.deciders.checkpoint import CheckpointResolved, CheckpointWithdrawn
from moot.core.deciders.dependency import DependencyDeclared, DependencyDropped, DependencySatisfied, Provide, stream
from moot.core.principal import same_agent
from moot.core.reactions import notice
from moot.core.task import BlockTask, ReadyTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.deciders.dependency import Dependency
    from moot.core.payload import Payload
    from moot.core.reactions import Step, World

_TASK = "task/"


def artifacts(key: str, happened: Payload, world: World) -> Iterator[Step]:
    match happened:
        case ArtifactCreated():
            for name in world.state("artifact", key).names:
                yield "dependency", name, Provide(artifact=key)
        case ArtifactModified():
            for name in (*happened.paths, *happened.provides):
                yield "dependency", name, Provide(artifact=key)
        case DependencyDeclared():
            if happened.needer.startswith(_TASK):
                yield "task", happened.needer.removeprefix(_TASK), BlockTask(on=(stream(key),))
        case DependencyDropped():
            if happened.needer.startswith(_TASK):
                yield "task", happened.needer.removeprefix(_TASK), ReadyTask(done=stream(key))
        case DependencySatisfied():
            yield from _satisfied(key, happened, world)
        case _:
            return


def _satisfied(name: str, happened: DependencySatisfied, world: World) -> Iterator[Step]:
    state: Dependency = world.state("dependency", name)
    told: list[str] = []
    for needer in happened.required_by:
        if needer.startswith(_TASK):
            task = needer.removeprefix(_TASK)
            told.append(world.task(task).holder or state.satisfied[needer])
            yield "task", task, ReadyTask(done=stream(name))
        else:
            told.append(needer)
    where = f"{name} is available" if happened.artifact == name else f"{name} is available: {happened.artifact}"
    yield from notice(world, "dependency", told, "moot", f"{where}.", thread=stream(name))


def checkpoints(key: str, happened: Payload, world: World) -> Iterator[Step]:
    if not isinstance(happened, (CheckpointResolved, CheckpointWithdrawn)):
        return
    state: Checkpoint = world.state("checkpoint", key)
    waiting = [state.who]
    if state.task is not None and (holder := world.task(state.task).holder) is not None:
        waiting.append(holder)
    concerned = [who for who in waiting if not same_agent(who, happened.who)]
    if isinstance(happened, CheckpointResolved):
        parts = (happened.answer, happened.text, f"That answers {key}: {state.question}")
    else:
        parts = (f"Withdrawn: {happened.reason}", "", f"That was {key}: {state.question}")
    text = "\n\n".join(part for part in parts if part)
    yield from notice(world, "checkpoint", concerned, happened.who, text, thread=key, task=state.task)
