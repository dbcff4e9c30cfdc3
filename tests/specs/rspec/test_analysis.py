"""The built-in code-analyzer on Ruby code: types, values, links, setups, effects, behaviours and names."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.errors import MootError
from moot.packs.rspec.analysis import analyze
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
    return :ineligible_refund unless transaction.refund_eligible?

    refund_transaction(transaction)
  end

  private

  def process_payment(payment) = payment
end
"""

WORDS = (
    "guest none disabled blocked denied rejected forbidden completed finished cancelled failed closed archived "
    "expired insufficient empty zero not_paid no_money invalid_card missing_card without_card exceeds_limit"
)


def plain(data: dict[str, Any]) -> list[Any]:
    """What the sample fixes: names, types, values, terminal flags, levels, links, sources and setups."""
    return [
        (
            one["name"],
            one["type"],
            [(v["value"], v["terminal"], "behavior_id" in v) for v in one["values"]],
            (one["level"], one["depends_on"], one["when_parent"]),
            one.get("source"),
            one["setup"],
        )
        for method in data["methods"]
        for one in method["characteristics"]
    ]


@pytest.mark.proves("S2-AN-18", "S2-AN-02")
def test_a_source_like_the_sample_gives_the_sample() -> None:
    found = analysed(PROCESSOR, "PaymentProcessor").data
    expected = sample("code-analyzer")["data"]
    assert plain(dict(found)) == plain(expected)
    assert list(found) == ["slug", "source_file", "source_mtime", "class_name", "behaviors", "methods"]
    assert [found[key] for key in list(found)[:4]] == [expected[key] for key in list(found)[:4]]
    process, refund = found["methods"]
    assert [one["type"] for one in process["side_effects"]] == ["webhook", "email"]
    assert (process["name"], process["type"], process["analyzed"], process["method_mode"]) == (
        *("process", "instance", True, "new"),
    )
    assert "side_effects" not in refund
    assert {"PaymentGateway", "User"} <= set(process["dependencies"])


@pytest.mark.proves("S2-AN-01")
def test_exactly_the_selected_methods_are_analysed() -> None:
    source = "class A\n  def a; end\n  def b; end\nend\n"
    given = document(source, "A")
    given["methods_to_analyze"][0]["selected"] = False
    found = analyze(given, source.encode(), 1, {})
    assert [one["name"] for one in found.data["methods"]] == ["b"]
    given["methods_to_analyze"][1]["selected"] = False
    assert analyze(given, source.encode(), 1, {}).skip == "No method is selected"


def test_a_method_that_is_missing_or_ambiguous_is_refused() -> None:
    source = "class A\n  def a; end\nend\n"
    given = document(source, "A")
    with pytest.raises(MootError) as caught:
        analyze(given, b"class A\n  def other; end\nend\n", 1, {})
    assert caught.value.code == "method_missing"
    with pytest.raises(MootError) as caught:
        analyze(given, b"class A\n\n  def a; end\n  def a; 2; end\nend\n", 1, {})
    assert caught.value.code == "method_ambiguous"
    with pytest.raises(MootError) as caught:
        analyze(given, b"class A\n  def a\n    if (\n  end\nend\n", 1, {})
    assert caught.value.code == "source_does_not_parse"


@pytest.mark.proves("S2-AN-10")
@pytest.mark.parametrize(
    ("condition", "name", "kind"),
    [
        ("user", "user", "presence"),
        ("@user", "user", "presence"),
        ("order.address", "address", "presence"),
        ("order.address.nil?", "address", "presence"),
        ("items.empty?", "items", "presence"),
        ("!name_given.blank?", "name_given", "presence"),
        ("address != nil", "address", "presence"),
        ("user.admin?", "admin", "boolean"),
        ("admin?", "admin", "boolean"),
        ("list.include?(x)", "include", "boolean"),
        ("flag == true", "flag", "boolean"),
        ("amount > 100", "amount", "range"),
        ("100 >= order.total", "total", "range"),
        ("mode == :fast", "mode", "enum"),
        ("'fast' == mode", "mode", "enum"),
        ("payment.status != :paid", "payment_status", "enum"),
    ],
)
def test_the_form_of_a_condition_decides_its_type(condition: str, name: str, kind: str) -> None:
    assert shapes(method(f"if {condition} then a(1) else b(1) end")) == [(name, kind)]


