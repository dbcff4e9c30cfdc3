"""Error Handling: a developer that finds no instructions says so, and the task comes back to the team lead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.specs.orchestrator.samples import assignment, report

if TYPE_CHECKING:
    from tests.specs.orchestrator.project import Project

WAYS = ("file", "call")


def missing(task: str = "task-001", **changes: Any) -> dict[str, Any]:
    return {
        **report(task, filesCreated=[], filesModified=[], summary="I found no assignment in to-developer.json."),
        "buildResult": {"status": "not_verified", "command": "", "errors": 0},
        **changes,
    }


def send(project: Project, way: str, message: dict[str, Any]) -> None:
    if way == "file":
        project.append("team-lead", message)
        project.look()
    else:
        project.report(message)


@pytest.mark.proves("S0-ERR-01", "S0-CR-10")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", ["pending", "in_progress"])
def test_a_report_of_missing_instructions_is_accepted_and_flagged(project: Project, way: str, state: str) -> None:
    project.run("task add", title="Login page", id="task-001")
    if state == "in_progress":
        project.run("task claim", task="task-001")
    assert project.refusal("instructions", task="task-001").code == "no_instructions"
    send(project, way, missing())
    assert project.moves() == [("pending", "in_progress"), ("in_progress", "awaiting_review")]
    (letter,) = project.mailbox("team-lead")
    assert any(flag.startswith("missing_instructions: ") for flag in letter["flags"])
    assert project.file("team-lead")["messages"] == [missing()]
    # From here on, the lead makes its ordinary moves.
    assert project.refusal("task approve", task="task-001").code == "build_unproven"
    project.run("task reject", task="task-001", reason="I write them now.")
    project.run("task reopen", task="task-001")
    project.assign(assignment(timestamp="2026-11-17T08:00:00.000Z"))
    assert project.state() == "in_progress"


@pytest.mark.proves("S0-ERR-01", "S0-CR-03", "S0-CR-10")
@pytest.mark.parametrize("way", WAYS)
def test_it_follows_the_ordinary_rules(project: Project, way: str) -> None:
    project.run("task add", title="Login page", id="task-001")
    project.join("Dev", "developer")
    for data in (report(), missing(summary=" "), missing("task-099")):
        if way == "call":
            project.refusal("send", "Dev", type="completion_report", data=data)
        else:
            send(project, way, data)
            assert project.file("team-lead")["messages"] == []
    assert project.state() == "pending"
    project.assign()
    send(project, way, missing())
    assert project.state() == "awaiting_review"
    (letter,) = project.mailbox("team-lead")
    assert not any(flag.startswith("missing_instructions") for flag in letter["flags"])
