"""The whole pipeline with agents that behave well, real Ruby and real RSpec."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.specs.rspec_v1.shop import METADATA, REPORT, SOURCE, SPEC, STAGES, Shop

pytestmark = pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
SECTIONS = ["analyzer", "validation", "test_level", "target", "characteristics", "factories_detected", "automation"]
MARKERS = ("analyzer", "architect", "implementer", "factory_optimizer", "polisher")


@pytest.mark.proves(
    "S1-PUR-01",
    "S1-META-01",
    "S1-META-04",
    "S1-MARK-01",
    "S1-MARK-02",
    "S1-MARK-05",
    "S1-PRE-05",
    "S1-ERR-03",
    "S1-KEY-01",
    "S1-REP-01",
    "S1-REP-02",
    "S1-REV-05",
    "S1-FOPT-01",
    "S1-POL-01",
    "S1-POL-04",
    "S1-SPEC-02",
    "S1-INSP-01",
    "S1-INSP-02",
    "S1-LIFE-01",
    "S1-CACHE-04",
    "S1-CACHE-06",
    "S1-ISS-04",
    "S1-ENG-02",
)
def test_the_pipeline_writes_a_green_spec_and_a_second_run_does_nothing_again(staffed: Shop) -> None:
    said = staffed.run()
    assert (said.code, said.out) == (2, f"{staffed.root}/{REPORT}\n"), said.err
    assert "Running analysis (cache invalid or missing): metadata not found" in said.err
    started = [line for line in said.err.splitlines() if line.startswith("Prerequisites met")]
    agents = [stage.replace("_", "-") for stage in STAGES]
    assert started == [f"Prerequisites met, starting rspec-{agent}" for agent in agents]
    assert "factory_optimizer skipped: the spec has no factory calls" in said.err
    assert "Review of app/services/payment.rb Payment#process: passed: 20 rules passed" in said.err

    document = staffed.document()
    assert list(document) == SECTIONS
    assert all(document["automation"][f"{agent}_completed"] is True for agent in MARKERS)
    assert document["analyzer"]["completed"] is document["validation"]["completed"] is True
    assert document["automation"]["skeleton_generated"] is True
    assert document["automation"]["skeleton_file"] == SPEC
    assert not any("reviewer" in key for key in document["automation"])
    assert document["automation"]["linter"] is None

    events = [(e["type"], e["data"].get("stage")) for e in staffed.events("run:") if "stage" in e["data"]]
    done = ["run:skipped" if stage == "factory_optimizer" else "run:passed" for stage in STAGES]
    expected = [
        pair for stage, end in zip(STAGES, done, strict=True) for pair in (("run:started", stage), (end, stage))
    ]
    assert events == expected, "each stage ends before the next one starts"
    assert [e["data"]["outcome"] for e in staffed.events("run:ended")] == ["passed"]
    mail = staffed("inbox", "--peek", "--json")
    assert "20 rules passed" in mail.out
    assert REPORT in mail.out

    before = {path: staffed.read(path) for path in (SPEC, REPORT)}
    again = staffed.run()
    assert (again.code, again.out) == (said.code, said.out)
    assert f"Using cached metadata: {staffed.root}/{METADATA}" in again.err
    started = [line for line in again.err.splitlines() if line.startswith("Prerequisites met")]
    assert started == ["Prerequisites met, starting rspec-polisher"], "only the tests run again"
    assert {path: staffed.read(path) for path in before} == before
    assert all(staffed.document()["automation"][f"{agent}_completed"] is True for agent in MARKERS)
    assert {stage for stage, state in staffed.states().items() if state != "reused"} == {"polisher"}
    text = staffed.rspec("report", SOURCE)
    assert text.out == staffed.read(REPORT)

    versions = staffed.json("versions", SPEC)
    assert [(one["stage"], one["examples"]) for one in versions] == [
        *(("skeleton", 3), ("architect", 3), ("implementer", 3)),
    ]
    assert len({one["digest"] for one in versions}) == 3
    assert staffed.rspec("versions", SPEC, "--show", "3").out == staffed.read(SPEC)
    diff = staffed.rspec("versions", SPEC, "--diff", "2").out
    assert '-          skip "{EXPECTATION}"' in diff
    assert "+          expect(result).to eq(:large)" in diff
    assert staffed.rspec("versions", SPEC, "--show", "9").code == 1


@pytest.mark.proves("S1-TEST-01", "S1-AN-13", "S1-POL-06", "S1-MARK-01", "S1-PUR-02")
def test_stages_run_one_by_one_and_each_leaves_its_marker(staffed: Shop) -> None:
    assert staffed.rspec("analyzer", SOURCE, "process").out == f"{staffed.root}/{METADATA}\n"
    assert staffed.document()["automation"]["analyzer_completed"] is True
    assert staffed.document()["automation"]["architect_completed"] is False
    assert staffed.document()["validation"] == {"completed": True, "errors": [], "warnings": []}

    said = staffed.rspec("architect", METADATA)  # the skeleton comes by itself
    assert said.out == f"{staffed.root}/{SPEC}\n", said.err
    assert staffed.document()["validation"]["completed"] is True
    assert staffed.document()["automation"]["skeleton_generated"] is True
    assert staffed.document()["automation"]["architect_completed"] is True
    for word, path in (("implementer", SPEC), ("factory-optimizer", SOURCE)):
        assert staffed.rspec(word, path).code in (0, 2)
        assert staffed.document()["automation"][f"{word.replace('-', '_')}_completed"] is True
    assert not (staffed.root / REPORT).exists()

    said = staffed.rspec("polisher", SPEC)
    assert said.out == f"{staffed.root}/{REPORT}\n", said.err
    assert staffed.document()["automation"]["polisher_completed"] is True
    assert "Prerequisites met, starting rspec-reviewer" in said.err
    first = staffed.read(REPORT)
    assert staffed.rspec("reviewer", SPEC).code in (0, 2)
    assert staffed.read(REPORT) == first


@pytest.mark.proves("S1-WARN-01", "S1-WARN-02", "S1-FOPT-01", "S1-AN-11")
def test_a_warning_of_the_factory_optimizer_is_noted_and_the_pipeline_goes_on(shop: Shop) -> None:
    factories = "FactoryBot.define do\n factory(:user) { trait(:signed_in) { authenticated { true } } }\nend\n"
    shop.write("spec/factories/users.rb", factories)
    shop.write("spec/spec_helper.rb", HELPER_WITH_FACTORIES)
    shop.agents(implementer="create", factory_optimizer="warns")
    said = shop.run()
    assert said.code == 2, said.err
    assert "Warning: Factory trait :premium not found" in said.err
    assert shop.document()["factories_detected"] == {
        "user": {"file": "spec/factories/users.rb", "traits": ["signed_in"]}
    }
    automation = shop.document()["automation"]
    assert "factory-optimizer: Factory trait :premium not found, using attributes" in automation["warnings"]
    assert automation["factory_optimizer_completed"] is True
    assert automation["polisher_completed"] is True
    assert "build(:user, :signed_in)" in shop.read(SPEC)


HELPER_WITH_FACTORIES = """\
require 'factory_bot'
require_relative '../app/services/payment'
User = Struct.new(:authenticated) do
  def authenticated? = authenticated