@pytest.mark.proves("S2-AN-10")
def test_cases_are_enums_or_steps_of_a_progression() -> None:
    case = ("case mode", "when :{} then 1", "when :{} then 2", "when :{} then 3", "end")

    def kind(*names: str, before: str = "", subject: str = "mode") -> str:
        body = [line.format(name) for line, name in zip(case, ("", *names, ""), strict=True)]
        found: str = method(*(line.replace("mode", subject) for line in body), before=before)["characteristics"][0][
            "type"
        ]
        return found

    assert kind("red", "green", "blue") == "enum"
    assert kind("draft", "approved", "published") == "sequential"
    assert kind("published", "draft", "approved") == "enum"
    assert kind("pending", "completed", "failed") == "enum"
    assert kind("x", "y", "z", before="  aasm do\n  end\n", subject="state") == "sequential"


@pytest.mark.proves("S2-AN-10")
def test_a_condition_of_no_known_form_is_boolean_with_a_warning() -> None:
    found = analysed("class A\n  def x\n    if a =~ /b/ then 1 else 2 end\n  end\nend\n")
    assert shapes(found.data["methods"][0])[0][1] == "boolean"
    assert found.warnings == ("A#x: the condition on line 3 has no known form, and is boolean.",)


@pytest.mark.proves("S2-AN-11")
def test_a_branch_that_raises_or_returns_early_is_terminal() -> None:
    found = method("raise Missing if user.guest_mode?", "if paid? then return :done else ship(1) end", "finish(1)")
    assert values(found, "guest_mode") == {True: True, False: False}
    assert values(found, "paid") == {True: True, False: False}
    assert texts(found, "guest_mode") == {True: "raises missing", False: "finishes"}


@pytest.mark.proves("S2-AN-11")
@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("mode == :fast", "not_fast"),
        ("amount <= 5", "above_5"),
        ("amount >= 5", "below_5"),
    ],
)
def test_a_value_without_a_branch_is_terminal_by_its_name(condition: str, value: str) -> None:
    found = method(f"if {condition}", "  ship(1)", "end")
    assert found["characteristics"][0]["values"][1] == {
        "value": value,
        "description": found["characteristics"][0]["values"][1]["description"],
        "terminal": True,
        "behavior_id": "changes_nothing",
    }


@pytest.mark.proves("S2-AN-11")
@pytest.mark.parametrize("word", WORDS.split())
def test_a_branch_that_does_not_show_it_is_terminal_by_the_word(word: str) -> None:
    found = method("case payment.status", f"when :{word} then a(1)", "when :open then b(1)", "end")
    assert values(found, "payment_status") == {word: True, "open": False}


@pytest.mark.proves("S2-AN-12")
def test_nested_conditionals_depend_on_the_branches_they_lie_in() -> None:
    found = method(
        "case mode",
        "when :a, :b",
        "  if big? then one(1) else two(1) end",
        "else",
        "  unless small?",
        "    three(1)",
        "  end",
        "end",
    )
    assert links(found) == {
        "mode": (1, None, None),
        "big": (2, "mode", ["a", "b"]),
        "small": (2, "mode", ["other"]),
    }
    assert texts(found, "mode") == {"a": None, "b": None, "other": None}


@pytest.mark.proves("S2-AN-12")
def test_guards_are_roots_in_the_order_of_their_layers() -> None:
    found = method(
        "raise Closed if shop_closed?",
        "return :invalid unless valid_amount?(1) && amount.present?",
        "return :forbidden unless user.admin?",
        "raise NotSignedIn unless current_user",
        "if express? then fast(1) else slow(1) end",
    )
    assert [one["name"] for one in found["characteristics"]] == [
        *("current_user", "admin", "valid_amount", "amount", "shop_closed", "express"),
    ]
    assert set(links(found).values()) == {(1, None, None)}


@pytest.mark.proves("S2-AN-12")
def test_and_gives_two_characteristics_and_or_one() -> None:
    found = method("if a? && !b?", "  if c? then x1(1) else x2(1) end", "end", "if d? || e? then x3(1) else x4(1) end")
    assert shapes(found) == [("a", "boolean"), ("b", "boolean"), ("c", "boolean"), ("d_or_e", "boolean")]
    assert links(found)["c"] == (2, "b", [False])
    assert links(found)["a"] == links(found)["b"] == links(found)["d_or_e"] == (1, None, None)


@pytest.mark.proves("S2-AN-12")
def test_a_chain_of_equalities_is_one_characteristic_and_other_chains_are_nested() -> None:
    found = method("if mode == :a", "  1", "elsif mode == :b", "  2", "else", "  3", "end")
    assert values(found, "mode") == {"a": False, "b": False, "other": False}
    found = method("if a?", "  1", "elsif b?", "  2", "else", "  raise X", "end")
    assert links(found) == {"a": (1, None, None), "b": (2, "a", [False])}
    assert values(found, "b") == {True: False, False: True}


