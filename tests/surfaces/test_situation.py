"""`moot` without a verb: the situation in at most ten lines, and how to begin outside of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.surfaces.worlds import enliven

if TYPE_CHECKING:
    from pathlib import Path

    from moot import Workspace
    from tests.surfaces.command import Command


def test_an_agent_sees_its_mail_its_work_and_one_command(run: Command, ada: Workspace, bob: Workspace) -> None:
    for title in ("One", "Two", "Three"):
        ada.task_add(title)
    bob.task_claim("task-001")
    ada.task_assign("task-002", "Bob")
    ada.task_claim("task-003")
    ada.task_submit("task-003")
    bob.inbox()
    ada.send("Bob", "Hello.")
    assert run("--agent", "bob").out.splitlines() == [
        "You are Bob#1, an agent: --agent is set.",
        "1 new message: moot inbox --agent Bob",
        "You hold: task-001 One",
        "Assigned to you: task-002 Two",
        "You can review: task-003 Three",
        "Tasks: 1 working, 1 open, 1 review.",
        "next: moot start --agent Bob",
    ]
    assert "next: moot start" in run(agent="Bob").out


def test_an_agent_with_nothing_to_do_is_told_to_wait(run: Command) -> None:
    assert run("--agent", "Bob").out.splitlines()[1:] == ["No tasks yet.", "next: moot wait --agent Bob"]


def test_a_person_sees_what_needs_a_person(run: Command, bob: Workspace) -> None:
    assert run().out.splitlines()[-1] == "next: moot task add 'TITLE'"
    asked = bob.checkpoint_reach("Which licence?")
    lines = run().out.splitlines()
    assert f"1 thing needs you: {asked.id} from Bob: Which licence?" in lines
    assert lines[-1] == f"next: moot checkpoint resolve {asked.id} '…'"


def test_it_is_never_longer_than_ten_lines_and_names_the_first_problems(bare: Command) -> None:
    enliven(bare)
    for agent in (None, "Ada", "Bob"):
        ran = bare(agent=agent)
        assert ran.code == 0
        assert len(ran.out.splitlines()) <= 10
        assert "problem: " in ran.out


def test_a_caller_without_an_identity_is_told_how_to_begin(run: Command) -> None:
    ran = run(MOOT_PERSON="")
    assert ran.out.startswith("You are nobody here: nothing identifies you.")
    assert ran.out.splitlines()[-1] == "next: moot start NAME"
    assert run("--agent", "Cleo").out.splitlines()[0] == "You are Cleo, an agent: --agent is set, and you are not here."


def test_outside_of_a_workspace_it_says_how_to_begin(bare: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for where in (bare.repo, tmp_path / "empty"):
        ran = bare(cwd=where)
        assert (ran.code, ran.err) == (0, "")
        assert "moot init" in ran.out
        assert "moot --help" in ran.out
        assert bare("--json", cwd=where).result == {"workspace": None, "next": "moot init"}


def test_it_is_a_value_for_programs_and_writes_nothing(run: Command, ada: Workspace) -> None:
    ada.task_add("One")
    before = run.head()
    found = run("--json", agent="Bob").result
    assert (found["kind"], found["principal"], found["here"], found["unread"]) == ("agent", "Bob#1", True, 0)
    assert (found["tasks"], found["next"]) == ({"open": 1}, "moot start")
    assert run.head() == before
    assert run("--json", "--at", "1").result["tasks"] == {}
