"""Message Lifecycle / Clearing Messages: out of the files, never out of the log."""

from __future__ import annotations

import json

import pytest

from moot.core.principal import Actor
from moot.core.task import MoveTask
from tests.person import ME
from tests.specs.orchestrator.project import FILES, Project, bodies
from tests.specs.orchestrator.samples import CLEARED, assignment, report


def finish(project: Project, task: str = "task-001") -> None:
    project.assign(assignment(task))
    project.report(report(task))
    project.run("task approve", task=task)


@pytest.mark.proves("S0-CL-01")
def test_a_completed_task_leaves_both_files(project: Project) -> None:
    project.join("Dev", "developer")
    project.cli_send(assignment())
    project.cli_send(report(), "Dev")
    assert project.cli("task", "approve", "task-001").code == 0
    (approved,) = project.events("task:approved")
    sample = json.loads(CLEARED)
    for role in FILES:
        assert project.path(role).read_text() == CLEARED.replace(sample["lastRead"], approved.at)
    cleared = project.events("mailbox:cleared")
    assert {event.commit for event in cleared} == {approved.commit}
    assert len(cleared) == 2


@pytest.mark.proves("S0-CL-01")
def test_a_file_that_was_emptied_before_also_gets_the_time_of_clearing(project: Project) -> None:
    project.assign()
    project.report()
    project.write("developer", [])
    project.look()
    assert project.file("developer") == {"messages": [], "lastRead": None}
    project.run("task approve", task="task-001")
    (approved,) = project.events("task:approved")
    for role in FILES:
        assert project.file(role) == {"messages": [], "lastRead": approved.at}


@pytest.mark.proves("S0-CL-02")
def test_the_messages_of_unfinished_tasks_stay(project: Project) -> None:
    for name in ("task-001", "task-002", "task-003"):
        project.assign(assignment(name))
    project.report(report("task-001"))
    project.report(report("task-002"))
    project.run("task approve", task="task-001")
    assert project.file("developer") == {"messages": [assignment("task-002"), assignment("task-003")], "lastRead": None}
    assert project.file("team-lead") == {"messages": [report("task-002")], "lastRead": None}
    project.run("task approve", task="task-002")
    assert project.file("developer")["messages"] == [assignment("task-003")]
    assert project.file("team-lead")["messages"] == []
    project.run("task reject", task="task-003", reason="Given up.")
    assert project.file("developer")["messages"] == [assignment("task-003")]


@pytest.mark.proves("S0-CL-03")
def test_what_was_cleared_stays_in_the_history(project: Project) -> None:
    odd = {"summary": "zwei\nZeilen", "extra": {"kept": [1, None]}}
    project.assign(assignment(instructions="Genau so."))
    project.report(report(**odd))
    project.run("task approve", task="task-001")
    assert project.file("developer")["messages"] == project.file("team-lead")["messages"] == []
    story = project.cli("explain", "task-001").result
    said = [event["data"]["data"] for event in story if event["type"] == "message:sent"]
    assert said == [assignment(instructions="Genau so."), report(**odd)]
    assert bodies(project.mailbox("developer", all=True)) == [assignment(instructions="Genau so.")]
    assert bodies(project.mailbox("team-lead", all=True)) == [report(**odd)]
    assert len(project.ask("task show", task="task-001")["messages"]) == 2
    assert {event["type"] for event in story} >= {"mailbox:cleared", "task:approved"}


@pytest.mark.proves("S0-CL-04")
def test_an_emptied_file_is_a_clear_that_loses_nothing(project: Project) -> None:
    project.join("Dev", "developer")
    read, unread = project.assign(), project.assign(assignment("task-002"))
    project.run("ack", "Dev", ids=(read["id"],))
    last = project.file("developer")["lastRead"]
    project.write("developer", {"messages": [], "lastRead": last})
    project.look()
    assert project.file("developer") == {"messages": [], "lastRead": last}
    (cleared,) = project.events("mailbox:cleared")
    assert cleared.data["ids"] == [read["id"], unread["id"]]
    assert cleared.data["reason"] == "emptied"
    # Nothing came of it but that the file is empty: what was unread is unread, what was read is read.
    assert {letter["id"]: letter["taker"] for letter in project.mailbox("developer", all=True)} == {
        read["id"]: "Dev#1",
        unread["id"]: None,
    }
    assert [letter["id"] for letter in project.cli("mailbox", "@developer").result["messages"]] == [unread["id"]]
    assert [letter["id"] for letter in project.cli("inbox", "--peek", agent="Dev").result["new"]] == [unread["id"]]
    assert project.ask("instructions", "Dev", task="task-002")["in_force"] == unread["id"]
    assert project.state("task-002") == "in_progress"


@pytest.mark.proves("S0-CL-01", "S0-CL-04", "S0-CL-05")
def test_nothing_of_a_finished_task_or_attempt_is_put_back(project: Project) -> None:
    """What a clear by hand had hidden is over, too, when its task or attempt is."""
    for name in ("task-001", "task-002"):
        project.assign(assignment(name))
        project.report(report(name))
    for role in FILES:
        project.write(role, [])
    project.look()
    project.run("task approve", task="task-001")
    project.run("task reject", task="task-002", reason="No tests.")
    project.run("task reopen", task="task-002")
    for role in FILES:
        assert project.mailbox(role) == project.file(role)["messages"] == []
    assert len(project.mailbox("developer", all=True)) == 2


