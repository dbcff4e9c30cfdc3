"""Issues and the waves in which they are done: sources, dependencies, layers, names, and `moot specflow plan`.

What always holds:
- A plan is refused as a whole, with everything that is wrong with it. It starts nothing.
- A plan changes no issue of a live wave. Of the planned waves only the next one is stored; later ones are computed.
"""

from __future__ import annotations

import os
import re  # noqa: TID253 (loaded on demand)
from collections import Counter
from itertools import count

from moot.api import text_files
from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core import strict_json
from moot.core.deciders.graph import Link, Unlink
from moot.core.errors import Refused, Unavailable, Unknown, Usage
from moot.core.layers import layers_of
from moot.core.record import Record
from moot.core.schema import defects
from moot.core.task import AddTask, BlockTask, EditTask, ReadyTask
from moot.core.text import bullets, one_line
from moot.packs.specflow import team
from moot.packs.specflow.team import CLOSED, DEFERRED, Issue, Teammate, Wave, issue_number
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.principal import Actor
    from moot.engine.unit_of_work import Work

SIZE_LIMIT = 1 << 24  # bytes of a list of issues
ISSUE_LIMIT = 3000
_GH_FIELDS = {"open": "number,title,body,labels,comments,state", "closed": "number,title,state"}
_GH_PATIENCE = 300.0  # seconds
_NAMED = {"type": ["string", "object"], "description": "a text, or an object as gh writes it"}
_SHAPE = {
    "type": "array",
    "maxItems": ISSUE_LIMIT,
    "description": f"a list of at most {ISSUE_LIMIT} issues, as `gh issue list --json` writes it",
    "items": {
        "type": "object",
        "required": ["number", "title"],
        "properties": {
            "number": {"type": "integer", "minimum": 1, "maximum": 10**9 - 1},
            "title": {"type": "string", "pattern": r"\S", "description": "a title that is not blank"},
            "body": {"type": ["string", "null"]},
            "labels": {"type": "array", "items": {**_NAMED, "properties": {"name": {"type": "string"}}}},
            "comments": {"type": "array", "items": {**_NAMED, "properties": {"body": {"type": "string"}}}},
            "state": {"type": "string"},
        },
    },
}
_LINKS = re.compile(r"\b(depends\s+on|blocks)[\s:*_]*(#[0-9]{1,9}\b(?:(?:[\s,&]|and)+#[0-9]{1,9}\b)*)", re.IGNORECASE)


class Backlog(Record):
    """An issue as its source has it: its title and its body."""

    number: int
    name: str
    text: str = ""
    labels: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    closed: bool = False


# --- issues and their dependencies -----------------------------------------------------------------------------------


def read(data: bytes, source: str) -> list[Backlog]:
    """The issues of a list as `gh issue list --json` writes it."""
    given: Any = None
    try:
        given = strict_json.load(data)
        wrong = [defect.sentence for defect in defects(_SHAPE, given)]
    except strict_json.Torn as problem:
        wrong = [str(problem)]
    if wrong:
        raise Refused(
            "bad_issues",
            "\n".join([f"{source} is not a list of issues:", *bullets(wrong)]),
            "Write it with `gh issue list --json number,title,body,labels,comments,state`. "
            "Number and title are required.",
            source=source,
            defects=wrong,
        )
    return [
        Backlog(
            number=int(one["number"]),
            name=" ".join(one["title"].split()),
            text=one.get("body") or "",
            labels=_texts(one.get("labels", ()), "name"),
            comments=_texts(one.get("comments", ()), "body"),
            closed=one.get("state", "").lower() == "closed",
        )
        for one in given
    ]


def _texts(items: Iterable[str | Mapping[str, str]], key: str) -> tuple[str, ...]:
    return tuple(item if isinstance(item, str) else item.get(key, "") for item in items)


def links(issues: Iterable[Backlog]) -> dict[int, set[int]]:
    """For each issue the numbers that it depends on: what its body names, and the issues whose bodies it `Blocks`."""
    texts = {issue.number: issue.text for issue in issues}
    found: dict[int, set[int]] = {number: set() for number in texts}
    for issue, text in texts.items():
        for verb, named in _LINKS.findall(text):
            for number in map(int, re.findall("[0-9]+", named)):
                first, second = (issue, number) if verb[0] in "dD" else (number, issue)
                found.get(first, set()).add(second)
    return found


