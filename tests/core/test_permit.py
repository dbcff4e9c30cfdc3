"""Permits: so many at once, in the order of arrival; nobody has two seats, and no thing has two users."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.deciders.permit import AskPermit, Permit, ReturnPermit, decide, evolve
from moot.core.errors import Refused
from moot.core.kind import Meta

T0 = "2030-01-01T00:00:00.000Z"
ENVELOPE = {"position": 1, "stream": "permit/stages", "v": 1, "at": T0, "by": "person:ada", "commit": "c", "n": 0}
ENVELOPE |= {"prev": 0, "cause": None, "thread": None, "pack": None}


def after(state, *commands):
    for command in commands:
        for event in decide(state, command):
            state = evolve(state, event, Meta(at=T0))
    return state


def ask(run, limit=1, *wants):
    return AskPermit(run=run, driver="d", limit=limit, wants=wants)


def holders(state):
    return [seat.run for seat in state.held]


def test_seats_are_granted_in_the_order_of_arrival():
    state = after(Permit("stages"), ask("a"), ask("b"), ask("c"))
    assert (holders(state), [seat.run for seat in state.waiting]) == (["a"], ["b", "c"])
    state = after(state, ReturnPermit("a"))
    assert holders(state) == ["b"]
    assert holders(after(state, ReturnPermit("b"))) == ["c"]


def test_no_more_hold_a_seat_than_the_asker_allows():
    state = after(Permit("stages"), *(ask(f"run-{n}", 4) for n in range(20)))
    assert holders(state) == [f"run-{n}" for n in range(4)]


def test_a_run_that_wants_a_thing_in_use_waits_and_is_served_before_later_ones_that_want_it():
    state = after(
        Permit("stages"), ask("a", 9, "spec/x"), ask("b", 9, "spec/x"), ask("c", 9, "spec/y"), ask("d", 9, "spec/x")
    )
    assert holders(state) == ["a", "c"]
    assert holders(after(state, ReturnPermit("a"))) == ["b", "c"]


def test_nobody_passes_while_all_seats_are_taken():
    state = after(Permit("stages"), ask("a", 2), ask("b", 2), ask("c", 2), ask("d", 3))
    assert holders(state) == ["a", "b"]  # d would allow three, but came after c


def test_one_that_stops_waiting_is_passed_and_returning_twice_changes_nothing():
    state = after(Permit("stages"), ask("a"), ask("b"), ask("c"), ReturnPermit("b", "its process has ended"))
    assert [seat.run for seat in state.in_the_way("c")] == ["a"]
    assert decide(state, ReturnPermit("b")) == []
    assert holders(after(state, ReturnPermit("a"))) == ["c"]


def test_a_second_seat_is_refused():
    with pytest.raises(Refused, match="already asked"):
        decide(after(Permit("stages"), ask("a")), ask("a"))


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 3), st.sets(st.sampled_from("xyz"))), max_size=30))
def test_whatever_happens_limits_order_and_things_are_kept(steps):
    state = Permit("stages")
    for run, limit, wants in steps:
        name = f"run-{run * 7}"
        command = ReturnPermit(name) if state.seat(name) else ask(name, limit, *sorted(wants))
        before = state
        events = decide(state, command)
        for event in events:
            state = evolve(state, event, Meta(at=T0))
        granted = [event.__dict__["run"] for event in events if event.type == "permit:granted"]
        order = [seat.run for seat in state.seats]
        assert granted == sorted(granted, key=order.index)
        things = [thing for seat in state.held for thing in seat.wants]
        assert len(things) == len(set(things))
        assert len(state.held) <= max((seat.limit for seat in state.held), default=0) or not granted
        assert Permit.of(state.plain()) == state
        assert before.id == state.id
