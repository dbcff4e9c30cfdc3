"""Takes care of the file of a document around a stage: an agent must not ruin it, and it must be there in a run.

A file that the command of a stage made unreadable or deleted fails the stage. Its bytes are quarantined, and it is
written again from the log, whose values stay as they are.
"""

from __future__ import annotations

import os

from moot.pipelines.contract import Problem
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.api.protocol.mirrors import DocumentFile
    from moot.pipelines.contract import Target

DELETED = "was deleted while the stage ran"


def intact(call: Call, target: Target) -> frozenset[str]:
    """The files of the document that exist and can be read."""
    return frozenset(file.path for file in _files(call, target) if file.exists and not file.fault)


def ruined(call: Call, target: Target, before: frozenset[str]) -> list[Problem]:
    """Which of these files were deleted or cannot be read any more. Writes them again."""
    found = [_problem(file) for file in _files(call, target) if file.path in before and (file.fault or not file.exists)]
    if found:
        _restore(call, target)
    return found


def is_shown(call: Call, target: Target) -> bool:
    """Whether the file of the document is there, or there is none to be."""
    return target.document is None or call.mirrors is None or call.mirrors.shows(call, target.document.key)


def show(call: Call, target: Target) -> None:
    """Write the file of a document whose folder was deleted. A worktree that was removed stays so."""
    if any(os.path.isdir(file.root) for file in away(call, target)):
        _restore(call, target)


def away(call: Call, target: Target) -> list[DocumentFile]:
    """The files of a document with values that are not there, nor their folders."""
    if target.document is None or not states.state(call.engine.read(), "document", target.document.key)[0].leaves:
        return []
    return [one for one in _files(call, target) if not one.exists and not os.path.isdir(os.path.dirname(one.path))]


def _files(call: Call, target: Target) -> Iterator[DocumentFile]:
    if target.document is not None and call.mirrors is not None:
        yield from call.mirrors.document_files(call, target.document.key)


def _restore(call: Call, target: Target) -> None:
    assert target.document is not None
    assert call.mirrors is not None
    for notice in call.mirrors.restore(call, target.document.key):
        call.warn(notice.code, notice.message)


def _problem(file: DocumentFile) -> Problem:
    inside = file.path.startswith(os.path.join(os.path.realpath(file.root), ""))
    path = os.path.relpath(file.path, os.path.realpath(file.root)) if inside else file.path
    if not file.exists:
        return Problem(DELETED, path=path)
    return Problem(f"cannot be parsed since the stage ran: {file.fault}", path=path, line=file.line)
