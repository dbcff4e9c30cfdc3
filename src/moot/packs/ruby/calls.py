"""The calls in a piece of Ruby, as records: name, receiver, arguments and place. Strings and comments have none.

A bare word, such as `result` in `expect(result)`, may be a local variable or a call without arguments. Ruby decides
that when it runs; here it is a `RubyCall` with `bare` set.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.syntax import first_line, literal_text, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

_NAMES = frozenset(("method", "name", "left", "parameters", "key", "alias"))  # fields in which a word is no call


class Argument(Record):
    """One argument. `key`: of a pair such as `skip: true`. `value`: of a symbol or string literal."""

    source: str
    value: str | None
    key: str | None = None
    symbol: bool = False


class RubyCall(Record):
    """One call. `receiver` is its source, or empty. `block`: whether it has one."""

    name: str
    receiver: str
    arguments: tuple[Argument, ...]
    line: int
    start: int
    end: int
    block: bool = False
    bare: bool = False

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments that are not pairs."""
        return tuple(one for one in self.arguments if one.key is None)

    @property
    def pairs(self) -> dict[str, Argument]:
        return {one.key: one for one in self.arguments if one.key is not None}


def calls_in(root: Node, stop: Callable[[Node], bool] = lambda _: False) -> Iterator[RubyCall]:
    """The calls in a node, in the order of the source; nothing below a node for which `stop` holds."""
    stack: list[tuple[Node, str | None]] = [(root, None)]
    while stack:
        node, field = stack.pop()
        if node is not root and stop(node):
            continue
        if node.type == "call":
            yield call_of(node)
        elif node.type == "identifier" and field not in _NAMES:
            yield _bare(node)
        children = [
            (child, node.field_name_for_child(number)) for number, child in enumerate(node.children) if child.is_named
        ]
        stack.extend(reversed(children))


def call_of(node: Node) -> RubyCall:
    """The record of a `call` node."""
    method, receiver = node.child_by_field_name("method"), node.child_by_field_name("receiver")
    return RubyCall(
        name="call" if method is None else text(method),
        receiver="" if receiver is None else text(receiver),
        arguments=tuple(arguments_of(node)),
        line=first_line(method or node),
        start=node.start_byte,
        end=node.end_byte,
        block=node.child_by_field_name("block") is not None,
    )


def arguments_of(node: Node) -> Iterator[Argument]:
    """The arguments of a `call` node."""
    given = node.child_by_field_name("arguments")
    for one in () if given is None else given.named_children:
        if one.type == "pair":
            key, value = one.child_by_field_name("key"), one.child_by_field_name("value")
            name = None if key is None else literal_text(key)
            shown = text(key) if name is None and key is not None else name
            yield Argument(
                source="" if value is None else text(value),
                value=None if value is None else literal_text(value),
                key=shown or "",
                symbol=value is not None and _is_symbol(value),
            )
        elif one.type != "comment":
            yield Argument(source=text(one), value=literal_text(one), symbol=_is_symbol(one))


def _is_symbol(node: Node) -> bool:
    return node.type in ("simple_symbol", "delimited_symbol")


def _bare(node: Node) -> RubyCall:
    return RubyCall(
        name=text(node),
        receiver="",
        arguments=(),
        line=first_line(node),
        start=node.start_byte,
        end=node.end_byte,
        bare=True,
    )
