"""Overview: two JSON files carry everything, and whoever uses only them takes part like everybody else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from moot import Workspace
from tests.specs.orchestrator.project import FILES, PATIENCE, Project, bodies, until
from tests.specs.orchestrator.samples import assignment, developer_file, report, team_lead_file


def tree(root: Path) -> set[str]:
    """All files of a project but git's own."""
    found = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return {path.relative_to(root).as_posix() for path in found if ".git" not in path.relative_to(root).parts[:1]}


@pytest.mark.proves("S0-OVW-01")
def test_messages_are_in_the_two_files_and_nowhere_else(project: Project) -> None:
    project.assign()
    project.report()
    assert tree(project.root) == {"moot.toml", *FILES.values()}
    assert json.loads((project.root / ".claude-orchestrator/tasks/messages/to-developer.json").read_text()) == {
        "messages": [assignment()],
        "lastRead": None,
    }
    project.run("task approve", task="task-001")
    assert tree(project.root) == {"moot.toml", *FILES.values()}


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


@pytest.mark.proves("S0-OVW-04")
def test_two_agents_who_only_know_the_files_work_while_a_watcher_runs(project: Project) -> None:
    """The verdict comes from the CLI: the protocol's file for it is not mirrored yet."""
    watcher = project.start("mirror", "--watch")
    try:
        for attempt in (1, 2):
            project.write("developer", developer_file())
            until(lambda: len(project.moves()) == 4 * (attempt - 1) + 1, "the assignment is absorbed")  # noqa: B023
            found = [m for m in project.file("developer")["messages"] if m["taskId"] == "task-001"]
            assert found == [assignment()]
            project.write("team-lead", team_lead_file())
            until(lambda: len(project.moves()) == 4 * (attempt - 1) + 2, "the report is absorbed")  # noqa: B023
            if attempt == 1:
                assert project.cli("task", "reject", "task-001", "--reason", "No tests.").code == 0
                assert project.cli("task", "reopen", "task-001").code == 0
                assert project.file("developer")["messages"] == project.file("team-lead")["messages"] == []
        assert project.cli("task", "approve", "task-001", "--reason", "The same words again, and true now.").code == 0
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
    assert project.file("developer")["messages"] == project.file("team-lead")["messages"] == []
    assert project.held() == []
