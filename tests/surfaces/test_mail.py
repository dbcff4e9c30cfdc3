"""Mail, verb by verb: what a reader is shown, what settles a message, and what expiry does to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot.api.verbs.workspace import checkup
from moot.core.errors import Held, Refused, TimedOut, Unknown
from moot.mirrors.pack_files import WorktreeFiles
from moot.overview import overview
from tests.calls import open_call
from tests.surfaces.town import Town, new, of_two, refused, waiting, with_roles

if TYPE_CHECKING:
    from tests.surfaces.command import Command


@pytest.fixture
def town(bare: Command) -> Town:
    return of_two(bare)


@pytest.fixture
def crew(bare: Command) -> Town:
    return with_roles(bare)


# What the inbox shows


@pytest.mark.promise(5)
def test_new_mail_is_shown_however_much_was_seen_and_not_settled(town: Town) -> None:
    for number in range(5):
        town.request("Ada", "Bob", text=f"Question {number}?")
    town.ask("Bob", "inbox")
    note = town.send("Ada", "Bob")
    answer = town.ask("Bob", "inbox", limit=5)
    assert new(answer) == [note]
    assert len(waiting(answer)) == 5
    assert new(town.ask("Bob", "inbox", limit=5)) == []


def test_what_does_not_fit_is_counted_and_comes_with_the_next_call(town: Town) -> None:
    sent = [town.send("Ada", "Bob") for _ in range(5)]
    first = town.ask("Bob", "inbox", limit=2)
    assert (new(first), first.result.more_new) == (sent[:2], 3)
    assert first.say[-1] == "3 more: moot inbox --agent Bob"
    second = town.ask("Bob", "inbox", limit=3)
    assert (new(second), second.result.more_new) == (sent[2:], 0)
    assert "more" not in second.say[-1]


def test_a_look_without_showing_says_how_to_see_the_rest(town: Town) -> None:
    for _ in range(3):
        town.send("Ada", "Bob")
    assert town.ask("Bob", "inbox", peek=True, limit=1).say[-1] == "2 more: moot inbox --peek --limit 3 --agent Bob"
    assert len(new(town.ask("Bob", "inbox", peek=True, limit=3))) == 3


def test_what_was_seen_is_counted_as_a_whole_and_shown_as_far_as_the_limit_goes(town: Town) -> None:
    sent = [town.request("Ada", "Bob") for _ in range(3)]
    town.ask("Bob", "inbox")
    brief = town.ask("Bob", "inbox", limit=2)
    assert brief.say == (f"3 seen and not settled: {sent[0]}, {sent[1]}",)
    full = town.ask("Bob", "inbox", limit=2, all=True)
    assert (waiting(full), full.result.more_waiting) == (sent[:2], 1)
    assert full.say[-1] == "1 more seen and not settled: moot inbox --all --limit 3 --agent Bob"


def test_mail_of_several_mailboxes_comes_in_the_order_it_was_sent(crew: Town) -> None:
    sent = [crew.send("Ada", to) for to in ("@developer", "Dan", "@developer", "Dan")]
    answer = crew.ask("Dan", "inbox", limit=3)
    assert (new(answer), answer.result.more_new) == (sent[:3], 1)


# Confirming and answering


@pytest.mark.promise(5)
def test_a_request_that_was_confirmed_still_waits_for_its_answer(town: Town) -> None:
    asked = town.request("Ada", "Bob", within=0)
    answer = town.ask("Bob", "ack", ids=(asked,))
    assert answer.result == {"acked": [asked], "unanswered": [asked]}
    assert answer.say == (f"acked {asked}", f"{asked} still needs an answer: moot reply {asked} --agent Bob '…'")
    assert town.stages(asked) == {"Bob": "acked"}
    assert waiting(town.ask("Bob", "inbox")) == [asked]
    assert town.overdue() == [asked]
    assert town.ask("Bob", "ack", ids=(asked,)).say[0] == f"{asked}: already acked"
    town.ask("Bob", "reply", id=asked, text="Yes.")
    assert town.stages(asked) == {"Bob": "answered"}
    assert waiting(town.ask("Bob", "inbox")) == []
    assert town.overdue() == []


def test_a_confirmed_request_says_again_how_to_answer_it(town: Town) -> None:
    asked = town.request("Ada", "Bob")
    town.ask("Bob", "ack", ids=(asked,))
    assert town.ask("Bob", "inbox", all=True).say[-1] == f"needs an answer: moot reply {asked} --agent Bob '…'"


@pytest.mark.promise(7)
def test_the_first_to_confirm_a_role_s_request_takes_it_and_the_others_are_not_shown_it_any_more(crew: Town) -> None:
    asked = crew.request("Ada", "@developer", within=0)
    assert new(crew.ask("Eve", "inbox")) == [asked]
    crew.ask("Dan", "ack", ids=(asked,))
    assert waiting(crew.ask("Dan", "inbox")) == [asked]
    assert waiting(crew.ask("Eve", "inbox")) == []
    refused(Held, "message_taken", crew, "Eve", "reply", id=asked, text="Mine!")
    assert crew.ask(None, "overdue").say[0].endswith("(acked by Dan)")
    crew.ask("Dan", "reply", id=asked, text="Done.")
    assert crew.stages(asked) == {"@developer": "answered"}


def test_a_role_s_request_is_shown_to_the_next_incarnation_of_its_taker(crew: Town) -> None:
    asked = crew.request("Ada", "@developer")
    crew.ask("Dan", "ack", ids=(asked,))
    crew.ask("Dan", "leave")
    crew.ask(None, "join", name="Dan", role=("developer",))
    assert new(crew.ask("Dan", "inbox")) == [asked]


@pytest.mark.parametrize("acks", [False, True])
def test_an_answer_settles_every_mailbox_of_the_caller_that_has_the_message(crew: Town, acks: bool) -> None:
    asked = crew.request("Ada", "Dan", "@developer", within=0)
    if acks:
        crew.ask("Dan", "ack", ids=(asked,))
        assert crew.stages(asked) == {"Dan": "acked", "@developer": "acked"}
    crew.ask("Dan", "reply", id=asked, text="Yes.")
    assert crew.stages(asked) == {"Dan": "answered", "@developer": "answered"}
    assert crew.overdue() == []
    inbox = crew.ask("Dan", "inbox")
    assert (new(inbox), waiting(inbox)) == ([], [])


def test_what_another_took_of_a_role_does_not_keep_one_from_settling_one_s_own(crew: Town) -> None:
    asked = crew.request("Ada", "Dan", "@developer")
    crew.ask("Eve", "ack", ids=(asked,))
    crew.ask("Dan", "ack", ids=(asked,))
    crew.ask("Dan", "reply", id=asked, text="Yes.")
    assert crew.stages(asked) == {"Dan": "answered", "@developer": "acked"}
    assert waiting(crew.ask("Eve", "inbox")) == [asked]


def test_to_add_to_one_s_own_request_does_not_answer_it(crew: Town) -> None:
    asked = crew.request("Dan", "@developer")
    crew.ask("Dan", "reply", id=asked, text="It is urgent.")
    assert crew.stages(asked) == {"@developer": "stored"}
    crew.ask("Dan", "ack", ids=(asked,))
    crew.ask("Dan", "reply", id=asked, text="I did it myself.")
    assert crew.stages(asked) == {"@developer": "answered"}


def test_a_request_to_oneself_is_answered_by_oneself(town: Town) -> None:
    asked = town.request("Ada", "Ada")
    town.ask("Ada", "reply", id=asked, text="Done.")
    assert town.stages(asked) == {"Ada": "answered"}


def test_a_request_of_one_who_retired_ends_when_it_is_confirmed(town: Town) -> None:
    """Nobody is left who could get the answer, and it must not be overdue for ever."""
    asked = town.request("Ada", "Bob", within=0)
    town.ask(None, "leave", name="Ada", retire=True)
    refused(Refused, "agent_retired", town, "Bob", "reply", id=asked, text="Yes.")
    assert town.ask("Bob", "ack", ids=(asked,)).result == {"acked": [asked], "unanswered": []}
    assert town.overdue() == []
    assert town.stages(asked) == {"Bob": "dead"}


def test_what_is_in_none_of_one_s_mailboxes_is_not_confirmed(town: Town) -> None:
    refused(Unknown, "not_in_mailbox", town, "Ada", "ack", ids=(town.send("Ada", "Bob"),))
    refused(Unknown, "unknown_message", town, "Ada", "ack", ids=("m-7",))


# Expiry


@pytest.mark.promise(5)
@pytest.mark.parametrize("shown", [False, True])
def test_what_expired_is_neither_shown_nor_overdue(town: Town, shown: bool) -> None:
    asked = town.request("Ada", "Bob", within=0, expires=60)
    if shown:
        town.ask("Bob", "inbox")
    assert town.overdue() == [asked]
    town.clock.passed += 61
    assert (town.overdue(), town.overdue(all=True)) == ([], [])
    answer = town.ask("Bob", "inbox")
    assert (new(answer), waiting(answer), answer.say) == ([], [], ("No mail.",))
    assert town.stages(asked) == {"Bob": "expired"}


@pytest.mark.parametrize(("passed", "late"), [(10, False), (40, True), (61, False)])
def test_every_report_agrees_on_which_answers_are_late(town: Town, passed: float, late: bool) -> None:
    asked = town.request("Ada", "Bob", within=30, expires=60)
    town.clock.passed += passed
    call = open_call(str(town.command.repo), town.command.environment, clock=town.clock)
    (finding,) = [found for found in checkup(call, WorktreeFiles(call.place)) if found.check == "answers"]
    problems = [problem.about for problem in overview(call).problems if problem.code == "overdue"]
    call.close()
    assert town.overdue() == ([asked] if late else [])
    assert problems == ([asked] if late else [])
    assert finding.good is not late


def test_what_expired_takes_no_place_of_what_did_not(town: Town) -> None:
    for _ in range(3):
        town.send("Ada", "Bob", expires=60)
    town.clock.passed += 61
    sent = town.send("Ada", "Bob")
    answer = town.ask("Bob", "inbox", limit=1)
    assert (new(answer), answer.result.more_new) == ([sent], 0)


def test_nobody_is_woken_by_what_expired(town: Town) -> None:
    town.send("Ada", "Bob", expires=60)
    town.clock.passed += 61
    with pytest.raises(TimedOut):
        town.ask("Bob", "wait", mail=True, timeout=0)
    sent = town.send("Ada", "Bob")
    assert town.ask("Bob", "wait", mail=True, timeout=0).result["ids"] == [sent]
