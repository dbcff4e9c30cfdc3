"""Handlers: which events they want, what they say, and that nothing goes round in circles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.event import Draft
from moot.core.handler import Handler, filled, found, requested

BUILD = Draft(
    stream="topic/Nightly",
    type="build:finished",
    data={"ok": True, "result": {"files": ["a", {"b": 3}]}, "one": 1},
)


def handler(**fields):
    return Handler(**{"name": "h", "on": ("build:*",), "run": ("true",), **fields})


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, True),
        ({"on": ("*",)}, True),
        ({"on": ("task:*", "build:finished")}, True),
        ({"on": ("build:finish",)}, False),
        ({"streams": ("topic/*",)}, True),
        ({"streams": ("topic/nightly",)}, True),
        ({"streams": ("topic/daily",)}, False),
        ({"by": ("Yeats",)}, True),
        ({"by": ("yeats#2",)}, True),
        ({"by": ("yeats#1", "person:*")}, False),
        ({"data": {"ok": True}}, True),
        ({"data": {"ok": 1}}, False),
        ({"data": {"one": True}}, False),
        ({"data": {"result.files.1.b": 3}}, True),
        ({"data": {"result.files.2": 3}}, False),
        ({"data": {"ok.deeper": True}}, False),
        ({"data": {"ok": True, "one": 2}}, False),
    ],
)
def test_a_handler_wants_what_fits_all_its_filters(fields, wanted):
    assert handler(**fields).wants(BUILD, "Yeats#2") is wanted


def test_each_event_of_a_commit_requests_for_each_handler_that_wants_it():
    drafts = [BUILD, Draft(stream="task/t", type="task:added", data={}), BUILD]
    one, two = handler(name="one"), handler(name="two", on=("*",))
    assert [(h.name, n) for h, n, _ in requested(drafts, "a", (one, two))] == [
        ("one", 0), ("two", 0), ("two", 1), ("one", 2), ("two", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "draft",
    [
        Draft(stream="effect/e-1", type="effect:parked", data={}),
        Draft(stream="message/m-1", type="message:sent", data={"sender": "moot"}),
    ],
)
def test_what_effects_themselves_cause_requests_nothing(draft):
    assert list(requested([draft], "a", (handler(on=("*",)),))) == []


@pytest.mark.parametrize("kind", ["message:offered", "message:acked"])
def test_all_events_are_those_that_mean_something_and_not_the_reading_of_mail(kind):
    draft = BUILD.replace(type=kind)
    assert [handler(on=(on,)).wants(draft, "Yeats") for on in ("*", "message:*", kind)] == [False, True, True]
    assert handler(on=("*",)).wants(BUILD.replace(type="message:sent"), "Yeats")


def test_a_message_of_somebody_else_is_an_event_like_any_other():
    draft = Draft(stream="message/m-1", type="message:sent", data={"sender": "Yeats#1"})
    assert len(list(requested([draft], "a", (handler(on=("*",)),)))) == 1


@pytest.mark.parametrize(
    "change", [{"run": ("true", "x")}, {"on": ("*",)}, {"name": "i"}, {"timeout": 61.0}, {"by": ("Yeats",)}]
)
def test_a_changed_word_is_another_content(change):
    assert handler(**change).content != handler().content
    assert Handler.of(handler(**change).plain()).content == handler(**change).content


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{type} of {stream}", "build:finished of topic/x"),
        ("{data.ok}, {data.list}, {data.no}.", "true, [1], ."),
        ("{unknown} {} { {data", "{unknown} {} { {data"),
        ("{data.text}", "{type}"),
    ],
)
def test_a_text_is_filled_with_what_the_event_says_and_once_only(text, said):
    event = {"type": "build:finished", "stream": "topic/x", "data": {"ok": True, "list": [1], "text": "{type}"}}
    assert filled(text, event) == said


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)),
    st.text(),
)
def test_any_path_into_anything_finds_something_or_nothing(data, path):
    found(data, path)
    filled(path, {"data": data})


@pytest.mark.parametrize("sender", ["moot", "handler:tell"])
def test_a_message_of_a_handler_causes_no_effect(sender: str) -> None:
    sent = Draft(stream="message/m-1", type="message:sent", data={"sender": sender})
    assert list(requested((sent,), "person:anna", (handler(on=("*",)),))) == []
