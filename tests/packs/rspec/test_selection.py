"""Choosing methods of a plan: words, patterns, numbers and toggles; documents of what was chosen."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from moot.core.errors import MootError
from moot.packs.rspec.analyzer import analyze
from moot.packs.rspec.changes import BRANCH, ChangedSource, Changes
from moot.packs.rspec.discovery import discover
from moot.packs.rspec.discovery_documents import documents
from moot.packs.rspec.selection import MethodChoice, applied, from_options, items_of, read_choice, view

PAYMENT = b"class Payment\n  def charge; end\n  def validate; end\n  def old; end\nend\n"
SHOP = b"class Shop\n  def process; Payment.find(1); end\n  def process_all; end\nend\n"


def plan(**more: bytes) -> dict[str, Any]:
    """Payment#charge, Payment#validate, Payment#old (unchanged), Shop#process_all, then Shop#process in wave 1."""
    old = ChangedSource(path="app/payment.rb", data=PAYMENT, old=b"class Payment\n  def old; end\nend\n")
    sources = [old, ChangedSource(path="app/shop.rb", data=SHOP)]
    sources += [ChangedSource(path=f"app/{name}.rb", data=data) for name, data in more.items()]
    return dict(discover(Changes(mode=BRANCH, sources=tuple(sources))).answer)


def chosen(answer: dict[str, Any], choice: MethodChoice) -> list[str]:
    return [items_of(answer)[place]["method_id"] for place in sorted(choice.chosen)]


ALL = ["Payment#charge", "Payment#validate", "Payment#old", "Shop#process_all", "Shop#process"]
PROPOSED = ["Payment#charge", "Payment#validate", "Shop#process_all", "Shop#process"]


@pytest.mark.proves("S2-DISC-16")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("yes", PROPOSED),
        (" Proposed ", PROPOSED),
        ("ALL", ALL),
        ("Payment#*", ALL[:3]),
        ("*#process*", ALL[3:]),
        ("*#process", ["Shop#process"]),
        ("Payment#old, Shop#process", ["Payment#old", "Shop#process"]),
        ("*", ALL),
        ("*ay*#*a*", ["Payment#charge", "Payment#validate"]),
        ("2", ["Payment#validate"]),
        ("1 3-4", ["Payment#charge", "Payment#old", "Shop#process_all"]),
        ("-Payment#charge", ["Payment#validate", "Shop#process_all", "Shop#process"]),
        ("+Payment#old -Shop#*", ALL[:3]),
        ("-5", ["Payment#charge", "Payment#validate", "Shop#process_all"]),
    ],
)
def test_an_answer_names_methods_by_word_pattern_number_or_toggle(said: str, expected: list[str]) -> None:
    answer = plan()
    assert chosen(answer, read_choice(answer, said)) == expected


@pytest.mark.proves("S2-DISC-17")
@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Nothing#*", "nothing_matches"),
        ("payment#charge", "nothing_matches"),
        ("99", "nothing_matches"),
        ("+Payment#none", "nothing_matches"),
        ("Payment", "nothing_matches"),
        ("**#" + "*" * 500 + "x", "nothing_matches"),
        ("", "choice_unreadable"),
        ("   ", "choice_unreadable"),
        ("+Payment#old Shop#*", "choice_unreadable"),
        ("x" * 30_000, "choice_unreadable"),
    ],
)
def test_an_answer_that_matches_nothing_or_cannot_be_read_is_refused(said: str, code: str) -> None:
    with pytest.raises(MootError) as caught:
        read_choice(plan(), said)
    assert caught.value.code == code
    assert caught.value.remedy


@pytest.mark.proves("S2-DISC-17")
def test_a_deselected_method_keeps_its_place_and_says_why() -> None:
    answer = plan()
    changed, warnings = applied(answer, read_choice(answer, "-Payment#charge"))
    assert [item["method_id"] for item in items_of(changed)] == ALL
    left = next(item for item in items_of(changed) if item["method_id"] == "Payment#charge")
    assert (left["selected"], left["skip_reason"]) == (False, "User deselected")
    assert list(left)[6:8] == ["selected", "skip_reason"]
    assert changed["summary"]["selected_methods"] == 3
    assert [one["selected"] for one in changed["files"][0]["public_methods"]] == [False, True, False]
    assert warnings == ("Shop#process depends on Payment, of which Payment#charge, Payment#old is not selected.",)
    assert items_of(answer)[0]["selected"] is True


@pytest.mark.proves("S2-DISC-15", "S2-FLOW-02")
@pytest.mark.parametrize("said", ["cancel", "No", "-*"])
def test_cancelling_or_selecting_nothing_stops_without_a_plan(said: str) -> None:
    answer = plan()
    changed, _ = applied(answer, read_choice(answer, said))
    assert (changed["status"], changed["reason"]) == ("stop", "user_cancelled")
    assert "method_waves" not in changed


