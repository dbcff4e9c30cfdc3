"""Message Lifecycle / Reading Messages: looking is not reading; confirming is."""

from __future__ import annotations

import json
import re

import pytest

from tests.person import ME
from tests.specs.orchestrator.project import FILES, Project, ShiftedClock, bodies
from tests.specs.orchestrator.samples import assignment, report

MILLISECONDS = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def read_states(project: Project) -> dict[str, list[str | None]]:
    """Who confirmed each message, mailbox by mailbox."""
    return {role: [letter["taker"] for letter in project.mailbox(role, all=True)] for role in FILES}


@pytest.fixture
def staffed(project: Project) -> Project:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    return project


@pytest.mark.proves("S0-RD-01")
def test_a_mailbox_is_read_in_the_order_of_arrival(staffed: Project) -> None:
    project = staffed
    for role in FILES:
        empty = project.cli("mailbox", f"@{role}").result
        assert (empty["messages"], empty["last_read"]) == ([], None)
    project.assign(assignment("task-002"), "Lead")
    project.append("developer", assignment("task-001", timestamp="2001-01-01T00:00:00.000Z"))
    project.look()
    project.assign(assignment("task-003"))
    first = project.mailbox("developer")[0]["id"]
    project.run("ack", "Dev", ids=(first,))
    letters = project.cli("mailbox", "@developer").result["messages"]
    assert [letter["task"] for letter in letters] == ["task-002", "task-001", "task-003"]
    assert [letter["sender"] for letter in letters] == ["Lead", "role:team-lead", ME]
    assert [letter["at"] for letter in letters] == [event.at for event in project.events("message:sent")]
    assert [letter["taker"] for letter in letters] == ["Dev#1", None, None]
    assert [letter["stage"] for letter in letters] == ["acked", "stored", "stored"]
    said = "\n".join(project.run("mailbox", name="@developer").say)
    assert said.count("[unread]") == 2
    assert "read by Dev" in said


@pytest.mark.proves("S0-RD-02")
def test_a_read_can_be_limited_to_a_task_and_its_current_attempt(staffed: Project) -> None:
    project = staffed
    project.assign(assignment(instructions="first attempt"))
    project.assign(assignment("task-002"))
    project.report(report(summary="first attempt"))
    project.run("task reject", task="task-001", reason="No tests.")
    project.run("task reopen", task="task-001")
    older = project.assign(assignment(instructions="second attempt"))
    newer = project.assign(assignment(instructions="second attempt, corrected"))
    for read in (
        project.cli("mailbox", "@developer", "--task", "task-001").result,
        project.cli("instructions", "task-001", agent="Dev").result,
    ):
        assert [letter["id"] for letter in read["messages"]] == [older["id"], newer["id"]]
        assert {letter["attempt"] for letter in read["messages"]} == {2}
        assert read["in_force"] == newer["id"]
    first = project.report(report(summary="second attempt"))
    assert project.ask("mailbox", name="@team-lead", task="task-001")["in_force"] == first["id"]
    assert [m["id"] for m in project.ask("instructions", "Lead", task="task-001")["messages"]] == [first["id"]]
    # Emptying the file takes them out of it, not out of what is in force.
    project.write("developer", {**project.file("developer"), "messages": []})
    assert project.ask("mailbox", name="@developer", task="task-001")["in_force"] == newer["id"]
    assert project.file("developer")["messages"] == []
    assert project.ask("instructions", "Dev", task="task-001")["in_force"] == newer["id"]


@pytest.mark.proves("S0-RD-03")
def test_a_read_without_a_task_takes_the_current_one_and_never_guesses(staffed: Project) -> None:
    project = staffed
    said = project.refusal("instructions", "Dev")
    assert said.code == "no_current_task"
    assert "no task" in said.message
    assert said.details["candidates"] == []
    first, second = project.assign(), project.assign(assignment("task-002"))
    said = project.cli_refusal("instructions", agent="Dev")
    assert "no task" in said.message
    assert said.details["candidates"] == ["task-001", "task-002"]
    assert "task-001, task-002" in said.remedy
    project.run("ack", "Dev", ids=(second["id"],))
    assert project.ask("instructions", "Dev")["task"] == "task-002"
    project.run("ack", "Dev", ids=(first["id"],))
    said = project.refusal("instructions", "Dev")
    assert "2 tasks" in said.message
    assert said.details["candidates"] == ["task-001", "task-002"]
    project.report(report("task-001"))
    assert project.ask("instructions", "Dev")["task"] == "task-002"


