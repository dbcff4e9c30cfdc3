"""test-architect: what it writes, what it leaves alone, and what only a person may decide."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from moot.core.errors import Refused
from moot.packs.rspec.architect import plan_spec, spec_problems, unworded, wording_problems
from moot.packs.rspec.contexts import structure_of
from moot.packs.rspec.spec_blocks import blocks_of
from moot.packs.ruby.spec_tree import parse_spec
from tests.specs.rspec.test_document_check import document

needs_rspec = pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
needs_ruby = pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")


NAMES = ["#process", "#refund"]


def written(given: dict[str, Any] | None = None) -> bytes:
    return plan_spec(given or document(), None).data


def texts(data: bytes) -> set[bytes]:
    """The texts of the blocks in a spec file."""
    found = blocks_of(data, "PaymentProcessor")
    return {found.source(one) for one in found.blocks}


@pytest.mark.proves("S2-ARCH-03", "S2-ARCH-04", "S2-ARCH-01")
def test_document_spec_file_and_characteristics_describe_one_tree() -> None:
    plan = plan_spec(document(), None, helper="spec_helper")
    assert plan.structure == structure_of(document())
    assert list(spec_problems(plan.structure, plan.data)) == []
    text = plan.data.decode()
    assert text.startswith(
        '# frozen_string_literal: true\n\nrequire "spec_helper"\n\nRSpec.describe PaymentProcessor do'
    )
    spec = parse_spec(plan.data)
    contexts = [one for group in spec.groups for one in group.walk() if one.kind == "context"]
    assert len(contexts) == 7
    assert text.count("{SETUP_CODE}") == 7
    examples = list(spec.examples())
    assert text.count("{EXPECTATION}") == len(examples) == 8
    assert all(one.pending for one in examples)


@pytest.mark.proves("S2-ARCH-04")
@needs_rspec
def test_rspec_reports_every_planned_example_as_pending(tmp_path: Path) -> None:
    given = document()
    given["class_name"] = "Object"
    (tmp_path / "a_spec.rb").write_bytes(written(given))
    command = ["rspec", "--format", "json", "a_spec.rb"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=True)
    summary = json.loads(ran.stdout)["summary"]
    assert (summary["example_count"], summary["pending_count"], summary["failure_count"]) == (8, 8, 0)


@pytest.mark.proves("S2-ARCH-03")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'context "when NOT eligible"', b'context "when ineligible"', "expected the context 'when NOT eligible'"),
        (b'it "refunds the transaction"', b'it "refunds"', "expected the examples"),
        (b'describe "#refund"', b'describe "#repay"', "no block for #refund"),
        (b"RSpec.describe PaymentProcessor", b"RSpec.describe Other", "no group for PaymentProcessor"),
        (b'context "when NOT eligible" do', b'context "when NOT eligible" do (', "does not parse"),
    ],
)
def test_a_spec_file_that_differs_from_the_structure_is_found(old: bytes, new: bytes, said: str) -> None:
    assert old in written()
    problems = [text for text, _ in spec_problems(structure_of(document()), written().replace(old, new))]
    assert any(said in text for text in problems), problems


EXISTING = b"""\
# frozen_string_literal: true

RSpec.describe PaymentProcessor do
  # written by hand
  describe '#process' do
    it('works') { expect(1).to eq(1) }
  end

  describe "#other" do
    it { is_expected.to be }   # odd   spacing
  end
