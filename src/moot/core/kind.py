"""A kind: one value that describes one type of entity, such as tasks or agents.

A kind has a stream for each of its entities (`task/task-007`), or one stream for all of them (`claims`). All code that
loads, folds, lists, searches, redacts, explains or checks an entity uses its kind. A new kind is one module and one
line of `TABLE`. The payload class of an event type defines its text fields and its sentence (`moot.core.payload`).

Kinds are imported on first use, because most commands need only a few.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from moot.core.event import Draft, Event
    from moot.core.payload import Payload

# Each kind by the prefix of its streams, as "module:attribute". Ids are looked up in this order.
TABLE: Mapping[str, str] = {
    "task": "moot.core.deciders.task:KIND",
    "message": "moot.core.deciders.message:KIND",
    "agent": "moot.core.deciders.agent:KIND",
    "entry": "moot.core.deciders.held_entry:KIND",
    "effect": "moot.core.deciders.effect:KIND",
    "artifact": "moot.core.deciders.artifact:KIND",
    "dependency": "moot.core.deciders.dependency:KIND",
    "decision": "moot.core.deciders.decision:KIND",
    "checkpoint": "moot.core.deciders.checkpoint:KIND",
    "receipt": "moot.core.deciders.receipt:KIND",
    "run": "moot.core.deciders.run:KIND",
    "permit": "moot.core.deciders.permit:KIND",
    "series": "moot.core.deciders.series:KIND",
    "document": "moot.core.deciders.document:KIND",
    "feed": "moot.core.deciders.feed:KIND",
    "topic": "moot.core.deciders.custom_event:KIND",
    "mailbox": "moot.core.deciders.mailbox:KIND",
    "claims": "moot.core.deciders.claims:KIND",
    "graph": "moot.core.deciders.graph:KIND",
    "settings": "moot.core.deciders.settings:KIND",
    "pack": "moot.core.deciders.pack:KIND",
    "redactions": "moot.core.integrity.redaction:KIND",
}

# The nouns that are the core's as a whole: those of the kinds of the first releases. A kind that came later protects
# only its own event types, because others may have used its noun before. So this list does not grow.
NOUNS = frozenset((
    "agent", "artifact", "checkpoint", "claims", "decision", "dependency", "effect", "entry", "event", "file", "graph",
    "mailbox", "message", "receipt", "redactions", "settings", "task", "topic",
))  # fmt: skip


class Meta(Record):
    """The metadata of an event. The position is 0 until the event is appended."""

    at: str = ""
    by: str = ""
    position: int = 0
    commit: str = ""
    n: int = 0
    thread: str | None = None


NOWHERE = Meta()


def meta_of(event: Event) -> Meta:
    return Meta.made(
        {
            "at": event.at,
            "by": event.by,
            "position": event.position,
            "commit": event.commit,
            "n": event.n,
            "thread": event.thread,
        }
    )


class Kind(Record):
    """The description of one type of entity.

    name: the prefix of its streams.
    events: its event types, each with its payload class.
    decide: `decide(state, command, facts)` returns events or raises. `facts` are inputs from outside the state.
    evolve: `evolve(state, payload, meta)` returns the next state.
    state: the record that is folded; its first field is the id. None: only the version of a stream is kept.
    columns: the values that lists and search show and filter by: `open`, `task`, `title`, `state` … None: not listed.
    single: all its events are in one stream, named after the kind.
    lowers: ids are not case-sensitive.
    plural: the name of its entities in search and completion. Empty: search finds its events one by one.
    made_by: the commands that write its events, for the error of a caller that tries to emit one.
    nouns: other nouns of its event types, besides the name of the kind: `file` for the claims.
    parts: the parts of the state that a command or a payload is about, if the state is read in parts.
    pack: the pack that an entity belongs to, from its id. Its events carry it, so that a program without this kind
        can still write everything else. None: `Work.do` is told.
    text: the searchable text of an event's data, if it is not simply the text of its `words` and `names`.
    """

    name: str
    events: Mapping[str, type[Payload]]
    decide: Callable[[Any, Any, Any], list[Payload]]
    evolve: Callable[[Any, Any, Meta], Any] = lambda state, _payload, _meta: state
    state: type[Record] | None = None
    columns: Callable[[Any], Mapping[str, Any]] | None = None
    single: bool = False
    lowers: bool = False
    plural: str = ""
    made_by: str = ""
    nouns: tuple[str, ...] = ()
    parts: Callable[[Any], Iterable[str]] | None = None
    pack: Callable[[str], str] | None = None
    text: Callable[[Mapping[str, Any]], str] | None = None

    def key(self, name: str) -> str:
        """The id as used in the name of its stream."""
        return name.lower() if self.lowers else name

    def stream(self, name: str = "") -> str:
        return self.name if self.single else f"{self.name}/{name.lower() if self.lowers else name}"

    def new(self, name: str = "") -> Any:
        """The state before the first event."""
        if self.state is None:
            return None
        return self.state() if self.single else self.state(name)

    def payload(self, event: Event | Draft) -> type[Payload] | None:
        """The class of an event's payload; None if this version of moot does not know the type, or its `v`."""
        known = self.events.get(event.type)
        return None if known is None or event.v > known.v else known


_table = dict(TABLE)
_found: dict[str, Kind] = {}


def find(name: str) -> Kind | None:
    """The kind with this name; None if there is none."""
    known = _found.get(name)
    if known is None and name in _table:
        known = _found[name] = load(_table[name])
    return known


def kind_of(name: str) -> Kind:
    """The kind with this name, which must exist."""
    known = _found.get(name) or find(name)
    if known is None:
        raise TypeError(f"there is no kind {name!r}")
    return known


def payload_of(event: Event | Draft) -> type[Payload] | None:
    """The class of an event's payload; None if this version of moot does not know its kind, its type, or its `v`."""
    known = find(event.stream.partition("/")[0])
    return None if known is None else known.payload(event)


def kinds() -> list[Kind]:
    """All kinds, in the order of the table."""
    return [kind_of(name) for name in _table]


def event_types() -> dict[str, Kind]:
    """All event types, each with its kind."""
    return {name: kind for kind in kinds() for name in kind.events}


def protected() -> dict[str, str]:
    """What nobody can emit, nouns and single types, each with what makes such events."""
    found = {noun: kind.made_by for kind in kinds() for noun in (kind.name, *kind.nouns) if noun in NOUNS}
    for name, kind in event_types().items():
        noun = name.partition(":")[0]
        found.setdefault(noun if noun in NOUNS else name, kind.made_by)
    return {name: maker or "A verb that `moot help` lists" for name, maker in found.items()}


def use(table: Mapping[str, str]) -> None:
    """Replace the table of kinds. Only tests use another one than `TABLE`: see `moot.testing`."""
    _table.clear()
    _table.update(table)
    _found.clear()


def load(place: str) -> Any:
    """Import the object that "module:attribute" names."""
    module, _, attribute = place.partition(":")
    return getattr(__import__(module, fromlist=[attribute]), attribute)
