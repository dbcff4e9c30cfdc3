"""The built-in code-analyzer on Ruby code: types, values, links, names, and what it leaves to agents."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.errors import MootError
from moot.packs.rspec.analyzer import BEHAVIOUR, analyze
from tests.specs.rspec.analysing import analysed, document, links, method, shapes, texts, values
from tests.specs.rspec.samples import sample

PROCESSOR = """\
class PaymentProcessor
  def process(payment)
    case payment.status
    when :pending
      gateway_result = PaymentGateway.charge(payment)
      if gateway_result
        process_payment(payment)
      else
        return :payment_gateway_charge_fails
      end
    when :completed
      return :completed
    when :failed
      return :payment_failure
    end
    PaymentNotificationWebhook.deliver(payment)
    UserMailer.confirmation(User.find(payment.user_id)).deliver_later
  end

  def refund(transaction)
    return :ineligible_refund unless refund_eligible?

    refund_transaction(transaction)
  end
end
"""


def plain(data: Any) -> list[Any]:
    """What the sample fixes: names, types, values, terminal flags, levels, links and sources."""
    return [
        (
            one["name"],
            one["type"],
            [(v["value"], v["terminal"], "behavior_id" in v) for v in one["values"]],
            (one["level"], one["depends_on"], one["when_parent"]),
            one.get("source"),
        )
        for method in data["methods"]
        for one in method["characteristics"]
    ]


@pytest.mark.proves("S2-AN-18", "S2-AN-02", "S2-AN-14", "S2-AN-17")
def test_a_source_like_the_sample_gives_the_sample() -> None:
    found = analysed(PROCESSOR, "PaymentProcessor").data
    expected = sample("code-analyzer")["data"]
    assert plain(found) == plain(expected)
    assert list(found) == ["slug", "source_file", "source_mtime", "class_name", "behaviors", "methods"]
    assert [found[key] for key in list(found)[:4]] == [expected[key] for key in list(found)[:4]]
    process, refund = found["methods"]
    assert (process["name"], process["type"], process["analyzed"], process["method_mode"]) == (
        *("process", "instance", True, "new"),
    )
    assert process["dependencies"] == ["PaymentGateway", "PaymentNotificationWebhook", "UserMailer", "User"]
    assert refund["dependencies"] == []
    assert not any(word in str(found) for word in ("side_effects", "setup", "test_level", "target"))


@pytest.mark.proves("S2-AN-01")
def test_exactly_the_selected_methods_are_analysed_and_each_must_be_there_once() -> None:
    source = "class A\n  def a; end\n  def b; end\nend\n"
    given = document(source, "A")
    given["methods_to_analyze"][0]["selected"] = False
    assert [one["name"] for one in analyze(given, source.encode(), 1).data["methods"]] == ["b"]
    changed = {
        "method_missing": b"class A\n  def other; end\nend\n",
        "method_ambiguous": b"class A\n\n\n  def b; end\n  def b; 2; end\nend\n",
        "source_does_not_parse": b"class A\n  def b\n    if (\n  end\nend\n",
    }
    for code, data in changed.items():
        with pytest.raises(MootError) as caught:
            analyze(given, data, 1)
        assert caught.value.code == code
    given["methods_to_analyze"][1]["selected"] = False
    assert analyze(given, source.encode(), 1).skip == "No method is selected"


FORMS = {  # condition: name and type
    "user": ("user", "presence"),
    "@user": ("user", "presence"),
    "order.address": ("order_address", "presence"),
    "order.address.nil?": ("order_address", "presence"),
    "items.empty?": ("items", "presence"),
    "!name_given.blank?": ("name_given", "presence"),
    "address != nil": ("address", "presence"),
    "options[:fast]": ("options_fast", "presence"),
    "Pay::LATE": ("pay_late", "presence"),
    "user.admin?": ("user_admin", "boolean"),
    "admin?": ("admin", "boolean"),
    "self.admin?": ("admin", "boolean"),
    "list.include?(x)": ("list_include", "boolean"),
    "flag == true": ("flag", "boolean"),
    "mode == :fast": ("mode_fast", "boolean"),
    "'fast' == mode": ("mode_fast", "boolean"),
    "payment.status != :paid": ("payment_status_paid", "boolean"),
    "size == -1": ("size_1", "boolean"),
    "amount > 100": ("amount", "range"),
    "100 >= order.total": ("order_total", "range"),
    "a || b": ("condition_1", "boolean"),
    "!(a && b)": ("condition_1", "boolean"),
    "a =~ /b/": ("condition_1", "boolean"),
    "a == b": ("condition_1", "boolean"),
    "(a + b).even?": ("condition_1", "boolean"),
    "a + b > 3": ("condition_1", "range"),
}


@pytest.mark.proves("S2-AN-10", "S2-AN-19")
def test_the_form_of_a_condition_decides_its_type_and_the_words_of_the_code_its_name() -> None:
    found = {}
    for condition, (name, _) in FORMS.items():
        (one,) = method(f"if {condition} then a(1) else b(1) end")["characteristics"]
        found[condition] = (one["name"], one["type"])
        said = {one["description"], *(value["description"] for value in one["values"])}
        assert (said == {"{CONDITION}"}) is name.startswith("condition_"), condition
    assert found == FORMS


@pytest.mark.proves("S2-AN-08", "S2-AN-10")
def test_values_are_those_that_the_condition_tells_apart() -> None:
    def said(condition: str) -> list[tuple[Any, str]]:
        (one,) = method(f"if {condition} then a(1) else b(1) end")["characteristics"]
        return [(value["value"], value["description"]) for value in one["values"]]

    assert said("user.can?(:edit)") == [(True, "user can edit"), (False, "not user can edit")]
    assert said("!side.nil?") == [("present", "side present"), ("absent", "not side present")]
    assert said("10 < balance") == [("> 10", "> 10"), ("<= 10", "<= 10")]
    assert said("balance >= price") == [(">= price", ">= price"), ("< price", "< price")]


@pytest.mark.proves("S2-AN-10")
def test_cases_and_chains_are_enums_with_one_value_for_each_branch() -> None:
    found = method("case mode", "when :a, :past_due then 1", "when 2 then 2", "when '', /x/ then 3", "else 4", "end")
    assert values(found, "mode") == dict.fromkeys(("a or past_due", 2, '"" or /x/'.replace('"', "'"), "other"), False)
    assert texts(found, "mode")["other"] == "returns 4"
    found = method("case mode", "when :draft then 1", "when :open then 2", "when :open then 3", "end")
    assert shapes(found) == [("mode", "enum")]
    assert list(values(found, "mode")) == ["draft", "open", "branch_3"]
    found = method("if mode == :a", "  1", "elsif :b == mode", "  2", "else", "  3", "end")
    assert list(values(found, "mode")) == ["a", "b", "other"]
    found = method("if size > 10", "  1", "elsif size > 5", "  2", "end")
    assert (shapes(found), list(values(found, "size"))) == ([("size", "enum")], ["> 10", "> 5"])
    found = method("case", "when user.admin? then 1", "when a? && b? then 2", "when c?, d? then 3", "else 4", "end")
    assert shapes(found) == [("condition_1", "enum")]
    assert list(values(found, "condition_1")) == ["user_admin", "branch_2", "branch_3", "other"]
    found = method("case mode", "in {a: 1} then 1", "in x if big? then 2", "end")
    assert list(values(found, "mode")) == ["{a: 1}", "x if big?"]


@pytest.mark.proves("S2-AN-11")
def test_a_value_is_terminal_exactly_if_its_branch_raises_or_leaves_early() -> None:
    found = method("raise Missing if user.guest?", "if paid? then return :done else ship(1) end", "finish(1)")
    assert values(found, "user_guest") == {True: True, False: False}
    assert values(found, "paid") == {True: True, False: False}
    names = "guest none disabled blocked failed closed empty zero not_paid invalid_card exceeds_limit"
    cases = [f"when :{name} then a(1)" for name in names.split()]
    assert not any(values(method("case mode", *cases, "end"), "mode").values())
    found = method("if big? then return 1 else return 2 end")
    assert values(found, "big") == {True: False, False: False}
    found = method("if wrong?", "  if strict? then raise Bad end", "  return nil", "end", "work(1)")
    assert values(found, "strict") == {True: True, False: True}
    assert texts(found, "strict") == {True: "raises Bad", False: "returns nil"}
    found = method("items.each { |item| next if item.sold?; return item if item.big? }", "nil")
    assert (values(found, "item_sold"), values(found, "item_big")) == (
        {True: False, False: False},
        {True: True, False: False},
    )


@pytest.mark.proves("S2-AN-12")
def test_characteristics_nest_as_in_the_code() -> None:
    found = method(
        *("case mode", "when :a", "  if big? then one(1) else two(1) end", "else"),
        *("  unless small?", "    three(1)", "  end", "end"),
        *("return nil unless signed_in? && paid?", "if a? || b? then four(1) end"),
        *("raise Late if closed? && strict?", "five(1) if open?"),
    )
    assert links(found) == {
        "mode": (1, None, None),
        "big": (2, "mode", ["a"]),
        "small": (2, "mode", ["other"]),
        "signed_in": (1, None, None),
        "paid": (2, "signed_in", [True]),
        "condition_1": (3, "paid", [True]),
        "closed": (3, "paid", [True]),
        "strict": (4, "closed", [True]),
        "open": (3, "paid", [True]),  # reached by two ways: below what both share
    }
    assert texts(found, "paid") == {True: None, False: "returns nil"}


@pytest.mark.proves("S2-AN-12")
def test_what_follows_depends_on_the_values_that_go_on() -> None:
    found = method(
        *("case mode", "when :a then return 1", "when :b then two(1)", "when :c then three(1)", "end"),
        *("four(1) if big?", "if small?", "  return 4 if odd?", "  raise X", "end", "five(1) if late?"),
    )
    assert links(found) == {
        "mode": (1, None, None),
        "big": (2, "mode", ["b", "c"]),
        "small": (2, "mode", ["b", "c"]),
        "odd": (3, "small", [True]),
        "late": (3, "small", [False]),
    }
    found = method("case mode", "when :a then return 1", "when :b then return 2", "end", "three(1) if big?")
    assert (values(found, "mode"), links(found)["big"]) == (
        {"a": True, "b": True, "other": False},
        (2, "mode", ["other"]),
    )


@pytest.mark.proves("S2-AN-12")
def test_a_block_a_loop_or_a_rescue_narrows_nothing_behind_it() -> None:
    found = method(
        *("items.each do |item|", "  next if item.sold?", "  ship(item) if item.big?", "end"),
        *("while more?", "  break if tired?", "  go(1) if fast?", "end", "done(1) if late?"),
        *("rescue Late", "  raise if strict?", "  log(1) if loud?"),
    )
    assert {name: link[1] for name, link in links(found).items()} == {
        "item_sold": None,
        "item_big": "item_sold",
        "tired": None,
        "fast": "tired",
        "late": None,
        "strict": None,
        "loud": "strict",
    }


@pytest.mark.proves("S2-AN-13", "S2-DEP-02")
def test_results_of_calls_on_other_classes_are_external() -> None:
    cases = {
        ("result = Gateway.charge(x)", "if result then a(1) else b(1) end"): ("result", "Gateway", "charge"),
        ("if Gateway.charge(x) then a(1) else b(1) end",): ("gateway_charge", "Gateway", "charge"),
        ("r = Gateway.charge(x)", "if r.success? then a(1) else b(1) end"): ("r_success", "Gateway", "charge"),
        ("s = Charge.new(x)", "if s.call(1) > 3 then a(1) else b(1) end"): ("s_call", "Charge", "call"),
        ("if Pay::Gateway.ok?(x) then a(1) else b(1) end",): ("pay_gateway_ok", "Pay::Gateway", "ok?"),
        ("case Gateway.state", "when :a then 1", "else 2", "end"): ("gateway_state", "Gateway", "state"),
    }
    for lines, (name, owner, called) in cases.items():
        (one,) = method(*lines)["characteristics"]
        assert (one["name"], one["type"], [v["value"] for v in one["values"]]) == (name, "boolean", [True, False])
        assert one["source"] == {"kind": "external", "class": owner, "method": called}
    (one,) = method("case Gateway.charge(x)", "when :ok then 1", "when :wait then 2", "else 3", "end")[
        "characteristics"
    ]
    assert (one["type"], [v["value"] for v in one["values"]]) == ("enum", ["ok", "wait", "other"])
    for condition in ("payment.status == :a", "payment.paid?", "A.build(1)", "@a.b?", "x", "LIMIT.zero?", "Payment"):
        assert "source" not in method(f"if {condition} then a(1) else b(1) end")["characteristics"][0]


SAID = {
    "raise PaymentError, 'x'": "raises PaymentError",
    "raise Pay::TooLate.new('x')": "raises Pay::TooLate",
    "raise 'x'": "raises an error",
    "return nil": "returns nil",
    "return": "returns nil",
    "return false": "returns false",
    "return :not_found": "returns :not_found",
    "return []": "returns []",
    "return failure(:x)": BEHAVIOUR,
    "return 1, 2": BEHAVIOUR,
    "throw :done": BEHAVIOUR,
}


@pytest.mark.proves("S2-AN-16")
def test_a_behaviour_has_words_only_where_the_code_says_them() -> None:
    found = {}
    for branch in SAID:
        one = method(f"{branch} if wrong?", "work(1)")
        found[branch] = texts(one, "wrong")[True]
        assert texts(one, "wrong")[False] == BEHAVIOUR
    assert found == SAID
    found = method("return nil if a?", "return nil if b?", "if c? then nil else d(1) end")
    assert {name: (one["description"], one["type"], one["used_by"]) for name, one in found["bank"].items()} == {
        "returns_nil": ("returns nil", "terminal", 2),
        "returns_nil_2": ("returns nil", "success", 1),
        "x_c_false": (BEHAVIOUR, "success", 1),
    }
    straight = method("work(1)")
    assert straight["bank"][straight["behavior_id"]]["description"] == BEHAVIOUR


@pytest.mark.proves("S2-AN-19", "S2-AN-07")
def test_names_are_unique_and_every_characteristic_has_its_lines() -> None:
    found = method(
        "if full?",
        "  a(1)",
        "end",
        "b(1) if stock",
        "b(1) if full?(1)",
        "b(1) if full?",
        "b(1) if a || b",
        "b(1) if c || d",
    )
    assert [(one["name"], one["source_line"]) for one in found["characteristics"]] == [
        *(("full", "3-5"), ("stock", "6"), ("full_2", "7"), ("condition_1", "9"), ("condition_2", "10")),
    ]


def test_code_beyond_the_bounds_is_refused() -> None:
    for body in ("if a?\n" * 300 + "1\n" + "end\n" * 300, "return 1 if a?\n" * 50, "b(1) if c? && d?(1)\n" * 250):
        numbered = "".join(
            line.replace("?", f"{number}?") for number, line in enumerate(body.splitlines(keepends=True))
        )
        with pytest.raises(MootError) as caught:
            analysed(f"class A\n  def x\n{numbered}  end\nend\n")
        assert caught.value.code == "method_too_complex"
    assert method(" + ".join(["x"] * 3000))["characteristics"] == []
