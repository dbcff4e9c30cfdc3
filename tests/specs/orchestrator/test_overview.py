"""Overview: two JSON files carry everything, and whoever uses only them takes part like everybody else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from moot import Workspace
from tests.specs.orchestrator.project import FILES, LOG, PATIENCE, QUEUE, STATUS, Project, bodies, until
from tests.specs.orchestrator.samples import assignment, developer_file, report


def tree(root: Path) -> set[str]:
    """All files of a project but git's own."""
    found = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return {path.relative_to(root).as_posix() for path in found if ".git" not in path.relative_to(root).parts[:1]}


@pytest.mark.proves("S0-OVW-01")
def test_messages_are_in_the_two_files_and_nowhere_else(project: Project) -> None:
    project.assign()
    project.report()
    assert tree(project.root) == {"moot.toml", QUEUE, STATUS, LOG, *FILES.values()}
    assert json.loads((project.root / ".claude-orchestrator/tasks/messages/to-developer.json").read_text()) == {
        "messages": [assignment()],
        "lastRead": None,
    }
    project.run("task approve", task="task-001")
    assert tree(project.root) == {"moot.toml", QUEUE, STATUS, LOG, *FILES.values()}


@pytest.mark.proves("S0-OVW-01")
def test_a_mailbox_in_another_place_is_no_mailbox(project: Project) -> None:
    before = project.head()
    for place in (
        "to-developer.json",
        ".claude-orchestrator",
        ".claude-orchestrator/tasks",
        "sub/.claude-orchestrator",
    ):
        other = project.root / place if place.endswith("json") else project.root / place / "to-developer.json"
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text(developer_file())
    nearly = project.path("developer").with_name("to-tester.json")
    nearly.write_text(developer_file())
    (project.root / "sub").mkdir(exist_ok=True)
    assert project.cli("board", cwd=project.root / "sub").result["tasks"] == []
    assert project.head() == before
    assert nearly.read_text() == developer_file()


@pytest.mark.proves("S0-OVW-02")
def test_a_sent_message_is_in_its_file_when_the_call_returns(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.join("Dev", "developer")
    sent = project.cli_send(assignment("task-001", title="over the CLI"))
    assert sent.code == 0
    assert project.file("developer")["messages"] == [assignment("task-001", title="over the CLI")]
    monkeypatch.delenv("MOOT_AGENT", raising=False)
    with Workspace(project.root) as workspace:
        workspace.send(type="task_assignment", data=assignment("task-002", title="over Python"))
        assert project.file("developer")["messages"][1] == assignment("task-002", title="over Python")
    reported = project.cli_send(report("task-001", summary="über die Kommandozeile"), "Dev")
    assert reported.code == 0
    assert "mirror_pending" not in {**sent.warnings, **reported.warnings}
    assert project.file("team-lead")["messages"] == [report("task-001", summary="über die Kommandozeile")]
    with Workspace(project.root, agent="Dev") as workspace:
        workspace.send(type="completion_report", data=report("task-002", summary="in Python"))
        assert project.file("team-lead")["messages"][1] == report("task-002", summary="in Python")
        assert workspace.mailbox("@team-lead").messages[1].data == report("task-002", summary="in Python")


@pytest.mark.proves("S0-OVW-03")
def test_a_written_message_is_absorbed_once_and_shown_everywhere(project: Project) -> None:
    project.append("developer", assignment(extra={"kept": [1, None, "ü"]}))
    written = project.file("developer")["messages"]
    shown = project.cli("mailbox", "@developer").result["messages"]
    assert bodies(shown) == written
    assert bodies(project.mailbox("developer")) == written
    assert bodies(project.ask("instructions", task="task-001")["messages"]) == written
    assert [event.data["data"] for event in project.events("message:sent")] == written
    for _ in range(3):
        project.look()
        project.cli("board")
    assert len(project.events("message:sent")) == 1
    assert project.file("developer")["messages"] == written
    said = project.cli("explain", "task-001").result
    assert [event["data"]["data"] for event in said if event["type"] == "message:sent"] == written


def wait_for(project: Project, status: str) -> None:
    """Until the queue shows the status, and moot has written it there."""
    until(lambda: project.state() == status and project.entry()["updatedAt"] == project.task().changed_at, status)


@pytest.mark.proves("S0-OVW-04")
def test_two_agents_who_only_know_the_files_carry_a_task_to_its_approval_while_a_watcher_runs(project: Project) -> None:
    """Assignment, report, rejection, retry and approval: neither of them calls moot."""
    watcher = project.start("mirror", "--watch")
    try:
        project.enqueue({"title": "Build it", "platform": "web"})
        until(lambda: [e["id"] for e in project.queue()["tasks"] if "id" in e] == ["task-001"], "the task has its id")
        for attempt in (1, 2):
            stamp = f"2024-01-0{attempt}T00:00:00.000Z"
            project.append("developer", assignment(timestamp=stamp))
            wait_for(project, "in_progress")
            found = [m for m in project.file("developer")["messages"] if m["taskId"] == "task-001"]
            assert found == [assignment(timestamp=stamp)]
            project.append("team-lead", report(timestamp=stamp))
            wait_for(project, "awaiting_review")
            if attempt == 1:
                project.edit(status="rejected", rejectionReason="No tests.")
                wait_for(project, "rejected")
                project.edit(status="pending")
                until(lambda: project.file("developer")["messages"] == [], "the mailboxes are empty for the retry")
                wait_for(project, "pending")
                assert project.entry()["rejectionReason"] == "No tests."
        project.edit(status="completed")
        until(lambda: project.queue()["completed"], "the queue shows the approval")
        until(lambda: project.file("developer")["messages"] == [], "the mailbox of the developer is cleared")
        until(lambda: project.file("team-lead")["messages"] == [], "the mailbox of the lead is cleared")
    finally:
        watcher.terminate()
        watcher.communicate(timeout=PATIENCE)
    assert project.moves() == [
        ("pending", "in_progress"),
        ("in_progress", "awaiting_review"),
        ("awaiting_review", "rejected"),
        ("rejected", "pending"),
        ("pending", "in_progress"),
        ("in_progress", "awaiting_review"),
        ("awaiting_review", "completed"),
    ]
    assert len(project.events("message:sent")) == 4
    assert project.task().attempt == 2
    assert project.held() == []
