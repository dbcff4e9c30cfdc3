"""Dependencies: one name, who needs it, and what provides it.

What always holds:
- Whoever needs the name is satisfied in the commit in which both the need and something that provides it are there,
  whichever of the two came second.
- A pair of needer and name is satisfied once, however often it is asked for and by however many it is provided.

What provides the name is recorded in its stream as well as with the artifact: so a need and an artifact of the same
moment meet there, on any log. Each name has a stream of its own, and is taken as it is written. A needer is an agent's
name, a person, or the stream of something that waits (`task/task-003`).
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

NEEDER_LIMIT = 1000  # that wait for one name


def stream(name: str) -> str:
    return f"dependency/{name}"


class DependencyDeclared(Payload):
    type = "dependency:declared"
    said = "{needer} needs it"
    marks = ("needer", "who")
    needer: str
    who: str  # who said so; it hears of it where nobody else can


class DependencyProvided(Payload):
    type = "dependency:provided"
    said = "provided by {artifact}"
    marks = ("artifact",)
    artifact: str


class DependencySatisfied(Payload):
    type = "dependency:satisfied"
    said = "{artifact} is there for {required_by}"
    marks = ("artifact", "required_by")
    artifact: str
    required_by: tuple[str, ...]


class DependencyDropped(Payload):
    type = "dependency:dropped"
    said = "{needer} needs it no more"
    marks = ("needer",)
    needer: str


EVENTS: dict[str, type[Payload]] = {
    cls.type: cls for cls in (DependencyDeclared, DependencyProvided, DependencySatisfied, DependencyDropped)
}


class Dependency(Record):
    id: str
    artifacts: tuple[str, ...] = ()  # what provides it, oldest first
    waiting: Mapping[str, str] = {}  # who needs it and does not have it: who said so
    since: Mapping[str, str] = {}  # and since when
    satisfied: Mapping[str, str] = {}  # who had needed it: who had said so

    @property
    def exists(self) -> bool:
        return bool(self.artifacts or self.waiting or self.satisfied)

    @property
    def open(self) -> bool:
        """Whether somebody waits for it."""
        return bool(self.waiting)


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
            told: list[Payload] = [DependencyProvided(artifact=command.artifact)]
            if state.waiting:
                told.append(DependencySatisfied(artifact=command.artifact, required_by=tuple(state.waiting)))
            return told
        case DropNeed():
            if command.needer not in state.waiting:
                raise Unknown(
                    "unknown_need",
                    f"{command.needer} does not wait for {state.id!r}.",
                    "`moot artifact needed` lists who waits for what.",
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
            "too_many_needers", f"{NEEDER_LIMIT} wait for {state.id!r} already.", "Look whether anybody makes it."
        )
    told: list[Payload] = [DependencyDeclared(needer=command.needer, who=command.who)]
    if state.artifacts:
        told.append(DependencySatisfied(artifact=state.artifacts[0], required_by=(command.needer,)))
    return told


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
    check="moot.core.integrity.import_checks:dependency",
)
