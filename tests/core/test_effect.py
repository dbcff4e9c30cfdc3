"""Effects: one runner at a time, done once, tried again with growing pauses, parked at last, under one key."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders.effect import (
    DEEPEST,
    EVENTS,
    KIND,
    DropEffect,
    Effect,
    FailEffect,
    FinishEffect,
    RequestEffect,
    RetryEffect,
    TakeEffect,
    back_off,
    decide,
    evolve,
)
from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.kind import Meta
from moot.engine.clock import iso

T0 = 1_900_000_000.0
NOTHING = Effect(id="e-1")
REQUEST = RequestEffect(handler="deploy", n=2, on="build:finished", stream="topic/build")
LIMIT = 3


def take(runner="one#1", now=T0, over=None):
    return TakeEffect(runner=runner, now=now, ttl=60.0, limit=LIMIT, over=over)


def fail(runner="one#1", attempt=1, jitter=0.0, **more):
    fields = {"reason": "exit code 1", "limit": LIMIT, "backoff": 5.0, **more}
    return FailEffect(runner=runner, attempt=attempt, jitter=jitter, **fields)


def finish(runner="one#1", attempt=1):
    return FinishEffect(runner=runner, attempt=attempt, detail="all good")


def grown(state, payload, at=T0):
    return evolve(state, payload, Meta(position=12, n=4, commit="c", at=iso(at)))


def after(*commands, at=T0):
    state = NOTHING
    for command in commands:
        for payload in decide(state, command):
            state = grown(state, payload, at)
    return state


def decided(state, command):
    (payload,) = decide(state, command)
    return payload


def refused(state, command):
    with pytest.raises(MootError) as caught:
        decide(state, command)
    return caught.value


def test_a_requested_effect_knows_what_caused_it():
    effect = after(REQUEST)
    assert (effect.status, effect.handler, effect.on, effect.stream) == (
        "waiting",
        "deploy",
        "build:finished",
        "topic/build",
    )
    assert (effect.event, effect.cause) == (10, "c.2")
    assert KIND.stream("e-1") == "effect/e-1"


@pytest.mark.promise(12)
def test_one_runner_has_it_and_another_is_refused():
    effect = after(REQUEST, take())
    assert (effect.status, effect.runner, effect.attempt) == ("taken", "one#1", 1)
    for command in (take("two#2"), finish("two#2"), fail("two#2"), take("two#2", over=("one#1", 2)), RetryEffect()):
        error = refused(effect, command)
        assert isinstance(error, Held)
        assert error.details["runner"] == "one#1"


def test_what_is_dropped_is_dropped_for_good_and_not_while_it_runs():
    drop = DropEffect(reason="nobody wants it")
    for before in (after(REQUEST), after(REQUEST, take(), fail()), after(REQUEST, take(), fail(hopeless=True))):
        dropped = grown(before, decided(before, drop))
        assert (dropped.status, dropped.reason, dropped.ended) == ("dropped", "nobody wants it", True)
        for command in (take(), RetryEffect(), drop):
            assert refused(dropped, command).code == "effect_ended"
    assert refused(after(REQUEST, take()), drop).code == "effect_held"
    assert refused(after(REQUEST, take(), finish()), drop).code == "effect_ended"
    assert refused(NOTHING, drop).code == "unknown_effect"
    assert decided(after(REQUEST, take()), drop.replace(over=("one#1", 1))).type == "effect:dropped"


def test_a_chain_of_effects_that_is_too_long_is_parked_at_once():
    chained = REQUEST.replace(after="e-0", depth=DEEPEST, chain="loop (e-0)")
    effect = after(chained)
    assert (effect.status, effect.after, effect.depth) == ("waiting", "e-0", DEEPEST)
    parked = after(chained.replace(depth=DEEPEST + 1))
    assert (parked.status, parked.attempt) == ("parked", 0)
    assert parked.reason == f"{DEEPEST + 1} effects, each caused by the one before: loop (e-0)"


def test_a_pack_may_cut_a_chain_earlier():
    chained = REQUEST.replace(after="e-0", depth=3, chain="loop (e-0)", deepest=2)
    assert after(chained.replace(depth=2)).status == "waiting"
    assert after(chained).reason == "3 effects, each caused by the one before: loop (e-0)"


@pytest.mark.promise(12)
def test_a_dead_runner_is_followed_by_another_with_the_same_key():
    effect = after(REQUEST, take(), take("two#2", over=("one#1", 1)))
    assert (effect.runner, effect.attempt, effect.key) == ("two#2", 2, "e-1")
    late = refused(effect, finish("one#1", 1))
    assert isinstance(late, Held)
    assert isinstance(refused(effect, take("three#3", over=("one#1", 1))), Held)


@pytest.mark.promise(12)
def test_what_kills_its_runner_again_and_again_is_parked():
    effect = after(REQUEST, take(), take("two#2", over=("one#1", 1)), take("three#3", over=("two#2", 2)))
    parked = decided(effect, take("four#4", over=("three#3", 3)))
    assert (parked.type, parked.reason) == ("effect:parked", "its runner died 3 times")


@pytest.mark.promise(12)
def test_a_failed_one_waits_longer_each_time_and_is_parked_at_last():
    effect, waits = after(REQUEST), []
    for attempt in (1, 2, 3):
        effect = grown(effect, decide(effect, take(now=effect.due))[0], effect.due)
        payload = decided(effect, fail(attempt=attempt))
        waits.append(getattr(payload, "wait", payload.type))
        effect = grown(effect, payload, effect.due)
    assert waits == [5.0, 10.0, "effect:parked"]
    assert (effect.status, effect.reason) == ("parked", "exit code 1")


def test_what_is_not_due_is_not_taken():
    effect = after(REQUEST, take(), fail())
    assert effect.due == T0 + 5
    assert refused(effect, take(now=T0 + 4.9)).code == "effect_not_due"
    assert decided(effect, take(now=T0 + 5)).attempt == 2


def test_what_can_never_succeed_is_parked_at_once():
    assert after(REQUEST, take(), fail(hopeless=True)).status == "parked"


def test_a_parked_one_is_retried_by_hand_with_all_its_attempts():
    effect = after(REQUEST, take(now=T0 + 9), fail(hopeless=True), RetryEffect(reason="repaired"), at=T0 + 9)
    assert (effect.status, effect.tries, effect.attempt) == ("waiting", 0, 1)
    assert decided(effect, take(now=T0 + 9)).attempt == 2


def test_a_waiting_one_that_is_retried_is_due_at_once():
    effect = after(REQUEST, take(), fail(), RetryEffect())
    assert decided(effect, take(now=T0)).attempt == 2


def test_a_runner_that_is_stopped_uses_up_no_attempt():
    effect = after(REQUEST, take(), fail(stopped=True, limit=1))
    assert (effect.status, effect.tries) == ("waiting", 0)
    assert decided(effect, take(now=T0)).attempt == 2


def test_what_was_never_tried_is_due_whatever_the_clock_says():
    assert decided(after(REQUEST, at=T0 + 3600), take(now=T0)).attempt == 1


@pytest.mark.parametrize("command", [take(), finish(), fail(), RetryEffect()])
def test_a_done_one_stays_done(command):
    assert refused(after(REQUEST, take(), finish()), command).code in ("effect_ended", "effect_held")


@pytest.mark.parametrize("command", [take(), RetryEffect()])
def test_an_unknown_one_is_named(command):
    error = refused(NOTHING, command)
    assert isinstance(error, Unknown)
    assert error.code == "unknown_effect"


def test_an_id_is_used_once():
    assert isinstance(refused(after(REQUEST), REQUEST), Refused)


@given(st.floats(0.01, 3600), st.integers(1, 1000), st.floats(0, 1))
def test_the_pause_is_bounded_and_chance_takes_at_most_half_of_it(first, tries, jitter):
    whole = back_off(first, tries, 0.0)
    assert first <= whole <= 3600
    assert whole / 2 <= back_off(first, tries, jitter) <= whole
    assert back_off(first, tries, 1.0) == whole / 2


class Effects(RuleBasedStateMachine):
    """Three runners that take, finish, fail and die in any order, against a model of who really has it."""

    def __init__(self):
        super().__init__()
        self.state, self.log, self.now = NOTHING, [], T0
        self.holder, self.done, self.tries, self.attempt, self.dead = None, 0, 0, 0, set()

    def happen(self, command):
        """Decide; what is refused changes nothing."""
        try:
            payloads = decide(self.state, command)
        except MootError:
            return None
        for payload in payloads:
            self.log.append((payload.type, json.dumps(payload.plain()), self.now))
            self.state = grown(self.state, payload, self.now)
        return payloads[0]

    @rule()
    def request(self):
        new = not self.log
        assert (self.happen(REQUEST) is not None) is new

    @rule(seconds=st.floats(0, 10_000))
    def time_passes(self, seconds):
        self.now += seconds

    @rule(runner=st.sampled_from(["a#1", "b#2", "c#3"]))
    def take(self, runner):
        status, due = self.state.status, self.state.due
        taken = self.happen(take(runner, self.now))
        assert (taken is not None) is (status == "waiting" and self.now >= due)
        if taken is not None:
            self.grant(runner)

    @rule(runner=st.sampled_from(["a#1", "b#2", "c#3"]), stale=st.booleans())
    def take_from_the_dead(self, runner, stale):
        if self.holder is None or self.holder[0] == runner:
            return
        before = self.holder
        over = (before[0], before[1] - 1) if stale else before
        found = self.happen(take(runner, self.now, over))
        if stale:
            assert found is None
        elif self.tries >= LIMIT:
            assert found.type == "effect:parked"
            self.holder = None
        else:
            assert (found.attempt, found.over) == (before[1] + 1, before[0])
            self.dead.add(before)
            self.grant(runner)

    def grant(self, runner):
        self.tries += 1
        self.attempt += 1
        self.holder = (runner, self.attempt)

    @rule(ok=st.booleans(), jitter=st.floats(0, 1), hopeless=st.booleans())
    def end(self, ok, jitter, hopeless):
        if self.holder is None:
            return
        runner, attempt = self.holder
        found = self.happen(finish(runner, attempt) if ok else fail(runner, attempt, jitter, hopeless=hopeless))
        parks = hopeless or self.tries >= LIMIT
        assert found.type == ("effect:done" if ok else "effect:parked" if parks else "effect:failed")
        self.done += ok
        self.holder = None

    @rule(ok=st.booleans())
    def the_dead_come_back(self, ok):
        for runner, attempt in self.dead:
            assert self.happen(finish(runner, attempt) if ok else fail(runner, attempt)) is None

    @rule()
    def retry(self):
        status = self.state.status
        assert (self.happen(RetryEffect()) is not None) is (status in ("waiting", "parked"))
        if status in ("waiting", "parked"):
            self.tries = 0

    @rule(over=st.booleans())
    def drop(self, over):
        status = self.state.status
        dropped = self.happen(DropEffect(reason="enough", over=self.holder if over else None)) is not None
        assert dropped is (status in ("waiting", "parked") or (status == "taken" and over))
        if dropped:
            self.dead |= {self.holder} - {None}
            self.holder = None

    @invariant()
    def at_most_one_has_it_and_it_is_done_at_most_once(self):
        assert (self.state.runner, self.state.attempt) == (self.holder or (None, self.attempt))
        assert (self.state.status == "taken") is (self.holder is not None)
        assert self.done == [kind for kind, _, _ in self.log].count("effect:done") <= 1
        assert self.state.tries <= LIMIT
        assert self.state.key == "e-1"

    def teardown(self):
        state = NOTHING
        for kind, data, at in self.log:
            state = grown(state, EVENTS[kind].of(json.loads(data)), at)
        assert state == self.state
        assert Effect.of(json.loads(json.dumps(state.plain()))) == state


TestEffects = Effects.TestCase
TestEffects.settings = settings(stateful_step_count=30)
