"""Layers of a graph in which nodes wait for groups; cycles are cut."""

from __future__ import annotations

import pytest

from moot.core.layers import layers_of


def own(needs: dict[str, set[str]]) -> tuple[tuple[str, ...], ...]:
    """The layers where each node is its own group."""
    return layers_of({name: name for name in needs}, needs).layers


def test_a_node_is_one_layer_above_the_last_one_that_it_needs() -> None:
    assert own({"c": {"b", "a"}, "b": {"a"}, "a": set(), "d": set()}) == (("a", "d"), ("b",), ("c",))


def test_a_node_waits_until_the_whole_group_that_it_needs_is_done() -> None:
    groups = {"Pay#a": "Pay", "Pay#b": "Pay", "Fee#x": "Fee", "Shop#buy": "Shop"}
    needs = {"Pay#b": {"Fee"}, "Shop#buy": {"Pay"}}
    assert layers_of(groups, needs).layers == (("Fee#x", "Pay#a"), ("Pay#b",), ("Shop#buy",))


def test_needs_of_the_own_group_and_of_unknown_groups_do_not_count() -> None:
    assert layers_of({"A#x": "A"}, {"A#x": {"A", "Elsewhere"}}).layers == (("A#x",),)


def test_a_cycle_is_cut_at_the_node_with_the_fewest_needs_and_ties_go_by_name() -> None:
    found = layers_of({"A#x": "A", "B#y": "B", "C#z": "C"}, {"A#x": {"B", "C"}, "B#y": {"A"}, "C#z": {"A"}})
    assert found.layers == (("B#y",), ("A#x",), ("C#z",))
    assert [(cut.node, cut.waits_for, cut.cycle) for cut in found.cuts] == [
        ("B#y", ("A",), ("B", "A", "B")),
        ("A#x", ("C",), ("A", "C", "A")),
    ]


def test_needs_that_were_met_before_do_not_count_when_a_cycle_is_cut() -> None:
    groups = {"A#x": "A", "B#y": "B", "L#l": "L", "M#m": "M"}
    found = layers_of(groups, {"A#x": {"B", "L", "M"}, "B#y": {"A"}})
    assert found.layers == (("L#l", "M#m"), ("A#x",), ("B#y",))


def test_a_node_that_only_leads_into_a_cycle_names_that_cycle() -> None:
    found = layers_of(
        {"A#a": "A", "B#b": "B", "C#c": "C", "D#d": "D"},
        {"A#a": {"B"}, "B#b": {"C", "D"}, "C#c": {"B", "D"}, "D#d": {"B", "C"}},
    )
    assert found.cuts[0].node == "A#a"
    assert found.cuts[0].cycle in {("B", "C", "B"), ("C", "B", "C")}


@pytest.mark.parametrize("size", [0, 1, 3000])
def test_a_long_chain_has_as_many_layers_as_nodes(size: int) -> None:
    chain = {f"n{number:05}": {f"n{number - 1:05}"} for number in range(size)}
    assert own(chain) == tuple((name,) for name in sorted(chain))


def test_a_ring_is_cut_once() -> None:
    ring = {f"n{number}": {f"n{(number + 1) % 9}"} for number in range(9)}
    found = layers_of({name: name for name in ring}, ring)
    assert len(found.cuts) == 1
    assert found.cuts[0].cycle == (*(f"n{number}" for number in range(9)), "n0")
    assert sorted(name for layer in found.layers for name in layer) == sorted(ring)
