"""What must hold on the real spec file after each agent stage."""

from __future__ import annotations

import pytest

from moot.packs.rspec_v1 import criteria, factory_criteria, implementer_criteria
from moot.packs.rspec_v1.context_tree import tree_of
from moot.runs.contract import StageOutput
from tests.specs.rspec_v1.documents import PAYMENT, changed
from tests.specs.rspec_v1.stage_inputs import SPEC, given, said, spec_of

BINARY = changed("characteristics", PAYMENT["characteristics"][:1])
SKELETON = """
    context '{CONTEXT_WORD} authenticated' do
      it '{BEHAVIOR_DESCRIPTION}' do
        skip '{EXPECTATION}'
      end
    end
    context '{CONTEXT_WORD} NOT authenticated' do
      it '{BEHAVIOR_DESCRIPTION}' do
        skip '{EXPECTATION}'
      end
    end
"""
WORDED = """
    subject(:result) { service.process_payment }
    context 'when authenticated' do
      it 'pays' do
        skip '{EXPECTATION}'
      end
    end
    context 'when NOT authenticated' do
      it 'refuses the payment' do
        skip '{EXPECTATION}'
      end
    end
"""
DONE = """
    subject(:result) { service.process_payment }
    context 'when authenticated' do
      let(:user) { build(:user) }
      it 'pays' do
        expect(result).to be(true)
      end
    end
    context 'when NOT authenticated' do
      let(:user) { nil }
      it 'refuses the payment' do
        expect(result).to be(false)
      end
    end
"""


def problems(criterion: object, before: str, after: str, document: dict[str, object] | None = None) -> list[str]:
    known = BINARY if document is None else document
    return said(criterion(given(spec_of(before), known), given(spec_of(after), known)))  # type: ignore[operator]


@pytest.mark.proves("S1-SPEC-03")
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (None, "the spec file does not exist"),
        ("RSpec.describe PaymentService do\n", "not valid Ruby"),
        ("RSpec.describe Other do\nend\n", "no `RSpec.describe PaymentService`"),
        (spec_of("", "#other"), "no `describe '#process_payment'`"),
        (spec_of("", ".process_payment"), "no `describe '#process_payment'`"),
        (
            spec_of("  end\n  describe '#process_payment' do"),
            "2 blocks `describe '#process_payment'`",
        ),
    ],
)
def test_the_spec_has_one_block_of_the_method_or_the_stage_fails(spec: str | None, text: str) -> None:
    (found,) = said(criteria.spec_has_one_block(given(""), given(spec)))
    assert found.startswith(SPEC)
    assert text in found


@pytest.mark.proves("S1-SPEC-03")
def test_the_block_is_found_in_a_namespace_and_beside_other_tests() -> None:
    spec = "RSpec.describe ::PaymentService do\n it('x') { }\n describe('#other') { }\n" + spec_of("").split("\n", 1)[1]
    assert said(criteria.spec_has_one_block(given(""), given(spec))) == []


@pytest.mark.proves("S1-SPEC-03")
def test_other_tests_in_the_file_neither_fail_nor_rescue_a_stage() -> None:
    other = "    it '' do\n    end\n  end\n  describe '#other' do\n    it('must') { }\n"
    fine = spec_of(DONE).removesuffix("end\n") + "  describe '#other' do\n    it('') { }\n  end\nend\n"
    for criterion in (criteria.language_rules_hold, implementer_criteria.examples_expect):
        assert said(criterion(given(""), given(fine, BINARY))) == []
        assert said(criterion(given(""), given(spec_of(other), BINARY)))


@pytest.mark.proves("S1-SKEL-01")
def test_the_contexts_of_a_skeleton_are_those_of_the_characteristics() -> None:
    assert problems(criteria.tree_matches_document, "", SKELETON) == []
    assert problems(criteria.tree_matches_document, "", SKELETON, PAYMENT)
    assert problems(criteria.tree_matches_document, "", "it('x') { }")


