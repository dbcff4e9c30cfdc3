"""decide, decision supersede, decision show, decisions: decisions and the agents they affect."""

from __future__ import annotations

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import KEY, Param, Verb
from moot.api.verbs.claims import readings
from moot.core.deciders.decision import (
    Decision,
    DecisionMade,
    MakeDecision,
    SupersedeDecision,
    names,
    standing,
    unknown,
)
from moot.core.deciders.message import Sent
from moot.core.errors import Refused, Usage
from moot.core.ids import chosen
from moot.core.paths import canonical_pattern, lenient_pattern
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import fence, one_line
from moot.engine.clock import local
from moot.place import ignore_case, resolve
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.engine.engine import Outcome
    from moot.engine.unit_of_work import Work


class DecisionResult(Record):
    """A decision after a change, and the agents that were notified."""

    decision: Decision
    told: tuple[str, ...]
    position: int
    repeated: bool = False


def decide(
    call: Call,
    title: str,
    rationale: str | None,
    affects: tuple[str, ...],
    path: tuple[str, ...],
    task: str | None,
    replaces: str | None,
    id: str | None,  # noqa: A002
) -> Answer:
    patterns = tuple(dict.fromkeys(pattern for one in path for pattern in _patterns(call, one)))
    concerned = tuple(dict.fromkeys(_name(one) for one in affects))
    identity = chosen(id, "decision") if id is not None else f"d-{call.clock.token(7)}"
    fold = bool(patterns) and ignore_case(call.place)

    def act(work: Work) -> None:
        actor = call.actor(work)
        if task is not None:
            work.known_task(task)
        command = MakeDecision(
            maker=actor.principal,
            title=title.strip(),
            rationale=rationale or "",
            affects=concerned,
            paths=patterns,
            fold=fold,
            task=task,
            replaces=replaces,
        )
        work.do("decision", identity, command)
        if replaces is not None:
            work.do("decision", replaces, SupersedeDecision(by=identity, who=actor.principal))

    outcome = call.commit(act)
    made = next((e.stream.partition("/")[2] for e in outcome.events if e.type == DecisionMade.type), identity)
    for name in concerned:
        if "*" not in name and not states.task(call.engine.read(), name)[0].exists:
            call.warn("affects_unknown", f"{one_line(name, 80)} is not a task; the decision is found under that name.")
    return _told(call, outcome, made, "stands")


def supersede(call: Call, id: str, by: str, reason: str | None) -> Answer:  # noqa: A002
    def act(work: Work) -> None:
        actor = call.actor(work)
        if not work.state("decision", id).exists:
            raise unknown(id)
        standing(work.state("decision", by))
        work.do("decision", id, SupersedeDecision(by=by, who=actor.principal, reason=reason or ""))

    return _told(call, call.commit(act), id, f"is superseded by {by}")


def _told(call: Call, outcome: Outcome, identity: str, said: str) -> Answer:
    told = tuple(dict.fromkeys(box for e in outcome.events if e.type == Sent.type for box in e.data["to"]))
    state: Decision = states.state(call.engine.read(), "decision", identity)[0]
    line = f"{identity} {said}" + (f"; notified: {', '.join(told)}" if told else "; no agent is affected now")
    result = DecisionResult(decision=state, told=told, position=outcome.last, repeated=outcome.repeated)
    return Answer(result=result, say=(one_line(line, 1000),))


def show(call: Call, id: str) -> Answer:  # noqa: A002
    state: Decision = states.state(call.engine.read(), "decision", id)[0]
    if not state.exists:
        raise unknown(id)
    lines = [one_line(f"{state.id} {state.status} by {name_of(state.maker)} at {local(state.at)}", 1000)]
    lines += fence(state.title).splitlines()
    if state.rationale:
        lines += [">", *fence(state.rationale).splitlines()]
    facts = {
        "affects": ", ".join((*state.affects, *state.paths)),
        "task": state.task or "",
        "replaces": state.replaces or "",
        "superseded by": state.superseded_by or "",
    }
    lines += [f"  {name}: {one_line(value, 2000)}" for name, value in facts.items() if value]
    return Answer(result=state, say=tuple(lines))


