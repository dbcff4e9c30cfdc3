"""The form `feed`: the entries of a pack's feed, numbered, as a list in an object.

Agents append entries by whatever means they have: with a number of their own choice, or with none. An entry is known if
its number and content are known, or if its content is known and the file has no more of it than the log. Everything
else is new. What is missing in the file, or was changed in it, is rendered again: history cannot be edited. An entry
without a time may be the same every day: one that has left the file is not the one that is there now, unless the file
is an old copy.

A file that was written before the log had any entry is adopted: its numbers are kept. The `fields` of the mirror:

    author    the role that writes to the file
    entries   the key of the list
    type      the key of an entry's type
    number    the key of an entry's number; moot always writes it
    also      another key for the number, unless the entry has a value of its own there
    last      the key of the highest number that was ever used
    keep      the key of a text such as `24h`: older entries leave the file, and stay in the log
    kept      the setting of the pack that has the default of that text

Other keys of the object are kept. To render, the texts of all entries are put together; to absorb, those at the
beginning of the file that are unchanged are skipped without parsing them.
"""

from __future__ import annotations

from moot.api.answer import Notice
from moot.api.protocol.form import FULL, MOST, Form, Malformed, Rendering, Taken
from moot.api.protocol.held_entries import HeldEntries, as_written
from moot.core import strict_json
from moot.core.deciders.feed import LARGEST, Feed, SetFeed, fingerprint
from moot.core.errors import MootError, Refused
from moot.core.json_codec import dumps
from moot.core.kind import kind_of
from moot.core.principal import Actor, role
from moot.core.record import Record
from moot.core.schema import Defect, defects
from moot.core.schema.phrases import shown
from moot.core.strict_json import Torn
from moot.place import worktrees
from moot.place.settings import seconds
from moot.views import feeds, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MessageType, MirrorSpec, Packs, Saying
    from moot.api.protocol.form import Instance
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store


class FeedContent(Record):
    """The parsed content of a file, without the entries at its beginning that are as moot wrote them."""

    entries: list[Any]
    skipped: tuple[int, ...]  # the numbers of those entries
    rest: dict[str, Any]  # the other keys of the object
    data: bytes


class NewEntry(Record):
    """An entry that the log does not have: as an event to take, or with the error that it causes."""

    entry: Any
    place: int
    saying: Saying | None = None
    error: MootError | None = None


class FeedNews(Record):
    """What a file has and the log does not."""

    fresh: tuple[NewEntry, ...] = ()
    values: Mapping[str, Any] = {}
    last: int = 0  # while adopting
    notices: tuple[Notice, ...] = ()


_NAME = {"type": "string", "minLength": 1}


