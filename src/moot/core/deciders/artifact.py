"""Artifacts: results that others can use. Each has a location, the names it provides, and a history of changes.

What always holds:
- An artifact is created once; later events modify it.
- It has a location: paths of the repository, or a URI.
- It provides its own id, its paths, its URI and the names it lists. Provided names are added and never removed.

Needs are kept per name (`moot.core.deciders.dependency`), so that unrelated names never conflict.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unknown
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record, unreachable
from moot.core.text import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.kind import Meta

PLACE_LIMIT = 100  # paths of one artifact
NAME_LIMIT = 100  # names that one event may add
_CHANGE = "--change '…'"


class CreateArtifact(Record):
    creator: str
    paths: tuple[str, ...] = ()
    uri: str | None = None
    kind: str = "file"
    provides: tuple[str, ...] = ()
    summary: str = ""
    task: str | None = None
    flags: tuple[str, ...] = ()


class ArtifactCreated(CreateArtifact, Payload):
    type = "artifact:created"
    said = "registered: {summary}"
    asides = (("provides", "provides {provides}"), ("uri", "uri {uri}"), ("paths", "paths {paths}"))
    words = ("summary",)
    names = ("paths", "uri", "provides", "flags")
    marks = ("creator", "kind", "task")


class ModifyArtifact(Record):
    modifier: str
    changes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # added
    provides: tuple[str, ...] = ()  # added
    task: str | None = None
    flags: tuple[str, ...] = ()


class ArtifactModified(ModifyArtifact, Payload):
    type = "artifact:modified"
    said = "changed: {changes}"
    asides = (("provides", "provides {provides}"),)
    words = ("changes",)
    names = ("paths", "provides", "flags")
    marks = ("modifier", "task")


EVENTS: dict[str, type[Payload]] = {cls.type: cls for cls in (ArtifactCreated, ArtifactModified)}


class Artifact(Record):
    id: str
    status: str = ""  # empty (none), made
    creator: str = ""
    paths: tuple[str, ...] = ()
    uri: str | None = None
    kind: str = "file"
    provides: tuple[str, ...] = ()
    summary: str = ""
    task: str | None = None
    at: str = ""
    changed_at: str = ""
    changed_by: str = ""
    changes: int = 0  # how often it was modified

    @property
    def exists(self) -> bool:
        return bool(self.status)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that it provides, without duplicates."""
        own = (self.id, *self.paths, *((self.uri,) if self.uri else ()), *self.provides)
        return tuple(dict.fromkeys(own))


def decide(state: Artifact, command: CreateArtifact | ModifyArtifact, _facts: object = None) -> list[Payload]:
    match command:
        case CreateArtifact():
            if state.exists:
                raise Held(
                    "artifact_exists",
                    f"{state.id} already exists, since {state.at}.",
                    f"Record a change: `{command_line('artifact modify', state.id, options=_CHANGE)}`.",
                    artifact=state.id,
                    creator=state.creator,
                )
            if not command.paths and not command.uri:
                raise Refused(
                    "artifact_nowhere", "The artifact has no location.", "Give its paths, or --uri.", artifact=state.id
                )
            _check_size(command.paths, command.provides)
            fields = {**command.__dict__, "paths": _each_once(command.paths), "provides": _each_once(command.provides)}
            return [ArtifactCreated(**fields)]
        case ModifyArtifact():
            if not state.exists:
                raise Unknown(
                    "unknown_artifact",
                    f"There is no artifact {state.id!r}.",
                    "`moot artifacts` lists them; `moot artifact add` registers one.",
                    artifact=state.id,
                )
            _check_size(command.paths, command.provides)
            new = {
                "paths": tuple(path for path in _each_once(command.paths) if path not in state.paths),
                "provides": tuple(name for name in _each_once(command.provides) if name not in state.provides),
            }
            if not command.changes and not any(new.values()):
                raise Refused(
                    "nothing_changed",
                    "The command contains no change and no new name or path.",
                    "Describe the change with --change '…', or add a name with --provides NAME.",
                    artifact=state.id,
                )
            return [ArtifactModified(**{**command.__dict__, **new})]
        case _:
            unreachable(command)


def _check_size(paths: tuple[str, ...], provides: tuple[str, ...]) -> None:
    if len(paths) > PLACE_LIMIT or len(provides) > NAME_LIMIT:
        raise Refused(
            "artifact_too_large",
            f"{len(paths)} paths and {len(provides)} names are too many for one artifact.",
            f"Use at most {PLACE_LIMIT} paths and {NAME_LIMIT} names: name a directory, or add several artifacts.",
        )


def _each_once(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def evolve(state: Artifact, event: Payload, meta: Meta) -> Artifact:
    match event:
        case ArtifactCreated():
            fields = {name: value for name, value in event.__dict__.items() if name != "flags"}
            return Artifact(
                id=state.id, status="made", at=meta.at, changed_at=meta.at, changed_by=event.creator, **fields
            )
        case ArtifactModified():
            return state.replace(
                paths=(*state.paths, *event.paths),
                provides=(*state.provides, *event.provides),
                changed_at=meta.at,
                changed_by=event.modifier,
                changes=state.changes + 1,
            )
        case _:
            raise TypeError(f"not an event of an artifact: {event!r}")


KIND = Kind(
    name="artifact",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Artifact,
    columns=lambda state: {"open": state.exists, "task": state.task, "title": state.summary, "state": state.status},
    plural="artifacts",
    made_by="`moot artifact`",
)
