"""What one run writes into the log. Each method is one commit, and each commit is whole.

repeated      a whole run in which every result is used again, if nobody works on anything
opened        the run or its resumption, the seat that it asks for, and the markers of earlier runs taken back
reused        the stages whose results are used again, with their markers; if nothing else is left, also the end
started       a stage, if its prerequisites still hold under the writer lock, with its old errors removed
ended         a stage with its outputs, its marker and its part of the document; if it was the last one, or it
              failed, also the end of the run, and its seat is free; if the next one follows at once, its start, under
              the same conditions as any start
"""

from __future__ import annotations

import os

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
from moot.pipelines import seats
from moot.pipelines.contract import StageError
from moot.pipelines.document_record import DocumentRecord
from moot.pipelines.preparing import fingerprint
from moot.runs import contents, documents, step_keys
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.run import Run, StageTry
    from moot.engine.engine import Outcome
    from moot.pipelines.contract import Pipeline, Target
    from moot.pipelines.performing import StageWork
    from moot.pipelines.preparing import Preparation, Prepared, TargetState
    from moot.pipelines.reuse import Reuse
    from moot.runs.stage import Stage
    from moot.runs.steps import RunOptions

_REASON = 2000  # characters


class Started(Record):
    """An attempt at a stage that has begun. `position`: of the commit that started it."""

    prepared: Prepared
    attempt: StageTry
    position: int


class _Start(Record):
    """A start to be committed. `asks`: for the digests of the files and of the document's, under the writer lock."""

    prepared: Prepared
    event: StartStage
    asks: tuple[tuple[str, Any], tuple[str, Any]]


