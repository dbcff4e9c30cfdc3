"""What plans need by their files, and circles among them."""

from __future__ import annotations

from moot.packs.gsd.plan_needs import circles, wants
from moot.packs.gsd.sources import PlanFacts

MODEL = PlanFacts(id="01-01", makes=("src/user.ts", "src/role.ts"))
API = PlanFacts(id="01-02", depends_on=("01-01",), needs=("docs/api.md", "src/user.ts"), makes=("src/api.ts",))
PLANS = {"01-01": MODEL, "01-02": API}


def never(_plan: str) -> bool:
    return False


def test_a_plan_needs_what_it_lists_and_what_the_plans_before_it_make():
    assert wants(API, PLANS, never) == ("docs/api.md", "src/user.ts", "src/role.ts")
    assert wants(MODEL, PLANS, never) == ()


def test_what_a_finished_plan_should_have_made_is_no_longer_waited_for():
    done = {**PLANS, "01-01": MODEL.replace(summary="x-SUMMARY.md")}
    assert wants(API, done, never) == ("docs/api.md", "src/user.ts")
    assert wants(API, PLANS, lambda plan: plan == "01-01") == ("docs/api.md", "src/user.ts")


def test_a_finished_plan_and_a_plan_without_its_predecessors_file_need_nothing_of_others():
    assert wants(API.replace(summary="x"), PLANS, never) == ()
    assert wants(API, PLANS, lambda plan: plan == "01-02") == ()
    assert wants(API, {"01-02": API}, never) == ("docs/api.md", "src/user.ts")


def test_a_plan_does_not_wait_for_what_it_makes_itself():
    assert wants(API.replace(makes=("src/user.ts",)), PLANS, never) == ("docs/api.md", "src/role.ts")


def test_circles_are_found_once():
    assert circles({"a": ["b"], "b": ["c"], "c": []}) == []
    assert circles({"a": ["b"], "b": ["a"]}) == [("a", "b", "a")]
    assert circles({"a": ["a"]}) == [("a", "a")]
    assert circles({"x": ["a"], "a": ["b", "y"], "b": ["c"], "c": ["a"], "y": []}) == [("a", "b", "c", "a")]
    assert circles({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"]}) == [("a", "b", "a"), ("c", "d", "c")]
    long = {str(n): [str(n + 1)] for n in range(3000)}
    assert len(circles({**long, "3000": ["0"]})[0]) == 3002
