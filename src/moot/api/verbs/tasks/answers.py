"""Answers about a task after a commit. A repeat by key also shows the current state."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.core.claims import Released
from moot.core.kind import kind_of, meta_of
from moot.core.principal import name_of
from moot.core.task import Task, is_in
from moot.core.text import one_line
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.core.claims import Claim
    from moot.engine.engine import Outcome


class MovedTask(Task):
    """A task after a move.

    released: the paths whose claims ended with the task, or because it has a new holder. still_held: paths that its
    author still has claimed. again: it was the caller's already, perhaps by another thread of the same agent.
    """

    released: tuple[str, ...] = ()
    still_held: tuple[str, ...] = ()
    again: bool = False


def task_of(outcome: Outcome) -> str | None:
    """The id of the task that a commit changed, from its events."""
    return next((e.stream.partition("/")[2] for e in outcome.events if e.stream.startswith("task/")), None)


def _after(call: Call, outcome: Outcome, name: str) -> Task:
    """The task as the commit left it. A repeat by key may be long ago, so the stream is folded up to that commit."""
    if not outcome.repeated:
        store = call.engine.read() if outcome.behind else call.engine.peek()  # the commit has written the views
        return states.task(store, name)[0]
    task: Task = _state_after(call, outcome, "task", name)
    return task


def _state_after(call: Call, outcome: Outcome, kind: str, name: str = "") -> Any:
    """The state of an entity as the commit left it, folded from its stream."""
    known = kind_of(kind)
    state, position = known.new(name), 0
    while events := [e for e in call.engine.log.read(position, 500, known.stream(name)) if e.position <= outcome.last]:
        for event in events:
            state = known.evolve(state, known.events[event.type].of(event.data), meta_of(event))
        position = events[-1].position
    return state


def told(call: Call, outcome: Outcome, name: str, what: str, *, moved: bool = False) -> Answer:
    task = _after(call, outcome, name)
    said = f"{task.id} {is_in(task.state) if what == 'is' else what}"
    if moved and task.holder:
        said += f" (attempt {task.attempt}, token {task.token})"
    lines = [f"{said}: {one_line(task.title, 80)}"]
    if outcome.repeated:  # the answer is the first one; the state may have changed since
        now = states.task(call.engine.read(), name)[0]
        lines.append(f"repeated with the same key; now it {is_in(now.state)} {name_of(now.holder or '')}".rstrip())
    if task.waits:
        lines.append(f"waits for {', '.join(task.waits)}")
    if moved and task.phase == "working":
        lines += [f"attempt {s.attempt}: {one_line(s.reason or '', 200)}" for s in task.setbacks]
    return Answer(result=task, say=tuple(lines))


def with_files(call: Call, outcome: Outcome, answer: Answer) -> Answer:
    """The answer about a move, with the claims that ended by it, and with those that its author keeps for now."""
    task: Task = answer.result
    ended = [event.data for event in outcome.events if event.type == Released.type]
    gone = [path for data in ended for path in data["paths"]]
    kept = _claims_of(call, outcome, task) if task.phase == "review" else []
    lines = [f"released {', '.join(gone)}"] if gone else []
    if gone and task.phase == "working":
        lines = [f"{lines[0]}, claimed for it by {', '.join(dict.fromkeys(name_of(d['holder']) for d in ended))}"]
    for claim in kept:
        until = "released when the task is done" if claim.task == task.id else "until you release it"
        lines.append(f"still held: {', '.join(claim.paths)} ({claim.id}), {until}")
    held = tuple(path for claim in kept for path in claim.paths)
    result = MovedTask(**task.__dict__, released=tuple(gone), still_held=held)
    return answer.replace(result=result, say=(*answer.say, *lines))


def _claims_of(call: Call, outcome: Outcome, task: Task) -> list[Claim]:
    """The claims of the task's author for this task and for no task in particular, as the commit left them."""
    state = _state_after(call, outcome, "claims") if outcome.repeated else states.claims(call.engine.read())[0]
    return [claim for claim in state.live.values() if claim.holder == task.author and claim.task in (None, task.id)]
