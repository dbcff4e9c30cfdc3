"""Checks the files of packs and every entry in them: `moot pack check`. Nothing is absorbed, rendered or recorded.

A file is checked in three ways, each of which finds what those before cannot:

    parse       whether it can be read at all
    vet         the form's own rules, for all entries: types, schemas
    rehearse    the rules of the pack and the states of tasks, for what the log does not have yet: it is taken as the
                next command would take it, and then forgotten. All files are taken together and in order, because a
                message may be about a task that a message in another file creates.

`Protocol.check` adds what only the code of the pack knows.
"""

from __future__ import annotations

import os
import re  # noqa: TID253 (loaded on demand)

from moot.api.protocol.form import Malformed, in_rounds
from moot.api.protocol.pack_files import FileProblem, problems
from moot.core.deciders.held_entry import EntryHeld
from moot.core.errors import MootError
from moot.core.json_places import JsonPlaces
from moot.core.record import Record
from moot.core.schema import Defect
from moot.core.schema.phrases import pointed
from moot.core.strict_json import Torn
from moot.core.text import command_line
from moot.mirrors.file_reading import Changed, Unreadable
from moot.mirrors.forms import form_of
from moot.mirrors.pack_files import WorktreeFiles, not_valid, text_of, unusable
from moot.mirrors.state_cache import MirrorMemory
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec
    from moot.api.protocol.form import Form, Instance
    from moot.core.event import Draft
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

_POINTER = re.compile(r"(?<![\w./])(?:/[\w~-]+)+")
_NOT_PROBLEMS = (
    "entry_held",
    "bad_last_read",
    "mailbox_emptied",
    "mailbox_not_emptied",
    "source_defective",
)  # notices of a rehearsal: found otherwise, or not a mistake
_CORRECT = "Correct it in the file."
_HELD = "Correct it in the file. Otherwise the next command takes the entry out and holds it: `moot held`."


class CheckedFile(Record):
    """A file that was checked. `state`: good, bad or missing."""

    pack: str
    path: str
    worktree: str
    state: str


class PackCheck(Record):
    """The files of the packs, and all problems in them."""

    files: tuple[CheckedFile, ...]
    problems: tuple[FileProblem, ...]


class _Checked:
    """One file in the course of a check."""

    def __init__(self, form: Form, one: Instance, data: bytes, memo: Any) -> None:
        self.form, self.one, self.data, self.memo = form, one, data, memo
        self.content: Any = None
        self.news: list[Any] = []  # what to take, one for each author
        self.said: dict[tuple[int, str], FileProblem] = {}  # by offset and text
        self._places: JsonPlaces | None = None

    def add(self, message: str, place: str = "", remedy: str = "", *, offset: int | None = None) -> None:
        if offset is None:
            offset = self.offset(place)
        self.said.setdefault((offset, f"{place}: {message}"), self._problem(message, place, remedy, offset))

    def _problem(self, message: str, place: str, remedy: str, offset: int) -> FileProblem:
        places = self.places
        line, column = (0, 0) if places is None else places.line_and_column(offset)
        return FileProblem(
            file=self.one.path,
            message=message,
            remedy=remedy,
            place=place,
            line=line,
            column=column,
            worktree=self.one.root,
            pack=self.form.spec.pack,
        )

    @property
    def places(self) -> JsonPlaces | None:
        """The places in the file; None if it is not JSON."""
        if self._places is None and self.one.path.endswith(".json"):
            self._places = JsonPlaces(text_of(self.data))
        return self._places

    def offset(self, place: str) -> int:
        return self.places.offset(place) if self.places is not None else -1

    # --- the three ways -----------------------------------------------------------------------------------------------

    def parse(self) -> list[FileProblem]:
        """Read the file. Returns why that is not possible."""
        root, path = self.one.root, self.one.path
        try:
            with self.form.code:
                self.content = self.form.read(self.data)
        except Torn as torn:
            found = not_valid(root, path, torn)
            last = self.data.count(b"\n") + 1  # what is torn is torn at its end
            return [found if found.line else found.replace(line=last, column=1)]
        except Malformed as error:
            return [FileProblem(path, f"{error}", "Correct the file.", line=1, column=1, worktree=root)]
        return []

    def vet(self) -> None:
        with self.form.code:
            for defect in self.form.vet(self.data):
                said = f"expected {defect.expected}, found {defect.found}"
                self.add(said, defect.path.rstrip("."), _CORRECT)

    def observe(self, call: Call) -> None:
        """Look up what the rehearsal needs."""
        with self.form.code:
            for author in self.form.authors(self.content):
                facts = self.form.observe(call, self.one, self.content, self.memo, author)
                if facts is not None:
                    self.news.append(facts)

    def take(self, work: Work, news: list[Any]) -> list[Any]:
        """Take what is new, as a sync would, and note what would be refused. Returns what is to be taken later."""
        later: list[Any] = []
        for facts in news:
            left = facts
            while left is not None:
                before = len(work.drafts)
                try:
                    with work.savepoint(), self.form.code:
                        taken = self.form.take(work, self.one, self.content, self.memo, left)
                except MootError as error:
                    self.add(error.message, remedy=error.remedy)
                    break
                for notice in taken.notices:
                    if notice.code not in _NOT_PROBLEMS:
                        self._add_notice(notice.message.removeprefix(f"{self.one.name}: "))
                for draft in work.drafts[before:]:
                    if draft.type == EntryHeld.type:
                        self._add_held(draft)
                later += [taken.later] if taken.later is not None else []
                left = taken.rest if len(work.drafts) > before else None  # it is full: the rest is not tried
        return later

    def _add_notice(self, text: str) -> None:
        """Report a notice, at the first pointer that it names."""
        named = _POINTER.search(text)
        place = pointed(tuple(named[0].strip("/").split("/"))) if named else ""
        self.add(text, place if self._has(place) else "", _CORRECT)

    def _has(self, place: str) -> bool:
        return self.places is not None and self.places.place(self.places.offset(place)) == place

    def _add_held(self, draft: Draft) -> None:
        """Report an entry that would be held: each of its defects, or the reason."""
        raw, reason = draft.data["raw"], draft.data["reason"]
        start = text_of(self.data).find(raw)
        entry = self.places.place(start) if self.places is not None and start >= 0 else ""
        wrong = [Defect.of(defect) for defect in draft.data.get("defects", ())]
        vetted = any(problem.place == entry or problem.place.startswith(f"{entry}.") for problem in self.said.values())
        if draft.data["code"] == "wrong_mailbox" or not (wrong or (entry and vetted)):
            self.add(reason, entry, _HELD, offset=max(start, 0))
        for defect in wrong:
            whole = self._has(defect.path)  # some forms name the place in the file
            said = f"expected {defect.expected}, found {defect.found}"
            self.add(said, defect.path if whole else f"{entry}.{defect.path}", _HELD)

    def find_held(self, store: Store) -> None:
        """Entries that are held already and were written again: they are never taken."""
        for held in queries.held_entries(store):
            at = text_of(self.data).find(held.raw) if held.raw and held.mirror == self.form.spec.name else -1
            if at >= 0 and not any(at <= offset < at + len(held.raw or "") for offset, _ in self.said):
                see = f"See `{command_line('held show', held.id)}`."
                self.add(f"held as {held.id}: {held.reason}", remedy=see, offset=at)


