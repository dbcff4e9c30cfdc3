"""Which words of an event may go, and what stays whatever a tombstone says."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.event import Event
from moot.core.integrity.redaction import BLANK, MARK, blanked, is_free, may_go, shown
from moot.core.kind import Kind, kinds

DIGEST = "d" * 64
SENT = {"id": "m-1", "to": ["Bob"], "sender": "Ada", "kind": "note", "text": "A secret."}


def event(kind: str, data: dict[str, Any], stream: str | None = None, v: int = 1) -> Event:
    where = stream or f"{kind.partition(':')[0]}/x"
    fixed = {"prev": 0, "at": "", "by": "", "cause": None, "thread": None, "pack": None, "commit": "c", "n": 0}
    return Event.made({"position": 1, "type": kind, "v": v, "stream": where, "data": data, **fixed})


def test_what_the_rules_decide_by_is_shown_whatever_a_tombstone_says() -> None:
    found = shown(
        event("message:sent", SENT),
        {"commit": "c", "n": 0, "digest": DIGEST, "fields": ["to", "text", "sender", "id"]},
    )
    assert found.data == {**SENT, "text": BLANK, MARK: DIGEST}
    untouched = shown(event("message:sent", SENT), {"commit": "c", "n": 0, "digest": DIGEST, "fields": ["to"]})
    assert untouched.data == SENT


def test_of_a_free_event_and_of_one_of_a_later_version_everything_may_go() -> None:
    for free in (
        event("build:finished", {"branch": "b"}, "topic/build"),
        event("message:whispered", {"branch": "b"}),
        event("message:sent", {"branch": "b"}, v=2),
        event("dream:dreamt", {"branch": "b"}),
    ):
        assert blanked(free, ("branch",), DIGEST) == {"branch": BLANK, MARK: DIGEST}


def test_of_a_tombstone_nothing_goes() -> None:
    data = {"position": 1, "reason": "x"}
    tombstone = event("event:redacted", data, "redactions")
    assert (may_go(tombstone, ("reason", "position")), is_free(tombstone)) == ((), False)
    assert blanked(tombstone, ("reason",), DIGEST) == data


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind.name != "topic"], ids=lambda kind: kind.name)
def test_no_event_that_a_rule_reads_is_free(kind: Kind) -> None:
    for name, known in kind.events.items():
        assert not is_free(event(name, {}, kind.stream("x"), known.v)), name
