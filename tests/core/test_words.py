"""Every field that can hold text says what it is: words of people, names that rules go by, or neither.

A text that nobody declared could neither be searched nor redacted, and nobody would notice.
"""

from __future__ import annotations

import pytest

from moot.core.event import Event
from moot.core.integrity.redaction import words_of
from moot.core.kind import kinds
from moot.core.payload import ALL, Payload
from moot.core.query import texts
from moot.core.record import shape_of

LISTS = ("words", "quiet", "names", "marks")
PAYLOADS = sorted(
    {payload for kind in kinds() for payload in kind.events.values()}, key=lambda payload: payload.__qualname__
)


def subclasses(base: type[Payload]) -> set[type[Payload]]:
    return {base, *(inner for cls in base.__subclasses__() for inner in subclasses(cls))}


def forms(payload: type[Payload]) -> dict[str, str]:
    """The fields of a payload with their annotations."""
    written = {}
    for base in reversed(payload.__mro__):
        written |= base.__dict__.get("__annotations__", {})
    return {name: written[name] for name in shape_of(payload)[0]}


def holds_text(form: str) -> bool:
    return any(word in form for word in ("str", "Any", "dict", "Mapping", "object"))


def declared(payload: type[Payload]) -> list[str]:
    return [name for which in LISTS for name in getattr(payload, which)]


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.__qualname__)
def test_every_field_that_can_hold_text_is_declared_once(payload: type[Payload]) -> None:
    textual = [name for name, form in forms(payload).items() if holds_text(form)]
    assert sorted(declared(payload)) == sorted(textual), "each field belongs into one of words, quiet, names, marks"


def test_there_is_no_payload_that_no_kind_has() -> None:
    """`Emitted` and `CustomEvent` are what custom events are made of: every field of those holds words."""
    ours = {cls for cls in subclasses(Payload) if cls.__module__.startswith("moot.")} - {Payload}
    assert {cls.__name__ for cls in ours - set(PAYLOADS)} == {"Emitted", "CustomEvent"}
    assert {cls.words for cls in ours if cls.__name__ == "CustomEvent"} == {(ALL,)}


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.__qualname__)
def test_words_are_searched_and_redacted_names_are_searched_and_stay(payload: type[Payload]) -> None:
    kind, name = next((kind, name) for kind in kinds() for name, cls in kind.events.items() if cls is payload)
    fixed = {"prev": 0, "at": "", "by": "", "cause": None, "thread": None, "pack": None, "commit": "c", "n": 0}
    data = {field: f"text-of-{field}" for field in shape_of(payload)[0]}
    event = Event.made({"position": 1, "type": name, "v": payload.v, "stream": kind.stream("x"), "data": data, **fixed})
    assert set(words_of(event)) == {*payload.words, *payload.quiet}
    if kind.text is None:
        assert texts(event).split() == [f"text-of-{f}" for f in data if f in (*payload.words, *payload.names)]
