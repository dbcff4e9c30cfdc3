"""The agents that wait at a checkpoint receive the answer as mail, in the same commit."""

from __future__ import annotations

from moot.core.deciders.checkpoint import CheckpointResolved, CheckpointWithdrawn
from moot.core.principal import same_agent
from moot.core.reactions.notices import notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.payload import Payload
    from moot.core.reactions import Step, World


def checkpoints(key: str, happened: Payload, world: World) -> Iterator[Step]:
    if not isinstance(happened, (CheckpointResolved, CheckpointWithdrawn)):
        return
    state: Checkpoint = world.state("checkpoint", key)
    waiting = [state.who]
    if state.task is not None and (holder := world.task(state.task).holder) is not None:
        waiting.append(holder)
    concerned = [who for who in waiting if not same_agent(who, happened.who)]
    if isinstance(happened, CheckpointResolved):
        parts = (happened.answer, happened.text, f"That answers {key}: {state.question}")
    else:
        parts = (f"Withdrawn: {happened.reason}", "", f"That was {key}: {state.question}")
    text = "\n\n".join(part for part in parts if part)
    yield from notice(world, "checkpoint", concerned, happened.who, text, thread=key, task=state.task)
