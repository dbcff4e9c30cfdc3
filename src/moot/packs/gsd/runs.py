"""Which run of a task an event starts or ends. A run is opened by a start and closed by one ending.

    state of the task       task:started            task:completed          task:failed
    ----------------------  ----------------------  ----------------------  ----------------------
    none, pending           a run begins            a run without a start   a run without a start
    running, same agent     again                   the run ends            the run ends
    running, another agent  double start            the run ends, flagged   the run ends, flagged
    completed               the next run, a rerun   repeat                  a run without a start
    failed                  the next run            a run without a start   repeat

A completion while the task has an open checkpoint is held: the run goes on, and ends with the answer. Until then the
task waits for the user, and a start by the same agent takes the completion back.

Nothing is refused here: what happened is recorded, and flagged where it is odd. Only a double start over a surface is
refused (`moot.packs.gsd.tasks`), because its caller can still do something else.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

STARTED, COMPLETED, FAILED = "task:started", "task:completed", "task:failed"
MOVES = {STARTED: "claim", COMPLETED: "complete", FAILED: "fail"}
RUNNING, HELD = "running", "held"
ENDED = {COMPLETED: "completed", FAILED: "failed"}
AGAIN = "repeat: the last run has already completed, and counts from the answer on"


class RunStep(Record):
    """What an event does to a task. `verb` is empty if the task stays as it is."""

    verb: str = ""
    flags: tuple[str, ...] = ()
    repeat: bool = False  # it counts for nothing, and no handler acts on it
    clash: bool = False  # another agent is running the task
    held: bool = False  # a completion that counts from the answer to an open checkpoint on


def step(state: str, event: str, *, same_agent: bool) -> RunStep:
    """The step for an event of this type. `state`: of the task's lifecycle; empty if there is no task yet."""
    verb = MOVES[event]
    if event == STARTED:
        if state == RUNNING and same_agent:
            return RunStep(flags=("started_again: this run has already started",), repeat=True)
        if state == RUNNING:
            return RunStep(clash=True, repeat=True)
        return RunStep(verb, ("rerun: the task was already completed",) if state == "completed" else ())
    if state == RUNNING:
        return RunStep(verb)
    if state == ENDED[event]:
        return RunStep(flags=(f"repeat: the last run has already {state}",), repeat=True)
    return RunStep(verb, ("no_start: no task:started came before it",))


def held_step(step: RunStep, waiting: Sequence[str]) -> RunStep:
    """The step of a completion while these checkpoints of the task are open."""
    if step.repeat or not waiting:
        return step
    flag = f"open_checkpoint: {', '.join(waiting)} not answered yet; the completion counts from the answer on"
    return step.replace(verb="", flags=(*step.flags, flag), held=True)
