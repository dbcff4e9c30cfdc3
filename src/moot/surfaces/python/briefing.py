"""The briefs of roles as a typed method. See `moot.surfaces.python.verbs`."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import overload  # noqa: TID253 (no command loads this module)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.protocol.briefs import RoleBrief
    from moot.api.verbs.brief import RoleSummary


class Briefing(ABC):
    """See the module."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Any: ...

    @overload
    def brief(self) -> list[RoleSummary]: ...

    @overload
    def brief(self, role: str) -> RoleBrief: ...

    def brief(self, role: str | None = None) -> RoleBrief | list[RoleSummary]:
        """The brief of a role, for the agent that takes it; without a role, the roles of the active packs."""
        return self._ask("brief", locals())
