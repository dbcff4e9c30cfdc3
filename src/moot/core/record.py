"""Immutable values with named fields.

A `Record` behaves like a frozen dataclass, and type checkers see one. It exists because importing `dataclasses` or
`typing` takes a short-lived command longer than all its work (docs/decisions/0002).

This module knows nothing about events, JSON files or rules.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Never, NoReturn, Self, dataclass_transform

    Shape = tuple[tuple[str, ...], frozenset[str], Mapping[str, Any], tuple[tuple[str, Any], ...]]
else:

    def dataclass_transform(**_options: object) -> Callable[[type], type]:
        return lambda cls: cls


ATOMS = frozenset((str, int, float, bool, type(None)))  # JSON scalars: no conversion needed
_NO_DEFAULT = object()
_set = object.__setattr__
_new = object.__new__
_shapes: dict[type, Shape] = {}


def shape_of(kind: type[Record]) -> Shape:
    """The fields of a class: names in order, as a set, defaults, names with defaults.

    Computed on first use: a command instantiates few of the classes that it imports.
    """
    known = _shapes.get(kind)
    if known is not None:
        return known
    names: dict[str, None] = {}
    defaults: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, Record):
            own = [n for n, t in base.__dict__.get("__annotations__", {}).items() if not t.startswith("ClassVar")]
            names |= dict.fromkeys(own)
            defaults |= {n: base.__dict__[n] for n in own if n in base.__dict__}
    pairs = tuple((n, defaults.get(n, _NO_DEFAULT)) for n in names)
    found = _shapes[kind] = tuple(names), frozenset(names), defaults, pairs
    return found


@dataclass_transform(frozen_default=True)
class Record:
    """A base class: annotate fields in a subclass, with immutable defaults where needed."""

    def __init__(self, /, *args: Any, **fields: Any) -> None:
        names, expected, defaults, _ = _shapes.get(type(self)) or shape_of(type(self))
        if args:
            fields = {**dict(zip(names, args, strict=False)), **fields}
        if len(fields) != len(expected):
            fields = {**defaults, **fields}
        if len(fields) != len(expected) or not expected.issuperset(fields) or len(args) > len(fields):
            missing = sorted(expected - fields.keys() - defaults.keys())
            unknown = sorted(fields.keys() - expected)
            raise TypeError(f"{type(self).__name__}: missing {missing}, unknown {unknown}, {len(args)} positional")
        _set(self, "__dict__", fields)  # Python made this dict for this call, so it can be kept

    @classmethod
    def made(cls, fields: dict[str, Any]) -> Self:
        """A record with exactly these fields, unchecked, for hot paths. The record takes ownership of the dict."""
        record = _new(cls)
        _set(record, "__dict__", fields)
        return record

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: records are values")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in shape_of(type(self))[0])))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={self.__dict__[n]!r}' for n in shape_of(type(self))[0])})"

    def replace(self, /, **changes: Any) -> Self:
        """A copy with some fields changed."""
        fields = {**self.__dict__, **changes}
        if len(fields) != len(self.__dict__):
            return type(self)(**fields)
        found = _new(type(self))
        _set(found, "__dict__", fields)
        return found

    def plain(self) -> dict[str, Any]:
        """Its fields as JSON-ready data, in order, without those at their default."""
        values = self.__dict__
        return {
            name: value if type(value) in ATOMS else _thaw(value)
            for name, default in (_shapes.get(type(self)) or shape_of(type(self)))[3]
            if (value := values[name]) is not default and value != default
        }

    def full(self) -> dict[str, Any]:
        """All its fields as JSON-ready data, in order."""
        values = self.__dict__
        return {n: v if type(v := values[n]) in ATOMS else _thaw(v, whole=True) for n in shape_of(type(self))[0]}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """The record that `plain` described. Keys that this version does not know are left out."""
        _, known, defaults, _ = _shapes.get(cls) or shape_of(cls)
        fields = {n: _freeze(v) if type(v) is list else v for n, v in data.items() if n in known}
        if len(fields) != len(known):
            fields = {**defaults, **fields}
        if len(fields) != len(known):
            return cls(**fields)
        found = _new(cls)
        _set(found, "__dict__", fields)
        return found

    @classmethod
    def in_order(cls, values: Sequence[Any]) -> Self:
        """The record with one value for each field, in order."""
        names = (_shapes.get(cls) or shape_of(cls))[0]
        return cls.made(dict(zip(names, values, strict=True)))


def _thaw(value: Any, *, whole: bool = False) -> Any:
    if isinstance(value, Record):
        return value.full() if whole else value.plain()
    if isinstance(value, (tuple, list, frozenset, set)):
        items = sorted(value) if isinstance(value, (frozenset, set)) else value
        return [item if type(item) in ATOMS else _thaw(item, whole=whole) for item in items]
    if isinstance(value, dict):
        return {k: v if type(v) in ATOMS else _thaw(v, whole=whole) for k, v in value.items()}
    return value


def _freeze(value: list[Any]) -> tuple[Any, ...]:
    return tuple(_freeze(item) if type(item) is list else item for item in value)


def unreachable(value: Never) -> NoReturn:
    """Like `typing.assert_never`: the type checker proves that this is never called."""
    raise AssertionError(f"not handled: {value!r}")
