"""A workspace and its callers in one process, with a clock that a test moves: each call is a session of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.engine.clock import Clock
from tests.calls import open_call
from tests.surfaces.worlds import inhabit

if TYPE_CHECKING:
    from moot.api.answer import Answer
    from moot.core.errors import MootError
    from tests.surfaces.command import Command


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
        session = open_call(
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


def of_two(command: Command) -> Town:
    """Ada, who reviews, and Bob."""
    inhabit(command)
    return Town(command)


def with_roles(command: Command) -> Town:
    """A workspace with a pack, and two who fill one role of it: Dan and Eve, developers. Ada leads."""
    Workspace.init(command.repo, packs="orchestrator").close()
    town = Town(command)
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
