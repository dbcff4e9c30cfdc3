"""The built-in handlers and the files that they keep."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import Any

import pytest

from tests.specs.gsd import samples
from tests.specs.gsd.project import Project, finished
from tests.specs.gsd.samples import completed, created, failed, started, without

KEYS = [
    "current_phase",
    "current_wave",
    "active_agents",
    "completed_plans",
    "blocked_plans",
    "tech_stack",
    "key_files",
    "completed_tasks",
    "last_commit",
]


def context(project: Project) -> dict[str, Any]:
    return project.file("shared-context")


def plan_file(project: Project, plan: str, tasks: int, folder: str = "01-base", lines: str = "") -> None:
    path = project.root / ".planning" / "phases" / folder / f"{plan}-PLAN.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "".join(f'<task type="auto">\n  <name>Task {n}</name>\n</task>\n' for n in range(1, tasks + 1))
    path.write_text(f"---\nphase: {folder}\nplan: {plan.partition('-')[2]}\n{lines}---\n\n<tasks>\n{body}</tasks>\n")


def mail_of(project: Project, box: str) -> list[str]:
    return [mail["text"] for mail in project.ask("mailbox", name=box)["messages"]]


@pytest.mark.proves("S4-HAN-01")
@pytest.mark.parametrize("surface", ["api", "file"])
def test_a_completion_updates_the_shared_context(project: Project, surface: str) -> None:
    def say(event: dict[str, Any]) -> None:
        if surface == "api":
            project.emit(event)
        else:
            project.take(event)

    plan_file(project, "01-02", 2)
    say(samples.STARTED)
    assert context(project)["active_agents"] == [{"id": "gsd-executor", "plan": "01-02", "task": 1}]
    assert context(project)["current_phase"] == "01"
    say(samples.COMPLETED)
    found = context(project)
    assert found["active_agents"] == []
    assert found["completed_tasks"] == [
        {
            "plan": "01-02",
            "task": 1,
            "taskName": "Create User model",
            "agent": "gsd-executor",
            "commit": "abc1234",
            "duration": "15min",
            "timestamp": "2024-01-15T10:45:00Z",
        }
    ]
    assert (found["last_commit"]["commit"], found["last_commit"]["timestamp"]) == ("abc1234", "2024-01-15T10:45:00Z")
    assert found["completed_plans"] == []
    say({**samples.STARTED, "task": 2, "timestamp": "2024-01-15T10:46:00Z"})
    say({**samples.COMPLETED, "task": 2, "timestamp": "2024-01-15T10:47:00Z"})
    assert context(project)["completed_plans"] == ["01-02"]
    assert project.posted()[1]["handled"] == ["blackboard-sync"]


@pytest.mark.proves("S4-HAN-05")
def test_a_failure_is_logged_told_and_blocks_its_plan_until_the_task_starts_again(project: Project) -> None:
    project.emit(started("01-02", 1))
    project.emit(started("01-02", 2))
    project.emit(failed("01-02", 1, error="Tests fail"))
    project.emit(failed("01-02", 2, error="Lint fails"))
    found = context(project)
    assert (found["blocked_plans"], found["active_agents"]) == (["01-02"], [])
    errors = project.file("errors")["errors"]
    assert [(e["task"], e["error"], e["eventId"]) for e in errors] == [(1, "Tests fail", 3), (2, "Lint fails", 4)]
    assert ["Tests fail" in text for text in mail_of(project, "@orchestrator")] == [True, False]
    project.emit(started("01-02", 1))
    assert context(project)["blocked_plans"] == ["01-02"], "its other task has failed"
    project.emit(started("01-02", 2))
    assert context(project)["blocked_plans"] == []
    assert len(project.file("errors")["errors"]) == 2
    assert project.posted()[2]["handled"] == ["error-handler"]


@pytest.mark.proves("S4-HAN-06")
def test_the_built_in_handlers_are_active_without_a_configuration(project: Project) -> None:
    assert not (project.root / ".planning" / "config.json").exists()
    for event in samples.IN_ORDER:
        project.emit(event)
    assert {one["event"]["type"]: one.get("handled", []) for one in project.posted()} == {
        "artifact:created": ["dependency-resolver"],
        "task:started": [],
        "file:claimed": [],
        "decision:made": ["decision-tracker"],
        "file:released": [],
        "task:completed": ["blackboard-sync"],
        "artifact:modified": [],
        "dependency:satisfied": [],
        "checkpoint:reached": ["orchestrator"],
        "task:failed": ["error-handler"],
    }


@pytest.mark.proves("S4-HAN-07")
def test_the_shared_context_has_its_keys_and_keeps_those_of_agents(project: Project) -> None:
    found = context(project)
    assert list(found) == KEYS
    assert (found["tech_stack"], found["key_files"]) == (
        {"added": [], "patterns": []},
        {"models": [], "api": [], "components": []},
    )
    found["tech_stack"]["added"] = ["jose"]
    found["notes"] = {"by": "hand", "list": [1, 2]}
    project.put(found, "shared-context")
    project.emit(started())
    project.emit(completed())
    after = context(project)
    assert (after["tech_stack"]["added"], after["notes"]) == (["jose"], {"by": "hand", "list": [1, 2]})
    assert len(after["completed_tasks"]) == 1
    assert set(after) == {*KEYS, "notes"}


@pytest.mark.proves("S4-HAN-07", "S4-HRD-22")
def test_what_moot_keeps_in_the_shared_context_cannot_be_edited(project: Project) -> None:
    project.emit(started())
    found = context(project)
    project.put({**found, "active_agents": [], "completed_tasks": [{"plan": "09-09"}], "mine": 1}, "shared-context")
    warned = project.look()
    assert "completed_tasks" in warned["change_refused"]
    assert context(project) == {**found, "mine": 1}


@pytest.mark.proves("S4-HAN-08")
def test_a_plan_is_done_by_its_declared_tasks_or_its_summary(project: Project) -> None:
    for n in (1, 2, 3):
        project.emit(completed("01-01", n))
    assert context(project)["completed_plans"] == [], "nobody said how many tasks it has"
    plan_file(project, "01-01", 3)
    project.look()
    assert context(project)["completed_plans"] == ["01-01"]
    project.emit(completed("01-02", 1))
    summary = project.root / ".planning" / "phases" / "01-base" / "01-02-SUMMARY.md"
    summary.write_text("# Done\n")
    project.look()
    assert context(project)["completed_plans"] == ["01-01", "01-02"]
    plan_file(project, "01-03", 2)
    project.emit(completed("01-03", 1))
    project.emit(completed("01-03", 1))
    assert "01-03" not in context(project)["completed_plans"], "one task twice is not two tasks"
    project.emit(started("01-01", 2))
    assert context(project)["completed_plans"] == ["01-02"], "one of its tasks is running again"


@pytest.mark.proves("S4-HRD-19")
def test_each_handler_runs_once_however_the_event_came(project: Project) -> None:
    project.take({**samples.FAILED, "task": 1})
    for _ in range(3):
        project.look()
    project.emit(failed(task=2))
    data = json.dumps(without(failed(task=3), "type"))
    finished([project.start("emit", "task:failed", "--data", data, "--key", "once") for _ in range(4)])
    assert [row["task"] for row in project.file("errors")["errors"]] == [1, 2, 3]
    assert len(mail_of(project, "@orchestrator")) == 3


@pytest.mark.proves("S4-HRD-19", "S4-HRD-03")
def test_after_a_crash_between_log_and_file_the_files_are_brought_up_to_date(project: Project) -> None:
    killed = """
