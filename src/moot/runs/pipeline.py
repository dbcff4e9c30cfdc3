"""Takes one target through the stages of its pipeline, in order.

    opened → (waiting for a seat) → for each stage: reused, or ready → started → passed | skipped | failed → ended

The rules, for every pipeline:
- The first stage that fails ends the run. Nothing is tried again unless somebody asks.
- Stages whose results can be reused are not run (`reuse`); everything else runs on the files as they are.
- A run that is interrupted says so, if it still can. If the process is killed, the next one records it (`seats`).

What is written into the log, and in which commits, is in `record`.
"""

from __future__ import annotations

from functools import partial

from moot.core.deciders.run import FAILED, STOPPED
from moot.core.errors import MootError, Refused, Unavailable
from moot.core.text import bullets, command_line, unbroken
from moot.place.locks import CommandLock
from moot.runs import seats
from moot.runs.contents import NONE
from moot.runs.contract import StageError, StageWaits
from moot.runs.history import TargetHistory, history_of, plan, runs_of, usual_seconds
from moot.runs.performance import Performance
from moot.runs.preparation import Preparation, Unmet, too_early
from moot.runs.record import RunRecord
from moot.runs.steps import INTERRUPTION, PipelineStep
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import Any

    from moot.core.deciders.permit import Seat
    from moot.place.locks import Driver
    from moot.runs.contract import Pipeline, Target
    from moot.runs.history import ReusePlan
    from moot.runs.performance import StageWork
    from moot.runs.preparation import Prepared, TargetState
    from moot.runs.record import Started
    from moot.runs.site import Site
    from moot.runs.stage import Stage
    from moot.runs.steps import RunOptions
    from moot.runs.surroundings import WorktreeState

_TRIES = 5  # how often a start is prepared again because something changed


