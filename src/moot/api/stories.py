"""Events in words, and the whole story of a thing."""

from __future__ import annotations

from moot.core.compact import dumps
from moot.core.errors import Unknown
from moot.core.principal import agent_stream, mailbox_stream, name_of
from moot.core.record import Record
from moot.core.text import one_line
from moot.views import load, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from moot.core.event import Event
    from moot.core.task import Task
    from moot.engine.loop import Engine
    from moot.views.store import Store

    Streams = dict[str, set[str] | None]  # the streams to look into, each with the ids to look for (None: any event)

_PAGE = 500
_LONGEST = 5000  # events of one story
_WIDTH = 200

# The reason, where there is one, follows behind a colon, unless it is told here.
_SAID = {
    "agent:joined": "joined as {name}#{incarnation}",
    "agent:left": "left",
    "message:sent": "sent a {kind} to {to}: {text}",
    "message:offered": "was shown {ids}",
    "message:acked": "{who} confirmed {ids}",
    "message:answered": "{who} answered {id} with {reply}",
    "message:expired": "{ids} expired",
    "message:dead": "{ids} will never be read",
    "mailbox:cleared": "{ids} left the file ({reason})",
    "mailbox:restored": "{ids} put back into the file",
    "task:added": "added “{title}”",
    "task:flagged": "flagged",
    "task:blocked": "waits for {on}",
    "task:readied": "waits no more for {done}",
    "task:amended": "a later report: {report}",
    "task:described": "now has {extra}",
    "graph:linked": "{task} needs {needs}",
    "graph:unlinked": "{task} no longer needs {needs}",
    "file:claimed": "claimed {paths} ({mode})",
    "file:released": "released {paths}",
    "file:lapsed": "{holder} lost {paths}",
    "artifact:created": "made known: {summary}",
    "artifact:modified": "changed: {changes}",
    "dependency:declared": "{needer} needs it",
    "dependency:provided": "provided by {artifact}",
    "dependency:satisfied": "{artifact} is there for {required_by}",
    "dependency:dropped": "{needer} needs it no more",
    "decision:made": "decided “{title}”",
    "decision:superseded": "superseded by {by}",
    "checkpoint:reached": "waits for a person ({kind}): {question}",
    "checkpoint:resolved": "answered: {answer} {text}",
    "checkpoint:withdrawn": "withdrawn",
    "receipt:recorded": "ran {argv} in {seconds} s: exit code {code}",
    "entry:held": "held an entry of {path}",
    "entry:resubmitted": "resubmitted as {message}",
    "entry:dropped": "dropped",
    "effect:requested": "{handler} is to handle {on} of {stream}",
    "effect:taken": "{runner} performs it",
    "effect:done": "done: {detail}",
    "effect:failed": "failed, again in {wait} s",
    "effect:parked": "parked",
    "effect:retried": "to be tried again",
    "effect:dropped": "dropped, and not to be done any more",
    "settings:changed": "{key} was {old}, and is {new} from here on",
    "event:redacted": "took the text of #{position} out of sight ({fields})",
    "file:quarantined": "put {path} into quarantine as {sha256}",
}
_EXTRAS = ("provides", "uri", "affects", "options", "awaiting")
_MOVED = "{source} → {target}"


class Tale(Record):
    """The events about a thing, in order; the oldest ones are left out of a very long one."""

    events: tuple[Event, ...]
    left_out: int = 0


