"""The names that the arguments of `private`, `attr_reader` and their relatives mean."""

from __future__ import annotations

from moot.packs.ruby.syntax import literal_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

ATTRIBUTES = frozenset(("attr", "attr_reader", "attr_writer", "attr_accessor"))


def arguments(node: Node) -> list[Node]:
    if node.type != "call":
        return []
    arguments = node.child_by_field_name("arguments")
    return [] if arguments is None else [one for one in arguments.named_children if one.type != "comment"]


def method_names(nodes: list[Node]) -> Iterator[str | None]:
    """The method names that arguments of `private` mean; None for one that is computed."""
    for node in nodes:
        kind = node.type
        if kind in {"method", "singleton_method"}:
            name = node.child_by_field_name("name")
            yield text(name) if name is not None else None
        elif kind in {"array", "symbol_array", "string_array", "splat_argument", "parenthesized_statements"}:
            yield from method_names(node.named_children)
        elif kind == "call":
            yield from _names_of_call(node)
        else:
            yield literal_text(node)


def _names_of_call(node: Node) -> Iterator[str | None]:
    """`private attr_reader :a` and `private memoize def a`: the inner call returns the names."""
    method = node.child_by_field_name("method")
    word = text(method) if method is not None else ""
    given = arguments(node)
    if word in ATTRIBUTES:
        yield from attribute_names(node)
    elif word in {"define_method", "alias_method"} or (
        node.child_by_field_name("receiver") is None and any(one.type in {"method", "call"} for one in given[:1])
    ):
        yield from method_names(given[:1])
    else:
        yield None


def attribute_names(node: Node) -> Iterator[str]:
    method = node.child_by_field_name("method")
    word = text(method) if method is not None else ""
    for name in method_names(arguments(node)):
        if name is None:
            continue
        if word != "attr_writer":
            yield name
        if word in {"attr_writer", "attr_accessor"}:
            yield f"{name}="
