"""The verbs about tasks as typed methods. See `moot.surfaces.python.verbs` for the others."""

# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import overload  # noqa: TID253 (no command loads this module)

from moot.core.record import Record
from moot.surfaces.python.findings import Findings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from moot.api.verbs.tasks.answers import MovedTask
    from moot.api.verbs.tasks.board import Story
    from moot.api.verbs.tasks.planning import PlanResult
    from moot.core.task import Task

    Some = str | Sequence[str]
    Time = float | str | None


class Board(Record):
    """Tasks, and the number of tasks in each state.

    mine: with `mine=True`, the ids of the tasks by group: held, assigned, reviews, submitted.
    """

    tasks: tuple[Task, ...]
    counts: dict[str, int]
    mine: dict[str, list[str]] = {}  # noqa: RUF012 (a record's default is never changed)


class Tasks(Findings):
    """See the module."""

    # Tasks

    @overload
    def task_add(
        self,
        title: str,
        *,
        id: str | None = ...,
        body: str | None = ...,
        needs: Some = ...,
        priority: Literal["critical", "high", "medium", "low"] = ...,
        no_review: bool = ...,
        ttl: Time = ...,
        lifecycle: str | None = ...,
        doing: str | None = ...,
        dry_run: Literal[False] = ...,
        key: str | None = ...,
    ) -> Task: ...

    @overload
    def task_add(
        self,
        *,
        priority: Literal["critical", "high", "medium", "low"] = ...,
        no_review: bool = ...,
        ttl: Time = ...,
        lifecycle: str | None = ...,
        doing: str | None = ...,
        from_: str,
        dry_run: bool = ...,
        key: str | None = ...,
    ) -> PlanResult: ...

    @overload
    def task_add(
        self,
        title: str,
        *,
        id: str | None = ...,
        body: str | None = ...,
        needs: Some = ...,
        priority: Literal["critical", "high", "medium", "low"] = ...,
        no_review: bool = ...,
        ttl: Time = ...,
        lifecycle: str | None = ...,
        doing: str | None = ...,
        dry_run: Literal[True],
        key: str | None = ...,
    ) -> dict[str, Any]: ...

    def task_add(
        self,
        title: str | None = None,
        *,
        id: str | None = None,
        body: str | None = None,
        needs: Some = (),
        priority: Literal["critical", "high", "medium", "low"] = "medium",
        no_review: bool = False,
        ttl: Time = None,
        lifecycle: str | None = None,
        doing: str | None = None,
        from_: str | None = None,
        dry_run: bool = False,
        key: str | None = None,
    ) -> Task | PlanResult | dict[str, Any]:
        """Add a task, or the tasks of the plan `from_` (the path of a Markdown file)."""
        return self._ask("task add", locals())

    def task_edit(
        self,
        task: str,
        *,
        title: str | None = None,
        body: str | None = None,
        priority: Literal["critical", "high", "medium", "low"] | None = None,
        ttl: Time = None,
        key: str | None = None,
    ) -> Task:
        return self._ask("task edit", locals())

    def task_note(self, task: str, text: str, *, key: str | None = None) -> Task:
        """Add a comment; `task_show` returns the newest comments of a task."""
        return self._ask("task note", locals())

    def task_assign(self, task: str, agent: str | None = None, *, nobody: bool = False, key: str | None = None) -> Task:
        """Assign an open task to an agent, which alone can claim it next."""
        return self._ask("task assign", locals())

    def task_link(self, task: str, *, needs: Some, key: str | None = None) -> Task:
        return self._ask("task link", locals())

    def task_unlink(self, task: str, *, needs: Some, key: str | None = None) -> Task:
        return self._ask("task unlink", locals())

    def task_claim(self, task: str | None = None, *, key: str | None = None) -> MovedTask:
        """Claim a task: the named one, or the most urgent one that is ready. Its `token` is the fencing token."""
        return self._ask("task claim", locals())

    def task_submit(
        self,
        task: str,
        *,
        reason: str | None = None,
        token: int | None = None,
        receipt: str | None = None,
        key: str | None = None,
    ) -> MovedTask:
        return self._ask("task submit", locals())

    def task_approve(
        self,
        task: str,
        *,
        reason: str | None = None,
        report: str | None = None,
        receipt: str | None = None,
        key: str | None = None,
    ) -> MovedTask:
        return self._ask("task approve", locals())

    def task_reject(
        self, task: str, *, reason: str | None = None, report: str | None = None, key: str | None = None
    ) -> MovedTask:
        return self._ask("task reject", locals())

    def task_reopen(
        self, task: str, *, reason: str | None = None, override: bool = False, key: str | None = None
    ) -> MovedTask:
        return self._ask("task reopen", locals())

    def task_complete(
        self,
        task: str,
        *,
        reason: str | None = None,
        token: int | None = None,
        receipt: str | None = None,
        key: str | None = None,
    ) -> MovedTask:
        return self._ask("task complete", locals())

    def task_fail(
        self, task: str, *, reason: str | None = None, token: int | None = None, key: str | None = None
    ) -> MovedTask:
        return self._ask("task fail", locals())

    def task_cancel(self, task: str, *, reason: str | None = None, key: str | None = None) -> MovedTask:
        return self._ask("task cancel", locals())

    def task_release(
        self, task: str, *, reason: str | None = None, token: int | None = None, key: str | None = None
    ) -> MovedTask:
        return self._ask("task release", locals())

    def task_move(
        self,
        task: str,
        state: str,
        *,
        reason: str | None = None,
        owner: str | None = None,
        key: str | None = None,
    ) -> MovedTask:
        return self._ask("task move", locals())

    def task_show(self, task: str) -> Story:
        return self._ask("task show", locals())

    def board(self, *, state: str | None = None, all: bool = False, mine: bool = False) -> Board:
        return Board.of(self._ask("board", locals()))

    def ready(self, *, limit: int = 100) -> list[Task]:
        return self._ask("ready", locals())
