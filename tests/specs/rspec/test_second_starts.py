"""One stage at a time works on a document: a second start is refused or waits, and says for whom."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import MootError, Refused
from tests.specs.rspec.test_runs import BOOK, CUSTOMER
from tests.specs.rspec.test_two_runs import BusyShop, busy, succeeded
from tests.specs.rspec.test_waves_of_a_class import runs_of

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

__all__ = ["busy"]  # the fixture
SOURCE = "app/models/book.rb"


@pytest.fixture
def working(busy: BusyShop) -> BusyShop:
    """A shop in which test-implementer works on a class, and does not end before it is released."""
    busy.shop.stock("models/book")
    busy.open()
    busy.held_up("test-implementer book")
    busy.begin("cover", SOURCE, "--yes")
    busy.begins("test-implementer book")
    return busy


@pytest.mark.proves("S2-SEQ-02")
@pytest.mark.parametrize("stage", ["test-implementer", "test-reviewer", "code-analyzer"])
def test_a_second_start_on_the_document_is_refused_with_the_active_stage(working: BusyShop, stage: str) -> None:
    with pytest.raises(MootError, match=r"its stage test-implementer is running since") as error:
        working.shop.rspec("stage", slug=BOOK, name=stage)
    assert (error.value.code, error.value.details["stage"]) == ("target_busy", "test-implementer")
    said_there = working.shop.moot("rspec", "stage", BOOK, stage, code=1)
    assert "its stage test-implementer is running since" in said_there, "in another process, too"
    assert len(runs_of(working.shop, BOOK)) == 1
    (attempt,) = runs_of(working.shop, BOOK)[0].tries_of("test-implementer")
    assert attempt.status == "running", "the refused start has changed nothing"


@pytest.mark.proves("S2-SEQ-02")
def test_a_marker_in_the_file_does_not_let_a_stage_start_before_its_predecessor_has_passed(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open("silent")
    with pytest.raises(Refused):
        shop.cover()
    path = shop.root / f"tmp/rspec_metadata/{CUSTOMER}.yml"
    text = path.read_text()
    assert "test_implementer_completed: false" in text
    path.write_text(text.replace("test_implementer_completed: false", "test_implementer_completed: true"))
    with pytest.raises(Refused, match="test-implementer"):
        shop.rspec("stage", slug=CUSTOMER, name="test-reviewer")
    assert "test_implementer_completed" in shop.rspec("cache", source="app/models/customer.rb").missing


def lines_until(process: subprocess.Popen[str], text: str) -> str:
    """What a process writes up to a line with this text."""
    seen = ""
    assert process.stdout is not None
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(seen)


@pytest.mark.proves("S2-SEQ-02")
def test_a_second_cover_says_at_once_for_whom_it_waits_and_then_goes_on(working: BusyShop) -> None:
    first = runs_of(working.shop, BOOK)[0]
    second = working.begin("cover", SOURCE, "--yes")
    seen = lines_until(second, "waits for")
    line = seen.splitlines()[-1]
    since = first.tries[-1].at
    assert f"waits for {first.id} (Book ({SOURCE}): test-implementer since {since}, process {first.pid})" in line
    assert f"`moot run status {first.id}`" in line
    assert "test-implementer" in working.shop.moot("run", "status", first.id)
    working.release("test-implementer book")
    first_said, rest = (succeeded(process) for process in working.begun)
    assert "test-reviewer" in first_said, "the other run went on to another stage meanwhile"
    assert "waits for" not in rest, "that is said once"
    assert working.stamps().count("begin test-implementer book") == 1, "the second one reuses what the first one did"
