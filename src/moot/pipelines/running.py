"""Takes one target through the stages of its pipeline, in order, and records everything as a run.

    opened → (waiting for a seat) → for each stage: reused, or ready → started → passed | skipped | failed → ended

The rules, for every pipeline:
- Every commit is whole: the start of a stage with its prerequisites, its end with its marker and the document's
  changes, the last end with the end of the run and the return of its seat.
- The first stage that fails ends the run. Nothing is tried again unless somebody asks.
- A run that is interrupted says so, if it still can. If the process is killed, the next one records it (`seats`).
"""

from __future__ import annotations

import os

from moot.core.deciders.document import MOOT
from moot.core.deciders.permit import STAGES, AskPermit, ReturnPermit
from moot.core.deciders.run import (
    BEHIND,
    FAILED,
    INTERRUPTED,
    PASSED,
    SKIPPED,
    STOPPED,
    EndRun,
    EndStage,
    OpenRun,
    ResumeRun,
    ReuseStage,
    StartStage,
    of_target,
)
from moot.core.errors import Refused, Unavailable
from moot.core.json_codec import dumps
from moot.pipelines import contents, documents, estimates, reuse, seats, step_keys
from moot.pipelines.contract import StageError
from moot.pipelines.driver import CommandLock, Driver, is_alive
from moot.pipelines.performing import Programs, perform
from moot.pipelines.preparing import Preparation, Unmet, too_early
from moot.pipelines.steps import PipelineStep
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.stage import Stage
    from moot.core.run import Run, StageTry
    from moot.pipelines.contract import Pipeline, Target
    from moot.pipelines.performing import Work
    from moot.pipelines.preparing import Prepared, Situation
    from moot.pipelines.reuse import Earlier, Reuse
    from moot.pipelines.steps import RunOptions