end
FactoryBot.find_definitions
RSpec.configure { |config| config.include FactoryBot::Syntax::Methods }
"""


@pytest.mark.proves("S1-POL-03", "S1-POL-01")
@pytest.mark.skipif(shutil.which("rubocop") is None, reason="rubocop is not installed")
def test_rubocop_corrects_what_it_can_and_is_recorded(shop: Shop) -> None:
    rules = "AllCops:\n  NewCops: disable\n  SuggestExtensions: false\nMetrics:\n  Enabled: false\n"
    shop.write(".rubocop.yml", rules)
    shop.agents(implementer="untidy")
    said = shop.run()
    assert said.code in (0, 2), said.err
    assert "eq( :" not in shop.read(SPEC)
    assert shop.document()["automation"]["linter"] == "rubocop"
    assert "| 21 | The linter has no offences | should | passed |" in shop.read(REPORT)


@pytest.mark.proves("S1-TEST-03", "S1-HARD-04")
def test_a_touched_source_is_analysed_again_also_within_the_same_second(staffed: Shop) -> None:
    def analyse() -> str:
        return staffed.rspec("analyzer", SOURCE, "process").err

    source = staffed.root / SOURCE
    assert "metadata not found" in analyse()
    then = source.stat()
    os.utime(source, ns=(then.st_atime_ns, then.st_mtime_ns + 1))  # within the same second
    assert "Running analysis" in analyse()
    assert "Using cached metadata" in analyse()
    source.write_text(source.read_text() + "\n")
    os.utime(source, ns=(then.st_atime_ns, then.st_mtime_ns + 1))  # an edit that restores the mtime
    assert "Running analysis (cache invalid or missing): source file modified" in analyse()


def test_changed_factories_refresh_only_what_is_known_of_them(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    first = staffed.document()
    staffed.write("spec/factories/users.rb", "FactoryBot.define { factory(:user) { trait(:admin) } }\n")
    staffed.rspec("analyzer", SOURCE, "process")
    second = staffed.document()
    assert first["factories_detected"] == {}
    assert second["factories_detected"] == {"user": {"file": "spec/factories/users.rb", "traits": ["admin"]}}
    for section in ("analyzer", "target", "test_level", "characteristics"):
        assert second[section] == first[section], section


@pytest.mark.proves("S1-HARD-03")
def test_a_second_method_has_a_document_of_its_own_and_the_file_shows_the_current_one(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    said = staffed.rspec("analyzer", SOURCE, "refund")
    assert "Running analysis (cache invalid or missing): metadata of another target" in said.err
    assert staffed.document()["target"]["method"] == "refund"
    said = staffed.rspec("analyzer", SOURCE, "process")
    assert "Using cached metadata" in said.err
    assert staffed.document()["target"]["method"] == "process"
    listed = json.loads(staffed("doc", "list", "--json").out)["result"]
    assert len(listed) == 2


@pytest.mark.proves(
    "S1-FAIL-01", "S1-FAIL-02", "S1-FAIL-03", "S1-INSP-01", "S1-INSP-03", "S1-ERR-01", "S1-ERR-02", "S1-HARD-16"
)
def test_a_failed_stage_ends_the_run_and_resume_repeats_no_stage_that_passed(shop: Shop) -> None:
    shop.agents(implementer="quoted")
    said = shop.run()
    assert (said.code, said.out) == (1, "")
    assert "Error: Cannot determine method signature" in said.err
    states = shop.states()
    assert [states[stage] for stage in STAGES] == [*["completed"] * 4, "failed", *["pending"] * 3]
    assert "implementer: Cannot determine method signature" in shop.document()["automation"]["errors"]
    assert '  errors:\n    - "implementer: Cannot determine method signature"' in shop.read(METADATA)
    found = shop.json("errors", SOURCE)
    assert (found[0]["kind"], found[0]["stage"], found[0]["current"]) == ("error", "implementer", True)
    assert "architect_completed: true\n  implementer_completed: false\n" in shop.read(METADATA)

    shop.agents()
    said = shop.run("--resume")
    assert said.code == 2, said.err
    assert "architect reused" in said.err
    assert "errors" not in shop.document()["automation"] or shop.document()["automation"]["errors"] == []
    tries = [e["data"]["stage"] for e in shop.events("run:started")]
    assert tries.count("architect") == 1
    assert tries.count("implementer") == 2
    kept = shop.json("errors", SOURCE)
    assert any(one["stage"] == "implementer" and not one["current"] for one in kept), "the log keeps it"
