"""The line about new mail at the end of an answer to an agent, and the number in its JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from moot import Workspace
    from tests.surfaces.command import Command


def unread(run: Command, *words: str, agent: str | None = "Bob") -> int | None:
    found: int | None = json.loads(run("--json", *words, agent=agent).out).get("unread")
    return found


def test_an_answer_to_an_agent_ends_with_the_number_of_new_messages(run: Command, ada: Workspace) -> None:
    assert run("board", agent="Bob").err == ""
    ada.send("Bob", "One.")
    assert run("board", agent="Bob").err == "1 new message: moot inbox\n"
    ada.send("Bob", "Two.")
    assert run("task", "add", "Write it", agent="Bob").err == "2 new messages: moot inbox\n"
    assert run("--agent", "Bob", "board").err == "2 new messages: moot inbox --agent Bob\n"
    assert run("board", agent="Ada").err == ""


def test_mail_that_was_shown_is_not_new(run: Command, ada: Workspace) -> None:
    ada.send("Bob", "Please look.", type="request")
    assert run("inbox", agent="Bob").err == ""
    assert run("board", agent="Bob").err == ""


def test_expired_mail_is_not_new(run: Command, ada: Workspace) -> None:
    ada.send("Bob", "Too late.", expires=0)
    assert run("board", agent="Bob").err == ""
    assert unread(run, "board") == 0


@pytest.mark.parametrize("words", [["inbox", "--peek"], ["wait", "--mail"], ["--quiet", "board"], ["board", "--quiet"]])
def test_answers_that_show_mail_and_quiet_ones_do_not_mention_it(
    run: Command, ada: Workspace, words: list[str]
) -> None:
    ada.send("Bob", "One.")
    ran = run(*words, agent="Bob")
    assert (ran.code, ran.err) == (0, "")


def test_an_error_and_a_stream_do_not_mention_it(run: Command, ada: Workspace) -> None:
    ada.send("Bob", "One.")
    assert "new message" not in run("task", "show", "nothing", agent="Bob").err
    assert run("completion", "bash", agent="Bob").err == ""
    assert run("log", "--follow", "--at", "1", agent="Bob").code != 0
    follower = run.popen("log", "--follow", "--after", "0", agent="Bob")
    assert follower.stdout is not None
    assert follower.stderr is not None
    follower.stdout.readline()
    follower.terminate()
    assert "new message" not in follower.communicate()[1]


def test_json_has_the_number_for_agents_only(run: Command, ada: Workspace) -> None:
    ada.send("Bob", "One.")
    assert unread(run, "board") == 1
    assert unread(run, "--quiet", "board") == 1
    assert unread(run, "board", agent="Ada") == 0
    assert unread(run, "board", agent=None) is None
    assert unread(run, "agents", "--at", "1") is None
    assert run("--json", "board", agent="Bob").err == ""


def test_the_inbox_counts_what_it_left_out(run: Command, ada: Workspace) -> None:
    for text in ("One.", "Two.", "Three."):
        ada.send("Bob", text)
    assert unread(run, "inbox", "--limit", "1") == 2
    assert unread(run, "inbox") == 0


def test_an_agent_that_left_and_a_replaced_one_get_no_number(run: Command, ada: Workspace, bob: Workspace) -> None:
    ada.send("Bob", "One.")
    assert unread(run, "leave") is None
    run("join", "Bob")
    ran = run("--json", "board", agent="Bob", incarnation=1)
    assert "unread" not in json.loads(ran.out)
    assert unread(run, "board") == 1


def test_the_commands_that_mail_and_waiting_suggest_name_a_caller_that_named_itself(run: Command) -> None:
    request = run("--json", "send", "Bob", "Which port?", "--type", "request", agent="Ada").result["id"]
    run("task", "add", "Write it", agent="Ada")
    waited = run("--agent", "Bob", "wait").out.splitlines()
    assert waited == [
        "1 new message: moot inbox --agent Bob",
        "task-001 can be started: Write it → moot task claim task-001 --agent Bob",
    ]
    assert run("--agent", "Bob", "wait", "--mail").out == "1 new message: moot inbox --agent Bob\n"
    assert f"needs an answer: moot reply {request} --agent Bob '…'" in run("--agent", "Bob", "inbox").out
    assert f"still needs an answer: moot reply {request} --agent Bob '…'" in run("--agent", "Bob", "ack", request).out
    assert f"needs an answer: moot reply {request} '…'" in run("inbox", "--all", agent="Bob").out
