"""What the lead of a wave does: it opens the team, decides on blocked issues, closes the wave, or ends it early.

What always holds:
- One team is live. All that is wrong with a config is said at once, before anything is stored.
- An issue is closed only with a certificate, a completed task, and both gates of its wave passed on this commit.
- A wave whose issues were all deferred is aborted, not complete.
- After a wave its agents are retired, which ends their claims; what they have not read is listed with the wave.
"""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.agent import DRIVEN, Join, Leave
from moot.core.errors import Refused, Unknown, Usage
from moot.core.principal import Actor, name_of
from moot.core.schema import defects
from moot.core.task import AssignTask, MoveTask, NoteTask, UnflagTask
from moot.core.text import bullets, command_line, counted
from moot.packs.specflow import team
from moot.packs.specflow.team import (
    BLOCKED,
    CLOSED,
    DB,
    DEFERRED,
    FIXED,
    GATE,
    ISSUE,
    LEAD,
    PACK,
    READY,
    TEAMS,
    Issue,
    Teammate,
    Wave,
    describe,
)
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.engine.unit_of_work import Work

_TEXT = {"type": "string", "pattern": r"\S", "description": "a text that is not blank"}
_CONFIG = {
    "type": "object",
    "required": ["agents"],
    "additionalProperties": False,
    "properties": {
        "agents": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "prompt"],
                "additionalProperties": False,
                "properties": {
                    "name": _TEXT,
                    "prompt": _TEXT,
                    "type": _TEXT,
                    "issue": {"type": "integer", "minimum": 1},
                    "command": {"type": ["string", "array"]},
                },
            },
        }
    },
}
_ROLES = {name: role for role, name in FIXED.items()}
_EXAMPLE = "moot specflow decide 50 resume --reason 'The API is back.'"


# --- the team --------------------------------------------------------------------------------------------------------


def spawn(work: Work, planned: Wave, lead: Actor | None, members: Sequence[Teammate], **extra: Any) -> None:
    """Open the team of a planned wave: its agents join, and the wave runs. Without a lead, Finn McCool joins as it."""
    if (now := team.live(work.store)) is not None:
        raise _already_live(now)
    if lead is None:
        lead = _joined(work, team.agent_id(planned.number, FIXED[LEAD]), LEAD)
    elif not lead.person and LEAD not in lead.roles:
        lead = _joined(work, lead.name, *lead.roles, LEAD)
    have = {one.role for one in members}
    services = [role for role in (DB, GATE) if role not in have]
    every = [*members, *(Teammate(FIXED[one], team.agent_id(planned.number, FIXED[one]), one) for one in services)]
    for one in every:
        _joined(work, one.agent, one.role)
        if one.issue is not None:
            task = f"issue-{one.issue}"
            describe(work, task, wave=planned.number, status="", why="", certificate="", failed=0)
            work.do("task", task, AssignTask(actor=lead, to=one.agent, roles=(ISSUE,)), pack=PACK)
    issues = [one.issue for one in every if one.issue is not None]
    fields = {"lead": lead.principal, "members": [one.full() for one in every], "issues": issues, "since": work.at}
    describe(work, planned.id, **fields, stopping=[], **extra)
    work.do("task", planned.id, MoveTask(verb="claim", actor=_as_lead(lead)), pack=PACK)


def _joined(work: Work, name: str, *roles: str) -> Actor:
    known = work.agent(name)
    mine = known.incarnation if known.here else None
    state = work.do("agent", name, Join(roles=tuple(dict.fromkeys(roles)), client=DRIVEN, incarnation=mine))
    work.facts.ensure_stamped(state.name, state.incarnation)  # it does not count as silent before its first call
    return Actor(principal=state.principal, roles=state.roles)


def _as_lead(actor: Actor) -> Actor:
    return actor.replace(roles=(*actor.roles, LEAD))


def _already_live(found: Wave) -> Refused:
    return Refused(
        "team_live",
        f"The team {found.team} of wave {found.number} is live.",
        f"Let it end, or stop it: `{command_line('specflow request-shutdown', options='--abort REASON')}`.",
        team=found.team,
        wave=found.number,
    )