class _Fields(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "nothing" if key == "waits" else ""


def sentence(event: Event) -> str:
    """One line that says what happened."""
    template = _MOVED if "verb" in event.data else _SAID.get(event.type)
    if template is None:
        return one_line(dumps(event.data), _WIDTH)
    told = {name: _told(value) for name, value in event.data.items()}
    if isinstance(argv := event.data.get("argv"), list):
        told["argv"] = " ".join(map(str, argv))
    if event.type == "settings:changed":
        told |= {name: dumps(event.data.get(name)) for name in ("old", "new")}  # as moot.toml writes them
    said = template.format_map(_Fields(told))
    facts = _facts(event.data)
    said = said.strip().removesuffix(":") + (f" ({'; '.join(facts)})" if facts else "")
    if event.data.get("reason") and "{reason}" not in template:
        said += f": {event.data['reason']}"
    return one_line(said, _WIDTH)


def _facts(data: Mapping[str, Any]) -> list[str]:
    """What only some events say."""
    found = [f"attempt {data['attempt']}"] if "verb" in data else []
    if "runner" in data:
        found.append(f"attempt {data['attempt']}")
    if data.get("over"):
        found.append(f"in place of {data['over']}, which is dead")
    if data.get("replaces"):
        found.append(f"in place of {'#' if isinstance(data['replaces'], int) else ''}{data['replaces']}")
    found += [f"{name} {_told(data[name])}" for name in _EXTRAS if data.get(name)]
    if data.get("paths") and ("creator" in data or "maker" in data):
        found.append(f"paths {_told(data['paths'])}")
    if data.get("waits") and "done" in data:
        found.append(f"still for {_told(data['waits'])}")
    if data.get("retired"):
        found.append("for good")
    if data.get("forced"):
        found.append(f"by force, {data.get('holder', '')} held it")
    if data.get("silent_for"):
        found.append(f"silent for {data['silent_for']:.0f} s of {data.get('ttl') or 0:.0f} s")
    if data.get("left"):
        found.append(f"keeps {_told(data['left'])}")
    if data.get("report") and "verb" in data:
        found.append(f"report {data['report']}")
    if data.get("unread"):
        found.append("to be read again")
    return found + [str(flag) for flag in data.get("flags", ())]


def _told(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(inner)}" for name, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def line(event: Event) -> str:
    where = one_line(f"{event.type} {event.stream} by {name_of(event.by)} via {event.via or 'unknown'}", _WIDTH)
    return f"#{event.position} {event.at} {where}: {sentence(event)}"


def story(engine: Engine, thing: str, roles: Iterable[str] = ()) -> Tale:
    """Every event about one thing: whatever has an id or a name, and also a mailbox, all claims, or the graph.

    A role of `roles` has a mailbox even before the first message.
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
            f"Nothing here is called {thing[:80]!r}.",
            "Name a task, a message (m-…), an agent, a claim (c-…), a path that was claimed, a held entry (h-…), an "
            "artifact or what it provides, a decision (d-…), a checkpoint (k-…), a receipt (r-…), an effect (e-…), a "
            "free stream (topic/…), a mailbox (@role), `claims`, `graph` or `settings`.",
            thing=thing,
        )
    return Tale(events=tuple(kept[position] for position in sorted(kept)), left_out=left_out)


def _forget_the_oldest(kept: dict[int, Event]) -> int:
    oldest = sorted(kept)[: max(0, len(kept) - _LONGEST)]
    for position in oldest:
        del kept[position]
    return len(oldest)


def _streams(engine: Engine, thing: str) -> Streams:
    store = engine.read()
    task, _ = load.task(store, thing)
    if task.exists:
        found: Streams = {f"task/{thing}": None, "graph": {thing}, "claims": {thing}}
        for said in look.messages_of_task(store, thing):
            _look_for_message(found, said.id, said.to)
        _look_for_work(store, found, task)
        return found
    message, _ = load.message(store, thing)
    if message.exists:
        found = {f"message/{m.id}": None for m in look.thread(store, message.thread) if m.reply_to == thing}
        _look_for_message(found, thing, message.to)
        return found
    agent, _ = load.agent(store, thing)
    if agent.exists:
        return {agent_stream(thing): None, mailbox_stream(thing): None}
    if load.state(store, "entry", thing)[0].status:
        return {f"entry/{thing}": None}
    if thing in ("claims", "graph", "settings") or thing.startswith("topic/"):
        return {thing: None}
    if thing.startswith("e-"):
        return {f"effect/{thing}": None}
    return {**(_late(store, thing) or {mailbox_stream(thing): None}), "claims": {thing}}


def _look_for_work(store: Store, found: Streams, task: Task) -> None:
    """What was made, decided, asked and needed for a task."""
    for kind, name in look.things_of_task(store, task.id):
        _look_for_late(store, found, kind, name)
    for need in task.needs:
        if need.startswith("dependency/"):
            found[need] = {f"task/{task.id}"}


def _late(store: Store, thing: str) -> Streams:
    found: Streams = {}
    for kind in ("artifact", "dependency", "decision", "checkpoint", "receipt"):
        if load.state(store, kind, thing)[0].exists:
            _look_for_late(store, found, kind, thing)
    return found


def _look_for_late(store: Store, found: Streams, kind: str, name: str) -> None:
    """All of an artifact, a dependency, a decision or a checkpoint, with what was said because of it."""
    found[f"{kind}/{name}"] = None
    threads = [name]
    if kind == "artifact":
        for provided in load.state(store, kind, name)[0].names:
            found[f"dependency/{provided}"] = None
            threads.append(f"dependency/{provided}")
    elif kind == "dependency":
        threads = [f"dependency/{name}"]
    for said in (message for thread in threads for message in look.thread(store, thread)):
        _look_for_message(found, said.id, said.to)


def _cause(engine: Engine, thing: str) -> list[Event]:
    """What an effect is there for, which stands in another stream."""
    if not thing.startswith("e-"):
        return []
    effect, _ = load.state(engine.read(), "effect", thing)
    return engine.log.read(effect.event - 1, 1) if effect.status else []


def _look_for_message(found: Streams, name: str, to: Iterable[str]) -> None:
    found[f"message/{name}"] = None
    for box in to:
        wanted = found.setdefault(mailbox_stream(box), set())
        assert wanted is not None, "a mailbox is searched for messages here, never told as a whole"
        wanted.add(name)


def _about(engine: Engine, stream: str, about: set[str] | None) -> Iterator[Event]:
    position = 0
    while events := engine.log.read(position, _PAGE, stream):
        for event in events:
            if about is None or any(_mentions(value, about) for value in event.data.values()):
                yield event
        position = events[-1].position


def _mentions(value: object, about: set[str]) -> bool:
    if isinstance(value, list):
        return any(_mentions(item, about) for item in value)
    return isinstance(value, str) and value in about
