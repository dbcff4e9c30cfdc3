"""Keeps redacted text redacted when an older copy replaces the log: the redactions are repeated in the copy."""

from __future__ import annotations

from moot.core.event import Draft
from moot.core.integrity.redaction import MARK, Redacted, blanked, digest_of, removes_named, rest_of, takes_words
from moot.log import REDACTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.core.event import Commit, Event
    from moot.log import Shown


def redact_again(old: Shown, new: Shown, commit: Commit) -> tuple[int, ...]:
    """Redact in `new` what is redacted in `old`, and erase what is erased there. Returns the changed positions.

    It skips positions with another event, and tombstones that contradict the event, because those are forged. No other
    process may write to `new`.
    """
    drafts: dict[int, list[Draft]] = {}
    rows: dict[int, dict[str, Any]] = {}
    known = dict(new.tombstones())
    for position, said in old.tombstones().items():
        here, there = (log.raw.read(position - 1, 1) for log in (old, new))
        if not here or not there or (there[0].commit, there[0].n) != (said.get("commit"), said.get("n")):
            continue
        before = known.get(position, {"fields": (), "digest": _origin(there[0], said)})
        proven = [one for one in said["each"] if _fits(there[0], one, before["digest"])]
        fields = tuple(dict.fromkeys(field for one in proven for field in one["fields"]))
        erased = _erased(here[0], fields, before["digest"])
        named = tuple(before["fields"])
        # Erased fields first: then the rest of the event is what the tombstone records.
        for some in (erased, [field for field in fields if field not in erased]):
            lacking = tuple(field for field in some if field not in named)
            named = (*named, *lacking)
            if lacking:
                drafts.setdefault(position, []).append(_tombstone(there[0], proven[-1], named, fields=lacking))
            if some is erased and erased:
                rows[position] = blanked(there[0], named, before["digest"])
        blobs = dict.fromkeys(digest for one in proven for digest in one.get("removed", ()))
        lacking = tuple(digest for digest in blobs if digest not in before.get("removed", ()))
        if lacking:
            drafts.setdefault(position, []).append(_tombstone(there[0], proven[-1], named, removed=lacking))
        if rows.get(position) == there[0].data:
            del rows[position]
    if drafts:
        new.append(commit, {}, tuple(draft for some in drafts.values() for draft in some))
    if rows:
        new.archive.erase(rows)
    return tuple(sorted({*drafts, *rows}))


def _origin(event: Event, said: Mapping[str, Any]) -> str:
    """The digest of the original event, for one without a tombstone in the new log."""
    return said["digest"] if event.data.get(MARK) == said["digest"] else digest_of(event.data)


def _fits(event: Event, said: Mapping[str, Any], digest: str) -> bool:
    """Whether a tombstone is about this event, and removes nothing but text and named blobs."""
    same = (said["commit"], said["n"], said["digest"]) == (event.commit, event.n, digest)
    return same and takes_words(event, said["fields"]) and removes_named(event, said)


def _erased(event: Event, fields: Iterable[str], digest: str) -> list[str]:
    """The redacted fields whose text was erased from the log."""
    if event.data.get(MARK) != digest:
        return []
    return [field for field in fields if blanked(event, (field,), digest) == event.data]


def _tombstone(event: Event, said: Mapping[str, Any], named: Iterable[str], **what: tuple[str, ...]) -> Draft:
    """A redaction like `said`, of other fields or blobs; `named` are all fields that are redacted with it."""
    payload = Redacted(
        position=event.position,
        commit=event.commit,
        n=event.n,
        digest=said["digest"],
        reason=str(said.get("reason", "")),
        rest=rest_of(event, named),
        **{"fields": (), "removed": (), **what},
    )
    return Draft(stream=REDACTIONS, type=payload.type, v=payload.v, data=payload.plain())
