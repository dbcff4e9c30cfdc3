"""What waits for a person: one queue, each with the command that answers it, and answered there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Held, Refused, Unknown, Usage
from tests.person import ME
from tests.surfaces.town import Town, of_two, refused
from tests.surfaces.worlds import orchestrate

if TYPE_CHECKING:
    from tests.surfaces.command import Command


@pytest.fixture
def town(bare: Command) -> Town:
    """Ada and Bob, and a person who has an account on this machine."""
    if ME.startswith("person:uid-"):
        pytest.skip("there is no account for the user that runs this, so nobody can write to them")
    return of_two(bare)


def queue(town: Town) -> dict[str, str]:
    """What waits: id and kind, in order."""
    return {item.id: item.kind for item in town.ask(None, "needs-me").result}


def dead(town: Town) -> str:
    """A task that ran out of attempts."""
    town.ask("Ada", "task add", title="Hard")
    for _ in range(3):
        town.ask("Bob", "task claim", task="task-001")
        town.ask("Bob", "task submit", task="task-001")
        town.ask("Ada", "task reject", task="task-001", reason="No.")
    return "task-001"


def test_the_queue_has_all_that_waits_and_oldest_first(town: Town) -> None:
    assert town.ask(None, "needs-me").say == ("Nothing waits for you.",)
    request = town.request("Ada", ME, text="May I?")
    town.send("Ada", ME, text="Only a note.")
    task = dead(town)
    asked = town.ask("Bob", "checkpoint reach", question="Which?", option=("it's blue", "red")).result.id
    assert queue(town) == {request: "request", task: "task", asked: "checkpoint"}
    said = "\n".join(town.ask(None, "needs-me").say)
    assert f"moot reply {request} '…'" in said
    assert "moot task reopen task-001 --override --reason '…'" in said
    refused(Refused, "placeholder_reason", town, None, "task reopen", task=task, override=True, reason="…")
    assert f"moot checkpoint resolve {asked} " + shlex.quote("it's blue|red") in said
    refused(Refused, "not_an_option", town, None, "checkpoint resolve", id=asked, answer="it's blue|red")


def test_an_answer_that_no_agent_waits_for_says_so(town: Town) -> None:
    asked = town.ask(None, "checkpoint reach", question="Which?").result.id
    (said,) = town.ask(None, "checkpoint resolve", id=asked, answer="blue").say
    assert said.endswith("answered: blue; notified: no agent; none waits for it")


def test_a_task_that_failed_waits_for_a_person_as_long_as_others_wait_for_it(town: Town) -> None:
    for title, needs in (("Parser", ()), ("Docs", ("task-001",)), ("Alone", ())):
        town.ask("Ada", "task add", title=title, needs=needs)
    for task in ("task-001", "task-003"):
        town.ask("Bob", "task claim", task=task)
        town.ask("Bob", "task fail", task=task, reason="It cannot be done.")
    (item,) = town.ask(None, "needs-me").result
    assert item.text == "Parser (failed, and task-002 waits for it: It cannot be done.)"
    town.ask(None, "needs-me", answer="task-001", text="Try it with less.")
    assert queue(town) == {}


def test_listing_writes_nothing(town: Town) -> None:
    town.request("Ada", ME)
    before = town.command.head()
    for who in (None, "Ada"):
        town.ask(who, "needs-me")
    assert town.command.head() == before


def test_each_of_it_is_answered_there(town: Town) -> None:
    request = town.request("Ada", ME, text="May I?")
    task = dead(town)
    asked = town.ask("Bob", "checkpoint reach", question="Which?", option=("blue", "red")).result.id
    for thing, text in ((request, "Yes."), (task, "Try it with the new parser."), (asked, "2")):
        town.ask(None, "needs-me", answer=thing, text=text)
        assert thing not in queue(town)
    assert town.ask("Ada", "inbox").result.new[-1].text == "Yes."  # the others are about the task
    assert town.ask("Bob", "inbox").result.new[-1].text.startswith("red")
    assert town.ask(None, "task show", task=task).result.task.state == "open"
    assert queue(town) == {}


def test_an_answer_comes_once(town: Town) -> None:
    asked = town.ask("Bob", "checkpoint reach", question="Which?").result.id
    town.ask(None, "needs-me", answer=asked, text="blue")
    refused(Held, "checkpoint_resolved", town, None, "needs-me", answer=asked, text="red")
    first = town.ask("Bob", "checkpoint reach", question="Which?").result.id
    for _ in range(2):
        town.ask(None, "needs-me", answer=first, text="blue", key="k")


def test_an_agent_may_look_and_does_not_answer(town: Town) -> None:
    asked = town.ask("Bob", "checkpoint reach", question="Which?").result.id
    assert [item.id for item in town.ask("Ada", "needs-me").result] == [asked]
    refused(Refused, "people_only", town, "Ada", "needs-me", answer=asked, text="blue")


def test_what_is_not_in_the_queue_is_not_answered(town: Town) -> None:
    refused(Unknown, "not_waiting", town, None, "needs-me", answer="m-0000000", text="x")
    refused(Usage, "bad_arguments", town, None, "needs-me", answer="m-0000000")
    refused(Usage, "bad_arguments", town, None, "needs-me", text="x")


def test_an_expired_request_waits_for_nobody(town: Town) -> None:
    town.request("Ada", ME, expires=60)
    town.clock.passed = 61
    assert queue(town) == {}


def test_a_held_entry_is_dropped_with_the_words_as_its_reason(bare: Command) -> None:
    entry = orchestrate(bare)["entry"]
    (waits,) = bare("needs-me", "--json").result
    assert (waits["id"], waits["kind"]) == (entry, "held")
    assert bare("needs-me", "--answer", entry, "Sent again by hand.").code == 0
    assert bare("needs-me").out == "Nothing waits for you.\n"
    assert "Sent again by hand." in bare("explain", entry).out


def test_a_task_whose_holder_is_silent_is_shown_and_not_answered(bare: Command) -> None:
    """A lifecycle with limits of its own: nobody takes the task away by itself."""
    orchestrate(bare)
    town = Town(bare)
    town.clock.passed = 10 * 3600
    refused(Held, "task_held", town, "Bob", "task claim", task="task-001")
    assert queue(town)["task-001"] == "concern"
    refused(Refused, "not_answered_here", town, None, "needs-me", answer="task-001", text="Go on.")
