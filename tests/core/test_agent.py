"""Agents: one incarnation at a time, names that are not taken by accident, and never again once retired."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from moot.core.deciders.agent import EVENTS, Agent, Join, Joined, Leave, Left, decide, evolve, unknown
from moot.core.errors import Held, MootError, Refused, Unknown, Usage
from moot.core.kind import Meta
from moot.core.principal import Actor, agent, mailbox_stream, name_of, person, role, same_agent

AT = "2030-01-01T00:00:00.000Z"
NOBODY = Agent(name="Yeats")
HEARD_OF = Join(silent_for=5, ttl=60)


def after(state, *commands):
    for command in commands:
        for payload in decide(state, command):
            state = evolve(state, payload, Meta(at=AT))
    return state


# Joining


def test_the_first_to_join_is_the_first_incarnation():
    (joined,) = decide(NOBODY, Join(roles=("reviewer",), client="codex", worktree="wt"))
    assert joined == Joined(name="Yeats", incarnation=1, roles=("reviewer",), client="codex", worktree="wt")
    here = evolve(NOBODY, joined, Meta(at=AT))
    assert here.principal == "Yeats#1"
    assert (here.here, here.roles, here.since) == (True, ("reviewer",), AT)


def test_joining_anew_makes_the_number_one_larger():
    state = after(NOBODY, Join(), Leave(), Join(roles=("lead",)))
    assert (state.principal, state.roles) == ("Yeats#2", ("lead",))


def test_to_say_again_that_one_is_here_changes_nothing():
    state = after(NOBODY, Join(roles=("lead",)))
    assert decide(state, HEARD_OF.replace(incarnation=1)) == []
    assert decide(state, HEARD_OF.replace(incarnation=1, roles=("lead",), worktree="other")) == []


def test_an_agent_that_joins_again_with_other_roles_or_another_client_has_these_and_is_the_same_incarnation():
    state = evolve(NOBODY, decide(NOBODY, Join(roles=("lead",), client="codex", worktree="wt"))[0], Meta(at=AT))
    (again,) = decide(state, HEARD_OF.replace(incarnation=1, roles=("reviewer", "lead")))
    assert again == Joined(name="Yeats", incarnation=1, roles=("reviewer", "lead"), client="codex", worktree="wt")
    later = evolve(state, again, Meta(at="2030-01-02T00:00:00.000Z"))
    assert later == state.replace(roles=("reviewer", "lead")), "it is here since it came"
    assert evolve(state, decide(state, Join(incarnation=1, client="gemini"))[0], Meta(at=AT)).roles == ("lead",)


def test_an_agent_fills_sixteen_roles_at_most():
    roles = tuple(f"role-{n}" for n in range(17))
    assert after(NOBODY, Join(roles=roles[1:])).roles == roles[1:]
    with pytest.raises(Refused) as caught:
        decide(NOBODY, Join(roles=roles))
    assert caught.value.code == "too_many_roles"


@pytest.mark.promise(7)
def test_a_name_whose_holder_was_heard_of_is_not_taken_by_accident():
    state = after(NOBODY, Join())
    with pytest.raises(Held) as caught:
        decide(state, HEARD_OF)
    assert caught.value.code == "name_in_use"
    assert caught.value.details == {"agent": "Yeats", "incarnation": 1}
    assert "--take-over" in caught.value.remedy


def test_an_old_incarnation_does_not_get_its_name_back_by_itself():
    state = after(NOBODY, Join(), Join(take_over=True))
    with pytest.raises(Held):
        decide(state, HEARD_OF.replace(incarnation=1))


@pytest.mark.parametrize("command", [HEARD_OF.replace(take_over=True), HEARD_OF.replace(silent_for=60.1)])
def test_a_name_is_taken_over_on_purpose_or_after_its_holder_was_silent(command):
    assert decide(after(NOBODY, Join()), command) == [Joined(name="Yeats", incarnation=2, replaces=1)]


def test_whoever_left_before_is_not_replaced():
    assert decide(after(NOBODY, Join(), Leave()), HEARD_OF) == [Joined(name="Yeats", incarnation=2, replaces=None)]


@pytest.mark.parametrize("name", ["", "1st", "-x", "a b", "Ünal", "all", "Moot", "a#1", "a/b", "x" * 65])
def test_a_name_that_could_be_mistaken_is_refused(name):
    with pytest.raises(Usage) as caught:
        decide(Agent(name=name), Join())
    assert caught.value.code == "bad_name"


# Leaving


def test_whoever_leaves_is_not_here_any_more():
    state = after(NOBODY, Join(), Leave(reason="done for today"))
    assert (state.here, state.retired, state.incarnation) == (False, False, 1)
    assert decide(state, Leave()) == []


SILENT, HEARD = {"silent_for": 60.1, "ttl": 60}, {"silent_for": 60.0, "ttl": 60}


@pytest.mark.promise(7)
@pytest.mark.parametrize("silence", [HEARD, {"silent_for": 1e9, "ttl": 0.0}])
def test_another_agent_does_not_send_away_one_that_was_heard_of(silence):
    state = after(NOBODY, Join())
    with pytest.raises(Held) as caught:
        decide(state, Leave(by="Keats#1", **silence))
    assert caught.value.code == "agent_here"
    assert caught.value.details["incarnation"] == 1
    assert "moot send Yeats" in caught.value.remedy
    assert decide(after(state, Leave()), Leave(by="Keats#1", **silence)) == []


@pytest.mark.parametrize("by", ["Keats#1", "person:anna", "yeats#1", None])
def test_anybody_sends_away_one_that_fell_silent_and_a_person_or_the_agent_itself_at_any_time(by):
    state = after(NOBODY, Join())
    left = [Left(incarnation=1)]
    assert decide(state, Leave(by=by, **SILENT)) == left
    assert by == "Keats#1" or decide(state, Leave(by=by, **HEARD)) == left


@pytest.mark.parametrize("before", [(), (Leave(),)])
def test_only_a_person_retires_another_agent(before):
    state = after(NOBODY, Join(), *before)
    with pytest.raises(Refused) as caught:
        decide(state, Leave(retire=True, by="Keats#1", **SILENT))
    assert caught.value.code == "person_required"
    for by in ("person:anna", "Yeats#1"):
        assert decide(state, Leave(retire=True, by=by)) == [Left(incarnation=1, retired=True)]


def test_a_retired_name_is_never_used_again():
    state = after(NOBODY, Join(), Leave(retire=True))
    for command in (Join(take_over=True), Leave(), Leave(retire=True)):
        with pytest.raises(Refused) as caught:
            decide(state, command)
        assert caught.value.code == "agent_retired"


def test_a_name_can_be_retired_after_its_agent_left():
    assert after(NOBODY, Join(), Leave(), Leave(retire=True)).retired


@pytest.mark.parametrize("retire", [False, True])
def test_nobody_can_leave_who_never_came(retire):
    with pytest.raises(Unknown) as caught:
        decide(NOBODY, Leave(retire=retire))
    assert caught.value.code == "unknown_agent"


def test_an_unknown_name_is_told_with_the_closest_one():
    assert unknown("Yaets", "Yeats").remedy.startswith("Did you mean Yeats?")
    assert unknown("Yaets", None).details == {"closest": None}


# What they are called


def test_who_acts_is_one_short_text():
    assert (agent("Yeats", 3), person("anna"), role("developer")) == ("Yeats#3", "person:anna", "role:developer")
    assert [name_of(p) for p in ("Yeats#3", "person:anna", "moot")] == ["Yeats", "person:anna", "moot"]
    assert Actor("person:anna").person
    assert not Actor("Yeats#3", roles=("person",)).person


def test_case_does_not_count_in_names():
    assert same_agent("Yeats#3", "yeats#1")
    assert not same_agent("Yeats#3", "Keats#3")
    assert mailbox_stream("@Lead") == "mailbox/@lead"


# Any sequence of commands, against a model that is four variables


class Agents(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.state, self.log = NOBODY, []
        self.number, self.here, self.retired, self.roles = 0, False, False, ()

    def run(self, command):
        """Decide and fold; the payloads, or the error, which must have changed nothing."""
        before = self.state.plain()
        try:
            decided = decide(self.state, command)
        except MootError as error:
            assert self.state.plain() == before
            return error
        for payload in decided:
            self.log.append((payload.type, json.dumps(payload.plain())))
            self.state = evolve(self.state, payload, Meta(at=AT))
        return decided

    @rule(
        believed=st.none() | st.integers(0, 4),
        silent_for=st.sampled_from([0.0, 60.0, 60.1, 3600.0]),
        take_over=st.booleans(),
        roles=st.sampled_from([(), ("lead",), ("lead", "developer")]),
    )
    def join(self, believed, silent_for, take_over, roles):
        said = self.run(Join(roles=roles, incarnation=believed, silent_for=silent_for, ttl=60, take_over=take_over))
        if self.retired:
            assert said.code == "agent_retired"
        elif self.here and believed == self.number:
            news = roles and set(roles) != set(self.roles)
            assert said == ([Joined(name="Yeats", incarnation=self.number, roles=roles)] if news else [])
            self.roles = roles if news else self.roles
        elif self.here and silent_for <= 60 and not take_over:
            assert said.code == "name_in_use"
            assert said.details["incarnation"] == self.number
        else:
            (joined,) = said
            assert joined.replaces == (self.number if self.here else None)
            self.number, self.here, self.roles = self.number + 1, True, roles

    @rule(retire=st.booleans())
    def leave(self, retire):
        said = self.run(Leave(retire=retire, reason="enough"))
        if self.retired:
            assert said.code == "agent_retired"
        elif self.number == 0:
            assert said.code == "unknown_agent"
        elif not self.here and not retire:
            assert said == []
        else:
            assert said == [Left(incarnation=self.number, retired=retire, reason="enough")]
            self.here, self.retired = False, retire

    @precondition(lambda self: self.retired)
    @rule(take_over=st.booleans(), silent_for=st.floats(0, 1e9))
    def a_retired_name_stays_so(self, take_over, silent_for):
        assert self.run(Join(take_over=take_over, silent_for=silent_for)).code == "agent_retired"

    @invariant()
    def the_state_is_what_the_model_says(self):
        assert (self.state.incarnation, self.state.here) == (self.number, self.here)
        assert (self.state.retired, self.state.roles) == (self.retired, self.roles)
        assert self.state.exists is (self.number > 0)
        assert Agent.of(json.loads(json.dumps(self.state.plain()))) == self.state

    def teardown(self):
        state = NOBODY
        numbers = []
        for kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)), Meta(at=AT))
            numbers += [state.incarnation] if kind == "agent:joined" else []
        assert state == self.state
        assert [*dict.fromkeys(numbers)] == [*range(1, self.number + 1)]
        assert numbers == sorted(numbers)


TestAgents = Agents.TestCase
TestAgents.settings = settings(max_examples=settings.default.max_examples // 2, stateful_step_count=20)