@pytest.mark.proves("S0-RD-03")
def test_the_current_task_of_a_lead_is_the_one_whose_report_it_took(staffed: Project) -> None:
    project = staffed
    project.assign(agent="Lead")
    project.assign(assignment("task-002"), "Lead")
    assert project.refusal("instructions", "Lead").code == "no_current_task"
    one, two = project.report(report("task-001")), project.report(report("task-002"))
    said = project.refusal("instructions", "Lead")
    assert said.details["candidates"] == ["task-001", "task-002"]
    project.run("ack", "Lead", ids=(two["id"],))
    assert project.ask("instructions", "Lead")["in_force"] == two["id"]
    project.run("ack", "Lead", ids=(one["id"],))
    assert project.refusal("instructions", "Lead").details["candidates"] == ["task-001", "task-002"]
    project.run("task approve", "Lead", task="task-001")
    assert project.ask("instructions", "Lead")["task"] == "task-002"


@pytest.mark.proves("S0-RD-04")
def test_looking_moves_nothing(staffed: Project) -> None:
    project = staffed
    sent = project.assign()
    before, states = project.raw_files(), read_states(project)
    project.cli("mailbox", "@developer", agent="Dev")
    project.cli("instructions", "task-001", agent="Dev")
    project.cli("inbox", agent="Dev")
    project.run("thread", "Dev", id=sent["id"])
    project.path("developer").read_text()
    assert project.raw_files() == before
    assert read_states(project) == states == {"developer": [None], "team-lead": []}
    assert project.ask("mailbox", name="@developer")["last_read"] is None
    assert project.events("message:acked") == []
    assert project.cli("ack", sent["id"], agent="Dev").code == 0
    (acked,) = project.events("message:acked")
    assert project.file("developer")["lastRead"] == acked.at
    assert read_states(project)["developer"] == ["Dev#1"]


@pytest.mark.proves("S0-RD-05")
def test_the_last_read_is_a_utc_time_that_never_moves_backwards(staffed: Project) -> None:
    project = staffed
    sent = [project.assign(assignment(f"task-{n}"))["id"] for n in range(3)]
    assert project.file("developer")["lastRead"] is None
    project.run("ack", "Dev", ids=(sent[0],))
    first = project.file("developer")["lastRead"]
    assert_milliseconds(first)
    project.run("ack", "Dev", ids=(sent[0],))
    assert project.file("developer")["lastRead"] == first
    project.run("ack", "Dev", ids=(sent[1],))
    second = project.file("developer")["lastRead"]
    assert second >= first
    behind = Project(project.root, ShiftedClock(-3600.0))
    behind.run("ack", "Dev", ids=(sent[2],))
    behind.close()
    assert project.file("developer")["lastRead"] >= second


def assert_milliseconds(stamp: str) -> None:
    assert re.fullmatch(MILLISECONDS, stamp)


@pytest.mark.proves("S0-RD-06")
def test_a_confirmation_stays_in_its_mailbox(staffed: Project) -> None:
    project = staffed
    assigned, reported = project.assign(), project.report()
    other = project.path("team-lead").read_bytes()
    project.run("ack", "Dev", ids=(assigned["id"],))
    assert project.path("team-lead").read_bytes() == other
    assert read_states(project) == {"developer": ["Dev#1"], "team-lead": [None]}
    mine = project.path("developer").read_bytes()
    project.run("ack", "Lead", ids=(reported["id"],))
    assert project.path("developer").read_bytes() == mine
    assert read_states(project) == {"developer": ["Dev#1"], "team-lead": ["Lead#1"]}
    # Nobody confirms what lies in the other role's mailbox.
    assert project.refusal("ack", "Dev", ids=(reported["id"],)).code == "not_in_mailbox"


@pytest.mark.proves("S0-RD-07")
def test_setting_the_last_read_by_hand_reads_what_the_file_held(staffed: Project) -> None:
    project = staffed
    project.assign()
    project.assign(assignment("task-002"))
    in_hand = project.file("developer")
    project.assign(assignment("task-003"))  # arrives after the reader took its copy
    stamp = project.session().clock.wall()
    project.write("developer", {**in_hand, "lastRead": stamp})
    project.look()
    assert [letter["taker"] for letter in project.mailbox("developer")] == ["role:developer", "role:developer", None]
    assert project.file("developer")["lastRead"] == stamp
    assert len(project.file("developer")["messages"]) == 3
    assert read_states(project)["team-lead"] == []
    assert [event.by for event in project.events("message:acked")] == ["role:developer"]


