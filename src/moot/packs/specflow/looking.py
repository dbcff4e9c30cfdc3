"""What people and programs see of a wave: its status, its report, what waits for its lead, and what `init` found.

Everything is read from the log, from presence and from the locks of commands.
"""

from __future__ import annotations

import os

from moot.api.answer import Answer, Table
from moot.api.catalogue import Param, Verb
from moot.api.protocol.pack_views import Concern, PackView
from moot.core.errors import Unknown
from moot.core.paths import as_typed
from moot.core.principal import name_of
from moot.core.templates import form_of
from moot.core.text import REASON, command_line, counted, one_line
from moot.engine.clock import iso
from moot.packs.specflow import team
from moot.packs.specflow.team import BLOCKED, CLOSED, DB, DEFERRED, FIXED, GATE, ISSUE, LEAD, PACK, READY, Wave
from moot.place import locks
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.run import Run
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

_LONG = 200
_MOST = 1000
# The catalogue has no results of the wave's gates; moot adds them, and CONFLICT to the lead.
_ADDED = ("JOURNEY_TIER2_RESULTS", "REGRESSION_RESULTS")
_REPLIES = {
    "REQUEST_MIGRATION": ("MIGRATION_ASSIGNED", "CONFLICT"),
    "QUERY_TABLE": ("TABLE_EXISTS", "TABLE_PENDING", "TABLE_NOT_FOUND"),
    "RUN_CONTRACTS": ("CONTRACT_RESULTS",),
    "RUN_JOURNEY_TIER2": ("JOURNEY_TIER2_RESULTS",),
    "RUN_REGRESSION": ("REGRESSION_RESULTS",),
}


# --- the status ------------------------------------------------------------------------------------------------------


def status(call: Call, number: int | None = None) -> dict[str, Any]:
    """A wave with its issues, members, queue of gates, claimed files, and its report once it has ended.

    Without a number it is the live wave, else the newest.
    """
    store = call.engine.read()
    newest = max((int(name[5:]) for name in queries.task_ids(store) if _is_wave(name)), default=0)
    live = team.live(store) if number is None else None
    wave = live or team.wave(store, newest if number is None else number)
    if wave is None:
        what = "No wave is planned" if number is None else f"There is no wave {number}"
        raise Unknown("no_plan", f"{what}.", f"Plan one: `{command_line('specflow plan')} issues.json`.")
    runs = runs_of(store, wave)
    issues = list(_issues(store, wave))
    return {
        "wave": wave.number,
        **{name: getattr(wave, name) for name in ("team", "state", "mode", "decided")},
        "issues": issues,
        "members": list(_members(call, wave, runs)) if wave.lead else [],
        "gates": list(_queue(runs)) if wave.is_live else [],
        "files": list(_files(store, wave)) if wave.is_live else [],
        "report": _report(store, wave, runs, issues) if wave.state in ("complete", "aborted") else None,
    }


def _is_wave(name: str) -> bool:
    return name.startswith("wave-") and name[5:].isdecimal()


def runs_of(store: Store, wave: Wave) -> list[Run]:
    """The runs of its members and gates, oldest first."""
    tasks = (wave.id, *(f"issue-{number}" for number in wave.issues))
    named = [name for task in tasks for kind, name in queries.things_of_task(store, task) if kind == "run"]
    runs: list[Run] = [states.state(store, "run", name)[0] for name in named]
    return sorted((run for run in runs if run.parameters.get("wave") == wave.number), key=lambda run: run.at)


def _issues(store: Store, wave: Wave) -> Iterator[dict[str, Any]]:
    """The issues as they are, or as the wave left them; and those that an agent had before another one got them."""
    extra = states.task(store, wave.id)[0].extra
    former = [
        (old["issue"], old["name"], {"outcome": "reassigned", "why": old["why"]}) for old in extra.get("former", ())
    ]
    left = extra.get("outcomes", {})
    now = [(one.issue, one.name, left.get(str(one.issue), {})) for one in wave.agents]
    for number, agent, more in (*now, *former):
        (one,) = team.issues_of(store, (number,))
        outcome = {"name": one.name, "outcome": one.status or one.task.state, "why": one.why}
        yield {"number": number, "agent": agent, **outcome, **more}


