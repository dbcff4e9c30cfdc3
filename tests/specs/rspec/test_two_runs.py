"""Runs of real processes that somebody disturbs: other runs, a killed process, a person who edits meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.packs.rspec.cover import WARNED
from tests.specs.rspec.test_runs import BOOK, SHELF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.core.run import Run
    from tests.specs.rspec.shop import Shop

PATIENCE = 60.0  # seconds
AGENT = Path(__file__).with_name("patient_agent.py")
SUCCESS = (0, WARNED)  # the reviewer has advice on what the scripted agents write
MINE = "# a person wrote this\n"


class BusyShop:
    """The bookshop with agents that can be made to wait, and `moot` in processes of its own."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.hold = shop.root.parent / "hold"
        self.hold.mkdir()
        self.begun: list[subprocess.Popen[str]] = []
        shutil.copy(AGENT, shop.root / "patient_agent.py")

    def open(self) -> None:
        self.shop.open()
        path = self.shop.root / "moot.toml"
        path.write_text(path.read_text().replace("'agent.py'", "'patient_agent.py'"))
        self.shop.allow()

    def begin(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "moot", "rspec", *words]
        process = subprocess.Popen(
            command, cwd=self.shop.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.begun.append(process)
        return process

    def held_up(self, agent: str, before: str = "nothing") -> None:
        """Let the next agent with this name and source wait."""
        (self.hold / agent).write_text(before)

    def release(self, agent: str) -> None:
        for path in self.hold.glob(f"{agent} *"):
            path.unlink()

    def stamps(self) -> list[str]:
        """What began and what ended, in order: `begin AGENT SOURCE`."""
        return [line.rpartition(" ")[0] for line in self._lines()]

    def process_of(self, stamp: str) -> int:
        return next(int(line.rpartition(" ")[2]) for line in self._lines() if line.startswith(f"{stamp} "))

    def _lines(self) -> list[str]:
        path = self.hold.with_name("stamps.log")
        return path.read_text().splitlines() if path.exists() else []

    def begins(self, agent: str) -> None:
        """Wait until an agent has begun."""
        self.until(lambda: f"begin {agent}" in self.stamps())

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            failed = [process for process in self.begun if process.poll() not in (None, *SUCCESS)]
            assert not failed, [said(process) for process in failed]
            assert time.monotonic() < end, "it took too long"
            time.sleep(0.02)

    def permits(self, what: str) -> list[str]:
        """The sources whose runs asked for a seat, or were granted one."""
        with Workspace(str(self.shop.root)) as workspace:
            events = [one for one in workspace.log(limit=5000) if one.stream == "permit/stages"]
            sources = {run.id: Path(run.paths["source"][0]).stem for run in workspace.runs() if run.target}
        return [sources[one.data["run"]] for one in events if one.type == f"permit:{what}"]

    def run_of(self, slug: str) -> Run:
        with Workspace(str(self.shop.root)) as workspace:
            return next(run for run in workspace.runs() if run.target == slug)


@pytest.fixture
def busy(shop: Shop) -> Iterator[BusyShop]:
    busy = BusyShop(shop)
    yield busy
    shutil.rmtree(busy.hold)  # lets every agent go on
    for process in busy.begun:
        process.kill()
        said(process)


def said(process: subprocess.Popen[str]) -> str:
    """All that a process wrote, after its end."""
    return process.communicate(timeout=PATIENCE)[0]


def succeeded(process: subprocess.Popen[str]) -> str:
    text = said(process)
    assert process.returncode in SUCCESS, text
    return text


@pytest.mark.proves("S2-MECH-02", "S2-HARD-16")
def test_processes_that_share_a_factory_file_take_turns_in_the_order_of_asking(busy: BusyShop) -> None:
    names = ["shelf0", "shelf1", "shelf2"]
    busy.shop.stock("models/book")
    for number, name in enumerate(names):
        busy.shop.write(f"app/services/{name}.rb", SHELF.format(number))
    busy.open()
    busy.held_up("factory-agent shelf0")
    processes = []
    for number, name in enumerate(names, 1):
        processes.append(busy.begin("cover", f"app/services/{name}.rb", "--yes", "--limit", "4"))
        busy.until(lambda number=number: len(busy.permits("asked")) == number)  # type: ignore[misc]
    busy.begins("factory-agent shelf0")
    assert busy.permits("granted") == ["shelf0"]
    busy.release("factory-agent shelf0")
    for process in processes:
        succeeded(process)
    shared = [line for line in busy.stamps() if "shelf" in line]
    turns = [(agent, name) for name in names for agent in ("factory-agent", "test-implementer")]
    assert shared == [f"{what} {agent} {name}" for agent, name in turns for what in ("begin", "end")]
    assert busy.permits("granted") == names
    factory = busy.shop.file("spec/factories/books.rb")
    assert factory.count("factory :book") == 1
    assert [name for name in names if f"trait :{name} do" in factory] == names
    assert busy.shop.moot("verify")


@pytest.mark.proves("S2-MECH-04", "S2-HARD-10")
def test_after_kill_9_inside_test_implementer_resume_repeats_no_stage_that_passed(busy: BusyShop) -> None:
    busy.shop.stock("models/book", "models/customer", "services/restocking")
    busy.open()
    busy.held_up("test-implementer customer", "half")
    process = busy.begin("cover", "--branch", "--yes")
    busy.begins("test-implementer customer")
    process.kill()
    said(process)
    busy.begun.remove(process)
    orphan = busy.process_of("begin test-implementer customer")
    status = busy.shop.moot("run", "status")
    assert "interrupted at test-implementer" in status
    assert "running" not in status
    killed = busy.run_of("app_models_customer")
    resumed = busy.begin("resume")
    succeeded(resumed)
    assert [line for line in busy.stamps() if line.startswith("begin")] == [
        "begin factory-agent book",
        "begin test-implementer book",
        "begin factory-agent customer",
        "begin test-implementer customer",
        "begin test-implementer customer",
        "begin factory-agent restocking",
        "begin test-implementer restocking",
    ]
    assert busy.stamps().count("end test-implementer customer") == 1, "the agent of the killed process was ended"
    busy.until(lambda: not _runs(orphan))
    run = busy.run_of("app_models_customer")
    assert (run.id, run.parent, run.outcome) == (killed.id, killed.parent, "passed")
    assert [one.status for one in run.tries_of("test-implementer")] == ["interrupted", "passed"]
    status = busy.shop.moot("run", "status")
    assert "interrupted" not in status
    assert "wave 1" in status


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.proves("S2-ART-02")
def test_what_a_person_adds_to_the_spec_while_the_agent_works_fails_the_stage_and_stays(busy: BusyShop) -> None:
    busy.shop.stock("models/book")
    busy.open()
    busy.held_up("test-implementer book", "all")
    process = busy.begin("cover", "app/models/book.rb", "--yes")
    busy.begins("test-implementer book")
    spec = busy.shop.root / "spec/models/book_spec.rb"
    with spec.open("a") as file:
        file.write(MINE)
    busy.release("test-implementer book")
    text = said(process)
    assert process.returncode == 1, text
    line = len(spec.read_text().splitlines())
    assert f"book_spec.rb:{line}: changed; only the blocks of #sell may change" in text
    assert spec.read_text().endswith(f"end\n{MINE}"), "nothing is reverted"


@pytest.mark.proves("S2-ART-02")
def test_a_source_that_is_edited_meanwhile_fails_the_stage_and_keeps_the_edit(busy: BusyShop) -> None:
    busy.shop.stock("models/book")
    busy.open()
    busy.held_up("test-implementer book")
    process = busy.begin("cover", "app/models/book.rb", "--yes")
    busy.begins("test-implementer book")
    source = busy.shop.root / "app/models/book.rb"
    edited = source.read_text() + MINE
    source.write_text(edited)
    busy.release("test-implementer book")
    text = said(process)
    assert process.returncode == 1, text
    assert "test-implementer failed" in text
    assert "app/models/book.rb: changed while the stage ran" in text
    assert source.read_text() == edited
    assert not busy.shop.document(BOOK)["automation"]["test_implementer_completed"]
    resumed = busy.begin("resume")
    succeeded(resumed)
    assert source.read_text() == edited
