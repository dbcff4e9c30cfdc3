"""Driving agents, and what they did, as typed methods. See `moot.surfaces.python.verbs`."""

# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import overload  # noqa: TID253 (no command loads this module)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal

    from moot.api.protocol.stage import Stage
    from moot.core.deciders.run import Run
    from moot.pipelines.inspection import StageReason
    from moot.pipelines.planning import PlannedTarget
    from moot.pipelines.restoring import RestoredFiles
    from moot.pipelines.status import RunStatus, WavesStatus
    from moot.pipelines.steps import PipelineStep
    from moot.runs.inspection import RunOutput
    from moot.runs.steps import DriverStep
    from moot.runs.verbs import PlannedRun

    Some = str | Sequence[str]


class Drives(ABC):
    """See the module."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Any: ...

    @abstractmethod
    def _ask_on(self, verb: str, given: dict[str, Any]) -> Iterator[Any]:
        """The same for a verb that yields its answer in parts."""

    @overload
    def run(
        self,
        name: str,
        paths: Some = ...,
        *,
        task: Some = ...,
        once: bool = ...,
        max: int | None = ...,
        resume: bool = ...,
        stage: str | None = ...,
        until: str | None = ...,
        again: bool = ...,
        wait: bool = ...,
        parallel: int | None = ...,
        keep_going: bool = ...,
        output: bool = ...,
        dry_run: Literal[False] = ...,
    ) -> Iterator[DriverStep | PipelineStep]: ...

    @overload
    def run(
        self,
        name: str,
        paths: Some = ...,
        *,
        task: Some = ...,
        once: bool = ...,
        max: int | None = ...,
        resume: bool = ...,
        stage: str | None = ...,
        until: str | None = ...,
        again: bool = ...,
        wait: bool = ...,
        parallel: int | None = ...,
        keep_going: bool = ...,
        output: bool = ...,
        dry_run: Literal[True],
    ) -> PlannedRun | list[PlannedTarget]: ...

    def run(
        self,
        name: str,
        paths: Some = (),
        *,
        task: Some = (),
        once: bool = False,
        max: int | None = None,
        resume: bool = False,
        stage: str | None = None,
        until: str | None = None,
        again: bool = False,
        wait: bool = False,
        parallel: int | None = None,
        keep_going: bool = False,
        output: bool = False,
        dry_run: bool = False,
    ) -> Iterator[DriverStep | PipelineStep] | PlannedRun | list[PlannedTarget]:
        """Drive the agents of a pack, or run files through its stages, and yield each step.

        Raises `AwaitedFailed` at the end if a task or a file failed.
        """
        return self._ask("run", locals()) if dry_run else self._ask_on("run", locals())

    def runs(self, *, task: str | None = None, limit: int = 50) -> list[Run]:
        return self._ask("runs", locals())

    def run_show(self, id: str) -> Run:
        return self._ask("run show", locals())

    def run_status(self, id: str | None = None) -> RunStatus | WavesStatus | None:
        """Where a run stands now: its waves, files and stages. `run_follow` also yields what changes later."""
        return self._ask("run status", {**locals(), "follow": False})

    def run_explain(self, id: str | None = None, *, stage: str | None = None) -> list[StageReason]:
        return self._ask("run explain", locals())

    def run_restore(
        self,
        id: str,
        *,
        stage: str | None = None,
        attempt: int | None = None,
        overwritten: bool = False,
        edited: bool = False,
        undo: bool = False,
        key: str | None = None,
        dry_run: bool = False,
    ) -> RestoredFiles:
        return self._ask("run restore", locals())

    def run_stages(self, name: str) -> list[Stage]:
        return self._ask("run stages", locals())

    def run_log(self, id: str, *, stage: str | None = None, attempt: int | None = None) -> RunOutput:
        return self._ask("run log", locals())
