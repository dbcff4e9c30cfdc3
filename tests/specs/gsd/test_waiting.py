"""An orchestrator waits for a phase, a plan for what it needs. Each wait ends, and says how."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from moot.core.errors import Usage
from tests.specs.gsd.board import AGENT, EVENTS, Board, until
from tests.surfaces.command import PATIENCE


def blocked(board: Board, *words: str) -> Any:
    """`moot gsd wait` in a process of its own."""
    return board.moot.popen("gsd", "wait", *words)


def ended(waiting: Any) -> tuple[int, dict[str, Any]]:
    out, err = waiting.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    return waiting.returncode, json.loads(out)["result"]


def later(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


@pytest.fixture
def no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked for between events: who is not woken by one waits until the patience of the suite ends."""
    monkeypatch.setattr("moot.api.verbs.events._ROUND", 10 * PATIENCE)


# The number of tasks


@pytest.mark.proves("S4-SUB-01")
@pytest.mark.timeout(PATIENCE)
@pytest.mark.usefixtures("no_polling")
def test_a_wait_is_woken_by_the_deciding_event(board: Board) -> None:
    for task in (1, 2):
        board.start("01-01", task)
    board.complete("01-01", 1)
    found: list[Any] = []
    waiting = later(lambda: found.append(board.gsd.wait(phase="01", tasks=2, timeout=PATIENCE)))
    assert board("gsd", "emit", "task:completed", f"agent={AGENT}", "plan=01-01", "task=2", "commit=abc1234").code == 0
    waiting.join(PATIENCE)
    assert [outcome.outcome for outcome in found] == ["completed"]


@pytest.mark.proves("S4-SUB-01")
def test_a_wait_ends_at_once_if_the_number_was_reached_before(board: Board) -> None:
    for task in (1, 2, 3):
        board.complete("01-02", task)
    ran = board("gsd", "wait", "--phase", "01", "--tasks", "2", "--timeout", "0")
    assert ran.code == 0
    assert ran.out.startswith("phase 01 completed: 3 of 2 tasks\n")


@pytest.mark.proves("S4-SUB-02")
@pytest.mark.parametrize("spelling", ["1", "01", "001"])
def test_a_phase_is_compared_as_a_number(board: Board, spelling: str) -> None:
    for plan in ("010-01", "01.1-01", "10-01", "11-01"):
        board.complete(plan, 1)
    assert board.gsd.wait(phase=spelling, tasks=1, timeout=0).outcome == "timeout"
    board.complete("1-2", 1)
    board.complete("01-02", 2)
    outcome = board.gsd.wait(phase=spelling, tasks=2, timeout=0)
    assert (outcome.outcome, outcome.phase) == ("completed", "01")
    assert [(task.plan, task.task) for task in outcome.completed] == [("1-2", 1), ("01-02", 2)]
    assert board.gsd.wait(phase="1.1", tasks=1, timeout=0).outcome == "completed"


@pytest.mark.proves("S4-SUB-03")
def test_a_task_counts_once_however_often_it_was_completed(board: Board) -> None:
    board.complete("01-01", 1)
    board.complete("01-01", 1)  # repeated
    board.start("01-01", 1)
    board.complete("01-01", 1)  # done again
    board.complete("1-1", 1)  # the same plan
    outcome = board.gsd.wait(phase="01", tasks=2, timeout=0)
    assert (outcome.outcome, outcome.reached, outcome.counted) == ("timeout", 1, "tasks")


@pytest.mark.proves("S4-SUB-03")
def test_plans_can_be_counted_instead(board: Board) -> None:
    board.plan_file("01-01", "wave: 1", tasks=("One", "Two"))
    board.plan_file("01-02", "wave: 1", tasks=("One",))
    board.complete("01-01", 1)
    board.complete("01-02", 1)
    first = board.gsd.wait(phase="01", plans=2, timeout=0)
    assert (first.outcome, first.reached, first.done, first.counted) == ("timeout", 1, ("01-02",), "plans")
    board.complete("01-01", 2)
    second = board.gsd.wait(phase="01", plans=2, timeout=0)
    assert (second.outcome, second.done) == ("completed", ("01-01", "01-02"))


@pytest.mark.proves("S4-SUB-04")
def test_the_results_come_in_order_of_completion(board: Board) -> None:
    board.start("01-02", 1, "Second")
    board.start("01-01", 1, "First")
    board.emit(
        {
            "type": "task:completed",
            "agent": "gsd-tester",
            "plan": "01-01",
            "task": 1,
            "taskName": "First",
            "commit": "1111111",
            "duration": "15min",
            "timestamp": "2024-01-15T10:45:00Z",
        }
    )
    board.complete("01-02", 1, commit="2222222")
    code, found = ended(blocked(board, "--phase", "01", "--tasks", "2", "--json"))
    assert code == 0
    first, second = found["completed"]
    wanted = ("plan", "task", "name", "agent", "commit", "duration", "ended")
    assert [first[key] for key in wanted] == [
        "01-01",
        1,
        "First",
        "gsd-tester",
        "1111111",
        "15min",
        "2024-01-15T10:45:00Z",
    ]
    assert [second[key] for key in ("plan", "task", "name", "agent", "commit")] == [
        "01-02",
        1,
        "Second",
        AGENT,
        "2222222",
    ]
    assert second["duration"]
    assert second["ended"]
    lines = board("gsd", "wait", "--phase", "01", "--tasks", "2").out.splitlines()
    said = [line for line in lines if not line.startswith("    !")]
    assert said[1].startswith("  01-01 task 1 completed First: 1111111 15min gsd-tester")
    assert said[2].startswith("  01-02 task 1 completed Second: 2222222 ")


