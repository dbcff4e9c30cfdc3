"""artifact add, modify, show, artifacts: registered work products and the names they provide."""

from __future__ import annotations

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.artifact import Artifact, ArtifactCreated, CreateArtifact, ModifyArtifact
from moot.core.deciders.dependency import DependencySatisfied
from moot.core.errors import Unknown, Usage
from moot.core.ids import chosen
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import fence, one_line
from moot.engine.clock import local
from moot.place import resolve
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work

NAME_LIMIT = 500
_PAGE = 500  # events


class ArtifactResult(Record):
    """An artifact after a change, and the agents and tasks that were waiting for what it provides."""

    artifact: Artifact
    satisfied: dict[str, tuple[str, ...]]
    position: int
    repeated: bool = False


class ArtifactChange(Record):
    by: str
    at: str
    changes: tuple[str, ...]
    provides: tuple[str, ...]
    task: str | None


class ArtifactView(Record):
    """An artifact with its history."""

    artifact: Artifact
    changes: tuple[ArtifactChange, ...]
    used_by: dict[str, tuple[str, ...]]  # name → agents and tasks that needed it


def add(
    call: Call,
    paths: tuple[str, ...],
    uri: str | None,
    id: str | None,  # noqa: A002
    kind: str | None,
    provides: tuple[str, ...],
    summary: str | None,
    task: str | None,
) -> Answer:
    found = places(call, paths)
    if not found and not uri:
        raise Usage("bad_arguments", "`artifact add` needs a path or --uri.", "Name one: moot artifact add src/user.py")
    identity = chosen(id, "artifact") if id is not None else next(iter(found), None) or word(uri or "", "uri")
    absent = tuple(f"absent: {path}" for path, there in found.items() if not there)

    def act(work: Work) -> None:
        actor = call.actor(work)
        if task is not None:
            work.known_task(task)
        command = CreateArtifact(
            creator=actor.principal,
            paths=tuple(found),
            uri=word(uri, "uri") if uri else None,
            kind=word(kind, "kind") if kind else ("file" if found else "service"),
            provides=tuple(word(name, "provides") for name in provides),
            summary=summary or "",
            task=task,
            flags=absent,
        )
        work.do("artifact", identity, command)

    outcome = call.commit(act)
    for flag in absent:
        call.warn("artifact_absent", f"{flag.removeprefix('absent: ')} does not exist in this worktree yet.")
    return _changed(call, outcome, identity, "registered")


def modify(
    call: Call,
    id: str,  # noqa: A002
    change: tuple[str, ...],
    paths: tuple[str, ...],
    provides: tuple[str, ...],
    task: str | None,
) -> Answer:
    identity, found = _identity(call, id), tuple(places(call, paths))

    def act(work: Work) -> None:
        actor = call.actor(work)
        if task is not None:
            work.known_task(task)
        command = ModifyArtifact(
            modifier=actor.principal,
            changes=change,
            paths=found,
            provides=tuple(word(name, "provides") for name in provides),
            task=task,
        )
        work.do("artifact", identity, command)

    return _changed(call, call.commit(act), identity, "changed")


def _changed(call: Call, outcome: Outcome, identity: str, said: str) -> Answer:
    told = {e.stream.partition("/")[2]: tuple(e.data["required_by"]) for e in outcome.events if _satisfies(e)}
    state: Artifact = states.state(call.engine.read(), "artifact", identity)[0]
    lines = [one_line(f"{identity} {said}{': provides ' if state.provides else ''}{', '.join(state.provides)}", 1000)]
    lines += [
        f"  {one_line(name, 500)} was needed by {one_line(', '.join(who), 500)}: notified" for name, who in told.items()
    ]
    made = ArtifactResult(artifact=state, satisfied=told, position=outcome.last, repeated=outcome.repeated)
    return Answer(result=made, say=tuple(lines))


def _satisfies(event: Event) -> bool:
    return event.type == DependencySatisfied.type


def _changes(call: Call, stream: str) -> Iterator[ArtifactChange]:
    position = 0
    while events := call.engine.log.read(position, _PAGE, stream):
        for event in events:
            if event.type != ArtifactCreated.type:
                said = event.data
                names = tuple(said.get("provides", ()))
                text = tuple(said.get("changes", ()))
                yield ArtifactChange(event.by, event.at, text, names, said.get("task"))
        position = events[-1].position


def show(call: Call, id: str) -> Answer:  # noqa: A002
    store = call.engine.read()
    identity = _identity(call, id)
    state: Artifact = states.state(store, "artifact", identity)[0]
    if not state.exists:
        raise Unknown(
            "unknown_artifact", f"Nothing provides {id!r}.", "`moot artifacts` lists all artifacts.", artifact=id
        )
    changes = list(_changes(call, f"artifact/{identity}"))
    used = {name: tuple(states.state(store, "dependency", name)[0].satisfied) for name in state.names}
    shown = ArtifactView(artifact=state, changes=tuple(changes), used_by={n: who for n, who in used.items() if who})
    return Answer(result=shown, say=tuple(_lines(shown)))


