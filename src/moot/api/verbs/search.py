"""search: looks for words in the text of all events, from the newest back.

There is no index: the log is read as `moot log` shows it, so what was redacted is not found.
"""

from __future__ import annotations

from moot.api.answer import Answer, Marked, Table
from moot.api.catalogue import Param, Verb
from moot.core import query as queries
from moot.core import timestamps
from moot.core.errors import Usage
from moot.core.kind import find, kind_of, kinds
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import one_line, option
from moot.engine.clock import local
from moot.time_travel import last_before, moment
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.log import Log
    from moot.views.store import Store

OTHERS = "events"  # the kind of events whose kind has no plural
_MOST = 1000
_PAGE = 1000
_LOOKED_AT = 100_000  # events


class SearchResult(Record):
    """A match: the newest event of an entity that matches, and the entity's current title and state."""

    kind: str
    id: str
    stream: str
    title: str
    state: str | None
    task: str | None
    by: str
    at: str
    position: int
    excerpt: str
    marks: tuple[tuple[int, int], ...]  # positions of the words in the excerpt, as (start, end)


def search(
    call: Call,
    words: tuple[str, ...],
    kind: tuple[str, ...],
    by: str | None,
    task: str | None,
    since: str | None,
    until: str | None,
    limit: int,
) -> Answer:
    query = queries.parse(" ".join(words))
    if not query.terms:
        raise Usage(
            "nothing_to_search",
            "The query has no word to search for.",
            "Name at least one word: moot search parser. A -word only excludes results.",
        )
    wanted, first, end = _kinds(kind), _time(call, "since", since), _time(call, "until", until)

    def fits(event: Event) -> bool:
        at = 0.0 if first is None and end is None else timestamps.parse(event.at) or 0.0
        return (
            (not wanted or _kind(event) in wanted)
            and (by is None or name_of(event.by).lower() == by.lower())
            and (task is None or _task(event) == task)
            and (first is None or at >= first)
            and (end is None or at < end)
            and query.matches(f"{event.stream.partition('/')[2]}\n{queries.texts(event)}")
        )

    log, most = call.engine.log, min(limit, _MOST)
    start = log.head() if end is None else last_before(log, end)
    found: dict[str, Event] = {}
    for event in filter(fits, _newest_first(log, start, call.progress)):
        if len(found) > most:
            break
        found.setdefault(_id(event) if _kind(event) == OTHERS else event.stream, event)
    store = call.engine.read()
    results = [_result(store, event, query) for event in list(found.values())[:most]]
    if len(found) > most:
        wider = f"use --limit {min(2 * most, _MOST)}, or " if most < _MOST else ""
        call.warn("more", f"There are more results: {wider}add words.")
    elif start > _LOOKED_AT:
        (last,) = log.read(start - _LOOKED_AT, 1)
        call.warn(
            "stopped",
            f"Looked at {_LOOKED_AT:,} events, back to #{last.position}. "
            f"To search the earlier ones, add `{option('--until', last.at)}`.",
        )
    rows = tuple(
        (item.id, item.state or "", one_line(item.title, 60), Marked(item.excerpt, item.marks), item.by, item.at)
        for item in results
    )
    table = Table(("found", "state", "title", "text", "by", "at"), rows, title="Search")
    lines = [line for item in results for line in _lines(item)]
    return Answer(result=results, say=tuple(lines) or ("No matches.",), table=table if rows else None)


def _newest_first(log: Log, start: int, progress: Callable[[str, int, int], None]) -> Iterator[Event]:
    """The last events up to `start`."""
    stop = max(0, start - _LOOKED_AT)
    for end in range(start, stop, -_PAGE):
        after = max(stop, end - _PAGE)
        yield from reversed(log.read(after, end - after))
        progress("searching", start - after, start - stop)


def _kind(event: Event) -> str:
    known = find(event.stream.partition("/")[0])
    return (known.plural if known is not None else "") or OTHERS


def _task(event: Event) -> str | None:
    kind, _, key = event.stream.partition("/")
    about = key if kind == "task" else event.data.get("task")
    return about if isinstance(about, str) else None


def _id(event: Event) -> str:
    return f"#{event.position}"


def _places() -> tuple[str, ...]:
    """The values of the kind filter."""
    return (*(kind.plural for kind in kinds() if kind.plural), OTHERS)


def _kinds(asked: tuple[str, ...]) -> tuple[str, ...]:
    named = [name for place in asked for name in place.replace(",", " ").split()]
    for name in named:
        if name not in _places():
            raise Usage("bad_arguments", f"kind: {name[:80]!r} is not one of {', '.join(_places())}.", _HELP)
    return tuple(named)


def _time(call: Call, name: str, text: str | None) -> float | None:
    if text is None:
        return None
    found = moment(text, call.clock.wall_seconds())
    if found is None:
        raise Usage(
            "bad_arguments",
            f"{name}: {text[:80]!r} is not a valid time.",
            "Write a date (2031-05-08), a date with a time (2031-05-08T09:30Z), or a time ago (2h, 3d).",
        )
    return found


def _result(store: Store, event: Event, query: queries.Query) -> SearchResult:
    place, (kind, _, key) = _kind(event), event.stream.partition("/")
    title, state = (f"{event.type} {event.stream}", None) if place == OTHERS else _now(store, kind, key)
    excerpt, marks = query.excerpt(queries.texts(event))
    return SearchResult(
        kind=place,
        id=_id(event) if place == OTHERS else key,
        stream=event.stream,
        title=title,
        state=state,
        task=_task(event),
        by=name_of(event.by),
        at=event.at,
        position=event.position,
        excerpt=excerpt,
        marks=marks,
    )


def _now(store: Store, name: str, key: str) -> tuple[str, str | None]:
    """The entity's current title and state."""
    kind = kind_of(name)
    columns = {} if kind.columns is None else kind.columns(states.state(store, kind, key)[0])
    return str(columns.get("title", "")), columns.get("state")


def _lines(item: SearchResult) -> list[str]:
    head = " ".join(part for part in (item.id, item.state, one_line(item.title, 80)) if part)
    said, end = "", 0
    for start, stop in item.marks:
        said += f"{item.excerpt[end:start]}[{item.excerpt[start:stop]}]"
        end = stop
    where = f"#{item.position} " if item.id != f"#{item.position}" else ""
    return [f"{head} ({where}by {item.by} at {local(item.at)})", f"> {one_line(said + item.excerpt[end:], 400)}"]


_HELP = "See `moot search --help`."

VERBS = (
    Verb(
        "search",
        "Search messages, tasks, decisions, artifacts, checkpoints, receipts and all other events.",
        search,
        kind="look",
        params=(
            Param("words", 'All must occur. "a phrase", -excluded.', positional=True, many=True),
            Param("kind", f"Only these kinds (repeatable, or separated by commas): {', '.join(_places())}.", many=True),
            Param("by", "Only events by this agent (or person:NAME).", limit=200),
            Param("task", "Only events about this task."),
            Param("since", "Only events since then: a date, a date with a time, or a time ago (2h)."),
            Param("until", "Only events before then."),
            Param("limit", "Maximum number of results.", type="int", default=20),
        ),
        examples=("moot search parser", "moot search 'lease \"fell silent\" -test' --kind tasks,messages --since 3d"),
        detail=(
            "Newest first. Words match inside longer words, in upper or lower case. Each result shows the newest event "
            "that matches, the entity that it belongs to and its current state. For receipts the command, its outcome "
            "and its task are searched, not the output. One search looks at up to 100,000 events and says where it "
            "stopped. Put quotes and -words into one shell argument, or after `--`."
        ),
        writes=False,
    ),
)
