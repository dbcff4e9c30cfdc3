"""answer and inbox --all: answering by id alone, and reading mail again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Held, Refused, Unknown
from tests.surfaces.town import Town, of_two, refused, waiting

if TYPE_CHECKING:
    from tests.surfaces.command import Command


@pytest.fixture
def town(bare: Command) -> Town:
    return of_two(bare)


# answer


def test_an_answer_to_a_request_is_a_reply_that_settles_it(town: Town) -> None:
    request = town.request("Ada", "Bob")
    answered = town.ask("Bob", "answer", id=request, text="Done.")
    assert answered.result.to == ("Ada",)
    assert town.stages(request) == {"Bob": "answered"}


def test_a_checkpoint_is_answered_by_people_alone(town: Town) -> None:
    asked = town.ask("Bob", "checkpoint reach", question="Which colour?", option=("blue", "red")).result.id
    refused(Refused, "people_only", town, "Ada", "answer", id=asked, text="red")
    assert town.ask(None, "answer", id=asked, text="red").result.answer == "red"
    refused(Held, "checkpoint_resolved", town, None, "answer", id=asked, text="blue")


@pytest.mark.on_disk
def test_a_person_in_an_agents_shell_does_not_answer_a_checkpoint(run: Command) -> None:
    asked = run("--json", "checkpoint", "reach", "Is it right?", agent="Ada").result["id"]
    said = run("--json", "--person", "answer", asked, "yes", CLAUDECODE="1")
    assert said.error["error"] == "people_only"


def test_what_cannot_be_answered_says_what_can(town: Town) -> None:
    task = town.ask("Ada", "task add", title="Write it").result.id
    error = refused(Refused, "not_answerable", town, "Bob", "answer", id=task, text="done it")
    assert "moot task note task-001 'done it'" in error.remedy
    error = refused(Refused, "not_answerable", town, "Bob", "answer", id=task, text="@Ada did it")
    assert "moot task note task-001 '@@Ada did it'" in error.remedy
    for name in ("m-0000000", "Nobody", "k-0000000"):
        error = refused(Unknown, "unknown_thing", town, "Bob", "answer", id=name, text="x")
        assert "`moot inbox`" in error.remedy
    assert refused(Refused, "not_answerable", town, "Bob", "answer", id="Ada", text="x").details["kind"] == "agent"


# inbox --all


def test_settled_mail_can_be_read_again_newest_last(town: Town) -> None:
    first, second = town.send("Ada", "Bob", text="One."), town.send("Ada", "Bob", text="Two.")
    request = town.request("Ada", "Bob", text="Three?")
    town.ask("Bob", "inbox")
    plain = town.ask("Bob", "inbox").result
    assert (plain.settled, plain.more_settled) == ((), None)
    again = town.ask("Bob", "inbox", all=True)
    assert ([item.id for item in again.result.settled], again.result.more_settled) == ([first, second], 0)
    assert waiting(again) == [request]
    assert "2 settled:" in again.say
    town.ask("Bob", "reply", id=request, text="Yes.")
    assert [item.id for item in town.ask("Bob", "inbox", all=True).result.settled] == [first, second, request]


def test_how_many_older_ones_there_are_is_said_with_the_command_that_shows_them(town: Town) -> None:
    for number in range(5):
        town.send("Ada", "Bob", text=f"Note {number}.")
    town.ask("Bob", "inbox")
    some = town.ask("Bob", "inbox", all=True, limit=2)
    assert ([item.text for item in some.result.settled], some.result.more_settled) == (["Note 3.", "Note 4."], 3)
    assert some.say[0] == "3 older settled: moot inbox --all --limit 5 --agent Bob"
    assert len(town.ask("Bob", "inbox", all=True, limit=5).result.settled) == 5


def test_large_settled_mail_is_left_out_and_counted(town: Town) -> None:
    for letter in "abc":
        town.send("Ada", "Bob", text=letter * 1000)
    town.ask("Bob", "inbox")
    some = town.ask("Bob", "inbox", all=True, bytes=2500)
    assert ([item.text[0] for item in some.result.settled], some.result.more_settled) == (["b", "c"], 1)
    assert some.say[0].startswith("1 older settled: moot inbox --all --limit 51 --bytes ")
    size = int(some.say[0].partition("--bytes ")[2].split()[0])
    assert town.ask("Bob", "inbox", all=True, bytes=size).result.more_settled == 0


def test_reading_settled_mail_again_records_nothing(town: Town) -> None:
    town.send("Ada", "Bob")
    town.ask("Bob", "inbox")
    before = town.ask(None, "log", limit=1).result[-1].position
    town.ask("Bob", "inbox", all=True)
    assert town.ask(None, "log", limit=1).result[-1].position == before
