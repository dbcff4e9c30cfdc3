"""The parameters of a method or block, as its signature has them."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.syntax import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {
    "identifier": "required",
    "destructured_parameter": "required",
    "optional_parameter": "optional",
    "splat_parameter": "rest",
    "hash_splat_parameter": "keyword_rest",
    "block_parameter": "block",
    "forward_parameter": "forward",
}


class Parameter(Record):
    """One parameter. `name` is empty for a bare `*`, `**` or `&`."""

    name: str
    kind: str  # required, optional, rest, keyword, optional_keyword, keyword_rest, block, forward
    default: str | None = None


def parameters(node: Node) -> tuple[Parameter, ...]:
    """The parameters of a `def`, a block or a lambda."""
    listed = node.child_by_field_name("parameters")
    if listed is None:
        return ()
    return tuple(one for one in map(_parameter, listed.named_children) if one is not None)


def _parameter(node: Node) -> Parameter | None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if node.type == "keyword_parameter":
        kind = "keyword" if value is None else "optional_keyword"
    elif node.type in _KINDS:
        kind = _KINDS[node.type]
    else:
        return None
    label = text(name) if name is not None else ""
    if node.type in {"identifier", "destructured_parameter"}:
        label = text(node)
    return Parameter(name=label, kind=kind, default=None if value is None else text(value))
