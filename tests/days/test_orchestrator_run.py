"""Two days with `moot run orchestrator`: six tasks, of which one is rejected, and Ctrl-C in the middle of another."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

from tests.runs.conftest import folder, theatre
from tests.runs.theatre import GOOD, Theatre, steps_of
from tests.specs.orchestrator.project import PATIENCE, STATUS, Spoken

__all__ = ["folder", "theatre"]

SIX = [f"task-{number:03}" for number in range(1, 7)]
REJECTED, LATE = "task-002", "task-004"

LEAD = f"""
if part == "verdict" and task == "{REJECTED}" and attempt == "1":
    block(REJECT)
else:
    {GOOD}
"""
DEVELOPER = f"""
if task == "{LATE}" and nth("evening") == 1:
    with open("half", "w") as file:
        file.write("half of the work")
    time.sleep(600)
with open(f"{{task}}.built", "a") as file:
    file.write(f"attempt {{attempt}}" + (", after: Not good enough." if "> Not good enough." in brief else "") + "\\n")
{GOOD}
"""


def interrupted(theatre: Theatre) -> Spoken:
    """Start it, and press Ctrl-C in the middle of a task."""
    driver = theatre.start("run", "orchestrator")
    theatre.has("half")
    driver.send_signal(signal.SIGINT)
    out, errors = driver.communicate(timeout=PATIENCE)
    return Spoken(subprocess.CompletedProcess((), driver.returncode, out, errors))


def test_six_tasks_are_completed_over_two_days_and_nothing_is_done_twice(theatre: Theatre) -> None:
    theatre.play(*(f"Feature {number}" for number in range(1, 7)), lead=LEAD, developer=DEVELOPER)
    evening = interrupted(theatre)
    assert evening.code == 130
    last = steps_of(evening)[-1]
    assert last["what"] == "interrupted"
    states = ["completed", "completed", "completed", "in_progress", "pending", "pending"]
    assert [theatre.state(task) for task in SIX] == states
    assert json.loads(theatre.text(STATUS))["orchestrator"]["running"] is False
    (concern,) = (item for item in theatre.ask("needs-me") if item["kind"] == "concern")
    assert LATE in concern["text"]

    # The computer is off over night, so nobody has been seen since it started. The message says how to go on.
    (presence,) = (Path(theatre.root) / ".git").rglob("presence")
    shutil.rmtree(presence)
    (again,) = re.findall(r"moot (.+)$", last["text"])
    morning = theatre.cli(*shlex.split(again))
    assert morning.code == 0, morning.out + morning.err
    steps = steps_of(morning)
    assert [step["task"] for step in steps if step["what"] == "opened"] == SIX[4:], "one goes on with its run"
    assert (steps[0]["task"], steps[0]["stage"], steps[0]["attempt"]) == (LATE, "developer", 2)
    assert (steps[-1]["what"], steps[-1]["counts"]) == ("summary", {"completed": 3})

    assert [theatre.state(task) for task in SIX] == ["completed"] * 6
    built = {task: theatre.text(f"{task}.built").splitlines() for task in SIX}
    twice = ["attempt 1", "attempt 2, after: Not good enough."]
    assert built == {task: twice if task == REJECTED else ["attempt 1"] for task in SIX}
    for kind in ("task_assignment", "completion_report"):
        sent = Counter(event.data["task"] for event in theatre.events("message:sent") if event.data["kind"] == kind)
        assert sent == dict.fromkeys(SIX, 1) | {REJECTED: 2}, kind
    assert [event.stream for event in theatre.events("task:approved")] == [f"task/{task}" for task in SIX]
    assert len(theatre.events("task:rejected")) == 1

    report = theatre.cli("runs").result
    drivers = [(one["outcome"], one["counts"]) for one in report if one["task"] is None]
    assert drivers == [("passed", {"completed": 3}), ("stopped", {"completed": 3, "retried": 1})]
    outcomes = [(one["task"], one["attempt"], one["outcome"]) for one in reversed(report) if one["task"]]
    once = [(task, 1, "failed" if task == REJECTED else "passed") for task in SIX]
    assert outcomes == sorted([*once, (REJECTED, 2, "passed")])
    (late,) = (run for run in theatre.runs() if run.task == LATE)
    assert [one.status for one in late.tries_of("developer")] == ["interrupted", "passed"]
    assert theatre.ask("needs-me") == []
    assert theatre.held() == []
    assert theatre.drive()[-1]["text"] == "No task is pending."
