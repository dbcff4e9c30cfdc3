"""Outside the blocks of its methods, a stage changes nothing in a spec file: what is there is a person's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused
from moot.packs.rspec.untouched import changed_outside, kept_outside, reworded_outside

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

PATH = "spec/models/book_spec.rb"
TITLE = '  it "has a title" do\n    expect(Book.new(title: "x").title).to eq("x")\n  end\n'
PRICE = '  describe "#price" do\n    it "is kept" do\n      expect(Book.new(price: 1).price).to eq(1)\n    end\n  end\n'
MINE = f"# mine\nRSpec.describe Book do\n{TITLE}\n{PRICE}"
SPEC = f"""{MINE}
  describe "#sell" do
    context "when called" do
      # setup
      it "sells" do
        skip
      end
    end
  end

  describe "#order" do
    context "when called" do
      it "orders" do
        skip
      end
    end
  end
end
"""


def planned(sells: str = "sells") -> dict[str, object]:
    texts = {"#sell": sells, "#order": "orders"}
    contexts = [{"name": name, "contexts": [{"name": "when called", "examples": [one]}]} for name, one in texts.items()]
    return {"describe": "Book", "methods": contexts}


def problems(after: str) -> list[str]:
    return [f"{one.line}: {one.text}" for one in changed_outside(planned(), SPEC.encode(), after.encode(), PATH)]


@pytest.mark.parametrize(
    "after",
    [
        SPEC,
        SPEC.replace("# setup", "let(:copies) { 2 }\n      before { stub }").replace("skip", "expect(1).to eq(2)"),
        SPEC.replace('\n\n  describe "#order"', '\n\n\n  describe "#order"'),
        SPEC.replace("  end\nend\n", "  end\n\nend\n\n"),
        SPEC.rstrip("\n"),
    ],
    ids=["nothing", "its own blocks", "a blank line between them", "blank lines behind them", "no newline at the end"],
)
def test_a_stage_may_change_its_own_blocks(after: str) -> None:
    assert problems(after) == []


@pytest.mark.proves("S2-ARCH-07", "S2-HARD-15")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (TITLE + "\n", "", "3: the example 'has a title' (line 3) was changed"),
        ("price: 1", "price: 2", "9: the block of #price (line 7) was changed"),
        ('    it "is kept" do\n', '    it "is kept" do\n      next\n', "9: the block of #price (line 7) was changed"),
        (PRICE, "", "8: the block of #price (line 7) was changed"),
        ("# mine", "# yours", "1: line 1 was changed"),
        ("Book do\n", "Book do\n  before { skip }\n", "3: `before { skip }` was added"),
        ("  end\nend\n", "  end if false\nend\n", "28: `if false` was added"),
        ("Book do\n", "Book, if: false do\n", "2: line 2 was changed"),
        ("\n", "\r\n", "1: line 1 was changed"),
    ],
)
def test_whatever_else_changes_is_named_with_its_line(old: str, new: str, said: str) -> None:
    assert old in SPEC
    found = problems(SPEC.replace(old, new))
    assert found[0] == f"{said}; only the blocks of #sell, #order may change"


@pytest.mark.proves("S2-IMPL-01")
@pytest.mark.parametrize(
    ("added", "certain"),
    [("# more\n", False), ("# more\n\n  # and more\n", False), ("# encoding: ascii\n", True), ("puts 1\n", True)],
)
def test_comments_that_were_added_are_only_a_warning(added: str, certain: bool) -> None:
    found = list(changed_outside(planned(), SPEC.encode(), (SPEC + added).encode(), PATH))
    assert [one.certain for one in found] == [certain]


@pytest.mark.proves("S2-HARD-06", "S2-HARD-15")
def test_a_block_of_a_person_beside_one_of_the_same_name_is_not_taken_away() -> None:
    block = SPEC[SPEC.index('  describe "#sell"') : SPEC.index('  describe "#order"')]
    done = block.replace("# setup", "").replace("skip", "expect(2).to eq(copies)")
    before = SPEC.replace(block, done + block.replace("skip", 'skip "{EXPECTATION}"'))
    filled = SPEC.replace(block, done + done)
    assert [*changed_outside(planned(), before.encode(), filled.encode(), PATH)] == []
    for other in (filled.replace("copies)", "stock)", 1), filled.replace(done, "", 1)):
        assert [*changed_outside(planned(), before.encode(), other.encode(), PATH)] != []


@pytest.mark.proves("S2-ARCH-07")
def test_a_rewording_leaves_the_texts_of_a_person_alone() -> None:
    good = SPEC.replace('it "sells"', 'it "sells copies"')
    bad = good.replace('it "is kept"', 'it "stays"')
    structure = planned("sells copies")
    assert [*reworded_outside(structure, SPEC.encode(), good.encode(), PATH)] == []
    (problem,) = reworded_outside(structure, SPEC.encode(), bad.encode(), PATH)
    assert problem.text.startswith("the block of #price (line 7) was changed")


@pytest.mark.proves("S2-ARCH-07", "S2-HARD-15", "S2-HARD-05")
def test_an_agent_cannot_take_a_test_of_a_person_away(shop: Shop) -> None:
    shop.stock("models/book")
    shop.write(PATH, f"{MINE}end\n")
    shop.open("steals")
    with pytest.raises(Refused, match="the example 'has a title' \\(line 3\\) was changed"):
        shop.cover()
    assert shop.document("app_models_book")["automation"]["test_implementer_completed"] is False
    shop.behave("honest")
    with pytest.raises(Refused, match="the example 'has a title' \\(line 3\\) was changed"):
        shop.rspec("resume")
    shop.write(PATH, shop.file(PATH).replace("Book do\n", f"Book do\n{TITLE}"))
    [report] = shop.rspec("resume").files
    assert (report.outcome, report.tests_passed) == ("passed", True)
    assert shop.file(PATH).startswith(MINE)


BESIDE = '`it "is mine" do` was added; only the blocks of #sell may change'
SLUG = "app_models_book"
AGENT = [sys.executable, "agent.py", "beside"]


@pytest.fixture
def edited(shop: Shop) -> Shop:
    """A shop in which a person has added an example while test-implementer ran."""
    shop.stock("models/book")
    shop.open("beside")
    with pytest.raises(Refused) as failed:
        shop.cover()
    assert BESIDE in failed.value.message
    assert "If you wrote that yourself, keep it: `moot rspec resume --keep`." in failed.value.remedy
    assert "puts all of that back as it was before" in failed.value.remedy
    return shop


@pytest.mark.proves("S2-HARD-06", "S2-HARD-15", "S2-REC-01")
def test_what_a_person_wrote_while_a_stage_ran_is_kept_if_the_person_says_so(edited: Shop) -> None:
    with pytest.raises(Refused, match="is mine"):
        edited.rspec("resume")
    before = edited.file(PATH)
    assert edited.moot("rspec", "resume", "--keep", code=2)
    assert edited.file(PATH) == before
    assert "is mine" in before
    assert edited.document(SLUG)["automation"]["test_implementer_completed"] is True
    [report] = edited.cover().files
    assert (report.outcome, report.tests_passed) == ("passed", True)
    assert edited.file(PATH) == before


@pytest.mark.proves("S2-HARD-06", "S2-HARD-15", "S2-ARCH-07")
@pytest.mark.parametrize("existing", [f"{MINE}end\n", None], ids=["in a file of a person", "in a new file"])
def test_what_a_person_wrote_while_texts_were_reworded_is_kept_too(shop: Shop, existing: str | None) -> None:
    shop.stock("models/book")
    if existing is not None:
        shop.write(PATH, existing)
    shop.open(architect="beside")
    with pytest.raises(Refused, match="something outside the blocks was changed") as failed:
        shop.cover()
    assert "keep it: `moot rspec resume --keep`." in failed.value.remedy
    with pytest.raises(Refused, match="nothing was overwritten") as failed:
        shop.rspec("resume")
    assert "keep that: `moot rspec resume --keep`." in failed.value.remedy
    [report] = shop.rspec("resume", keep=True).files
    assert (report.outcome, report.tests_passed) == ("passed", True)
    text = shop.file(PATH)
    assert (text.count('it "is mine" do'), text.count('describe "#sell" do')) == (1, 1)
    assert 'it "does thing 1" do' in text
    assert existing is None or text.startswith("# mine\nRSpec.describe Book do\n" + TITLE)


@pytest.mark.proves("S2-HARD-15")
def test_only_a_person_can_say_so(edited: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOOT_PERSON")
    said = edited.moot("--agent", "Yeats", "rspec", "resume", "--keep", code=1)
    assert "--keep" in said
    assert edited.document(SLUG)["automation"]["test_implementer_completed"] is False


@pytest.mark.proves("S2-HARD-15", "S2-IMPL-03")
def test_to_keep_the_rest_of_a_file_accepts_nothing_in_the_blocks(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open("beside and worse")
    with pytest.raises(Refused, match="never runs the example"):
        shop.cover()
    shop.behave("beside")
    with pytest.raises(Refused, match="never runs the example") as failed:
        shop.rspec("resume", keep=True)
    assert "is mine" not in failed.value.message
    shop.write(PATH, shop.file(PATH).replace("around { |_| }\n", ""))
    [report] = shop.rspec("resume").files
    assert (report.outcome, report.tests_passed) == ("passed", True)
    assert "is mine" in shop.file(PATH)


def test_the_kept_file_has_the_blocks_of_before_and_the_rest_of_now() -> None:
    filled = SPEC.replace("skip", "expect(1).to eq(copies)").replace("# mine", "# mine, and more")
    kept = kept_outside(planned(), SPEC.encode(), filled.encode()).decode()
    assert kept == SPEC.replace("# mine", "# mine, and more")
    assert [*changed_outside(planned(), kept.encode(), filled.encode(), PATH)] == []
    gone = SPEC.replace('describe "#order"', 'describe "#refund"')
    assert kept_outside(planned(), SPEC.encode(), gone.encode()) == SPEC.encode()


@pytest.mark.proves("S2-HARD-15", "S2-REC-01")
def test_an_edit_elsewhere_does_not_make_what_a_failed_attempt_took_away_a_persons_wish(shop: Shop) -> None:
    shop.stock("models/book")
    shop.write(PATH, f"{MINE}end\n")
    shop.open("steals")
    with pytest.raises(Refused):
        shop.cover()
    shop.behave("honest")
    shop.write(PATH, shop.file(PATH) + "# a remark\n")
    with pytest.raises(Refused, match="the example 'has a title' \\(line 3\\) was changed") as failed:
        shop.rspec("resume")
    assert "remark" not in failed.value.message
    with pytest.raises(Refused, match="the example 'has a title' \\(line 3\\) was changed"):
        shop.rspec("resume")
    shop.moot("run", "restore", failed.value.details["run"], "--attempt", "1")
    assert TITLE in shop.file(PATH), "the person gets it back"
    [report] = shop.rspec("resume").files
    assert (report.outcome, report.tests_passed) == ("passed", True)
    assert shop.file(PATH).startswith(MINE)


@pytest.mark.proves("S2-HARD-06", "S2-HARD-15")
def test_a_restore_leaves_alone_what_a_person_edited_after_the_stage(shop: Shop) -> None:
    shop.stock("models/book")
    shop.write(PATH, f"{MINE}end\n")
    shop.open("steals")
    with pytest.raises(Refused) as failed:
        shop.cover()
    run = failed.value.details["run"]
    mine = shop.file(PATH) + "# a remark\n"
    shop.write(PATH, mine)
    assert f"{PATH} changed since test-implementer" in shop.moot("run", "restore", run, code=1)
    assert shop.file(PATH) == mine
