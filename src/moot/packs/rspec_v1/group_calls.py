"""The calls in a group of examples, by where they are."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.packs.ruby.calls import RubyCall
    from moot.packs.ruby.spec_tree import Group


def calls_of(group: Group) -> Iterator[RubyCall]:
    """The calls of a group, without those of nested groups."""
    yield from group.calls
    yield from setup_calls(group)
    for example in group.examples:
        yield from example.calls


def setup_calls(group: Group) -> Iterator[RubyCall]:
    for definition in group.definitions:
        yield from definition.calls
    for hook in group.hooks:
        yield from hook.calls
