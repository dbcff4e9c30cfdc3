"""The tree of contexts that the characteristics of a document ask for, and the one that a spec has.

The order and the words of contexts may differ, and so may the wording. The nodes may not: each context stands for one
state. Trees are compared by their shape, with children in any order.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.ruby.spec_tree import Group


class StateNode(Record):
    """One state of a characteristic, and what depends on it."""

    characteristic: Mapping[str, Any]
    state: str
    children: tuple[StateNode, ...] = ()

    @property
    def name(self) -> str:
        return str(self.characteristic["name"])

    @property
    def is_default(self) -> bool:
        return self.characteristic.get("default") == self.state

    @property
    def words(self) -> str:
        """The text of its context without the first word."""
        return words_of(self.characteristic, self.state)


def words_of(characteristic: Mapping[str, Any], state: str) -> str:
    """`authenticated` and `NOT authenticated` for a binary one; `balance is sufficient` for the others."""
    said = state.replace("_", " ")
    said = f"NOT {said.removeprefix('not ')}" if state.startswith("not_") else said
    return (
        said if characteristic.get("type") == "binary" else f"{str(characteristic['name']).replace('_', ' ')} is {said}"
    )


def tree_of(characteristics: Sequence[Mapping[str, Any]]) -> tuple[StateNode, ...]:
    """The nodes of the roots, in the order of the document. The document is valid, so there is no cycle."""
    below: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in characteristics:
        if one.get("depends_on") is not None:
            below.setdefault((one["depends_on"], one["when_parent"]), []).append(one)

    def nodes(one: Mapping[str, Any]) -> Iterator[StateNode]:
        for state in one["states"]:
            nested = [node for child in below.get((one["name"], state), ()) for node in nodes(child)]
            yield StateNode(characteristic=one, state=state, children=tuple(nested))

    roots = [one for one in characteristics if one.get("depends_on") is None]
    return tuple(node for root in roots for node in nodes(root))


def shape_of_nodes(nodes: Sequence[StateNode]) -> tuple[Any, ...]:
    return tuple(sorted(shape_of_nodes(node.children) for node in nodes))


def contexts_of(group: Group) -> tuple[Group, ...]:
    """The contexts in a group, without shared examples."""
    return tuple(one for one in group.groups if not one.kind.startswith("shared"))


def shape_of_group(group: Group) -> tuple[Any, ...]:
    """The shape of the contexts in a group, whatever their order."""
    return tuple(sorted(shape_of_group(one) for one in contexts_of(group)))


def leaves(group: Group) -> Iterator[Group]:
    """The contexts without a context in them."""
    for one in contexts_of(group):
        if contexts_of(one):
            yield from leaves(one)
        else:
            yield one


def matched(group: Group, nodes: Sequence[StateNode]) -> dict[int, StateNode]:
    """The state of each context, by its offset.

    A context has the state whose words it has, else one whose state it mentions, else the next one in order.
    """
    found: dict[int, StateNode] = {}
    left = list(nodes)
    unknown = list(contexts_of(group))
    for fits in (_has_words, _mentions, lambda _text, _node: True):
        for one in list(unknown):
            node = next((node for node in left if fits((one.text or "").lower(), node)), None)
            if node is not None:
                left.remove(node)
                unknown.remove(one)
                found[one.start] = node
    for one in contexts_of(group):
        if one.start in found:
            found |= matched(one, found[one.start].children)
    return found


def _has_words(text: str, node: StateNode) -> bool:
    return text.partition(" ")[2] == node.words.lower()


def _mentions(text: str, node: StateNode) -> bool:
    return f" {node.state.replace('_', ' ').lower()} " in f" {text} "
