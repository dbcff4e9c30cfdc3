"""Moving an existing project over: files from an earlier use are taken over with the states that they record."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moot.wiring.admin import Admin
from tests.specs.orchestrator.project import FILES, FOLDER, LOG, QUEUE, STATUS, Project
from tests.specs.orchestrator.samples import STATES, assignment, report

OLD = "2024-01-01T00:00:00.000Z"


def entry(number: int, status: str, **more: Any) -> dict[str, Any]:
    """An entry as the original program writes it."""
    return {
        "id": f"task-{number:03}",
        "title": f"Task {number}",
        "description": "From before",
        "type": "feature",
        "priority": "medium",
        "platform": "web",
        "status": status,
        "createdAt": f"2023-0{number}-01T00:00:00.000Z",
        "updatedAt": OLD,
        **more,
    }


QUEUE_FROM_BEFORE: dict[str, Any] = {
    "version": "1.0",
    "tasks": [
        entry(1, "pending", acceptanceCriteria=["works"]),
        entry(2, "in_progress", estimate=3),
        entry(3, "awaiting_review"),
        entry(4, "rejected", rejectionReason="No tests."),
        entry(5, "awaiting_review"),
        entry(7, "rejected"),
    ],
    "completed": [entry(6, "completed"), entry(8, "completed", completedAt=OLD)],
    "current": "task-003",
    "lastUpdated": OLD,
    "project": "shop",
}
STATES_FROM_BEFORE = {e["id"]: e["status"] for name in ("tasks", "completed") for e in QUEUE_FROM_BEFORE[name]}
MESSAGES_FROM_BEFORE = {
    "developer": [assignment("task-002"), assignment("task-003"), assignment("task-008")],
    "team-lead": [report("task-003"), report("task-004", build="failed"), report("task-008")],
}


class Before(Project):
    """A project that was used without moot."""

    @classmethod
    def make(cls, root: Path) -> Before:
        root.mkdir(parents=True)
        made = cls(root)
        made.git("init", "--quiet", "--template=", ".")
        made.write_queue(QUEUE_FROM_BEFORE)
        for role, messages in MESSAGES_FROM_BEFORE.items():
            made.write(role, messages)
        made.put(STATUS, json.dumps({"developer": {"status": "implementing"}, "teamLead": {"status": "idle"}}))
        made.put(LOG, f"# Development Log\n\n[{OLD}] [INFO] Task 6 was built\n\n## A section\n")
        return made

    def put(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def states(self) -> dict[str, str]:
        content = self.queue()
        return {e["id"]: e["status"] for name in ("tasks", "completed") for e in content[name]}


@pytest.fixture
def before(folder: Path) -> Before:
    return Before.make(folder / "project")


@pytest.mark.proves("S0-LOC-02")
def test_files_from_an_earlier_use_are_taken_over_with_the_states_they_record(before: Before) -> None:
    said = before.cli("init", "--pack", "orchestrator")
    assert said.code == 0
    assert "8 tasks" in said.result["adopted"]
    assert "6 messages" in said.result["adopted"]
    assert before.states() == STATES_FROM_BEFORE
    content = before.queue()
    assert [e["id"] for e in content["completed"]] == ["task-006", "task-008"]
    assert content["project"] == "shop"
    for known in (*QUEUE_FROM_BEFORE["tasks"], *QUEUE_FROM_BEFORE["completed"]):
        shown = before.entry(known["id"])
        kept = {key: value for key, value in known.items() if key != "updatedAt"}
        assert {key: shown.get(key) for key in kept if known["id"] != "task-007"} == (
            kept if known["id"] != "task-007" else {}
        )
    assert before.entry("task-007")["rejectionReason"]
    # the messages of open tasks stay, those of completed ones are in the history
    assert [m["taskId"] for m in before.file("developer")["messages"]] == ["task-002", "task-003"]
    assert [m["taskId"] for m in before.file("team-lead")["messages"]] == ["task-003", "task-004"]
    assert len(before.events("message:sent")) == 6
    assert before.task("task-003").report is not None
    assert before.task("task-005").report is None
    assert before.status()["teamLead"]["status"] == "idle"
    assert f"[{OLD}] [INFO] Task 6 was built" in before.journal()
    assert "## A section" in before.journal()
    assert before.held() == []
    before.run("verify")


@pytest.mark.proves("S0-LOC-02")
def test_each_task_takes_a_legal_path_and_each_step_of_it_is_flagged(before: Before) -> None:
    assert before.cli("init", "--pack", "orchestrator").code == 0
    for name, state in STATES_FROM_BEFORE.items():
        moves = before.moves(name)
        assert [source for source, _ in moves] == ["pending", *(target for _, target in moves)][:-1] if moves else True
        assert (moves[-1][1] if moves else "pending") == state
    flagged = {
        (event.stream[5:], event.data["target"])
        for event in before.events()
        if any(flag.startswith("adopted") for flag in event.data.get("flags", ()))
    }
    assert ("task-008", "completed") in flagged
    assert ("task-008", "awaiting_review") not in flagged  # its report was still there
    assert {("task-006", state) for state in ("in_progress", "awaiting_review", "completed")} <= flagged
    assert before.moves("task-007") == [("pending", "in_progress"), ("in_progress", "rejected")]
    assert before.moves("task-004") == [
        ("pending", "in_progress"),
        ("in_progress", "awaiting_review"),
        ("awaiting_review", "rejected"),
    ]


@pytest.mark.proves("S0-LOC-02")
def test_a_second_time_changes_nothing(before: Before) -> None:
    assert before.cli("init", "--pack", "orchestrator").code == 0
    head = before.head()
    files = {path: (before.root / path).read_bytes() for path in (QUEUE, STATUS, LOG, *FILES.values())}
    for words in (("init", "--pack", "orchestrator"), ("pack", "adopt"), ("pack", "adopt", "orchestrator")):
        assert before.cli(*words).code == 0
    before.write_queue(QUEUE_FROM_BEFORE)  # nor does the old file
    for role, messages in MESSAGES_FROM_BEFORE.items():
        before.write(role, messages)
    before.look()
    assert before.cli("pack", "adopt").result["tasks"] == {}
    assert before.states() == STATES_FROM_BEFORE
    assert {event.type for event in before.events(after=head)} <= {"feed:noted"}  # that the queue was old
    assert {path: (before.root / path).read_bytes() for path in files if path != LOG} == {
        path: data for path, data in files.items() if path != LOG
    }
    assert before.held() == []


@pytest.mark.proves("S0-LOC-02")
def test_a_pack_that_is_turned_on_by_hand_adopts_too(before: Before) -> None:
    Admin(str(before.root), before.env).create(())
    before.put("moot.toml", 'packs = ["orchestrator"]\n[tasks]\nlifecycle = "orchestrator"\n')
    assert before.cli("board").code == 0
    assert before.states() == STATES_FROM_BEFORE


@pytest.mark.proves("S0-LOC-02")
def test_work_goes_on_from_where_it_was(before: Before) -> None:
    assert before.cli("init", "--pack", "orchestrator").code == 0
    before.append("team-lead", report("task-002"))
    before.edit("task-005", status="completed")
    before.edit("task-004", status="pending")
    before.look()
    assert (before.state("task-002"), before.state("task-005")) == ("awaiting_review", "completed")
    assert (before.state("task-004"), before.task("task-004").attempt) == ("pending", 2)
    before.enqueue({"title": "New", "status": "completed"})  # from now on the rules hold
    before.look()
    assert before.state("task-009") == "pending"
    before.edit("task-001", status="completed")
    before.look()
    assert before.state("task-001") == "pending"
    assert [held["code"] for held in before.held()] == ["no_such_move"]


@pytest.mark.proves("S0-LOC-02")
def test_what_cannot_be_read_is_kept_and_the_rest_is_taken(before: Before) -> None:
    for path in (FILES["developer"], STATUS):
        (before.root / path).write_text('{"messages": [')
        os.utime(before.root / path, (0, 0))
    content = json.loads((before.root / QUEUE).read_text())
    content["tasks"] += [entry(9, "done"), {"title": ""}, "nonsense", {"title": "No id", "status": "in_progress"}]
    before.write_queue(content)
    assert before.cli("init", "--pack", "orchestrator").code == 0
    assert before.states() == {**STATES_FROM_BEFORE, "task-009": "pending", "task-010": "in_progress"}
    assert sorted(entry["code"] for entry in before.held()) == [*["bad_entry"] * 3, "unparsable", "unparsable"]
    assert any(entry["task"] == "task-009" and '"done"' in entry["raw"] for entry in before.held())
    quarantined = [entry["path"] for entry in before.held() if entry["code"] == "unparsable"]
    assert sorted(quarantined) == [FILES["developer"], STATUS]


@pytest.mark.proves("S0-LOC-02")
@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40])
def test_an_adoption_that_was_killed_is_finished_by_the_next_command(before: Before, step: int) -> None:
    Admin(str(before.root), before.env).create(())
    before.put("moot.toml", 'packs = ["orchestrator"]\n[tasks]\nlifecycle = "orchestrator"\n')
    script = """
