"""The entries, lists and notes of feeds in the views, each with its text as a file shows it.

An entry and a row of a list are written once, indented for their place in the file: an item of a list, or a value of an
object, inside one object. A file is then these texts with commas between them. `moot.core.deciders.feed` defines what
they are.
"""

from __future__ import annotations

from moot.core import timestamps
from moot.core.deciders.feed import FeedNoted, Listed, Posted, merged
from moot.core.json_codec import dumps, loads, spread, storable
from moot.core.record import ATOMS, Record
from moot.views.queries import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.core.event import Event
    from moot.core.payload import Payload
    from moot.views.store import Store

PLACE = "    "  # the indentation of an item
BETWEEN = f",\n{PLACE}"
_ABOUT = ("flags", "source", "handled", "cause")


class FeedEntry(Record):
    """An entry as the file shows it, and what the file does not show."""

    number: int
    position: int
    at: float  # when it arrived, in seconds since 1970
    event: dict[str, Any]
    flags: tuple[str, ...] = ()
    source: str | None = None
    handled: tuple[str, ...] = ()
    cause: int = 0


class FeedNote(Record):
    position: int
    who: str
    at: str
    text: str


# --- writing, while events are folded --------------------------------------------------------------------------------


def put(store: Store, event: Event, feed: str, known: type[Payload]) -> None:
    """Write the rows of one event of a feed."""
    match known.of(event.data):
        case Posted() as entry:
            at = timestamps.parse(event.at) or 0.0
            about = storable({name: value for name, value in entry.plain().items() if name in _ABOUT})
            number = entry.number
            store.run("put_feed_entry", feed, number, event.position, at, shown(entry.shown), about)
            for key, values in entry.keys.items():
                for value in values:
                    store.run("put_feed_key", feed, key, value, number)
            for print_ in entry.prints:
                store.run("put_feed_print", feed, print_, number)
        case Listed() as rows:
            for key in rows.drops:
                store.run("drop_feed_row", feed, rows.list, key)
            for key, value in rows.puts.items():
                after = merged(row(store, feed, rows.list, key), value) if rows.merges else value
                store.run("put_feed_row", feed, rows.list, key, event.position, shown(after))
        case FeedNoted() as note:
            store.run("put_feed_note", feed, event.position, note.who, event.at, note.text)
        case _:
            pass


def shown(value: Any, place: str = PLACE) -> str:
    """The value as `json.dumps(value, indent=2, ensure_ascii=False)` writes it, indented for its place."""
    if not isinstance(value, (dict, list, tuple)) or not value:
        return dumps(value)
    inner = f"{place}  "
    if isinstance(value, dict):
        if ATOMS.issuperset(map(type, value.values())) and all(type(key) is str for key in value):
            return f"{{\n{inner}{spread(value, f',{chr(10)}{inner}')[1:-1]}\n{place}}}"
        parts = [f"{dumps(str(key))}: {shown(item, inner)}" for key, item in value.items()]
        return f"{{\n{inner}{f',{chr(10)}{inner}'.join(parts)}\n{place}}}"
    return f"[\n{inner}{f',{chr(10)}{inner}'.join(shown(item, inner) for item in value)}\n{place}]"


# --- reading ---------------------------------------------------------------------------------------------------------


def entry(store: Store, feed: str, number: int) -> FeedEntry | None:
    row = store.row("feed_entry", feed, number)
    return None if row is None else _entry(row)


def entries(
    store: Store,
    feed: str,
    keys: Sequence[tuple[str, str]] = (),
    *,
    after: int = 0,
    since: float | None = None,
    until: float | None = None,
    limit: int = ALL,
) -> Iterator[FeedEntry]:
    """The entries after a number that have all of these keys and arrived in this period, oldest first."""
    bound = (feed, after, since, until, limit)
    if not keys:
        return map(_entry, store.rows("feed_entries", *bound))
    (key, value), *rest = keys
    return map(_entry, store.rows("feed_entries_by_key", *bound, key, value, dumps([list(pair) for pair in rest])))


def last_entries(store: Store, feed: str, limit: int, keys: Sequence[tuple[str, str]] = ()) -> Iterator[FeedEntry]:
    """The newest of these entries, newest first."""
    if not keys:
        return map(_entry, store.rows("last_feed_entries", feed, limit))
    (key, value), *rest = keys
    others = dumps([list(pair) for pair in rest])
    return map(_entry, store.rows("last_feed_entries_by_key", feed, key, value, others, limit))


def values(store: Store, feed: str, key: str) -> dict[str, int]:
    """All values of a key, each with the number of its newest entry."""
    return dict(store.rows("feed_values", feed, key))


def by_fingerprint(store: Store, feed: str, prints: Iterable[str]) -> dict[str, list[int]]:
    """The numbers of the entries with these fingerprints."""
    found: dict[str, list[int]] = {}
    for print_, number in store.rows("feed_prints", feed, dumps(list(prints))):
        found.setdefault(print_, []).append(number)
    return found


def shown_text(store: Store, feed: str, since: float) -> bytes:
    """The entries that a file shows, as its bytes between the brackets. `since`: older ones have left it."""
    return store.value("feed_shown", feed, since, BETWEEN) or b""


def shown_texts(store: Store, feed: str, since: float) -> Iterator[tuple[int, str]]:
    """The same one by one, each with its number."""
    return ((number, text) for number, text in store.rows("feed_texts", feed, since))


def rows(store: Store, feed: str, name: str, between: tuple[str, str] | None = None) -> dict[str, Any]:
    """The rows of a list by their keys, in the order in which they were added.

    `between`: only those with a key from the first text on and before the second, in the order of their keys.
    """
    if between is not None:
        return {key: loads(text) for key, text in store.rows("feed_rows_between", feed, name, *between)}
    return {key: loads(text) for key, text in store.rows("feed_rows", feed, name)}


def row(store: Store, feed: str, name: str, key: str) -> Any:
    """A row of a list; None if there is none."""
    text = store.value("feed_row", feed, name, key)
    return None if text is None else loads(text)


def list_text(store: Store, feed: str, name: str, most: int | None = None) -> str:
    """The rows of a list, or the newest of them, as the text between the brackets."""
    return store.value("feed_list", feed, name, BETWEEN, ALL if most is None else most) or ""


def table_text(store: Store, feed: str, name: str) -> str:
    """The same as an object: each row under its key, sorted by key."""
    return store.value("feed_table", feed, name, BETWEEN) or ""


def notes(store: Store, feed: str, after: int = 0, upto: int = ALL) -> list[FeedNote]:
    """The notes after a position, oldest first."""
    return [FeedNote.in_order(found) for found in store.rows("feed_notes", feed, after, upto)]


def _entry(found: tuple[Any, ...]) -> FeedEntry:
    number, position, at, text, about = found
    more: Mapping[str, Any] = loads(about)
    known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in more.items()}
    return FeedEntry(number=number, position=position, at=at, event=loads(text), **known)
