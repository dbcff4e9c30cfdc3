"""Every version of the spec file that a stage has left is in the log."""

from __future__ import annotations

import json
import shutil
from difflib import unified_diff
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

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


FACTORIES = """
require 'factory_bot'
RSpec.configure { |config| config.include FactoryBot::Syntax::Methods }
FactoryBot.define { factory(:user) { trait(:signed_in) { authenticated { true } } } }
"""


@pytest.mark.proves("S1-SPEC-02")
@pytest.mark.skipif(not (shutil.which("rubocop") and shutil.which("rspec")), reason="rubocop is not installed")
def test_each_of_the_five_stages_that_write_the_spec_leaves_a_version_that_differs_from_the_next(shop: Shop) -> None:
    if not Path("/usr/share/doc/ruby-factory-bot").exists():
        pytest.skip("factory_bot is not installed")
    shop.write(".rubocop.yml", RULES)
    shop.write("spec/spec_helper.rb", shop.read("spec/spec_helper.rb") + FACTORIES)
    shop.write("spec/factories/users.rb", FACTORIES.splitlines()[-1] + "\n")
    shop.agents(implementer="create", factory_optimizer="untidy_factories")
    said = shop.run()
    assert said.code in (0, 2), said.err
    found = shop.json("versions", SPEC)
    writers = ["skeleton", "architect", "implementer", "factory_optimizer", "polisher"]
    assert [one["stage"] for one in found] == writers
    texts = [shop.rspec("versions", SPEC, "--show", str(one["number"])).out for one in found]
    assert [digest(text) for text in texts] == [one["digest"] for one in found]
    for number, (old, new) in enumerate(pairwise(texts), 1):
        names = [f"version {number + more} ({writers[number - 1 + more]})" for more in (0, 1)]
        made = unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
        assert shop.rspec("versions", SPEC, "--diff", str(number)).out.splitlines() == [*made]


@pytest.mark.proves("S1-SPEC-02", "S1-LIFE-01")
def test_no_other_stage_may_write_the_spec(shop: Shop) -> None:
    script = f"mkdir -p spec/services; echo 'x = 1' > {SPEC}; printf '```yaml\\nstatus: success\\n```\\n'"
    shop.agents()
    command = f"analyzer = {{ command = {json.dumps(['sh', '-c', script])} }}\n"
    shop.write("moot.toml", shop.read("moot.toml").replace("[run.rspec-v1]\n", f"[run.rspec-v1]\n{command}"))
    assert shop("allow", "--all", "--yes").code == 0
    said = shop.rspec("analyzer", SOURCE, "process")
    assert (said.code, said.out) == (1, "")
    assert f"{SPEC}: changed while the stage ran" in said.err
    assert shop.states()["analyzer"] == "failed"
    assert not [one for one in shop.events("run:passed") if one["data"]["stage"] == "analyzer"]


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
