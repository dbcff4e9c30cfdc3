"""Lifecycle events: runs of tasks, what is filled in, and what is flagged."""

from __future__ import annotations

from typing import Any

import pytest

from moot.views import feeds
from tests.specs.gsd import samples
from tests.specs.gsd.project import Project, codes
from tests.specs.gsd.samples import COMPLETED, FAILED, STARTED, completed, failed, started, without


def run_of(project: Project, task: str = "01-02.1") -> dict[str, Any]:
    """The latest run of a task, as the blackboard keeps it."""
    found: dict[str, Any] = feeds.row(project.session().engine.read(), "gsd", "tasks", task)
    return found


@pytest.mark.proves("S4-LIF-01")
def test_a_start_needs_agent_plan_task_and_name(project: Project) -> None:
    for field in ("agent", "plan", "task", "taskName"):
        assert project.refused(without(STARTED, field)).places == [field]
        project.take(without(STARTED, field))
    for name in ("", " ", None, 7):
        assert project.refused({**STARTED, "taskName": name}).places == ["taskName"]
    assert len(project.held()) == 4
    assert project.emit(STARTED).number == 1


@pytest.mark.proves("S4-LIF-02", "S4-EVT-10")
def test_a_completion_needs_agent_plan_and_task_and_the_rest_is_filled_in_or_flagged(project: Project) -> None:
    for field in ("agent", "plan", "task"):
        assert project.refused(without(COMPLETED, field)).places == [field]
    project.emit(STARTED)
    emitted = project.emit(without(COMPLETED, "taskName", "duration", "commit"))
    shown = project.events_shown[1]
    assert (shown["taskName"], shown["duration"]) == ("Create User model", "15min")
    assert "commit" not in shown
    assert "no_commit" in codes(emitted.flags)
    assert "no_commit" not in project.flags(completed(task=2))


@pytest.mark.proves("S4-LIF-02")
def test_a_completion_in_the_file_is_filled_in_too(project: Project) -> None:
    project.take(STARTED, without(COMPLETED, "taskName", "duration"))
    assert project.events_shown[1]["duration"] == "15min"
    project.take(without(COMPLETED, "taskName", "duration", "timestamp") | {"task": 9})
    assert "incomplete" in project.flags_of(3), "without the start nothing can be filled in"


@pytest.mark.proves("S4-LIF-03")
def test_a_failure_needs_everything_but_a_name(project: Project) -> None:
    for field in ("agent", "plan", "task", "error"):
        assert project.refused(without(FAILED, field)).places == [field]
    for error in ("", "  ", None, []):
        assert project.refused({**FAILED, "error": error}).places == ["error"]
    assert "taskName" not in FAILED
    assert project.emit(FAILED).number == 1


@pytest.mark.proves("S4-LIF-04")
def test_a_duration_is_a_text_that_is_kept_as_sent(project: Project) -> None:
    for task, text in enumerate(("15min", "1h30min", "about an hour", "1.5 h"), 1):
        project.emit(samples.completed(task=task, duration=text))
        assert (project.events_shown[-1]["duration"], run_of(project, f"01-02.{task}")["duration"]) == (text, text)
    for text in ("", 15, None):
        assert project.refused({**COMPLETED, "duration": text}).places == ["duration"]


@pytest.mark.proves("S4-LIF-04")
@pytest.mark.parametrize(
    ("end", "text"),
    [("10:30:00Z", "0s"), ("10:30:45Z", "45s"), ("12:00:00Z", "1h30min"), ("11:31:01.400Z", "1h1min1s")],
)
def test_a_computed_duration_has_the_same_form(project: Project, end: str, text: str) -> None:
    project.emit(STARTED)
    project.emit({**without(COMPLETED, "duration"), "timestamp": f"2024-01-15T{end}"})
    assert project.events_shown[1]["duration"] == text


@pytest.mark.proves("S4-LIF-05")
def test_a_commit_is_a_hash_of_seven_to_forty_digits(project: Project) -> None:
    for n, good in enumerate(("abc1234", "ABCDEF0123456789", "a" * 40), 1):
        assert project.emit(completed(task=n, commit=good)).number == n
    for bad in ("abc123", "a" * 41, "xyz1234", "", "HEAD", "abc 1234", 1234567, None):
        assert project.refused(completed(task=9, commit=bad)).places == ["commit"]


# --- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.proves("S4-LIF-06")
def test_runs_follow_each_other_and_the_latest_decides(project: Project) -> None:
    assert project.flags(started()) == []
    assert (project.state("01-02.1"), run_of(project)["run"]) == ("running", 1)
    assert project.flags(failed()) == []
    assert (project.state("01-02.1"), run_of(project)["error"]) == ("failed", "It broke")
    assert project.flags(started()) == []
    assert (project.state("01-02.1"), run_of(project)["run"]) == ("running", 2)
    assert project.flags(completed()) == []
    assert project.state("01-02.1") == "completed"
    assert project.flags(started()) == []
    assert (project.state("01-02.1"), project.task("01-02.1").attempt, run_of(project)["run"]) == ("running", 3, 3)
    assert project.flags(failed()) == []
    assert project.state("01-02.1") == "failed", "although a run before it was completed"


