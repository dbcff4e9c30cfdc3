"""Long lists are complete, or say how many items are missing and how to see them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from moot.core.deciders.message import SendMessage
from tests.calls import open_call
from tests.surfaces.town import Town, of_two

if TYPE_CHECKING:
    from moot.api.answer import Answer
    from moot.engine.unit_of_work import Work
    from tests.surfaces.command import Command

MANY = 1003


@pytest.fixture
def town(bare: Command) -> Town:
    return of_two(bare)


def more(answer: Answer) -> list[str]:
    return [warning.message for warning in answer.warnings if warning.code == "more"]


def send_many(town: Town, *, thread: str | None = None) -> None:
    """Many messages from Ada to Bob, in one commit."""
    call = open_call(str(town.command.repo), town.command.environment, agent="Ada", clock=town.clock)

    def act(work: Work) -> None:
        sender = call.actor(work).principal
        for number in range(MANY):
            command = SendMessage(
                kind="note", sender=sender, to=("Bob",), wants="nothing", size=9, limit=99, text=f"note {number}"
            )
            work.do("message", work.new_message(), command, thread=thread)

    try:
        call.commit(act)
    finally:
        call.engine.log.close()
        call.engine.store.close()


def test_a_mailbox_with_more_than_a_thousand_messages_is_shown_completely(town: Town) -> None:
    send_many(town)
    found = town.ask("Bob", "mailbox", name="Bob").result.messages
    assert [letter.text for letter in (found[0], found[-1])] == ["note 0", f"note {MANY - 1}"]
    assert len(found) == MANY


def test_a_thread_with_more_than_a_thousand_messages_ends_with_the_newest(town: Town) -> None:
    first = town.send("Ada", "Bob", text="The first.")
    send_many(town, thread=first)
    found = town.ask("Bob", "thread", id=first).result
    assert (len(found), found[-1].text) == (MANY + 1, f"note {MANY - 1}")


def test_ready_says_how_many_tasks_are_missing_and_the_limit_that_shows_all(town: Town) -> None:
    for number in range(5):
        town.ask(None, "task add", title=f"Step {number}")
    town.ask(None, "task assign", task="task-004", agent="Bob")
    town.ask(None, "task assign", task="task-005", agent="Bob")
    answer = town.ask("Bob", "ready", limit=1)
    assert [task.id for task in answer.result] == ["task-004"]
    assert more(answer) == ["4 more tasks: use --limit 5."]
    whole = town.ask("Bob", "ready", limit=5)
    assert (len(whole.result), more(whole)) == (5, [])


def test_a_cut_list_says_so_on_standard_error_and_in_json(town: Town) -> None:
    for number in range(3):
        town.command("--agent", "Ada", "decide", f"Decision {number}")
    said = town.command("--agent", "Bob", "decisions", "--limit", "2")
    assert "1 more decision: use --limit 3." in said.err
    data = json.loads(town.command("--agent", "Bob", "--json", "decisions", "--limit", "2").out)
    assert len(data["result"]) == 2
    assert [w["code"] for w in data["warnings"]] == ["more"]


def test_a_filter_of_checkpoints_looks_behind_the_limit(town: Town) -> None:
    town.ask(None, "task add", title="Ship")
    for _ in range(3):
        town.ask("Ada", "checkpoint reach", question="Which?")
    about = town.ask("Ada", "checkpoint reach", question="Now?", task="task-001").result.id
    found = town.ask("Ada", "checkpoints", task="task-001", limit=1)
    assert ([state.id for state in found.result], more(found)) == ([about], [])
    assert more(town.ask("Ada", "checkpoints", limit=1)) == ["3 more checkpoints: use --limit 4."]


def test_receipts_artifacts_and_needed_artifacts_that_are_cut_say_so(town: Town) -> None:
    for name in "xyz":
        town.ask("Ada", "artifact add", uri=f"https://host/{name}", id=name)
        town.ask("Ada", "artifact need", names=(f"need-{name}",))
        town.ask("Ada", "check", command=("true",))
    assert more(town.ask("Bob", "artifacts", limit=2)) == ["1 more artifact: use --limit 3."]
    assert more(town.ask("Bob", "artifact needed", limit=1)) == ["2 more names: use --limit 3."]
    assert more(town.ask("Bob", "receipts", limit=1)) == ["2 more receipts: use --limit 3."]


def test_watch_counts_what_it_does_not_list(town: Town) -> None:
    for number in range(52):
        town.ask("Ada", "checkpoint reach", question=f"Which {number}?")
        town.ask("Ada", "task add", title=f"Step {number}")
        town.ask("Ada", "task claim", task=f"task-{number + 1:03}")
    said = town.command("watch").out
    assert "Needs you: 52" in said
    assert "and 2 more: moot needs-me" in said
    assert "and 2 more: moot board" in said
    assert len(town.ask(None, "needs-me").result) == 52


def test_an_artifact_shows_all_of_its_changes(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.api.verbs.artifacts._PAGE", 2)
    town.ask("Ada", "artifact add", uri="https://host/x", id="x")
    for number in range(5):
        town.ask("Ada", "artifact modify", id="x", change=(f"change {number}",))
    shown = town.ask("Bob", "artifact show", id="x").result
    assert [change.changes for change in shown.changes] == [(f"change {number}",) for number in range(5)]


def test_the_log_says_which_events_it_left_out_in_either_direction(town: Town) -> None:
    town.send("Ada", "Bob")
    head = town.ask(None, "log").result[-1].position
    assert more(town.ask(None, "log", limit=1)) == [f"{head - 1} earlier events: use a higher --limit, or --after 0."]
    assert more(town.ask(None, "log", after=0, limit=1)) == [f"{head - 1} later events: continue with --after 1."]
    filtered = town.ask(None, "log", type=("agent:*",), limit=1)
    first = filtered.result[0].position
    assert more(filtered) == [f"Events before #{first} were not searched: use a higher --limit, or --after 0."]
    assert more(town.ask(None, "log", after=0, limit=1000)) == []


def test_a_search_with_more_results_says_so(town: Town) -> None:
    for _ in range(3):
        town.send("Ada", "Bob", text="swordfish")
    assert more(town.ask("Bob", "search", words=("swordfish",), limit=2)) == [
        "There are more results: use --limit 4, or add words."
    ]