def layers(needs: Mapping[int, Collection[int]], behind: Collection[int], listed: Sequence[int]) -> list[list[int]]:
    """The waves: in the first what waits for nothing, in each later one what depends on earlier ones.

    `needs`: each issue to plan with what it depends on. `behind`: what nobody waits for in a later wave.
    """
    if not needs:
        raise Refused("no_issues", "There is no open issue to plan.", "Name a file, use --gh, or add tasks issue-N.")
    twice = sorted(number for number, times in Counter(listed).items() if times > 1)
    wrong = [f"#{number} is listed more than once" for number in twice]
    for number, wanted in sorted(needs.items()):
        gone = [f"#{one}" for one in sorted(wanted) if one not in needs and one not in behind]
        wrong += [f"#{number} depends on {', '.join(gone)}, which is neither in the plan nor closed"] if gone else []
    names = {number: f"{number:09d}" for number in needs}
    edges = {names[number]: [names[one] for one in wanted if one in names] for number, wanted in needs.items()}
    found = layers_of({name: name for name in edges}, edges)
    cycles = [[int(name) for name in cut.cycle] for cut in found.cuts]
    cycles += [[number, number] for number in sorted(needs) if number in needs[number]]
    wrong += [" → ".join(f"#{number}" for number in cycle) + " wait for each other" for cycle in cycles]
    if wrong:
        raise Refused(
            "bad_plan",
            "\n".join(["These issues cannot be planned:", *bullets(wrong)]),
            "Correct the bodies (`Depends on #N`, `Blocks #N`), or add the missing issues, and plan again.",
            twice=twice,
            cycles=cycles,
            defects=wrong,
        )
    return [[int(name) for name in layer] for layer in found.layers]


def pool_names(pool: Sequence[str]) -> Iterator[str]:
    """The names of a pool in order, then again with a number; none that reads like another one, or is fixed."""
    used = {team.slug(name) for name in team.FIXED.values()}
    for turn in count(1):
        for name in (name if turn == 1 else f"{name} {turn}" for name in pool):
            if team.slug(name) not in used:
                used.add(team.slug(name))
                yield name


# --- the plan --------------------------------------------------------------------------------------------------------


def plan(
    work: Work, given: Sequence[Backlog] | None, settings: Mapping[str, Any], pool: str, actor: Actor, ttl: float
) -> dict[str, Any]:
    """Store the issues and the next wave. `given`: None for moot's own issues. `ttl`: of the tasks.

    The plan: its `waves`, each with `number`, `team` and `issues`; of an issue the `number` and `name`, the name of its
    `agent`, and the open issues that it `waits` for. `live`: the wave that runs now. `deleted`: listed issues that are
    left out, because their tasks were deleted.
    """
    if pool not in settings["pools"]:
        pools = ", ".join(settings["pools"])
        raise Unknown("unknown_pool", f"There is no pool {pool[:80]!r}.", f"Use one of {pools}.", pool=pool)
    tasks = queries.tasks(work.store)
    waves = [Wave.of_task(task) for task in tasks if task.lifecycle == team.WAVES]
    live = next((wave for wave in waves if wave.is_live), None)
    if live is not None and live.member(actor.principal) is not None:
        team.only_lead(live, actor.principal)
    planning = _Planning(work, [Issue.of_task(task) for task in tasks if issue_number(task.id)], given, live)
    found = layers(planning.needs, planning.behind, [one.number for one in given or ()])
    planning.store(actor, ttl)
    first, teams = 1 + max((wave.number for wave in waves if wave.state != "planned"), default=0), settings["teams"]
    planned: list[dict[str, Any]] = [
        {
            "number": number,
            "team": teams[(number - 1) % len(teams)],
            "issues": list(map(planning.shown, layer, pool_names(settings["pools"][pool]))),
        }
        for number, layer in enumerate(found, first)
    ]
    if live is None:
        _store_wave(work, planned[0], pool, actor)
    return {"pool": pool, "waves": planned, "live": live.number if live else None, "deleted": planning.deleted}


