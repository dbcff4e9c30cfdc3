"""What waits for what: never in a circle, and a circle that is refused is shown as it would be."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moot.core.deciders.graph import EVENTS, Graph, Link, Linked, Unlink, Unlinked, decide, evolve, find_path
from moot.core.errors import Refused

EMPTY = Graph()


def linked(*edges):
    state = EMPTY
    for task, *needs in edges:
        for payload in decide(state, Link(task, tuple(needs))):
            state = evolve(state, payload)
    return state


def test_a_task_waits_for_others():
    assert linked(("c", "a", "b"), ("d", "c")).needs == {"c": {"a", "b"}, "d": {"c"}}


def test_what_is_known_is_not_said_again():
    state = linked(("c", "a"))
    assert decide(state, Link("c", ("a",))) == []
    assert decide(state, Link("c", ("a", "b", "b"))) == [Linked(task="c", needs=("b",))]


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("edges", "link", "cycle"),
    [
        ([], ("a", "a"), ["a", "a"]),
        ([("b", "a")], ("a", "b"), ["a", "b", "a"]),
        ([("b", "a"), ("c", "b"), ("d", "c")], ("a", "d"), ["a", "d", "c", "b", "a"]),
        ([("b", "a"), ("c", "b"), ("d", "c", "a")], ("a", "d"), ["a", "d", "a"]),
        ([("b", "a"), ("x", "y")], ("a", "y", "b"), ["a", "b", "a"]),
    ],
)
def test_a_cycle_is_refused_and_shown(edges, link, cycle):
    state = linked(*edges)
    with pytest.raises(Refused) as caught:
        decide(state, Link(link[0], link[1:]))
    assert caught.value.code == "cycle"
    assert caught.value.details["cycle"] == cycle
    assert " → ".join(cycle) in caught.value.message


@pytest.mark.promise(9)
def test_ten_thousand_tasks_in_a_row_are_no_problem():
    needs = {f"t{n}": frozenset({f"t{n - 1}"}) for n in range(1, 10_000)}
    with pytest.raises(Refused) as caught:
        decide(Graph(needs=needs), Link("t0", ("t9999",)))
    assert len(caught.value.details["cycle"]) == 10_001
    assert decide(Graph(needs=needs), Link("t10000", ("t9999",)))


TASKS = "abcdef"
graphs = st.dictionaries(st.sampled_from(TASKS), st.frozensets(st.sampled_from(TASKS), max_size=4))


def distances(needs, start):
    """How many steps it takes from `start` to wherever one gets; by walking on until nothing changes."""
    known = {start: 0}
    for steps in range(1, len(TASKS) + 1):
        for node in [node for node, far in known.items() if far == steps - 1]:
            for need in needs.get(node, ()):
                known.setdefault(need, steps)
    return known


@given(graphs, st.sampled_from(TASKS), st.sampled_from(TASKS))
def test_a_path_is_found_if_there_is_one_and_it_is_a_shortest(needs, start, goal):
    path, known = find_path(needs, start, goal), distances(needs, start)
    if path is None:
        assert goal not in known
        return
    assert (path[0], path[-1], len(path)) == (start, goal, known[goal] + 1)
    assert all(after in needs[before] for before, after in itertools.pairwise(path))


class Graphs(RuleBasedStateMachine):
    """Links that come and go, against a set of pairs."""

    def __init__(self):
        super().__init__()
        self.state, self.pairs, self.log = EMPTY, set(), []

    def reached(self, start):
        needs: dict[str, set[str]] = {}
        for task, need in self.pairs:
            needs.setdefault(task, set()).add(need)
        return distances(needs, start)

    @rule(task=st.sampled_from(TASKS), needs=st.lists(st.sampled_from(TASKS), min_size=1, max_size=3))
    def link(self, task, needs):
        command, before = Link(task, tuple(needs)), self.state.plain()
        reachable = {name for start in (task, *needs) for name in self.reached(start)}
        cut = Graph(needs={name: ns for name, ns in self.state.needs.items() if name in reachable})
        closing = [need for need in needs if task in self.reached(need)]
        if closing:
            for state in (self.state, cut):
                with pytest.raises(Refused) as caught:
                    decide(state, command)
                cycle = caught.value.details["cycle"]
                assert cycle[0] == cycle[-1] == task
                assert cycle[1] in closing
                assert all(pair in self.pairs for pair in itertools.pairwise(cycle[1:]))
            assert self.state.plain() == before
            return
        decided = decide(self.state, command)
        assert decide(cut, command) == decided, "what can be reached is enough to decide"
        new = {(task, need) for need in needs} - self.pairs
        assert {(p.plain()["task"], need) for p in decided for need in p.plain()["needs"]} == new
        assert len(decided) == bool(new)
        self.pairs |= new
        for payload in decided:
            self.happened(payload)

    @rule(task=st.sampled_from(TASKS), needs=st.lists(st.sampled_from(TASKS), min_size=1, max_size=3))
    def unlink(self, task, needs):
        decided = decide(self.state, Unlink(task, tuple(needs)))
        gone = {(task, need) for need in needs} & self.pairs
        assert {(p.plain()["task"], need) for p in decided for need in p.plain()["needs"]} == gone
        self.pairs -= gone
        for payload in decided:
            self.happened(payload)

    def happened(self, payload):
        self.log.append((payload.type, json.dumps(payload.plain())))
        self.state = evolve(self.state, payload)

    @invariant()
    def nothing_waits_for_itself(self):
        for task, need in self.pairs:
            assert task not in self.reached(need)

    @invariant()
    def the_graph_is_what_the_model_says(self):
        assert {(task, need) for task, needs in self.state.needs.items() for need in needs} == self.pairs

    def teardown(self):
        state = EMPTY
        for kind, data in self.log:
            state = evolve(state, EVENTS[kind].of(json.loads(data)))
        assert state == self.state


TestGraphs = pytest.mark.promise(9)(Graphs.TestCase)
Graphs.TestCase.settings = settings(max_examples=settings.default.max_examples // 2, stateful_step_count=15)


def test_a_need_that_is_gone_blocks_nobody_any_more_and_may_come_back_the_other_way_round():
    graph = Graph(needs={"b": frozenset({"a"})})
    (gone,) = decide(graph, Unlink(task="b", needs=("a", "never")))
    assert gone == Unlinked(task="b", needs=("a",))
    without = evolve(graph, gone)
    assert decide(without, Unlink(task="b", needs=("a",))) == []
    assert decide(without, Link(task="a", needs=("b",))) == [Linked(task="a", needs=("b",))]
