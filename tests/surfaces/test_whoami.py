"""Who one is for moot, and why: told by `moot whoami`, and the same from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.core.errors import Usage
from tests.person import ME

if TYPE_CHECKING:
    from tests.surfaces.command import Command


def me(run: Command, *words: str, **environment: str) -> dict[str, Any]:
    found: dict[str, Any] = run(*words, "whoami", "--json", **environment).result
    assert found.pop("workspace") == str(run.repo)
    return found


def test_a_person_is_called_by_the_account(run: Command) -> None:
    found = me(run)
    assert (found["kind"], found["principal"], found["why"]) == ("person", ME, "MOOT_PERSON is set")
    assert me(run, "--person", MOOT_AGENT="Ada")["why"] == "--person is set"


def test_an_agent_sees_its_incarnation_its_roles_and_its_mail(run: Command) -> None:
    run("send", "Ada", "hi", agent="Bob")
    found = me(run, "--agent", "Ada")
    assert (found["principal"], found["roles"], found["mail"], found["here"]) == ("Ada#1", ["reviewer"], 1, True)
    said = run("whoami", agent="ada").out.splitlines()
    assert said == [
        "You are Ada#1, an agent: MOOT_AGENT is set.",
        "roles: reviewer",
        "1 message waits: moot inbox",
        f"workspace: {run.repo}",
    ]


def test_an_agent_that_has_not_joined_or_was_replaced_is_told_what_to_do(run: Command) -> None:
    assert run("--agent", "Cleo", "whoami").out.splitlines()[:2] == [
        "You are Cleo, an agent that has not joined: --agent is set.",
        "moot join Cleo",
    ]
    assert me(run, "--agent", "Cleo")["principal"] is None
    run("leave", agent="Bob")
    assert "Bob has left." in run("whoami", agent="Bob").out
    run("join", "Bob")
    found = run("whoami", "--json", agent="Bob", incarnation=1).result
    assert (found["principal"], found["here"]) == ("Bob#1", False)
    assert "Bob#2 is here now." in run("whoami", agent="Bob", incarnation=1).out


def test_nobody_is_told_so_and_how_to_become_somebody(run: Command) -> None:
    ran = run("whoami", MOOT_PERSON="")
    assert ran.code == 0
    assert ran.out.startswith("You are nobody here: nothing identifies you. You can read, but not change anything.\n")
    assert "`moot join NAME`" in ran.out
    in_a_shell = run("whoami", MOOT_PERSON="1", GEMINI_CLI="1").out
    assert in_a_shell.startswith("You are nobody here: GEMINI_CLI marks this as a coding agent's shell")
    assert "terminal" not in in_a_shell


def test_it_leaves_no_event_and_is_not_asked_of_the_past(run: Command) -> None:
    head = run.head()
    for agent in ("Ada", "Cleo", None):
        run("whoami", agent=agent)
    assert run.head() == head
    assert run("whoami", "--at", "1", "--json").error["error"] == "past_is_read_only"


def test_a_program_is_who_it_says_it_is(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with Workspace(run.repo, agent="Ada") as ws:
        assert ws.whoami().principal == "Ada#1"
    with Workspace(run.repo) as ws:
        assert ws.whoami().kind == "person"
    monkeypatch.delenv("MOOT_PERSON")
    with Workspace(run.repo, person=True) as ws:
        assert ws.whoami().principal == ME
        ws.task_add("One")
        assert ws.log(limit=1)[0].by == ME
    with Workspace(run.repo) as ws:
        assert ws.whoami().kind == "nobody"
        assert [task.id for task in ws.board().tasks] == ["task-001"]
        with pytest.raises(Usage) as refused:
            ws.task_add("Two")
        assert refused.value.code == "who_are_you"
        assert ws.join("Cleo").name == "Cleo"
        ws.task_add("Two")
        assert ws.log(limit=1)[0].by == "Cleo#1"


def test_the_one_who_joins_is_an_agent_from_then_on_and_no_person(run: Command) -> None:
    with Workspace(run.repo, person=True) as ws:
        ws.join("Cleo")
        found = ws.whoami()
        assert (found.kind, found.principal, found.why) == ("agent", "Cleo#1", "you joined")


def test_a_workspace_is_made_by_anybody_and_opened_as_who_one_is(bare: Command) -> None:
    ran = bare("init", MOOT_PERSON="", CLAUDECODE="1")
    assert ran.code == 0
    with Workspace.init(bare.repo, person=True) as ws:
        assert ws.whoami().kind == "person"
    with Workspace.init(bare.repo, agent="Ada") as ws:
        assert ws.agent == "Ada"
