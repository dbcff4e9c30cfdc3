"""The built-in stages validation, skeleton and reviewer. They need neither a program nor the network."""

from __future__ import annotations

import os

from moot.core.errors import Refused
from moot.packs.rspec.architect import OVERWRITE, THEIRS
from moot.packs.rspec_v1.criteria import SPEC
from moot.packs.rspec_v1.method_block import NoBlock
from moot.packs.rspec_v1.review_report import missing_rules, render
from moot.packs.rspec_v1.reviewing import review
from moot.packs.rspec_v1.shipped import rules
from moot.packs.rspec_v1.skeleton import spec_with_skeleton
from moot.packs.rspec_v1.validation import validate
from moot.packs.ruby.regular_files import read_regular
from moot.runs.contract import Problem, StageError, StageOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from moot.packs.rspec_v1.validation import DocumentValidity
    from moot.runs.contract import StageInput

REPORT = "report"
_HELPERS = ("rails_helper", "spec_helper")


def verdict_on(given: StageInput) -> DocumentValidity:
    """The verdict on the document of a target."""
    root = given.target.root
    return validate(dict(given.document or {}), exists=lambda path: os.path.isfile(os.path.join(root, path)))


def validate_document(given: StageInput) -> StageOutput:
    found = verdict_on(given)
    section = found.section()
    if not found.valid:
        raise StageError(
            f"{len(found.errors)} errors in the metadata: {found.errors[0]}",
            problems=[Problem(one) for one in found.errors],
            suggestion="Re-run rspec-analyzer.",
            document={"/validation/errors": section["errors"], "/validation/warnings": section["warnings"]},
        )
    return StageOutput(
        document={"/validation/errors": section["errors"], "/validation/warnings": section["warnings"]},
        warnings=found.warnings,
    )


# --- skeleton --------------------------------------------------------------------------------------------------------


def generate_skeleton(given: StageInput, own: Container[bytes] | None = ()) -> StageOutput:
    """Write the skeleton. `own`: the texts of blocks that moot may replace; None: all."""
    document, path = given.document or {}, given.path(SPEC)
    try:
        made = spec_with_skeleton(document, given.file(SPEC), own, helper=helper_of(given.target.root) or "")
    except Refused as refused:
        raise StageError(refused.message, suggestion=refused.remedy) from refused
    for title, line in made.conflicts:
        where = Problem(THEIRS.format(title), path=path, line=line)
        raise StageError(where.said, problems=[where], suggestion=OVERWRITE)
    return StageOutput(document={"/automation/skeleton_file": path}, files={path: made.data})


def helper_of(root: str) -> str | None:
    """The helper that a new spec file requires: one that is there, and that `.rspec` does not require anyway."""
    options = []
    try:
        options = read_regular(os.path.join(root, ".rspec"), 1 << 16)[0].decode("utf-8", "replace").split()
    except OSError:
        pass
    present = [name for name in _HELPERS if os.path.isfile(os.path.join(root, "spec", f"{name}.rb"))]
    if not present or any(present[0] in option for option in options):
        return None
    return present[0]


# --- reviewer --------------------------------------------------------------------------------------------------------


def write_review(given: StageInput) -> StageOutput:
    path = given.path(SPEC)
    data = given.file(SPEC)
    if data is None:
        raise StageError(f"File not found: {path}")
    try:
        found = review(path, data, given.document)
    except NoBlock as missing:
        raise StageError(f"{path}: {missing}") from missing
    text = render(found)
    return StageOutput(
        files={given.path(REPORT): text.encode()},
        answer={"overall": found.overall, "counts": found.counts, "summary": found.summary, "report": text},
    )


def report_has_every_rule(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """The report has a verdict on every rule, and a section on time handling."""
    path = after.path(REPORT)
    data = after.file(REPORT)
    if data is None:
        yield Problem("there is no report", path=path)
        return
    text = data.decode("utf-8", "replace")
    missing = missing_rules(text, rules())
    if missing:
        yield Problem(f"the report has no verdict on rule {', '.join(map(str, missing))}", path=path)
    if "time handling" not in text.lower():
        yield Problem("the report has no section on time handling", path=path)
