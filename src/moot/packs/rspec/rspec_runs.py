"""Runs RSpec on the spec file of a stage, with a report that also counts the expectations of each example."""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import shell_word
from moot.packs.rspec import reviewing
from moot.packs.rspec.execution import SpecFiles, checked
from moot.packs.rspec.stage_documents import document_of
from moot.packs.ruby.watched_examples import COUNTING, lacks_counting
from moot.runs.contract import StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.place.processes import Ran
    from moot.runs.contract import StageInput

_KEPT = 16 << 20  # bytes of output


class RspecCommand(Record):
    """How the project runs RSpec."""

    argv: tuple[str, ...] = ("rspec",)
    timeout: float = 300.0


def run_rspec(given: StageInput, command: RspecCommand) -> reviewing.RspecResult:
    """Run RSpec on the spec file. Raises `StageError` if it reports no result."""
    path = given.path("spec")
    ran = _run(given, command, reviewing.arguments(path, COUNTING))
    if lacks_counting(ran):
        ran = _run(given, command, reviewing.arguments(path))
    try:
        result = reviewing.result_of(ran.output.tail, ran.code, ran.errors.tail)
    except reviewing.NoResult as error:
        said = ran.errors.tail.decode("utf-8", "replace").strip()
        advice = f"Run it by hand to see why: `{' '.join(shell_word(word, 'FILE') for word in (*command.argv, path))}`"
        raise StageError(str(error), details=said[-2000:], suggestion=advice) from error
    return checked(result, document_of(given), _files(given), given.file("spec") or b"")


def _files(given: StageInput) -> SpecFiles:
    paths = given.target.paths
    return SpecFiles(given.path("spec"), given.path("source"), tuple(paths.get("factories", ())))


def _run(given: StageInput, command: RspecCommand, arguments: list[str]) -> Ran:
    try:
        return given.run([*command.argv, *arguments], timeout=command.timeout, keep=_KEPT)
    except StageError as error:
        advice = error.suggestion or reviewing.SETTING
        raise StageError(error.text, details=error.details, suggestion=advice) from error