class _Planning:
    """The issues that are `wanted` in the plan, and what each needs. `behind`: what they need not wait for."""

    def __init__(self, work: Work, issues: Iterable[Issue], given: Sequence[Backlog] | None, live: Wave | None) -> None:
        self.work, self.known = work, {one.number: one for one in issues}
        stored = {n: _stored(one) for n, one in self.known.items() if one.is_open}
        listed = stored if given is None else {one.number: one for one in given}
        busy = {n for n in live.issues if self.known[n].status != DEFERRED} if live is not None else set()
        self.elsewhere = {n for n, one in listed.items() if one.closed}  # not by moot
        self.behind = {n for n, one in self.known.items() if one.status == CLOSED} | self.elsewhere | busy
        self.deleted = [n for n in listed if n in self.known and self.known[n].task.phase == "stopped"]
        again = [n for n, one in self.known.items() if one.status == DEFERRED]
        for number in again:  # the list grows: with what depends on them
            dependents = map(issue_number, queries.dependents(work.store, f"issue-{number}"))
            again += [n for n in dependents if n in stored and n not in again]
        every = {**{n: stored[n] for n in again}, **listed}
        self.wanted = {n: one for n, one in every.items() if n not in self.behind and n not in self.deleted}
        graph = work.graph([f"issue-{n}" for n in self.wanted]).needs
        said, before = links(self.wanted.values()), links(stored[n] for n in self.wanted if n in stored)
        linked = {n: {*map(issue_number, graph.get(f"issue-{n}", ()))} - {0} for n in self.wanted}
        self.dropped = {n: linked[n] & (before.get(n, set()) - said[n] | self.elsewhere) for n in self.wanted}
        self.needs = {n: said[n] | linked[n] - self.dropped[n] for n in self.wanted}

    def shown(self, number: int, agent: str) -> dict[str, Any]:
        waits = sorted(n for n in self.needs[number] if n in self.wanted)
        return {"number": number, "name": self.wanted[number].name, "agent": agent, "waits": waits}

    def store(self, actor: Actor, ttl: float) -> None:
        """Add the tasks of the issues, or bring them up to date. First of all, old dependencies go."""
        for number, gone in self.dropped.items():
            task, needs = f"issue-{number}", [f"issue-{n}" for n in sorted(gone)]
            self.work.do("graph", "", Unlink(task=task, needs=tuple(needs)))
            for need in needs:
                self.work.do("task", task, ReadyTask(done=need))
        for number in sorted(self.wanted):
            there = {n for n in self.needs[number] if n in self.known or n in self.wanted} - self.elsewhere
            self._store(self.wanted[number], tuple(f"issue-{n}" for n in sorted(there)), actor, ttl)

    def _store(self, one: Backlog, needs: tuple[str, ...], actor: Actor, ttl: float) -> None:
        work, task, title = self.work, f"issue-{one.number}", f"Implement #{one.number}: {one.name}"
        waits = tuple(need for need in needs if work.task(need).phase != "done")
        if one.number not in self.known:
            body = "Full lifecycle: contract -> build -> test -> close"
            added = AddTask(title=title, creator=actor.principal, body=body, ttl=ttl, lifecycle=team.TASKS)
            extra = {"activeForm": f"Implementing issue #{one.number}"}
            work.do("task", task, added.replace(needs=needs, waits=waits, extra=extra), pack=team.PACK)
        elif title != work.task(task).title:
            work.do("task", task, EditTask(actor=actor, title=title))
        team.describe(work, task, **{name: value for name, value in one.full().items() if name != "closed"})
        work.do("task", task, BlockTask(on=waits))
        work.do("graph", "", Link(task=task, needs=needs))


def _stored(issue: Issue) -> Backlog:
    """An issue as moot has it. A task that was added by hand has only its subject and description."""
    name = issue.name or issue.task.title.partition(": ")[2] or issue.task.title
    return Backlog(issue.number, name, issue.text or issue.task.body, issue.labels, issue.comments)


def _store_wave(work: Work, planned: Mapping[str, Any], pool: str, actor: Actor) -> None:
    name, number = f"wave-{planned['number']}", planned["number"]
    agents = [(one["agent"], one["number"]) for one in planned["issues"]]
    members = [Teammate(agent, team.agent_id(number, agent), team.ISSUE, issue).full() for agent, issue in agents]
    if not work.task(name).exists:
        added = AddTask(title=f"Wave {number}", creator=actor.principal, lifecycle=team.WAVES)
        work.do("task", name, added, pack=team.PACK)
    issues = [issue for _, issue in agents]
    team.describe(work, name, number=number, team=planned["team"], pool=pool, issues=issues, members=members)


