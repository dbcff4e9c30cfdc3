"""Search as a typed method. See `moot.surfaces.python.verbs`."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from moot.surfaces.python.findings import Findings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.api.verbs.search import SearchResult

    Some = str | Sequence[str]


class Searching(Findings):
    """See the module."""

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
