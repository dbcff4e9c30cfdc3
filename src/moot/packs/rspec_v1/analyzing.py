"""The stage analyzer: the sections of the document from the source and the factories.

If an earlier analysis of the same source by the same analyzer with the same options is at hand, only
`factories_detected` is made new. A valid document of another program is used as it is.
"""

from __future__ import annotations

import os

from moot.core.errors import MootError
from moot.core.json_codec import dumps
from moot.core.record import Record
from moot.packs.rspec_v1 import analysis
from moot.packs.rspec_v1.caching import Recorded, SourceState
from moot.packs.rspec_v1.validation import BUILT_IN, validate
from moot.packs.ruby.factories import detect_factories
from moot.runs.contract import Problem, StageError, StageOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.runs.contract import StageInput

SECTIONS = ("analyzer", "test_level", "target", "characteristics")
_SECOND = 10**9


class Cached(Record):
    """An earlier analysis: the document, and what moot recorded with it (None for one of another program)."""

    document: Mapping[str, Any]
    recorded: Recorded | None
    lines: Mapping[str, int] = {}
    warnings: tuple[str, ...] = ()  # about the source


def state_of(given: StageInput) -> SourceState | None:
    """The source file as the stage has read it; None if it does not exist."""
    data, path = given.file("source"), given.path("source")
    if data is None:
        return None
    return source_state(data, given.mtimes.get(path, 0))


def source_state(data: bytes, nanoseconds: int) -> SourceState:
    from hashlib import sha256

    return SourceState(mtime=nanoseconds // _SECOND, nanoseconds=nanoseconds, digest=sha256(data).hexdigest())


def options_of(parameters: Mapping[str, Any]) -> str:
    """What an analysis depends on besides the source and the method, as a text; empty if that is the default."""
    return dumps({"level": parameters["level"]}) if parameters.get("level") else ""


def run_analysis(given: StageInput, cached: Cached | None) -> StageOutput:
    """Analyse the target of the stage."""
    path = given.path("source")
    state = state_of(given)
    if state is None:
        raise StageError(f"Source file not found: {path}", suggestion="Check the path.")
    detected, options = detect_factories(_factories(given)), options_of(given.parameters)
    if cached is not None and _is_same(cached, state, options):
        sections = {name: cached.document[name] for name in SECTIONS}
        about_source, lines = cached.warnings, cached.lines
    else:
        found = _analysed(given)
        _check_unchanged(given, state)
        about_source, lines = found.warnings, found.lines
        about = {"timestamp": _utc(given.now), "source_file_mtime": state.mtime, "version": analysis.VERSION}
        sections = {
            "analyzer": about,
            "test_level": found.test_level,
            "target": found.target,
            "characteristics": found.characteristics,
        }
    recorded = Recorded(state.nanoseconds, state.digest, analysis.VERSION, options)
    kept = {**recorded.full(), "lines": dict(lines), "warnings": list(about_source)}
    return _checked(sections, detected.found, kept, (*about_source, *detected.warnings))


def _analysed(given: StageInput) -> analysis.Analysis:
    asked = given.parameters
    kind = {"instance": "#", "class": "."}.get(str(asked.get("method_type")), "")
    try:
        return analysis.analyze(
            given.file("source") or b"",
            given.path("source"),
            f"{kind}{asked.get('method', '')}",
            asked.get("class") or None,
            level=asked.get("level") or None,
        )
    except MootError as error:
        raise StageError(error.message, suggestion=advice_on(error)) from error


def advice_on(error: MootError) -> str:
    """What to do if the method cannot be found."""
    return "Repeat it with --class." if error.code == "ruby_class_ambiguous" else error.remedy


def _factories(given: StageInput) -> dict[str, bytes] | None:
    files = {path: data for path, data in given.files.get("factories", {}).items() if path.endswith(".rb")}
    folder = given.target.paths.get("factories", ("",))[0]
    if not files and not os.path.isdir(os.path.join(given.target.root, folder)):
        return None
    return files


def _check_unchanged(given: StageInput, state: SourceState) -> None:
    """Fail if the source changed while it was analysed: its mtime would be that of another content."""
    try:
        now = os.stat(os.path.join(given.target.root, given.path("source"))).st_mtime_ns
    except OSError:
        now = -1
    if now != state.nanoseconds:
        raise StageError(f"{given.path('source')} changed while it was analysed", suggestion="Run it again.")


def _checked(
    sections: Mapping[str, Any],
    factories: Mapping[str, Any],
    kept: Mapping[str, Any],
    warnings: tuple[str, ...],
) -> StageOutput:
    """The output, if the document is valid with it."""
    version = f"{BUILT_IN} {analysis.VERSION}"
    draft = {**sections, "factories_detected": dict(factories), "automation": {"analyzer_version": version}}
    draft["analyzer"] = {**sections["analyzer"], "completed": True}
    verdict = validate(draft)
    if not verdict.valid:
        problems = [Problem(one) for one in verdict.errors]
        raise StageError(f"the analysis is not valid: {verdict.errors[0]}", problems=problems)
    document = {f"/{name}": sections[name] for name in SECTIONS if name != "analyzer"}
    document |= {f"/analyzer/{name}": value for name, value in sections["analyzer"].items() if name != "completed"}
    document |= {"/factories_detected": dict(factories), "/automation/analyzer_version": version}
    return StageOutput(document=document, warnings=warnings, answer=kept)


def _is_same(cached: Cached, state: SourceState, options: str) -> bool:
    recorded = cached.recorded
    if recorded is None:  # of another program: its own five steps held before the run began
        return True
    return recorded == Recorded(state.nanoseconds, state.digest, analysis.VERSION, options)


def _utc(now: str) -> str:
    """The time of the attempt as ISO 8601 in UTC, to the second."""
    return f"{now[:19]}Z"
