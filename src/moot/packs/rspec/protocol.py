"""The code of the pack `rspec`: its verbs and stages. `pack.toml` has everything that is data."""

from __future__ import annotations

from moot.api.protocol import Protocol
from moot.packs.rspec.verbs import METHODS, TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from moot.api.call import Call
    from moot.core.handler import Handler


class RspecProtocol(Protocol):
    """See the module."""

    pipeline = "moot.packs.rspec.pipeline:RspecPipeline"
    verbs: Mapping[str, str] = TABLE
    methods = METHODS

    def programs(self, call: Call) -> Iterable[Handler]:
        from moot.packs.rspec.cover_targets import rspec_of
        from moot.packs.rspec.programs import program

        one = program(rspec_of(call.place.root, self.settings), float(self.settings.get("rspec_timeout", 300)))
        return () if one is None else (one,)
