"""A class with methods in two waves, or covered method by method: what is complete, what is reused, what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import Refused
from moot.packs.rspec.agents import AGENTS, is_completed
from tests.specs.rspec.test_runs import CHECKOUT, CUSTOMER

if TYPE_CHECKING:
    from moot.core.run import Run
    from tests.specs.rspec.shop import Shop

TILL = """\
class Till
  def open(key)
    return :closed if key.nil?

    :open
  end

  def close(key)
    raise ArgumentError if key.nil?

    :closed
  end
end
"""


def runs_of(shop: Shop, target: str) -> list[Run]:
    """The runs of a target, oldest first."""
    with Workspace(str(shop.root)) as workspace:
        return sorted((run for run in workspace.runs() if run.target == target), key=lambda run: run.at)


def stages_of(run: Run) -> dict[str, str]:
    """The stages of a run that were carried out, each with how it ended; not those that were reused."""
    return {attempt.stage: attempt.status for attempt in run.tries if not attempt.source}


def stocked(shop: Shop, behaviour: str = "honest") -> None:
    """A shop whose checkout has a method in the first wave, and one in the second."""
    shop.stock("models/customer", "models/book", "services/checkout")
    shop.write("Gemfile", "")  # without factories, so that only one agent is needed
    shop.open(behaviour)


@pytest.mark.proves("S2-HARD-03", "S2-MARK-02")
def test_the_first_wave_does_not_complete_a_stage_for_the_second(shop: Shop) -> None:
    stocked(shop, "trips")
    with pytest.raises(Refused, match="test-implementer failed for Checkout"):
        shop.cover()
    first, second = runs_of(shop, CHECKOUT), runs_of(shop, f"{CHECKOUT}@1")
    assert [stages_of(run)["test-implementer"] for run in (*first, *second)] == ["passed", "failed"]
    document = shop.document(CHECKOUT)
    assert {entry["name"]: entry["selected"] for entry in document["methods_to_analyze"]} == {
        "total": True,
        "reduced": True,
    }
    complete = {agent: is_completed(document, agent) for agent in AGENTS}
    assert complete == {agent: agent not in ("test-implementer", "test-reviewer") for agent in AGENTS}
    with pytest.raises(Refused, match="test-implementer"):
        shop.rspec("stage", slug=CHECKOUT, name="test-reviewer")
    (shop.root.parent / "calm").touch()
    asked = shop.asked()
    assert all(one.tests_passed for one in shop.rspec("resume").files)
    assert all(is_completed(shop.document(CHECKOUT), agent) for agent in AGENTS)
    assert shop.asked()[len(asked) :] == ["You are test-implementer: app/services/checkout.rb"]
    assert stages_of(runs_of(shop, CHECKOUT)[-1]) == stages_of(first[-1]), (
        "what passed in the first wave is not repeated"
    )


@pytest.mark.proves("S2-HARD-03", "S2-CACHE-01")
def test_a_marker_is_false_again_while_the_second_wave_is_not_done(shop: Shop) -> None:
    """The document as each stage of the second wave finds it: its own marker, true from the first, is taken back."""
    stocked(shop)
    shop.cover()
    with Workspace(str(shop.root)) as workspace:
        streams = [one for one in workspace.log(limit=5000) if one.stream.endswith(f"metadata.{CHECKOUT}")]
    for agent in AGENTS:
        pointer = f"/automation/{agent.replace('-', '_')}_completed"
        values = [one.data["set"][pointer] for one in streams if pointer in (one.data.get("set") or {})]
        assert values.count(True) == 2, agent
        between = values[values.index(True) + 1 :]
        assert between[0] is False, agent
        assert values[-1] is True, agent


@pytest.mark.proves("S2-CACHE-01", "S2-CACHE-02")
def test_nothing_runs_again_in_either_wave_while_nothing_has_changed(shop: Shop) -> None:
    stocked(shop)
    shop.cover()
    asked = shop.asked()
    for _ in range(2):
        shop.cover()
        for target in (CUSTOMER, CHECKOUT, f"{CHECKOUT}@1"):
            assert stages_of(runs_of(shop, target)[-1]) == {"test-reviewer": "passed"}
    assert shop.asked() == asked


@pytest.mark.proves("S2-META-04", "S2-HARD-06")
def test_an_edit_of_the_document_after_both_waves_is_kept_and_only_what_depends_on_it_runs(shop: Shop) -> None:
    stocked(shop)
    shop.cover()
    path = shop.root / f"tmp/rspec_metadata/{CHECKOUT}.yml"
    text = path.read_text()
    assert "description: returns 0\n" in text
    path.write_text(text.replace("description: returns 0\n", "description: costs nothing\n"))
    report = shop.cover()
    assert [one.tests_passed for one in report.files] == [True] * 4, "no question is asked about a block of moot's own"
    assert 'it "costs nothing" do' in shop.file("spec/services/checkout_spec.rb")
    assert "description: costs nothing\n" in path.read_text()
    assert stages_of(runs_of(shop, CUSTOMER)[-1]) == {"test-reviewer": "passed"}
    for target in (CHECKOUT, f"{CHECKOUT}@1"):
        done = stages_of(runs_of(shop, target)[-1])
        assert not {"discovery-agent", "code-analyzer"} & set(done)


@pytest.mark.proves("S2-HARD-06", "S2-REC-01")
def test_an_edit_of_the_spec_after_both_waves_is_not_overwritten(shop: Shop) -> None:
    stocked(shop)
    shop.cover()
    path = shop.root / "spec/services/checkout_spec.rb"
    path.write_text(path.read_text().replace("    let(:value)", "    # mine\n      let(:value)", 1))
    report = shop.cover()
    assert path.read_text().count("# mine") == 1
    assert [one.tests_passed for one in report.files] == [True] * 4


@pytest.mark.proves("S2-AN-02")
def test_the_methods_of_a_class_can_be_covered_one_after_the_other(shop: Shop) -> None:
    shop.write("app/services/till.rb", TILL)
    shop.open()
    for method in ("open", "close", "open"):
        report = shop.rspec("cover", path="app/services/till.rb", only=[f"*#{method}"])
        assert [list(one.examples) for one in report.files] == [[f"#{method}"]]
        document = shop.document("app_services_till")
        assert [one["name"] for one in document["methods"]] == [method]
        assert all(is_completed(document, agent) for agent in AGENTS)
    spec = shop.file("spec/services/till_spec.rb")
    assert spec.count('describe "#open"') == spec.count('describe "#close"') == 1
    assert spec.count("expect(value).to eq(1)") == 4
    report = shop.rspec("cover", path="app/services/till.rb", yes=True)
    assert [set(one.examples) for one in report.files] == [{"#open", "#close"}]
    assert [one["name"] for one in shop.document("app_services_till")["methods"]] == ["open", "close"]


def test_the_reasons_of_an_unchanged_run_say_what_is_reused(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open()
    shop.cover()
    shop.cover()
    lines = shop.moot("run", "explain", runs_of(shop, CUSTOMER)[-1].id).splitlines()
    for agent in AGENTS[:-1]:
        assert any(f"{agent} was reused" in line for line in lines), lines