def _members(call: Call, wave: Wave, runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """The lead and the members. `process`: of its command. `active`: when it last gave a sign of life."""
    store, now = call.engine.read(), call.clock.wall_seconds()
    lead = FIXED[LEAD] if team.slug(FIXED[LEAD]) in wave.lead else name_of(wave.lead)
    for one in (team.Teammate(lead, name_of(wave.lead), LEAD), *wave.members):
        agent, _ = states.agent(store, one.agent)
        own = [run for run in runs if run.parameters.get("member") == one.agent]
        unread = queries.unread(store, one.agent, None, call.packs.shared_roles, now)
        silent = call.silence(agent.principal) if agent.here else float("inf")
        here = agent.here or not agent.exists
        yield {
            "name": one.name,
            "role": one.role,
            "agent": agent.principal if agent.exists else one.agent,
            "issue": one.issue,
            "state": _state(wave, one, own[-1] if own else None) if here and wave.is_live else "stopped",
            "process": locks.left_of(call.place.state, one.agent) or None,
            "task": next(iter(queries.tasks_held_by(store, agent.principal)), None),
            "unread": unread[0] if unread is not None else 0,
            "active": iso(now - silent) if agent.here else None,
        }


def _state(wave: Wave, one: team.Teammate, run: Run | None) -> str:
    """Of a member that is here: active, idle, stopping, stopped or crashed."""
    stopping = one.agent in wave.stopping
    if one.role != ISSUE or (run is not None and run.running is not None):
        return "stopping" if stopping else "active"
    if run is not None and (run.outcome or stopping):
        return "stopped"
    return "idle" if run is None or not run.tries or run.tries[-1].status == "passed" else "crashed"


def _queue(runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """The gate that runs, which has the place 0, and those that wait, in the order of their requests."""
    gates = [run for run in runs if run.open and "tier" in run.parameters]
    running = [run for run in gates if run.running is not None]
    for place, run in enumerate((*running, *(run for run in gates if run not in running)), 1 - len(running)):
        yield {
            "place": place,
            "running": not place,
            "run": run.id,
            "tier": run.parameters["tier"],
            "about": run.task,
            "by": name_of(run.parameters.get("by", "")),
        }


def _files(store: Store, wave: Wave) -> Iterator[dict[str, Any]]:
    from moot.core.claim_queue import blockers

    state, _ = states.claims(store)
    waiting = [(one, {claim.id for claim in blockers(state, one)}) for one in state.waiting.values()]
    for claim in state.live.values():
        if wave.role_of(claim.holder):
            waiters = [name_of(one.holder) for one, behind in waiting if claim.id in behind]
            yield {"paths": as_typed(claim.paths), "holder": name_of(claim.holder), "waiters": waiters}


def _report(store: Store, wave: Wave, runs: Sequence[Run], issues: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the wave came to; all numbers are of this wave."""
    gates = [run for run in runs if "tier" in run.parameters]
    until, given = states.task(store, wave.id)[0].since, states.state(store, "series", f"{PACK}.migrations")[0].given
    assigned = [one for one in given.values() if wave.since <= one.at <= until]
    counted_in = {"tests": "tests", "failures": "failed", "regressions": "regression"}
    return {
        "issues": issues,
        "migrations": sum(one.data["issue"] in wave.issues for one in assigned),
        "gate_runs": len(gates),
        **{name: sum(run.counts.get(key, 0) for run in gates) for name, key in counted_in.items()},
        "closed": sum(one["outcome"] == CLOSED for one in issues),
    }


def status_lines(found: Mapping[str, Any]) -> Iterator[str]:
    mode = f", mode {found['mode']} ({found['decided']})" if found["mode"] else ""
    yield f"Wave {found['wave']}, {found['team']}: {found['state']}{mode}"
    for one in found["members"] if found["report"] is None else ():
        about = f" #{one['issue']}" if one["issue"] is not None else ""
        process, seen = one["process"] and f"process {one['process']}", one["active"] and f"last seen {one['active']}"
        unread = counted(one["unread"], "new message") if one["unread"] else ""
        facts = filter(None, (f"{one['role']}{about}", one["agent"], process, one["task"], unread, seen))
        yield f"  {one_line(one['name'], 40)}: {one['state']} ({', '.join(facts)})"
    for issue in found["issues"]:
        why = f": {one_line(issue['why'], _LONG)}" if issue["why"] else ""
        name = one_line(issue["name"], 80)
        yield f"  {one_line(issue['agent'], 40)}: #{issue['number']} {name}, {issue['outcome']}{why}"
    for gate in found["gates"]:
        place = f"is number {gate['place']} in line" if gate["place"] else "runs now"
        yield f"  {gate['tier']} of {gate['about']} for {gate['by']} {place} ({gate['run']})"
    for file in found["files"]:
        waits = f"; {', '.join(file['waiters'])} in line" if file["waiters"] else ""
        yield f"  {one_line(', '.join(file['paths']), _LONG)}: held by {file['holder']}{waits}"
    if (end := found["report"]) is not None:
        runs, tests = counted(end["gate_runs"], "gate run"), counted(end["tests"], "test")
        yield f"  {FIXED[DB]}: {counted(end['migrations'], 'migration')}"
        yield f"  {FIXED[GATE]}: {runs}, {tests}, {counted(end['failures'], 'failure')}"
        yield f"{counted(end['closed'], 'issue')} closed, {counted(end['regressions'], 'regression')}"


# --- for people ------------------------------------------------------------------------------------------------------


def watch(call: Call) -> PackView | None:
    """The section of `moot watch`: the live wave."""
    if team.live(call.engine.read()) is None:
        return None
    found = status(call)
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
    refused = (one.message for one in queries.inbox(store, (name_of(wave.lead),), _MOST))
    for message in (one for one in refused if one.kind == "CONFLICT" and (one.data or {}).get("refused")):
        said = f"Refused: {one_line(message.text, _LONG)}"
        yield Concern("conflict", message.id, said, command_line("ack", message.id), message.at, wave.team)
    late = queries.overdue(store, call.clock.wall_seconds(), _MOST, _MOST)
    for box, message in ((one.box, one.message) for one in late if wave.role_of(one.message.sender)):
        said = f"{name_of(message.sender)} waits for an answer of {box}: {one_line(message.text, _LONG)}"
        yield Concern("overdue", message.id, said, command_line("thread", message.id), message.at, box)
    left = {one.status for one in issues}
    if READY in left and left <= {READY, DEFERRED} and not any(_queue(runs_of(store, wave))):
        yield from _gate(call, wave)


def overdue(call: Call) -> Callable[[Work], None] | None:
    """Tell sender and lead, once, of a request whose answer is overdue."""
    store = call.engine.store
    wave = team.live(store)
    if wave is None:
        return None
    found = [one.message for one in queries.overdue(store, call.clock.wall_seconds(), _MOST, _MOST)]
    mine = [one for one in found if wave.role_of(one.sender)]
    late = [one for one in mine if all(said.sender != "moot" for said in queries.thread(store, one.thread))]

    def decide(work: Work) -> None:
        for one in late:
            said = f"overdue: {', '.join(one.to)} has not answered {one.id} ({one_line(one.text, _LONG)})."
            team.tell(work, (one.sender, wave.lead), said, one.thread)

    return decide if late else None


def _gate(call: Call, wave: Wave) -> Iterator[Concern]:
    """The gate of the wave that can run now, or the findings that keep it closed."""
    from moot.packs.specflow.gates import facts

    tier, name = ("tier2", "wave gate") if wave.tier2 is None else ("tier3", "regression gate")
    command = command_line("specflow gate", tier)
    settings = call.packs.protocol(PACK).settings
    looked = facts(call, settings, "RUN_JOURNEY_TIER2", {})["findings"] if wave.tier2 is None else []
    found = [one for one in looked if one not in wave.accepted]
    for one in found:
        yield Concern("finding", one, one_line(one, _LONG), f"{command} --accept", "", wave.team)
    if not found and wave.tier3 is None:
        yield Concern("gate", wave.id, f"Wave {wave.number} can run the {name}", command, "", wave.team)


# --- adoption --------------------------------------------------------------------------------------------------------

_RUN_TABLE = """\
To let moot start agents and gates, add this to moot.toml, with your own commands, and run `moot allow`:
[run.specflow]
agent = ["claude", "-p", "--permission-mode", "acceptEdits", "--session-id", "{session}"]
resume = ["claude", "-p", "--permission-mode", "acceptEdits", "--resume", "{session}"]
contracts = ["pnpm", "test", "--", "contracts"]
journeys = ["npx", "playwright", "test"]
regression = ["npx", "playwright", "test"]"""


_FOUND = ("agents", "scripts/agents", "docs/contracts", ".specflow/baseline.json", ".claude/settings.json")


def adopted(call: Call, migrations: str) -> Iterator[str]:
    """What a project has of Specflow, none of which is changed, and what it still needs."""
    root, hooks = call.place.root, os.path.join(call.place.common or "", "hooks")
    found = [one for one in (*_FOUND, migrations) if os.path.exists(os.path.join(root, one))]
    found += [f"git hook {one}" for one in ("commit-msg", "pre-push") if os.path.exists(os.path.join(hooks, one))]
    yield f"Found, and left as it is: {', '.join(found)}." if found else "No files of Specflow were found."
    if migrations not in found:
        yield f"There is no {migrations} yet: the first migration gets the number 1."
    if not call.settings.runs.get(PACK):
        yield from _RUN_TABLE.splitlines()


# --- verbs -----------------------------------------------------------------------------------------------------------


def show_status(call: Call, wave: int | None) -> Answer:
    found = status(call, wave)
    return Answer(result=found, say=tuple(status_lines(found)))


def catalogue(call: Call) -> Answer:
    """`fields`: in the text, each with its kind. `beside`: those that are not in it."""
    found, rows = [], []
    for spec in call.packs.protocol(team.PACK).pack.messages:
        parts = [part for form in map(form_of, spec.text) for part in form.parts if not isinstance(part, str)]
        entry = {
            "type": spec.name,
            "operation": "broadcast" if spec.to == ("@all",) else "write",
            "forms": spec.text,
            "fields": {part.name: part.kind for part in parts},
            "beside": spec.beside,
            "sender": spec.senders,
            "recipient": spec.to,
            "replies": _REPLIES.get(spec.name, ()),
            "supplementary": spec.name in _ADDED,
        }
        found.append(entry)
        rows.append((" | ".join(spec.text), str(entry["operation"]), spec.senders[0], ", ".join(spec.to)))
    table = Table(("message", "operation", "from", "to"), tuple(rows), title="Messages")
    return Answer(result=found, say=tuple(one_line("; ".join(row), 500) for row in rows), table=table)


STATUS = Verb(
    "specflow status",
    "Show a wave: its team, issues, gates and files; its report, if it has ended.",
    show_status,
    kind="look",
    params=(Param("wave", "Its number. Default: the one that runs, else the newest.", type="int"),),
    examples=("moot specflow status", "moot specflow status --wave 1"),
    writes=False,
)
CATALOGUE = Verb(
    "specflow catalogue",
    "List the messages of the protocol: operation, text form, fields, roles and replies.",
    catalogue,
    kind="look",
    examples=("moot specflow catalogue --json",),
    writes=False,
)
