"""A lifecycle is a value: the states of a task, the edges between them, who may take each edge and what it needs.

    phase     the meaning of a state in any lifecycle: open, working, review, done, stopped
    who       `anyone`, `holder` (of the task), `reviewer` (anyone but its author), `creator`, `person`,
              or the name of a role; one of those listed is enough
    needs     `reason` (a non-blank one), `report` (the edge is taken by sending a report),
              `unreviewed` (only tasks that were added without review),
              `receipt` (of a check that passed on the current files)
    attempt   how much the edge adds to the attempt number
    holds     the holder afterwards: `actor` (who takes the edge), `keep` (the same as before), `owner` (named with the
              move, by default the last author), `none`
    editors   the roles that may edit its tasks, besides creator, holder and people
    silence   what happens if the holder is silent for too long: `return` (the task is open again), `flag`, or `ignore`
              (the pack has limits of its own)

`CORE` is the built-in lifecycle. A pack can define another one in its `pack.toml`.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PHASES = ("open", "working", "review", "done", "stopped")
RELATIONS = ("anyone", "holder", "reviewer", "creator", "person")  # relations to a task; not valid as role names
_VERDICTS = ("approve", "reject")


class State(Record):
    name: str
    phase: str


class Edge(Record):
    verb: str
    source: str
    target: str
    who: tuple[str, ...] = ("anyone",)
    needs: tuple[str, ...] = ()
    attempt: int = 0
    holds: str = "none"
    explicit: bool = False  # taken only by its own verb, never by naming the target state
    report: str = ""  # the type of the report message that takes it
    moot: bool = False  # moot itself may take it, where a rule of the pack says so

    def open_to(self, roles: tuple[str, ...], *, person: bool) -> bool:
        """Whether an actor with these roles may take it without any relation to the task."""
        return "anyone" in self.who or (person and "person" in self.who) or any(role in self.who for role in roles)


class Lifecycle(Record):
    name: str
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    editors: tuple[str, ...] = ()
    silence: str = "return"
    attempts: int = 3  # 0: the limit of the workspace
    carried: bool = False  # messages of its pack carry submissions or verdicts, so moot sends no mail about them
    exhausted: str | None = None  # target state when the attempts are used up; None: going back is refused

    @property
    def pack(self) -> str:
        """The pack that defines it. A pack's only lifecycle has the pack's name; others are named pack/name."""
        return self.name.partition("/")[0]

    @property
    def initial(self) -> str:
        return self.states[0].name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(state.name for state in self.states)

    def phase(self, state: str) -> str:
        return next(s.phase for s in self.states if s.name == state)

    def edge(self, verb: str, source: str) -> Edge | None:
        return next((e for e in self.edges if e.verb == verb and e.source == source), None)

    def between(self, source: str, target: str) -> Edge | None:
        return next((e for e in self.edges if e.source == source and e.target == target), None)

    def path(self, source: str, target: str) -> tuple[Edge, ...] | None:
        """The shortest way between two different states, without edges that are taken only by their own verb.

        A rejection is an end, never a way to another state.
        """
        ways: dict[str, tuple[Edge, ...]] = {source: ()}
        waiting = [source]
        while waiting and target not in ways:
            here = waiting.pop(0)
            for edge in self.edges:
                if edge.source != here or edge.explicit or edge.target in ways:
                    continue
                if edge.verb != "reject" or edge.target == target:
                    ways[edge.target] = (*ways[here], edge)
                    waiting.append(edge.target)
        return ways.get(target)

    def targets(self, source: str) -> tuple[str, ...]:
        """The states that can follow `source`."""
        return tuple(dict.fromkeys(e.target for e in self.edges if e.source == source))

    def ends_review(self, edge: Edge) -> bool:
        """Whether the edge moves a task from review to done. The author of the task cannot take it."""
        return self.phase(edge.source) == "review" and self.phase(edge.target) == "done"

    def is_verdict(self, edge: Edge) -> bool:
        """Whether the edge judges what the author submitted."""
        return edge.verb in _VERDICTS or self.ends_review(edge)

    def judges(self, verb: str) -> bool:
        """Whether the verb gives a verdict on a task in review."""
        return any(e.verb == verb and self.phase(e.source) == "review" and self.is_verdict(e) for e in self.edges)

    def in_review(self, state: str) -> bool:
        """Whether a task in this state is in review. No, if another version of the lifecycle had the state."""
        return any(s.name == state and s.phase == "review" for s in self.states)

    def verdicts(self, source: str) -> tuple[Edge, ...]:
        """The verdicts on a task in this state; none if it is not in review."""
        edges = self.edges if self.in_review(source) else ()
        return tuple(edge for edge in edges if edge.source == source and self.is_verdict(edge))

    @property
    def retried(self) -> tuple[str, ...]:
        """The states of rejected tasks that wait until somebody opens them again."""
        after = dict.fromkeys(edge.target for edge in self.edges if edge.verb == "reject")
        return tuple(state for state in after if self.phase(state) == "stopped" and self.targets(state))

    @property
    def names_owners(self) -> bool:
        """Whether one of its edges assigns a task to its owner."""
        return any(edge.holds == "owner" for edge in self.edges)

    def verbs(self, source: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e.verb for e in self.edges if e.source == source))


def _core() -> Lifecycle:
    judge = ("reviewer", "person")
    owner = ("person", "creator")
    ended = ("done", "failed", "cancelled", "dead")
    return Lifecycle(
        name="core",
        states=(
            State("open", "open"),
            State("working", "working"),
            State("review", "review"),
            State("done", "done"),
            State("failed", "stopped"),
            State("cancelled", "stopped"),
            State("dead", "stopped"),
        ),
        edges=(
            Edge("claim", "open", "working", holds="actor"),
            Edge("release", "working", "open", ("holder", "person")),
            Edge("submit", "working", "review", ("holder",)),
            Edge("approve", "review", "done", judge),
            Edge("reject", "review", "open", judge, ("reason",), attempt=1),
            Edge("complete", "working", "done", ("holder",), ("unreviewed",)),
            Edge("fail", "working", "failed", ("holder",), ("reason",)),
            *(Edge("cancel", source, "cancelled", owner, ("reason",)) for source in ("open", "working", "review")),
            *(Edge("reopen", source, "open", ("anyone",), ("reason",), attempt=1) for source in ended),
        ),
        silence="return",
        attempts=3,
        exhausted="dead",
    )


CORE = _core()


def named(lifecycles: Mapping[str, Lifecycle], name: str) -> Lifecycle:
    if name not in lifecycles:
        raise Refused(
            "unknown_lifecycle",
            f"No active pack defines the lifecycle {name!r}.",
            f'Known: {", ".join(lifecycles)}. Activate a pack in moot.toml: packs = ["{name.partition("/")[0]}"].',
            lifecycle=name,
        )
    return lifecycles[name]


def reviewed(life: Lifecycle) -> bool:
    """Whether a task must be reviewed by somebody other than its holder, unless it was added without review."""
    phases = {state.name: state.phase for state in life.states}
    if life.exhausted is not None and phases[life.exhausted] == "done":
        return False  # using up the attempts would be enough
    ends = [edge for edge in life.edges if phases[edge.target] == "done" and "unreviewed" not in edge.needs]
    return bool(ends) and all(
        phases[edge.source] == "review" and not {"anyone", "holder"} & {*edge.who} for edge in ends
    )


def with_receipts(life: Lifecycle) -> Lifecycle:
    """The same lifecycle, but `submit`, `complete` and `approve` require a receipt."""
    proven = {"submit", "complete", "approve"}
    edges = (e.replace(needs=(*e.needs, "receipt")) if e.verb in proven else e for e in life.edges)
    return life.replace(edges=tuple(edges))
