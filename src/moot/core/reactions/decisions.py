"""A decision is sent to the holders of the tasks and claims that it affects, now or when they start.

Nobody is notified twice of the same decision. On a log shared by several machines, a claim and a decision made at the
same time can miss each other; `moot decisions --affecting` always shows it.
"""

from __future__ import annotations

from moot.core.claims import Claimed
from moot.core.deciders.decision import DecisionMade, DecisionSuperseded, names
from moot.core.paths import compiled, meet
from moot.core.principal import same_agent
from moot.core.reactions import notice
from moot.core.task import Moved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.core.deciders.decision import Decision
    from moot.core.payload import Payload
    from moot.core.reactions import Step, World


def decisions(key: str, happened: Payload, world: World) -> Iterator[Step]:
    """Notify the current holders."""
    state: Decision = world.state("decision", key)
    if isinstance(happened, DecisionMade):
        yield from _told(world, state, affected(state, world))
    elif isinstance(happened, DecisionSuperseded):
        successor: Decision = world.state("decision", happened.by)
        # Holders that the successor affects as well are notified by it, if it was made to replace this decision.
        knows = set(affected(successor, world)) if successor.replaces == key else set()
        concerned = [w for w in affected(state, world) if not same_agent(w, happened.who) and w not in knows]
        text = f"{key} ({state.title}) was superseded by {happened.by}: {successor.title}"
        yield from notice(world, "decision", concerned, happened.who, text, thread=key)


def reminders(key: str, happened: Payload, world: World) -> Iterator[Step]:
    """Notify an agent that starts a task or claims files of the standing decisions about them."""
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
    """The principals that hold something it affects, without duplicates."""
    found = [world.task(name).holder for name in world.held_tasks() if names(decision.affects, name)]
    if decision.paths:
        found += [claim.holder for claim in world.claims().live.values() if touches(decision, claim.paths)]
    return list(dict.fromkeys(who for who in found if who is not None))


def touches(decision: Decision, paths: Iterable[str]) -> bool:
    """Whether a path can match both one of these patterns and one of the decision's."""
    own = [compiled(path, fold=decision.fold) for path in decision.paths]
    others = [compiled(path, fold=decision.fold) for path in paths] if own else []
    return any(meet(one, other) is not None for one in own for other in others)