def check(call: Call, packs: tuple[str, ...]) -> PackCheck:
    """Check the files of these packs in all worktrees."""
    reader = WorktreeFiles(call.place)
    memory = MirrorMemory(os.path.join(call.place.state, "mirrors")).read()
    store, now = call.engine.read(), call.clock.wall_seconds()
    found: list[FileProblem] = []
    looked: list[tuple[Form, Instance, str]] = []
    sound: list[_Checked] = []
    for spec in (spec for spec in call.packs.mirrors if spec.pack in packs):
        form = form_of(spec, call.packs)
        found += _elsewhere(spec, reader)
        for one in (one.replace(now=now) for one in form.instances(store, reader.trees)):
            match reader.look(one.root, one.path, form.largest):
                case Changed(data=data):
                    known = memory.known(os.path.join(os.path.realpath(one.root), one.path))
                    checked = _Checked(form, one, data, known.memo)
                    wrong = checked.parse()
                    looked.append((form, one, "good"))
                    found += [problem.replace(pack=spec.pack) for problem in wrong]
                    sound += [] if wrong else [checked]
                case Unreadable(reason=reason):
                    looked.append((form, one, "good"))
                    found.append(unusable(one.root, one.path, reason).replace(pack=spec.pack))
                case _ if form.writable:  # a file that moot only reads may be missing
                    looked.append((form, one, "missing"))
                case _:
                    pass
    found += _rehearsed(call, sound)
    for protocol in call.packs.having("check"):
        if protocol.pack.name in packs:
            found += problems(protocol, call, reader)
    bad = {(one.worktree, one.file) for one in found if not one.note}
    files = tuple(
        CheckedFile(form.spec.pack, one.path, one.root, "bad" if (one.root, one.path) in bad else state)
        for form, one, state in looked
    )
    return PackCheck(files=files, problems=tuple(sorted(found, key=_order)))


def _order(problem: FileProblem) -> tuple[str, str, int, int]:
    return problem.worktree, problem.file, problem.line, problem.column


def _elsewhere(spec: MirrorSpec, reader: WorktreeFiles) -> Iterator[FileProblem]:
    """Files of this mirror in the other layout, where nothing reads them."""
    for root in reader.roots:
        if spec.flat and isinstance(reader.look(root, spec.flat), Changed):
            yield FileProblem(
                file=spec.flat,
                message=f"this is not the layout that moot serves: it reads {spec.path}",
                remedy="Add what is missing to the file that moot reads, then delete this one.",
                worktree=root,
                note=True,
                pack=spec.pack,
            )


def _taking(files: list[_Checked]) -> Callable[[Work], None]:
    def act(work: Work) -> None:
        def take(put_off: tuple[_Checked, Any], idle: int) -> list[tuple[_Checked, Any]]:
            one, facts = put_off
            return [(one, more) for more in one.take(work, [facts.replace(idle=idle)])]

        later = [(one, facts) for one in files for facts in one.take(work, one.news)]
        in_rounds(later, take, lambda: len(work.drafts))

    return act


def _rehearsed(call: Call, files: list[_Checked]) -> list[FileProblem]:
    """Vet the files, and take what is new in them: each worktree by itself, because they show the same."""
    trees: dict[str, list[_Checked]] = {}
    for one in files:
        one.vet()
        one.observe(call)
        trees.setdefault(one.one.root, []).append(one)
    for tree in trees.values():
        call.engine.rehearse(_taking(tree))
    for one in files:
        one.find_held(call.engine.store)
    return [problem for one in files for problem in one.said.values()]
