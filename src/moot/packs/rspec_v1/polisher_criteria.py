"""What must hold after a command that polishes a spec. The built-in polisher has run the programs itself.

The command's word is not taken: syntax, linter and tests are checked again, and nothing outside the method's block may
have changed but its style. The linter of the project may correct the whole file, so a change of spaces or quotes is
only a warning.
"""

from __future__ import annotations

from moot.packs.rspec_v1 import polisher
from moot.packs.rspec_v1.criteria import descriptions_are_kept, found_block
from moot.packs.rspec_v1.rest_criteria import rest_is_kept
from moot.packs.ruby.syntax import words_of
from moot.runs.contract import Problem, StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.rspec_v1.method_block import MethodBlock
    from moot.runs.contract import Criterion, StageInput

LINTER = "/automation/linter"  # the built-in polisher always sets it, and a command's answer cannot


def by_command(criterion: Criterion) -> Criterion:
    """The criterion, for what a command did."""

    def checked(before: StageInput, after: StageInput) -> Iterator[Problem]:
        if after.output is None or LINTER not in after.output.document:
            yield from criterion(before, after)

    return checked


def rest_is_kept_but_style(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Outside the method's block, at most spaces and quotes were changed, which is a warning."""
    old, new = found_block(before), found_block(after)
    style_only = old is not None and new is not None and _words(old) == _words(new)
    for one in rest_is_kept(before, after):
        yield one.replace(blocks=False) if style_only else one


def _words(block: MethodBlock) -> list[list[str]]:
    data = block.spec.data
    return [words_of(data, 0, block.group.start), words_of(data, block.group.end, len(data))]


def polish_holds(after: StageInput, settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Syntax, linter and tests, as the built-in polisher checks them. Nothing is corrected."""
    warnings: list[str] = []
    try:
        polisher.check_syntax(after, settings)
        polisher.check_style(after, settings, warnings)
        warnings += polisher.check_tests(after, settings)
    except StageError as error:
        advice = f". {error.suggestion}" if error.suggestion else ""
        yield from error.problems or (Problem(f"{error.text}{advice}"),)
    yield from (Problem(one, blocks=False) for one in warnings)


rest_stays = by_command(rest_is_kept_but_style)
texts_stay = by_command(descriptions_are_kept)
