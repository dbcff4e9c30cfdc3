"""Patterns as text, compared in one call: what the tests of paths and claims ask."""

from __future__ import annotations

from moot.core.paths import canonical, canonical_pattern, compiled, exactly, meet


def matches(pattern: str, path: str, *, fold: bool = False) -> bool:
    """Whether the path is among those that the pattern means."""
    return meet(compiled(canonical_pattern(pattern), fold=fold), exactly(canonical(path), fold=fold)) is not None


def overlap(a: str, b: str, *, fold: bool = False) -> str | None:
    """A path that both patterns match, or None if there is no such path."""
    return meet(compiled(canonical_pattern(a), fold=fold), compiled(canonical_pattern(b), fold=fold))
