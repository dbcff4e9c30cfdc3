"""The task queue: `queue.json` shows the tasks of the log, and what the lead changes in it happens to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.specs.orchestrator.project import LOG, QUEUE, Project
from tests.specs.orchestrator.samples import STATES, assignment, report, without

ENTRY_KEYS = ["id", "title", "description", "type", "priority", "platform", "status", "createdAt", "updatedAt"]


def in_review(project: Project, task: str = "task-001", **changes: Any) -> None:
    project.assign(assignment(task))
    project.report(report(task, **changes))


def statuses(project: Project) -> dict[str, list[tuple[str, str]]]:
    content = project.queue()
    return {name: [(entry["id"], entry["status"]) for entry in content[name]] for name in ("tasks", "completed")}


# The shape


@pytest.mark.proves("S0-LOC-04")
def test_the_queue_has_its_five_keys_and_a_task_moves_between_the_lists(project: Project) -> None:
    assert project.queue() == {"version": "1.0", "tasks": [], "completed": [], "current": None, "lastUpdated": None}
    in_review(project)
    project.assign(assignment("task-002"))
    project.run("task add", title="Later")
    project.assign(assignment("task-004"))
    project.run("task reject", task="task-004", reason="Not now.")
    content = project.queue()
    assert list(content) == ["version", "tasks", "completed", "current", "lastUpdated"]
    assert statuses(project) == {
        "tasks": [
            ("task-001", "awaiting_review"),
            ("task-002", "in_progress"),
            ("task-003", "pending"),
            ("task-004", "rejected"),
        ],
        "completed": [],
    }
    assert content["current"] == "task-002"  # started after task-001; task-004 is rejected
    assert content["lastUpdated"] == max(entry["updatedAt"] for entry in content["tasks"])
    project.run("task approve", task="task-001")
    assert statuses(project)["completed"] == [("task-001", "completed")]
    assert "task-001" not in dict(statuses(project)["tasks"])
    project.run("task reopen", task="task-001", reason="It broke.")
    assert statuses(project)["completed"] == []
    assert dict(statuses(project)["tasks"])["task-001"] == "pending"
    project.run("task reject", task="task-002", reason="Not now.")
    assert project.queue()["current"] is None


@pytest.mark.proves("S0-LOC-05")
def test_an_entry_has_the_keys_of_a_task_and_keeps_those_that_others_add(project: Project) -> None:
    project.run("task add", title="Plain")
    assert list(project.entry()) == ENTRY_KEYS
    assert project.entry() == {
        "id": "task-001",
        "title": "Plain",
        "description": "",
        "type": "feature",
        "priority": "medium",
        "platform": None,
        "status": "pending",
        "createdAt": project.task().added_at,
        "updatedAt": project.task().changed_at,
    }
    whole = {
        "title": "Whole",
        "description": "All of it\nin two lines",
        "type": "bugfix",
        "priority": "high",
        "platform": "ios",
        "acceptanceCriteria": ["works", {"offline": True}],
        "estimate": 3,
        "owner": {"name": "Ü", "since": None},
    }
    project.enqueue(whole)
    project.look()
    entry = project.entry("task-002")
    assert {name: entry[name] for name in whole} == whole
    assert list(entry) == [*ENTRY_KEYS, "acceptanceCriteria", "estimate", "owner"]
    for priority in ("critical", "high", "medium", "low"):
        project.edit("task-002", priority=priority, owner=priority)
        project.look()
        assert project.entry("task-002")["priority"] == project.entry("task-002")["owner"] == priority
        assert project.task("task-002").priority == priority
    in_review(project, "task-003")
    project.run("task reject", task="task-003", reason="No tests.")
    assert project.entry("task-003")["rejectionReason"] == "No tests."
    assert project.held() == []


@pytest.mark.proves("S0-LOC-05", "S0-LOC-14")
def test_values_that_moot_does_not_know_are_kept_and_only_a_title_and_an_id_must_be_right(project: Project) -> None:
    odd = {"priority": "urgent", "platform": "web|android|ios|custom", "type": "", "description": 7}
    project.enqueue({"title": "Good", **odd})
    project.look()
    assert {name: project.entry()[name] for name in odd} == odd
    project.assign()  # the platform of the assignment is taken, because that one is none
    assert project.entry()["status"] == "in_progress"
    project.edit(priority="high", description="More", owner=None)
    project.look()
    assert [project.entry()[name] for name in ("priority", "description", "type")] == ["high", "More", ""]
    project.edit(priority="someday")
    project.look()
    assert (project.entry()["priority"], project.task().priority) == ("someday", "medium")
    assert project.held() == []
    for wrong, place in (({"title": " "}, "title"), ({"id": "a/b"}, "id")):
        project.enqueue({"title": "Bad", **wrong})
        project.look()
        held = next(one for one in project.held() if json.loads(one["raw"]) == {"title": "Bad", **wrong})
        assert (held["code"], held["path"]) == ("bad_entry", QUEUE)
        assert [defect["path"] for defect in held["defects"]] == [place]
    assert len(project.queue()["tasks"]) == 1


@pytest.mark.proves("S0-LOC-05")
def test_keys_of_the_file_that_moot_does_not_know_are_kept(project: Project) -> None:
    project.write_queue({**project.queue(), "project": {"name": "shop", "tags": ["a"]}, "mode": None})
    project.look()
    project.run("task add", title="More")
    content = project.queue()
    assert content["project"] == {"name": "shop", "tags": ["a"]}
    assert "mode" in content
    project.write_queue(without(content, "project"))
    project.look()
    assert project.queue()["project"] == {"name": "shop", "tags": ["a"]}  # leaving it out has no effect


# Ids and order


@pytest.mark.proves("S0-LOC-06")
def test_entries_without_an_id_get_the_next_number_and_no_number_is_used_twice(project: Project) -> None:
    project.enqueue({"title": "One"}, {"id": "task-007", "title": "Chosen"}, {"id": None, "title": "Two"})
    project.look()
    titles = {entry["title"]: entry["id"] for entry in project.queue()["tasks"]}
    assert titles == {"One": "task-008", "Chosen": "task-007", "Two": "task-009"}
    project.enqueue({"id": "task-999", "title": "High"})
    project.look()
    project.enqueue({"title": "Beyond"})
    assert project.ask("task add", title="Further")["id"] == "task-1001"
    assert project.entry("task-1000")["title"] == "Beyond"
    project.run("task claim", task="task-1001")
    project.run("task reject", task="task-1001", reason="Not needed.")
    assert project.ask("task add", title="Again")["id"] == "task-1002"


@pytest.mark.proves("S0-LOC-06", "S0-HRD-23")
def test_an_old_copy_of_an_entry_that_got_its_id_since_makes_no_second_task(project: Project) -> None:
    template = {"version": "1.0", "tasks": [{"title": "One"}, {"title": "One"}, {"title": "Two"}], "completed": []}
    for _ in range(3):
        project.write_queue(template)
        project.look()
        assert [entry["title"] for entry in project.queue()["tasks"]] == ["One", "One", "Two"]
    project.enqueue({"title": "Two"})  # beside the entry with its id: a second one
    project.look()
    assert [entry["title"] for entry in project.queue()["tasks"]] == ["One", "One", "Two", "Two"]


@pytest.mark.proves("S0-HRD-31")
def test_an_id_that_another_task_has_is_refused_with_the_title_of_that_task(project: Project) -> None:
    old = project.queue()
    project.run("task add", title="Theirs")
    project.write_queue({**old, "tasks": [{"id": "task-001", "title": "Mine"}]})  # from before
    project.look()
    project.enqueue({"id": "task-001", "title": "Also mine"})
    project.look()
    assert [entry["title"] for entry in project.queue()["tasks"]] == ["Theirs"]
    assert [held["code"] for held in project.held()] == ["task_exists", "task_exists"]
    assert all("“Theirs”" in held["reason"] for held in project.held())


@pytest.mark.proves("S0-LOC-07")
def test_the_next_task_is_the_most_urgent_and_then_the_oldest(project: Project) -> None:
    project.join("Lead", "team-lead")
    for number, priority in enumerate(("low", "someday", "high", "medium", "critical"), 1):
        project.enqueue({"title": f"{priority} {number}", "priority": priority})
        project.look()
    expected = ["task-005", "task-003", "task-002", "task-004", "task-001"]
    assert [task["id"] for task in project.ask("ready")] == expected
    assert [entry["id"] for entry in project.queue()["tasks"]] == expected
    offered = [project.ask("task claim", "Lead")["id"] for _ in expected]
    assert offered == expected


# Changes in the file


@pytest.mark.proves("S0-LOC-08", "S0-LOC-14", "S0-ST-01")
def test_a_new_entry_keeps_its_state_and_without_one_that_of_its_list(project: Project) -> None:
    content = project.queue()
    content["tasks"] = [{"id": state, "title": state, "status": state} for state in STATES]
    content["tasks"] += [{"id": "none", "title": "none"}, {"id": "null", "title": "null", "status": None}]
    content["completed"] = [{"id": "listed", "title": "listed"}]
    content["rejected"] = [{"id": "refused", "title": "refused", "rejectionReason": "Not now."}]
    project.write_queue(content)
    project.look()
    expected = {**dict(zip(STATES, STATES, strict=True)), "none": "pending", "null": "pending"}
    expected |= {"listed": "completed", "refused": "rejected"}
    assert {task["id"]: task["state"] for task in project.ask("board", all=True)["tasks"]} == expected
    assert all(project.task(name).creator == "role:team-lead" for name in expected)
    assert [e["id"] for e in project.queue()["rejected"]] == ["rejected", "refused"]
    assert project.task("refused").setbacks[-1].reason == "Not now."
    assert project.held() == []
    for status in ("done", 7):
        project.enqueue({"id": f"s{status}", "title": "New", "status": status})
        project.look()
        assert project.state(f"s{status}") == "pending"
    assert [held["code"] for held in project.held()] == ["unknown_state"] * 2


@pytest.mark.proves("S0-LOC-15", "S0-ST-11", "S0-ST-03", "S0-LOC-08")
def test_an_edit_that_is_several_moves_ahead_is_recorded_on_the_lifecycles_path(project: Project) -> None:
    """Each path, with the moves that are inferred."""
    paths = {
        ("pending", "awaiting_review", ""): "in_progress! awaiting_review!",
        ("pending", "completed", ""): "in_progress! awaiting_review! completed",
        ("pending", "rejected", "No."): "in_progress! rejected",
        ("in_progress", "awaiting_review", ""): "awaiting_review!",
        ("in_progress", "completed", ""): "awaiting_review! completed",
        ("in_progress", "pending", "No."): "rejected! pending",
        ("awaiting_review", "pending", "No."): "rejected! pending",
        ("awaiting_review", "in_progress", "No."): "rejected! pending! in_progress",
        ("rejected", "in_progress", ""): "pending! in_progress",
        ("rejected", "completed", ""): "pending! in_progress! awaiting_review! completed",
    }
    project.enqueue(*({"id": f"task-{n}", "title": "T", "status": now} for n, (now, _, _) in enumerate(paths)))
    project.look()
    for number, (now, wanted, reason) in enumerate(paths):
        project.edit(f"task-{number}", status=wanted, **({"rejectionReason": reason} if reason else {}))
        project.look()
        moves = [e.data for e in project.events() if e.stream == f"task/task-{number}" and "target" in e.data]
        flagged = (m["target"] + "!" * any(f.startswith("inferred") for f in m.get("flags", ())) for m in moves)
        assert " ".join(flagged) == paths[now, wanted, reason], (now, wanted)
        assert project.state(f"task-{number}") == wanted
        assert project.entry(f"task-{number}")["status"] == wanted
    assert project.held() == []


@pytest.mark.proves("S0-LOC-08", "S0-LOC-15", "S0-ERR-07", "S0-ST-08")
def test_a_status_that_no_path_reaches_is_held_and_the_file_shows_the_true_one(project: Project) -> None:
    refused = {
        ("pending", "rejected"): "reason_missing",
        ("in_progress", "rejected"): "reason_missing",
        ("awaiting_review", "rejected"): "reason_missing",
        ("in_progress", "pending"): "no_such_move",
        ("awaiting_review", "pending"): "no_such_move",
        ("awaiting_review", "in_progress"): "no_such_move",
        ("completed", "pending"): "explicit_only",
        ("completed", "in_progress"): "no_such_move",
        ("completed", "rejected"): "no_such_move",
        ("pending", "finished"): "unknown_state",
    }
    project.enqueue(*({"id": f"task-{n}", "title": "T", "status": now} for n, (now, _) in enumerate(refused)))
    project.look()
    for number, (pair, code) in enumerate(refused.items()):
        name = f"task-{number}"
        before = project.entry(name)
        project.edit(name, status=pair[1], **({"rejectionReason": " \t"} if code == "reason_missing" else {}))
        warnings = project.look()
        assert project.entry(name) == before
        assert (project.state(name), project.moves(name)) == (pair[0], [])
        (held,) = [one for one in project.held() if one["task"] == name]
        assert (held["code"], held["path"], json.loads(held["raw"])["status"]) == (code, QUEUE, pair[1])
        assert held["id"] in warnings["entry_held"]
    project.look()
    assert len(project.held()) == len(refused)


@pytest.mark.proves("S0-LOC-08")
def test_a_verdict_on_a_report_of_the_same_moment_is_taken(project: Project) -> None:
    """moot may see both files only after both were written."""
    project.assign()
    project.append("team-lead", report())
    project.edit(status="completed")
    project.look()
    assert project.state() == "completed"
    assert project.held() == []


@pytest.mark.proves("S0-LOC-08")
def test_a_reset_and_the_next_assignment_of_the_same_moment_are_taken(project: Project) -> None:
    project.assign()
    project.run("task reject", task="task-001", reason="Not now.")
    project.edit(status="pending")
    project.append("developer", assignment(timestamp="2024-01-02T00:00:00.000Z"))
    project.look()
    assert (project.state(), project.task().attempt) == ("in_progress", 2)
    assert project.held() == []


@pytest.mark.proves("S0-LOC-08")
def test_one_bad_entry_does_not_stop_the_others(project: Project) -> None:
    project.enqueue({"title": "One"}, "nonsense", {"title": ""}, {"title": "Two"})
    project.look()
    assert [entry["title"] for entry in project.queue()["tasks"]] == ["One", "Two"]
    assert sorted(held["raw"] for held in project.held()) == ['"nonsense"', '{\n      "title": ""\n    }']


@pytest.mark.proves("S0-LOC-08")
def test_leaving_an_entry_out_removes_nothing(project: Project) -> None:
    project.enqueue({"title": "One"}, {"title": "Two"})
    project.look()
    before = project.queue()
    for content in ({"tasks": []}, {"tasks": [{"id": "task-002"}]}, {**before, "tasks": before["tasks"][1:]}):
        project.write_queue(content)
        project.look()
        assert project.queue() == before
    assert project.held() == []


@pytest.mark.proves("S0-LOC-08")
def test_of_a_finished_task_only_the_keys_of_others_can_be_changed(project: Project) -> None:
    in_review(project)
    project.edit(status="completed")
    project.look()
    project.edit(title="Rewritten")
    project.look()
    assert project.entry()["title"] == "Task Title"
    assert [held["code"] for held in project.held()] == ["task_ended"]
    project.edit(reviewed="by hand")
    project.look()
    assert project.entry()["reviewed"] == "by hand"


@pytest.mark.proves("S0-HRD-15")
@pytest.mark.parametrize("build", ["failed", "not_verified", "success", "not_applicable"])
def test_an_unproven_build_is_approved_in_the_file_and_the_approval_is_flagged(project: Project, build: str) -> None:
    in_review(project, build=build)
    project.edit(status="completed")
    project.look()
    assert project.state() == "completed"
    (approval,) = project.events("task:approved")
    unproven = build in ("failed", "not_verified")
    flag = f"approved_although: build {build}"
    assert approval.data.get("flags", []) == ([flag] if unproven else [])
    assert any("[WARN]" in line and flag in line for line in project.journal()) == unproven
    story = project.cli("explain", "task-001").result
    assert [e["data"].get("flags", []) for e in story if e["type"] == "task:approved"] == [
        approval.data.get("flags", [])
    ]


@pytest.mark.proves("S0-ERR-08")
def test_the_reason_of_a_rejection_is_in_the_queue_and_in_every_query(project: Project) -> None:
    in_review(project)
    project.run("task reject", task="task-001", reason="No tests.\nNone at all.")
    assert project.entry()["rejectionReason"] == "No tests.\nNone at all."
    shown = project.cli("task", "show", "task-001").result
    assert shown["task"]["setbacks"][-1]["reason"] == "No tests.\nNone at all."
    (listed,) = project.cli("board", "--state", "rejected").result["tasks"]
    assert listed["setbacks"][-1]["reason"] == "No tests.\nNone at all."


@pytest.mark.proves("S0-INS-01")
def test_the_counts_of_the_board_agree_with_the_queue(project: Project) -> None:
    for number in range(1, 6):
        in_review(project, f"task-00{number}")
    project.run("task approve", task="task-001")
    project.run("task approve", task="task-002")
    project.run("task reject", task="task-003", reason="No.")
    project.assign(assignment("task-006"))
    project.run("task add", title="Seventh")
    content = project.queue()
    found: dict[str, int] = {}
    for entry in (*content["tasks"], *content["completed"]):
        found[entry["status"]] = found.get(entry["status"], 0) + 1
    assert found == project.cli("board").result["counts"]
    for state in STATES:
        listed = project.cli("board", "--state", state).result["tasks"]
        assert len(listed) == found[state]
        assert all(task["state"] == state and task["attempt"] == 1 and task["since"] for task in listed)
    assert [t["holder"] is not None for t in project.cli("board", "--state", "in_progress").result["tasks"]] == [True]


# Old copies


@pytest.mark.proves("S0-HRD-23")
def test_an_old_copy_of_the_queue_moves_no_task_back(project: Project) -> None:
    copies = [project.queue()]
    project.run("task add", title="Build it")
    copies.append(project.queue())
    project.assign()
    copies.append(project.queue())
    project.report()
    copies.append(project.queue())
    project.run("task approve", task="task-001")
    done, events = project.queue(), [event.position for event in project.events()]
    for old in copies:
        project.write_queue(old)
        project.look()
        assert project.queue() == done
    assert project.state() == "completed"
    news = [event for event in project.events() if event.position not in events]
    assert {event.type for event in news} <= {"feed:noted"}  # that a copy was old
    warned = [line for line in project.journal() if "[WARN]" in line and "old copy" in line]
    assert warned
    assert all("task-001" in line and QUEUE in line for line in warned)
    assert project.held() == []


@pytest.mark.proves("S0-HRD-23", "S0-LOC-08")
def test_an_older_time_alone_is_no_old_copy(project: Project) -> None:
    project.run("task add", title="Build it")
    project.edit(status="in_progress", updatedAt="2020-01-01T00:00:00Z")
    project.look()
    assert project.state() == "in_progress"
    project.edit(status="rejected", rejectionReason="Later.", updatedAt="2999-01-01T00:00:00Z")
    project.look()
    assert project.state() == "rejected"
    assert project.entry()["updatedAt"] < "2999"
    # a writer that has it all in mind, and looks at nothing: what the task has left behind is no way back
    content = {"version": "1.0", "tasks": [{"id": "task-001", "title": "Build it", "status": "in_progress"}]}
    project.write_queue(content)
    project.look()
    assert (project.state(), project.task().attempt) == ("in_progress", 2)
    project.report()
    project.write_queue(content)
    assert "task-001" in project.look()["queue_stale"]
    assert project.state() == "awaiting_review"
    assert project.held() == []


@pytest.mark.proves("S0-HRD-23")
def test_a_change_of_one_task_is_taken_although_another_has_moved_on(project: Project) -> None:
    project.enqueue({"title": "One"}, {"title": "Two"})
    project.look()
    old = project.queue()
    project.assign(assignment("task-002"))
    old["tasks"][0]["status"] = "in_progress"
    project.write_queue(old)
    project.look()
    assert (project.state("task-001"), project.state("task-002")) == ("in_progress", "in_progress")
    assert project.held() == []


# The role


@pytest.mark.proves("S0-ROLE-01", "S0-LOC-08", "S0-ST-06", "S0-ERR-08", "S0-ERR-09")
def test_the_lead_takes_tasks_and_reports_and_puts_out_one_assignment_and_one_verdict(project: Project) -> None:
    """By files alone, over two rejections, whose reasons the next attempt sees."""
    project.enqueue({"title": "Build it", "platform": "web"})
    project.look()
    reasons = {1: "No tests.", 2: "Still none."}
    for attempt in (1, 2, 3):
        task = next(entry for entry in project.queue()["tasks"] if entry["status"] == "pending")  # its first input
        assert task.get("rejectionReason") == reasons.get(attempt - 1)  # what this attempt must deal with
        stamp = f"2024-01-0{attempt}T00:00:00.000Z"
        project.append("developer", assignment(task["id"], timestamp=stamp))
        project.look()
        project.append("team-lead", report(task["id"], timestamp=stamp))
        project.look()
        (found,) = [m for m in project.file("team-lead")["messages"] if m["taskId"] == task["id"]]  # its second
        assert found["timestamp"] == stamp
        why = reasons.get(attempt)
        verdict = {"status": "rejected", "rejectionReason": why} if why else {"status": "completed"}
        project.edit(task["id"], **verdict)
        project.look()
        assert project.state() == verdict["status"]  # where its part ends
        if why:
            assert (project.entry()["rejectionReason"], project.task().setbacks[-1].reason) == (why, why)
            section = (project.root / LOG).read_text().partition(f"## Review of task-001, attempt {attempt}: rejected")
            assert section[2].partition("Rejection reason**: ")[2].startswith(why)
            project.edit(task["id"], status="pending")
            project.look()
            assert (project.state(), project.task().attempt) == ("pending", attempt + 1)
    assert "rejectionReason" not in project.entry()
    sent = project.events("message:sent")
    assert [(e.data["kind"], e.data["attempt"]) for e in sent if e.data["role"] == "team-lead"] == [
        ("task_assignment", attempt) for attempt in (1, 2, 3)
    ]
    verdicts = project.events("task:rejected", "task:reopened", "task:approved")
    assert [(e.type.partition(":")[2], e.data["attempt"]) for e in verdicts if e.type != "task:reopened"] == [
        ("rejected", 1),
        ("rejected", 2),
        ("approved", 3),
    ]
    assert {(e.via, e.by, e.data["role"]) for e in verdicts} == {(f"file {QUEUE}", "role:team-lead", "team-lead")}
    assert project.held() == []


@pytest.mark.proves("S0-BP-04")
def test_an_approval_in_the_file_clears_the_messages_of_its_task(project: Project) -> None:
    in_review(project)
    project.assign(assignment("task-002"))
    project.edit(status="completed")
    project.look()
    assert [message["taskId"] for message in project.file("developer")["messages"]] == ["task-002"]
    assert project.file("team-lead")["messages"] == []
    copy = {"messages": [assignment(), assignment("task-002")], "lastRead": None}
    project.write("developer", copy)  # an agent that forgot to clear
    project.look()
    assert [message["taskId"] for message in project.file("developer")["messages"]] == ["task-002"]
