"""What a person made of a spec after a run: later stages check it, agents do not get it again, and it is never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.specs.rspec_v1.shop import REPORT, SOURCE, SPEC
from tests.specs.rspec_v1.test_step_keys import append, ran, swap, touch

if TYPE_CHECKING:
    from tests.specs.rspec_v1.shop import Shop

LARGE = "expect(result).to eq(:large)"
MINE = f"{LARGE} # mine, and better"
CHECKS = "polisher reviewer"
AGENTS = "architect implementer"


@pytest.fixture
def finished(staffed: Shop) -> Shop:
    """A project with a method that has its tests."""
    assert staffed.run().code in (0, 2)
    assert MINE not in staffed.read(SPEC)
    return staffed


def edit(shop: Shop, old: str = LARGE, new: str = MINE) -> None:
    assert old in shop.read(SPEC)
    shop.write(SPEC, shop.read(SPEC).replace(old, new, 1))


def versions(shop: Shop) -> list[tuple[str, str]]:
    """The versions of the spec: who left it, and its text."""
    found = shop.json("versions", SPEC)
    return [(one["stage"], shop.rspec("versions", SPEC, "--show", str(one["number"])).out) for one in found]


@pytest.mark.proves("S1-HARD-07", "S1-SPEC-02")
@pytest.mark.parametrize("also", ["nothing", "the time of the source"])
def test_an_edit_of_a_finished_block_is_checked_and_no_agent_gets_it_again(
    finished: Shop, monkeypatch: pytest.MonkeyPatch, also: str
) -> None:
    edit(finished)
    touched = ""
    if also != "nothing":
        touch(SOURCE)(finished, monkeypatch)
        touched = "analyzer validation "
    assert ran(finished.run()) == f"{touched}{CHECKS}"
    assert MINE in finished.read(SPEC)
    assert ran(finished.run()) == "polisher"
    assert versions(finished)[-1] == ("edited", finished.read(SPEC))


@pytest.mark.proves("S1-HARD-07")
def test_a_context_that_a_person_adds_is_an_edit_as_well(finished: Shop) -> None:
    lines = ("let(:user) { User.new(true) }", "let(:amount) { 3 }", "", "it('pays') { expect(result).to eq(:small) }")
    inner = "".join(f"      {line}\n" if line else "\n" for line in lines)
    own = f"    context 'when it rains' do\n{inner}    end\n"
    edit(finished, '    context "when NOT', f'{own}\n    context "when NOT')
    assert ran(finished.run()) == CHECKS
    assert own in finished.read(SPEC)


@pytest.mark.proves("S1-HARD-07")
def test_an_edit_that_breaks_a_test_fails_the_polisher_until_it_is_corrected(finished: Shop) -> None:
    edit(finished, LARGE, "expect(result).to eq(:huge)")
    said = finished.run()
    assert said.code == 1
    assert "polisher" in said.err
    assert "architect passed" not in said.err
    edit(finished, "expect(result).to eq(:huge)", MINE)
    assert ran(finished.run()) == CHECKS
    assert MINE in finished.read(SPEC)


@pytest.mark.proves("S1-HARD-07", "S1-SPEC-02")
@pytest.mark.parametrize("checked", [True, False])
def test_if_the_source_changes_the_agents_go_on_with_the_edit_and_it_stays_a_version(
    finished: Shop, monkeypatch: pytest.MonkeyPatch, *, checked: bool
) -> None:
    edit(finished)
    mine = finished.read(SPEC)
    if checked:
        assert ran(finished.run()) == CHECKS
    append(SOURCE, "# sold here\n")(finished, monkeypatch)
    finished.agents(architect="forget")
    said = finished.run()
    assert AGENTS in ran(said)
    assert MINE not in finished.read(SPEC), "that is what this architect does"
    assert ("edited", mine) in versions(finished)


@pytest.mark.proves("S1-HARD-04")
def test_another_method_in_the_same_spec_needs_no_agent_again(finished: Shop) -> None:
    assert finished.rspec("run", SOURCE, "refund").code in (0, 2)
    assert 'describe "#refund"' in finished.read(SPEC)
    assert ran(finished.run()) == CHECKS
    assert "process" in finished.read(REPORT)
    assert "architect passed" not in finished.rspec("run", SOURCE, "refund").err


@pytest.mark.proves("S1-FAIL-03")
def test_a_stage_that_passed_and_failed_later_is_not_said_to_have_never_passed(
    finished: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished.agents(architect="no_answer")
    append(SOURCE, "# sold here\n")(finished, monkeypatch)
    assert finished.run().code == 1
    finished.agents()
    assert finished.run().code in (0, 2)
    assert "its last attempt did not pass" in finished("run", "explain", "last", "--stage", "architect").out


@pytest.mark.proves("S1-HARD-04")
def test_a_report_that_somebody_changed_is_written_again(finished: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    report = finished.read(REPORT)
    swap(REPORT, "#", "# Mine:")(finished, monkeypatch)
    assert ran(finished.run()) == CHECKS
    assert finished.read(REPORT) == report
