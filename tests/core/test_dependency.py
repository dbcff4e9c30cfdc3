"""Dependencies: whoever needs a name is satisfied once, whichever of need and artifact came second."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders import dependency
from moot.core.deciders.dependency import (
    EVENTS,
    DeclareNeed,
    Dependency,
    DependencyDeclared,
    DependencyDropped,
    DependencyProvided,
    DependencySatisfied,
    DropNeed,
    Provide,
    decide,
    evolve,
    stream,
)
from moot.core.errors import MootError, Refused, Unknown
from moot.core.kind import Meta

AT = "2030-01-01T00:00:00.000Z"
NOTHING = Dependency(id="User")


def run(*commands):
    """The state after these commands, and all that they said."""
    state, said = NOTHING, []
    for command in commands:
        for payload in decide(state, command):
            state = evolve(state, payload, Meta(at=AT))
            said.append(payload)
    return state, said


def satisfied(said):
    return [(needer, p.artifact) for p in said if isinstance(p, DependencySatisfied) for needer in p.required_by]


NEED, OTHER = DeclareNeed(needer="Yeats", who="Yeats"), DeclareNeed(needer="task/task-1", who="Keats")
MADE, ALSO = Provide(artifact="src/user.ts"), Provide(artifact="src/more.ts")


@pytest.mark.parametrize("commands", [(NEED, MADE), (MADE, NEED)], ids=["need first", "artifact first"])
def test_in_either_order_the_second_satisfies(commands):
    state, said = run(*commands)
    assert satisfied(said) == [("Yeats", "src/user.ts")]
    assert isinstance(said[-1], DependencySatisfied)
    assert (dict(state.waiting), dict(state.satisfied)) == ({}, {"Yeats": "Yeats"})
    assert stream("User") == "dependency/User"


def test_one_event_names_all_who_waited():
    _, said = run(NEED, OTHER, MADE)
    assert satisfied(said) == [("Yeats", "src/user.ts"), ("task/task-1", "src/user.ts")]
    assert [type(p) for p in said].count(DependencySatisfied) == 1


def test_with_nobody_waiting_nobody_is_told():
    _, said = run(MADE)
    assert [type(p) for p in said] == [DependencyProvided]


def test_a_pair_is_satisfied_once_whatever_is_repeated():
    _, said = run(NEED, NEED, MADE, MADE, NEED, ALSO, NEED)
    assert satisfied(said) == [("Yeats", "src/user.ts")]


def test_a_need_that_is_dropped_is_not_satisfied_and_may_be_declared_again():
    _, said = run(NEED, DropNeed("Yeats"), MADE, NEED)
    assert satisfied(said) == [("Yeats", "src/user.ts")]
    assert [type(p) for p in said][:3] == [DependencyDeclared, DependencyDropped, DependencyProvided]


@pytest.mark.parametrize("before", [(), (MADE,), (MADE, NEED)])
def test_what_nobody_waits_for_cannot_be_dropped(before):
    state, _ = run(*before)
    with pytest.raises(Unknown) as caught:
        decide(state, DropNeed("Yeats"))
    assert caught.value.code == "unknown_need"


def test_those_who_wait_are_bounded(monkeypatch):
    monkeypatch.setattr(dependency, "NEEDER_LIMIT", 1)
    state, _ = run(NEED)
    with pytest.raises(Refused) as caught:
        decide(state, OTHER)
    assert caught.value.code == "too_many_needers"


NEEDERS, ARTIFACTS = ("Yeats", "task/task-1", "person:anna"), ("a", "b")


class Dependencies(RuleBasedStateMachine):
    """Any sequence of needs and artifacts, against two sets."""

    def __init__(self):
        super().__init__()
        self.state, self.log, self.told = NOTHING, [], []
        self.waiting, self.made = set(), set()

    def does(self, command):
        for payload in decide(self.state, command):
            self.log.append((payload.type, json.dumps(payload.plain())))
            self.state = evolve(self.state, payload, Meta(at=AT))
            self.told += satisfied([payload])

    @rule(needer=st.sampled_from(NEEDERS))
    def need(self, needer):
        self.does(DeclareNeed(needer=needer, who="Keats"))
        if not self.made and needer not in dict(self.told):
            self.waiting.add(needer)

    @rule(artifact=st.sampled_from(ARTIFACTS))
    def make(self, artifact):
        self.does(Provide(artifact=artifact))
        self.made.add(artifact)
        self.waiting.clear()

    @rule(needer=st.sampled_from(NEEDERS))
    def drop(self, needer):
        if needer in self.waiting:
            self.does(DropNeed(needer))
            self.waiting.discard(needer)
        else:
            with pytest.raises(MootError):
                decide(self.state, DropNeed(needer))

    @invariant()
    def it_is_what_the_model_says(self):
        assert set(self.state.waiting) == set(self.state.since) == self.waiting
        assert set(self.state.artifacts) == self.made
        assert not (self.state.waiting and self.state.artifacts), "nobody waits for what is there"
        assert len(dict(self.told)) == len(self.told), "nobody is told twice"
        assert set(self.state.satisfied) == set(dict(self.told))
        assert Dependency.of(json.loads(json.dumps(self.state.plain()))) == self.state

    def teardown(self):
        state = NOTHING
        for kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)), Meta(at=AT))
        assert state == self.state


TestDependencies = Dependencies.TestCase
