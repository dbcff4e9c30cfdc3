"""Mail and agents, verb by verb: what a reader is shown, what settles a message, and who may send whom away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.core.errors import Held, MootError, Refused, TimedOut, Unknown, Usage
from moot.engine.clock import Clock
from moot.engine.settings import Settings
from moot.wiring import open_session

if TYPE_CHECKING:
    from moot.api.answer import Answer
    from tests.surfaces.command import Command

TTL = Settings().task_ttl


class PatientClock(Clock):
    """Time goes by when a test says so."""

    passed = 0.0

    def wall_seconds(self) -> float:
        return super().wall_seconds() + self.passed

    def monotonic(self) -> float:
        return super().monotonic() + self.passed


class Town:
    """A workspace and its callers. Each call is a session of its own, as on the command line."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.clock = PatientClock()

    def ask(self, who: str | None, verb: str, **given: Any) -> Answer:
        """The answer, after it was shown. `who` is a name, a name with its incarnation, or nobody: a person."""
        name, _, number = (who or "").partition("#")
        session = open_session(
            str(self.command.repo),
            self.command.environment,
            agent=name or None,
            incarnation=int(number) if number else None,
            clock=self.clock,
        )
        try:
            answer = session.run(verb, given)
            if answer.after is not None:
                answer.after()
            return answer
        finally:
            session.engine.log.close()
            session.engine.store.close()

    def send(self, who: str | None, *to: str, text: str = "hi", **given: Any) -> str:
        sent: str = self.ask(who, "send", to=to, text=text, **given).result.id
        return sent

    def request(self, who: str | None, *to: str, **given: Any) -> str:
        return self.send(who, *to, type="request", **given)

    def overdue(self, **given: Any) -> list[str]:
        return [item.id for item in self.ask(None, "overdue", **given).result]

    def stages(self, message: str) -> dict[str, str]:
        (letter,) = [item for item in self.ask(None, "thread", id=message).result if item.id == message]
        return dict(letter.stages)

    def here(self) -> list[str]:
        return [f"{member.name}#{member.incarnation}" for member in self.ask(None, "agents").result]


@pytest.fixture
def town(run: Command) -> Town:
    """Ada, who reviews, and Bob."""
    return Town(run)


@pytest.fixture
def crew(bare: Command) -> Town:
    """A workspace with a pack, and two who fill one role of it: Dan and Eve, developers. Ada leads."""
    Workspace.init(bare.repo, packs="orchestrator").close()
    town = Town(bare)
    for name, role in (("Ada", "team-lead"), ("Dan", "developer"), ("Eve", "developer")):
        town.ask(None, "join", name=name, role=(role,))
    return town


def new(answer: Answer) -> list[str]:
    return [letter.id for letter in answer.result.new]


def waiting(answer: Answer) -> list[str]:
    return [letter.id for letter in answer.result.waiting]


def refused(expected: type[MootError], code: str, town: Town, who: str | None, verb: str, **given: Any) -> MootError:
    with pytest.raises(expected) as caught:
        town.ask(who, verb, **given)
    assert caught.value.code == code
    assert caught.value.remedy
    return caught.value


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
    assert first.say[-1] == "3 more: moot inbox"
    second = town.ask("Bob", "inbox", limit=3)
    assert (new(second), second.result.more_new) == (sent[2:], 0)
    assert "more" not in second.say[-1]


def test_a_look_without_showing_says_how_to_see_the_rest(town: Town) -> None:
    for _ in range(3):
        town.send("Ada", "Bob")
    assert town.ask("Bob", "inbox", peek=True, limit=1).say[-1] == "2 more: moot inbox --peek --limit 3"
    assert len(new(town.ask("Bob", "inbox", peek=True, limit=3))) == 3


