"""From characteristics to contexts: order, words, examples, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.errors import MootError
from moot.packs.rspec.contexts import contexts_of, structure_of
from moot.packs.rspec.structure import examples_of
from tests.specs.rspec.samples import sample
from tests.specs.rspec.test_document_check import document


def value(given: object, said: str, behaviour: str = "", *, terminal: bool = False) -> dict[str, Any]:
    made = {"value": given, "description": said, "terminal": terminal}
    return {**made, "behavior_id": behaviour} if behaviour else made


def characteristic(name: str, kind: str, *values: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "type": kind, "values": list(values), "level": 1, **_root, **more}


_root: dict[str, Any] = {"depends_on": None, "when_parent": None}


def below(parent: str, *values: object, level: int = 2) -> dict[str, Any]:
    return {"depends_on": parent, "when_parent": list(values), "level": level}


def with_bank(*methods: dict[str, Any], off: tuple[str, ...] = (), **texts: str) -> dict[str, Any]:
    bank = [{"id": name, "description": text, "enabled": name not in off} for name, text in texts.items()]
    entries = [{"name": one["name"], "selected": True} for one in methods]
    return {"class_name": "A", "behaviors": bank, "methods": list(methods), "methods_to_analyze": entries}


def names(*characteristics: dict[str, Any]) -> list[str]:
    """The texts of all contexts, parents before children."""
    bank = {name: {"description": "works"} for name in ("b", "denies", "returns", "refuses")}
    leaves = [{**one, "values": [{"behavior_id": "b", **each} for each in one["values"]]} for one in characteristics]

    def walk(contexts: Any) -> list[str]:
        return [name for one in contexts for name in (one.name, *walk(one.children))]

    return walk(contexts_of({"characteristics": leaves}, bank))


USER = characteristic(
    "user_authenticated",
    "boolean",
    value(False, "user not authenticated", "denies", terminal=True),
    value(True, "user authenticated"),
)
PAYMENT = characteristic(
    "payment",
    "boolean",
    value(True, "valid payment", "returns"),
    value(False, "invalid payment", "refuses", terminal=True),
    **below("user_authenticated", True),
)


@pytest.mark.proves("S2-ARCH-10", "S2-ARCH-06")
def test_a_document_like_the_sample_yields_the_structure_of_the_sample() -> None:
    method = {
        "name": "process",
        "type": "instance",
        "side_effects": [{"type": "external_api", "behavior_id": "charges"}],
        "characteristics": [USER, PAYMENT],
    }
    texts = {"charges": "charges the payment", "returns": "returns success result", "denies": "denies access"}
    given = with_bank(method, off=("refuses",), refuses="refuses the payment", **texts)
    given["class_name"] = "PaymentProcessor"
    assert structure_of(given) == sample("test-architect")["structure"]
    given["behaviors"][0]["enabled"] = True
    children = structure_of(given)["methods"][0]["contexts"][0]["children"]
    assert children[1] == {"name": "but invalid payment", "terminal": True, "examples": ["refuses the payment"]}


@pytest.mark.proves("S2-ARCH-05")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            [characteristic("paid", "boolean", value(False, "not paid", "b"), value(True, "paid", "b"))],
            ["when paid", "when NOT paid"],
        ),
        (
            [
                characteristic(
                    "blocked", "boolean", value(True, "blocked", "b", terminal=True), value(False, "not blocked")
                )
            ],
            ["when NOT blocked", "when blocked"],
        ),
        (
            [
                characteristic(
                    "status",
                    "enum",
                    value("done", "done", "b", terminal=True),
                    value("b", "second"),
                    value("a", "first"),
                )
            ],
            ["when status is second", "when status is first", "when status is done"],
        ),
        (
            [
                USER,
                {
                    **PAYMENT,
                    "type": "presence",
                    "values": [value("absent", "card not present", "b"), value("card", "card", "b")],
                },
            ],
            ["when user authenticated", "with card", "but card NOT present", "when user NOT authenticated"],
        ),
        (
            [
                USER,
                {**PAYMENT, "type": "range", "values": [value("a", "at least 10", "b"), value("b", "below 10", "b")]},
            ],
            ["when user authenticated", "with payment is at least 10", "but payment is below 10"],
        ),
        (
            [USER, {**PAYMENT, "type": "sequential", "values": [value("a", "new", "b"), value("b", "old", "b")]}],
            ["when user authenticated", "with payment is new", "but payment is old", "when user NOT authenticated"],
        ),
        (
            [
                USER,
                {**PAYMENT, "type": "range", "values": [value(c, f"step {c}", "b") for c in ("a", "b", "c")]},
            ],
            ["when user authenticated", "and payment is step a", "and payment is step b", "and payment is step c"],
        ),
    ],
)
def test_order_and_words_follow_the_type(given: list[dict[str, Any]], expected: list[str]) -> None:
    assert names(*given)[: len(expected)] == expected


@pytest.mark.proves("S2-ARCH-06")
def test_a_leaf_has_the_side_effects_before_its_own_and_a_terminal_context_only_its_own() -> None:
    structure = structure_of(document())
    process, refund = structure["methods"]
    assert (process["name"], refund["name"]) == ("#process", "#refund")
    pending, completed, failed = process["contexts"]
    assert pending["name"] == "when payment status is pending payment"
    assert pending["children"][0]["examples"] == [
        "sends payment notification",
        "sends confirmation email",
        "processes the payment",
    ]
    assert pending["children"][1]["examples"] == ["payment gateway charge fails"]
    assert completed == {
        "name": "when payment status is completed payment",
        "terminal": True,
        "examples": ["returns completed status"],
    }
    assert failed["terminal"] is True
    assert len(examples_of(process["contexts"])) == 6


@pytest.mark.proves("S2-ARCH-06")
def test_nothing_is_nested_below_a_terminal_value() -> None:
    wrong = {**PAYMENT, **below("user_authenticated", False)}
    bank = {name: {"description": name} for name in ("denies", "works")}
    user = {**USER, "values": [USER["values"][0], {**USER["values"][1], "behavior_id": "works"}]}
    context = contexts_of({"characteristics": [user, wrong]}, bank)[1]
    assert (context.kind, context.children) == ("terminal", ())


@pytest.mark.proves("S2-ARCH-06")
def test_a_behaviour_that_is_switched_off_or_reworded_changes_every_use() -> None:
    given = document()
    bank = {one["id"]: one for one in given["behaviors"]}
    bank["sends_payment_notification"]["enabled"] = False
    bank["processes_payment"]["description"] = "takes the money"
    examples = structure_of(given)["methods"][0]["contexts"][0]["children"][0]["examples"]
    assert examples == ["sends confirmation email", "takes the money"]
    bank["returns_completed"]["enabled"] = False
    left = [one["name"] for one in structure_of(given)["methods"][0]["contexts"]]
    assert left == ["when payment status is pending payment", "when payment status is failed payment"]


@pytest.mark.proves("S2-ARCH-05")
def test_independent_characteristics_are_sibling_trees() -> None:
    other = characteristic("vip", "boolean", value(True, "vip", "b"), value(False, "not vip", "b"))
    assert names(USER, other) == ["when user authenticated", "when user NOT authenticated", "when vip", "when NOT vip"]


@pytest.mark.proves("S2-ARCH-02")
def test_a_method_without_conditions_has_one_context_and_class_methods_a_dot() -> None:
    method = {"name": "all", "type": "class", "characteristics": [], "behavior_id": "lists"}
    structure = structure_of(with_bank(method, lists="lists everything"))
    assert structure["methods"] == [
        {"name": ".all", "contexts": [{"name": "when called", "leaf": True, "examples": ["lists everything"]}]}
    ]


@pytest.mark.proves("S2-ARCH-05")
def test_a_condition_without_words_is_a_placeholder() -> None:
    words = [value(True, "{CONDITION}"), value(False, "{CONDITION}")]
    assert names(characteristic("condition_1", "boolean", *words)) == ["when {CONDITION}", "when {CONDITION}"]
    chain = characteristic("condition_1", "enum", value("a", "user admin"), value("other", "{CONDITION}"))
    assert names({**chain, "description": "{CONDITION}"}) == ["when user admin", "when {CONDITION}"]


def test_more_contexts_than_anybody_reads_are_refused() -> None:
    steps = [value(number, str(number), "b") for number in range(9)]
    chain = [characteristic("c0", "enum", *steps)]
    links = [below(f"c{number}", *range(9), level=number + 2) for number in range(3)]
    chain += [characteristic(f"c{number}", "enum", *steps, **link) for number, link in enumerate(links, 1)]
    with pytest.raises(MootError) as caught:
        names(*chain)
    assert caught.value.code == "method_too_complex"
