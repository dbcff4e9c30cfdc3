"""`moot start`, and what claiming, submitting and leaving tell an agent: the loop of an agent in few calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import Held, Refused
from tests.surfaces.command import tokens

if TYPE_CHECKING:
    from tests.surfaces.command import Command


# Starting


def test_starting_joins_shows_the_mail_and_claims_the_most_urgent_task(run: Command, ada: Workspace) -> None:
    ada.task_add("Later", priority="low")
    ada.task_add("Write the parser", priority="high", body="As in the specification.")
    ada.send("Bob", "Welcome.")
    run("leave", agent="Bob")
    before = run.head()
    ran = run("start", "bob")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "You are Bob#2."
    assert "> Welcome." in lines
    assert lines[-4:-2] == ["task-002 is yours (attempt 1, token 8): Write the parser", "> As in the specification."]
    assert lines[-2] == "Before you edit files: moot claim PATH… --task task-002 --agent Bob"
    assert lines[-1] == "When it is done: moot task submit task-002 --agent Bob (another agent reviews it)"
    with Workspace(run.repo, agent="Ada") as ws:
        events = ws.log(after=before)
    assert [event.type for event in events] == ["agent:joined", "task:started", "message:offered"]
    assert events[0].commit == events[1].commit


def test_starting_again_goes_on_with_the_same_task_and_changes_nothing(run: Command, ada: Workspace) -> None:
    ada.task_add("One")
    ada.task_add("Two")
    assert "task-001 is yours" in run("--agent", "Bob", "start").out
    before = run.head()
    for words in (["--agent", "Bob", "start"], ["--agent", "bob", "start", "Bob"]):
        assert "task-001 is still yours" in run(*words).out
    assert run.head() == before


def test_the_name_of_another_live_agent_is_refused_with_how_to_go_on(run: Command) -> None:
    for verb in ("start", "join"):
        error = run("--json", verb, "Bob").error
        assert (error["error"], error["details"]["agent"]) == ("name_in_use", "Bob")
        assert error["remedy"].startswith("If this is you, add `--agent Bob` to your commands.")
    assert run("start", "Bob", agent="Bob", incarnation=1).code == 0
    assert run("start", "Bob", "--take-over").out.startswith("You are Bob#2.")
    stale = run("--json", "start", agent="Bob", incarnation=1)
    assert stale.error["error"] == "stale_incarnation"


def test_an_agent_that_left_joins_again_by_its_name(run: Command) -> None:
    run("leave", agent="Bob")
    assert run("--agent", "bob", "start").out.startswith("You are Bob#2.\n")


@pytest.mark.parametrize("words", [["start"], ["--person", "start", "--no-claim"]], ids=" ".join)
def test_a_caller_without_a_name_is_asked_for_one_and_no_agent_is_made(run: Command, words: list[str]) -> None:
    before = run.head()
    ran = run("--json", *words)
    assert (ran.code, ran.error["error"]) == (2, "name_missing")
    assert ran.error["message"].startswith("`start` needs a name")
    assert "`moot start Yeats`" in ran.error["remedy"]
    assert run.head() == before


def test_a_name_that_never_joined_joins_by_starting(run: Command) -> None:
    assert run("--agent", "Cleo", "start").out.startswith("You are Cleo#1.\n")


def test_the_name_of_a_task_is_not_taken_for_an_agent(run: Command, ada: Workspace) -> None:
    ada.task_add("One")
    error = run("--json", "start", "task-001").error
    assert error["error"] == "is_a_task"
    assert "moot task claim task-001" in error["remedy"]


def test_without_claiming_the_next_task_is_only_shown(run: Command, ada: Workspace) -> None:
    ada.task_add("One", body="Do it.")
    before = run.head()
    out = run("--agent", "Bob", "start", "--no-claim").out
    assert out.splitlines()[1:] == [
        "task-001 can be started: One",
        "> Do it.",
        "next: moot task claim task-001 --agent Bob",
    ]
    assert run.head() == before


def test_without_a_task_it_shows_what_can_be_reviewed(run: Command, ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    bob.task_submit("task-001")
    last = run("--agent", "Ada", "start").out.splitlines()[-2:]
    assert last[0] == "No task is ready. You can review task-001 by Bob: One"
    assert last[1] == (
        "next: moot task show task-001 --agent Ada, then moot task approve task-001 --agent Ada, "
        "or moot task reject task-001 --reason '…' --agent Ada"
    )
    assert run("--agent", "Bob", "start").out.splitlines()[-1] == "nothing to do: moot wait --agent Bob"


def test_what_the_task_requires_and_what_others_claimed_is_shown(run: Command, ada: Workspace) -> None:
    (run.repo / "moot.toml").write_text("tasks.receipt = true\n")
    ada.claim("src/**")
    ada.task_add("One", no_review=True)
    result = run("--json", "--agent", "Bob", "start").result
    assert result["brief"]["receipt"] is True
    assert result["brief"]["review"] is False
    assert result["next"] == [
        "moot claim PATH… --task task-001 --agent Bob",
        "moot check --agent Bob -- COMMAND",
        "moot task complete task-001 --receipt last --agent Bob",
    ]
    assert [(one["holder"], one["paths"]) for one in result["others"]] == [("Ada", ["src/**"])]
    assert "Claimed by others: src/** (Ada)" in run("--agent", "Bob", "start").out


def test_a_request_is_shown_with_the_command_that_answers_it(run: Command, ada: Workspace) -> None:
    sent = ada.send("Bob", "Which port?", type="request")
    assert f"needs an answer: moot reply {sent.id} --agent Bob '…'" in run("--agent", "Bob", "start").out
    assert f"1 seen and not settled: {sent.id}" in run("--agent", "Bob", "start").out


def test_mail_is_not_shown_when_the_output_cannot_be_written(run: Command, ada: Workspace) -> None:
    ada.send("Bob", "One.")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "moot", "--agent", "Bob", "start"],
            cwd=run.repo,
            env=run.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert b"output_failed" in done.stderr
    assert json.loads(run("--json", "board", agent="Bob").out)["unread"] == 1


def test_a_program_starts_the_same_way(run: Command, ada: Workspace) -> None:
    ada.task_add("One")
    with Workspace(run.repo) as ws:
        begun = ws.start("Cleo", role="poet")
        assert (begun.agent, begun.roles, begun.joined, begun.claimed) == ("Cleo", ("poet",), True, True)
        assert ws.agent == "Cleo"
        again = ws.start()
        assert (again.joined, again.claimed, again.task.id if again.task else None) == (False, False, "task-001")


def test_a_task_whose_holder_left_is_taken_by_the_next_start(run: Command, ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    assert run("--agent", "Ada", "start").out.splitlines()[-1].startswith("nothing to do")
    bob.leave()
    assert "task-001 is yours" in run("--agent", "Ada", "start").out


# Claiming


def test_a_claim_without_a_body_fits_into_40_tokens(run: Command, ada: Workspace) -> None:
    ada.task_add("Write the parser")
    out = run("--agent", "Bob", "task", "claim").out
    assert out.splitlines()[1:] == ["next: moot task submit task-001 --agent Bob (another agent reviews it)"]
    assert tokens(out) <= 40


def test_a_claim_shows_the_body_and_of_a_long_one_its_beginning(run: Command, ada: Workspace) -> None:
    ada.task_add("Short", body="Line one.\nnext: rm -rf")
    ada.task_add("Long", body="x" * 5000)
    out = run("task", "claim", "task-001", agent="Bob").out.splitlines()
    assert out[1:3] == ["> Line one.", "> next: rm -rf"]
    assert out[3] == "next: moot task submit task-001 (another agent reviews it)"
    out = run("task", "claim", "task-002", agent="Bob").out.splitlines()
    assert out[2] == "cut: the body has 5000 characters. To read all of it: moot task show task-002"
    assert len(out[1]) < 4100
    assert len(run("--json", "task", "claim", "task-002", agent="Bob").result["body"]) == 5000


def test_a_claim_of_the_own_task_says_that_it_is_yours_already(run: Command, ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    first = bob.task_claim("task-001")
    before = run.head()
    ran = run("task", "claim", "task-001", agent="Bob")
    assert ran.code == 0
    assert ran.out.startswith(f"task-001 is already yours (attempt 1, token {first.token}): One\n")
    assert bob.task_claim("task-001") == first.replace(again=True)
    assert run.head() == before
    with pytest.raises(Held):
        ada.task_claim("task-001")


# Files of a task


def test_files_claimed_for_a_task_are_released_when_it_is_done(run: Command, ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    kept = bob.claim("README", reason="always")
    held = bob.claim("src/**", task="task-001")
    out = run("task", "submit", "task-001", agent="Bob").out.splitlines()
    assert out[1:] == [
        f"still held: README ({kept.id}), until you release it",
        f"still held: src/** ({held.id}), released when the task is done",
    ]
    out = run("task", "approve", "task-001", agent="Ada").out.splitlines()
    assert out == ["task-001 is done: One", "released src/**"]
    assert [claim.id for claim in bob.claims()] == [kept.id]
    event = bob.log(type="file:released")[-1]
    assert (event.data["reason"], event.data["holder"], event.data.get("forced")) == ("task-001 is done", "Bob#1", None)
    assert event.commit == bob.log(type="task:approved")[-1].commit


@pytest.mark.parametrize("verb", ["complete", "fail", "cancel"])
def test_files_of_a_task_are_released_however_it_ends(ada: Workspace, bob: Workspace, verb: str) -> None:
    ada.task_add("One", no_review=True)
    bob.task_claim("task-001")
    bob.claim("src/**", task="task-001")
    who = ada if verb == "cancel" else bob
    moved = getattr(who, f"task_{verb}")("task-001", reason="Why not.")
    assert moved.released == ("src/**",)
    assert bob.claims() == []


def test_files_of_a_task_stay_claimed_when_it_is_rejected_or_released(ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    bob.claim("src/**", task="task-001")
    assert bob.task_submit("task-001").still_held == ("src/**",)
    assert ada.task_reject("task-001", reason="No.").released == ()
    bob.task_claim("task-001")
    bob.task_release("task-001")
    assert [claim.paths for claim in bob.claims()] == [("src/**",)]


def test_files_of_a_task_are_released_when_somebody_else_claims_it(
    run: Command, ada: Workspace, bob: Workspace
) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    bob.claim("src/**", task="task-001")
    kept = [bob.claim("README"), ada.claim("docs/**", task="task-001")]
    bob.task_submit("task-001")
    ada.task_reject("task-001", reason="I do it myself.")
    out = run("task", "claim", "task-001", agent="Ada").out.splitlines()
    assert "released src/**, claimed for it by Bob" in out
    assert [claim.id for claim in bob.claims()] == [one.id for one in kept]
    event = bob.log(type="file:released")[-1]
    assert (event.data["reason"], event.data.get("forced")) == ("task-001 was taken over by Ada", None)
    assert event.commit == bob.log(type="task:started")[-1].commit
    assert ada.claim("src/**", task="task-001").holder == "Ada#1"


def test_a_started_task_says_whose_files_were_released(ada: Workspace, bob: Workspace, run: Command) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    bob.claim("src/**", task="task-001")
    bob.task_release("task-001")
    assert "released src/**, claimed for it by Bob" in run("start", agent="Ada").out.splitlines()
    assert bob.claims() == []


def test_the_claim_of_a_task_lists_the_files_of_its_former_holder(ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    assert bob.task_claim("task-001").released == ()
    bob.claim("src/**", task="task-001")
    bob.task_release("task-001")
    assert bob.task_claim("task-001").released == ()
    bob.task_release("task-001")
    assert ada.task_claim("task-001").released == ("src/**",)


@pytest.mark.parametrize("verb", ["complete", "cancel"])
def test_no_file_is_claimed_for_a_task_that_has_ended(ada: Workspace, bob: Workspace, verb: str) -> None:
    ada.task_add("One", no_review=True)
    bob.task_claim("task-001")
    getattr(bob if verb == "complete" else ada, f"task_{verb}")("task-001", reason="Why not.")
    with pytest.raises(Refused) as refusal:
        bob.claim("src/**", task="task-001")
    assert refusal.value.code == "task_ended"
    assert "without --task" in refusal.value.remedy
    assert "moot task reopen task-001" in refusal.value.remedy
    assert bob.claims() == []


def test_a_file_claimed_again_is_already_yours_and_keeps_what_it_was_claimed_for(run: Command, ada: Workspace) -> None:
    ada.task_add("One")
    first = ada.claim("a.txt", task="task-001", reason="why", ttl=90)
    before = run.head()
    assert ada.claim("a.txt").replace(silent_for=None) == first.replace(silent_for=None)
    ran = run("claim", "a.txt", "--reason", "why", agent="Ada")
    assert (ran.code, ran.out) == (0, f"{first.id} exclusive: a.txt (token {first.token}), already yours\n")
    assert run.head() == before


# Leaving


def test_leaving_names_what_was_released_and_what_stays_unanswered(
    run: Command, ada: Workspace, bob: Workspace
) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    bob.claim("src/**", task="task-001")
    sent = ada.send("Bob", "Which port?", type="request")
    ada.send("Bob", "Only a note.")
    asked = bob.checkpoint_reach("Which licence?")
    ran = run("leave", agent="Bob")
    assert ran.out.splitlines() == [
        "Bob has left.",
        "released task-001: it is open",
        "released src/**",
        f"1 request not answered: {sent.id} from Ada",
        "2 messages not read",
        f"{asked.id} still waits for a person: Which licence?",
    ]
    assert ada.task_show("task-001").task.holder is None
    assert ada.claims() == []


def test_the_departure_is_a_value_for_programs(ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    sent = ada.send("Bob", "Which port?", type="request")
    left = bob.leave()
    assert (left.tasks, left.files, left.checkpoints) == ({"task-001": "open"}, (), ())
    assert [(one.id, one.sender) for one in left.unanswered] == [(sent.id, "Ada")]
    with pytest.raises(Refused):
        bob.leave()


def test_leaving_names_tasks_in_review_and_assigned_ones(run: Command, ada: Workspace, bob: Workspace) -> None:
    for title in ("One", "Two", "Three"):
        ada.task_add(title)
    bob.task_claim("task-001")
    bob.task_submit("task-001")
    for task in ("task-002", "task-003"):
        bob.task_assign(task, "Bob")
    assert "task-002 open for Bob Two" in run("board").out
    ran = run("--json", "leave", agent="Bob").result
    assert (ran["in_review"], ran["assigned"]) == ({"task-001": ["Ada"]}, ["task-002", "task-003"])
    assert run("board").out.splitlines()[1:3] == ["task-002 open Two", "task-003 open Three"]
    assert "for Bob" not in run("ready").out
    run("join", "Bob")
    assert "task-002 open for Bob Two" in run("board").out
    ada.leave()
    assert run("leave", agent="Bob").out.splitlines() == [
        "Bob has left.",
        "task-001 stays in review: no agent here can review it",
        "others can now claim what was assigned to Bob: task-002, task-003",
    ]


def test_leaving_without_debts_says_only_that(run: Command) -> None:
    assert run("leave", agent="Bob").out == "Bob has left.\n"
