"""The files of packs as a check sees them: read-only, inside the worktrees, of limited size.

`moot pack check` and `moot doctor` pass `PackFiles` to `Protocol.check`. `moot.mirrors` implements it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.core.errors import Refused
from moot.core.pack_code import PackCode
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.api.call import Call
    from moot.api.protocol import Protocol


class FileProblem(Record):
    """One problem, and where it is. Line and column are counted from 1; 0: it concerns the whole file."""

    file: str  # relative to its worktree
    message: str
    remedy: str = ""
    place: str = ""  # in the content, such as `messages[2].title`
    line: int = 0
    column: int = 0
    worktree: str = ""  # the root of its worktree
    pack: str = ""
    note: bool = False  # worth knowing, but not a mistake


class BadFile(Exception):
    """A file that cannot be read or parsed."""

    def __init__(self, problem: FileProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class PackFiles(ABC):
    """Reads files below the worktrees of a workspace. Links that lead out of a worktree are not followed."""

    roots: Sequence[str] = ()  # of the worktrees

    @abstractmethod
    def read(self, root: str, path: str) -> bytes | None:
        """The content of a file; None if it does not exist. Raises `BadFile` if it cannot be used."""

    @abstractmethod
    def json(self, root: str, path: str) -> object:
        """The parsed content of a JSON file; None if it does not exist. Raises `BadFile` with the position."""

    @abstractmethod
    def names(self, root: str, folder: str) -> list[str]:
        """The names in a directory, in order; none if it does not exist."""

    @abstractmethod
    def problem(self, root: str, path: str, message: str, *, place: str = "", remedy: str = "") -> FileProblem:
        """A problem in a file, with the position of `place` if the file is valid JSON."""


def problems(protocol: Protocol, call: Call, files: PackFiles) -> list[FileProblem]:
    """The problems that the code of a pack finds. If the code fails, that is a problem, too."""
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
