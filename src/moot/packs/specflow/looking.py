"""What people and programs see of a wave: its status, its report, what waits for its lead, and what `init` found.

Everything is read from the log, from presence and from the locks of commands; nothing is changed.
"""

from __future__ import annotations

import os

from moot.api.protocol.pack_views import Concern, PackView
from moot.core.deciders.message import SendMessage
from moot.core.errors import Unknown
from moot.core.paths import as_typed
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import REASON, command_line, counted, one_line
from moot.engine.clock import iso
from moot.packs.specflow import team
from moot.packs.specflow.team import BLOCKED, DB, DEFERRED, FIXED, GATE, LEAD, PACK, READY, Wave
from moot.place import locks
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.run import Run
    from moot.core.deciders.series import Series
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

_LONG = 200
_MOST = 1000


class MemberStatus(Record):
    """state: active, idle, stopping, stopped, crashed. `process`: of its command. `active`: its last sign of life."""

    name: str
    role: str
    agent: str
    issue: int | None
    state: str
    process: int | None
    task: str | None
    unread: int
    active: str | None


class WaveReport(Record):
    """`issues`: each with its number, name, agent and outcome. All numbers are of this wave."""

    issues: tuple[Mapping[str, Any], ...]
    migrations: int
    gate_runs: int
    tests: int
    failures: int
    closed: int
    regressions: int


class TeamStatus(Record):
    """`gates`: the queue, in order. `files`: what members hold, and who waits. `report`: of a wave that has ended."""

    wave: int
    team: str
    state: str
    mode: str
    decided: str
    issues: tuple[Mapping[str, Any], ...]
    members: tuple[MemberStatus, ...] = ()
    gates: tuple[Mapping[str, Any], ...] = ()
    files: tuple[Mapping[str, Any], ...] = ()
    report: WaveReport | None = None


# --- the status ------------------------------------------------------------------------------------------------------


def shown(store: Store, number: int | None) -> Wave:
    """The wave with this number; without one the live wave, else the newest."""
    ids = [name for name in queries.task_ids(store) if name.startswith("wave-") and name[5:].isdecimal()]
    newest = max((int(name[5:]) for name in ids), default=0) if number is None else number
    found = (team.live(store) if number is None else None) or team.wave(store, newest)
    if found is None:
        what = "No wave is planned" if number is None else f"There is no wave {number}"
        raise Unknown("no_plan", f"{what}.", f"Plan one: `{command_line('specflow plan')} issues.json`.")
    return found


def status(call: Call, wave: Wave) -> TeamStatus:
    store, runs = call.engine.read(), runs_of(call.engine.read(), wave)
    ended = wave.state in ("complete", "aborted")
    return TeamStatus(
        wave=wave.number,
        team=wave.team,
        state=wave.state,
        mode=wave.mode,
        decided=wave.decided,
        issues=tuple(_issues(store, wave)),
        members=tuple(_members(call, wave, runs)) if wave.lead else (),
        gates=tuple(_queue(runs)) if wave.is_live else (),
        files=tuple(_files(store, wave)) if wave.is_live else (),
        report=report(store, wave, runs) if ended else None,
    )


def runs_of(store: Store, wave: Wave) -> list[Run]:
    """The runs of its members and gates, oldest first."""
    tasks = (wave.id, *(f"issue-{number}" for number in wave.issues))
    named = [name for task in tasks for kind, name in queries.things_of_task(store, task) if kind == "run"]
    runs: list[Run] = [states.state(store, "run", name)[0] for name in named]
    return sorted((run for run in runs if run.parameters.get("wave") == wave.number), key=lambda run: run.at)


def _issues(store: Store, wave: Wave) -> Iterator[dict[str, Any]]:
    """The issues as they are, or as the wave left them."""
    then = states.task(store, wave.id)[0].extra.get("outcomes", {})
    for one in team.issues_of(store, wave.issues):
        now = {"name": one.name, "outcome": one.status or one.task.state, "why": one.why}
        member = wave.of_issue(one.number)
        yield {"number": one.number, "agent": member.name if member else "", **then.get(str(one.number), now)}


def _members(call: Call, wave: Wave, runs: Sequence[Run]) -> Iterator[MemberStatus]:
    store, now = call.engine.read(), call.clock.wall_seconds()
    lead = FIXED[LEAD] if team.slug(FIXED[LEAD]) in wave.lead else name_of(wave.lead)
    for one in (team.Member(lead, name_of(wave.lead), LEAD), *wave.members):
        agent, _ = states.agent(store, one.agent)
        own = [run for run in runs if run.parameters.get("member") == one.agent]
        unread = queries.unread(store, one.agent, None, call.packs.shared_roles, now)
        silent = call.silence(agent.principal) if agent.here else float("inf")
        yield MemberStatus(
            name=one.name,
            role=one.role,
            agent=agent.principal if agent.exists else one.agent,
            issue=one.issue,
            state=_state(wave, one, own[-1] if own else None, here=agent.here or not agent.exists),
            process=locks.left_of(call.place.state, one.agent) or None,
            task=next(iter(queries.tasks_held_by(store, agent.principal)), None),
            unread=unread[0] if unread is not None else 0,
            active=iso(now - silent) if silent < now else None,
        )


