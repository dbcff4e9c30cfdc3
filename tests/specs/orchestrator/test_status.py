"""The agent status: `status.json` follows from the log, and an agent may say in it what it is doing."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from moot.packs.orchestrator import driver_status
from tests.specs.orchestrator.project import PATIENCE, STATUS, Project
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


@pytest.mark.proves("S0-LOC-10")
@pytest.mark.parametrize("agent", ["teamLead", "developer"])
@pytest.mark.parametrize("word", WORDS[1:])
def test_a_word_of_the_protocol_is_the_reported_status_until_something_newer_happens(
    project: Project, agent: str, word: str
) -> None:
    project.say(agent, status=word)
    project.look()
    assert project.status()[agent]["status"] == word
    assert project.status()[agent]["lastActivity"] is not None
    other = "developer" if agent == "teamLead" else "teamLead"
    assert project.status()[other] == EMPTY[other]
    (changed,) = project.events("document:changed")
    assert changed.by == ("role:team-lead" if agent == "teamLead" else "role:developer")
    project.run("task add", title="Other")  # nothing about this agent
    assert project.status()[agent]["status"] == word
    project.assign()
    project.report()
    assert doing(project) == ("idle", "idle", None)
    assert project.held() == []


@pytest.mark.proves("S0-LOC-10")
@pytest.mark.parametrize("word", ["sleeping", "Idle", "", None, 7, ["idle"]])
def test_any_other_word_is_held_and_the_true_status_is_shown_again(project: Project, word: Any) -> None:
    project.say("developer", status=word)
    warnings = project.look()
    assert project.status() == EMPTY
    (held,) = project.held()
    assert (held["code"], held["path"], held["mirror"]) == ("bad_status", STATUS, "status")
    assert json.loads(held["raw"])["status"] == word
    assert [defect["path"] for defect in held["defects"]] == ["developer.status"]
    assert all(known in held["reason"] for known in WORDS)
    assert held["id"] in warnings["entry_held"]


@pytest.mark.proves("S0-LOC-10")
def test_what_follows_from_the_log_cannot_be_written(project: Project) -> None:
    project.assign()
    project.run("ack", project.join("Dev", "developer"), ids=[project.events("message:sent")[0].stream[8:]])
    before = project.status()
    project.say("developer", currentTask="task-999", lastActivity="2999-01-01T00:00:00.000Z")
    project.look()
    assert project.status() == before
    project.write_status({**before, "orchestrator": {"running": True, "pid": 1, "startedAt": "now"}, "lastCycle": {}})
    assert "orchestrator" in project.look()["change_refused"]
    assert project.status() == before
    project.write_status({**before, "teamLead": "idle"})
    project.look()
    assert project.status() == before
    assert [held["raw"] for held in project.held()] == ['"idle"']


@pytest.mark.proves("S0-LOC-10", "S0-HRD-23")
def test_an_old_copy_of_the_status_reports_nothing(project: Project) -> None:
    project.join("Dev", "developer")
    copies = [project.status()]
    project.run("ack", "Dev", ids=[project.assign()["id"]])
    copies.append(project.status())
    project.say("developer", status="reviewing")
    project.look()
    copies.append(project.status())
    project.report()
    last, head = project.status(), project.head()
    for old in copies:
        project.write_status(old)
        project.look()
        assert project.status() == last
    assert project.head() == head


def test_keys_that_others_add_to_the_status_are_kept(project: Project) -> None:
    content = project.status()
    content["developer"]["mood"] = {"today": "good"}
    project.write_status({**content, "host": "build-1"})
    project.look()
    project.run("task add", title="Other")
    assert project.status()["developer"]["mood"] == {"today": "good"}
    assert project.status()["host"] == "build-1"


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
