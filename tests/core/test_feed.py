"""Feeds: numbers that only grow, fingerprints, lists and notes beside the entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.deciders import feed
from moot.core.deciders.feed import (
    LARGEST,
    Feed,
    FeedSet,
    ListRows,
    NoteInFeed,
    PostEntry,
    RotateFeed,
    SetFeed,
    fingerprint,
    merged,
)
from moot.core.errors import Refused
from moot.core.kind import NOWHERE

if TYPE_CHECKING:
    from moot.core.payload import Payload

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=6,
)


def done(state: Feed, *commands: Any) -> tuple[Feed, list[Payload]]:
    """The state after these commands, and all their events."""
    happened: list[Payload] = []
    for command in commands:
        for event in feed.decide(state, command):
            state = feed.evolve(state, event, NOWHERE)
            happened.append(event)
    return state, happened


def numbers(happened: list[Payload]) -> list[int]:
    return [event.number for event in happened if isinstance(event, feed.Posted)]


@given(st.lists(st.tuples(st.none() | st.integers(-5, 50), st.booleans()), max_size=12), st.integers(0, 20))
def test_numbers_only_grow_whatever_senders_choose(wishes: list[tuple[int | None, bool]], last: int) -> None:
    state = Feed("x", last=last)
    state, happened = done(state, *(PostEntry(event={}, number=n, adopting=kept) for n, kept in wishes))
    found = numbers(happened)
    assert found == sorted(set(found))
    assert all(number > last for number in found)
    assert state.last == (found[-1] if found else last)


def test_a_chosen_number_is_kept_if_it_is_the_next_or_while_adopting() -> None:
    state = Feed("x", last=4)
    assert numbers(done(state, PostEntry(event={}, number=5))[1]) == [5]
    assert numbers(done(state, PostEntry(event={}, number=9))[1]) == [5]
    assert numbers(done(state, PostEntry(event={}, number=9, adopting=True))[1]) == [9]
    assert numbers(done(state, PostEntry(event={}, number=3, adopting=True))[1]) == [5]
    assert numbers(done(state, PostEntry(event={}, number=LARGEST + 1, adopting=True))[1]) == [5]


def test_an_entry_shows_its_number_under_the_keys_that_are_asked_for() -> None:
    (posted,) = done(Feed("x"), PostEntry(event={"a": 1}, stamps=("n", "id")))[1]
    assert isinstance(posted, feed.Posted)
    assert (posted.event, posted.shown) == ({"a": 1}, {"a": 1, "n": 1, "id": 1})


def test_a_redacted_entry_still_shows_its_number_and_what_it_is_found_by() -> None:
    (posted,) = done(Feed("x"), PostEntry(event={"a": 1}, stamps=("n",), keys={"type": ("b:c",), "of": ("1", "2")}))[1]
    assert isinstance(posted, feed.Posted)
    assert posted.replace(event={}).shown == {"type": "b:c", "n": 1, "redacted": True}


def test_an_entry_beyond_the_limit_is_refused() -> None:
    with pytest.raises(Refused, match="101 bytes; the limit is 100"):
        done(Feed("x"), PostEntry(event={}, size=101, limit=100))


def test_the_highest_number_of_another_series_is_kept() -> None:
    posts = [PostEntry(event={}, series={"d": 3}), PostEntry(event={}, series={"d": 2}), PostEntry(event={})]
    assert done(Feed("x"), *posts)[0].series == {"d": 3}


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), JSON, max_size=4))
def test_a_fingerprint_does_not_depend_on_the_order_of_keys(content: dict[str, Any]) -> None:
    turned = dict(reversed(content.items()))
    assert fingerprint(content) == fingerprint(turned)
    assert fingerprint({**content, "number": 7}, ("number",)) == fingerprint(content)
    assert fingerprint({**content, "more": 1}) != fingerprint(content)


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), ("1", 1), (None, False), ([], {}), ("é", "e\u0301")])
def test_values_that_differ_have_different_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint({"a": one}) != fingerprint({"a": other})


def test_settings_are_recorded_once_and_the_last_number_never_falls() -> None:
    state, happened = done(Feed("x", last=5), SetFeed(set={"keep": "24h"}), SetFeed(set={"keep": "24h"}, last=4))
    assert happened == [FeedSet(set={"keep": "24h"})]
    assert (state.values, state.set_at, state.last) == ({"keep": "24h"}, 5, 5)
    state, _ = done(state, SetFeed(last=42))
    assert (state.last, state.set_at) == (42, 5)
    assert done(state, SetFeed(set={"flag": 1}), SetFeed(set={"flag": True}))[0].values["flag"] is True


def test_a_change_of_a_row_keeps_its_other_keys() -> None:
    assert merged({"a": 1, "b": 2}, {"b": 3, "c": 4, "a": None}) == {"b": 3, "c": 4}
    assert merged(None, {"a": 1, "b": None}) == {"a": 1}
    assert merged([1], {"a": 1}) == {"a": 1}
    assert merged({"a": 1}, 7) == 7


def test_lists_notes_and_rotations_leave_the_entries_alone() -> None:
    state, happened = done(
        Feed("x", last=2),
        ListRows(list="done", puts={"a": {"n": 1}}, drops=("a", "b", "b")),
        ListRows(list="done"),
        NoteInFeed(text="remember"),
        NoteInFeed(text=""),
        RotateFeed(file="old.1", upto=9),
        RotateFeed(file="old.2", upto=9),
    )
    assert [event.type for event in happened] == ["feed:listed", "feed:noted", "feed:rotated"]
    assert happened[0] == feed.Listed(list="done", puts={"a": {"n": 1}}, drops=("b",))
    assert (state.last, state.notes, state.parts) == (2, 1, (("old.1", 9),))
