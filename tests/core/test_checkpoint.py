"""Checkpoints: answered once, by a person, with one of the options where there are any."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders.checkpoint import (
    EVENTS,
    KIND,
    OPTION_LIMIT,
    Checkpoint,
    CheckpointReached,
    CheckpointResolved,
    CheckpointWithdrawn,
    ReachCheckpoint,
    ResolveCheckpoint,
    WithdrawCheckpoint,
    decide,
    evolve,
)
from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.kind import Meta
from moot.core.principal import Actor

AT = "2030-01-01T00:00:00.000Z"
NOTHING = Checkpoint(id="k-1")
YEATS, KEATS, ANNA, BERT = Actor("Yeats#1"), Actor("Keats#1"), Actor("person:anna"), Actor("person:bert")
REACH = ReachCheckpoint(who="Yeats#1", kind="decision", question="Which?", options=("blue", "red"), task="task-1")
FREE = REACH.replace(options=())


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


def resolve(answer, actor=ANNA, **more):
    return ResolveCheckpoint(actor=actor, answer=answer, **more)


def test_a_checkpoint_says_what_it_waits_for():
    state = after(REACH)
    assert (state.status, state.open, state.question, state.options) == ("reached", True, "Which?", ("blue", "red"))
    assert KIND.stream("k-1") == "checkpoint/k-1"


def test_only_a_person_answers():
    assert refused(after(REACH), resolve("blue", YEATS)).code == "people_only"
    assert after(REACH, resolve("blue")).resolved_by == "person:anna"


def test_who_comes_second_hears_who_answered_and_what():
    error = refused(after(REACH, resolve("red")), resolve("blue", BERT))
    assert isinstance(error, Held)
    assert error.code == "checkpoint_resolved"
    assert (error.details["by"], error.details["answer"]) == ("person:anna", "red")
    assert "person:anna" in error.message


@pytest.mark.parametrize(
    ("said", "means"), [("blue", "blue"), (" RED ", "red"), ("1", "blue"), ("2", "red"), ("bLuE", "blue")]
)
def test_an_option_is_named_by_its_words_or_its_number(said, means):
    assert after(REACH, resolve(said)).answer == means


@pytest.mark.parametrize("said", ["green", "0", "3", "blue red", "²", "99999", "-1"])
def test_what_is_no_option_is_refused_and_the_options_are_named(said):
    error = refused(after(REACH), resolve(said))
    assert error.code == "not_an_option"
    assert "1 blue; 2 red" in error.remedy


def test_a_number_that_is_an_option_is_that_option():
    state = after(REACH.replace(options=("2", "1")), resolve("1"))
    assert state.answer == "1"


def test_without_options_the_answer_is_free_and_kept_as_it_is():
    assert after(FREE, resolve(" as you like\n")).answer == " as you like\n"


@pytest.mark.parametrize("said", ["", " \n"])
def test_an_empty_answer_is_none(said):
    assert refused(after(FREE), resolve(said)).code == "empty_answer"


def test_whoever_reached_it_may_withdraw_it_and_so_may_a_person():
    for actor in (YEATS, Actor("yeats#2"), ANNA):
        assert after(REACH, WithdrawCheckpoint(actor, "solved")).status == "withdrawn"
    assert refused(after(REACH), WithdrawCheckpoint(KEATS, "solved")).code == "not_yours"
    assert refused(after(REACH), WithdrawCheckpoint(YEATS, " ")).code == "reason_missing"


def test_what_was_withdrawn_is_not_answered_and_what_was_answered_is_not_withdrawn():
    withdrawn = after(REACH, WithdrawCheckpoint(YEATS, "solved"))
    assert refused(withdrawn, resolve("blue")).code == "checkpoint_withdrawn"
    assert refused(after(REACH, resolve("blue")), WithdrawCheckpoint(YEATS, "late")).code == "checkpoint_resolved"


@pytest.mark.parametrize("command", [resolve("blue"), WithdrawCheckpoint(ANNA, "x")])
def test_nothing_waits_under_an_unknown_id(command):
    error = refused(NOTHING, command)
    assert isinstance(error, Unknown)
    assert error.code == "unknown_checkpoint"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (REACH.replace(question=" "), "empty_question"),
        (REACH.replace(options=("a", "A ")), "bad_options"),
        (REACH.replace(options=("a", " ")), "bad_options"),
        (REACH.replace(options=tuple(map(str, range(OPTION_LIMIT + 1)))), "bad_options"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(command, code):
    error = refused(NOTHING, command)
    assert isinstance(error, Refused)
    assert error.code == code


def test_an_id_is_used_once():
    assert refused(after(REACH), REACH).code == "checkpoint_exists"


@given(st.text(), st.lists(st.text(), max_size=5))
def test_any_answer_is_taken_as_one_of_the_options_or_refused(said, options):
    try:
        state = after(REACH.replace(options=tuple(options)), resolve(said))
    except Refused:
        return
    assert state.answer == said or state.answer in state.options


COMMANDS = [
    REACH,
    FREE,
    resolve("blue"),
    resolve("2", BERT, text="please"),
    resolve("green"),
    resolve("red", YEATS),
    WithdrawCheckpoint(YEATS, "solved"),
    WithdrawCheckpoint(KEATS, "solved"),
]


class Checkpoints(RuleBasedStateMachine):
    """Any sequence of commands, against one word and the first answer."""

    def __init__(self):
        super().__init__()
        self.state, self.log, self.status, self.answer = NOTHING, [], "", None

    @rule(command=st.sampled_from(COMMANDS))
    def happen(self, command):
        free, allowed = self.state.options == (), False
        match command:
            case ReachCheckpoint():
                allowed = self.status == ""
            case ResolveCheckpoint():
                allowed = self.status == "reached" and command.actor.person and (free or command.answer != "green")
            case WithdrawCheckpoint():
                allowed = self.status == "reached" and command.actor != KEATS
        if not allowed:
            refused(self.state, command)
            return
        (payload,) = decide(self.state, command)
        self.log.append((payload.type, json.dumps(payload.plain())))
        self.state = evolve(self.state, payload, Meta(at=AT))
        match payload:
            case CheckpointReached():
                self.status = "reached"
            case CheckpointResolved():
                self.status, self.answer = "resolved", payload.answer
            case CheckpointWithdrawn():
                self.status = "withdrawn"

    @invariant()
    def it_is_what_the_model_says(self):
        assert (self.state.status, self.state.answer) == (self.status, self.answer)
        assert self.state.open == (self.status == "reached")
        assert Checkpoint.of(json.loads(json.dumps(self.state.plain()))) == self.state

    def teardown(self):
        state = NOTHING
        for kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)), Meta(at=AT))
        assert state == self.state
        ends = [kind for kind, _ in self.log if kind != "checkpoint:reached"]
        assert len(ends) <= 1


TestCheckpoints = Checkpoints.TestCase
TestCheckpoints.settings = settings(max_examples=settings.default.max_examples // 2, stateful_step_count=8)
