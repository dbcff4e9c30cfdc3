"""Settings that weaken a rule apply as written. The log records the change, and a person sees what nobody reviews."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.command import Command, new_command

NO_REVIEW = "[tasks]\nreview = false\n"
RECEIPT = "[tasks]\nreceipt = true\n"


@pytest.fixture
def run(tmp_path: Path) -> Command:
    made = new_command(tmp_path)
    made.environment |= {"MOOT_PERSON": "1"}
    assert made("init").code == 0
    for name in ("Ada", "Bob"):
        assert made("join", name).code == 0
    return made


def settings(run: Command, text: str) -> None:
    (run.repo / "moot.toml").write_text(text)


def changes(run: Command) -> list[tuple[str, Any, Any]]:
    found = run("log", "--type", "settings:changed", "--limit", "100", "--json").result
    return [(event["data"]["key"], event["data"]["old"], event["data"]["new"]) for event in found]


def switched_off(run: Command) -> list[str]:
    return [item["id"] for item in run("needs-me", "--json").result if item["kind"] == "no-review"]


def test_a_change_is_recorded_once_in_the_commit_that_follows_it(run: Command) -> None:
    settings(run, NO_REVIEW)
    before = run.head()
    for look in (("board",), ("log",), ("allow",), ("needs-me",)):
        run(*look)
    assert run.head() == before, "looking records nothing"
    run("send", "Bob", "hello", agent="Ada")
    sent, changed = run("log", "--limit", "2", "--json").result
    assert [sent["type"], changed["type"]] == ["message:sent", "settings:changed"]
    assert sent["commit"] == changed["commit"]
    run("send", "Bob", "again", agent="Ada")
    settings(run, RECEIPT)
    run("send", "Bob", "once more", agent="Ada")
    assert changes(run) == [
        ("tasks.review", True, False),
        ("tasks.review", False, True),
        ("tasks.receipt", False, True),
    ]
    assert run("verify", "--rebuild").code == 0


def test_other_keys_record_nothing(run: Command) -> None:
    settings(run, '[tasks]\nttl = "5m"\nattempts = 9\nreview = true\n[claims]\nttl = "5m"\n')
    run("task", "add", "One", agent="Ada")
    assert changes(run) == []


def test_a_task_that_an_agent_adds_without_review_and_completes_is_shown_to_a_person(run: Command) -> None:
    task = run("task", "add", "Sneak it in", "--no-review", "--json", agent="Ada").result["id"]
    assert run("task", "claim", task, agent="Ada").code == 0
    assert run("task", "complete", task, agent="Ada").code == 0
    own = run("task", "add", "A person's own", "--no-review", "--json").result["id"]
    (item,) = [item for item in run("needs-me", "--json").result if item["kind"] == "no-review"]
    assert task in item["text"]
    assert own not in item["text"]
    assert run(*item["command"].split()[1:]).code == 0


def test_a_workspace_and_a_lifecycle_without_review_are_shown_to_a_person(run: Command) -> None:
    assert switched_off(run) == []
    settings(run, NO_REVIEW)
    assert switched_off(run) == ["no-review:workspace"]
    settings(run, 'packs = ["gsd"]\n')
    assert switched_off(run) == ["no-review:gsd/task"]
    refused = run("needs-me", "--answer", "no-review:gsd/task", "fine", "--json").error
    assert refused["error"] == "not_answered_here"
