"""Checkpoints: a task waits for the user until a person answers.

A checkpoint is one of moot (`k-…`) about the task, so `moot checkpoints`, `moot needs-me` and `moot checkpoint resolve`
work on it. Its answer is shown as `checkpoint:resolved`.
"""

from __future__ import annotations

from moot.core.deciders.checkpoint import OPTION_LIMIT, ReachCheckpoint, ResolveCheckpoint
from moot.core.errors import Held, Refused, Unknown
from moot.core.principal import Actor, label
from moot.core.text import command_line
from moot.packs.gsd import tasks
from moot.packs.gsd.telling import FEED, ORCHESTRATORS, plan_principal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.core.deciders.checkpoint import Checkpoint
    from moot.packs.gsd.telling import Telling

LIST = tasks.CHECKPOINTS


def present(telling: Telling) -> None:
    """`orchestrator`: put the checkpoint before the user, and tell the orchestrating agent.

    A checkpoint that moot's own verb has reached is before the user already.
    """
    work, event = telling.work, telling.event
    own = "checkpoint" in telling.keys
    identity = telling.keys["checkpoint"][0] if own else f"k-{work.token(7)}"
    if not own:
        command = ReachCheckpoint(
            who=_who(telling),
            kind=event["checkpointType"],
            question=event["awaiting"],
            awaiting=event["awaiting"],
            options=_options(event.get("options")),
            task=telling.task,
        )
        work.do("checkpoint", identity, command, pack=FEED)
        about = f"{event['plan']} task {event['task']} ({event['checkpointType']})"
        text = f"{identity}: {about} awaits: {event['awaiting']}"
        telling.tell((ORCHESTRATORS,), text, thread=identity, task=telling.task)
    if "task" in event:
        row = {"id": identity, "plan": event["plan"], "task": event["task"], "number": telling.number}
        telling.put(LIST, telling.task, row)
        tasks.release(telling)  # a completion of the task no longer counts


def decide(telling: Telling) -> bool:
    """Make sure that the task exists. True if the same checkpoint is open already."""
    tasks.ensure(telling, _who(telling))
    said = telling.event["checkpointType"], telling.event["awaiting"]
    same = next((state for state in _open(telling) if (state.kind, state.awaiting) == said), None)
    if same is None:
        return False
    telling.flag(f"repeat: {same.id} already awaits the same")
    return True


def _open(telling: Telling) -> list[Checkpoint]:
    """The open checkpoints of the task that the event names, oldest first."""
    return [telling.work.state("checkpoint", name) for name in tasks.open_checkpoints(telling)]


def _who(telling: Telling) -> str:
    if not telling.from_file:
        return telling.by
    row = telling.rows.get(tasks.LIST, telling.task)
    return str(row["instance"]) if row is not None else plan_principal(telling.event["plan"])


def _options(value: Any) -> tuple[str, ...]:
    """The options of the event, if a person can choose among them."""
    texts = [one.strip() for one in value] if isinstance(value, list) and all(isinstance(v, str) for v in value) else []
    unique = len({one.casefold() for one in texts}) == len(texts)
    return tuple(texts) if unique and all(texts) and len(texts) <= OPTION_LIMIT else ()


def check_person(telling: Telling) -> None:
    """Refuse an answer that does not come from a person. moot cannot know who wrote to a file."""
    if telling.from_file or not Actor(principal=telling.by).person:
        who = "an entry in a file can be anybody's" if telling.from_file else f"{label(telling.by)} is an agent"
        raise Refused(
            "people_only",
            f"Only a person can answer a checkpoint; {who}.",
            f"Leave it to a person: `{command_line('checkpoint resolve', 'ID', 'ANSWER')}`.",
            task=telling.task,
        )


def resolve(telling: Telling) -> None:
    """Record the answer that a person gave. Raises if there is nothing to answer."""
    row, still = telling.rows.get(LIST, telling.task), _open(telling)
    event = telling.event
    last: Checkpoint | None = telling.work.state("checkpoint", row["id"]) if row else None
    state = still[-1] if still else last
    if state is None:
        raise Unknown(
            "unknown_checkpoint",
            f"Task {event['task']} of plan {event['plan']} has no checkpoint.",
            "`moot checkpoints` lists the open ones.",
            task=telling.task,
        )
    if not state.open:
        raise Held(
            "checkpoint_resolved",
            f"{state.id} was answered by {state.resolved_by}: {state.answer}",
            "Only the first answer counts.",
            checkpoint=state.id,
            by=state.resolved_by,
            answer=state.answer,
            at=state.ended_at,
        )
    answer = ResolveCheckpoint(actor=Actor(principal=telling.by), answer=event["answer"], text=event.get("text", ""))
    telling.work.do("checkpoint", state.id, answer, pack=FEED)
    telling.event = answered(telling.work.state("checkpoint", state.id), event)


def answered(state: Checkpoint, event: dict[str, Any]) -> dict[str, Any]:
    """`checkpoint:resolved` as the blackboard shows it."""
    said = {
        "checkpointType": state.kind,
        "checkpoint": state.id,
        "answer": state.answer,
        "answeredBy": state.resolved_by,
    }
    found = {**event, **said, **({"text": state.text} if state.text else {})}
    stamp = found.pop("timestamp")
    return {**found, "timestamp": stamp}


def tell_waiting(telling: Telling, state: Checkpoint) -> None:
    """Tell an agent that is known only from files that its checkpoint is answered."""
    if state.who.startswith("plan:"):
        text = f"{state.id} is answered: {state.answer}{f' ({state.text})' if state.text else ''}"
        telling.tell((state.who,), text, thread=state.id, task=state.task)
