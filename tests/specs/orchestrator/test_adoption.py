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
from tests.specs.orchestrator.project import FILES, LOG, QUEUE, STATUS, Project
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


@pytest.mark.proves("S0-LOC-02", "S0-ST-11", "S0-ST-01")
def test_files_from_an_earlier_use_are_taken_over_with_the_states_they_record(before: Before) -> None:
    said = before.cli("init", "--pack", "orchestrator")
    assert said.code == 0
    for part in ("8 tasks", "2 awaiting_review", "6 messages", QUEUE):
        assert part in said.result["adopted"]
    assert before.states() == STATES_FROM_BEFORE
    content = before.queue()
    assert [e["id"] for e in content["completed"]] == ["task-006", "task-008"]
    assert (content["project"], content["current"]) == ("shop", "task-003")
    for known in (*QUEUE_FROM_BEFORE["tasks"], *QUEUE_FROM_BEFORE["completed"]):
        shown = before.entry(known["id"])
        assert {**shown, **known, "updatedAt": shown["updatedAt"]} == shown
    assert before.entry("task-007")["rejectionReason"]
    added = before.events("task:added")
    assert {e.stream[5:]: e.data["state"] for e in added} == STATES_FROM_BEFORE
    assert len({e.commit for e in added}) == 1
    assert all(flag.startswith("adopted") for e in added for flag in e.data["flags"])
    # the messages of open tasks stay, those of completed ones are in the history
    assert [m["taskId"] for m in before.file("developer")["messages"]] == ["task-002", "task-003"]
    assert [m["taskId"] for m in before.file("team-lead")["messages"]] == ["task-003", "task-004"]
    assert len(before.events("message:sent")) == 6
    assert before.status()["teamLead"]["status"] == "idle"
    assert f"[{OLD}] [INFO] Task 6 was built" in before.journal()
    assert "## A section" in before.journal()
    assert before.held() == []
    # A second time changes nothing, nor does the old file.
    head = before.head()
    for words in (("init", "--pack", "orchestrator"), ("pack", "adopt"), ("pack", "adopt", "orchestrator")):
        assert before.cli(*words).code == 0
    before.write_queue(QUEUE_FROM_BEFORE)
    for role, messages in MESSAGES_FROM_BEFORE.items():
        before.write(role, messages)
    assert before.cli("pack", "adopt").result["tasks"] == {}
    assert before.states() == STATES_FROM_BEFORE
    assert before.events(after=head) == []
    # Work goes on from where it was.
    before.append("team-lead", report("task-002"))
    before.edit("task-005", status="completed")
    before.edit("task-004", status="pending")
    before.enqueue({"title": "New", "status": "completed"})
    before.look()
    assert (before.state("task-002"), before.state("task-005")) == ("awaiting_review", "completed")
    assert (before.state("task-004"), before.task("task-004").attempt) == ("pending", 2)
    assert before.state("task-009") == "completed"
    before.run("verify")


@pytest.mark.proves("S0-LOC-02")
def test_a_pack_that_is_turned_on_by_hand_adopts_too(before: Before) -> None:
    Admin(str(before.root), before.env).create(())
    before.put("moot.toml", 'packs = ["orchestrator"]\n[tasks]\nlifecycle = "orchestrator"\n')
    assert before.cli("board").code == 0
    assert before.states() == STATES_FROM_BEFORE


@pytest.mark.proves("S0-LOC-02", "S0-LOC-08")
def test_what_cannot_be_read_is_kept_and_the_rest_is_taken(before: Before) -> None:
    for path in (FILES["developer"], STATUS):
        (before.root / path).write_text('{"messages": [')
        os.utime(before.root / path, (0, 0))
    content = json.loads((before.root / QUEUE).read_text())
    content["tasks"] += [entry(9, "done"), {"title": ""}, "nonsense", {"title": "No id", "status": "in_progress"}]
    before.write_queue(content)
    said = before.cli("init", "--pack", "orchestrator")
    assert "held" in said.result["adopted"]
    assert any("done" in text for text in said.result["told"])
    assert before.states() == {**STATES_FROM_BEFORE, "task-009": "pending", "task-010": "in_progress"}
    held = sorted(entry["code"] for entry in before.held())
    assert held == ["bad_entry", "bad_entry", "unknown_state", "unparsable", "unparsable"]
    assert any(entry["task"] == "task-009" and '"done"' in entry["raw"] for entry in before.held())
    quarantined = [entry["path"] for entry in before.held() if entry["code"] == "unparsable"]
    assert sorted(quarantined) == [FILES["developer"], STATUS]


@pytest.mark.proves("S0-LOC-02")
@pytest.mark.parametrize("step", [1, 2, 4, 6, 9, 13])
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


def test_only_a_person_adopts(project: Project) -> None:
    project.join("Ada", "team-lead")
    assert project.cli_refusal("pack", "adopt", agent="Ada").code == "people_only"
    assert project.cli_refusal("pack", "adopt", "gsd").code == "unknown_pack"


def test_all_states_are_covered() -> None:
    assert set(STATES_FROM_BEFORE.values()) == set(STATES)
