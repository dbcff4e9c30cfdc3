"""What a run that did not finish says: what was interrupted or failed, which files it left, and how to go on."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused
from moot.packs.rspec.cover_ends import interruption
from moot.packs.rspec.cover_report import CoverReport
from moot.packs.rspec.reviewing import Failure, RspecResult, review_errors
from moot.packs.rspec.wave_gate import failed_tests
from moot.runs.steps import PipelineStep
from tests.specs.rspec.test_runs import CUSTOMER
from tests.specs.rspec.test_two_runs import BusyShop, busy, said

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

__all__ = ["busy"]  # the fixture
SPEC = "spec/models/customer_spec.rb"
OWN = 'RSpec.describe Customer do\n  describe "#discount" do\n    it("is mine") { expect(1).to eq(1) }\n  end\nend\n'


@pytest.mark.proves("S2-REC-01")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_what_was_interrupted_and_how_to_go_on(busy: BusyShop, number: signal.Signals) -> None:
    busy.shop.stock("models/customer")
    busy.open()
    busy.held_up("test-implementer customer")
    process = busy.begin("cover", "app/models/customer.rb", "--yes")
    busy.begins("test-implementer customer")
    process.send_signal(number)
    text = said(process)
    busy.begun.remove(process)
    assert process.returncode == 130, text
    line = "Interrupted: test-implementer of Customer (app/models/customer.rb). To go on: `moot rspec resume "
    (command,) = [one.removeprefix(line)[:-2] for one in text.splitlines() if one.startswith(line)]
    busy.release("test-implementer customer")
    assert "tests passed" in busy.shop.moot("rspec", "resume", command, code=2)


def test_an_interruption_names_the_stages_that_were_at_work() -> None:
    steps = [
        PipelineStep("started", "run-1", title="Book", stage="test-architect"),
        PipelineStep("passed", "run-1", title="Book", stage="test-architect"),
        PipelineStep("started", "run-1", title="Book", stage="factory-agent"),
        PipelineStep("started", "run-2", title="Shelf", stage="code-analyzer"),
    ]
    said = interruption("run-0", steps)
    assert said == ("Interrupted: factory-agent of Book, code-analyzer of Shelf. To go on: `moot rspec resume run-0`.")
    assert interruption("run-0", steps[:2]) == (
        "Interrupted: run-0, while no stage was at work. To go on: `moot rspec resume run-0`."
    )
    assert interruption("", []) == "Interrupted before the run began."


def resume_in(text: str) -> list[str]:
    """The arguments of the command to go on that a text ends with."""
    found = re.search(r"To go on from [a-z-]+: `moot (rspec resume run-\w+)`\.$", text)
    assert found, text
    return found[1].split()


@pytest.mark.proves("S2-REC-01")
def test_the_command_to_go_on_is_about_the_run_that_failed_whatever_finished_since(shop: Shop) -> None:
    shop.stock("models/book", "models/customer")
    shop.write("Gemfile", "")
    shop.open("silent")
    with pytest.raises(Refused) as refused:
        shop.rspec("cover", path="app/models/customer.rb", yes=True)
    shop.behave("honest")
    assert isinstance(shop.rspec("cover", path="app/models/book.rb", yes=True), CoverReport)
    command = resume_in(refused.value.remedy)
    other = shop.moot("rspec", "resume", code=1)
    assert f"has finished.\nTo go on with an earlier one, which has not: `moot {' '.join(command)}`." in other
    shown = shop.moot(*command, code=2)
    assert f"{SPEC}: tests passed" in shown


@pytest.mark.proves("S2-REC-01", "S2-ERR-01")
def test_a_failed_stage_that_left_a_damaged_spec_says_how_to_put_it_back(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.write("Gemfile", "")
    shop.open("drops")
    with pytest.raises(Refused) as refused:
        shop.cover()
    back = f"moot run restore {refused.value.details['run']}"
    assert f"still in {SPEC}; `{back}` puts all of that back as it was before" in refused.value.remedy
    assert resume_in(refused.value.remedy)
    shop.behave("honest")
    shop.moot(*back.split()[1:])
    report = shop.rspec("resume")
    assert isinstance(report, CoverReport), report


def test_a_failed_stage_that_changed_nothing_names_no_files(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.write("Gemfile", "")
    shop.open("silent")
    with pytest.raises(Refused) as refused:
        shop.cover()
    assert "restore" not in refused.value.remedy
    with pytest.raises(Refused) as refused:
        shop.rspec("stage", slug=CUSTOMER, name="test-implementer")
    assert "restore" not in refused.value.remedy


@pytest.mark.proves("S2-ERR-01", "S2-ERR-02")
def test_a_file_without_public_methods_is_named_with_the_details(shop: Shop) -> None:
    shop.write("app/empty.rb", "class Empty\nend\n")
    shop.open()
    shown = shop.moot("rspec", "cover", "app/empty.rb", "--yes", code=1).splitlines()
    assert shown == [
        "Error: Cannot determine testable methods",
        "  app/empty.rb: File has no public methods",
        "Check if the class is meant to be tested.",
    ]


def test_a_spec_that_cannot_be_loaded_is_named_once_and_without_empty_brackets() -> None:
    broken = Failure("the spec file cannot be loaded", "", "An error occurred in a hook.\nLoadError")
    assert review_errors((), RspecResult(passed=False, examples=0, ran=0, failures=(broken,))) == (
        "failed: the spec file cannot be loaded",
    )
    found = failed_tests([(SPEC, {"tests_passed": False, "failures": [dict(broken.__dict__)]})])
    assert found is not None
    assert found.lines == (f"the spec file cannot be loaded ({SPEC}): An error occurred in a hook",)
