"""The built-in analysis of a method: conditionals become characteristics with names, types, states and links."""

from __future__ import annotations

import pytest

from moot.core.errors import MootError, Refused
from moot.packs.rspec_v1.analysis import analyze
from moot.packs.rspec_v1.characteristics import kind_of
from moot.packs.rspec_v1.validation import validate

PATH = "app/services/payment_service.rb"

PAYMENT = """\
class PaymentService
  def process_payment(user, amount, payment_method)
    if user.authenticated?
      case payment_method
      when :card
        if user.balance >= amount
          charge(user, amount)
        else
          raise InsufficientFunds
        end
      when :paypal then redirect
      when :bank_transfer then invoice
      end
    else
      raise NotAuthenticated
    end
  end
end
"""


def analysed(body: str, **options):
    text = f"class A\n  def x(a)\n{body}\n  end\nend\n"
    return analyze(text.encode(), "app/a.rb", "x", **options)


def entries(body: str, **options) -> list[tuple]:
    """(name, type, states, depends_on, when_parent, level) of each characteristic."""
    return [
        (one["name"], one["type"], one["states"], one["depends_on"], one["when_parent"], one["level"])
        for one in analysed(body, **options).characteristics
    ]


def roots(body: str, **options) -> list[tuple]:
    return [one[:3] for one in entries(body, **options)]


def document(found) -> dict:
    return {
        "analyzer": {
            "completed": True,
            "timestamp": "2026-01-02T03:04:05Z",
            "source_file_mtime": 1,
            "version": "1.0",
        },
        "test_level": found.test_level,
        "target": found.target,
        "characteristics": found.characteristics,
        "factories_detected": {},
        "automation": {},
    }


@pytest.mark.proves("S1-AN-12")
def test_the_payment_example_gives_three_linked_levels():
    found = analyze(PAYMENT.encode(), PATH, "process_payment")
    assert found.characteristics == [
        {
            "name": "user_authenticated",
            "type": "binary",
            "states": ["authenticated", "not_authenticated"],
            "default": None,
            "depends_on": None,
            "when_parent": None,
            "level": 1,
        },
        {
            "name": "payment_method",
            "type": "enum",
            "states": ["card", "paypal", "bank_transfer"],
            "default": None,
            "depends_on": "user_authenticated",
            "when_parent": "authenticated",
            "level": 2,
        },
        {
            "name": "user_balance",
            "type": "range",
            "states": ["sufficient", "insufficient"],
            "default": None,
            "depends_on": "payment_method",
            "when_parent": "card",
            "level": 3,
        },
    ]
    assert found.lines == {"user_authenticated": 3, "payment_method": 4, "user_balance": 6}
    verdict = validate(document(found))
    assert (verdict.errors, verdict.warnings) == ((), ())


@pytest.mark.proves("S1-AN-01")
@pytest.mark.parametrize(
    ("method", "kind"),
    [("y", "instance"), ("#y", "instance"), (".x", "class"), ("#x", "instance")],
)
def test_the_target_names_class_method_type_and_file(method, kind):
    text = b"module B; class A; def x; end; def self.x; end; def y; end; end; end"
    found = analyze(text, "lib/b/a.rb", method)
    assert found.target == {
        "class": "B::A",
        "method": method.lstrip("#."),
        "method_type": kind,
        "file": "lib/b/a.rb",
        "uses_models": False,
    }
    assert not validate(document(found)).errors


