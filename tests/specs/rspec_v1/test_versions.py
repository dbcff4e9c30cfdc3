"""Every version of the spec file that a stage has left is in the log."""

from __future__ import annotations

import shutil
from hashlib import sha256

import pytest

from tests.specs.rspec_v1.shop import SOURCE, SPEC, Shop

RULES = "AllCops:\n  NewCops: disable\n  SuggestExtensions: false\nMetrics:\n  Enabled: false\n"


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@pytest.mark.proves("S1-SPEC-02")
@pytest.mark.skipif(not (shutil.which("rubocop") and shutil.which("rspec")), reason="rubocop is not installed")
def test_each_change_of_the_spec_is_a_version_with_digest_stage_and_number_of_examples(shop: Shop) -> None:
    shop.write(".rubocop.yml", RULES)
    shop.agents(implementer="untidy")
    assert shop.run().code in (0, 2)
    final = shop.read(SPEC)
    found = shop.json("versions", SPEC)
    assert [(one["number"], one["stage"], one["examples"]) for one in found] == [
        (1, "skeleton", 3),
        (2, "architect", 3),
        (3, "implementer", 3),
        (4, "polisher", 3),
    ], "neither factory_optimizer, which was skipped, nor the reviewer has changed it"
    shop.write(SPEC, final + "# an edit after the run\n")
    texts = [shop.rspec("versions", SPEC, "--show", str(one["number"])).out for one in found]
    assert [digest(text) for text in texts] == [one["digest"] for one in found]
    assert texts[-1] == final, "the last one, too, although the file has changed since"
    assert "{EXPECTATION}" in texts[0]
    diff = shop.rspec("versions", SPEC, "--diff", "3").out.splitlines()
    assert diff[:2] == ["--- version 3 (implementer)", "+++ version 4 (polisher)"]
    assert any(line.startswith("-") and "eq( :large)" in line for line in diff)
    assert any(line.startswith("+") and "eq(:large)" in line for line in diff)


@pytest.mark.proves("S1-SPEC-02")
def test_versions_that_do_not_exist_are_refused(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    assert staffed.rspec("versions", SOURCE).out == "No stage has written the spec file yet.\n"
    staffed.rspec("skeleton", SOURCE)
    for words in (("--show", "0"), ("--show", "2"), ("--diff", "1")):
        said = staffed.rspec("versions", SOURCE, *words)
        assert (said.code, said.out) == (1, ""), words
        assert said.err.startswith("Error: There is no version ")
    said = staffed.rspec("versions", "app/services/other.rb")
    assert said.err.startswith("Error: No pipeline has run for app/services/other.rb.")


@pytest.mark.proves("S1-SPEC-02", "S1-FAIL-02")
def test_a_failed_attempt_makes_no_version_and_a_later_one_that_passes_does(shop: Shop) -> None:
    shop.agents(architect="nothing")
    assert shop.run().code == 1
    assert [one["stage"] for one in shop.json("versions", SPEC)] == ["skeleton"]
    shop.agents(implementer="none")
    assert shop.run("--resume").code == 1
    assert [one["stage"] for one in shop.json("versions", SPEC)] == ["skeleton", "architect"]
