"""What the commits of a run change in the document of its target: values of stages, markers, errors and warnings."""

from __future__ import annotations

from moot.core.deciders.document import MOOT, ShowDocument
from moot.pipelines.performing import are_only_counted
from moot.runs import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.pipelines.contract import Pipeline, StageError, Target
    from moot.pipelines.performing import StageWork
    from moot.runs.stage import Stage


class DocumentRecord:
    """The part of the record of a run that concerns its document. Without a document, nothing is changed."""

    def __init__(self, pipeline: Pipeline, target: Target) -> None:
        self.pipeline, self.target = pipeline, target
        self.pack = pipeline.pack

    def _show(self, work: Any, *, fresh: bool) -> None:
        """Let the file show the document of this target, without the markers of earlier runs: they no longer count."""
        ref = self.target.document
        if ref is None or not work.state("document", ref.key).status:
            return
        work.do("document", ref.key, ShowDocument(path=ref.path))
        if fresh:
            self._change(work, [self._unmarked(stage) for stage in self.pack.stages])

    def _results(self, commit: Any, stage: Stage, work: StageWork) -> Iterator[documents.DocumentChange]:
        """What a stage that passed changes in the document, with its marker."""
        output = work.output
        yield from documents.by_author(self.pack, stage, output.document, output.removed)
        if not self._has_document(commit):
            later = self.pack.stages[[one.name for one in self.pack.stages].index(stage.name) + 1 :]
            yield from map(self._unmarked, later)
        yield documents.DocumentChange(stage.name, documents.marked(stage, output.skip), stage.claims)
        yield from self._noted(commit, stage, errors=output.errors, warnings=output.warnings)

    def _failure(self, commit: Any, stage: Stage, error: StageError) -> Iterator[documents.DocumentChange]:
        """What a stage that failed changes: its marker is taken back, no matter who set it, and its error is noted."""
        opened = self._has_document(commit)
        if error.document and not documents.foreign(self.pack, stage, error.document):
            yield from documents.by_author(self.pack, stage, error.document, ())
            opened = True
        if opened:
            yield self._unmarked(stage)
        errors = [one.said for one in error.problems] if are_only_counted(error) else [error.text]
        yield from self._noted(commit, stage, errors=errors)

    def _has_document(self, work: Any) -> bool:
        ref = self.target.document
        return ref is not None and bool(work.state("document", ref.key).status)

    def _leaves(self, work: Any) -> Mapping[str, Any]:
        if self.target.document is None:
            return {}
        found: Mapping[str, Any] = work.state("document", self.target.document.key).leaves
        return found

    def _change(self, work: Any, changes: Iterable[documents.DocumentChange]) -> None:
        ref = self.target.document
        if ref is None:
            return
        for command in documents.commands(self.pack, ref, work.state("document", ref.key), [*changes]):
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
