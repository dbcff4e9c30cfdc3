"""`moot watch` without a terminal: what it says, and that looking leaves no trace."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.event import Commit, Draft
from moot.logs.sqlite import SqliteLog
from moot.overview import overview
from tests.calls import open_call
from tests.surfaces.command import PATIENCE, Command
from tests.surfaces.town import Town, of_two
from tests.surfaces.worlds import TO_DEVELOPER, enliven, orchestrate

if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.overview import Overview


@pytest.fixture
def town(bare: Command) -> Town:
    return of_two(bare)


def looking(town: Town) -> Call:
    return open_call(str(town.command.repo), town.command.environment, clock=town.clock, reading=True)


def seen(town: Town) -> Overview:
    session = looking(town)
    try:
        return overview(session)
    finally:
        session.engine.log.close()
        session.engine.store.close()


def problems(town: Town) -> list[tuple[str, str]]:
    return [(problem.code, problem.about) for problem in seen(town).problems]


# What it says


def test_a_snapshot_tells_problems_first_and_then_everything_else(bare: Command) -> None:
    enliven(bare)
    lines = bare("watch").out.splitlines()
    assert lines[0].startswith("moot 1 problem, 1 for you, 2 agents here, 1 of 7 tasks done, #")
    titles = [line.partition(":")[0] for line in lines[1:] if line and not line.startswith(" ")]
    assert titles == ["Problems", "Needs you", "Agents", "Board", "Claims", "Mail", "Events"]
    assert any("Bob has not answered Ada" in line and "→ moot thread m-" in line for line in lines)
    assert any(line.split() == ["task-002", "blocked", "needs", "task-001", "Test", "it"] for line in lines)
    assert any("src/b.py" in line and "new grammar" in line for line in lines)


def test_an_empty_workspace_has_no_problems(bare: Command) -> None:
    bare("init")
    assert bare("watch", "--once").out.splitlines() == [
        f"moot no problems, 0 agents here, #0 {bare.repo}",
        "",
        "Problems: none",
    ]


def test_one_who_fell_silent_with_something_in_hand_is_a_problem(town: Town) -> None:
    task = town.ask("Ada", "task add", title="One").result.id
    town.ask("Bob", "task claim", task=task)
    assert problems(town) == []
    town.clock.passed += 3600.0
    town.ask("Ada", "agents")
    assert problems(town) == [("agent_silent", "Bob#1")]
    assert [agent.name for agent in seen(town).agents if agent.quiet] == ["Bob"]


def test_one_who_fell_silent_with_empty_hands_is_none(town: Town) -> None:
    town.clock.passed += 3600.0
    assert problems(town) == []
    assert all(agent.quiet for agent in seen(town).agents)


def test_an_answer_that_is_late_is_a_problem_until_it_comes_or_expires(town: Town) -> None:
    first = town.request("Ada", "Bob", within="10m")
    second = town.request("Ada", "Bob", within="10m", expires="30m")
    town.request("Ada", "Bob")
    assert problems(town) == []
    town.clock.passed += 900.0
    assert problems(town) == [("overdue", first), ("overdue", second)]
    town.clock.passed += 3600.0
    assert problems(town) == [("overdue", first)]
    town.ask("Bob", "reply", id=first, text="yes")
    assert problems(town) == []


def test_a_task_out_of_attempts_is_a_problem(town: Town) -> None:
    task = town.ask("Ada", "task add", title="Hard").result.id
    for _ in range(3):
        town.ask("Bob", "task claim", task=task)
        town.ask("Bob", "task submit", task=task)
        town.ask("Ada", "task reject", task=task, reason="No.")
    (problem,) = seen(town).problems
    assert (problem.code, problem.about) == ("task_stuck", task)
    assert "moot task reopen" in problem.remedy


def test_what_was_held_back_from_a_file_is_a_problem(bare: Command) -> None:
    ids = orchestrate(bare)
    found = bare("watch", "--json").result["problems"]
    assert [(problem["code"], problem["about"]) for problem in found] == [("entry_held", ids["entry"])]


def test_what_waits_for_a_person_stands_apart(run: Command) -> None:
    run("checkpoint", "reach", "Which licence?", "--option", "MIT", agent="Bob")
    ran = run("watch")
    assert "1 for you" in ran.out
    assert "Bob asks now: Which licence? [MIT]" in ran.out


def test_whatever_others_wrote_is_shown_and_never_obeyed(run: Command) -> None:
    run("task", "add", "\x1b[2J\x1b]0;gone\x07 red\u202e" + "x" * 400, agent="Ada")
    run("claim", "src/\x1b[31m.py", agent="Ada")
    run("send", "Bob", "\x1b[5mlook", "--type", "request", "--within", "0", agent="Ada")
    said = run("watch").out  # the command checks each answer for raw control characters
    assert "\\x1b[2J" in said
    assert all(len(line) <= 450 for line in said.splitlines())


def test_events_of_a_newer_version_are_a_problem(run: Command) -> None:
    log = SqliteLog(str(run.repo / ".git" / "moot"))
    log.append(Commit(id="x" * 26, at="2031-05-08T09:30:00.000Z", by="moot"), {}, (Draft("task/t", "task:dreamt", {}),))
    log.close()
    assert run("watch", "--json").result["problems"][0]["code"] == "newer_events"


def test_python_gets_the_same(bare: Command) -> None:
    enliven(bare)
    with Workspace(bare.repo) as ws:
        found = ws.watch()
        assert [job.id for job in found.tasks.ready] == ["task-001"]
        assert found.tasks.blocked[0].waits == ("task-001",)
        assert found.position == ws.log(limit=1)[0].position
        ws.task_add("after")  # the moment that was looked at is let go
        assert ws.watch().position == found.position + 1


def test_it_can_be_asked_of_the_past(run: Command) -> None:
    run("task", "add", "One", agent="Ada")
    then = run.head()
    run("task", "add", "Two", agent="Ada")
    found = run("--at", str(then), "watch", "--json").result
    assert (found["position"], found["tasks"]["total"]) == (then, 1)
    assert [agent["silent_for"] for agent in found["agents"]] == [None, None]
    assert found["problems"] == []


# No trace


def everything(*roots: Path) -> dict[str, tuple[str, int, int]]:
    """Every file below, with its content, mode and time. The index of SQLite's readers is memory that they share."""
    found = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.name.endswith("-shm"):
                continue
            state = path.lstat()
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path)] = digest, state.st_mode, state.st_mtime_ns
    return found


