"""What the log knows of waves, issues and members, and how a team is opened and addressed.

A wave is the task `wave-N`, an issue is the task `issue-N`; their fields are in `extra`. A member is an agent
(`w3.yeats`) that is retired with the wave. Names decide nothing: rules read the roles in the wave's record.
"""

from __future__ import annotations

from moot.core.deciders.agent import DRIVEN, Join
from moot.core.errors import Refused, Unknown
from moot.core.principal import Actor, checked_name, name_of, same_agent
from moot.core.record import Record
from moot.core.task import AssignTask, DescribeTask, MoveTask
from moot.core.text import command_line
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Self

    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

PACK = TASKS = "specflow"
WAVES = "specflow/wave"
LEAD, ISSUE, DB, GATE = "waves-controller", "issue-lifecycle", "db-coordinator", "quality-gate"
FIXED = {DB: "Hamilton", GATE: "Keane", LEAD: "Finn McCool"}
TEAMS, SUBAGENTS = "teams", "subagents"
BLOCKED, READY, DEFERRED, CLOSED = "blocked", "ready", "deferred", "closed"
_ADDRESSES = {
    "waves-controller": LEAD,
    "db-coordinator": DB,
    "db-coord": DB,
    "quality-gate": GATE,
    "qa-gate": GATE,
    "issue-lifecycle": ISSUE,
}


class Teammate(Record):
    """`prompt`: the blob with its prompt, if it was given one. `command`: its key in [run.specflow]."""

    name: str
    agent: str
    role: str
    issue: int | None = None
    prompt: str = ""
    command: str = "agent"


class Wave(Record):
    """The fields of a wave's task. `lead`: the principal of its waves-controller. `stopping`: agents asked to stop."""

    id: str
    state: str
    number: int
    team: str = ""
    pool: str = ""
    mode: str = ""
    decided: str = ""
    lead: str = ""
    start: str = ""
    since: str = ""
    issues: tuple[int, ...] = ()
    members: tuple[Teammate, ...] = ()
    stopping: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    tier2: Mapping[str, Any] | None = None
    tier3: Mapping[str, Any] | None = None
    outcome: str = ""

    @classmethod
    def of_task(cls, task: Task) -> Self:
        wave = cls.of({"number": 0, **task.extra, "id": task.id, "state": task.state})
        return wave.replace(members=tuple(map(Teammate.of, task.extra.get("members", ()))))

    @property
    def is_live(self) -> bool:
        return self.state in ("running", "gating")

    def of_issue(self, number: int) -> Teammate | None:
        return next((one for one in self.members if one.issue == number and one.role == ISSUE), None)

    def member(self, principal: str) -> Teammate | None:
        return next((one for one in self.members if same_agent(one.agent, principal)), None)

    def role_of(self, principal: str) -> str:
        """The recorded role; empty for an agent outside the team. A person can always act for the lead."""
        if same_agent(principal, self.lead) or principal.startswith("person:"):
            return LEAD
        return found.role if (found := self.member(principal)) else ""

    def agent_in(self, role: str) -> str:
        """The mailbox of a role that one holds."""
        if role == LEAD:
            return name_of(self.lead)
        return next(one.agent for one in self.members if one.role == role)

    def addressed(self, text: str) -> list[str]:
        """The mailboxes that an address of the protocol stands for."""
        word = text.strip().removeprefix("@").casefold()
        role = _ADDRESSES.get(word, "")
        number = word.removeprefix("issue-").removeprefix("#")
        if role == LEAD or word in (FIXED[LEAD].casefold(), name_of(self.lead).casefold()):
            return [name_of(self.lead)]
        return [
            one.agent
            for one in self.members
            if word in (one.name.casefold(), one.agent)
            or one.role == role
            or (one.issue is not None and number == str(one.issue))
        ]

    @property
    def addresses(self) -> list[str]:
        """One address for each that can be written to."""
        return [LEAD, *(one.name for one in self.members)]

    @property
    def agents(self) -> list[Teammate]:
        """The members with an issue."""
        return [one for one in self.members if one.role == ISSUE]


class Issue(Record):
    """The fields of an issue's task. `failed`: its contract runs that failed since its agent was last resumed."""

    id: str
    task: Task
    number: int
    name: str = ""
    text: str = ""
    labels: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    status: str = ""
    why: str = ""
    certificate: str = ""
    wave: int | None = None
    failed: int = 0

    @classmethod
    def of_task(cls, task: Task) -> Self:
        return cls.of({"number": int(task.id.rpartition("-")[2]), **task.extra, "id": task.id, "task": task})

    @property
    def is_open(self) -> bool:
        return self.status != CLOSED and self.task.exists and self.task.phase != "stopped"


def live(store: Store) -> Wave | None:
    """The wave that runs now."""
    names = (name for state in ("running", "gating") for name in queries.task_ids(store, state))
    tasks = (states.task(store, name)[0] for name in names)
    return next((Wave.of_task(task) for task in tasks if task.lifecycle == WAVES), None)


