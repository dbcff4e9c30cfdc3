"""What must hold before a stage starts, and what is said if it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moot.core.strict_yaml import load
from tests.specs.rspec_v1.shop import METADATA, SOURCE, SPEC, Shop


@pytest.fixture
def begun(staffed: Shop) -> Shop:
    """Analyzer, validation and skeleton have run."""
    staffed.rspec("analyzer", SOURCE, "process")
    staffed.rspec("skeleton", SOURCE)
    return staffed


def untouched(shop: Shop, *words: str) -> str:
    """Run a command that must fail and change nothing. Returns what it says."""

    def contents() -> dict[str, str]:
        """Without the first line of the document, which names its version."""
        there = [path for path in (METADATA, SPEC) if (shop.root / path).exists()]
        return {path: shop.read(path).partition("\n")[2] for path in there}

    before = contents()
    said = shop.rspec(*words)
    assert (said.code, said.out) == (1, ""), said
    assert contents() == before
    return said.err


@pytest.mark.proves("S1-PRE-01", "S1-PRE-02", "S1-ISS-01")
def test_a_stage_without_its_predecessor_is_refused_by_name(begun: Shop) -> None:
    err = untouched(begun, "implementer", SPEC)
    assert err.startswith("Error: rspec-architect has not completed successfully.\nRun rspec-architect first.\n")
    err = untouched(begun, "polisher", SPEC)
    assert err.startswith("Error: rspec-architect has not completed successfully")


@pytest.mark.proves("S1-PRE-02")
def test_architect_without_an_analysis_is_refused(shop: Shop) -> None:
    shop.agents()
    shop.write(SOURCE, "class Payment\n def other; end\nend\n")
    assert shop.rspec("analyzer", SOURCE, "process").code == 1
    err = untouched(shop, "architect", SOURCE)
    assert err.startswith("Error: rspec-analyzer has not completed successfully.\nRun rspec-analyzer first.\n")


@pytest.mark.proves("S1-PRE-03")
def test_an_invalid_document_stops_every_stage_and_lists_its_errors(begun: Shop) -> None:
    text = begun.read(METADATA).replace("level: 2", "level: 7")
    begun.write(METADATA, text.replace("method_type: instance", "method_type: module"))
    for stage in ("skeleton", "architect", "implementer", "factory-optimizer", "reviewer"):
        assert untouched(begun, stage, METADATA).splitlines() == [
            "Error: Invalid metadata format.",
            "Re-run rspec-analyzer.",
            '  - target.method_type: expected instance or class, got "module"',
            "  - characteristics[1].level: expected 2, one more than that of user_authenticated, got 7",
        ]


@pytest.mark.proves("S1-PRE-04")
def test_a_missing_spec_or_source_is_named(begun: Shop) -> None:
    (begun.root / SPEC).rename(begun.root / "aside.rb")
    err = untouched(begun, "architect", METADATA)
    assert err == f"Error: Spec file not found: {SPEC}.\nRestore it, or run the pipeline again.\n"
    (begun.root / "aside.rb").rename(begun.root / SPEC)
    (begun.root / SOURCE).unlink()
    err = untouched(begun, "architect", SPEC)
    assert err == f"Error: Source file not found: {SOURCE}.\nRestore it, or run the pipeline again.\n"


@pytest.mark.proves("S1-TEST-02", "S1-HARD-09")
def test_a_corrupted_document_is_put_aside_named_with_its_place_and_can_be_restored(begun: Shop) -> None:
    good = begun.document()
    begun.write(METADATA, "invalid yaml [[[")
    spec = begun.read(SPEC)
    said = begun.rspec("architect", SPEC)
    assert (said.code, said.out) == (1, "")
    assert METADATA in said.err
    assert "line 1" in said.err
    assert "column" in said.err
    assert begun.read(METADATA) == "invalid yaml [[[", "nothing is repaired without being asked"
    assert begun.read(SPEC) == spec
    listed = json.loads(begun("doc", "list", "--json").out)["result"]
    (key,) = {one["id"] for one in listed}
    assert begun("doc", "restore", key).code == 0
    assert begun.document() == good


@pytest.mark.proves("S1-MARK-04")
@pytest.mark.parametrize(
    "line", ['  architect_completed: "true"', "  architect_completed: false # true", "  other: architect_completed"]
)
def test_only_the_boolean_true_at_the_exact_key_is_a_marker(begun: Shop, line: str) -> None:
    text = begun.read(METADATA)
    begun.write(METADATA, text.replace("  architect_completed: false", line))
    assert begun.rspec("implementer", SPEC).code == 1
    assert load((begun.root / METADATA).read_bytes())["automation"].get("architect_completed") is not True


OUT_OF_ORDER = [
    # the marker that somebody sets, and what is said
    ("implementer_completed", "rspec-architect has not completed"),
    ("factory_optimizer_completed", "rspec-architect has not completed"),
    ("polisher_completed", "rspec-architect has not completed"),
    ("architect_completed", "only a run that has checked rspec-architect sets it"),
]


@pytest.mark.proves("S1-HARD-01", "S1-MARK-02")
@pytest.mark.parametrize(("marker", "why"), OUT_OF_ORDER)
def test_a_marker_that_a_person_sets_is_turned_back_and_reported_with_what_is_missing(
    begun: Shop, marker: str, why: str
) -> None:
    before = begun.document()
    begun.write(METADATA, begun.read(METADATA).replace(f"{marker}: false", f"{marker}: true"))
    assert begun.document() != before
    said = begun.rspec("status", SOURCE)
    assert f"Warning: {begun.root}/{METADATA}: /automation/{marker}: true is not accepted: {why}." in said.err
    assert begun.document() == before, "rendered back from the log"
    [refused] = begun.events("document:refused")
    assert refused["data"]["set"] == {f"/automation/{marker}": True}, "what was refused is on record"
    assert begun.states()[marker.removesuffix("_completed")] == "pending"


@pytest.mark.proves("S1-MARK-02", "S1-HARD-01", "S1-INSP-02")
@pytest.mark.parametrize(
    ("stage", "why"),
    [
        ("architect", "only a run that has checked rspec-architect sets it"),
        ("polisher", "rspec-architect has not completed"),
    ],
)
def test_the_other_form_of_a_marker_is_a_claim_too(begun: Shop, stage: str, why: str) -> None:
    before = begun.document()
    begun.write(METADATA, begun.read(METADATA) + f"{stage}:\n  completed: true\n")
    said = begun.rspec("status", SOURCE)
    assert f"/{stage}/completed: true is not accepted: {why}." in said.err
    assert begun.document() == before


@pytest.mark.proves("S1-MARK-02", "S1-HARD-01", "S1-INSP-02")
@pytest.mark.parametrize("mode", ["other_form", "other_form_alone"])
def test_an_agent_may_claim_in_the_other_form_and_moot_renders_its_own(shop: Shop, mode: str) -> None:
    shop.agents(architect=mode, implementer="none")
    said = shop.run()
    worked = mode == "other_form"
    assert ("architect passed" in said.err) == worked, said.err
    assert shop.document()["automation"]["architect_completed"] is worked
    assert "architect" not in shop.document(), "the claim itself is not rendered"
    assert worked or any("is left" in one for one in shop.document()["automation"]["errors"])


@pytest.mark.parametrize("marker", ["architect", "implementer", "polisher"])
def test_before_the_skeleton_a_marker_is_reported_with_that_as_missing_and_the_stages_run_as_if_it_were_not_there(
    staffed: Shop, marker: str
) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    text = staffed.read(METADATA).replace(f"{marker}_completed: false", f"{marker}_completed: true")
    assert text != staffed.read(METADATA)
    staffed.write(METADATA, text)
    said = staffed.run()
    assert f"/automation/{marker}_completed: true is not accepted: rspec-skeleton has not completed." in said.err
    assert f"\n{marker} passed" in said.err, "it is not taken for completed"


@pytest.mark.proves("S1-PRE-02")
def test_a_marker_out_of_order_lets_no_stage_start_and_is_reported_also_if_the_command_fails(begun: Shop) -> None:
    begun.write(METADATA, begun.read(METADATA).replace("implementer_completed: false", "implementer_completed: true"))
    said = begun.rspec("factory-optimizer", SPEC)
    assert said.code == 1
    assert said.err.startswith("Error: rspec-architect has not completed successfully.\nRun rspec-architect first.\n")
    assert "implementer_completed: true is not accepted: rspec-architect has not completed." in said.err


@pytest.mark.proves("S1-LIFE-01")
def test_a_marker_of_a_later_stage_that_an_agent_sets_fails_its_own_stage(shop: Shop) -> None:
    shop.agents(architect="hasty", implementer="none")
    said = shop.run()
    assert said.code == 1
    assert "/automation/polisher_completed: true is not accepted: rspec-architect has not completed" in said.err
    automation = shop.document()["automation"]
    assert (automation["architect_completed"], automation["polisher_completed"]) == (False, False)
    assert any("polisher_completed" in one for one in automation["errors"])


@pytest.mark.proves("S1-ISS-04", "S1-META-09")
def test_deleting_the_document_resets_the_target(begun: Shop) -> None:
    (begun.root / METADATA).unlink()
    said = begun.rspec("analyzer", SOURCE, "process")
    assert "Running analysis (cache invalid or missing): metadata not found" in said.err
    assert begun.document()["automation"]["skeleton_generated"] is False


@pytest.mark.proves("S1-META-09")
def test_a_person_may_rename_a_characteristic_before_the_skeleton_is_made(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    text = staffed.read(METADATA).replace("name: amount", "name: sum").replace("> 10", "enough")
    staffed.write(METADATA, text)
    said = staffed.rspec("skeleton", SOURCE)
    assert said.code in (0, 2), said.err
    assert "sum is enough" in staffed.read(SPEC)


@pytest.mark.proves("S1-AN-03", "S1-ERR-01", "S1-ERR-02", "S1-AN-02")
@pytest.mark.parametrize(
    ("source", "method", "text"),
    [
        ("class A\n def one; end\n def two; end\nend\n", "three", "one"),
        ("class A\n def go; end\nend\nclass B\n def go; end\nend\n", "go", "A"),
        ("class A\n def go\n  if (\n end\nend\n", "go", "line"),
        ("", "go", ""),
        ("\x00binary", "go", "NUL"),
    ],
)
def test_a_source_that_cannot_be_analysed_says_why(shop: Shop, source: str, method: str, text: str) -> None:
    shop.write("app/a.rb", source)
    said = shop.rspec("analyzer", "app/a.rb", method)
    assert (said.code, said.out) == (1, ""), said
    assert "Error: " in said.err
    assert text in said.err
    document = shop.document("tmp/rspec_claude_metadata/metadata_app_a.yml")
    assert document["automation"]["errors"][0].startswith("analyzer: ")
    assert not any(value is True for value in document["automation"].values())
    assert shop.rspec("cache", "app/a.rb").out == "INVALID\n"


@pytest.mark.proves("S1-ERR-01", "S1-ERR-02")
def test_a_missing_source_is_an_error_that_the_document_notes(shop: Shop) -> None:
    said = shop.rspec("analyzer", "app/services/missing.rb", "go")
    assert (said.code, said.out) == (1, "")
    assert "Error: Source file not found: app/services/missing.rb" in said.err
    document = shop.document("tmp/rspec_claude_metadata/metadata_app_services_missing.yml")
    assert document["automation"]["errors"] == ["analyzer: Source file not found: app/services/missing.rb"]


@pytest.mark.proves("S1-HARD-10")
@pytest.mark.parametrize(
    "text",
    ["a: !ruby/object:Foo {}\n", "a: &x 1\nb: *x\n", "a: 1\na: 2\n", "a: 1\n---\nb: 2\n", "a:\n\t- 1\n", "- 1\n"],
)
def test_yaml_that_could_mean_two_things_is_refused_with_its_line(begun: Shop, text: str) -> None:
    begun.write(METADATA, text)
    said = begun.rspec("architect", SPEC)
    assert said.code == 1
    assert "line " in said.err
    said = begun.rspec("validate", METADATA)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"Error: Invalid metadata format in {begun.root}/{METADATA}")


@pytest.mark.proves("S1-HARD-07", "S1-SKEL-01")
def test_an_existing_block_stops_the_skeleton_until_somebody_decides(staffed: Shop) -> None:
    own = "RSpec.describe Payment do\n  describe '#process' do\n    it('is mine') { expect(1).to eq(1) }\n  end\nend\n"
    staffed.write(SPEC, own)
    staffed.rspec("analyzer", SOURCE, "process")
    said = staffed.rspec("skeleton", SOURCE)
    assert said.code == 1
    assert f"{SPEC}:2: moot did not write the block of #process" in said.err
    assert "--overwrite" in said.err
    assert staffed.read(SPEC) == own
    assert staffed.rspec("skeleton", SOURCE, "--overwrite").code in (0, 2)
    assert "is mine" not in staffed.read(SPEC)


@pytest.mark.proves("S1-VAL-04")
def test_validate_prints_one_json_object(begun: Shop, folder: Path) -> None:
    said = begun.rspec("validate", METADATA)
    path = f"{begun.root}/{METADATA}"
    assert (said.code, json.loads(said.out)) == (
        0,
        {"valid": True, "errors": [], "warnings": [], "metadata_path": path},
    )
    text = begun.read(METADATA)
    (begun.root / SOURCE).rename(folder / "aside")
    said = begun.rspec("validate", METADATA)
    assert said.code == 2
    assert json.loads(said.out)["warnings"] == [f"target.file: {SOURCE} does not exist"]
    bad = folder / "metadata_bad.yml"
    bad.write_text(text.replace("test_level: unit", "test_level: system"))
    said = begun.rspec("validate", str(bad))
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"Error: Invalid metadata format in {bad}")
    assert "test_level: expected unit, integration, request or e2e" in said.err


@pytest.mark.proves("S1-INSP-05", "S1-INSP-04")
def test_queries_answer_about_the_cache_and_the_characteristics(begun: Shop) -> None:
    path = f"{begun.root}/{METADATA}"
    assert begun.rspec("path", f"./{SOURCE}").out == f"{path}\n"
    assert begun.rspec("dir", SOURCE).out == f"{begun.root}/tmp/rspec_claude_metadata\n"
    assert json.loads(begun.rspec("validate", SOURCE).out) == {"valid": True, "metadata_path": path, "reason": None}
    assert begun.rspec("cache", SOURCE).out == "VALID\n"
    assert begun.rspec("characteristics", SOURCE).out.splitlines() == [
        "user_authenticated (binary, line 3): user_authenticated, not_user_authenticated",
        "  amount (range, line 4): > 10, <= 10 when user_authenticated is user_authenticated",
    ]
    begun.write(SOURCE, begun.read(SOURCE) + "\n")
    said = begun.rspec("validate", SOURCE)
    assert said.code == 0
    assert json.loads(said.out)["reason"] == "source file modified"
    detail = begun.rspec("cache", SOURCE, "--detail").out
    assert detail.startswith("INVALID\n")
    assert "step 5: " in detail
    assert "cached mtime: " in detail
    for words in (("validate", "app/none.rb"), ("validate", "README.md"), ("path", "README.md")):
        said = begun.rspec(*words)
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith("Error: ")


@pytest.mark.proves("S1-ENG-01", "S1-REL-01")
def test_declarations_and_the_contract_can_be_queried(staffed: Shop) -> None:
    stages = json.loads(staffed.rspec("stages").out)
    assert [one["name"] for one in stages][:3] == ["analyzer", "validation", "skeleton"]
    assert len(stages) == 8
    for one in stages:
        assert {"reads", "criteria"} <= set(one)
    for part in ("exit_code", "path", "cache_step", "schema", "stages"):
        assert json.loads(staffed.rspec("contract", part).out)
    assert len(staffed.rspec("rules").out.splitlines()) == 28


@pytest.mark.proves("S1-REV-06")
def test_reviewer_works_alone_on_any_spec_file(shop: Shop) -> None:
    shop.write("spec/other_spec.rb", "RSpec.describe String do\n  it('should work') { }\nend\n")
    said = shop.rspec("reviewer", "spec/other_spec.rb")
    assert said.code == 2
    assert "Warning: without a metadata document, left out: rule 5" in said.err
    report = Path(said.out.strip()).read_text()
    assert report.startswith("# RSpec review: spec/other_spec.rb")
    assert "| 2 | Every example verifies something | must | violation |" in report
