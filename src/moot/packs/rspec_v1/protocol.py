"""The code of the pack `rspec-v1`: its verbs and stages. `pack.toml` has everything that is data."""

from __future__ import annotations

from moot.api.protocol import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class RspecV1(Protocol):
    """See the module."""

    pipeline = "moot.packs.rspec_v1.pipeline:RspecV1Pipeline"
    verbs: Mapping[str, str] = {}
