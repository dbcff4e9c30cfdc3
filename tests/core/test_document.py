"""Documents: leaves and their pointers, who owns what, and what becomes of changes that meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core import flat_json
from moot.core.deciders import document
from moot.core.deciders.document import AbsorbDocument, ChangeDocument, Document, OpenDocument, ResetDocument
from moot.core.errors import Refused, Unknown
from moot.core.flat_json import LeafChange, Unkeyed
from moot.core.kind import NOWHERE

NAMES = st.text("ab/~*", max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-1, 1) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
OWNERS = {"/phase": "moot", "/agents/*": "scout", "/agents/*/score": "moot"}


@given(OBJECTS)
def test_an_object_is_the_sum_of_its_leaves(content):
    assert flat_json.same(flat_json.unflatten(flat_json.flatten(content, {}), {}), content)


@given(OBJECTS, OBJECTS)
def test_the_difference_of_two_objects_leads_from_one_to_the_other(one, other):
    before, after = flat_json.flatten(one, {}), flat_json.flatten(other, {})
    found = flat_json.applied(before, flat_json.difference(before, after))
    assert flat_json.same(flat_json.unflatten(found, {}), flat_json.unflatten(after, {}))
    assert flat_json.difference(after, found).pointers == ()


POINTERS = st.lists(st.sampled_from(["a", "b", "ab", "*"]), min_size=1, max_size=3).map(
    lambda names: "/" + "/".join(names)
)


@given(st.lists(POINTERS, max_size=4), POINTERS)
def test_a_leaf_is_covered_by_many_patterns_if_one_of_them_covers_it(patterns, at):
    assert flat_json.covering(patterns)(at) is any(flat_json.covers(one, at) for one in patterns)


def test_items_of_a_keyed_list_are_found_by_their_keys():
    keys = {"/agents": "id", "/agents/*/tasks": "name"}
    content = {"agents": [{"id": "a/b", "tasks": [{"name": "x", "n": 1}]}, {"id": "c"}], "list": [1, 2]}
    found = flat_json.flatten(content, keys)
    assert found == {
        "/agents/a~1b/id": "a/b",
        "/agents/a~1b/tasks/x/name": "x",
        "/agents/a~1b/tasks/x/n": 1,
        "/agents/c/id": "c",
        "/list": [1, 2],
    }
    assert flat_json.unflatten(found, keys) == content


@pytest.mark.parametrize("items", [[{"id": "a"}, {"id": "a"}], [{}], [{"id": 1}], ["a"]])
def test_a_list_that_should_have_keys_and_has_not_is_refused(items):
    with pytest.raises(Unkeyed, match="/agents"):
        flat_json.flatten({"agents": items}, {"/agents": "id"})


@pytest.mark.parametrize(
    ("at", "owner"),
    [
        ("/phase", "moot"),
        ("/phase/inner", "moot"),
        ("/phases", None),
        ("/agents/a/score", "moot"),
        ("/agents/a/state", "scout"),
        ("/agents", None),
        ("/other", None),
    ],
)
def test_the_longest_pattern_says_who_owns_a_leaf(at, owner):
    assert flat_json.owner_of(at, OWNERS) == owner


def opened(**found: object) -> Document:
    (event,) = document.decide(Document("d"), OpenDocument(mirror="p/m", leaves={f"/{k}": v for k, v in found.items()}))
    return document.evolve(Document("d"), event, NOWHERE)


def after(state: Document, command: object) -> tuple[Document, list[str]]:
    events = document.decide(state, command)
    for event in events:
        state = document.evolve(state, event, NOWHERE)
    return state, [event.type for event in events]


def test_a_document_is_opened_once():
    state = opened(a=1)
    assert after(state, OpenDocument(mirror="p/m", leaves={})) == (state, [])


def test_nothing_changes_a_document_that_is_not_there():
    for command in (ChangeDocument(author="x"), ResetDocument(leaves={}, reason="r")):
        with pytest.raises(Unknown):
            document.decide(Document("d"), command)


def test_only_the_owner_changes_a_leaf_from_inside():
    state = opened(phase=1)
    command = ChangeDocument(author="scout", set={"/phase": 2}, owners=OWNERS)
    with pytest.raises(Refused) as refused:
        document.decide(state, command)
    assert refused.value.code == "not_the_owner"
    assert after(state, command.replace(author="moot"))[0].leaves == {"/phase": 2}
    assert after(state, command.replace(set={"/phase": 1})) == (state, []), "nothing changes, so nothing is refused"


def test_a_leaf_that_becomes_an_object_is_gone():
    state, _ = after(opened(a=1, b=2), ChangeDocument(author="x", set={"/a/inner": 3}))
    assert state.leaves == {"/b": 2, "/a/inner": 3}
    state, _ = after(state, ChangeDocument(author="x", set={"/a": 4}))
    assert state.leaves == {"/b": 2, "/a": 4}


def test_a_change_inside_of_what_the_log_has_replaced_is_a_conflict():
    state, _ = after(opened(a=1), ChangeDocument(author="x", set={"/a/inner": 3}))
    state, types = after(state, AbsorbDocument(author="y", leaves={"/a": 2}, base={"/a": 1}))
    assert types == ["document:conflicted"]
    assert state.leaves == {"/a/inner": 3}


def test_what_both_changed_to_the_same_is_no_conflict():
    state, _ = after(opened(a=1), ChangeDocument(author="x", set={"/a": 2}))
    assert after(state, AbsorbDocument(author="y", leaves={"/a": 2}, base={"/a": 1})) == (state, [])


def test_a_removal_is_a_change_with_an_owner_like_any_other():
    state, types = after(opened(phase=1, a=2), AbsorbDocument(author="y", leaves={}, base=None, owners=OWNERS))
    assert types == ["document:conflicted", "document:refused"]
    before = {"/phase": 1, "/a": 2}
    state, types = after(state, AbsorbDocument(author="y", leaves={}, base=before, owners=OWNERS))
    assert types == ["document:refused", "document:changed"]
    assert state.leaves == {"/phase": 1}


@given(OBJECTS, OBJECTS, OBJECTS)
def test_whoever_wins_nothing_of_the_other_side_is_touched_that_only_it_changed(base, ours, theirs):
    start = document.evolve(Document("d"), document.Opened(mirror="p/m", leaves=flat_json.flatten(base, {})), NOWHERE)
    change = flat_json.difference(start.leaves, flat_json.flatten(ours, {}))
    state, _ = after(start, ChangeDocument(author="x", set=change.set, gone=change.gone))
    for wins in ("log", "file"):
        command = AbsorbDocument(author="y", leaves=flat_json.flatten(theirs, {}), base=start.leaves, wins=wins)
        end, _ = after(state, command)
        mine, other = change.pointers, flat_json.difference(start.leaves, command.leaves)
        for at in other.pointers:
            if not flat_json.overlapping(mine)(at):
                assert (at in end.leaves) == (at in command.leaves)
        if wins == "log":
            assert all(flat_json.same(end.leaves.get(at), value) for at, value in change.set.items())
        flat_json.unflatten(end.leaves, {})


def test_a_document_has_a_limit():
    with pytest.raises(Refused) as refused:
        document.decide(Document("d"), OpenDocument(mirror="p/m", leaves={f"/{n}": n for n in range(10_001)}))
    assert refused.value.code == "document_too_large"


def test_a_part_of_a_change_can_be_taken_out():
    change = LeafChange(set={"/a": 1, "/b": 2}, gone=("/c",))
    assert change.only(("/b", "/c")) == LeafChange(set={"/b": 2}, gone=("/c",))
