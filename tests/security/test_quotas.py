"""One agent cannot use up what all share, and no answer is larger than it was asked to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot import Workspace
from moot.core import claims
from moot.core.deciders.claims import decide, evolve
from moot.core.errors import Refused
from moot.core.kind import Meta
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
        except Refused:
            return state
        for payload in granted:
            state = evolve(state, payload, Meta(position=number + 1, by=holder))
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
    with pytest.raises(Refused, match="limit per holder"):
        decide(state, asking("Ada#1", "more", "new/*.py"))
    assert decide(state, asking("Bob#1", "first", "new/*.py"))


KIB = 1 << 10


def stages(run: Command, ids: list[str]) -> list[str]:
    with Workspace(run.repo, agent="Ada") as ada:
        return [dict(ada.thread(name)[0].stages)["Bob"] for name in ids]


@pytest.mark.promise(5)
def test_an_inbox_of_many_megabytes_comes_in_parts_and_only_what_was_shown_counts_as_shown(run: Command) -> None:
    with Workspace(run.repo, agent="Ada") as ada:
        sent = [ada.send("Bob", f"{number}:" + "x" * (100 * KIB)).id for number in range(9)]
    first = run("inbox", agent="Bob")
    assert len(first.out) < 300 * KIB
    assert first.out.count(" note from Ada") == 2
    assert "7 more, 7" in first.out
    assert "KiB: moot inbox" in first.out
    assert stages(run, sent) == ["offered"] * 2 + ["stored"] * 7
    again = run("inbox", "--json", agent="Bob").result
    assert [letter["id"] for letter in again["new"]] == sent[2:4]
    assert (again["more_new"], again["more_bytes"] > 500 * KIB) == (5, True)
    peek = run("inbox", "--peek", agent="Bob")
    assert stages(run, sent) == ["offered"] * 4 + ["stored"] * 5
    options = peek.out.rsplit("moot inbox ", 1)[1].split()
    assert run("inbox", *options, agent="Bob").out.count(" note from Ada") == 5
    with Workspace(run.repo, agent="Bob") as bob:
        seen = [letter.id for _ in range(5) for letter in bob.inbox(bytes=100).new]
    assert seen == sent[4:]
    assert stages(run, sent) == ["offered"] * 9


def test_a_message_that_is_too_large_by_itself_comes_alone_and_is_cut_where_it_is_read(run: Command) -> None:
    long = "é" * (300 * KIB)
    with Workspace(run.repo, agent="Ada") as ada:
        big = ada.send("Bob", long).id
        data = ada.send("Bob", "", data={"x": "y" * (300 * KIB)}, type="request").id
    shown = run("inbox", agent="Bob").out
    assert len(shown.encode()) < 300 * KIB
    assert f"cut: the message has 600.0 KiB. To read all of it: moot thread {big} --only" in shown
    assert long in run("thread", big, "--only", agent="Bob").out
    run("send", "Bob", "the next one", agent="Ada")
    assert len(run("inbox", "--peek", agent="Bob").out) < 300 * KIB
    found = run("inbox", "--json", agent="Bob").result
    assert [(letter["id"], letter["cut"], len(letter["data"]["x"])) for letter in found["new"]] == [
        (data, None, 300 * KIB)
    ]
    assert found["more_new"] == 1
    assert len(run("inbox", "--all", "--json", agent="Bob").out) < 300 * KIB
    assert len(run("thread", data, "--only", "--json", agent="Bob").result[0]["data"]["x"]) == 300 * KIB


def test_a_conversation_and_a_mailbox_are_bounded_and_have_the_newest_as_they_are(run: Command) -> None:
    with Workspace(run.repo, agent="Ada") as ada:
        first = ada.send("Bob", "x" * (200 * KIB)).id
        for _ in range(5):
            ada.send("Bob", "x" * (200 * KIB), thread=first)
        last = ada.send("Bob", "the last word", thread=first).id
    for words in (["thread", first], ["mailbox", "Bob"]):
        out = run(*words, agent="Bob").out
        assert len(out) < 300 * KIB
        assert "the last word" in out
        assert out.count("cut: the message has 200.0 KiB") == 5
        assert last in out
