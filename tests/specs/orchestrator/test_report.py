"""Message Types / 2. Completion Report: what it must say, and that it puts its task into review."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from moot.core import timestamps
from moot.logs.sqlite import SqliteLog
from tests.specs.orchestrator.project import FILES, Project, bodies
from tests.specs.orchestrator.samples import (
    BUILD_STATUSES,
    PLATFORMS,
    REPORT_FIELDS,
    TO_TEAM_LEAD,
    assignment,
    developer_file,
    report,
    team_lead_file,
    without,
)


@pytest.fixture
def assigned(project: Project) -> Project:
    """A project with the developer Dev, whose task-001 is in progress."""
    project.join("Dev", "developer")
    project.assign()
    return project


def refused(project: Project, message: dict[str, Any]) -> list[str]:
    """The places of the defects for which a report is refused."""
    said = project.refusal("send", "Dev", type="completion_report", data=message)
    assert said.code == "bad_message"
    assert "completion_report" in said.message
    assert all(place in said.message for place in said.places)
    assert project.state() == "in_progress"
    return said.places


@pytest.mark.proves("S0-CR-01")
def test_the_mailbox_of_the_lead_has_the_same_envelope(assigned: Project) -> None:
    project = assigned
    assert project.file("team-lead") == {"messages": [], "lastRead": None}
    project.assign(assignment("task-002"))
    project.report(report("task-002"))
    project.report(report("task-001"))
    assert list(project.file("team-lead")) == ["messages", "lastRead"]
    assert [m["taskId"] for m in project.file("team-lead")["messages"]] == ["task-002", "task-001"]
    project.join("Lead", "team-lead")
    project.run("ack", "Lead", ids=(project.mailbox("team-lead")[0]["id"],))
    assert timestamps.is_date_time(project.file("team-lead")["lastRead"])
    project.write("team-lead", {"version": 2, **project.file("team-lead")})
    project.look()
    assert list(project.file("team-lead")) == ["messages", "lastRead"]


@pytest.mark.proves("S0-CR-02")
def test_a_field_left_out_refuses_the_report(assigned: Project) -> None:
    for field in (name for name in REPORT_FIELDS if name not in ("type", "timestamp")):
        assert refused(assigned, without(report(), field)) == [field]
    assert refused(assigned, report(type="completion-report")) == ["type"]
    assert refused(assigned, report(timestamp="2024-01-01")) == ["timestamp"]
    said = assigned.cli_refusal(
        "send",
        "--type",
        "completion_report",
        "--data",
        "-",
        agent="Dev",
        given=json.dumps(without(report(), "summary")),
    )
    assert said.places == ["summary"]
    # On a surface moot stamps it, as it does for assignments.
    assigned.report(without(report(), "timestamp"))
    (sent,) = assigned.events("message:sent")[1:]
    assert assigned.file("team-lead")["messages"][0]["timestamp"] == sent.at


@pytest.mark.proves("S0-CR-02")
def test_a_field_left_out_holds_the_report_of_a_file(assigned: Project) -> None:
    project = assigned
    project.write("team-lead", [without(report(summary=f"without {name}"), name) for name in REPORT_FIELDS])
    project.look()
    held = project.held()
    assert len(held) == len(REPORT_FIELDS)
    for field in REPORT_FIELDS:
        item = next(item for item in held if field not in json.loads(item["raw"]))
        assert field in item["reason"]
        assert "completion_report" in item["reason"]
        assert [defect["path"] for defect in item["defects"]] == [field]
    assert project.state() == "in_progress"
    assert project.file("team-lead")["messages"] == project.mailbox("team-lead") == []


@pytest.mark.proves("S0-CR-03")
def test_a_report_on_a_task_that_nobody_knows_is_refused(assigned: Project) -> None:
    project = assigned
    project.assign(assignment("task-002"))
    project.assign(assignment("task-003"))
    project.report(report("task-003"))
    said = project.refusal("send", "Dev", type="completion_report", data=report("task-099"))
    assert said.kind == "unknown"
    assert "task-099" in said.message
    assert said.details["in_progress"] == ["task-001", "task-002"]
    assert "task-001, task-002" in said.remedy
    assert "task-003" not in said.text
    assert project.refusal("task show", task="task-099").code == "unknown_task"


@pytest.mark.proves("S0-CR-03")
def test_the_lead_is_told_of_such_a_report_in_a_file(assigned: Project) -> None:
    project = assigned
    project.join("Lead", "team-lead")
    project.write("team-lead", [report("task-099")])
    told = project.cli("inbox", agent="Lead").result["new"]
    assert [letter["type"] for letter in told] == ["note"]
    assert "task-099" in told[0]["text"]
    (held,) = project.held()
    assert held["id"] in told[0]["text"]
    assert held["task"] == "task-099"
    assert "task-001" in held["reason"]
    assert [task["id"] for task in project.ask("board", all=True)["tasks"]] == ["task-001"]


@pytest.mark.proves("S0-CR-04")
def test_the_platform_of_a_report_is_that_of_the_task(assigned: Project) -> None:
    project = assigned
    for bad in ("web|android|ios|custom", "Web", "linux", "", None, 3):
        assert refused(project, report(platform=bad)) == ["platform"]
    for other in (platform for platform in PLATFORMS if platform != "web"):
        said = project.refusal("send", "Dev", type="completion_report", data=report(platform=other))
        assert said.code == "platform_differs"
        assert "web" in said.message
        assert other in said.message
    project.write("team-lead", [report(platform="ios")])
    project.look()
    (held,) = project.held()
    assert "web" in held["reason"]
    assert "ios" in held["reason"]
    assert project.state() == "in_progress"
    for platform in PLATFORMS:
        project.assign(assignment(f"task-{platform}", platform=platform))
        project.report(report(f"task-{platform}", platform=platform))
        assert project.state(f"task-{platform}") == "awaiting_review"


@pytest.mark.proves("S0-CR-05")
def test_a_developer_cannot_finish_its_task_by_report(assigned: Project) -> None:
    words = (
        "completed",
        "done",
        "in_progress",
        "pending",
        "rejected",
        "Awaiting_Review",
        "awaiting review",
        "",
        None,
        True,
    )
    for word in words:
        assert refused(assigned, report(status=word)) == ["status"]
    assigned.write("team-lead", [report(status=word) for word in ("completed", "done")])
    assigned.look()
    assert [item["defects"][0]["path"] for item in assigned.held()] == ["status", "status"]
    assert assigned.state() == "in_progress"
    assigned.report(report(status="awaiting_review"))
    assert assigned.state() == "awaiting_review"


@pytest.mark.proves("S0-CR-06")
def test_a_summary_says_something(assigned: Project) -> None:
    for bad in ("", None, 7, ["done"], {}):
        assert refused(assigned, report(summary=bad)) == ["summary"]
    assigned.report(report(summary="x"))
    assert assigned.file("team-lead")["messages"][0]["summary"] == "x"


@pytest.mark.proves("S0-CR-07")
def test_both_file_lists_are_there_and_may_be_empty(assigned: Project) -> None:
    for field in ("filesCreated", "filesModified"):
        for bad in (None, "src/a.ts", {}, 0):
            assert refused(assigned, report(**{field: bad})) == [field]
        for wrong in ("", None, 7, ["a"]):
            assert refused(assigned, report(**{field: [wrong, "a"]})) == [f"{field}[0]"]
        assert refused(assigned, without(report(), field)) == [field]
    assigned.report(report(filesCreated=[], filesModified=[]))
    assert assigned.file("team-lead")["messages"] == [report(filesCreated=[], filesModified=[])]


@pytest.mark.proves("S0-CR-08")
def test_defects_of_the_build_result_are_told_with_their_full_path(assigned: Project) -> None:
    assert refused(assigned, report(build_status="ok")) == ["buildResult.status"]
    places = refused(assigned, report(build_status="done", build_errors="0", build_output=7))
    assert set(places) == {"buildResult.status", "buildResult.errors", "buildResult.output"}
    for whole in ("success", None, [], 0):
        assert refused(assigned, report(buildResult=whole)) == ["buildResult"]
    assert set(refused(assigned, report(buildResult={}))) == {
        "buildResult.status",
        "buildResult.command",
        "buildResult.errors",
    }


@pytest.mark.proves("S0-CR-09")
def test_report_and_review_are_one_append(assigned: Project) -> None:
    project = assigned
    project.report()
    project.assign(assignment("task-002"))
    project.write("team-lead", [*project.file("team-lead")["messages"], report("task-002")])
    project.look()
    for name, by in (("task-001", "Dev#1"), ("task-002", "role:developer")):
        (submitted,) = (e for e in project.events("task:submitted") if e.stream == f"task/{name}")
        (sent,) = (
            e for e in project.events("message:sent") if e.data["to"] == ["@team-lead"] and e.data["task"] == name
        )
        assert submitted.commit == sent.commit
        assert {submitted.n, sent.n} == {0, 1}
        assert (submitted.data["source"], submitted.data["target"]) == ("in_progress", "awaiting_review")
        assert submitted.by == sent.by == by
        assert project.task(name).report == sent.stream.partition("/")[2]


@pytest.mark.proves("S0-CR-09")
def test_nobody_who_looks_meanwhile_sees_the_one_without_the_other(project: Project) -> None:
    project.join("Dev", "developer")
    names = [f"task-{number:03}" for number in range(1, 21)]
    for name in names:
        project.assign(assignment(name))
    seen: set[tuple[int, int]] = set()
    done = threading.Event()

    def look_on() -> None:
        log = SqliteLog(project.session("Dev").place.state)
        while not done.is_set():
            kinds = [event.data.get("kind", event.type) for event in log.read(0, 10_000)]
            seen.add((kinds.count("completion_report"), kinds.count("task:submitted")))
        log.close()

    watcher = threading.Thread(target=look_on)
    watcher.start()
    try:
        for name in names:
            project.report(report(name))
    finally:
        done.set()
        watcher.join(timeout=60)
    assert len(seen) > 1
    assert all(reports == moves for reports, moves in seen)


@pytest.mark.proves("S0-CR-09")
def test_a_report_that_cannot_move_its_task_is_not_stored_either(assigned: Project) -> None:
    """Both or none: whatever refuses the second half takes the first with it."""
    project = assigned
    project.run("task reject", task="task-001", reason="Given up.")
    project.refusal("send", "Dev", type="completion_report", data=report())
    assert [event.data["kind"] for event in project.events("message:sent")] == ["task_assignment"]


@pytest.mark.proves("S0-CR-10")
def test_a_report_out_of_season_is_refused(project: Project) -> None:
    project.join("Dev", "developer")
    project.run("task add", title="Queued", id="task-001")

    def out_of_season(state: str) -> None:
        assert project.state() == state
        said = project.refusal("send", "Dev", type="completion_report", data=report(summary=f"while {state}"))
        assert said.code == "wrong_state"
        assert state in said.message
        project.append("team-lead", report(summary=f"by file while {state}"))
        project.look()
        (held,) = (item for item in project.held() if state in item["reason"])
        assert json.loads(held["raw"]) == report(summary=f"by file while {state}")
        assert project.state() == state

    out_of_season("pending")
    project.assign()
    project.run("task reject", task="task-001", reason="Wrong approach.")
    out_of_season("rejected")
    project.run("task reopen", task="task-001")
    project.assign()
    project.report()
    project.run("task approve", task="task-001")
    out_of_season("completed")
    assert len(project.held()) == 3


@pytest.mark.proves("S0-CR-11")
@pytest.mark.parametrize("status", BUILD_STATUSES)
def test_the_sample_report_is_accepted_after_the_sample_assignment(project: Project, status: str) -> None:
    platform = dict(zip(BUILD_STATUSES, PLATFORMS, strict=True))[status]
    sample = json.loads(team_lead_file(platform, status))
    project.write("developer", developer_file(platform))
    if status in ("success", "not_verified"):
        project.write("team-lead", team_lead_file(platform, status))
        project.look()
    else:
        project.join("Dev", "developer")
        assert project.cli_send(sample["messages"][0], "Dev").code == 0
    assert project.state() == "awaiting_review"
    assert project.file("team-lead") == sample
    assert list(project.file("team-lead")["messages"][0]) == list(json.loads(TO_TEAM_LEAD)["messages"][0])
    assert bodies(project.mailbox("team-lead")) == sample["messages"]
    assert project.held() == []
    assert FILES["team-lead"] == ".claude-orchestrator/tasks/messages/to-team-lead.json"
