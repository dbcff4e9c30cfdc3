"""Checks that the active packs do not define the same role, message, event or file."""

from __future__ import annotations

from moot.api.protocol.references import overlap
from moot.core.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.api.protocol import Pack


def check_for_clashes(packs: Iterable[Pack]) -> None:
    """Raise if two packs define the same role, message, event or file. The error names all of them."""
    said = list(dict.fromkeys(_clashes(tuple(packs))))
    if said:
        raise Usage(
            "packs_clash",
            f"The active packs cannot be used together: {'; '.join(said)}.",
            "Turn one of them off in moot.toml. A pack that you write can call its type `pack/type`.",
            clashes=said,
        )


def _clashes(packs: tuple[Pack, ...]) -> Iterator[str]:
    for index, one in enumerate(packs):
        for other in packs[:index]:
            both = f"{other.name} and {one.name} both have"
            for role in one.roles:
                if any(role.name.lower() == theirs.name.lower() for theirs in other.roles):
                    yield f"{both} the role {role.name}"
            for what in ("messages", "events"):
                theirs = {spec.name for spec in getattr(other, what)}
                for spec in getattr(one, what):
                    if spec.name in theirs:
                        yield f"{both} the {'message' if what == 'messages' else 'event'} {spec.name}"
            for mirror in one.mirrors:
                for their in other.mirrors:
                    if overlap(mirror.path, their.path):
                        yield f"{both} the file {mirror.path}"
