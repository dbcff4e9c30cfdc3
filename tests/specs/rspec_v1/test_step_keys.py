"""Each input of the stages is changed alone: exactly the stages that depend on it run again, and no other."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.packs.rspec_v1 import analysis
from moot.packs.rspec_v1.pipeline import RspecV1Pipeline
from tests.specs.rspec_v1.shop import METADATA, PAYMENT, SOURCE, SPEC, STAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.specs.rspec_v1.shop import Said, Shop

    Change = Callable[[Shop, pytest.MonkeyPatch], None]
    Row = tuple[str, Change, str] | tuple[str, Change, str, tuple[str, ...]]

RULES = "AllCops:\n  NewCops: disable\n  SuggestExtensions: false\nMetrics:\n  Enabled: false\n"
FACTORY = "FactoryBot.define { factory(:book) { trait(:sold) } }\n"
SETTINGS = "[pack.rspec-v1]\n"
OVERWRITE = ("--overwrite",)
NEEDS = pytest.mark.skipif(not (shutil.which("rubocop") and shutil.which("rspec")), reason="rubocop is not installed")


def ran(said: Said) -> str:
    """The stages that the command did not reuse."""
    assert said.code in (0, 2), said.err
    found = dict(re.findall(r"^(\w+) (passed|skipped|reused)", said.err, re.MULTILINE))
    return " ".join(stage for stage in STAGES if found.get(stage, "reused") != "reused")


def write(shop: Shop, path: str, text: str) -> None:
    shop.write(path, text)
    if path in ("moot.toml", ".rubocop.yml"):  # a project's own command is used: somebody allows it
        allow(shop)


def allow(shop: Shop) -> None:
    assert shop("allow", "--all", "--yes").code == 0


def swap(path: str, old: str, new: str) -> Change:
    def change(shop: Shop, _patch: pytest.MonkeyPatch) -> None:
        assert old in shop.read(path), (old, shop.read(path))
        write(shop, path, shop.read(path).replace(old, new, 1))

    return change


def append(path: str, text: str) -> Change:
    return lambda shop, _: write(shop, path, (shop.read(path) if (shop.root / path).exists() else "") + text)


def setting(line: str) -> Change:
    return swap("moot.toml", SETTINGS, f"{SETTINGS}{line}\n")


def agent(stage: str) -> Change:
    """The same agent, called with one more word."""

    def change(shop: Shop, _patch: pytest.MonkeyPatch) -> None:
        lines = shop.read("moot.toml").splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith(f"{stage} = "))
        lines[at] = lines[at].replace('"good"', '"good", "again"')
        write(shop, "moot.toml", "\n".join(lines) + "\n")

    return change


def touch(path: str) -> Change:
    def change(shop: Shop, _patch: pytest.MonkeyPatch) -> None:
        now = (shop.root / path).stat()
        os.utime(shop.root / path, ns=(now.st_atime_ns, now.st_mtime_ns + 1))

    return change


def nothing(_shop: Shop, _patch: pytest.MonkeyPatch) -> None:
    pass


def options_of_user(_shop: Shop, _patch: pytest.MonkeyPatch) -> None:
    home = Path.home()
    home.mkdir(exist_ok=True)
    (home / ".rspec").write_text("--no-color\n")


def other_rspec(shop: Shop, patch: pytest.MonkeyPatch) -> None:
    """A program of the same name, which is found first."""
    program = shop.root.parent / "bin/rspec"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shutil.which("rspec")} "$@"\n')
    program.chmod(0o755)
    patch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    allow(shop)


def raise_version(of: object, name: str) -> Change:
    return lambda _, patch: patch.setattr(of, name, f"{getattr(of, name)}.1")


def check(shop: Shop, patch: pytest.MonkeyPatch, rows: list[Row]) -> None:
    """Each row begins where the one above has ended."""
    found = {}
    for name, change, _, *options in rows:
        change(shop, patch)
        found[name] = ran(shop.run(*(options[0] if options else ())))
        assert ran(shop.run(*(options[0] if options else ()))) == "polisher", f"{name}: it was changed once"
    every = {row[0]: {*row[2].split(), "polisher"} for row in rows}
    assert found == {name: " ".join(one for one in STAGES if one in stages) for name, stages in every.items()}


ALL = " ".join(STAGES)
READS_SOURCE = "analyzer validation architect implementer polisher"  # what they leave is the same
# The agents that the document tells about factories and the level. What they leave is the same, so the tests are.
KNOWS_FACTORIES = "validation implementer factory_optimizer reviewer"
FROM_FACTORIES = "factory_optimizer polisher reviewer"
FROM_SKELETON = "validation skeleton architect implementer factory_optimizer reviewer"
CHECKS_SPEC = "polisher reviewer"  # what a person made of a finished spec goes to no agent

# What is changed, how, the stages that run again, and the options of the command.
FILES: list[Row] = [
    ("nothing", nothing, ""),
    ("a choice for a block of a person, and there is none", nothing, "", OVERWRITE),
    ("a level that is that of the analysis", nothing, "analyzer validation", ("--level", "unit")),
    ("no level any more", nothing, "analyzer validation"),
    ("the time of the source", touch(SOURCE), "analyzer validation"),
    ("a comment in the method", swap(SOURCE, "    if user", "    # sold here\n    if user"), READS_SOURCE),
    ("another method of the source", swap(SOURCE, "    1\n", "    2\n"), READS_SOURCE),
    ("a factory", append("spec/factories/books.rb", FACTORY), "analyzer validation implementer " + FROM_FACTORIES),
    ("a comment in a factory", append("spec/factories/books.rb", "# mine\n"), "analyzer"),
    ("a helper", append("spec/spec_helper.rb", "# help\n"), "polisher"),
    ("the time of a helper", touch("spec/spec_helper.rb"), ""),
    ("the options of RSpec", append(".rspec", "--no-profile\n"), "polisher"),
    ("a linter, which the review names", append(".rubocop.yml", RULES), "polisher reviewer"),
    ("the rules of the linter", append(".rubocop.yml", "Layout:\n  Enabled: true\n"), "polisher"),
    ("a fixture", append("spec/fixtures/books.txt", "one\n"), "polisher"),
    ("code in a folder that is called log", append("lib/log/writer.rb", "# write\n"), "polisher"),
    ("what a run of the tests has logged", append("log/test.log", "one\n"), ""),
    ("a file that no program reads", append("README.md", "books\n"), ""),
    ("a spec of another class", append("spec/models/other_spec.rb", "# other\n"), ""),
    ("the rest of the spec", append(SPEC, "# mine\n"), CHECKS_SPEC),
    ("the block of the method", swap(SPEC, "pays a large amount", "pays a big amount"), CHECKS_SPEC),
    ("nothing after all of that", nothing, ""),
]
SETTING: list[Row] = [
    ("the command of architect", agent("architect"), "architect"),
    ("the command of implementer", agent("implementer"), "implementer"),
    ("the command of factory_optimizer", agent("factory_optimizer"), "factory_optimizer"),
    ("the command of RSpec", setting('rspec = ["rspec", "--order", "defined"]'), "polisher"),
    ("the command of Ruby", setting('ruby = ["ruby", "-W0"]'), "polisher"),
    ("the command of a linter that is not used", setting('linter = ["rubocop", "--display-cop-names"]'), ""),
    ("a linter for it", append(".rubocop.yml", RULES), "polisher reviewer"),
    ("the command of the linter", swap("moot.toml", "--display-cop-names", "--extra-details"), "polisher"),
    ("the time limit of Ruby", setting("ruby_timeout = 29"), ""),
    ("the time limit of the linter", setting("linter_timeout = 119"), ""),
    ("the time limit of RSpec", setting("rspec_timeout = 299"), ""),
    ("how many stages may run", setting("parallel = 2"), ""),
    ("a folder that is not used", setting('fallback = "/tmp/elsewhere"'), ""),
    ("options of this user", options_of_user, "polisher"),
    ("another RSpec on this machine", other_rspec, "polisher"),
    ("the version of the analysis", raise_version(analysis, "VERSION"), "analyzer validation"),
    ("the version of the pack", raise_version(RspecV1Pipeline, "version"), ALL, OVERWRITE),
    ("nothing after all of that", nothing, ""),
]
DOCUMENT: list[Row] = [
    ("when it was analysed", swap(METADATA, 'timestamp: "2', 'timestamp: "1'), "validation"),
    ("the version of the analyzer", swap(METADATA, 'version: "2.0"', 'version: "2.1"'), "validation"),
    ("the time of the source", swap(METADATA, "source_file_mtime: ", "source_file_mtime: 1"), "analyzer validation"),
    ("an error of the validation", swap(METADATA, "errors: []", 'errors: ["mine"]'), "analyzer validation"),
    ("the level", swap(METADATA, "test_level: unit", "test_level: integration"), KNOWS_FACTORIES),
    ("a characteristic", swap(METADATA, "default: null", "default: user_authenticated"), FROM_SKELETON, OVERWRITE),
    ("a factory", swap(METADATA, "detected: {}", "detected:\n  a:\n    file: a\n    traits: []"), KNOWS_FACTORIES),
    ("the name of the spec", swap(METADATA, "payment_spec.rb", "payments_spec.rb"), ""),
    ("the version of an agent", swap(METADATA, "automation:\n", 'automation:\n  architect_version: "2"\n'), ""),
    ("the linter", swap(METADATA, "linter: null", "linter: rubocop"), ""),
    ("a key that nobody knows", append(METADATA, "note: mine\n"), "validation"),
    ("nothing after all of that", nothing, ""),
]


@NEEDS
@pytest.mark.proves("S1-HARD-04", "S1-TEST-03", "S1-CACHE-04", "S1-FAIL-03")
@pytest.mark.parametrize("rows", [FILES, SETTING, DOCUMENT], ids=["files", "settings", "document"])
def test_a_stage_runs_again_exactly_if_something_changed_that_it_depends_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, rows: list[Row]
) -> None:
    shop.agents(SETTINGS)
    assert ran(shop.run()) == ALL
    check(shop, monkeypatch, rows)


# --- an analysis that is used again -----------------------------------------------------------------------------------

ORDER = """\
class Payment
  def process(state)
    case state
    when "egg" then 1
    when "larva" then 2
    when "moth" then 3
    end
  end
