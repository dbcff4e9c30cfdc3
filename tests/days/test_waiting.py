"""An agent waits for work with a client that ends every command after two minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot.api.verbs.events import deadline_of
from moot.core.errors import TimedOut
from moot.engine.clock import Clock
from tests.calls import open_call
from tests.surfaces.command import new_command
from tests.surfaces.worlds import inhabit

if TYPE_CHECKING:
    from pathlib import Path


class FastClock(Clock):
    """A minute passes in a second."""

    def monotonic(self) -> float:
        return super().monotonic() * 60


def test_an_agent_that_waits_hears_in_time_that_there_is_nothing_and_calls_again(tmp_path: Path) -> None:
    run = new_command(tmp_path)
    inhabit(run)
    place, env = str(run.repo), run.environment
    agent, person = open_call(place, env, agent="Bob", clock=FastClock()), open_call(place, env)
    assert deadline_of(person, None) - person.clock.monotonic() > 500
    for verb, given in (("wait", {}), ("wait", {"mail": True}), ("checkpoint reach", {"question": "?", "wait": True})):
        begun = agent.clock.monotonic()
        with pytest.raises(TimedOut) as caught:
            agent.run(verb, given)
        assert caught.value.exit_code == 5
        assert 100 <= agent.clock.monotonic() - begun < 130 + 600, "two rounds on a slow machine"
    waited = run("wait", "--timeout", "1s", agent="Bob")
    assert waited.code == 5
    assert waited.err.startswith("moot: Nothing yet: ")
    assert "Call again: `moot wait`" in waited.err
    run("send", "Bob", "Hello", agent="Ada")
    assert run("wait", agent="Bob").out == "1 new message: moot inbox\n"
