"""Custom handlers under stress: failing, hanging, crashing, forbidden, answering themselves."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from tests.faults.crew import alive, until
from tests.specs.gsd.handling import COMPLETED, DECIDED, FAILED, STARTED, Site
from tests.surfaces.command import SOURCES

FAST = 'backoff = "0.05s"\n'


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def runs(site: Site, *words: str) -> dict[str, dict[str, object]]:
    """The answer of the query: the handlers of the last event that it names."""
    found = site.moot("gsd", "handlers", *words, "--json").result
    return {one["handler"]: one for one in found[-1]["handlers"]}


@pytest.mark.proves("S4-HRD-18")
def test_a_failing_a_hanging_and_a_crashing_handler_stop_neither_the_emission_nor_the_others(site: Site) -> None:
    site.script("fails", "echo no room; exit 3")
    site.script("hangs", f"echo $$ > {site.out}/pid; exec sleep 1000")
    site.script("crashes", "kill -SEGV $$")
    site.script("works")
    run = "[pack.gsd.handlers.{0}]\nrun = ['.planning/handlers/{0}']\nattempts = 2\n" + FAST
    site.settings(
        run.format("fails")
        + run.format("crashes")
        + run.format("hangs").replace("attempts = 2", "attempts = 1\ntimeout = 0.5")
    )
    names = ["builtin:blackboard-sync", "custom:fails", "custom:hangs", "custom:crashes", "custom:works"]
    site.handlers(task_completed=names)
    site.emit(STARTED)
    site.emit(COMPLETED)
    assert [task["task"] for task in site.board("shared-context")["completed_tasks"]] == [1]
    site.allow()
    process = site.moot.popen("handle")
    try:
        until(lambda: list(site.effects().values()) == ["parked"] * 3, "all others have given up")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert site.got("works") == [site.board("events")["events"][-1]]
    found = runs(site)
    assert {name: (one["state"], one["attempts"]) for name, one in found.items()} == {
        "builtin:blackboard-sync": ("done", 1),
        "custom:fails": ("parked", 2),
        "custom:hangs": ("parked", 1),
        "custom:crashes": ("parked", 2),
        "custom:works": ("done", 1),
    }
    assert found["custom:fails"]["detail"] == "exit code 3: no room"
    assert found["custom:hangs"]["detail"] == "not done within 0.5 s"
    assert found["custom:crashes"]["detail"] == f"killed by signal {signal.SIGSEGV.value}"
    assert not alive(int((site.out / "pid").read_text()))
    # From there it can be run again.
    site.script("fails", "echo room again")
    site.allow("gsd/fails")
    assert site.moot("effects", "retry", str(found["custom:fails"]["effect"])).code == 0
    assert site.handle() == [("gsd/fails", "done")]


@pytest.mark.proves("S4-HRD-18")
def test_pauses_grow_up_to_a_limit_of_attempts(site: Site) -> None:
    site.script("fails", "exit 1")
    site.settings("[pack.gsd.handlers.fails]\nrun = ['.planning/handlers/fails']\nattempts = 4\nbackoff = 0.2\n")
    site.handlers(decision_made=["custom:fails"])
    site.emit(DECIDED)
    site.allow("gsd/fails")
    process = site.moot.popen("handle")
    try:
        until(lambda: site.effects() == {"gsd/fails": "parked"}, "it has given up")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    waits = [one["data"]["wait"] for one in site.moot("log", "--type", "effect:failed", "--json").result]
    assert [low <= wait <= high for wait, low, high in zip(waits, (0.1, 0.2, 0.4), (0.2, 0.4, 0.8), strict=True)] == [
        True
    ] * 3


@pytest.mark.proves("S4-HRD-18")
def test_a_handler_has_30_seconds_unless_its_registration_says_otherwise(site: Site) -> None:
    site.script("plain")
    site.settings('[pack.gsd.handlers.own]\nrun = ["true"]\ntimeout = "2m"\n')
    site.handlers(decision_made=["custom:plain", "custom:own"])
    shown = {
        one["handler"]: json.loads(one["content"]) for one in site.moot("allow", "--json").result if "handler" in one
    }
    assert (shown["gsd/plain"]["timeout"], shown["gsd/own"]["timeout"]) == (30.0, 120.0)


@pytest.mark.proves("S4-HRD-19")
def test_every_handler_runs_once_however_many_runners_and_ways_in_there_are(site: Site) -> None:
    site.script("note")
    site.handlers(task_completed=["builtin:blackboard-sync", "custom:note"])
    site.allow("gsd/note")
    runners = [site.moot.popen("handle") for _ in range(3)]
    try:

        def emit(task: int) -> None:
            site.emit({**COMPLETED, "task": task})

        surfaces = [threading.Thread(target=emit, args=(task,)) for task in range(1, 5)]
        for thread in surfaces:
            thread.start()
        for thread in surfaces:
            thread.join()
        site.write_event(*({**COMPLETED, "task": task, "timestamp": "2024-01-15T10:30:00Z"} for task in range(5, 9)))
        looks = [threading.Thread(target=site.moot, args=("board",)) for _ in range(3)]
        for thread in looks:
            thread.start()
        for thread in looks:
            thread.join()
        until(lambda: len(site.got("note")) >= 8 and not site.effects(), "all have run")
    finally:
        for process in runners:
            process.send_signal(signal.SIGINT)
        for process in runners:
            process.communicate(timeout=60)
    assert sorted(event["task"] for event in site.got("note")) == list(range(1, 9))
    assert sorted(task["task"] for task in site.board("shared-context")["completed_tasks"]) == list(range(1, 9))


@pytest.mark.proves("S4-HRD-19")
def test_an_event_whose_handler_had_not_finished_is_handled_again_after_a_crash(site: Site) -> None:
    site.script("slow", f"cat >> {site.out}/slow; echo >> {site.out}/slow; [ -e {site.out}/go ] || exec sleep 1000")
    site.handlers(task_completed=["builtin:blackboard-sync", "custom:slow"])
    site.emit(STARTED)
    site.emit(COMPLETED)
    site.allow("gsd/slow")
    runner = site.moot.popen("handle")
    until(lambda: len(site.got("slow")) == 1, "it has begun")
    sleeper = next(pid for pid in children(runner.pid))
    runner.kill()
    runner.communicate(timeout=60)
    os.kill(sleeper, signal.SIGKILL)
    (site.out / "go").touch()
    until(lambda: ("gsd/slow", "done") in site.handle(), "another runner has taken it over")
    first, second = site.got("slow")
    assert first == second == site.board("events")["events"][-1]
    assert site.handle() == []


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text() if sys.platform == "linux" else ""
    found = [int(word) for word in text.split()]
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (thread / "children").read_text().split()]
    return list(dict.fromkeys(found))


@pytest.mark.proves("S4-HRD-19")
def test_built_in_handlers_give_the_same_result_when_they_are_repeated(site: Site) -> None:
    site.script("x")
    site.handlers(task_completed=["builtin:blackboard-sync", "custom:x"])
    site.emit(STARTED)
    site.emit(COMPLETED)
    site.emit(COMPLETED)  # a repeat: it counts for nothing, and no handler hears of it again
    site.emit(DECIDED)
    before = {name: site.board(name) for name in ("shared-context", "decisions", "errors")}
    assert [task["task"] for task in before["shared-context"]["completed_tasks"]] == [1]
    for path in (site.root / ".planning" / "blackboard").iterdir():
        path.unlink()
    for path in (site.root / ".git" / "moot").glob("views*"):
        if path.is_file():
            path.unlink()
    assert site.moot("board").code == 0  # everything is computed from the log once more
    assert {name: site.board(name) for name in before} == before
    site.allow("gsd/x")
    assert site.handle() == [("gsd/x", "done")]


@pytest.mark.proves("S4-HRD-20")
def test_a_handler_runs_only_after_a_person_allowed_it_on_this_machine(site: Site) -> None:
    path = site.script("page.sh")
    site.handlers(task_failed=["builtin:error-handler", "custom:page"])
    site.emit(FAILED)
    assert site.handle() == []
    assert site.effects() == {"gsd/page": "not-allowed"}
    assert site.got("page") == []
    ran = site.moot("--agent", "Eve", "allow", "gsd/page", "--yes", "--json")
    assert ran.error["error"] == "people_only"  # an agent cannot
    asked = site.moot("allow", "gsd/page", "--json").error
    assert "not_confirmed" in asked["error"]
    assert ".planning/handlers/page.sh" in asked["message"]
    assert "sha256" in asked["message"]
    site.allow("gsd/page")
    assert site.handle() == [("gsd/page", "done")]
    # A changed handler has to be allowed again.
    path.write_text(path.read_text() + "# one more line\n")
    site.emit({**FAILED, "task": 3})
    assert site.handle() == []
    site.allow("gsd/page")
    assert site.handle() == [("gsd/page", "done")]
    # So has a newly named one, and a registration in the place of a file.
    site.script("other")
    site.handlers(task_failed=["custom:page", "custom:other"])
    site.emit({**FAILED, "task": 4})
    assert site.handle() == [("gsd/page", "done")]
    assert site.effects() == {"gsd/other": "not-allowed"}
    site.settings('[pack.gsd.handlers.page]\nrun = ["true"]\n')
    site.emit({**FAILED, "task": 5})
    assert site.handle() == []


@pytest.mark.proves("S4-HRD-20")
def test_what_was_allowed_in_one_project_is_not_allowed_in_its_copy(site: Site, tmp_path: Path) -> None:
    import shutil

    site.script("page")
    site.handlers(task_failed=["custom:page"])
    site.emit(FAILED)
    site.allow("gsd/page")
    copy = tmp_path / "copy"
    shutil.copytree(site.root, copy)
    shown = {one.get("handler"): one["allowed"] for one in site.moot("allow", "--json", cwd=copy).result}
    assert shown["gsd/page"] is False


EVIL = "$(touch pwned) `touch pwned` ; touch pwned | & \\(env.HOME) %s {0} \"' --option\n-x"


@pytest.mark.proves("S4-HRD-20")
def test_event_data_is_never_on_a_command_line_or_in_a_shell(site: Site) -> None:
    site.script(
        "seen",
        f'printf "%s" "$*" > {site.out}/words; tr "\\0" "\\n" < /proc/$$/cmdline > {site.out}/line; '
        f"env > {site.out}/environment; cat > {site.out}/seen",
    )
    site.settings(f"[pack.gsd.handlers.line]\nrun = ['sh', '-c', 'cat > {site.out}/registered']\n")
    site.handlers(task_failed=["custom:seen", "custom:line"])
    site.emit({**FAILED, "error": EVIL, "agent": "gsd-executor"})
    site.allow("gsd/seen", "gsd/line")
    assert sorted(site.handle()) == [("gsd/line", "done"), ("gsd/seen", "done")]
    assert json.loads((site.out / "seen").read_text())["error"] == EVIL
    assert json.loads((site.out / "registered").read_text())["error"] == EVIL
    assert (site.out / "words").read_text() == ""
    assert "touch" not in (site.out / "line").read_text()
    assert "touch" not in (site.out / "environment").read_text()
    assert not list(site.root.rglob("pwned"))


@pytest.mark.proves("S4-HRD-21")
def test_a_handler_that_answers_its_own_event_is_cut_after_ten_causes(site: Site) -> None:
    moot = f"PYTHONPATH={SOURCES} {sys.executable} -m moot"
    site.script("echo", f"cat >> {site.out}/echo; echo >> {site.out}/echo; {moot} gsd emit ping:sent")
    site.handlers(ping_sent=["custom:echo"])
    site.emit({"type": "ping:sent"})
    site.allow("gsd/echo")
    assert site.handle() == [("gsd/echo", "done")] * 11  # the event, and ten that each follow from the one before
    assert site.effects() == {"gsd/echo": "parked"}
    (parked,) = site.moot("effects", "--json").result
    assert parked["reason"].startswith("11 effects, each caused by the one before: gsd/echo on ping:sent (e-")
    chain = [(one["number"], one["cause"]) for one in site.moot("gsd", "events", "--all", "--json").result]
    assert chain == [(1, 0), *((n, n - 1) for n in range(2, 13))]
    assert [event["eventId"] for event in site.got("echo")] == list(range(1, 12))


@pytest.mark.proves("S4-INS-04")
def test_one_query_shows_which_handlers_ran_how_long_with_which_result_and_what_is_still_to_be_retried(
    site: Site,
) -> None:
    site.script("quick", "echo sent to 3 people")
    site.script("slow", "sleep 0.4")
    site.script("fails", "echo no answer; exit 1")
    site.script("never", "exit 0")
    site.handlers(
        task_completed=["builtin:blackboard-sync", "custom:quick", "custom:slow"],
        task_failed=["custom:fails", "custom:never", "custom:absent"],
    )
    site.emit(STARTED)
    site.emit(COMPLETED)
    site.emit(FAILED)
    site.emit(DECIDED)
    site.allow("gsd/quick", "gsd/slow", "gsd/fails")
    site.handle()
    completed, failed = runs(site, "2"), runs(site, "3")
    assert [(name, one["state"]) for name, one in completed.items()] == [
        ("builtin:blackboard-sync", "done"),
        ("custom:quick", "done"),
        ("custom:slow", "done"),
    ]
    assert completed["custom:quick"]["detail"] == "sent to 3 people"
    assert 0.4 <= completed["custom:slow"]["seconds"] < 60  # type: ignore[operator]
    assert [(name, one["state"], one["detail"]) for name, one in failed.items()] == [
        ("custom:fails", "failed", "exit code 1: no answer"),
        ("custom:never", "not-allowed", ""),
        ("custom:absent", "no-handler", ""),
    ]
    assert failed["custom:fails"]["due_in"] > 0  # type: ignore[operator]
    period = site.moot("gsd", "handlers", "--since", "1h", "--json").result
    assert [(one["number"], one["type"]) for one in period] == [
        (2, "task:completed"),
        (3, "task:failed"),
        (4, "decision:made"),
    ]
    assert site.moot("gsd", "handlers", "--until", "1h", "--json").result == []
    assert [one["number"] for one in site.moot("gsd", "handlers", "--open", "--json").result] == [3]
    assert "#3 task:failed custom:fails failed 1" in site.moot("gsd", "handlers").out
    assert site.moot("gsd", "handlers", "99", "--json").error["error"] == "unknown_event"
    with site.person() as person:
        from moot.packs.gsd.methods import Blackboard

        (one,) = person.pack(Blackboard).handlers(2)
        assert [run.handler for run in one.handlers] == list(completed)


@pytest.mark.proves("S4-INS-04")
def test_the_open_handlers_do_not_include_those_that_are_done(site: Site) -> None:
    site.script("works")
    site.script("later")
    site.handlers(task_completed=["builtin:blackboard-sync", "custom:works", "custom:later"])
    site.emit(STARTED)
    site.emit(COMPLETED)
    site.allow("gsd/works")
    site.handle()
    assert list(runs(site)) == ["builtin:blackboard-sync", "custom:works", "custom:later"]
    assert list(runs(site, "--open")) == ["custom:later"]
    assert "blackboard-sync" not in site.moot("gsd", "handlers", "--open").out
