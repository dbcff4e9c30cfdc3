"""One agent cannot use up what all share, and no answer is larger than it was asked to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.core import claims
from moot.core.deciders.claims import decide, evolve
from moot.core.errors import Refused
from tests.surfaces.command import Command, new_command
from tests.surfaces.worlds import inhabit


@pytest.fixture
def run(tmp_path: Path) -> Command:
    command = new_command(tmp_path)
    inhabit(command)
    return command


def asking(holder: str, name: str, *paths: str) -> claims.ClaimFiles:
    return claims.ClaimFiles(id=name, holder=holder, paths=paths, mode="exclusive", ttl=900.0)


def filled(state: claims.ClaimsState, holder: str) -> claims.ClaimsState:
    """The claims after this one took all the patterns that it could get."""
    for number in range(claims.LIVE_GLOB_LIMIT):
        try:
            granted = decide(state, asking(holder, f"{holder}{number}", f"{holder}/{number}/*.py"))
        except Refused as refused:
            assert refused.code == "too_many_claims"
            assert "for one holder" in refused.message
            return state
        for payload in granted:
            state = evolve(state, payload, position=number + 1, by=holder)
    return state


def test_an_agent_that_claims_all_it_can_leaves_room_for_many_others() -> None:
    state = claims.ClaimsState()
    for number in range(20):
        state = filled(state, f"Agent{number}#1")
        assert len(state.live) == (number + 1) * claims.OWN_GLOB_LIMIT


def test_twenty_five_claims_of_patterns_do_not_lock_out_the_next_agent(run: Command) -> None:
    codes = []
    for number in range(25):
        ran = run("claim", *(f"{number}/{pattern}/*.py" for pattern in range(20)), agent="Ada")
        codes.append((ran.code, "too_many_claims" in ran.err))
    assert codes[:2] == [(0, False)] * 2
    assert set(codes[3:]) == {(1, True)}
    assert run("claim", "bob/*.py", agent="Bob").code == 0
    assert run("release", "0/0/*.py", agent="Ada").code == 0
    assert run("claim", "bob.py", agent="Ada").code == 0


def test_who_held_more_before_there_was_a_bound_keeps_it_and_can_ask_for_it_anew() -> None:
    held = [f"{number}/*.py" for number in range(claims.OWN_GLOB_LIMIT * 2)]
    live = {
        name: claims.Claim(id=name, holder="Ada#1", paths=(name,), mode="shared", ttl=9.0, token=1) for name in held
    }
    state = claims.ClaimsState(live=live)
    assert decide(state, asking("Ada#1", "again", *held[:20]))
    with pytest.raises(Refused, match="for one holder"):
        decide(state, asking("Ada#1", "more", "new/*.py"))
    assert decide(state, asking("Bob#1", "first", "new/*.py"))
