"""Savepoints: one part of a commit is undone, and the rest is appended as if it had never been tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import MootError, Unknown
from tests.engine.harness import (
    ANNA,
    Command,
    Machine,
    ack,
    add,
    claim_files,
    finish,
    interrupted,
    join,
    link,
    move,
    send,
    together,
    types,
)

if TYPE_CHECKING:
    from moot.engine.unit_of_work import Work

pytestmark = pytest.mark.in_memory


def attempted(*commands: Command) -> Command:
    """These commands behind one savepoint; a refusal undoes all of them and nothing else."""

    def act(work: Work) -> None:
        try:
            with work.savepoint():
                for command in commands:
                    command.act(work)
        except MootError:
            pass

    return replace(commands[0], name="attempted", act=act)


def test_a_refused_part_is_undone_and_the_rest_is_committed(machine):
    outcome = machine.run(
        together(
            send("m-1", "Yeats"),
            attempted(add("a"), send("m-2", "Keats"), move("claim", "a", "Yeats"), move("claim", "a", "Keats")),
            send("m-3", "Keats"),
        )
    )
    assert types(outcome.events) == ["message:sent", "message:sent"]
    assert not machine.task("a").exists
    assert machine.verify().sound


def test_a_part_that_succeeds_is_committed(machine):
    outcome = machine.run(attempted(add("a"), send("m-1", "Keats")))
    assert types(outcome.events) == ["task:added", "message:sent"]


def test_what_a_refused_part_decided_is_not_seen_by_the_parts_after_it(machine):
    machine.run(
        together(
            attempted(add("a"), move("claim", "a", "Yeats"), move("claim", "a", "Keats")),
            add("a"),
            move("claim", "a", "Keats"),
        )
    )
    assert machine.task("a").holder == "Keats#1"


def test_what_was_decided_before_a_savepoint_is_seen_after_its_refusal(machine):
    machine.run(
        together(
            add("a"),
            add("b"),
            link("b", "a"),
            attempted(move("claim", "a", "Yeats"), move("claim", "b", "Yeats")),
            move("claim", "a", "Keats"),
        )
    )
    assert machine.task("a").holder == "Keats#1"
    assert machine.task("b").waits


def test_savepoints_nest(machine):
    inner = attempted(send("m-2", "Keats"), move("claim", "a", "Keats"))
    outer = attempted(move("claim", "a", "Yeats"), inner, send("m-3", "Keats"))
    outcome = machine.run(together(add("a"), outer))
    assert types(outcome.events) == ["task:added", "task:started", "message:sent"]
    assert outcome.events[-1].stream == "message/m-3"


def test_a_refused_part_keeps_what_it_read_as_a_condition(machines):
    """A refusal rests on a state. If that state changes before the append, the whole is decided again."""
    one, other = machines(), machines()
    one.does(join("Yeats"), join("Keats"), add("a"), move("claim", "a", "Yeats"))
    tried = together(send("m-1", "Keats", by="Yeats"), attempted(move("claim", "a", "Keats")))
    outcome = one.run(interrupted(tried, lambda: other.run(move("release", "a", "Yeats"))))
    assert types(outcome.events) == ["message:sent", "task:started"]


def test_a_message_can_be_acknowledged_in_the_commit_that_sends_it(machine: Machine):
    outcome = machine.run(together(send("m-1", "Yeats", wants="ack"), ack("Yeats", "m-1")))
    assert types(outcome.events) == ["message:sent", "message:acked"]
    assert machine.verify().sound


def test_a_message_that_was_undone_cannot_be_acknowledged(machine):
    undone = attempted(
        send("m-1", "Yeats", wants="ack"), claim_files("c", "Keats#1", "a"), claim_files("c", "Yeats#1", "a")
    )
    with pytest.raises(Unknown, match="m-1"):
        machine.run(together(undone, ack("Yeats", "m-1")))


def test_messages_about_a_task_include_those_of_this_commit(machine):
    machine.run(together(add("a"), send("m-1", "Yeats", task="a", attempt=1)))
    seen: list[list[str]] = []

    def look(work: Work) -> None:
        send("m-2", "Yeats", task="a", attempt=1).act(work)
        send("m-3", "Yeats", task="b", attempt=1).act(work)
        attempted(send("m-4", "Yeats", task="a"), send("m-5", "Yeats", limit=0)).act(work)
        seen[:] = [[m.id for m in work.messages_of_task("a", attempt, "note")] for attempt in (None, 1, 2)]

    machine.run(Command("look", ANNA, look))
    assert seen == [["m-1", "m-2"], ["m-1", "m-2"], []]


def test_the_graph_can_be_asked_again_after_a_refused_part_has_read_it(machine):
    machine.does(add("a", review=False), add("b", needs=("a",)))
    undone = attempted(*finish("a"), move("claim", "a", "Keats"))
    machine.run(together(undone, *finish("a")))
    assert machine.task("b").waits == ()