NAMES = {
    "predicate": ("b if user.authenticated?", ("user_authenticated", "binary", ["authenticated", "not_authenticated"])),
    "unless": (
        "b unless user.authenticated?",
        ("user_authenticated", "binary", ["authenticated", "not_authenticated"]),
    ),
    "negated": ("b if !user.authenticated?", ("user_authenticated", "binary", ["authenticated", "not_authenticated"])),
    "not": ("b if not user.admin?", ("user_admin", "binary", ["admin", "not_admin"])),
    "without a receiver": ("b if valid?", ("valid", "binary", ["valid", "not_valid"])),
    "on self": ("b if self.valid?", ("valid", "binary", ["valid", "not_valid"])),
    "safe navigation": ("b if user&.admin?", ("user_admin", "binary", ["admin", "not_admin"])),
    "chain": ("b if order.user.admin?", ("order_user_admin", "binary", ["admin", "not_admin"])),
    "argument": ("b if user.can?(:edit)", ("user_can_edit", "binary", ["can_edit", "not_can_edit"])),
    "local": ("b if user", ("user", "binary", ["user_present", "not_user_present"])),
    "instance variable": ("b if @user", ("user", "binary", ["user_present", "not_user_present"])),
    "attribute": ("b if user.email", ("user_email", "binary", ["user_email_present", "not_user_email_present"])),
    "assignment": ("b if (user = find)", ("user", "binary", ["user_present", "not_user_present"])),
    "at least": ("b if balance >= amount", ("balance", "range", ["sufficient", "insufficient"])),
    "more": ("b if user.balance > 3", ("user_balance", "range", ["sufficient", "insufficient"])),
    "less": ("b if age < 18", ("age", "range", ["below_threshold", "above_threshold"])),
    "at most": ("b if age <= 18", ("age", "range", ["below_threshold", "above_threshold"])),
    "literal first": ("b if 18 < age", ("age", "range", ["sufficient", "insufficient"])),
    "equality": ("b if status == :paid", ("status_paid", "binary", ["paid", "not_paid"])),
    "inequality": ("b if status != 'paid'", ("status_paid", "binary", ["paid", "not_paid"])),
    "match": ("b if name =~ /x/", ("name_matches", "binary", ["matches", "not_matches"])),
    "or": ("b if admin? || owner?", ("admin_or_owner", "binary", ["admin_or_owner", "not_admin_or_owner"])),
    "ternary": ("admin? ? 1 : 2", ("admin", "binary", ["admin", "not_admin"])),
    "case": ("case kind\nwhen :a then 1\nwhen 'b' then 2\nwhen C::D then 3\nend", ("kind", "enum", ["a", "b", "c_d"])),
    "several values": (
        "case kind\nwhen :a, :b then 1\nwhen 3 then 2\nelse 4\nend",
        ("kind", "enum", ["a_or_b", "3", "other"]),
    ),
    "two values": ("case kind\nwhen :a then 1\nwhen :b then 2\nend", ("kind", "range", ["a", "b"])),
    "one value": ("case kind\nwhen :a then 1\nend", ("kind", "range", ["a", "other"])),
    "true and false": ("case flag\nwhen true then 1\nwhen false then 2\nend", ("flag", "binary", ["true", "false"])),
    "ranges": (
        "case n\nwhen 1..5 then 1\nwhen 6... then 2\nelse 3\nend",
        ("n", "enum", ["1_to_5", "6_to_below", "other"]),
    ),
    "progression": (
        "case state\nwhen 'pending' then 1\nwhen 'shipped' then 2\nwhen 'delivered' then 3\nelse 4\nend",
        ("state", "sequential", ["pending", "shipped", "delivered", "other"]),
    ),
    "patterns": (
        "case a\nin {kind: :b} then 1\nin [c] if c.ok? then 2\nelse 3\nend",
        ("a", "enum", ["kind_b", "c_if_ok", "other"]),
    ),
    "chain of equalities": (
        "if kind == :a\n1\nelsif kind == :b\n2\nelse\n3\nend",
        ("kind", "enum", ["a", "b", "other"]),
    ),
    "chain of comparisons": (
        "if n > 100\n1\nelsif n >= 50\n2\nelse\n3\nend",
        ("n", "range", ["above_100", "at_least_50", "other"]),
    ),
    "chain of others": (
        "if a.ok?\n1\nelsif b.good?\n2\nelsif c\n3\nend",
        ("a_ok", "enum", ["ok", "good", "c_present", "other"]),
    ),
    "case without a value": ("case\nwhen a.ok? then 1\nwhen b? then 2\nend", ("a_ok", "enum", ["ok", "b", "other"])),
    "guard": ("raise X unless user.admin?", ("user_admin", "binary", ["admin", "not_admin"])),
}


@pytest.mark.proves("S1-AN-05", "S1-AN-06")
@pytest.mark.parametrize("case", NAMES)
def test_names_states_and_types_come_from_the_code(case):
    body, expected = NAMES[case]
    assert roots(body) == [expected]
    assert not validate(document(analysed(body))).errors


@pytest.mark.proves("S1-AN-05")
@pytest.mark.parametrize(
    ("states", "compares", "kind"),
    [
        (["yes", "no"], True, "range"),
        (["sufficient", "insufficient"], True, "range"),
        (["enabled", "disabled"], False, "binary"),
        (["admin", "not_admin"], False, "binary"),
        (["a", "b"], False, "range"),
        (["pending", "processing", "shipped"], False, "sequential"),
        (["shipped", "processing", "pending"], False, "enum"),
        (["a", "b", "c"], False, "enum"),
    ],
)
def test_the_first_rule_that_fits_decides_the_type(states, compares, kind):
    known = [["pending", "processing", "shipped", "delivered"]]
    assert kind_of(states, compares=compares, progressions=known) == kind


@pytest.mark.proves("S1-AN-05")
def test_fewer_than_two_states_are_an_error():
    with pytest.raises(Refused, match="at least two states"):
        kind_of(["a"], compares=False, progressions=[])


@pytest.mark.proves("S1-AN-05")
def test_a_setting_adds_progressions():
    body = "case a\nwhen :egg then 1\nwhen :larva then 2\nwhen :moth then 3\nend"
    assert roots(body)[0][1] == "enum"
    assert roots(body, progressions=[["egg", "larva", "pupa", "moth"]])[0][1] == "sequential"


