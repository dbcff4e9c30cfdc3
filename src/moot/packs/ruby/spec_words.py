"""The words of RSpec's language, by what they make."""

from __future__ import annotations

GROUPS = frozenset(
    (
        *("describe", "context", "feature", "example_group"),
        *("xdescribe", "xcontext", "xfeature", "fdescribe", "fcontext", "ffeature"),
    )
)
SHARED_GROUPS = frozenset(("shared_examples", "shared_examples_for", "shared_context"))
EXAMPLES = frozenset(
    (
        *("it", "specify", "example", "scenario", "its"),
        *("xit", "xspecify", "xexample", "xscenario", "fit", "fspecify", "fexample", "fscenario", "focus"),
        *("skip", "pending"),
    )
)
PENDING = frozenset(("skip", "pending"))
DEFINITIONS = frozenset(("let", "let!", "subject", "subject!"))
HOOKS = frozenset(
    (
        *("before", "after", "around", "prepend_before", "append_before", "prepend_after", "append_after"),
        *("before_all", "before_each", "after_all", "after_each"),
    )
)
SHARED = frozenset(("it_behaves_like", "it_should_behave_like", "include_examples", "include_context"))
VERDICTS = frozenset(("to", "not_to", "to_not", "should", "should_not"))
BRANCHES = {
    "if": "if",
    "unless": "unless",
    "if_modifier": "if",
    "unless_modifier": "unless",
    "while": "while",
    "until": "until",
    "while_modifier": "while",
    "until_modifier": "until",
    "for": "for",
    "case": "case",
    "case_match": "case",
    "conditional": "?:",
}
LOOPS = frozenset(
    ("each", "each_with_index", "each_with_object", "times", "upto", "downto", "step", "loop", "each_slice")
)
# Matchers of RSpec itself that look only at what they are given. Not here: those that call code, such as `change`.
MATCHERS = frozenset(
    (
        *("be", "eq", "eql", "equal", "be_nil", "be_truthy", "be_falsey", "be_falsy", "be_true", "be_false"),
        *("be_a", "be_an", "be_a_kind_of", "be_kind_of", "be_an_instance_of", "be_instance_of"),
        *("be_between", "be_within", "be_empty", "be_present", "be_blank", "be_positive", "be_negative", "be_zero"),
        *("match", "match_array", "contain_exactly", "include", "start_with", "end_with", "cover", "all", "exist"),
        *("a_kind_of", "an_instance_of", "anything", "respond_to", "have_attributes"),
        *("raise_error", "raise_exception", "throw_symbol"),
    )
)
CHAINS = frozenset(("of", "percent_of", "and", "or", "inclusive", "exclusive", "with_message", "exactly", "times"))
# Calls without a receiver that verify nothing.
HARMLESS = frozenset(
    (
        *("expect", "is_expected", "are_expected", "subject", "described_class", "self"),
        *("allow", "allow_any_instance_of", "receive", "receive_messages", "receive_message_chain", "stub_const"),
        *("double", "instance_double", "class_double", "object_double", "spy", "instance_spy", "class_spy"),
        *("build", "build_stubbed", "build_list", "create", "create_list", "attributes_for"),
        *("puts", "print", "p", "pp", "sleep", "require", "require_relative", "proc", "lambda", "raise", "fail"),
        *("change", "have_received", "output", "satisfy", "yield_control", "should", "should_not"),
        *("next", "return", "skip", "pending", "sprintf", "format", "rand", "binding", "block_given?"),
        *MATCHERS,
    )
)
