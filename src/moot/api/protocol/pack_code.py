"""The code of packs where it reacts, closes a commit, or checks: `moot.core.pack_code` reports its errors."""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.pack_code import PackCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from moot.api.call import Call
    from moot.api.protocol import Pack, Protocol
    from moot.api.protocol.pack_files import FileProblem, PackFiles
    from moot.core.payload import Payload
    from moot.core.reactions import Reaction, Step, World
    from moot.engine.unit_of_work import Work


def reacting(pack: str, reaction: Reaction) -> Reaction:
    """A reaction of the pack."""

    def react(key: str, happened: Payload, world: World) -> Iterator[Step]:
        with PackCode(pack, "reactions"):
            yield from reaction(key, happened, world)

    return react


def closing(pack: str, closer: Callable[[Work], None]) -> Callable[[Work], None]:
    """A closer of the pack."""

    def close(work: Work) -> None:
        with PackCode(pack, "closers"):
            closer(work)

    return close


def recording(packs: Sequence[Pack]) -> Callable[[Work], None]:
    """A closer that records which packs are active, if that has changed."""

    def record(work: Work) -> None:
        from moot.core.deciders.pack import Activate, ActivatedPack

        for pack in packs:
            now = ActivatedPack(name=pack.name, version=pack.version, digest=pack.digest)
            if work.state("pack", pack.name) != now and work.unknown_kind(pack.name) is None:
                work.do("pack", pack.name, Activate(version=pack.version, digest=pack.digest))

    return record


def problems(protocol: Protocol, call: Call, files: PackFiles) -> list[FileProblem]:
    """The problems that the code of a pack finds. If the code fails, that is a problem, too."""
    from moot.api.protocol.pack_files import BadFile, FileProblem

    name, found = protocol.pack.name, list[FileProblem]()
    try:
        with PackCode(name, "check"):
            for one in protocol.check(call, files):
                if not isinstance(one, FileProblem):
                    raise TypeError(f"expected a FileProblem, got {type(one).__name__}")
                found.append(one)
    except BadFile as bad:
        found.append(bad.problem)
    except Refused as error:
        found.append(FileProblem(file="", message=error.message, remedy=error.remedy))
    return [one.replace(pack=name) for one in found]
