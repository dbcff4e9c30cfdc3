"""Decisions: made once, superseded once, and about what they name."""

from __future__ import annotations

import fnmatch
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders.decision import (
    AFFECTS_LIMIT,
    EVENTS,
    KIND,
    Decision,
    MakeDecision,
    SupersedeDecision,
    decide,
    evolve,
    names,
    standing,
)
from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.kind import Meta

AT = "2030-01-01T00:00:00.000Z"
NOTHING = Decision(id="d-1")
MAKE = MakeDecision(maker="Yeats#1", title="Use jose", rationale="Edge.", affects=("02-*",), paths=("src/**",))
REPLACE = SupersedeDecision(by="d-2", who="Keats#1", reason="better")


def after(*commands):
    state = NOTHING
    for command in commands:
        for payload in decide(state, command):
            state = evolve(state, payload, Meta(at=AT))
    return state


def refused(state, command):
    with pytest.raises(MootError) as caught:
        decide(state, command)
    assert caught.value.remedy
    return caught.value


def test_a_decision_stands_until_another_takes_its_place():
    state = after(MAKE)
    assert (state.status, state.open, state.title, state.at) == ("standing", True, "Use jose", AT)
    state = after(MAKE, REPLACE)
    assert (state.status, state.open, state.superseded_by) == ("superseded", False, "d-2")
    assert KIND.stream("d-1") == "decision/d-1"


def test_who_supersedes_second_hears_what_took_its_place():
    error = refused(after(MAKE, REPLACE), REPLACE.replace(by="d-3"))
    assert isinstance(error, Held)
    assert error.details["by"] == "d-2"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (MAKE.replace(title=" "), "empty_decision"),
        (MAKE.replace(affects=("x",) * (AFFECTS_LIMIT + 1)), "affects_too_much"),
        (MAKE.replace(paths=("x",) * (AFFECTS_LIMIT + 1)), "affects_too_much"),
        (REPLACE, "unknown_decision"),
    ],
)
def test_what_cannot_be_decided_is_refused(command, code):
    assert refused(NOTHING, command).code == code


def test_an_id_is_used_once_and_nothing_takes_its_own_place():
    assert refused(after(MAKE), MAKE).code == "decision_exists"
    assert refused(after(MAKE), REPLACE.replace(by="d-1")).code == "own_successor"


def test_only_what_stands_can_take_the_place_of_another():
    assert standing(after(MAKE)).open
    with pytest.raises(Unknown):
        standing(NOTHING)
    with pytest.raises(Refused) as caught:
        standing(after(MAKE, REPLACE))
    assert caught.value.remedy == "Name d-2."


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("task-1", "task-1", True),
        ("task-1", "Task-1", True),
        ("task-1", "task-11", False),
        ("02-*", "02-07", True),
        ("02-*", "102-07", False),
        ("*", "anything", True),
        ("*-07", "02-07", True),
        ("a*a", "a", False),
        ("a**b", "ab", True),
        ("[a]", "a", False),
        ("?", "a", False),
    ],
)
def test_a_star_stands_for_any_part(pattern, name, fits):
    assert names((pattern,), name) is fits


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_names_fit_as_the_shell_would_have_it(pattern, name):
    assert names((pattern,), name) == (re.match(fnmatch.translate(pattern), name) is not None)


class Decisions(RuleBasedStateMachine):
    """Any sequence of commands, against one word."""

    def __init__(self):
        super().__init__()
        self.state, self.log, self.status = NOTHING, [], ""

    @rule(command=st.sampled_from([MAKE, MAKE.replace(title=""), REPLACE, REPLACE.replace(by="d-1")]))
    def happen(self, command):
        made = isinstance(command, MakeDecision)
        allowed = command == MAKE and not self.status if made else command == REPLACE and self.status == "standing"
        if not allowed:
            refused(self.state, command)
            return
        (payload,) = decide(self.state, command)
        self.log.append((payload.type, json.dumps(payload.plain())))
        self.state = evolve(self.state, payload, Meta(at=AT))
        self.status = "standing" if made else "superseded"

    @invariant()
    def it_is_what_the_model_says(self):
        assert self.state.status == self.status
        assert Decision.of(json.loads(json.dumps(self.state.plain()))) == self.state

    def teardown(self):
        state = NOTHING
        for kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)), Meta(at=AT))
        assert state == self.state


TestDecisions = Decisions.TestCase
TestDecisions.settings = settings(max_examples=settings.default.max_examples // 2, stateful_step_count=6)