@pytest.mark.parametrize("words", [("watch",), ("watch", "--json"), ("watch", "--once")])
@pytest.mark.parametrize("agent", [None, "Ada"])
def test_looking_changes_no_byte_and_no_time_of_any_file(
    bare: Command, words: tuple[str, ...], agent: str | None
) -> None:
    """Not even where there is something to do: mail that is new, a file of a pack that was edited, a cold cache."""
    orchestrate(bare)
    with Workspace(bare.repo, agent="Ada") as ada:
        ada.send("Bob", "new mail")
    (bare.repo / TO_DEVELOPER).write_text("{torn")
    for cache in (bare.repo / ".git" / "moot" / "cache").iterdir():
        cache.unlink()
    with Workspace(bare.repo) as still_open:  # so that there is something that the last one out would tidy up
        still_open.board()
        before = everything(bare.repo, bare.linked)
        assert bare(*words, agent=agent).code == 0
        assert everything(bare.repo, bare.linked) == before
    after_all = everything(bare.repo, bare.linked)
    assert bare(*words, agent=agent).code == 0
    assert everything(bare.repo, bare.linked) == after_all


def test_views_that_stay_behind_are_caught_up_in_private(town: Town) -> None:
    """Somebody was killed between its append and the views: what it appended is seen, the views stay as they are."""
    state = town.command.repo / ".git" / "moot"
    log = SqliteLog(str(state))
    data = {"title": "Lost", "state": "open", "phase": "open", "lifecycle": "core", "creator": "Ada#1"}
    log.append(Commit(id="y" * 26, at=town.clock.wall(), by="Ada#1"), {}, (Draft("task/lost", "task:added", data),))
    log.close()
    before = everything(state)
    session = looking(town)
    try:
        found = overview(session)
        assert [job.id for job in found.tasks.ready] == ["lost"]
        assert [(problem.code, problem.message) for problem in found.problems] == [
            ("views_behind", "the shared views are 1 event behind")
        ]
        assert everything(state) == before
        town.ask("Ada", "board")  # any other command brings them up
        town.clock.passed += 60.0
        assert overview(session).problems == ()
        assert session.engine.store.behind == 0
    finally:
        session.engine.log.close()
        session.engine.store.close()


