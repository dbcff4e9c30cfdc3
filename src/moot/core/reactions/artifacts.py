"""An artifact satisfies the needs for the names it provides. Needers are notified, and tasks no longer wait for it."""

from __future__ import annotations

from moot.core.deciders.artifact import ArtifactCreated, ArtifactModified
from moot.core.deciders.dependency import (
    DependencyDeclared,
    DependencyDropped,
    DependencySatisfied,
    Provide,
    stream,
)
from moot.core.reactions.notices import notice
from moot.core.task import BlockTask, ReadyTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
