"""Message Flow: two mailboxes, two directions, two types."""

from __future__ import annotations

import json

import pytest

from tests.specs.orchestrator.project import FILES, Project, bodies
from tests.specs.orchestrator.samples import assignment, developer_file, report, team_lead_file, without


@pytest.mark.proves("S0-FLOW-01")
def test_the_type_of_a_message_finds_its_mailbox(project: Project) -> None:
    project.join("Dev", "developer")
    assert project.cli_send(assignment()).result["to"] == ["@developer"]
    assert [m["type"] for m in project.file("developer")["messages"]] == ["task_assignment"]
    assert project.file("team-lead")["messages"] == []
    assert project.cli_send(report(), "Dev").result["to"] == ["@team-lead"]
    assert [m["type"] for m in project.file("team-lead")["messages"]] == ["completion_report"]
    assert [m["type"] for m in project.file("developer")["messages"]] == ["task_assignment"]


@pytest.mark.proves("S0-FLOW-01")
def test_there_are_two_mailboxes_and_a_message_goes_into_no_other(project: Project) -> None:
    assert set(FILES) == {"developer", "team-lead"}
    assert sorted(p.name for p in project.path("developer").parent.iterdir()) == [
        "to-developer.json",
        "to-team-lead.json",
    ]
    project.join("Dev", "developer")
    for to in ("@team-lead", "Dev", "@all"):
        said = project.refusal("send", type="task_assignment", data=assignment(), to=(to,))
        assert said.code == "wrong_mailbox"
        assert "@developer" in said.text
    assert project.refusal("mailbox", name="@tester").code == "unknown_mailbox"


@pytest.mark.proves("S0-FLOW-02")
def test_a_message_in_the_wrong_mailbox_is_held_and_told_where_it_belongs(project: Project) -> None:
    project.assign()
    project.write("developer", [*project.file("developer")["messages"], report()])
    project.write("team-lead", [assignment("task-002")])
    warnings = project.look()
    assert FILES["team-lead"] in warnings["entry_held"] or FILES["developer"] in warnings["entry_held"]
    held = {json.loads(item["raw"])["type"]: item for item in project.held()}
    assert held["completion_report"]["code"] == held["task_assignment"]["code"] == "wrong_mailbox"
    assert FILES["team-lead"] in held["completion_report"]["reason"]
    assert FILES["developer"] in held["task_assignment"]["reason"]
    assert held["completion_report"]["path"] == FILES["developer"]
    # Delivered to neither role, out of the files, and without effect on any task.
    assert bodies(project.mailbox("developer")) == project.file("developer")["messages"] == [assignment()]
    assert project.mailbox("team-lead") == project.file("team-lead")["messages"] == []
    assert project.state() == "in_progress"
    assert [task["id"] for task in project.ask("board", all=True)["tasks"]] == ["task-001"]


@pytest.mark.proves("S0-FLOW-03")
def test_each_message_is_for_one_role_to_send(project: Project) -> None:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    project.join("Guest")
    said = project.cli_refusal(
        "send", "--type", "task_assignment", "--data", "-", agent="Dev", given=json.dumps(assignment())
    )
    assert said.code == "wrong_role"
    assert "team-lead" in said.message
    assert project.refusal("send", "Guest", type="task_assignment", data=assignment()).code == "wrong_role"
    project.assign(agent="Lead")
    for caller in ("Lead", "Guest", None):
        said = project.refusal("send", caller, type="completion_report", data=report())
        assert said.code == "wrong_role"
        assert "developer" in said.message
    assert project.state() == "in_progress"
    project.report(agent="Dev")
    assert project.state() == "awaiting_review"


@pytest.mark.proves("S0-FLOW-04")
def test_the_drawn_loop_is_replayed(project: Project) -> None:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    sent = project.cli_send(assignment(), "Lead").result
    read = project.cli("instructions", "task-001", agent="Dev").result
    assert read["in_force"] == sent["id"]
    assert bodies(read["messages"]) == [assignment()]
    assert project.cli("ack", sent["id"], agent="Dev").code == 0
    answered = project.cli_send(report(), "Dev").result
    got = project.cli("mailbox", "@team-lead", "--task", "task-001", agent="Lead").result
    assert [letter["id"] for letter in got["messages"]] == [answered["id"]]
    assert project.cli("ack", answered["id"], agent="Lead").code == 0
    assert [m["type"] for m in project.file("developer")["messages"]] == ["task_assignment"]
    assert [m["type"] for m in project.file("team-lead")["messages"]] == ["completion_report"]
    assert project.state() == "awaiting_review"


@pytest.mark.proves("S0-FLOW-04")
def test_a_pair_that_writes_only_the_samples_gets_into_review(project: Project) -> None:
    project.write("developer", developer_file())
    project.look()
    assert project.file("developer")["messages"][0]["taskId"] == "task-001"
    project.write("team-lead", team_lead_file())
    project.look()
    assert project.state() == "awaiting_review"
    assert project.file("developer") == json.loads(developer_file())
    assert project.file("team-lead") == json.loads(team_lead_file())
    assert project.held() == []


@pytest.mark.proves("S0-FLOW-05")
def test_a_type_that_is_none_of_the_two_is_refused_on_a_surface(project: Project) -> None:
    for kind in ("status_update", "", "TASK_ASSIGNMENT", "task_assignment "):
        said = project.refusal("send", type=kind, data=assignment())
        assert said.code == "unknown_type"
        assert "task_assignment" in said.remedy
        assert "completion_report" in said.remedy
    for kind in ("status_update", "", None, 7, "completion_report"):
        said = project.refusal("send", type="task_assignment", data=assignment(type=kind))
        assert "type" in said.places
        assert "task_assignment" in said.text
        assert "completion_report" in said.text


@pytest.mark.proves("S0-FLOW-05")
def test_a_type_that_is_none_of_the_two_is_held_from_a_file(project: Project) -> None:
    odd = [assignment(type=kind) for kind in ("status_update", "", None, 7, ["task_assignment"])]
    project.write("developer", [without(assignment(), "type"), *odd, "task_assignment", None, 7, []])
    project.look()
    held = project.held()
    assert len(held) == 10
    for item in held:
        assert item["code"] == "unknown_type"
        assert "task_assignment" in item["reason"]
        assert "completion_report" in item["reason"]
    assert project.file("developer")["messages"] == project.mailbox("developer") == []
    assert project.ask("board", all=True)["tasks"] == []
