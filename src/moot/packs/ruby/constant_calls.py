"""The calls that a method makes on constants: `User.find(1)`, `Billing::Charge.new`."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.conditionals import body_of
from moot.packs.ruby.syntax import constant_name, first_line, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.ruby.methods import Method


class ConstantCall(Record):
    """`constant` is written as in the source, without a leading `::`."""

    constant: str
    method: str
    line: int


def constant_calls(method: Method) -> tuple[ConstantCall, ...]:
    """In the order of the source, methods and classes inside the method included."""
    body = body_of(method.node)
    found = []
    for node in walk(body) if body is not None else ():
        receiver = node.child_by_field_name("receiver") if node.type == "call" else None
        called = node.child_by_field_name("method")
        name = None if receiver is None else constant_name(receiver)
        if name is not None:
            word = "call" if called is None else text(called)  # `A.(1)` is `A.call(1)`
            found.append(ConstantCall(constant=name.removeprefix("::"), method=word, line=first_line(node)))
    return tuple(found)
