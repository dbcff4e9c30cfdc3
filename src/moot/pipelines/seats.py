"""Seats: which runs may work now. Takes back those of processes that have ended, and records what they left undone.

The permit `stages` is one for the whole workspace (`moot.core.deciders.permit`). A run holds a seat from before its
first stage until it ends.
"""

from __future__ import annotations

from moot.core.deciders.permit import STAGES, ReturnPermit
from moot.core.deciders.run import INTERRUPTED, EndRun, EndStage
from moot.core.errors import Held
from moot.core.text import command_line
from moot.pipelines import documents
from moot.place.locks import bury, is_alive
from moot.runs.steps import AwaitedRun
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.permit import Permit, Seat
    from moot.core.run import Run

_ROUND = 0.25  # seconds between looks whether the processes of others still live
DIED = "its process ended without recording the end of the stage"


def permit(call: Call) -> Permit:
    found: Permit = states.state(call.engine.read(), "permit", STAGES)[0]
    return found


def thing(target: str) -> str:
    """The name under which a run wants its target."""
    return f"target:{target}"


def settle_dead(call: Call, target: str = "") -> list[str]:
    """Record the end of every run, or of those of a target, whose process has ended. Returns their ids."""
    state = call.place.state
    open_ones = [run for run in queries.things(call.engine.read(), "run") if target in ("", run.target)]
    dead = [run for run in open_ones if is_abandoned(state, run)]
    for run in dead:
        settle(call, run)
    for seat in permit(call).seats:
        if not is_alive(state, seat.driver):
            _free(call, seat.run)
    return [run.id for run in dead]


def _free(call: Call, run: str) -> None:
    call.commit(lambda work: work.do("permit", STAGES, ReturnPermit(run, DIED)))


def is_abandoned(state: str, run: Run) -> bool:
    """Whether a run is open, but the process that works on it has ended."""
    return run.open and bool(run.driver) and not is_alive(state, run.driver)


def settle(call: Call, run: Run) -> None:
    """Record that a run was interrupted, because its process has ended. Its target is free afterwards."""
    bury(call.place.state, run.driver, f"{run.driver}.{run.id}")
    pack = next((one for one in call.packs.packs if one.name == run.pack), None)

    def act(work: Any) -> None:
        now: Run = work.state("run", run.id)
        if not now.open or now.driver != run.driver:
            return  # somebody else was faster
        last = now.running
        if last is not None:
            end = EndStage(last.stage, last.attempt, DIED, how=INTERRUPTED, crashed=True)
            work.do("run", run.id, end, pack=run.pack)
            if pack is not None and now.document:
                unmark(work, pack, now.document, last.stage)
        at = last.stage if last is not None else next_stage(now)
        work.do("run", run.id, EndRun(INTERRUPTED, reason=DIED, at=at), pack=run.pack)
        work.do("permit", STAGES, ReturnPermit(run.id, DIED), pack=run.pack)

    call.commit(act)


def next_stage(run: Run) -> str:
    """The stage that an open run without a running one would have started; empty if it has none left."""
    return run.stages[run.passed] if run.passed < len(run.stages) else ""


def unmark(work: Any, pack: Any, document: str, stage: str) -> None:
    """Take the marker of a stage back, which its command may have set in the file."""
    found = next((one for one in pack.stages if one.name == stage), None)
    state = work.state("document", document)
    if found is None or not state.status:
        return
    values, removed = documents.unmarked([found])
    known = {at: value for at, value in values.items() if at in state.leaves}
    change = documents.DocumentChange(author=stage, values=known, removed=removed)
    for command in documents.commands(pack, documents.ref_of(state), state, [change]):
        work.do("document", document, command)


def busy(run: Run, seat: Seat) -> Held:
    """The error for a target that another process works on, with this run."""
    last = run.running
    at = f"its stage {last.stage} is running since {last.at}" if last is not None else "its run waits for its turn"
    return Held(
        "target_busy",
        f"{run.title or run.target} is being worked on by {run.id}: {at}.",
        f"Wait until it has ended: `{command_line('run status', run.id)}`.",
        run=run.id,
        stage=last.stage if last is not None else None,
        since=last.at if last is not None else seat.at,
    )


def awaited(call: Call, seat: Seat) -> AwaitedRun:
    """Who has a seat: which run, what it does, since when, and in which process."""
    run: Run = states.state(call.engine.read(), "run", seat.run)[0]
    last = run.running
    title = run.title or run.target
    if last is None:
        return AwaitedRun(run.id, title, since=seat.at, pid=run.pid)
    return AwaitedRun(run.id, title, last.stage, last.at, run.pid)


def waited(call: Call, run: str, check: Callable[[], None]) -> Iterator[tuple[Seat, ...]]:
    """Wait until a run holds its seat. Yields those that it waits for, whenever they change. `check` may raise."""
    shown: tuple[Seat, ...] | None = None
    while True:
        now = permit(call)
        mine = now.seat(run)
        if mine is None or mine.held:
            return
        before = now.in_the_way(run)
        dead = [seat for seat in before if not is_alive(call.place.state, seat.driver)]
        if dead:
            settle_dead(call)
            continue
        if before != shown:
            shown = before
            yield before
        check()
        listen(call)


def listen(call: Call) -> None:
    """Wait for something to happen in the log, or for a short while."""
    head = call.engine.log.head()
    for _ in call.engine.log.follow(head, timeout=_ROUND):
        return
