"""The form `lines`: a journal, one line for each event of the pack, into which people and agents may write.

What others add is kept as a note, at its place: after the item that stands before it. Everything else follows from the
log, so that removing or changing a line has no effect. A journal that has grown too long is rotated by an event: what
came before that position is from then on in another file (the form `line-parts`), the same in every worktree.

    heading   the first line of each file
    largest   bytes; a longer file is rotated
    keep      bytes of it that stay in the file
    parts     the path template of the files that it is rotated into, with {name} for the date

The views keep the sentence of each event (`moot.views.journal`). A rotation bounds how many of them a file has.
"""

from __future__ import annotations

from moot.api.protocol.form import Form, Instance, Malformed, Rendering, Taken, Torn
from moot.core.json_codec import loads
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.core.deciders.feed import NoteInFeed
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.location import Worktree
    from moot.views.store import Store

_LONGEST = 8 * 1024 * 1024  # bytes of a line
_OF_PACK = ("message:", "mailbox:", "entry:", "file:")  # events that say which pack they belong to


class JournalContent(Record):
    """The lines of a file."""

    lines: tuple[str, ...]


class JournalPart(Record):
    """A part of the journal: what happened after `start`, up to `end` (None: until now), and the file that shows it."""

    file: str
    start: int
    end: int | None = None


class LinesForm(Form):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "heading": {"type": "string", "pattern": "^[^\\n]+$"},
            "largest": {"type": "integer", "minimum": 1000},
            "keep": {"type": "integer", "minimum": 0},
            "parts": {"type": "string", "pattern": "\\{name\\}"},
        },
        "required": ["heading", "largest", "keep", "parts"],
        "additionalProperties": False,
    }

    def instances(self, store: Store, worktrees: Sequence[Worktree]) -> Iterable[Instance]:  # noqa: ARG002
        return [Instance(path=self.spec.path, root=tree.root, worktree=tree.name) for tree in worktrees]

    def follows(self, event: Event) -> bool:
        if event.stream.startswith("task/"):
            return True
        pack = self.spec.pack
        return (event.pack == pack and event.type.startswith(_OF_PACK)) or event.stream == f"feed/{pack}"

    def parts(self, store: Store) -> list[JournalPart]:
        """All parts, oldest first. The last one is the file that goes on."""
        row = store.row("entity", f"feed/{self.spec.pack}")
        ended = loads(row[1]).get("parts", ()) if row else ()
        starts = [0, *(upto for _, upto in ended)]
        found = [
            JournalPart(file=file, start=start, end=upto) for start, (file, upto) in zip(starts, ended, strict=False)
        ]
        return [*found, JournalPart(file=self.spec.path, start=starts[-1])]

    def part(self, store: Store, one: Instance) -> JournalPart | None:
        return next((part for part in self.parts(store) if part.file == one.path), None)

    def render(self, store: Store, one: Instance) -> Rendering | None:
        from moot.mirrors.forms.journal import Journal

        part = self.part(store, one)
        if part is None:
            return None
        journal = Journal(self, store, part)
        data = journal.text().encode()
        return Rendering(data=data, then=journal.rotation(len(data)) if part.end is None else None)

    def read(self, data: bytes) -> JournalContent:
        if data and not data.endswith(b"\n"):
            raise Torn("its last line is not complete")
        return self._read(data)

    def unusable(self, reason: str, data: bytes | None) -> JournalContent | None:  # noqa: ARG002
        """A last line without an end is complete if nothing more comes."""
        if data is None:
            return None
        try:
            return self._read(data)
        except Malformed:
            return None

    def _read(self, data: bytes) -> JournalContent:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Malformed(f"the text is not UTF-8 (byte {error.start + 1})") from None
        lines = text.replace("\r\n", "\n").split("\n")
        if "\x00" in text or any(len(line) * 4 > _LONGEST and len(line.encode()) > _LONGEST for line in lines):
            raise Malformed(f"it has a NUL character, or a line of more than {_LONGEST} bytes")
        return JournalContent(lines=tuple(lines))

    def observe(
        self,
        call: Call,
        one: Instance,
        content: JournalContent,
        memo: Any,  # noqa: ARG002
        author: str,  # noqa: ARG002
    ) -> tuple[NoteInFeed, ...] | None:
        from moot.mirrors.forms.journal import Journal

        part = self.part(call.engine.store, one)
        return (Journal(self, call.engine.store, part).added(content.lines) or None) if part is not None else None

    def take(
        self,
        work: Work,
        one: Instance,  # noqa: ARG002
        content: JournalContent,  # noqa: ARG002
        memo: Any,  # noqa: ARG002
        facts: tuple[NoteInFeed, ...],
    ) -> Taken:
        for note in facts:
            work.do("feed", self.spec.pack, note)
        return Taken()


class LinePartsForm(LinesForm):
    """The form `line-parts`: the files that a journal was rotated into. Its mirror has the `fields` of the journal."""

    def instances(self, store: Store, worktrees: Sequence[Worktree]) -> Iterable[Instance]:
        ended = [part for part in self.parts(store) if part.end is not None]
        return [
            Instance(path=part.file, root=tree.root, worktree=tree.name, subject=part.file)
            for tree in worktrees
            for part in ended
        ]

    def follows(self, event: Event) -> bool:
        """A finished part changes only by what others write into it."""
        if event.type == "feed:rotated":
            return event.pack == self.spec.pack
        return event.type == "feed:noted" and event.pack == self.spec.pack and event.data.get("source") is not None
