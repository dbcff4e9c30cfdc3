"""A JSON object as a flat mapping from pointers (RFC 6901) to leaves: `/agents/scout/state` → `"busy"`.

A leaf is a number, a string, a boolean, null, a list, or an empty object. A list whose items have a key (`{"/agents":
"id"}`) is not a leaf: its items are addressed by their keys, in any order. Changes of different leaves never conflict.

A pattern is a pointer in which `*` matches any single name. It covers what it names and everything below.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Leaves = Mapping[str, Any]


class Unkeyed(ValueError):
    """The items of a list are not objects with unique keys."""


class LeafChange(Record):
    """A change: the leaves that are new or have new values, and the pointers of removed ones."""

    set: dict[str, Any] = {}  # noqa: RUF012
    gone: tuple[str, ...] = ()

    @property
    def pointers(self) -> tuple[str, ...]:
        return (*self.set, *self.gone)

    def only(self, pointers: Iterable[str]) -> LeafChange:
        wanted = frozenset(pointers)
        return LeafChange(
            set={at: value for at, value in self.set.items() if at in wanted},
            gone=tuple(at for at in self.gone if at in wanted),
        )


def flatten(content: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """The leaves of an object. `keys`: patterns of lists, each with the key of its items. Raises `Unkeyed`."""
    found: dict[str, Any] = {}
    _flatten(content, "", keys, found)
    found.pop("", None)  # the leaf of an empty object
    return found


def _flatten(value: Any, at: str, keys: Mapping[str, str], found: dict[str, Any]) -> None:
    key = _key_of(at, keys) if isinstance(value, list) else None
    if key is not None:
        value = _keyed(value, at, key)
    if not isinstance(value, dict) or not value:
        found[at] = value
        return
    for name, inner in value.items():
        _flatten(inner, f"{at}/{_escaped(name)}", keys, found)


def _keyed(items: list[Any], at: str, key: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in items:
        name = item.get(key) if isinstance(item, dict) else None
        if not isinstance(name, str) or name in found:
            raise Unkeyed(f"each item of the list {at} needs a unique text {key!r}")
        found[name] = item
    return found


def _key_of(at: str, keys: Mapping[str, str]) -> str | None:
    return next((key for pattern, key in keys.items() if _fits(pattern, at)), None)


def unflatten(leaves: Leaves, keys: Mapping[str, str]) -> dict[str, Any]:
    """The object with these leaves, in this order."""
    found: dict[str, Any] = {}
    for at, value in leaves.items():
        here, names = found, [_plain(name) for name in at.split("/")[1:]]
        for name in names[:-1]:
            inner = here.get(name)
            if not isinstance(inner, dict):
                inner = here[name] = {}
            here = inner
        here[names[-1]] = value
    if not keys:
        return found
    unkeyed: dict[str, Any] = _unkeyed(found, "", keys)
    return unkeyed


def _unkeyed(value: Any, at: str, keys: Mapping[str, str]) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _unkeyed(item, f"{at}/{_escaped(name)}", keys) for name, item in value.items()}
    return list(inner.values()) if at and _key_of(at, keys) is not None else inner


def difference(before: Leaves, after: Leaves) -> LeafChange:
    changed = {at: value for at, value in after.items() if at not in before or not same(before[at], value)}
    return LeafChange(set=changed, gone=tuple(at for at in before if at not in after))


def applied(leaves: Leaves, change: LeafChange) -> dict[str, Any]:
    """The leaves after a change."""
    gone, replaced = frozenset(change.gone), overlapping(change.set)
    kept = {at: value for at, value in leaves.items() if at in change.set or (at not in gone and not replaced(at))}
    return {**kept, **change.set}


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON. 1, 1.0 and true are different."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def overlapping(pointers: Iterable[str]) -> Callable[[str], bool]:
    """A function that tells whether a leaf is one of these, contains one of them, or is inside one."""
    own = frozenset(pointers)
    above = {higher for at in own for higher in _above(at)}
    return lambda at: at in own or at in above or any(higher in own for higher in _above(at))


def _above(at: str) -> list[str]:
    names = at.split("/")
    return ["/".join(names[:n]) for n in range(2, len(names))]


def owner_of(at: str, owners: Mapping[str, str]) -> str | None:
    """The owner of a leaf, by the longest pattern that covers it; None if it has no owner."""
    fitting = [pattern for pattern in owners if covers(pattern, at)]
    return owners[max(fitting, key=lambda pattern: pattern.count("/"))] if fitting else None


def covers(pattern: str, at: str) -> bool:
    """Whether a leaf is at or below a pattern, in which `*` stands for any name."""
    if "*" not in pattern:
        return at == pattern or at.startswith(f"{pattern}/")
    return _fits(pattern, "/".join(at.split("/")[: pattern.count("/") + 1]))


def covering(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A function that tells whether a leaf is at or below one of these patterns: `covers`, for many leaves."""
    fixed, wild = list[str](), list[str]()
    for one in patterns:
        (wild if "*" in one else fixed).append(one)
    exact, starts = frozenset(fixed), tuple(f"{one}/" for one in fixed)
    if not wild:
        return lambda at: at in exact or at.startswith(starts)
    return lambda at: at in exact or at.startswith(starts) or any(covers(one, at) for one in wild)


def _fits(pattern: str, at: str) -> bool:
    names, found = pattern.split("/"), at.split("/")
    return len(names) == len(found) and all(name in ("*", here) for name, here in zip(names, found, strict=True))


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _plain(name: str) -> str:
    return name.replace("~1", "/").replace("~0", "~")
