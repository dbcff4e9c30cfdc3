"""test-reviewer: the command that runs RSpec, and which rules the spec file breaks."""

from __future__ import annotations

from moot.packs.rspec.spec_blocks import blocks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.ruby.sentinel import SpecVerdict

MISSING_TERMINAL = 5  # the rule about terminal branches
SETTING = "Install RSpec, or set the command that runs it in moot.toml: [pack.rspec] rspec."


def command(configured: Sequence[str], lock: str) -> list[str]:
    """The command that runs RSpec: the configured one, or through Bundler if the project locks rspec."""
    if configured:
        return list(configured)
    return ["bundle", "exec", "rspec"] if "\n    rspec-core (" in lock or "\n    rspec (" in lock else ["rspec"]


def missing_terminals(document: Mapping[str, Any], path: str, data: bytes) -> Iterator[dict[str, Any]]:
    """Terminal branches without a context: violations of rule 5."""
    found = blocks_of(data, document["class_name"])
    for method in document["structure"]["methods"]:
        block = found.block(method["name"])
        if block is None:
            continue
        names = {group.text for group in block.group.walk()}
        for name in _terminals(method["contexts"]):
            if name not in names:
                yield {
                    "rule": MISSING_TERMINAL,
                    "description": "Missing terminal branch context",
                    "location": f"{path}:{block.group.line}",
                }


def _terminals(contexts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in contexts:
        if one.get("terminal"):
            yield one["name"]
        yield from _terminals(one.get("children", ()))


def entry_of(violation: Mapping[str, Any]) -> str:
    """A violation as an entry of `automation.errors`."""
    return f"test_reviewer: rule {violation['rule']}: {violation['description']} ({violation['location']})"


def review_errors(violations: Sequence[Mapping[str, Any]], result: SpecVerdict | None) -> tuple[str, ...]:
    """The entries of a review in the list of errors."""
    found = [f"rule {one['rule']}: {one['description']} ({one['location']})" for one in violations]
    if result is not None and not result.passed:
        found += [f"failed: {one.place}" for one in result.failures] or ["no example ran"]
    return tuple(found)
