"""The verbs that shipped and installed packs bring. Looked up only for a first word that the catalogue does not have.

Whether the pack is active is checked when the verb runs: help and completion need no workspace.
"""

from __future__ import annotations

from moot.api import catalogue
from moot.core.errors import MootError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.catalogue import Verb


def names(pack: str, *, broken: bool = True) -> list[str]:
    """The verbs of a pack, as `PACK WORD`. If its code cannot be loaded: raises if `broken`, otherwise none."""
    from moot.wiring.packs import verbs

    if not catalogue.is_free(pack):
        return []
    try:
        return [f"{pack} {word}" for word in verbs(pack)]
    except MootError:
        if broken:
            raise
        return []


def all_names() -> list[str]:
    """The verbs of the packs that can be activated without a folder."""
    from moot.wiring.packs import known

    return [name for pack in known() for name in names(pack, broken=False)]


def find(name: str) -> Verb:
    """The verb of a shipped or installed pack."""
    from moot.api.protocol.pack_verbs import load
    from moot.wiring.packs import verbs

    pack, _, word = name.partition(" ")
    return load(pack, word, verbs(pack)[word])