def test_a_branch_that_leaves_after_an_inner_conditional_ends_its_leaves() -> None:
    found = method("if wrong?", "  if strict? then raise Bad end", "  return nil", "end", "work(1)")
    assert values(found, "wrong") == {True: False, False: False}
    assert values(found, "strict") == {True: True, False: True}
    assert texts(found, "strict") == {True: "raises bad", False: "returns nil"}


@pytest.mark.proves("S2-AN-13", "S2-DEP-02")
@pytest.mark.parametrize(
    ("lines", "name", "source"),
    [
        (("result = Gateway.charge(x)", "if result then a(1) else b(1) end"), "result", ("Gateway", "charge")),
        (("if Gateway.charge(x) then a(1) else b(1) end",), "charge", ("Gateway", "charge")),
        (("r = Gateway.charge(x)", "if r.success? then a(1) else b(1) end"), "success", ("Gateway", "charge")),
        (("if Charge.new(x).call then a(1) else b(1) end",), "call", ("Charge", "call")),
        (("s = Charge.new(x)", "if s.call(1) then a(1) else b(1) end"), "call", ("Charge", "call")),
        (("if @gateway.charge(x) then a(1) else b(1) end",), "charge", ("Gateway", "charge")),
        (("if Pay::Gateway.ok?(x) then a(1) else b(1) end",), "ok", ("Pay::Gateway", "ok?")),
    ],
)
def test_results_of_operations_of_other_classes_are_external(
    lines: tuple[str, ...], name: str, source: tuple[str, str]
) -> None:
    (one,) = method(*lines)["characteristics"]
    assert one["name"] == name
    assert one["type"] == "boolean"
    assert one["source"] == {"kind": "external", "class": source[0], "method": source[1]}
    assert one["setup"] == {"type": "action", "class": None}


@pytest.mark.proves("S2-AN-13")
@pytest.mark.parametrize(
    "condition",
    [
        "payment.status == :a",
        "payment.paid?",
        "Payment.find(1)",
        "Payment.where(a: 1).any?",
        "A.build(1)",
        "@a.b?",
        "x",
    ],
)
def test_attributes_queries_and_the_own_class_are_internal(condition: str) -> None:
    (one,) = method(f"if {condition} then a(1) else b(1) end")["characteristics"]
    assert "source" not in one


@pytest.mark.proves("S2-AN-13")
def test_three_flows_of_an_external_result_are_an_enum() -> None:
    (one,) = method("case Gateway.charge(x)", "when :ok then a(1)", "when :wait then b(1)", "else c(1)", "end")[
        "characteristics"
    ]
    assert one["type"] == "enum"
    assert [value["value"] for value in one["values"]] == ["ok", "wait", "other"]
    (two,) = method("case Gateway.charge(x)", "when :ok then a(1)", "else c(1)", "end")["characteristics"]
    assert [value["value"] for value in two["values"]] == [True, False]


@pytest.mark.proves("S2-AN-14")
@pytest.mark.parametrize(
    ("condition", "setup"),
    [
        ("Gateway.charge(x)", ("action", None)),
        ("session[:user_id]", ("action", None)),
        ("cookies[:seen].nil?", ("action", None)),
        ("payment.save!", ("action", "Payment")),
        ("payment.may_refund?", ("action", "Payment")),
        ("payment.expires_at < Time.current", ("action", None)),
        ("payment.status == :a", ("model", "Payment")),
        ("@payment.paid?", ("model", "Payment")),
        ("order.payment.paid?", ("model", "Payment")),
        ("Payment.find(1).paid?", ("model", "Payment")),
        ("cart.full?", ("data", "Cart")),
        ("amount > 5", ("data", None)),
        ("options[:fast]", ("data", None)),
        ("list.empty?", ("data", None)),
    ],
)
def test_the_setup_is_decided_by_the_first_rule_that_fits(condition: str, setup: tuple[str, str | None]) -> None:
    found = method(f"if {condition} then a(1) else b(1) end", head="def x(payment, cart, amount, options, list, order)")
    assert found["characteristics"][0]["setup"] == {"type": setup[0], "class": setup[1]}


