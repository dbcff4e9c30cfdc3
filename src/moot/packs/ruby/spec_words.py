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
