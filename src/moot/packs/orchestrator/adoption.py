"""Adopts a `queue.json` from before moot was used: its tasks get the states that it records.

Each task gets there by a legal path of moves, and each move is flagged. A task that was started is started first; then
the mailboxes are absorbed, so that an assignment or a report that is still there belongs to it; then the task takes the
rest of its way. A document records that an adoption has begun, so that the next process finishes it after a crash.
"""

from __future__ import annotations

from moot.core.deciders.document import ChangeDocument, OpenDocument
from moot.core.principal import Actor, role
from moot.core.task import MoveTask
from moot.core.task.refusals import verb_to
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.core.lifecycle import Edge, Lifecycle
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.orchestrator.queue_file import QueueForm
    from moot.packs.orchestrator.queue_news import QueueChange

FIRST, RESUMED, ASKED = "first", "resumed", "asked"
_STATE = "/state"
_BEGUN, _DONE = "begun", "done"
_NO_REASON = "rejected before moot was used; no reason was recorded"


def mode_of(form: QueueForm, call: Call, memo: Any) -> str:
    """Why the states that the file records are taken over; empty if they are not.

    first: moot has neither written the file nor used the pack. resumed: an adoption was interrupted. asked: a person
    wants it, because agents went on without moot, or for a file in the wrong place.
    """
    if memo is None and _is_begun(form, call):
        return RESUMED
    if form.spec.pack in call.adopting:
        return ASKED
    used = call.engine.store.row("entity", f"pack/{form.spec.pack}") is not None
    return "" if used or memo is not None else FIRST


def _is_begun(form: QueueForm, call: Call) -> bool:
    leaves = states.state(call.engine.store, "document", _document(form))[0].leaves
    return bool(leaves.get(_STATE) == _BEGUN)


def recorded(change: QueueChange) -> str:
    """The state that an entry records: its status; without one, that of its list."""
    found = change.entry.get("status")
    return found if isinstance(found, str) else "completed" if change.list == "completed" else "pending"


def mark(form: QueueForm, work: Work, *, begun: bool) -> None:
    """Record that an adoption has begun, or is done."""
    name, state = _document(form), _BEGUN if begun else _DONE
    if not work.state("document", name).status:
        work.do("document", name, OpenDocument(mirror=f"{form.spec.pack}/adoption", leaves={}))
    work.do("document", name, ChangeDocument(author="moot", set={_STATE: state}))


def begin(work: Work, task: Task, wanted: str) -> None:
    """Start a task that was started: then the messages about it can be absorbed."""
    life = work.lifecycle(task.lifecycle)
    edge = life.edge("claim", task.state)
    if edge is not None and wanted != task.state and wanted in life.names:
        _take(work, task, edge, None)


def finish(work: Work, task: Task, wanted: str, reason: Any) -> None:
    """Move a task to the state that its file records."""
    life = work.lifecycle(task.lifecycle)
    path = _path(life, task.state, wanted)
    if path is None:
        verb_to(life, task, wanted)  # raises
    for edge in path or ():
        task = work.task(task.id)
        given = reason if isinstance(reason, str) and reason.strip() else _NO_REASON
        _take(work, task, edge, given if edge.verb == "reject" else None)


def _take(work: Work, task: Task, edge: Edge, reason: str | None) -> None:
    actor = Actor(principal=role(edge.who[0]), roles=(edge.who[0],))
    work.do("task", task.id, MoveTask(verb=edge.verb, actor=actor, reason=reason, adopted=True))


def _path(life: Lifecycle, source: str, target: str) -> list[Edge] | None:
    """The shortest way between two states that starts no new attempt; None if there is none."""
    ways: dict[str, list[Edge]] = {source: []}
    waiting = [source]
    while waiting and target not in ways:
        here = waiting.pop(0)
        for edge in life.edges:
            if edge.source == here and edge.target not in ways and not edge.attempt:
                ways[edge.target] = [*ways[here], edge]
                waiting.append(edge.target)
    return ways.get(target)


def _document(form: QueueForm) -> str:
    return f"{form.spec.pack}.-.adoption"