end
# the end
"""


def only(name: str, mode: str) -> dict[str, Any]:
    """The document with only this method selected."""
    given = document()
    for entry, method in zip(given["methods_to_analyze"], given["methods"], strict=True):
        entry["selected"] = entry["name"] == name
        if entry["name"] == name:
            entry["method_mode"] = method["method_mode"] = mode
    return given


@pytest.mark.proves("S2-ARCH-07")
def test_a_new_method_is_inserted_and_every_other_byte_stays() -> None:
    plan = plan_spec(only("refund", "new"), EXISTING)
    assert plan.conflicts == ()
    before, _, after = EXISTING.partition(b"\nend\n# the end")
    assert plan.data.startswith(before)
    assert plan.data.endswith(b"\nend\n# the end" + after)
    inserted = plan.data[len(before) : -len(b"\nend\n# the end\n")]
    assert inserted.startswith(b'\n\n  describe "#refund" do\n')
    assert list(spec_problems(plan.structure, plan.data)) == []


@pytest.mark.proves("S2-ARCH-07")
@pytest.mark.parametrize("mode", ["modified", "unchanged"])
def test_another_method_is_written_again_and_every_other_byte_stays(mode: str) -> None:
    first = plan_spec(only("process", mode), EXISTING, None).data
    given = only("process", mode)
    given["behaviors"][0]["description"] = "returns what is done"
    plan = plan_spec(given, first, texts(first))
    assert plan.conflicts == ()
    assert b"returns what is done" in plan.data
    cut = first.index(b'  describe "#other"')
    assert plan.data.endswith(first[cut:])
    assert plan.data.startswith(EXISTING[: EXISTING.index(b"  describe '#process'")])
    assert plan.data.count(b'describe "#process"') == 1


@pytest.mark.proves("S2-ARCH-07")
def test_only_a_person_replaces_a_block_that_moot_did_not_write_or_that_was_edited() -> None:
    for mode in ("new", "modified"):
        plan = plan_spec(only("process", mode), EXISTING)
        assert (plan.conflicts, plan.data) == ((("#process", 5),), EXISTING)
    first = plan_spec(only("process", "modified"), None).data
    edited = first.replace(b'skip "{EXPECTATION}"', b"expect(true).to be(true)", 1)
    plan = plan_spec(only("process", "modified"), edited, texts(first))
    assert ([name for name, _ in plan.conflicts], plan.data) == (["#process"], edited)
    again = plan_spec(only("process", "modified"), edited, None)
    assert (again.conflicts, again.data) == ((), first)
    with pytest.raises(Refused, match="does not parse"):
        plan_spec(document(), EXISTING + b"x = (\n")


@pytest.mark.proves("S2-ARCH-07")
def test_crlf_line_ends_and_empty_groups_are_kept() -> None:
    crlf = EXISTING.replace(b"\n", b"\r\n")
    data = plan_spec(only("refund", "new"), crlf).data
    assert data.count(b"\n") == data.count(b"\r\n")
    empty = b"RSpec.describe PaymentProcessor do\nend\n"
    plan = plan_spec(only("refund", "new"), empty)
    assert list(spec_problems(plan.structure, plan.data)) == []
    other = b"RSpec.describe Other do\n  it { }\nend\n"
    plan = plan_spec(only("refund", "new"), other)
    assert plan.data.startswith(other)
    assert list(spec_problems(plan.structure, plan.data)) == []


ODD = [
    'say "hi"',
    "back\\slash",
    "#{boom}",
    "#@x #$y",
    "two\nlines",
    "tab\tand \x07",
    "it's",
    "ünï 日本",
    "\\n",
    "%{x} %s",
]


@pytest.mark.proves("S2-HARD-07")
@needs_ruby
def test_odd_texts_give_a_file_that_parses_and_prints_exactly_them(tmp_path: Path) -> None:
    given = only("refund", "new")
    values = given["methods"][1]["characteristics"][0]
    values["type"], values["name"] = "enum", "kind"
    values["values"] = [
        {"value": text, "description": text, "terminal": False, "behavior_id": "refunds_transaction"} for text in ODD
    ]
    given["behaviors"][4]["description"] = "".join(ODD)
    plan = plan_spec(given, None)
    assert list(spec_problems(plan.structure, plan.data)) == []
    fake = (
        "require 'json'\nmodule RSpec; def self.describe(*) = yield; end\nclass PaymentProcessor; end\n"
        "$said = []\ndef describe(_) = yield\ndef context(text) = ($said << text; yield)\n"
        "def it(text) = $said << text\n"
    )
    (tmp_path / "a.rb").write_bytes(fake.encode() + plan.data + b"\nputs JSON.dump($said)\n")
    ran = subprocess.run(["ruby", "a.rb"], cwd=tmp_path, capture_output=True, timeout=60, check=True)
    said = json.loads(ran.stdout)
    expected = [part for text in ODD for part in (f"when kind is {text}", "".join(ODD))]
    assert said == expected


@pytest.mark.proves("S2-ARCH-09")
def test_a_rewording_may_change_texts_and_nothing_else() -> None:
    before = written()
    after = before.replace(b'"when NOT eligible"', b'"when the refund is NOT possible"')
    after = after.replace(b'it "refunds the transaction"', b"it 'pays back'")
    assert list(wording_problems(before, after, "PaymentProcessor", NAMES)) == []


@pytest.mark.proves("S2-ARCH-09")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"status: pending", b"status: paid", "more"),
        (b'skip "{EXPECTATION}"', b"expect(1).to eq(1)", "more"),
        (b'    it "refunds the transaction" do\n        skip "{EXPECTATION}"\n      end\n', b"", "more"),
        (b'describe "#refund"', b'describe "#repay"', "#refund"),
        (b"# {SETUP_CODE}", b"# done", "more"),
        (b"RSpec.describe", b"# a note\nRSpec.describe", "outside"),
    ],
)
def test_a_rewording_that_changes_tree_or_code_is_refused(old: bytes, new: bytes, said: str) -> None:
    before = written()
    assert old in before
    problems = [text for text, _ in wording_problems(before, before.replace(old, new, 1), "PaymentProcessor", NAMES)]
    assert any(said in text for text in problems), problems


@pytest.mark.proves("S2-ARCH-09")
def test_a_rewording_that_swaps_contexts_is_refused() -> None:
    before = written(only("refund", "new"))
    start, middle = before.index(b'    context "when eligible'), before.index(b'    context "when NOT')
    end = before.index(b"  end\nend")
    swapped = (
        before[:start] + before[middle:end].rstrip() + b"\n\n" + before[start:middle].rstrip() + b"\n" + before[end:]
    )
    problems = [text for text, _ in wording_problems(before, swapped, "PaymentProcessor", ["#refund"])]
    assert any("more" in text for text in problems), problems


@pytest.mark.proves("S2-ENR-04")
def test_a_method_without_a_mode_fails_with_its_name() -> None:
    given = document()
    del given["methods"][0]["method_mode"]
    with pytest.raises(Refused, match="process"):
        plan_spec(given, None)


@pytest.mark.proves("S2-ARCH-06", "S2-ARCH-03")
def test_a_context_without_examples_is_left_out_and_what_is_not_worded_is_found() -> None:
    given = document()
    given["behaviors"][0]["enabled"] = False
    given["behaviors"][3]["description"] = "{BEHAVIOR_DESCRIPTION}"
    plan = plan_spec(given, None)
    assert b"completed" not in plan.data
    assert list(spec_problems(plan.structure, plan.data)) == []
    (found,) = unworded(plan.structure, plan.data)
    assert b"{BEHAVIOR_DESCRIPTION}" in plan.data.splitlines()[found[1] - 1]
