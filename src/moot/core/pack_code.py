"""Calls the code of a pack: an exception becomes an error that names the pack and the line."""

from __future__ import annotations

from moot.core.errors import MootError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Any

    from moot.core.payload import Payload
    from moot.core.reactions import Reaction, Step, World


class PackCode:
    """A context for code of this pack. Without a name, the code is part of moot, and exceptions pass unchanged.

    Errors that moot raises on purpose, and those of the disk and the database, always pass unchanged.
    """

    __slots__ = ("_pack", "_part")

    def __init__(self, pack: str, part: str) -> None:
        self._pack, self._part = pack, part

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._pack or trace is None or not isinstance(error, Exception) or _is_ours(error, trace):
            return
        file, line = _place(trace)
        said = f"{type(error).__name__}: {error}".rstrip(": .")
        raise Refused(
            "pack_failed",
            f"The code of the pack {self._pack} failed in `{self._part}` ({file}, line {line}): {said}.",
            f"Correct the pack, or report this to its authors. Without {self._pack} in `packs` of moot.toml, moot "
            "works without it.",
            pack=self._pack,
            part=self._part,
            file=file,
            line=line,
        ) from error


def reacting(pack: str, reaction: Reaction) -> Reaction:
    """A reaction of the pack."""

    def react(key: str, happened: Payload, world: World) -> Iterator[Step]:
        with PackCode(pack, "reactions"):
            yield from reaction(key, happened, world)

    return react


def closing(pack: str, closer: Callable[[Any], None]) -> Callable[[Any], None]:
    """A closer of the pack."""

    def close(work: Any) -> None:
        with PackCode(pack, "closers"):
            closer(work)

    return close


def recording(packs: Sequence[Any]) -> Callable[[Any], None]:
    """A closer that records which packs are active, if that has changed."""

    def record(work: Any) -> None:
        from moot.core.deciders.pack import Activate, ActivatedPack

        for pack in packs:
            now = ActivatedPack(name=pack.name, version=pack.version, digest=pack.digest)
            if work.state("pack", pack.name) != now and work.unknown_kind(pack.name) is None:
                work.do("pack", pack.name, Activate(version=pack.version, digest=pack.digest))

    return record


def _is_ours(error: Exception, trace: TracebackType) -> bool:
    """Whether moot raised it on purpose, or could not read or write."""
    made = type(error).__module__
    if isinstance(error, MootError) or made.startswith("moot."):
        return True
    return (isinstance(error, OSError) or made == "apsw") and _module(_steps(trace)[-1]).startswith("moot.")


def _place(trace: TracebackType) -> tuple[str, int]:
    """The last line outside moot; if there is none, the last one."""
    steps = _steps(trace)
    own = [step for step in steps if not _module(step).startswith("moot.") or _module(step).startswith("moot.packs.")]
    last = (own or steps)[-1]
    return last.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2], last.tb_lineno


def _steps(trace: TracebackType | None) -> list[TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _module(step: TracebackType) -> str:
    return str(step.tb_frame.f_globals.get("__name__", ""))
