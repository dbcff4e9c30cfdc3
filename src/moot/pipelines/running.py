"""Takes one target through the stages of its pipeline, in order.

    opened → (waiting for a seat) → for each stage: reused, or ready → started → passed | skipped | failed → ended

The rules, for every pipeline:
- The first stage that fails ends the run. Nothing is tried again unless somebody asks.
- Stages whose results can be reused are not run (`reuse`); everything else runs on the files as they are.
- A run that is interrupted says so, if it still can. If the process is killed, the next one records it (`seats`).

What is written into the log, and in which commits, is in `recording`.
"""

from __future__ import annotations

from moot.core.deciders.run import FAILED, STOPPED
from moot.core.errors import Unavailable
from moot.core.text import command_line, unbroken
from moot.pipelines import document_care, leftovers, reuse, seats
from moot.pipelines.alone import check_alone, check_asked_for, chosen_stages
from moot.pipelines.contract import EarlierResult, StageError, StageWaits
from moot.pipelines.history import TargetHistory, history_of, runs_of
from moot.pipelines.performing import Performance, Programs, perform
from moot.pipelines.preparing import Preparation, Unmet
from moot.pipelines.putting_back import put_back, put_files
from moot.pipelines.recording import RunRecord
from moot.pipelines.reuse import ResultEdits
from moot.place.locks import CommandLock, Driver, is_alive
from moot.runs import history, step_keys
from moot.runs.steps import INTERRUPTION, PipelineStep
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.permit import Seat
    from moot.core.run import Run, StageTry
    from moot.pipelines.contract import Pipeline, Target
    from moot.pipelines.performing import StageWork
    from moot.pipelines.preparing import Prepared, TargetState
    from moot.pipelines.recording import Started
    from moot.pipelines.reuse import Earlier, Reuse
    from moot.runs.stage import Stage
    from moot.runs.steps import RunOptions

