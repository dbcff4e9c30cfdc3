"""Mailboxes: what became of each message at one recipient. The chain only goes forward."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from moot.core.deciders.mailbox import (
    EVENTS,
    Ack,
    Acked,
    Answered,
    AnswerMessage,
    Bury,
    Clear,
    Cleared,
    Died,
    Expire,
    Expired,
    Mailbox,
    MailboxEntry,
    MessagesRestored,
    Offer,
    Offered,
    Restore,
    decide,
    evolve,
)
from moot.core.errors import Held, MootError, Refused, Unknown

YEATS, KEATS, ADA = "Yeats#1", "Keats#1", "Ada#1"
NOON, ONE, TWO = (f"2030-01-01T{hour}:00:00.000Z" for hour in (12, 13, 14))


def box(name="Yeats", **wants):
    """A mailbox with messages, named and wanting: box(m1="answer")."""
    return Mailbox(name=name, entries={i: MailboxEntry(id=i, wants=what) for i, what in wants.items()})


def after(state, *commands):
    for command in commands:
        for payload in decide(state, command):
            state = evolve(state, payload)
    return state


def stages(state):
    return {i: entry.stage for i, entry in state.entries.items()}


# Offering


@pytest.mark.promise(5)
def test_what_was_shown_is_offered_and_before_that_it_is_only_stored():
    state = box(m1="answer", m2="answer")
    assert stages(state) == {"m1": "stored", "m2": "stored"}
    assert stages(after(state, Offer(("m1",), YEATS))) == {"m1": "offered", "m2": "stored"}


@pytest.mark.promise(5)
def test_a_note_is_settled_once_offered():
    state = after(box(note="nothing", request="answer", order="ack"), Offer(("note", "request", "order"), YEATS))
    assert {i: entry.settled for i, entry in state.entries.items()} == {"note": True, "request": False, "order": False}


def test_one_showing_is_one_event_and_only_of_what_is_new():
    state = after(box(m1="answer", m2="answer"), Offer(("m1",), YEATS))
    assert decide(state, Offer(("m1", "m2"), YEATS)) == [Offered(ids=("m2",), to=YEATS)]
    assert decide(state, Offer(("m1",), YEATS)) == []


def test_what_wants_an_answer_is_shown_to_each_new_incarnation_until_settled():
    state = after(box(m1="answer"), Offer(("m1",), YEATS))
    again = decide(state, Offer(("m1",), "Yeats#2"))
    assert again == [Offered(ids=("m1",), to="Yeats#2")]
    settled = after(state, AnswerMessage("m1", reply="m9", who=YEATS))
    assert decide(settled, Offer(("m1",), "Yeats#2")) == []


def test_a_note_is_not_shown_again():
    assert decide(after(box(m1="nothing"), Offer(("m1",), YEATS)), Offer(("m1",), "Yeats#2")) == []


def test_what_is_not_in_the_mailbox_is_not_offered():
    assert decide(box(m1="answer"), Offer(("m7",), YEATS)) == []


# Acknowledging and answering


@pytest.mark.promise(5)
def test_acknowledged_and_answered_are_said_explicitly():
    state = after(box(m1="ack", m2="answer"), Offer(("m1", "m2"), YEATS))
    state = after(state, Ack(("m1",), YEATS, NOON), AnswerMessage("m2", reply="m9", who=YEATS))
    assert stages(state) == {"m1": "acked", "m2": "answered"}
    assert state.entries["m2"].reply == "m9"


@pytest.mark.promise(5)
def test_an_acknowledged_request_still_waits_for_its_answer():
    state = after(box(m1="answer"), Ack(("m1",), YEATS, NOON))
    assert stages(state) == {"m1": "acked"}
    assert not state.entries["m1"].settled
    assert state.last_read == NOON
    assert decide(state, Ack(("m1",), YEATS, ONE)) == []
    assert decide(state, Offer(("m1",), YEATS)) == [], "who confirmed it has seen it"
    assert decide(state, Offer(("m1",), "Yeats#2")) == [Offered(ids=("m1",), to="Yeats#2")]
    assert stages(after(state, Offer(("m1",), "Yeats#2"))) == {"m1": "acked"}
    assert after(state, AnswerMessage("m1", reply="m9", who="Yeats#2")).entries["m1"].settled


@pytest.mark.promise(7)
def test_a_role_s_request_waits_for_the_answer_of_the_first_who_acknowledged_it():
    state = after(box("@developer", m1="answer"), Ack(("m1",), YEATS, NOON))
    for command in (Ack(("m1",), KEATS, ONE), AnswerMessage("m1", reply="m9", who=KEATS)):
        with pytest.raises(Held) as caught:
            decide(state, command)
        assert caught.value.code == "message_taken"
    assert state.taken_by_another(state.entries["m1"], KEATS)
    assert not state.taken_by_another(state.entries["m1"], "yeats#2")


def test_an_acknowledged_request_can_be_answered_and_not_the_other_way_round():
    state = after(box(m1="answer"), Ack(("m1",), YEATS, NOON), AnswerMessage("m1", reply="m9", who=YEATS))
    assert stages(state) == {"m1": "answered"}
    assert decide(state, Ack(("m1",), YEATS, NOON)) == []
    assert decide(state, AnswerMessage("m1", reply="m10", who=YEATS)) == []


@pytest.mark.promise(7)
def test_the_first_acknowledgement_takes_a_role_s_message():
    state = after(box("@developer", m1="ack"), Ack(("m1",), YEATS, NOON))
    for command in (Ack(("m1",), KEATS, ONE), AnswerMessage("m1", reply="m9", who=KEATS)):
        with pytest.raises(Held) as caught:
            decide(state, command)
        assert caught.value.code == "message_taken"
        assert caught.value.details["taker"] == YEATS
        assert "Yeats" in caught.value.message
    assert after(state, AnswerMessage("m1", reply="m9", who="yeats#2")).entries["m1"].ended == "answered"


def test_an_acknowledgement_of_several_is_taken_whole_or_refused_whole():
    state = after(box("@developer", m1="ack", m2="ack"), Ack(("m1",), YEATS, NOON))
    with pytest.raises(Held):
        decide(state, Ack(("m2", "m1"), KEATS, ONE))
    with pytest.raises(Unknown) as caught:
        decide(state, Ack(("m2", "m7"), KEATS, ONE))
    assert caught.value.details == {"message": "m7", "mailbox": "@developer"}


@pytest.mark.parametrize("end", [Expire(("m1",)), Bury(("m1",), "Yeats retired")])
def test_what_expired_or_died_is_not_acknowledged_any_more(end):
    state = after(box(m1="answer"), end)
    with pytest.raises(Refused) as caught:
        decide(state, Ack(("m1",), YEATS, NOON))
    assert caught.value.code == "message_ended"
    assert decide(state, AnswerMessage("m1", reply="m9", who=YEATS)) == []


@pytest.mark.parametrize("end", [Expire(("m1", "m2", "m7")), Bury(("m1", "m2", "m7"), "gone")])
def test_only_what_is_open_expires_or_dies(end):
    state = after(box(m1="answer", m2="ack"), Ack(("m2",), YEATS, NOON))
    (payload,) = decide(state, end)
    assert payload.plain()["ids"] == ["m1"]
    assert decide(evolve(state, payload), end) == []


@pytest.mark.promise(5)
def test_the_time_of_the_last_read_never_moves_backwards():
    state = after(box(m1="ack", m2="ack", m3="ack"), Ack(("m1",), YEATS, ONE))
    assert state.last_read == ONE
    state = after(state, Ack(("m2",), YEATS, NOON))
    assert state.last_read == ONE
    assert after(state, Clear(("m1",), "emptied", at=NOON)).last_read == ONE
    assert after(state, Clear(("m1",), "emptied", at=TWO)).last_read == TWO
    assert after(state, Clear(("m1",), "asked")).last_read == ONE


# Clearing


@pytest.mark.promise(5)
def test_hidden_and_unread_stays_unread():
    state = after(box(m1="ack", m2="nothing"), Clear(("m1", "m2"), "emptied", at=NOON))
    assert stages(state) == {"m1": "stored", "m2": "stored"}
    assert not any(entry.settled for entry in state.entries.values())
    assert {entry.hidden for entry in state.entries.values()} == {"emptied"}
    assert after(state, Offer(("m2",), YEATS)).entries["m2"].settled


def test_what_is_hidden_can_be_put_back_once():
    state = after(box(m1="ack", m2="ack"), Clear(("m1",), "asked"))
    assert decide(state, Clear(("m1", "m7"), "asked")) == []
    (payload,) = decide(state, Restore(("m1", "m2", "m7")))
    assert payload == MessagesRestored(ids=("m1",))
    assert evolve(state, payload) == box(m1="ack", m2="ack")


# Any sequence of commands, against a model that keeps what was said to be true

NAMES = ("m1", "m2", "m3", "m4")
FORWARD = {"stored": 0, "offered": 1, "acked": 2, "answered": 3, "expired": 3, "dead": 3}
some_ids = st.lists(st.sampled_from([*NAMES, "m7"]), min_size=1, max_size=3).map(tuple)
somebody = st.sampled_from([YEATS, "Yeats#2", "yeats#3", KEATS, ADA, "role:developer"])
some_time = st.sampled_from([NOON, ONE, TWO])


class Letter:
    """What one remembers of a message."""

    def __init__(self, wants):
        self.wants, self.shown, self.end, self.taker, self.reply, self.hidden = wants, [], None, None, None, None

    @property
    def open(self):
        return self.end is None and not (self.wants == "nothing" and self.shown)


class Boxes(RuleBasedStateMachine):
    name = "Yeats"

    def __init__(self):
        super().__init__()
        self.box, self.log, self.letters, self.last_read = Mailbox(name=self.name), [], {}, None
        self.stages = {}

    @precondition(lambda self: len(self.letters) < len(NAMES))
    @rule(wants=st.sampled_from(["nothing", "ack", "answer"]))
    def arrive(self, wants):
        name = NAMES[len(self.letters)]
        self.letters[name] = Letter(wants)
        self.box = self.box.replace(entries={**self.box.entries, name: MailboxEntry(id=name, wants=wants)})

    def run(self, command):
        """Decide and fold; the payload (None if there is none), or the error, which must have changed nothing."""
        before = self.box.plain()
        named = command.__dict__.get("ids") or (command.__dict__["id"],)
        cut = self.box.replace(entries={i: e for i, e in self.box.entries.items() if i in named})
        try:
            decided = decide(self.box, command)
        except MootError as error:
            assert self.box.plain() == before
            with pytest.raises(type(error)):
                decide(cut, command)
            return error
        assert decide(cut, command) == decided, "the entries that a command speaks of are enough to decide"
        for payload in decided:
            self.log.append((payload.type, json.dumps(payload.plain())))
            self.box = evolve(self.box, payload)
        assert len(decided) <= 1
        return decided[0] if decided else None

    def taken(self, name, who):
        letter = self.letters[name]
        other = letter.taker is not None and letter.taker.split("#")[0].lower() != who.split("#")[0].lower()
        return self.name.startswith("@") and other

    def refusal(self, name, who):
        """Why this message cannot be acknowledged, if so."""
        if name not in self.letters:
            return "not_in_mailbox"
        if self.taken(name, who):
            return "message_taken"
        return "message_ended" if self.letters[name].end in ("expired", "dead") else None

    @rule(ids=some_ids, to=somebody)
    def offer(self, ids, to):
        new = [i for i in ids if i in self.letters and self.letters[i].open and to not in self.letters[i].shown]
        assert self.run(Offer(ids, to)) == (Offered(ids=tuple(new), to=to) if new else None)
        for name in set(new):
            self.letters[name].shown.append(to)

    @rule(ids=some_ids, who=somebody, at=some_time)
    def ack(self, ids, who, at):
        said = self.run(Ack(ids, who, at))
        refusals = [self.refusal(i, who) for i in ids]
        if any(refusals):
            assert said.code == next(filter(None, refusals))
        else:
            new = [i for i in ids if self.letters[i].end is None and self.letters[i].taker is None]
            assert (said is None) is (not new)
            if new:
                self.last_read = max(self.last_read or at, at)
                assert said == Acked(ids=tuple(new), who=who, read_at=self.last_read)
            for letter in (self.letters[i] for i in dict.fromkeys(new)):
                letter.taker = who
                if letter.wants != "answer":
                    letter.end = "acked"
                elif who not in letter.shown:
                    letter.shown.append(who)

    @rule(name=st.sampled_from([*NAMES, "m7"]), who=somebody)
    def answer(self, name, who):
        said = self.run(AnswerMessage(name, reply="m9", who=who))
        if name not in self.letters or self.taken(name, who):
            assert isinstance(said, (Unknown, Held))
        elif self.letters[name].end in (None, "acked"):
            assert said == Answered(id=name, reply="m9", who=who)
            letter = self.letters[name]
            letter.end, letter.taker, letter.reply = "answered", who, "m9"
        else:
            assert said is None

    @rule(ids=some_ids, buried=st.booleans())
    def end(self, ids, buried):
        gone = tuple(i for i in ids if i in self.letters and self.letters[i].open)
        said = self.run(Bury(ids, "gone") if buried else Expire(ids))
        assert said == ((Died(ids=gone, reason="gone") if buried else Expired(ids=gone)) if gone else None)
        for name in gone:
            self.letters[name].end = "dead" if buried else "expired"

    @rule(ids=some_ids, at=st.none() | some_time, reason=st.sampled_from(["emptied", "asked"]))
    def clear(self, ids, at, reason):
        new = tuple(i for i in ids if i in self.letters and self.letters[i].hidden is None)
        said = self.run(Clear(ids, reason, at))
        if not new and not at:
            assert said is None
            return
        if at is not None:
            self.last_read = max(self.last_read or at, at)
        assert said == Cleared(ids=new, reason=reason, read_at=self.last_read if at else None)
        for name in new:
            self.letters[name].hidden = reason

    @rule(ids=some_ids)
    def restore(self, ids):
        back = tuple(i for i in ids if i in self.letters and self.letters[i].hidden is not None)
        assert self.run(Restore(ids)) == (MessagesRestored(ids=back) if back else None)
        for name in back:
            letter = self.letters[name]
            letter.hidden = None  # it counts as new from here on
            letter.end, letter.taker, letter.shown = None, None, []
            self.stages.pop(name, None)

    @invariant()
    def the_state_is_what_the_model_says(self):
        for name, letter in self.letters.items():
            entry = self.box.entries[name]
            assert (entry.wants, entry.ended, entry.hidden) == (letter.wants, letter.end, letter.hidden)
            assert (entry.taker, entry.reply) == (letter.taker, letter.reply)
            assert (list(entry.seen), entry.settled) == (letter.shown, not letter.open)
        assert self.box.last_read == self.last_read

    @invariant()
    def nothing_moves_back(self):
        now = stages(self.box)
        for name, stage in self.stages.items():
            assert FORWARD[now[name]] >= FORWARD[stage]
            assert now[name] == stage or FORWARD[now[name]] > FORWARD[stage]
        self.stages = now

    def teardown(self):
        state = box(self.name, **{name: letter.wants for name, letter in self.letters.items()})
        for kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)))
        assert state == self.box


class Shared(Boxes):
    name = "@developer"


Boxes.TestCase.settings = Shared.TestCase.settings = settings(
    max_examples=settings.default.max_examples // 3, stateful_step_count=25
)
TestAnAgentsMailbox = pytest.mark.promise(5)(Boxes.TestCase)
TestARolesMailbox = pytest.mark.promise(5)(pytest.mark.promise(7)(Shared.TestCase))
