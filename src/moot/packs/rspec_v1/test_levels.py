"""The test level of a method, by the classes that it uses."""

from __future__ import annotations

import os

from moot.packs.ruby.conditionals import body_of
from moot.packs.ruby.syntax import constant_name, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

    from moot.packs.ruby.methods import Class, Method

UNIT, INTEGRATION, REQUEST = "unit", "integration", "request"
_QUERIES = frozenset(
    (
        *("all", "where", "find", "find_by", "find_by!", "find_each", "find_or_create_by", "find_or_create_by!"),
        *("find_or_initialize_by", "first", "last", "create", "create!", "count", "exists?", "pluck", "insert_all"),
        *("upsert_all", "update_all", "delete_all", "destroy_all", "order", "joins", "includes", "transaction", "lock"),
    )
)


def level_of(path: str, owner: str, classes: tuple[Class, ...], used: set[str]) -> str:
    """`request` for a controller, `integration` for a method that uses two or more classes, else `unit`."""
    above = next((one.superclass for one in classes if one.name == owner and one.superclass), None) or ""
    if owner.endswith("Controller") or above.endswith("Controller") or "controllers" in path.split("/")[:-1]:
        return REQUEST
    return INTEGRATION if len(used) > 1 else UNIT


def used_classes(method: Method) -> set[str]:
    """The models and services that a method calls: `User.find`, `Billing::Charge.new`. Errors are neither."""
    body = body_of(method.node)
    own = {method.owner, method.owner.rpartition("::")[2]}
    known = _not_of_a_project()
    found = set()
    for node in walk(body) if body is not None else ():
        name = _called_on(node)
        if name is None or name in own or name.partition("::")[0] in known:
            continue
        if name.endswith(("Error", "Exception")) or name.rpartition("::")[2].isupper():
            continue
        found.add(name)
    return found


def uses_models(method: Method) -> bool:
    """Whether the method queries or creates records: `User.where(…)`."""
    body = body_of(method.node)
    for node in walk(body) if body is not None else ():
        name = _called_on(node)
        called = node.child_by_field_name("method")
        if name is not None and called is not None and text(called) in _QUERIES:
            return name.partition("::")[0] not in _not_of_a_project()
    return False


def _called_on(node: Node) -> str | None:
    """The constant that a call has as its receiver."""
    receiver = node.child_by_field_name("receiver") if node.type == "call" else None
    name = None if receiver is None else constant_name(receiver)
    return None if name is None else name.removeprefix("::")


_known: list[frozenset[str]] = []


def _not_of_a_project() -> frozenset[str]:
    if not _known:
        with open(os.path.join(os.path.dirname(__file__), "data", "ruby_classes.txt"), encoding="utf-8") as file:
            _known.append(frozenset(line.strip() for line in file if not line.startswith("#")))
    return _known[0]
