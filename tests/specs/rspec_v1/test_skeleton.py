"""The skeleton of a spec file, and how it gets into the file."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from moot.packs.rspec_v1 import criteria
from moot.packs.rspec_v1.method_block import find_block
from moot.packs.rspec_v1.skeleton import spec_with_skeleton
from moot.packs.ruby.spec_tree import parse_spec
from tests.specs.rspec_v1.documents import PAYMENT, changed
from tests.specs.rspec_v1.stage_inputs import given, said

needs_rspec = pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")


def text(document: dict[str, Any] = PAYMENT, helper: str = "") -> str:
    return spec_with_skeleton(document, None, helper=helper).data.decode()


def lines(document: dict[str, Any] = PAYMENT) -> list[str]:
    return [line.strip() for line in text(document).splitlines()]


def entry(
    name: str, kind: str, states: list[str], parent: str | None = None, state: str | None = None, level: int = 1
) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "states": states,
        "default": None,
        "depends_on": parent,
        "when_parent": state,
        "level": level,
    }


@pytest.mark.proves("S1-SKEL-01", "S1-SKEL-02")
def test_the_skeleton_has_the_tree_of_the_characteristics_and_its_placeholders() -> None:
    after = given(text())
    for criterion in (criteria.spec_has_one_block, criteria.tree_matches_document, criteria.placeholders_in_place):
        assert said(criterion(after, after)) == []
    examples = list(parse_spec(text().encode()).examples())
    assert len(examples) == 5, "one for each path to a leaf state"


@pytest.mark.proves("S1-SKEL-02")
def test_several_roots_become_sibling_trees_in_the_order_of_the_document() -> None:
    document = changed("characteristics", [entry("b", "binary", ["on", "off"]), entry("a", "enum", ["x", "y", "z"])])
    contexts = [line for line in lines(document) if line.startswith("context")]
    assert contexts == [
        *('context "{CONTEXT_WORD} on" do', 'context "{CONTEXT_WORD} off" do'),
        *(f'context "{{CONTEXT_WORD}} a is {state}" do' for state in "xyz"),
    ]


@pytest.mark.proves("S1-SKEL-03")
def test_leaves_begin_with_the_placeholder_and_other_contexts_with_their_word() -> None:
    chain = [
        entry("a", "enum", ["a1", "a2", "a3"]),
        entry("b", "binary", ["b1", "b2"], "a", "a1", 2),
        entry("c", "range", ["c1", "c2"], "b", "b1", 3),
        entry("d", "range", ["d1", "d2", "d3"], "c", "c2", 4),
        entry("e", "sequential", ["e1", "e2", "e3"], "d", "d1", 5),
        entry("f", "binary", ["f1", "f2"], "e", "e1", 6),
    ]
    contexts = [
        line[len("context ") : -len(" do")].strip('"')
        for line in lines(changed("characteristics", chain))
        if line.startswith("context")
    ]
    assert [one for one in contexts if not one.startswith("{CONTEXT_WORD}")] == [
        *("when a is a1", "with b1", "but c is c2", "and d is d1", "and e is e1"),
    ]
    assert "# TODO: architect: choose the first word of the context; suggested: but" in lines(
        changed("characteristics", chain)
    )


@pytest.mark.proves("S1-SKEL-04")
def test_binary_states_are_words_and_other_states_name_their_characteristic() -> None:
    document = changed(
        "characteristics",
        [
            entry("user_paid", "binary", ["not_paid_yet", "paid"]),
            entry("order_status", "enum", ["sent_out", "> 3"]),
            entry("condition_2", "binary", ["condition_2", "not_condition_2"]),
        ],
    )
    contexts = [line for line in lines(document) if line.startswith("context")]
    assert contexts == [
        'context "{CONTEXT_WORD} NOT paid yet" do',
        'context "{CONTEXT_WORD} paid" do',
        'context "{CONTEXT_WORD} order status is sent out" do',
        'context "{CONTEXT_WORD} order status is > 3" do',
        *['context "{CONTEXT_WORD} {CONDITION}" do'] * 2,
    ]
    assert "# {SETUP_CODE} order_status: > 3" in lines(document)


@pytest.mark.proves("S1-SKEL-05")
def test_there_is_a_comment_for_everything_that_is_left_to_do() -> None:
    found = lines()
    contexts = sum(line.startswith("context ") for line in found)
    assert sum(line.startswith("# TODO: implementer: set up this state") for line in found) == contexts
    assert found.count("# TODO: architect: describe the behaviour") == 5
    assert found.count("# TODO: implementer: replace the next line by an expectation") == 5
    assert sum(line.startswith("# TODO: architect: choose the first word") for line in found) == 5
    assert found.count("# TODO: implementer: give the subject the parameters of the method") == 1


@pytest.mark.proves("S1-SKEL-06")
def test_the_file_has_its_head_and_a_subject_for_both_kinds_of_methods() -> None:
    assert text(helper="rails_helper").startswith(
        '# frozen_string_literal: true\n\nrequire "rails_helper"\n\nRSpec.describe PaymentService do\n'
        '  describe "#process_payment" do\n'
    )
    assert "require" not in text()
    assert "subject(:result) { payment_service_instance.process_payment }" in lines()
    assert "let(:payment_service_instance) { described_class.new }" in lines()
    of_class = lines(changed("target.method_type", "class"))
    assert 'describe ".process_payment" do' in of_class
    assert "subject(:result) { described_class.process_payment }" in of_class
    assert not any(line.startswith("let(") for line in of_class)


@pytest.mark.parametrize(
    ("class_name", "method", "subject"),
    [
        ("Billing::HTTPClient", "get", "http_client_instance.get"),
        ("Result", "to_s", "result_instance.to_s"),
        ("A", "==", 'a_instance.public_send(:"==")'),
        ("A", "name=", 'a_instance.public_send(:"name=")'),
        ("A", "paid?", "a_instance.paid?"),
    ],
)
def test_the_subject_is_valid_for_every_name(class_name: str, method: str, subject: str) -> None:
    document = changed("target.class", class_name)
    document["target"]["method"] = method
    assert f"subject(:result) {{ {subject} }}" in lines(document)


@pytest.mark.proves("S1-AN-10")
def test_no_characteristics_give_one_example() -> None:
    assert len(list(parse_spec(text(changed("characteristics", [])).encode()).examples())) == 1


NASTY = ["it's", 'say "x"', "back\\slash", "#{1 + 1}", "two\nlines", "#@x", "ünï", "a'b\\", "end", "tab\there"]


@pytest.mark.proves("S1-HARD-14", "S1-SKEL-07")
@needs_rspec
def test_rspec_reports_every_example_as_pending_and_shows_exactly_the_states(tmp_path: Path) -> None:
    document = changed("characteristics", [entry("any name", "enum", NASTY)])
    document["target"]["class"] = "String"
    path = tmp_path / "a_spec.rb"
    path.write_bytes(text(document).encode())
    ran = subprocess.run(
        ["rspec", "--format", "json", "a_spec.rb"], cwd=tmp_path, capture_output=True, timeout=120, check=False
    )
    result = json.loads(ran.stdout.splitlines()[0])
    assert {one["status"] for one in result["examples"]} == {"pending"}
    assert {one["pending_message"] for one in result["examples"]} == {"{EXPECTATION}"}
    assert [one["full_description"] for one in result["examples"]] == [
        f"String#process_payment {{CONTEXT_WORD}} any name is {state} {{BEHAVIOR_DESCRIPTION}}" for state in NASTY
    ]


# --- into the file ---------------------------------------------------------------------------------------------------

OTHER = b"""# frozen_string_literal: true

