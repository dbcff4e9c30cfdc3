"""The code of the pack `rspec`: its verbs and stages. `pack.toml` has everything that is data."""

from __future__ import annotations

from moot.api.protocol import Protocol
from moot.packs.rspec.verbs import METHODS, TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class RspecProtocol(Protocol):
    """See the module."""

    pipeline = "moot.packs.rspec.pipeline:RspecPipeline"
    verbs: Mapping[str, str] = TABLE
    methods = METHODS