_TRIES = 5  # how often a start is prepared again because something changed


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
    from moot.place.processes import interruptible

    call.lasting = True
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
        self._history = TargetHistory()
        self._usual: dict[str, float] | None = None  # how long stages take, once it is needed
        self._answer: str | None = None  # the blob with the answer of the stage before
        self._git: Mapping[str, bytes] | None = None  # see `Performance.git`
        self._at = self.pack.stages[0]
        self._lock: CommandLock | None = None  # from the first stage that runs until the end
        self._awaited: set[str] = set()  # the runs that it has said it waits for
        self._written: set[str] = set()  # the files that stages of this run may have written

    # --- the whole run ------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[PipelineStep]:
        stages = chosen_stages(self.pack, self.options)
        yield from self._entered(stages)
        if (yield from self._repeated(stages)):
            return
        self._record.open(self._history.current, self.options)
        yield self._opened()
        self._at = stages[0]
        try:
            yield from self._seated()
            yield from self._all(stages)
        except (Unmet, StageError) as error:
            yield self._refused(self._at, error)
        except StageWaits as waits:
            self._record.break_off(self._at.name, waits.question, STOPPED)
            yield self._step("waits", self._at, text=waits.question)
        except Unavailable:
            raise  # nothing can be recorded now; the next process does
        except BaseException:
            self._record.break_off(self._at.name, INTERRUPTION)
            raise
        finally:
            if self._lock is not None:
                self._lock.ended()
        document_care.show(self.call, self.target)
        run = self._record.run()
        yield self._step("ended", text=run.ending, outcome=run.outcome)

    def _repeated(self, stages: Sequence[Stage]) -> Generator[PipelineStep, None, bool]:
        """Record a run that reuses everything, in one commit. False if something has to run, or might."""
        if len(self._history.earlier) < len(self.pack.stages) or stages[-1] is not self.pack.stages[-1]:
            return False
        try:
            now = self._preparation.look()
            plan = self._plan(stages, now)
        except (StageError, StageWaits):
            return False  # it is found again, and recorded
        if len(plan.kept) < len(stages) or not document_care.is_shown(self.call, self.target):
            return False
        run = self._record.repeat(self._history.current, self.options, plan, now, self._preparation)
        if run is None:
            return False
        yield self._opened()
        yield from self._told_reused(stages, plan)
        yield self._step("ended", text=run.ending, outcome=run.outcome)
        return True

    def _all(self, stages: Sequence[Stage]) -> Iterator[PipelineStep]:
        """Go through the stages, up to the first that fails."""
        number, begun = 0, None
        while number < len(stages):
            self._at = stages[number]
            if begun is None:
                document_care.show(self.call, self.target)
                now = self._preparation.look()
                plan = self._plan(stages[number:], now)
                yield from self._reused(stages[number:], plan)
                number += len(plan.kept)
                if number == len(stages):
                    return
                self._at = stages[number]
                check_asked_for(self._at, plan, self.options, self._history.earlier)
                put_back(self._record, self._at, plan, now)
                kept = self._put_kept(self._at, plan, now)
                begun = self._started(self._at, plan, now if not plan.kept and not kept else None)
            passed, begun = yield from self._stage(begun, stages[number + 1 :])
            if not passed:
                return
            number += 1

    def preview(self) -> tuple[Sequence[Stage], Reuse]:
        """The stages, and which of them would be reused now."""
        stages = chosen_stages(self.pack, self.options)
        self._remember(runs_of(self.call, self.target.id))
        return stages, self._plan(stages, self._preparation.look())

    def command(self, stage: Stage) -> tuple[str, ...]:
        """The command that would be run for a stage; empty if its code does the work."""
        found = self._preparation.command(stage)
        return found.run if found is not None else ()

    def _step(self, what: str, stage: Stage | None = None, *, text: str = "", **more: Any) -> PipelineStep:
        about: dict[str, Any] = {"target": self.target.id, "title": self.target.said, "wave": self.target.wave}
        name = stage.name if stage is not None else ""
        return PipelineStep(what, self._record.id, stage=name, text=unbroken(text), **about, **more)

    # --- the beginning ------------------------------------------------------------------------------------------------

    def _entered(self, stages: Sequence[Stage]) -> Iterator[PipelineStep]:
        """See that nobody else works on the target, and what earlier runs have left."""
        yield from self._wait_for_others()
        seats.settle_dead(self.call, self.target.id)
        self._remember(runs_of(self.call, self.target.id))
        if self.options.only:
            plan_of = lambda now: self._plan(stages, now)  # noqa: E731
            check_alone(stages, self._preparation, plan_of, self.options, self._history.earlier)

    def _remember(self, runs: Sequence[Run]) -> None:
        self._history = history_of(runs, self.pack.stages, self.options)

    def _opened(self) -> PipelineStep:
        return self._step("opened", text="resumed" if self._history.current is not None else "started")

    def _wait_for_others(self) -> Iterator[PipelineStep]:
        """Wait while another process works on the target, and say for whom."""
        wanted = seats.thing(self.target.id)
        while other := next((one for one in seats.permit(self.call).seats if wanted in one.wants), None):
            if not is_alive(self.call.place.state, other.driver):
                seats.settle_dead(self.call)
            elif not self.options.wait:
                raise seats.busy(states.state(self.call.engine.read(), "run", other.run)[0], other)
            else:
                yield from self._waiting((other,))
                self._check_cancelled()
                seats.listen(self.call)

    def _waiting(self, others: Sequence[Seat]) -> Iterator[PipelineStep]:
        """Say for whom it waits: once, and again only if that is somebody else, too."""
        if self._awaited.issuperset(one.run for one in others):
            return
        self._awaited.update(one.run for one in others)
        runs = tuple(seats.awaited(self.call, one) for one in others)
        look = command_line("run status", runs[0].run) if len(runs) == 1 else "moot run status"
        text = f"waits for {', '.join(one.said for one in runs)}; to look: `{look}`"
        yield self._step("waiting", text=text, awaits=runs)

    def _check_cancelled(self) -> None:
        if self._cancel is not None and self._cancel():
            raise KeyboardInterrupt

    def _seated(self) -> Iterator[PipelineStep]:
        for before in seats.waited(self.call, self._record.id, self._check_cancelled):
            yield from self._waiting(before)

    # --- stages -------------------------------------------------------------------------------------------------------

    def _plan(self, stages: Sequence[Stage], now: TargetState) -> Reuse:
        preparation = self._preparation

        def stale(stage: Stage, earlier: Earlier) -> str:
            given = preparation.seen(stage, now)
            found = EarlierResult(earlier.attempt.inputs, lambda: preparation.answer(earlier.attempt.answer))
            return preparation.pack_code("stale", lambda: self.pipeline.stale(given, found))

        return reuse.plan(
            stages,
            self.target,
            self._history.earlier,
            lambda stage, answer: preparation.inputs(stage, now, answer),
            now.digests,
            lambda stage: step_keys.owned_parts(stage, now.leaves),
            stale,
            last=self._history.last,
            answer=self._answer,
            alone=bool(self.options.only),
            tried=self._history.tried,
            later=self._later(),
            edits=ResultEdits(lambda stage: preparation.missing(stage, now), tuple(self._written))
            if self.pipeline.accepts_edits
            else None,
        )

    def _later(self) -> dict[str, StageTry]:
        """The last attempts of a target that has gone on with the same document since; empty if none has."""
        others = [run for name in self.target.continued_by for run in runs_of(self.call, name)]
        return reuse.later_attempts(runs_of(self.call, self.target.id), others, self.pack.stages) if others else {}

    def _reused(self, stages: Sequence[Stage], plan: Reuse) -> Iterator[PipelineStep]:
        if not plan.kept:
            return
        whole = len(plan.kept) == len(stages) and stages[-1] is self.pack.stages[-1]
        self._record.reuse(stages, plan, last=whole)
        self._answer = plan.kept[-1].attempt.answer
        yield from self._told_reused(stages, plan)
        if len(plan.kept) == len(stages) and not whole:
            self._record.break_off(stages[-1].name, "as asked", STOPPED)

    def _told_reused(self, stages: Sequence[Stage], plan: Reuse) -> Iterator[PipelineStep]:
        for earlier, stage in zip(plan.kept, stages, strict=False):
            yield self._step("reused", stage, text=f"unchanged since {earlier.run}", warnings=earlier.attempt.warnings)

    def _stage(
        self, begun: Started, later: Sequence[Stage]
    ) -> Generator[PipelineStep, None, tuple[bool, Started | None]]:
        """Run a stage that has begun. Returns whether it passed, and the next one if that has begun with its end."""
        stage, attempt = begun.prepared.stage, begun.attempt
        self._at = stage
        self._written.update(path for role in stage.writes for path in self.target.paths.get(role, ()))
        yield self._step("ready", stage, text=f"Prerequisites met, starting {stage.said}", checks=begun.prepared.checks)
        estimate = self._estimate(stage)
        said = " ".join(attempt.command) or "built in"
        yield self._step("started", stage, attempt=attempt.attempt, text=said, estimate=estimate)
        how = Performance(
            run=self._record.id,
            since=begun.position,
            at=attempt.at,
            lock=self._locked(),
            output=self.options.output,
            cancel=self._cancel,
            progress=lambda seconds: self._progress(stage, seconds, estimate),
            git=self._git,
        )
        work = perform(begun.prepared, self._preparation, how)
        self._answer = self._record.keep_answer(work)
        following = self._following(later, work)
        after = self._record.end_stage(
            begun, work, self._preparation, self._answer, last=not later, following=following
        )
        if after is not None:
            self._at = later[0]
        self._git = work.git if after is not None else None
        yield self._ended(stage, attempt, work)
        return work.error is None, after

    def _locked(self) -> CommandLock:
        """The lock for the commands of this run."""
        if self._lock is None:
            self._lock = CommandLock(self.call.place.state, f"{self._driver.token}.{self._record.id}")
        return self._lock

    def _following(self, later: Sequence[Stage], work: StageWork) -> tuple[Prepared, str] | None:
        """The next stage and why it runs, if it can start in the commit that ends this one.

        Nothing may happen between the two: no code of the pack has a say, and no result could be reused. Whatever is in
        the way of its start is reported after this end has been recorded.
        """
        if not later or work.error is not None or work.after is None:
            return None
        if later[0].name in self._history.earlier or not self._preparation.starts_at_once(later[0]):
            return None
        plan = self._plan(later, work.after)
        try:
            check_asked_for(later[0], plan, self.options, self._history.earlier)
            return self._prepared(later[0], plan, work.after), plan.reason
        except (Unmet, StageError):
            return None

    def _estimate(self, stage: Stage) -> float:
        if self._usual is None:
            self._usual = history.usual_seconds(self.call.engine.read(), self.pack.name)
        return self._usual.get(stage.name, 0.0)

    def _started(self, stage: Stage, plan: Reuse, now: TargetState | None) -> Started:
        """Check the prerequisites and start the stage. `now`: the target, if somebody has just looked."""
        for _ in range(_TRIES):
            prepared = self._prepared(stage, plan, now or self._preparation.look())
            begun = self._record.start(prepared, self._preparation, plan.reason)
            if begun is not None:
                return begun
            now = None
        raise Unmet(f"the files of {self.target.said} keep changing", "Wait until nobody edits them.")

    def _prepared(self, stage: Stage, plan: Reuse, now: TargetState) -> Prepared:
        earlier, last = self._history.earlier.get(stage.name), self._history.last
        tried = self._history.tried if self.command(stage) else None
        own = last if last is not None and last.stage == stage.name else None  # others left what the stage begins with
        edited = leftovers.edited_since(own, now.digests) if tried is not None else {}
        return self._preparation.prepare(
            stage,
            now,
            answer=self._answer,
            attempt=self._record.attempts(stage) + 1,
            at=self.call.clock.wall(),
            leftover=self._leftover(stage, plan, now),
            edited={path: (self.call.blob(one), self.call.blob(two)) for path, (one, two) in edited.items()},
            keep=self.options.keep,
            earlier=earlier.attempt.inputs if earlier is not None else {},
            programs=Programs(self.call, self._record.id, self.target.root, self._locked(), self._cancel),
        )

    def _leftover(self, stage: Stage, plan: Reuse, now: TargetState) -> dict[str, bytes | None]:
        """The files with work of an attempt that did not pass, as they were before it; None if they did not exist."""
        tried, last = self._history.tried if self.command(stage) else None, self._history.last
        found = leftovers.before_leftover(plan, self.pack.stages, stage, self.target, tried, last, now.digests)
        return {path: self.call.blob(blob) if blob else None for path, blob in found.items()}

    def _put_kept(self, stage: Stage, plan: Reuse, now: TargetState) -> bool:
        """Before code writes files anew: put unfinished work back, but not what a person keeps. Whether it did."""
        leftover = self._leftover(stage, plan, now) if self.options.keep and stage.agent == "refines" else {}
        kept = self._preparation.kept(stage, now, leftover) if leftover else {}
        there = now.contents.files
        files = {path: data for path, data in kept.items() if data is not None and there.get(path, data) != data}
        if files:
            put_files(self._record, stage, files, there)
        return bool(files)

    def _progress(self, stage: Stage, seconds: float, estimate: float) -> None:
        label = f"{self.target.said}: {stage.said}"
        self.call.progress(label, int(seconds), int(estimate) if estimate > seconds else -1)

    def _ended(self, stage: Stage, attempt: StageTry, work: StageWork) -> PipelineStep:
        return self._step(work.what, stage, attempt=attempt.attempt, **work.told())

    def _refused(self, stage: Stage, error: Unmet | StageError) -> PipelineStep:
        """A stage could not be started."""
        self._record.refuse(stage.name, error.text)
        problems = tuple(one.said for one in error.problems)
        advice = error.advice if isinstance(error, Unmet) else error.suggestion
        return self._step("failed", stage, text=error.text, problems=problems, suggestion=advice, outcome=FAILED)
