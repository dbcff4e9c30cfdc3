"""Messages: stored for every recipient or for none, and never cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.deciders.message import (
    EVENTS,
    KIND,
    RECIPIENT_LIMIT,
    WANTS,
    Message,
    SendMessage,
    Sent,
    decide,
    evolve,
)
from moot.core.errors import MootError, Refused
from moot.core.kind import Meta

AT = "2030-01-01T00:00:00.000Z"
NEW = Message(id="m-1")


def sending(**fields):
    said = {"kind": "note", "sender": "Yeats#1", "to": ("Keats",), "wants": "nothing", "text": "hello"}
    return SendMessage(**{**said, "size": 5, "limit": 100, **fields})


def sent(command, position=7, thread=None):
    (payload,) = decide(NEW, command)
    return evolve(NEW, payload, Meta(position=position, at=AT, thread=thread))


def test_a_message_is_one_event_with_its_whole_audience():
    (payload,) = decide(NEW, sending(to=("Keats", "@reviewer", "person:anna"), task="task-1", within=60.0))
    assert payload == Sent(
        kind="note",
        sender="Yeats#1",
        to=("Keats", "@reviewer", "person:anna"),
        wants="nothing",
        text="hello",
        task="task-1",
        within=60.0,
    )
    assert KIND.stream("m-1") == "message/m-1"


def test_two_spellings_of_a_name_are_one_recipient():
    assert sent(sending(to=("Keats", "@lead", "keats", "KEATS", "@LEAD"))).to == ("Keats", "@lead")


def test_a_message_knows_its_position_and_starts_a_thread_of_its_own():
    message = sent(sending())
    assert (message.id, message.position, message.thread, message.at) == ("m-1", 7, "m-1", AT)
    assert message.exists
    assert not NEW.exists
    assert sent(sending(), thread="m-0").thread == "m-0"


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("no_recipient", {"to": ()}),
        ("too_many_recipients", {"to": tuple(f"a{n}" for n in range(RECIPIENT_LIMIT + 1))}),
        ("empty_message", {"text": " \n\t"}),
        ("empty_message", {"text": "", "data": {}}),
        ("message_too_large", {"size": 101}),
    ],
)
def test_what_cannot_be_delivered_as_it_is_is_refused_now(code, fields):
    with pytest.raises(Refused) as caught:
        decide(NEW, sending(**fields))
    assert caught.value.code == code
    assert caught.value.remedy


def test_a_message_over_the_limit_is_refused_with_both_sizes():
    with pytest.raises(Refused) as caught:
        decide(NEW, sending(size=101))
    assert caught.value.details == {"size": 101, "limit": 100}
    assert decide(NEW, sending(size=100))


def test_data_alone_is_a_message():
    assert sent(sending(text="", data={"ok": True})).data == {"ok": True}


def test_an_id_is_used_once():
    with pytest.raises(Refused) as caught:
        decide(sent(sending()), sending())
    assert caught.value.code == "message_exists"


def test_a_request_wants_an_answer_and_a_note_nothing():
    assert WANTS == {"note": "nothing", "request": "answer", "reply": "nothing"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
optional_text = st.none() | st.text(max_size=8)
commands = st.builds(
    SendMessage,
    kind=st.sampled_from(["note", "request", "task_assignment"]),
    sender=st.sampled_from(["Yeats#1", "person:anna", "role:developer"]),
    to=st.lists(st.sampled_from(["Keats", "keats", "Ada", "@lead", "@Lead"]), max_size=5).map(tuple),
    wants=st.sampled_from(["nothing", "ack", "answer"]),
    size=st.integers(0, 20),
    limit=st.just(15),
    text=st.sampled_from(["", " ", "hello", "Grüße 👋", "half \ud83d"]),
    data=st.none() | st.dictionaries(st.text(max_size=4), json_values, max_size=3),
    reply_to=optional_text,
    task=optional_text,
    attempt=st.none() | st.integers(1, 3),
    within=st.none() | st.floats(0, 1e6),
    expires=st.none() | st.floats(0, 1e6),
    flags=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    mirror=optional_text,
)


@given(commands, optional_text)
def test_whatever_is_sent_is_stored_whole_or_refused(command, thread):
    try:
        (payload,) = decide(NEW, command)
    except MootError:
        assert not command.to or command.size > 15 or (not command.text.strip() and not command.data)
        return
    kept = EVENTS[payload.type].of(json.loads(json.dumps(payload.plain())))
    message = evolve(NEW, kept, Meta(position=7, at=AT, thread=thread))
    assert {name.lower() for name in message.to} == {name.lower() for name in command.to}
    assert len({name.lower() for name in message.to}) == len(message.to)
    assert kept.__dict__["mirror"] == command.mirror  # of the event, not of what was said
    for field in command.__dict__.keys() - {"to", "size", "limit", "mirror"}:
        assert getattr(message, field) == getattr(command, field)
    assert Message.of(json.loads(json.dumps(message.plain()))) == message
