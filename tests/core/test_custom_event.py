"""CustomEvent events: any noun and participle, and none that could be taken for one of the core."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.deciders.custom_event import EVENTS, KIND, CustomEvent, Emit, decide, is_type
from moot.core.errors import MootError
from moot.core.kind import NOUNS, kinds, protected

OWNED = {"task": "`moot task`", "document:opened": "A mirror"}


def emit(kind="build:finished", topic="build", **fields):
    return Emit(
        **{"type": kind, "topic": topic, "data": {"ok": True}, "size": 11, "limit": 100, "owned": OWNED, **fields}
    )


def refused(command):
    with pytest.raises(MootError) as caught:
        decide(None, command)
    return caught.value


def test_an_event_is_what_was_said():
    (event,) = decide(None, emit(data={"ok": True, "n": [1, None]}))
    assert (event.type, event.v, event.plain()) == ("build:finished", 1, {"ok": True, "n": [1, None]})
    assert KIND.stream("build") == "topic/build"


@pytest.mark.parametrize("kind", ["build:finished", "a:b", "load-test:timed_out", "b2:c3", f"{'a' * 64}:{'b' * 64}"])
def test_any_noun_and_participle_will_do(kind):
    assert decide(None, emit(kind))[0].type == kind
    assert EVENTS.get(kind) is CustomEvent


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "build",
        ":",
        "build:",
        ":done",
        "Build:done",
        "a:b:c",
        "a b:c",
        "a:*",
        "1a:b",
        "ä:b",
        "a:b\n",
        "a" * 65 + ":b",
    ],
)
def test_other_words_are_no_type(kind):
    assert refused(emit(kind)).code == "bad_event_type"
    assert EVENTS.get(kind) is None


@pytest.mark.parametrize("kind", ["task:done", "task:invented"])
def test_the_nouns_of_the_core_cannot_be_forged(kind):
    error = refused(emit(kind))
    assert error.code == "event_owned"
    assert "`moot task` writes them" in error.remedy


def test_a_kind_that_came_later_owns_its_event_types_and_not_its_noun():
    error = refused(emit("document:opened"))
    assert error.code == "event_owned"
    assert "A mirror writes them" in error.remedy
    assert decide(None, emit("document:printed"))[0].type == "document:printed"


def test_the_nouns_that_are_taken_do_not_grow_with_the_kinds():
    """Somebody may emit, wait for and handle `run:finished` before there is a kind `run`."""
    taken = {name for name in protected() if ":" not in name}
    assert taken == NOUNS
    later = [kind for kind in kinds() if kind.name not in NOUNS]
    assert {kind.name for kind in later} >= {"document", "pack"}
    assert protected().keys() - taken == {name for kind in later for name in kind.events}


@pytest.mark.parametrize("topic", ["", "a/b", "A", "../x", "a" * 65])
def test_a_stream_has_a_plain_name(topic):
    assert refused(emit(topic=topic)).code == "bad_topic"


def test_what_is_too_large_is_refused_with_both_sizes():
    assert refused(emit(size=101)).details == {"size": 101, "limit": 100}


@given(st.text(max_size=20))
def test_whatever_is_accepted_can_stand_in_a_stream(text):
    if is_type(text):
        assert text.isascii()
        assert text == text.lower()
        assert "/" not in text