def spawn_team(call: Call, name: str, config: Any) -> Answer:
    """The answer lists in `renamed` the entries that got the fixed name of their role."""
    from moot.packs.specflow.evidence import head

    store = call.engine.read()
    if wrong := [defect.sentence for defect in defects(_CONFIG, config)]:
        raise Usage("bad_team", f"The config has problems: {'; '.join(wrong)}.", "Correct all of them.", wrong=wrong)
    if (planned := team.planned(store)) is None:
        if (now := team.live(store)) is not None:
            raise _already_live(now)
        raise Unknown("no_plan", "No wave is planned.", f"Plan one: `{command_line('specflow plan')} issues.json`.")
    members, renamed = list[Teammate](), list[str]()
    commands = {key: [*fields["run"]] for key, fields in call.settings.runs.get(PACK, {}).items()}
    for entry in config["agents"]:
        member = _member(planned, entry, commands)
        members.append(member)
        renamed += [f"{entry['name']} is {member.name}"] if member.name != entry["name"] else []
    if wrong := [*_faults(call, members), *_twice(members)]:
        raise Refused("bad_team", f"The team cannot be opened: {'; '.join(wrong)}.", "Correct the config.", wrong=wrong)
    members = [one.replace(prompt=call.put_blob(one.prompt.encode())) for one in members]
    fields = {"mode": TEAMS, "decided": "spawn-team", "start": head(call.place)}
    fields |= {"session": call.env.get("CLAUDE_CODE_SESSION_ID", "")}
    call.commit(lambda work: spawn(work, planned, call.actor(work), members, team=name, **fields))
    found = team.wave(call.engine.read(), planned.number) or planned
    lines = [f"{one.name} ({one.agent}): {one.role}{f', #{one.issue}' if one.issue else ''}" for one in found.members]
    return Answer(
        result={
            "wave": found.number,
            "team": name,
            "lead": found.lead,
            "members": [one.full() for one in found.members],
            "renamed": renamed,
        },
        say=(
            f"{name} is open, for wave {found.number}: {counted(len(found.members) + 1, 'agent')} with the lead.",
            *(f"  {line}" for line in (*lines, *renamed)),
            f"Their commands are started by `{command_line('run specflow')}`, or each by `moot as AGENT -- COMMAND`.",
        ),
    )


def _member(planned: Wave, entry: Mapping[str, Any], commands: Mapping[str, list[str]]) -> Teammate:
    """An entry of a config: its role by its type or its fixed name, its issue by the plan. `command` may be unknown."""
    name = entry["name"]
    role = entry.get("type") or _ROLES.get(name, ISSUE)
    name = FIXED[role] if role in (DB, GATE) else name
    own = next((one.issue for one in planned.members if one.name.casefold() == name.casefold()), None)
    given = entry.get("command", "agent")  # a key of [run.specflow], or the words of its command
    command = next((key for key, words in commands.items() if given in (key, words)), given)
    issue = entry.get("issue", own if role == ISSUE else None)
    return Teammate(name, team.agent_id(planned.number, name), role, issue, entry["prompt"], str(command))


def _faults(call: Call, members: Iterable[Teammate]) -> Iterator[str]:
    """What is wrong with single members."""
    from moot.api.verbs.effects.allow import commands_of, consent_of

    commands = {one.stage: one for one in commands_of(call) if one.pack == PACK}
    allowed = consent_of(call)
    for one in members:
        if one.role == ISSUE and one.issue is None:
            yield f"{one.name}: an issue agent needs an issue; plan one, or add `issue`"
        elif one.issue is not None and not states.task(call.engine.read(), f"issue-{one.issue}")[0].exists:
            yield f"{one.name}: there is no planned issue #{one.issue}"
        if one.command not in ("agent", *commands):
            yield f"{one.name}: its command is not one of [run.{PACK}]"
        if one.role == ISSUE and one.command in commands and allowed.granted(commands[one.command]) is None:
            yield f"{one.name}: nobody has allowed its command (`moot allow`)"
        if one.role != ISSUE and one.issue is not None:
            yield f"{one.name}: only an issue agent has an issue"
        if one.role == LEAD:
            yield f"{one.name}: only the caller is the {LEAD}"
        if one.name.casefold() in (*team.ADDRESSES, FIXED[LEAD].casefold()):
            yield f"{one.name}: the name is an address of the protocol"


def _twice(members: Sequence[Teammate]) -> Iterator[str]:
    for what in ("agent", "issue"):
        values = [getattr(one, what) for one in members if getattr(one, what) is not None]
        yield from (f"{one}: two agents have this {what}" for one in dict.fromkeys(values) if values.count(one) > 1)


# --- decisions -------------------------------------------------------------------------------------------------------


