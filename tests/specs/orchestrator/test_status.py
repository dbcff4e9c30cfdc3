"""The agent status: `status.json` follows from the log, and an agent may say in it what it is doing."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from moot.packs.orchestrator import driver_status
from tests.specs.orchestrator.project import PATIENCE, Project
from tests.specs.orchestrator.samples import assignment, report

if TYPE_CHECKING:
    from moot.api.call import Call

WORDS = ("idle", "analyzing", "assigning", "implementing", "reviewing")
EMPTY = {
    "orchestrator": {"running": False, "pid": None, "startedAt": None},
    "teamLead": {"status": "idle", "lastActivity": None},
    "developer": {"status": "idle", "currentTask": None, "lastActivity": None},
    "lastCycle": None,
}
DRIVER = """
import os, sys, time
from moot.packs.orchestrator import driver_status
from tests.calls import open_call
from tests.specs.orchestrator.test_status import locked

call = open_call(sys.argv[1], dict(os.environ))
lock = locked(call)
driver_status.started(call)
print("started", flush=True)
time.sleep(600)
"""


def locked(call: Call) -> int:
    """The lock that a driver holds as long as it lives."""
    folder = os.path.join(call.place.state, "drivers")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(folder, "orchestrator"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def doing(project: Project) -> tuple[str, str, str | None]:
    content = project.status()
    return content["teamLead"]["status"], content["developer"]["status"], content["developer"]["currentTask"]


@pytest.mark.proves("S0-LOC-09")
def test_the_status_has_its_four_parts(project: Project) -> None:
    assert project.status() == EMPTY
    assert list(project.status()) == ["orchestrator", "teamLead", "developer", "lastCycle"]
    project.assign()
    project.run("ack", project.join("Dev", "developer"), ids=[project.events("message:sent")[0].stream[8:]])
    content = project.status()
    assert list(content["developer"]) == ["status", "currentTask", "lastActivity"]
    assert content["teamLead"]["lastActivity"] == project.events("message:sent")[0].at
    assert content["developer"]["lastActivity"] == project.events("message:acked")[0].at
    assert {content["teamLead"]["status"], content["developer"]["status"]} <= set(WORDS)


@pytest.mark.proves("S0-LOC-10")
def test_the_status_of_both_agents_follows_from_the_log(project: Project) -> None:
    project.join("Lead", "team-lead")
    project.join("Dev", "developer")
    project.run("task add", title="Build it")
    assert doing(project) == ("idle", "idle", None)
    project.run("task claim", "Lead", task="task-001")
    assert doing(project) == ("analyzing", "idle", None)
    sent = project.assign(agent="Lead")["id"]
    assert doing(project) == ("idle", "idle", None)  # the developer has not read it yet
    project.run("ack", "Dev", ids=[sent])
    assert doing(project) == ("idle", "implementing", "task-001")
    answer = project.report()["id"]
    assert doing(project) == ("idle", "idle", None)  # nor has the lead
    project.run("ack", "Lead", ids=[answer])
    assert doing(project) == ("reviewing", "idle", None)
    project.run("task reject", "Lead", task="task-001", reason="No tests.")
    assert doing(project) == ("idle", "idle", None)
    assert project.status()["teamLead"]["lastActivity"] == project.events("task:rejected")[0].at
    project.run("task reopen", "Lead", task="task-001")
    assert project.status()["teamLead"]["lastActivity"] == project.events("task:reopened")[0].at
    assert doing(project) == ("idle", "idle", None)


@pytest.mark.proves("S0-LOC-10")
def test_the_status_follows_from_files_too(project: Project) -> None:
    project.append("developer", assignment())
    project.look()
    assert doing(project) == ("idle", "idle", None)
    project.write("developer", [assignment()], last_read="2024-01-01T00:00:01.000Z")
    project.look()
    assert doing(project) == ("idle", "implementing", "task-001")
    project.append("team-lead", report())
    project.look()
    project.write("team-lead", [report()], last_read="2024-01-01T00:00:02.000Z")
    project.look()
    assert doing(project) == ("reviewing", "idle", None)
    project.edit(status="completed")
    project.look()
    assert doing(project) == ("idle", "idle", None)


@pytest.mark.proves("S0-LOC-10")
def test_with_two_tasks_the_one_that_began_last_is_shown(project: Project) -> None:
    project.join("Dev", "developer")
    for name in ("task-001", "task-002"):
        project.run("ack", "Dev", ids=[project.assign(assignment(name))["id"]])
    assert doing(project) == ("idle", "implementing", "task-002")
    project.report(report("task-002"))
    assert doing(project) == ("idle", "implementing", "task-001")
    project.report(report("task-001"))
    assert doing(project) == ("idle", "idle", None)


@pytest.mark.proves("S0-LOC-09", "S0-LOC-10")
def test_nothing_is_taken_from_the_file_but_keys_of_others(project: Project) -> None:
    project.assign()
    old = project.status()
    project.run("ack", project.join("Dev", "developer"), ids=[project.events("message:sent")[0].stream[8:]])
    before, head = project.status(), project.head()
    for content in (
        old,
        {**before, "developer": {"status": "reviewing", "currentTask": "task-999", "lastActivity": "2999"}},
        {**before, "orchestrator": {"running": True, "pid": 1, "startedAt": "now"}, "lastCycle": {"completed": 7}},
        {**before, "teamLead": "idle", "developer": {"status": 7}},
    ):
        project.write_status(content)
        project.look()
        assert (project.status(), project.head()) == (before, head)
    before["developer"]["mood"] = {"today": "good"}
    project.write_status({**before, "host": "build-1"})
    project.look()
    project.write_status(old)
    project.look()
    project.run("task add", title="Other")
    assert project.status() == {**before, "host": "build-1"}
    assert project.held() == []


@pytest.mark.proves("S0-LOC-09")
def test_the_driver_sets_and_clears_its_part(project: Project) -> None:
    call = project.session()
    lock = locked(call)
    driver_status.started(call)
    running = project.status()["orchestrator"]
    assert (running["running"], running["pid"]) == (True, os.getpid())
    assert running["startedAt"] is not None
    driver_status.cycle(call, {"completed": 2, "rejected": 1})
    assert project.status()["lastCycle"] == {"completed": 2, "rejected": 1}
    driver_status.cycle(call, {"completed": 0})
    assert project.status()["lastCycle"] == {"completed": 0}
    driver_status.stopped(call)
    os.close(lock)
    assert project.status()["orchestrator"] == EMPTY["orchestrator"]
    assert project.status()["lastCycle"] == {"completed": 0}


@pytest.mark.proves("S0-LOC-09")
def test_a_driver_that_is_killed_is_not_shown_as_running(project: Project) -> None:
    words = [sys.executable, "-c", DRIVER, str(project.root)]
    env = {**project.environment(), "PYTHONPATH": os.pathsep.join(["src", "."])}
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    driver = subprocess.Popen(words, cwd=root, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "started\n"
        project.look()
        assert project.status()["orchestrator"]["pid"] == driver.pid
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.communicate(timeout=PATIENCE)
    said = project.look()["driver_ended"]
    assert str(driver.pid) in said
    assert project.status()["orchestrator"] == EMPTY["orchestrator"]
    head = project.head()
    assert "driver_ended" not in project.look()
    assert project.head() == head
