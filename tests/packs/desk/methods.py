"""The verbs of the help desk as typed methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from moot.api.protocol.pack_methods import PackMethods

if TYPE_CHECKING:
    from tests.packs.desk.verbs import Tally


class DeskMethods(PackMethods):
    """See the module."""

    def tally(self, states: str | Sequence[str] = (), *, fail: bool = False) -> Tally:
        found: Tally = self._ask("desk tally", locals())
        return found

    def tallies(self) -> Iterator[Any]:
        return self._ask_on("desk tally", {"follow": True})

    def open(self, counter: int, *, key: str | None = None) -> dict[str, int]:
        found: dict[str, int] = self._ask("desk open", locals())
        return found

    def close(self, *, key: str | None = None) -> dict[str, bool]:
        found: dict[str, bool] = self._ask("desk close", locals())
        return found