# Failures


@pytest.mark.proves("S4-SUB-05")
def test_failures_end_the_wait_when_together_with_completions_they_reach_the_number(board: Board) -> None:
    board.complete("01-01", 1)
    board.start("01-01", 2)
    board.fail("01-01", 2, "Tests fail", agent="gsd-tester")
    board.start("01-02", 1)
    assert board.gsd.wait(phase="01", tasks=3, timeout=0).outcome == "timeout"  # one is still running
    board.fail("01-02", 1)
    ran = board("gsd", "wait", "--phase", "01", "--tasks", "3", "--json")
    assert ran.code == 6
    found = json.loads(ran.out)["result"]
    assert found["outcome"] == "failed"
    keys = ("plan", "task", "agent", "error")
    assert [tuple(task[key] for key in keys) for task in found["failed"]] == [
        ("01-01", 2, "gsd-tester", "Tests fail"),
        ("01-02", 1, AGENT, "It broke."),
    ]
    assert [task["task"] for task in found["completed"]] == [1]
    said = board("gsd", "wait", "--phase", "01", "--tasks", "3").out
    assert "phase 01 ended with failures: 1 of 3 tasks" in said
    assert "01-01 task 2 failed Task 2 (gsd-tester): Tests fail" in said


@pytest.mark.proves("S4-SUB-05")
def test_the_latest_run_of_a_task_counts(board: Board) -> None:
    board.fail("01-01", 1)
    board.start("01-01", 1)
    assert board.gsd.wait(phase="01", tasks=1, timeout=0).outcome == "timeout"  # it runs again
    board.complete("01-01", 1)
    outcome = board.gsd.wait(phase="01", tasks=1, timeout=0)
    assert (outcome.outcome, outcome.failed) == ("completed", ())


@pytest.mark.proves("S4-SUB-05")
def test_a_wait_can_end_at_the_first_failure(board: Board) -> None:
    board.start("01-01", 1)
    waiting = blocked(board, "--phase", "01", "--tasks", "5", "--first-failure", "--json")
    board.fail("01-01", 1)
    code, found = ended(waiting)
    assert (code, found["outcome"], found["reached"]) == (6, "failed", 0)


@pytest.mark.proves("S4-SUB-05")
def test_a_failed_plan_is_part_of_the_outcome(board: Board) -> None:
    board.plan_file("01-01", tasks=("One", "Two"))
    board.plan_file("01-02", tasks=("One",))
    board.fail("01-01", 1)
    board.complete("01-02", 1)
    outcome = board.gsd.wait(phase="01", plans=2, timeout=0)
    assert (outcome.outcome, outcome.reached, outcome.done) == ("failed", 1, ("01-02",))


@pytest.mark.proves("S4-SUB-05", "S4-HRD-10")
def test_the_three_outcomes_differ_in_exit_code_and_field(board: Board) -> None:
    board.complete("01-01", 1)
    board.fail("02-01", 1)
    cases = {"01": (0, "completed"), "02": (6, "failed"), "03": (5, "timeout")}
    for phase, wanted in cases.items():
        ran = board("gsd", "wait", "--phase", phase, "--tasks", "1", "--timeout", "0", "--json")
        assert (ran.code, json.loads(ran.out)["result"]["outcome"]) == wanted


# The count as a query


@pytest.mark.proves("S4-SUB-06")
def test_the_number_of_completed_tasks_is_one_query_and_the_corrected_filter_gives_the_same(board: Board) -> None:
    for task in (1, 2, 3):
        board.complete("01-02", task)
    board.complete("010-02", 1)
    board.fail("01-02", 4)
    assert json.loads(board("gsd", "phase", "01", "--json").out)["result"]["completed"] == 3
    assert board.gsd.phase("01").completed == 3
    guide = board("brief", "orchestrator").out
    (step,) = [part for part in guide.split("```bash\n") if part.startswith("jq ")]
    script = step.partition("```")[0]
    assert "and (.plan | startswith(" in script
    assert EVENTS in script
    counted = board.shell(script, PHASE="01")
    assert (counted.returncode, counted.stdout.strip()) == (0, "3")


# Limits


