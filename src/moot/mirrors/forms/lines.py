"""The form `lines`: a journal, one line for each event of the pack, and below them what others have appended.

What others append is kept byte for byte as a note, at the end of the file. Everything else follows from the log, so
that removing or changing a line has no effect. A journal that has grown too long is rotated by an event: what came
before that position is from then on in another file (the form `line-parts`), the same in every worktree.

    heading   the first line of each file
    largest   bytes; a longer file is rotated
    keep      bytes of it that stay in the file
    parts     the path template of the files that it is rotated into, with {name} for the date

The views keep the sentence of each event (`moot.views.journal`). A rotation bounds how many of them a file has.
"""

from __future__ import annotations

from moot.api.protocol.form import Form, Instance, Malformed, Rendering, Taken
from moot.core.json_codec import loads
from moot.core.record import Record
from moot.core.strict_json import Torn
from moot.mirrors.file_reading import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.place import Worktree
    from moot.views.store import Store

_LONGEST = 256 * 1024  # characters of one note
_OF_PACK = ("message:", "mailbox:", "entry:", "file:")  # events that say which pack they belong to


class JournalPart(Record):
    """A part of the journal: what happened after `start`, up to `end` (None: until now), and the file that shows it."""

    file: str
    start: int
    end: int | None = None


class LinesForm(Form):
    """See the module."""

    largest = 16 * 1024 * 1024
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

    # --- from the log to the file ------------------------------------------------------------------------------------

    def render(self, store: Store, one: Instance) -> Rendering | None:
        part = next((part for part in self.parts(store) if part.file == one.path), None)
        if part is None:
            return None
        own, notes = self._items(store, part)
        data = self._text(own, notes).encode()
        full = part.end is None and len(data) > self.spec.fields["largest"]
        upto = self._end([*own, *notes]) if full else 0

        def rotate(work: Work, _one: Instance) -> Taken:
            return self._rotate(work, upto)

        memo = {"size": len(data), "digest": digest_of(data), "note": notes[-1][0] if notes else 0}
        return Rendering(data=data, memo=memo, then=rotate if full else None)

    def _items(self, store: Store, part: JournalPart) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        """The lines of moot and the notes of others, each with its position."""
        from moot.api.protocol.journal_lines import MOOT, lines_of, noted
        from moot.views import feeds, journal

        upto = {} if part.end is None else {"upto": part.end}
        happened = journal.happenings(store, self.spec.pack, part.start, **upto)
        shown = lines_of(self.packs, self.spec.pack, store, happened)
        own = [(one.position, "\n".join(lines)) for one, lines in zip(happened, shown, strict=True)]
        notes = feeds.notes(store, self.spec.pack, part.start, **upto)
        own += [(one.position, noted(one.at, *one.text.split(" ", 1))) for one in notes if one.who == MOOT]
        return sorted(own), [(one.position, one.text) for one in notes if one.who != MOOT]

    def _text(self, own: Iterable[tuple[int, str]], notes: Iterable[tuple[int, str]]) -> str:
        head = "\n".join([self.spec.fields["heading"], "", *(text for _, text in own), ""])
        return head + "".join(text for _, text in notes)

    def _end(self, items: list[tuple[int, str]]) -> int:
        """The last position that leaves the file, so that `keep` bytes stay, or fewer."""
        kept = 0
        for position, text in sorted(items, reverse=True):
            kept += len(text.encode()) + 1
            if kept > self.spec.fields["keep"]:
                return position
        return 0

    def _rotate(self, work: Work, upto: int) -> Taken:
        from moot.core.deciders.feed import RotateFeed
        from moot.mirrors.templates import filled

        names = {file for file, _ in work.state("feed", self.spec.pack).parts}
        day = work.at[:10]
        tried = (day, *(f"{day}-{number}" for number in range(2, len(names) + 3)))
        file = next(path for name in tried if (path := filled(self.spec.fields["parts"], name)) not in names)
        work.do("feed", self.spec.pack, RotateFeed(file=file, upto=upto))
        return Taken()

    # --- from the file to the log ------------------------------------------------------------------------------------

    def read(self, data: bytes) -> str:
        if data and not data.endswith(b"\n"):
            raise Torn("its last line is not complete")
        return _decoded(data)

    def unusable(self, reason: str, data: bytes | None) -> str | None:  # noqa: ARG002
        """A last line without an end is complete if nothing more comes."""
        try:
            return _decoded(data) if data is not None else None
        except Malformed:
            return None

    def observe(self, call: Call, one: Instance, content: str, memo: Any, author: str) -> str | None:  # noqa: ARG002
        data, size = content.encode(), memo["size"] if memo else 0
        if memo and digest_of(data[:size]) == memo["digest"]:
            rest = data[size:].decode()
            _, notes = self._items(call.engine.store, self.parts(call.engine.store)[-1])
            for position, text in notes:  # a process stored them, but was killed before it wrote the file
                rest = rest.removeprefix(text) if position > memo["note"] else rest
            return rest or None
        return self._unknown(call.engine.store, content) or None

    def _unknown(self, store: Store, content: str) -> str:
        """What others wrote into an edited file or an old copy: unknown lines, and what stands after the last known."""
        from moot.api.protocol.journal_lines import time_in
        from moot.views import journal

        known = {line for part in self.parts(store) for line in self._text(*self._items(store, part)).splitlines()}
        times, lines = journal.times(store, self.spec.pack), content.split("\n")
        if lines[-1] and any(line.startswith(lines[-1]) for line in known):
            lines[-1] = ""  # a copy that was cut off
        ours = [not line.strip() or line.rstrip("\r") in known or time_in(line) in times for line in lines]
        last = max((number for number, line in enumerate(lines) if line.strip() and ours[number]), default=-1)
        between = [f"{line}\n" for line, our in zip(lines[: last + 1], ours, strict=False) if not our]
        after = "\n".join(lines[last + 1 :])
        return "".join(between) + (after if after.strip() else "")

    def take(self, work: Work, one: Instance, content: str, memo: Any, facts: str) -> Taken:  # noqa: ARG002
        from moot.core.deciders.feed import NoteInFeed

        for start in range(0, len(facts), _LONGEST):
            work.do("feed", self.spec.pack, NoteInFeed(text=facts[start : start + _LONGEST]))
        return Taken()


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"the text is not UTF-8 (byte {error.start + 1})") from None
    if "\x00" in text:
        raise Malformed("it has a NUL character")
    return text


class LinePartsForm(LinesForm):
    """The form `line-parts`: the files that a journal was rotated into. Its mirror has the `fields` of the journal."""

    def instances(self, store: Store, worktrees: Sequence[Worktree]) -> Iterable[Instance]:
        ended = [part.file for part in self.parts(store) if part.end is not None]
        return [Instance(path=at, root=tree.root, worktree=tree.name, subject=at) for tree in worktrees for at in ended]

    def follows(self, event: Event) -> bool:
        """A finished part stays as it is."""
        return event.type == "feed:rotated" and event.pack == self.spec.pack
