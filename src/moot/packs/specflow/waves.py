"""Issues and the waves in which they are done: sources, dependencies, layers, names, decisions, closing, the report.

What always holds:
- A plan is refused as a whole, with everything that is wrong with it. It starts nothing.
- A plan changes no issue of a live wave. Of the planned waves only the next one is stored; later ones are computed.
- An issue is closed only with a certificate, a completed task, and both gates of its wave passed on this commit.
- A wave whose issues were all deferred is aborted, not complete.
"""

from __future__ import annotations

import re  # noqa: TID253 (loaded on demand)
from collections import Counter
from itertools import count

from moot.core import strict_json
from moot.core.deciders.agent import DRIVEN, Join, Leave
from moot.core.deciders.graph import Link, Unlink
from moot.core.errors import Refused, Unknown
from moot.core.layers import layers_of
from moot.core.principal import Actor
from moot.core.reactions import notice
from moot.core.record import Record
from moot.core.schema import defects
from moot.core.task import AddTask, AssignTask, BlockTask, EditTask, MoveTask, NoteTask, ReadyTask, UnflagTask
from moot.core.text import bullets, command_line
from moot.packs.specflow import team
from moot.packs.specflow.migrations import needed
from moot.packs.specflow.team import BLOCKED, CLOSED, DEFERRED, READY, Issue, Teammate, Wave
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.engine.unit_of_work import Work

SIZE_LIMIT = 1 << 24  # bytes of a list of issues
ISSUE_LIMIT = 3000
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
    planning = _Planning(work, [Issue.of_task(task) for task in tasks if _number(task.id)], given, live)
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
            dependents = map(_number, queries.dependents(work.store, f"issue-{number}"))
            again += [n for n in dependents if n in stored and n not in again]
        every = {**{n: stored[n] for n in again}, **listed}
        self.wanted = {n: one for n, one in every.items() if n not in self.behind and n not in self.deleted}
        self.graph = work.graph([f"issue-{n}" for n in self.wanted]).needs
        said, before = links(self.wanted.values()), links(stored[n] for n in self.wanted if n in stored)
        linked = {n: {*map(_number, self.graph.get(f"issue-{n}", ()))} - {0} for n in self.wanted}
        self.dropped = {n: linked[n] & (before.get(n, set()) - said[n] | self.elsewhere) for n in self.wanted}
        self.needs = {n: said[n] | linked[n] - self.dropped[n] for n in self.wanted}

    def shown(self, number: int, agent: str) -> dict[str, Any]:
        waits = sorted(n for n in self.needs[number] if n in self.wanted)
        return {"number": number, "name": self.wanted[number].name, "agent": agent, "waits": waits}

    def store(self, actor: Actor, ttl: float) -> None:
        """Add the tasks of the issues, or bring them up to date. First of all, old dependencies go."""
        for task, gone in ((f"issue-{n}", sorted(dropped)) for n, dropped in self.dropped.items()):
            self.work.do("graph", "", Unlink(task=task, needs=tuple(f"issue-{n}" for n in gone)))
            for need in gone:
                self.work.do("task", task, ReadyTask(done=f"issue-{need}"))
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


def _number(task: str) -> int:
    """The number of an issue's task; 0 for another task."""
    digits = task.removeprefix("issue-")
    return int(digits) if digits.isdecimal() and digits != task else 0


def _store_wave(work: Work, planned: Mapping[str, Any], pool: str, actor: Actor) -> None:
    name, number = f"wave-{planned['number']}", planned["number"]
    agents = [(one["agent"], one["number"]) for one in planned["issues"]]
    members = [Teammate(agent, team.agent_id(number, agent), team.ISSUE, issue).full() for agent, issue in agents]
    if not work.task(name).exists:
        added = AddTask(title=f"Wave {number}", creator=actor.principal, lifecycle=team.WAVES)
        work.do("task", name, added, pack=team.PACK)
    issues = [issue for _, issue in agents]
    team.describe(work, name, number=number, team=planned["team"], pool=pool, issues=issues, members=members)


# --- decisions of the lead -------------------------------------------------------------------------------------------


def decide(work: Work, number: int, how: str, reason: str, actor: Actor, settings: Mapping[str, Any]) -> Wave:
    """What becomes of an issue of the live wave: its agent resumes, another one gets it, or it is deferred."""
    wave = team.running(work)
    team.only_lead(wave, actor.principal)
    one = team.issue(work, number)
    decidable = one.status == BLOCKED or (how == "defer" and one.status not in (DEFERRED, CLOSED))
    if number not in wave.issues or not decidable:
        state = one.status or one.task.state
        raise Refused(
            "not_blocked",
            f"#{number} is {state}; `{how}` is for a blocked issue of wave {wave.number}.",
            f"`{command_line('specflow status')}` shows the issues and what they wait for.",
            issue=number,
            state=state,
        )
    work.do("task", one.id, NoteTask(actor=actor, text=f"{how}: {reason}"))
    made = {"how": how, "reason": reason, "by": actor.principal, "at": work.at}
    team.describe(work, one.id, decisions=[*one.task.extra.get("decisions", ()), made])
    if how == "defer":
        _defer(work, wave, number, reason, actor)
    else:
        team.describe(work, one.id, status="", why="", failed=0)
        work.do("task", one.id, UnflagTask(reason=f"{how}: {reason}"))
    if how == "reassign":
        _reassign(work, wave, one, reason, actor, settings)
    return Wave.of_task(work.task(wave.id))


