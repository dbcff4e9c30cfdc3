"""The contract of the mirrors: the files of the active packs, in sync with the log. `moot.mirrors` implements it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.core.record import Record
from moot.core.text import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.answer import Notice
    from moot.api.call import Call
    from moot.core.event import Event


class Adoption(Record):
    """What was taken over from files, and what could not be."""

    tasks: Mapping[str, int] = {}  # the number of new tasks, by their state
    messages: int = 0
    notes: int = 0
    held: tuple[str, ...] = ()  # entries and files that were refused
    events: int = 0  # of the log
    posted: int = 0  # events of the protocol itself, which are numbered in its file

    @property
    def said(self) -> str:
        """The numbers in words; empty if there are none."""
        states = ", ".join(f"{number} {state}" for state, number in self.tasks.items())
        tasks = f"{counted(sum(self.tasks.values()), 'task')} ({states})" if self.tasks else ""
        posted = counted(self.posted, "event") if self.posted else ""
        messages = counted(self.messages, "message") if self.messages else ""
        notes = counted(self.notes, "note") if self.notes else ""
        held = f"{len(self.held)} held ({', '.join(self.held[:3])}{'…' if len(self.held) > 3 else ''})"
        return ", ".join(filter(None, (posted, tasks, messages, notes, held if self.held else "")))


class DocumentFile(Record):
    """The file of a document, as it was read. `leaves` is None if it does not exist or cannot be read."""

    document: str
    path: str
    exists: bool
    fault: str = ""  # why it cannot be read, with line and column
    barred: bool = False  # not even its bytes can be read: there is a link in the way, or a permission is missing
    line: int = 0
    column: int = 0
    leaves: Mapping[str, Any] | None = None
    root: str = ""  # of its worktree
    shows: bytes | None = None  # what the log says should be in it
    initial: Mapping[str, Any] = {}  # the leaves of a reset document


class Mirrors(ABC):
    """The protocol files of the active packs. One object serves all calls of a workspace."""

    @abstractmethod
    def sync(
        self,
        call: Call,
        news: Sequence[Event] | None = None,
        *,
        patient: bool = False,
        everything: bool = False,
        also: Iterable[str] = (),
    ) -> tuple[Notice, ...]:
        """Absorb what other programs wrote, and render the log.

        `news`: only if a file shows one of these events. `patient`, for callers that sync all the time: a file that has
        just vanished is not restored at once, because its directory or its worktree may be about to be removed.
        `everything`: also documents that are otherwise looked at only during a run. Implied by `patient`. `also`: only
        these of them.
        """

    def adopt(self, call: Call) -> Adoption:  # noqa: ARG002
        """Absorb all files, and say what was taken over."""
        return Adoption()

    def restore(self, call: Call, document: str) -> tuple[Notice, ...]:  # noqa: ARG002
        """Write the file of a document again. What is in it now is absorbed, or quarantined if it cannot be read."""
        return ()

    def document_files(self, call: Call, document: str | None = None) -> Iterator[DocumentFile]:  # noqa: ARG002
        """The files of one document, or of all of them, as they are now. Changes nothing.

        A document of the whole workspace has a file in each worktree. One has none while its file shows another one.
        """
        yield from ()

    def shows(self, call: Call, document: str) -> bool:  # noqa: ARG002
        """Whether the file of a document exists, and shows no other one."""
        return False

    def folders(self, call: Call) -> list[tuple[str, str]]:  # noqa: ARG002
        """The directories in which files may change, each with a directory around it that exists for sure."""
        return []

    def kept(self, call: Call) -> list[str]:  # noqa: ARG002
        """Replaced files that are kept for some seconds, because a program may still write to them."""
        return []
