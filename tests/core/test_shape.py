"""Data against annotations: what fits, what does not, and that every payload is understood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.deciders.message import Sent
from moot.core.kind import kinds
from moot.core.schema.shape import fits, forms, misfit, understood

SAID = {"kind": "note", "sender": "Ada#1", "to": ["Bob"], "wants": "nothing"}


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("str", ["", "x"], [1, None, True, []]),
        ("int", [0, -1], [True, 1.5, "1", None]),
        ("float", [0, 1.5], [True, "1", None]),
        ("bool", [True, False], [0, 1, None]),
        ("str | None", ["x", None], [1, []]),
        ("tuple[str, ...]", [[], ["x"]], ["x", [1], None, {}]),
        ("tuple[str, int] | None", [None, ["x", 1]], [["x"], ["x", "y"], "x"]),
        ("dict[str, Any]", [{}, {"a": [1]}], [[], None, "x"]),
        ("dict[str, Any] | None", [{}, None], [[], 1]),
        ("tuple[dict[str, Any], ...]", [[], [{}]], [[1], {}]),
        ("tuple[tuple[str, float], ...]", [[], [["a", 1]]], [["a", 1], [["a"]]]),
    ],
)
def test_a_value_fits_its_annotation_or_not(form: str, good: list[object], bad: list[object]) -> None:
    assert [value for value in good if not fits(form, value)] == []
    assert [value for value in bad if fits(form, value)] == []


def test_what_is_missing_or_of_another_kind_is_named() -> None:
    assert misfit(Sent, SAID) is None
    assert misfit(Sent, {**SAID, "of": "a later version"}) is None
    assert misfit(Sent, {k: v for k, v in SAID.items() if k != "to"}) == "to is missing"
    assert misfit(Sent, {**SAID, "to": "Bob"}) == "to is not of type tuple[str, ...]"
    assert misfit(Sent, []) == "its data is not an object"


def test_every_field_of_every_event_has_a_form_that_is_understood() -> None:
    for events in (kind.events for kind in kinds()):
        for kind in events.values():
            strange = {name: form for name, form in forms(kind).items() if not understood(form)}
            assert strange == {}, f"{kind.__name__}: teach `moot.core.schema.shape` this form"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_data_is_too_strange_to_judge(data: object) -> None:
    misfit(Sent, data)
