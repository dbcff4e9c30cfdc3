"""artifact need, artifact needed: artifacts that agents and tasks depend on."""

from __future__ import annotations

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import KEY, TIMEOUT, Param, Verb
from moot.api.verbs.artifacts import places, word
from moot.api.verbs.events import deadline_of, until
from moot.core.deciders.dependency import DeclareNeed, Dependency, DependencySatisfied, DropNeed
from moot.core.errors import Usage
from moot.core.principal import person
from moot.core.record import Record
from moot.core.task.refusals import check_goes_on
from moot.core.text import one_line
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work


class Need(Record):
    """A name that an agent or a task needs."""

    name: str
    needer: str
    satisfied: bool
    artifacts: tuple[str, ...]
    since: str | None = None


def need(
    call: Call,
    names: tuple[str, ...],
    path: tuple[str, ...],
    task: str | None,
    drop: bool,
    wait: bool,
    timeout: float | None,
) -> Answer:
    wanted = tuple(dict.fromkeys((*(word(name, "names") for name in names), *places(call, path))))
    if not wanted:
        raise Usage("bad_arguments", "`artifact need` needs a name or --path.", "Name it: moot artifact need UserModel")
    if drop and wait:
        raise Usage("bad_arguments", "--drop and --wait cannot be combined.", "Use one of them.")
    me = call.me()
    needer = f"task/{task}" if task is not None else me.name if me is not None else person(call.login)

    def act(work: Work) -> None:
        actor = call.actor(work)
        if task is not None:
            check_goes_on(work.known_task(task))
        for name in wanted:
            command = DropNeed(needer=needer) if drop else DeclareNeed(needer=needer, who=actor.name)
            work.do("dependency", name, command)

    outcome = call.commit(act)
    if drop:
        said = one_line(f"{needer} no longer waits for {', '.join(wanted)}", 1000)
        return Answer(result=_needs(call, wanted, needer), say=(said,))
    if not wait:
        return _told(_needs(call, wanted, needer))
    return _awaited(call, wanted, needer, outcome.last, timeout)


def _needs(call: Call, names: tuple[str, ...], needer: str) -> list[Need]:
    store = call.engine.read()
    found = []
    for name in names:
        state: Dependency = states.state(store, "dependency", name)[0]
        since = state.since.get(needer)
        there = needer in state.satisfied
        found.append(Need(name=name, needer=needer, satisfied=there, artifacts=state.artifacts, since=since))
    return found


def _told(needs: list[Need]) -> Answer:
    lines = [
        f"{n.name} is available: {', '.join(n.artifacts)}"
        if n.satisfied
        else f"{n.needer} waits for {n.name}; you will get mail"
        for n in needs
    ]
    return Answer(result=needs, say=tuple(one_line(line, 1000) for line in lines))


def _awaited(call: Call, names: tuple[str, ...], needer: str, start: int, timeout: float | None) -> Answer:
    def missing() -> str:
        return "nothing provides " + ", ".join(n.name for n in _needs(call, names, needer) if not n.satisfied)

    def look_at(events: list[Event]) -> Answer | None:
        if events and not any(event.type == DependencySatisfied.type for event in events):
            return None
        needs = _needs(call, names, needer)
        return _told(needs) if all(n.satisfied for n in needs) else None

    first = look_at([])
    if first is not None:
        return first
    after = start or call.engine.log.head()
    remedy = "Repeat the command with --wait. The need stays declared, so nothing is missed."
    return until(call, after, deadline_of(call, timeout), look_at, missing, remedy)


def needed(call: Call, limit: int) -> Answer:
    store, found = call.engine.read(), []
    for state in queries.things(store, "dependency", limit):
        for needer, since in state.since.items():
            found.append(Need(name=state.id, needer=needer, satisfied=False, artifacts=(), since=since))
    warn_of_more(call, limit, queries.count_things(store, "dependency") - limit, "name")
    rows = tuple((one_line(n.name, 200), one_line(n.needer, 80), local(n.since or "")) for n in found)
    lines = tuple(f"{row[0]} is needed by {row[1]} since {row[2]}" for row in rows)
    table = Table(("what", "needed by", "since"), rows, title="Missing artifacts") if rows else None
    return Answer(result=found, say=lines or ("No artifacts are missing.",), table=table)


VERBS = (
    Verb(
        "artifact need",
        "Declare that you need an artifact. You get mail when it is available.",
        need,
        kind="own",
        params=(
            Param("names", "Names that artifacts provide.", positional=True, many=True, limit=4096),
            Param("path", "A file that must exist, relative to the current directory (repeatable).", many=True),
            Param("task", "Declare it for this task, which cannot be claimed before it is available."),
            Param("drop", "Drop the need.", type="flag"),
            Param("wait", "Wait until everything is available.", type="flag"),
            Param("timeout", f"With --wait: give up after this long. {TIMEOUT}", type="seconds"),
            KEY,
        ),
        examples=("moot artifact need User src/api/schema.json", "moot artifact need User --task task-002"),
        detail=(
            "The order does not matter: if the artifact exists already, the answer shows it. With --wait, exit code 5 "
            "means that it was not available in time."
        ),
    ),
    Verb(
        "artifact needed",
        "List artifacts that are needed and not available yet, and who needs them.",
        needed,
        kind="look",
        params=(Param("limit", "Maximum number of names.", type="int", default=200),),
        examples=("moot artifact needed",),
        writes=False,
    ),
)
