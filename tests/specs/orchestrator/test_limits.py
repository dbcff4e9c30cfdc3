"""Time limits: work without activity is flagged, the lead is told, and nothing but the watcher runs by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moot.core import timestamps
from tests.specs.orchestrator.project import LaterClock, Project, until
from tests.specs.orchestrator.samples import assignment, report

MINUTE = 60.0
LIMITS = 'ttl = "10m"\n'


class Team:
    """A lead, a developer, and a clock."""

    def __init__(self, project: Project) -> None:
        self.project, self.clock = project, LaterClock()
        project.clock = self.clock
        project.join("Lead", "team-lead")
        project.join("Dev", "developer")

    def later(self, minutes: float) -> None:
        self.clock.passed += minutes * MINUTE

    def alive(self, agent: str) -> None:
        """Any call of an agent."""
        self.project.run("whoami", agent)

    def assign(self, task: str = "task-001") -> str:
        """An assignment that Dev has taken. Returns its id."""
        identity = self.project.assign(assignment(task), "Lead")["id"]
        self.project.run("ack", "Dev", ids=[identity])
        return identity

    def look(self) -> None:
        self.later(0.1)  # one process looks at most once a second
        self.project.look()

    def flagged(self, task: str = "task-001") -> str | None:
        self.look()
        return self.project.task(task).flagged

    def notes(self) -> list[str]:
        """What moot has told the lead."""
        letters = self.project.ask("mailbox", name="@team-lead")["messages"]
        return [letter["text"] for letter in letters if letter["sender"] == "moot"]

    def concerns(self) -> dict[str, dict[str, Any]]:
        self.later(0.1)
        return {item["id"]: item for item in self.project.ask("needs-me") if item["kind"] == "concern"}


@pytest.fixture
def team(make_project: Callable[..., Project]) -> Team:
    return Team(make_project(LIMITS))


@pytest.mark.proves("S0-HRD-11")
def test_the_developers_silence_counts_and_not_the_leads(team: Team) -> None:
    team.assign()
    for _ in range(5):
        team.later(8)
        team.alive("Dev")  # a sign of life, and nothing about the task
        assert team.flagged() is None
    for _ in range(3):
        team.later(4)
        team.alive("Lead")
    assert team.flagged() == "stuck: no activity for 12m (limit 10m)"
    assert [note.partition(".")[0] for note in team.notes()] == [
        "task-001 is stuck: no activity for 12m (limit 10m)",
    ]
    assert team.notes()[0].endswith("By file: set its status in queue.json to rejected, with a rejectionReason.")


@pytest.mark.proves("S0-HRD-11")
def test_events_about_the_task_and_writes_to_a_file_are_activity(team: Team) -> None:
    project, told = team.project, team.project.assign(agent="Lead")["id"]
    for active in (
        lambda: project.run("ack", "Dev", ids=[told]),
        lambda: project.assign(assignment(instructions="More precisely."), "Lead"),
        lambda: project.run("task note", task="task-001", text="It is still wanted."),
        lambda: project.run("check", command=["true"], task="task-001"),
        lambda: project.run("send", to=["Lead"], text="How is it going?", task="task-001"),
    ):
        team.later(8)
        active()
        assert team.flagged() is None
    team.later(11)
    assert team.flagged() is not None
    project.append("developer", assignment("task-002"), assignment("task-003"))
    team.look()
    project.write("developer", project.file("developer")["messages"], "2024-01-01T00:00:00.000Z")  # a developer by file
    team.look()
    team.later(8)
    project.append("team-lead", report("task-002"))
    team.look()
    team.later(8)
    assert team.flagged("task-003") is None


@pytest.mark.proves("S0-HRD-11")
def test_a_developer_that_left_gives_no_signs_of_life(team: Team) -> None:
    team.assign()
    team.project.run("leave", "Dev")
    team.project.join("Other", "developer")
    for _ in range(3):
        team.later(4)
        team.alive("Other")  # it did not take the assignment
    assert team.flagged() is not None


@pytest.mark.proves("S0-HRD-11")
def test_the_lead_is_told_once_and_again_after_new_activity(team: Team) -> None:
    team.assign()
    team.later(11)
    for _ in range(3):
        assert team.flagged() is not None
        team.later(11)
    assert len(team.notes()) == 1
    assert "moot task reject task-001 --reason" in team.notes()[0]
    assert "moot send Dev --task task-001" in team.notes()[0]
    team.alive("Dev")
    assert team.flagged() is None
    assert [event.type for event in team.project.events("task:flagged", "task:unflagged")] == [
        "task:flagged",
        "task:unflagged",
    ]
    team.later(11)
    assert team.flagged() is not None
    assert len(team.notes()) == 2
    # The mark goes away with the report, too.
    team.project.report()
    assert team.project.task().flagged is None


@pytest.mark.proves("S0-HRD-11")
def test_it_is_seen_in_every_way_to_look(team: Team) -> None:
    team.assign()
    team.later(11)
    assert team.concerns()["task-001"]["text"] == "task-001 is stuck: no activity for 11m (limit 10m)."
    assert "moot task reject task-001" in team.concerns()["task-001"]["command"]
    board = team.project.run("board")
    assert any("task-001 in_progress !" in line for line in board.say)
    watched = team.project.run("watch", once=True).result
    assert any("task-001 is stuck" in problem.message for problem in watched.problems)
    # The silent lead, who holds the task, is not the problem.
    assert not any(problem.code == "agent_silent" for problem in watched.problems)


@pytest.mark.proves("S0-HRD-12")
def test_a_review_beyond_its_limit_is_flagged_and_stays_in_review(team: Team) -> None:
    team.assign()
    team.project.report()
    team.later(9)
    team.alive("Lead")
    assert team.flagged() is None
    assert team.concerns() == {}
    team.later(2)
    assert team.flagged() == "overdue: in review for 11m (limit 10m)"
    (item,) = team.concerns().values()
    assert "moot task approve task-001, or moot task reject task-001" in item["command"]
    team.later(6000)
    assert team.flagged() is not None
    assert team.project.state() == "awaiting_review"
    (note,) = team.notes()
    assert note.startswith("task-001 is overdue: in review for 11m (limit 10m).")
    team.project.run("task approve", "Lead", task="task-001")
    assert team.concerns() == {}


@pytest.mark.proves("S0-HRD-11", "S0-HRD-12")
def test_the_watcher_tells_the_lead_while_nobody_calls_moot(make_project: Callable[..., Project]) -> None:
    project = make_project('ttl = "1s"\n')
    project.append("developer", assignment(), assignment("task-002"))
    project.append("team-lead", report("task-002"))
    project.close()
    watcher = project.start("mirror", "--watch")
    try:
        log = project.session().engine.log

        def told() -> set[str]:
            events = [event for event in log.read(0, 10_000) if event.type == "message:sent" and event.by == "moot"]
            return {event.data["text"].partition(":")[0] for event in events if event.data["to"] == ["@team-lead"]}

        until(lambda: told() >= {"task-001 is stuck", "task-002 is overdue"}, "the lead is told by the watcher")
    finally:
        watcher.terminate()
        watcher.communicate()


@pytest.mark.proves("S0-INS-06")
def test_stuck_work_is_listed_with_the_next_action(team: Team) -> None:
    project = team.project
    team.assign("task-001")  # will be silent
    team.assign("task-002")
    project.report(report("task-002"))  # its review will be overdue
    project.append("team-lead", report("task-099"))  # will be held
    team.later(25)
    project.join("Other", "developer")
    project.run("ack", "Other", ids=[project.assign(assignment("task-004"), "Lead")["id"]])  # in time
    team.look()
    (held,) = project.held()
    found = {item["id"]: item for item in project.ask("needs-me")}
    assert found.keys() == {"task-001", "task-002", held["id"]}
    assert "no activity for" in found["task-001"]["text"]
    assert "in review for" in found["task-002"]["text"]
    assert found["task-001"]["command"].endswith("moot task reject task-001 --reason '…'")
    assert found["task-002"]["command"].startswith("moot task approve task-002")
    assert found[held["id"]]["command"] == f"moot held drop {held['id']} --reason '…'"
    said = "\n".join(project.run("needs-me").say)
    assert all(name in said and item["command"] in said for name, item in found.items())
    # Each action frees its task.
    project.run("task reject", task="task-001", reason="No answer.")
    project.run("task approve", task="task-002")
    project.run("held drop", id=held["id"], reason="A mistake.")
    assert project.ask("needs-me") == []


def test_a_lead_that_starts_a_task_is_told_to_send_the_assignment(team: Team) -> None:
    team.project.run("task add", title="Login page", id="task-001")
    said = team.project.run("task claim", "Lead", task="task-001").say
    assert said[-1] == "next: moot send --type task_assignment --data @message.json --agent Lead"


@pytest.mark.proves("S0-HRD-11")
def test_many_processes_that_look_at_once_tell_the_lead_once(make_project: Callable[..., Project]) -> None:
    project = make_project('ttl = "1s"\n')
    project.assign()
    project.close()
    until(lambda: idle(project) > 1.5, "the limit has passed")  # nothing looks meanwhile
    started = [project.start("board") for _ in range(8)]
    assert [process.wait(60) for process in started] == [0] * 8
    for process in started:
        process.communicate()
    assert len(project.events("task:flagged")) == 1
    assert len([event for event in project.events("message:sent") if event.by == "moot"]) == 1


def idle(project: Project) -> float:
    """The seconds since the last event, read from the log without a call."""
    session = project.session()
    last = session.engine.log.read(session.engine.log.head() - 1, 1)[0]
    return session.clock.wall_seconds() - (timestamps.parse(last.at) or 0.0)
