"""Artifacts: made once, modified often, and what they provide only grows."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders.artifact import (
    EVENTS,
    KIND,
    NAME_LIMIT,
    PLACE_LIMIT,
    Artifact,
    CreateArtifact,
    ModifyArtifact,
    decide,
    evolve,
)
from moot.core.errors import MootError, Unknown
from moot.core.kind import Meta

AT = "2030-01-01T00:00:00.000Z"
NOTHING = Artifact(id="src/user.ts")
MAKE = CreateArtifact(creator="Yeats#1", paths=("src/user.ts", "src/user.ts"), provides=("User", "Role", "User"))
CHANGE = ModifyArtifact(modifier="Keats#1", changes=("added role",))


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


def test_an_artifact_is_needed_by_its_id_its_places_and_what_it_provides():
    state = after(MAKE.replace(uri="https://example.org/user"))
    assert state.names == ("src/user.ts", "https://example.org/user", "User", "Role")
    assert (state.creator, state.at, state.changes) == ("Yeats#1", AT, 0)
    assert KIND.stream("src/user.ts") == "artifact/src/user.ts"


def test_it_is_made_once():
    error = refused(after(MAKE), MAKE)
    assert error.code == "artifact_exists"
    assert "artifact modify" in error.remedy


def test_it_is_somewhere():
    assert refused(NOTHING, MAKE.replace(paths=())).code == "artifact_nowhere"
    assert after(MAKE.replace(paths=(), uri="https://example.org")).exists


def test_a_modification_adds_what_is_new_and_keeps_who_made_it():
    state = after(MAKE, CHANGE.replace(provides=("User", "Group"), paths=("src/group.ts", "src/user.ts")))
    assert state.provides == ("User", "Role", "Group")
    assert state.paths == ("src/user.ts", "src/group.ts")
    assert (state.creator, state.changed_by, state.changes) == ("Yeats#1", "Keats#1", 1)


@pytest.mark.parametrize("names", [(), ("User",)])
def test_a_modification_says_something_new(names):
    assert refused(after(MAKE), CHANGE.replace(changes=(), provides=names)).code == "nothing_changed"


def test_what_was_never_made_is_not_modified():
    error = refused(NOTHING, CHANGE)
    assert isinstance(error, Unknown)
    assert error.code == "unknown_artifact"


@pytest.mark.parametrize(
    "command",
    [
        MAKE.replace(paths=tuple(map(str, range(PLACE_LIMIT + 1)))),
        MAKE.replace(provides=tuple(map(str, range(NAME_LIMIT + 1)))),
    ],
)
def test_its_size_is_bounded(command):
    assert refused(NOTHING, command).code == "artifact_too_large"


NAMES = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)


class Artifacts(RuleBasedStateMachine):
    """Any sequence of changes, against the set of what it provides."""

    def __init__(self):
        super().__init__()
        self.state, self.log, self.provides, self.made = NOTHING, [], set(), False

    @rule(names=NAMES)
    def make(self, names):
        command = MAKE.replace(provides=names)
        if self.made:
            refused(self.state, command)
        else:
            self.does(command)
            self.made, self.provides = True, set(names)

    @rule(names=NAMES, changes=st.sampled_from([(), ("more",)]))
    def modify(self, names, changes):
        command = CHANGE.replace(provides=names, changes=changes)
        if not self.made or not (changes or set(names) - self.provides):
            refused(self.state, command)
        else:
            self.does(command)
            self.provides |= set(names)

    def does(self, command):
        (payload,) = decide(self.state, command)
        self.log.append((payload.type, json.dumps(payload.plain())))
        self.state = evolve(self.state, payload, Meta(at=AT))

    @invariant()
    def it_is_what_the_model_says(self):
        assert self.state.exists == self.made
        assert set(self.state.provides) == self.provides
        assert len(self.state.provides) == len(self.provides)
        assert Artifact.of(json.loads(json.dumps(self.state.plain()))) == self.state

    def teardown(self):
        state = NOTHING
        for kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)), Meta(at=AT))
        assert state == self.state


TestArtifacts = Artifacts.TestCase
TestArtifacts.settings = settings(max_examples=settings.default.max_examples // 2, stateful_step_count=10)
