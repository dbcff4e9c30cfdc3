"""The section of `log.md` about a finished review: what was reported, and what the verdict was.

It shows the task as it was when the verdict was given, so that it never changes.
"""

from __future__ import annotations

from moot.api.protocol.journal_lines import line_of
from moot.core.text import one_line
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.views.journal import Happening
    from moot.views.store import Store

_WIDTH = 2000  # characters of a value
_VERDICTS = {"task:approved": "approved", "task:rejected": "rejected"}


def lines(store: Store, happened: Happening) -> list[str]:
    """The line of an event. A verdict on a report is followed by its section."""
    verdict = _VERDICTS.get(happened.type)
    found = [line_of(happened)]
    if verdict is not None and happened.was.get("report"):
        found += ["", *_section(store, happened, verdict), ""]
    return found


def _section(store: Store, happened: Happening, verdict: str) -> Iterator[str]:
    was = happened.was
    said: dict[str, Any] = states.message(store, was["report"])[0].data or {}
    build = said.get("buildResult") or {}
    yield f"## Review of {one_line(str(happened.task), 200)}, attempt {was['attempt']}: {verdict}"
    yield ""
    values = {
        "Task": happened.task,
        "Title": was["title"],
        "Platform": was["extra"].get("platform") or said.get("platform"),
        "Priority": was["priority"],
        "Summary": said.get("summary"),
        "Created": _paths(said.get("filesCreated")),
        "Modified": _paths(said.get("filesModified")),
        "Build": " ".join(
            filter(None, (build.get("status"), f"`{command}`" if (command := build.get("command")) else ""))
        ),
        "Verdict": verdict,
        "Rejection reason": was.get("reason") if verdict == "rejected" else None,
    }
    for name, value in values.items():
        if value or name != "Rejection reason":
            yield f"- **{name}**: {one_line(str(value or 'none'), _WIDTH)}"


def _paths(listed: Any) -> str:
    return ", ".join(f"`{path}`" for path in listed) if isinstance(listed, list) else ""