end
"""


@pytest.mark.proves("S1-AN-09", "S1-HARD-04")
def test_a_level_that_is_asked_for_later_is_not_that_of_the_cached_analysis(staffed: Shop) -> None:
    for words, level in ((), "unit"), (("--level", "e2e"), "e2e"), (("--level", "request"), "request"), ((), "unit"):
        said = staffed.rspec("analyzer", SOURCE, "process", *words)
        assert said.code == 2, said.err
        assert staffed.document()["test_level"] == level
        if words:
            assert "Running analysis (cache invalid or missing): other options of the analysis" in said.err
        assert staffed.rspec("cache", SOURCE).out == "VALID\n"


@pytest.mark.proves("S1-HARD-04")
def test_a_run_that_is_resumed_with_a_new_analyzer_begins_with_the_analysis(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.agents(architect="no_answer")
    assert shop.run().code == 1
    shop.agents(implementer="none")
    monkeypatch.setattr(analysis, "VERSION", "1.1")
    assert "\nanalyzer passed" in shop.run("--resume").err
    assert shop.document()["analyzer"]["version"] == "1.1"


@pytest.mark.proves("S1-INSP-04", "S1-AN-10")
def test_new_factories_cost_neither_the_lines_nor_the_warnings_of_the_analysis(staffed: Shop) -> None:
    def analysed(method: str) -> tuple[list[int], list[str]]:
        """The lines of the characteristics, and the warnings about the source."""
        assert staffed.rspec("analyzer", SOURCE, method).code in (0, 2)
        lines = [one["line"] for one in staffed.json("characteristics", SOURCE)]
        return lines, [one for one in staffed.document()["automation"]["warnings"] if "No conditionals" in one]

    first = {method: analysed(method) for method in ("process", "refund")}
    staffed.write("spec/factories/books.rb", FACTORY)
    assert {method: analysed(method) for method in first} == first
    assert list(staffed.document()["factories_detected"]) == ["book"]
    assert first["process"][0] == [PAYMENT.splitlines().index("    if user.authenticated?") + 1]
    assert len(first["refund"][1]) == 1


@pytest.mark.proves("S1-CACHE-04")
@pytest.mark.parametrize(
    ("old", "new"), [("test_level: unit", "test_level: nonsense"), ("source_file_mtime: ", "source_file_mtime: 1")]
)
def test_an_invalid_or_stale_document_is_made_anew_in_full(staffed: Shop, old: str, new: str) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    whole = staffed.document()
    staffed.write(METADATA, staffed.read(METADATA).replace(old, new, 1))
    staffed.rspec("validation", SOURCE)
    said = staffed.rspec("analyzer", SOURCE, "process")
    assert said.code == 2, said.err
    assert "Running analysis (cache invalid or missing): " in said.err
    found = staffed.document()
    assert found["analyzer"].pop("timestamp") >= whole["analyzer"].pop("timestamp")
    assert found["automation"].pop("errors", []) == []
    assert found == whole
    assert "Using cached metadata" in staffed.rspec("analyzer", SOURCE, "process").err