def decisions(call: Call, affecting: tuple[str, ...], all: bool, limit: int) -> Answer:  # noqa: A002
    found: list[Decision] = list(queries.things(call.engine.read(), "decision", ended=all))
    if affecting:
        found = [decision for decision in found if any(_concerns(call, decision, one) for one in affecting)]
    warn_of_more(call, limit, len(found) - limit, "decision")
    found = found[:limit] if all else found[max(0, len(found) - limit) :]
    rows = tuple(
        (
            d.id,
            d.status,
            one_line(name_of(d.maker), 80),
            one_line(d.title, 100),
            one_line(", ".join((*d.affects, *d.paths)), 200),
        )
        for d in found
    )
    lines = tuple(
        f"{r[0]}{'' if r[1] == 'standing' else f' {r[1]}'} {r[2]}: {r[3]}{f' (affects {r[4]})' if r[4] else ''}"
        for r in rows
    )
    table = Table(("decision", "state", "by", "what", "affects"), rows, title="Decisions") if rows else None
    return Answer(
        result=found,
        say=lines or ("No standing decision affects that." if affecting else "No decisions.",),
        table=table,
    )


def _concerns(call: Call, decision: Decision, what: str) -> bool:
    if names(decision.affects, what):
        return True
    if not decision.paths:
        return False
    from moot.core.reactions.decisions import touches

    try:
        found = [lenient_pattern(reading) for reading in readings(resolve(call.place, call.cwd, what))]
    except Refused:
        return False  # not a valid path in this directory
    return touches(decision, (*found, *(f"{path}/**" for path in found)))  # it may become a directory


def _patterns(call: Call, typed: str) -> list[str]:
    """The patterns that the text stands for, by the rules of `claim`: the name of an existing file is literal."""
    return [canonical_pattern(reading) for reading in readings(resolve(call.place, call.cwd, typed))]


def _name(text: str) -> str:
    if text and text == text.strip() and text.isprintable() and len(text) <= _NAME_LIMIT:
        return text
    raise Usage(
        "bad_name", f"{text[:80]!r} is not a valid name.", "Use one line without surrounding spaces: task-001, '02-*'."
    )


_NAME_LIMIT = 200
_ID = Param("id", "The decision (d-…).", positional=True, required=True)

VERBS = (
    Verb(
        "decide",
        "Record a decision and notify the agents whose work it affects.",
        decide,
        kind="speak",
        params=(
            Param("title", "The decision, in one sentence.", positional=True, required=True),
            Param("rationale", "The reasons.", type="words", limit=65_536),
            Param(
                "affects",
                "A task or plan that it affects; 02-* matches every name with this prefix (repeatable).",
                many=True,
            ),
            Param("path", "Files that it affects: a path, a directory or a glob (repeatable).", many=True),
            Param("task", "The task during which it was made."),
            Param("replaces", "The decision that it replaces.", limit=200),
            Param("id", "Its id (letters, digits, '.', '_', '-'). Default: generated."),
            KEY,
        ),
        examples=(
            "moot decide 'Use jose for JWT' --rationale 'Runs at the edge.' --path 'src/auth/**'",
            "moot decide 'One commit per task' --affects 'task-*'",
        ),
        detail=(
            "Agents that hold an affected task, or a claim on affected files, get it as mail at once. Agents that "
            "start later get it then. `moot decisions --affecting src/auth/jwt.ts` finds it."
        ),
    ),
    Verb(
        "decision supersede",
        "Replace a decision with another one and notify the affected agents.",
        supersede,
        kind="speak",
        params=(
            _ID,
            Param("by", "The decision that replaces it.", required=True, limit=200),
            Param("reason", "Why."),
            KEY,
        ),
        examples=("moot decision supersede d-4k2xw9a --by d-8sk2m1x",),
    ),
    Verb(
        "decision show",
        "Show a decision in full.",
        show,
        kind="look",
        params=(_ID,),
        examples=("moot decision show d-4k2xw9a",),
        writes=False,
    ),
    Verb(
        "decisions",
        "List the decisions in force.",
        decisions,
        kind="look",
        params=(
            Param(
                "affecting", "Only decisions that affect this task, plan or path (repeatable).", many=True, limit=4096
            ),
            Param("all", "Include superseded decisions; newest first.", type="flag"),
            Param("limit", "Maximum number of decisions.", type="int", default=200),
        ),
        examples=("moot decisions", "moot decisions --affecting src/auth/jwt.ts"),
        writes=False,
    ),
)
