"""Whoever works on what a decision concerns is told of it: holders of tasks and of claims, now or when they begin.

Nobody is told twice of the same decision. On a log that several machines share, a claim and a decision of the same
moment can miss each other; `moot decisions --affecting` never does.
"""

from __future__ import annotations

from moot.core.claims import Claimed
from moot.core.deciders.decision import DecisionMade, DecisionSuperseded, names
from moot.core.paths import compiled, meet
from moot.core.principal import same_agent
from moot.core.reactions.notices import notice
from moot.core.task import Moved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.core.deciders.decision import Decision
    from moot.core.payload import Payload
    from moot.core.reactions import Step, World


def decisions(key: str, happened: Payload, world: World) -> Iterator[Step]:
    """Those who are at work are told."""
    state: Decision = world.state("decision", key)
    if isinstance(happened, DecisionMade):
        yield from _told(world, state, affected(state, world))
    elif isinstance(happened, DecisionSuperseded):
        successor: Decision = world.state("decision", happened.by)
        # Whoever the new one concerns as well hears of it by that one, if it was made to take this one's place.
        knows = set(affected(successor, world)) if successor.replaces == key else set()
        concerned = [w for w in affected(state, world) if not same_agent(w, happened.who) and w not in knows]
        text = f"{key} ({state.title}) does not hold any more; {happened.by} takes its place: {successor.title}"
        yield from notice(world, "decision", concerned, happened.who, text, thread=key)


def reminders(key: str, happened: Payload, world: World) -> Iterator[Step]:
    """Who begins a task, or claims files, is told of the decisions that stand about them."""
    for decision in world.standing_decisions():
        if isinstance(happened, Moved) and names(decision.affects, key):
            yield from _told(world, decision, (happened.holder or "",))
        elif isinstance(happened, Claimed) and touches(decision, happened.paths):
            yield from _told(world, decision, (happened.holder,))


def _told(world: World, decision: Decision, who: Iterable[str]) -> Iterator[Step]:
    before = world.told(decision.id)
    new = [
        principal
        for principal in who
        if not same_agent(principal, decision.maker) and (world.mailbox_of(principal) or "").lower() not in before
    ]
    instead = f", in place of {decision.replaces}" if decision.replaces else ""
    about = f"{decision.id}{instead}, concerns {', '.join((*decision.affects, *decision.paths))}"
    text = "\n\n".join(part for part in (decision.title, decision.rationale, about) if part)
    yield from notice(world, "decision", new, decision.maker, text, thread=decision.id)


def affected(decision: Decision, world: World) -> list[str]:
    """The principals that hold what it concerns, each once."""
    found = [world.task(name).holder for name in world.held_tasks() if names(decision.affects, name)]
    if decision.paths:
        found += [claim.holder for claim in world.claims().live.values() if touches(decision, claim.paths)]
    return list(dict.fromkeys(who for who in found if who is not None))


def touches(decision: Decision, paths: Iterable[str]) -> bool:
    """Whether a path fits both one of these patterns and one of the decision's."""
    own = [compiled(path, fold=decision.fold) for path in decision.paths]
    others = [compiled(path, fold=decision.fold) for path in paths] if own else []
    return any(meet(one, other) is not None for one in own for other in others)
