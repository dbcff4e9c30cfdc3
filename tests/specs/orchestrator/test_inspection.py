"""Inspection: what is going on, what happened and why, in JSON and in the text that agents read."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from moot import Workspace
from tests.specs.orchestrator.project import LaterClock, Project
from tests.specs.orchestrator.samples import STATES, assignment, report

BUILD = [sys.executable, "-c", "print('src/a.ts(3,7): error TS2304'); raise SystemExit(2)"]


@pytest.fixture
def team(project: Project) -> Project:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    return project


def lived(project: Project) -> None:
    """A task with two attempts, and its messages cleared."""
    project.assign(agent="Lead")
    project.cli("check", "--task", "task-001", "--", *BUILD, agent="Dev")
    project.report(
        report(summary="First try.\nIt does not build.", build="failed", build_errors=1, build_output="TS2304")
    )
    project.run("task reject", "Lead", task="task-001", reason="It does not build.\nSee the output.")
    project.run("task reopen", "Lead", task="task-001")
    project.assign(assignment(instructions="Make it build, please."), "Lead")
    project.report(report(summary="Second try."))
    project.run("task approve", "Lead", task="task-001")


@pytest.mark.proves("S0-INS-01")
def test_the_board_of_a_state_has_attempt_holder_and_time(project: Project) -> None:
    project.clock = clock = LaterClock()
    project.join("Lead", "team-lead")
    project.assign(agent="Lead")
    project.report()
    project.run("task reject", "Lead", task="task-001", reason="Again.")
    project.run("task reopen", "Lead", task="task-001")
    project.assign(assignment(instructions="Again."), "Lead")
    clock.passed += 12 * 60
    project.assign(assignment("task-002"), "Lead")
    answer = project.run("board", state="in_progress")
    assert [(task.id, task.attempt, task.holder) for task in answer.result["tasks"]] == [
        ("task-001", 2, "Lead#1"),
        ("task-002", 1, "Lead#1"),
    ]
    assert answer.result["tasks"][0].since < answer.result["tasks"][1].since
    assert answer.say[0] == "task-001 in_progress Lead Task Title (attempt 2, 12m)"
    assert answer.say[1] == "task-002 in_progress Lead Task Title (attempt 1, 0s)"
    assert answer.table is not None
    assert (answer.table.columns[-1], answer.table.rows[0][-1]) == ("for", "attempt 2, 12m")
    assert project.run("board", state="rejected").result["tasks"] == []
    assert project.refusal("board", state="somewhere").code == "unknown_state"
    for state in STATES:
        assert project.voice("board", "--state", state).code == 0


@pytest.mark.proves("S0-INS-02")
def test_one_query_shows_what_is_unread_in_both_mailboxes(project: Project) -> None:
    project.clock = clock = LaterClock()
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    assert [(box["name"], box["unread"]) for box in project.ask("mailboxes")] == [
        ("@team-lead", []),
        ("@developer", []),
    ]
    first = project.assign(agent="Lead")["id"]
    clock.passed += 90
    second = project.assign(assignment("task-002"), "Lead")["id"]
    read = project.assign(assignment("task-003"), "Lead")["id"]
    project.run("ack", "Dev", ids=[read])
    told = project.report(report("task-003"))["id"]
    clock.passed += 30
    lead, dev = project.ask("mailboxes")
    assert [(m["id"], m["type"], m["task"]) for m in dev["unread"]] == [
        (first, "task_assignment", "task-001"),
        (second, "task_assignment", "task-002"),
    ]
    assert [(m["id"], m["type"], m["task"], m["sender"]) for m in lead["unread"]] == [
        (told, "completion_report", "task-003", "Dev")
    ]
    assert [int(m["age"]) // 10 for m in dev["unread"]] == [12, 3]
    said = project.run("mailboxes").say
    assert said[0] == "@team-lead: 1 unread, last read never"
    assert said[1] == f"  {told} completion_report from Dev about task-003, 30s old"
    assert any(line == f"  {first} task_assignment from Lead about task-001, 2m old" for line in said)
    # The same over every surface; reading it marks nothing as read.
    with Workspace(project.root) as workspace:
        assert [[m.id for m in box.unread] for box in workspace.mailboxes()] == [[told], [first, second]]
    assert [len(box["unread"]) for box in project.cli("mailboxes").result] == [1, 2]
    # What is hidden from the file by hand stays unread; what a completed task leaves behind does not count.
    project.write("developer", [])
    project.look()
    assert [m["id"] for m in project.ask("mailboxes")[1]["unread"]] == [first, second]
    project.run("task approve", "Lead", task="task-003")
    assert project.ask("mailboxes")[0]["unread"] == []


@pytest.mark.proves("S0-INS-03")
def test_the_whole_history_of_a_task_can_be_printed_after_its_mailboxes_were_cleared(team: Project) -> None:
    lived(team)
    assert team.file("developer")["messages"] == team.file("team-lead")["messages"] == []
    told = team.cli("explain", "task-001").result
    types = [event["type"] for event in told]
    assert [event["position"] for event in told] == sorted(event["position"] for event in told)
    assert types.count("message:sent") == 4
    assert types.count("receipt:recorded") == 1
    assert [kind for kind in types if kind.startswith("task:") and kind != "task:described"] == [
        "task:added",
        "task:started",
        "task:submitted",
        "task:rejected",
        "task:reopened",
        "task:started",
        "task:submitted",
        "task:approved",
    ]
    assert types.count("mailbox:cleared") >= 3  # both mailboxes at the reset, and at the end
    assert [event["data"]["data"]["summary"] for event in told if event["data"].get("kind") == "completion_report"] == [
        "First try.\nIt does not build.",
        "Second try.",
    ]
    # In text: short by default, with every word on request.
    short, full = team.voice("explain", "task-001").out, team.voice("explain", "task-001", "--full").out
    assert "Make it build, please." not in short
    for text in (
        "Detailed implementation instructions",
        "First try.\\nIt does not build.",
        "Make it build, please.",
        "Second try.",
        '"output": "TS2304"',
        "> src/a.ts(3,7): error TS2304",
        "> It does not build.\n> See the output.",
    ):
        assert text in full, text
    heads = [line for line in full.splitlines() if line.startswith("#")]
    assert heads == short.splitlines()


@pytest.mark.proves("S0-INS-04")
@pytest.mark.parametrize("voice", ["json", "text", "python"])
def test_one_query_says_why_a_task_was_rejected(team: Project, voice: str) -> None:
    team.assign(agent="Lead")
    first = team.report()["id"]
    team.run("task reject", "Lead", task="task-001", reason="No tests.")
    team.run("task reopen", "Lead", task="task-001")
    team.assign(assignment(instructions="With tests."), "Lead")
    second = team.report(report(summary="With tests."))["id"]
    team.join("Other", "team-lead")
    team.run("task reject", "Other", task="task-001", reason="The tests fail.")
    if voice == "text":
        said = team.voice("task", "show", "task-001").out
        assert f"attempt 1: reject on {first} by Lead: No tests." in said
        assert f"attempt 2: reject on {second} by Other: The tests fail." in said
        assert f"report: {second} from Dev" in said
        return
    if voice == "json":
        task: dict[str, Any] = team.cli("task", "show", "task-001").result["task"]
    else:
        with Workspace(team.root) as workspace:
            task = workspace.task_show("task-001").task.full()
    steps = [(s["attempt"], s["by"], s["report"], s["reason"]) for s in task["setbacks"] if s["verb"] == "reject"]
    assert steps == [(1, "Lead#1", first, "No tests."), (2, "Other#1", second, "The tests fail.")]
    assert (task["verdict"]["report"], task["verdict"]["reason"]) == (second, "The tests fail.")


@pytest.mark.proves("S0-INS-04")
def test_a_rejection_in_progress_has_no_report(team: Project) -> None:
    team.assign(agent="Lead")
    team.run("task reject", "Lead", task="task-001", reason="No longer wanted.")
    (step,) = team.cli("task", "show", "task-001").result["task"]["setbacks"]
    assert (step["report"], step["reason"], step["by"]) == (None, "No longer wanted.", "Lead#1")
    assert "attempt 1: reject by Lead: No longer wanted." in team.voice("task", "show", "task-001").out


@pytest.mark.proves("S0-INS-01")
def test_the_board_shows_rejected_tasks_until_they_are_reopened(team: Project) -> None:
    team.assign(agent="Lead")
    team.run("task reject", "Lead", task="task-001", reason="Not like this.")
    assert team.run("board").say[0] == "task-001 rejected Task Title"
    team.run("task reopen", "Lead", task="task-001")
    assert [task.state for task in team.run("board").result["tasks"]] == ["pending"]
    assert team.run("board", all=True).result["counts"] == {"pending": 1}


@pytest.mark.proves("S0-INS-07")
def test_the_log_of_a_task_has_its_messages_newest_last_with_a_limit(team: Project) -> None:
    lived(team)
    team.assign(assignment("task-002"), "Lead")
    team.append("team-lead", report("task-099"))
    team.look()
    told = team.cli("explain", "task-001").result
    found = team.cli("log", "--task", "task-001", "--limit", "1000").result
    assert [event["position"] for event in found] == [event["position"] for event in told]
    last = team.cli("log", "--task", "task-001", "--limit", "3").result
    assert last == found[-3:]
    assert not any("task-002" in json.dumps(event) for event in found)
    assert [event["type"] for event in team.cli("log", "--task", "task-001", "--type", "receipt:*").result] == [
        "receipt:recorded"
    ]
    after = found[4]["position"]
    assert team.cli("log", "--task", "task-001", "--after", str(after)).result == found[5:]
    said = team.voice("log", "--task", "task-001", "--limit", "3").out.splitlines()
    assert [line.split()[0] for line in said] == [f"#{event['position']}" for event in last]
    with Workspace(team.root) as workspace:
        assert [event.position for event in workspace.log(task="task-001", limit=3)] == [e["position"] for e in last]
    # A task that exists only as a held report has a history, too; another one has none.
    assert {event["type"] for event in team.cli("log", "--task", "task-099").result} >= {"entry:held"}
    assert team.cli("log", "--task", "task-404").json["error"] == "unknown_task"


def after_a_follower(team: Project) -> list[str]:
    """What happens while somebody follows task-001. Returns the ids of the messages about it."""
    ids = [team.assign(assignment("task-001", instructions="News."), "Lead")["id"]]
    team.assign(assignment("task-002"), "Lead")
    team.run("ack", "Dev", ids=ids)
    team.cli("check", "--task", "task-001", "--", "true", agent="Dev")
    return [*ids, team.report()["id"]]


@pytest.mark.proves("S0-INS-07")
def test_the_log_of_a_task_can_be_followed_live(team: Project) -> None:
    team.assign(agent="Lead")
    follower = team.start("log", "--follow", "--task", "task-001", "--limit", "2")
    try:
        assert follower.stdout is not None
        follower.stdout.readline()  # it follows from here on
        messages = after_a_follower(team)
        streams: list[str] = []
        while f"message/{messages[-1]}" not in streams or "task/task-001" not in streams:
            line = follower.stdout.readline()
            assert line
            streams.append(json.loads(line)["stream"])
    finally:
        follower.terminate()
        follower.communicate()
    assert {f"message/{name}" for name in messages} <= set(streams)
    assert "mailbox/@developer" in streams  # the assignment was read
    assert any(stream.startswith("receipt/") for stream in streams)
    assert "task/task-002" not in streams


# Roles and places


@pytest.mark.proves("S0-ROLE-02")
@pytest.mark.parametrize("way", ["file", "cli"])
def test_the_developers_part_from_its_assignment_to_its_accepted_report(team: Project, way: str) -> None:
    """Input: the assignment of its current task. Output: one report per attempt. Then its part is finished."""
    for attempt in (1, 2):
        team.assign(assignment(instructions=f"Attempt {attempt}."), "Lead")
        if way == "cli":
            taken = team.cli("instructions", "task-001", agent="Dev").result
            team.run("ack", "Dev", ids=[taken["in_force"]])
            assert team.cli("instructions", agent="Dev").result["task"] == "task-001"  # its current task
            given = taken["messages"][-1]["data"]
        else:
            (given,) = team.file("developer")["messages"]
        assert given["instructions"] == f"Attempt {attempt}."
        data = report(summary=f"Done {attempt}.", timestamp=f"2024-01-0{attempt}T00:00:00.000Z")
        assert {"filesCreated", "filesModified", "buildResult"} <= data.keys()
        if way == "cli":
            assert team.cli_send(data, "Dev").code == 0
            assert team.cli_send(data, "Dev").result["repeated"]  # one report per attempt
        else:
            team.append("team-lead", data)
            team.look()
            team.append("team-lead", data)
            team.look()
        assert team.state() == "awaiting_review"
        assert team.cli("instructions", agent="Dev").json["error"] == "no_current_task"
        # Nothing that is left to do is the developer's.
        for verb in ("approve", "reject", "reopen", "claim"):
            assert (
                team.refusal(
                    f"task {verb}", "Dev", task="task-001", **({} if verb in ("approve", "claim") else {"reason": "x"})
                ).kind
                == "refused"
            )
        if attempt == 1:
            team.run("task reject", "Lead", task="task-001", reason="Again.")
            team.run("task reopen", "Lead", task="task-001")
    reports = [m for m in team.mailbox("team-lead", all=True) if m["type"] == "completion_report"]
    assert [(m["attempt"], m["data"]["summary"]) for m in reports][:1] == [(1, "Done 1.")]
    assert {m["attempt"] for m in reports} == {1, 2}