import os, sys
left = int(sys.argv[1])
def counted(call):
    def count(*given, **named):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return call(*given, **named)
    return count
from moot.engine.engine import Engine
Engine.commit = counted(Engine.commit)
os.rename = counted(os.rename)
from moot import Workspace
with Workspace(sys.argv[2], person=True) as workspace:
    workspace.mirror()
"""
    words = [sys.executable, "-c", script, str(step), str(before.root)]
    done = subprocess.run(words, env=before.environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 9), done.stderr
    before.look()
    assert before.states() == STATES_FROM_BEFORE
    assert len(before.events("message:sent")) == 6
    assert before.held() == []


# On request


@pytest.mark.proves("S0-LOC-02")
def test_agents_that_went_on_without_moot_are_taken_over_on_request(project: Project) -> None:
    project.enqueue({"title": "One"}, {"title": "Two"})
    project.look()
    content = project.queue()
    content["tasks"][0]["status"] = "completed"
    content["tasks"][1] |= {"status": "rejected", "rejectionReason": "No.", "title": "Two, renamed"}
    content["tasks"].append({"title": "Three", "status": "awaiting_review"})
    project.write_queue(content)
    taken = project.cli("pack", "adopt")
    assert taken.result["tasks"] == {"awaiting_review": 1}
    assert (project.state("task-001"), project.state("task-002")) == ("completed", "rejected")
    assert project.task("task-002").title == "Two, renamed"
    assert project.held() == []
    again = project.head()
    assert project.cli("pack", "adopt").code == 0
    assert project.head() == again


def test_only_a_person_adopts(project: Project) -> None:
    project.join("Ada", "team-lead")
    assert project.cli_refusal("pack", "adopt", agent="Ada").code == "people_only"
    assert project.cli_refusal("pack", "adopt", "gsd").code == "unknown_pack"


@pytest.mark.proves("S0-HRD-22")
def test_files_one_level_up_are_reported_and_imported_once_on_request(project: Project) -> None:
    queue = {"version": "1.0", "tasks": [entry(1, "in_progress"), entry(2, "completed")], "completed": []}
    strays = {
        "queue.json": json.dumps(queue),
        "status.json": json.dumps({"developer": {"status": "implementing"}}),
        "to-developer.json": json.dumps({"messages": [assignment("task-001")], "lastRead": None}),
        "messages/to-team-lead.json": json.dumps({"messages": [report("task-001")], "lastRead": None}),
    }
    for name, text in strays.items():
        path = project.root / FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    checked = project.cli("pack", "check")
    assert checked.code == 6
    problems = {one["file"]: one for one in checked.json["result"]["problems"]}
    assert set(problems) == {f"{FOLDER}/{name}" for name in strays}
    assert QUEUE in problems[f"{FOLDER}/queue.json"]["message"]
    assert "pack adopt" in problems[f"{FOLDER}/queue.json"]["remedy"]
    assert "and then delete it" in problems[f"{FOLDER}/queue.json"]["remedy"]
    project.look()
    assert project.ask("board", all=True)["tasks"] == []  # nothing reads them by itself
    taken = project.cli("pack", "adopt").result
    assert sorted(taken["imported"]) == sorted(str(project.root / FOLDER / name) for name in strays)
    assert (project.state("task-001"), project.state("task-002")) == ("awaiting_review", "completed")
    assert project.file("developer")["messages"] == [assignment("task-001")]
    assert project.file("team-lead")["messages"] == [report("task-001")]
    assert project.status()["developer"]["status"] in ("implementing", "idle")
    project.run("task reject", task="task-001", reason="No tests.")
    head = project.head()
    assert project.cli("pack", "adopt").result["events"] == 0
    assert project.head() == head
    assert {name: (project.root / FOLDER / name).read_text() for name in strays} == strays
    assert project.held() == []
    for name in strays:
        (project.root / FOLDER / name).unlink()
    assert project.cli("pack", "check").code == 0


@pytest.mark.proves("S0-HRD-22")
def test_a_misplaced_file_that_cannot_be_read_is_named_and_left_alone(project: Project) -> None:
    (project.root / FOLDER / "queue.json").write_text("{")
    head = project.head()
    (said,) = project.cli("pack", "adopt").result["unreadable"]
    assert "queue.json" in said
    assert project.head() == head
    assert (project.root / FOLDER / "queue.json").read_text() == "{"


def test_all_states_are_covered() -> None:
    assert set(STATES_FROM_BEFORE.values()) == set(STATES)
