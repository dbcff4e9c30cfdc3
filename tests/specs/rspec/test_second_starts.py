"""One stage at a time works on a document: a second start is refused or waits, and says for whom."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import MootError, Refused
from moot.packs.rspec.agents import AGENTS
from tests.specs.rspec.test_runs import BOOK, CUSTOMER
from tests.specs.rspec.test_two_runs import PATIENCE, SUCCESS, BusyShop, busy, said, succeeded
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


@pytest.mark.proves("S2-SEQ-02", "S2-MARK-02")
def test_a_stage_starts_only_after_the_end_of_its_predecessor_is_in_the_log(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open()
    shop.cover()
    with Workspace(str(shop.root)) as workspace:
        (run,) = (one.id for one in workspace.runs() if one.target == CUSTOMER)
        events = [one for one in workspace.log(limit=5000) if one.stream == f"run/{run}"]
    ends = ("run:passed", "run:skipped")
    order = [(one.type in ends, one.data["stage"]) for one in events if one.type in ("run:started", *ends)]
    assert order == [(ended, stage) for stage in AGENTS for ended in (False, True)], (
        "none starts while another one works"
    )


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


@pytest.mark.proves("S2-SEQ-02")
def test_the_result_as_json_has_the_runs_that_it_waited_for(working: BusyShop) -> None:
    first = runs_of(working.shop, BOOK)[0]
    command = [sys.executable, "-m", "moot", "--json", "rspec", "cover", SOURCE, "--yes"]
    with subprocess.Popen(
        command, cwd=working.shop.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as second:
        assert second.stderr is not None
        line = next(line for line in second.stderr if "waits for" in line)
        assert first.id in line
        working.release("test-implementer book")
        out, _ = second.communicate(timeout=PATIENCE)
    assert second.returncode in SUCCESS
    waited = json.loads(out)["result"]["waited"]
    assert (waited[0]["target"], waited[0]["run"], waited[0]["stage"]) == (BOOK, first.id, "test-implementer")
    assert (waited[0]["pid"], waited[0]["since"]) == (first.pid, first.tries[-1].at)


def test_an_interrupt_ends_the_wait_and_leaves_nothing_behind(working: BusyShop) -> None:
    second = working.begin("cover", SOURCE, "--yes")
    lines_until(second, "waits for")
    os.kill(second.pid, signal.SIGINT)
    text = said(second)
    assert second.returncode == 130, text
    assert "Traceback" not in text
    working.begun.remove(second)
    assert len(runs_of(working.shop, BOOK)) == 1
    working.release("test-implementer book")
    succeeded(working.begun[0])
    with Workspace(str(working.shop.root)) as workspace:
        assert not [run for run in workspace.runs() if run.open]
        ended = sorted((one for one in workspace.runs() if one.waves), key=lambda one: one.at)
        assert [one.outcome for one in ended] == ["passed", "interrupted"]