# --- the verb --------------------------------------------------------------------------------------------------------


def specflow_plan(call: Call, source: str | None, pool: str, *, gh: bool, dry_run: bool) -> Answer:
    if gh and source is not None:
        raise Usage("bad_arguments", "--gh and a file cannot be combined.", "Use one of them.")
    given: list[Backlog] | None = None
    if gh:
        given = [one for state in _GH_FIELDS for one in read(_listed(call, state), f"The output of gh ({state})")]
    elif source is not None:
        given = read(text_files.read(source, call.cwd, SIZE_LIMIT).encode(), source)
    made: dict[str, Any] = {}
    settings = call.packs.protocol(team.PACK).settings

    def act(work: Work) -> None:
        made.update(plan(work, given, settings, pool, call.actor(work), call.settings.task_ttl))

    (call.try_out if dry_run else call.commit)(act)
    return Answer(result={**made, "dry_run": dry_run}, say=tuple(_lines(made)))


def _lines(made: Mapping[str, Any]) -> Iterator[str]:
    if made["live"] is not None:
        yield f"Wave {made['live']} runs; its issues stay as they are."
    for wave in made["waves"]:
        yield f"wave {wave['number']}: {wave['team']}"
        for one in wave["issues"]:
            after = f" (after {', '.join(f'#{number}' for number in one['waits'])})" if one["waits"] else ""
            yield f"  {one['agent']}: #{one['number']} {one_line(one['name'], 100)}{after}"
    yield from (f"#{number} is left out: its task was deleted" for number in made["deleted"])


def _listed(call: Call, state: str) -> bytes:
    """The issues that the command gh lists."""
    import shutil

    from moot.place import processes
    from moot.place.environment import search_path

    path = os.pathsep.join(search_path(call.env, call.place.root))
    program = shutil.which("gh", path=path)
    if program is None:
        raise Usage("gh_missing", "The command gh is not installed.", "Install it, or name a file with the issues.")
    argv = (program, "issue", "list", "--state", state, "--limit", str(ISSUE_LIMIT), "--json", _GH_FIELDS[state])
    env = {name: value for name, value in call.env.items() if not name.startswith("MOOT_")} | {"PATH": path}
    try:
        ran = processes.run(argv, cwd=call.place.root, env=env, keep=SIZE_LIMIT, apart=True, timeout=_GH_PATIENCE)
    except processes.NotStarted as problem:
        raise problem.usage("gh") from None
    if ran.code or not ran.output.whole:
        why = ran.errors.tail.decode("utf-8", "replace") or "it took too long, or wrote too much"
        raise Unavailable(
            "gh_failed",
            f"`gh issue list` failed ({ran.code}): {one_line(why, 500)}",
            "Correct that (`gh auth status`), or name a file with the issues.",
            code=ran.code,
        )
    return ran.output.tail


PLAN = Verb(
    "specflow plan",
    "Plan waves from issues and their dependencies. It starts nothing.",
    specflow_plan,
    kind="own",
    params=(
        Param("source", "A JSON list of issues, or - for standard input.", positional=True, limit=4096),
        Param("gh", "List the issues with the command gh.", type="flag"),
        Param("pool", "Where the names of the issue agents come from.", default="writers"),
        Param("dry_run", "Only show the plan.", type="flag"),
        KEY,
    ),
    examples=("moot specflow plan issues.json", "moot specflow plan --gh --dry-run", "moot specflow plan"),
    detail=(
        "`Depends on #N` and `Blocks #N` in the body of an issue are its dependencies: a wave has the issues whose "
        "dependencies are closed or in earlier waves. Without a source, the open tasks issue-N are planned; deferred "
        "issues always are. Each issue becomes the task issue-N, and the next wave the task wave-N. Planning again "
        "replaces the planned wave. While a wave runs, its issues stay as they are. "
        "`gh issue list --json number,title,body,labels,comments,state` writes such a file."
    ),
)
