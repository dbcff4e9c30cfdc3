"""Events in words, and the whole story of a thing."""

from __future__ import annotations

from moot.core.errors import Unknown
from moot.core.principal import agent_stream, mailbox_stream, name_of
from moot.core.text import one_line
from moot.views import load, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moot.core.event import Event
    from moot.engine.loop import Engine

_PAGE = 500
_LONGEST = 5000  # events of one story

_SAID = {
    "agent:joined": "joined as {name}#{incarnation}",
    "agent:left": "left",
    "message:sent": "sent a {kind} to {to}: {text}",
    "message:offered": "was shown {ids}",
    "message:acked": "{who} confirmed {ids}",
    "message:answered": "{who} answered {id} with {reply}",
    "message:expired": "{ids} expired unread",
    "message:dead": "{ids} will never be read: {reason}",
    "mailbox:cleared": "{ids} left the file ({reason})",
    "mailbox:restored": "{ids} are back in the file",
    "task:added": "added “{title}”",
    "task:flagged": "flagged: {reason}",
    "task:blocked": "waits for {on}",
    "task:readied": "{done} is done; still waits for {waits}",
    "task:amended": "a later report: {report}",
    "task:described": "now has {extra}",
    "graph:linked": "{task} needs {needs}",
    "file:claimed": "claimed {paths} ({mode}) {reason}",
    "file:released": "released {paths}",
    "file:lapsed": "{holder} lost {paths}: {reason}",
    "entry:held": "held an entry of {path}: {reason}",
    "entry:resubmitted": "resubmitted as {message}",
    "entry:dropped": "dropped: {reason}",
    "file:quarantined": "put {path} into quarantine as {sha256}: {reason}",
}


class _Fields(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "nothing" if key == "waits" else ""


def sentence(event: Event) -> str:
    """One line that says what happened."""
    data = _Fields({name: _told(value) for name, value in event.data.items()})
    if "verb" in data:
        said = f"{data['source']} → {data['target']} (attempt {data['attempt']})"
        said += f": {data['reason']}" if data["reason"] else ""
    else:
        said = _SAID.get(event.type, "{}").format_map(data) if event.type in _SAID else str(event.data)
    return one_line(said.strip().removesuffix(":"), 200)


def _told(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(inner)}" for name, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def line(event: Event) -> str:
    return f"#{event.position} {event.at} {event.type} {event.stream} by {name_of(event.by)}: {sentence(event)}"


def story(engine: Engine, thing: str) -> list[Event]:
    """Every event about a task, message, agent, claimed path or held entry, in order."""
    streams = _streams(engine, thing)
    if streams is None:
        raise Unknown(
            "unknown_thing",
            f"Nothing here is called {thing!r}.",
            "Name a task, a message (m-…), an agent, a claim (c-…), a held entry (h-…), a mailbox (@role) or `claims`.",
            thing=thing,
        )
    found = {event.position: event for stream, about in streams for event in _about(engine, stream, about)}
    return [found[position] for position in sorted(found)]


def _streams(engine: Engine, thing: str) -> list[tuple[str, frozenset[str] | None]] | None:
    """The streams to look into, each with the ids that an event must mention (None: any event)."""
    store = engine.read()
    task, _ = load.task(store, thing)
    if task.exists:
        messages = look.messages_of_task(store, thing)
        found = [s for m in messages for s in _of_message(m.id, m.to)]
        return [(f"task/{thing}", None), ("graph", frozenset((thing,))), ("claims", frozenset((thing,))), *found]
    message, _ = load.message(store, thing)
    if message.exists:
        replies = [m for m in look.thread(store, message.thread) if m.reply_to == thing]
        return [*_of_message(thing, message.to), *((f"message/{m.id}", None) for m in replies)]
    agent, _ = load.agent(store, agent_stream(thing), thing)
    if agent.exists:
        return [(agent_stream(thing), None), (mailbox_stream(thing), None)]
    if load.entry(store, thing)[0].status:
        return [(f"entry/{thing}", None)]
    if thing.startswith("@"):
        return [(mailbox_stream(thing), None)]
    if thing == "claims":
        return [("claims", None)]
    if thing.startswith("c-") or any(thing in e.data.get("paths", ()) for e in _read(engine, "claims")):
        return [("claims", frozenset((thing,)))]
    return None


def _of_message(name: str, to: Iterable[str]) -> list[tuple[str, frozenset[str] | None]]:
    return [(f"message/{name}", None), *((mailbox_stream(box), frozenset((name,))) for box in to)]


def _about(engine: Engine, stream: str, about: frozenset[str] | None) -> Iterator[Event]:
    for event in _read(engine, stream):
        if about is None or any(_mentions(value, about) for value in event.data.values()):
            yield event


def _mentions(value: object, about: frozenset[str]) -> bool:
    return (isinstance(value, str) and value in about) or (isinstance(value, list) and any(v in about for v in value))


def _read(engine: Engine, stream: str) -> Iterator[Event]:
    position, count = 0, 0
    while count < _LONGEST and (events := engine.log.read(position, _PAGE, stream)):
        yield from events
        position, count = events[-1].position, count + len(events)
