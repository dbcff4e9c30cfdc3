"""Seats: which runs may work now. Takes back those of processes that have ended, and records what they left undone.

The permit `stages` is one for the whole workspace (`moot.core.deciders.permit`). A run holds a seat from before its
first stage until it ends.
"""

from __future__ import annotations

from moot.core.deciders.permit import STAGES, ReturnPermit
from moot.core.deciders.run import INTERRUPTED, EndRun, EndStage
from moot.core.errors import Held
from moot.core.text import command_line
from moot.place.locks import bury, is_alive
from moot.runs import documents
from moot.runs.steps import AwaitedRun
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from moot.core.deciders.permit import Permit, Seat
    from moot.core.run import Run
    from moot.runs.site import Site
    from moot.runs.stage import PipelinePack

_ROUND = 0.25  # seconds between looks whether the processes of others still live
DIED = "its process ended without recording the end of the stage"


def permit(site: Site) -> Permit:
    found: Permit = states.state(site.engine.read(), "permit", STAGES)[0]
    return found


def thing(target: str) -> str:
    """The name under which a run wants its target."""
    return f"target:{target}"


def holder(permit: Permit, target: str) -> Seat | None:
    """The seat of a run that works on a target, or waits for it."""
    return next((seat for seat in permit.seats if thing(target) in seat.wants), None)


def command_name(driver: str, run: str) -> str:
    """The name of the lock of the commands of a run (`moot.place.locks.CommandLock`)."""
    return f"{driver}.{run}"


def settle_dead(site: Site) -> None:
    """Record the end of every run whose process has ended, and take back its seat."""
    for run in list(queries.things(site.engine.read(), "run")):
        if run.driver and not is_alive(site.place.state, run.driver):
            _settle(site, run)


def _settle(site: Site, run: Run) -> None:
    """Record that a run was interrupted, because its process has ended, after its command was ended, too."""
    bury(site.place.state, run.driver, command_name(run.driver, run.id))
    pack = next((one for one in site.packs if one.name == run.pack), None)

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
        at = last.stage if last is not None else "".join(now.stages[now.passed : now.passed + 1])
        work.do("run", run.id, EndRun(INTERRUPTED, reason=DIED, at=at), pack=run.pack)
        work.do("permit", STAGES, ReturnPermit(run.id, DIED), pack=run.pack)

    site.commit(act)


def unmark(work: Any, pack: PipelinePack, document: str, stage: str) -> None:
    """Take the marker of a stage back, which its command may have set in the file."""
    found = next((one for one in pack.stages if one.name == stage), None)
    state = work.state("document", document)
    if found is None or not state.status:
        return
    change = documents.DocumentChange(stage, *documents.unmarked([found]))
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


def awaited(site: Site, seat: Seat) -> AwaitedRun:
    """Who has a seat: which run, what it does, since when, and in which process."""
    run: Run = states.state(site.engine.read(), "run", seat.run)[0]
    last = run.running
    stage, since = (last.stage, last.at) if last is not None else ("", seat.at)
    return AwaitedRun(run.id, run.title or run.target, stage, since, run.pid)


def waited(site: Site, run: str, check: Callable[[], None]) -> Iterator[tuple[Seat, ...]]:
    """Wait until a run holds its seat. Yields those that it waits for, again and again. `check` may raise."""
    while True:
        settle_dead(site)
        now = permit(site)
        mine = now.seat(run)
        if mine is None or mine.held:
            return
        yield now.in_the_way(run)
        check()
        listen(site)


def listen(site: Site) -> None:
    """Wait for something to happen in the log, or for a short while."""
    for _ in site.engine.log.follow(site.engine.log.head(), timeout=_ROUND):
        return
