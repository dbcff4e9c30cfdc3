"""What a decision must know of the world outside the log is looked up before it, and never inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot.api.verbs.tasks.claiming import lapse_if_silent
from moot.core.errors import Refused
from moot.core.task import MoveTask
from moot.engine.facts import Facts
from tests.engine.harness import Command, Machine, actor, add, interrupted, join, leave, move
from tests.sealing import deciding

if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.engine.unit_of_work import Work

LONG, TTL = 3600.0, 60.0


class Silence:
    """How long everybody was silent, as the test says; and who was asked about."""

    def __init__(self) -> None:
        self.of: dict[str, float] = {}
        self.asked: list[str] = []

    def __call__(self, principal: str) -> float:
        self.asked.append(principal)
        return self.of.get(principal, 0.0)


def take(task: str, who: str) -> Command:
    """Claim a task as the verb does, from a silent holder if need be."""

    def act(work: Work) -> None:
        lapse_if_silent(work, work.task(task))
        work.do("task", task, MoveTask(verb="claim", actor=actor(work, who)))

    return Command(f"{who} takes {task}", who, act)


def held_by_yeats(machine: Machine) -> Silence:
    machine.does(add("a", ttl=TTL), move("claim", "a", "Yeats"))
    machine.engine.lookups["silence"] = found = Silence()
    return found


def test_a_fact_is_looked_up_once_and_then_it_is_decided_again() -> None:
    silence, tries = Silence(), 0
    facts = Facts({"silence": silence})

    def decide() -> dict[str, float]:
        nonlocal tries
        tries += 1
        with deciding():
            return facts.silences(["Yeats#1", "Keats#1", "Yeats#1"])

    assert facts.knowing(decide) == {"Yeats#1": 0.0, "Keats#1": 0.0}
    assert (tries, silence.asked) == (2, ["Yeats#1", "Keats#1"])


def test_before_the_next_attempt_a_fact_is_looked_up_anew() -> None:
    silences = iter([LONG, 0.0])
    facts = Facts({"silence": lambda _who: next(silences)})
    assert facts.knowing(lambda: facts.silence("Yeats#1")) == LONG
    assert facts.knowing(lambda: facts.silence("Yeats#1")) == 0.0


def test_a_decision_that_asks_for_nothing_is_made_once(machine: Machine) -> None:
    silence = held_by_yeats(machine)
    machine.does(add("b"), move("claim", "b", "Keats"))
    assert silence.asked == []


@pytest.mark.promise(8)
def test_a_silent_holder_loses_the_task_in_the_commit_of_the_next_one(machine: Machine) -> None:
    silence = held_by_yeats(machine)
    silence.of["Yeats#1"] = LONG
    lapsed, started = machine.does(take("a", "Keats"))
    assert (lapsed.data["silent_for"], lapsed.commit) == (LONG, started.commit)
    assert machine.task("a").holder == "Keats#1"
    assert silence.asked == ["Yeats#1"]


@pytest.mark.promise(8)
def test_a_holder_who_comes_back_between_two_attempts_keeps_its_task(machines: Callable[[], Machine]) -> None:
    one, other = machines(), machines()
    one.does(join("Yeats"), join("Keats"))
    silence = held_by_yeats(one)
    silence.of["Yeats#1"] = LONG

    def meanwhile() -> None:
        silence.of["Yeats#1"] = 0.0  # a sign of life, and something that makes the first attempt a conflict
        other.does(move("release", "a", "Yeats"), move("claim", "a", "Yeats"))

    with pytest.raises(Exception, match="a has been held by Yeats"):
        one.does(interrupted(take("a", "Keats"), meanwhile))
    assert one.task("a").holder == "Yeats#1"
    assert one.events("task:lapsed") == []


@pytest.mark.promise(8)
def test_the_silence_that_counts_is_that_of_the_holder_found_in_the_end(machines: Callable[[], Machine]) -> None:
    one, other = machines(), machines()
    one.does(join("Yeats"), join("Keats"), join("Blake"))
    silence = held_by_yeats(one)
    silence.of["Yeats#1"] = LONG

    def meanwhile() -> None:
        other.does(move("release", "a", "Yeats"), move("claim", "a", "Blake"))

    with pytest.raises(Exception, match="a has been held by Blake"):
        one.does(interrupted(take("a", "Keats"), meanwhile))
    assert one.task("a").holder == "Blake#1"
    assert silence.asked[-1] == "Blake#1"


def test_a_lookup_that_fails_fails_the_command_and_stores_nothing(machine: Machine) -> None:
    held_by_yeats(machine)
    head = machine.log.head()

    def unreadable(_principal: str) -> float:
        raise Refused("presence_unreadable", "no", "none")

    machine.engine.lookups["silence"] = unreadable
    with pytest.raises(Refused):
        machine.does(take("a", "Keats"))
    assert machine.log.head() == head
    machine.does(leave("Keats"))


def test_a_rehearsal_knows_the_same_facts_and_stores_nothing(machine: Machine) -> None:
    silence = held_by_yeats(machine)
    silence.of["Yeats#1"] = LONG
    head = machine.log.head()
    drafts = machine.engine.rehearse(take("a", "Keats").act).drafts
    assert [draft.type for draft in drafts] == ["task:lapsed", "task:started"]
    assert machine.log.head() == head
