"""Checks of the two messages that the schemas cannot express. Pure. The schemas refuse malformed data."""

from __future__ import annotations

from moot.api.protocol.content import too_deep
from moot.core.schema import Defect
from moot.core.schema.phrases import NOTHING, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

PLATFORMS = ("web", "android", "ios", "custom")
_NAMED = 5


def review(kind: str, data: dict[str, Any], *, from_file: bool) -> tuple[list[Defect], list[str]]:
    """Defects that the schema cannot find, and flags: each is a code, a colon and a sentence for the reviewer."""
    wrong, flags = _review_build(data.get("buildResult"), from_file) if kind == "completion_report" else ([], [])
    return wrong + too_deep(data), flags


def _review_build(build: Any, from_file: bool) -> tuple[list[Defect], list[str]]:  # noqa: FBT001
    status = build.get("status") if isinstance(build, dict) else None
    if status == "not_verified":
        return [], ["build_not_verified: no build was run for this report"]
    if status != "failed":
        return [], []
    if build.get("output", "") != "":
        return [], []
    if from_file:  # a file cannot be refused: a reported failure without output is better than no report
        return [], ["failed_without_output: the build failed and the report does not show its output"]
    found = shown("") if "output" in build else NOTHING
    return [Defect("buildResult.output", "the output of the build when status is failed", found)], []


def reported(data: Mapping[str, Any]) -> list[str]:
    """All files that a report lists."""
    return [*{**_texts(data, "filesCreated"), **_texts(data, "filesModified")}]


def differences(assignment: Mapping[str, Any], data: Mapping[str, Any], absent: Iterable[str]) -> list[str]:
    """Flags where a report differs from what was asked for, and from the tree. `absent`: files that do not exist."""
    created = _texts(data, "filesCreated")
    left_out = [path for path in _texts(assignment, "filesToCreate") if path not in created]
    gone = [*absent]
    found = [f"not_created: asked for, and not reported as created: {_listed(left_out)}"] if left_out else []
    return [*found, f"not_found: reported, and not in the worktree: {_listed(gone)}"] if gone else found


def _listed(paths: list[str]) -> str:
    others = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"{', '.join(map(shown, paths[:_NAMED]))}{others}"


def _texts(data: Mapping[str, Any], field: str) -> dict[str, None]:
    """The distinct strings of a list, in order."""
    given = data.get(field)
    return dict.fromkeys(text for text in given if isinstance(text, str)) if isinstance(given, list) else {}
