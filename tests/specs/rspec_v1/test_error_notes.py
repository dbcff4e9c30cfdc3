"""A failing stage notes its error in the document, and in the log."""

from __future__ import annotations

import json

import pytest

from moot import Workspace
from moot.packs.rspec.architect import THEIRS
from moot.packs.rspec_v1.methods import RspecV1Methods
from tests.specs.rspec_v1.shop import METADATA, SOURCE, SPEC, Shop

MISSING = "app/services/missing.rb"
PLACE = "tmp/rspec_claude_metadata/metadata_app_services_missing.yml"
NOTE = f"analyzer: Source file not found: {MISSING}"


@pytest.mark.proves("S1-ERR-01", "S1-ERR-02", "S1-CACHE-02")
def test_the_sample_of_the_protocol_leaves_a_document_with_the_error_alone_that_no_cache_check_accepts(
    shop: Shop,
) -> None:
    said = shop.rspec("analyzer", MISSING, "go")
    assert (said.code, said.out) == (1, "")
    assert f"Error: Source file not found: {MISSING}\n" in said.err
    assert shop.document(PLACE) == {"automation": {"errors": [NOTE]}}
    assert f'  errors:\n    - "{NOTE}"\n' in shop.read(PLACE)
    [failed] = shop.events("run:failed")
    assert (failed["data"]["stage"], failed["data"]["reason"]) == ("analyzer", f"Source file not found: {MISSING}")
    shop.write(MISSING, "class Missing\n  def go(a)\n    a ? 1 : 2\n  end\nend\n")
    assert json.loads(shop.rspec("validate", MISSING).out)["valid"] is False
    assert shop.rspec("cache", MISSING).out == "INVALID\n"
    assert shop.rspec("validate", PLACE).code == 1
    with Workspace(shop.root, person=True) as workspace:
        assert workspace.pack(RspecV1Methods).metadata_valid(MISSING) is False
    said = shop.rspec("analyzer", MISSING, "go")
    assert "Running analysis (cache invalid or missing): analysis incomplete" in said.err
    assert shop.document(PLACE)["automation"].get("errors", []) == []


@pytest.mark.proves("S1-ERR-02", "S1-HARD-16")
@pytest.mark.parametrize("stage", ["architect", "implementer", "factory_optimizer"])
def test_the_error_of_each_agent_is_noted_with_its_hyphenated_name(shop: Shop, stage: str) -> None:
    shop.write("spec/factories/users.rb", "FactoryBot.define { factory(:user) { trait(:signed_in) {} } }\n")
    modes = {"implementer": "create", stage: "quoted"} if stage == "factory_optimizer" else {stage: "quoted"}
    shop.agents(**modes)
    said = shop.run()
    assert (said.code, said.out) == (1, "")
    message = "Cannot determine method signature"
    assert f"Error: {message}\n" in said.err
    note = f"{stage.replace('_', '-')}: {message}"
    assert shop.document()["automation"]["errors"] == [note]
    assert f'  errors:\n    - "{note}"\n' in shop.read(METADATA)
    assert [one["data"]["reason"] for one in shop.events("run:failed")] == [message]
    [found] = [one for one in shop.json("errors", SPEC) if one["kind"] == "error"]
    assert (found["stage"], found["text"], found["current"]) == (stage, note, True)


@pytest.mark.proves("S1-ERR-02")
def test_an_error_is_appended_to_those_of_other_stages_and_replaces_that_of_its_own(shop: Shop) -> None:
    shop.agents(architect="quoted")
    shop.run()
    first = "architect: Cannot determine method signature"
    assert shop.document()["automation"]["errors"] == [first]
    (shop.root / SPEC).unlink()
    own = "RSpec.describe Payment do\n  describe '#process' do\n  end\nend\n"
    for _ in range(2):
        shop.write(SPEC, own)
        assert shop.run("--again").code == 1
        second = f"skeleton: {SPEC}:2: {THEIRS.format('#process')}"
        assert shop.document()["automation"]["errors"] == [first, second]
    shop.agents(architect="odd_error")
    assert shop.run("--again", "--overwrite").code == 1
    [last] = shop.document()["automation"]["errors"]
    assert last.startswith("architect: a ")


@pytest.mark.proves("S1-ERR-02", "S1-META-08")
def test_an_error_with_quotes_line_breaks_and_yaml_in_it_is_one_item_of_the_list(shop: Shop) -> None:
    shop.agents(architect="odd_error")
    assert shop.run().code == 1
    [note] = shop.document()["automation"]["errors"]
    assert note.startswith("architect: ")
    assert 'a "quoted" word: - yes # no {x}' in note


@pytest.mark.proves("S1-ERR-02")
def test_if_the_place_of_the_document_cannot_be_written_the_log_and_standard_error_remain(shop: Shop) -> None:
    (shop.root / PLACE).mkdir(parents=True)
    said = shop.rspec("analyzer", MISSING, "go")
    assert (said.code, said.out) == (1, "")
    assert "is not a regular file" in said.err
    assert any("is not a regular file" in one["data"].get("reason", "") for one in shop.events("run:"))
    assert (shop.root / PLACE).is_dir()


@pytest.mark.proves("S1-ERR-02", "S1-VAL-01")
def test_an_error_of_a_stage_without_an_agent_is_noted_as_well(staffed: Shop) -> None:
    own = "RSpec.describe Payment do\n  describe '#process' do\n    it('is mine') { expect(1).to eq(1) }\n  end\nend\n"
    staffed.write(SPEC, own)
    said = staffed.run()
    assert (said.code, said.out) == (1, "")
    [note] = staffed.document()["automation"]["errors"]
    assert note == f"skeleton: {SPEC}:2: {THEIRS.format('#process')}"
    assert SOURCE in said.err