class RunRecord(DocumentRecord):
    """The record of one run of one target, by this process."""

    def __init__(self, call: Call, pipeline: Pipeline, target: Target, token: str) -> None:
        super().__init__(pipeline, target)
        self.call, self._token = call, token
        self.warnings = 0
        self.id = ""
        self.latest: Run | None = None  # as of the last commit of this process
        call.engine.lookups |= {"target files": _digests, "document file": _fingerprint}

    def run(self) -> Run:
        found: Run = states.state(self.call.engine.read(), "run", self.id)[0]
        return found

    def attempts(self, stage: Stage) -> int:
        """How often a stage was attempted in this run."""
        assert self.latest is not None
        return len(self.latest.tries_of(stage.name))

    def _commit(self, act: Callable[[Any], None], asks: Sequence[tuple[str, Any]] = ()) -> Outcome:
        def kept(work: Any) -> None:
            act(work)
            self.latest = work.state("run", self.id) if self.id else None

        return self.call.commit(kept, asks)

    def _do(self, work: Any, command: Any) -> None:
        work.do("run", self.id, command, pack=self.pack.name)

    # --- the beginning ------------------------------------------------------------------------------------------------

    def open(self, current: Run | None, options: RunOptions) -> None:
        """Open a run, or resume this one, and ask for a seat. Refused while another run works on the target."""
        self._commit(lambda work: self._open(work, current, options))

    def repeat(
        self, current: Run | None, options: RunOptions, plan: Reuse, now: TargetState, preparation: Preparation
    ) -> Run | None:
        """A whole run that reuses everything, if everything still is as it was planned, and no other run works.

        Its markers stay: nothing is taken back that is set again in the same commit.
        """
        asks = self._asks(preparation)
        done = False

        def act(work: Any) -> None:
            nonlocal done
            done = not work.state("permit", STAGES).seats and self._is_still(work, now, asks)
            if done:
                self._begin(work, current, options)
                self._reuse(work, self.pack.stages, plan)
                self._do(work, EndRun(outcome=PASSED, warnings=self.warnings))

        self.warnings = sum(len(one.attempt.warnings) for one in plan.kept)
        self._commit(act, asks)
        if not done:
            self.id, self.warnings = "", 0
        return self.latest if done else None

    def _open(self, work: Any, current: Run | None, options: RunOptions) -> None:
        wanted = seats.thing(self.target.id)
        other = next((one for one in work.state("permit", STAGES).seats if wanted in one.wants), None)
        if other is not None:
            raise seats.busy(work.state("run", other.run), other)
        self._begin(work, current, options)
        self._show(work, fresh=current is None)
        wants = (wanted, *self._wants())
        ask = AskPermit(run=self.id, driver=self._token, limit=max(1, options.limit), wants=wants)
        work.do("permit", STAGES, ask, pack=self.pack.name)

    def _begin(self, work: Any, current: Run | None, options: RunOptions) -> None:
        by: dict[str, Any] = {"pid": os.getpid(), "driver": self._token}
        if current is not None:
            self.id = current.id
            self._do(work, ResumeRun(**by))
        else:
            self.id = new_id(work)
            self._do(work, self._opening(by, options))

    def _opening(self, by: Mapping[str, Any], options: RunOptions) -> OpenRun:
        target = self.target
        return OpenRun(
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

    def _wants(self) -> Iterator[str]:
        """What no other run may use at the same time: the document, and every single file that a stage writes."""
        if self.target.document is not None:
            yield f"document:{self.target.document.key}"
        for role in dict.fromkeys(role for stage in self.pack.stages for role in stage.writes):
            for path in self.target.paths.get(role, ()):
                if not path.endswith("/"):
                    yield f"file:{os.path.join(self.target.root, path)}"

    # --- stages -------------------------------------------------------------------------------------------------------

    def reuse(self, stages: Sequence[Stage], plan: Reuse, *, last: bool) -> None:
        """Record that results are reused. `last`: no stage is left."""

        def act(work: Any) -> None:
            self._reuse(work, stages, plan)
            if last:
                self._end(work, PASSED)

        self.warnings += sum(len(one.attempt.warnings) for one in plan.kept)
        self._commit(act)

    def _reuse(self, work: Any, stages: Sequence[Stage], plan: Reuse) -> None:
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
            if earlier.asked:  # what it asked for is no longer needed
                self._change(work, self._noted(work, stage, errors=one.problems, warnings=one.warnings))

    def start(self, prepared: Prepared, preparation: Preparation, reason: str) -> Started | None:
        """Start a stage, if everything is still as it was prepared. None if it is not."""
        start = self._start_of(prepared, preparation, reason)
        outcome = self._commit(lambda work: self._start(work, start), start.asks)
        return self._started(start, outcome)

    def _start_of(self, prepared: Prepared, preparation: Preparation, reason: str) -> _Start:
        stage, command = prepared.stage, prepared.command
        event = StartStage(
            stage=stage.name,
            who=command.name if command is not None else "",
            command=command.run if command is not None else (),
            timeout=command.timeout if command is not None else stage.timeout,
            reason="; ".join(filter(None, (reason, prepared.note)))[:_REASON],
            key=prepared.key,
            inputs=prepared.inputs,
            checks=prepared.checks,
            writes=tuple(path for role in stage.writes for path in self.target.paths.get(role, ())),
            snapshots={path: self.call.put_blob(data) for path, data in prepared.snapshots.items()},
        )
        return _Start(prepared, event, self._asks(preparation))

    def _asks(self, preparation: Preparation) -> tuple[tuple[str, Any], tuple[str, Any]]:
        """The questions about the files and the document's file that are answered under the writer lock."""
        files = (self.target.root, preparation.paths, self.target.folders)
        return ("target files", files), ("document file", preparation.shown_at)

    def _is_still(self, work: Any, now: TargetState, asks: Sequence[tuple[str, Any]]) -> bool:
        files, shown = (work.facts.find(*question) for question in asks)
        return dict(files) == dict(now.digests) and shown == now.shown and self._leaves(work) == now.leaves

    def _start(self, work: Any, start: _Start) -> None:
        """Start it, unless something has changed."""
        stage = start.prepared.stage
        if not self._is_still(work, start.prepared.situation, start.asks):
            return
        self._do(work, start.event)
        if self._has_document(work):
            self._change(work, [self._unmarked(stage), *self._noted(work, stage)])

    def _started(self, start: _Start, outcome: Outcome) -> Started | None:
        assert self.latest is not None
        attempt = self.latest.running
        return Started(start.prepared, attempt, outcome.last) if attempt is not None else None

    def keep_answer(self, work: StageWork) -> str | None:
        """Store the answer of a stage that passed, before the commit that refers to it. Returns its blob."""
        found = work.output.answer if work.error is None else {}
        return self.call.put_blob(dumps(dict(found)).encode()) if found else None

    def end_stage(
        self,
        begun: Started,
        work: StageWork,
        preparation: Preparation,
        answer: str | None,
        *,
        last: bool,
        following: tuple[Prepared, str] | None = None,
    ) -> Started | None:
        """Record how a stage ended, and start the one that follows at once, for that reason, if it still can."""
        stage, error = begun.prepared.stage, work.error
        self.warnings += len(work.output.warnings) if error is None else 0
        end = self._ending(stage, begun.attempt, work).replace(answer=answer, left=self._left(begun.prepared, work))
        start = self._start_of(following[0], preparation, following[1]) if following is not None else None

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
            elif start is not None:
                self._start(commit, start)

        outcome = self._commit(act, start.asks if start is not None else ())
        return self._started(start, outcome) if start is not None else None

    def _left(self, prepared: Prepared, work: StageWork) -> dict[str, str]:
        """Blobs with the files that changed while a stage ran: every version can be shown, and compared, later.

        Of one that failed, also those that it may not write: who changed them is not known.
        """
        if work.after is None:
            return {}
        writes = [path for role in prepared.stage.writes for path in self.target.paths.get(role, ())]
        after, found = work.after.contents.files, prepared.situation.contents.files
        own = {path: data for path, data in after.items() if contents.is_of(path, writes)}
        changed = {path: data for path, data in own.items() if prepared.snapshots.get(path) != data}
        if work.error is not None:
            changed |= {path: data for path, data in after.items() if path not in own and found.get(path) != data}
        return {path: self.call.put_blob(data) for path, data in changed.items()}

    def _ending(self, stage: Stage, attempt: StageTry, work: StageWork) -> EndStage:
        error, ran = work.error, work.ran
        how = FAILED if error is not None else SKIPPED if work.output.skip else PASSED
        files = work.after.digests if work.after is not None else {}
        end = EndStage(
            how=how,
            stage=stage.name,
            attempt=attempt.attempt,
            reason=(error.text if error is not None else work.output.skip)[:_REASON],
            seconds=work.seconds,
            outputs=step_keys.outputs_of(stage, self.target, files, work.leaves),
            warnings=tuple(work.output.warnings) if error is None else (),
            criteria=stage.criteria if error is None and (ran is not None or how == PASSED) else (),
            problems=tuple(one.said for one in error.problems) if error is not None else tuple(work.output.errors),
            details=error.details if error is not None else "",
            suggestion=error.suggestion if error is not None else "",
            asked=error is not None and error.asks,
        )
        if ran is None:
            return end
        kept = {
            name: self.call.put_blob(one.tail) if one.size else None
            for name, one in (("output", ran.output), ("errors", ran.errors))
        }
        sizes = {"output_size": ran.output.size, "errors_size": ran.errors.size}
        return end.replace(code=ran.code, timed_out=ran.timed_out, **kept, **sizes)

    # --- the end ------------------------------------------------------------------------------------------------------

    def _end(self, work: Any, outcome: str, at: str = "", reason: str = "") -> None:
        """End the run and free its seat."""
        self._do(work, EndRun(outcome=outcome, at=at, reason=reason[:_REASON], warnings=self.warnings))
        work.do("permit", STAGES, ReturnPermit(self.id), pack=self.pack.name)

    def refuse(self, at: str, reason: str) -> None:
        """Record that a stage could not be started. Nothing else is written."""
        self._commit(lambda work: self._end(work, FAILED, at, reason))

    def break_off(self, at: str, reason: str, outcome: str = INTERRUPTED) -> None:
        """Record that the run does not go on: it was interrupted, or it waits for an answer."""
        last = self.run().running

        def act(work: Any) -> None:
            if last is not None:
                asked = outcome == STOPPED
                self._do(work, EndStage(last.stage, last.attempt, reason[:_REASON], how=INTERRUPTED, asked=asked))
                if self.target.document is not None:
                    seats.unmark(work, self.pack, self.target.document.key, last.stage)
            if work.state("run", self.id).open:
                self._end(work, outcome, last.stage if last is not None else at, reason)

        self._commit(act)


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


def _fingerprint(about: tuple[str, str, tuple[str, ...]]) -> str:
    return fingerprint(*about)
