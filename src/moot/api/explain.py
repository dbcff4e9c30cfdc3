"""The history of an entity: the events about it."""

from __future__ import annotations

from moot.core.errors import Unknown
from moot.core.kind import find, kind_of, kinds, payload_of
from moot.core.principal import mailbox_stream, name_of
from moot.core.record import Record
from moot.core.sentences import sentence
from moot.core.task.refusals import unknown
from moot.core.text import fence, one_line
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.core.kind import Kind
    from moot.core.task import Task
    from moot.engine.engine import Engine
    from moot.views.store import Store

Streams = dict[str, "set[str] | None"]  # the streams to search, each with the ids to search for (None: all events)

_ALONE = ("task", "message", "agent", "entry", "effect")  # kinds whose ids are unique among all kinds
_SHARED = ("mailbox", "topic")  # streams shared by several entities
_PAGE = 500
_LONGEST = 5000  # maximum number of events in one history
_WIDTH = 200


class History(Record):
    """The events about an entity, in order. A very long history lacks its oldest events."""

    events: tuple[Event, ...]
    left_out: int = 0


def line(event: Event) -> str:
    where = one_line(f"{event.type} {event.stream} by {name_of(event.by)} via {event.via or 'unknown'}", _WIDTH)
    return f"#{event.position} {local(event.at)} {where}: {sentence(event)}"


def details(event: Event) -> list[str]:
    """The texts of an event in full, fenced: bodies of messages, reasons, output of commands."""
    payload = payload_of(event)
    fields = (*payload.words, *payload.quiet) if payload is not None else tuple(event.data)
    lines: list[str] = []
    for field in fields:
        value = event.data.get(field)
        if value in (None, "", [], {}) or field == "differs":
            continue
        text = value if isinstance(value, str) else _json(value)
        lines += [f"  {field}:", *fence(text).splitlines()]
    return lines


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=1)


def history(engine: Engine, thing: str, roles: Iterable[str] = ()) -> History:
    """Every event about one entity, or about a mailbox, all claims, or the graph.

    `roles` have a mailbox even before the first message.
    """
    streams = _streams(engine, thing)
    kept: dict[int, Event] = {event.position: event for event in _cause(engine, thing)}
    left_out = 0
    for stream, about in streams.items():
        for event in _about(engine, stream, about):
            kept[event.position] = event
            if len(kept) >= 2 * _LONGEST:
                left_out += _forget_the_oldest(kept)
    left_out += _forget_the_oldest(kept)
    if not kept and thing not in ("claims", "graph", "settings", *(f"@{role}" for role in roles)):
        raise Unknown(
            "unknown_thing",
            f"Nothing is named {thing[:80]!r}.",
            "Name a task, a message (m-…), an agent, a claim (c-…), a path that was claimed, a held entry (h-…), an "
            "artifact or what it provides, a decision (d-…), a checkpoint (k-…), a receipt (r-…), an effect (e-…), a "
            "free stream (topic/…), a mailbox (@role), `claims`, `graph` or `settings`.",
            thing=thing,
        )
    return History(events=tuple(kept[position] for position in sorted(kept)), left_out=left_out)


def _forget_the_oldest(kept: dict[int, Event]) -> int:
    oldest = sorted(kept)[: max(0, len(kept) - _LONGEST)]
    for position in oldest:
        del kept[position]
    return len(oldest)


def _streams(engine: Engine, thing: str) -> Streams:
    """The streams of everything with this id. A kind with unique ids comes first and excludes the others."""
    store, found = engine.read(), Streams()
    for kind in kinds():
        if kind.single or kind.name in _SHARED or not states.state(store, kind, thing)[1]:
            continue
        _look_for(store, found, kind, thing)
        if kind.name in _ALONE:
            return found
    if not found and _is_stream(store, thing):
        return {thing: None}
    if "#" in thing:  # one start of an agent that a driver starts
        runs = queries.things(store, "run", ended=True)
        found |= {f"run/{run.id}": {thing} for run in runs if any(one.who == thing for one in run.tries)}
    return {**(found or {mailbox_stream(thing): None}), "claims": {thing}}