@pytest.mark.proves("S1-SKEL-01", "S1-SKEL-03")
def test_placeholders_stand_only_where_they_belong() -> None:
    assert problems(criteria.placeholders_in_place, "", SKELETON) == []
    moved = SKELETON.replace("{CONTEXT_WORD} authenticated", "when authenticated")
    assert any("although it is a leaf" in one for one in problems(criteria.placeholders_in_place, "", moved))
    inner = "context('{CONTEXT_WORD} a') { context('{CONTEXT_WORD} b') { } }"
    assert any("is not a leaf" in one for one in problems(criteria.placeholders_in_place, "", inner))
    no_skip = SKELETON.replace("skip '{EXPECTATION}'", "# {EXPECTATION}")
    assert any("without its placeholders" in one for one in problems(criteria.placeholders_in_place, "", no_skip))


@pytest.mark.proves("S1-SKEL-02", "S1-SKEL-04")
def test_the_tree_nests_an_entry_in_the_state_of_its_parent() -> None:
    (yes, no) = tree_of(PAYMENT["characteristics"])
    assert (yes.words, no.words) == ("authenticated", "NOT authenticated")
    assert [one.words for one in yes.children] == [
        *("payment method is card", "payment method is paypal", "payment method is bank transfer"),
    ]
    assert [one.words for one in yes.children[0].children] == ["balance is sufficient", "balance is insufficient"]
    assert no.children == ()


@pytest.mark.proves("S1-ARCH-02")
def test_architect_leaves_no_placeholder_and_no_context_without_an_example() -> None:
    assert problems(criteria.words_are_chosen, SKELETON, WORDED) == []
    half = WORDED.replace("it 'pays'", "it '{BEHAVIOR_DESCRIPTION}'")
    assert problems(criteria.words_are_chosen, SKELETON, half) == [f"{SPEC}:6: {{BEHAVIOR_DESCRIPTION}} is left"]
    assert len(problems(criteria.words_are_chosen, "", SKELETON)) == 4
    empty = "context('when a') { context('and b') { } }\ncontext('when c') { it('d') { } }"
    assert problems(criteria.words_are_chosen, "", empty) == [
        f"{SPEC}:3: 'when a' has no example",
        f"{SPEC}:3: 'and b' has no example",
    ]


@pytest.mark.proves("S1-ARCH-03")
def test_the_context_of_the_first_state_stands_first() -> None:
    states = ("authenticated", "not_authenticated")
    contexts = [f"context 'when {one}' do\n# {{SETUP_CODE}} user_authenticated: {one}\nend\n" for one in states]
    assert problems(criteria.first_states_first, "", "".join(contexts)) == []
    assert problems(criteria.first_states_first, "", "context 'when not rich' do\nend\n" + "".join(contexts)) == []
    (found,) = problems(criteria.first_states_first, "", "".join(reversed(contexts)))
    assert found.startswith(f"{SPEC}:3: 'when not_authenticated'")


@pytest.mark.proves("S1-ARCH-04")
def test_a_breach_of_the_language_rules_keeps_architect_from_completing() -> None:
    breaches = (
        "context('if a') { }",
        "context('with a') { }",
        "context('when a') { context('where b') { } }",
        "it('') { }",
        "it { }",
    )
    for body in breaches:
        (found,) = criteria.language_rules_hold(given(""), given(spec_of(body)))
        assert (found.line, found.blocks) == (3, True)


@pytest.mark.proves("S1-ARCH-05")
def test_architect_may_reorder_and_reword_but_not_change_the_tree() -> None:
    first, second = SKELETON.strip().split("\n    context", 1)
    swapped = f"    context{second}\n    {first}".replace("{CONTEXT_WORD}", "when")
    assert problems(criteria.tree_is_kept, SKELETON, swapped) == []
    assert problems(criteria.tree_is_kept, SKELETON, first) == [
        f"{SPEC}:2: the context tree has changed: 2 leaf contexts before, 1 now",
    ]
    deeper = SKELETON.replace("it '{BEHAVIOR", "context('and') { }\n      it '{BEHAVIOR", 1)
    assert problems(criteria.tree_is_kept, SKELETON, deeper)


def test_an_agent_may_not_remove_the_tests_of_other_methods() -> None:
    with_other = spec_of(WORDED).removesuffix("end\n") + "  describe('#x') { it('keeps me') { } }\nend\n"
    found = said(criteria.other_tests_are_kept(given(with_other), given(spec_of(WORDED))))
    assert found == [f"{SPEC}: the example 'keeps me' outside of the method's block is gone"]
    assert said(criteria.other_tests_are_kept(given(with_other), given(with_other))) == []