@pytest.mark.proves("S2-AN-15")
@pytest.mark.parametrize(
    ("line", "kind", "description"),
    [
        ("PaymentWebhook.deliver(x)", "webhook", "sends payment webhook"),
        ("send_webhook(x)", "webhook", "sends a webhook"),
        ("UserMailer.welcome(x).deliver_later", "email", "sends welcome email"),
        ("UserMailer.with(u: x).welcome.deliver_now", "email", "sends welcome email"),
        ("Rails.cache.write('a', 1)", "cache", "writes the cache"),
        ("redis.setex('a', 1, 2)", "cache", "writes the cache"),
        ("$redis.del('a')", "cache", "deletes the cached value"),
        ("EventBus.publish(:order_paid, x)", "event", "publishes order paid event"),
        ("ActiveSupport::Notifications.instrument('paid.order')", "event", "publishes paid order event"),
        ("Net::HTTP.post(uri, x)", "external_api", "sends an HTTP post request"),
        ("Faraday.new(url).get('/x')", "external_api", "sends an HTTP get request"),
    ],
)
def test_side_effects_are_found_with_a_behaviour_of_the_same_subtype(line: str, kind: str, description: str) -> None:
    found = method(line, "done(1)")
    (effect,) = found["side_effects"]
    behaviour = found["bank"][effect["behavior_id"]]
    assert (effect["type"], behaviour["type"], behaviour["subtype"]) == (kind, "side_effect", kind)
    assert behaviour["description"] == description


def test_side_effects_of_private_methods_belong_to_their_callers() -> None:
    found = method("tell(1)", after="  private\n  def tell(x) = UserMailer.welcome(x).deliver_later\n")
    assert [effect["type"] for effect in found["side_effects"]] == ["email"]
    assert found["dependencies"] == ["UserMailer"]


@pytest.mark.proves("S2-AN-16")
@pytest.mark.parametrize(
    ("branch", "text"),
    [
        ("raise PaymentError, 'x'", "raises payment error"),
        ("raise Pay::TooLate.new('x')", "raises too late"),
        ("raise 'x'", "raises an error"),
        ("return nil", "returns nil"),
        ("return", "returns nil"),
        ("return false", "returns false"),
        ("return :not_found", "returns not found"),
        ("return { error: :not_found }", "returns error not found"),
        ("return failure(:x)", "returns failure"),
        ("return Pay::LATE", "returns pay LATE"),
        ("return %w[a b]", "returns a list"),
    ],
)
def test_behaviours_say_what_a_branch_does(branch: str, text: str) -> None:
    found = method(f"{branch} if wrong?", "work(1)")
    assert texts(found, "wrong") == {True: text, False: "works"}
    (terminal,) = (one for one in found["bank"].values() if one["type"] == "terminal")
    assert terminal["id"] == text.replace(" ", "_").lower()


@pytest.mark.proves("S2-AN-16")
@pytest.mark.parametrize(
    ("last", "text"),
    [
        ("-1", "returns -1"),
        ("Pay::LATE", "returns pay LATE"),
        ("@@count", "returns count"),
        ("%w[]", "returns an empty list"),
        ("(a + b).join", "joins the result"),
        ("handler.(1)", "calls the handler"),
    ],
)
def test_the_last_statement_says_what_a_method_does(last: str, text: str) -> None:
    found = method(last)
    assert found["bank"][found["behavior_id"]]["description"] == text


@pytest.mark.proves("S2-AN-03")
def test_negative_numbers_and_constants_of_modules_are_tested_like_others() -> None:
    assert shapes(method("if size == -1", "a(1)", "end")) == [("size", "enum")]
    assert shapes(method("if Pay::LATE", "a(1)", "end")) == [("pay_late", "presence")]
    (limit,) = method("if size > (a + b)", "c(1)", "end")["characteristics"]
    assert limit["threshold_value"] == "a + b"


def test_a_long_condition_has_all_of_its_tests() -> None:
    names = [f"n{number}" for number in range(40)]
    found = method(f"if {' && '.join(names)}", "a(1)", "end", head="def x(" + ", ".join(names) + ")")
    assert [name for name, _ in shapes(found)] == names


@pytest.mark.proves("S2-AN-16")
def test_equal_texts_of_one_type_share_an_entry_and_ids_stay_unique() -> None:
    found = method("return nil if a?", "return nil if b?", "Payment.create!(x: 1)", "if c? then nil else d(1) end")
    bank = list(found["bank"].values())
    nils = [one for one in bank if one["description"] == "returns nil"]
    assert [(one["id"], one["type"], one["used_by"]) for one in nils] == [
        ("returns_nil", "terminal", 2),
        ("returns_nil_success", "success", 1),
    ]
    straight = method("Payment.create!(x: 1)")
    assert straight["bank"][straight["behavior_id"]]["description"] == "creates the payment"
    assert all(one["description"] == one["description"].replace("should", "").replace("must", "") for one in bank)


