"""Which linter the polisher starts, with which words, and what becomes of its result.

RuboCop, RSpec and Bundler are the real ones, behind scripts on PATH that record how they are called. StandardRB is in
no package of Debian, so it is a stand-in: a program on PATH, and for Bundler also an empty gem in the project.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.specs.rspec_v1.shop import SOURCE, SPEC, Said, Shop

pytestmark = pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")

BUNDLE = shutil.which("bundle") or shutil.which("bundle3.1")  # Ruby has brought it with it since 2.6
RULES = "AllCops:\n  NewCops: disable\n  SuggestExtensions: false\nMetrics:\n  Enabled: false\n"
GEM = """\
Gem::Specification.new do |gem|
  gem.name, gem.version, gem.summary, gem.authors = 'standard', '1.0', 'a stand-in', ['moot']
end
"""
CLEAN = json.dumps({"files": [{"path": SPEC, "offenses": []}]})


def offence(line: int, *, corrected: bool = False) -> str:
    one = {"cop_name": "Style/Odd", "message": "Odd.", "corrected": corrected, "location": {"line": line}}
    return json.dumps({"files": [{"path": SPEC, "offenses": [one]}]})


class Desk:
    """A project whose spec waits for the polisher, and programs on PATH."""

    def __init__(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shop, self.bin, self.called = shop, shop.root.parent / "bin", shop.root.parent / "called"
        self.bin.mkdir()
        monkeypatch.setenv("PATH", f"{self.bin}{os.pathsep}{os.environ['PATH']}")
        shop.agents(implementer="untidy")
        for words in (("analyzer", SOURCE, "process"), ("architect", SOURCE), ("implementer", SOURCE)):
            assert shop.rspec(*words).code in (0, 2)
        assert shop.rspec("factory-optimizer", SOURCE).code in (0, 2)

    def program(self, name: str, output: str = CLEAN, code: int = 0) -> None:
        """A program that records its words, and then says and does what it is told to."""
        self._script(self.bin / name, f'echo {name} "$@" >> {self.called}', f"cat <<'END'\n{output}\nEND\nexit {code}")

    def recorded(self, name: str, real: str | None) -> None:
        """The real program. It records how it is called, unless to start RSpec."""
        if real is None:
            pytest.skip(f"{name} is not installed")
        self._script(self.bin / name, f'[ "$2" = rspec ] || echo {name} "$@" >> {self.called}', f'exec {real} "$@"')

    def _script(self, path: Path, *lines: str) -> None:
        path.write_text("\n".join(("#!/bin/sh", *lines, "")))
        path.chmod(0o755)

    def polish(self) -> Said:
        assert self.shop("allow", "--all", "--yes").code == 0
        return self.shop.rspec("polisher", SPEC)

    def calls(self) -> list[str]:
        return self.called.read_text().splitlines() if self.called.exists() else []


@pytest.fixture
def desk(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(shop, monkeypatch)


GEMS = "gem 'rspec'\n"
RUBOCOP, STANDARD = f"--autocorrect --force-exclusion --format json {SPEC}", f"--fix --format json {SPEC}"
CHOICES = [
    # the files of the project, the linter, how it is called
    ({".rubocop.yml": RULES}, "rubocop", f"rubocop {RUBOCOP}"),
    ({".rubocop_todo.yml": RULES}, "rubocop", f"rubocop {RUBOCOP}"),
    ({".rubocop.yml": RULES, ".standard.yml": ""}, "rubocop", f"rubocop {RUBOCOP}"),
    ({".standard.yml": ""}, "standardrb", f"standardrb {STANDARD}"),
    (
        {"Gemfile": f"{GEMS}gem 'standard', path: 'vendor/standard'\n"},
        "standardrb",
        f"bundle exec standardrb {STANDARD}",
    ),
    ({"Gemfile": f"{GEMS}gem 'rubocop'\n", ".rubocop.yml": RULES}, "rubocop", f"bundle exec rubocop {RUBOCOP}"),
]


@pytest.mark.proves("S1-POL-03")
@pytest.mark.parametrize(("files", "linter", "call"), CHOICES)
def test_the_linter_of_the_configuration_corrects_the_spec_and_is_recorded(
    desk: Desk, files: dict[str, str], linter: str, call: str
) -> None:
    desk.program("standardrb")
    desk.recorded("rubocop", shutil.which("rubocop"))
    if "Gemfile" in files:
        desk.recorded("bundle", BUNDLE)
        desk.shop.write("vendor/standard/standard.gemspec", GEM)
    for path, text in files.items():
        desk.shop.write(path, text)
    said = desk.polish()
    assert said.code in (0, 2), said.err
    assert desk.calls() == [call] + [call.removeprefix("bundle exec ")] * ("Gemfile" in files), "Bundler starts it"
    assert desk.shop.document()["automation"]["linter"] == linter
    assert (desk.shop.root / "Gemfile.lock").exists() == ("Gemfile" in files), "Bundler has resolved the Gemfile"
    if linter == "rubocop":
        assert "eq( :" not in desk.shop.read(SPEC), "it has corrected the spec"


@pytest.mark.proves("S1-POL-03")
@pytest.mark.parametrize("text", ["", f"{GEMS}# gem 'standard'\n"])
def test_without_a_configured_linter_null_is_recorded_with_a_warning(desk: Desk, text: str) -> None:
    for name in ("rubocop", "standardrb"):
        desk.program(name)
    if text:
        desk.recorded("bundle", BUNDLE)
        desk.shop.write("Gemfile", text)
    said = desk.polish()
    assert said.code == 2, said.err
    assert "Warning: no linter is configured" in said.err
    assert desk.calls() == []
    automation = desk.shop.document()["automation"]
    assert (automation["linter"], automation["polisher_completed"]) == (None, True)
    assert any(one.startswith("polisher: no linter is configured") for one in automation["warnings"])


@pytest.mark.proves("S1-POL-03")
def test_a_configured_linter_that_is_not_installed_is_a_warning(desk: Desk) -> None:
    desk.shop.write(".standard.yml", "")
    said = desk.polish()
    assert said.code == 2, said.err
    assert "Warning: the linter cannot be started: standardrb (setting pack.rspec-v1.linter)" in said.err
    assert desk.shop.document()["automation"]["linter"] is None


@pytest.mark.proves("S1-POL-03", "S1-POL-01")
@pytest.mark.parametrize(
    ("output", "code", "text"),
    [
        (offence(6), 1, f"standardrb left 1 offences: {SPEC}:6: Style/Odd: Odd."),
        ("no JSON here", 2, "standardrb failed: exit code 2, and no JSON result: no JSON here"),
        ("", 0, "standardrb failed: exit code 0, and no JSON result: no output"),
    ],
)
def test_an_offence_that_is_left_and_a_linter_that_breaks_down_fail_the_stage(
    desk: Desk, output: str, code: int, text: str
) -> None:
    desk.shop.write(".standard.yml", "")
    desk.program("standardrb", output, code)
    said = desk.polish()
    assert (said.code, said.out) == (1, "")
    assert f"Error: {text}" in said.err
    assert desk.shop.document()["automation"]["polisher_completed"] is False


@pytest.mark.proves("S1-POL-03", "S1-SPEC-03")
@pytest.mark.parametrize("output", [offence(1), offence(6, corrected=True)])
def test_offences_outside_of_the_block_and_corrected_ones_do_not_fail_the_stage(desk: Desk, output: str) -> None:
    desk.shop.write(".standard.yml", "")
    desk.program("standardrb", output, 1)
    said = desk.polish()
    assert said.code in (0, 2), said.err
    assert ("(outside of the method's block)" in said.err) == ('"corrected": false' in output)
    assert desk.shop.document()["automation"]["linter"] == "standardrb"


@pytest.mark.proves("S1-POL-03")
@pytest.mark.skipif(shutil.which("rubocop") is None, reason="rubocop is not installed")
def test_an_offence_that_the_real_rubocop_cannot_correct_is_named_with_its_line(desk: Desk) -> None:
    rules = "AllCops:\n  NewCops: disable\n  SuggestExtensions: false\n  DisabledByDefault: true\n"
    desk.shop.write(".rubocop.yml", f"{rules}Metrics/BlockLength:\n  Enabled: true\n  Max: 1\n")
    said = desk.polish()
    assert (said.code, said.out) == (1, "")
    assert "rubocop left" in said.err
    assert "Metrics/BlockLength" in said.err
    assert Path(desk.shop.root / SPEC).exists()