RSpec.describe PaymentService do
  describe '#refund' do
    it('refunds') { expect(1).to eq(1) }
  end
end
"""
OWN = b"""RSpec.describe PaymentService do
  describe '#process_payment' do
    it('is written by a person') { expect(1).to eq(1) }
  end

  it('stays') { expect(1).to eq(1) }
end
"""


@pytest.mark.proves("S1-HARD-07")
def test_the_block_is_appended_to_the_group_of_the_class_and_nothing_else_changes() -> None:
    found = spec_with_skeleton(PAYMENT, OTHER).data
    assert found.startswith(OTHER.removesuffix(b"end\n"))
    assert found.endswith(b"end\n")
    assert [one.text for one in parse_spec(found).groups[0].groups] == ["#refund", "#process_payment"]
    assert said(criteria.spec_has_one_block(given(""), given(found.decode()))) == []
    assert spec_with_skeleton(PAYMENT, found).data == found, "the same block once more changes nothing"


@pytest.mark.proves("S1-HARD-07")
def test_a_block_is_replaced_only_if_nobody_edited_it_or_a_person_says_so() -> None:
    assert spec_with_skeleton(PAYMENT, OWN).conflicts == (("#process_payment", 2),)
    replaced = spec_with_skeleton(PAYMENT, OWN, None).data
    assert b"is written by a person" not in replaced
    assert b"\n\n  it('stays') { expect(1).to eq(1) }\nend\n" in replaced
    filled = replaced.replace(b"{CONTEXT_WORD}", b"when")
    assert spec_with_skeleton(PAYMENT, filled).conflicts
    block = find_block(filled, PAYMENT["target"])
    assert spec_with_skeleton(PAYMENT, filled, {block.data}).data == replaced
