"""The stages as data, the factory stage, warnings of agents, and what a changed selection resets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moot.packs.rspec.agents import AGENTS, before, snake
from moot.packs.rspec.factory_checks import factory_problems, traits_by_file
from moot.packs.rspec.pipeline import NO_FACTORIES, NO_MODEL, RspecPipeline, need_factories
from moot.runs.contract import Pipeline, StageInput, Target
from moot.wiring import packs
from tests.specs.rspec.test_document_check import document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.specs.rspec.shop import Shop

FACTORY = b"""# All books
FactoryBot.define do
  sequence(:year) { |n| n }
  factory :book do
    # a title
    title { 'A' }

    trait(:old) { year { 1 } }
  end
end
"""


@pytest.mark.proves("S2-ENG-01", "S2-SEQ-01", "S2-PRE-01", "S2-MARK-01")
def test_seven_stages_are_declared_as_data_and_run_by_the_one_engine(tmp_path: Path) -> None:
    pack = packs.pack("rspec", str(tmp_path))
    assert tuple(stage.name for stage in pack.stages) == AGENTS
    code = RspecPipeline(pack)
    assert isinstance(code, Pipeline)
    for stage in pack.stages:
        plain = stage.full()
        assert plain["marker"] == f"/automation/{snake(stage.name)}_completed"
        assert list(plain["sets"]) == [f"/automation/{snake(stage.name)}_version"]
        assert plain["after"] == (before(stage.name) or "")
        assert set(stage.criteria) <= set(code.criteria)
        assert set(stage.requires) <= set(code.checks)
        assert stage.name in code.stages
    needs = {stage.name: stage.reads for stage in pack.stages}
    assert "source" in needs["code-analyzer"]
    assert all("document" in needs[agent] for agent in AGENTS[1:])
    assert all("spec" in needs[agent] for agent in AGENTS[5:])
    assert {stage.agent for stage in packs.pack("rspec-v1", str(tmp_path)).stages} <= {"none", "required", "optional"}


def given(values: dict[str, Any], tmp_path: Path, **parameters: Any) -> StageInput:
    stage = next(one for one in packs.pack("rspec", str(tmp_path)).stages if one.name == "factory-agent")
    target = Target(id="a", root=str(tmp_path), paths={})
    return StageInput(stage=stage, target=target, document=values, parameters=parameters)


@pytest.mark.proves("S2-FACT-02")
def test_the_factory_stage_is_skipped_without_a_model_or_a_gem(tmp_path: Path) -> None:
    values = document()
    assert need_factories(given(values, tmp_path, factories=True)).skip == ""
    assert need_factories(given(values, tmp_path, factories=False)).skip == NO_FACTORIES
    for method in values["methods"]:
        for one in method["characteristics"]:
            one["setup"] = {"type": "data", "class": None}
    assert need_factories(given(values, tmp_path, factories=True)).skip == NO_MODEL


@pytest.mark.proves("S2-FACT-02", "S2-FACT-01")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"    trait(:old) { year { 1 } }\n", b"", "the trait old of the factory book was removed"),
        (b"year { 1 }", b"year { 2 }", "the trait old of the factory book was changed"),
        (b"title { 'A' }", b"title { 'B' }", "`title { 'A' }` was changed or removed (line 6 before)"),
        (b"factory :book", b"factory :novel", "the factory book was removed"),
        (b"  end\nend", b"  end\n (", "does not parse"),
        (b"  sequence(:year) { |n| n }\n", b"", "`sequence(:year) { |n| n }` was changed or removed (line 3 before)"),
        (b"{ |n| n }", b"{ |n| n + 1 }", "`sequence(:year) { |n| n }` was changed or removed (line 3 before)"),
        (b"# All books\n", b"", "`# All books` was changed or removed (line 1 before)"),
        (b"    # a title\n", b"", "`# a title` was changed or removed (line 5 before)"),
    ],
)
def test_existing_factories_and_traits_may_not_be_removed_or_changed(old: bytes, new: bytes, said: str) -> None:
    path = "spec/factories/books.rb"
    problems = [text for _, text, _ in factory_problems({path: FACTORY}, {path: FACTORY.replace(old, new)})]
    assert any(said in text for text in problems), problems
    assert [text for _, text, _ in factory_problems({path: FACTORY}, {})] == ["the file was removed"]


@pytest.mark.proves("S2-FACT-02", "S2-FACT-01")
def test_factories_and_traits_may_be_added() -> None:
    path = "spec/factories/books.rb"
    more = FACTORY.replace(b"    trait(:old)", b"    trait(:new) { year { 9 } }\n    trait(:old)")
    more = more.replace(b"end\nend", b"end\n\n  factory(:author) { name { 'X' } }\nend")
    assert list(factory_problems({path: FACTORY}, {path: more})) == []
    commented = more.replace(b"    trait(:new)", b"    # of this year\n    trait(:new)")
    assert list(factory_problems({path: FACTORY}, {path: commented})) == []
    bare = b"FactoryBot.define do\n  factory :book\nend\n"
    block = bare.replace(b":book", b":book do\n    trait(:new) { year { 9 } }\n  end")
    assert list(factory_problems({path: bare}, {path: block})) == []
    assert traits_by_file({path: FACTORY}, {path: more}) == {path: ({"old", "new"}, {"new"})}


@pytest.mark.proves("S2-IMPL-06", "S2-ENR-03", "S2-ENG-01")
def test_warnings_of_an_agent_are_in_the_document_and_a_changed_selection_starts_over(shop: Shop) -> None:
    shop.write("app/services/desk.rb", "class Desk\n  def open\n    1\n  end\n\n  def close\n    2\n  end\nend\n")
    shop.open("warns")
    declared = shop.rspec("stages")
    assert [one["name"] for one in declared] == list(AGENTS)
    assert declared[2]["owns"] == ["/methods/*/test_config"] or declared[2]["owns"] == ("/methods/*/test_config",)
    shop.rspec("cover", branch=True, only="Desk#open")
    first = shop.document("app_services_desk")
    assert "test_implementer: Factory trait :premium not found" in first["automation"]["warnings"]
    assert [one["name"] for one in first["methods"]] == ["open"]
    assert first["methods_to_analyze"][1] | {"line_range": []} == {
        "name": "close",
        "method_mode": "new",
        "line_range": [],
        "selected": False,
        "skip_reason": "User deselected",
    }
    shop.rspec("cover", branch=True, all=True)
    second = shop.document("app_services_desk")
    assert {one["name"] for one in second["methods"]} == {"open", "close"}
    assert len([one for one in shop.asked() if "test-implementer" in one]) == 2
