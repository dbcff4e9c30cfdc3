"""A part of a journal: its items in order, its text, what others have added to a copy of it, and when it is rotated.

An item is an event or a note, with the lines that show it. A note stands after so many lines of another item (`after`,
`line`); after 0 lines means at the top of the part that begins after that position. Of several notes at one place, the
newest comes first: a later one that was written below another stands after that one.
"""

from __future__ import annotations

from moot.api.protocol.journal_lines import MOOT, lines_of, noted, time_in
from moot.core.deciders.feed import NoteInFeed, RotateFeed
from moot.core.record import Record
from moot.mirrors.templates import filled
from moot.views import feeds, journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from moot.api.protocol.form import Instance
    from moot.api.protocol.form import Taken as Result
    from moot.engine.unit_of_work import Work
    from moot.mirrors.forms.lines import JournalPart, LinesForm
    from moot.views.feeds import FeedNote
    from moot.views.store import Store

_MOST = 256 * 1024  # characters of one note


class JournalItem(Record):
    """An event or a note. Notes are in `notes`, by the number of lines that they stand after."""

    position: int
    lines: tuple[str, ...]
    notes: dict[int, list[JournalItem]]

    def walk(self) -> Iterator[tuple[int, int, str]]:
        """All lines in order, each with the position of its item and its number in it, counted from 1."""
        for number, line in enumerate(self.lines, 1):
            yield self.position, number, line
            for note in self.notes.get(number, ()):
                yield from note.walk()

    @property
    def size(self) -> int:
        return sum(len(line.encode()) + 1 for _, _, line in self.walk())


class Journal:
    """See the module."""

    def __init__(self, form: LinesForm, store: Store, part: JournalPart) -> None:
        self._form, self._store, self._part, self._pack = form, store, part, form.spec.pack
        self._heading: str = form.spec.fields["heading"]
        notes = feeds.notes(store, self._pack, part.start)
        self._notes = self._by_place(note for note in notes if note.who != MOOT)
        own = [note for note in notes if note.who == MOOT and (part.end is None or note.position <= part.end)]
        self.items = sorted((*self._events(), *map(self._own, own)), key=lambda item: item.position)
        self.top = self._placed(part.start).get(0, [])

    def _by_place(self, notes: Iterable[FeedNote]) -> dict[int, list[FeedNote]]:
        found: dict[int, list[FeedNote]] = {}
        for note in notes:
            found.setdefault(note.after, []).append(note)
        return found

    def _events(self) -> list[JournalItem]:
        upto = {} if self._part.end is None else {"upto": self._part.end}
        happened = journal.happenings(self._store, self._pack, self._part.start, **upto)
        shown = lines_of(self._form.packs, self._pack, self._store, happened)
        return [
            JournalItem(one.position, tuple(lines), self._placed(one.position) if one.position in self._notes else {})
            for one, lines in zip(happened, shown, strict=True)
        ]

    def _own(self, note: FeedNote) -> JournalItem:
        level, _, text = note.text.partition(" ")
        return JournalItem(note.position, (noted(note.at, level, text),), self._placed(note.position))

    def _placed(self, position: int) -> dict[int, list[JournalItem]]:
        """The notes at an item, by the number of lines that they stand after, the newest first."""
        found: dict[int, list[JournalItem]] = {}
        for note in reversed(self._notes.get(position, ())):
            lines = tuple(note.text.split("\n"))
            found.setdefault(note.line, []).append(JournalItem(note.position, lines, self._placed(note.position)))
        return found

    # --- from the log to the file ------------------------------------------------------------------------------------

    def _walk(self) -> Iterator[tuple[int, int, str]]:
        for item in (*self.top, *self.items):
            yield from item.walk()

    def text(self) -> str:
        return "\n".join([self._heading, "", *(line for _, _, line in self._walk()), ""])

    def rotation(self, size: int) -> Callable[[Work, Instance], Result] | None:
        """What must be committed if the file, with `size` bytes, is too long. None if it is not."""
        from moot.api.protocol.form import Taken

        fields = self._form.spec.fields
        if size <= fields["largest"]:
            return None
        upto = self._end(fields["keep"])

        def rotate(work: Work, _one: Instance) -> Taken:
            names = {file for file, _ in work.state("feed", self._pack).parts}
            day = work.at[:10]
            tried = (day, *(f"{day}-{number}" for number in range(2, len(names) + 3)))
            file = next(path for name in tried if (path := filled(fields["parts"], name)) not in names)
            work.do("feed", self._pack, RotateFeed(file=file, upto=upto))
            return Taken()

        return rotate

    def _end(self, keep: int) -> int:
        """The last position that leaves the file, so that `keep` bytes stay, or fewer."""
        kept = 0
        for item in reversed(self.items):
            kept += item.size
            if kept > keep:
                return item.position
        first = self.items[0].position if self.items else self._store.cursor() + 1  # what is too long is at the top
        return max(first - 1, self._part.start + 1)

    # --- from the file to the log ------------------------------------------------------------------------------------

    def added(self, lines: Sequence[str]) -> tuple[NoteInFeed, ...]:
        """What others have added, in a copy of this part that may be old."""
        return _Comparison(self, lines).run()

    @property
    def source(self) -> str | None:
        """The file, if it is one that the journal was rotated into."""
        return None if self._part.end is None else self._part.file

    @property
    def heading(self) -> str:
        return self._heading

    @property
    def start(self) -> int:
        return self._part.start

    def known(self) -> list[tuple[int, int, str]]:
        """All lines in order, each with the position of its item and its number in it."""
        return list(self._walk())

    def times(self) -> set[str]:
        return journal.times(self._store, self._pack)

    def elsewhere(self) -> set[str]:
        """The lines of all other parts."""
        others = (part for part in self._form.parts(self._store) if part.start != self._part.start)
        walks = (Journal(self._form, self._store, part)._walk() for part in others)  # noqa: SLF001 (the same class)
        return {line.rstrip() for walk in walks for _, _, line in walk}


