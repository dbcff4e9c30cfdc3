"""What a person should know about runs: those that nobody goes on with, and those that failed."""

from __future__ import annotations

from moot.api.protocol.pack_views import Concern
from moot.core.deciders.run import FAILED
from moot.core.text import command_line, one_line, option
from moot.place.locks import is_alive
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call

_LOOKED_AT = 200  # newest runs


def concerns(call: Call, pack: str) -> Iterator[Concern]:
    """For each unfinished task whose last run stopped in the middle. None while a driver lives."""
    store, seen = call.engine.read(), set[str]()
    newest = [run for run in queries.things(store, "run", _LOOKED_AT, ended=True) if run.pack == pack and run.task]
    if not newest or call.past is not None or is_alive(call.place.state, pack):
        return
    for run in newest:
        if run.task in seen:
            continue
        seen.add(run.task)
        task, _ = states.task(store, run.task)
        if task.attempt != run.attempt or task.phase not in ("open", "working", "review"):
            continue
        stage = run.tries[-1].stage if run.tries else "its first stage"
        if run.open:
            said = f"{run.id} of {task.id} was interrupted in {stage}, and nobody goes on with it."
            yield Concern("run_interrupted", task.id, said, command_line(f"run {pack}"), run.at, who=pack)
        elif run.outcome == FAILED:
            again = command_line(f"run {pack}", options=option("--task", task.id))
            said = one_line(f"{run.id} of {task.id} failed: {run.reason}", 500)
            yield Concern("run_failed", task.id, said, again, run.ended, who=pack)
