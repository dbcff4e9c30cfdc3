"""log, explain: read the log."""

from __future__ import annotations

from moot.api.answer import Answer, Notice
from moot.api.catalogue import Param, Verb
from moot.api.explain import about_task, details, history, line
from moot.api.verbs.events import STREAMS, TYPES, check_types, matches
from moot.core.text import counted, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moot.api.call import Call
    from moot.core.event import Event


def log(
    call: Call,
    follow: bool,
    after: int | None,
    limit: int,
    type: tuple[str, ...],  # noqa: A002
    stream: tuple[str, ...],
    task: str | None,
) -> Answer:
    check_types(type)
    head = call.engine.log.head()
    about = about_task(call, task)

    def wanted(event: Event) -> bool:
        return about(event) and matches(event, type, stream)

    events = _read_back(call, wanted, limit) if after is None else _read_on(call, after, wanted, limit)
    if not follow:
        _warn_of_more(call, events, after, limit, head, filtered=bool(type or stream or task))
    more = _following(call, events[-1].position if events and after is not None else head, type, stream, task)
    return Answer(result=events, say=tuple(map(line, events)), more=more if follow else None)


def _warn_of_more(call: Call, events: list[Event], after: int | None, limit: int, head: int, *, filtered: bool) -> None:
    """Warn of the events that the limit left out. Those that match a filter are not counted: that would read them."""
    if not events or len(events) < limit:
        return
    first, last = events[0].position, events[-1].position
    if after is None and first > 1:
        missing = f"Events before #{first} were not searched" if filtered else counted(first - 1, "earlier event")
        call.warn("more", f"{missing}: use a higher --limit, or --after 0.")
    if after is not None and last < head:
        missing = f"Events after #{last} were not searched" if filtered else counted(head - last, "later event")
        call.warn("more", f"{missing}: continue with --after {last}.")


def _read_on(call: Call, after: int, wanted: Callable[[Event], bool], limit: int) -> list[Event]:
    found: list[Event] = []
    while len(found) < limit and (page := call.engine.log.read(after, 500)):
        found += filter(wanted, page)
        after = page[-1].position
    return found[:limit]


def _read_back(call: Call, wanted: Callable[[Event], bool], limit: int) -> list[Event]:
    """The last `limit` events that match."""
    found: list[Event] = []
    end, size = call.engine.log.head(), max(limit, 100)
    while end > 0 and len(found) < limit:
        page = call.engine.log.read(max(0, end - size), min(size, end))
        found = [*filter(wanted, page), *found]
        end -= size
    return found[-limit:] if limit > 0 else []


def _following(
    call: Call, after: int, types: tuple[str, ...], streams: tuple[str, ...], task: str | None
) -> Iterator[Answer]:
    """Follow the log until interrupted. A failure is reported once, and the read is retried."""
    from moot.api.following import follow

    trouble = None
    for heard in follow(call, after, types, streams, task=task):
        for event in heard.events:
            yield Answer(result=event, say=(line(event),))
        if heard.trouble is not None and heard.trouble != trouble:
            yield Answer(result=None, warnings=heard.warnings)
        trouble = heard.trouble if not heard.events else trouble


def explain(call: Call, thing: str, full: bool) -> Answer:
    found = history(call.engine, thing, call.packs.shared_roles)
    missing = counted(found.left_out, "event")
    said = f"The story of {one_line(thing, 80)} is long; without its first {missing}. See `moot log`."
    return Answer(
        result=list(found.events),
        say=tuple(_told(found.events, full=full)) or ("No events yet.",),
        warnings=(Notice("story_cut", said),) if found.left_out else (),
    )


def _told(events: Iterable[Event], *, full: bool) -> Iterator[str]:
    for event in events:
        yield line(event)
        if full:
            yield from details(event)


VERBS = (
    Verb(
        "log",
        "Show the log, event by event.",
        log,
        kind="look",
        params=(
            Param("follow", "Keep running and print new events as they arrive.", type="flag"),
            Param("after", "Show events after this position. Default: the last ones.", type="int"),
            Param("limit", "Maximum number of events.", type="int", default=50),
            TYPES,
            STREAMS,
            Param("task", "Only events about this task: its own, those of its messages, checks and files."),
        ),
        examples=("moot log --type 'task:*' --limit 20", "moot log --follow", "moot log --task task-001 --follow"),
        writes=False,
    ),
    Verb(
        "explain",
        "Show the full history of a task, message, agent, claim, artifact, decision, checkpoint, effect or held entry.",
        explain,
        kind="look",
        params=(
            Param("thing", "Its id or name.", positional=True, required=True),
            Param("full", "Print whole texts: bodies of messages, reasons, output of checks.", type="flag"),
        ),
        examples=("moot explain task-001", "moot explain task-001 --full"),
        detail="A task's history has its moves, messages, checks, verdicts and cleared mailboxes, over all attempts. "
        "With --json, every event has its whole data.",
        writes=False,
    ),
)
