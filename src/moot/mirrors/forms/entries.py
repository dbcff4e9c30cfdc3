"""The form `entries`: a JSON list of messages, oldest first, alone or in an object with the time of the last read.

Entries are matched with known messages by content and count, or by number and content. Only surplus entries are new.
Removing an entry from the file has no effect, but emptying the list clears the mailbox. Other keys of the object are
held: moot renders none. The `fields` of the mirror name the keys:

    entries   the key of the list; without it, the file is the list
    read      the key of the time of the last read
    type      the key of an entry's type; "": entries have no type, because there is only one
    number    the key of an entry's number, counted from 1 over all messages of the mailbox
"""

from __future__ import annotations

from moot.api.answer import Notice
from moot.api.protocol import LAST
from moot.api.protocol.form import FULL, MOST, Form, Malformed, Rendering, Taken
from moot.api.protocol.held_entries import HeldEntries, as_written, canonical, counted
from moot.core import strict_json, timestamps
from moot.core.deciders.mailbox import Ack, Clear, Restore
from moot.core.errors import MootError, Refused
from moot.core.principal import Actor, role
from moot.core.record import Record
from moot.core.schema import Defect, defects
from moot.core.schema.phrases import NOTHING, shown
from moot.core.text import REASON, command_line
from moot.engine.clock import iso
from moot.place import worktrees
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, ClassVar

    from moot.api.call import Call
    from moot.api.protocol import MessageType, MirrorSpec, Packs, Saying
    from moot.api.protocol.form import Instance
    from moot.core.deciders.message import Message
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.views.queries import Delivery
    from moot.views.store import Store


class Content(Record):
    """The parsed content of a file."""

    entries: list[Any]
    read: object
    data: bytes
    extra: Mapping[str, Any] = {}  # the other keys of the object


class Fresh(Record):
    """Equal entries of which the file has more than the log, or an entry that is not a valid message."""

    entry: Any
    place: int  # of the first of them
    missing: int
    text: str = ""  # equal for equal messages
    saying: Saying | None = None
    error: MootError | None = None


class EntryNews(Record):
    """What a file has and the log does not."""

    in_hand: tuple[str, ...] = ()  # the ids of the messages in the file
    back: tuple[str, ...] = ()  # those of them that were cleared
    fresh: tuple[Fresh, ...] = ()
    clears: bool = False
    old: bool = False  # the file is empty, but is one that moot wrote before
    idle: int = -1  # see `moot.api.protocol.form.in_rounds`
    reads: bool = False  # take only the time of the last read


_NAME = {"type": "string", "minLength": 1}
_LIMIT = 1 << 20  # bytes of unknown keys, in a pack without a limit of its own; more are not held in the log


