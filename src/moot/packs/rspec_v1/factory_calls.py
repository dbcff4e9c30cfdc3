"""Calls of factories in a spec: which factory, traits and overrides, and whether the record must be in the database."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec_v1.group_calls import calls_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from moot.packs.ruby.calls import Argument, RubyCall
    from moot.packs.ruby.spec_tree import Group

_SINGLE = ("create", "build", "build_stubbed", "attributes_for")
_METHODS = frozenset((*_SINGLE, *(f"{name}_{many}" for name in _SINGLE for many in ("list", "pair"))))
_RECEIVERS = frozenset(("", "FactoryBot", "FactoryGirl"))
_STORED = frozenset(
    (
        *("count", "reload", "find", "find_by", "find_by!", "where", "exists?", "pluck", "first", "last", "all", "ids"),
        *("save", "save!", "update", "update!", "destroy", "destroy!", "delete", "persisted?", "touch", "increment!"),
    )
)


class FactoryCall(Record):
    """One call, such as `create(:user, :admin, name: "Ada")`. `owner`: the `let` that it is in, or empty."""

    method: str
    factory: str
    traits: tuple[str, ...]
    overrides: Mapping[str, Argument]
    line: int
    start: int
    end: int
    owner: str = ""

    @property
    def stores(self) -> bool:
        return self.method.startswith("create")


def factory_call(call: RubyCall, owner: str = "") -> FactoryCall | None:
    """The factory call that this call is; None if it is another one."""
    if call.name not in _METHODS or call.receiver not in _RECEIVERS or not call.positional:
        return None
    first, *others = call.positional
    if not first.symbol or first.value is None:
        return None
    return FactoryCall(
        method=call.name,
        factory=first.value,
        traits=tuple(one.value for one in others if one.symbol and one.value is not None),
        overrides=call.pairs,
        line=call.line,
        start=call.start,
        end=call.end,
        owner=owner,
    )


def factory_calls(group: Group) -> Iterator[FactoryCall]:
    """All factory calls in a group and below it."""
    for one in group.walk():
        for definition in one.definitions:
            yield from _found(definition.calls, definition.name)
        for calls in (one.calls, *(hook.calls for hook in one.hooks), *(example.calls for example in one.examples)):
            yield from _found(calls)


def _found(calls: Iterable[RubyCall], owner: str = "") -> Iterator[FactoryCall]:
    yield from (found for call in calls if (found := factory_call(call, owner)) is not None)


def must_be_stored(made: FactoryCall, group: Group) -> bool:
    """Whether something in the group counts, reloads, queries or saves the record."""
    model = "".join(part.capitalize() for part in made.factory.split("_"))
    for call in (call for part in group.walk() for call in calls_of(part)):
        if call.name in _STORED and (_is_about(call.receiver, made.owner) or _is_about(call.receiver, model)):
            return True
        if call.name == "change" and call.positional and _is_about(call.positional[0].source, model):
            return True
    return False


def _is_about(receiver: str, name: str) -> bool:
    """Whether the receiver is this name, or begins with it: `user`, `user.orders`, `User.active`."""
    return bool(name) and (receiver == name or receiver.startswith((f"{name}.", f"{name}&.", f"{name}::")))


def trait_for(key: str, value: Argument, traits: Iterable[str]) -> str | None:
    """The trait that says the same as an override: `admin: true` or `status: :admin` for the trait `admin`."""
    known = set(traits)
    if value.value is not None and value.value in known:
        return value.value
    return key if key in known and value.source not in ("false", "nil") else None


def traits_of(document: Mapping[str, Any], factory: str) -> tuple[str, ...]:
    """The traits of a factory that the document knows."""
    found = (document.get("factories_detected") or {}).get(factory) or {}
    return tuple(found.get("traits") or ())
