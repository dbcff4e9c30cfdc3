"""The test level of a method, by the classes that it uses."""

from __future__ import annotations

import os

from moot.packs.ruby.constant_calls import constant_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    own = {method.owner, method.owner.rpartition("::")[2]}
    names = {one.constant for one in constant_calls(method)} - own
    return {name for name in names if _of_a_project(name) and not _is_error_or_value(name)}


def uses_models(method: Method) -> bool:
    """Whether the method queries or creates records: `User.where(…)`."""
    return any(one.method in _QUERIES and _of_a_project(one.constant) for one in constant_calls(method))


def _is_error_or_value(name: str) -> bool:
    last = name.rpartition("::")[2]
    return last.endswith(("Error", "Exception")) or last.isupper()


def _of_a_project(name: str) -> bool:
    return name.partition("::")[0] not in _not_of_a_project()


_known: list[frozenset[str]] = []


def _not_of_a_project() -> frozenset[str]:
    if not _known:
        with open(os.path.join(os.path.dirname(__file__), "data", "ruby_classes.txt"), encoding="utf-8") as file:
            _known.append(frozenset(line.strip() for line in file if not line.startswith("#")))
    return _known[0]
