"""Runs RSpec on the spec file of a stage, with a report that also counts the expectations of each example."""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import shell_word
from moot.packs.rspec import loaded_files, reviewing
from moot.packs.rspec.execution import SpecFiles, checked
from moot.packs.rspec.stage_documents import document_of
from moot.packs.ruby.watched_examples import COUNTING, lacks_counting
from moot.pipelines.contract import StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.rspec.loaded_files import LoadedFiles
    from moot.pipelines.contract import StageInput
    from moot.place.processes import Ran

_KEPT = 16 << 20  # bytes of output


class RspecCommand(Record):
    """How the project runs RSpec."""

    argv: tuple[str, ...] = ("rspec",)
    timeout: float = 300.0


def run_rspec(given: StageInput, command: RspecCommand, files: LoadedFiles | None = None) -> reviewing.RspecResult:
    """Run RSpec on the spec file. Raises `StageError` if it reports no result. `files`: note which it has loaded."""
    path, since = given.path("spec"), loaded_files.now()
    ran = _run(given, command, reviewing.arguments(path, COUNTING))
    if lacks_counting(ran):
        ran = _run(given, command, reviewing.arguments(path))
    try:
        result = reviewing.result_of(ran.output.tail, ran.code, ran.errors.tail)
    except reviewing.NoResult as error:
        said = ran.errors.tail.decode("utf-8", "replace").strip()
        advice = f"Run it by hand to see why: `{' '.join(shell_word(word, 'FILE') for word in (*command.argv, path))}`"
        raise StageError(str(error), details=said[-2000:], suggestion=advice) from error
    names = reviewing.loaded_in(ran.output.tail) if files is not None else None
    if files is not None and names is not None:
        found = files.digests(names, given.target.paths.get("factories", ()), since)
        read = (path, given.path("source"))  # the stage reads these, so they are inputs of its own
        result = result.replace(loaded=found and {name: one for name, one in found.items() if name not in read})
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
