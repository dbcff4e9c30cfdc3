"""Keeps a refused entry of a file: its bytes go into the log, and the recipient gets a note."""

from __future__ import annotations

from moot.core.deciders.held_entry import HoldEntry
from moot.core.deciders.message import SendMessage
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from moot.api.protocol import MirrorSpec
    from moot.core.errors import MootError
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

_NOTE_LIMIT = 1 << 24


class HeldEntries:
    """The held entries of one file. `tasks`: fields that may name a task; `written` returns the entries as text."""

    def __init__(self, spec: MirrorSpec, tasks: Sequence[str], store: Store, written: Callable[[], list[str]]) -> None:
        self._spec, self._tasks, self._store, self._read = spec, tasks, store, written
        self._before: set[str] | None = None  # both are loaded when the first entry is held
        self._written: list[str] = []

    def hold(self, work: Work, entry: Any, place: int, error: MootError) -> str | None:
        """Hold an entry and return its id; None if the same entry is already held: the file is an old copy."""
        if self._before is None:
            held = [h.raw for h in queries.held_entries(self._store) if h.raw and h.mirror == self._spec.name]
            import json

            self._before = {canonical(json.loads(raw)) for raw in held}
            self._written = self._read()
        if canonical(entry) in self._before:
            return None
        self._before.add(canonical(entry))
        identity, said = f"h-{work.token(7)}", f"{error.message} {error.remedy}"
        command = HoldEntry(
            path=self._spec.path,
            mirror=self._spec.name,
            raw=self._written[place],
            code=error.code,
            reason=said,
            defects=tuple(error.details.get("defects", ())),
            task=self._task(entry),
        )
        work.do("entry", identity, command)
        text = f"An entry of {self._spec.path} is held as {identity}: {said}"
        note = SendMessage(
            kind="note",
            sender="moot",
            to=(self._spec.mailbox,),
            wants="nothing",
            size=len(text.encode()),
            limit=_NOTE_LIMIT,
            text=text,
            task=None,
        )
        work.do("message", work.new_message(), note)
        return identity

    def _task(self, entry: Any) -> str | None:
        """The task that an entry names, even if the rest is invalid."""
        if not isinstance(entry, dict):
            return None
        return next((entry[field] for field in self._tasks if isinstance(entry.get(field), str)), None)


def canonical(entry: Any) -> str:
    import json

    return json.dumps(entry, sort_keys=True)


def counted(entries: Iterable[tuple[int, Any]]) -> list[tuple[int, int]]:
    """The index of each distinct entry, and how often it occurs."""
    found: dict[str, tuple[int, int]] = {}
    for place, entry in entries:
        text = canonical(entry)
        first, count = found.get(text, (place, 0))
        found[text] = (first, count + 1)
    return list(found.values())


def as_written(data: bytes, key: str | None) -> list[str]:
    """The text of each entry of a valid file, as it was written. The list is under `key`, or is the whole file."""
    import json

    text, value = data.decode("utf-8-sig"), json.JSONDecoder().raw_decode

    def past(at: int) -> int:
        while text[at] in " \t\r\n,:":
            at += 1
        return at

    at = past(0)
    if key is not None:
        name, at = value(text, past(at + 1))
        while name != key:
            name, at = value(text, past(value(text, past(at))[1]))
        at = past(at)
    at, found = past(at + 1), []
    while text[at] != "]":
        end = value(text, at)[1]
        found.append(text[at:end])
        at = past(end)
    return found
