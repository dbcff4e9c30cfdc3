"""Feeds: the numbered entries of a protocol's own record, such as the events of a blackboard or the lines of a journal.

What always holds:
- An entry is posted once and never changes. Its number is higher than all earlier ones: the next one, or, while an
  existing file is adopted, the one that it has there.
- An entry is known by its fingerprints: of its content as it was received, and as the file shows it. So a copy of it is
  recognised, whichever form it has.
- Notes, lists and settings never change an entry.

Each pack has at most one feed, `feed/<pack>`. The pack defines what an entry is; this kind knows only numbers:

    feed:posted     an entry. `keys` are what it is found by
    feed:listed     rows of a list that follows from the entries, such as the finished tasks; a key has one row
    feed:noted      a text between the entries, in the words of the person or agent that wrote it into the file
    feed:rotated    the file continues in a new part; what came before is in the named one
    feed:set        values of the file that are not entries, and while adopting, the highest number that was ever used

The views keep the text of every entry and row as the file shows it (`moot.views.feeds`), so that a file is rendered by
putting texts together.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.json_codec import dumps_ascii
from moot.core.kind import Kind
from moot.core.payload import Payload
from moot.core.record import Record, unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.core.kind import Meta

LARGEST = (1 << 53) - 1  # the highest number that every reader of JSON keeps exactly
_PRINT = 12  # bytes of a fingerprint


def fingerprint(content: Mapping[str, Any], without: Iterable[str] = ()) -> str:
    """A digest of the content, independent of the order of its keys. `without`: keys that do not count."""
    try:
        from _blake2 import blake2b  # hashlib takes longer to import than the rest of a command
    except ImportError:
        from hashlib import blake2b

    left_out = frozenset(without)
    text = dumps_ascii(_sorted({key: value for key, value in content.items() if key not in left_out}))
    return blake2b(text.encode(), digest_size=_PRINT).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, (list, tuple)) else value


# --- events ----------------------------------------------------------------------------------------------------------


class Posted(Payload):
    type = "feed:posted"
    said = "#{number} {event:json}"
    words = ("event",)
    names = ("flags",)
    marks = ("stamps", "source", "keys", "prints", "handled", "series")
    number: int
    event: dict[str, Any]  # without its number
    stamps: tuple[str, ...] = ()  # the keys that show the number
    flags: tuple[str, ...] = ()
    source: str | None = None  # the file that it came from
    keys: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 (a record's default is never changed)
    prints: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()  # the pack's own handlers that acted on it, in this commit
    series: dict[str, int] = {}  # noqa: RUF012  # numbers of other series that it uses up
    cause: int = 0  # the number of the entry that it follows from

    @property
    def shown(self) -> dict[str, Any]:
        """The entry as the file shows it. Of a redacted one, what it is found by remains."""
        left = self.event or {key: values[0] for key, values in self.keys.items() if len(values) == 1}
        return {**left, **dict.fromkeys(self.stamps, self.number), **({} if self.event else {"redacted": True})}


class Listed(Payload):
    type = "feed:listed"
    said = "{list}: {puts:json}"
    asides = (("drops", "without {drops}"),)
    quiet = ("puts",)
    marks = ("list", "drops")
    list: str
    puts: dict[str, Any] = {}  # noqa: RUF012
    drops: tuple[str, ...] = ()
    merges: bool = False  # the rows change only in these keys; null removes one


class FeedNoted(Payload):
    type = "feed:noted"
    said = "noted: {text}"
    words = ("text",)
    marks = ("who",)
    text: str
    who: str = ""


class Rotated(Payload):
    type = "feed:rotated"
    said = "continues in a new file; {file} has everything up to {upto}"
    marks = ("file",)
    file: str
    upto: int


class FeedSet(Payload):
    type = "feed:set"
    said = "set {set:json}"
    words = ("set",)
    set: dict[str, Any] = {}  # noqa: RUF012
    last: int = 0  # higher than before: numbers up to this one are used up


EVENTS: dict[str, type[Payload]] = {cls.type: cls for cls in (Posted, Listed, FeedNoted, Rotated, FeedSet)}


# --- state and commands ----------------------------------------------------------------------------------------------


class Feed(Record):
    id: str
    last: int = 0  # the highest number ever used
    entries: int = 0
    notes: int = 0
    values: dict[str, Any] = {}  # noqa: RUF012
    set_at: int = 0  # `last` when the values changed
    before: dict[str, Any] = {}  # noqa: RUF012  # the values before that
    series: dict[str, int] = {}  # noqa: RUF012  # the highest number of each
    parts: tuple[tuple[str, int], ...] = ()  # the files that it was rotated into, and where each ends

    @property
    def exists(self) -> bool:
        return bool(self.last or self.entries or self.notes or self.values or self.parts)


class PostEntry(Record):
    """`stamps`: keys that show the number. `number`: chosen by the sender; kept if it is next, or while adopting."""

    event: Mapping[str, Any]
    stamps: tuple[str, ...] = ()
    number: int | None = None
    adopting: bool = False
    size: int = 0
    limit: int = 0
    flags: tuple[str, ...] = ()
    source: str | None = None
    keys: Mapping[str, tuple[str, ...]] = {}
    prints: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    series: Mapping[str, int] = {}
    cause: int = 0


class ListRows(Record):
    """`merges`: change only these keys of the rows, which are objects. So an event repeats no text of earlier ones."""

    list: str
    puts: Mapping[str, Any] = {}
    drops: tuple[str, ...] = ()
    merges: bool = False


class NoteInFeed(Record):
    text: str
    who: str = ""


class RotateFeed(Record):
    file: str
    upto: int


class SetFeed(Record):
    """Values that are the same as before are left out. `last` only ever raises the highest number."""

    set: Mapping[str, Any] = {}
    last: int = 0


Command = PostEntry | ListRows | NoteInFeed | RotateFeed | SetFeed


def merged(row: Any, change: Any) -> Any:
    """A row after a change of some of its keys."""
    if not isinstance(change, dict):
        return change
    before = row if isinstance(row, dict) else {}
    return {key: value for key, value in {**before, **change}.items() if value is not None}


def decide(state: Feed, command: Command, _facts: object = None) -> list[Payload]:
    match command:
        case PostEntry():
            return [_posted(state, command)]
        case ListRows():
            drops = tuple(key for key in dict.fromkeys(command.drops) if key not in command.puts)
            if not command.puts and not drops:
                return []
            return [Listed(list=command.list, puts=dict(command.puts), drops=drops, merges=command.merges)]
        case NoteInFeed():
            return [FeedNoted(**command.__dict__)] if command.text else []
        case RotateFeed():
            if state.parts and command.upto <= state.parts[-1][1]:
                return []  # another process has rotated it
            return [Rotated(file=command.file, upto=command.upto)]
        case SetFeed():
            news = {key: value for key, value in command.set.items() if not _same(state.values.get(key), value)}
            last = command.last if state.last < command.last <= LARGEST else 0
            return [FeedSet(set=news, last=last)] if news or last else []
        case _:
            unreachable(command)


def _posted(state: Feed, command: PostEntry) -> Posted:
    if command.size > command.limit:
        raise Refused(
            "entry_too_large",
            f"The entry has {command.size} bytes; the limit is {command.limit}.",
            "Put the long part into a file and give its path, or raise messages.limit in moot.toml.",
            size=command.size,
            limit=command.limit,
        )
    number = command.number or 0
    if not (command.adopting and state.last < number <= LARGEST):
        number = state.last + 1
    return Posted(
        number=number,
        event=dict(command.event),
        stamps=command.stamps,
        flags=command.flags,
        source=command.source,
        keys={key: tuple(values) for key, values in command.keys.items() if values},
        prints=tuple(dict.fromkeys(command.prints)),
        handled=command.handled,
        series=dict(command.series),
        cause=command.cause,
    )


def _same(one: Any, other: Any) -> bool:
    """Equality of JSON values: true is not 1."""
    return type(one) is type(other) and bool(one == other)


def evolve(state: Feed, event: Payload, _meta: Meta) -> Feed:
    match event:
        case Posted():
            series = dict(state.series)
            for name, number in event.series.items():
                series[name] = max(number, series.get(name, 0))
            return state.replace(last=event.number, entries=state.entries + 1, series=series)
        case Listed():
            return state
        case FeedNoted():
            return state.replace(notes=state.notes + 1)
        case Rotated():
            return state.replace(parts=(*state.parts, (event.file, event.upto)))
        case FeedSet():
            last = max(state.last, event.last)
            values = {**state.values, **event.set}
            if not event.set:
                return state.replace(last=last)
            return state.replace(values=values, last=last, set_at=last, before=state.values)
        case _:
            raise TypeError(f"not an event of a feed: {event!r}")


KIND = Kind(
    name="feed",
    events=EVENTS,
    decide=decide,
    evolve=evolve,
    state=Feed,
    made_by="A file or an event of a pack",
    pack=lambda name: name,
)