def running(work: Work) -> Wave:
    """The live wave, in a commit. Raises if there is none."""
    found = live(work.store)
    task = work.task(found.id) if found else None
    if task is None or not Wave.of_task(task).is_live:
        raise Refused(
            "no_wave",
            "No wave of specflow runs.",
            f"Start one: `{command_line('run specflow', options='--parallel')}`.",
        )
    return Wave.of_task(task)


def wave(store: Store, number: int) -> Wave | None:
    task, _ = states.task(store, f"wave-{number}")
    return Wave.of_task(task) if task.lifecycle == WAVES else None


def issue(work: Work, number: int) -> Issue:
    return Issue.of_task(work.known_task(f"issue-{number}"))


def issues_of(store: Store, numbers: Iterable[int]) -> list[Issue]:
    return [Issue.of_task(states.task(store, f"issue-{number}")[0]) for number in numbers]


def describe(work: Work, task: str, **extra: Any) -> None:
    work.do("task", task, DescribeTask(extra=extra), pack=PACK)


def actor_of(wave: Wave, principal: str) -> Actor:
    """Somebody of the team, in the role that the wave records."""
    role = wave.role_of(principal)
    return Actor(principal=principal, roles=(role,) if role else ())


def only_lead(wave: Wave, principal: str) -> None:
    """Raise unless this is the lead of the wave."""
    if wave.role_of(principal) != LEAD:
        raise Refused(
            "wrong_role",
            f"Only the {LEAD} of {wave.team} ({name_of(wave.lead)}) can do that; {name_of(principal)} is "
            f"{wave.role_of(principal) or 'not in the team'}.",
            f"Ask it: `{command_line('specflow write', LEAD)} '…'`.",
            role=LEAD,
            found=wave.role_of(principal),
        )


def recipient(wave: Wave, text: str, sender: str) -> str:
    """The one mailbox of an address. Raises if it is none, several, or the sender's own."""
    found = wave.addressed(text)
    if len(found) == 1 and not same_agent(found[0], sender):
        return found[0]
    why = f"stands for {len(found)} agents" if len(found) > 1 else "is your own" if found else "is not one of the team"
    raise Unknown(
        "unknown_address",
        f"The address {text[:80]!r} {why}.",
        f"Write to one of: {', '.join(one for one in wave.addresses if wave.addressed(one)[0] != name_of(sender))}.",
        addresses=wave.addresses,
    )


def slug(name: str) -> str:
    """A name as a word: names that differ only in letter case, accents, blanks or punctuation have the same one."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return "-".join("".join(char if char.isalnum() else " " for char in plain).split())


def agent_id(number: int, name: str) -> str:
    """The id of the agent with this name in a wave."""
    good = slug(name) and name.isprintable() and "/" not in name and not name.startswith(".")
    return checked_name(f"w{number}.{slug(name)}" if good else repr(name))


def spawn(
    work: Work, planned: Task, lead: Actor, *, as_finn: bool, team: str, members: Sequence[Teammate], **extra: Any
) -> Wave:
    """Open the team of a planned wave: its agents join, and the wave runs. With `as_finn`, its lead joins, too."""
    number = int(planned.extra["number"])
    if (now := live(work.store)) is not None:
        raise already_live(now)
    if as_finn:
        lead = _joined(work, agent_id(number, FIXED[LEAD]), LEAD)
    elif not lead.person and LEAD not in lead.roles:
        lead = _joined(work, lead.name, *lead.roles, LEAD)
    missing = [Teammate(FIXED[role], agent_id(number, FIXED[role]), role) for role in (DB, GATE)]
    have = {one.role for one in members}
    team_members = [*members, *(one for one in missing if one.role not in have)]
    for member in team_members:
        _joined(work, member.agent, member.role)
    for member in members:
        if member.issue is not None:
            task = f"issue-{member.issue}"
            describe(work, task, wave=number, status="", why="", certificate="", failed=0)
            work.do("task", task, AssignTask(actor=lead, to=member.agent, roles=(ISSUE,)), pack=PACK)
    fields: dict[str, Any] = {
        "team": team,
        "lead": lead.principal,
        "members": [one.full() for one in team_members],
        **extra,
    }
    fields |= {"issues": [one.issue for one in members if one.issue is not None], "stopping": [], "since": work.at}
    describe(work, planned.id, **fields)
    work.do("task", planned.id, MoveTask(verb="claim", actor=lead.replace(roles=(*lead.roles, LEAD))), pack=PACK)
    return Wave.of_task(work.task(planned.id))


def already_live(found: Wave) -> Refused:
    return Refused(
        "team_live",
        f"The team {found.team} of wave {found.number} is live.",
        f"Let it end, or stop it: `{command_line('specflow request-shutdown', options='--abort REASON')}`.",
        team=found.team,
        wave=found.number,
    )


def _joined(work: Work, name: str, *roles: str) -> Actor:
    known = work.agent(name)
    mine = known.incarnation if known.here else None
    state = work.do("agent", name, Join(roles=tuple(dict.fromkeys(roles)), client=DRIVEN, incarnation=mine))
    work.facts.ensure_stamped(state.name, state.incarnation)  # it does not count as silent before its first call
    return Actor(principal=state.principal, roles=state.roles)