@pytest.mark.proves("S0-CL-04")
def test_the_cleared_sample_written_by_hand_is_a_clear(project: Project) -> None:
    project.assign()
    project.write("developer", CLEARED)
    project.look()
    assert project.file("developer") == json.loads(CLEARED)
    assert project.mailbox("developer", all=True)[0]["taker"] is None


@pytest.mark.proves("S0-CL-04")
def test_an_empty_file_that_showed_nothing_clears_nothing(project: Project) -> None:
    """An agent that starts from the empty template has emptied nothing."""
    project.write("developer", {"messages": [], "lastRead": None})
    project.assign()
    assert project.file("developer")["messages"] == [assignment()]
    assert project.events("mailbox:cleared") == []
    project.path("developer").write_text('{"messages": {}, "lastRead": null}')
    project.look()
    assert project.file("developer")["messages"] == [assignment()]
    assert project.events("mailbox:cleared") == []


@pytest.mark.proves("S0-HRD-23")
def test_an_empty_file_as_moot_wrote_it_is_an_old_copy(project: Project) -> None:
    old = project.path("developer").read_bytes()
    project.assign()
    project.path("developer").write_bytes(old)
    assert "mailbox_not_emptied" in project.look()
    assert project.file("developer")["messages"] == [assignment()]
    assert project.events("mailbox:cleared") == []
    assert "mailbox_not_emptied" not in project.look()
    project.write("developer", {"messages": [], "lastRead": "2026-11-16T08:00:00.000Z"})
    project.look()
    assert project.file("developer")["messages"] == []


@pytest.mark.proves("S0-CL-05")
def test_a_rejection_clears_nothing_and_a_reset_leaves_the_attempt_behind(project: Project) -> None:
    project.assign()
    project.assign(assignment("task-002"))
    project.report()
    project.report(report("task-002"))
    before = project.raw_files()
    project.run("task reject", task="task-001", reason="No tests.")
    assert project.raw_files() == before
    project.run("task reopen", task="task-001")
    assert project.file("developer") == {"messages": [assignment("task-002")], "lastRead": None}
    assert project.file("team-lead") == {"messages": [report("task-002")], "lastRead": None}
    # The same assignment with a new timestamp is new, from a surface and from a file.
    project.assign(assignment(timestamp="2026-11-16T08:00:00.000Z"))
    assert project.state() == "in_progress"
    assert len(project.file("developer")["messages"]) == 2
    project.run("task reject", task="task-001", reason="Still none.")
    project.run("task reopen", task="task-001")
    project.append("developer", assignment(timestamp="2026-11-17T08:00:00.000Z"))
    project.look()
    assert project.state() == "in_progress"
    assert [m.data["attempt"] for m in project.events("message:sent") if m.data["task"] == "task-001"] == [1, 1, 2, 3]
    assert project.held() == []


@pytest.mark.proves("S0-CL-05")
def test_an_entry_of_an_earlier_attempt_is_an_old_copy(project: Project) -> None:
    project.assign()
    project.report()
    old = project.raw_files()
    project.run("task reject", task="task-001", reason="No tests.")
    project.run("task reopen", task="task-001")
    head = project.head()

    def bring_back() -> None:
        for role in FILES:
            project.path(role).write_bytes(old[role] or b"")
        project.look()

    bring_back()
    assert (project.head(), project.state(), project.held()) == (head, "pending", [])
    assert project.file("developer")["messages"] == project.file("team-lead")["messages"] == []
    # An attempt that is in progress and has no assignment takes the one that is written again, once.
    project.edit(status="in_progress")
    project.look()
    for _ in range(2):
        bring_back()
        assert project.file("developer")["messages"] == [assignment()]
        assert (project.state(), project.file("team-lead")["messages"]) == ("in_progress", [])
    sent = [event.data["attempt"] for event in project.events("message:sent")]
    assert sent == [1, 1, 2]
    assert project.held() == []


@pytest.mark.proves("S0-CL-05")
@pytest.mark.parametrize("command", [("checkout", "--", "."), ("reset", "-q", "--hard")], ids=["checkout", "reset"])
def test_a_copy_that_git_brings_back_does_not_restart_a_reset_task(project: Project, command: tuple[str, ...]) -> None:
    """Somebody committed the mailboxes in the first attempt."""
    project.git("config", "user.name", "Anna")
    project.git("config", "user.email", "anna@example.org")
    project.assign()
    project.report()
    project.git("add", "-f", *FILES.values())
    project.git("commit", "-qm", "with the mailboxes")
    project.run("task reject", task="task-001", reason="No tests.")
    project.run("task reopen", task="task-001")
    project.git(*command)
    project.look()
    assert project.state() == "pending"
    assert project.held() == []
    for role in FILES:
        assert project.file(role)["messages"] == []


@pytest.mark.proves("S0-CL-05")
def test_an_entry_that_a_file_still_showed_when_its_task_was_reset_is_not_an_old_copy(project: Project) -> None:
    """A lead appends the assignment of the next attempt while the reset is on its way into the file."""
    project.assign()
    project.report()
    first, again = assignment(), assignment(timestamp="2026-11-17T08:00:00.000Z")
    project.run("task reject", task="task-001", reason="No tests.")
    project.write("developer", [first, again])
    reset = MoveTask(verb="reopen", actor=Actor(principal=ME))  # as through another file: no mailbox is looked at first
    project.session().engine.commit(ME, lambda work: work.do("task", "task-001", reset))
    project.look()
    assert project.held() == []
    assert project.file("developer")["messages"] == [again]
    assert project.state() == "in_progress"
