"""The contract of a mirror form: how one sort of file shows a part of the log, and what a change of the file means.

A mirror names its form in the pack's data. `moot.mirrors.forms` has the shared forms, and `Protocol.forms` those that a
pack brings. A form never touches a file: `moot.mirrors.sync` looks, locks, commits and writes.

    instances   the files that there are, by a path template over the worktrees
    render      what a file shows, and a memo of it that comes back when somebody has changed the file
    read        the content of a file; raises `Torn` while it may still be written, `Malformed` when it never fits
    authors     whose words a content holds: one commit for each of them, in this order
    observe     what has to be looked up before such a commit; None: this author says nothing new
    take        inside that commit: lets it happen, and holds what is refused behind a savepoint
    vet         what is wrong with a content, for hooks and checks
    follows     whether an event may change what is shown

A commit has one principal, so a content with the words of two authors (a writer's entries, and a reader's mark that it
has read them) takes two commits. Each is complete by itself: after a crash between them the next look does the rest.
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
    """The bytes are not a whole text. Somebody may still be writing them."""


class Malformed(ValueError):
    """A whole text, and yet not a file of this form."""


class Instance(Record):
    """One file of a mirror."""

    path: str  # relative to the root
    root: str  # of its worktree
    worktree: str
    subject: str = ""  # what stands in the path for the placeholder of the template

    @property
    def name(self) -> str:
        """The path as people know it."""
        return f"{self.root}/{self.path}"


class Rendering(Record):
    """What a file shows. The memo is JSON-ready; it is lost with a cache, and a form must manage without it."""

    data: bytes
    memo: Any = None


class Taken(Record):
    """What came of a content in one commit. `rest`: facts for another commit, if one is not enough."""

    notices: tuple[Notice, ...] = ()
    rest: Any = None


class Form(ABC):
    """See the module."""

    writable = True  # whether moot writes the file
    durable = False  # whether a write is synced to the disk before it counts
    speakers: tuple[str, ...] = ()  # the principals that are known by this file alone
    fields: ClassVar[Mapping[str, Any]] = {}  # a JSON Schema of the mirror's `fields`; {}: they are not checked
    code = PackCode("", "forms")  # the context to call it in; a pack's own form has another
    notes_deletions = False  # whether the log says that somebody deleted the file: see `vanished`

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        self.spec, self.packs = spec, packs

    @classmethod
    def misfits(cls, fields: Mapping[str, Any], roles: Sequence[str]) -> Iterable[tuple[tuple[str, ...], str]]:  # noqa: ARG003
        """What is wrong with `fields` beyond the schema: where, and a sentence."""
        return ()

    def instances(self, store: Store, worktrees: Sequence[Worktree]) -> Iterable[Instance]:  # noqa: ARG002
        return [Instance(path=self.spec.path, root=tree.root, worktree=tree.name) for tree in worktrees]

    @abstractmethod
    def render(self, store: Store, one: Instance) -> Rendering | None:
        """None: there is nothing to show, and no file to be made."""

    @abstractmethod
    def read(self, data: bytes) -> Any: ...

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return ("moot",)

    def observe(self, call: Call, one: Instance, content: Any, memo: Any, author: str) -> Any:  # noqa: ARG002
        return ()

    @abstractmethod
    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: Any) -> Taken: ...

    def vanished(self, work: Work, one: Instance, memo: Any) -> Taken:  # noqa: ARG002
        """Somebody deleted a file that moot wrote. It is restored or reset, as the mirror says."""
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
    """A file that moot renders and never takes anything from. A pack's own form says what is rendered."""

    def read(self, data: bytes) -> bytes:
        return data

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: Any) -> Taken:  # noqa: ARG002
        return Taken()
