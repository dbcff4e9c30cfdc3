"""Runs RSpec on the spec file of a stage, with a report that also counts the expectations of each example."""

from __future__ import annotations

import os

from moot.core.record import Record
from moot.packs.rspec import loaded_files, reviewing
from moot.packs.rspec.execution import checked
from moot.packs.rspec.stage_documents import document_of
from moot.pipelines.contract import StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.packs.rspec.loaded_files import LoadedFiles
    from moot.pipelines.contract import StageInput
    from moot.processes import Ran

COUNTING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counting.rb")
_KEPT = 16 << 20  # bytes of output


class RspecCommand(Record):
    """How the project runs RSpec."""

    argv: tuple[str, ...] = ("rspec",)
    timeout: float = 300.0


def run_rspec(given: StageInput, command: RspecCommand, files: LoadedFiles | None = None) -> reviewing.RspecResult:
    """Run RSpec on the spec file. Raises `StageError` if it reports no result. `files`: note which it has loaded."""
    path, since = given.path("spec"), loaded_files.now()
    ran = _run(given, command, reviewing.arguments(path, COUNTING))
    if _lacks_counting(ran):
        ran = _run(given, command, reviewing.arguments(path))
    try:
        result = reviewing.result_of(ran.output.tail, ran.code)
    except reviewing.NoResult as error:
        said = ran.errors.tail.decode("utf-8", "replace").strip()
        advice = f"Run it by hand to see why: {' '.join([*command.argv, path])}"
        raise StageError(str(error), details=said[-2000:], suggestion=advice) from error
    names = reviewing.loaded_in(ran.output.tail) if files is not None else None
    if files is not None and names is not None:
        found = files.digests(names, given.target.paths.get("factories", ()), since)
        read = (path, given.path("source"))  # the stage reads these, so they are inputs of its own
        result = result.replace(loaded=found and {name: one for name, one in found.items() if name not in read})
    return checked(result, document_of(given), path, given.file("spec") or b"")


def _run(given: StageInput, command: RspecCommand, arguments: list[str]) -> Ran:
    try:
        return given.run([*command.argv, *arguments], timeout=command.timeout, keep=_KEPT)
    except StageError as error:
        advice = error.suggestion or reviewing.SETTING
        raise StageError(error.text, details=error.details, suggestion=advice) from error


def _lacks_counting(ran: Ran) -> bool:
    """Whether RSpec could not load the report that counts: it may run where moot's files are not, in a container."""
    said = ran.errors.tail + ran.output.tail[-4096:]
    return ran.code != 0 and (
        b"cannot load such file -- " + COUNTING.encode() in said or reviewing.REPORT.encode() in said
    )
