"""Message Types / 3. Build Result Object: four words, and what each of them needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.specs.orchestrator.samples import BUILD_FIELDS, BUILD_RESULT, BUILD_STATUSES, assignment, report, without

if TYPE_CHECKING:
    from tests.specs.orchestrator.project import Project

MATCHING: dict[str, dict[str, Any]] = {
    "success": {"status": "success", "command": "npm run build", "errors": 0},
    "failed": {"status": "failed", "command": "npm run build", "errors": 3, "output": "TS2304: Cannot find name\n" * 3},
    "not_applicable": {
        "status": "not_applicable",
        "command": "",
        "errors": 0,
        "output": "iOS cannot be built on Windows",
    },
    "not_verified": {"status": "not_verified", "command": "", "errors": 0},
}


@pytest.fixture
def assigned(project: Project) -> Project:
    """A project with the developer Dev, whose task-001 is in progress."""
    project.join("Dev", "developer")
    project.assign()
    return project


def sent(project: Project, build: dict[str, Any], number: int = 1) -> dict[str, Any]:
    """Send a report with this build result, for a task of its own."""
    name = f"task-{number:03}"
    project.assign(assignment(name))
    return project.report(report(name, buildResult=build))


def refused(project: Project, build: Any) -> list[str]:
    said = project.refusal("send", "Dev", type="completion_report", data=report(buildResult=build))
    assert said.code == "bad_message"
    assert project.state() == "in_progress"
    return said.places


def flags(project: Project, task: str = "task-001") -> str:
    """What the reviewer is shown beside the report, in words."""
    shown = project.run("mailbox", name="@team-lead", task=task)
    assert all(any(flag in line for line in shown.say) for flag in shown.result.messages[0].flags)
    return "\n".join(shown.result.messages[0].flags)


@pytest.mark.proves("S0-BR-01")
def test_three_keys_are_required_and_the_output_is_not(assigned: Project) -> None:
    sample = {**json.loads(BUILD_RESULT), "status": "success"}
    for field in BUILD_FIELDS:
        assert refused(assigned, without(sample, field)) == [f"buildResult.{field}"]
    for bad in (None, 7, ["text"], {}):
        assert refused(assigned, {**sample, "output": bad}) == ["buildResult.output"]
    sent(assigned, without(sample, "output"))
    assert assigned.file("team-lead")["messages"][0]["buildResult"] == without(sample, "output")
    assert "output" not in assigned.file("team-lead")["messages"][0]["buildResult"]


@pytest.mark.proves("S0-BR-01")
def test_every_status_may_have_an_output(assigned: Project) -> None:
    for number, build in enumerate(MATCHING.values(), 1):
        sent(assigned, {**build, "output": "two\nlines"}, number)
        assert assigned.file("team-lead")["messages"][-1]["buildResult"] == {**build, "output": "two\nlines"}


@pytest.mark.proves("S0-BR-02")
def test_a_status_is_one_of_four(assigned: Project) -> None:
    for bad in ("success|failed|not_applicable|not_verified", "Success", "ok", "passed", "skipped", "", None, True, 0):
        said = assigned.refusal(
            "send", "Dev", type="completion_report", data=report(buildResult={**MATCHING["success"], "status": bad})
        )
        assert said.places == ["buildResult.status"], bad
        for status in BUILD_STATUSES:
            assert status in said.defect("buildResult.status")["expected"]
            assert status in said.message
    assigned.write("team-lead", [report(buildResult=json.loads(BUILD_RESULT))])
    assigned.look()
    (held,) = assigned.held()
    assert all(status in held["reason"] for status in BUILD_STATUSES)


@pytest.mark.proves("S0-BR-03")
def test_a_success_has_no_errors(assigned: Project) -> None:
    assert refused(assigned, {**MATCHING["success"], "errors": 1}) == ["buildResult.errors"]
    assigned.write("team-lead", [report(build_errors=2)])
    assigned.look()
    (held,) = assigned.held()
    assert [defect["path"] for defect in held["defects"]] == ["buildResult.errors"]
    sent(assigned, MATCHING["success"])
    assert assigned.state() == "awaiting_review"


@pytest.mark.proves("S0-BR-04")
def test_a_failure_shows_its_output(assigned: Project) -> None:
    project = assigned
    assert refused(project, without(MATCHING["failed"], "output")) == ["buildResult.output"]
    assert refused(project, {**MATCHING["failed"], "output": ""}) == ["buildResult.output"]
    for number, build in ((2, without(MATCHING["failed"], "output")), (3, {**MATCHING["failed"], "output": ""})):
        project.assign(assignment(f"task-{number:03}"))
        project.append("team-lead", report(f"task-{number:03}", buildResult=build))
        project.look()
        assert project.state(f"task-{number:03}") == "awaiting_review"
        assert "failed_without_output" in flags(project, f"task-{number:03}")
    sent(project, MATCHING["failed"])
    assert "failed_" not in flags(project)
    assert project.held() == []


@pytest.mark.proves("S0-BR-05")
def test_no_build_is_possible_here(project: Project) -> None:
    project.join("Dev", "developer")
    project.assign(assignment(platform="ios"))
    build = MATCHING["not_applicable"]
    for errors in (1, -1):
        said = project.refusal(
            "send",
            "Dev",
            type="completion_report",
            data=report(platform="ios", buildResult={**build, "errors": errors}),
        )
        assert said.places == ["buildResult.errors"]
    answer = project.run("send", "Dev", type="completion_report", data=report(platform="ios", buildResult=build))
    assert not [warning for warning in answer.warnings if warning.code.startswith("build")]
    assert project.file("team-lead")["messages"][0]["buildResult"] == build
    # The reason may stand in the summary instead.
    sent(project, {"status": "not_applicable", "command": "", "errors": 0}, 2)
    sent(project, {"status": "not_applicable", "command": "xcodebuild", "errors": 0}, 3)
    assert project.state("task-003") == "awaiting_review"


@pytest.mark.proves("S0-BR-06")
def test_a_build_that_was_not_run_is_accepted_and_marked(assigned: Project) -> None:
    project = assigned
    assert refused(project, {**MATCHING["not_verified"], "errors": 2}) == ["buildResult.errors"]
    said = project.cli_send(report(buildResult=MATCHING["not_verified"]), "Dev")
    assert said.code == 0
    assert "build_not_verified" in said.warnings
    assert project.state() == "awaiting_review"
    assert "build_not_verified" in flags(project)
    project.assign(assignment("task-002"))
    project.append("team-lead", report("task-002", buildResult={**MATCHING["not_verified"], "command": "make"}))
    project.look()
    assert "build_not_verified" in flags(project, "task-002")
    sent(project, MATCHING["success"], 3)
    assert "build_not_verified" not in flags(project, "task-003")


@pytest.mark.proves("S0-BR-07")
def test_errors_are_counted_in_whole_numbers(assigned: Project) -> None:
    for status in BUILD_STATUSES:
        for bad in (-1, 0.5, 1.5, True, False, None, "0", "3", [], "many"):
            assert refused(assigned, {**MATCHING[status], "errors": bad}) == ["buildResult.errors"], (status, bad)
    for number, count in enumerate((1, 7, 123456), 1):
        sent(assigned, {**MATCHING["failed"], "errors": count}, number)
        assert assigned.file("team-lead")["messages"][-1]["buildResult"]["errors"] == count


@pytest.mark.proves("S0-BR-08")
def test_what_ran_is_named(assigned: Project) -> None:
    for status in ("success", "failed"):
        assert refused(assigned, {**MATCHING[status], "command": ""}) == ["buildResult.command"]
    for status in BUILD_STATUSES:
        for bad in (None, 7, ["make"]):
            assert refused(assigned, {**MATCHING[status], "command": bad}) == ["buildResult.command"]
    for number, status in enumerate(("not_applicable", "not_verified"), 1):
        sent(assigned, {**MATCHING[status], "command": ""}, number)
        assert assigned.state(f"task-{number:03}") == "awaiting_review"


@pytest.mark.proves("S0-BR-09")
@pytest.mark.parametrize("way", ["surface", "file"])
def test_each_status_passes_log_and_mirror_unchanged(assigned: Project, way: str) -> None:
    project = assigned
    for number, status in enumerate(BUILD_STATUSES, 1):
        name, message = f"task-{number:03}", report(f"task-{number:03}", buildResult=MATCHING[status])
        project.assign(assignment(name))
        if way == "file":
            project.append("team-lead", message)
            project.look()
        else:
            project.report(message)
        assert project.file("team-lead")["messages"][-1] == message
        assert list(project.file("team-lead")["messages"][-1]["buildResult"]) == list(MATCHING[status])
        assert project.events("message:sent")[-1].data["data"] == message
        assert project.state(name) == "awaiting_review"
    assert project.held() == []
