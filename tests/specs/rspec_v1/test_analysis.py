"""The built-in analysis of a method: conditionals become characteristics with names, types, states and links."""

from __future__ import annotations

import pytest

from moot.core.errors import MootError
from moot.packs.rspec_v1.analysis import analyze, not_in
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
            "states": ["user_authenticated", "not_user_authenticated"],
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
            "when_parent": "user_authenticated",
            "level": 2,
        },
        {
            "name": "user_balance",
            "type": "range",
            "states": [">= amount", "< amount"],
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
    }
    assert not validate(document(found)).errors


FORMS = {  # the whole of what a condition gives: name, type and states
    "b if user.authenticated?": ("user_authenticated", "binary", ["user_authenticated", "not_user_authenticated"]),
    "b unless user.authenticated?": ("user_authenticated", "binary", ["user_authenticated", "not_user_authenticated"]),
    "b if !user.can?(:edit)": ("user_can", "binary", ["user_can_edit", "not_user_can_edit"]),
    "b if side.nil?": ("side", "binary", ["side_present", "not_side_present"]),
    "b if @user": ("user", "binary", ["user_present", "not_user_present"]),
    "b if balance >= price": ("balance", "range", [">= price", "< price"]),
    "b if 18 < user.age": ("user_age", "range", ["> 18", "<= 18"]),
    "b if status != 'paid'": ("status_paid", "binary", ["status_paid", "not_status_paid"]),
    "b if admin? || owner?": ("condition_1", "binary", ["condition_1", "not_condition_1"]),
    "admin? ? 1 : 2": ("admin", "binary", ["admin", "not_admin"]),
    "case kind\nwhen :a, :b then 1\nwhen 3 then 2\nelse 4\nend": ("kind", "enum", ["a or b", "3", "other"]),
    "case kind\nwhen :a then 1\nend": ("kind", "enum", ["a", "other"]),
    "case a\nin {kind: :b} then 1\nelse 3\nend": ("a", "enum", ["{kind: :b}", "other"]),
    "if n > 9\n1\nelsif n >= 5\n2\nelse\n3\nend": ("n", "enum", ["> 9", ">= 5", "other"]),
    "if a.ok?\n1\nelsif b && c\n2\nend": ("condition_1", "enum", ["a_ok", "branch_2"]),
    "raise X unless user.admin?": ("user_admin", "binary", ["user_admin", "not_user_admin"]),
    "raise X if user.banned?\n1": ("user_banned", "binary", ["not_user_banned", "user_banned"]),
    "x = <<~T\n  if a then b end\nT\n# if c\n'd ? 1 : 2' if e?": ("e", "binary", ["e", "not_e"]),
}


@pytest.mark.proves("S1-AN-04", "S1-AN-05", "S1-AN-06")
def test_names_states_and_types_come_from_the_code():
    assert {body: roots(body)[0] for body in FORMS} == FORMS
    for body in FORMS:
        assert not validate(document(analysed(body))).errors, body


@pytest.mark.proves("S1-AN-07")
def test_and_gives_two_or_gives_one_and_the_same_condition_gives_no_second_entry():
    assert [(one[0], one[3], one[4]) for one in entries("if a? && b?\n  c if d?\nelse\n  e if f?\nend")] == [
        ("a", None, None),
        ("b", "a", "a"),
        ("d", "b", "b"),
        ("f", None, None),  # reached by two ways
    ]
    found = entries("b if a?\nc unless a?\nif !a?\n  d if e?\nend\nif f?\n  g if a?\nend\nh if a?(1)")
    assert [(one[0], one[3], one[4]) for one in found] == [
        ("a", None, None),
        ("e", "a", "not_a"),
        ("f", None, None),
        ("a_2", "f", "f"),
        ("a_3", None, None),
    ]
    assert [one[0] for one in entries("b if n > 1\nc if n > 2\nd if n < 3\ne if f || g")] == [
        *("n", "n_2", "n_3", "condition_1"),
    ]


@pytest.mark.proves("S1-AN-08")
def test_entries_nest_as_in_the_code():
    body = "if a?\n  b? ? 1 : 2\nelse\n  case c\n  when :x\n    d if e?\n  else\n    f if g?\n  end\nend"
    assert [(one[0], one[3], one[4], one[5]) for one in entries(body)] == [
        ("a", None, None, 1),
        ("b", "a", "a", 2),
        ("c", "a", "not_a", 2),
        ("e", "c", "x", 3),
        ("g", "c", "other", 3),
    ]
    body = "return unless a?\nitems.each { |i| next if i.gone? }\ncase k\nwhen 1 then return\nwhen 2 then b\n"
    body += "else c\nend\nd if e?"
    assert [(one[0], one[3], one[4], one[5]) for one in entries(body)] == [
        ("a", None, None, 1),
        ("i_gone", "a", "a", 2),
        ("k", "a", "a", 2),
        ("e", "a", "a", 2),  # beside: two states of k go on
    ]
    assert entries(body)[2][2] == ["2", "other", "1"]


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
    with pytest.raises(MootError) as caught:
        analysed("".join(f"if a{number}?\n" for number in range(41)) + "end\n" * 41)
    assert caught.value.code == "method_too_complex"


@pytest.mark.proves("S1-AN-14")
def test_what_an_agent_says_of_the_source_must_stand_in_it():
    good = document(analyze(PAYMENT.encode(), PATH, "process_payment"))
    good["characteristics"][0]["source_line"] = "3-17"
    assert list(not_in(good, PAYMENT.encode())) == []
    for key, value in (("method", "other"), ("class", "Other"), ("method_type", "class")):
        wrong = {**good, "target": {**good["target"], key: value}}
        assert [path for path, _ in not_in(wrong, PAYMENT.encode())] == ["target"], key
    good["characteristics"][0]["source_line"] = "18"
    assert [path for path, _ in not_in(good, PAYMENT.encode())] == ["characteristics[0].source_line"]