class TargetRun:
    """One run of one target, in this process. `cancel` is asked now and then whether to stop."""

    def __init__(
        self,
        site: Site,
        pipeline: Pipeline,
        target: Target,
        options: RunOptions,
        driver: Driver,
        cancel: Callable[[], bool] | None = None,
    ) -> None:
        self.site, self.pipeline, self.target, self.options = site, pipeline, target, options
        self.pack = pipeline.pack
        self._driver, self._cancel = driver, cancel
        self.preparation = Preparation(site, pipeline, target)
        self.record = RunRecord(self.preparation, driver.token)
        self.history = TargetHistory()
        self.stages = chosen_stages(self.pack.stages, options, self.pack.name)
        self._usual: dict[str, float] | None = None  # how long stages take, once it is needed
        self._answer: str | None = None  # the blob with the answer of the stage before
        self._performance: Performance | None = None  # from the first stage that runs until the end
        self._before: WorktreeState | None = None  # see `Performance.perform`
        self._at = self.stages[0]
        self._awaited: set[str] = set()  # the runs that it has said it waits for

    # --- the whole run ------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[PipelineStep]:
        """The last step is `ended`, with the outcome.

        Raises, before anything is written, if it cannot begin: `Held` while another process works on the target,
        `Refused` if `only` names a stage whose predecessor has not passed.
        """
        yield from self._wait_for_others()
        self.remember()
        if self.options.only:
            self._check_alone()
        self.record.open(self.history.current, self.options)
        yield self.opened()
        try:
            for before in seats.waited(self.site, self.record.id, self._check_cancelled):
                yield from self._waiting(before)
            yield from self._all()
        except StageError as error:
            yield self._refused(self._at, error)
        except StageWaits as waits:
            self.record.break_off(self._at.name, waits.question, STOPPED)
            yield self._step("waits", self._at, text=waits.question)
        except Unavailable:
            raise  # nothing can be recorded now; the next process does
        except BaseException:
            self.record.break_off(self._at.name, INTERRUPTION)
            raise
        finally:
            if self._performance is not None:
                self._performance.lock.ended()
        self._show_document()
        yield self.ended()

    def _all(self) -> Iterator[PipelineStep]:
        """Go through the stages, up to the first that fails."""
        left, begun = list(self.stages), None
        while left:
            self._at = left[0]
            if begun is None:
                self._show_document()
                now = self.preparation.look()
                found = self.plan(left, now)
                if found.kept:
                    yield from self._reused(left, found)
                    left = left[len(found.kept) :]
                    if not left:
                        return
                    now, self._at = self.preparation.look(), left[0]
                self._check_asked_for(self._at, found)
                begun = self._started(self._at, found, now)
            passed, begun = yield from self._stage(begun, left[1:])
            if not passed:
                return
            self.history = self.history.intact(self.pack.stages, self.target, self.record.latest)
            left = left[1:]

    def remember(self) -> None:
        """Read what earlier runs have left."""
        runs = runs_of(self.site.engine.read(), self.target.id)
        self.history = history_of(runs, self.pack.stages, self.options).intact(self.pack.stages, self.target)

    def opened(self) -> PipelineStep:
        return self._step("opened", text="resumed" if self.history.current is not None else "started")

    def ended(self) -> PipelineStep:
        run = self.record.run()
        return self._step("ended", text=run.ending, outcome=run.outcome)

    def _step(self, what: str, stage: Stage | None = None, *, text: str = "", **more: Any) -> PipelineStep:
        about: dict[str, Any] = {"target": self.target.id, "title": self.target.said, "wave": self.target.wave}
        name = stage.name if stage is not None else ""
        return PipelineStep(what, self.record.id, stage=name, text=unbroken(text), **about, **more)

    # --- others -------------------------------------------------------------------------------------------------------

    def _wait_for_others(self) -> Iterator[PipelineStep]:
        """Wait while another process works on the target, and say for whom."""
        while True:
            seats.settle_dead(self.site)
            other = seats.holder(seats.permit(self.site), self.target.id)
            if other is None:
                return
            if not self.options.wait:
                raise seats.busy(states.state(self.site.engine.read(), "run", other.run)[0], other)
            yield from self._waiting((other,))
            self._check_cancelled()
            seats.listen(self.site)

    def _waiting(self, others: Sequence[Seat]) -> Iterator[PipelineStep]:
        """Say for whom it waits: once, and again only if that is somebody else, too."""
        if self._awaited.issuperset(one.run for one in others):
            return
        self._awaited.update(one.run for one in others)
        runs = tuple(seats.awaited(self.site, one) for one in others)
        look = command_line("run status", runs[0].run) if len(runs) == 1 else "moot run status"
        text = f"waits for {', '.join(one.said for one in runs)}; to look: `{look}`"
        yield self._step("waiting", text=text, awaits=runs)

    def _check_cancelled(self) -> None:
        if self._cancel is not None and self._cancel():
            raise KeyboardInterrupt

    # --- one stage alone ----------------------------------------------------------------------------------------------

    def _check_alone(self) -> None:
        """Refuse to run the last of these stages alone, before anything is written.

        The same is checked again in the commit that starts it; until then, everything may change.
        """
        stage = self.stages[-1]
        try:
            now = self.preparation.look()
            self._check_there(now)
            found = self.plan(self.stages, now)
            pending = self.stages[len(found.kept) : -1]
            for one in (*pending[:1], stage) if found.kept or not pending else ():
                self.preparation.check(one, now)
            for missing in pending:
                self._check_asked_for(missing, found)
        except StageError as error:
            early = error.missing if isinstance(error, Unmet) else ""
            problems = [one.said for one in error.problems if one.said != error.text]
            advice = error.suggestion.rstrip(".") or "Correct it, then run the command again"
            raise Refused(
                "stage_too_early" if early else "stage_not_ready",
                f"{error.text}.",
                "\n".join((f"{advice}.", *bullets(problems))),
                stage=early or stage.name,
                problems=problems,
            ) from error

    def _check_there(self, now: TargetState) -> None:
        """Refuse if a file is gone that an earlier stage has read or left."""
        for earlier in (self.history.earlier.get(stage.name) for stage in self.stages[:-1]):
            attempt = earlier.attempt if earlier is not None else None
            for name, digest in {**attempt.inputs, **attempt.outputs}.items() if attempt is not None else ():
                kind, _, path = name.partition(":")
                if kind == "file" and digest != NONE == now.digests.get(path):
                    role = next((role for role, paths in self.target.paths.items() if path in paths), "the")
                    advice = "Restore it, or run the pipeline again."
                    raise StageError(f"{role.capitalize()} file not found: {path}", suggestion=advice)

    def _check_asked_for(self, stage: Stage, found: ReusePlan) -> None:
        """Refuse a stage that would have to run, although another one is to run alone."""
        if self.options.only and stage.name not in (self.options.only, *self.options.first):
            raise too_early(stage, found.reason if stage.name in self.history.earlier else "")

    # --- stages -------------------------------------------------------------------------------------------------------

    def plan(self, stages: Sequence[Stage], now: TargetState) -> ReusePlan:
        """Which of these stages to reuse, as things are now."""
        return plan(stages, self.history, self.preparation, now, self._answer)

    def _reused(self, stages: Sequence[Stage], found: ReusePlan) -> Iterator[PipelineStep]:
        whole = len(found.kept) == len(stages) and stages[-1] is self.pack.stages[-1]
        self.record.reuse(stages, found, last=whole)
        self._answer = found.kept[-1].attempt.answer
        yield from self.told_reused(stages, found)
        if len(found.kept) == len(stages) and not whole:
            self.record.break_off(stages[-1].name, "as asked", STOPPED)

    def told_reused(self, stages: Sequence[Stage], found: ReusePlan) -> Iterator[PipelineStep]:
        for earlier, stage in zip(found.kept, stages, strict=False):
            yield self._step("reused", stage, text=f"unchanged since {earlier.run}", warnings=earlier.attempt.warnings)

    def _started(self, stage: Stage, found: ReusePlan, now: TargetState) -> Started:
        """Prepare and start a stage. What changes in between is looked at again."""
        for _ in range(_TRIES):
            begun = self.record.start(self._prepared(stage, now), found.reason)
            if begun is not None:
                return begun
            now = self.preparation.look()
        raise StageError("its files keep changing", suggestion="Let whatever changes them finish, then run it again.")

    def _prepared(self, stage: Stage, now: TargetState) -> Prepared:
        return self.preparation.prepare(
            stage,
            now,
            self.history,
            answer=self._answer,
            attempt=self.record.attempts(stage) + 1,
            programs=self._performing(),
        )

    def _stage(
        self, begun: Started, later: Sequence[Stage]
    ) -> Generator[PipelineStep, None, tuple[bool, Started | None]]:
        """Run a stage that has begun. Returns whether it passed, and the next one if that has begun with its end."""
        stage, attempt = begun.prepared.stage, begun.attempt
        self._at = stage
        yield self._step("ready", stage, text=f"Prerequisites met, starting {stage.said}", checks=begun.prepared.checks)
        estimate = self._estimate(stage)
        said = " ".join(attempt.command) or "built in"
        yield self._step("started", stage, attempt=attempt.attempt, text=said, estimate=estimate)
        progress = partial(self._progress, stage, estimate)
        work = self._performing().perform(begun, progress, self._before)
        self._answer = self.record.keep_answer(work)
        following = self._following(later, work)
        after = self.record.end_stage(begun, work, self._answer, last=not later, following=following)
        if after is not None:
            self._at = later[0]
        self._before = work.around if after is not None else None
        yield self._step(work.what, stage, attempt=attempt.attempt, **work.told())
        return work.error is None, after

    def _following(self, later: Sequence[Stage], work: StageWork) -> tuple[Prepared, str] | None:
        """The next stage and why it runs, if it can start in the commit that ends this one.

        Nothing may happen between the two: no code of the pack has a say, and no result could be reused. Whatever is in
        the way of its start is reported after this end has been recorded.
        """
        if not later or work.error is not None or work.after is None or later[0].name in self.history.earlier:
            return None
        if not self.preparation.starts_at_once(later[0]):
            return None
        found = self.plan(later, work.after)
        try:
            self._check_asked_for(later[0], found)
            return self._prepared(later[0], work.after), found.reason
        except (StageError, MootError):
            return None

    def _performing(self) -> Performance:
        if self._performance is None:
            lock = CommandLock(self.site.place.state, seats.command_name(self._driver.token, self.record.id))
            output, cancel = self.options.output, self._cancel
            self._performance = Performance(self.preparation, self.record.id, lock, output=output, cancel=cancel)
        return self._performance

    def _estimate(self, stage: Stage) -> float:
        if self._usual is None:
            self._usual = usual_seconds(self.site.engine.read(), self.pack.name)
        return self._usual.get(stage.name, 0.0)

    def _progress(self, stage: Stage, estimate: float, seconds: float) -> None:
        label = f"{self.target.said}: {stage.said}"
        self.site.progress(label, int(seconds), int(estimate) if estimate > seconds else -1)

    def _refused(self, stage: Stage, error: StageError) -> PipelineStep:
        """A stage could not be started."""
        self.record.break_off(stage.name, error.text, FAILED)
        problems, advice = tuple(one.said for one in error.problems), error.suggestion
        return self._step("failed", stage, text=error.text, problems=problems, suggestion=advice, outcome=FAILED)

    def _show_document(self) -> None:
        """Write the file of a document that was deleted with its folder."""
        ref = self.target.document
        if ref is not None and not self.site.shown(ref.key):
            self.site.write_document(ref.key)


def chosen_stages(stages: Sequence[Stage], options: RunOptions, pack: str) -> Sequence[Stage]:
    """The stages to go through: all of them, or up to one."""
    end, names = options.only or options.until, [stage.name for stage in stages]
    if end and end not in names:
        raise Refused(
            "unknown_stage",
            f"{pack} has no stage {end[:80]!r}.",
            f"Its stages: {', '.join(names)}.",
            stage=end[:80],
        )
    return stages[: names.index(end) + 1] if end else stages