@pytest.mark.proves("S2-DISC-16")
def test_options_choose_beforehand() -> None:
    answer = plan()
    assert chosen(answer, from_options(answer, everything=True, only=(), but=())) == ALL
    assert chosen(answer, from_options(answer, everything=False, only=(), but=())) == PROPOSED
    only = from_options(answer, everything=False, only=("Payment#*",), but=("*#old",))
    assert chosen(answer, only) == ["Payment#charge", "Payment#validate"]
    with pytest.raises(MootError):
        from_options(answer, everything=False, only=("None#*",), but=())


@pytest.mark.proves("S2-DISC-16")
def test_the_view_groups_methods_by_file_with_zone_wave_mode_and_dependencies() -> None:
    shown = "\n".join(view(plan()))
    assert "app/payment.rb  Payment  green, 5 lines, 3 methods" in shown
    assert "[x]  1 Payment#charge  new, wave 0" in shown
    assert "[ ]  3 Payment#old  unchanged, wave 0" in shown
    assert "[x]  5 Shop#process  new, wave 1, uses Payment" in shown


@pytest.mark.proves("S2-SCH-02", "S2-DEP-01")
def test_documents_hold_the_selection_and_nothing_that_is_debug_only() -> None:
    answer = plan()
    changed, _ = applied(answer, read_choice(answer, "-Payment#charge"))
    payment, shop = documents(changed)
    assert payment.slug == "app_payment"
    assert payment.values == {
        "source_file": "app/payment.rb",
        "class_name": "Payment",
        "complexity": {"zone": "green", "loc": 5, "methods": 3},
        "spec_path": "spec/payment_spec.rb",
        "methods_to_analyze": [
            {
                "name": "charge",
                "method_mode": "new",
                "line_range": [2, 2],
                "selected": False,
                "skip_reason": "User deselected",
            },
            {"name": "validate", "method_mode": "new", "line_range": [3, 3], "selected": True},
            {
                "name": "old",
                "method_mode": "unchanged",
                "line_range": [4, 4],
                "selected": False,
                "skip_reason": "Unchanged",
            },
        ],
    }
    assert payment.waves == {0: ("validate",)}
    assert shop.waves == {0: ("process_all",), 1: ("process",)}
    assert not any(word in str(payment.values) + str(shop.values) for word in ("cross_class", "absorbed", "wave"))


@pytest.mark.proves("S2-HARD-02")
def test_of_several_classes_the_one_with_the_name_of_the_file_is_covered() -> None:
    source = b"class Extra\n  def a; end\nend\nclass Payment\n  def b; end\nend\n"
    for path, name in (("app/payment.rb", "Payment"), ("app/other.rb", "Extra")):
        found = discover(Changes(mode=BRANCH, sources=(ChangedSource(path=path, data=source),)))
        (part,) = documents(found.answer)
        assert part.values["class_name"] == name
        other = {"Payment", "Extra"} - {name}
        assert f"only {name} is covered; the file also has {other.pop()}" in " ".join(found.warnings)


@pytest.mark.proves("S2-HARD-01")
def test_two_sources_with_one_slug_are_refused_with_both_names() -> None:
    sources = (
        ChangedSource(path="app/foo/bar.rb", data=b"class Foo::Bar\n  def a; end\nend\n"),
        ChangedSource(path="app/foo_bar.rb", data=b"class FooBar\n  def b; end\nend\n"),
    )
    with pytest.raises(MootError) as refused:
        documents(discover(Changes(mode=BRANCH, sources=sources)).answer)
    assert refused.value.details["files"] == ["app/foo/bar.rb", "app/foo_bar.rb"]


def test_a_class_without_selected_methods_has_no_document() -> None:
    answer = plan()
    changed, _ = applied(answer, read_choice(answer, "Shop#*"))
    assert [part.slug for part in documents(changed)] == ["app_shop"]


@pytest.mark.proves("S2-DEP-01", "S2-DEP-02")
def test_the_debug_only_dependencies_change_nothing_after_discovery() -> None:
    answer = plan()
    bare = copy.deepcopy(answer)
    for item in items_of(bare):
        item["cross_class_deps"] = []
        item["absorbed_private_methods"] = []
    assert documents(bare) == documents(answer)
    source = b"class Shop\n  def process(x)\n    if Gateway.charge(x) then 1 else 2 end\n  end\nend\n"
    (part,) = documents(
        discover(Changes(mode=BRANCH, sources=(ChangedSource(path="app/shop.rb", data=source),))).answer
    )
    (one,) = analyze(part.values, source, 1).data["methods"][0]["characteristics"]
    assert one["source"] == {"kind": "external", "class": "Gateway", "method": "charge"}, "Gateway has not changed"
