"""The conditionals of a method: every form, what nests in what, and how branches leave."""

from __future__ import annotations

import pytest

from moot.packs.ruby.conditionals import conditionals
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse


def found(body: str):
    source = parse(f"class A\ndef x(a)\n{body}\nend\nend\n".encode())
    assert not source.problems, source.problems
    return conditionals(declarations(source).methods[0])


def outline(body: str) -> list:
    """[form, condition, [(role, [nested …]) …]] for each."""

    def one(it):
        tested = "" if it.condition is None else it.condition.text
        branches = [(_label(branch), [one(inner) for inner in branch.nested]) for branch in it.branches]
        return [it.form, tested, branches]

    return [one(it) for it in found(body)]


def _label(branch) -> str:
    parts = [branch.role, *(value.text for value in branch.values)]
    if branch.condition is not None:
        parts.append(branch.condition.text)
    return " ".join(parts) + ("?" if branch.implicit else "")


PLAIN = [("then", []), ("else", [])]
ALONE = [("then", []), ("else?", [])]

FORMS = {
    "if": ("if a\n1\nend", [["if", "a", ALONE]]),
    "if else": ("if a then 1 else 2 end", [["if", "a", PLAIN]]),
    "elsif": (
        "if a\n1\nelsif b\n2\nelsif c\n3\nelse\n4\nend",
        [["if", "a", [("then", []), ("elsif b", []), ("elsif c", []), ("else", [])]]],
    ),
    "elsif without else": ("if a\n1\nelsif b\n2\nend", [["if", "a", [("then", []), ("elsif b", []), ("else?", [])]]]),
    "unless": ("unless a\n1\nelse\n2\nend", [["unless", "a", PLAIN]]),
    "if modifier": ("b if a", [["if", "a", ALONE]]),
    "unless modifier": ("b unless a", [["unless", "a", ALONE]]),
    "ternary": ("a ? 1 : 2", [["ternary", "a", PLAIN]]),
    "ternary in a call": ("foo(a ? 1 : 2)", [["ternary", "a", PLAIN]]),
    "nested ternary": ("a ? 1 : b ? 2 : 3", [["ternary", "a", [("then", []), ("else", [["ternary", "b", PLAIN]])]]]),
    "case when": (
        "case a\nwhen :b, 'c' then 1\nwhen D then 2\nelse 3\nend",
        [["case", "a", [("when :b 'c'", []), ("when D", []), ("else", [])]]],
    ),
    "case without value": (
        "case\nwhen a > 1 then 1\nwhen b then 2\nend",
        [
            ["case", "", [("when a > 1", []), ("when b", []), ("else?", [])]],
        ],
    ),
    "case in": (
        "case a\nin {b: 1} if c then 1\nin [1, *] | nil\n2\nelse\n3\nend",
        [["case_in", "a", [("in {b: 1} c", []), ("in [1, *] | nil", []), ("else", [])]]],
    ),
    "return if": ("return 1 if a", [["if", "a", ALONE]]),
    "return unless": ("return unless a", [["unless", "a", ALONE]]),
    "raise if": ("raise A, 'b' if a", [["if", "a", ALONE]]),
    "next in a block": ("b.each { |c| next if c }", [["if", "c", ALONE]]),
    "block form of a guard": ("if a\n  # comment\n  return 1\nend\n2", [["if", "a", ALONE]]),
    "nested": (
        "if a\n  if b\n    1\n  end\nelse\n  c ? 1 : 2\nend",
        [["if", "a", [("then", [["if", "b", ALONE]]), ("else", [["ternary", "c", PLAIN]])]]],
    ),
    "nested in a when": (
        "case a\nwhen 1\n  return if b\nend",
        [["case", "a", [("when 1", [["if", "b", ALONE]]), ("else?", [])]]],
    ),
    "code after a guard is not nested": ("return if a\nb if c", [["if", "a", ALONE], ["if", "c", ALONE]]),
    "nested in a block of a branch": (
        "if a\n  b.each do |c|\n    d if c\n  end\nend",
        [["if", "a", [("then", [["if", "c", ALONE]]), ("else?", [])]]],
    ),
    "a conditional in a condition comes first": (
        "if (a ? b : c)\n  1\nend",
        [["if", "a ? b : c", ALONE], ["ternary", "a", PLAIN]],
    ),
    "assigned": ("b = if a then 1 else 2 end", [["if", "a", PLAIN]]),
    "in begin and rescue": (
        "begin\n  a if b\nrescue C => e\n  d unless e\nensure\n  f ? 1 : 2\nend",
        [["if", "b", ALONE], ["unless", "e", ALONE], ["ternary", "f", PLAIN]],
    ),
    "rescue of the method": ("a if b\nrescue C\n  d if e", [["if", "b", ALONE], ["if", "e", ALONE]]),
    "in a lambda": ("-> { a if b }", [["if", "b", ALONE]]),
    "interpolated code": ('"text #{a ? 1 : 2}"', [["ternary", "a", PLAIN]]),
    "code in a heredoc of a condition": (
        "if a(<<TEXT)\n #{b ? 1 : 2}\nTEXT\n  c\nend",
        [["if", "a(<<TEXT)", ALONE], ["ternary", "b", PLAIN]],
    ),
    "begin with a modifier": ("begin\n  b\n  c\nend if a", [["if", "a", ALONE]]),
}