def decide(call: Call, issue: str, how: str, reason: str | None) -> Answer:
    number = team.issue_number(f"issue-{issue.strip().removeprefix('issue-').removeprefix('#')}")
    if not number:
        raise Usage("bad_arguments", f"{issue[:80]!r} is not the number of an issue.", f"For example: {_EXAMPLE}")
    if not (reason or "").strip():
        raise Usage("reason_missing", "`specflow decide` requires a reason.", f"For example: {_EXAMPLE}")
    settings = call.packs.protocol(PACK).settings
    call.commit(lambda work: _decided(work, number, how, str(reason), call.actor(work), settings))
    store = call.engine.read()
    (found,), wave = team.issues_of(store, (number,)), team.live(store)
    agent = wave.of_issue(number) if wave is not None else None
    result = {"issue": number, "decision": how, "status": found.status, "agent": agent.agent if agent else None}
    does = {"resume": "goes on with", "reassign": "has", "defer": "leaves"}[how]
    return Answer(result=result, say=(f"{agent.name if agent else 'nobody'} {does} #{number}.",))


def _decided(work: Work, number: int, how: str, reason: str, actor: Actor, settings: Mapping[str, Any]) -> None:
    """The agent of a blocked issue resumes, another one gets it, or it is deferred."""
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
    if how == "defer":
        _defer(work, wave, number, reason, actor)
    else:
        describe(work, one.id, status="", why="", failed=0)
        work.do("task", one.id, UnflagTask(reason=f"{how}: {reason}"))
    if how == "reassign":
        _reassign(work, wave, one, reason, actor, settings)
    tell_if_all_ready(work, wave)


def _defer(work: Work, wave: Wave, number: int, reason: str, actor: Actor) -> None:
    """Defer the issue and all of the wave that depend on it. Their agents are asked to stop."""
    leaving = [number]
    for first in leaving:  # the list grows
        dependents = map(team.issue_number, work.dependents(f"issue-{first}"))
        leaving += [one for one in dependents if one in wave.issues and one not in leaving]
    issues = [team.issue(work, one) for one in leaving]
    give_back(work, issues, actor)
    for issue in issues:
        why = reason if issue.number == number else f"depends on #{number}: {reason}"
        describe(work, issue.id, status=DEFERRED, why=why, wave=None)
    agents = [member.agent for one in leaving if (member := wave.of_issue(one)) is not None]
    describe(work, wave.id, stopping=[*dict.fromkeys((*wave.stopping, *agents))])


def give_back(work: Work, issues: Iterable[Issue], actor: Actor) -> None:
    """Move the tasks of these issues back to `pending`, as the lead. Their holders are told."""
    for one in team.dependents_first(work, issues):
        for verb in {"done": ("reopen", "release"), "working": ("release",)}.get(one.task.phase, ()):
            work.do("task", one.id, MoveTask(verb=verb, actor=_as_lead(actor)), pack=PACK)
        work.do("task", one.id, AssignTask(actor=actor, to=None), pack=PACK)


def _reassign(work: Work, wave: Wave, issue: Issue, reason: str, actor: Actor, settings: Mapping[str, Any]) -> None:
    """The next name of the pool gets the issue and its task. The agent before is retired."""
    from moot.packs.specflow.waves import pool_names

    (old,) = (one for one in wave.members if one.issue == issue.number)
    pool = pool_names(settings["pools"].get(wave.pool) or next(iter(settings["pools"].values())))
    agents = ((name, team.agent_id(wave.number, name)) for name in pool)
    name, agent = next((name, agent) for name, agent in agents if not work.agent(agent).exists)
    give_back(work, (issue,), actor)
    new = _joined(work, agent, ISSUE)
    work.do("agent", old.agent, Leave(retire=True, reason=f"#{issue.number} was reassigned: {reason}"))
    members = [one.replace(name=name, agent=agent) if one == old else one for one in wave.members]
    former = [*work.task(wave.id).extra.get("former", ()), {**old.full(), "why": reason}]
    describe(work, wave.id, members=[one.full() for one in members], former=former)
    work.do("task", issue.id, AssignTask(actor=actor, to=agent, roles=(ISSUE,)), pack=PACK)
    if not issue.task.waits:
        work.do("task", issue.id, MoveTask(verb="claim", actor=new), pack=PACK)


def tell_if_all_ready(work: Work, wave: Wave) -> None:
    """Tell the lead that the wave gate can run, once no issue of the wave is open."""
    left = {team.issue(work, number).status for number in wave.issues}
    if READY in left and left <= {READY, DEFERRED}:
        gate = command_line("specflow gate", "tier2")
        text = f"All issues are ready or deferred: `{gate}` runs the wave gate."
        team.tell(work, (wave.lead,), text, wave.id, wave.id)


