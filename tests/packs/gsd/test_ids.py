"""Ids of the gsd pack: plans, phases, tasks, decisions, and the patterns of `affects`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.packs.gsd import ids

NOT_PLANS = ["", "-", "01", "01-", "-02", "01-02-03", "1.2.3-4", "01.-02", ".1-02", "01-02.1", "a-02", "01-b", " 01-02"]
NOT_PLANS += [
    "01-02 ",
    "01_02",
    "+1-2",
    "-1-2",
    "1e1-2",
    "٠١-٠٢",
    "²-1",
    "01-0x2",
    "0000000001-02",
    "01-02\n",
    "01--02",
]


@pytest.mark.parametrize(
    ("text", "phase", "number", "name"),
    [
        ("01-02", (1,), 2, "01-02"),
        ("1-2", (1,), 2, "01-02"),
        ("001-002", (1,), 2, "01-02"),
        ("05.2-01", (5, 2), 1, "05.2-01"),
        ("5.02-1", (5, 2), 1, "05.2-01"),
        ("100-12", (100,), 12, "100-12"),
        ("010-01", (10,), 1, "10-01"),
    ],
)
def test_a_plan_is_its_numbers(text, phase, number, name):
    plan = ids.plan_of(text)
    assert plan is not None
    assert (plan.phase, plan.number, plan.name, str(plan)) == (phase, number, name, name)


@pytest.mark.parametrize("text", [*NOT_PLANS, None, 1, 1.2, True, ["01-02"], {"plan": "01-02"}])
def test_other_text_is_not_a_plan(text):
    assert ids.plan_of(text) is None
    assert not ids.is_plan(text)
    assert not ids.same_plan(text, text)
    assert not ids.covers("*", text)


@given(st.integers(0, 10**9 - 1), st.none() | st.integers(0, 999), st.integers(0, 10**9 - 1))
def test_the_name_of_a_plan_means_the_same_plan(phase, part, number):
    plan = ids.PlanId(phase=(phase,) if part is None else (phase, part), number=number)
    assert ids.plan_of(plan.name) == plan
    assert ids.same_plan(plan.name, f"0{plan.name}") == (phase < 10**8)


def in_phase(plan: str, phase: object) -> bool:
    found = ids.plan_of(plan)
    return found is not None and found.phase == ids.phase_of(phase)


def test_phases_are_equal_as_numbers_and_not_as_prefixes():
    assert in_phase("01-02", "1")
    assert in_phase("1-02", "01")
    assert in_phase("01-02", 1)
    assert in_phase("05.2-01", "5.2")
    assert not in_phase("010-01", "01")
    assert not in_phase("01.1-01", "01")
    assert not in_phase("01-02", "01.1")
    assert not in_phase("01-02", "010")
    for other in ("", "x", None, True, 1.0, "01-02", "1.2.3", "*"):
        assert not in_phase("01-02", other)


def test_plans_sort_by_phase_then_decimal_phase_then_number():
    shuffled = ["10-01", "02-02", "02.1-01", "02.10-01", "02.2-01", "02-10", "1-1"]
    ordered = sorted(filter(None, map(ids.plan_of, shuffled)), key=lambda plan: plan.order)
    assert [plan.name for plan in ordered] == ["01-01", "02-02", "02-10", "02.1-01", "02.2-01", "02.10-01", "10-01"]


@pytest.mark.parametrize(
    ("entry", "covered", "not_covered"),
    [
        ("02-*", ["02-01", "2-99", "002-1"], ["020-01", "12-01", "02.1-01", "01-02"]),
        ("2-*", ["02-01"], ["20-01"]),
        ("02-01", ["02-01", "2-1"], ["02-10", "02-02"]),
        ("*-01", ["01-01", "5.2-1"], ["01-10"]),
        ("*", ["01-01", "05.2-03"], []),
        ("*-*", ["01-01", "05.2-03"], []),
        ("05.*-*", ["05.2-01", "05.10-04"], ["05-01", "50.2-01"]),
        ("05.2-*", ["05.2-01"], ["05-01", "05.20-01"]),
    ],
)
def test_patterns_cover_whole_parts(entry, covered, not_covered):
    assert ids.is_pattern(entry)
    assert [plan for plan in covered if not ids.covers(entry, plan)] == []
    assert [plan for plan in not_covered if ids.covers(entry, plan)] == []


@pytest.mark.parametrize(
    "entry", ["all-auth-related-code", "02", "02-1*", "0*-01", "*x", "", "02-**", "1.2.*-1", None, 3]
)
def test_free_text_in_affects_covers_nothing(entry):
    assert not ids.is_pattern(entry)
    assert not any(ids.covers(entry, plan) for plan in ("02-01", "02-10", "01-01", "00-00"))


def test_the_number_of_a_task_is_a_whole_number_from_one():
    assert [value for value in (1, 2, 999) if not ids.is_task(value)] == []
    assert [value for value in ("1", 0, -1, 1.0, 1.5, True, None, [], 10**9) if ids.is_task(value)] == []


def test_a_task_is_named_after_its_plan_however_that_is_spelled():
    assert ids.task_id("1-2", 1) == ids.task_id("01-02", 1) == "01-02.1"
    assert ids.task_of("01-02.1") == (ids.plan_of("01-02"), 1)
    assert ids.task_of("05.2-01.12") == (ids.plan_of("05.2-01"), 12)
    assert [text for text in ("01-02", "01-02.", "01-02.0", "01-02.x", "task-001", None) if ids.task_of(text)] == []


def test_decisions_have_at_least_three_digits():
    assert ids.decision_of("dec-001") == 1
    assert ids.decision_of("dec-1000") == 1000
    assert [ids.decision_id(number) for number in (1, 42, 999, 1000)] == ["dec-001", "dec-042", "dec-999", "dec-1000"]
    refused = ["dec-1", "dec-01", "dec-", "dec-0x1", "DEC-001", "001", 1, None, "dec-001 ", "dec-٠٠١", "dec-1234567890"]
    assert [text for text in refused if ids.decision_of(text) is not None] == []
