"""What is checked after an agent has worked on factories: nothing was removed or changed, and every file parses.

Pure: gets the contents of the factory files before and after.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GEMS = frozenset(("factory_bot", "factory_bot_rails", "factory_girl", "factory_girl_rails"))


def factories_in(data: bytes) -> dict[str, frozenset[str]]:
    """The factories of a file by name, each with its traits."""
    from moot.packs.ruby.factories import factories

    return {one.name: frozenset(trait.name for trait in one.traits) for one in factories(data).factories}


def factory_problems(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[tuple[str, str, int]]:
    """What an agent broke, as path, text and line. Files that do not parse are not compared."""
    from moot.packs.ruby.factories import factories
    from moot.packs.ruby.factory_additions import factory_findings

    broken = set()
    for path, data in after.items():
        for problem in factories(data).problems:
            broken.add(path)
            yield path, f"the file does not parse: {problem.message}", problem.line
    yield from ((path, "the file was removed", 0) for path in before if path not in after)
    for one in factory_findings(before, {path: data for path, data in after.items() if path not in broken}):
        yield one.path, one.text, one.line


def traits_by_file(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, tuple[set[str], set[str]]]:
    """For each file: the traits that it has now, and those that were added."""
    found = {}
    for path, data in after.items():
        now = _traits(data)
        found[path] = now, now - _traits(before.get(path, b""))
    return found


def _traits(data: bytes) -> set[str]:
    return {trait for traits in factories_in(data).values() for trait in traits}
