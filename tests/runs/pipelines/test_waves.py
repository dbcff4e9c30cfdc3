"""Many targets as one run: wave after wave, several at once up to a limit, in the order of arrival."""

from __future__ import annotations

import pytest

from moot.core.errors import Refused, Usage
from tests.runs.pipelines.conftest import GOOD

PATHS = [f"t{number:02}.txt" for number in range(20)]
MEASURING = """
import fcntl, pathlib
def count(by):
    with open("COUNT", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        now, most = map(int, (file.read() or "0 0").split())
        file.truncate(0)
        file.write(f"{now + by} {max(most, now + by)}")
count(1)
"""


def test_twenty_targets_keep_a_limit_of_four(notes):
    notes.source(".gitignore", "RAN\nFAULT\nCOUNT\nnotes/\n")
    for path in PATHS:
        notes.source(path, f"# {path}\n")
    notes.agent(MEASURING + GOOD + "count(-1)")
    notes.run(*PATHS, parallel=4)
    assert notes.steps[-1].counts == {"passed": 20}, [step for step in notes.steps if step.what == "failed"]
    assert notes.steps[-1].text == "finished"
    now, most = map(int, (notes.root / "COUNT").read_text().split())
    assert now == 0
    assert 1 <= most <= 4
    events = [e for e in notes.person.log(limit=5000) if e.stream == "permit/stages"]
    asked = [e.data["run"] for e in events if e.type == "permit:asked"]
    assert asked == [e.data["run"] for e in events if e.type == "permit:granted"]
    opened = [e.data["title"] for e in notes.person.log(limit=5000) if e.type == "run:opened" and e.data.get("target")]
    assert sorted(opened) == PATHS
    assert {step.title for step in notes.steps if step.what == "started"} == set(PATHS)
    for path in PATHS:
        assert notes.note(path.removesuffix(".txt"))["outline"] == [path]


def test_a_wave_starts_when_the_one_before_has_finished_and_a_failure_stops_later_ones(notes):
    for path in ("wave0/a.txt", "wave0/b.txt", "wave1/c.txt"):
        notes.source(path, f"# {path}\n")
    notes.run("wave1/c.txt", "wave0/a.txt", "wave0/b.txt")
    ended = [step.title for step in notes.steps if step.what == "ended"]
    assert ended == ["wave0/a.txt", "wave0/b.txt", "wave1/c.txt", ""]
    notes.source("wave0/a.txt", "broken")
    notes.run("wave1/c.txt", "wave0/a.txt", "wave0/b.txt")
    status = notes.person.run_status()
    assert status.state == "failed at wave 0"
    assert [[one.state for one in wave] for wave in status.waves] == [["failed at outline", "finished"], ["pending"]]


def test_going_on_after_a_failure_runs_the_others_and_still_fails(notes):
    notes.source("b.txt", "# B\n")
    notes.source("a.txt", "broken")
    notes.run("a.txt", "b.txt", keep_going=True)
    assert notes.steps[-1].counts == {"failed": 1, "passed": 1}
    assert notes.error is not None


def test_the_status_of_a_run_with_waves_is_a_tree_and_in_the_overview(notes):
    notes.source("b.txt", "# B\n")
    notes.run("a.txt", "b.txt")
    [wave] = notes.person.run_status().waves
    assert [(one.title, [stage.state for stage in one.stages]) for one in wave] == [
        ("a.txt", ["completed"] * 4),
        ("b.txt", ["completed"] * 4),
    ]
    assert [view.title for view in notes.person.watch().packs] == ["Runs"]


def test_two_targets_with_one_report_do_not_write_it_at_the_same_time(notes):
    notes.source("x/a.txt", "# One\n")  # its report is that of a.txt
    notes.run("a.txt", "x/a.txt", parallel=4)
    events = [e.type for e in notes.person.log(limit=5000) if e.stream == "permit/stages"]
    assert events.count("permit:granted") == 2
    first = events.index("permit:returned")
    assert events[:first].count("permit:granted") == 1


def test_a_pack_without_tasks_and_a_missing_file_are_refused_with_a_remedy(notes):
    with pytest.raises(Usage, match="not tasks"):
        notes.run(task=["task-1"])
    with pytest.raises(Usage, match="no file"):
        notes.run("missing.txt")
    with pytest.raises(Usage, match="not in the worktree"):
        notes.run("/etc/passwd")


def test_following_a_run_that_has_ended_shows_it_once(notes):
    notes.run()
    [shown] = notes.person.run_follow()
    assert (shown.state, [stage.state for stage in shown.stages]) == ("finished", ["completed"] * 4)


def test_the_last_run_is_explained_and_restored_by_the_parts_of_a_run_with_waves(notes):
    notes.source("b.txt", "# B\n")
    notes.run("a.txt")
    notes.run("a.txt", "b.txt", again=True)
    [reason] = notes.person.run_explain("last", stage="draft_report")
    assert reason.run in {step.run for step in notes.steps if step.title == "b.txt"}
    assert notes.person.run_restore(reason.run, stage="draft_report", dry_run=True).stage == "draft_report"
    with pytest.raises(Refused, match="several runs with files to restore") as caught:
        notes.person.run_restore("last")
    assert sorted(caught.value.details["runs"]) == sorted({s.run for s in notes.steps if s.title})