def test_what_was_seen_is_counted_as_a_whole_and_shown_as_far_as_the_limit_goes(town: Town) -> None:
    sent = [town.request("Ada", "Bob") for _ in range(3)]
    town.ask("Bob", "inbox")
    brief = town.ask("Bob", "inbox", limit=2)
    assert brief.say == (f"3 seen and not settled: {sent[0]}, {sent[1]}",)
    full = town.ask("Bob", "inbox", limit=2, all=True)
    assert (waiting(full), full.result.more_waiting) == (sent[:2], 1)
    assert full.say[-1] == "1 more seen and not settled: moot inbox --all --limit 3"


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
    assert answer.say == (f"acked {asked}", f"{asked} still wants an answer: moot reply {asked} '…'")
    assert town.stages(asked) == {"bob": "acked"}
    assert waiting(town.ask("Bob", "inbox")) == [asked]
    assert town.overdue() == [asked]
    assert town.ask("Bob", "ack", ids=(asked,)).say[0] == f"{asked}: acked before"
    town.ask("Bob", "reply", id=asked, text="Yes.")
    assert town.stages(asked) == {"bob": "answered"}
    assert waiting(town.ask("Bob", "inbox")) == []
    assert town.overdue() == []


def test_a_confirmed_request_says_again_how_to_answer_it(town: Town) -> None:
    asked = town.request("Ada", "Bob")
    town.ask("Bob", "ack", ids=(asked,))
    assert town.ask("Bob", "inbox", all=True).say[-1] == f"wants an answer: moot reply {asked} '…'"


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
        assert crew.stages(asked) == {"dan": "acked", "@developer": "acked"}
    crew.ask("Dan", "reply", id=asked, text="Yes.")
    assert crew.stages(asked) == {"dan": "answered", "@developer": "answered"}
    assert crew.overdue() == []
    inbox = crew.ask("Dan", "inbox")
    assert (new(inbox), waiting(inbox)) == ([], [])


def test_what_another_took_of_a_role_does_not_keep_one_from_settling_one_s_own(crew: Town) -> None:
    asked = crew.request("Ada", "Dan", "@developer")
    crew.ask("Eve", "ack", ids=(asked,))
    crew.ask("Dan", "ack", ids=(asked,))
    crew.ask("Dan", "reply", id=asked, text="Yes.")
    assert crew.stages(asked) == {"dan": "answered", "@developer": "acked"}
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
    assert town.stages(asked) == {"ada": "answered"}


def test_a_request_of_one_who_retired_ends_when_it_is_confirmed(town: Town) -> None:
    """Nobody is left who could get the answer, and it must not be overdue for ever."""
    asked = town.request("Ada", "Bob", within=0)
    town.ask(None, "leave", name="Ada", retire=True)
    refused(Refused, "agent_retired", town, "Bob", "reply", id=asked, text="Yes.")
    assert town.ask("Bob", "ack", ids=(asked,)).result == {"acked": [asked], "unanswered": []}
    assert town.overdue() == []
    assert town.stages(asked) == {"bob": "dead"}


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
    assert town.stages(asked) == {"bob": "expired"}


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


# Joining


def test_a_join_that_is_repeated_says_so(town: Town) -> None:
    first, second = (town.ask(None, "join", name="Cyd", key="k") for _ in range(2))
    assert (first.result.repeated, second.result.repeated) == (False, True)
    assert second.say[0] == "You are Cyd#1 (already, by the same key)."
    assert second.result.here


@pytest.mark.promise(6)
@pytest.mark.parametrize("back", [False, True])
def test_a_join_that_is_repeated_after_leaving_does_not_claim_that_the_agent_is_here(town: Town, back: bool) -> None:
    town.ask(None, "join", name="Cyd", key="k")
    town.ask("Cyd", "leave")
    if back:
        town.ask(None, "join", name="Cyd")
    again = town.ask(None, "join", name="Cyd", key="k")
    assert again.say[0] == "You were Cyd#1 (already, by the same key; Cyd#1 is not here any more)."
    assert not any("export" in line for line in again.say)
    assert (again.result.incarnation, again.result.here, again.result.repeated) == (1, False, True)
    assert ("Cyd#2" in town.here()) is back


