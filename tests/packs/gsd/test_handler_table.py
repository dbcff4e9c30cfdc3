"""Which handlers run for an event, by `event_handlers` in `.planning/config.json`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moot.packs.gsd.handlers import BUILT_IN, HandlerTable, leaves_of, table_from
from moot.packs.gsd.sources import config_leaves

SAMPLE = {
    "event_handlers": {
        "task:completed": ["builtin:blackboard-sync", "custom:slack-notify"],
        "task:failed": ["builtin:error-handler", "custom:pagerduty-alert"],
    }
}


def table(content: Any) -> HandlerTable:
    return table_from(config_leaves(content, json.dumps(content, indent=2).encode()))


def test_without_configuration_the_five_built_in_handlers_run():
    for content in ({}, {"event_handlers": {}}, {"other": ["x"]}):
        found = table(content)
        assert found == HandlerTable()
        assert {kind: found.built_in(kind) for kind in BUILT_IN} == {kind: (name,) for kind, name in BUILT_IN.items()}
        assert not any(found.custom(kind) for kind in BUILT_IN)
        assert found.switched_off == ()
    assert set(BUILT_IN.values()) == {
        "blackboard-sync",
        "dependency-resolver",
        "decision-tracker",
        "orchestrator",
        "error-handler",
    }


def test_the_sample_of_the_protocol():
    found = table(SAMPLE)
    assert (found.problems, found.switched_off) == ((), ())
    assert found.names("task:completed") == ("builtin:blackboard-sync", "custom:slack-notify")
    assert (found.built_in("task:failed"), found.custom("task:failed")) == (("error-handler",), ("pagerduty-alert",))
    assert found.built_in("decision:made") == ("decision-tracker",)
    assert found.named == {"slack-notify": ("task:completed",), "pagerduty-alert": ("task:failed",)}


def test_a_list_is_complete_and_in_order_and_an_empty_one_switches_handling_off():
    found = table({"event_handlers": {"task:failed": ["custom:b", "custom:a", "custom:b"], "decision:made": []}})
    assert found.custom("task:failed") == ("b", "a")
    assert not found.acts("error-handler", "task:failed")
    assert found.names("decision:made") == ()
    assert found.acts("blackboard-sync", "task:completed")
    assert found.switched_off == (("decision:made", "decision-tracker"), ("task:failed", "error-handler"))


def test_types_of_ones_own_can_have_handlers():
    found = table({"event_handlers": {"deploy:finished": ["custom:announce"]}})
    assert (found.custom("deploy:finished"), found.problems) == (("announce",), ())
    assert found.built_in("deploy:finished") == ()


def test_the_leaves_of_a_document_are_the_table():
    for content in (SAMPLE, {"event_handlers": {"task:failed": ["x"], "a:b": []}}, {}):
        found = table(content)
        assert table_from(leaves_of(found)) == found


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("slack-notify", '"slack-notify" has no known prefix: write builtin:NAME or custom:NAME'),
        ("builtin:error-handlr", 'there is no built-in handler "error-handlr"; did you mean builtin:error-handler?'),
        ("builtin:zzz", 'there is no built-in handler "zzz"'),
        ("builtin:blackboard-sync", "builtin:blackboard-sync handles task:completed; for task:failed it does nothing"),
        ("custom:", '"custom:": a custom handler has a name of lower-case letters, digits, - and _'),
        (
            "custom:../../bin/sh",
            '"custom:../../bin/sh": a custom handler has a name of lower-case letters, digits, - and _',
        ),
        ("custom:a b", '"custom:a b": a custom handler has a name of lower-case letters, digits, - and _'),
        ("custom:-x", '"custom:-x": a custom handler has a name of lower-case letters, digits, - and _'),
        (7, "expected the name of a handler, got 7"),
        (None, "expected the name of a handler, got null"),
        (["custom:x"], "expected the name of a handler, got a list of 1"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_with_its_position_and_the_others_run(entry, problem):
    found = table({"event_handlers": {"task:failed": ["builtin:error-handler", entry, "custom:page"]}})
    assert found.problems == (f"line 5, column 7: {problem}",)
    assert found.wrong == {"task:failed": found.problems}
    assert found.names("task:failed") == ("builtin:error-handler", "custom:page")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([], "line 1, column 1: expected an object, got an empty list"),
        (
            {"event_handlers": []},
            "line 2, column 21: expected an object with a list of handlers for each type of event, ",
        ),
        (
            {"event_handlers": {"task:failed": "custom:x"}},
            'line 3, column 20: expected a list of handlers, got "custom:x"',
        ),
        ({"event_handlers": {"failed": ["custom:x"]}}, 'line 3, column 15: "failed" is not a type of event'),
        ({"event_handlers": {"Task:failed": ["custom:x"]}}, 'line 3, column 20: "Task:failed" is not a type of event'),
    ],
)
def test_malformed_configuration_leaves_the_built_in_handlers(content, problem):
    found = table(content)
    assert [one.startswith(problem) for one in found.problems] == [True]
    assert found.lists == {}
    assert found.switched_off == ()


def test_the_size_of_the_table_is_bounded():
    many = {f"a:t{n}": ["custom:x"] for n in range(150)}
    found = table({"event_handlers": {**many, "a:t0": [f"custom:h{n}" for n in range(150)]}})
    assert len(found.lists) == 100
    assert len(found.custom("a:t0")) == 100
    assert len(found.problems) == 2
