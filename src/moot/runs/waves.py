"""Runs targets: one, or many as one run, wave after wave, several at once within a wave, up to a limit.

The parent run keeps the plan: which targets are in which wave. A wave starts when all targets of the wave before have
finished, and the pack's gate agrees. If a target fails, no other one starts, unless the caller wants to keep going;
those that are running go on to their end. Targets whose results can all be reused are recorded first, many in one
commit. Each other target runs in a thread with a site of its own.
"""

from __future__ import annotations

import os
import queue
import threading  # noqa: TID253 (this module itself is loaded on demand)
from concurrent.futures import Future, ThreadPoolExecutor  # noqa: TID253

from moot.core.deciders.permit import STAGES
from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED, STOPPED, EndRun, OpenRun, ResumeRun
from moot.core.errors import MootError, Refused
from moot.core.record import Record
from moot.place.locks import Driver
from moot.place.processes import interruptible
from moot.runs import seats
from moot.runs.contract import StageError, StageWaits
from moot.runs.pipeline import TargetRun
from moot.runs.record import REASON, new_id
from moot.runs.steps import INTERRUPTION, PipelineStep, PlannedStage, PlannedTarget
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.core.run import Run
    from moot.runs.contract import Pipeline, Target
    from moot.runs.history import ReusePlan
    from moot.runs.preparation import TargetState
    from moot.runs.site import Site
    from moot.runs.steps import RunOptions

    Gate = Callable[[int, Sequence[PipelineStep]], str]  # after a wave: why not to go on; empty to go on

_ROUND = 0.2  # seconds between looks whether a thread has died
_AT_ONCE = 50  # repeated runs in one commit


class WavePlan(Record):
    """What a pack adds to a run over waves. `parameters`: kept with the parent run. `gate`: decides after each wave."""

    title: str = ""
    parameters: Mapping[str, Any] = {}
    gate: Gate | None = None


def run_targets(
    site: Site,
    pipeline: Pipeline,
    targets: Sequence[Target],
    options: RunOptions,
    plan: WavePlan | None = None,
) -> Iterator[PipelineStep]:
    """Take targets through the stages. The last step is `ended`: of the one target, or of the parent with counts.

    With a plan, or several targets, there is a parent run. With `options.parent`, that run is resumed. A signal that
    asks to stop ends the commands of all threads, too.
    """
    if not targets:
        raise Refused("no_targets", "There is nothing to run.", "Name at least one file.")
    with interruptible(), Driver.of(site.place.state) as driver:
        if len(targets) == 1 and not options.parent and plan is None:
            repeated = list(_repeated(site, pipeline, targets, options, driver))
            yield from repeated or TargetRun(site, pipeline, targets[0], options, driver).steps()
            return
        seats.settle_dead(site)
        plan = plan or WavePlan()
        parent = _opened(site, pipeline, targets, options, driver, plan)
        many = _Waves(site, pipeline, options.replace(parent=parent, resume=bool(options.parent) or options.resume))
        yield PipelineStep("opened", parent, title=plan.title, text=f"{len(targets)} targets")
        outcome, reason, at = INTERRUPTED, INTERRUPTION, ""
        try:
            outcome, reason, at = yield from many.all(targets, driver, plan.gate)
        finally:
            end = EndRun(outcome, reason=reason[:REASON], at=at, counts=dict(many.counts), warnings=many.warnings)
            site.commit(lambda work: work.do("run", parent, end, pack=pipeline.pack.name))
        run: Run = states.state(site.engine.read(), "run", parent)[0]
        about: dict[str, Any] = {"title": plan.title, "outcome": outcome, "counts": dict(many.counts)}
        yield PipelineStep("ended", parent, text=run.ending, **about)


def planned(site: Site, pipeline: Pipeline, target: Target, options: RunOptions) -> PlannedTarget:
    """What would happen to a target now. Starts and records nothing."""
    run = TargetRun(site, pipeline, target, options, Driver(site.place.state))
    run.remember()
    plan = run.plan(run.stages, run.preparation.look())
    found = [PlannedStage(stage.name, reused=True) for stage in run.stages[: len(plan.kept)]]
    rest = run.stages[len(plan.kept) :]
    for number, stage in enumerate(rest):
        command = run.preparation.command(stage)
        reason = f"if {rest[0].name} passes" if number else plan.reason
        found.append(PlannedStage(stage.name, reused=False, reason=reason, command=command.run if command else ()))
    return PlannedTarget(target=target.id, title=target.said, stages=tuple(found))


def _opened(
    site: Site, pipeline: Pipeline, targets: Sequence[Target], options: RunOptions, driver: Driver, plan: WavePlan
) -> str:
    by: dict[str, Any] = {"pid": os.getpid(), "driver": driver.token}
    pack, name = pipeline.pack.name, options.parent or ""
    numbers = sorted({target.wave for target in targets})
    waves = tuple(tuple(one.id for one in targets if one.wave == number) for number in numbers)

    def act(work: Any) -> None:
        nonlocal name
        if options.parent:
            work.do("run", name, ResumeRun(**by), pack=pack)
        else:
            name = new_id(work)
            opening = OpenRun(pack=pack, waves=waves, title=plan.title, parameters=dict(plan.parameters), **by)
            work.do("run", name, opening, pack=pack)

    site.commit(act)
    return name


