"""The guard of a repository as typed methods. See `moot.surfaces.python.verbs`."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from moot.guard.hooks import GuardRemoved, GuardStatus
    from moot.guard.verbs import GuardVerdict

    Some = str | Sequence[str]


class Guarding(ABC):
    """See the module."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Any: ...

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
