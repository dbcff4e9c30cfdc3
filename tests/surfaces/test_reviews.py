"""Who hears of a submission and of its verdict, and what becomes of a review that no agent can do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Held, Refused, TimedOut
from tests.person import ME
from tests.surfaces.town import Town, of_two, refused, with_roles
from tests.surfaces.worlds import ASSIGNMENT

if TYPE_CHECKING:
    from moot.api.message_view import Letter
    from tests.surfaces.command import Command

REPORT = {
    "type": "completion_report",
    "taskId": "task-001",
    "platform": "web",
    "status": "awaiting_review",
    "summary": "Built.",
    "filesCreated": [],
    "filesModified": [],
    "buildResult": {"status": "success", "command": "make", "errors": 0, "output": ""},
    "timestamp": "2031-05-08T10:00:00Z",
}
VERDICTS = "moot task approve task-001, or moot task reject task-001 --reason '…'"
FILES = (
    ".claude-orchestrator/tasks/messages/to-developer.json",
    ".claude-orchestrator/tasks/messages/to-team-lead.json",
)


@pytest.fixture
def town(bare: Command) -> Town:
    """Ada and Bob."""
    return of_two(bare)


def submit(town: Town, who: str | None = "Bob", **given: object) -> str:
    """A task that was added, claimed and submitted."""
    task: str = town.ask(who, "task add", title="Write the parser").result.id
    town.ask(who, "task claim", task=task)
    town.ask(who, "task submit", task=task, **given)
    return task


def new(town: Town, who: str | None) -> list[Letter]:
    return list(town.ask(who, "inbox").result.new)


def mail(town: Town) -> int:
    """How many messages were ever sent."""
    return len(town.ask(None, "log", type=("message:sent",), limit=1000).result)


def waiting(town: Town) -> dict[str, str]:
    return {item.id: item.kind for item in town.ask(None, "needs-me").result}


# Mail about a submission


def test_a_submission_is_mailed_to_every_other_agent_in_the_same_commit(town: Town) -> None:
    town.ask(None, "join", name="Keats", role=())
    town.ask(None, "join", name="Moore", role=())
    town.ask("Moore", "leave")
    task = submit(town, reason="All rules of the grammar.")
    submitted, sent = town.ask(None, "log", limit=2).result
    assert (submitted.type, sent.type) == ("task:submitted", "message:sent")
    assert submitted.commit == sent.commit
    assert set(sent.data["to"]) == {"Ada", "Keats"}
    (letter,) = new(town, "Ada")
    assert (letter.sender, letter.task, letter.wants) == ("Bob", task, "nothing")
    assert letter.text.splitlines() == [
        "Bob submitted task-001 for review: Write the parser",
        "",
        "All rules of the grammar.",
    ]
    assert town.stages(letter.id) == {"Ada": "offered", "Keats": "stored"}
    assert new(town, "Bob") == []


def test_the_mail_about_a_later_attempt_says_which(town: Town) -> None:
    task = submit(town)
    town.ask("Ada", "task reject", task=task, reason="No.")
    town.ask("Bob", "task claim", task=task)
    town.ask("Bob", "task submit", task=task)
    assert "for review (attempt 2): Write" in new(town, "Ada")[-1].text


def test_nobody_is_mailed_if_nobody_else_is_here(town: Town) -> None:
    town.ask("Ada", "leave")
    submit(town)
    assert mail(town) == 0


def test_a_repeat_with_the_same_key_mails_nobody_again(town: Town) -> None:
    task: str = town.ask("Bob", "task add", title="Write the parser").result.id
    town.ask("Bob", "task claim", task=task)
    for _ in range(2):
        town.ask("Bob", "task submit", task=task, key="k1")
    assert mail(town) == 1
    for _ in range(2):
        town.ask("Ada", "task reject", task=task, reason="No.", key="k1")
    assert mail(town) == 2


# Mail about a verdict


@pytest.mark.parametrize(
    ("who", "verb", "reason", "text"),
    [
        ("Ada", "approve", None, "Ada approved task-001: Write the parser\n\nIt is done."),
        (
            "Ada",
            "reject",
            "No test.",
            """Ada rejected task-001: Write the parser\n\nNo test.\n