@pytest.mark.proves("S1-AN-07")
def test_and_gives_two_on_the_same_level_and_what_is_inside_depends_on_the_last():
    assert entries("if a? && b?\n  c if d?\nelse\n  e if f?\nend") == [
        ("a", "binary", ["a", "not_a"], None, None, 1),
        ("b", "binary", ["b", "not_b"], None, None, 1),
        ("d", "binary", ["d", "not_d"], "b", "b", 2),
        ("f", "binary", ["f", "not_f"], "b", "not_b", 2),
    ]


@pytest.mark.proves("S1-AN-07")
def test_or_gives_one():
    assert [one[0] for one in entries("c if a? || b? || d?")] == ["a_or_b_or_d"]
    assert [one[0] for one in entries("c if a? && b? || d?")] == ["a_and_b_or_d"]


@pytest.mark.proves("S1-AN-07")
def test_the_same_condition_under_the_same_parent_gives_no_second_entry():
    found = entries("b if a?\nc unless a?\nif !a?\n  d if e?\nend\nif f?\n  g if a?\nend")
    assert [(one[0], one[3], one[4]) for one in found] == [
        ("a", None, None),
        ("e", "a", "not_a"),
        ("f", None, None),
        ("a_2", "f", "f"),
    ]


@pytest.mark.proves("S1-AN-07")
def test_a_different_condition_with_an_equal_name_gets_a_number():
    assert [one[0] for one in entries("b if n > 1\nc if n > 2\nd if n < 3")] == ["n", "n_2", "n_3"]


@pytest.mark.proves("S1-AN-08")
def test_nested_conditionals_depend_on_the_branch_they_lie_in():
    body = "if a?\n  b? ? 1 : 2\nelse\n  case c\n  when :x\n    d if e?\n  else\n    f if g?\n  end\nend"
    assert [(one[0], one[3], one[4], one[5]) for one in entries(body)] == [
        ("a", None, None, 1),
        ("b", "a", "a", 2),
        ("c", "a", "not_a", 2),
        ("e", "c", "x", 3),
        ("g", "c", "other", 3),
    ]
    unless = "unless a?\n  b if c?\nelse\n  d if e?\nend"
    assert [(one[0], one[4]) for one in entries(unless)] == [("a", None), ("c", "not_a"), ("e", "a")]


@pytest.mark.proves("S1-AN-08")
def test_guards_of_the_method_are_roots_and_nothing_after_them_depends_on_them():
    body = "return unless a?\nif b?\n  raise X\nend\nitems.each { |i| next if i.gone? }\nc if d?"
    assert [(one[0], one[3], one[5]) for one in entries(body)] == [
        ("a", None, 1),
        ("b", None, 1),
        ("i_gone", None, 1),
        ("d", None, 1),
    ]


LEVELS = [
    (
        "app/controllers/orders_controller.rb",
        "class OrdersController < ApplicationController",
        "Order.find(1)",
        "request",
    ),
    ("app/services/a.rb", "class A", "User.find(1); Order.where(user: 1)", "integration"),
    ("app/services/a.rb", "class A", "Billing::Charge.new(1).call; Mail::Sender.call", "integration"),
    ("app/services/a.rb", "class A", "User.find(1); User.where(a: 1)", "unit"),
    ("app/services/a.rb", "class A", "1 + 1", "unit"),
    ("app/services/a.rb", "class A", "A.other; JSON.parse(x); Time.now; File.read(y); Rails.logger.info", "unit"),
    ("app/services/a.rb", "class A", "raise NotFoundError.new(User.find(1)); LIMITS.first", "unit"),
    ("app/services/a.rb", "class A", "'User.find; Order.find'", "unit"),
]


@pytest.mark.proves("S1-AN-09")
@pytest.mark.parametrize(("path", "opening", "body", "level"), LEVELS)
def test_the_test_level_follows_from_the_file_and_the_classes_used(path, opening, body, level):
    assert analyze(f"{opening}\n  def x\n    {body}\n  end\nend\n".encode(), path, "x").test_level == level


@pytest.mark.proves("S1-AN-09")
def test_e2e_is_used_only_when_it_is_asked_for():
    text = b"class FeatureController; def x; end; end"
    assert analyze(text, "app/controllers/a.rb", "x").test_level == "request"
    assert analyze(text, "app/controllers/a.rb", "x", level="e2e").test_level == "e2e"
    with pytest.raises(MootError, match="not a test level"):
        analyze(text, "app/controllers/a.rb", "x", level="system")


@pytest.mark.proves("S1-AN-10")
def test_a_method_without_conditionals_gives_an_empty_list_and_a_warning():
    found = analysed("a + 1")
    assert found.characteristics == []
    assert found.warnings == ("No conditionals in A#x: only a minimal skeleton follows",)
    assert not validate(document(found)).errors
    assert analysed("b if a").warnings == ()


def test_the_same_source_gives_the_same_analysis():
    assert analyze(PAYMENT.encode(), PATH, "process_payment") == analyze(PAYMENT.encode(), PATH, "process_payment")


def test_conditionals_nested_beyond_the_limit_are_refused():
    with pytest.raises(Refused, match="more than 40 levels"):
        analysed("".join(f"if a{number}?\n" for number in range(41)) + "end\n" * 41)
