"""What a request must not cost: a document, its bytes, a context; and sources that cannot be read."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from moot.packs.rspec_v1 import analyzing, built_in
from tests.specs.rspec_v1.shop import METADATA, SOURCE, SPEC, Shop

TORN = "invalid yaml [[["
RUNS = "Running analysis (cache invalid or missing): "


@pytest.mark.parametrize("verb", ["analyzer", "run"])
@pytest.mark.parametrize("kind", ["pipe", "directory"])
def test_a_source_that_is_not_a_regular_file_is_refused_at_once(shop: Shop, verb: str, kind: str) -> None:
    (os.mkfifo if kind == "pipe" else os.mkdir)(shop.root / "app/services/f.rb")
    said = shop.rspec(verb, "app/services/f.rb", "x")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("Error: app/services/f.rb cannot be read: it is not a regular file.\nGive ")


@pytest.mark.proves("S1-ARCH-05", "S1-SKEL-01")
def test_a_context_that_was_removed_before_architect_fails_it(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    assert staffed.rspec("architect", SOURCE).code in (0, 2)
    text = staffed.read(SPEC)
    shorter = re.sub(r'\n +context "when NOT.*?\n    end\n', "\n", text, flags=re.DOTALL)
    assert shorter != text
    staffed.write(SPEC, shorter)
    for words in (("run", SOURCE, "process"), ("architect", SPEC)):
        said = staffed.rspec(*words)
        assert (said.code, said.out) == (1, ""), words
        assert "the contexts are not those of the characteristics" in said.err
        assert staffed.document()["automation"]["architect_completed"] is False
        assert staffed.read(SPEC) == shorter
    staffed.write(SPEC, text)
    assert staffed.rspec("architect", SPEC).code in (0, 2)


@pytest.mark.proves("S1-CACHE-02", "S1-TEST-02")
@pytest.mark.parametrize("method", ["process", "refund"])
def test_a_corrupted_document_leads_to_a_full_analysis_and_its_bytes_are_kept(staffed: Shop, method: str) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    good = staffed.document()
    staffed.write(METADATA, TORN)
    refused = staffed.rspec("architect", SOURCE)
    assert refused.code == 1
    assert f"{METADATA} cannot be parsed: expected a mapping, got text (line 1, column 1)" in refused.err
    assert "cached" not in refused.err
    assert staffed.read(METADATA) == TORN

    said = staffed.rspec("analyzer", SOURCE, method)
    assert said.code == 2, said.err
    assert f"{RUNS}metadata corrupted\nanalyzer passed" in said.err
    assert staffed.document()["target"]["method"] == method
    if method == "process":
        assert staffed.document()["characteristics"] == good["characteristics"]
    (held,) = json.loads(staffed("held", "--json").out)["result"]
    assert TORN in staffed("held", "show", held["id"]).out


@pytest.mark.proves("S1-CACHE-02")
def test_a_whole_run_also_starts_anew_from_a_corrupted_document(shop: Shop) -> None:
    shop.agents(architect="no_answer")
    shop.rspec("analyzer", SOURCE, "process")
    shop.write(METADATA, TORN)
    said = shop.run()
    assert f"{RUNS}metadata corrupted\nanalyzer passed" in said.err
    assert shop.states()["architect"] == "failed"
    assert shop.document()["analyzer"]["completed"] is True


@pytest.mark.proves("S1-CACHE-02")
def test_a_corrupted_document_of_another_program_is_put_aside_too(staffed: Shop) -> None:
    staffed.write(METADATA, TORN)
    said = staffed.rspec("analyzer", SOURCE, "process")
    assert said.code == 2, said.err
    assert f"{RUNS}metadata corrupted\nanalyzer passed" in said.err
    assert staffed.document()["validation"]["completed"] is True
    (held,) = json.loads(staffed("held", "--json").out)["result"]
    assert TORN in staffed("held", "show", held["id"]).out


@pytest.mark.proves("S1-ERR-02")
def test_an_unknown_method_is_noted_in_the_document_that_is_there(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    good = staffed.document()
    for verb in ("analyzer", "run", "analyzer"):
        said = staffed.rspec(verb, SOURCE, "nope")
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith("Error: The source has no method nope.")
        found = staffed.document()
        (error,) = found["automation"].pop("errors")
        assert error.startswith("analyzer: The source has no method nope.")
        assert found == {**good, "automation": {k: v for k, v in good["automation"].items() if k != "errors"}}
    assert any("no method nope" in str(one["data"]) for one in staffed.events("document:"))
    assert "Using cached metadata" in staffed.rspec("analyzer", SOURCE, "process").err


@pytest.mark.proves("S1-ERR-02")
def test_without_a_document_an_unknown_method_leaves_one_with_the_error_alone(staffed: Shop) -> None:
    assert staffed.rspec("analyzer", SOURCE, "nope").code == 1
    assert list(staffed.document()) == ["automation"]
    assert list(staffed.document()["automation"]) == ["errors"]


def test_again_uses_no_cached_analysis_and_does_not_say_so(shop: Shop) -> None:
    shop.agents(architect="no_answer")
    shop.run()
    said = shop.run("--again")
    assert "Using cached" not in said.err
    assert f"{RUNS}no earlier result is used\nanalyzer passed" in said.err


@pytest.mark.proves("S1-VAL-01", "S1-ISS-04", "S1-TEST-03")
def test_a_document_that_is_deleted_and_made_again_in_the_same_second_is_whole(
    staffed: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyzing, "_utc", lambda _now: "2026-01-01T00:00:00Z")  # all analyses in the same second
    staffed.rspec("analyzer", SOURCE, "process")
    whole = staffed.document()
    assert whole["validation"] == {"completed": True, "errors": [], "warnings": []}
    (staffed.root / METADATA).unlink()
    said = staffed.rspec("analyzer", SOURCE, "process")
    assert "metadata not found" in said.err
    assert staffed.document() == whole
    assert staffed.rspec("cache", SOURCE).out == "VALID\n"


@pytest.mark.proves("S1-VAL-01")
@pytest.mark.parametrize("line", ["  errors: []\n", "  warnings: []\n"])
def test_a_result_of_validation_that_somebody_removes_is_made_again(staffed: Shop, line: str) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    whole = staffed.document()["validation"]
    staffed.write(METADATA, staffed.read(METADATA).replace(line, "", 1))
    assert len(staffed.document()["validation"]) == 2
    assert staffed.rspec("skeleton", SOURCE).code in (0, 2)
    assert staffed.document()["validation"] == whole


@pytest.mark.proves("S1-HARD-07")
@pytest.mark.parametrize("before", ["", "RSpec.describe Payment do\nend\n"])
def test_a_spec_that_somebody_writes_while_the_skeleton_is_made_is_not_overwritten(
    staffed: Shop, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    if before:
        staffed.write(SPEC, before)
    make, mine = built_in.generate_skeleton, f"{before}# mine\n"

    def disturbed(*given: Any) -> Any:
        found = make(*given)
        staffed.write(SPEC, mine)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(built_in, "generate_skeleton", disturbed)
        said = staffed.rspec("skeleton", SOURCE)
    assert (said.code, said.out) == (1, "")
    assert f"Error: {SPEC} changed while the stage ran; nothing was overwritten\nRun it again.\n" in said.err
    assert staffed.read(SPEC) == mine
    assert staffed.document()["automation"]["skeleton_generated"] is False
    said = staffed.rspec("skeleton", SOURCE)
    assert said.code in (0, 2), said.err
    assert "# mine" in staffed.read(SPEC)


@pytest.mark.proves("S1-PRE-03", "S1-VAL-04")
def test_a_document_of_the_second_version_is_named_as_such_and_the_own_one_stays_in_the_log(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    own = staffed.document()
    other = f"source_file: {SOURCE}\nclass_name: Payment\nmethods:\n- name: process\n"
    staffed.write(METADATA, other)
    said = staffed.rspec("validate", METADATA)
    assert (said.code, said.out) == (1, "")
    assert "- document: it is one of the pipeline rspec (version 2), which version 1 cannot use" in said.err
    said = staffed.rspec("skeleton", SOURCE)
    assert said.err.startswith(
        "Error: Invalid metadata format\nRe-run rspec-analyzer.\n  - document: it is one of the "
    )
    assert not (staffed.root / SPEC).exists()
    assert staffed.rspec("analyzer", SOURCE, "process").code in (0, 2)
    again = staffed.document()
    assert {name: again[name] for name in ("target", "characteristics", "validation")} == {
        name: own[name] for name in ("target", "characteristics", "validation")
    }
    assert again["class_name"] == "Payment", "keys that nobody knows here are kept"
