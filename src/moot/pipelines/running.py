"""Takes one target through the stages of its pipeline, in order.

    opened → (waiting for a seat) → for each stage: reused, or ready → started → passed | skipped | failed → ended

The rules, for every pipeline:
- The first stage that fails ends the run. Nothing is tried again unless somebody asks.
- Stages whose results can be reused are not run (`reuse`); everything else runs on the files as they are.
- A run that is interrupted says so, if it still can. If the process is killed, the next one records it (`seats`).

What is written into the log, and in which commits, is in `recording`.
"""

from __future__ import annotations

from moot.core.deciders.run import BEHIND, FAILED, PASSED, STOPPED, of_target
from moot.core.errors import Refused, Unavailable
from moot.pipelines import document_care, estimates, reuse, seats, step_keys
from moot.pipelines.contract import StageError, StageWaits
from moot.pipelines.driver import CommandLock, Driver, is_alive
from moot.pipelines.performing import Performance, Programs, perform
from moot.pipelines.preparing import Preparation, Unmet, too_early
from moot.pipelines.recording import RunRecord
from moot.pipelines.steps import PipelineStep
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.stage import Stage
    from moot.core.run import Run, StageTry
    from moot.pipelines.contract import Pipeline, Target
    from moot.pipelines.performing import StageWork
    from moot.pipelines.preparing import Prepared, TargetState
    from moot.pipelines.reuse import Earlier, Reuse
    from moot.pipelines.steps import RunOptions

_RUNS = 50  # earlier runs of a target that are looked at
_TRIES = 5  # how often a start is prepared again because something changed


def runs_of(call: Call, target: str) -> list[Run]:
    """The runs of a target, newest first."""
    store = call.engine.read()
    names = [name for kind, name in queries.things_of_task(store, of_target(target) or "") if kind == "run"]
    return [states.state(store, "run", name)[0] for name in reversed(names[-_RUNS:])]


def run_target(
    call: Call,
    pipeline: Pipeline,
    target: Target,
    options: RunOptions,
    cancel: Callable[[], bool] | None = None,
) -> Iterator[PipelineStep]:
    """Take a target through its stages. The last step is `ended`, with the outcome.

    Raises, before anything is written, if it cannot begin: `Held` while another process works on the target, `Refused`
    if `only` names a stage whose predecessor has not passed. `cancel` is asked now and then whether to stop.
    """
    from moot.processes.interrupts import interruptible

    with interruptible(), Driver.of(call.place.state) as driver:
        yield from TargetRun(call, pipeline, target, options, driver, cancel).steps()