class FeedForm(Form):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": dict.fromkeys(("author", "entries", "type", "number", "also", "last", "keep", "kept"), _NAME),
        "required": ["author", "entries", "type", "number", "last"],
        "additionalProperties": False,
    }

    @classmethod
    def misfits(cls, fields: Mapping[str, Any], roles: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
        if fields["author"] not in roles:
            yield ("author",), f"there is no role {fields['author']!r}; known: {', '.join(roles) or 'none'}"

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        names = spec.fields
        self._feed = spec.pack
        self._writer = Actor(principal=role(names["author"]), roles=(names["author"],))
        self.speakers = (self._writer.principal,)
        self._list, self._type = names["entries"], names.get("type", "type")
        self._number, self._also, self._last = names.get("number", ""), names.get("also"), names.get("last", "")
        self._keep = names.get("keep")
        self._kept = next(pack.values for pack in packs.packs if pack.name == spec.pack).get(
            names.get("kept", ""), "24h"
        )
        self._head = f"{{\n  {dumps(self._list)}: [\n{feeds.PLACE}".encode()

    def follows(self, event: Event) -> bool:
        return event.stream == f"feed/{self._feed}"

    # --- from the log to the file ------------------------------------------------------------------------------------

    def render(self, store: Store, one: Instance) -> Rendering:
        state = self._state(store)
        values = self._values(state)
        numbered = {self._last: state.last, **values} if self._last else values
        return Rendering(data=self._written(self._text(store, state, one), numbered), memo=values)

    def _text(self, store: Store, state: Feed, one: Instance) -> bytes:
        return feeds.shown_text(store, self._feed, self._since(state, one))

    def _state(self, store: Store) -> Feed:
        found: Feed = states.state(store, kind_of("feed"), self._feed)[0]
        return found

    def _values(self, state: Feed) -> dict[str, Any]:
        """The keys of the file besides the entries and the highest number."""
        return {**({self._keep: self._kept} if self._keep else {}), **state.values.get(self.spec.name, {})}

    def _since(self, state: Feed, one: Instance) -> float:
        """When the oldest entries that the file shows have arrived."""
        return one.now - _length(self._values(state)[self._keep]) if self._keep else 0.0

    def _written(self, text: bytes, values: Mapping[str, Any]) -> bytes:
        """The file with the entries in `text`. Joined as bytes: it may have megabytes."""
        others = "".join(f",\n  {dumps(key)}: {feeds.shown(value, '  ')}" for key, value in values.items())
        around = (self._head, b"\n  ]") if text else (f"{{\n  {dumps(self._list)}: []".encode(), b"")
        return b"".join((around[0], text, around[1], f"{others}\n}}\n".encode()))

    # --- from the file to the log ------------------------------------------------------------------------------------

    def read(self, data: bytes) -> FeedContent:
        return self._content(strict_json.load(data), (), data)

    def read_news(self, data: bytes, store: Store, one: Instance) -> FeedContent:
        skipped, at = self._unchanged(data, self._texts(store, one))
        if skipped:
            try:
                left = b"{%s: [%s" % (dumps(self._list).encode(), data[at:])
                return self._content(strict_json.load(left), skipped, data)
            except (Torn, Malformed):
                pass  # parse the whole: an error names its place in the file
        return self.read(data)

    def _texts(self, store: Store, one: Instance) -> Iterator[tuple[int, str]]:
        return feeds.shown_texts(store, self._feed, self._since(self._state(store), one))

    def _unchanged(self, data: bytes, texts: Iterator[tuple[int, str]]) -> tuple[tuple[int, ...], int]:
        """The numbers of the entries at the beginning that are as moot writes them, and where the others begin."""
        if not data.startswith(self._head):
            return (), 0
        at, found, between = len(self._head), [], feeds.BETWEEN.encode()
        for number, text in texts:
            entry = text.encode()
            if not data.startswith(entry, at):
                break
            found.append(number)
            if not data.startswith(between, at + len(entry)):
                at += len(entry)
                break
            at += len(entry) + len(between)
        return tuple(found), at

    def _content(self, content: object, skipped: tuple[int, ...], data: bytes) -> FeedContent:
        if not isinstance(content, dict) or not isinstance(content.get(self._list), list):
            raise Malformed(f'the file is not an object with the list "{self._list}"')
        rest = {key: value for key, value in content.items() if key != self._list}
        return FeedContent(entries=content[self._list], skipped=skipped, rest=rest, data=data)

    def vet(self, data: bytes) -> list[Defect]:
        if unread := super().vet(data):
            return unread
        found = []
        for place, entry in enumerate(self.read(data).entries):
            at, spec = f"{self._list}[{place}]", self.spec_of(entry)
            if isinstance(spec, MootError):
                found.append(Defect(at, "an entry of this protocol", spec.message))
            else:
                wrong = defects(spec.schema, {self._type: spec.name, **self.said(entry)})  # a list has one type
                wrong = [defect for defect in wrong if defect.path != spec.stamp or spec.stamp in entry]  # moot sets it
                found += [defect.replace(path=f"{at}.{defect.path}") for defect in wrong]
        return found

    def authors(self, content: FeedContent) -> tuple[str, ...]:  # noqa: ARG002
        return (self._writer.principal,)

    def observe(self, call: Call, one: Instance, content: FeedContent, memo: Any, author: str) -> FeedNews | None:  # noqa: ARG002
        store = call.engine.store
        state = self._state(store)
        adopting = memo is None and not state.last and not state.entries
        fresh = self._compared(store, content, one)
        values, notices = self._changed_values(state, content, memo)
        last = _whole(content.rest.get(self._last)) or 0
        numbers = self._adopted([entry for _, entry in fresh], last) if adopting else {}
        found = tuple(self._news(call, place, entry, numbers.get(n)) for n, (place, entry) in enumerate(fresh))
        above = last if adopting else 0
        news = FeedNews(fresh=found, values=values, last=above, notices=notices)
        return news if found or values or notices or news.last > state.last else None

    def _news(self, call: Call, place: int, entry: Any, adopted: int | None) -> NewEntry:
        spec = self.spec_of(entry)
        if isinstance(spec, MootError):
            return NewEntry(entry=entry, place=place, error=spec)
        try:
            saying = self.packs.saying(
                call,
                spec,
                self.said(entry),
                kind=self.kind_of(entry),
                roots=tuple(tree.root for tree in worktrees(call.place)),
                sender=self._writer,
                source=self.spec.path,
                adopting=adopted is not None,
            )
        except Refused as error:  # by the code of the pack
            return NewEntry(entry=entry, place=place, error=error)
        own = self.number_of(entry)
        if adopted is not None and own is not None and own != adopted:
            saying = saying.replace(flags=(*saying.flags, f"renumbered: it had the number {own} in the file"))
        number = adopted if adopted is not None else own
        saying = saying.replace(number=number, prints=(self._print(entry),))
        return NewEntry(entry=entry, place=place, saying=saying)

    def kind_of(self, entry: Mapping[str, Any]) -> str:
        return str(entry[self._type])

    def spec_of(self, entry: Any) -> MessageType | MootError:
        """The event type of an entry, or the error that it is none."""
        kind = entry.get(self._type) if isinstance(entry, dict) else None
        spec = self.packs.binding(kind) if isinstance(kind, str) else None
        if spec is not None and spec.pack == self.spec.pack:
            return spec
        given = shown(entry if kind is None else kind)
        return Refused(
            "unknown_type",
            f"An entry is not an event of this protocol: expected an object with a type, found {given}.",
            f"Give it a {self._type} such as build:finished.",
        )

    def said(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """The entry without its number."""
        return {key: value for key, value in entry.items() if not self._is_number(key, value)}

    def _is_number(self, key: str, value: Any) -> bool:
        return key == self._number or (key == self._also and _whole(value) is not None)

    def number_of(self, entry: Mapping[str, Any]) -> int | None:
        own = _whole(entry.get(self._number))
        return own if own is not None else _whole(entry.get(self._also or ""))

    def _compared(self, store: Store, content: FeedContent, one: Instance) -> list[tuple[int, Any]]:
        """The entries that the log does not have, each with its place in the file."""
        prints = [self._print(entry) if isinstance(entry, dict) else "" for entry in content.entries]
        known = feeds.by_fingerprint(store, self._feed, set(prints) - {""})
        used = set(content.skipped) if known else set()
        rest = []
        for place, (entry, print_) in enumerate(zip(content.entries, prints, strict=True), len(content.skipped)):
            copied = self.copied(entry, known.get(print_, ()), used)
            if copied is None:
                rest.append((place, entry, print_))
            else:
                used.add(copied)
        again = [(entry, known[print_]) for _, entry, print_ in rest if print_ in known]
        untimed = {number for entry, numbers in again if self._lacks_time(entry) for number in numbers}
        used |= self._left_behind(store, content, one, untimed) if untimed else set()
        fresh = []
        for place, entry, print_ in rest:
            same = next((number for number in known.get(print_, ()) if number not in used), None)
            if same is None:
                fresh.append((place, entry))
            else:
                used.add(same)
        return fresh

    def copied(self, entry: Any, known: Sequence[int], used: set[int]) -> int | None:
        """Of the known entries with this content, the one that this is certainly a copy of."""
        own = self.number_of(entry) if known else None
        # An entry with the key that only moot writes is a copy, however often it is there.
        return own if own in known and (own not in used or self._number in entry) else None

    def _lacks_time(self, entry: Any) -> bool:
        spec = self.spec_of(entry)
        return not isinstance(spec, MootError) and spec.stamp is not None and spec.stamp not in entry

    def _left_behind(self, store: Store, content: FeedContent, one: Instance, numbers: set[int]) -> set[int]:
        """Those entries that have left the file, if this is a file of today."""
        if not self._keep or (_whole(content.rest.get(self._last)) or 0) < self._state(store).last:
            return set()
        return numbers.difference(number for number, _ in self._texts(store, one))

    def _print(self, entry: Mapping[str, Any]) -> str:
        return fingerprint(self.said(entry))

    def _adopted(self, entries: list[Any], last: int) -> dict[int, int]:
        """Numbers for the entries of an adopted file: their own, or those that end with the highest one used."""
        found: dict[int, int] = {}
        above = min(max(last, len(entries)), LARGEST) + 1
        for place in reversed(range(len(entries))):
            own = self.number_of(entries[place]) if isinstance(entries[place], dict) else None
            free = own if own is not None and place < own < above else max(above - 1, place + 1)
            found[place] = above = free
        return found

    def _changed_values(
        self, state: Feed, content: FeedContent, memo: Any
    ) -> tuple[dict[str, Any], tuple[Notice, ...]]:
        """The other keys that this file changes. One in an old copy changes nothing."""
        before = memo if isinstance(memo, dict) else self._values(state)
        last = _whole(content.rest.get(self._last)) or 0
        if self._last and last < state.set_at:
            return {}, ()
        news = {
            key: value
            for key, value in content.rest.items()
            if key != self._last and (key not in before or before[key] != value or type(before[key]) is not type(value))
        }
        if self._keep is None or self._keep not in news or last < state.last:  # an old copy does not change how long
            return {key: value for key, value in news.items() if key != self._keep}, ()
        wanted, now = news[self._keep], self._values(state)[self._keep]
        before = {self._keep: self._kept, **state.before.get(self.spec.name, {})}[self._keep]
        if not _length(wanted):
            why = f"{shown(wanted)} is not a number with m, h or d"
        elif wanted == before and last == state.set_at:
            why = f"this is a copy from before it was changed from {before}. Change it again after the next event"
        else:
            return news, ()
        del news[self._keep]
        return news, (Notice("bad_retention", f"{self.spec.path}: {self._keep} stays {now}: {why}."),)

    def take(self, work: Work, one: Instance, content: FeedContent, memo: Any, facts: FeedNews) -> Taken:  # noqa: ARG002
        notices = list(facts.notices)
        held = HeldEntries(self.spec, (), work.store, lambda: as_written(content.data, self._list))
        done = 0
        for fresh in facts.fresh[:MOST]:
            if len(work.drafts) > FULL:
                break
            if not held.has(fresh.entry):
                error = fresh.error or self._heard(work, fresh)
                if error is not None and (identity := held.hold(work, fresh.entry, fresh.place, error)):
                    said = f"an entry of {one.name} is held: {error.message} {error.remedy}"
                    notices.append(Notice("entry_held", f"{identity}: {said}"))
            done += 1
        rest = facts.fresh[done:]
        if not rest and (facts.values or facts.last):
            own = {**work.state("feed", self._feed).values.get(self.spec.name, {}), **facts.values}
            work.do("feed", self._feed, SetFeed(set={self.spec.name: own} if facts.values else {}, last=facts.last))
        return Taken(notices=tuple(notices), rest=facts.replace(fresh=rest, notices=()) if rest else None)

    def _heard(self, work: Work, fresh: NewEntry) -> MootError | None:
        """Take an entry. Returns the error if it is refused."""
        assert fresh.saying is not None
        try:
            with work.savepoint():
                self.packs.hear(work, fresh.saying)
        except MootError as error:
            if error.kind == "unavailable":
                raise  # the entry is valid: it stays in the file, and the next call takes it
            return error
        return None


class FeedListForm(FeedForm):
    """The form `feed-list`: one list of a pack's feed, such as its decisions, as a list in an object.

    The rows follow from the entries of the feed (`feed:listed`). A row that an agent adds or edits by hand is held. The
    `fields` of the mirror:

        author    the role that writes to the file
        entries   the key of the list in the file
        list      the name of the list
        event     the type of the event to emit instead of adding a row
    """

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": dict.fromkeys(("author", "entries", "list", "event"), _NAME),
        "required": ["author", "entries", "list", "event"],
        "additionalProperties": False,
    }

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        self._rows, self._event = spec.fields["list"], spec.fields["event"]

    def _text(self, store: Store, state: Feed, one: Instance) -> bytes:  # noqa: ARG002
        return feeds.list_text(store, self._feed, self._rows).encode()

    def _texts(self, store: Store, one: Instance) -> Iterator[tuple[int, str]]:  # noqa: ARG002
        return iter(())

    def _compared(self, store: Store, content: FeedContent, one: Instance) -> list[tuple[int, Any]]:  # noqa: ARG002
        known = list(feeds.rows(store, self._feed, self._rows).values())
        return [(place, entry) for place, entry in enumerate(content.entries) if entry not in known]

    def _adopted(self, entries: Sequence[Any], last: int) -> dict[int, int]:  # noqa: ARG002
        return {}

    def spec_of(self, entry: Any) -> Refused:  # noqa: ARG002
        return Refused(
            "written_by_moot",
            f"{self.spec.path} is written by moot: an entry that is added or changed by hand is not taken.",
            f"Emit {self._event} instead.",
        )

    def vet(self, data: bytes) -> list[Defect]:
        return Form.vet(self, data)


def _length(text: object) -> float:
    """The seconds of `90m`, `24h` or `7d`; 0 for anything else."""
    return seconds(text) or 0.0 if isinstance(text, str) and text[-1:] in ("m", "h", "d") else 0.0


def _whole(value: object) -> int | None:
    """A whole number that can be the number of an entry."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST else None
