"""Joining and leaving: what is said of an agent is true of that incarnation, and nobody evicts the living."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Held, Refused, Usage
from moot.place.settings import Settings
from tests.surfaces.town import Town, new, of_two, refused, with_roles

if TYPE_CHECKING:
    from tests.surfaces.command import Command

TTL = Settings().task_ttl


@pytest.fixture
def town(bare: Command) -> Town:
    return of_two(bare)


@pytest.fixture
def crew(bare: Command) -> Town:
    return with_roles(bare)


# Joining


def test_a_join_that_is_repeated_says_so(town: Town) -> None:
    first, second = (town.ask(None, "join", name="Cyd", key="k") for _ in range(2))
    assert (first.result.repeated, second.result.repeated) == (False, True)
    assert second.say[1] == "You are Cyd#1 (repeated with the same key)."
    assert second.result.here


@pytest.mark.promise(6)
@pytest.mark.parametrize("back", [False, True])
def test_a_join_that_is_repeated_after_leaving_does_not_claim_that_the_agent_is_here(town: Town, back: bool) -> None:
    town.ask(None, "join", name="Cyd", key="k")
    town.ask("Cyd", "leave")
    if back:
        town.ask(None, "join", name="Cyd")
    again = town.ask(None, "join", name="Cyd", key="k")
    assert again.say[0] == "You were Cyd#1 (repeated with the same key; Cyd#1 has left since)."
    assert not any("export" in line for line in again.say)
    assert (again.result.incarnation, again.result.here, again.result.repeated) == (1, False, True)
    assert ("Cyd#2" in town.here()) is back


def test_an_agent_that_joins_again_takes_on_other_roles_and_keeps_what_it_holds(town: Town) -> None:
    town.ask("Bob", "task add", title="Write it")
    town.ask("Bob", "task claim", task="task-001")
    again = town.ask("Bob#1", "join", name="Bob", role=("reviewer",), client="codex")
    assert again.say[1] == "You are Bob#1. Roles: reviewer."
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
    assert again.say == ("Bob#1 has left (repeated with the same key; Bob#2 is here now).",)
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
    assert town.ask(None, "leave", name="Bob").say == ("Bob had already left.",)
    refused(Refused, "person_required", town, "Ada", "leave", name="Bob", retire=True)
    assert town.ask(None, "leave", name="Bob", retire=True).say == ("Bob is retired.",)
    assert town.ask("Ada", "leave", retire=True).result.retired


def test_the_reason_for_leaving_is_bounded(town: Town) -> None:
    refused(Usage, "too_long", town, "Bob", "leave", reason="x" * 2001)
    town.ask("Bob", "leave", reason="x" * 2000)
