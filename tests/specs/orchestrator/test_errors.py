"""Error Handling and Best Practices, as far as they concern the two messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from moot.core.errors import MootError
from tests.specs.orchestrator.samples import assignment, report, without

if TYPE_CHECKING:
    from tests.specs.orchestrator.project import Project

OUTPUT = "src/a.ts(3,7): error TS2304: Cannot find name 'ü'.\r\n\x1b[31m✗\x1b[0m\t2 errors\n" * 2000


@pytest.mark.proves("S0-ERR-05", "S0-ERR-06")
@pytest.mark.parametrize("way", ["surface", "file"])
def test_a_failed_build_reaches_the_reviewer_with_its_whole_output(project: Project, way: str) -> None:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    project.assign()
    failed = report(build="failed", build_errors=2, build_output=OUTPUT)
    if way == "surface":
        assert project.cli_send(failed, "Dev").code == 0
    else:
        project.append("team-lead", failed)
        project.look()
    assert project.state() == "awaiting_review"
    assert project.moves() == [("pending", "in_progress"), ("in_progress", "awaiting_review")]
    (shown,) = project.cli("inbox", agent="Lead").result["new"]
    assert shown["data"]["buildResult"]["output"] == OUTPUT
    assert project.file("team-lead")["messages"][0]["buildResult"]["output"] == OUTPUT
    assert project.held() == []
    # The verdict is the lead's, either way.
    project.run("task reject", "Lead", task="task-001", reason="It does not build.")
    assert project.state() == "rejected"


@pytest.mark.proves("S0-ERR-07")
def test_a_rejection_without_a_reason_changes_nothing(project: Project) -> None:
    project.join("Lead", "team-lead")
    project.assign(agent="Lead")
    project.assign(assignment("task-002"), "Lead")
    project.report()
    for task, state in (("task-001", "awaiting_review"), ("task-002", "in_progress")):
        for reason in (None, "", "  ", "\t\n"):
            for caller in ("Lead", None):
                assert project.refusal("task reject", caller, task=task, reason=reason).code == "reason_missing"
        assert project.cli_refusal("task", "reject", task, agent="Lead").code == "reason_missing"
        assert project.cli_refusal("task", "move", task, "rejected", "--reason", " ").code == "reason_missing"
        assert project.state(task) == state


@pytest.mark.proves("S0-ERR-09")
def test_both_roles_are_shown_why_earlier_attempts_were_sent_back(project: Project) -> None:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    project.assign(agent="Lead")
    reasons = ["It does not build.", "No tests."]
    for reason in reasons:
        project.report()
        project.run("task reject", "Lead", task="task-001", reason=reason)
        project.run("task reopen", "Lead", task="task-001")
        project.assign(assignment(instructions=f"Once more: {reason}"), "Lead")
    assert project.state() == "in_progress"
    for agent in ("Lead", "Dev"):
        shown = project.cli("task", "show", "task-001", agent=agent).result["task"]["setbacks"]
        assert [(s["attempt"], s["reason"]) for s in shown if s["verb"] == "reject"] == list(enumerate(reasons, 1))
    said = project.cli("instructions", "task-001", agent="Dev").result
    assert [(s["attempt"], s["reason"]) for s in said["setbacks"]] == list(enumerate(reasons, 1))


def verdict(project: Project, agent: str | None, data: dict[str, Any], **more: Any) -> tuple[str, object]:
    try:
        answer = project.run("send", agent, type=data["type"], data=data, **more)
    except MootError as error:
        return error.code, error.details
    return "accepted", [warning.code for warning in answer.warnings]


@pytest.mark.proves("S0-BP-02")
def test_a_dry_run_gives_the_verdict_and_sends_nothing(project: Project) -> None:
    project.join("Dev", "developer")
    project.assign(assignment("task-002"))
    project.assign(assignment("task-003"))
    project.report(report("task-003"))
    cases: tuple[tuple[str | None, dict[str, Any]], ...] = (
        (None, assignment(platform="windows", title="")),
        (None, without(assignment(), "architecture")),
        (None, assignment("task-002", platform="ios")),
        (None, assignment("task-003", instructions="late")),
        (None, assignment(instructions="x" * 9 * 1024 * 1024)),
        ("Dev", assignment()),
        ("Dev", report("task-099")),
        ("Dev", report("task-002", build="failed", build_output="")),
        (None, assignment()),
        ("Dev", report("task-002")),
    )
    for agent, data in cases:
        before, files = project.head(), project.raw_files()
        tried = verdict(project, agent, data, dry_run=True)
        assert (project.head(), project.raw_files()) == (before, files)
        done = verdict(project, agent, data)
        assert tried[0] == done[0], data
        if tried[0] != "accepted":
            assert tried == done
            assert (project.head(), project.raw_files()) == (before, files)
    assert [project.state(f"task-00{n}") for n in (1, 2, 3)] == ["in_progress", "awaiting_review", "awaiting_review"]
    said = project.cli("send", "--type", "task_assignment", "--dry-run", "--data", json.dumps(assignment("task-004")))
    assert said.code == 0
    assert project.refusal("task show", task="task-004").code == "unknown_task"


@pytest.mark.proves("S0-BP-02")
@pytest.mark.parametrize("text", ["{", '{"taskId": "task-001",}', "[]", '"text"', "null", "", "{} {}", "{'a': 1}"])
def test_what_is_no_json_object_reaches_no_mailbox(project: Project, text: str) -> None:
    for words in (("--data", "-"), ("--dry-run", "--data", "-")):
        said = project.cli_refusal("send", "--type", "task_assignment", *words, given=text)
        assert said.kind == "usage"
        assert said.code == "bad_json"
