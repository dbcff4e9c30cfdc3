"""Tasks that are edited, commented on and assigned: who may, who hears of it, and what stays true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from moot.core.errors import Held, Refused, Unknown, Usage
from moot.engine.clock import local
from tests.surfaces.town import Town, of_two, refused, with_roles
from tests.surfaces.worlds import ASSIGNMENT, TO_DEVELOPER

if TYPE_CHECKING:
    from tests.surfaces.command import Command

REPORT = {
    "type": "completion_report",
    "taskId": "task-001",
    "platform": "web",
    "status": "awaiting_review",
    "summary": "Built.",
    "filesCreated": ["a.py"],
    "filesModified": [],
    "buildResult": {"status": "success", "command": "make", "errors": 0},
    "timestamp": "2031-05-08T10:00:00Z",
}


@pytest.fixture
def town(bare: Command) -> Town:
    """Ada and Bob, and a task that Ada added."""
    town = of_two(bare)
    town.ask("Ada", "task add", title="Write it", body="As described.", ttl=600)
    return town


def mail(town: Town, who: str) -> list[tuple[str, str, str]]:
    return [(letter.sender, letter.task, letter.text) for letter in town.ask(who, "inbox").result.new]


def task(town: Town, name: str = "task-001", **given: Any) -> Any:
    return town.ask(None, "task show", task=name, **given).result.task


# Editing


def test_an_edit_records_only_what_changed(town: Town) -> None:
    edited = town.ask("Ada", "task edit", task="task-001", title="Write the lexer", body="As described.")
    assert (edited.result.title, edited.result.body) == ("Write the lexer", "As described.")
    (event,) = town.ask(None, "log", type=("task:edited",)).result
    assert event.data == {"who": "Ada#1", "title": "Write the lexer"}
    again = town.ask("Ada", "task edit", task="task-001", title="Write the lexer")
    assert again.say[0].startswith("task-001 not changed")
    assert len(town.ask(None, "log", type=("task:edited",)).result) == 1


def test_a_priority_that_was_edited_changes_what_is_claimed_next(town: Town) -> None:
    town.ask("Ada", "task add", title="Ship it")
    town.ask("Ada", "task edit", task="task-002", priority="high")
    assert town.ask("Bob", "task claim").result.id == "task-002"


def test_only_the_creator_the_holder_and_people_edit_a_task(town: Town) -> None:
    error = refused(Refused, "not_yours_to_edit", town, "Bob", "task edit", task="task-001", title="Mine")
    assert "moot task note task-001" in error.remedy
    town.ask("Bob", "task claim", task="task-001")
    assert town.ask("Bob", "task edit", task="task-001", body="More.").result.body == "More."
    assert town.ask(None, "task edit", task="task-001", body="").result.body == ""


def test_a_holder_cannot_extend_its_own_lease(town: Town) -> None:
    town.ask("Bob", "task claim", task="task-001")
    refused(Refused, "own_lease", town, "Bob", "task edit", task="task-001", ttl=86_400)
    assert town.ask("Ada", "task edit", task="task-001", ttl=1200).result.ttl == 1200


def test_a_task_that_has_ended_is_edited_only_by_a_person(town: Town) -> None:
    town.ask("Ada", "task cancel", task="task-001", reason="Not needed.")
    refused(Refused, "task_ended", town, "Ada", "task edit", task="task-001", title="Other")
    assert town.ask(None, "task edit", task="task-001", title="Other").result.title == "Other"


@pytest.mark.parametrize(
    ("given", "error", "code"),
    [
        ({}, Usage, "bad_arguments"),
        ({"title": " "}, Refused, "no_title"),
        ({"priority": "utmost"}, Usage, "bad_arguments"),
        ({"ttl": 0}, Usage, "bad_ttl"),
        ({"task": "task-999", "title": "x"}, Unknown, "unknown_task"),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused(town: Town, given: dict[str, Any], error: Any, code: str) -> None:
    refused(error, code, town, "Ada", "task edit", **{"task": "task-001", **given})


def test_the_holder_hears_that_its_task_was_edited(town: Town) -> None:
    town.ask("Bob", "task claim", task="task-001")
    town.ask("Ada", "task edit", task="task-001", title="Other", priority="low")
    ((sender, about, text),) = mail(town, "Bob")
    assert (sender, about) == ("Ada", "task-001")
    assert text.startswith("task-001 was edited (title, priority)")
    town.ask("Bob", "task edit", task="task-001", priority="high")
    assert mail(town, "Ada") == mail(town, "Bob") == []


# Comments


def test_a_note_is_shown_with_the_task_and_in_its_history(town: Town) -> None:
    town.ask("Bob", "task note", task="task-001", text="The grammar is\nin docs.")
    shown = town.ask(None, "task show", task="task-001")
    (note,) = shown.result.notes
    assert (note.by, note.text, shown.result.more_notes) == ("Bob#1", "The grammar is\nin docs.", 0)
    assert list(shown.say[-3:]) == [f"  note by Bob at {local(note.at)}:", "> The grammar is", "> in docs."]
    assert any("noted: The grammar is in docs." in line for line in town.ask(None, "explain", thing="task-001").say)
    assert mail(town, "Ada") == mail(town, "Bob") == []


def test_the_holder_gets_the_notes_of_others_as_mail(town: Town) -> None:
    town.ask("Bob", "task claim", task="task-001")
    town.ask("Ada", "task note", task="task-001", text="Mind the gap.")
    town.ask("Bob", "task note", task="task-001", text="I do.")
    noted, sent = town.ask(None, "log", type=("task:noted", "message:sent")).result[:2]
    assert noted.commit == sent.commit
    assert mail(town, "Bob") == [("Ada", "task-001", "Mind the gap.")]


def test_of_many_notes_the_newest_are_shown_and_the_others_counted(town: Town) -> None:
    for number in range(23):
        town.ask("Ada", "task note", task="task-001", text=f"Note {number}.")
    shown = town.ask(None, "task show", task="task-001")
    assert [shown.result.notes[0].text, shown.result.notes[-1].text] == ["Note 3.", "Note 22."]
    assert shown.result.more_notes == 3
    assert "  3 older notes: moot explain task-001" in shown.say


def test_an_ended_task_can_be_noted_on_but_not_with_nothing_or_too_much(town: Town) -> None:
    town.ask("Ada", "task cancel", task="task-001", reason="No.")
    assert town.ask("Bob", "task note", task="task-001", text="A pity.").result.notes == 1
    refused(Refused, "empty_note", town, "Bob", "task note", task="task-001", text=" \n")
    refused(Usage, "too_long", town, "Bob", "task note", task="task-001", text="é" * 40_000)


def test_a_note_and_an_edit_can_be_found_and_redacted(town: Town) -> None:
    town.ask("Bob", "task claim", task="task-001")
    town.ask("Ada", "task note", task="task-001", text="The password is swordfish.")
    town.ask("Ada", "task edit", task="task-001", title="Find the marmalade")
    for word in ("swordfish", "marmalade"):
        assert "task-001" in {hit.id for hit in town.ask(None, "search", words=(word,)).result}
    positions = [e.position for e in town.ask(None, "log", type=("task:noted", "task:edited")).result]
    for position in positions:
        town.ask(None, "redact", thing=str(position), reason="Secret.")
    for word in ("swordfish", "marmalade"):
        assert town.ask(None, "search", words=(word,)).result == []
    (note,) = town.ask(None, "task show", task="task-001").result.notes
    assert (note.text, task(town).title) == ("[redacted]", "[redacted]")
    assert mail(town, "Bob")[0] == ("Ada", "task-001", "[redacted]")
    assert town.ask(None, "verify").result.sound


# Assigning


def test_an_assigned_task_is_claimed_by_its_agent_alone(town: Town) -> None:
    town.ask("Ada", "task assign", task="task-001", agent="bob")
    assert task(town).assigned == "Bob"
    error = refused(Held, "task_assigned", town, "Ada", "task claim", task="task-001")
    assert error.details["assigned"] == "Bob"
    assert "moot task assign task-001 --nobody" in error.remedy
    refused(Held, "task_assigned", town, None, "task claim", task="task-001")
    refused(Unknown, "nothing_ready", town, "Ada", "task claim")
    ((sender, about, text),) = mail(town, "Bob")
    assert (sender, about) == ("Ada", "task-001")
    assert text == "task-001 is assigned to you: Write it"
    assert town.ask("Bob", "task claim").result.holder == "Bob#1"
    assert task(town).assigned is None


def test_an_agent_takes_what_is_assigned_to_it_before_what_is_more_urgent(town: Town) -> None:
    town.ask("Ada", "task add", title="Urgent", priority="high")
    town.ask("Ada", "task assign", task="task-001", agent="Bob")
    assert [t.id for t in town.ask("Bob", "ready").result] == ["task-001", "task-002"]
    assert town.ask("Bob", "task claim").result.id == "task-001"


def test_ready_and_board_say_who_a_task_is_for(town: Town) -> None:
    town.ask("Ada", "task assign", task="task-001", agent="Bob")
    mine = town.ask("Ada", "ready")
    assert (mine.result, mine.say) == ([], ("Nothing is ready.", "1 task assigned to others: moot board"))
    assert town.ask(None, "ready").say == ("task-001 medium for Bob Write it",)
    assert town.ask(None, "board").say[0] == "task-001 open for Bob Write it"
    assert "  assigned to: Bob" in town.ask(None, "task show", task="task-001").say


def test_an_assignment_to_a_silent_agent_does_not_keep_others_out(town: Town) -> None:
    town.ask("Ada", "task assign", task="task-001", agent="Bob")
    town.ask("Bob", "ready")
    town.clock.passed = 601
    assert [t.id for t in town.ask("Ada", "ready").result] == ["task-001"]
    claimed = town.ask("Ada", "task claim")
    assert claimed.result.holder == "Ada#1"
    assert claimed.say[1] == "It was assigned to Bob: Bob was silent for 10m."
    (event,) = town.ask(None, "log", type=("task:unassigned",)).result
    assert (event.by, event.data["silent_for"] > 600, event.data["ttl"]) == ("Ada#1", True, 600)
    assert [text for _, _, text in mail(town, "Bob")][-1].startswith("task-001 is no longer assigned to you: Bob was")


@pytest.mark.parametrize("retire", [False, True])
def test_an_assignment_to_an_agent_that_left_does_not_keep_others_out(town: Town, retire: bool) -> None:
    town.ask("Ada", "task assign", task="task-001", agent="Bob")
    town.ask("Bob", "leave", retire=retire)
    assert [t.id for t in town.ask("Ada", "ready").result] == ["task-001"]
    claimed = town.ask("Ada", "task claim", task="task-001")
    assert claimed.say[1] == f"It was assigned to Bob: Bob {'was retired' if retire else 'has left'}."


def test_a_refused_claim_leaves_the_assignment(town: Town) -> None:
    town.ask("Ada", "task add", title="First")
    town.ask("Ada", "task link", task="task-001", needs=("task-002",))
    town.ask("Ada", "task assign", task="task-001", agent="Bob")
    town.ask("Bob", "leave")
    refused(Refused, "task_blocked", town, "Ada", "task claim", task="task-001")
    assert task(town).assigned == "Bob"


def test_only_those_concerned_change_an_assignment(town: Town) -> None:
    for name in ("Cyd", "Dee"):
        town.ask(None, "join", name=name)
    town.ask("Cyd", "task assign", task="task-001", agent="Bob")
    error = refused(Held, "task_assigned", town, "Dee", "task assign", task="task-001", agent="Dee")
    assert error.remedy == "Ada, Cyd, Bob or a person can change that."
    refused(Held, "task_assigned", town, "Dee", "task assign", task="task-001", nobody=True)
    for who, to in (("Cyd", "Ada"), ("Ada", "Bob"), ("Bob", None), (None, "Bob"), (None, None)):
        town.ask(who, "task assign", task="task-001", **({"agent": to} if to else {"nobody": True}))
        assert task(town).assigned == to
    said = [text.partition(":")[0] for _, _, text in mail(town, "Bob")]
    assert said == [
        "task-001 is assigned to you",
        "task-001 is no longer assigned to you.",
        "task-001 is assigned to you",
        "task-001 is assigned to you",
        "task-001 is no longer assigned to you.",
    ]


def test_only_an_open_task_is_assigned_and_only_to_one_who_is_here(town: Town) -> None:
    error = refused(Unknown, "unknown_agent", town, "Ada", "task assign", task="task-001", agent="Bib")
    assert "Did you mean Bob?" in error.remedy
    town.ask("Bob", "task claim", task="task-001")
    refused(Held, "not_open", town, "Ada", "task assign", task="task-001", agent="Ada")
    town.ask("Bob", "leave")
    refused(Refused, "agent_gone", town, "Ada", "task assign", task="task-001", agent="Bob")
    town.ask("Ada", "task cancel", task="task-001", reason="No.")
    refused(Refused, "not_open", town, "Ada", "task assign", task="task-001", agent="Ada")
    refused(Usage, "bad_arguments", town, "Ada", "task assign", task="task-001")
    refused(Usage, "bad_arguments", town, "Ada", "task assign", task="task-001", agent="Ada", nobody=True)


def test_assigning_to_a_silent_agent_warns(town: Town) -> None:
    town.clock.passed = 601
    assigned = town.ask("Ada", "task assign", task="task-001", agent="Bob")
    assert [warning.code for warning in assigned.warnings] == ["agent_silent"]


def test_a_released_task_is_for_everybody_again(town: Town) -> None:
    town.ask("Ada", "task assign", task="task-001", agent="Bob")
    town.ask("Bob", "task claim")
    town.ask("Bob", "task release", task="task-001")
    assert town.ask("Ada", "task claim").result.id == "task-001"


def test_the_past_shows_the_task_as_it_was(town: Town) -> None:
    town.ask("Ada", "task assign", task="task-001", agent="Bob")
    before = town.ask(None, "log", limit=1).result[-1].position
    town.ask("Ada", "task note", task="task-001", text="Later.")
    town.ask("Ada", "task edit", task="task-001", title="Later")
    town.ask("Ada", "task assign", task="task-001", nobody=True)
    then = town.command("--at", str(before), "--json", "task", "show", "task-001").result
    assert (then["task"]["title"], then["task"]["assigned"], then["notes"]) == ("Write it", "Bob", [])
    assert town.command("--at", str(before), "ready", agent="Ada").out.startswith("Nothing is ready.")


def test_what_was_changed_survives_a_rebuild(town: Town) -> None:
    town.ask("Ada", "task assign", task="task-001", agent="Bob")
    town.ask("Ada", "task note", task="task-001", text="Mind the gap.")
    town.ask("Ada", "task edit", task="task-001", title="Other")
    assert town.ask(None, "verify", rebuild=True).result.sound
    there = town.command("--json", "task", "show", "task-001").result
    assert (there["task"]["title"], there["task"]["assigned"], there["notes"][0]["text"]) == (
        "Other",
        "Bob",
        "Mind the gap.",
    )


# What is mine


def test_the_board_shows_what_is_the_callers(town: Town) -> None:
    for title in ("Assigned", "Waits for Ada", "Submitted by Ada", "Nobody's"):
        town.ask("Bob", "task add", title=title)
    town.ask("Bob", "task assign", task="task-002", agent="Ada")
    for who, name in (("Ada", "task-001"), ("Bob", "task-003"), ("Ada", "task-004")):
        town.ask(who, "task claim", task=name)
    for who, name in (("Bob", "task-003"), ("Ada", "task-004")):
        town.ask(who, "task submit", task=name)
    mine = town.ask("Ada", "board", mine=True)
    assert mine.result["mine"] == {
        "held": ["task-001"],
        "assigned": ["task-002"],
        "reviews": ["task-003"],
        "submitted": ["task-004"],
    }
    assert [t.id for t in mine.result["tasks"]] == ["task-001", "task-002", "task-003", "task-004"]
    assert list(mine.say[:4]) == [
        "You hold:",
        "task-001 working Ada Write it",
        "Assigned to you:",
        "task-002 open for Ada Assigned",
    ]
    person = town.ask(None, "board", mine=True).result["mine"]
    assert person == {"held": [], "assigned": [], "reviews": ["task-003", "task-004"], "submitted": []}
    assert town.ask(None, "board").result.keys() == {"tasks", "counts"}


def test_a_board_of_nothing_says_where_to_look(town: Town) -> None:
    assert town.ask("Bob", "board", mine=True).say == ("No task is yours: moot ready",)
    refused(Usage, "bad_arguments", town, "Bob", "board", mine=True, all=True)


def test_of_a_pack_only_those_with_the_role_see_a_review(bare: Command) -> None:
    crew = with_roles(bare)
    crew.ask("Ada", "send", type="task_assignment", data=ASSIGNMENT)
    assert crew.ask("Ada", "board", mine=True).result["mine"]["held"] == ["task-001"]
    crew.ask(None, "join", name="Flo", role=("team-lead",))
    crew.ask("Dan", "send", type="completion_report", data=REPORT)
    reviews = {who: crew.ask(who, "board", mine=True).result["mine"]["reviews"] for who in ("Flo", "Eve", "Dan")}
    assert reviews == {"Flo": ["task-001"], "Eve": [], "Dan": []}


# Under a pack


def test_notes_on_a_task_of_a_pack_stay_out_of_its_files(bare: Command) -> None:
    crew = with_roles(bare)
    crew.ask("Ada", "send", type="task_assignment", data=ASSIGNMENT)
    file = bare.repo / TO_DEVELOPER
    before = file.read_bytes()
    crew.ask("Dan", "task note", task="task-001", text="Mind the gap.")
    crew.ask(None, "task edit", task="task-001", title="Other")
    assert file.read_bytes() == before
    assert mail(crew, "Ada")[0] == ("Dan", "task-001", "Mind the gap.")


def test_a_task_of_a_pack_is_assigned_only_to_one_who_may_start_it(bare: Command) -> None:
    crew = with_roles(bare)
    crew.ask(None, "join", name="Flo", role=("team-lead",))
    crew.ask("Ada", "task add", title="Build it", lifecycle="orchestrator")
    refused(Refused, "cannot_start", crew, "Ada", "task assign", task="task-001", agent="Dan")
    crew.ask("Ada", "task assign", task="task-001", agent="Flo")
    refused(Held, "task_assigned", crew, "Ada", "task claim", task="task-001")
    refused(Held, "task_assigned", crew, "Ada", "task move", task="task-001", state="in_progress")
    assert crew.ask("Flo", "task claim").result.holder == "Flo#1"


def test_an_entry_of_a_file_starts_a_task_whoever_it_is_assigned_to(bare: Command) -> None:
    crew = with_roles(bare)
    crew.ask("Ada", "task add", title="Build it", lifecycle="orchestrator")
    crew.ask("Ada", "task assign", task="task-001", agent="Ada")
    file = bare.repo / TO_DEVELOPER
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"messages": [ASSIGNMENT], "lastRead": None}))
    assert (task(crew).holder, task(crew).assigned) == ("role:team-lead", None)
    assert crew.ask(None, "held").result == []
