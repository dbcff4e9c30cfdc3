"""Error Handling: a developer that finds no instructions says so, and the task comes back to the team lead."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.core.errors import MootError
from tests.specs.orchestrator.project import until
from tests.specs.orchestrator.samples import PLATFORMS, assignment, report, without

if TYPE_CHECKING:
    from tests.specs.orchestrator.project import Project

WHY = "I found no assignment in to-developer.json."
WAYS = ("file", "cli", "python")
OVER = [("pending", "in_progress"), ("in_progress", "awaiting_review")]


def missing(task: str = "task-001", **changes: Any) -> dict[str, Any]:
    """The report as the specification describes it."""
    build = {"status": "not_verified", "command": "", "errors": 0}
    return {
        **report(task, filesCreated=[], filesModified=[], summary=WHY),
        "platform": "custom",
        "buildResult": build,
        **changes,
    }


def send(project: Project, way: str, task: str = "task-001", text: str = WHY, **changes: Any) -> None:
    """Report it: with the ready-made report, or by hand into the file."""
    if way == "file":
        project.append("team-lead", missing(task, summary=text, **changes))
        project.look()
    elif way == "cli":
        assert project.cli("instructions", "missing", task, text, agent="Dev").code == 0
    else:
        with Workspace(project.root, agent="Dev") as workspace:
            workspace.instructions_missing(task, text)


@pytest.fixture
def team(project: Project) -> Project:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    return project


@pytest.mark.proves("S0-ERR-01", "S0-CR-10", "S0-ERR-03")
@pytest.mark.parametrize("way", WAYS)
def test_a_pending_task_goes_to_review_in_one_commit(team: Project, way: str) -> None:
    team.run("task add", title="Login page", id="task-001")
    assert team.refusal("instructions", "Dev", task="task-001").code == "no_instructions"
    before = team.head()
    send(team, way)
    assert team.state() == "awaiting_review"
    assert team.moves() == OVER
    told = team.events("message:sent", after=before)[0]
    moved = [event for event in team.events(after=before) if event.stream == "task/task-001"]
    assert {event.commit for event in (told, *moved)} == {told.commit}
    assert [event.data["role"] for event in moved if "role" in event.data] == ["moot", "developer"]
    (shown,) = team.file("team-lead")["messages"]
    assert without(shown, "timestamp") == without(missing(), "timestamp")
    assert any(flag.startswith("missing_instructions: ") for flag in told.data["flags"])
    # As its recipient sees it, in both voices.
    (letter,) = team.cli("mailbox", "@team-lead").result["messages"]
    assert "! missing_instructions: " in team.voice("mailbox", "@team-lead").out
    assert any(flag.startswith("missing_instructions: ") for flag in letter["flags"])


@pytest.mark.proves("S0-ERR-03")
@pytest.mark.parametrize("way", WAYS)
def test_the_lead_rejects_resets_and_assigns_it_without_editing_a_file(team: Project, way: str) -> None:
    team.run("task add", title="Login page", id="task-001")
    send(team, way)
    refused = team.refusal("task approve", "Lead", task="task-001")
    assert any(doubt.startswith("missing_instructions") for doubt in refused.details["doubts"])
    team.run("task reject", "Lead", task="task-001", reason="My mistake: the assignment follows.")
    team.run("task reopen", "Lead", task="task-001")
    assert (team.state(), team.task().attempt) == ("pending", 2)
    assert team.file("team-lead")["messages"] == []
    team.assign(agent="Lead")
    team.report()
    team.run("task approve", "Lead", task="task-001")
    assert team.state() == "completed"


@pytest.mark.proves("S0-CR-03", "S0-ERR-02", "S0-ERR-03")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("platform", [*PLATFORMS, "windows", None])
def test_a_task_is_made_from_its_held_assignment(team: Project, way: str, platform: str | None) -> None:
    """The platform is that of the held assignment, or `custom` if that has none that is valid."""
    held = without(assignment("task-007"), "instructions")
    team.append("developer", {**held, "platform": platform} if platform else without(held, "platform"))
    team.look()
    (entry,) = team.held()
    refused = team.refusal("instructions", "Dev", task="task-007")
    assert (refused.code, refused.details["held"]) == ("no_instructions", [entry["id"]])
    assert "moot instructions missing task-007" in refused.remedy
    valid = platform if platform in PLATFORMS else None
    send(team, way, "task-007", platform=valid or "custom")
    task = team.task("task-007")
    assert (task.state, task.title, task.extra) == (
        "awaiting_review",
        "Task Title",
        {"platform": valid} if valid else {},
    )
    assert team.moves("task-007") == OVER
    (letter,) = team.mailbox("team-lead")
    assert letter["data"]["platform"] == (valid or "custom")
    assert any(flag.startswith("missing_instructions: ") for flag in letter["flags"])
    # From there it can be rejected, reset, and assigned by the corrected message.
    team.run("task reject", "Lead", task="task-007", reason="The assignment was incomplete.")
    team.run("task reopen", "Lead", task="task-007")
    fixed = assignment("task-007", platform=valid or "ios")
    team.run("held resubmit", "Lead", id=entry["id"], data=fixed)
    assert (team.state("task-007"), team.held()) == ("in_progress", [])
    assert team.task("task-007").extra == {"platform": valid or "ios"}


@pytest.mark.proves("S0-CR-03")
def test_a_platform_other_than_that_of_the_held_assignment_is_refused(team: Project) -> None:
    team.append("developer", without(assignment("task-007", platform="ios"), "instructions"))
    team.look()
    refused = team.refusal("send", "Dev", type="completion_report", data=missing("task-007"))
    assert (refused.code, refused.details["expected"]) == ("platform_differs", "ios")
    assert team.refusal("task show", task="task-007").code == "unknown_task"


@pytest.mark.proves("S0-CR-03", "S0-CR-10")
@pytest.mark.parametrize(
    "change",
    [
        {"filesCreated": ["a.ts"]},
        {"filesModified": ["a.ts"]},
        {"buildResult": {"status": "failed", "command": "make", "errors": 1, "output": "!"}},
        {"buildResult": {"status": "success", "command": "make", "errors": 0}},
        {"buildResult": {"status": "not_applicable", "command": "", "errors": 0}},
    ],
)
def test_a_report_of_another_shape_is_refused_whatever_its_summary_says(team: Project, change: dict[str, Any]) -> None:
    team.run("task add", title="Login page", id="task-001")
    team.append("developer", without(assignment("task-007"), "instructions"))
    team.look()
    other = missing(summary="The instructions were missing.", **change)
    refused = team.refusal("send", "Dev", type="completion_report", data=other)
    assert (refused.code, refused.details["state"]) == ("wrong_state", "pending")
    assert "moot instructions missing task-001" in refused.remedy
    unknown = team.refusal("send", "Dev", type="completion_report", data={**other, "taskId": "task-007"})
    assert unknown.code == "unknown_task"
    team.append("team-lead", other, {**other, "taskId": "task-007"})
    team.look()
    assert [entry["code"] for entry in team.held()].count("wrong_state") == 1
    assert [entry["code"] for entry in team.held()].count("unknown_task") == 1
    assert team.state() == "pending"


@pytest.mark.proves("S0-CR-03")
def test_without_a_held_assignment_there_is_no_task_to_report_on(team: Project) -> None:
    team.assign(assignment("task-002"))
    refused = team.refusal("instructions missing", "Dev", task="task-099", text=WHY)
    assert (refused.code, refused.details["in_progress"]) == ("unknown_task", ["task-002"])
    # A held report, or an assignment of another task, is not an assignment of this one.
    team.append("developer", without(assignment("task-098"), "title"), without(report("task-099"), "summary"))
    team.look()
    assert team.refusal("instructions missing", "Dev", task="task-099", text=WHY).code == "unknown_task"
    team.append("team-lead", missing("task-099"))
    team.look()
    assert "unknown_task" in [entry["code"] for entry in team.held()]
    assert any("task-099" in letter["text"] for letter in team.ask("inbox", "Lead")["new"])  # the lead is told


@pytest.mark.proves("S0-ERR-02")
@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_an_empty_explanation_is_refused(team: Project, text: str) -> None:
    team.run("task add", title="Login page", id="task-001")
    for ask in (
        lambda: team.refusal("instructions missing", "Dev", task="task-001", text=text),
        lambda: team.refusal("send", "Dev", type="completion_report", data=missing(summary=text)),
        lambda: team.cli_refusal("instructions", "missing", "task-001", text, agent="Dev"),
    ):
        refused = ask()
        assert refused.code == "bad_message"
        assert refused.places == ["summary"]
    with Workspace(team.root, agent="Dev") as workspace, pytest.raises(MootError) as caught:
        workspace.instructions_missing("task-001", text)
    assert caught.value.code == "bad_message"
    team.append("team-lead", missing(summary=text))
    team.look()
    assert [entry["code"] for entry in team.held()] == ["bad_message"]
    assert team.state() == "pending"


@pytest.mark.proves("S0-ERR-02")
@pytest.mark.parametrize("wrong", [{"platform": "windows"}, {"status": "done"}, {"timestamp": "soon"}])
def test_it_passes_the_same_validation_as_any_other_report(team: Project, wrong: dict[str, Any]) -> None:
    team.run("task add", title="Login page", id="task-001")
    refused = team.refusal("send", "Dev", type="completion_report", data=missing(**wrong))
    assert (refused.code, refused.places) == ("bad_message", list(wrong))
    role = team.refusal("instructions missing", "Lead", task="task-001", text=WHY)
    assert (role.code, role.details["role"]) == ("wrong_role", "developer")


@pytest.mark.proves("S0-ERR-02")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_platform_is_that_of_the_task(team: Project, platform: str) -> None:
    team.assign(assignment(platform=platform), "Lead")
    team.run("task reject", "Lead", task="task-001", reason="Not like this.")
    team.run("task reopen", "Lead", task="task-001")
    team.run("instructions missing", "Dev", task="task-001", text=WHY)
    assert team.mailbox("team-lead")[-1]["data"]["platform"] == platform
    assert team.state() == "awaiting_review"


@pytest.mark.proves("S0-ERR-01", "S0-ERR-03")
@pytest.mark.parametrize("way", WAYS)
def test_a_task_that_was_started_without_an_assignment(team: Project, way: str) -> None:
    team.run("task add", title="Login page", id="task-001")
    team.run("task claim", "Lead", task="task-001")
    send(team, way)
    assert team.moves() == OVER
    assert team.events("task:started")[0].by.startswith("Lead#")
    assert any(flag.startswith("missing_instructions: ") for flag in team.mailbox("team-lead")[0]["flags"])


@pytest.mark.proves("S0-ERR-01")
def test_it_is_refused_where_there_are_instructions_or_no_attempt_is_open(team: Project) -> None:
    told = team.assign(agent="Lead")["id"]
    refused = team.refusal("instructions missing", "Dev", task="task-001", text=WHY)
    assert (refused.code, refused.details["message"]) == ("instructions_exist", told)
    # By file it is a report like any other: the instructions are there, so nothing is said about them.
    team.append("team-lead", missing(platform="web"))
    team.look()
    (letter,) = team.mailbox("team-lead")
    assert not any(flag.startswith("missing_instructions") for flag in letter["flags"])
    team.run("task reject", "Lead", task="task-001", reason="Nothing was built.")
    assert team.refusal("send", "Dev", type="completion_report", data=missing(platform="web")).code == "wrong_state"


def test_a_second_explanation_amends_the_first_and_an_equal_one_changes_nothing(team: Project) -> None:
    team.run("task add", title="Login page", id="task-001")
    first = team.ask("instructions missing", "Dev", task="task-001", text=WHY)["id"]
    assert team.ask("instructions missing", "Dev", task="task-001", text=WHY)["id"] == first
    second = team.ask("instructions missing", "Dev", task="task-001", text="Still none.")["id"]
    assert team.task().report == second
    assert team.moves() == OVER


def test_a_task_assigned_to_an_agent_is_no_obstacle(team: Project) -> None:
    team.run("task add", title="Login page", id="task-001")
    assert team.cli("task", "assign", "task-001", "Lead").code == 0
    team.run("instructions missing", "Dev", task="task-001", text=WHY)
    assert team.state() == "awaiting_review"


def test_help_teaches_it(team: Project) -> None:
    said = team.voice("help", "instructions", "missing").out
    assert "moot instructions missing task-001" in said
    assert json.loads(team.cli("instructions", "task-404", agent="Dev").out)["error"] == "unknown_task"


def test_an_old_copy_of_the_report_does_not_move_the_next_attempt(team: Project) -> None:
    team.run("task add", title="Login page", id="task-001")
    old = missing()
    team.append("team-lead", old)
    team.look()
    team.run("task reject", "Lead", task="task-001", reason="The assignment follows.")
    team.run("task reopen", "Lead", task="task-001")
    team.append("team-lead", old)
    team.look()
    assert (team.state(), team.task().attempt) == ("pending", 2)
    assert len(team.held()) == 1
    # Written anew, it is a new report.
    team.append("team-lead", missing(timestamp="2024-02-02T00:00:00.000Z"))
    team.look()
    assert team.state() == "awaiting_review"


@pytest.mark.proves("S0-ERR-01", "S0-ERR-03", "S0-CR-03")
def test_a_lead_and_a_developer_that_only_use_files(project: Project) -> None:
    """While only the watcher runs: a broken assignment, the report, the rejection, the reset, a good assignment."""
    project.close()
    watcher = project.start("mirror", "--watch")
    try:
        project.append("developer", without(assignment("task-007"), "instructions"))
        until(lambda: project.file("developer")["messages"] == [], "the assignment is held")
        project.append("team-lead", missing("task-007", platform="web"))
        until(lambda: status(project) == "awaiting_review", "the report is accepted")
        edit(project, status="rejected", rejectionReason="The assignment was incomplete.")
        assert project.file("team-lead")["messages"] != []
        edit(project, status="pending")
        until(lambda: project.file("team-lead")["messages"] == [], "it is reset")
        project.append("developer", assignment("task-007"))
        until(lambda: status(project) == "in_progress", "it is started")
    finally:
        watcher.terminate()
        watcher.communicate()
    assert project.moves("task-007") == [
        *OVER,
        ("awaiting_review", "rejected"),
        ("rejected", "pending"),
        ("pending", "in_progress"),
    ]


def status(project: Project) -> str | None:
    """The state of the only task, as the queue file shows it."""
    return next((entry["status"] for entry in project.queue()["tasks"]), None)


def edit(project: Project, **changes: str) -> None:
    """Edit the task in the queue file, and wait until moot has taken it: it then renders another time."""
    content = project.queue()
    before = content["tasks"][0]["updatedAt"]
    content["tasks"][0] |= changes
    project.write_queue(content)
    until(lambda: project.queue()["tasks"][0]["updatedAt"] != before, "the queue was taken")