import os, sys, signal
from moot.core.identity import decide
from moot.wiring import open_workspace
import moot.mirrors.rendering as rendering
rendering.Renderer.render = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
session = open_workspace(os.getcwd(), os.environ).call(decide(os.environ))
session.run("emit", {"type": "task:failed", "data": {"agent": "a", "plan": "01-02", "task": 1, "error": "x"}})
"""
    import sys

    argv = [sys.executable, "-c", killed]
    done = subprocess.run(argv, cwd=project.root, env=project.environment(), check=False, timeout=60)
    assert done.returncode == -9
    assert project.events_shown == []
    project.look()
    assert len(project.events_shown) == 1
    assert len(project.file("errors")["errors"]) == 1
    assert len(mail_of(project, "@orchestrator")) == 1


@pytest.mark.proves("S4-HRD-22")
def test_concurrent_completions_and_edits_lose_no_entry_and_no_key(project: Project) -> None:
    done = threading.Event()
    written: list[str] = []

    def edit() -> None:
        """An agent that adds a key of its own again and again, by reading, changing and replacing the file."""
        n = 0
        while not done.is_set() or n < 3:
            content = context(project)
            content[f"own{n}"] = n
            draft = project.path("shared-context").with_name("draft.json")
            draft.write_text(json.dumps(content))
            draft.rename(project.path("shared-context"))
            project.cli("board")
            written.append(f"own{n}")
            n += 1

    editor = threading.Thread(target=edit)
    editor.start()
    children = [
        project.start("emit", "task:completed", "--data", json.dumps(without(completed(task=n), "type")))
        for n in range(1, 13)
    ]
    said = finished(children)
    done.set()
    editor.join()
    assert [spoken.code for spoken in said] == [0] * 12
    project.look()
    found = context(project)
    assert {row["task"] for row in found["completed_tasks"]} == set(range(1, 13))
    assert [key for key in written if key not in found] == []


@pytest.mark.proves("S4-HRD-22")
def test_a_damaged_or_deleted_context_comes_back(project: Project) -> None:
    project.emit(started())
    project.put({**context(project), "mine": {"a": 1}}, "shared-context")
    project.look()
    good = project.path("shared-context").read_bytes()
    for damage in (b"", b"{"):
        project.path("shared-context").write_bytes(damage)
        if damage:
            import os

            os.utime(project.path("shared-context"), (1, 1))  # it has been torn for long
        project.look()
        assert project.path("shared-context").read_bytes() == good
    project.path("shared-context").unlink()
    project.look()
    assert project.path("shared-context").read_bytes() == good


@pytest.mark.proves("S4-DEP-02")
def test_a_derived_event_carries_its_cause(project: Project) -> None:
    from tests.specs.gsd.test_dependencies import declare

    declare(project, "01-02", "a.ts")
    project.emit(created("a.ts"))
    assert [(one["event"]["type"], one.get("cause", 0)) for one in project.posted()] == [
        ("artifact:created", 0),
        ("dependency:satisfied", 1),
    ]
