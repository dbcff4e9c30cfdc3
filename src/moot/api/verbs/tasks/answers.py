"""Answers about a task after a commit. A repeat by key also shows the current state."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.core.deciders.task import evolve
from moot.core.kind import meta_of
from moot.core.principal import name_of
from moot.core.task import EVENTS, Task, is_in
from moot.core.text import one_line
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.engine.engine import Outcome


def task_of(outcome: Outcome) -> str | None:
    """The id of the task that a commit changed, from its events."""
    return next((e.stream.partition("/")[2] for e in outcome.events if e.stream.startswith("task/")), None)


def _after(call: Call, outcome: Outcome, name: str) -> Task:
    """The task as the commit left it. A repeat by key may be long ago, so the stream is folded up to that commit."""
    if not outcome.repeated:
        return states.task(call.engine.read(), name)[0]
    task, position = Task(id=name), 0
    while events := [e for e in call.engine.log.read(position, 500, f"task/{name}") if e.position <= outcome.last]:
        for event in events:
            task = evolve(task, EVENTS[event.type].of(event.data), meta_of(event))
        position = events[-1].position
    return task


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