class EntriesForm(Form):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"entries": _NAME, "read": _NAME, "type": {"type": "string"}, "number": _NAME},
        "additionalProperties": False,
    }

    @classmethod
    def misfits(cls, fields: Mapping[str, Any], roles: Sequence[str]) -> Iterable[tuple[tuple[str, ...], str]]:  # noqa: ARG003
        if "read" in fields and "entries" not in fields:
            yield ("read",), "a file that is a list has no place for `read`: name the key of the list in `entries`"

    def __init__(self, spec: MirrorSpec, packs: Packs) -> None:
        super().__init__(spec, packs)
        names = spec.fields
        self._list, self._read = names.get("entries"), names.get("read")
        self._kind, self._number = names.get("type", "type"), names.get("number")
        self._types = {kind: found for kind in spec.types if (found := packs.find(kind, spec.pack))}
        sender = next(iter(self._types.values())).sender
        self._writer = Actor(principal=role(sender), roles=(sender,))
        self._reader = role(spec.mailbox.removeprefix("@"))
        self.speakers = self._writer.principal, self._reader
        self._limit = max((pack.message_limit for pack in packs.packs if pack.name == spec.pack), default=0) or _LIMIT

    # --- from the log to the file ------------------------------------------------------------------------------------

    def follows(self, event: Event) -> bool:
        box = self.spec.mailbox.lower()
        if event.type == "message:sent":
            return any(to.lower() == box for to in event.data.get("to", ()))
        return event.stream == f"mailbox/{box}"

    def render(self, store: Store, one: Instance) -> Rendering:  # noqa: ARG002 (the same in every worktree)
        visible = queries.shown_in_file(store, self.spec.mailbox, self.spec.types)
        places = {d.entry.id: n for n, d in enumerate(self.history(store), 1)} if self._number else {}
        entries = [self._shown(self._types[d.message.kind], d.message, places.get(d.entry.id, 0)) for d in visible]
        last = queries.last_read(store, self.spec.mailbox)
        return Rendering(data=self._written(entries, last), memo=[d.entry.id for d in visible])

    def history(self, store: Store) -> list[Delivery]:
        return [d for d in queries.mailbox(store, self.spec.mailbox) if d.message.kind in self._types]

    def _written(self, entries: list[Any], last_read: object) -> bytes:
        if self._list is None:
            return strict_json.dump(entries)
        return strict_json.dump({self._list: entries, **({self._read: last_read} if self._read else {})})

    # --- from the file to the log ------------------------------------------------------------------------------------

    def read(self, data: bytes) -> Content:
        content = strict_json.load(data)
        if self._list is None:
            if not isinstance(content, list):
                raise Malformed("the file is not a list")
            return Content(entries=content, read=None, data=data)
        if not isinstance(content, dict) or not isinstance(content.get(self._list), list):
            beside = f' and "{self._read}"' if self._read else ""
            raise Malformed(f'the file is not an object with the list "{self._list}"{beside}')
        extra = {key: value for key, value in content.items() if key not in (self._list, self._read)}
        if (
            extra
            and len(data) > self._limit
            and (size := len(canonical(extra).encode("utf-8", "replace"))) > self._limit
        ):
            raise Malformed(f"keys that are not part of the file have {size:,} bytes; the limit is {self._limit:,}")
        read = content.get(self._read) if self._read else None
        return Content(entries=content[self._list], read=read, data=data, extra=extra)

    def vet(self, data: bytes) -> list[Defect]:
        if unread := super().vet(data):
            return unread
        content = self.read(data)
        found = self._unknown(content.extra)
        if content.read is not None and _seconds(content.read) is None:
            found.append(Defect(self._read or "", "null or an ISO 8601 date and time", shown(content.read)))
        for place, entry in enumerate(content.entries):
            spec, at = self.type_of(entry), f"{self._list or ''}[{place}]"
            if isinstance(spec, MootError):
                wrong = [Defect.of(defect) for defect in spec.details["defects"]]
            else:
                wrong = defects(spec.schema, self.said(entry, spec))
            found += [defect.replace(path=f"{at}.{defect.path}".rstrip(".")) for defect in wrong]
        return found

    def _unknown(self, keys: Iterable[str]) -> list[Defect]:
        known = " and ".join(f'"{key}"' for key in (self._list, self._read) if key)
        return [Defect(key, f"only {known} at the top of the file", "another key") for key in keys]

    def authors(self, content: Content) -> tuple[str, ...]:
        return (self._writer.principal,) if content.read is None else (self._writer.principal, self._reader)

    def observe(self, call: Call, one: Instance, content: Content, memo: Any, author: str) -> EntryNews | None:  # noqa: ARG002
        store = call.engine.store
        emptied = not content.entries and bool(memo)
        if author == self._writer.principal:
            cleared = emptied and self.spec.emptied == "clear"
            old = cleared and self._is_own_render(store, content)
            news = self._compared(call, store, content, memo).replace(clears=cleared and not old, old=old)
            return news if news.fresh or news.back or cleared or content.extra else None
        stood = isinstance(content.read, str) and queries.was_last_read(store, self.spec.mailbox, content.read)
        return None if stood or emptied else self._compared(call, store, content, memo).replace(reads=True)

    def _is_own_render(self, store: Store, content: Content) -> bool:
        """Whether an empty file is exactly one that moot wrote before: then it is an old copy, and not a clear."""
        if content.data != self._written([], content.read):
            return False
        return content.read is None or queries.was_last_read(store, self.spec.mailbox, str(content.read))

    def _compared(self, call: Call, store: Store, content: Content, memo: Any) -> EntryNews:
        """Compare the file with the log. `memo`: the messages that the file showed."""
        from moot.mirrors.forms.known_messages import KnownMessages  # imported late: most calls find no changed file

        roots = tuple(tree.root for tree in worktrees(call.place))
        known = KnownMessages(self, store, roots, frozenset(memo or ()))
        in_hand: list[str] = []
        back: list[str] = []
        fresh: list[Fresh] = []
        numbered = known.by_number(content.entries) if self._number else {}
        in_hand += numbered.values()
        rest = (
            (place, self._unnumbered(entry)) for place, entry in enumerate(content.entries) if place not in numbered
        )
        for place, count in counted(rest):
            entry = content.entries[place]
            spec = self.type_of(entry)
            if isinstance(spec, MootError):
                fresh.append(Fresh(entry=entry, place=place, missing=1, error=spec))
                continue
            said = self.said(entry, spec)
            try:
                text = known.text(spec, said)
                ids, cleared, missing = known.matched(spec, said, text, count)
                in_hand += ids
                back += cleared
                if missing > 0:
                    saying = self.packs.saying(
                        call, spec, said, roots=roots, sender=self._writer, source=self.spec.path
                    )
                    name = said.get(spec.task) if spec.task else None
                    was = states.task(store, name)[0].state if isinstance(name, str) else ""
                    saying = saying.replace(was=was)
                    fresh.append(Fresh(entry=entry, place=place, missing=missing, text=text, saying=saying))
            except Refused as error:  # by the code of the pack
                fresh.append(Fresh(entry=entry, place=place, missing=1, error=error))
        return EntryNews(in_hand=tuple(in_hand), back=tuple(back), fresh=tuple(fresh))

    def type_of(self, entry: Any) -> MessageType | MootError:
        if not self._kind and isinstance(entry, dict):
            return next(iter(self._types.values()))
        kind = entry.get(self._kind) if isinstance(entry, dict) else None
        if isinstance(kind, str) and kind in self._types:
            return self._types[kind]
        spec = self.packs.find(kind, self.spec.pack) if isinstance(kind, str) else None
        if spec is None:
            types = [t.name for t in self._all_types()]
            given = entry.get(self._kind, NOTHING) if isinstance(entry, dict) else entry
            wrong = Defect(self._kind, " or ".join(types), given if given is NOTHING else shown(given))
            return Refused(
                "unknown_type",
                f"An entry is not a message of this protocol: {wrong.sentence}.",
                f"The types are {' and '.join(types)}.",
                known=types,
                defects=[wrong.full()],
            )
        if spec.name in self.spec.types:
            return spec
        files = [m.path for m in self.packs.mirrors if spec.name in m.types]
        home = ", ".join(files or spec.addresses)
        said, wrong = (
            f"A {spec.name} does not belong in this file.",
            Defect(self._kind, " or ".join(self._types), spec.word),
        )
        return Refused("wrong_mailbox", said, f"It belongs in {home}.", mailbox=home, defects=[wrong.full()])

    def _all_types(self) -> list[MessageType]:
        """All message types of the pack, including those of other files."""
        return [spec for pack in self.packs.packs if pack.name == self.spec.pack for spec in pack.messages]

    def said(self, entry: dict[str, Any], spec: MessageType) -> dict[str, Any]:
        """The entry as a message: without its number, and with its type under `type`."""
        if self._number is None and self._kind == "type":
            return entry
        rest = {key: value for key, value in entry.items() if key not in (self._number, self._kind)}
        return {"type": spec.word, **rest}

    def _shown(self, spec: MessageType, message: Message, number: int) -> dict[str, Any]:
        """A message as an entry."""
        entry = spec.render(message.data or {}, message.evidence)
        if self._kind != "type":
            kind = entry.pop("type")
            entry = {self._kind: kind, **entry} if self._kind else entry
        return {self._number: number, **entry} if self._number else entry

    def _unnumbered(self, entry: Any) -> Any:
        if self._number is None or not isinstance(entry, dict):
            return entry
        return {key: value for key, value in entry.items() if key != self._number}

    def number_of(self, entry: Any) -> int | None:
        number = entry.get(self._number) if isinstance(entry, dict) and self._number else None
        return number if isinstance(number, int) and not isinstance(number, bool) else None

    def take(self, work: Work, one: Instance, content: Content, memo: Any, facts: EntryNews) -> Taken:
        if facts.reads:
            return self._take_read(work, one, content.read, facts.in_hand)
        notices: list[Notice] = []
        if facts.back:
            work.do("mailbox", self.spec.mailbox, Restore(ids=facts.back), pack=self.spec.pack)
        heard: dict[str, int] = {}
        fields = sorted({spec.task for spec in self._all_types() if spec.task})
        held = HeldEntries(self.spec, fields, work.store, lambda: as_written(content.data, self._list))
        done, put_off = 0, list[Fresh]()
        for place, fresh in enumerate(facts.fresh[:MOST]):
            if len(work.drafts) > FULL:
                break
            error = fresh.error or self._heard(work, fresh, heard, facts, place)
            if error is not None and error.code == "too_many_events" and work.drafts:
                break  # the commit is full; the entry goes into the next one
            if error is not None and fresh.error is None and facts.idle < LAST and error.code != "bad_message":
                put_off.append(fresh.replace(missing=fresh.missing - heard.get(fresh.text, 0)))
            elif error is not None:
                notices += _notice(one, held.hold(work, fresh.entry, fresh.place, error), error)
            done += 1
        if content.extra and facts.idle < 0:
            identity = held.hold_keys(work, content.extra, lambda name: self._extra(content.extra, name))
            unknown = self._extra(content.extra, identity or "ID")
            notices += _notice(one, identity, unknown)
        if facts.clears:
            self._take_clear(work, content.read, memo)
        if facts.old:
            said = f"{one.name} is an empty file that moot wrote earlier: an old copy, so nothing is cleared."
            notices.append(Notice("mailbox_not_emptied", said))
        rest = tuple(fresh.replace(missing=fresh.missing - heard.get(fresh.text, 0)) for fresh in facts.fresh[done:])
        left = facts.replace(back=(), clears=False, old=False)
        return Taken(
            notices=tuple(notices),
            rest=left.replace(fresh=rest) if rest else None,
            later=left.replace(fresh=tuple(put_off)) if put_off else None,
        )

    def _extra(self, keys: Mapping[str, Any], held: str) -> Refused:
        wrong = self._unknown(keys)
        return Refused(
            "unknown_keys",
            f"The file has keys that are not part of it: {', '.join(map(shown, keys))}.",
            "They are removed from the file. Say it in a message, and drop them: "
            f"`{command_line('held drop', held, options=REASON)}`.",
            defects=[defect.full() for defect in wrong],
        )

    def _heard(self, work: Work, fresh: Fresh, heard: dict[str, int], facts: EntryNews, place: int) -> MootError | None:
        """Take the missing entries. Returns the error if they are refused.

        Two entries can be formatted differently and mean the same. Then they count as two equal entries.
        """
        assert fresh.saying is not None
        behind = sum(one.missing for one in facts.fresh[place + 1 :] if one.saying and _are_alike(one, fresh))
        saying = fresh.saying.replace(idle=facts.idle, behind=behind)
        for _ in range(fresh.missing - heard.get(fresh.text, 0)):
            before = len(work.drafts)
            try:
                with work.savepoint():
                    self.packs.hear(work, saying)
            except MootError as error:
                if error.kind == "unavailable":
                    raise  # the entry is valid: it stays in the file, and the next call takes it
                return error
            if len(work.drafts) > before:
                heard[fresh.text] = heard.get(fresh.text, 0) + 1
        return None

    def _take_clear(self, work: Work, last_read: object, memo: Any) -> None:
        """Clear the messages that the file showed before it was emptied. Unread ones stay unread."""
        there = queries.shown_in_file(work.store, self.spec.mailbox, self.spec.types)
        ids = tuple(d.entry.id for d in there if d.entry.id in memo)
        if ids:
            at = _time_of(last_read, work.mailbox(self.spec.mailbox, ids).last_read, work.at)
            work.do("mailbox", self.spec.mailbox, Clear(ids=ids, reason="emptied", at=at), pack=self.spec.pack)

    def _take_read(self, work: Work, one: Instance, last_read: object, in_hand: Sequence[str]) -> Taken:
        """Acknowledge the messages in the file, because it has a new time of the last read."""
        if _seconds(last_read) is None:
            said = f"{one.name}: {self._read} is not a date and time; left as it was."
            return Taken(notices=(Notice("bad_last_read", said),))
        box = work.mailbox(self.spec.mailbox, in_hand)
        unread = tuple(i for i in dict.fromkeys(in_hand) if i in box.entries and not box.entries[i].settled)
        if unread:
            at = _time_of(last_read, box.last_read, work.at) or work.at
            work.do("mailbox", self.spec.mailbox, Ack(ids=unread, who=self._reader, at=at))
        return Taken()


def _are_alike(one: Fresh, other: Fresh) -> bool:
    """Whether two entries are of one type and about one task."""
    assert one.saying is not None
    assert other.saying is not None
    spec = one.saying.spec
    field = spec.task or ""
    return other.saying.spec is spec and one.saying.data.get(field) == other.saying.data.get(field)


def _notice(one: Instance, identity: str | None, error: MootError) -> list[Notice]:
    """A warning about an entry that is held, unless it was already."""
    said = f"{identity}: an entry of {one.name} is held: {error.message} {error.remedy}"
    return [Notice("entry_held", said)] if identity else []


def _seconds(last_read: object) -> float | None:
    """The time of the last read, in seconds since 1970; None if it is not a date and time."""
    return timestamps.parse(last_read) if isinstance(last_read, str) else None


def _time_of(last_read: object, before: str | None, now: str) -> str | None:
    """The time in the file, or the current time if that is in the future or before the last read."""
    found = _seconds(last_read)
    if found is None:
        return None
    given = iso(found + 1e-6)  # a float may be slightly below the millisecond that was written
    return given if (before or "") <= given <= now else now
