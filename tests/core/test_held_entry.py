"""Held entries: kept with their bytes, delivered at most once, closed at most once."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders.held_entry import (
    EVENTS,
    KIND,
    Drop,
    EntryDropped,
    EntryHeld,
    FileQuarantined,
    HeldEntry,
    HoldEntry,
    QuarantineFile,
    decide,
    evolve,
)
from moot.core.errors import MootError, Refused, Unknown
from moot.core.kind import Meta

AT = "2030-01-01T00:00:00.000Z"
NOTHING = HeldEntry(id="h-1")
HOLD = HoldEntry(
    path="to-developer.json",
    mirror="to-developer",
    raw='{"type": "task_assignment"}',
    code="bad_message",
    reason="taskId is missing",
    defects=({"path": "taskId", "expected": "text", "found": "nothing"},),
    task="task-1",
)
QUARANTINE = QuarantineFile(path="to-developer.json", mirror="to-developer", sha256="ab" * 32, size=7, reason="torn")
DROP = Drop(reason="written again")


def after(*commands):
    state = NOTHING
    for command in commands:
        for payload in decide(state, command):
            state = evolve(state, payload, Meta(at=AT))
    return state


def refused(state, command):
    with pytest.raises(MootError) as caught:
        decide(state, command)
    return caught.value


def test_an_entry_is_held_with_its_bytes_and_all_that_is_wrong_with_it():
    entry = after(HOLD)
    assert (entry.status, entry.kind, entry.at) == ("held", "entry", AT)
    assert {name: getattr(entry, name) for name in HOLD.__dict__} == HOLD.__dict__
    assert KIND.stream("h-1") == "entry/h-1"


def test_a_file_that_cannot_be_read_is_named_by_the_digest_of_its_bytes():
    entry = after(QUARANTINE)
    assert (entry.status, entry.kind, entry.code, entry.reason) == ("held", "file", "unparsable", "torn")
    assert (entry.sha256, entry.raw) == ("ab" * 32, None)


def test_a_dropped_entry_is_not_delivered_and_keeps_its_bytes():
    entry = after(HOLD, DROP)
    assert (entry.status, entry.raw) == ("dropped", HOLD.raw)
    assert refused(entry, DROP).code == "entry_closed"


@pytest.mark.parametrize("first", [(HOLD,), (HOLD, DROP), (QUARANTINE,)])
@pytest.mark.parametrize("command", [HOLD, QUARANTINE])
def test_an_id_is_used_once(first, command):
    assert refused(after(*first), command).code == "entry_exists"


@pytest.mark.parametrize("reason", ["", " \n"])
def test_to_drop_takes_a_reason(reason):
    error = refused(after(HOLD), Drop(reason))
    assert isinstance(error, Refused)
    assert error.code == "reason_missing"


def test_nothing_is_held_under_an_unknown_id():
    error = refused(NOTHING, DROP)
    assert isinstance(error, Unknown)
    assert error.code == "unknown_entry"


class Entries(RuleBasedStateMachine):
    """Any sequence of commands, against two words: what it is, and what became of it."""

    def __init__(self):
        super().__init__()
        self.state, self.log, self.kind, self.status = NOTHING, [], None, ""

    @rule(command=st.sampled_from([HOLD, QUARANTINE, DROP, Drop(" ")]))
    def happen(self, command):
        new = isinstance(command, (HoldEntry, QuarantineFile))
        allowed = self.status == "" if new else self.status == "held" and command != Drop(" ")
        before = self.state
        if not allowed:
            assert refused(self.state, command).remedy
            assert self.state == before
            return
        (payload,) = decide(self.state, command)
        self.log.append((payload.type, json.dumps(payload.plain())))
        self.state = evolve(self.state, payload, Meta(at=AT))
        match payload:
            case EntryHeld():
                self.kind, self.status = "entry", "held"
            case FileQuarantined():
                self.kind, self.status = "file", "held"
            case EntryDropped():
                self.status = "dropped"

    @invariant()
    def the_entry_is_what_the_model_says(self):
        assert self.state.status == self.status
        assert self.kind is None or self.state.kind == self.kind
        assert HeldEntry.of(json.loads(json.dumps(self.state.plain()))) == self.state

    def teardown(self):
        state = NOTHING
        for kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)), Meta(at=AT))
        assert state == self.state


TestEntries = Entries.TestCase
TestEntries.settings = settings(max_examples=settings.default.max_examples // 2, stateful_step_count=8)