It is open again.""",
        ),
        (None, "approve", "Well done.", f"{ME} approved task-001: Write the parser\n\nWell done.\n\nIt is done."),
        (None, "cancel", "Too late.", f"{ME} cancelled task-001: Write the parser\n\nToo late.\n\nIt is cancelled."),
    ],
)
def test_a_verdict_is_mailed_to_the_author(
    town: Town, who: str | None, verb: str, reason: str | None, text: str
) -> None:
    task = submit(town)
    town.ask(who, f"task {verb}", task=task, reason=reason)
    (letter,) = new(town, "Bob")
    assert (letter.sender, letter.task, letter.wants, letter.text) == (who or ME, task, "nothing", text)
    assert town.ask(None, "verify").result.sound


def test_the_last_rejection_says_that_a_person_can_allow_another_attempt(town: Town) -> None:
    task = submit(town)
    for _ in range(2):
        town.ask("Ada", "task reject", task=task, reason="No.")
        town.ask("Bob", "task claim", task=task)
        town.ask("Bob", "task submit", task=task)
    town.ask("Ada", "task reject", task=task, reason="No.")
    assert new(town, "Bob")[-1].text.endswith(
        "It is dead after 3 attempts. A person can allow another: `moot task reopen task-001 --override --reason '…'`"
    )


def test_a_rejected_task_that_waits_for_another_says_for_which(town: Town) -> None:
    task = submit(town)
    town.ask("Ada", "task add", title="First", id="first")
    town.ask("Ada", "task link", task=task, needs=("first",))
    town.ask("Ada", "task reject", task=task, reason="No.")
    assert new(town, "Bob")[-1].text.endswith("It is open again and waits for first.")


def test_an_author_that_was_retired_gets_no_mail_and_does_not_stop_the_verdict(town: Town) -> None:
    task = submit(town)
    town.ask(None, "leave", name="Bob", retire=True)
    sent = mail(town)
    assert town.ask("Ada", "task reject", task=task, reason="No.").result.state == "open"
    assert mail(town) == sent


def test_an_author_that_left_finds_the_verdict_when_it_comes_back(town: Town) -> None:
    task = submit(town)
    town.ask("Bob", "leave")
    town.ask("Ada", "task approve", task=task)
    town.ask(None, "join", name="Bob", role=())
    (letter,) = new(town, "Bob")
    assert letter.text.startswith("Ada approved task-001")


def test_an_author_that_cancels_its_own_task_gets_no_mail(town: Town) -> None:
    task = submit(town)
    town.ask("Bob", "task cancel", task=task, reason="Not needed.")
    assert new(town, "Bob") == []


# Mail about a task that its holder lost


@pytest.mark.parametrize(
    ("who", "verb", "text"),
    [
        ("Ada", "cancel", "Ada cancelled task-001: Write the parser\n\nToo late.\n\nIt is cancelled."),
        (None, "cancel", f"{ME} cancelled task-001: Write the parser\n\nToo late.\n\nIt is cancelled."),
        (
            None,
            "release",
            f"""{ME} released task-001: Write the parser\n\nToo late.\n
