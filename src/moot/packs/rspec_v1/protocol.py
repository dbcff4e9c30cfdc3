"""The code of the pack `rspec-v1`: its verbs and stages. `pack.toml` has everything that is data."""

from __future__ import annotations

from moot.api.protocol import Protocol
from moot.packs.rspec_v1.verbs import METHODS, TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.api.call import Call
    from moot.core.handler import Handler


class RspecV1(Protocol):
    """See the module."""

    pipeline = "moot.packs.rspec_v1.pipeline:RspecV1Pipeline"
    verbs = TABLE
    methods = METHODS

    def programs(self, call: Call) -> Iterable[Handler]:
        from moot.packs.rspec_v1.programs import programs

        return programs(call.place.root, self.settings)