@pytest.mark.proves("S2-AN-17")
def test_the_analysis_has_no_test_level_and_no_target() -> None:
    found = analysed(PROCESSOR, "PaymentProcessor").data
    assert "test_level" not in str(found)
    assert "target" not in str(found)


@pytest.mark.proves("S2-AN-19")
def test_names_are_short_and_unique() -> None:
    found = method(
        "if gateway_result then a(1) else b(1) end",
        "if transaction.refund_eligible? then a(1) else b(1) end",
        "if payment.status == :x then a(1) else b(1) end",
        "if user.active? then a(1) else b(1) end",
        "if cart.full? then a(1) else b(1) end",
        "if stock.full? then a(1) else b(1) end",
        "if stock.full? then a(1) else b(1) end",
    )
    assert [name for name, _ in shapes(found)] == [
        *("gateway_result", "refund_eligible", "payment_status", "user_active", "cart_full", "stock_full"),
        "stock_full_2",
    ]


@pytest.mark.proves("S2-AN-07")
def test_a_range_has_its_threshold_and_every_characteristic_its_lines() -> None:
    found = method("if amount > 100", "  a(1)", "else", "  b(1)", "end", "b(1) if amount_limit <= limit")
    first, second = found["characteristics"]
    assert (first["threshold_operator"], first["threshold_value"], first["source_line"]) == (">", 100, "3-7")
    assert (second["threshold_operator"], second["threshold_value"], second["source_line"]) == ("<=", "limit", "8")


def test_a_method_with_many_characteristics_gives_a_warning_with_the_numbers() -> None:
    lines = "".join(f"    return nil if a{number}?\n" for number in range(5))
    found = analysed(f"class A\n  def x\n{lines}  end\n  def y\n    return nil if a?\n  end\nend\n")
    assert found.warnings == (
        "A: x has 5 characteristics, 10 leaf contexts and 10 expected examples; consider splitting it.",
    )


def test_deeply_nested_and_very_long_code_is_analysed_within_bounds() -> None:
    deep = "if a?\n" * 300 + "1\n" + "end\n" * 300
    found = analysed(f"class A\n  def x\n{deep}  end\nend\n")
    assert len(found.data["methods"][0]["characteristics"]) == 100
    assert any("100 or more conditionals" in warning for warning in found.warnings)
    chain = " && ".join(f"a{number}?" for number in range(90))
    assert len(method(f"if {chain} then 1 else 2 end")["characteristics"]) == 90
    assert method(" + ".join(["x"] * 3000))["characteristics"] == []


def test_values_without_letters_are_described() -> None:
    found = method("case mode", "when '' then 1", "when '-' then 2", 'when "\\n" then 3', "when /x/ then 4", "end")
    (one,) = found["characteristics"]
    assert [value["description"] for value in one["values"]] == ["empty", '"-"', '"\\n"', "/x/"]


def test_a_chain_that_tests_one_value_twice_ends_there() -> None:
    found = method("if mode == :a", "  1", "elsif mode == :b", "  2", "elsif mode == :a", "  3", "end")
    assert [(one["name"], [v["value"] for v in one["values"]]) for one in found["characteristics"]] == [
        ("mode", ["a", "b", "other"]),
        ("mode_2", ["a", "not_a"]),
    ]


def test_a_call_named_by_a_participle_returns_something() -> None:
    found = method("Checkout.reduced(1)")
    assert found["bank"][found["behavior_id"]]["description"] == "returns reduced checkout"


def test_an_operator_before_raise_or_return_is_a_guard() -> None:
    found = method("signed_in? or raise NotSignedIn", "closed? && return", "work(1)")
    assert values(found, "signed_in") == {True: False, False: True}
    assert values(found, "closed") == {True: True, False: False}
    assert texts(found, "closed") == {True: "returns nil", False: "works"}


def test_conditionals_in_blocks_belong_to_the_branch_around_them_and_those_of_a_rescue_are_left_out() -> None:
    found = method(
        "if open?",
        "  items.each { |item| next if item.blank?; ship(item) }",
        "end",
        "done(1)",
        "rescue Late",
        "  raise if strict?",
    )
    assert links(found) == {"open": (1, None, None), "item": (2, "open", [True])}


def test_a_value_that_stands_twice_and_the_word_other_are_told_apart() -> None:
    found = method("case mode", "when :a, :a then 1", "when :other, 'a' then 2", "else 3", "end")
    assert values(found, "mode") == {"a": False, "other": False, "anything_else": False}