_RUNS = 50  # earlier runs of a target that are looked at
_TRIES = 5  # how often a start is prepared again because something changed
_REASON = 2000  # characters


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
    """Take a target through its stages. The last step is `ended`, with the outcome. Raises if it cannot begin."""
    with Driver.of(call.place.state) as driver:
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
        self._preparation = Preparation(call, pipeline, target)
        self._earlier: dict[str, Earlier] = {}
        self._last: StageTry | None = None  # the last attempt before this one
        self._answer: str | None = None  # the blob with the answer of the stage before
        self._warnings = 0
        self.id = ""

    # --- the whole run ------------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[PipelineStep]:
        stages = self._chosen()
        yield from self._opened()
        at = ""
        try:
            yield from self._seated()
            number = 0
            while number < len(stages):
                at = stages[number].name
                now = self._look()
                plan = self._plan(stages[number:], now)
                yield from self._reused(stages[number:], plan, now)
                number += len(plan.kept)
                if number == len(stages):
                    break
                at = stages[number].name
                done = yield from self._stage(stages[number], plan, last=number + 1 == len(stages))
                if not done:
                    return
                number += 1
            yield self._step("ended", text=self._run().ending, outcome=self._run().outcome)
        except (Unmet, StageError) as error:
            yield from self._refused(at or self.pack.stages[0].name, error)
        except Unavailable:
            raise  # nothing can be recorded now; the next process does
        except BaseException:
            self._interrupted(at)
            raise

    def _chosen(self) -> Sequence[Stage]:
        """The stages to go through: up to the one that is run alone."""
        stages = self.pack.stages
        names = [stage.name for stage in stages]
        if self.options.only and self.options.only not in names:
            raise Refused(
                "unknown_stage",
                f"{self.pack.name} has no stage {self.options.only[:80]!r}.",
                f"Its stages: {', '.join(names)}.",
                stage=self.options.only[:80],
            )
        return stages[: names.index(self.options.only) + 1] if self.options.only else stages

    def _run(self) -> Run:
        found: Run = states.state(self.call.engine.read(), "run", self.id)[0]
        return found

    def _step(self, what: str, stage: Stage | None = None, **more: Any) -> PipelineStep:
        about: dict[str, Any] = {"target": self.target.id, "title": self.target.said, "wave": self.target.wave}
        return PipelineStep(what, self.id, stage=stage.name if stage is not None else "", **about, **more)

    def _do(self, work: Any, command: Any) -> None:
        work.do("run", self.id, command, pack=self.pack.name)

    # --- beginning ----------------------------------------------------------------------------------------------------

    def _opened(self) -> Iterator[PipelineStep]:
        """Open a run, or resume the last one, and ask for a seat."""
        wanted = seats.thing(self.target.id)
        while True:
            other = next((one for one in seats.permit(self.call).seats if wanted in one.wants), None)
            if other is None:
                break
            if not is_alive(self.call.place.state, other.driver):
                seats.settle_dead(self.call)
            elif not self.options.wait:
                raise seats.busy(self.call, other)
            else:
                seats.listen(self.call)
        history = runs_of(self.call, self.target.id)
        for run in history:
            if seats.is_abandoned(self.call.place.state, run):
                seats.settle(self.call, run)
        history = runs_of(self.call, self.target.id)
        current = self._resumed(history)
        self._remember(history, current)
        if self.options.only and self.options.only != self.pack.stages[0].name:
            self._check_earlier()
        self.call.commit(lambda work: self._open(work, current, wanted))
        yield self._step("opened", text="resumed" if current is not None else "started")

    def _resumed(self, history: Sequence[Run]) -> Run | None:
        """The run to go on with; None to open a new one."""
        first = self.options.only == self.pack.stages[0].name
        wanted = self.options.resume or (self.options.only and not first)
        last = next((run for run in history if run.stages == tuple(stage.name for stage in self.pack.stages)), None)
        if not wanted or last is None or last.open:
            return None
        return last if self.options.only or last.outcome != PASSED else None

    def _remember(self, history: Sequence[Run], current: Run | None) -> None:
        self._last = history[0].tries[-1] if history and history[0].tries else None
        if self.options.again and not self.options.only:
            return
        alone = self.options.only
        for stage in self.pack.stages:
            cached = stage.replace(cache="run") if alone and stage.cache == "never" else stage
            found = reuse.earlier_of(history, cached, current.id if current is not None else None)
            if found is not None and stage.name != alone:
                self._earlier[stage.name] = found

    def _check_earlier(self) -> None:
        """Refuse to run a stage alone while an earlier one must run first."""
        stages = self._chosen()
        now = self._look()
        plan = self._plan(stages, now)
        if len(plan.kept) < len(stages) - 1:
            missing = stages[len(plan.kept)]
            error = too_early(missing)
            stale = missing.name in self._earlier
            raise Refused(
                "stage_too_early",
                f"{missing.said} must run again: {plan.reason}" if stale else error.text,
                error.advice,
                stage=missing.name,
            )

    def _open(self, work: Any, current: Run | None, wanted: str) -> None:
        """Decide the opening, with the seat, in one commit."""
        self.id = current.id if current is not None else _new_id(work)
        other = next((one for one in work.state("permit", STAGES).seats if wanted in one.wants), None)
        if other is not None:
            raise seats.busy(self.call, other)
        by: dict[str, Any] = {"pid": os.getpid(), "driver": self._driver.token}
        if current is not None:
            self._do(work, ResumeRun(**by))
        else:
            self._do(work, self._opening(by))
            self._clear(work)
        wants = (wanted, *self._wants())
        ask = AskPermit(run=self.id, driver=self._driver.token, limit=max(1, self.options.limit), wants=wants)
        work.do("permit", STAGES, ask, pack=self.pack.name)

    def _opening(self, by: Mapping[str, Any]) -> OpenRun:
        target = self.target
        return OpenRun(
            pack=self.pack.name,
            stages=tuple(stage.name for stage in self.pack.stages),
            parent=self.options.parent,
            target=target.id,
            title=target.title,
            document=target.document.key if target.document is not None else "",
            root=target.root,
            paths={role: list(paths) for role, paths in target.paths.items()},
            parameters=dict(target.parameters),
            wave=target.wave,
            **by,
        )

    def _wants(self) -> Iterator[str]:
        """What no other run may use at the same time: the document, and every single file that a stage writes."""
        if self.target.document is not None:
            yield f"document:{self.target.document.key}"
        roles = dict.fromkeys(role for stage in self.pack.stages for role in stage.writes)
        for role in roles:
            for path in self.target.paths.get(role, ()):
                if not path.endswith("/"):
                    yield f"file:{os.path.join(self.target.root, path)}"

    def _clear(self, work: Any) -> None:
        """Take back the markers of earlier runs. They count only in the run that set them."""
        if self.target.document is not None and work.state("document", self.target.document.key).status:
            self._change(work, [self._unmarked(stage) for stage in self.pack.stages])

    def _seated(self) -> Iterator[PipelineStep]:
        for before in seats.waited(self.call, self.id):
            if self._cancel is not None and self._cancel():
                raise KeyboardInterrupt
            names = ", ".join(seat.run for seat in before)
            yield self._step("waiting", text=f"waits for {names}")

    # --- stages -------------------------------------------------------------------------------------------------------

    def _look(self) -> Situation:
        return self._preparation.look()

    def _plan(self, stages: Sequence[Stage], now: Situation) -> Reuse:
        preparation = self._preparation

        def stale(stage: Stage) -> str:
            given = preparation.given(stage, now, now.contents.files, None)
            return preparation.pack_code("stale", lambda: self.pipeline.stale(given, {}))

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
        )

    def _reused(self, stages: Sequence[Stage], plan: Reuse, now: Situation) -> Iterator[PipelineStep]:
        """Record the stages whose results are reused, all in one commit."""
        if not plan.kept:
            return
        ended = len(plan.kept) == len(stages) and not self.options.only

        def act(work: Any) -> None:
            for earlier, stage in zip(plan.kept, stages, strict=False):
                one = earlier.attempt
                self._do(
                    work,
                    ReuseStage(
                        stage=stage.name,
                        source=earlier.run,
                        reason="everything that it reads is the same",
                        key=one.key,
                        inputs=one.inputs,
                        outputs=one.outputs,
                        warnings=one.warnings,
                        answer=one.answer,
                    ),
                )
                marks = documents.marked(stage, one.reason if one.status == SKIPPED else "")
                self._change(work, [documents.DocumentChange(stage.name, marks)] if now.opened else [])
            if ended:
                self._end(work, PASSED)

        self._warnings += sum(len(one.attempt.warnings) for one in plan.kept)
        self.call.commit(act)
        self._answer = plan.kept[-1].attempt.answer
        for earlier, stage in zip(plan.kept, stages, strict=False):
            yield self._step("reused", stage, text=f"unchanged since {earlier.run}", warnings=earlier.attempt.warnings)

    def _stage(self, stage: Stage, plan: Reuse, *, last: bool) -> Generator[PipelineStep, None, bool]:
        """Run one stage. Returns whether the run goes on."""
        lock = CommandLock(self.call.place.state, self._driver.token, self.id)
        try:
            prepared, started = self._started(stage, plan, lock)
            about = self._run().tries[-1]
            yield self._step("ready", stage, text=f"Prerequisites met, starting {stage.said}", checks=prepared.checks)
            estimate = estimates.usual_seconds(self.call, self.pack.name, stage.name)
            said = " ".join(about.command) or "built in"
            yield self._step("started", stage, attempt=about.attempt, text=said, estimate=estimate)
            work = perform(
                prepared,
                self._preparation,
                lock,
                run_id=self.id,
                since=started,
                at=about.at,
                output=self.options.output,
                cancel=self._cancel,
                progress=lambda seconds: self._progress(stage, seconds, estimate),
            )
            self._ended_stage(prepared, about, work, last=last)
        finally:
            lock.release()
        yield from self._told(stage, about, work)
        if work.error is not None or last:
            run = self._run()
            yield self._step("ended", text=run.ending, outcome=run.outcome)
            return False
        return True

    def _progress(self, stage: Stage, seconds: float, estimate: float) -> None:
        label = f"{self.target.said}: {stage.said}"
        self.call.progress(label, int(seconds), int(estimate) if estimate > seconds else -1)

    def _started(self, stage: Stage, plan: Reuse, lock: CommandLock) -> tuple[Prepared, int]:
        """Start a stage, with its prerequisites, in one commit. Returns its position."""
        leftover = self._before_leftover(stage, plan)
        programs = Programs(self.call, self.target.root, lock, self._cancel)
        for _ in range(_TRIES):
            now = self._look()
            attempt = len(self._run().tries_of(stage.name)) + 1
            prepared = self._preparation.prepare(
                stage,
                now,
                answer=self._answer,
                attempt=attempt,
                at=self.call.clock.wall(),
                leftover=leftover,
                programs=programs,
            )
            position = self._start(prepared, plan)
            if position:
                return prepared, position
        raise Unmet(f"the files of {self.target.said} keep changing", "Wait until nobody edits them.")

    def _before_leftover(self, stage: Stage, plan: Reuse) -> dict[str, bytes]:
        """What files with unfinished work contained before, from the snapshots of the attempt that did not pass."""
        last = self._last
        if last is None or last.stage != stage.name or last.status in BEHIND:
            return {}
        return {path: self.call.blob(last.snapshots[path]) for path in plan.leftover if path in last.snapshots}

    def _start(self, prepared: Prepared, plan: Reuse) -> int:
        """Commit the start, if everything is still as it was prepared. 0: it is not."""
        stage, now = prepared.stage, prepared.situation
        command = prepared.command
        snapshots = {path: self.call.put_blob(data) for path, data in prepared.snapshots.items()}
        start = StartStage(
            stage=stage.name,
            who=command.name if command is not None else "",
            command=command.run if command is not None else (),
            timeout=command.timeout if command is not None else stage.timeout,
            reason=plan.reason,
            key=prepared.key,
            inputs=prepared.inputs,
            checks=prepared.checks,
            snapshots=snapshots,
        )
        self.call.engine.lookups["target files"] = _digests
        moved = False

        def act(work: Any) -> None:
            nonlocal moved
            seen = dict(work.facts.find("target files", (self.target.root, self._preparation.paths)))
            moved = seen != dict(now.digests) or self._leaves(work) != now.leaves
            if not moved:
                self._do(work, start)
                self._change(work, [self._unmarked(stage), *self._noted(work, stage, None, None)])

        outcome = self.call.commit(act)
        return 0 if moved else outcome.last

    def _leaves(self, work: Any) -> Mapping[str, Any]:
        if self.target.document is None:
            return {}
        found: Mapping[str, Any] = work.state("document", self.target.document.key).leaves
        return found

    # --- the end of a stage -------------------------------------------------------------------------------------------

    def _ended_stage(self, prepared: Prepared, about: StageTry, work: Work, *, last: bool) -> None:
        stage, error = prepared.stage, work.error
        answer = None
        if error is None:
            answer = self.call.put_blob(dumps(dict(work.output.answer)).encode()) if work.output.answer else None
            self._answer = answer
            self._warnings += len(work.output.warnings)
        end = self._ending(prepared, about, work, answer)

        def act(commit: Any) -> None:
            self._do(commit, end)
            if error is not None:
                self._change(commit, [self._unmarked(stage), *self._noted(commit, stage, (error.text,), None)])
                self._end(commit, FAILED, stage.name, error.text)
                return
            self._change(commit, [*self._results(commit, stage, work)])
            if last:
                whole = stage is self.pack.stages[-1]
                self._end(commit, PASSED if whole else STOPPED, "" if whole else stage.name)

        self.call.commit(act)

    def _results(self, commit: Any, stage: Stage, work: Work) -> Iterator[documents.DocumentChange]:
        """What a stage that passed changes in the document, with its marker."""
        output = work.output
        yield documents.DocumentChange(stage.name, output.document, output.removed)
        if self.target.document is not None and not commit.state("document", self.target.document.key).status:
            later = self.pack.stages[self.pack.stages.index(stage) + 1 :]
            yield from map(self._unmarked, later)
        yield documents.DocumentChange(stage.name, documents.marked(stage, output.skip))
        yield from self._noted(commit, stage, None, output.warnings)

    def _ending(self, prepared: Prepared, about: StageTry, work: Work, answer: str | None) -> EndStage:
        stage, error, ran = prepared.stage, work.error, work.ran
        how = FAILED if error is not None else SKIPPED if work.output.skip else PASSED
        files = work.after.digests if work.after is not None else {}
        end = EndStage(
            how=how,
            stage=stage.name,
            attempt=about.attempt,
            reason=(error.text if error is not None else work.output.skip)[:_REASON],
            seconds=work.seconds,
            outputs=step_keys.outputs_of(stage, self.target, files, work.leaves),
            warnings=tuple(work.output.warnings) if error is None else (),
            criteria=stage.criteria if how == PASSED else (),
            problems=tuple(one.said for one in error.problems) if error is not None else (),
            details=error.details if error is not None else "",
            suggestion=error.suggestion if error is not None else "",
            answer=answer,
        )
        if ran is None:
            return end
        kept = {
            name: self.call.put_blob(one.tail) if one.size else None
            for name, one in (("output", ran.output), ("errors", ran.errors))
        }
        sizes = {"output_size": ran.output.size, "errors_size": ran.errors.size}
        return end.replace(code=ran.code, timed_out=ran.timed_out, **kept, **sizes)

    def _told(self, stage: Stage, about: StageTry, work: Work) -> Iterator[PipelineStep]:
        error, ran = work.error, work.ran
        more: dict[str, Any] = {"attempt": about.attempt, "seconds": work.seconds}
        if ran is not None:
            more |= {"code": ran.code, "timed_out": ran.timed_out}
        if error is None:
            what = "skipped" if work.output.skip else "passed"
            yield self._step(what, stage, text=work.output.skip, warnings=tuple(work.output.warnings), **more)
            return
        yield self._step(
            "failed",
            stage,
            text=error.text,
            problems=tuple(one.said for one in error.problems),
            details=error.details,
            suggestion=error.suggestion,
            **more,
        )

    # --- the end ------------------------------------------------------------------------------------------------------

    def _end(self, work: Any, outcome: str, at: str = "", reason: str = "") -> None:
        """End the run and give its seat back."""
        warnings = self._warnings
        self._do(work, EndRun(outcome=outcome, at=at, reason=reason[:_REASON], warnings=warnings))
        work.do("permit", STAGES, ReturnPermit(self.id), pack=self.pack.name)

    def _refused(self, at: str, error: Unmet | StageError) -> Iterator[PipelineStep]:
        """A stage could not be started."""
        stage = next(one for one in self.pack.stages if one.name == at)
        self.call.commit(lambda work: self._end(work, FAILED, at, error.text))
        problems = tuple(one.said for one in error.problems)
        advice = error.advice if isinstance(error, Unmet) else error.suggestion
        yield self._step("failed", stage, text=error.text, problems=problems, suggestion=advice)
        yield self._step("ended", text=self._run().ending, outcome=FAILED)

    def _interrupted(self, at: str) -> None:
        """Record that this process was interrupted."""
        last = self._run().running

        def act(work: Any) -> None:
            if last is not None:
                end = EndStage(last.stage, last.attempt, "it was interrupted", how=INTERRUPTED)
                self._do(work, end)
                if self.target.document is not None:
                    seats.unmark(work, self.pack, self.target.document.key, last.stage)
            if work.state("run", self.id).open:
                self._end(work, INTERRUPTED, last.stage if last is not None else at, "it was interrupted")

        self.call.commit(act)

    # --- the document -------------------------------------------------------------------------------------------------

    def _change(self, work: Any, changes: Sequence[documents.DocumentChange]) -> None:
        ref = self.target.document
        if ref is None:
            return
        for command in documents.commands(self.pack, ref, work.state("document", ref.key), changes):
            work.do("document", ref.key, command)

    def _unmarked(self, stage: Stage) -> documents.DocumentChange:
        values, removed = documents.unmarked([stage])
        return documents.DocumentChange(stage.name, values, removed)

    def _noted(
        self, work: Any, stage: Stage, errors: Sequence[str] | None, warnings: Sequence[str] | None
    ) -> Iterator[documents.DocumentChange]:
        """The errors and warnings of a stage in the shared lists; its older ones are removed."""
        spec = self.pack.pipeline
        if spec is None or self.target.document is None:
            return
        leaves = self._leaves(work)
        for pointer, texts in ((spec.errors, errors), (spec.warnings, warnings)):
            values = documents.noted(leaves, pointer, stage.label, texts)
            if values:
                yield documents.DocumentChange(MOOT, values)


def _new_id(work: Any) -> str:
    name = f"run-{work.token(7)}"
    while work.state("run", name).exists:
        name = f"run-{work.token(7)}"
    return name


def _digests(about: tuple[str, tuple[str, ...]]) -> tuple[tuple[str, str], ...]:
    try:
        return tuple(contents.digests(*about).items())
    except StageError:
        return ()