def _defer(work: Work, wave: Wave, number: int, reason: str, actor: Actor) -> None:
    """Defer the issue and all of the wave that depend on it. Their agents are asked to stop."""
    leaving = [number]
    for first in leaving:  # the list grows
        dependents = map(_number, work.dependents(f"issue-{first}"))
        leaving += [one for one in dependents if one in wave.issues and one not in leaving]
    issues = [team.issue(work, one) for one in leaving]
    give_back(work, issues, actor)
    for issue in issues:
        why = reason if issue.number == number else f"depends on #{number}: {reason}"
        team.describe(work, issue.id, status=DEFERRED, why=why, wave=None)
    agents = [member.agent for one in leaving if (member := wave.of_issue(one)) is not None]
    team.describe(work, wave.id, stopping=list(dict.fromkeys((*wave.stopping, *agents))))


def give_back(work: Work, issues: Iterable[Issue], actor: Actor) -> None:
    """Move the tasks of these issues back to `pending`, as the lead. Their holders are told.

    An issue comes before those that it depends on: it could not be opened again while they are open.
    """
    for one in sorted(issues, key=lambda one: len(needed(work, one.id)), reverse=True):
        for verb in {"done": ("reopen", "release"), "working": ("release",)}.get(one.task.phase, ()):
            work.do("task", one.id, MoveTask(verb=verb, actor=_as_lead(actor)), pack=team.PACK)
        work.do("task", one.id, AssignTask(actor=actor, to=None), pack=team.PACK)


def _as_lead(actor: Actor) -> Actor:
    return actor.replace(roles=(*actor.roles, team.LEAD))


def _reassign(work: Work, wave: Wave, issue: Issue, reason: str, actor: Actor, settings: Mapping[str, Any]) -> None:
    """The next name of the pool gets the issue and its task. The agent before is retired."""
    (old,) = (one for one in wave.members if one.issue == issue.number)
    pool = pool_names(settings["pools"].get(wave.pool) or next(iter(settings["pools"].values())))
    agents = ((name, team.agent_id(wave.number, name)) for name in pool)
    name, agent = next((name, agent) for name, agent in agents if not work.agent(agent).exists)
    give_back(work, (issue,), actor)
    work.do("agent", agent, Join(roles=(team.ISSUE,), client=DRIVEN))
    work.do("agent", old.agent, Leave(retire=True, reason=f"#{issue.number} was reassigned: {reason}"))
    members = [one.replace(name=name, agent=agent) if one == old else one for one in wave.members]
    former = [*work.task(wave.id).extra.get("former", ()), {**old.full(), "why": reason}]
    team.describe(work, wave.id, members=[one.full() for one in members], former=former)
    work.do("task", issue.id, AssignTask(actor=actor, to=agent, roles=(team.ISSUE,)), pack=team.PACK)
    if not issue.task.waits:
        claim = MoveTask(verb="claim", actor=Actor(principal=work.agent(agent).principal, roles=(team.ISSUE,)))
        work.do("task", issue.id, claim, pack=team.PACK)


def tell_if_all_ready(work: Work, wave: Wave) -> None:
    """Tell the lead that the wave gate can run, once no issue of the wave is open."""
    left = {team.issue(work, number).status for number in wave.issues}
    if READY in left and left <= {READY, DEFERRED}:
        text = f"All issues are ready or deferred: `{command_line('specflow gate', 'tier2')}` runs the wave gate."
        for _, thread, message, *_ in notice(work, "note", (wave.lead,), "moot", text, thread=wave.id, task=wave.id):
            work.do("message", work.new_message(), message, thread=thread, pack=team.PACK)


# --- the end of a wave -----------------------------------------------------------------------------------------------


def close(work: Work, wave: Wave, commit: str, actor: Actor) -> Wave:
    """Close the ready issues and complete the wave; abort it if all are deferred. `commit`: where the tree is now."""
    team.only_lead(wave, actor.principal)
    issues = [one for number in wave.issues if (one := team.issue(work, number)).status != DEFERRED]
    left = [f"#{one.number} is {one.status or one.task.state}" for one in issues if one.status != READY]
    left += [f"{one.id} is {one.task.state}" for one in issues if one.task.phase != "done"]
    gates = {"Tier 2": wave.tier2 or {}, "Tier 3": wave.tier3 or {}} if issues else {}
    left += [f"{tier} has not passed on this commit" for tier, run in gates.items() if run.get("commit") != commit]
    if left:
        raise Refused(
            "wave_open",
            "\n".join([f"Wave {wave.number} cannot be closed:", *bullets(left)]),
            f"`{command_line('specflow status')}` shows what is missing.",
            wave=wave.number,
            open=left,
        )
    for one in issues:
        member, proof = wave.of_issue(one.number), [one.certificate, *(run["run"] for run in gates.values())]
        closed = {"commit": commit, "certificates": proof, "agent": member.agent if member else "", "at": work.at}
        team.describe(work, one.id, status=CLOSED, closed=closed)
    every = [team.issue(work, number) for number in wave.issues]
    outcomes = {str(one.number): {"name": one.name, "outcome": one.status, "why": one.why} for one in every}
    reason = "" if issues else "all issues are deferred"
    team.describe(work, wave.id, outcome=reason or "complete", outcomes=outcomes)
    end = MoveTask(verb="cancel" if reason else "complete", actor=_as_lead(actor), reason=reason or None)
    work.do("task", wave.id, end, pack=team.PACK)
    return Wave.of_task(work.task(wave.id))
