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
    is_due      whether something outside the files must be recorded, which `do_due` does

A commit has one principal. So a file with changes of two authors (entries of the writer, and the reader's time of the
last read) takes two commits. Each is complete by itself: after a crash between them, the next sync does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.api.protocol import LAST
from moot.core.pack_code import PackCode
from moot.core.record import Record
from moot.core.strict_json import Torn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.answer import Notice
    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.core.event import Event
    from moot.core.schema import Defect
    from moot.engine.unit_of_work import Work
    from moot.place import Worktree
    from moot.views.store import Store

MOST = 2_000  # new entries of a file in one commit
FULL = 8_500  # events of a commit after which no more are taken: it can have 10,000, and closers add to them


class Malformed(ValueError):
    """The bytes are complete, but not a file of this form."""


class Instance(Record):
    """One file of a mirror."""

    path: str  # relative to the root
    root: str  # of its worktree
    worktree: str
    subject: str = ""  # the value of the placeholder in the path template
    now: float = 0.0  # the time of the sync, in seconds since 1970

    @property
    def name(self) -> str:
        """The path for messages."""
        return f"{self.root}/{self.path}"


class Rendering(Record):
    """The content of a file. The memo is JSON-ready. It is only cached, so a form must work without it.

    then: what must be committed before the file is written, as `then(work, one)`. It is rendered again after that.
    optional: if there is no file, none is written.
    """

    data: bytes
    memo: Any = None
    then: Callable[[Work, Instance], Taken] | None = None
    optional: bool = False


class Taken(Record):
    """The result of `take`.

    rest: the facts for another commit, if one is not enough.
    later: the facts for another commit, after the other files have been absorbed: see `in_rounds`.
    """

    notices: tuple[Notice, ...] = ()
    rest: Any = None
    later: Any = None


def in_rounds(later: Sequence[Any], take: Callable[[Any, int], Sequence[Any]], events: Callable[[], int]) -> None:
    """Take what was put off until all files had been read: what fits only after a change in another file.

    Each round takes what fits by now. `take` gets one of them and the number of rounds before in which there were no
    new events, and returns what is put off again. The facts of a form that puts anything off have this number: `idle`.
    """
    idle = 0
    while later and idle <= LAST:
        before = events()
        later = [more for one in later for more in take(one, idle)]
        idle = 0 if events() > before else idle + 1


class Form(ABC):
    """See the module."""

    writable = True  # whether moot writes the file
    durable = False  # whether a write is flushed to the disk
    repairs = True  # whether a file that cannot be read is written again after it was quarantined
    rests = False  # whether its files are only looked at when there is a reason: see `resting`
    shows_its_end = True  # whether a content that was cut off cannot be read
    largest = 256 * 1024 * 1024  # bytes; a larger file is not read
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

    @property
    def paths(self) -> tuple[str, ...]:
        """Templates of all paths that moot writes, for git's `info/exclude`. A form with more than one overrides it."""
        return (self.spec.path,)

    def instances(self, store: Store, worktrees: Sequence[Worktree]) -> Iterable[Instance]:  # noqa: ARG002
        return [Instance(path=self.spec.path, root=tree.root, worktree=tree.name) for tree in worktrees]

    def resting(
        self,
        store: Store,  # noqa: ARG002
        worktrees: Sequence[Worktree],  # noqa: ARG002
        among: frozenset[str] | None,  # noqa: ARG002
    ) -> Iterable[Instance]:
        """More files, for a sync that has a reason to look at them: changed streams, or, if None, at all of them."""
        return ()

    def is_behind(self, store: Store, one: Instance, memo: Any) -> bool:  # noqa: ARG002
        """Whether a file that rested does not show the log. `memo`: of the last rendering."""
        return False

    @abstractmethod
    def render(self, store: Store, one: Instance) -> Rendering | None:
        """The content of a file; None if there should be no file."""

    def remember(self, before: Any, memo: Any) -> Any:  # noqa: ARG002
        """The memo to keep after a rendering. `before`: the memo of the last one."""
        return memo

    @abstractmethod
    def read(self, data: bytes) -> Any: ...

    def unusable(self, reason: str, data: bytes | None) -> Any:  # noqa: ARG002
        """The content to take for a file that stays torn, is malformed, or cannot be read (then `data` is None).

        None: it is quarantined.
        """
        return None

    def read_news(self, data: bytes, store: Store, one: Instance) -> Any:  # noqa: ARG002
        """Parse a changed file. A form may skip what the views prove to be unchanged."""
        return self.read(data)

    def cut_off(self, call: Call, data: bytes, content: Any, memo: Any) -> str:  # noqa: ARG002
        """Why a content seems to be cut off although it could be read; empty if it does not."""
        return ""

    def is_beginning(self, call: Call, data: bytes, content: Any, memo: Any) -> bool:  # noqa: ARG002
        """Whether a content is only the beginning of what was in the file: the rest may still be written."""
        return False

    def authors(self, content: Any) -> tuple[str, ...]:  # noqa: ARG002
        return ("moot",)

    def observe(self, call: Call, one: Instance, content: Any, memo: Any, author: str) -> Any:  # noqa: ARG002
        return ()

    @abstractmethod
    def take(self, work: Work, one: Instance, content: Any, memo: Any, facts: Any) -> Taken: ...

    def is_due(self, call: Call) -> bool:  # noqa: ARG002
        """Whether something happened outside the files that must be recorded. Checked by every sync."""
        return False

    def do_due(self, work: Work, one: Instance) -> Taken:  # noqa: ARG002
        """Record it. `one` is the first file of the mirror."""
        return Taken()

    def vanished(self, work: Work, one: Instance, memo: Any) -> Taken:  # noqa: ARG002
        """Record that a file was deleted. It is restored or reset, as the mirror says."""
        return Taken()

    def document_of(self, one: Instance) -> str:  # noqa: ARG002
        """The id of the document that a file shows, if the form has documents."""
        return ""

    def initial_leaves(self) -> Mapping[str, Any]:
        """The leaves of a new or reset document."""
        return {}

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