def _repeated(
    site: Site, pipeline: Pipeline, targets: Sequence[Target], options: RunOptions, driver: Driver
) -> Iterator[PipelineStep]:
    """Record the runs that reuse everything, many in one commit."""
    for start in range(0, len(targets), _AT_ONCE):
        runs = [TargetRun(site, pipeline, one, options, driver) for one in targets[start : start + _AT_ONCE]]
        found = [one for one in map(_repeatable, runs) if one is not None]
        recorded: list[tuple[TargetRun, ReusePlan, TargetState]] = []

        def act(work: Any, found: Any = tuple(found), recorded: Any = recorded) -> None:
            idle = not work.state("permit", STAGES).seats
            recorded[:] = [
                one
                for one in found
                if idle and one[0].record.repeat(work, one[0].history.current, options, one[1], one[2])
            ]

        if found:
            site.commit(act, [question for run, _, _ in found for question in run.record.asks()])
        for run, plan, _ in recorded:
            yield run.opened()
            yield from run.told_reused(run.stages, plan)
            yield run.ended()


def _repeatable(run: TargetRun) -> tuple[TargetRun, ReusePlan, TargetState] | None:
    """A run that would reuse everything."""
    ref, options = run.target.document, run.options
    if options.only or options.until or options.again:
        return None
    run.remember()
    if len(run.history.earlier) < len(run.stages) or (ref is not None and not run.site.shown(ref.key)):
        return None
    try:
        now = run.preparation.look()
        plan = run.plan(run.stages, now)
    except (StageError, StageWaits):
        return None  # it is found again, and recorded
    return (run, plan, now) if len(plan.kept) == len(run.pack.stages) else None


class _Waves:
    """The targets of one parent run, while they run."""

    def __init__(self, site: Site, pipeline: Pipeline, options: RunOptions) -> None:
        self._site, self._pipeline, self._options = site, pipeline, options
        self._told: queue.Queue[PipelineStep | Future[None]] = queue.Queue()
        self._cancelled = threading.Event()
        self._failed = threading.Event()
        self.counts: dict[str, int] = {}
        self.warnings = 0

    def all(self, targets: Sequence[Target], driver: Driver, gate: Gate | None) -> Any:
        """Yields steps, and returns the outcome, the reason, and the wave where it stopped."""
        for number in sorted({target.wave for target in targets}):
            wave = [target for target in targets if target.wave == number]
            ended = []
            for step in self._steps(wave, driver):
                yield step
                if step.what == "ended":
                    self.counts[step.outcome] = self.counts.get(step.outcome, 0) + 1
                    ended.append(step)
                elif step.what in ("passed", "skipped", "reused"):
                    self.warnings += len(step.warnings)
            bad = [step for step in ended if step.outcome != PASSED]
            if bad and not self._options.keep_going:
                stopped = all(step.outcome == STOPPED for step in bad)
                return (STOPPED if stopped else FAILED), f"{bad[0].title}: {bad[0].text}", f"wave {number}"
            if gate is not None and (why := gate(number, ended)):
                return STOPPED, why, f"wave {number}"
        return (FAILED if set(self.counts) - {PASSED} else PASSED), "", ""

    def _steps(self, wave: Sequence[Target], driver: Driver) -> Iterator[PipelineStep]:
        """First the targets that reuse everything, then the others, as many at once as the limit allows."""
        done = set()
        for step in _repeated(self._site, self._pipeline, wave, self._options, driver):
            done.add(step.target)
            yield step
        with ThreadPoolExecutor(max(1, self._options.limit)) as pool:
            threads = [pool.submit(self._worked, target) for target in wave if target.id not in done]
            for thread in threads:
                thread.add_done_callback(self._told.put)
            left = len(threads)
            try:
                while left:
                    try:
                        told = self._told.get(timeout=_ROUND)  # in short rounds, so that an interrupt is noticed
                    except queue.Empty:
                        continue
                    if isinstance(told, PipelineStep):
                        yield told
                    else:
                        told.result()
                        left -= 1
            except BaseException:
                self._cancelled.set()
                raise

    def _worked(self, target: Target) -> None:
        """Run one target with a site of its own. One that cannot begin counts as failed."""
        if self._cancelled.is_set() or (self._failed.is_set() and not self._options.keep_going):
            return
        state = self._site.place.state
        with self._site.fork() as own, Driver.of(state) as driver:
            try:
                cancel = self._cancelled.is_set
                for step in TargetRun(own, self._pipeline, target, self._options, driver, cancel).steps():
                    self._told.put(step)
                    if step.what == "ended" and step.outcome != PASSED:
                        self._failed.set()
            except KeyboardInterrupt:
                self._told.put(PipelineStep("ended", "", target.id, title=target.said, outcome=INTERRUPTED))
            except MootError as error:
                self._failed.set()
                about: dict[str, Any] = {"title": target.said, "wave": target.wave, "suggestion": error.remedy}
                self._told.put(PipelineStep("ended", "", target.id, text=error.message, outcome=FAILED, **about))
