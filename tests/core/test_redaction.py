"""Which words of an event may go, and what stays."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.errors import Refused
from moot.core.event import Event
from moot.core.integrity.chain import digest_of
from moot.core.integrity.redaction import BLANK, MARK, Redact, blanked, decide, words_of
from moot.core.json_codec import storable
from moot.core.kind import Kind, kinds

DIGEST = "d" * 64
SENT = {"id": "m-1", "to": ["Bob"], "sender": "Ada", "kind": "note", "text": "A secret."}


def event(kind: str, data: dict[str, Any], stream: str | None = None, v: int = 1) -> Event:
    where = stream or f"{kind.partition(':')[0]}/x"
    fixed = {
        "prev": 0,
        "at": "",
        "by": "",
        "cause": None,
        "thread": None,
        "pack": None,
        "commit": "c",
        "n": 0,
        "digest": DIGEST,
    }
    return Event.made({"position": 1, "type": kind, "v": v, "stream": where, "data": data, "digest": DIGEST, **fixed})


def test_what_the_rules_decide_by_cannot_be_redacted() -> None:
    sent = event("message:sent", SENT)
    assert set(words_of(sent)) == {"text"}
    (tombstone,) = decide(None, Redact(event=sent, fields=("text",)), person=True)
    left = {**SENT, "text": BLANK, MARK: DIGEST}
    assert blanked(sent, ("text",)) == left
    assert tombstone.plain()["rest"] == digest_of(storable(left).encode()).hex()
    for field in ("to", "sender", "id", "nothing"):
        with pytest.raises(Refused) as caught:
            decide(None, Redact(event=sent, fields=(field,)), person=True)
        assert caught.value.code == "not_redactable", field


def test_of_a_free_event_and_of_one_of_a_later_version_everything_may_go() -> None:
    for free in (
        event("build:finished", {"branch": "b"}, "topic/build"),
        event("message:whispered", {"branch": "b"}),
        event("message:sent", {"branch": "b"}, v=2),
        event("dream:dreamt", {"branch": "b"}),
    ):
        assert words_of(free) == ("branch",)
        assert blanked(free, ("branch",)) == {"branch": BLANK, MARK: DIGEST}


def test_of_a_tombstone_nothing_goes() -> None:
    assert words_of(event("event:redacted", {"position": 1, "reason": "x"}, "redactions")) == ()


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind.name != "topic"], ids=lambda kind: kind.name)
def test_no_event_that_a_rule_reads_is_free(kind: Kind) -> None:
    for name, known in kind.events.items():
        assert words_of(event(name, {"undeclared": "x"}, kind.stream("x"), known.v)) == (), name
