"""Custom events, handlers and effects as typed methods. See `moot.surfaces.python.verbs`."""

# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal

    from moot.api.verbs.effects.allow import Allowed
    from moot.api.verbs.effects.effects import KnownEffect
    from moot.api.verbs.effects.emit import Emission
    from moot.effects.attempts import Performed

    Some = str | Sequence[str]


class Handling(ABC):
    """See the module."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Any: ...

    @abstractmethod
    def _ask_on(self, verb: str, given: dict[str, Any]) -> Iterator[Any]:
        """The same for a verb that yields its answer in parts."""

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