@pytest.mark.proves("S0-RD-07")
def test_a_last_read_that_stood_there_before_reads_nothing(staffed: Project) -> None:
    """Whoever writes the file for another reason leaves `lastRead` as it was, or brings back an older one."""
    project = staffed
    project.run("ack", "Dev", ids=(project.assign()["id"],))
    older = project.file("developer")
    project.append("developer", assignment("task-002"))
    project.look()
    assert read_states(project)["developer"] == ["Dev#1", None]
    project.run("ack", "Dev", ids=(project.mailbox("developer")[1]["id"],))
    newer = project.file("developer")["lastRead"]
    project.write("developer", {**older, "messages": [*older["messages"], assignment("task-003")]})
    project.look()
    assert read_states(project)["developer"] == ["Dev#1", "Dev#1", None]
    assert project.file("developer")["lastRead"] == newer


@pytest.mark.proves("S0-RD-05", "S0-RD-07")
def test_a_last_read_of_another_zone_is_rendered_in_utc(staffed: Project) -> None:
    project = staffed
    project.assign()
    project.write("developer", {**project.file("developer"), "lastRead": "2025-06-01T10:00:00+02:00"})
    project.look()
    assert project.file("developer")["lastRead"] == "2025-06-01T08:00:00.000Z"
    project.assign(assignment("task-002"))
    project.write("developer", {**project.file("developer"), "lastRead": "2025-06-01T08:00:00.001Z"})
    project.look()
    assert project.file("developer")["lastRead"] == "2025-06-01T08:00:00.001Z"


@pytest.mark.proves("S0-RD-07")
@pytest.mark.parametrize("invented", ["2999-01-01T00:00:00.000Z", "2001-01-01T00:00:00.000Z", "2001-01-01T00:00:00Z"])
def test_an_invented_last_read_is_replaced_by_the_time_of_absorption(staffed: Project, invented: str) -> None:
    project = staffed
    project.run("ack", "Dev", ids=(project.assign()["id"],))
    before = project.file("developer")["lastRead"]
    project.assign(assignment("task-002"))
    project.write("developer", {**project.file("developer"), "lastRead": invented})
    project.look()
    acked = project.events("message:acked")[-1]
    assert acked.by == "role:developer"
    assert project.file("developer")["lastRead"] == acked.at
    assert project.file("developer")["lastRead"] >= before
    assert_milliseconds(project.file("developer")["lastRead"])
    assert [letter["taker"] for letter in project.mailbox("developer")] == ["Dev#1", "role:developer"]


@pytest.mark.proves("S0-RD-07")
def test_a_last_read_that_is_no_time_reads_nothing(staffed: Project) -> None:
    project = staffed
    project.assign()
    for odd in ("yesterday", 7, True, {"at": 1}, ""):
        project.write("developer", {**project.file("developer"), "lastRead": odd})
        assert "bad_last_read" in project.look()
        assert project.file("developer") == {"messages": [assignment()], "lastRead": None}
    assert read_states(project)["developer"] == [None]


@pytest.mark.proves("S0-RD-08")
def test_no_instructions_is_an_answer_of_its_own(staffed: Project) -> None:
    project = staffed
    project.run("task add", title="Queued", id="task-001")
    project.run("task claim", "Lead", task="task-001")
    spoken = project.cli("instructions", "task-001", agent="Dev")
    assert spoken.code == 4
    assert spoken.json["error"] == "no_instructions"
    assert spoken.json["details"] == {"task": "task-001", "state": "in_progress", "held": []}
    assert "task-001" in spoken.json["message"]
    assert "in_progress" in spoken.json["message"]
    project.append("developer", assignment(platform="windows"))
    project.look()
    (held,) = project.held()
    said = project.refusal("instructions", "Dev", task="task-001")
    assert said.code == "no_instructions"
    assert said.details["held"] == [held["id"]]
    assert held["id"] in said.message
    # Neither an empty success, nor an unknown task, nor a file that cannot be read.
    assert project.ask("mailbox", name="@developer", task="task-001")["in_force"] is None
    assert project.refusal("instructions", "Dev", task="task-099").code == "unknown_task"
    project.path("developer").write_text("{")
    assert project.refusal("instructions", "Dev", task="task-001").code == "no_instructions"


@pytest.mark.proves("S0-RD-08")
def test_instructions_of_an_earlier_attempt_are_none(staffed: Project) -> None:
    project = staffed
    project.assign()
    project.run("task reject", task="task-001", reason="Wrong approach.")
    assert bodies(project.ask("instructions", "Dev", task="task-001")["messages"]) == [assignment()]
    project.run("task reopen", task="task-001")
    said = project.refusal("instructions", "Dev", task="task-001")
    assert said.code == "no_instructions"
    assert said.details["state"] == "pending"
    assert json.loads(project.path("developer").read_text())["messages"] == []
