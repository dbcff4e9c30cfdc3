"""Task State Transitions: five states, seven edges, eighteen pairs that are none."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

import pytest

from moot.core import timestamps
from tests.person import ME
from tests.specs.orchestrator.samples import STATES, assignment, developer_file, report, team_lead_file

if TYPE_CHECKING:
    from tests.specs.orchestrator.project import Project

EDGES = {
    ("pending", "in_progress"),
    ("in_progress", "awaiting_review"),
    ("awaiting_review", "completed"),
    ("awaiting_review", "rejected"),
    ("rejected", "pending"),
    ("in_progress", "rejected"),
    ("completed", "pending"),
}
ILLEGAL = sorted(set(product(STATES, STATES)) - EDGES)
TARGETS = {state: {target for source, target in EDGES if source == state} for state in STATES}


@pytest.fixture
def staffed(project: Project) -> Project:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    return project


def bring(project: Project, state: str, task: str) -> str:
    """A task of that name, brought into a state."""
    project.run("task add", title=f"To be {state}", id=task)
    if state != "pending":
        project.assign(assignment(task), "Lead")
    if state in ("awaiting_review", "completed", "rejected"):
        project.report(report(task))
    if state == "completed":
        project.run("task approve", "Lead", task=task)
    if state == "rejected":
        project.run("task reject", "Lead", task=task, reason="No tests.")
    assert project.state(task) == state
    return task


@pytest.fixture
def in_every_state(staffed: Project) -> Project:
    """Tasks named after the state that they are in."""
    for state in STATES:
        bring(staffed, state, state)
    return staffed


@pytest.mark.proves("S0-ST-01")
def test_a_task_is_in_exactly_one_of_five_states(in_every_state: Project) -> None:
    project = in_every_state
    project.run("task add", title="New", id="new")
    assert project.state("new") == "pending"
    board = project.ask("board", all=True)
    assert {task["id"]: task["state"] for task in board["tasks"]} == {
        **{state: state for state in STATES},
        "new": "pending",
    }
    assert board["counts"] == {**dict.fromkeys(STATES, 1), "pending": 2}
    assert project.events("task:added")[-1].data["state"] == "pending"
    words = {event.data[key] for event in project.events() for key in ("source", "target") if key in event.data}
    assert words <= set(STATES)


@pytest.mark.proves("S0-ST-02")
def test_a_task_is_started_explicitly_or_by_its_assignment(staffed: Project) -> None:
    project = staffed
    for number in range(1, 5):
        project.run("task add", title=f"Task {number}", id=f"task-{number:03}")
    assert project.cli("task", "claim", "task-001", agent="Lead").result["state"] == "in_progress"
    assert project.cli("task", "move", "task-002", "in_progress", agent="Lead").result["state"] == "in_progress"
    project.assign(assignment("task-003"), "Lead")
    project.append("developer", assignment("task-004"))
    project.look()
    for number in range(1, 5):
        assert project.moves(f"task-{number:03}") == [("pending", "in_progress")]
    assert {event.data["role"] for event in project.events("task:started")} == {"team-lead"}


@pytest.mark.proves("S0-ST-03")
def test_only_an_accepted_report_puts_a_task_into_review(staffed: Project) -> None:
    project = staffed
    bring(project, "in_progress", "task-001")
    for caller in ("Dev", "Lead", None):
        for verb, more in (("task submit", {}), ("task move", {"state": "awaiting_review"})):
            said = project.refusal(verb, caller, task="task-001", reason="It is ready.", **more)
            assert said.code == ("report_missing" if caller == "Dev" else "wrong_role")
    said = project.cli_refusal("task", "submit", "task-001", agent="Dev")
    assert "completion_report" in said.remedy
    project.refusal("send", "Dev", type="completion_report", data=report(summary=""))
    assert project.state() == "in_progress"
    project.report()
    assert project.state() == "awaiting_review"
    bring(project, "in_progress", "task-002")
    project.append("team-lead", report("task-002"))
    project.look()
    assert project.state("task-002") == "awaiting_review"


@pytest.mark.proves("S0-ST-04", "S0-ST-05")
def test_the_lead_approves_or_rejects_with_a_reason(staffed: Project) -> None:
    project = staffed
    for number in range(1, 5):
        bring(project, "awaiting_review", f"task-{number:03}")
    assert project.cli("task", "approve", "task-001", agent="Lead").result["state"] == "completed"
    assert project.run("task move", task="task-002", state="completed").result.state == "completed"
    for reason in (None, "", "   ", "\n"):
        for verb, more in (("task reject", {}), ("task move", {"state": "rejected"})):
            assert project.refusal(verb, "Lead", task="task-003", reason=reason, **more).code == "reason_missing"
    assert project.state("task-003") == "awaiting_review"
    rejected = project.cli("task", "reject", "task-003", "--reason", "No tests.", agent="Lead").result
    assert rejected["state"] == "rejected"
    assert project.events("task:rejected")[-1].data["reason"] == "No tests."
    moved = project.run("task move", "Lead", task="task-004", state="rejected", reason="Too slow.").result
    assert (moved.state, moved.setbacks[-1].reason) == ("rejected", "Too slow.")


@pytest.mark.proves("S0-ST-06")
def test_a_rejected_task_is_reset_by_the_lead_or_a_person(staffed: Project) -> None:
    project = staffed
    for number in range(1, 5):
        bring(project, "rejected", f"task-{number:03}")
    assert project.cli("task", "reopen", "task-001", agent="Lead").result["state"] == "pending"
    assert project.cli("task", "move", "task-002", "pending").result["state"] == "pending"
    assert project.run("task reopen", task="task-003").result.state == "pending"
    assert project.run("task move", "Lead", task="task-004", state="pending").result.state == "pending"
    for number in range(1, 5):
        assert project.moves(f"task-{number:03}")[-1] == ("rejected", "pending")


@pytest.mark.proves("S0-ST-07")
def test_a_task_in_progress_can_be_given_up_with_a_reason(staffed: Project) -> None:
    project = staffed
    bring(project, "in_progress", "task-001")
    bring(project, "in_progress", "task-002")
    assert project.refusal("task reject", "Lead", task="task-001").code == "reason_missing"
    assert project.refusal("task reject", "Dev", task="task-001", reason="Too hard.").code == "wrong_role"
    project.run("task reject", "Lead", task="task-001", reason="Nobody reports.")
    assert project.moves()[-1] == ("in_progress", "rejected")
    assert project.task().setbacks[-1].reason == "Nobody reports."
    assert project.cli("task", "move", "task-002", "rejected", "--reason", "Obsolete.").result["state"] == "rejected"


@pytest.mark.proves("S0-ST-08")
def test_a_completed_task_is_reopened_on_purpose_only(staffed: Project) -> None:
    project = staffed
    bring(project, "completed", "task-001")
    for reason in (None, "", " "):
        assert project.refusal("task reopen", "Lead", task="task-001", reason=reason).code == "reason_missing"
        project.refusal("task move", "Lead", task="task-001", state="pending", reason=reason)
    assert project.refusal("task reopen", "Dev", task="task-001", reason="I forgot a file.").code == "wrong_role"
    # Neither by a message nor by an edit of a file.
    project.refusal("send", "Lead", type="task_assignment", data=assignment(instructions="more"))
    project.refusal("send", "Dev", type="completion_report", data=report(summary="more"))
    project.append("developer", assignment(), assignment(instructions="more"))
    project.append("team-lead", report(), report(summary="more"))
    project.look()
    assert project.state() == "completed"
    assert project.file("developer")["messages"] == project.file("team-lead")["messages"] == []
    said = project.refusal("task move", "Lead", task="task-001", state="pending", reason="Once more.")
    assert "task reopen" in said.remedy
    project.run("task reopen", "Lead", task="task-001", reason="It broke on main.")
    assert project.state() == "pending"
    reopened = project.events("task:reopened")[-1]
    assert (reopened.data["reason"], reopened.data["attempt"]) == ("It broke on main.", 2)
    bring(project, "completed", "task-002")
    assert project.cli("task", "reopen", "task-002", "--reason", "It broke.").result["state"] == "pending"


@pytest.mark.proves("S0-ST-09")
def test_every_other_pair_of_states_is_refused(in_every_state: Project) -> None:
    project = in_every_state
    assert len(ILLEGAL) == 18
    for source, target in ILLEGAL:
        for caller in ("Lead", "Dev", None):
            said = project.refusal("task move", caller, task=source, state=target, reason="Because.")
            assert said.code == "no_such_move", (source, target)
            assert said.details["task"] == source
            assert said.details["state"] == source
            assert said.details["wanted"] == target
            assert set(said.details["to"]) == TARGETS[source]
            assert f"{source} is {source} and cannot move to {target}" in said.message
            assert all(state in said.remedy for state in TARGETS[source])
    assert {task.id: task.state for task in project.run("board", all=True).result["tasks"]} == {s: s for s in STATES}


@pytest.mark.proves("S0-ST-09")
def test_verbs_that_no_edge_answers_are_refused_too(in_every_state: Project) -> None:
    project = in_every_state
    legal = {
        "task claim": {"pending"},
        "task approve": {"awaiting_review"},
        "task reject": {"in_progress", "awaiting_review"},
        "task reopen": {"rejected", "completed"},
    }
    for verb, source in product(legal, STATES):
        if source not in legal[verb]:
            more = {} if verb == "task claim" else {"reason": "Because."}
            said = project.refusal(verb, "Lead", task=source, **more)
            assert source in said.message
            assert set(said.details["to"]) == TARGETS[source], (verb, source)
    for verb in ("complete", "fail", "cancel", "release"):
        for source in STATES:
            assert project.refusal(f"task {verb}", "Lead", task=source, reason="Because.").code == "no_such_move"
    said = project.cli_refusal("task", "move", "completed", "rejected", "--reason", "Late.", agent="Lead")
    assert (said.code, said.details["to"]) == ("no_such_move", ["pending"])


@pytest.mark.proves("S0-ST-10")
def test_a_transition_is_for_its_role(in_every_state: Project) -> None:
    project = in_every_state
    project.join("Guest")
    not_for_developers = (
        ("task claim", "pending", "in_progress", None),
        ("task approve", "awaiting_review", "completed", None),
        ("task reject", "awaiting_review", "rejected", "No."),
        ("task reject", "in_progress", "rejected", "No."),
        ("task reopen", "rejected", "pending", None),
        ("task reopen", "completed", "pending", "Again."),
    )
    for verb, source, target, reason in not_for_developers:
        more = {} if verb == "task claim" else {"reason": reason}
        for caller in ("Dev", "Guest"):
            said = project.refusal(verb, caller, task=source, **more)
            own = caller == "Dev" and source == "awaiting_review"  # Dev's own report, which is refused twice over
            assert said.code == ("own_work" if own else "wrong_role"), (verb, source)
            assert own or "team-lead" in said.message
            project.refusal("task move", caller, task=source, state=target, reason=reason)
    assert project.cli_refusal("task", "approve", "awaiting_review", agent="Guest").code == "wrong_role"
    for caller in ("Lead", "Guest", None):
        said = project.refusal("task submit", caller, task="in_progress")
        assert said.code == "wrong_role"
        assert "developer" in said.message
        assert project.refusal("task move", caller, task="in_progress", state="awaiting_review").code == "wrong_role"
        refused = project.refusal("send", caller, type="completion_report", data=report("in_progress"))
        assert refused.code == "wrong_role"


@pytest.mark.proves("S0-ST-11", "S0-ST-12", "S0-ST-14")
def test_a_task_rejected_in_review_completes_on_its_second_attempt(staffed: Project) -> None:
    project = staffed
    project.cli_send(assignment(), "Lead")
    project.report(report(summary="first"))
    project.cli("task", "reject", "task-001", "--reason", "No tests.", agent="Lead")
    project.run("task reopen", task="task-001")
    project.write("developer", [assignment(title="Another title")])
    project.look()
    project.write("team-lead", [report(summary="second")])
    project.look()
    project.cli("task", "approve", "task-001", agent="Lead")
    records = [event for event in project.events() if "target" in event.data]
    assert [
        (
            event.stream,
            event.data["source"],
            event.data["target"],
            event.by,
            event.data["role"],
            event.data["attempt"],
            event.data.get("reason"),
        )
        for event in records
    ] == [
        ("task/task-001", "pending", "in_progress", "Lead#1", "team-lead", 1, None),
        ("task/task-001", "in_progress", "awaiting_review", "Dev#1", "developer", 1, None),
        ("task/task-001", "awaiting_review", "rejected", "Lead#1", "team-lead", 1, "No tests."),
        ("task/task-001", "rejected", "pending", ME, "person", 2, None),
        ("task/task-001", "pending", "in_progress", "role:team-lead", "team-lead", 2, None),
        ("task/task-001", "in_progress", "awaiting_review", "role:developer", "developer", 2, None),
        ("task/task-001", "awaiting_review", "completed", "Lead#1", "team-lead", 2, None),
    ]
    assert all(timestamps.is_date_time(event.at) for event in records)
    assert legal_path(project)
    task = project.task()
    assert (task.id, task.title, task.extra["platform"], task.attempt) == ("task-001", "Task Title", "web", 2)


@pytest.mark.proves("S0-ST-12")
def test_each_return_to_pending_is_one_more_attempt(staffed: Project) -> None:
    project = staffed
    bring(project, "completed", "task-001")
    before = project.task()
    project.run("task reopen", "Lead", task="task-001", reason="It broke.")
    assert project.task().attempt == 2
    project.run("task claim", "Lead", task="task-001")
    assert project.task().attempt == 2
    project.run("task reject", "Lead", task="task-001", reason="Given up.")
    assert project.task().attempt == 2
    project.run("task reopen", "Lead", task="task-001")
    after = project.task()
    assert after.attempt == 3
    assert (after.id, after.title, after.extra) == (before.id, before.title, before.extra)
    assert [event.data["attempt"] for event in project.events("task:reopened")] == [2, 3]


@pytest.mark.proves("S0-ST-13")
def test_an_unknown_word_is_refused_with_the_five_states(staffed: Project) -> None:
    bring(staffed, "in_progress", "task-001")
    for word in ("done", "review", "Pending", "", "in progress", "open", "cancelled"):
        said = staffed.refusal("task move", "Lead", task="task-001", state=word)
        assert said.code == "unknown_state"
        assert said.details["states"] == list(STATES)
        assert all(state in said.remedy for state in STATES)
    assert staffed.cli_refusal("task", "move", "task-001", "done").code == "unknown_state"


@pytest.mark.proves("S0-ST-13")
def test_an_unknown_task_is_refused_with_the_known_ids(staffed: Project) -> None:
    known = [bring(staffed, "in_progress", name) for name in ("task-001", "login", "task-017")]
    for verb in ("claim", "submit", "approve", "reject", "reopen", "move"):
        said = staffed.refusal(
            f"task {verb}", "Lead", task="nowhere", **({"state": "pending"} if verb == "move" else {})
        )
        assert (said.code, said.kind) == ("unknown_task", "unknown")
        assert "nowhere" in said.message
        assert [name for name in known if name not in said.remedy] == [], verb


@pytest.mark.proves("S0-ST-14")
def test_a_task_goes_straight_to_completed(project: Project) -> None:
    project.write("developer", developer_file())
    project.look()
    project.write("team-lead", team_lead_file())
    project.look()
    assert project.cli("task", "approve", "task-001").result["state"] == "completed"
    assert project.moves() == [
        ("pending", "in_progress"),
        ("in_progress", "awaiting_review"),
        ("awaiting_review", "completed"),
    ]
    assert legal_path(project)


@pytest.mark.proves("S0-ST-14")
def test_a_task_rejected_in_progress_completes_after_a_reset(staffed: Project) -> None:
    project = staffed
    project.assign(agent="Lead")
    project.run("task reject", "Lead", task="task-001", reason="Nobody reports.")
    project.run("task reopen", "Lead", task="task-001")
    project.assign(agent="Lead")
    project.report()
    project.run("task approve", "Lead", task="task-001")
    assert project.moves() == [
        ("pending", "in_progress"),
        ("in_progress", "rejected"),
        ("rejected", "pending"),
        ("pending", "in_progress"),
        ("in_progress", "awaiting_review"),
        ("awaiting_review", "completed"),
    ]
    assert project.task().attempt == 2
    assert legal_path(project)


def legal_path(project: Project) -> bool:
    """Whether the records of task-001 lead from pending over edges of the protocol to where it is."""
    moves = project.moves()
    joined = all(one[1] == other[0] for one, other in pairwise(moves))
    return moves[0][0] == "pending" and joined and set(moves) <= EDGES and moves[-1][1] == project.state()
