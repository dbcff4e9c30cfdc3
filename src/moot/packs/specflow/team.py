"""What the log knows of waves, issues and members, and how they are addressed.

A wave is the task `wave-N`, an issue is the task `issue-N`; their fields are in `extra`. A member is an agent
(`w3.yeats`) that is retired with the wave. Names decide nothing: rules read the roles in the wave's record.
"""

from __future__ import annotations

from moot.core.errors import Refused, Unknown
from moot.core.principal import Actor, checked_name, name_of, same_agent
from moot.core.reactions import notice
from moot.core.record import Record
from moot.core.task import DescribeTask
from moot.core.text import command_line
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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
ADDRESSES = {
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
    session: str = ""
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
        role = ADDRESSES.get(word, "")
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

    def everybody_but(self, principal: str) -> tuple[str, ...]:
        """The mailboxes of the lead and of all members that go on, without that of this one."""
        every = (name_of(self.lead), *(one.agent for one in self.members if one.agent not in self.stopping))
        return tuple(one for one in every if not same_agent(one, principal))

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
    return _in_state(store, "running", "gating")


def planned(store: Store) -> Wave | None:
    """The wave that can be started next."""
    return _in_state(store, "planned")


def _in_state(store: Store, *names: str) -> Wave | None:
    tasks = (states.task(store, name)[0] for state in names for name in queries.task_ids(store, state))
    return next((Wave.of_task(task) for task in tasks if task.lifecycle == WAVES), None)


def running(work: Work) -> Wave:
    """The live wave, in a commit. Raises if there is none."""
    if (found := live(work.store)) is not None and (now := Wave.of_task(work.task(found.id))).is_live:
        return now
    start = command_line("run specflow", options="--parallel")
    raise Refused("no_wave", "No wave of specflow runs.", f"Start one: `{start}`.")


def wave(store: Store, number: int) -> Wave | None:
    task, _ = states.task(store, f"wave-{number}")
    return Wave.of_task(task) if task.lifecycle == WAVES else None


def issue(work: Work, number: int) -> Issue:
    return Issue.of_task(work.known_task(f"issue-{number}"))


def issues_of(store: Store, numbers: Iterable[int]) -> list[Issue]:
    return [Issue.of_task(states.task(store, f"issue-{number}")[0]) for number in numbers]


def issue_number(task: str) -> int:
    """The number in the id of an issue's task; 0 for another task."""
    digits = task.removeprefix("issue-")
    return int(digits) if digits != task and digits.isdecimal() and len(digits) < 10 else 0


def needed(work: Work, task: str) -> set[str]:
    """Everything that the task depends on."""
    found, front = set[str](), {task}
    while front:
        needs = work.graph(sorted(front)).needs
        front = {need for name in front for need in needs.get(name, ())} - found
        found |= front
    return found


def dependents_first(work: Work, issues: Iterable[Issue]) -> list[Issue]:
    """In the order in which they can be opened again: not while those that they depend on are open."""
    return sorted(issues, key=lambda one: len(needed(work, one.id)), reverse=True)


def describe(work: Work, task: str, **extra: Any) -> None:
    work.do("task", task, DescribeTask(extra=extra), pack=PACK)


def tell(work: Work, to: Iterable[str], text: str, thread: str, task: str | None = None, sender: str = "moot") -> None:
    """Write a note to these principals. Retired ones get none."""
    for _, key, message, *_ in notice(work, "note", to, sender, text, thread=thread, task=task):
        work.do("message", work.new_message(), message, thread=key, pack=PACK)


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
    known = [LEAD, *(one.name for one in wave.members)]
    raise Unknown(
        "unknown_address", f"The address {text[:80]!r} {why}.", f"Write to one of: {', '.join(known)}.", addresses=known
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