def test_without_views_everything_is_folded_from_the_log(town: Town) -> None:
    town.ask("Ada", "task add", title="One")
    state = town.command.repo / ".git" / "moot"
    for path in state.glob("views*"):
        path.unlink()
    before = everything(state)
    found = seen(town)
    assert [job.title for job in found.tasks.ready] == ["One"]
    assert [problem.code for problem in found.problems] == ["views_missing"]
    assert everything(state) == before


def test_views_of_another_log_are_not_believed(town: Town) -> None:
    """A log was restored from a backup, and the views are of the time after it."""
    town.ask("Ada", "task add", title="One")
    state = town.command.repo / ".git" / "moot"
    other = town.command.repo.parent / "other"
    other.mkdir()
    SqliteLog.create(str(other))
    for end in ("", "-wal", "-shm"):
        (state / f"log.db{end}").unlink(missing_ok=True)
    SqliteLog.create(str(state))
    log = SqliteLog(str(state))
    for number in range(5):
        said = {"name": "Eve", "incarnation": number + 1}
        log.append(
            Commit(id=f"{number:026}", at=town.clock.wall(), by="Eve#1"),
            {},
            (Draft("agent/eve", "agent:joined", said),),
        )
    log.close()
    found = seen(town)
    assert ([agent.name for agent in found.agents], found.tasks.total) == (["Eve"], 0)


READER = """
import encodings.ascii, importlib, json, os, pkgutil, pwd, sys, unicodedata
import moot
from moot.surfaces.cli.main import main
for found in pkgutil.walk_packages(moot.__path__, "moot."):  # its files may be where the other user cannot read
    if found.name.split(".")[1] not in ("testing", "packs", "surfaces", "__main__"):
        importlib.import_module(found.name)
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main(["watch", "--json"]))
"""


@pytest.mark.parametrize("views", [True, False])
def test_who_may_only_read_sees_it_and_is_told_what_is_missing(bare: Command, views: bool) -> None:
    """Another user, who trusts the owner, or a directory that is read-only for everybody."""
    enliven(bare)
    trusting = bare.repo.parent / "gitconfig"
    trusting.write_text(f"[safe]\n\tdirectory = {bare.repo}\n")
    state = bare.repo / ".git" / "moot"
    for path in state.glob("views*"):
        if not views:
            path.unlink()
    above = [path for path in bare.repo.parents if path.stat().st_uid == os.getuid() and path != Path("/")]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (*above, bare.repo, bare.repo / ".git", state)}
    open_to_all = {path: stat.S_IMODE(path.stat().st_mode) for path in state.rglob("*")}
    try:
        for path, mode in modes.items():
            path.chmod(mode | 0o055)  # which leaves the machine's own directories as they are
        for path in (state, *open_to_all):
            path.chmod(0o555 if path.is_dir() else 0o444)
        ran = subprocess.run(
            [sys.executable, "-c", READER],
            cwd=bare.repo,
            env={**bare.environment, "GIT_CONFIG_GLOBAL": str(trusting)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        for path, mode in {**modes, **open_to_all}.items():
            path.chmod(mode)
    assert ran.returncode == 0, ran
    found = json.loads(ran.stdout)["result"]
    assert [agent["name"] for agent in found["agents"]] == ["Ada", "Bob"]
    assert found["tasks"]["total"] == 7
    assert "overdue" in [problem["code"] for problem in found["problems"]]
    assert all(agent["silent_for"] is not None for agent in found["agents"])
