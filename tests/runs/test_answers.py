"""The structured answer in an agent's output: the last block that claims to be one, or none."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.runs.answers import NoAnswer, json_answer, yaml_answer


def fenced(text: str, language: str = "json", fence: str = "```") -> str:
    return f"{fence}{language}\n{text}\n{fence}\n"


ONE = fenced('{"answer": 1}')


def found(text: str) -> Any:
    return json_answer(text, lambda value: "answer" in value)


@pytest.mark.parametrize(
    "text",
    [
        fenced('{"answer": 1}'),
        f"Here it is:\n\n{ONE}\nThat is all.",
        fenced('{"answer": 1}', ""),
        fenced('{"answer": 1}', "JSON"),
        fenced('{"answer": 1}', "json title=answer"),
        fenced('{"answer": 1}', "json", "~~~"),
        fenced('{"answer": 1}', "json", "`````"),
        f"   {ONE.strip()}",
        fenced('{"answer": 1}').replace("\n", "\r\n"),
        '```json\n{"answer": 1}',  # cut off after the answer
        '{"answer": 1}\n',  # the whole output
        fenced('{"answer": 0}') + fenced('{"answer": 1}'),
        fenced('{"answer": 1}') + fenced('{"other": 2}') + fenced("[1]") + fenced("ls -l", "bash") + fenced("x", ""),
        f"half of a block whose start was cut off\n```\n\n{ONE}",
    ],
)
def test_an_answer_is_found(text: str) -> None:
    assert found(text) == {"answer": 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the output is empty"),
        (" \n", "the output is empty"),
        ("The answer is 1.", "no JSON block"),
        ('"answer": 1', "no JSON block"),
        ('Well: {"answer": 1}', "no JSON block"),
        (fenced('{"answer": 1}', "python"), "no JSON block"),
        (fenced('{"other": 1}'), "no JSON block"),
        (fenced('[{"answer": 1}]'), "no JSON block"),
        (fenced('{"answer": 0}') + fenced('{"answer": '), "cannot be read"),
        (fenced('{"answer": 0}') + fenced('{"answer": 1, "answer": 2}'), "cannot be read"),
        (fenced('{"answer": NaN}'), "cannot be read"),
        (fenced('{"answer": 1} // mine'), "cannot be read"),
        (fenced('{"answer": ' + "[" * 200 + "]" * 200 + "}"), "cannot be read"),
        (fenced(""), "cannot be read"),
        ('{"answer": 1} and more', "no JSON block"),
    ],
)
def test_anything_else_is_no_answer(text: str, why: str) -> None:
    with pytest.raises(NoAnswer, match=why):
        found(text)


YAML = "status: success"


@pytest.mark.parametrize(
    "text",
    [
        fenced(YAML, "yaml"),
        fenced(YAML, "yml", "~~~~"),
        fenced(YAML, ""),
        f"It is done.\n\n{YAML}\n",
        f"half of a block whose start was cut off\n```\n\n{fenced(YAML, 'yaml')}",
        fenced("status: error", "yaml") + fenced(YAML, "yaml") + fenced("ls: -l", "bash") + "name: x\n\nThat is all.",
        fenced("status: error", "yaml") + f"No, wait.\n\n# better\n{YAML}",
    ],
)
def test_an_answer_in_yaml_is_found(text: str) -> None:
    assert yaml_answer(text) == {"status": "success"}
    assert yaml_answer(text.replace("\n", "\r\n")) == {"status": "success"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" \n", "the output is empty"),
        ("The status: success.", "no YAML block"),
        ("name: x", "no YAML block"),
        (fenced(YAML, "json"), "no YAML block"),
        (fenced(YAML, "yaml") + fenced("status: [", "yaml"), "cannot be read"),
        (fenced(YAML, "yaml") + "Or:\nstatus: [", "cannot be read"),
        (fenced("- status: success", "yaml"), "cannot be read"),
    ],
)
def test_anything_else_is_no_answer_in_yaml(text: str, why: str) -> None:
    with pytest.raises(NoAnswer, match=why):
        yaml_answer(text)


def test_a_fence_inside_a_string_ends_nothing() -> None:
    value = {"answer": "Run:\n```sh\nmake\n```\nThen:\n```json\n{}\n```"}
    assert found(fenced(json.dumps(value))) == value


@given(st.text('`~json {}\n\r\u2028"answer:1', max_size=200), st.text("x`~ \n{}", max_size=50))
def test_no_text_before_it_hides_it_and_none_breaks_the_search(before: str, after: str) -> None:
    if not re.search("^ {0,3}(`{3}|~{3})", before, re.MULTILINE):  # a fence may be the start of another block
        assert found(f"{before}\n{ONE}") == {"answer": 1}
    with suppress(NoAnswer):
        found(f"{before}\n{ONE}{after}")
