"""search: full-text search over all events."""

from __future__ import annotations

from moot.api.answer import Answer, Marked, Table
from moot.api.catalogue import Param, Verb
from moot.core import query as queries
from moot.core.errors import Usage
from moot.core.kind import kind_of
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import one_line
from moot.engine.clock import local
from moot.engine.searching import search as look_up
from moot.time_travel.moments import moment
from moot.views import states
from moot.views.search import OTHERS, Filters, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.engine.searching import Thing
    from moot.views.store import Store

_MOST = 1000


class SearchResult(Record):
    """A match: the entity's current title and state, and the event that matches best."""

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
    hits: int  # number of its events that match


def search(
    call: Call,
    words: tuple[str, ...],
    kind: tuple[str, ...],
    by: str | None,
    task: str | None,
    since: str | None,
    until: str | None,
    newest: bool,
    limit: int,
) -> Answer:
    query = queries.parse(" ".join(words))
    if not query.asks:
        raise Usage(
            "nothing_to_search",
            "The query has no word to search for.",
            "Name at least one word: moot search parser. A -word only excludes results.",
        )
    filters = Filters(
        upto=call.engine.log.head(),
        kinds=_kinds(kind),
        by=by,
        task=task,
        since=_time(call, "since", since),
        until=_time(call, "until", until),
    )
    log, state = call.engine.whole, call.place.state
    most = min(limit, _MOST)
    things, more = look_up(log, state, query, filters, most, newest=newest, progress=call.progress)
    store = call.engine.read()
    found = [_found(store, thing) for thing in things]
    lines = [line for item in found for line in _lines(item)]
    if more:
        wider = f"use --limit {min(2 * most, _MOST)}, or " if most < _MOST else ""
        call.warn("more", f"There are more results: {wider}add words.")
    rows = tuple(
        (item.id, item.state or "", one_line(item.title, 60), Marked(item.excerpt, item.marks), item.by, item.at)
        for item in found
    )
    table = Table(("found", "state", "title", "text", "by", "at"), rows, title="Search")
    return Answer(result=found, say=tuple(lines) or ("No matches.",), table=table if rows else None)


def _kinds(asked: tuple[str, ...]) -> tuple[str, ...]:
    named = [name for place in asked for name in place.replace(",", " ").split()]
    for name in named:
        if name not in places():
            raise Usage("bad_arguments", f"kind: {name[:80]!r} is not one of {', '.join(places())}.", _HELP)
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


def _found(store: Store, thing: Thing) -> SearchResult:
    event = thing.event
    kind, _, key = event.stream.partition("/")
    title, state = (f"{event.type} {event.stream}", None) if thing.kind == OTHERS else _now(store, kind, key)
    about = key if kind == "task" else event.data.get("task")
    return SearchResult(
        kind=thing.kind,
        id=f"#{event.position}" if thing.kind == OTHERS else key,
        stream=event.stream,
        title=title,
        state=state,
        task=about if isinstance(about, str) else None,
        by=name_of(event.by),
        at=event.at,
        position=event.position,
        excerpt=thing.excerpt,
        marks=thing.marks,
        hits=thing.hits,
    )


def _now(store: Store, name: str, key: str) -> tuple[str, str | None]:
    """The entity's current title and state."""
    kind = kind_of(name)
    columns = {} if kind.columns is None else kind.columns(states.state(store, kind, key)[0])
    return str(columns.get("title", "")), columns.get("state")


def _lines(item: SearchResult) -> list[str]:
    often = f", in {item.hits} of its events" if item.hits > 1 else ""
    head = " ".join(part for part in (item.id, item.state, one_line(item.title, 80)) if part)
    said, end = "", 0
    for start, stop in item.marks:
        said += f"{item.excerpt[end:start]}[{item.excerpt[start:stop]}]"
        end = stop
    where = f"#{item.position} " if item.id != f"#{item.position}" else ""
    return [f"{head} ({where}by {item.by} at {local(item.at)}{often})", f"> {one_line(said + item.excerpt[end:], 400)}"]


_HELP = "See `moot search --help`."

VERBS = (
    Verb(
        "search",
        "Search messages, tasks, decisions, artifacts, checkpoints, receipts and all other events.",
        search,
        kind="look",
        params=(
            Param("words", 'All must match. "a phrase", prefix*, -excluded.', positional=True, many=True),
            Param("kind", f"Only these kinds (repeatable, or separated by commas): {', '.join(places())}.", many=True),
            Param("by", "Only events by this agent (or person:NAME).", limit=200),
            Param("task", "Only events about this task."),
            Param("since", "Only events since then: a date, a date with a time, or a time ago (2h)."),
            Param("until", "Only events before then."),
            Param("newest", "Sort by date, newest first. Default: best match first.", type="flag"),
            Param("limit", "Maximum number of results.", type="int", default=20),
        ),
        examples=("moot search parser", "moot search 'lease \"fell silent\" -test' --kind tasks,messages --since 3d"),
        detail=(
            "Case and accents are ignored. The search covers the whole log; each result shows the entity it belongs to "
            "and its current state. For receipts it covers the command, its outcome and its task, not the output; "
            "receipts rank last. Put quotes and -words into one shell argument, or after `--`. The first search after "
            "many events takes a moment, because it updates the search index; writes never wait for that index."
        ),
        writes=False,
    ),
)
