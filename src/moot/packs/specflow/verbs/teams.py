"""specflow spawn-team, request-shutdown: a lead opens the team of a wave, and asks it to stop."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.agent import Leave
from moot.core.errors import Refused, Unknown, Usage
from moot.core.record import Record
from moot.core.task import MoveTask
from moot.core.text import command_line, counted
from moot.packs.specflow import team
from moot.packs.specflow.team import CLOSED, DB, DEFERRED, FIXED, GATE, ISSUE, LEAD, PACK, TEAMS, Teammate
from moot.packs.specflow.waves import close, give_back
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.engine.unit_of_work import Work
    from moot.packs.specflow.team import Wave

_FIELDS = ("name", "prompt", "type", "issue", "command")
_FIXED = {name: role for role, name in FIXED.items()}


class Spawned(Record):
    """The team of a wave. `renamed`: entries that got the fixed name of their role."""

    wave: int
    team: str
    lead: str
    members: tuple[Teammate, ...]
    renamed: tuple[str, ...] = ()


class Stopping(Record):
    wave: int
    state: str
    agents: tuple[str, ...]


def spawn_team(call: Call, name: str, config: Any) -> Answer:
    entries = _entries(config)
    planned = _planned(call)
    number, wrong = int(planned["number"]), list[str]()
    members, renamed, prompts = list[Teammate](), list[str](), dict[int, str]()
    given = {one["name"].casefold(): one["issue"] for one in planned["members"] if one.get("issue")}
    commands = {key: fields["run"] for key, fields in call.settings.runs.get(PACK, {}).items()}
    for entry in entries:
        shown, role = entry["name"], entry.get("type") or _FIXED.get(entry["name"], ISSUE)
        if role in (DB, GATE) and shown != FIXED[role]:
            renamed.append(f"{shown} is {FIXED[role]}")
            shown = FIXED[role]
        issue = entry.get("issue", given.get(shown.casefold())) if role == ISSUE else entry.get("issue")
        key = _command(entry.get("command"), commands)
        reserved = shown.casefold() in (LEAD, DB, GATE, ISSUE, "db-coord", "qa-gate", FIXED[LEAD].casefold())
        wrong += [f"{shown}: the name is an address of the protocol"] if reserved else []
        wrong += (
            [f"{shown}: an issue agent needs an issue; plan one, or add `issue`"] if role == ISSUE and not issue else []
        )
        wrong += [f"{shown}: there is no planned issue #{issue}"] if issue and not _is_known(call, issue) else []
        wrong += [f"{shown}: its command is not one of [run.{PACK}]"] if key is None else []
        wrong += [f"{shown}: only the caller is the {LEAD}"] if role == LEAD else []
        prompt = "" if role == ISSUE else entry["prompt"]
        members.append(Teammate(shown, team.agent_id(number, shown), role, issue, prompt, key or ""))
        prompts |= {issue: entry["prompt"]} if role == ISSUE and issue else {}
    for what in ("agent", "issue"):
        values = [getattr(one, what) for one in members if getattr(one, what) is not None]
        wrong += [f"{value}: two agents have this {what}" for value in dict.fromkeys(values) if values.count(value) > 1]
    if wrong:
        raise Refused("bad_team", f"The team cannot be opened: {'; '.join(wrong)}.", "Correct the config.", wrong=wrong)
    found: Wave | None = None
    start, session = _head(call), call.env.get("CLAUDE_CODE_SESSION_ID", "")

    def act(work: Work) -> None:
        nonlocal found
        caller = call.actor(work)
        for issue, prompt in prompts.items():
            team.describe(work, f"issue-{issue}", prompt=prompt)
        fields = {"mode": TEAMS, "decided": "spawn-team", "start": start, "session": session}
        task = work.task(f"wave-{number}")
        found = team.spawn(work, task, caller, as_finn=False, team=name, members=members, **fields)

    call.commit(act)
    assert found is not None
    result = Spawned(number, name, found.lead, found.members, tuple(renamed))
    lines = (f"{one.name} ({one.agent}): {one.role}{f', #{one.issue}' if one.issue else ''}" for one in found.members)
    return Answer(
        result=result,
        say=(
            f"{name} is open, for wave {number}: {counted(len(found.members) + 1, 'agent')} with the lead.",
            *(f"  {line}" for line in lines),
            *(f"  {line}" for line in renamed),
            f"Their commands are started by `{command_line('run specflow')}`, or each by `moot as AGENT -- COMMAND`.",
        ),
    )


def _entries(config: Any) -> list[dict[str, Any]]:
    agents = config.get("agents") if isinstance(config, dict) else None
    wrong = [] if isinstance(agents, list) and agents else ["`agents` must be a list with at least one agent"]
    wrong += [f"there is no field {key!r}" for key in config if key != "agents"] if isinstance(config, dict) else []
    for n, one in enumerate(agents if isinstance(agents, list) else []):
        if not isinstance(one, dict):
            wrong.append(f"agents.{n} is not an object")
            continue
        wrong += [f"agents.{n} has no text in {key}" for key in ("name", "prompt") if not _is_text(one.get(key))]
        wrong += [f"agents.{n}: there is no field {key!r}" for key in one if key not in _FIELDS]
        issue = one.get("issue", 1)
        wrong += [f"agents.{n}: issue must be a number"] if type(issue) is not int or issue < 1 else []
        wrong += [f"agents.{n}: type must be a text"] if not _is_text(one.get("type", ISSUE)) else []
    if wrong:
        raise Usage(
            "bad_team", f"The config has problems: {'; '.join(wrong[:20])}.", "Correct all of them.", wrong=wrong
        )
    return list(agents)  # type: ignore[arg-type]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _command(given: Any, commands: Mapping[str, Any]) -> str | None:
    """The key in [run.specflow] of a command, which is named by its key or its words. None: there is none."""
    if given is None:
        return "agent"
    words = [given] if isinstance(given, str) else given
    return next((key for key, run in commands.items() if given == key or list(run) == words), None)


def _planned(call: Call) -> Mapping[str, Any]:
    from moot.views import queries

    store = call.engine.read()
    found = [states.task(store, name)[0] for name in queries.task_ids(store, "planned")]
    wave = next((task for task in found if task.lifecycle == team.WAVES), None)
    if wave is not None:
        return wave.extra
    if (now := team.live(store)) is not None:
        raise team.already_live(now)
    raise Unknown("no_plan", "No wave is planned.", f"Plan one: `{command_line('specflow plan')} issues.json`.")


def _is_known(call: Call, issue: int) -> bool:
    return states.task(call.engine.read(), f"issue-{issue}")[0].exists


def _head(call: Call) -> str:
    from moot.packs.specflow.tree import head

    return head(call.place)


def request_shutdown(call: Call, name: str | None, abort: str | None) -> Answer:
    from moot.packs.specflow.tree import version
    from moot.place.locks import is_alive

    done: tuple[Wave, tuple[str, ...]] | None = None
    settings = call.packs.protocol(PACK).settings
    now = version(call.place, settings["reports"].values()) if name is None and abort is None else ""
    driven = is_alive(call.place.state, PACK)

    def act(work: Work) -> None:
        nonlocal done
        caller, wave = call.actor(work), team.running(work)
        team.only_lead(wave, caller.principal)
        names = [one.agent for one in wave.members]
        if abort is not None:
            wave = end(work, wave, abort)
        elif name is not None:
            names = [team.recipient(wave, name, caller.principal)]
            team.describe(work, wave.id, stopping=[*dict.fromkeys((*wave.stopping, *names))])
        else:
            wave = close(work, wave, now, caller)
            if not driven:  # otherwise the driver does, after their turns have ended
                retire(work, wave)
        done = wave, tuple(names)

    call.commit(act)
    assert done is not None
    wave, agents = done
    said = f"{wave.team} is {wave.state}." if name is None else f"Asked to stop: {', '.join(agents)}."
    return Answer(result=Stopping(wave.number, wave.state, agents), say=(said,))


def end(work: Work, wave: Wave, reason: str) -> Wave:
    """Abort a wave: its agents are retired, which ends their claims, and its unfinished issues can be planned again."""
    lead = team.actor_of(wave, wave.lead)
    left = [one for number in wave.issues if (one := team.issue(work, number)).status not in (CLOSED, DEFERRED)]
    give_back(work, left, lead)
    for one in left:
        why = f"wave {wave.number} was aborted: {reason}"
        team.describe(work, one.id, wave=None, status=DEFERRED, why=why)
    team.describe(work, wave.id, stopping=[one.agent for one in wave.members], outcome=reason)
    work.do("task", wave.id, MoveTask(verb="cancel", actor=lead, reason=reason), pack=PACK)
    retire(work, wave)
    return team.Wave.of_task(work.task(wave.id))


def retire(work: Work, wave: Wave) -> None:
    """The agents of a wave leave for good; the lead only if it joined for this wave."""
    names = [one.agent for one in wave.members]
    names += [one for one in (wave.lead.partition("#")[0],) if one == team.agent_id(wave.number, FIXED[LEAD])]
    for agent in names:
        if not work.agent(agent).retired:
            work.do("agent", agent, Leave(retire=True, reason=f"wave {wave.number} has ended"))


SPAWN_TEAM = Verb(
    "specflow spawn-team",
    "Open the team of the planned wave, as its lead.",
    spawn_team,
    kind="own",
    params=(
        Param("name", "The name of the team, such as Fianna.", positional=True, required=True),
        Param(
            "config",
            "A JSON object: inline, @FILE, or - for standard input.",
            type="json",
            positional=True,
            required=True,
        ),
        KEY,
    ),
    examples=('moot specflow spawn-team Fianna \'{"agents": [{"name": "Yeats", "prompt": "Implement #50."}]}\'',),
    detail=(
        "Each agent has a name and a prompt, and may have a type (its role), an issue and a command of [run.specflow]. "
        "Without a type it is an issue agent, and without an issue it has the one that the plan gave to its name. A "
        "missing db-coordinator or quality-gate is added; both are built in."
    ),
)
REQUEST_SHUTDOWN = Verb(
    "specflow request-shutdown",
    "Close the issues of a wave whose gates have passed, and let its team stop; or ask one agent to stop.",
    request_shutdown,
    kind="own",
    params=(
        Param("name", "One agent. Default: all.", positional=True),
        Param("abort", "End the wave before it is complete, for this reason."),
        KEY,
    ),
    examples=("moot specflow request-shutdown", "moot specflow request-shutdown --abort 'wrong plan'"),
)
