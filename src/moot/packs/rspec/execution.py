"""Whether RSpec really ran what is planned.

A planned example has passed only if it ran, executed an expectation that could fail, and called the method itself and
not a replacement of it. RSpec itself counts an example as good if it is pending, or has nothing to verify. Examples
outside the planned blocks are a person's own: RSpec's verdict on them stands. Pure: gets what RSpec reported, and the
spec file.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.reviewing import Failure
from moot.packs.rspec.spec_blocks import planned_blocks
from moot.packs.ruby.vacuity import vacuous_examples
from moot.packs.ruby.watched_examples import why_untested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.rspec.reviewing import ExampleResult, RspecResult
    from moot.packs.ruby.spec_tree import Example
    from moot.packs.ruby.vacuity import Vacuity


class SpecFiles(Record):
    """The files of a stage: the spec, the source of the tested methods, and factories."""

    spec: str
    source: str
    factories: tuple[str, ...] = ()

    @property
    def written(self) -> tuple[str, ...]:
        return (self.spec, *self.factories)


def checked(result: RspecResult, document: Mapping[str, Any], files: SpecFiles, data: bytes) -> RspecResult:
    """The result with a failure for each planned example that tested nothing."""
    path = files.spec
    if any(not one.location for one in result.failures):  # the file could not be loaded: nothing ran
        return result
    doubted = {one.start: one for one in vacuous_examples(data)}
    failures, doubts = [], []
    for example in _planned(document, data):
        own = [one for one in result.results if one.path == path and example.line <= one.line <= example.last]
        why, certain = _untested(own, doubted.get(example.start), files)
        if why and certain:
            described = own[0].description if own else example.text or "an example"
            failures.append(Failure(described, f"{path}:{example.line}", why))
        elif why:
            doubts.append(f"{example.text!r}: {why} ({path}:{example.line})")
    return result.replace(
        passed=result.passed and not failures, failures=(*result.failures, *failures), doubts=tuple(doubts)
    )


def _planned(document: Mapping[str, Any], data: bytes) -> Iterator[Example]:
    for blocks in planned_blocks(document["structure"], data).values():
        for block in blocks:
            yield from block.examples


def _untested(own: list[ExampleResult], doubt: Vacuity | None, files: SpecFiles) -> tuple[str, bool]:
    """Why an example tested nothing, and whether that is certain; empty if it tested something, or failed."""
    if not own:
        return "RSpec did not run it", True
    if pending := next((one for one in own if one.status == "pending"), None):
        return f"it did not run: {pending.reason or 'it is pending'}", True
    if any(one.status == "failed" for one in own):
        return "", True
    return why_untested([one.watched for one in own], doubt, files.source, files.written)
