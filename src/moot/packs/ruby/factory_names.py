"""The names in files of factories, and which new ones would change what a file that is there means.

A bare word in a factory, such as `author`, means the factory of this name, else the sequence, else the trait: a new
factory can take the place of a trait. The nearest trait of a name counts: a new one can hide that of a parent.
"""

from __future__ import annotations

from moot.packs.ruby.factories import call_word, factories, given_name
from moot.packs.ruby.syntax import parse, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

_OWNERS = frozenset(("factory", "trait", "transient"))


class KnownNames:
    """The names that exist. A new name that is added is known, too."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._factories: dict[str, str] = {}  # where each name is
        self._traits: dict[str, set[str]] = {}  # by factory
        self._parents: dict[str, str | None] = {}
        self._global: set[str] = set()  # traits outside of factories
        self._sequences: set[str] = set()
        self._words: set[str] = set()  # bare words in factories and traits
        for path, data in files.items():
            for one in factories(data).factories:
                self._factories |= dict.fromkeys((one.name, *one.aliases), f"in {path}, line {one.first_line}")
                self._traits.setdefault(one.name, set()).update(trait.name for trait in one.traits)
                self._parents[one.name] = one.parent
            for node in walk(parse(data).root):
                self._read(node)

    def _read(self, node: Node) -> None:
        owner = _owner(node)
        if node.type == "identifier" and owner in _OWNERS:
            self._words.add(text(node))
        elif call_word(node) == "trait" and owner == "define":
            self._global.add(given_name(node) or "")
        elif call_word(node) == "sequence" and owner == "define":
            self._sequences.add(given_name(node) or "")

    def add_factory(self, name: str) -> str:
        """Add the name of a new factory. Returns what is wrong with it."""
        others = self._sequences.union(self._global, *self._traits.values())
        if name in self._factories:
            return f"the factory {name} already exists{_place(self._factories[name])}"
        if name in self._words & others:
            return f"the factory {name} would replace the trait or sequence that `{name}` means in another factory"
        self._factories[name] = ""
        return ""

    def add_trait(self, factory: str, name: str) -> str:
        """Add the name of a new trait of a factory that was there. Returns what is wrong with it."""
        if name in self._global:
            return f"the trait {name} of the factory {factory} would hide the trait {name} outside of factories"
        at: str | None = factory
        seen: set[str] = set()
        while at is not None and at not in seen:
            if name in self._traits.get(at, ()):
                return f"the trait {name} of the factory {at} already exists"
            seen.add(at)
            at = self._parents.get(at)
        self._traits.setdefault(factory, set()).add(name)
        return ""


def _place(where: str) -> str:
    return f" {where}" if where else ""


def _owner(node: Node) -> str:
    """The word of the call in whose block a statement is; `define` for that of the library."""
    body = node.parent
    block = None if body is None else body.parent
    call = None if block is None or block.type not in ("block", "do_block") else block.parent
    if call is None:
        return ""
    method = call.child_by_field_name("method")
    return call_word(call) or ("" if method is None else text(method))
