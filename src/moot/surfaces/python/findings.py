"""Artifacts, decisions, checkpoints, receipts, `needs_me` and `watch` as typed methods.

See `moot.surfaces.python.verbs` for the others.
"""

# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import overload  # noqa: TID253 (no command loads this module)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moot.api.verbs.artifacts import ArtifactResult, ArtifactView
    from moot.api.verbs.decisions import DecisionResult as Decided
    from moot.api.verbs.search import SearchResult
    from moot.api.verbs.tasks.checks import Checked
    from moot.api.verbs.tasks.dependencies import Need
    from moot.core.deciders.artifact import Artifact
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.deciders.decision import Decision
    from moot.core.deciders.receipt import Receipt
    from moot.needs_me import Waiting
    from moot.overview import Overview

    Some = str | Sequence[str]


class Findings(ABC):
    """See the module."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Any:
        """Run a verb; `given` is the `locals()` of the calling method."""

    # Artifacts and dependencies

    def artifact_add(
        self,
        paths: Some = (),
        *,
        uri: str | None = None,
        id: str | None = None,
        kind: str | None = None,
        provides: Some = (),
        summary: str | None = None,
        task: str | None = None,
        key: str | None = None,
    ) -> ArtifactResult:
        """Register an artifact. `satisfied` lists who was waiting for it, by name."""
        return self._ask("artifact add", locals())

    def artifact_modify(
        self,
        id: str,
        *,
        change: Some = (),
        paths: Some = (),
        provides: Some = (),
        task: str | None = None,
        key: str | None = None,
    ) -> ArtifactResult:
        return self._ask("artifact modify", locals())

    def artifact_show(self, id: str) -> ArtifactView:
        return self._ask("artifact show", locals())

    def artifacts(
        self, *, provides: str | None = None, task: str | None = None, kind: str | None = None, limit: int = 200
    ) -> list[Artifact]:
        return self._ask("artifacts", locals())

    def artifact_need(
        self,
        names: Some = (),
        *,
        path: Some = (),
        task: str | None = None,
        drop: bool = False,
        wait: bool = False,
        timeout: float | str | None = None,
        key: str | None = None,
    ) -> list[Need]:
        """Declare what is needed. With `wait`, returns when all of it is available, or raises `TimedOut`."""
        return self._ask("artifact need", locals())

    def artifact_needed(self, *, limit: int = 200) -> list[Need]:
        return self._ask("artifact needed", locals())

    # Decisions

    def decide(
        self,
        title: str,
        *,
        rationale: str | None = None,
        affects: Some = (),
        path: Some = (),
        task: str | None = None,
        replaces: str | None = None,
        id: str | None = None,
        key: str | None = None,
    ) -> Decided:
        """Record a decision. `told` lists the agents that are notified immediately."""
        return self._ask("decide", locals())

    def decision_supersede(self, id: str, *, by: str, reason: str | None = None, key: str | None = None) -> Decided:
        return self._ask("decision supersede", locals())

    def decision_show(self, id: str) -> Decision:
        return self._ask("decision show", locals())

    def decisions(self, *, affecting: Some = (), all: bool = False, limit: int = 200) -> list[Decision]:
        return self._ask("decisions", locals())

    # Checkpoints

    def checkpoint_reach(
        self,
        question: str,
        *,
        kind: str = "human-verify",
        option: Some = (),
        awaiting: str | None = None,
        task: str | None = None,
        wait: bool = False,
        timeout: float | str | None = None,
        key: str | None = None,
    ) -> Checkpoint:
        """Ask a person. With `wait`, returns when it is answered, or raises `TimedOut`; the checkpoint stays open."""
        return self._ask("checkpoint reach", locals())

    def checkpoint_resolve(
        self, id: str, answer: str, *, text: str | None = None, key: str | None = None
    ) -> Checkpoint:
        """Answer a checkpoint, as a person. Raises `Held` with the first answer if it was already answered."""
        return self._ask("checkpoint resolve", locals())

    def checkpoint_withdraw(self, id: str, *, reason: str, key: str | None = None) -> Checkpoint:
        return self._ask("checkpoint withdraw", locals())

    def checkpoint_show(self, id: str, *, wait: bool = False, timeout: float | str | None = None) -> Checkpoint:
        return self._ask("checkpoint show", locals())

    def checkpoints(self, *, all: bool = False, task: str | None = None, limit: int = 200) -> list[Checkpoint]:
        return self._ask("checkpoints", locals())

    # Receipts

    def check(self, command: Sequence[str], *, task: str | None = None, timeout: float | str | None = None) -> Checked:
        """Run a command without a shell and keep a receipt. A failed command is in the receipt and raises nothing."""
        return self._ask("check", locals())

    def receipt_show(self, id: str) -> Checked:
        """A receipt; `doubt` gives the reason if it proves nothing about the current files."""
        return self._ask("receipt show", locals())

    def receipts(self, *, task: str | None = None, limit: int = 50) -> list[Receipt]:
        return self._ask("receipts", locals())

    # What waits for a person

    @overload
    def needs_me(self) -> list[Waiting]: ...

    @overload
    def needs_me(self, text: str, *, answer: str, key: str | None = ...) -> Any: ...

    def needs_me(self, text: str | None = None, *, answer: str | None = None, key: str | None = None) -> Any:
        """What waits for a person. With `answer` (an id) and a text: answer it."""
        return self._ask("needs-me", locals())

    # The overview

    def watch(self) -> Overview:
        """The overview that `moot watch` shows, as of now. Reading it does not count as a sign of life."""
        return self._ask("watch", locals())

    def search(
        self,
        words: Some = (),
        *,
        kind: Some = (),
        by: str | None = None,
        task: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 20,
    ) -> list[SearchResult]:
        """Search the text of all events, newest first."""
        return self._ask("search", locals())
