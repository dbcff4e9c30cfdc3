"""Time limits: work without activity is flagged, the lead is told, and nothing but the watcher runs by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from moot.core import timestamps
from moot.core.errors import MootError
from tests.specs.orchestrator.project import LaterClock, Project, until
from tests.specs.orchestrator.samples import assignment, report

MINUTE = 60.0
LIMITS = '[pack.orchestrator]\nin_progress_limit = "10m"\nreview_limit = "20m"\n'


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
def test_the_limit_is_half_an_hour_and_nothing_expires_by_default(project: Project) -> None:
    team = Team(project)
    values = project.session().packs.packs[0].values
    assert values == {**values, "in_progress_limit": "30m", "expire": False}
    team.assign()
    team.later(29)
    assert team.flagged() is None
    team.later(1.1)
    assert team.flagged() == "stuck: no activity for 30m (limit 30m)"
    assert team.project.state() == "in_progress"


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
@pytest.mark.parametrize("event", ["assignment", "note", "check", "message", "read"])
def test_an_event_about_the_task_is_activity(team: Team, event: str) -> None:
    told = team.project.assign(agent="Lead")["id"]
    if event != "read":
        team.project.run("ack", "Dev", ids=[told])
    team.later(8)
    match event:
        case "assignment":
            team.project.assign(assignment(instructions="More precisely."), "Lead")
        case "note":
            team.project.run("task note", task="task-001", text="It is still wanted.")
        case "check":
            team.project.run("check", command=["true"], task="task-001")
        case "message":
            team.project.run("send", to=["Lead"], text="How is it going?", task="task-001")
        case "read":
            team.project.run("ack", "Dev", ids=[told])
    team.later(8)
    assert team.flagged() is None
    team.later(3)
    assert team.flagged() is not None


@pytest.mark.proves("S0-HRD-11")
def test_a_developer_that_uses_only_files_gives_signs_of_life_by_writing(team: Team) -> None:
    team.project.append("developer", assignment(), assignment("task-002"))
    team.look()
    content = team.project.file("developer")
    team.project.write("developer", {**content, "lastRead": "2024-01-01T00:00:00.000Z"})  # it takes both
    team.look()
    team.later(8)
    team.project.append("team-lead", report("task-002"))
    team.look()
    team.later(8)
    assert team.flagged() is None
    team.later(3)
    assert team.flagged() is not None


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


@pytest.mark.proves("S0-HRD-11", "S0-ST-07")
def test_with_expiry_moot_rejects_the_task_as_timed_out(make_project: Callable[..., Project]) -> None:
    team = Team(make_project(f"{LIMITS}expire = true\n"))
    team.assign()
    team.later(9)
    team.look()
    assert team.project.state() == "in_progress"
    team.alive("Dev")
    team.later(9)
    team.look()
    assert team.project.state() == "in_progress"
    team.later(2)
    team.look()
    task = team.project.task()
    assert task.state == "rejected"
    assert task.setbacks[-1].reason == "timed out: no activity for 11m (limit 10m)"
    (moved,) = team.project.events("task:rejected")
    assert (moved.by, moved.data["role"], moved.data["source"]) == ("moot", "moot", "in_progress")
    (note,) = team.notes()
    assert "timed out" in note
    assert "moot task reopen task-001" in note
    # From there it goes on as after every rejection.
    team.project.run("task reopen", "Lead", task="task-001")
    team.assign()
    team.project.report()
    team.project.run("task approve", "Lead", task="task-001")
    assert team.project.state() == "completed"


@pytest.mark.proves("S0-ST-07")
def test_moot_takes_no_other_edge_by_the_clock(make_project: Callable[..., Project]) -> None:
    team = Team(make_project(f"{LIMITS}expire = true\n"))
    team.project.run("task add", title="Pending", id="task-001")
    team.assign("task-002")
    team.project.report(report("task-002"))
    team.assign("task-003")
    team.project.run("task reject", "Lead", task="task-003", reason="No longer wanted.")
    team.assign("task-004")
    team.project.report(report("task-004"))
    team.project.run("task approve", "Lead", task="task-004")
    before = {f"task-00{n}": team.project.state(f"task-00{n}") for n in (1, 2, 3, 4)}
    team.later(600)
    team.look()
    assert {name: team.project.state(name) for name in before} == before
    assert sorted(before.values()) == ["awaiting_review", "completed", "pending", "rejected"]


@pytest.mark.proves("S0-HRD-12")
def test_a_review_beyond_its_limit_is_flagged_and_stays_in_review(make_project: Callable[..., Project]) -> None:
    team = Team(make_project(f"{LIMITS}expire = true\n"))
    team.assign()
    team.project.report()
    team.later(19)
    team.alive("Lead")
    assert team.flagged() is None
    assert team.concerns() == {}
    team.later(2)
    assert team.flagged() == "overdue: in review for 21m (limit 20m)"
    (item,) = team.concerns().values()
    assert "moot task approve task-001, or moot task reject task-001" in item["command"]
    team.later(6000)
    assert team.flagged() is not None
    assert team.project.state() == "awaiting_review"
    (note,) = team.notes()
    assert note.startswith("task-001 is overdue: in review for 21m (limit 20m).")
    team.project.run("task approve", "Lead", task="task-001")
    assert team.concerns() == {}


@pytest.mark.proves("S0-HRD-11", "S0-HRD-12")
@pytest.mark.parametrize("limit", ["0", "0s"])
def test_a_limit_of_zero_means_none(make_project: Callable[..., Project], limit: str) -> None:
    settings = f'[pack.orchestrator]\nin_progress_limit = "{limit}"\nreview_limit = "{limit}"\nexpire = true\n'
    team = Team(make_project(settings))
    team.assign()
    team.assign("task-002")
    team.project.report(report("task-002"))
    team.later(100_000)
    assert (team.flagged(), team.flagged("task-002"), team.concerns()) == (None, None, {})
    assert team.project.state() == "in_progress"


@pytest.mark.proves("S0-HRD-11")
@pytest.mark.parametrize("wrong", ['"soon"', '"-1m"', "true", '"10 minutes"'])
def test_a_limit_that_is_not_a_duration_is_refused_with_its_line(
    make_project: Callable[..., Project], wrong: str
) -> None:
    project = make_project()
    text = (project.root / "moot.toml").read_text(encoding="utf-8")
    (project.root / "moot.toml").write_text(
        f"{text}\n[pack.orchestrator]\nin_progress_limit = {wrong}\n", encoding="utf-8"
    )
    spoken = project.cli("board")
    said = spoken.json
    assert (spoken.code, said["error"]) == (2, "bad_settings")
    assert "in_progress_limit: expected a duration such as 90s, 30m or 2h; 0 for none" in said["message"]
    assert said["details"]["problems"][0]["line"] == len(text.splitlines()) + 3
    (project.root / "moot.toml").write_text(text, encoding="utf-8")


@pytest.mark.proves("S0-HRD-11", "S0-HRD-12")
def test_the_watcher_tells_the_lead_while_nobody_calls_moot(make_project: Callable[..., Project]) -> None:
    project = make_project('[pack.orchestrator]\nin_progress_limit = "1s"\nreview_limit = "1s"\n')
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
    team.assign("task-001")  # will be beyond its limit
    team.assign("task-002")
    project.report(report("task-002"))  # its review will be beyond its limit
    project.run("task add", title="No assignment", id="task-003")
    project.run("task claim", "Lead", task="task-003")
    project.append("team-lead", report("task-099"))  # will be held
    team.later(25)
    project.join("Other", "developer")
    project.run("ack", "Other", ids=[project.assign(assignment("task-004"), "Lead")["id"]])  # in time
    team.look()
    (held,) = project.held()
    found = {item["id"]: item for item in project.cli("needs-me").result}
    # The clock of that process is the real one, so only what needs no clock is there; here it is all of it.
    assert {"task-003", held["id"]} <= found.keys()
    found = {item["id"]: item for item in project.ask("needs-me")}
    assert found.keys() == {"task-001", "task-002", "task-003", held["id"]}
    assert "no activity for" in found["task-001"]["text"]
    assert "in review for" in found["task-002"]["text"]
    assert "without an assignment" in found["task-003"]["text"]
    assert found["task-001"]["command"].endswith("moot task reject task-001 --reason '…'")
    assert found["task-002"]["command"].startswith("moot task approve task-002")
    assert found["task-003"]["command"] == "moot send --type task_assignment --data @assignment.json"
    assert found[held["id"]]["command"].startswith(f"moot held resubmit {held['id']}")
    said = "\n".join(project.run("needs-me").say)
    assert all(name in said and item["command"] in said for name, item in found.items())
    # Each action frees its task.
    project.run("task reject", task="task-001", reason="No answer.")
    project.run("task approve", task="task-002")
    project.assign(assignment("task-003"), "Lead")
    project.run("held drop", id=held["id"], reason="A mistake.")
    assert project.ask("needs-me") == []


def test_a_lead_that_starts_a_task_is_told_to_send_the_assignment(team: Team) -> None:
    team.project.run("task add", title="Login page", id="task-001")
    said = team.project.run("task claim", "Lead", task="task-001").say
    assert said[-1] == "next: moot --agent Lead send --type task_assignment --data @message.json"


def test_a_failing_check_of_limits_names_the_pack(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mirrors are then reported as pending, and the call itself works."""
    team.assign()

    def broken(*_: object) -> None:
        raise KeyError("limit")

    monkeypatch.setattr("moot.packs.orchestrator.limits.due", broken)
    team.later(1)
    answer = team.project.run("board")
    assert any("failed in `due`" in warning.message for warning in answer.warnings)
    assert json.dumps([task.id for task in answer.result["tasks"]]) == '["task-001"]'
    with pytest.raises(MootError):
        team.project.run("task show", task="task-404")


@pytest.mark.proves("S0-HRD-11")
def test_many_processes_that_look_at_once_tell_the_lead_once(make_project: Callable[..., Project]) -> None:
    project = make_project('[pack.orchestrator]\nin_progress_limit = "1s"\n')
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