def _is_stream(store: Store, thing: str) -> bool:
    """Whether it is the name of a whole stream: `claims`, `topic/build`."""
    name, _, key = thing.partition("/")
    kind = find(name)
    single = kind is not None and kind.single and not key
    return single or name in _SHARED or store.row("entity", thing) is not None


def _look_for(store: Store, found: Streams, kind: Kind, name: str) -> None:
    """An entity, the messages about it, and what belongs to it."""
    found[kind.stream(name)] = None
    state, _ = states.state(store, kind, name)
    threads = [name]
    match kind.name:
        case "task":
            found |= {"graph": {name}, "claims": {name}}
            for said in queries.messages_of_task(store, name):
                _look_for_message(found, said.id, said.to)
            _look_for_work(store, found, state)
            return
        case "message":
            found |= {f"message/{m.id}": None for m in queries.thread(store, state.thread) if m.reply_to == name}
            _look_for_message(found, name, state.to)
            return
        case "agent":
            found[mailbox_stream(name)] = None
            return
        case "artifact":
            streams = [f"dependency/{provided}" for provided in state.names]
            found |= dict.fromkeys(streams)
            threads += streams
        case "dependency":
            threads = [kind.stream(name)]
    for said in (message for thread in threads for message in queries.thread(store, thread)):
        _look_for_message(found, said.id, said.to)


def _look_for_work(store: Store, found: Streams, task: Task) -> None:
    """The artifacts, decisions, checkpoints, held entries and needs of a task."""
    for kind, name in queries.things_of_task(store, task.id):
        _look_for(store, found, kind_of(kind), name)
    held = [entry for entry in queries.held_entries(store, closed=True) if entry.task == task.id]
    found |= {f"entry/{entry.id}": None for entry in held}
    for need in task.needs:
        if need.startswith("dependency/"):
            found[need] = {f"task/{task.id}"}


def _cause(engine: Engine, thing: str) -> list[Event]:
    """The event that caused an effect; it is in another stream."""
    if not thing.startswith("e-"):
        return []
    effect, _ = states.state(engine.read(), "effect", thing)
    return engine.log.read(effect.event - 1, 1) if effect.status else []


def _look_for_message(found: Streams, name: str, to: Iterable[str]) -> None:
    found[f"message/{name}"] = None
    for box in to:
        wanted = found.setdefault(mailbox_stream(box), set())
        assert wanted is not None, "a mailbox is searched for messages here, never shown as a whole"
        wanted.add(name)


def _about(engine: Engine, stream: str, about: set[str] | None) -> Iterator[Event]:
    position = 0
    while events := engine.log.read(position, _PAGE, stream):
        for event in events:
            if about is None or any(mentions(value, about) for value in event.data.values()):
                yield event
        position = events[-1].position


def about_task(call: Call, task: str | None) -> Callable[[Event], bool]:
    """Whether an event is about a task. Without a task, every event is wanted."""
    if task is None:
        return lambda _event: True
    found = TaskEvents(call.engine.read(), task)
    if not found.exists:
        raise unknown(task, queries.task_ids(call.engine.store))
    return found.has


class TaskEvents:
    """Recognizes the events about one task. Also those that come later, if it gets to see all events in order."""

    def __init__(self, store: Store, task: str) -> None:
        self._task = task
        messages = [("message", message.id) for message in queries.messages_of_task(store, task)]
        held = [("entry", entry.id) for entry in queries.held_entries(store, closed=True) if entry.task == task]
        known = [("task", task), *messages, *held, *queries.things_of_task(store, task)]
        self._streams = {f"{kind}/{name}" for kind, name in known}
        self._ids = {name for _, name in known}
        self.exists = len(known) > 1 or states.task(store, task)[0].exists

    def has(self, event: Event) -> bool:
        kind, slash, name = event.stream.partition("/")
        if event.data.get("task") == self._task and slash and kind not in _SHARED and find(kind) is not None:
            self._streams.add(event.stream)
            self._ids.add(name)
        return event.stream in self._streams or any(mentions(value, self._ids) for value in event.data.values())


def mentions(value: object, ids: set[str]) -> bool:
    """Whether a value of an event is one of these ids, or a list with one of them."""
    if isinstance(value, list):
        return any(mentions(item, ids) for item in value)
    return isinstance(value, str) and value in ids
