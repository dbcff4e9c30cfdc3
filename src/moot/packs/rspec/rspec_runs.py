"""Runs the examples of a stage's methods, and says whether they pass and test something."""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import shell_word
from moot.packs.rspec import reviewing
from moot.packs.rspec.agents import selected_methods
from moot.packs.rspec.contexts import shown_name
from moot.packs.rspec.spec_blocks import blocks_of, planned_blocks
from moot.packs.rspec.stage_documents import document_of
from moot.packs.ruby.rspec_runs import NoResult
from moot.packs.ruby.sentinel import Failure, try_spec
from moot.runs.contract import Problem, StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.packs.ruby.sentinel import SpecVerdict
    from moot.place.processes import Ran
    from moot.runs.contract import StageInput

_KEPT = 1 << 20  # bytes of output


class RspecCommand(Record):
    """How the project runs RSpec."""

    argv: tuple[str, ...] = ("rspec",)
    timeout: float = 300.0


def run_rspec(given: StageInput, command: RspecCommand) -> SpecVerdict:
    """Test the blocks of the selected methods. Raises `StageError`, also for examples that test nothing."""
    path, document, data = given.path("spec"), document_of(given), given.file("spec") or b""

    def program(words: Sequence[str]) -> Ran:
        try:
            return given.run([*command.argv, *words], timeout=command.timeout, keep=_KEPT)
        except StageError as error:
            advice = error.suggestion or reviewing.SETTING
            raise StageError(error.text, details=error.details, suggestion=advice) from error

    planned = planned_blocks(document["structure"], data)
    names = [shown_name(one) for one in selected_methods(document)]
    others = [one for one in blocks_of(data, document["class_name"]).blocks if one.name in names]
    blocks = [*(one for own in planned.values() for one in own), *(one for one in others if one.name not in planned)]
    try:
        found = try_spec(program, given.target.root, path, [one.group for one in blocks])
    except NoResult as error:
        advice = f"Run it by hand to see why: `{' '.join(shell_word(word, 'FILE') for word in (*command.argv, path))}`"
        raise StageError(str(error), details=error.said[-2000:], suggestion=advice) from error
    if found.empty:
        problems = [Problem(one.said, path, one.line) for one in (*found.empty, *found.failures)]
        said = "; ".join(one.place for one in found.empty)
        raise StageError(f"examples pass that test nothing: {said}", problems=problems)
    lost = [name for name, own in planned.items() if not own] if blocks else names
    missing = [Failure(name, f"{path}:1", "it has no block in the spec file") for name in lost]
    return found.replace(failures=(*found.failures, *missing))