class _Comparison:
    """Compares the lines of a file with those of a journal. Blank lines, and blanks at the end, do not count."""

    def __init__(self, journal: Journal, lines: Sequence[str]) -> None:
        self._journal, self._lines, self._known = journal, lines, journal.known()
        self._left: dict[str, list[int]] = {}  # the lines that the file has not shown yet
        for index, (_, _, line) in enumerate(self._known):
            self._left.setdefault(line.rstrip(), []).append(index)
        self._last = -1  # the index of the last known line
        self._block: list[str] = []
        self._notes: list[NoteInFeed] = []
        self._times: set[str] | None = None
        self._elsewhere: set[str] | None = None

    def run(self) -> tuple[NoteInFeed, ...]:
        for number, raw in enumerate(self._lines):
            line, is_last = raw.rstrip(), number == len(self._lines) - 1  # after a line break comes an empty last line
            if not line:
                self._block += [raw] if self._block else []
            elif line == self._journal.heading or (is_last and self._is_cut(line)):
                continue
            elif left := self._left.get(line):
                self._flush()
                self._last = left.pop(next((n for n, index in enumerate(left) if index > self._last), 0))
            elif self._is_own(line):
                self._flush()
            else:
                self._block.append(raw)
        self._flush()
        return tuple(self._notes)

    def _is_cut(self, line: str) -> bool:
        """Whether it is the beginning of the line that comes next, in a copy that was cut off."""
        following = [known for _, _, known in self._known[self._last + 1 :] if known.strip()][:1]
        return any(whole.startswith(line) for whole in (*following, self._journal.heading))

    def _is_own(self, line: str) -> bool:
        """Whether moot wrote the line: in another wording, or before a rotation."""
        at = time_in(line)
        if at is not None:
            self._times = self._journal.times() if self._times is None else self._times
            if at in self._times:
                self._elsewhere = self._journal.elsewhere() if self._elsewhere is None else self._elsewhere
                return True
        return self._elsewhere is not None and line in self._elsewhere  # an old copy: it has older lines of moot

    def _flush(self) -> None:
        """End a block of added lines."""
        while self._block and not self._block[-1].strip():
            self._block.pop()
        after, line = (self._journal.start, 0) if self._last < 0 else self._known[self._last][:2]
        for piece in reversed(list(_pieces(self._block))):  # of several notes at one place, the newest comes first
            self._notes.append(NoteInFeed(text=piece, after=after, line=line, source=self._journal.source))
        self._block = []


def _pieces(lines: list[str]) -> Iterator[str]:
    """The lines as texts that are not too long."""
    piece: list[str] = []
    size = 0
    for line in lines:
        if piece and size + len(line) > _MOST:
            yield "\n".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line) + 1
    if piece:
        yield "\n".join(piece)
