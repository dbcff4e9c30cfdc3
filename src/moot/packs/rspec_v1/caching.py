"""Whether the document of a source file can be used again instead of a new analysis.

`judge` goes through the five steps of the protocol, in its order. They apply to every document. For an analysis that
moot recorded, `Recorded` is compared as well: the target, the nanosecond mtime, the digest of the source, the version
of the analyzer and its options. Pure: everything is passed in.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STEPS = (
    "the path of the document is determined",
    "the document exists, and is that of this target",
    "the document can be read, and analyzer.completed is true",
    "validation.completed is true, and validation.errors is empty",
    "the source, the analyzer and its options are those of the recorded analysis",
)
NOT_FOUND = "metadata not found"
CORRUPTED = "metadata corrupted"
INCOMPLETE = "analysis incomplete"
INVALID = "metadata invalid"
NO_MTIME = "missing source_file_mtime in metadata"
MODIFIED = "source file modified"
OTHER_TARGET = "metadata of another target"
OTHER_ANALYZER = "another version of the analyzer"
OTHER_OPTIONS = "other options of the analysis"


class AnalysisTarget(Record):
    """What an analysis is about. Fields that are None are not compared."""

    file: str
    class_name: str | None = None
    method: str | None = None
    method_type: str | None = None


class SourceState(Record):
    """The source file as it is now."""

    mtime: int  # seconds
    nanoseconds: int  # the whole mtime
    digest: str


class Recorded(Record):
    """What moot recorded with its own analysis."""

    nanoseconds: int
    digest: str
    version: str
    options: str = ""  # what was asked for besides the method


class CacheVerdict(Record):
    """Whether the cache is valid. `step`: the number in STEPS of the first that failed, from 1; 0 if none did."""

    valid: bool
    reason: str | None = None
    step: int = 0
    cached_mtime: int | None = None
    current_mtime: int | None = None


def judge(
    document: dict[str, Any] | None,
    source: SourceState,
    wanted: AnalysisTarget,
    recorded: Recorded | None = None,
    *,
    version: str = "",
    options: str = "",
    corrupted: bool = False,
) -> CacheVerdict:
    """Go through the steps. `document`: None if there is none; `corrupted`: it cannot be parsed."""
    if corrupted:
        return CacheVerdict(valid=False, reason=CORRUPTED, step=3, current_mtime=source.mtime)
    if document is None:
        return CacheVerdict(valid=False, reason=NOT_FOUND, step=2, current_mtime=source.mtime)
    mtime = _map(document, "analyzer").get("source_file_mtime")
    cached = mtime if isinstance(mtime, int) and not isinstance(mtime, bool) else None
    hidden = _hidden_fault(source, recorded, version, options)
    step, reason = _fault(document, cached, source, wanted) or hidden or (0, None)
    return CacheVerdict(valid=reason is None, reason=reason, step=step, cached_mtime=cached, current_mtime=source.mtime)


def _fault(
    document: dict[str, Any], cached: int | None, source: SourceState, wanted: AnalysisTarget
) -> tuple[int, str] | None:
    """The first of the protocol's own steps that fails. A document of another target does not count as existing."""
    target = _map(document, "target")
    fields = {
        "file": wanted.file,
        "class": wanted.class_name,
        "method": wanted.method,
        "method_type": wanted.method_type,
    }
    if target and any(value is not None and target.get(key) != value for key, value in fields.items()):
        return 2, OTHER_TARGET
    if _map(document, "analyzer").get("completed") is not True:
        return 3, INCOMPLETE
    validation = _map(document, "validation")
    if validation.get("completed") is not True or validation.get("errors") != []:
        return 4, INVALID
    if cached is None:
        return 5, NO_MTIME
    return None if cached == source.mtime else (5, MODIFIED)


def _hidden_fault(source: SourceState, recorded: Recorded | None, version: str, options: str) -> tuple[int, str] | None:
    """What the mtime in seconds does not show.

    An edit within one second, a restored mtime, a new analyzer, and that something else was asked for.
    """
    if recorded is None:
        return None
    if (recorded.nanoseconds, recorded.digest) != (source.nanoseconds, source.digest):
        return 5, MODIFIED
    if recorded.version != version:
        return 5, OTHER_ANALYZER
    return None if recorded.options == options else (5, OTHER_OPTIONS)


def _map(document: dict[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}
