"""Where there is one of a thing, answers say so: "1 event", not "1 events". `Command` looks at every answer."""

from __future__ import annotations

import pytest

from tests.surfaces.command import MISCOUNTED, Command


@pytest.fixture
def lone(bare: Command) -> Command:
    """A workspace in which one thing happened."""
    bare("init")
    bare("emit", "build:finished")
    return bare


def test_a_log_of_one_event_is_told_as_such(lone: Command) -> None:
    assert lone("verify").out == "sound: 1 event in 1 commit on 1 stream; views agree\n"
    assert "log: 1 event\n" in lone("doctor").out.replace("  ", " ")
    assert lone("backup", "../copy.db").out.startswith("1 event in ")
    assert lone("export", "../log.jsonl", "--force").out.startswith("1 event in ")
    assert lone("restore", "../copy.db").out.startswith("restored 1 event from ")
    assert lone("wait", "--type", "build:finished", "--timeout", "0.01").err.startswith(
        "moot: Nothing yet: 0 of 1 event."
    )


def test_a_single_check_that_failed_is_told_as_such(bare: Command) -> None:
    assert bare("doctor", cwd=bare.repo.parent).err.startswith("moot: 1 of 1 check failed: ")


def test_one_message_waits(lone: Command) -> None:
    lone("join", "Ada")
    lone("send", "Ada", "hello")
    lone("leave", "Ada")
    assert "1 message waits: moot inbox --agent Ada" in lone("join", "Ada").out
    lone("send", "Ada", "again")
    assert "2 messages wait: moot inbox --agent Ada" in lone("join", "Ada", incarnation=2, agent="Ada").out


def test_one_claim_more_is_in_the_way(lone: Command) -> None:
    lone("join", "Ada")
    lone("join", "Bob")
    for path in ("a", "b", "c"):
        lone("claim", path, agent="Ada")
    assert "; 1 other claim also conflicts." in lone("claim", "a", "b", agent="Bob").err
    assert "; 2 other claims also conflict." in lone("claim", "a", "b", "c", agent="Bob").err


def test_a_miscounted_thing_is_seen() -> None:
    assert MISCOUNTED.search("sound: 1 events in 2 commits")
    assert not MISCOUNTED.search("sound: 11 events, #1 events, 0.1 events")
