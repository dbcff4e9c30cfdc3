"""What a method uses: constants, instance variables, methods of its own object, and local variables."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.ruby.syntax import constant_name, literal_text, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from moot.packs.ruby.methods import Method

_INNER = frozenset(("method", "singleton_method", "class", "module", "singleton_class"))
_BY_NAME = frozenset(("send", "__send__", "public_send", "method"))


class MethodUses(Record):
    """What one definition calls: constants, instance variables, and methods of its own object."""

    constants: tuple[str, ...]
    variables: tuple[str, ...]
    own: tuple[str, ...]


def uses_of(method: Method) -> MethodUses:
    """What a definition calls. Definitions inside it are not looked at."""
    node = method.node
    constants: dict[str, None] = {}
    variables: dict[str, None] = {}
    own: dict[str, None] = {}
    locals_ = local_names(method)
    for one in walk(node, _INNER):
        if one.type in {"call", "element_reference"}:
            receiver = one.child_by_field_name("receiver" if one.type == "call" else "object")
            if receiver is None or receiver.type == "self":
                own |= dict.fromkeys(_called_names(one))
            elif receiver.type == "instance_variable":
                variables[text(receiver)] = None
            elif (name := constant_name(receiver)) is not None:
                constants[name] = None
        elif one.type == "identifier" and text(one) not in locals_:
            own[text(one)] = None
    return MethodUses(constants=tuple(constants), variables=tuple(variables), own=tuple(own))


def _called_names(call: Node) -> Iterator[str]:
    """The method that a call without receiver means, also as `send(:name)` and `method(:name)`."""
    method, arguments = call.child_by_field_name("method"), call.child_by_field_name("arguments")
    if method is None:
        return
    yield text(method)
    if text(method) in _BY_NAME and arguments is not None and arguments.named_children:
        name = literal_text(arguments.named_children[0])
        if name is not None:
            yield name


def local_names(method: Method) -> frozenset[str]:
    """The names that are parameters or are assigned somewhere inside."""
    names: set[str] = set()
    for one in walk(method.node, _INNER):
        if one.type.endswith("_parameters"):
            names.update(text(part) for part in walk(one) if part.type == "identifier")
        elif one.type in {"assignment", "operator_assignment"}:
            left = one.child_by_field_name("left")
            if left is not None:
                names.update(text(part) for part in walk(left) if part.type == "identifier")
    return frozenset(names)
