"""What must hold when processes are killed, repeat themselves, or come at the same moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable
from time import sleep

import pytest

from tests.specs.orchestrator.project import LaterClock
from tests.specs.specflow.project import HAMILTON, SWIFT, YEATS, Project


def _numbers(project: Project) -> dict[str, list[str]]:
    """The numbers that were assigned, by request."""
    found: dict[str, list[str]] = {}
    for data in project.inbox(YEATS, "MIGRATION_ASSIGNED"):
        found.setdefault(data["data"]["request"], []).append(data["data"]["number"])
    return found


@pytest.mark.proves("S3-HARD-08", "S3-HARD-09", "S3-INSP-04", "S3-HARD-01")
def test_fifty_requests_at_once_some_of_them_killed_give_fifty_numbers(fianna: Project) -> None:
    wanted = {f"table_{n}" for n in range(50)}
    chance = random.Random(7)

    def ask(table: str) -> subprocess.Popen[bytes]:
        return fianna.start(
            "specflow", "write", "db-coordinator", f"REQUEST_MIGRATION #50 tables:[{table}]", agent=YEATS
        )

    for table in list(wanted):
        if chance.random() < 0.3:  # killed at any point, then asked again
            process = ask(table)
            sleep(chance.random() * 0.3)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
    processes = [ask(table) for table in wanted]
    assert [process.wait(60) for process in processes] == [0] * 50
    for process in processes:
        process.communicate()
    shown = fianna.ask("specflow migrations")
    assert sorted(int(one["number"]) for one in shown["assigned"]) == list(range(1, 51))
    assert shown["next"] == 51
    assert {one["tables"][0] for one in shown["assigned"]} == wanted
    assert {one["issue"] for one in shown["tables"]} == {50}
    assert not any(one["exists"] for one in shown["assigned"])
    assert {len(answers) for answers in _numbers(fianna).values()} == {1}
    requests = [
        event.stream.partition("/")[2]
        for event in fianna.events("message:sent")
        if event.data["kind"] == "REQUEST_MIGRATION"
    ]
    assert set(_numbers(fianna)) == set(requests)


@pytest.mark.proves("S3-HARD-07")
def test_twenty_processes_that_claim_one_task_have_one_winner(make_project: Callable[..., Project]) -> None:
    project = make_project()
    free = project.ask("task add", title="Tidy up", lifecycle="specflow")["id"]
    for n in range(20):
        project.join(f"A{n}")
    tries = [project.start("task", "claim", free, agent=f"A{n}") for n in range(20)]
    codes = [process.wait(60) for process in tries]
    for process in tries:
        process.communicate()
    assert codes.count(0) == 1
    winner = f"A{codes.index(0)}"
    loser = next(f"A{n}" for n in range(20) if codes[n])
    assert winner in project.refusal("task claim", loser, task=free).text


@pytest.mark.proves("S3-HARD-02", "S3-HARD-03", "S3-INSP-03")
def test_a_message_that_was_fetched_and_not_confirmed_comes_again(fianna: Project) -> None:
    first = fianna.write(SWIFT, "db-coordinator", "QUERY_TABLE users", key="once")
    assert fianna.write(SWIFT, "db-coordinator", "QUERY_TABLE users", key="once")["id"] == first["id"]
    assert len(fianna.inbox(HAMILTON, "QUERY_TABLE")) == 1

    def fetched() -> list[str]:
        found = fianna.ask("inbox", SWIFT)
        return [m["id"] for m in (*found["new"], *found["waiting"]) if m["type"] == "TABLE_NOT_FOUND"]

    (answer,) = fetched()
    assert fetched() == [answer]
    fianna.run("ack", SWIFT, ids=(answer,))
    assert fetched() == []
    for n in range(5):
        fianna.write(SWIFT, "Yeats", f"note {n}")
    assert fianna.texts(YEATS, "note")[-5:] == [f"note {n}" for n in range(5)]
    story = fianna.ask("thread", id=first["id"])
    assert [one["type"] for one in story] == ["QUERY_TABLE", "TABLE_NOT_FOUND"]
    assert story[1]["data"]["request"] == first["id"]
    assert [stage for _, stage in story[1]["stages"]] == ["acked"]


@pytest.mark.proves("S3-HARD-06")
def test_every_answer_to_a_member_gives_its_unread_messages(fianna: Project) -> None:
    fianna.write(SWIFT, "Yeats", "hello")
    spoken = fianna.voice("board", agent=YEATS)
    assert "new message" in spoken.err + spoken.out


@pytest.mark.proves("S3-HARD-12")
def test_a_request_without_an_answer_becomes_overdue(make_project: Callable[..., Project]) -> None:
    clock = LaterClock()
    project = make_project(clock=clock)
    project.commit()
    project.spawn(50, 51)
    project.write(YEATS, "Keane", "RUN_CONTRACTS")
    assert not project.ask("overdue")
    clock.passed = 4000.0
    for _ in range(2):
        assert len(project.ask("overdue")) == 1
    for box in (YEATS, project.wave().lead):
        assert len([text for text in project.texts(box, "note") if "overdue" in text]) == 1


@pytest.mark.proves("S3-HARD-29")
def test_a_claim_lapses_when_its_holder_was_silent_for_too_long(make_project: Callable[..., Project]) -> None:
    clock = LaterClock()
    project = make_project(clock=clock)
    project.commit()
    project.spawn(50, 51)
    assert project.touch(YEATS, "src/lib/auth.ts")["state"] == "granted"
    clock.passed = 100_000.0
    assert project.touch(SWIFT, "src/lib/auth.ts")["state"] == "granted"
    (lapsed,) = project.events("file:lapsed")
    assert lapsed.data["holder"] == f"{YEATS}#1"
    assert "auth.ts" in " ".join(project.run("inbox", YEATS).say)


@pytest.mark.proves("S3-MSG-12", "S3-HARD-23")
def test_a_certificate_is_a_gate_run_of_the_issue_that_passed(fianna: Project) -> None:
    fianna.run("task claim", YEATS, task="issue-50")
    for certificate in ("run-nothing", "PASS"):
        refusal = fianna.unwritten(YEATS, "waves-controller", f"READY_FOR_CLOSURE #50 {certificate}")
        assert refusal.code == "bad_certificate"
    assert fianna.unwritten(YEATS, "waves-controller", "READY_FOR_CLOSURE #50").code == "not_the_text_form"
    assert fianna.unwritten(YEATS, "waves-controller", "READY_FOR_CLOSURE #50 a b").code == "not_the_text_form"
