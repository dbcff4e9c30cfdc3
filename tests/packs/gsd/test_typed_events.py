"""An event as it is typed on the command line becomes exactly what was meant, and nothing in it is evaluated."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moot.core.errors import Usage
from moot.packs.gsd.typed_events import events_of

NASTY = (
    'it\'s "quoted"',
    "back\\slash",
    "two\nlines",
    "$HOME ${HOME}",
    "`id`",
    "$(id)",
    "\\(env.HOME)",
    "é – 語",
    "a=b",
)


def one(event: str, *words: str) -> dict[str, Any]:
    (found,) = events_of(event, words)
    return found


@pytest.mark.parametrize("text", NASTY)
def test_a_value_is_plain_text(text: str) -> None:
    assert one("task:started", f"taskName={text}", "task=1") == {"type": "task:started", "taskName": text, "task": 1}
    assert one(json.dumps({"type": "task:started", "taskName": text})) == {"type": "task:started", "taskName": text}


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("01", 1), ("one", "one"), ("-1", "-1"), ("1.5", "1.5"), ("", "")]
)
def test_the_number_of_a_task_is_a_number_and_anything_else_is_left_for_the_rules(text: str, value: object) -> None:
    assert one("task:failed", f"task={text}")["task"] == value


def test_a_list_has_a_word_for_each_item() -> None:
    found = one("artifact:created", "path=a.ts", "provides=User", "provides=1", "createdBy=01-01")
    assert found == {"type": "artifact:created", "path": "a.ts", "provides": ["User", "1"], "createdBy": "01-01"}
    assert one("artifact:created", "provides=")["provides"] == []


def test_several_paths_are_several_claims_and_only_of_claims() -> None:
    words = ("path=a", "agent=x", "path=b", "plan=01-02")
    assert events_of("file:claimed", words) == [
        {"type": "file:claimed", "path": "a", "agent": "x", "plan": "01-02"},
        {"type": "file:claimed", "path": "b", "agent": "x", "plan": "01-02"},
    ]
    assert one("artifact:created", "path=a", "path=b")["path"] == ["a", "b"]  # refused by the rules, with its name


def test_json_gives_one_event_or_several() -> None:
    assert one(' {"type": "build:passed", "ok": true} ') == {"type": "build:passed", "ok": True}
    assert len(events_of('[{"type": "a:b"}, {"type": "a:c"}]', ())) == 2


def test_a_field_can_be_any_json() -> None:
    assert one("build:passed", 'matrix:={"os": ["linux"]}', "ok:=true") == {
        "type": "build:passed",
        "matrix": {"os": ["linux"]},
        "ok": True,
    }


@pytest.mark.parametrize(
    ("event", "words", "said"),
    [
        ("task:started", ("taskName",), "is not a field"),
        ("task:started", ("=x",), "is not a field"),
        ("task:started", ("plan=1", "plan=2"), "plan is given twice"),
        ("task:started", ("plan:=1", "plan:=2"), "plan is given twice"),
        ("task:started", ("type=task:failed",), "comes first"),
        ('{"type": "a:b"}', ("x=1",), "Fields cannot be added"),
        ("{", (), "not valid JSON"),
        ('{"a": 1, "a": 2}', (), "'a' occurs twice"),
        ('{"a": NaN}', (), "NaN is not JSON"),
        ("[]", (), "an object, or a list of objects"),
        ("[1]", (), "an object, or a list of objects"),
        ("[" * 100_000, (), "not valid JSON"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_an_example(event: str, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(Usage) as caught:
        events_of(event, words)
    assert said in caught.value.message
    assert "moot gsd emit task:failed" in caught.value.remedy