def _state(wave: Wave, one: team.Member, run: Run | None, *, here: bool) -> str:
    if not here or not wave.is_live:
        return "stopped"
    if one.role in (LEAD, DB, GATE):
        return "active"
    if run is None or not run.tries:
        return "idle"
    stopping = one.agent in wave.stopping
    if run.running is not None:
        return "stopping" if stopping else "active"
    return "stopped" if run.outcome or stopping else "idle" if run.tries[-1].status == "passed" else "crashed"


def _queue(runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """The gates that run or wait: the one that runs first, the others in the order of their requests."""
    waiting = [run for run in runs if run.open and "tier" in run.parameters]
    for place, run in enumerate(sorted(waiting, key=lambda run: run.running is None)):
        yield {
            "place": place,
            "run": run.id,
            "tier": run.parameters["tier"],
            "about": run.task,
            "by": name_of(run.parameters.get("by", "")),
            "running": run.running is not None,
        }


def _files(store: Store, wave: Wave) -> Iterator[dict[str, Any]]:
    from moot.core.claim_queue import blockers

    state, _ = states.claims(store)
    waiting = [(one, {claim.id for claim in blockers(state, one)}) for one in state.waiting.values()]
    for claim in state.live.values():
        if wave.role_of(claim.holder):
            waiters = [name_of(one.holder) for one, behind in waiting if claim.id in behind]
            yield {"paths": as_typed(claim.paths), "holder": name_of(claim.holder), "waiters": waiters}


def report(store: Store, wave: Wave, runs: Sequence[Run]) -> WaveReport:
    issues = tuple(_issues(store, wave))
    gates = [run for run in runs if "tier" in run.parameters]
    series: Series = states.state(store, "series", f"{PACK}.migrations")[0]
    until = states.task(store, wave.id)[0].since
    given = [one for one in series.given.values() if one.data["issue"] in wave.issues and wave.since <= one.at <= until]
    return WaveReport(
        issues=issues,
        migrations=len(given),
        gate_runs=len(gates),
        tests=sum(run.counts.get("tests", 0) for run in gates),
        failures=sum(run.counts.get("failed", 0) for run in gates),
        closed=sum(one["outcome"] == team.CLOSED for one in issues),
        regressions=sum(run.counts.get("regression", 0) for run in gates),
    )


def status_lines(found: TeamStatus) -> Iterator[str]:
    mode = f", mode {found.mode} ({found.decided})" if found.mode else ""
    yield f"Wave {found.wave}, {found.team}: {found.state}{mode}"
    if found.report is not None:
        yield from report_lines(found.report)
        return
    for one in found.members:
        about = f" #{one.issue}" if one.issue is not None else ""
        facts = [one.role + about, one.agent, f"process {one.process}" if one.process else "", one.task or ""]
        facts += [
            counted(one.unread, "new message") if one.unread else "",
            f"last seen {one.active}" if one.active else "",
        ]
        yield f"  {one_line(one.name, 40)}: {one.state} ({', '.join(filter(None, facts))})"
    for issue in found.issues:
        why = f": {one_line(issue['why'], _LONG)}" if issue["why"] else ""
        yield f"  #{issue['number']} {one_line(issue['name'], 80)} ({issue['agent']}) is {issue['outcome']}{why}"
    for gate in found.gates:
        place = "runs now" if gate["running"] else f"is number {gate['place'] + 1} in line"
        yield f"  {gate['tier']} of {gate['about']} for {gate['by']} {place} ({gate['run']})"
    for file in found.files:
        waits = f"; {', '.join(file['waiters'])} in line" if file["waiters"] else ""
        yield f"  {one_line(', '.join(file['paths']), _LONG)}: held by {file['holder']}{waits}"


def report_lines(found: WaveReport) -> Iterator[str]:
    for one in found.issues:
        why = f": {one_line(one['why'], _LONG)}" if one["why"] else ""
        yield f"  {one_line(one['agent'], 40)}: #{one['number']} {one_line(one['name'], 80)}, {one['outcome']}{why}"
    tests = (
        f"{counted(found.gate_runs, 'gate run')}, {counted(found.tests, 'test')}, {counted(found.failures, 'failure')}"
    )
    yield f"  {FIXED[DB]}: {counted(found.migrations, 'migration')}"
    yield f"  {FIXED[GATE]}: {tests}"
    yield f"{counted(found.closed, 'issue')} closed, {counted(found.regressions, 'regression')}"


# --- for people ------------------------------------------------------------------------------------------------------


def watch(call: Call) -> PackView | None:
    """The section of `moot watch`: the live wave."""
    wave = team.live(call.engine.read())
    if wave is None:
        return None
    found = status(call, wave)
    title, *lines = status_lines(found)
    return PackView(PACK, title, found, tuple(((line, ""),) for line in lines))


def concerns(call: Call) -> Iterator[Concern]:
    """What waits for the lead of the live wave, each with the command that settles it."""
    store = call.engine.read()
    wave = team.live(store)
    if wave is None:
        return
    issues = team.issues_of(store, wave.issues)
    for one in issues:
        if one.status == BLOCKED:
            said = f"#{one.number} {one_line(one.name, 80)} is blocked: {one_line(one.why, _LONG)}"
            command = command_line("specflow decide", str(one.number), "resume", options=REASON)
            yield Concern("blocked", one.id, said, command, one.task.changed_at, name_of(one.task.holder or ""))
    lead = name_of(wave.lead)
    for delivery in queries.inbox(store, (lead,), _MOST):
        message = delivery.message
        if message.kind == "CONFLICT" and (message.data or {}).get("refused"):
            said = f"Refused: {one_line(message.text, _LONG)}"
            yield Concern("conflict", message.id, said, command_line("ack", message.id), message.at, wave.team)
    for delivery in queries.overdue(store, call.clock.wall_seconds(), _MOST, _MOST):
        message = delivery.message
        if wave.role_of(message.sender):
            said = f"{name_of(message.sender)} waits for an answer of {delivery.box}: {one_line(message.text, _LONG)}"
            yield Concern("overdue", message.id, said, command_line("thread", message.thread), message.at, delivery.box)
    yield from _gates(call, wave, [one.status for one in issues])


def overdue(call: Call) -> Callable[[Work], None] | None:
    """Tell sender and lead, once, of a request whose answer is overdue."""
    store = call.engine.store
    wave = team.live(store)
    if wave is None:
        return None
    found = [one.message for one in queries.overdue(store, call.clock.wall_seconds(), _MOST, _MOST)]
    late = [one for one in found if wave.role_of(one.sender) and not _told(store, one.thread)]

    def decide(work: Work) -> None:
        for one in late:
            said = f"overdue: {', '.join(one.to)} has not answered {one.id} ({one_line(one.text, _LONG)})."
            command = SendMessage("note", "moot", (name_of(one.sender), name_of(wave.lead)), "nothing", 0, 0, said)
            work.do("message", work.new_message(), command, thread=one.thread, pack=PACK)

    return decide if late else None


def _told(store: Store, thread: str) -> bool:
    return any(one.sender == "moot" for one in queries.thread(store, thread))


def _gates(call: Call, wave: Wave, left: Sequence[str]) -> Iterator[Concern]:
    """The wave gate or the regression gate, if it can run; what keeps the wave gate closed."""
    runs = runs_of(call.engine.read(), wave)
    if READY not in left or not {READY, DEFERRED}.issuperset(left) or any(True for _ in _queue(runs)):
        return
    if wave.tier2 is not None:
        command = command_line("specflow gate", "tier3")
        yield Concern("gate", wave.id, f"Wave {wave.number} can run the regression gate", command, "", wave.team)
        return
    from moot.packs.specflow.gates import facts

    command = command_line("specflow gate", "tier2")
    looked = facts(call, call.packs.protocol(PACK).settings, "RUN_JOURNEY_TIER2", {})
    found = [one for one in looked["findings"] if one not in wave.accepted]
    for one in found:
        yield Concern("finding", one, one_line(one, _LONG), f"{command} --accept", "", wave.team)
    if not found:
        yield Concern("gate", wave.id, f"Wave {wave.number} can run the wave gate", command, "", wave.team)


# --- adoption --------------------------------------------------------------------------------------------------------

_RUN_TABLE = """\
To let moot start agents and gates, add this to moot.toml, with your own commands, and run `moot allow`:
[run.specflow]
agent = ["claude", "-p", "--permission-mode", "acceptEdits", "--session-id", "{session}"]
resume = ["claude", "-p", "--permission-mode", "acceptEdits", "--resume", "{session}"]
contracts = ["pnpm", "test", "--", "contracts"]
journeys = ["npx", "playwright", "test"]
regression = ["npx", "playwright", "test"]"""


def adopted(call: Call, settings: Mapping[str, Any]) -> Iterator[str]:
    """What there is of Specflow in the project. None of it is changed."""
    root = call.place.root
    hooks = os.path.join(call.place.common or os.path.join(root, ".git"), "hooks")
    agents = [settings["agents_dir"]] if settings["agents_dir"] else ["agents", "scripts/agents"]
    places = [(one, os.path.join(root, one)) for one in (*agents, "docs/contracts", settings["migrations"])]
    places += [(one, os.path.join(root, one)) for one in (".specflow/baseline.json", ".claude/settings.json")]
    places += [(f"the git hook {one}", os.path.join(hooks, one)) for one in ("commit-msg", "pre-push")]
    there = [name for name, path in places if os.path.exists(path)]
    yield f"Found, and left as it is: {', '.join(there)}" if there else "No files of Specflow were found."
    if settings["migrations"] not in there:
        yield f"There is no {settings['migrations']} yet: the first migration gets the number 1."
    if not call.settings.runs.get(PACK):
        yield from _RUN_TABLE.splitlines()
