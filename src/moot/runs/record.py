"""What one run of a target writes into the log. Each method is one commit, and each commit is whole.

repeat        a whole run in which every result is used again, if nobody works on anything
open          the run or its resumption, the seat that it asks for, and the markers of earlier runs taken back
reuse         the stages whose results are used again, with their markers; if nothing else is left, also the end
start         a stage, if its prerequisites still hold under the writer lock, with its old errors removed
end_stage     a stage with its outputs, its marker and its part of the document; if it was the last one, or it failed,
              also the end of the run, and its seat is free; if the next one follows at once, its start, under the same
              conditions as any start
"""

from __future__ import annotations

import os

from moot.core.deciders.document import MOOT, ShowDocument
from moot.core.deciders.permit import STAGES, AskPermit, ReturnPermit
from moot.core.deciders.run import (
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
)
from moot.core.json_codec import dumps
from moot.core.record import Record
from moot.runs import contents, documents, seats, step_keys
from moot.runs.contract import StageError
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from moot.core.deciders.document import Document
    from moot.core.run import Run, StageTry
    from moot.engine.engine import Outcome
    from moot.place.processes import Ran
    from moot.runs.contract import Pipeline, Target
    from moot.runs.drivers import DriverSetup
    from moot.runs.history import ReusePlan
    from moot.runs.performance import StageWork
    from moot.runs.preparation import Preparation, Prepared, TargetState
    from moot.runs.site import Site
    from moot.runs.stage import Stage
    from moot.runs.steps import RunOptions

REASON = 2000  # characters


class Started(Record):
    """An attempt at a stage that has begun. `position`: of the commit that started it."""

    prepared: Prepared
    attempt: StageTry
    position: int


