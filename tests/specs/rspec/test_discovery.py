"""Discovery over real repositories: methods, modes, dependencies, waves and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moot.core.errors import MootError
from moot.packs.rspec.changes import BRANCH, FILE, find_changes
from moot.packs.rspec.discovery import Plan, discover
from tests.specs.rspec.payments import method, payments
from tests.specs.rspec.samples import sample

if TYPE_CHECKING:
    from tests.packs.rspec.repository import Repository


def branch(repository: Repository) -> Plan:
    return discover(find_changes(repository.place, BRANCH, None, None))


def single(repository: Repository, path: str) -> Plan:
    return discover(find_changes(repository.place, FILE, path, None))


def changed(repository: Repository, before: dict[str, str], after: dict[str, str]) -> Plan:
    """The plan for a branch that changes these files."""
    for path, content in before.items():
        repository.write(path, content)
    repository.commit()
    repository.branch()
    for path, content in after.items():
        repository.write(path, content)
    repository.commit()
    return branch(repository)


def added(repository: Repository, **files: str) -> Plan:
    """The plan for a branch that adds these files below `app/`."""
    return changed(repository, {}, {f"app/{name}.rb": content for name, content in files.items()})


def items(plan: Plan) -> dict[str, Any]:
    return {item["method_id"]: item for wave in plan.answer["method_waves"] for item in wave["items"]}


def waves(plan: Plan) -> list[list[str]]:
    return [[item["method_id"] for item in wave["items"]] for wave in plan.answer["method_waves"]]


def ruby(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.proves("S2-DISC-11", "S2-DISC-12", "S2-DISC-13", "S2-DISC-14", "S2-DISC-19")
def test_a_repository_built_like_the_sample_yields_the_sample_answer(repository: Repository) -> None:
    payments(repository)
    plan = branch(repository)
    assert plan.answer == sample("discovery-agent")
    assert list(plan.answer) == ["status", "method_waves", "files", "dependency_graph", "summary"]
    assert plan.base == repository.git("rev-parse", "main")


@pytest.mark.proves("S2-DISC-03")
def test_modes_follow_from_the_base_version_and_the_changed_lines(repository: Repository) -> None:
    before = ruby("class A", "  def same; 1; end", "  def edited", "    1", "  end", "  def named; end", "end")
    after = ruby("class A", "  def same; 1; end", "  def edited", "    2", "  end", "  def renamed; end", "end")
    plan = changed(repository, {"app/a.rb": before}, {"app/a.rb": after, "app/b.rb": "class B\n  def x; end\nend\n"})
    assert {name: item["method_mode"] for name, item in items(plan).items()} == {
        "A#same": "unchanged",
        "A#edited": "modified",
        "A#renamed": "new",
        "B#x": "new",
    }


@pytest.mark.proves("S2-HARD-12")
def test_a_deletion_inside_a_method_makes_it_modified_and_its_neighbours_not(repository: Repository) -> None:
    body = ["  def a", "    1", "  end", "  def b", "    2", "    3", "  end", "  def c", "    4", "  end"]
    before = ruby("class A", *body, "end")
    plan = changed(repository, {"app/a.rb": before}, {"app/a.rb": before.replace("    2\n", "")})
    assert [item["method_mode"] for item in items(plan).values()] == ["unchanged", "modified", "unchanged"]


@pytest.mark.proves("S2-HARD-12")
def test_equal_method_names_in_two_classes_are_told_apart(repository: Repository) -> None:
    before = ruby("class A", "  def call; 1; end", "end", "class B", "  def other; end", "end")
    after = ruby("class A", "  def call; 1; end", "end", "class B", "  def call; 2; end", "  def other; end", "end")
    plan = changed(repository, {"app/b.rb": before}, {"app/b.rb": after})
    modes = {name: item["method_mode"] for name, item in items(plan).items()}
    assert modes == {"B#call": "new", "B#other": "unchanged"}


@pytest.mark.proves("S2-DISC-04")
def test_items_are_public_methods_by_the_rules_of_ruby_with_their_full_namespace(repository: Repository) -> None:
    source = ruby(
        "module Billing",
        "  class Payment",
        "    def initialize; end",
        "    def shown; end",
        "    def self.build; end",
        "    class << self",
        "      def find; end",
        "      private",
        "      def hidden_find; end",
        "    end",
        "    private_class_method def self.hidden_build; end",
        "    private def inline; end",
        "    def by_symbol; end",
        "    private :by_symbol",
        "    protected",
        "    def compared; end",
        "    private",
        "    def hidden; end",
        "    public",
        "    def again?; end",
        "  end",
        "end",
        "def top_level; end",
    )
    plan = added(repository, payment=source)
    assert list(items(plan)) == [
        *("Billing::Payment#shown", "Billing::Payment.build", "Billing::Payment.find", "Billing::Payment#again?"),
    ]
    assert {item["class_name"] for item in items(plan).values()} == {"Billing::Payment"}


@pytest.mark.proves("S2-DISC-05")
def test_complexity_counts_code_and_all_definitions_of_the_file(repository: Repository) -> None:
    source = ruby("# note", "class A", "", "  def a; end", "  private", "  def b; end", "end", "def c; end")
    plan = added(repository, a=source)
    assert plan.answer["files"][0]["complexity"] == {"zone": "green", "loc": 6, "methods": 3}


@pytest.mark.proves("S2-DISC-06")
def test_a_red_file_of_new_code_stops_discovery_with_advice(repository: Repository) -> None:
    plan = added(repository, big="class Big\n" + method("x", 301) + "end\n", small="class A\n  def a; end\nend\n")
    assert list(plan.answer) == ["status", "reason", "message"]
    assert plan.answer["status"] == "stop"
    assert plan.answer["reason"] == "red_zone_new_code"
    for word in ("app/big.rb", "303", "1 method)", "Split"):
        assert word in plan.answer["message"]


@pytest.mark.proves("S2-DISC-06")
def test_a_red_or_yellow_file_with_older_methods_gives_a_warning_and_goes_on(repository: Repository) -> None:
    red = "class Big\n" + "".join(method(f"m{number}", 3) for number in range(13)) + "end\n"
    yellow = "class Middle\n" + method("x", 160) + "end\n"
    plan = changed(
        repository, {"app/big.rb": red}, {"app/big.rb": red.replace("def m0", "def n0"), "app/middle.rb": yellow}
    )
    assert plan.answer["status"] == "success"
    assert any("app/big.rb is in the red zone" in warning for warning in plan.warnings)
    assert any("app/middle.rb is in the yellow zone" in warning for warning in plan.warnings)


@pytest.mark.proves("S2-DISC-07")
def test_dependencies_are_the_changed_classes_that_a_method_calls(repository: Repository) -> None:
    user = ruby(
        "class User",
        "  def a; Payment.find(1); end",
        "  def b; Refund.new.run; end",
        "  def c; @payment.charge; @payment_gateway&.ping; end",
        "  def d; User.find(1); Elsewhere.call; payment.charge; x.is_a?(Payment); end",
        "  def e; Billing::Fee.of(1) + ::Payment.where(x: 1).first.total; end",
        "end",
    )
    others = {name: f"class {name}\n  def x; end\nend\n" for name in ("Payment", "Refund", "PaymentGateway")}
    fee = "module Billing\n  class Fee\n    def self.of(x); end\n    def y; Payment.find(1); end\n  end\nend\n"
    plan = added(repository, user=user, fee=fee, **others)
    found = {name: [one["class"] for one in item["cross_class_deps"]] for name, item in items(plan).items()}
    assert found["User#a"] == ["Payment"]
    assert found["User#b"] == ["Refund"]
    assert found["User#c"] == ["Payment", "PaymentGateway"]
    assert found["User#d"] == []
    assert found["User#e"] == ["Billing::Fee", "Payment"]
    assert found["Billing::Fee#y"] == ["Payment"]
    assert {"from": "User#a", "to": "Payment"} in plan.answer["dependency_graph"]["edges"]


@pytest.mark.proves("S2-DISC-07")
def test_a_constant_means_the_class_of_the_innermost_namespace(repository: Repository) -> None:
    inner = (
        "module Shop\n  class Payment\n    def x; end\n  end\n  class Cart\n    def pay; Payment.new; end\n  end\nend\n"
    )
    plan = added(repository, cart=inner, payment="class Payment\n  def y; end\nend\n")
    assert items(plan)["Shop::Cart#pay"]["cross_class_deps"] == [{"class": "Shop::Payment"}]


@pytest.mark.proves("S2-DISC-08")
def test_private_methods_are_absorbed_through_chains_by_each_caller(repository: Repository) -> None:
    source = ruby(
        "class Order",
        "  def pay; first_step; end",
        "  def cancel; self.second_step; send(:by_name); end",
        "  def show; total = first_step_label; total; end",
        "  def local; second_step = 1; second_step; end",
        "  private",
        "  def first_step; second_step(1); end",
        "  def second_step(x = 0); Payment.find(x); first_step if x > 3; end",
        "  def by_name; end",
        "  def unused; Fee.new; end",
        "end",
    )
    others = {name.lower(): f"class {name}\n  def x; end\nend\n" for name in ("Payment", "Fee")}
    found = items(added(repository, order=source, **others))
    assert found["Order#pay"]["absorbed_private_methods"] == ["first_step", "second_step"]
    assert found["Order#cancel"]["absorbed_private_methods"] == ["first_step", "second_step", "by_name"]
    assert found["Order#show"]["absorbed_private_methods"] == []
    assert found["Order#local"]["absorbed_private_methods"] == []
    assert found["Order#pay"]["cross_class_deps"] == found["Order#cancel"]["cross_class_deps"] == [{"class": "Payment"}]
    assert not any("first_step" in name for name in found)


@pytest.mark.proves("S2-DISC-08")
def test_private_class_methods_are_absorbed_by_class_methods_only(repository: Repository) -> None:
    source = ruby(
        "class A",
        "  def self.build; helper; end",
        "  def run; helper; end",
        "  def self.helper; end",
        "  private_class_method :helper",
        "end",
    )
    found = items(added(repository, a=source))
    assert found["A.build"]["absorbed_private_methods"] == ["helper"]
    assert found["A#run"]["absorbed_private_methods"] == []


@pytest.mark.proves("S2-DISC-09")
def test_a_method_waits_for_all_methods_of_the_classes_it_uses(repository: Repository) -> None:
    plan = added(
        repository,
        a_top="class Top\n  def second; Middle.new; end\n  def first; end\nend\n",
        middle="class Middle\n  def plain; end\n  def deep; Leaf.new; end\nend\n",
        leaf="class Leaf\n  def b; end\n  def a; end\nend\n",
    )
    assert waves(plan) == [["Top#first", "Leaf#b", "Leaf#a", "Middle#plain"], ["Middle#deep"], ["Top#second"]]
    assert [wave["name"] for wave in plan.answer["method_waves"]] == [
        *("Leaf methods", "Depends on wave 0", "Depends on wave 1"),
    ]


@pytest.mark.proves("S2-DISC-10")
def test_a_cycle_is_cut_with_a_warning_that_names_it(repository: Repository) -> None:
    plan = added(
        repository,
        a="class A\n  def x; B.new; end\nend\n",
        b="class B\n  def y; A.new; end\nend\n",
    )
    assert waves(plan) == [["A#x"], ["B#y"]]
    assert "Dependency cycle A → B → A: cut at A#x, taken before B." in plan.warnings


@pytest.mark.proves("S2-DISC-12", "S2-DISC-16")
def test_unchanged_methods_are_offered_and_changed_ones_proposed(repository: Repository) -> None:
    before = ruby("class A", "  def a; 1; end", "  def b; 1; end", "end")
    plan = changed(repository, {"app/a.rb": before}, {"app/a.rb": before.replace("b; 1", "b; 2")})
    assert {name: item["selected"] for name, item in items(plan).items()} == {"A#a": False, "A#b": True}
    assert items(plan)["A#a"]["skip_reason"]
    assert "skip_reason" not in items(plan)["A#b"]
    alone = single(repository, "app/a.rb")
    assert all(item["selected"] for item in items(alone).values())
    assert {name: item["method_mode"] for name, item in items(alone).items()} == {"A#a": "unchanged", "A#b": "modified"}


@pytest.mark.proves("S2-DISC-13", "S2-DISC-14")
def test_every_number_agrees_with_the_lists(repository: Repository) -> None:
    plan = added(
        repository,
        two="class Two\n  def a; end\n  def b; Other.new; end\nend\n",
        other="class Other\n  def d; end\nend\n",
    )
    answer, found = plan.answer, items(plan)
    listed = [
        (file["path"], file["class_name"], one["name"], one["wave"], one["selected"])
        for file in answer["files"]
        for one in file["public_methods"]
    ]
    in_waves = [
        (item["source_file"], item["class_name"], item["method_name"], wave["wave"], item["selected"])
        for wave in answer["method_waves"]
        for item in wave["items"]
    ]
    assert sorted(listed) == sorted(in_waves)
    assert len(set(listed)) == len(listed) == 3
    assert sorted(answer["dependency_graph"]["nodes"]) == sorted(found)
    assert answer["summary"] == {
        "total_methods": 3,
        "selected_methods": 3,
        "total_files": len(answer["files"]),
        "waves_count": len(answer["method_waves"]),
        "by_zone": {"green": 2, "yellow": 0, "red": 0},
    }


@pytest.mark.proves("S2-ERR-02")
def test_a_file_without_public_methods_is_an_error_alone_and_skipped_among_others(repository: Repository) -> None:
    repository.write("app/empty.rb", "class Empty\n  private\n  def x; end\nend\n")
    repository.commit()
    with pytest.raises(MootError) as caught:
        single(repository, "app/empty.rb")
    assert caught.value.message.splitlines() == [
        "Cannot determine testable methods",
        "app/empty.rb: File has no public methods",
    ]
    assert "no public methods" in caught.value.details["details"]
    assert "meant to be tested" in caught.value.remedy
    repository.branch()
    repository.write("app/empty.rb", "class Empty\n  private\n  def y; end\nend\n")
    repository.write("app/full.rb", "class Full\n  def x; end\nend\n")
    repository.commit()
    plan = branch(repository)
    assert list(items(plan)) == ["Full#x"]
    assert "app/empty.rb: No testable methods found." in plan.warnings


@pytest.mark.proves("S2-DISC-18")
def test_a_branch_without_testable_files_is_an_error_with_a_suggestion(repository: Repository) -> None:
    with pytest.raises(MootError) as caught:
        changed(repository, {}, {"README.md": "x", "app/a_spec.rb": "x"})
    assert caught.value.message == "No testable Ruby files found"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Cannot determine testable methods"),
        (b"class A\n  def x(\nend\n", "app/a.rb does not parse"),
        (b"class A\n  def x\n    1\n", "app/a.rb does not parse"),
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        (b"#" * (2 << 20), "2,097,152 bytes"),
    ],
)
def test_a_source_that_is_not_readable_ruby_is_a_clear_error(
    repository: Repository, content: bytes, words: str
) -> None:
    repository.write("app/a.rb", content)
    repository.commit()
    with pytest.raises(MootError, match=words) as caught:
        single(repository, "app/a.rb")
    assert caught.value.remedy


def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(repository: Repository) -> None:
    source = "class A\n  def x\n    1\n  end\n\n  def y\n    2\n  end\nend\n"
    plan = changed(
        repository,
        {"app/a.rb": "\ufeff" + source.replace("\n", "\r\n")},
        {"app/a.rb": "\ufeff" + source.replace("2", "3").replace("\n", "\r\n")},
    )
    assert {name: (item["method_mode"], item["line_range"]) for name, item in items(plan).items()} == {
        "A#x": ("unchanged", [2, 4]),
        "A#y": ("modified", [6, 8]),
    }


def test_a_method_that_is_defined_twice_is_listed_once_with_a_warning(repository: Repository) -> None:
    plan = added(repository, a=ruby("class A", "  def x; 1; end", "  def x; 2; end", "end"))
    assert items(plan)["A#x"]["line_range"] == [3, 3]
    assert any("A#x is defined again on line 3" in warning for warning in plan.warnings)


def test_methods_made_by_define_method_are_listed_by_name_or_named_in_a_warning(repository: Repository) -> None:
    source = ruby("class A", "  define_method(:made) { 1 }", "  define_method(name_of(1)) { 2 }", "  def x; end", "end")
    plan = added(repository, a=source)
    assert list(items(plan)) == ["A#made", "A#x"]
    assert any("app/a.rb:3" in warning for warning in plan.warnings)


def test_a_class_and_an_object_method_of_one_name_have_different_names(repository: Repository) -> None:
    plan = added(repository, a=ruby("class A", "  def self.call; new.call; end", "  def call; end", "end"))
    assert {name: item["method_name"] for name, item in items(plan).items()} == {
        "A.call": "self.call",
        "A#call": "call",
    }


def test_one_class_in_two_files_keeps_all_its_methods(repository: Repository) -> None:
    plan = added(repository, a="class A\n  def x; end\nend\n", b="class A\n  def x; end\n  def y; end\nend\n")
    assert list(items(plan)) == ["A#x", "A#x (app/b.rb)", "A#y"]


BROKEN = b"class Bad\n  def flip(x)\n    1\n  end\n\n  def other(a\n    a\n  end\nend\n"


@pytest.mark.proves("S2-DISC-04", "S2-DISC-18")
def test_a_method_is_covered_although_another_one_of_its_file_does_not_parse(repository: Repository) -> None:
    repository.write("app/bad.rb", BROKEN)
    repository.commit()
    plan = single(repository, "app/bad.rb")
    assert list(items(plan)) == ["Bad#flip"]
    (warning,) = plan.warnings
    assert "app/bad.rb does not parse" in warning
    assert "(line 6, " in warning, "where the error is, not where the class begins"
    assert "Bad#other cannot be covered until it is corrected." in warning


@pytest.mark.proves("S2-DISC-18")
def test_files_that_cannot_be_read_or_parsed_are_left_out_of_a_branch_by_name(repository: Repository) -> None:
    new = {
        "app/binary.rb": b"\x89PNG\r\n\x1a\n\0\0",
        "app/broken.rb": b"class Broken\n  def x\n    1\n",
        "app/good.rb": b"class Good\n  def x\n    1\n  end\nend\n",
        "app/large.rb": b"#" * (2 << 20),
    }
    plan = changed(repository, {}, new)
    assert list(items(plan)) == ["Good#x"]
    binary, large, broken = plan.warnings
    assert binary == "app/binary.rb cannot be read: it is a binary file. It was left out."
    assert large.startswith("app/large.rb is too large: it has 2,097,152 bytes")
    assert broken == ("app/broken.rb does not parse: syntax error in `x` (line 2, column 7). The file was left out.")
