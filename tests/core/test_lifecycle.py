"""Lifecycles: what they say, and that a task can live by them."""

from __future__ import annotations

import pytest

from moot.core.lifecycle import CORE, PHASES, Edge, Lifecycle, State
from moot.core.task import TYPES
from tests.core import lifecycles
from tests.core.lifecycles import LIFECYCLES, ORCHESTRATOR, ROWS, Row

both = pytest.mark.parametrize("life", LIFECYCLES, ids=lambda life: life.name)


@both
def test_a_lifecycle_says_what_was_agreed(life):
    said = {Row(e.verb, e.source, e.target, " ".join(e.who), " ".join(e.needs), e.attempt) for e in life.edges}
    assert said == set(ROWS[life.name])
    assert {state.name: state.phase for state in life.states} == lifecycles.PHASES[life.name]
    assert life.attempts == 3


def test_silence_returns_a_task_of_the_core_and_the_orchestrator_has_limits_of_its_own():
    assert (CORE.silence, CORE.exhausted) == ("return", "dead")
    assert (ORCHESTRATOR.silence, ORCHESTRATOR.exhausted) == ("ignore", None)


@both
def test_a_task_begins_open(life):
    assert life.initial == life.names[0]
    assert life.phase(life.initial) == "open"


@both
def test_every_state_has_a_known_phase_and_every_edge_two_known_states(life):
    assert {state.phase for state in life.states} <= set(PHASES)
    assert {e.source for e in life.edges} | {e.target for e in life.edges} <= set(life.names)
    assert life.exhausted is None or life.phase(life.exhausted) == "stopped"


@both
def test_every_verb_has_an_event_and_means_one_edge_in_each_state(life):
    assert {e.verb for e in life.edges} <= set(TYPES)
    pairs = [(e.verb, e.source) for e in life.edges]
    assert len(pairs) == len(set(pairs))


@both
def test_whoever_takes_a_task_works_on_it_and_no_other_edge_leads_there(life):
    assert {e.holds for e in life.edges if life.phase(e.target) == "working"} == {"actor"}
    assert {life.phase(e.target) for e in life.edges if e.holds == "actor"} == {"working"}


@both
def test_every_state_can_be_reached_and_none_is_a_trap(life):
    ways = {state: set(life.targets(state)) for state in life.names}
    if life.exhausted is not None:
        ways["review"].add(life.exhausted)
    for start in life.names:
        seen = {start}
        while grown := {target for state in seen for target in ways[state]} - seen:
            seen |= grown
        assert seen == set(life.names), f"from {start}"


@both
def test_looking_up_edges(life):
    for edge in life.edges:
        assert life.edge(edge.verb, edge.source) == edge
        assert edge.verb in life.verbs(edge.source)
        assert edge.target in life.targets(edge.source)
        between = life.between(edge.source, edge.target)
        assert between is not None
        assert (between.source, between.target) == (edge.source, edge.target)
    assert life.edge("teleport", life.initial) is None
    assert all(life.between(state, state) is None for state in life.names)


def test_the_orchestrator_allows_seven_of_its_twenty_five_pairs():
    names = ORCHESTRATOR.names
    allowed = [(a, b) for a in names for b in names if ORCHESTRATOR.between(a, b)]
    assert len(names) ** 2 == 25
    assert len(allowed) == 7


def test_what_can_follow_is_told_once_each():
    life = Lifecycle(
        name="tiny",
        states=(State("a", "open"), State("b", "working")),
        edges=(Edge("claim", "a", "b", holds="actor"), Edge("reopen", "a", "b")),
    )
    assert life.targets("a") == ("b",)
    assert life.verbs("a") == ("claim", "reopen")
    assert life.verbs("b") == life.targets("b") == ()
