"""search: full text over everything that was said."""

from __future__ import annotations

from moot.api.answer import Answer, Marked, Table
from moot.api.catalogue import Param, Verb
from moot.core import query as queries
from moot.core.errors import Usage
from moot.core.kind import kind_of
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import one_line
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
    """A thing that says it: what it is called and how it stands now, and the event in which it says so best."""

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
    marks: tuple[tuple[int, int], ...]  # where in the excerpt the words stand, as (start, end)
    hits: int  # in how many of its events they do


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
            "There is no word in it to look for.",
            "Name at least one that is to be there: moot search parser. -word only leaves things out.",
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
        lines.append(f"There is more: --limit {2 * most}, or say more words.")
    rows = tuple(
        (item.id, item.state or "", one_line(item.title, 60), Marked(item.excerpt, item.marks), item.by, item.at)
        for item in found
    )
    table = Table(("found", "state", "title", "what it says", "who", "when"), rows, title="Search")
    return Answer(result=found, say=tuple(lines) or ("Nothing says so.",), table=table if rows else None)


def _kinds(asked: tuple[str, ...]) -> tuple[str, ...]:
    named = [name for place in asked for name in place.replace(",", " ").split()]
    for name in named:
        if name not in places():
            raise Usage("bad_arguments", f"kind: {name[:80]!r} is none of {', '.join(places())}.", _HELP)
    return tuple(named)


def _time(call: Call, name: str, text: str | None) -> float | None:
    if text is None:
        return None
    found = moment(text, call.clock.wall_seconds())
    if found is None:
        raise Usage(
            "bad_arguments",
            f"{name}: {text[:80]!r} is no time.",
            "Write a date (2031-05-08), a date with a time (2031-05-08T09:30Z), or how long ago (2h, 3d).",
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
    """What the thing is called now, and its state."""
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
    return [f"{head} ({where}by {item.by} at {item.at}{often})", f"> {one_line(said + item.excerpt[end:], 400)}"]


_HELP = "`moot search --help` shows how it is called."

VERBS = (
    Verb(
        "search",
        "Find what was said: in messages, tasks, decisions, artifacts, checkpoints, receipts and all other events.",
        search,
        kind="look",
        params=(
            Param("words", 'All of them must be there. "a phrase", begin*, -without.', positional=True, many=True),
            Param("kind", f"Only these (repeat, or commas): {', '.join(places())}.", many=True),
            Param("by", "Only what this agent (or person:NAME) did.", limit=200),
            Param("task", "Only what is about this task."),
            Param("since", "From then on: a date, a date with a time, or how long ago (2h)."),
            Param("until", "Before then."),
            Param("newest", "Newest first; without it, what fits best.", type="flag"),
            Param("limit", "At most so many.", type="int", default=20),
        ),
        examples=("moot search parser", "moot search 'lease \"fell silent\" -test' --kind tasks,messages --since 3d"),
        detail=(
            "Case and accents do not count. Everything that was ever said is found, and shown with what it belongs to "
            "and how that stands now. Of receipts it is the command, its outcome and its task, behind what was said; "
            "output is not searched. Quotes and -words go into one argument of the shell, or behind `--`. The first "
            "search after many events takes a moment: searching keeps its own index, sending never waits for it."
        ),
        writes=False,
    ),
)
