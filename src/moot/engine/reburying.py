"""What was redacted stays redacted when an older copy of the log takes its place: the tombstones go along."""

from __future__ import annotations

from moot.core.event import Draft
from moot.core.redaction import MARK, Redacted, blanked
from moot.log import REDACTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.core.event import Commit, Event
    from moot.log import Shown


def bury_again(old: Shown, new: Shown, commit: Commit) -> tuple[int, ...]:
    """Redact in `new` what `old` has redacted, and erase what it has erased. Returns the positions that it changed.

    A position that holds another event there is left alone. Nobody else writes to `new`.
    """
    drafts: dict[int, Draft] = {}
    rows: dict[int, dict[str, Any]] = {}
    known = dict(new.tombstones())
    for position, said in old.tombstones().items():
        here, there = (log.raw.read(position - 1, 1) for log in (old, new))
        if not here or not there or (there[0].commit, there[0].n) != (said.get("commit"), said.get("n")):
            continue
        before = known.get(position, {"fields": (), "digest": said["digest"]})
        lacking = tuple(dict.fromkeys(field for field in said["fields"] if field not in before["fields"]))
        if lacking:
            drafts[position] = _tombstone({**said, "fields": lacking, "digest": before["digest"]})
        erased = _erased(here[0], said)
        row = blanked(there[0], erased, before["digest"])
        if erased and row != there[0].data:
            rows[position] = row
    if drafts:
        new.append(commit, {}, tuple(drafts.values()))
    if rows:
        new.archive.erase(rows)
    return tuple(sorted({*drafts, *rows}))


def _erased(event: Event, said: Mapping[str, Any]) -> list[str]:
    """Those of the redacted fields whose text is not in the log any more."""
    if event.data.get(MARK) != said["digest"]:
        return []
    return [field for field in said["fields"] if blanked(event, (field,), said["digest"]) == event.data]


def _tombstone(said: Mapping[str, Any]) -> Draft:
    payload = Redacted(
        position=said["position"],
        commit=said["commit"],
        n=said["n"],
        digest=said["digest"],
        fields=said["fields"],
        reason=str(said.get("reason", "")),
    )
    return Draft(stream=REDACTIONS, type=payload.type, v=payload.v, data=payload.plain())