@pytest.mark.proves("S1-AN-04")
@pytest.mark.parametrize("case", FORMS)
def test_every_form_of_a_conditional_is_found(case):
    body, expected = FORMS[case]
    assert outline(body) == expected


@pytest.mark.proves("S1-AN-04")
@pytest.mark.parametrize(
    "body",
    [
        "'if a then b end'",
        '"a ? b : c unless d"',
        "# if a\n# return unless b\n1",
        "=begin\nif a\n  b\nend\n=end\n1",
        "<<~TEXT\n  return if a\n  case b\n  when c\n  end\nTEXT",
        "%w[if unless case when]",
        "/if a ? b : c/",
        "`if a; then b; fi`",
        ":if; { if: 1, unless: 2 }",
        "a.if(b)",
        "while a\n  b\nend",
        "a && b || c",
        "def y\n  b if a\nend",
        "Class.new do\n def z\n  b if a\n end\nend",
        "",
    ],
)
def test_text_and_other_code_yield_nothing(body):
    assert outline(body) == []


@pytest.mark.parametrize(
    ("body", "leaves"),
    [
        ("if a\n  return 1\nend", ["return", ""]),
        ("if a\n  b\n  raise C\nelse\n  next\nend", ["raise", "next"]),
        ("case a\nwhen 1 then fail 'x'\nwhen 2 then throw :x\nelse\n  break\nend", ["raise", "throw", "break"]),
        ("if a\n  return 1 if b\nend", ["", ""]),
        ("if a\n  b.raise\nend", ["", ""]),
    ],
)
def test_branches_say_how_they_leave(body, leaves):
    assert [branch.leaves for branch in found(body)[0].branches] == leaves


def test_branches_have_their_statements_and_lines():
    (it,) = found("if a\n  user.save!\n  return nil\nelse\n  Payment.create!(amount: 1)\nend")
    first, second = it.branches
    assert [(one.kind, one.name, one.text) for one in first.statements] == [
        ("call", "save!", "user.save!"),
        ("return", "", "return nil"),
    ]
    assert [one.kind for one in first.statements[1].operands] == ["nil"]
    (created,) = second.statements
    assert (created.receiver.name, created.name) == ("Payment", "create!")
    assert (first.first_line, first.last_line, second.first_line) == (4, 5, 7)


def test_only_the_end_of_the_method_is_last():
    first, second = found("a if b\nif c\n  d ? 1 : 2\n  e if f\nend")
    assert (first.last, second.last) == (False, True)
    assert [inner.last for inner in second.branches[0].nested] == [False, True]


def test_conditions_with_and_or_and_not_have_their_parts():
    (it,) = found("b if user.ok? && !(c || d) && e > 3")
    assert it.condition.kind == "and"
    assert [one.kind for one in it.condition.operands] == ["call", "not", "comparison"]
    negated = it.condition.operands[1].operands[0]
    assert (negated.kind, [one.text for one in negated.operands]) == ("or", ["c", "d"])
    compared = it.condition.operands[2]
    assert (compared.operator, compared.operands[0].text, compared.operands[1].kind) == (">", "e", "number")


def test_defaults_of_parameters_count():
    source = parse(b"class A\n  def x(a, b = (a ? 1 : 2), c: (3 if a))\n    d if b\n  end\nend\n")
    found = conditionals(declarations(source).methods[0])
    assert [(one.form, one.last) for one in found] == [("ternary", False), ("if", False), ("if", True)]


def test_define_method_has_the_conditionals_of_its_block():
    source = parse(b"class A\n  define_method(:x) { |a| a ? 1 : 2 }\n  define_method(:y, ->(a) { a ? 1 : 2 })\nend\n")
    for method in declarations(source).methods:
        assert [one.form for one in conditionals(method)] == ["ternary"]


def test_a_tree_deeper_than_the_stack_of_python_is_read():
    depth = 3000
    source = parse(("class A\ndef x\n" + "if a\n" * depth + "end\n" * depth + "end\nend\n").encode())
    (top,) = conditionals(declarations(source).methods[0])
    assert sum(1 for _ in top.walk()) == depth


@pytest.mark.parametrize("word", ["&&", "and", "||"])
def test_a_long_chain_is_one_condition_with_all_parts(word):
    names = [f"n{number}" for number in range(60)]
    (one,) = found(f"if {f' {word} '.join(names)}\n  b\nend")
    assert [part.name for part in one.condition.operands] == names


def test_a_chain_ends_at_another_operator_and_at_parentheses():
    (one,) = found("if (a || b) || c && d\n  e\nend")
    assert [(part.kind, part.text) for part in one.condition.operands] == [("or", "a || b"), ("and", "c && d")]
