"""answer and inbox --all: answering by id alone, and reading mail again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Held, MootError, Refused, Unknown
from tests.surfaces.town import Town, of_two, refused, waiting
from tests.surfaces.worlds import ASSIGNMENT, TO_DEVELOPER, orchestrate

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


def test_a_text_drops_a_held_entry_as_its_reason(bare: Command) -> None:
    entry = orchestrate(bare)["entry"]
    dropped = Town(bare).ask("Ada", "answer", id=entry, text="Never mind.\n")
    assert (dropped.result.id, dropped.result.status) == (entry, "dropped")
    assert dropped.say == (f"{entry} dropped, with your text as the reason; the log keeps it.",)
    (event,) = Town(bare).ask(None, "log", type=("entry:dropped",)).result
    assert event.data["reason"] == "Never mind."
    refused(Held, "entry_closed", Town(bare), "Ada", "answer", id=entry, text="Again.")


@pytest.mark.on_disk
@pytest.mark.parametrize(
    "words", [["answer", "{entry}"], ["needs-me", "--answer", "{entry}"]], ids=["answer", "needs-me"]
)
def test_a_json_object_delivers_a_held_entry_as_the_corrected_message(bare: Command, words: list[str]) -> None:
    entry = orchestrate(bare)["entry"]
    said = bare(*[word.format(entry=entry) for word in words], "@fixed.json").out
    assert said.startswith(f"{entry} is delivered as you corrected it.\n")
    assert "stored for @developer" in said
    assert Town(bare).ask(None, "held show", id=entry).result.status == "resubmitted"


@pytest.mark.parametrize(("text", "code"), [('{"type": ', "bad_json"), ('{"type": "wish"}', "unknown_type")])
def test_a_broken_correction_leaves_the_entry_held(bare: Command, text: str, code: str) -> None:
    entry = orchestrate(bare)["entry"]
    with pytest.raises(MootError) as caught:
        Town(bare).ask("Ada", "answer", id=entry, text=text)
    assert caught.value.code == code
    assert Town(bare).ask(None, "held show", id=entry).result.status == "held"


def quarantined(bare: Command, text: str) -> tuple[Town, str]:
    orchestrate(bare)
    Path(bare.repo, TO_DEVELOPER).write_text(text)
    town = Town(bare)
    return town, next(entry.id for entry in town.ask("Ada", "held").result if entry.kind == "file")


def test_a_quarantined_file_is_dropped_by_a_text(bare: Command) -> None:
    town, file = quarantined(bare, "[]")
    assert town.ask("Ada", "answer", id=file, text="Sent again.").result.status == "dropped"


@pytest.mark.parametrize("whole", [True, False], ids=["its content", "a message of it"])
def test_a_quarantined_file_is_answered_with_what_is_right(bare: Command, whole: bool) -> None:
    town, file = quarantined(bare, "[]")
    message = {**ASSIGNMENT, "taskId": "task-9", "timestamp": "2031-05-08T09:30:00Z"}
    text = json.dumps({"messages": [message], "lastRead": None} if whole else message)
    said = town.ask(None, "answer", id=file, text=text).say
    assert said[0] == f"{file} is delivered as you corrected it."
    assert town.ask(None, "held show", id=file).result.status == "resubmitted"
    assert message in json.loads(Path(bare.repo, TO_DEVELOPER).read_text())["messages"]


def test_what_cannot_be_answered_says_what_can(town: Town) -> None:
    task = town.ask("Ada", "task add", title="Write it").result.id
    error = refused(Refused, "not_answerable", town, "Bob", "answer", id=task, text="done it")
    assert "moot task note task-001 'done it'" in error.remedy
    error = refused(Refused, "not_answerable", town, "Bob", "answer", id=task, text="@Ada did it")
    assert "moot task note task-001 '@@Ada did it'" in error.remedy
    for name in ("m-0000000", "Nobody", "k-0000000"):
        error = refused(Unknown, "unknown_thing", town, "Bob", "answer", id=name, text="x")
        assert "A message (m-…), a checkpoint (k-…) or a held entry (h-…) can be answered" in error.remedy
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
    assert some.say[0] == "3 older settled: moot --agent Bob inbox --all --limit 5"
    assert len(town.ask("Bob", "inbox", all=True, limit=5).result.settled) == 5


def test_large_settled_mail_is_left_out_and_counted(town: Town) -> None:
    for letter in "abc":
        town.send("Ada", "Bob", text=letter * 1000)
    town.ask("Bob", "inbox")
    some = town.ask("Bob", "inbox", all=True, bytes=2500)
    assert ([item.text[0] for item in some.result.settled], some.result.more_settled) == (["b", "c"], 1)
    assert some.say[0].startswith("1 older settled: moot --agent Bob inbox --all --limit 51 --bytes ")
    size = int(some.say[0].rpartition(" ")[2])
    assert town.ask("Bob", "inbox", all=True, bytes=size).result.more_settled == 0


def test_reading_settled_mail_again_records_nothing(town: Town) -> None:
    town.send("Ada", "Bob")
    town.ask("Bob", "inbox")
    before = town.ask(None, "log", limit=1).result[-1].position
    town.ask("Bob", "inbox", all=True)
    assert town.ask(None, "log", limit=1).result[-1].position == before
