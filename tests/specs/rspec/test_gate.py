"""The gate after a wave with failed tests: the run ends, and goes on without them if a person says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import Refused
from moot.packs.rspec.methods import Rspec

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

SPEC = "spec/models/book_spec.rb"
OTHER = "spec/models/customer_spec.rb"
LATER = "tmp/rspec_metadata/app_services_restocking.yml"


@pytest.fixture
def failing(shop: Shop) -> Shop:
    """Two waves; a test of Book, in the first one, fails."""
    shop.stock("models/book", "models/customer", "services/restocking")
    shop.write("Gemfile", "")  # without factories, so that no other agent is needed
    shop.open("fails")
    with pytest.raises(Refused, match=r"Tests of wave 0 failed: Book#sell .*expected: 2") as refused:
        shop.cover()
    assert (refused.value.code, shop.root.joinpath(LATER).exists()) == ("tests_failed", False)
    return shop


def replace_in(shop: Shop, path: str, old: str, new: str) -> None:
    assert old in shop.file(path)
    shop.write(path, shop.file(path).replace(old, new, 1))


@pytest.mark.proves("S2-FLOW-04", "S2-FLOW-03", "S2-REV-04")
def test_the_run_goes_on_without_the_failed_tests_and_the_record_says_who_said_so(failing: Shop) -> None:
    assert "failed: Book#sell" in failing.moot("run", "status")
    assert any(
        one.startswith("test_reviewer: failed: ") for one in failing.document("app_models_book")["automation"]["errors"]
    )
    report = failing.rspec("resume", continue_=True)
    assert [(one.wave, one.tests_passed) for one in report.files] == [(0, False), (0, True), (1, True)]
    ((name, who),) = report.left_out.items()
    assert name.startswith(f"{SPEC}: Book#sell")
    assert who.startswith("person:")


@pytest.mark.proves("S2-FLOW-04")
def test_going_on_counts_only_for_the_tests_that_failed_then(failing: Shop) -> None:
    silent = failing.root.parent / "silent"
    silent.write_text("app/services/restocking.rb")
    with pytest.raises(Refused, match="test-implementer failed for Restocking"):
        failing.rspec("resume", continue_=True)
    silent.unlink()
    replace_in(failing, OTHER, "eq(1)", "eq(3)")
    with pytest.raises(Refused, match="Customer"):
        failing.rspec("resume")
    replace_in(failing, OTHER, "eq(3)", "eq(1)")
    assert len(failing.rspec("resume").left_out) == 1


@pytest.mark.proves("S2-FLOW-04", "S2-REC-01")
@pytest.mark.parametrize("corrected", ["by hand", "in the code", "by the agent"])
def test_what_was_corrected_is_run_again(failing: Shop, corrected: str) -> None:
    if corrected == "by hand":
        replace_in(failing, SPEC, "eq(2)", "eq(1) # by hand")
    elif corrected == "in the code":
        failing.write("app/models/book.rb", failing.file("app/models/book.rb") + "# corrected\n")
        failing.behave("honest")
        replace_in(failing, SPEC, "eq(2)", "eq(1)")
    else:
        failing.behave("repairs")
        failing.rspec("stage", slug="app_models_book", name="test-implementer")
    report = failing.rspec("resume")
    assert [one.tests_passed for one in report.files] == [True] * 3
    assert ("# by hand" in failing.file(SPEC)) == (corrected == "by hand")


@pytest.mark.proves("S2-FLOW-04")
def test_an_agent_cannot_go_on_without_failed_tests(failing: Shop) -> None:
    with Workspace(str(failing.root), agent="Yeats") as workspace:
        workspace.join()
        with pytest.raises(Refused, match="for people only"):
            workspace.pack(Rspec).resume(continue_=True)
