"""`kill -9` at every boundary of a stage and inside: the next command shows it, the run goes on, no lock is left."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from moot.core.errors import Held
from tests.runs.pipelines.conftest import GOOD, PATIENCE, is_running, until

ALL = ["outline", "draft_report", "polish", "check"]
POINTS = {  # the point, and the stage that was running; None: no stage had been started
    "in outline": "outline",
    "before draft": None,
    "in prompt": "draft_report",
    "after draft": "draft_report",
    "in polish": "polish",
    "after polish": "polish",
    "in check": "check",
}


@pytest.mark.promise(13)
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_is_shown_as_interrupted_and_goes_on_at_the_right_stage(notes, point):
    killed = notes.elsewhere(fault=point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    stage = POINTS[point]
    states = notes.states()
    assert "running" not in states.values()
    if stage is not None:
        assert states[stage] == "interrupted"
    before = [one for one in ALL if states[one] == "completed"]
    assert before == ALL[: ALL.index(stage or "draft_report")]
    found = notes.run(resume=True)
    assert found == [*(f"{one} reused" for one in before), *(f"{one} passed" for one in ALL[len(before) :]), "ended"]
    run = notes.person.runs()[0]
    assert run.ending == "finished"
    for name in ALL:
        assert [one.status for one in run.tries_of(name)].count("passed") == 1
    assert all(notes.note()["done"].values())
    assert notes.drivers() == []
    assert (notes.root / "reports/a.md").read_text() == "- One\n- Two\n"


def test_a_second_start_is_refused_with_the_active_stage_or_waits_if_asked(notes):
    notes.agent("open('UP', 'w')\nwhile not os.path.exists('GO'): time.sleep(0.02)\n" + GOOD)
    notes.source(".gitignore", "RAN\nFAULT\nUP\nGO\nnotes/\n")
    notes.source("b.txt", "# B\n")
    command = [sys.executable, "-m", "moot", "--person", "run", "notes", "a.txt"]
    first = subprocess.Popen(command, cwd=notes.root, stdout=subprocess.DEVNULL)
    try:
        until((notes.root / "UP").exists)
        before = len(notes.person.log(limit=1000))
        with pytest.raises(Held, match="its stage draft_report is running since") as caught:
            notes.run()
        assert caught.value.details["stage"] == "draft_report"
        assert len(notes.person.log(limit=1000)) == before
        second = subprocess.Popen([*command, "--wait"], cwd=notes.root, stdout=subprocess.PIPE, text=True)
        third = subprocess.Popen([*command[:-1], "b.txt"], cwd=notes.root, stdout=subprocess.PIPE, text=True)
        until(lambda: any(run.title == "b.txt" for run in notes.person.runs()))
        assert notes.person.run_status("b.txt").state == "waiting"
        (notes.root / "GO").touch()
        assert first.wait(PATIENCE) == 0
        assert second.communicate(timeout=PATIENCE)[0].count("reused") == 4
        third.communicate(timeout=PATIENCE)
        assert third.returncode == 0
    finally:
        first.kill()
        first.wait(PATIENCE)
    events = [e for e in notes.person.log(limit=1000) if e.stream == "permit/stages"]
    asked = [e.data["run"] for e in events if e.type == "permit:asked"]
    granted = [e.data["run"] for e in events if e.type == "permit:granted"]
    assert asked[:2] == granted[:2]


DRIVING = """
import sys
from moot import Workspace
from moot.api.verbs.runs.run import pipeline_of
from moot.api.verbs.runs.site import site_of
from moot.runs.steps import RunOptions

person = Workspace(".", person=True)
with person._workspace.call(person._caller) as call:
    pipeline = pipeline_of(call, next(one for one in call.packs.packs if one.name == "notes"))
    site = site_of(call)
    for step in pipeline.steps(site, pipeline.targets(site, tuple(sys.argv[1:])), RunOptions(limit=2)):
        pass
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("paths", [["a.txt"], ["a.txt", "b.txt"]])
def test_a_signal_to_a_pack_that_drives_runs_itself_ends_the_commands_of_all_of_them(notes, number, paths):
    notes.source("b.txt", "# B\n")
    notes.agent("open(f'{source}.up', 'w').write(str(os.getpid()) + '.')\ntime.sleep(60)")
    notes.source(".gitignore", "RAN\nFAULT\n*.up\nnotes/\n")
    command = [sys.executable, "-c", DRIVING, *paths]
    process = subprocess.Popen(command, cwd=notes.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    up = [notes.root / f"{path}.up" for path in paths]
    try:
        until(lambda: all(path.exists() and path.read_text().endswith(".") for path in up))
        process.send_signal(number)
        assert process.wait(PATIENCE) == -signal.SIGINT  # how Python ends after an interrupt
    finally:
        process.kill()
        process.wait(PATIENCE)
    assert not any(is_running(int(path.read_text()[:-1])) for path in up)
    assert {run.outcome for run in notes.person.runs()} == {"interrupted"}
    assert notes.drivers() == []