# --- the end of a wave -----------------------------------------------------------------------------------------------


def request_shutdown(call: Call, name: str | None, abort: str | None) -> Answer:
    from moot.packs.specflow import evidence
    from moot.place.locks import is_alive

    reports = call.packs.protocol(PACK).settings["reports"]
    version = evidence.version(call.place, reports.values()) if name is None and abort is None else ""
    driven = is_alive(call.place.state, PACK)
    now = team.live(call.engine.read())

    def act(work: Work) -> None:
        caller, wave = call.actor(work), team.running(work)
        team.only_lead(wave, caller.principal)
        if abort is not None:
            abort_wave(work, wave, abort)
        elif name is None:
            close(work, wave, version, caller, retired=not driven)
        else:
            stopping = (*wave.stopping, team.recipient(wave, name, caller.principal))
            describe(work, wave.id, stopping=[*dict.fromkeys(stopping)])

    call.commit(act)
    wave = team.wave(call.engine.read(), now.number if now is not None else 0)
    assert wave is not None, "the commit was for it"
    names = wave.stopping if name is not None else [one.agent for one in wave.members]
    said = f"{wave.team} is {wave.state}." if name is None else f"Asked to stop: {', '.join(names)}."
    return Answer(result={"wave": wave.number, "state": wave.state, "agents": [*names]}, say=(said,))


def close(work: Work, wave: Wave, commit: str, actor: Actor, *, retired: bool = True) -> None:
    """Close the ready issues and complete the wave; abort it if all are deferred. `commit`: where the tree is now.

    A driver lets the turns of the agents end first: they are not `retired` yet.
    """
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
        describe(work, one.id, status=CLOSED, closed=closed)
    _end(work, wave, actor, "" if issues else "all issues are deferred")
    if retired:
        retire(work, wave)


def abort_wave(work: Work, wave: Wave, reason: str) -> None:
    """End a wave now. Its unfinished issues can be planned again."""
    lead = team.actor_of(wave, wave.lead)
    left = [one for number in wave.issues if (one := team.issue(work, number)).status not in (CLOSED, DEFERRED)]
    give_back(work, left, lead)
    for one in left:
        describe(work, one.id, wave=None, status=DEFERRED, why=f"wave {wave.number} was aborted: {reason}")
    describe(work, wave.id, stopping=[one.agent for one in wave.members])
    _end(work, wave, lead, reason)
    retire(work, wave)


def _end(work: Work, wave: Wave, actor: Actor, aborted: str) -> None:
    """Complete a wave, or abort it for a reason. Later waves may change its issues, so it keeps what became of them."""
    every = [team.issue(work, number) for number in wave.issues]
    outcomes = {str(one.number): {"name": one.name, "outcome": one.status, "why": one.why} for one in every}
    describe(work, wave.id, outcome=aborted or "complete", outcomes=outcomes)
    end = MoveTask(verb="cancel" if aborted else "complete", actor=_as_lead(actor), reason=aborted or None)
    work.do("task", wave.id, end, pack=PACK)


def retire(work: Work, wave: Wave) -> None:
    """The agents of a wave leave for good; the lead only if it joined for this wave."""
    finn, lead = team.agent_id(wave.number, FIXED[LEAD]), name_of(wave.lead)
    names = [*(one.agent for one in wave.members), *((lead,) if lead == finn else ())]
    here = [agent for name in names if not (agent := work.agent(name)).retired]
    unread = dict(work.task(wave.id).extra.get("unread", {}))
    for agent in here:
        new = queries.unsettled(work.store, agent.name, agent.principal, seen=False)
        unread[agent.name] = [mail.message.id for mail in new]
        work.do("agent", agent.name, Leave(retire=True, reason=f"wave {wave.number} has ended"))
    describe(work, wave.id, unread={name: mail for name, mail in unread.items() if mail})


# --- verbs -----------------------------------------------------------------------------------------------------------

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
DECIDE = Verb(
    "specflow decide",
    "Decide on a blocked issue, as the lead or as a person.",
    decide,
    kind="own",
    params=(
        Param("issue", "Its number.", positional=True, required=True),
        Param(
            "how",
            "resume (the same agent goes on), reassign (another agent gets it) or defer (a later wave).",
            positional=True,
            required=True,
            choices=("resume", "reassign", "defer"),
        ),
        Param("reason", "Why; recorded with the issue.", expected=True),
        KEY,
    ),
    examples=(_EXAMPLE,),
    detail="With a deferred issue, all issues of the wave that depend on it leave the wave, too.",
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
