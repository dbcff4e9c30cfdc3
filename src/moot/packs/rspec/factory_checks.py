"""What is checked after an agent has worked on factories: nothing was removed or changed, and every file parses.

New factories, traits and comments may be anywhere; outside of factories also other things, such as sequences.

Pure: gets the contents of the factory files before and after.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GEMS = frozenset(("factory_bot", "factory_bot_rails", "factory_girl", "factory_girl_rails"))


class FactoryText(Record):
    """A part of a file without differences of blanks: its lines of code, and those that are only comments."""

    code: tuple[str, ...]
    comments: tuple[str, ...]


class FoundFactory(Record):
    """A factory: the text outside of its traits and inner factories, and each trait with its text."""

    line: int
    text: FactoryText
    traits: Mapping[str, str]


def factories_in(data: bytes) -> dict[str, FoundFactory]:
    """The factories of a file, by name."""
    from moot.packs.ruby.factories import factories

    found = {}
    every = factories(data).factories
    for one in every:
        traits = {trait.name: _plain(data[trait.start : trait.end]) for trait in one.traits}
        inner = [(trait.start, trait.end) for trait in one.traits]
        inner += [(each.start, each.end) for each in every if one.start < each.start and each.end <= one.end]
        found[one.name] = FoundFactory(one.first_line, _text(_without(data, one.start, one.end, inner)), traits)
    return found


def _outside(data: bytes) -> FactoryText:
    """What a file has outside of its factories."""
    from moot.packs.ruby.factories import factories

    ranges = [(one.start, one.end) for one in factories(data).factories]
    return _text(_without(data, 0, len(data), ranges))


def _without(data: bytes, start: int, end: int, ranges: list[tuple[int, int]]) -> bytes:
    parts, at = [], start
    for first, last in sorted(ranges):
        if first >= at:
            parts.append(data[at:first])
            at = last
    return b"".join([*parts, data[at:end]])


def _text(data: bytes) -> FactoryText:
    lines = [" ".join(line.split()) for line in data.decode("utf-8", "replace").splitlines()]
    code = tuple(line for line in lines if line and not line.startswith("#"))
    return FactoryText(code, tuple(line for line in lines if line.startswith("#")))


def _contains(new: Sequence[str], old: Sequence[str]) -> bool:
    """Whether all of the old is still there, in its order."""
    rest = iter(new)
    return all(one in rest for one in old)


def _is_kept(old: FactoryText, new: FactoryText) -> bool:
    """Whether a factory is what it was, apart from new comments, and from a block where it had none."""
    then, now = " ".join(old.code), " ".join(new.code)
    return now in (then, f"{then} do end") and _contains(new.comments, old.comments)


def _plain(data: bytes) -> str:
    """The text without differences of blanks."""
    return " ".join(data.decode("utf-8", "replace").split())


def factory_problems(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[tuple[str, str, int]]:
    """What an agent broke, as path, text and line."""
    from moot.packs.ruby.factories import factories

    for path, data in after.items():
        for problem in factories(data).problems:
            yield path, f"the file does not parse: {problem.message}", problem.line
    for path, data in before.items():
        if path not in after:
            yield path, "the file was removed", 0
            continue
        new = factories_in(after[path])
        for name, old in factories_in(data).items():
            yield from ((path, text, line) for text, line in _changes(name, old, new.get(name)))
        then, now = _outside(data), _outside(after[path])
        if not (_contains(now.code, then.code) and _contains(now.comments, then.comments)):
            yield path, "what is outside of its factories was changed or removed", 0


def _changes(name: str, old: FoundFactory, new: FoundFactory | None) -> Iterator[tuple[str, int]]:
    if new is None:
        yield f"the factory {name} was removed", 0
        return
    if not _is_kept(old.text, new.text):
        yield f"the factory {name} was changed; only traits and factories may be added", new.line
    for trait, text in old.traits.items():
        if trait not in new.traits:
            yield f"the trait {trait} of the factory {name} was removed", new.line
        elif new.traits[trait] != text:
            yield f"the trait {trait} of the factory {name} was changed", new.line


def traits_by_file(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, tuple[set[str], set[str]]]:
    """For each file: the traits that it has now, and those that were added."""
    found = {}
    for path, data in after.items():
        now = _traits(data)
        found[path] = now, now - _traits(before.get(path, b""))
    return found


def _traits(data: bytes) -> set[str]:
    return {trait for one in factories_in(data).values() for trait in one.traits}
