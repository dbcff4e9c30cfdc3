"""The gate after a wave with failed tests: whose answer counts, for which tests, and how long it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import Held, Refused
from moot.packs.rspec.cover import CoverStop
from moot.packs.rspec.cover_report import CoverReport
from moot.packs.rspec.methods import Rspec
from moot.packs.rspec.wave_gate import FailedTests, failed_tests

if TYPE_CHECKING:
    from moot.core.deciders.checkpoint import Checkpoint
    from tests.specs.rspec.shop import Shop

SPEC = "spec/models/book_spec.rb"
OTHER = "spec/models/customer_spec.rb"


def asked(shop: Shop, *, every: bool = False) -> dict[str, str]:
    """The questions of gates, oldest first, each with its status and answer: those that are open, or all."""
    with Workspace(str(shop.root)) as workspace:
        found = sorted(workspace.checkpoints(all=every), key=lambda one: one.at)
    return {one.id.partition("-gate-")[2]: one.answer or one.status for one in found if "-gate-" in one.id}


def answer(shop: Shop, name: str | None, said: str) -> None:
    assert name is not None
    with Workspace(str(shop.root)) as workspace:
        workspace.checkpoint_resolve(name, said)


def question(shop: Shop, name: str | None) -> Checkpoint:
    assert name is not None
    with Workspace(str(shop.root)) as workspace:
        return workspace.checkpoint_show(name)


@pytest.fixture
def failing(shop: Shop) -> Shop:
    """Two waves; a test of Book, in the first one, will fail."""
    shop.stock("models/book", "models/customer", "services/restocking")
    shop.write("Gemfile", "")  # without factories, so that no other agent is needed
    shop.open("fails")
    return shop


def break_later_wave(shop: Shop) -> None:
    (shop.root.parent / "silent").write_text("app/services/restocking.rb")


def repair_later_wave(shop: Shop) -> None:
    (shop.root.parent / "silent").unlink()


def replace_in(shop: Shop, path: str, old: str, new: str) -> None:
    assert old in shop.file(path)
    shop.write(path, shop.file(path).replace(old, new, 1))


@pytest.mark.proves("S2-FLOW-04", "S2-HARD-14")
def test_a_skip_by_option_is_the_recorded_answer_of_its_author(failing: Shop) -> None:
    stopped = failing.cover()
    assert asked(failing) == {"0": "reached"}
    report = failing.rspec("resume", gate="skip")
    assert isinstance(report, CoverReport), report
    found = question(failing, stopped.checkpoint)
    assert (found.status, found.answer) == ("resolved", "skip")
    assert (found.resolved_by or "").startswith("person:")
    assert not asked(failing)


@pytest.mark.proves("S2-FLOW-04", "S2-MECH-04")
def test_a_skip_that_the_run_began_with_is_recorded_and_kept_when_it_goes_on(failing: Shop) -> None:
    break_later_wave(failing)
    with pytest.raises(Refused, match="test-implementer failed for Restocking"):
        failing.cover(gate="skip")
    assert asked(failing, every=True) == {"0": "skip"}
    repair_later_wave(failing)
    report = failing.rspec("resume")
    assert isinstance(report, CoverReport), report
    assert asked(failing, every=True) == {"0": "skip"}, "the question is not asked again"


@pytest.mark.proves("S2-FLOW-04", "S2-FLOW-03", "S2-HARD-14")
def test_an_answer_counts_only_for_the_failures_that_it_was_about(failing: Shop) -> None:
    stopped = failing.cover()
    break_later_wave(failing)
    answer(failing, stopped.checkpoint, "skip")
    with pytest.raises(Refused, match="test-implementer failed for Restocking"):
        failing.rspec("resume")
    repair_later_wave(failing)
    replace_in(failing, OTHER, "eq(1)", "eq(3)")
    again = failing.rspec("resume")
    assert isinstance(again, CoverStop), again
    assert "Customer" in again.message
    assert asked(failing, every=True) == {"0": "skip", "0-2": "reached"}
    replace_in(failing, OTHER, "eq(3)", "eq(1)")
    report = failing.rspec("resume")
    assert isinstance(report, CoverReport), report
    assert asked(failing, every=True) == {"0": "skip", "0-2": "withdrawn"}, "what is left was skipped before"


@pytest.mark.proves("S2-FLOW-04", "S2-REC-01")
def test_a_test_that_a_person_repairs_is_run_and_not_given_to_the_agent_again(failing: Shop) -> None:
    assert isinstance(failing.cover(), CoverStop)
    before = failing.file(SPEC)
    (failing.root.parent / "silent").write_text("app/models/book.rb")  # the agent would fail
    wrong = next(line for line in before.splitlines() if "expect(" in line and "eq(" in line)
    failing.write(SPEC, before.replace(wrong, "      expect(1 + 1).to eq(3) # by hand"))
    assert isinstance(failing.rspec("resume"), CoverStop)
    assert "# by hand" in failing.file(SPEC)


@pytest.mark.proves("S2-FLOW-04", "S2-HARD-14")
@pytest.mark.parametrize("by", ["answer", "option"])
def test_an_abort_is_recorded_and_a_later_option_comes_before_it(failing: Shop, by: str) -> None:
    stopped = failing.cover()
    if by == "answer":
        answer(failing, stopped.checkpoint, "abort")
    with pytest.raises(Refused, match="Tests of wave 0 failed"):
        failing.rspec("resume", **({"gate": "abort"} if by == "option" else {}))
    assert question(failing, stopped.checkpoint).answer == "abort"
    with pytest.raises(Held, match="abort"):
        answer(failing, stopped.checkpoint, "skip")
    with pytest.raises(Refused) as refused:
        failing.rspec("resume")
    assert f"`moot rspec resume {stopped.run} --gate skip`" in refused.value.remedy
    report = failing.rspec("resume", gate="skip")
    assert isinstance(report, CoverReport), report
    assert asked(failing, every=True) == {"0": "abort", "0-2": "skip"}


@pytest.mark.proves("S2-FLOW-04", "S2-HARD-14")
@pytest.mark.parametrize("how", ["resume", "cover"])
def test_a_question_is_withdrawn_when_its_tests_pass(failing: Shop, how: str) -> None:
    stopped = failing.cover()
    failing.behave("honest")
    report = failing.rspec("resume", existing="overwrite") if how == "resume" else failing.cover(existing="overwrite")
    assert isinstance(report, CoverReport), report
    found = question(failing, stopped.checkpoint)
    assert found.status == "withdrawn", found
    assert not asked(failing)


@pytest.mark.proves("S2-HARD-14")
def test_an_agent_cannot_answer_at_the_gate_by_option(failing: Shop) -> None:
    failing.cover()
    with Workspace(str(failing.root), agent="Yeats") as workspace:
        workspace.join()
        with pytest.raises(Refused, match="for people only"):
            workspace.pack(Rspec).resume(gate="skip")
    assert asked(failing) == {"0": "reached"}


@pytest.mark.proves("S2-FLOW-06", "S2-REV-04")
def test_the_status_of_a_run_shows_the_tests_that_failed(failing: Shop) -> None:
    report = failing.cover(gate="skip")
    assert f"app/models/book.rb: tests failed, and the run went on without them ({SPEC})" in report.all_warnings
    shown = failing.moot("run", "status")
    assert "✓ test-reviewer completed with errors" in shown
    assert "- error: failed: Book#sell" in shown


@pytest.mark.proves("S2-FLOW-06")
def test_a_stage_that_waits_for_an_answer_is_shown_as_waiting(shop: Shop) -> None:
    shop.write("app/jobs/mail_job.rb", "class MailJob\n  def perform\n    1\n  end\nend\n")
    shop.open()
    assert shop.cover().reason == "level"
    shown = shop.moot("run", "status")
    assert "waits for an answer at isolation-decider" in shown
    assert "? isolation-decider waiting: At which level is perform of MailJob tested?" in shown
    assert "interrupted" not in shown


def test_failures_are_identified_without_their_messages_and_lines() -> None:
    one = {"description": "Book sells", "location": f"{SPEC}:3", "message": "expected: 2"}
    other = {"description": "Book sells", "location": f"{SPEC}:9", "message": "got: 0x0007\nmore"}
    found = [failed_tests([(SPEC, {"tests_passed": False, "failures": [each]})]) for each in (one, other)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].named == found[1].named == f"{SPEC}: Book sells"
    assert found[1].lines == (f"Book sells ({SPEC}:9): got: 0x0007",)


def test_reviews_that_passed_have_no_failures_and_no_example_is_one() -> None:
    assert failed_tests([(SPEC, {"tests_passed": True}), (OTHER, {})]) is None
    nothing = failed_tests([(SPEC, {"tests_passed": False}), (OTHER, {"tests_passed": True})])
    assert nothing is not None
    assert nothing.specs == (SPEC,)
    assert nothing.lines == (f"no example of {SPEC} ran",)


def test_too_many_failures_are_named_by_a_digest() -> None:
    names = tuple(f"{SPEC}: Book number {number}" for number in range(5000))
    many, fewer = (FailedTests((SPEC,), found, ()).named for found in (names, names[1:]))
    assert many.startswith("5000 failed tests, ")
    assert len(many) < 200
    assert many != fewer