It is open again.""",
        ),
    ],
)
def test_a_holder_that_loses_its_task_is_mailed_in_the_same_commit(
    town: Town, who: str | None, verb: str, text: str
) -> None:
    task = town.ask("Ada", "task add", title="Write the parser").result.id
    town.ask("Bob", "task claim", task=task)
    town.ask(who, f"task {verb}", task=task, reason="Too late.")
    (letter,) = new(town, "Bob")
    assert (letter.sender, letter.task, letter.wants, letter.text) == (who or ME, task, "nothing", text)
    moved, sent = (town.ask(None, "log", type=(kind,)).result[-1] for kind in (f"task:{verb}*", "message:sent"))
    assert moved.commit == sent.commit
    assert town.ask(None, "verify").result.sound


@pytest.mark.parametrize("verb", ["cancel", "release", "fail", "complete"])
def test_a_holder_that_ends_or_releases_its_own_task_gets_no_mail(town: Town, verb: str) -> None:
    task = town.ask("Bob", "task add", title="Write the parser", no_review=True).result.id
    town.ask("Bob", "task claim", task=task)
    town.ask("Bob", f"task {verb}", task=task, reason="Not needed.")
    assert mail(town) == 0


def test_a_task_that_nobody_holds_is_cancelled_without_mail(town: Town) -> None:
    task = town.ask("Ada", "task add", title="Write the parser").result.id
    town.ask("Ada", "task cancel", task=task, reason="Not needed.")
    assert mail(town) == 0


def test_redacting_a_verdict_takes_its_reason_out_of_the_mail(town: Town) -> None:
    task = submit(town, reason="The password is swordfish.")
    town.ask("Ada", "task reject", task=task, reason="Never write down swordfish.")
    town.ask(None, "redact", thing=task, reason="A secret.")
    assert not any("swordfish" in json.dumps(event.data) for event in town.ask(None, "log", limit=1000).result)
    assert town.ask(None, "search", words=("swordfish",)).result == []
    assert town.ask(None, "verify").result.sound


# Packs


def test_a_pack_whose_messages_carry_the_review_sends_no_other_mail(bare: Command) -> None:
    town = with_roles(bare)
    town.ask("Ada", "task add", title="Build it", id="task-001")
    town.ask("Ada", "send", type="task_assignment", data=ASSIGNMENT)
    for verdict, reason in (("reject", "No."), ("approve", None)):
        town.ask("Dan", "send", type="completion_report", data={**REPORT, "summary": f"To {verdict}."})
        town.ask("Ada", f"task {verdict}", task="task-001", reason=reason)
        if verdict == "reject":
            town.ask("Ada", "task reopen", task="task-001", reason="Again.")
            town.ask("Ada", "send", type="task_assignment", data={**ASSIGNMENT, "instructions": "Again."})
    sent = [event.data["kind"] for event in town.ask(None, "log", type=("message:sent",)).result]
    assert sent == ["task_assignment", "completion_report"] * 2
    for path in FILES:
        assert json.loads(Path(bare.repo, path).read_text())["messages"] == []


def test_a_report_that_waits_for_a_team_lead_that_works_with_files_needs_no_person(bare: Command) -> None:
    town = with_roles(bare)
    town.ask("Ada", "send", type="task_assignment", data=ASSIGNMENT)
    town.ask("Ada", "leave")
    town.ask("Dan", "send", type="completion_report", data=REPORT)
    assert town.ask(None, "task show", task="task-001").result.task.phase == "review"
    assert waiting(town) == {}


# Reviews that no agent can do


def test_a_review_waits_for_a_person_only_while_no_agent_can_do_it(town: Town) -> None:
    task = submit(town)
    assert waiting(town) == {}
    town.ask("Ada", "leave")
    (item,) = town.ask(None, "needs-me").result
    assert (item.kind, item.id, item.who) == ("review", task, "Bob")
    assert item.command == VERDICTS
    shown = "\n".join(town.ask(None, "watch").say)
    assert "Needs you: 1" in shown
    assert item.command in shown
    town.ask(None, "join", name="Keats", role=())
    assert waiting(town) == {}
    assert town.ask("Keats", "wait").result.reason == "review"


def test_an_agent_that_fell_silent_cannot_review(town: Town) -> None:
    task = submit(town)
    town.clock.passed = 10 * 3600
    assert waiting(town) == {task: "review"}
    town.ask("Ada", "whoami")
    assert waiting(town) == {}


def test_yes_approves_what_no_agent_can_review_and_other_words_do_not(town: Town) -> None:
    town.ask("Ada", "leave")
    task = submit(town)
    error = refused(Refused, "not_answered_here", town, None, "needs-me", answer=task, text="Looks good")
    assert f"`moot task approve {task}` or `moot task reject {task} --reason '…'`" in error.remedy
    assert town.ask(None, "needs-me", answer=task, text="yes").result.state == "done"
    assert waiting(town) == {}


def test_a_person_is_not_told_to_approve_its_own_work(town: Town) -> None:
    for name in ("Ada", "Bob"):
        town.ask(name, "leave")
    submit(town, None)
    (item,) = town.ask(None, "needs-me").result
    assert item.text == "Write the parser (no agent here can review it, nor can you: you submitted it)"
    assert item.command == "moot task show task-001"


# Waiting for something to do


def test_wait_names_mail_reviews_and_tasks_each_with_its_command(town: Town) -> None:
    submit(town)
    town.ask("Bob", "task add", title="Test it")
    answer = town.ask("Ada", "wait")
    assert answer.say == (
        "1 new message: moot inbox --agent Ada",
        f"task-001 is in review: Write the parser → {VERDICTS.replace(', or', ' --agent Ada, or')} --agent Ada",
        "task-002 can be started: Test it → moot task claim task-002 --agent Ada",
    )
    assert answer.result.reason == "mail"
    assert [(item.reason, item.who) for item in answer.result.items] == [
        ("mail", "Bob"),
        ("review", "Bob"),
        ("task", "Bob"),
    ]
    new(town, "Ada")
    assert town.ask("Ada", "wait").result.reason == "review"
    town.ask("Ada", "task approve", task="task-001")
    assert town.ask("Ada", "wait").result.reason == "task"


def test_wait_says_when_there_is_nothing_to_do_for_the_caller(town: Town) -> None:
    """Its own submission, a task that waits, one that is assigned to another agent."""
    submit(town)
    town.ask("Bob", "task add", title="Later", id="later", needs=("task-001",))
    town.ask("Bob", "task add", title="For Ada", id="hers")
    town.ask("Bob", "task assign", task="hers", agent="Ada")
    error = refused(TimedOut, "timeout", town, "Bob", "wait", timeout=0)
    assert error.message == "Nothing yet: no mail, no review and no task for you."
    assert [item.id for item in town.ask("Ada", "wait").result.items if item.reason == "task"] == ["hers"]


def test_wait_finds_the_task_of_an_agent_that_fell_silent(town: Town) -> None:
    town.ask("Bob", "task add", title="Write the parser")
    town.ask("Bob", "task claim", task="task-001")
    before = town.command.head()
    town.clock.passed = 10 * 3600
    assert [item.id for item in town.ask("Ada", "wait").result.items] == ["task-001"]
    assert town.command.head() == before
    assert town.ask("Ada", "task claim").result.holder == "Ada#1"


def test_wait_does_not_offer_what_the_roles_of_the_caller_do_not_allow(bare: Command) -> None:
    town = with_roles(bare)
    town.ask("Ada", "task add", title="Build it", id="task-001", lifecycle="orchestrator")
    assert town.ask("Ada", "wait").result.reason == "task"
    refused(TimedOut, "timeout", town, "Dan", "wait", timeout=0)


def test_an_agent_that_was_replaced_does_not_wait_on(town: Town) -> None:
    town.ask(None, "join", name="Ada", role=(), take_over=True)
    refused(Held, "stale_incarnation", town, "Ada#1", "wait")


def test_a_long_list_is_cut_and_says_what_shows_the_rest(town: Town) -> None:
    for number in range(12):
        town.ask("Bob", "task add", title=f"Task {number}")
    said = town.ask("Ada", "wait").say
    assert len(said) == 11
    assert said[-1] == "and 2 more: moot ready"


def test_two_agents_that_wait_for_each_other_finish_a_task(run: Command) -> None:
    """The reviewer waits, the author submits, is rejected, is woken, submits again and is told of the approval."""
    assert run("task", "add", "Write the parser", "--id", "parser").code == 0
    assert run("task", "claim", "parser", agent="Bob").code == 0
    for verdict in (("reject", "parser", "--reason", "No test."), ("approve", "parser")):
        reviewer = run.popen("wait", agent="Ada")
        assert run("task", "submit", "parser", agent="Bob").code == 0
        woken, _ = reviewer.communicate(timeout=60)
        assert (reviewer.returncode, woken.splitlines()[0]) == (0, "1 new message: moot inbox")
        assert run("inbox", agent="Ada").code == 0
        author = run.popen("wait", "--mail", agent="Bob")
        assert run("task", *verdict, agent="Ada").code == 0
        assert author.wait(timeout=60) == 0
        told = run("inbox", agent="Bob").out
        author.communicate()
        assert f"Ada {verdict[0]}" in told
        if verdict[0] == "reject":
            assert "No test." in told
            assert run("task", "claim", "parser", agent="Bob").code == 0


def test_a_waiter_that_was_killed_finds_the_review_when_it_waits_again(run: Command) -> None:
    first = run.popen("wait", agent="Ada")
    assert run("task", "add", "Write the parser", "--id", "parser").code == 0
    assert run("task", "claim", "parser", agent="Bob").code == 0
    first.kill()
    first.communicate()
    assert run("task", "submit", "parser", agent="Bob").code == 0
    found = run("wait", "--json", agent="Ada").result
    assert (found["reason"], [item["id"] for item in found["items"]][1:]) == ("mail", ["parser"])
    assert found["items"][1]["command"].startswith("moot task approve parser")
