"""The programs of the polisher: which run, which need consent, and what happens if they are missing or slow."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from moot.packs.rspec_v1 import polisher, polishing
from moot.place.processes import NotStarted, Ran, run
from moot.runs.contract import ProgramRunner, StageError
from tests.specs.rspec_v1.shop import SOURCE, SPEC, Shop
from tests.specs.rspec_v1.stage_inputs import given, spec_of

SETTINGS = {"ruby": ["ruby"], "rspec": [], "linter": [], "ruby_timeout": 30, "rspec_timeout": 60, "linter_timeout": 60}


class Absent(ProgramRunner):
    """A machine without any program."""

    def run(self, argv: list[str], **_more: object) -> Ran:  # type: ignore[override]
        try:
            return run(["/no/such/program"], cwd="/", env={}, keep=0)
        except NotStarted as error:
            raise StageError(f"{argv[0]} cannot be run: {error.why}") from error


class Real(ProgramRunner):
    def run(self, argv: list[str], *, stdin: bytes, timeout: float, keep: int) -> Ran:  # type: ignore[override]
        return run(argv, cwd="/", env={"PATH": "/usr/bin:/bin"}, keep=keep, apart=True, stdin=stdin, timeout=timeout)


@pytest.mark.proves("S1-POL-02")
@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
def test_a_syntax_error_fails_with_its_line_before_anything_else_is_tried() -> None:
    for runner in (Real(), Absent()):  # by `ruby -c`, and by the built-in parser
        with pytest.raises(StageError, match=r"syntax error: spec/services/payment_service_spec\.rb:\d+: ") as failed:
            polisher.polish(given("RSpec.describe A do\n  it 'x' do\n", programs=runner), SETTINGS)
        assert failed.value.problems[0].line > 0
        polisher.check_syntax(given(spec_of(""), programs=runner), SETTINGS)


def drafted(shop: Shop, settings: str = "") -> Shop:
    """A project whose spec waits for the polisher."""
    shop.agents(settings)
    shop.rspec("analyzer", SOURCE, "process")
    for word in ("architect", "implementer", "factory-optimizer"):
        assert shop.rspec(word, SOURCE).code in (0, 2)
    return shop


@pytest.mark.proves("S1-POL-05", "S1-ERR-02")
def test_without_rspec_the_stage_fails_and_names_the_command_and_the_setting(shop: Shop) -> None:
    drafted(shop, '[pack.rspec-v1]\nrspec = ["no-such-rspec"]')
    said = shop.rspec("polisher", SPEC)
    assert said.code == 1
    assert "Error: RSpec cannot be started: no-such-rspec" in said.err
    assert "pack.rspec-v1.rspec" in said.err
    assert shop.document()["automation"]["polisher_completed"] is False


def test_a_program_of_the_repository_needs_consent(shop: Shop) -> None:
    drafted(shop)
    shop.write("Gemfile", "source 'https://rubygems.org'\n")
    said = shop.rspec("polisher", SPEC)
    assert said.code == 1
    assert "nobody allowed rspec-v1.rspec on this machine" in said.err
    assert "moot allow rspec-v1.rspec" in said.err
    assert "rspec-v1.rspec is not allowed here" in shop("allow").out


@pytest.mark.proves("S1-HARD-11")
def test_tests_that_hang_are_ended_at_their_time_limit(shop: Shop) -> None:
    script = shop.root.parent / "slow-rspec"
    script.write_text("#!/bin/sh\nsleep 600\n")
    script.chmod(0o755)
    drafted(shop, f"[pack.rspec-v1]\nrspec = [{json.dumps(str(script))}]\nrspec_timeout = 1")
    said = shop.rspec("polisher", SPEC)
    assert said.code == 1
    assert "polisher: timed out after 1 s" in shop.document()["automation"]["errors"]


@pytest.mark.proves("S1-POL-01", "S1-POL-04")
@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_tests_that_fail_are_listed_and_fail_the_stage(shop: Shop) -> None:
    drafted(shop)
    shop.write(SOURCE, shop.read(SOURCE))  # the same content: only the polisher is asked for below
    shop.write("spec/spec_helper.rb", shop.read("spec/spec_helper.rb").replace("= authenticated", "= false"))
    said = shop.rspec("run", SOURCE, "process", "--resume")
    assert said.code == 1
    assert "the tests do not pass" in said.err
    assert "pays a large amount" in said.err
    assert "expected: :large" in said.err
    assert shop.states()["reviewer"] == "pending"


@pytest.mark.proves("S1-HARD-13")
@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_examples_that_rspec_leaves_out_fail_the_stage(shop: Shop) -> None:
    drafted(shop)
    large = "RSpec.configure { |c| c.define_derived_metadata(description: /large/) { |m| m[:if] = false } }\n"
    shop.write("spec/spec_helper.rb", shop.read("spec/spec_helper.rb") + large)
    said = shop.rspec("polisher", SPEC)
    assert said.code == 1
    assert "the tests do not pass" in said.err
    assert "RSpec did not run it" in said.err
    assert shop.document()["automation"]["polisher_completed"] is False


@pytest.mark.proves("S1-POL-03")
def test_standardrb_is_used_with_fix_and_a_linter_that_cannot_start_is_a_warning(shop: Shop) -> None:
    assert polishing.linter_command("standardrb", "a_spec.rb", (), bundled=False) == [
        *("standardrb", "--fix", "--format", "json", "a_spec.rb"),
    ]
    shop.write(".standard.yml", "ruby_version: 3.1\n")
    drafted(shop, '[pack.rspec-v1]\nlinter = ["no-such-linter"]')
    said = shop.rspec("polisher", SPEC)
    assert "Warning: the linter cannot be started: no-such-linter" in said.err
    assert shop.document()["automation"]["linter"] is None


def test_what_a_program_starts_is_no_person(shop: Shop) -> None:
    script = shop.root.parent / "own-rspec"
    script.write_text(f'#!/bin/sh\n"{sys.executable}" -m moot --person allow --all --yes >"{script}.out" 2>&1\n')
    script.chmod(0o755)
    drafted(shop, f"[pack.rspec-v1]\nrspec = [{json.dumps(str(script))}]")
    assert shop.rspec("polisher", SPEC).code == 1
    assert "[people_only]" in script.with_name("own-rspec.out").read_text()
