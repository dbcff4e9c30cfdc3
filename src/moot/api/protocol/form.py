"""The contract of a mirror form: how a file shows a part of the log, and what a change of the file means.

A mirror names its form in the pack's data. `moot.mirrors.forms` has the shared forms; `Protocol.forms` are those that a
pack defines. A form never touches a file: `moot.mirrors.sync` reads, locks, commits and writes.

    instances   the files of the mirror, by a path template over the worktrees
    render      the content of a file, and a memo that `observe` and `take` get back when the file has changed
    read        parses a file; raises `Torn` if it may be incomplete, `Malformed` if it does not fit the form
    authors     the principals whose changes the content may have: one commit for each, in this order
    observe     what must be looked up before such a commit; None: this author changed nothing
    take        inside that commit: applies the changes, and holds what is refused, undone by a savepoint
    vet         the defects of a content, for hooks and checks
    follows     whether an event may change what is shown

A commit has one principal. So a file with changes of two authors (entries of the writer, and the reader's time of the
last read) takes two commits. Each is complete by itself: after a crash between them, the next sync does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.api.protocol.pack_code import PackCode
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.answer import Notice
    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.core.event import Event
    from moot.core.schema import Defect
    from moot.engine.unit_of_work import Work
    from moot.location import Worktree
    from moot.views.store import Store


class Torn(ValueError):
    """The bytes are incomplete. A program may still be writing them."""


class Malformed(ValueError):
    """The bytes are complete, but not a file of this form."""


class Instance(Record):
    """One file of a mirror."""

    path: str  # relative to the root
    root: str  # of its worktree
    worktree: str
    subject: str = ""  # the value of the placeholder in the path template

    @property
    def name(self) -> str:
        """The path for messages."""
        return f"{self.root}/{self.path}"


class Rendering(Record):
    """The content of a file. The memo is JSON-ready. It is only cached, so a form must work without it."""

    data: bytes
    memo: Any = None


class Taken(Record):
    """The result of `take`. `rest`: the facts for another commit, if one is not enough."""

    notices: tuple[Notice, ...] = ()
    rest: Any = None


class Form(ABC):
    """See the module."""

    writable = True  # whether moot writes the file
    durable = False  # whether a write is flushed to the disk
    speakers: tuple[str, ...] = ()  # the principals that act only through this file
    fields: ClassVar[Mapping[str, Any]] = {}  # a JSON Schema of the mirror's `fields`; {}: they are not checked
    code = PackCode("", "forms")  # the context to call it in; a pack's own form has another
    notes_deletions = False  # whether a deletion of the file is recorded: see `vanished`

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        self.spec, self.packs = spec, packs

    @classmethod
    def misfits(cls, fields: Mapping[str, Any], roles: Sequence[str]) -> Iterable[tuple[tuple[str, ...], str]]:  # noqa: ARG003
        """Problems of `fields` that the schema cannot find: the place and a sentence."""
        return ()

    def instances(self, store: Store, worktrees: Sequence[Worktree]) -> Iterable[Instance]:  # noqa: ARG002
        return [Instance(path=self.spec.path, root=tree.root, worktree=tree.name) for tree in worktrees]

    @abstractmethod
    def render(self, store: Store, one: Instance) -> Rendering | None:
        """The content of a file; None if there should be no file."""

    @abstractmethod
    def read(self, data: bytes) -> Any: ...

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return ("moot",)

    def observe(self, call: Call, one: Instance, content: Any, memo: Any, author: str) -> Any:  # noqa: ARG002
        return ()

    @abstractmethod
    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: Any) -> Taken: ...

    def vanished(self, work: Work, one: Instance, memo: Any) -> Taken:  # noqa: ARG002
        """Record that a file was deleted. It is restored or reset, as the mirror says."""
        return Taken()

    def vet(self, data: bytes) -> list[Defect]:
        """The defects of a content. Nothing is stored."""
        from moot.core.schema import Defect

        try:
            self.read(data)
        except (Torn, Malformed) as error:
            return [Defect("", "a file of this form", str(error))]
        return []

    def follows(self, event: Event) -> bool:
        return not self.spec.follows or event.stream.startswith(self.spec.follows)


class OutputForm(Form):
    """A file that moot only writes. A pack's own form defines `render`."""

    def read(self, data: bytes) -> bytes:
        return data

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: Any) -> Taken:  # noqa: ARG002
        return Taken()