@pytest.mark.proves("S1-IMPL-01")
def test_implementer_keeps_descriptions_and_contexts() -> None:
    assert problems(criteria.descriptions_are_kept, WORDED, DONE) == []
    renamed = DONE.replace("'pays'", "'pays everything'")
    assert problems(criteria.descriptions_are_kept, WORDED, renamed) == [
        f"{SPEC}:7: 'when authenticated > pays everything' is new; texts and contexts stay as architect left them",
        f"{SPEC}: 'when authenticated > pays' is gone",
    ]
    doubled = DONE + "\n    context 'when authenticated' do\n    end\n"
    assert problems(criteria.descriptions_are_kept, WORDED, doubled)


@pytest.mark.proves("S1-IMPL-02")
def test_every_example_expects_and_no_placeholder_is_left() -> None:
    assert problems(implementer_criteria.examples_expect, WORDED, DONE) == []
    found = problems(implementer_criteria.examples_expect, WORDED, WORDED)
    assert found == [
        f"{SPEC}:6: the example 'pays' has no expectation",
        f"{SPEC}:11: the example 'refuses the payment' has no expectation",
        f"{SPEC}:7: {{EXPECTATION}} is left",
        f"{SPEC}:12: {{EXPECTATION}} is left",
    ]
    for word in ("{SETUP_CODE}",):
        assert problems(implementer_criteria.examples_expect, "", DONE + f"    # {word}\n")
    shared = "it('a') { is_expected.to eq 1 }\nit('b') { it_behaves_like 'c' }"
    assert problems(implementer_criteria.examples_expect, "", shared) == []
    helper = "it('a') { expect_paid(result) }"
    assert problems(implementer_criteria.examples_expect, "", helper) == []
    assert problems(implementer_criteria.examples_expect, "", "it('a') { expect(b) }")
    assert problems(implementer_criteria.examples_expect, "", "it('a') { pays(result) }")


@pytest.mark.proves("S1-IMPL-03")
def test_every_context_has_setup_of_its_own_unless_its_state_is_the_default() -> None:
    assert problems(implementer_criteria.contexts_have_setup, "", DONE) == []
    bare = DONE.replace("      let(:user) { build(:user) }\n", "")
    assert problems(implementer_criteria.contexts_have_setup, "", bare) == [
        f"{SPEC}:5: the context 'when authenticated' has no setup of its own",
    ]
    default = changed("characteristics", [{**PAYMENT["characteristics"][0], "default": "authenticated"}])
    assert problems(implementer_criteria.contexts_have_setup, "", bare, default) == []
    for setup in ("before { x }", "subject { x }", "let!(:y) { x }"):
        fine = DONE.replace("let(:user) { build(:user) }", setup)
        assert problems(implementer_criteria.contexts_have_setup, "", fine) == []
    after_only = DONE.replace("let(:user) { build(:user) }", "after { x }")
    assert problems(implementer_criteria.contexts_have_setup, "", after_only)


@pytest.mark.proves("S1-IMPL-04")
def test_a_subject_calls_the_target_method() -> None:
    assert problems(implementer_criteria.subject_calls_method, "", DONE) == []
    other = DONE.replace("service.process_payment", "service.refund")
    assert problems(implementer_criteria.subject_calls_method, "", other) == [
        f"{SPEC}:2: no subject in or around this block calls `process_payment`",
    ]
    around = "RSpec.describe PaymentService do\n subject { a.process_payment }\n" + spec_of("").split("\n", 1)[1]
    assert said(implementer_criteria.subject_calls_method(given(""), given(around))) == []


@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("initialize", "described_class.new(1)"),
        ("==", "one == other"),
        ("[]", "basket[1]"),
        ("name=", "user.name = 'x'"),
        ("paid?", "order.paid?"),
        ("run", "job.public_send(:run)"),
    ],
)
def test_a_subject_can_call_any_kind_of_method(method: str, body: str) -> None:
    document = changed("target.method", method)
    spec = spec_of(f"subject {{ {body} }}", f"#{method}")
    assert said(implementer_criteria.subject_calls_method(given(""), given(spec, document))) == []


