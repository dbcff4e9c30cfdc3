"""Immutable values with named fields.

A `Record` is what a frozen dataclass would be, without its price: importing `dataclasses` or `typing` costs
a short-lived command more than its whole work (docs/decisions/0002). Type checkers see a frozen dataclass.

Nothing in here knows about events, JSON files or any rule.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar, Never, NoReturn, Self, dataclass_transform
else:

    def dataclass_transform(**_options: object) -> Callable[[type], type]:
        return lambda cls: cls


_ATOMS = frozenset((str, int, float, bool, type(None)))  # most values: what JSON has as it is
_NO_DEFAULT = object()
_set = object.__setattr__
_new = object.__new__


@dataclass_transform(frozen_default=True)
class Record:
    """Subclass it, annotate fields, give defaults where there are any (immutable ones only)."""

    _names: ClassVar[tuple[str, ...]] = ()
    _expected: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[Mapping[str, Any]] = {}
    _pairs: ClassVar[tuple[tuple[str, Any], ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = tuple(n for n, t in cls.__dict__.get("__annotations__", {}).items() if not t.startswith("ClassVar"))
        cls._names = cls._names + tuple(n for n in own if n not in cls._names)
        cls._expected = frozenset(cls._names)
        cls._defaults = {**cls._defaults, **{n: cls.__dict__[n] for n in own if n in cls.__dict__}}
        cls._pairs = tuple((n, cls._defaults.get(n, _NO_DEFAULT)) for n in cls._names)

    def __init__(self, /, *args: Any, **fields: Any) -> None:
        expected = self._expected
        if args:
            fields = {**dict(zip(self._names, args, strict=False)), **fields}
        if len(fields) != len(expected):
            fields = {**self._defaults, **fields}
        if len(fields) != len(expected) or not expected.issuperset(fields) or len(args) > len(fields):
            missing = sorted(self._expected - fields.keys() - self._defaults.keys())
            unknown = sorted(fields.keys() - self._expected)
            raise TypeError(f"{type(self).__name__}: missing {missing}, unknown {unknown}, {len(args)} positional")
        _set(self, "__dict__", fields)  # Python made this dict for this call: it is ours to keep

    @classmethod
    def made(cls, fields: dict[str, Any]) -> Self:
        """A record of exactly these fields, unchecked, for those who make a great many. The dict is given away."""
        found = _new(cls)
        _set(found, "__dict__", fields)
        return found

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: records are values")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self._names)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={self.__dict__[n]!r}' for n in self._names)})"

    def replace(self, /, **changes: Any) -> Self:
        """A copy with some fields changed."""
        fields = {**self.__dict__, **changes}
        return self.made(fields) if len(fields) == len(self._names) else type(self)(**fields)

    def plain(self) -> dict[str, Any]:
        """Its fields as JSON-ready data, in order, those at their default left out."""
        values = self.__dict__
        return {
            name: value if type(value) in _ATOMS else _thaw(value)
            for name, default in self._pairs
            if (value := values[name]) is not default and value != default
        }

    def full(self) -> dict[str, Any]:
        """All its fields as JSON-ready data, in order."""
        return {n: _thaw(self.__dict__[n], whole=True) for n in self._names}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """The record that `plain` described. Keys that this version does not know are left out."""
        known = cls._expected
        fields = {n: _freeze(v) if type(v) is list else v for n, v in data.items() if n in known}
        if len(fields) != len(cls._names):
            fields = {**cls._defaults, **fields}
        return cls.made(fields) if len(fields) == len(cls._names) else cls(**fields)

    @classmethod
    def in_order(cls, values: Sequence[Any]) -> Self:
        """The record with one value for each field, in order."""
        return cls.made(dict(zip(cls._names, values, strict=True)))


def _thaw(value: Any, *, whole: bool = False) -> Any:
    if isinstance(value, Record):
        return value.full() if whole else value.plain()
    if isinstance(value, (tuple, list, frozenset, set)):
        items = sorted(value) if isinstance(value, (frozenset, set)) else value
        return [_thaw(item, whole=whole) for item in items]
    if isinstance(value, dict):
        return {k: _thaw(v, whole=whole) for k, v in value.items()}
    return value


def _freeze(value: Any) -> Any:
    return tuple(_freeze(item) for item in value) if isinstance(value, list) else value


def unreachable(value: Never) -> NoReturn:
    """What `typing.assert_never` is: the type checker proves that nobody gets here."""
    raise AssertionError(f"not handled: {value!r}")