@pytest.mark.proves("S4-LIF-07")
@pytest.mark.parametrize(("event", "state"), [(completed(), "completed"), (failed(), "failed")])
def test_an_end_without_a_start_is_a_run_of_its_own(project: Project, event: dict[str, Any], state: str) -> None:
    assert project.flags(event)[0] == "no_start"
    assert (project.state("01-02.1"), run_of(project)["run"]) == (state, 1)
    project.take({**event, "task": 2, "timestamp": "2024-01-15T10:45:00Z"})
    assert "no_start" in project.flags_of(2)
    assert project.state("01-02.2") == state


@pytest.mark.proves("S4-LIF-08")
def test_a_second_end_of_the_same_kind_changes_nothing(project: Project) -> None:
    project.emit(started())
    project.emit(failed())
    before = project.file("errors"), len(project.ask("mailbox", name="@orchestrator")["messages"])
    assert project.flags(failed(error="Again")) == ["repeat"]
    assert len(project.events_shown) == 3, "it is stored"
    assert project.task("01-02.1").attempt == 1
    assert run_of(project)["error"] == "It broke"
    assert (project.file("errors"), len(project.ask("mailbox", name="@orchestrator")["messages"])) == before
    assert project.posted()[2].get("handled", []) == []
    project.take({**failed(error="And again"), "timestamp": "2024-01-15T10:45:00Z"})
    assert "repeat" in project.flags_of(4)


@pytest.mark.proves("S4-LIF-08")
def test_a_second_completion_counts_for_nothing(project: Project) -> None:
    project.emit(started())
    project.emit(completed())
    context = project.file("shared-context")
    assert project.flags(completed(commit="fff0000")) == ["repeat"]
    assert project.file("shared-context") == context


@pytest.mark.proves("S4-LIF-07")
def test_an_end_of_the_other_kind_is_a_run_of_its_own(project: Project) -> None:
    project.emit(started())
    project.emit(completed())
    assert project.flags(failed()) == ["no_start"]
    assert (project.state("01-02.1"), run_of(project)["run"]) == ("failed", 2)
    assert "no_start" in project.flags(completed())
    assert (project.state("01-02.1"), run_of(project)["run"]) == ("completed", 3)


@pytest.mark.proves("S4-LIF-09")
def test_starting_what_another_agent_runs_is_refused_with_the_holder_and_the_time(project: Project) -> None:
    project.join("Ada")
    project.join("Bob")
    project.emit(STARTED, "Ada")
    refusal = project.refused(started(), "Bob")
    assert (refusal.code, refusal.kind) == ("task_running", "held")
    assert refusal.details["holder"] == "Ada#1"
    assert refusal.details["since"] == "2024-01-15T10:30:00Z"
    assert project.flags(started(), "Ada") == ["repeat"], "its own agent may say so twice"
    assert project.task("01-02.1").holder == "Ada#1"


@pytest.mark.proves("S4-LIF-09")
def test_from_a_file_it_is_stored_and_flagged_and_both_are_told(project: Project) -> None:
    project.join("Ada")
    project.emit(started(), "Ada")
    project.take({**STARTED, "agent": "gsd-other"})
    assert "double_start" in project.flags_of(2)
    assert project.task("01-02.1").holder == "Ada#1"
    told = [mail["text"] for mail in project.ask("inbox", "Ada")["new"]]
    assert len([text for text in told if "gsd-other of plan 01-02 has started it, too" in text]) == 1
    executors = [mail["text"] for mail in project.ask("mailbox", name="@gsd-executor")["messages"]]
    assert len([text for text in executors if "has started it, too" in text]) == 1


@pytest.mark.proves("S4-LIF-10")
@pytest.mark.parametrize("surface", ["api", "file"])
def test_the_samples_show_a_task_with_its_times_and_result(project: Project, surface: str) -> None:
    say = project.emit if surface == "api" else project.take
    say(STARTED)
    say(COMPLETED)
    found = run_of(project)
    assert (found["started"], found["ended"]) == ("2024-01-15T10:30:00Z", "2024-01-15T10:45:00Z")
    assert (found["name"], found["commit"], found["duration"]) == ("Create User model", "abc1234", "15min")
    assert (found["plan"], found["task"], found["state"]) == ("01-02", 1, "completed")


@pytest.mark.proves("S4-LIF-10")
def test_the_failing_variant_shows_the_error(project: Project) -> None:
    project.emit(STARTED)
    project.emit(FAILED)
    found = run_of(project)
    assert (found["started"], found["ended"]) == ("2024-01-15T10:30:00Z", "2024-01-15T10:45:00Z")
    assert (found["state"], found["error"]) == ("failed", "Test verification failed")
