"""Days of a team lead and a developer that know only the files of the Claude Orchestrator protocol."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from moot.mirrors.files import MirrorFile
from moot.wiring.admin import Admin
from tests.specs.orchestrator import samples
from tests.specs.orchestrator.project import PATIENCE, Project, until

FOLDER = ".claude-orchestrator"
SIX = [f"task-{number:03}" for number in range(1, 7)]
REJECTED = ("task-002", "task-005")
WHOLE = ("pending", "in_progress", "awaiting_review", "completed")
RETRIED = (*WHOLE[:3], "rejected", *WHOLE)


def now() -> str:
    sleep(0.002)  # no two messages have the same time
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Team:
    """A lead and a developer that read and write the files, in one of the two layouts."""

    def __init__(self, root: Path, layout: str = "tasks/") -> None:
        self.folder = root / FOLDER / layout
        (self.folder / "messages").mkdir(parents=True, exist_ok=True)

    def load(self, name: str) -> Any:
        """A file that may be written to at this moment."""
        end = monotonic() + PATIENCE
        while True:
            try:
                return json.loads((self.folder / name).read_text())
            except (ValueError, FileNotFoundError):
                assert monotonic() < end, name
                sleep(0.001)

    def save(self, name: str, content: Any) -> None:
        (self.folder / name).write_text(json.dumps(content, indent=2))

    def add(self, *tasks: dict[str, Any]) -> None:
        """The queue of a project that moot has not seen."""
        self.save("queue.json", {"version": "1.0", "tasks": tasks, "completed": [], "current": None})

    def edit(self, task: str, status: str, **changes: Any) -> None:
        """Set the status of a task. Approved, it moves to the list `completed`."""
        content = self.load("queue.json")
        (entry,) = (e for name in ("tasks", "completed") for e in content[name] if e.get("id") == task)
        entry |= {"status": status, **changes}
        rest = [e for e in content["tasks"] if e is not entry]
        content |= {"tasks": rest, "completed": [*content["completed"], entry]} if status == "completed" else {}
        self.save("queue.json", content)

    def append(self, box: str, message: dict[str, Any]) -> None:
        path = self.folder / f"messages/{box}.json"
        content = self.load(f"messages/{box}.json") if path.exists() else {"messages": [], "lastRead": None}
        self.save(f"messages/{box}.json", {**content, "messages": [*content["messages"], message]})

    def assign(self, task: str, **changes: Any) -> None:
        self.append("to-developer", samples.assignment(task, **{"timestamp": now(), **changes}))

    def report(self, task: str, **changes: Any) -> None:
        self.append("to-team-lead", samples.report(task, **{"timestamp": now(), **changes}))

    def clear(self) -> None:
        for box in ("to-developer", "to-team-lead"):
            self.save(f"messages/{box}.json", {"messages": [], "lastRead": now()})

    def messages(self, box: str, task: str) -> list[dict[str, Any]]:
        path = self.folder / f"messages/{box}.json"
        found = self.load(f"messages/{box}.json")["messages"] if path.exists() else []
        return [message for message in found if message["taskId"] == task]

    def states(self) -> dict[str, str]:
        content = self.load("queue.json")
        return {e["id"]: e["status"] for name in ("tasks", "completed", "rejected") for e in content.get(name, ())}

    # --- the whole work of six tasks, without pause -------------------------------------------------------------------

    def lead(self) -> None:
        for task in SIX:
            for attempt in (1, 2) if task in REJECTED else (1,):
                self.edit(task, "in_progress")
                self.assign(task, instructions=f"{task}, attempt {attempt}")
                end = monotonic() + PATIENCE
                while not any(m["summary"].endswith(str(attempt)) for m in self.messages("to-team-lead", task)):
                    assert monotonic() < end, (task, attempt)
                    sleep(0.002)
                self.edit(task, "awaiting_review")
                if task in REJECTED and attempt == 1:
                    self.edit(task, "rejected", rejectionReason=f"No tests in {task}.")
                    self.edit(task, "pending")
            self.edit(task, "completed")
            self.clear()

    def developer(self, stop: threading.Event) -> None:
        done: set[str] = set()
        while not stop.wait(0.002):
            for message in self.load("messages/to-developer.json")["messages"]:
                if message["instructions"] not in done:
                    done.add(message["instructions"])
                    self.report(message["taskId"], summary=f"Built {message['instructions']}")

    def work(self) -> None:
        """Both at once, each at its own speed."""
        stop, failed = threading.Event(), list[BaseException]()

        def run() -> None:
            try:
                self.developer(stop)
            except BaseException as error:
                failed.append(error)

        other = threading.Thread(target=run)
        other.start()
        try:
            self.lead()
        finally:
            stop.set()
            other.join()
        assert not failed


def entry(task: str, status: str = "pending", **more: Any) -> dict[str, Any]:
    return {"id": task, "title": f"Build {task}", "platform": "web", "status": status, **more}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "project"
    found.mkdir()
    return found


@pytest.fixture
def make(root: Path) -> Iterator[Callable[[], Project]]:
    """A workspace in the root, with what is there already."""
    project = Project(root)

    def made() -> Project:
        project.git("init", "--quiet", "--template=", ".")
        Admin(str(root), project.env).create(("orchestrator",))
        return project

    yield made
    project.run("verify")
    project.close()


def walks(project: Project) -> dict[str, tuple[str, ...]]:
    """The states of each task, one after the other, as the log has them."""
    found: dict[str, tuple[str, ...]] = {}
    for event in project.events():
        name = event.stream.partition("/")[2]
        if event.type == "task:added":
            found[name] = (event.data["state"],)
        elif event.stream.startswith("task/") and "target" in event.data:
            assert event.data["source"] == found[name][-1]
            found[name] = (*found[name], event.data["target"])
    return found


def inferred(project: Project, task: str) -> list[str]:
    """The states that a task reached by moves that nobody reported."""
    moves = [event for event in project.events() if event.stream == f"task/{task}" and "target" in event.data]
    return [e.data["target"] for e in moves if any(f.startswith("inferred") for f in e.data.get("flags", ()))]


def said(project: Project, task: str) -> list[tuple[str, int]]:
    """The messages about a task, in order, each with its attempt."""
    sent = [event.data for event in project.events("message:sent") if event.data.get("task") == task]
    return [(one["kind"], one["attempt"]) for one in sent if one["kind"] != "note"]


@pytest.mark.proves("S0-LOC-15", "S0-LOC-17", "S0-OVW-04", "S0-EX-02")
def test_agents_worked_by_files_while_nobody_ran_moot(root: Path, make: Callable[[], Project]) -> None:
    team, project = Team(root), make()
    team.add(*map(entry, SIX))
    project.look()
    team.work()
    before = team.load("queue.json")["completed"]
    project.look()
    assert team.states() == dict.fromkeys(SIX, "completed")
    assert [e["id"] for e in team.load("queue.json")["completed"]] == [e["id"] for e in before]
    for task in SIX:
        walk = walks(project)[task]
        assert walk == (RETRIED if task in REJECTED else WHOLE) or walk == ("pending", "in_progress", *RETRIED[3:])
        assert "completed" not in inferred(project, task)  # the file says so
        assert "awaiting_review" in inferred(project, task)
    assert project.held() == []
    head = project.head()
    project.look()
    assert project.head() == head


@pytest.mark.proves("S0-LOC-16", "S0-EX-02", "S0-OVW-04")
@pytest.mark.parametrize("known", [True, False], ids=["known", "new"])
def test_messages_that_are_still_in_the_files_belong_to_their_attempts(
    root: Path, make: Callable[[], Project], known: bool
) -> None:
    team, project = Team(root), make()
    if known:
        team.add(*map(entry, SIX[:5]))
        project.look()
    states = {
        SIX[0]: ("completed", {}),
        SIX[1]: ("in_progress", {"rejectionReason": "No tests."}),
        SIX[2]: ("awaiting_review", {}),
        SIX[3]: ("completed", {"rejectionReason": "No tests."}),
        SIX[4]: ("pending", {"rejectionReason": "No tests."}),
    }
    team.add(*(entry(task, status, **more) for task, (status, more) in states.items()))
    for task in SIX[:5]:
        team.assign(task, instructions="first")
        team.report(task, summary="first")
    for task in (SIX[1], SIX[3]):
        team.assign(task, instructions="second")
    team.report(SIX[3], summary="second")
    project.look()
    assert team.states() == {task: status for task, (status, _) in states.items()}
    first, second = [("task_assignment", 1), ("completion_report", 1)], [("task_assignment", 2)]
    sent = {task: said(project, task) for task in SIX[:5]}
    assert [sent[task] for task in (SIX[0], SIX[1], SIX[2], SIX[4])] == [first, first + second, first, first]
    assert sorted(kind for kind, _ in sent[SIX[3]]) == sorted(kind for kind, _ in first * 2)
    attempts = [project.task(task).attempt for task in SIX[:5]]
    assert attempts == [1, 2, 1, 2 if known else 1, 2]  # of a new task that is completed, attempts are not told apart
    assert [m["instructions"] for m in team.messages("to-developer", SIX[1])] == ["second"]
    assert project.held() == []


@pytest.mark.proves("S0-LOC-15", "S0-LOC-16", "S0-LOC-17", "S0-TA-13", "S0-CL-05")
@pytest.mark.parametrize("state", ["rejected", "awaiting_review", "in_progress"])
@pytest.mark.parametrize("template", [True, False], ids=["template", "appended"])
def test_a_quick_lead_rejects_resets_and_assigns_between_two_looks(
    root: Path, make: Callable[[], Project], state: str, template: bool
) -> None:
    team, project = Team(root), make()
    team.add(entry(SIX[0]))
    team.assign(SIX[0], instructions="first")
    project.look()
    if state != "in_progress":
        team.report(SIX[0])
        project.look()
    if state == "rejected":
        team.edit(SIX[0], "rejected", rejectionReason="No tests.")
        project.look()
    assert team.states()[SIX[0]] == state
    if state == "in_progress":
        team.report(SIX[0])  # and it is judged before the next look
    if template:
        team.clear()
    team.assign(SIX[0], instructions="second")
    team.edit(SIX[0], "in_progress", rejectionReason="No tests.")
    project.look()
    assert project.task(SIX[0]).attempt == 2
    assert team.states()[SIX[0]] == "in_progress"
    assert [m["instructions"] for m in team.messages("to-developer", SIX[0])] == ["second"]
    assert project.ask("instructions", task=SIX[0])["messages"][-1]["data"]["instructions"] == "second"
    assert project.task(SIX[0]).setbacks[-1].reason == "No tests."
    team.report(SIX[0])
    project.look()
    team.edit(SIX[0], "completed")
    project.look()
    assert project.state(SIX[0]) == "completed"
    assert project.held() == []


@pytest.mark.proves("S0-LOC-15", "S0-LOC-17")
def test_a_task_is_reset_with_its_reason_in_one_edit_and_the_assignment_may_come_first(
    root: Path, make: Callable[[], Project]
) -> None:
    team, project = Team(root), make()
    team.add(entry(SIX[0]))
    team.assign(SIX[0], instructions="first")
    project.look()
    team.report(SIX[0])
    project.look()
    team.assign(SIX[0], instructions="second")  # before the verdict
    project.look()
    assert project.state(SIX[0]) == "awaiting_review"
    assert [m["instructions"] for m in team.messages("to-developer", SIX[0])] == ["first", "second"]
    team.edit(SIX[0], "pending", rejectionReason="No tests.")
    project.look()
    assert walks(project)[SIX[0]] == (*RETRIED[:5], "in_progress")
    assert [m["instructions"] for m in team.messages("to-developer", SIX[0])] == ["second"]
    assert project.held() == []


@pytest.mark.proves("S0-LOC-16", "S0-LOC-17", "S0-OVW-04")
def test_what_is_found_of_a_second_attempt_belongs_to_it_whatever_moot_saw_of_the_first(
    root: Path, make: Callable[[], Project]
) -> None:
    team, project = Team(root), make()
    team.add(*map(entry, SIX))
    project.look()
    starts = ("pending", "in_progress", "awaiting_review")
    ends = ("in_progress", "awaiting_review")
    wrong = []
    for task, (start, end) in zip(SIX, [(start, end) for start in starts for end in ends], strict=True):
        if start != "pending":
            team.assign(task, instructions="first")
            project.look()
        if start == "awaiting_review":
            team.report(task, summary="first")
            project.look()
        assert team.states()[task] == start
        team.clear()
        team.edit(task, "rejected", rejectionReason="No tests.")
        team.edit(task, "pending")
        team.assign(task, instructions="second")
        team.edit(task, "in_progress")
        team.report(task, summary="second")
        team.edit(task, end)
        project.look()
        shown = [m["instructions"] for m in team.messages("to-developer", task)]
        shown += [m["summary"] for m in team.messages("to-team-lead", task)]
        if (shown, team.states()[task], project.task(task).attempt) != (["second"] * 2, "awaiting_review", 2):
            wrong.append((start, end, shown, team.states()[task], project.task(task).attempt))
        team.edit(task, "completed")
        project.look()
    assert wrong == []
    assert project.held() == []


@pytest.mark.proves("S0-LOC-17", "S0-TA-13")
@pytest.mark.parametrize("status", ["rejected", "replaced", "pending"])
def test_an_assignment_of_the_next_attempt_that_is_found_with_the_verdict_stays(
    root: Path, make: Callable[[], Project], status: str
) -> None:
    team, project = Team(root), make()
    team.add(entry(SIX[0]))
    project.look()
    if status != "pending":  # the lead leaves the reset to moot
        team.assign(SIX[0], instructions="first")
        team.report(SIX[0], summary="first")
    team.edit(SIX[0], "rejected", rejectionReason="No tests.")
    if status == "replaced":  # a mailbox written from the template
        team.save("messages/to-developer.json", {"messages": [], "lastRead": None})
    elif status == "pending":
        team.edit(SIX[0], status)
    team.assign(SIX[0], instructions="second")
    project.look()
    assert [m["instructions"] for m in team.messages("to-developer", SIX[0])] == ["second"]
    team.report(SIX[0], summary="second")
    project.look()
    assert [m["summary"] for m in team.messages("to-team-lead", SIX[0])] == ["second"]
    assert (project.task(SIX[0]).attempt, project.state(SIX[0])) == (2, "awaiting_review")
    assert project.held() == []


@pytest.mark.proves("S0-LOC-17", "S0-OVW-04")
def test_a_lead_removes_the_reason_when_it_tries_again(root: Path, make: Callable[[], Project]) -> None:
    team, project = Team(root), make()
    team.add(entry(SIX[0]))
    team.assign(SIX[0], instructions="first")
    project.look()
    team.report(SIX[0], summary="first")
    team.edit(SIX[0], "rejected", rejectionReason="No tests.")
    team.edit(SIX[0], "in_progress", rejectionReason=None)
    team.assign(SIX[0], instructions="second")
    project.look()
    assert "second" in [m["instructions"] for m in team.messages("to-developer", SIX[0])]
    team.report(SIX[0], summary="second")
    project.look()
    assert [m["summary"] for m in team.messages("to-team-lead", SIX[0])] == ["second"]
    assert (project.task(SIX[0]).attempt, project.state(SIX[0])) == (2, "awaiting_review")
    assert project.held() == []


@pytest.mark.proves("S0-LOC-16", "S0-LOC-17", "S0-EX-02")
@pytest.mark.parametrize("seen", [True, False], ids=["report seen", "together"])
def test_a_lead_gives_the_same_reason_twice(root: Path, make: Callable[[], Project], seen: bool) -> None:
    """The entry in the queue is then as moot wrote it, and only the new assignment shows the second rejection."""
    team, project = Team(root), make()
    team.add(entry(SIX[0]))
    team.assign(SIX[0], instructions="1")
    project.look()
    for attempt in ("1", "2"):
        team.report(SIX[0], summary=attempt)
        if attempt == "1" or seen:
            project.look()
        team.edit(SIX[0], "in_progress", rejectionReason="No tests.")
        team.assign(SIX[0], instructions=str(int(attempt) + 1))
        project.look()
    team.report(SIX[0], summary="3")
    project.look()
    assert [m["summary"] for m in team.messages("to-team-lead", SIX[0])] == ["3"]
    assert [event.data["reason"] for event in project.events("task:rejected")] == ["No tests."] * 2
    team.edit(SIX[0], "completed")
    project.look()
    assert (project.task(SIX[0]).attempt, project.state(SIX[0])) == (3, "completed")
    assert project.held() == []


@pytest.mark.proves("S0-EX-02", "S0-OVW-04", "S0-LOC-17")
@pytest.mark.parametrize("notified", [True, False], ids=["watchfiles", "polling"])
def test_a_driver_without_pause_works_beside_a_watcher(
    root: Path, make: Callable[[], Project], notified: bool, tmp_path: Path
) -> None:
    team, project = Team(root), make()
    team.add(*map(entry, SIX))
    project.look()
    environment = project.environment()
    if not notified:  # a module of this name that cannot be imported
        (tmp_path / "bare").mkdir()
        (tmp_path / "bare/watchfiles.py").write_text("raise ImportError")
        environment["PYTHONPATH"] = f"{tmp_path / 'bare'}:{environment['PYTHONPATH']}"
    watcher = subprocess.Popen(
        project.command("mirror", "--watch"), cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        team.add(*map(entry, SIX))
        until(
            lambda: all("updatedAt" in e for e in team.load("queue.json")["tasks"]), "the watcher has written the file"
        )
        team.work()
    finally:
        watcher.terminate()
        _, trouble = watcher.communicate(timeout=PATIENCE)
    assert b"Traceback" not in trouble
    project.look()
    assert team.states() == dict.fromkeys(SIX, "completed")
    assert [(e.stream, e.data["reason"]) for e in project.events("task:rejected")] == [
        (f"task/{task}", f"No tests in {task}.") for task in REJECTED
    ]
    assert project.held() == []


@pytest.mark.proves("S0-LOC-16", "S0-EX-02")
def test_a_report_and_its_verdict_that_come_while_moot_writes_the_queue_are_taken_together(
    root: Path, make: Callable[[], Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    team, project = Team(root), make()
    team.add(entry(SIX[0]))
    team.assign(SIX[0])
    project.look()
    quick = [SIX[0]]
    write = MirrorFile.write

    def late(file: MirrorFile, *given: Any, **more: Any) -> Any:
        if file.path.endswith("queue.json") and quick:
            task = quick.pop()
            team.report(task)
            team.edit(task, "completed")
        return write(file, *given, **more)

    monkeypatch.setattr(MirrorFile, "write", late)
    team.save("queue.json", {**team.load("queue.json"), "tasks": [*team.load("queue.json")["tasks"], entry(SIX[1])]})
    project.look()
    assert (quick, project.held()) == ([], [])
    assert said(project, SIX[0]) == [("task_assignment", 1), ("completion_report", 1)]
    assert team.states() == {SIX[0]: "completed", SIX[1]: "pending"}
    assert inferred(project, SIX[0]) == []


@pytest.mark.proves("S0-LOC-16", "S0-EX-02")
@pytest.mark.parametrize("left", [0, 40], ids=["emptied", "half"])
def test_a_verdict_waits_for_a_mailbox_that_is_being_written(
    root: Path, make: Callable[[], Project], left: int
) -> None:
    team, project = Team(root), make()
    team.add(entry(SIX[0]))
    team.assign(SIX[0])
    project.look()
    team.report(SIX[0])
    team.edit(SIX[0], "completed")
    mailbox = team.folder / "messages/to-team-lead.json"
    whole = mailbox.read_text()
    with mailbox.open("w") as writing:
        writing.write(whole[:left])
        writing.flush()
        project.look()
        assert team.states()[SIX[0]] == "completed"
        writing.write(whole[left:])
    project.look()
    assert project.held() == []
    assert said(project, SIX[0]) == [("task_assignment", 1), ("completion_report", 1)]
    assert (project.state(SIX[0]), inferred(project, SIX[0])) == ("completed", [])


FLAT: dict[str, Any] = {
    "version": "1.0",
    "tasks": [
        entry("task-001", "in_progress", priority="critical", assignee={"name": "Sam"}),
        entry("task-002", "pending", priority="high"),
        {"id": "task-003", "title": "Without a status", "priority": "someday", "platform": "backend"},
    ],
    "completed": [{"id": "task-004", "title": "Without a status"}],
    "rejected": [entry("task-005", "rejected", rejectionReason="Not needed."), {"id": "task-006", "title": "No"}],
    "current": "task-001",
    "lastUpdated": "2024-01-01T00:00:00.000Z",
    "project": {"name": "shop"},
}
FLAT_STATES = dict(zip(SIX, ("in_progress", "pending", "pending", "completed", "rejected", "rejected"), strict=True))


@pytest.mark.proves("S0-LOC-02", "S0-LOC-13", "S0-LOC-14", "S0-LOC-18", "S0-LOC-04", "S0-OVW-01")
def test_the_folder_of_the_published_tool_is_served_in_place(root: Path) -> None:
    project, team = Project(root), Team(root, "")
    project.git("init", "--quiet", "--template=", ".")
    team.save("queue.json", FLAT)
    team.assign("task-001")
    (team.folder / "status.json").write_bytes(b"")
    for name in ("to-designer", "to-tech-lead"):
        (team.folder / f"messages/{name}.json").write_text("[]")
    done = project.voice("init", "--pack", "orchestrator")
    assert done.code == 0, done.err
    for word in ("6 tasks", "1 message", f"{FOLDER}/queue.json", "to-designer.json", "to-tech-lead.json"):
        assert word in done.out, (word, done.out)
    assert team.states() == FLAT_STATES
    content = team.load("queue.json")
    assert {name: [e["id"] for e in content[name]] for name in ("tasks", "completed", "rejected")} == {
        "tasks": ["task-001", "task-002", "task-003"],
        "completed": ["task-004"],
        "rejected": ["task-005", "task-006"],
    }
    assert content["current"] == "task-001"
    assert {**content, "lastUpdated": None}.keys() == FLAT.keys()
    assert content["project"] == {"name": "shop"}
    for known in (*FLAT["tasks"], *FLAT["completed"], *FLAT["rejected"]):
        shown = next(e for n in ("tasks", "completed", "rejected") for e in content[n] if e["id"] == known["id"])
        assert {**shown, **known} == shown
    assert team.load("status.json")["teamLead"]["status"] == "idle"
    assert not (root / FOLDER / "tasks").exists()
    assert [(team.folder / f"messages/{n}.json").read_text() for n in ("to-designer", "to-tech-lead")] == ["[]"] * 2
    flags = [event.data.get("flags", ()) for event in project.events("task:added")]
    assert all(any(flag.startswith("adopted") for flag in one) for one in flags)
    assert len({event.commit for event in project.events("task:added")}) == 1
    # the work goes on in these files
    team.report("task-001")
    project.look()
    team.edit("task-001", "completed")
    team.edit("task-002", "in_progress")
    done = project.voice("board")
    assert "to-designer" not in done.out + done.err
    assert (project.state("task-001"), project.state("task-002")) == ("completed", "in_progress")
    assert team.load("queue.json")["current"] == "task-002"
    assert [task["id"] for task in project.ask("ready")] == ["task-003"]
    assert project.held() == []
    assert project.cli("pack", "check").code == 0
    project.run("verify")
    project.close()


@pytest.mark.proves("S0-LOC-02", "S0-LOC-13", "S0-EX-02")
@pytest.mark.parametrize("layout", ["", "tasks/"], ids=["flat", "spec"])
def test_a_project_with_finished_work_starts_with_moot_and_goes_on(root: Path, layout: str) -> None:
    project, team = Project(root), Team(root, layout)
    project.git("init", "--quiet", "--template=", ".")
    team.add(*map(entry, SIX))
    team.work()
    team.assign(SIX[5], instructions="a copy that was left")
    done = project.voice("init", "--pack", "orchestrator")
    assert "6 tasks (6 completed)" in done.out, done.out
    assert team.states() == dict.fromkeys(SIX, "completed")
    assert walks(project) == dict.fromkeys(SIX, ("completed",))
    assert [kind for kind, _ in said(project, SIX[5])] == ["task_assignment"]
    assert team.messages("to-developer", SIX[5]) == []
    assert project.held() == []
    head = project.head()
    assert project.cli("init", "--pack", "orchestrator").code == 0
    assert project.head() == head
    project.run("verify")
    project.close()


@pytest.mark.proves("S0-LOC-13")
def test_of_two_layouts_the_one_with_tasks_is_served_and_the_other_is_named(root: Path) -> None:
    project, flat, spec = Project(root), Team(root, ""), Team(root, "tasks/")
    project.git("init", "--quiet", "--template=", ".")
    flat.add(entry("task-001"))
    spec.add()
    done = project.voice("init", "--pack", "orchestrator")
    assert f"{FOLDER}/tasks/queue.json" in done.out
    assert project.state("task-001") == "pending"
    assert spec.load("queue.json")["tasks"] == []
    checked = project.cli("pack", "check").json["result"]["problems"]
    assert [(one["file"], one["note"]) for one in checked] == [(f"{FOLDER}/tasks/queue.json", True)]
    project.close()
