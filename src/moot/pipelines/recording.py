"""What one run writes into the log. Each method is one commit, and each commit is whole.

opened        the run or its resumption, the seat that it asks for, and the markers of earlier runs taken back
reused        the stages whose results are used again, with their markers; if nothing else is left, also the end
started       a stage, if its prerequisites still hold under the writer lock, with its old errors removed
ended         a stage with its outputs, its marker and its part of the document; if it was the last one, or it
              failed, also the end of the run, and its seat is free
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
from moot.pipelines import contents, documents, seats, step_keys
from moot.pipelines.contract import StageError
from moot.pipelines.performing import summary
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.stage import Stage
    from moot.core.run import Run, StageTry
    from moot.pipelines.contract import Pipeline, Target
    from moot.pipelines.performing import StageWork
    from moot.pipelines.preparing import Preparation, Prepared
    from moot.pipelines.reuse import Reuse
    from moot.pipelines.steps import RunOptions

_REASON = 2000  # characters


class RunRecord:
    """The record of one run of one target, by this process."""

    def __init__(self, call: Call, pipeline: Pipeline, target: Target, token: str) -> None:
        self.call, self.pipeline, self.target, self._token = call, pipeline, target, token
        self.pack = pipeline.pack
        self.warnings = 0
        self.id = ""

    def run(self) -> Run:
        found: Run = states.state(self.call.engine.read(), "run", self.id)[0]
        return found

    def _do(self, work: Any, command: Any) -> None:
        work.do("run", self.id, command, pack=self.pack.name)

    # --- the beginning ------------------------------------------------------------------------------------------------

    def open(self, current: Run | None, options: RunOptions) -> None:
        """Open a run, or resume this one, and ask for a seat. Refused while another run works on the target."""
        self.call.commit(lambda work: self._open(work, current, options))

    def _open(self, work: Any, current: Run | None, options: RunOptions) -> None:
        wanted = seats.thing(self.target.id)
        other = next((one for one in work.state("permit", STAGES).seats if wanted in one.wants), None)
        if other is not None:
            raise seats.busy(work.state("run", other.run), other)
        by: dict[str, Any] = {"pid": os.getpid(), "driver": self._token}
        if current is not None:
            self.id = current.id
            self._do(work, ResumeRun(**by))
        else:
            self.id = new_id(work)
            self._do(work, self._opening(by, options))
        self._show(work, fresh=current is None)
        wants = (wanted, *self._wants())
        ask = AskPermit(run=self.id, driver=self._token, limit=max(1, options.limit), wants=wants)
        work.do("permit", STAGES, ask, pack=self.pack.name)

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

    def _show(self, work: Any, *, fresh: bool) -> None:
        """Let the file show the document of this target, without the markers of earlier runs: they no longer count."""
        ref = self.target.document
        if ref is None or not work.state("document", ref.key).status:
            return
        work.do("document", ref.key, ShowDocument(path=ref.path))
        if fresh:
            self._change(work, [self._unmarked(stage) for stage in self.pack.stages])

    # --- stages -------------------------------------------------------------------------------------------------------

    def reuse(self, stages: Sequence[Stage], plan: Reuse, *, last: bool) -> None:
        """Record that results are reused. `last`: no stage is left."""

        def act(work: Any) -> None:
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
                self._change(work, [documents.DocumentChange(stage.name, marks)])
            if last:
                self._end(work, PASSED)

        self.warnings += sum(len(one.attempt.warnings) for one in plan.kept)
        self.call.commit(act)

    def start(self, prepared: Prepared, preparation: Preparation, reason: str) -> int:
        """Start a stage, if everything is still as it was prepared. Returns the position; 0 if it is not."""
        stage, now, command, target = prepared.stage, prepared.situation, prepared.command, self.target
        start = StartStage(
            stage=stage.name,
            who=command.name if command is not None else "",
            command=command.run if command is not None else (),
            timeout=command.timeout if command is not None else stage.timeout,
            reason=reason[:_REASON],
            key=prepared.key,
            inputs=prepared.inputs,
            checks=prepared.checks,
            snapshots={path: self.call.put_blob(data) for path, data in prepared.snapshots.items()},
        )
        self.call.engine.lookups["target files"] = _digests
        moved = False

        def act(work: Any) -> None:
            nonlocal moved
            seen = dict(work.facts.find("target files", (target.root, preparation.paths, target.folders)))
            moved = seen != dict(now.digests) or self._leaves(work) != now.leaves
            if not moved:
                self._do(work, start)
                if self._has_document(work):
                    self._change(work, [self._unmarked(stage), *self._noted(work, stage)])

        outcome = self.call.commit(act)
        return 0 if moved else outcome.last

    def end_stage(self, prepared: Prepared, attempt: StageTry, work: StageWork, *, last: bool) -> str | None:
        """Record how a stage ended. Returns the blob with its answer."""
        stage, error, answer = prepared.stage, work.error, None
        if error is None:
            answer = self.call.put_blob(dumps(dict(work.output.answer)).encode()) if work.output.answer else None
            self.warnings += len(work.output.warnings)
        end = self._ending(stage, attempt, work).replace(answer=answer)

        def act(commit: Any) -> None:
            self._do(commit, end)
            if error is not None:
                self._change(commit, [*self._failure(commit, stage, error)])
                self._end(commit, FAILED, stage.name, error.text)
                return
            self._change(commit, [*self._results(commit, stage, work)])
            if last:
                whole = stage.name == self.pack.stages[-1].name
                self._end(commit, PASSED if whole else STOPPED, "" if whole else stage.name)

        self.call.commit(act)
        return answer

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
            criteria=stage.criteria if how == PASSED else (),
            problems=tuple(one.said for one in error.problems) if error is not None else (),
            details=error.details if error is not None else "",
            suggestion=error.suggestion if error is not None else "",
        )
        if ran is None:
            return end
        kept = {
            name: self.call.put_blob(one.tail) if one.size else None
            for name, one in (("output", ran.output), ("errors", ran.errors))
        }
        sizes = {"output_size": ran.output.size, "errors_size": ran.errors.size}
        return end.replace(code=ran.code, timed_out=ran.timed_out, **kept, **sizes)

    def _results(self, commit: Any, stage: Stage, work: StageWork) -> Iterator[documents.DocumentChange]:
        """What a stage that passed changes in the document, with its marker."""
        output = work.output
        yield from documents.by_author(self.pack, stage, output.document, output.removed)
        if not self._has_document(commit):
            later = self.pack.stages[[one.name for one in self.pack.stages].index(stage.name) + 1 :]
            yield from map(self._unmarked, later)
        yield documents.DocumentChange(stage.name, documents.marked(stage, output.skip))
        yield from self._noted(commit, stage, errors=output.errors, warnings=output.warnings)

    def _failure(self, commit: Any, stage: Stage, error: StageError) -> Iterator[documents.DocumentChange]:
        """What a stage that failed changes: its marker is taken back, whoever has set it, and its error is noted."""
        opened = self._has_document(commit)
        if error.document and not documents.foreign(self.pack, stage, error.document):
            yield from documents.by_author(self.pack, stage, error.document, ())
            opened = True
        if opened:
            yield self._unmarked(stage)
        listed = error.problems and error.text == summary(error.problems)
        yield from self._noted(commit, stage, errors=[one.said for one in error.problems] if listed else (error.text,))

    # --- the end ------------------------------------------------------------------------------------------------------

    def _end(self, work: Any, outcome: str, at: str = "", reason: str = "") -> None:
        """End the run and free its seat."""
        self._do(work, EndRun(outcome=outcome, at=at, reason=reason[:_REASON], warnings=self.warnings))
        work.do("permit", STAGES, ReturnPermit(self.id), pack=self.pack.name)

    def refuse(self, at: str, reason: str) -> None:
        """Record that a stage could not be started. Nothing else is written."""
        self.call.commit(lambda work: self._end(work, FAILED, at, reason))

    def break_off(self, at: str, reason: str, outcome: str = INTERRUPTED) -> None:
        """Record that the run does not go on: it was interrupted, or it waits for an answer."""
        last = self.run().running

        def act(work: Any) -> None:
            if last is not None:
                self._do(work, EndStage(last.stage, last.attempt, reason[:_REASON], how=INTERRUPTED))
                if self.target.document is not None:
                    seats.unmark(work, self.pack, self.target.document.key, last.stage)
            if work.state("run", self.id).open:
                self._end(work, outcome, last.stage if last is not None else at, reason)

        self.call.commit(act)

    # --- the document -------------------------------------------------------------------------------------------------

    def _has_document(self, work: Any) -> bool:
        ref = self.target.document
        return ref is not None and bool(work.state("document", ref.key).status)

    def _leaves(self, work: Any) -> Mapping[str, Any]:
        if self.target.document is None:
            return {}
        found: Mapping[str, Any] = work.state("document", self.target.document.key).leaves
        return found

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
        self, work: Any, stage: Stage, errors: Sequence[str] = (), warnings: Sequence[str] = ()
    ) -> Iterator[documents.DocumentChange]:
        """The errors and warnings of a stage in the shared lists; its older ones are removed."""
        spec = self.pack.pipeline
        if spec is None or self.target.document is None:
            return
        leaves, label = self._leaves(work), self.pipeline.label(stage)
        for pointer, texts in ((spec.errors, errors), (spec.warnings, warnings)):
            values = documents.noted(leaves, pointer, label, texts)
            if values:
                yield documents.DocumentChange(MOOT, values)


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