def _lines(shown: ArtifactView) -> list[str]:
    state = shown.artifact
    lines = [one_line(f"{state.id} ({state.kind}) by {name_of(state.creator)} at {local(state.at)}", 1000)]
    if state.summary:
        lines += fence(state.summary).splitlines()
    facts = {
        "paths": ", ".join(state.paths),
        "uri": state.uri or "",
        "provides": ", ".join(state.provides),
        "task": state.task or "",
    }
    lines += [f"  {name}: {one_line(value, 2000)}" for name, value in facts.items() if value]
    lines += [
        f"  {one_line(name, 500)}: needed by {one_line(', '.join(who), 500)}" for name, who in shown.used_by.items()
    ]
    for change in shown.changes:
        said = "; ".join(change.changes) or f"provides {', '.join(change.provides)}"
        lines.append(f"  {local(change.at)} {one_line(f'{name_of(change.by)}: {said}', 500)}")
    return lines


def artifacts(call: Call, provides: str | None, task: str | None, kind: str | None, limit: int) -> Answer:
    store = call.engine.read()
    found: list[Artifact] = []
    if provides is not None:
        providers = states.state(store, "dependency", provides)[0].artifacts
        found = [states.state(store, "artifact", name)[0] for name in providers]
    elif task is not None:
        found = [states.state(store, *pair)[0] for pair in queries.things_of_task(store, task) if pair[0] == "artifact"]
    else:
        found = list(queries.things(store, "artifact", ended=True))
    found = [a for a in found if (task is None or a.task == task) and (kind is None or a.kind == kind)]
    warn_of_more(call, limit, len(found) - limit, "artifact")
    found = found[:limit]
    rows = tuple(
        (
            one_line(a.id, 200),
            one_line(a.kind, 40),
            one_line(", ".join(a.provides), 200),
            one_line(name_of(a.creator), 80),
            one_line(a.task or "", 60),
            one_line(a.summary, 60),
        )
        for a in found
    )
    lines = tuple(f"{r[0]} ({r[1]}) by {r[3]}{f' provides {r[2]}' if r[2] else ''}" for r in rows)
    table = Table(("artifact", "kind", "provides", "by", "task", ""), rows, title="Artifacts") if rows else None
    return Answer(result=found, say=lines or ("No artifacts yet: moot artifact add PATH",), table=table)


def _identity(call: Call, name: str) -> str:
    """The id of the artifact with this id, with this path (relative to the caller), or that provides this name."""
    store = call.engine.read()
    if states.state(store, "artifact", name)[0].exists:
        return name
    providers = states.state(store, "dependency", name)[0].artifacts
    if not providers and (path := next(iter(places(call, (name,), strict=False)), None)):
        providers = states.state(store, "dependency", path)[0].artifacts
    return str(providers[0]) if providers else name


def places(call: Call, paths: tuple[str, ...], *, strict: bool = True) -> dict[str, bool]:
    """The given paths relative to the repository, each with whether it exists."""
    from moot.core.errors import Refused

    found: dict[str, bool] = {}
    for path in paths:
        try:
            named = resolve(call.place, call.cwd, path)
        except Refused:
            if strict:
                raise
            continue
        inner = named.path.rstrip("/")
        found[inner] = named.there >= len(inner.split("/"))
    return found


def word(text: str, what: str) -> str:
    """A name on one line, without surrounding whitespace."""
    if text and text == text.strip() and text.isprintable():
        return text
    raise Usage("bad_name", f"{what}: {text[:80]!r} is not a valid name.", "Use one line without surrounding spaces.")


_TASK = Param("task", "The task it belongs to.")
_PROVIDES = Param("provides", "A name that others can depend on (repeatable).", many=True, limit=NAME_LIMIT)

VERBS = (
    Verb(
        "artifact add",
        "Register an artifact: where it is and what it provides.",
        add,
        kind="own",
        params=(
            Param("paths", "Its files or directories.", positional=True, many=True),
            Param("uri", "Where it is, if it is not a file in the repository.", limit=2000),
            Param("id", "Its id (letters, digits, '.', '_', '-'). Default: its first path or its URI."),
            Param("kind", "file, service, document, or any word.", limit=40),
            _PROVIDES,
            Param("summary", "A one-sentence description."),
            _TASK,
            KEY,
        ),
        examples=("moot artifact add src/models/user.ts --provides User --provides UserCreate",),
        detail=(
            "Agents that need one of its names, its paths or its URI get mail, once, in the same commit; tasks that "
            "wait for it can be claimed. A file that does not exist yet is accepted and flagged."
        ),
    ),
    Verb(
        "artifact modify",
        "Record a change to an artifact, or more names that it provides.",
        modify,
        kind="own",
        params=(
            Param(
                "id",
                "The artifact: its id, its path, or a name it provides.",
                positional=True,
                required=True,
                limit=4096,
            ),
            Param("change", "What changed, in a few words (repeatable).", many=True, limit=2000),
            Param("paths", "Another file that now belongs to it (repeatable).", many=True),
            _PROVIDES,
            _TASK,
            KEY,
        ),
        examples=("moot artifact modify src/models/user.ts --change 'added role field'",),
    ),
    Verb(
        "artifact show",
        "Show an artifact, its history, and who needed it.",
        show,
        kind="look",
        params=(Param("id", "Its id, its path, or a name it provides.", positional=True, required=True, limit=4096),),
        examples=("moot artifact show src/models/user.ts", "moot artifact show UserCreate"),
        writes=False,
    ),
    Verb(
        "artifacts",
        "List artifacts, newest first.",
        artifacts,
        kind="look",
        params=(
            Param("provides", "Only artifacts that provide this name.", limit=4096),
            Param("task", "Only artifacts of this task."),
            Param("kind", "Only artifacts of this kind.", limit=40),
            Param("limit", "Maximum number of artifacts.", type="int", default=200),
        ),
        examples=("moot artifacts", "moot artifacts --provides UserCreate"),
        writes=False,
    ),
)