def test_an_agent_that_joins_again_takes_on_other_roles_and_keeps_what_it_holds(town: Town) -> None:
    town.ask("Bob", "task add", title="Write it")
    town.ask("Bob", "task claim", task="task-001")
    again = town.ask("Bob#1", "join", name="Bob", role=("reviewer",), client="codex")
    assert again.say[0] == "You are Bob#1. Roles: reviewer."
    (bob,) = [member for member in town.ask(None, "agents").result if member.name == "Bob"]
    assert (bob.incarnation, bob.roles, bob.client, bob.holds) == (1, ("reviewer",), "codex", ("task-001",))
    sent = town.send("Ada", "@Reviewer")
    assert new(town.ask("Bob", "inbox")) == [sent]


def test_a_role_is_called_as_its_pack_calls_it(crew: Town) -> None:
    joined = crew.ask(None, "join", name="Fay", role=("Developer", "DEVELOPER", "poet"))
    assert joined.result.roles == ("developer", "poet")
    asked = crew.request("Ada", "@DEVELOPER")
    assert crew.stages(asked) == {"@developer": "stored"}
    assert new(crew.ask("Fay", "inbox")) == [asked]


def test_what_one_joins_with_is_bounded(town: Town) -> None:
    roles = tuple(f"role-{n}" for n in range(17))
    for who, name in ((None, "Cyd"), ("Bob#1", "Bob")):
        refused(Refused, "too_many_roles", town, who, "join", name=name, role=roles)
        refused(Usage, "too_long", town, who, "join", name=name, client="x" * 201)
        refused(Usage, "bad_name", town, who, "join", name=name, role=("x" * 65,))
    town.ask(None, "join", name="Cyd", role=roles[1:], client="x" * 200)


# Leaving


@pytest.mark.promise(7)
def test_a_leave_that_is_repeated_does_not_touch_who_came_since(town: Town) -> None:
    town.ask(None, "leave", name="Bob", key="k")
    town.ask(None, "join", name="Bob")
    town.ask("Ada", "task add", title="Write it")
    town.ask("Bob", "task claim", task="task-001")
    again = town.ask(None, "leave", name="Bob", key="k")
    assert again.say == ("Bob#1 has left (already, by the same key; Bob#2 is here now).",)
    assert (again.result.incarnation, again.result.here, again.result.repeated) == (1, False, True)
    assert "Bob#2" in town.here()
    refused(Held, "task_held", town, "Ada", "task claim", task="task-001")


@pytest.mark.promise(7)
def test_an_agent_does_not_send_away_another_that_is_alive(town: Town) -> None:
    error = refused(Held, "agent_here", town, "Ada", "leave", name="Bob")
    assert error.details["agent"] == "Bob"
    assert "Bob#1" in town.here()


def test_an_agent_sends_away_another_that_fell_silent(town: Town) -> None:
    town.clock.passed += TTL + 1
    assert town.ask("Ada", "leave", name="Bob").say == ("Bob has left.",)
    assert town.here() == ["Ada#1"]


def test_a_person_sends_away_and_retires_whom_it_likes_and_an_agent_itself(town: Town) -> None:
    assert town.ask(None, "leave", name="Bob").say == ("Bob has left.",)
    assert town.ask(None, "leave", name="Bob").say == ("Bob was not here.",)
    refused(Refused, "person_required", town, "Ada", "leave", name="Bob", retire=True)
    assert town.ask(None, "leave", name="Bob", retire=True).say == ("Bob is retired.",)
    assert town.ask("Ada", "leave", retire=True).result.retired


def test_the_reason_for_leaving_is_bounded(town: Town) -> None:
    refused(Usage, "too_long", town, "Bob", "leave", reason="x" * 2001)
    town.ask("Bob", "leave", reason="x" * 2000)
