"""Packs: which version of a protocol was active when an event was written.

What always holds:
- An activation is recorded once for each change of a pack's version or content.
- It is in the same commit as the first events written under it. A pack with entities that this version of moot does not
  understand writes none, so it is not recorded.
"""

from __future__ import annotations

from moot.core.kind import NOWHERE, Kind
from moot.core.payload import Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.kind import Meta


class Activated(Payload):
    type = "pack:activated"
    said = "activated the pack {name} {version}"
    names = ("name", "version")
    marks = ("digest",)
    name: str
    version: str
    digest: str  # of its files


class ActivatedPack(Record):
    """The last recorded activation."""

    name: str
    version: str = ""
    digest: str = ""


class Activate(Record):
    version: str
    digest: str


def decide(state: ActivatedPack, command: Activate, _facts: object = None) -> list[Payload]:
    if (state.version, state.digest) == (command.version, command.digest):
        return []
    return [Activated(name=state.name, version=command.version, digest=command.digest)]


def evolve(state: ActivatedPack, event: Payload, _meta: Meta = NOWHERE) -> ActivatedPack:
    assert isinstance(event, Activated)
    return state.replace(version=event.version, digest=event.digest)


KIND = Kind(
    name="pack",
    events={Activated.type: Activated},
    decide=decide,
    evolve=evolve,
    state=ActivatedPack,
    made_by="`packs` in moot.toml",
    pack=lambda name: name,
)
