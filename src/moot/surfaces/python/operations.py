"""Briefs, guards, handlers, runs, exports and backups as typed methods. See `moot.surfaces.python.verbs`."""

# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import overload  # noqa: TID253 (no command loads this module)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal

    from moot.api.protocol.briefs import RoleBrief
    from moot.api.verbs.brief import RoleSummary
    from moot.api.verbs.effects.allow import Allowed
    from moot.api.verbs.effects.effects import KnownEffect
    from moot.api.verbs.effects.emit import Emission
    from moot.api.verbs.runs.looking import RunOutput, StageReason
    from moot.api.verbs.runs.run import PlannedRun
    from moot.api.verbs.runs.status import RunStatus, WavesStatus
    from moot.core.deciders.run import Run
    from moot.guard.hooks import GuardRemoved, GuardStatus
    from moot.guard.verbs import GuardVerdict
    from moot.runs.drivers import DriverStep
    from moot.runs.effects import Performed
    from moot.runs.stage import Stage
    from moot.runs.steps import PipelineStep, PlannedTarget, RestoredFiles
    from moot.transfer.redact import RedactedField
    from moot.transfer.verbs import Copied, Exported

    Some = str | Sequence[str]


class Operations(ABC):
    """See the module."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Any:
        """Run a verb; `given` is the `locals()` of the calling method."""

    @abstractmethod
    def _ask_on(self, verb: str, given: dict[str, Any]) -> Iterator[Any]:
        """The same for a verb that yields its answer in parts."""

    @overload
    def brief(self) -> list[RoleSummary]: ...

    @overload
    def brief(self, role: str) -> RoleBrief: ...

    def brief(self, role: str | None = None) -> RoleBrief | list[RoleSummary]:
        """The brief of a role, for the agent that takes it; without a role, the roles of the active packs."""
        return self._ask("brief", locals())

    def guard_install(self) -> GuardStatus:
        """Install git hooks that refuse commits and pushes of files that somebody else has claimed."""
        return self._ask("guard install", locals())

    def guard_remove(self) -> GuardRemoved:
        """Remove these hooks, and put back the ones from before. Only for people."""
        return self._ask("guard remove", locals())

    def guard_status(self) -> GuardStatus:
        return self._ask("guard status", locals())

    def guard_check(
        self, hook: Literal["pre-commit", "pre-push"], remote: Some = (), *, refs: str | None = None
    ) -> GuardVerdict:
        """Check the staged files, or with `pre-push` what is to be pushed. Raises `Held` if others claim a file."""
        return self._ask("guard check", locals())

    def emit(
        self,
        type: str,
        *,
        data: dict[str, Any] | None = None,
        stream: str | None = None,
        thread: str | None = None,
        key: str | None = None,
    ) -> Emission:
        """Emit a custom event: `noun:participle`."""
        return self._ask("emit", locals())

    def handle(self, *, drain: bool = False, limit: int | None = None) -> Iterator[Performed]:
        """Perform effects and yield each when it has ended: forever, or with `drain` until nothing is due."""
        return self._ask_on("handle", locals())

    def allow(self, names: Some = (), *, all: bool = False, yes: bool = False, revoke: bool = False) -> list[Allowed]:
        """List what moot.toml asks to run on this machine; with names and `yes`, allow it."""
        return self._ask("allow", locals())

    def effects(
        self,
        *,
        handler: str | None = None,
        state: Literal["waiting", "failed", "taken", "parked", "not-allowed", "no-handler"] | None = None,
        all: bool = False,
        limit: int = 100,
    ) -> list[KnownEffect]:
        return self._ask("effects", locals())

    def effects_retry(self, ids: Some, *, reason: str | None = None, key: str | None = None) -> list[str]:
        """Retry parked effects; returns their ids."""
        return self._ask("effects retry", locals())["retried"]

    def effects_drop(self, ids: Some, *, reason: str, key: str | None = None) -> list[str]:
        """Drop effects permanently; returns their ids."""
        return self._ask("effects drop", locals())["dropped"]

    @overload
    def export(  # type: ignore[overload-overlap]  # "-" is a text, too
        self, file: Literal["-"] = ..., *, after: int = ..., type: Some = ..., stream: Some = ..., force: bool = ...
    ) -> Iterator[dict[str, Any]]: ...

    @overload
    def export(
        self, file: str, *, after: int = ..., type: Some = ..., stream: Some = ..., force: bool = ...
    ) -> Exported: ...

    def export(
        self, file: str = "-", *, after: int = 0, type: Some = (), stream: Some = (), force: bool = False
    ) -> Exported | Iterator[dict[str, Any]]:
        """Write the events to a file as JSON Lines; without a file, yield the events."""
        return self._ask("export", locals())

    def backup(self, file: str, *, force: bool = False) -> Copied:
        return self._ask("backup", locals())

    def redact(
        self,
        thing: str,
        *,
        field: Some = (),
        reason: str | None = None,
        key: str | None = None,
    ) -> RedactedField:
        return self._ask("redact", locals())

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
        sequential: bool = ...,
        wave: int | None = ...,
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
        sequential: bool = ...,
        wave: int | None = ...,
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
        sequential: bool = False,
        wave: int | None = None,
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
        stage: str | None = None,
        *,
        attempt: int | None = None,
        key: str | None = None,
        dry_run: bool = False,
    ) -> RestoredFiles:
        return self._ask("run restore", locals())

    def run_stages(self, name: str) -> list[Stage]:
        return self._ask("run stages", locals())

    def run_log(self, id: str, *, stage: str | None = None, attempt: int | None = None) -> RunOutput:
        return self._ask("run log", locals())