class RunRecord:
    """The record of one run of one target, by the process with this token."""

    def __init__(self, preparation: Preparation, token: str) -> None:
        self._preparation, self._token = preparation, token
        self.site: Site = preparation.site
        self.pipeline: Pipeline = preparation.pipeline
        self.target: Target = preparation.target
        self.pack = self.pipeline.pack
        self.warnings = 0
        self.id = ""
        self.latest: Run | None = None  # as of the last commit of this process
        self.site.engine.lookups["target files"] = _digests

    def run(self) -> Run:
        found: Run = states.state(self.site.engine.read(), "run", self.id)[0]
        return found

    def attempts(self, stage: Stage) -> int:
        """How often a stage was attempted in this run."""
        assert self.latest is not None
        return len(self.latest.tries_of(stage.name))

    def _commit(self, act: Callable[[Any], None], asks: Sequence[tuple[str, Any]] = ()) -> Outcome:
        def kept(work: Any) -> None:
            act(work)
            self.latest = work.state("run", self.id) if self.id else None

        return self.site.commit(kept, asks)

    def _do(self, work: Any, command: Any) -> None:
        work.do("run", self.id, command, pack=self.pack.name)

    # --- the beginning ------------------------------------------------------------------------------------------------

    def open(self, current: Run | None, options: RunOptions) -> None:
        """Open a run, or resume this one, and ask for a seat. Refused while another run works on the target."""

        def act(work: Any) -> None:
            other = seats.holder(work.state("permit", STAGES), self.target.id)
            if other is not None:
                raise seats.busy(work.state("run", other.run), other)
            self._begin(work, current, options)
            self._show(work, fresh=current is None)
            ask = AskPermit(run=self.id, driver=self._token, limit=max(1, options.limit), wants=tuple(self._wants()))
            work.do("permit", STAGES, ask, pack=self.pack.name)

        self._commit(act)

    def repeat(self, work: Any, current: Run | None, options: RunOptions, plan: ReusePlan, now: TargetState) -> bool:
        """In a commit: a whole run that reuses everything, if everything still is as it was planned.

        Its markers stay: nothing is taken back that is set again in the same commit.
        """
        if not self._is_still(work, now):
            return False
        self._begin(work, current, options)
        self._reuse(work, self.pack.stages, plan)
        self.warnings = sum(len(one.attempt.warnings) for one in plan.kept)
        self._do(work, EndRun(outcome=PASSED, warnings=self.warnings))
        self.latest = work.state("run", self.id)
        return True

    def _begin(self, work: Any, current: Run | None, options: RunOptions) -> None:
        by: dict[str, Any] = {"pid": os.getpid(), "driver": self._token}
        if current is not None:
            self.id = current.id
            self._do(work, ResumeRun(**by))
            return
        self.id, target = new_id(work), self.target
        opening = OpenRun(
            pack=self.pack.name,
            stages=tuple(stage.name for stage in self.pack.stages),
            parent=options.parent,
            target=target.id,
            title=target.title,
            document=target.document.key if target.document is not None else "",
            root=target.root,
            paths={role: list(paths) for role, paths in target.paths.items()},
            parameters=dict(target.parameters),
            wave=target.wave,
            **by,
        )
        self._do(work, opening)

    def _wants(self) -> Iterator[str]:
        """What no other run may use at the same time: its target, its document, and what it writes."""
        yield seats.thing(self.target.id)
        if self.target.document is not None:
            yield f"document:{self.target.document.key}"
        for path in dict.fromkeys(path for stage in self.pack.stages for path in self.target.writes(stage)):
            yield f"file:{os.path.join(self.target.root, path)}"

    # --- stages -------------------------------------------------------------------------------------------------------

    def reuse(self, stages: Sequence[Stage], plan: ReusePlan, *, last: bool) -> None:
        """Record that results are reused. `last`: no stage is left."""

        def act(work: Any) -> None:
            self._reuse(work, stages, plan)
            if last:
                self._end(work, PASSED)

        self.warnings += sum(len(one.attempt.warnings) for one in plan.kept)
        self._commit(act)

    def _reuse(self, work: Any, stages: Sequence[Stage], plan: ReusePlan) -> None:
        for earlier, stage in zip(plan.kept, stages, strict=False):
            one = earlier.attempt
            reused = ReuseStage(
                stage=stage.name,
                source=earlier.run,
                reason="everything that it reads is the same",
                key=one.key,
                inputs=one.inputs,
                outputs=one.outputs,
                warnings=one.warnings,
                answer=one.answer,
            )
            self._do(work, reused)
            marks = documents.marked(stage, one.reason if one.status == SKIPPED else "")
            self._change(work, [documents.DocumentChange(stage.name, marks, stage.claims)])

    def start(self, prepared: Prepared, reason: str) -> Started | None:
        """Start a stage, if everything is still as it was prepared. None if it is not."""
        command = self._start_of(prepared, reason)
        outcome = self._commit(lambda work: self._start(work, prepared, command), self.asks())
        return self._started(prepared, outcome)

    def _start_of(self, prepared: Prepared, reason: str) -> StartStage:
        stage, command = prepared.stage, prepared.pinned.handler if prepared.pinned is not None else None
        return StartStage(
            stage=stage.name,
            who=command.name if command is not None else "",
            command=command.run if command is not None else (),
            timeout=command.timeout if command is not None else stage.timeout,
            reason=reason[:REASON],
            key=step_keys.key_of(prepared.inputs),
            inputs=prepared.inputs,
            checks=prepared.checks,
            writes=self.target.writes(stage),
            snapshots={path: self.site.put_blob(data) for path, data in prepared.snapshots.items()},
        )

    def asks(self) -> tuple[tuple[str, Any], ...]:
        """The question about the files that is answered under the writer lock."""
        return (("target files", (self.target.root, self._preparation.paths, self.target.folders)),)

    def _is_still(self, work: Any, now: TargetState) -> bool:
        (files,) = (work.facts.find(*question) for question in self.asks())
        document = self._document(work)
        leaves = document.leaves if document is not None else {}
        return dict(files) == dict(now.digests) and leaves == now.leaves

    def _start(self, work: Any, prepared: Prepared, command: StartStage) -> None:
        """Start it, unless something has changed."""
        if self._is_still(work, prepared.now):
            self._do(work, command)
            if self._document(work) is not None:
                self._change(work, [_unmarked(prepared.stage), *self._noted(work, prepared.stage)])

    def _started(self, prepared: Prepared, outcome: Outcome) -> Started | None:
        assert self.latest is not None
        attempt = self.latest.running
        return Started(prepared, attempt, outcome.last) if attempt is not None else None

    def end_stage(
        self,
        begun: Started,
        work: StageWork,
        answer: str | None,
        *,
        last: bool,
        following: tuple[Prepared, str] | None = None,
    ) -> Started | None:
        """Record how a stage ended, and start the one that follows at once, for that reason, if it still can."""
        stage, error = begun.prepared.stage, work.error
        self.warnings += len(work.output.warnings) if error is None else 0
        end = self._ending(stage, begun.attempt, work).replace(answer=answer, left=self._left(begun.prepared, work))
        start = self._start_of(*following) if following is not None else None

        def act(commit: Any) -> None:
            self._do(commit, end)
            if error is not None:
                self._change(commit, self._failure(commit, stage, error))
                self._end(commit, FAILED, stage.name, error.text)
                return
            self._change(commit, self._results(commit, stage, work))
            if last:
                whole = stage.name == self.pack.stages[-1].name
                self._end(commit, PASSED if whole else STOPPED, "" if whole else stage.name)
            elif following is not None and start is not None:
                self._start(commit, following[0], start)

        outcome = self._commit(act, self.asks() if following is not None else ())
        return self._started(following[0], outcome) if following is not None else None

    def keep_answer(self, work: StageWork) -> str | None:
        """Store the answer of a stage that passed, before the commit that refers to it. Returns its blob."""
        found = work.output.answer if work.error is None else {}
        return self.site.put_blob(dumps(dict(found)).encode()) if found else None

    def _left(self, prepared: Prepared, work: StageWork) -> dict[str, str]:
        """Blobs with the files that a stage changed, so that every version can be shown, and compared, later."""
        if work.after is None:
            return {}
        before, writes = prepared.snapshots, self.target.writes(prepared.stage)
        after = {path: data for path, data in work.after.contents.files.items() if contents.is_of(path, writes)}
        return {path: self.site.put_blob(data) for path, data in after.items() if before.get(path) != data}

    def _ending(self, stage: Stage, attempt: StageTry, work: StageWork) -> EndStage:
        error, ran = work.error, work.ran
        how = FAILED if error is not None else SKIPPED if work.output.skip else PASSED
        files = work.after.digests if work.after is not None else {}
        end = EndStage(
            how=how,
            stage=stage.name,
            attempt=attempt.attempt,
            reason=(error.text if error is not None else work.output.skip)[:REASON],
            seconds=work.seconds,
            outputs=step_keys.outputs_of(stage, self.target, files, work.leaves),
            warnings=tuple(work.output.warnings) if error is None else (),
            criteria=stage.criteria if error is None and (ran is not None or how == PASSED) else (),
            problems=tuple(one.said for one in error.problems) if error is not None else tuple(work.output.errors),
            details=error.details if error is not None else "",
            suggestion=error.suggestion if error is not None else "",
            asked=error is not None and error.asks,
        )
        return end if ran is None else end.replace(**printed(self.site, ran))

    # --- the end ------------------------------------------------------------------------------------------------------

    def _end(self, work: Any, outcome: str, at: str = "", reason: str = "") -> None:
        """End the run and free its seat."""
        self._do(work, EndRun(outcome=outcome, at=at, reason=reason[:REASON], warnings=self.warnings))
        work.do("permit", STAGES, ReturnPermit(self.id), pack=self.pack.name)

    def break_off(self, at: str, reason: str, outcome: str = INTERRUPTED) -> None:
        """Record that the run does not go on: it was interrupted, it waits for an answer, or a stage cannot start."""
        last = self.run().running

        def act(work: Any) -> None:
            if last is not None:
                asked = outcome == STOPPED
                self._do(work, EndStage(last.stage, last.attempt, reason[:REASON], how=INTERRUPTED, asked=asked))
                if self.target.document is not None:
                    seats.unmark(work, self.pack, self.target.document.key, last.stage)
            if work.state("run", self.id).open:
                self._end(work, outcome, last.stage if last is not None else at, reason)

        self._commit(act)

    # --- the document -------------------------------------------------------------------------------------------------

    def _show(self, work: Any, *, fresh: bool) -> None:
        """Let the file show the document of this target, without the markers of earlier runs: they no longer count."""
        ref = self.target.document
        if ref is not None and self._document(work) is not None:
            work.do("document", ref.key, ShowDocument(path=ref.path))
            if fresh:
                self._change(work, map(_unmarked, self.pack.stages))

    def _results(self, commit: Any, stage: Stage, work: StageWork) -> Iterator[documents.DocumentChange]:
        """What a stage that passed changes in the document, with its marker."""
        output = work.output
        yield from documents.by_author(self.pack, stage, output.document, output.removed)
        if self._document(commit) is None:
            yield from map(_unmarked, self.pack.stages[self.pack.stages.index(stage) + 1 :])
        yield documents.DocumentChange(stage.name, documents.marked(stage, output.skip), stage.claims)
        yield from self._noted(commit, stage, errors=output.errors, warnings=output.warnings)

    def _failure(self, commit: Any, stage: Stage, error: StageError) -> Iterator[documents.DocumentChange]:
        """What a stage that failed changes: its marker is taken back, no matter who set it, and its error is noted."""
        opened = self._document(commit) is not None
        if error.document and not documents.foreign(self.pack, stage, error.document):
            yield from documents.by_author(self.pack, stage, error.document, ())
            opened = True
        if opened:
            yield _unmarked(stage)
        counted = len(error.problems) > 1 and error.text.endswith(f"{len(error.problems)} problems")
        yield from self._noted(commit, stage, [one.said for one in error.problems] if counted else [error.text])

    def _document(self, work: Any) -> Document | None:
        """The state of its document; None if there is none."""
        ref = self.target.document
        state: Document | None = work.state("document", ref.key) if ref is not None else None
        return state if state is not None and state.status else None

    def _change(self, work: Any, changes: Iterable[documents.DocumentChange]) -> None:
        ref = self.target.document
        if ref is not None:
            for command in documents.commands(self.pack, ref, work.state("document", ref.key), [*changes]):
                work.do("document", ref.key, command)

    def _noted(
        self, work: Any, stage: Stage, errors: Sequence[str] = (), warnings: Sequence[str] = ()
    ) -> Iterator[documents.DocumentChange]:
        """The errors and warnings of a stage in the shared lists; its older ones are removed."""
        spec = self.pack.pipeline
        if spec is None or self.target.document is None:
            return
        leaves = work.state("document", self.target.document.key).leaves
        label = self.pipeline.label(stage)
        for pointer, texts in ((spec.errors, errors), (spec.warnings, warnings)):
            values = documents.noted(leaves, pointer, label, texts)
            if values:
                yield documents.DocumentChange(MOOT, values)


def _unmarked(stage: Stage) -> documents.DocumentChange:
    return documents.DocumentChange(stage.name, *documents.unmarked([stage]))


def printed(site: Site | DriverSetup, ran: Ran) -> dict[str, Any]:
    """The fields of an attempt's end that say how its command ended, with blobs of what it printed."""
    kept = {
        name: site.put_blob(one.tail) if one.size else None
        for name, one in (("output", ran.output), ("errors", ran.errors))
    }
    sizes = {"output_size": ran.output.size, "errors_size": ran.errors.size}
    return {"code": ran.code, "timed_out": ran.timed_out, **kept, **sizes}


def new_id(work: Any) -> str:
    """An id for a new run."""
    name = f"run-{work.token(7)}"
    while work.state("run", name).exists:
        name = f"run-{work.token(7)}"
    return name


def _digests(about: tuple[str, tuple[str, ...], tuple[str, ...]]) -> tuple[tuple[str, str], ...]:
    try:
        return tuple(contents.digests(*about).items())
    except StageError:
        return ()