@pytest.mark.proves("S4-HRD-10")
def test_the_limit_of_a_wait_is_thirty_minutes_unless_set(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def at_once(call: Any, timeout: float) -> float:
        seen.append(timeout)
        found: float = call.clock.monotonic()
        return found

    monkeypatch.setattr("moot.packs.gsd.verbs.wait.deadline_of", at_once)
    assert board.gsd.wait(phase="01", tasks=1).outcome == "timeout"
    assert board.gsd.wait(plan="01-01").outcome == "completed"
    board.gsd.wait(phase="01", tasks=1, timeout="2h")
    board.configure("wait_limit = 60\n")
    assert board.gsd.wait(phase="01", tasks=1).outcome == "timeout"
    assert seen == [1800.0, 1800.0, 7200.0, 60.0]


@pytest.mark.proves("S4-HRD-10")
def test_at_the_limit_a_wait_tells_what_there_is_so_far(board: Board) -> None:
    board.complete("01-01", 1)
    board.start("01-01", 2, "Slow one")
    ran = board("gsd", "wait", "--phase", "01", "--tasks", "2", "--timeout", "0", "--json")
    found = json.loads(ran.out)["result"]
    assert (ran.code, found["outcome"], found["reached"], found["expected"]) == (5, "timeout", 1, 2)
    (running,) = found["running"]
    assert (running["name"], running["state"]) == ("Slow one", "running")
    assert 0 <= running["silent_for"] < PATIENCE
    said = board("gsd", "wait", "--phase", "01", "--tasks", "2", "--timeout", "0").out
    assert "phase 01 timed out: 1 of 2 tasks" in said
    assert "01-01 task 2 running Slow one (gsd-executor, last sign of life " in said


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"phase": "01"},
        {"tasks": 1},
        {"phase": "01", "tasks": 1, "plans": 1},
        {"phase": "01", "tasks": 0},
        {"phase": "one", "tasks": 1},
        {"plan": "one"},
        {"plan": "01-01", "tasks": 1},
        {"phase": "01", "tasks": 1, "checkpoint": True},
    ],
)
def test_a_wait_for_nothing_in_particular_is_refused(board: Board, wrong: dict[str, Any]) -> None:
    with pytest.raises(Usage) as caught:
        board.gsd.wait(**wrong, timeout=0)
    assert "moot gsd wait --phase 01 --tasks 4" in caught.value.remedy


# Stalls


@pytest.mark.proves("S4-HRD-11")
def test_a_silent_task_is_stalled_until_its_agent_sends_an_event(new_board: Callable[..., Board]) -> None:
    board = new_board("stalled_after = 1\n")
    board.start("01-01", 1, "Long one")
    board.start("01-02", 1, agent="gsd-tester")
    until(lambda: board.gsd.phase("01").stalled == 2, "both are stalled")
    states = {task.plan: task.state for plan in board.gsd.phase("01").plans for task in plan.tasks}
    assert states == {"01-01": "stalled", "01-02": "stalled"}
    kinds = {item.id: item.text for item in board.ws.needs_me() if item.kind == "concern"}
    assert "01-01 task 1 is stalled: gsd-executor has sent no event for" in kinds["01-01.1"]
    assert "is stalled" in board("doctor").err
    assert any("is stalled" in problem.message for problem in board.ws.watch().problems)
    timed_out = board.gsd.wait(phase="01", tasks=2, timeout=0)
    assert {task.plan for task in timed_out.stalled} == {"01-01", "01-02"}
    board.emit({"type": "artifact:created", "path": "a.ts", "createdBy": "01-01"})
    (first,) = board.gsd.plan("01-01").plan.tasks
    assert first.state == "running"


def test_the_usual_time_until_a_task_is_stalled_is_thirty_minutes(board: Board) -> None:
    with board.ws._call() as call:
        (pack,) = call.packs.packs
    assert pack.values["stalled_after"] == 1800


# What a plan needs


@pytest.mark.proves("S4-DEP-03")
@pytest.mark.timeout(PATIENCE)
def test_a_plan_goes_on_when_all_its_artifacts_exist_and_not_before(board: Board) -> None:
    board.gsd.need("01-02", ["src/a.ts", "src/b.ts"])
    waiting = blocked(board, "--plan", "1-2", "--json")
    board.emit({"type": "artifact:created", "path": "src/a.ts", "createdBy": "01-01"})
    early = board.gsd.wait(plan="01-02", timeout=0)
    assert (early.outcome, [one.artifact for one in early.missing]) == ("timeout", ["src/b.ts"])
    assert waiting.poll() is None
    assert board("gsd", "wait", "--plan", "01-02", "--timeout", "0").code == 5
    board.emit({"type": "artifact:created", "path": "src/b.ts", "createdBy": "01-01"})
    code, found = ended(waiting)
    assert (code, found["outcome"], found["missing"]) == (0, "completed", [])


def test_a_need_can_be_dropped(board: Board) -> None:
    assert not board.gsd.need("01-02", "src/a.ts").ready
    assert board.gsd.need("01-02", "src/a.ts", drop=True).ready
