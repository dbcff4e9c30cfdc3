"""Random histories of a log, compared step by step with the plainest log one can write: a list.

A test module of an engine subclasses `LogMachine` and says how to make an engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from moot.core.event import Commit, Draft, Event, Key
from moot.log import Appended, Conflict, Duplicate, Mismatch
from tests.logs.roles import AT

if TYPE_CHECKING:
    from tests.logs.engines import Engine

STREAMS = st.sampled_from(["a", "b", "task/1", "mailbox/Ä"])
IDS = st.integers(0, 12).map("commit-{}".format)
KEYS = st.none() | st.builds(
    Key, scope=st.sampled_from(["x", "y"]), name=st.sampled_from("klm"), digest=st.sampled_from(["d1", "d2"])
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
DRAFTS = st.builds(
    Draft,
    stream=STREAMS,
    type=st.sampled_from(["thing:done", "thing:undone"]),
    data=st.dictionaries(st.text(max_size=4), JSON, max_size=3),
    v=st.integers(1, 3),
    cause=st.none() | st.just("c.0"),
)


class Model:
    """The contract, in memory."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.commits: dict[str, tuple[int, int]] = {}
        self.requests: dict[tuple[str, str], tuple[str, int, int]] = {}

    def version(self, stream: str) -> int:
        return max((event.position for event in self.events if event.stream == stream), default=0)

    def append(
        self, commit: Commit, conditions: dict[str, int], drafts: list[Draft], key: Key | None
    ) -> Appended | Duplicate | Conflict | Mismatch:
        if commit.id in self.commits:
            return Duplicate(*self.commits[commit.id])
        if key and (key.scope, key.name) in self.requests:
            digest, first, last = self.requests[key.scope, key.name]
            return Duplicate(first, last) if digest == key.digest else Mismatch(key.name, first)
        if not drafts:
            return Appended(0, 0)
        for stream, version in conditions.items():
            if self.version(stream) != version:
                return Conflict(stream, self.version(stream))
        first = len(self.events) + 1
        for n, d in enumerate(drafts):
            place = (len(self.events) + 1, d.type, d.v, d.stream, self.version(d.stream))
            self.events.append(Event(*place, commit.at, commit.by, d.data, d.cause, d.thread, d.pack, commit.id, n))
        self.commits[commit.id] = first, len(self.events)
        if key:
            self.requests[key.scope, key.name] = key.digest, first, len(self.events)
        return Appended(first, len(self.events))


def without_digests(events: list[Event]) -> list[Event]:
    """The model has none: of which text they are is the engine's own business."""
    assert all(event.digest for event in events)
    return [event.replace(digest=None) for event in events]


class LogMachine(RuleBasedStateMachine):
    """Two handles on one log, and the model."""

    def new_engine(self) -> Engine:
        raise NotImplementedError

    @initialize()
    def create(self) -> None:
        self.engine = self.new_engine()
        self.engine.create()
        self.model = Model()
        self.handles = [self.engine.open(), self.engine.open()]

    @rule(
        which=st.integers(0, 1),
        name=IDS,
        relied_on=st.dictionaries(STREAMS, st.sampled_from([0, 0, 0, 1, -1]), max_size=3),
        drafts=st.lists(DRAFTS, max_size=4),
        key=KEYS,
        inside=st.booleans(),
    )
    def append(self, which, name, relied_on, drafts, key, inside):
        """Conditions that hold, or are one off."""
        conditions = {stream: self.model.version(stream) + off for stream, off in relied_on.items()}
        commit = Commit(name, AT, "Yeats")
        log = self.handles[which]
        if inside:
            with log.exclusive():
                answer = log.append(commit, conditions, drafts, key)
        else:
            answer = log.append(commit, conditions, drafts, key)
        assert answer == self.model.append(commit, conditions, drafts, key)

    @rule(which=st.integers(0, 1), after=st.integers(0, 30), limit=st.integers(0, 10), stream=st.none() | STREAMS)
    def read(self, which, after, limit, stream):
        expected = [e for e in self.model.events if e.position > after and stream in (None, e.stream)]
        assert without_digests(self.handles[which].read(after, limit, stream)) == expected[:limit]

    @rule(which=st.integers(0, 1), after=st.integers(0, 30))
    def follow(self, which, after):
        got = [event for events in self.handles[which].follow(after, timeout=0) for event in events]
        assert without_digests(got) == self.model.events[after:]

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        self.handles[which].close()
        self.handles[which] = self.engine.open()

    @invariant()
    def same_head(self):
        for log in getattr(self, "handles", []):
            assert log.head() == len(self.model.events)

    def teardown(self) -> None:
        for log in getattr(self, "handles", []):
            log.close()