class TargetRun:
    """One run of one target, in this process."""

    def __init__(
        self,
        call: Call,
        pipeline: Pipeline,
        target: Target,
        options: RunOptions,
        driver: Driver,
        cancel: Callable[[], bool] | None,
    ) -> None:
        self.call, self.pipeline, self.target, self.options = call, pipeline, target, options
        self._driver, self._cancel = driver, cancel
        self.pack = pipeline.pack
        self._record = RunRecord(call, pipeline, target, driver.token)
        self._preparation = Preparation(call, pipeline, target)
        self._earlier: dict[str, Earlier] = {}
        self._last: StageTry | None = None  # the last attempt of any run before this one
        self._usual: dict[str, float] | None = None  # how long stages take, once it is needed
        self._answer: str | None = None  # the blob with the answer of the stage before

    # --- the whole run ------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[PipelineStep]:
        stages = self._chosen()
        yield from self._opened(stages)
        at = stages[0]
        try:
            yield from self._seated()
            number = 0
            while number < len(stages):
                at = stages[number]
                document_care.show(self.call, self.target)
                plan = self._plan(stages[number:], self._preparation.look())
                yield from self._reused(stages[number:], plan)
                number += len(plan.kept)
                if number < len(stages):
                    at = stages[number]
                    done = yield from self._stage(at, plan, last=number + 1 == len(stages))
                    if not done:
                        break
                    number += 1
        except (Unmet, StageError) as error:
            yield self._refused(at, error)
        except StageWaits as waits:
            self._record.break_off(at.name, waits.question, STOPPED)
            yield self._step("waits", at, text=waits.question)
        except Unavailable:
            raise  # nothing can be recorded now; the next process does
        except BaseException:
            self._record.break_off(at.name, "it was interrupted")
            raise
        document_care.show(self.call, self.target)
        run = self._record.run()
        yield self._step("ended", text=run.ending, outcome=run.outcome)

    def preview(self) -> tuple[Sequence[Stage], Reuse]:
        """The stages, and which of them would be reused now."""
        stages, history = self._chosen(), runs_of(self.call, self.target.id)
        self._remember(history, self._resumed(history))
        return stages, self._plan(stages, self._preparation.look())

    def command(self, stage: Stage) -> tuple[str, ...]:
        """The command that would be run for a stage; empty if its code does the work."""
        found = self._preparation.command(stage)
        return found.run if found is not None else ()

    def _chosen(self) -> Sequence[Stage]:
        """The stages to go through: all of them, or up to one."""
        stages, end = self.pack.stages, self.options.only or self.options.until
        names = [stage.name for stage in stages]
        if end and end not in names:
            raise Refused(
                "unknown_stage",
                f"{self.pack.name} has no stage {end[:80]!r}.",
                f"Its stages: {', '.join(names)}.",
                stage=end[:80],
            )
        return stages[: names.index(end) + 1] if end else stages

    def _step(self, what: str, stage: Stage | None = None, **more: Any) -> PipelineStep:
        about: dict[str, Any] = {"target": self.target.id, "title": self.target.said, "wave": self.target.wave}
        return PipelineStep(what, self._record.id, stage=stage.name if stage is not None else "", **about, **more)

    # --- the beginning ------------------------------------------------------------------------------------------------

    def _opened(self, stages: Sequence[Stage]) -> Iterator[PipelineStep]:
        """Open a run, or resume the last one, and ask for a seat."""
        self._wait_for_others()
        for run in runs_of(self.call, self.target.id):
            if seats.is_abandoned(self.call.place.state, run):
                seats.settle(self.call, run)
        history = runs_of(self.call, self.target.id)
        current = self._resumed(history)
        self._remember(history, current)
        if self.options.only:
            self._check_earlier(stages)
        self._record.open(current, self.options)
        yield self._step("opened", text="resumed" if current is not None else "started")

    def _wait_for_others(self) -> None:
        wanted = seats.thing(self.target.id)
        while other := next((one for one in seats.permit(self.call).seats if wanted in one.wants), None):
            if not is_alive(self.call.place.state, other.driver):
                seats.settle_dead(self.call)
            elif not self.options.wait:
                raise seats.busy(states.state(self.call.engine.read(), "run", other.run)[0], other)
            else:
                self._check_cancelled()
                seats.listen(self.call)

    def _check_cancelled(self) -> None:
        if self._cancel is not None and self._cancel():
            raise KeyboardInterrupt

    def _resumed(self, history: Sequence[Run]) -> Run | None:
        """The run to go on with; None to open a new one."""
        names = tuple(stage.name for stage in self.pack.stages)
        alone = bool(self.options.only) and self.options.only != names[0]
        last = next((run for run in history if run.stages == names), None)
        if last is None or last.open or not (self.options.resume or alone):
            return None
        ours = self.options.parent is not None and last.parent == self.options.parent
        return last if alone or ours or last.outcome != PASSED else None

    def _remember(self, history: Sequence[Run], current: Run | None) -> None:
        """Find the results that can be reused, and the last attempt, which may have left unfinished work."""
        self._last = history[0].tries[-1] if history and history[0].tries else None
        alone = self.options.only
        for stage in self.pack.stages if alone or not self.options.again else ():
            cached = stage.replace(cache="run") if alone and stage.cache == "never" else stage
            found = reuse.earlier_of(history, cached, current.id if current is not None else None)
            if found is not None and stage.name != alone:
                self._earlier[stage.name] = found

    def _check_earlier(self, stages: Sequence[Stage]) -> None:
        """Refuse to run a stage alone while an earlier one must run first."""
        plan = self._plan(stages, self._preparation.look())
        if len(plan.kept) < len(stages) - 1:
            missing = stages[len(plan.kept)]
            error = too_early(missing)
            stale = missing.name in self._earlier
            text = f"{missing.said} must run again: {plan.reason}" if stale else error.text
            raise Refused("stage_too_early", f"{text}.", f"{error.advice}.", stage=missing.name)

    def _seated(self) -> Iterator[PipelineStep]:
        for before in seats.waited(self.call, self._record.id, self._check_cancelled):
            yield self._step("waiting", text=f"waits for {', '.join(seat.run for seat in before)}")

    # --- stages -------------------------------------------------------------------------------------------------------

    def _plan(self, stages: Sequence[Stage], now: TargetState) -> Reuse:
        preparation = self._preparation

        def stale(stage: Stage, earlier: Earlier) -> str:
            given = preparation.given(stage, now, now.contents.files, None)
            return preparation.pack_code("stale", lambda: self.pipeline.stale(given, earlier.attempt.inputs))

        return reuse.plan(
            stages,
            self.target,
            self._earlier,
            lambda stage, answer: preparation.inputs(stage, now, answer),
            now.digests,
            lambda stage: step_keys.owned_parts(stage, now.leaves),
            stale,
            last=self._last,
            answer=self._answer,
            alone=bool(self.options.only),
        )

    def _reused(self, stages: Sequence[Stage], plan: Reuse) -> Iterator[PipelineStep]:
        if not plan.kept:
            return
        whole = len(plan.kept) == len(stages) and stages[-1] is self.pack.stages[-1]
        self._record.reuse(stages, plan, last=whole)
        self._answer = plan.kept[-1].attempt.answer
        for earlier, stage in zip(plan.kept, stages, strict=False):
            yield self._step("reused", stage, text=f"unchanged since {earlier.run}", warnings=earlier.attempt.warnings)
        if len(plan.kept) == len(stages) and not whole:
            self._record.break_off(stages[-1].name, "as asked", STOPPED)

    def _stage(self, stage: Stage, plan: Reuse, *, last: bool) -> Generator[PipelineStep, None, bool]:
        """Run one stage. Returns whether the next one may start."""
        with CommandLock(self.call.place.state, self._driver.token, self._record.id) as lock:
            prepared, position = self._started(stage, plan, lock)
            attempt = self._record.run().tries[-1]
            yield self._step("ready", stage, text=f"Prerequisites met, starting {stage.said}", checks=prepared.checks)
            estimate = self._estimate(stage)
            said = " ".join(attempt.command) or "built in"
            yield self._step("started", stage, attempt=attempt.attempt, text=said, estimate=estimate)
            how = Performance(
                run=self._record.id,
                since=position,
                at=attempt.at,
                lock=lock,
                output=self.options.output,
                cancel=self._cancel,
                progress=lambda seconds: self._progress(stage, seconds, estimate),
            )
            work = perform(prepared, self._preparation, how)
            self._answer = self._record.end_stage(prepared, attempt, work, last=last)
        yield self._ended(stage, attempt, work)
        return work.error is None

    def _estimate(self, stage: Stage) -> float:
        if self._usual is None:
            self._usual = estimates.usual_seconds(self.call, self.pack.name)
        return self._usual.get(stage.name, 0.0)

    def _started(self, stage: Stage, plan: Reuse, lock: CommandLock) -> tuple[Prepared, int]:
        """Check the prerequisites and start the stage. Returns the position of the commit."""
        leftover, earlier = self._before_leftover(stage, plan), self._earlier.get(stage.name)
        programs = Programs(self.call, self.target.root, lock, self._cancel)
        for _ in range(_TRIES):
            now = self._preparation.look()
            prepared = self._preparation.prepare(
                stage,
                now,
                answer=self._answer,
                attempt=len(self._record.run().tries_of(stage.name)) + 1,
                at=self.call.clock.wall(),
                leftover=leftover,
                earlier=earlier.attempt.inputs if earlier is not None else {},
                programs=programs,
            )
            position = self._record.start(prepared, self._preparation, plan.reason)
            if position:
                return prepared, position
        raise Unmet(f"the files of {self.target.said} keep changing", "Wait until nobody edits them.")

    def _before_leftover(self, stage: Stage, plan: Reuse) -> dict[str, bytes]:
        """What files with unfinished work contained before, from the snapshots of the attempt that did not pass."""
        last = self._last
        if last is None or last.stage != stage.name or last.status in BEHIND:
            return {}
        return {path: self.call.blob(last.snapshots[path]) for path in plan.leftover if path in last.snapshots}

    def _progress(self, stage: Stage, seconds: float, estimate: float) -> None:
        label = f"{self.target.said}: {stage.said}"
        self.call.progress(label, int(seconds), int(estimate) if estimate > seconds else -1)

    def _ended(self, stage: Stage, attempt: StageTry, work: StageWork) -> PipelineStep:
        error, ran = work.error, work.ran
        more: dict[str, Any] = {"attempt": attempt.attempt, "seconds": work.seconds}
        if ran is not None:
            more |= {"code": ran.code, "timed_out": ran.timed_out}
        if error is None:
            what = "skipped" if work.output.skip else "passed"
            return self._step(what, stage, text=work.output.skip, warnings=tuple(work.output.warnings), **more)
        problems = tuple(one.said for one in error.problems)
        more |= {"details": error.details, "suggestion": error.suggestion}
        return self._step("failed", stage, text=error.text, problems=problems, **more)

    def _refused(self, stage: Stage, error: Unmet | StageError) -> PipelineStep:
        """A stage could not be started."""
        self._record.refuse(stage.name, error.text)
        problems = tuple(one.said for one in error.problems)
        advice = error.advice if isinstance(error, Unmet) else error.suggestion
        return self._step("failed", stage, text=error.text, problems=problems, suggestion=advice, outcome=FAILED)