@pytest.mark.proves("S1-IMPL-05")
@pytest.mark.parametrize(
    ("example", "text"),
    [
        ("expect(service).to receive(:log)", "a message expectation on the object under test, `service`"),
        ("expect(service).to have_received(:log)", "a message expectation on the object under test"),
        ("expect_any_instance_of(PaymentService).to receive(:log)", "any instance of the class under test"),
        ("expect(service.instance_variable_get(:@a)).to eq 1", "`instance_variable_get` looks into an object"),
        ("service.instance_variable_set(:@a, 1); expect(1).to eq 1", "`instance_variable_set` looks into an object"),
        ("expect(service.charge).to eq 1", "`charge` is private in the source"),
        ("expect(service.send(:charge)).to eq 1", "`charge` is private in the source"),
    ],
)
def test_a_look_into_the_object_under_test_fails_implementer(example: str, text: str) -> None:
    source = "class PaymentService\n def process_payment; end\n private\n def charge; end\nend\n"
    body = DONE.replace("expect(result).to be(true)", example)
    found = said(implementer_criteria.behaviour_is_tested(given(""), given(spec_of(body), BINARY, source=source)))
    assert any(text in one for one in found), found
    assert said(implementer_criteria.behaviour_is_tested(given(""), given(spec_of(DONE), BINARY, source=source))) == []


UNIT = changed("factories_detected", {"user": {"file": "spec/factories/users.rb", "traits": ["admin", "premium"]}})


def factory(body: str) -> str:
    return f"let(:user) {{ {body} }}\nit('a') {{ expect(user.name).to eq 'x' }}"


@pytest.mark.proves("S1-FOPT-02")
def test_a_create_at_unit_level_needs_a_reason_or_a_warning_with_its_line() -> None:
    document = changed("test_level", "unit")
    assert problems(factory_criteria.unit_tests_build, "", factory("create(:user)"), document) == [
        f"{SPEC}:3: `create(:user)` at unit level: use build_stubbed, or warn of line 3",
    ]
    assert problems(factory_criteria.unit_tests_build, "", factory("build_stubbed(:user)"), document) == []
    stored = "let(:user) { create(:user) }\nit('a') { expect(user.reload.name).to eq 'x' }"
    assert problems(factory_criteria.unit_tests_build, "", stored, document) == []
    integration = changed("test_level", "integration")
    assert problems(factory_criteria.unit_tests_build, "", factory("create(:user)"), integration) == []
    for line, found in ((3, 0), (33, 1)):
        output = StageOutput(warnings=(f"create kept in line {line}",))
        after = given(spec_of(factory("create(:user)")), document, output=output)
        assert len(said(factory_criteria.unit_tests_build(given(""), after))) == found


@pytest.mark.proves("S1-FOPT-03")
@pytest.mark.parametrize(
    ("body", "trait"),
    [
        ("build(:user, admin: true)", "admin"),
        ("build(:user, role: :admin)", "admin"),
        ("build(:user, plan: 'premium')", "premium"),
        ("build(:user, admin: false)", None),
        ("build(:user, :admin, name: 'x')", None),
        ("build(:order, admin: true)", None),
    ],
)
def test_an_attribute_for_which_there_is_a_trait_is_not_left(body: str, trait: str | None) -> None:
    found = [
        one for one in factory_criteria.traits_are_used(given(""), given(spec_of(factory(body)), UNIT)) if one.blocks
    ]
    assert [f"use its trait :{trait}" in one.said for one in found] == ([True] if trait else [])


@pytest.mark.proves("S1-FOPT-03")
def test_a_trait_that_does_not_exist_is_a_warning() -> None:
    (found,) = factory_criteria.traits_are_used(given(""), given(spec_of(factory("build(:user, :gold)")), UNIT))
    assert not found.blocks
    assert found.said.endswith("Factory trait :gold not found")


@pytest.mark.proves("S1-FOPT-01")
def test_the_optimizer_may_change_only_how_factories_are_called() -> None:
    before = factory("create(:user, admin: true)")
    for after in ("build_stubbed(:user, :admin)", "FactoryBot.build(:user)"):
        assert problems(factory_criteria.only_factory_calls_changed, before, factory(after), UNIT) == []
    assert problems(factory_criteria.only_factory_calls_changed, before, factory("build(:admin)"), UNIT)
    weaker = before.replace("eq 'x'", "be_truthy")
    (found,) = problems(factory_criteria.only_factory_calls_changed, before, weaker, UNIT)
    assert "more than factory calls changed" in found
    assert not factory_criteria.has_factory_calls(given(spec_of("let(:a) { create_token }")))
    assert factory_criteria.has_factory_calls(given(spec_of(before)))
