"""The base of a pack's typed Python methods: one for each verb that the pack brings.

class Desk(PackMethods):
    def tally(self, *, since: str | None = None) -> Tally:
        return self._ask("desk tally", locals())

workspace.pack(Desk).tally(since="1h")
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class PackMethods:
    """`Workspace.pack` creates it: each method runs a verb as the caller of that workspace."""

    def __init__(
        self,
        ask: Callable[[str, dict[str, Any]], Any],
        ask_on: Callable[[str, dict[str, Any]], Iterator[Any]],
    ) -> None:
        self._ask = ask  # runs a verb; the arguments are the `locals()` of the calling method
        self._ask_on = ask_on  # the same for an endless verb: an iterator
