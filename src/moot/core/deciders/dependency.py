"""Dependencies: a name, the agents and tasks that need it, and the artifacts that provide it.

What always holds:
- A need is satisfied in the commit that completes the pair: the one that declares the need, or the one that provides
  the name, whichever comes second.
- Each pair of needer and name is satisfied once, however often it is declared or provided.

A provided name is recorded in the name's stream as well as with the artifact. A need and an artifact that are written
at the same time therefore conflict in that stream, on any log. Each name has a stream of its own and is used as
written. A needer is an agent's name, a person, or the stream of an entity that waits (`task/task-003`).
"""

from __future__ import annotations

from moot.core.errors import Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record, unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.core.kind import Meta

NEEDER_LIMIT = 1000  # needers that wait for one name


def stream(name: str) -> str:
    return f"dependency/{name}"


class DependencyDeclared(Payload):
    type = "dependency:declared"
    said = "{needer} needs it"
    marks = ("needer", "who")
    needer: str
    who: str  # who declared it; notified if the needer is a task that nobody holds


class DependencyProvided(Payload):
    type = "dependency:provided"
    said = "provided by {artifact}"
    marks = ("artifact",)
    artifact: str


class DependencySatisfied(Payload):
    type = "dependency:satisfied"
    said = "{artifact} is available for {required_by}"
    marks = ("artifact", "required_by")
    artifact: str
    required_by: tuple[str, ...]


class DependencyDropped(Payload):
    type = "dependency:dropped"
    said = "{needer} no longer needs it"
    marks = ("needer",)
    needer: str


EVENTS: dict[str, type[Payload]] = {
    cls.type: cls for cls in (DependencyDeclared, DependencyProvided, DependencySatisfied, DependencyDropped)
}


class Dependency(Record):
    id: str
    artifacts: tuple[str, ...] = ()  # what provides it, oldest first
    waiting: Mapping[str, str] = {}  # needer: who declared the need
    since: Mapping[str, str] = {}  # needer: when the need was declared
    satisfied: Mapping[str, str] = {}  # needer that has it: who declared the need

    @property
    def exists(self) -> bool:
        return bool(self.artifacts or self.waiting or self.satisfied)


class DeclareNeed(Record):
    needer: str
    who: str


class Provide(Record):
    artifact: str


class DropNeed(Record):
    needer: str


def decide(state: Dependency, command: DeclareNeed | Provide | DropNeed, _facts: object = None) -> list[Payload]:
    match command:
        case DeclareNeed():
            return _declared(state, command)
        case Provide():
            if command.artifact in state.artifacts:
                return []
            events: list[Payload] = [DependencyProvided(artifact=command.artifact)]
            if state.waiting:
                events.append(DependencySatisfied(artifact=command.artifact, required_by=tuple(state.waiting)))
            return events
        case DropNeed():
            if command.needer not in state.waiting:
                raise Unknown(
                    "unknown_need",
                    f"{command.needer} does not wait for {state.id!r}.",
                    "`moot artifact needed` lists the open needs.",
                    name=state.id,
                )
            return [DependencyDropped(needer=command.needer)]
        case _:
            unreachable(command)


def _declared(state: Dependency, command: DeclareNeed) -> list[Payload]:
    if command.needer in state.waiting or command.needer in state.satisfied:
        return []
    if len(state.waiting) >= NEEDER_LIMIT:
        raise Refused(
            "too_many_needers",
            f"{NEEDER_LIMIT} agents and tasks already wait for {state.id!r}.",
            "Check that somebody is making it.",
        )
    events: list[Payload] = [DependencyDeclared(needer=command.needer, who=command.who)]
    if state.artifacts:
        events.append(DependencySatisfied(artifact=state.artifacts[0], required_by=(command.needer,)))
    return events


def evolve(state: Dependency, event: Payload, meta: Meta) -> Dependency:
    match event:
        case DependencyDeclared():
            return state.replace(
                waiting={**state.waiting, event.needer: event.who}, since={**state.since, event.needer: meta.at}
            )
        case DependencyProvided():
            return state.replace(artifacts=(*state.artifacts, event.artifact))
        case DependencySatisfied():
            had = {needer: state.waiting[needer] for needer in event.required_by if needer in state.waiting}
            return _without(state, event.required_by).replace(satisfied={**state.satisfied, **had})
        case DependencyDropped():
            return _without(state, (event.needer,))
        case _:
            raise TypeError(f"not an event of a dependency: {event!r}")


def _without(state: Dependency, needers: tuple[str, ...]) -> Dependency:
    return state.replace(
        waiting={needer: who for needer, who in state.waiting.items() if needer not in needers},
        since={needer: at for needer, at in state.since.items() if needer not in needers},
    )


KIND = Kind(
    name="dependency",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Dependency,
    columns=lambda state: {"open": bool(state.waiting)},
    made_by="`moot artifact need`",
)
