"""Keeps a refused entry of a file: its bytes go into the log, and the recipient gets a note."""

from __future__ import annotations

from moot.core.deciders.held_entry import HoldEntry
from moot.core.deciders.message import SendMessage
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from moot.api.protocol import MirrorSpec
    from moot.core.errors import MootError
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

_NOTE_LIMIT = 1 << 24


class HeldEntries:
    """The held entries of one file.

    `tasks`: fields that may name a task; `written` returns the entries as text; `to`: the mailbox that gets the note.
    """

    def __init__(
        self,
        spec: MirrorSpec,
        tasks: Sequence[str],
        store: Store,
        written: Callable[[], list[str]],
        to: str = "",
    ) -> None:
        self._spec, self._tasks, self._store, self._read = spec, tasks, store, written
        self._to = to or spec.mailbox
        self._before: set[str] | None = None  # loaded when needed
        self._written: list[str] = []  # loaded when the first entry is held

    def has(self, entry: Any) -> bool:
        """Whether the same entry is held already: then the file is an old copy."""
        if self._before is None:
            held = [h.raw for h in queries.held_entries(self._store) if h.raw and h.mirror == self._spec.name]
            import json

            self._before = {canonical(json.loads(raw)) for raw in held}
        return bool(self._before) and canonical(entry) in self._before

    def hold(self, work: Work, entry: Any, place: int, error: MootError) -> str | None:
        """Hold an entry and return its id; None if the same entry is held already."""
        if self.has(entry):
            return None
        self._written = self._written or self._read()
        self._before = {*(self._before or ()), canonical(entry)}
        return self._hold(work, entry, self._written[place], error)

    def hold_keys(self, work: Work, keys: Mapping[str, Any], error: Callable[[str], MootError]) -> str | None:
        """Hold keys of the file that are not part of it; None if they were held before, with the same values.

        `error` returns the error for the id. Their writer may have them in a template. So they are not held again when
        somebody has dropped them.
        """
        raw = canonical(keys)
        before = queries.held_entries(self._store, closed=True)
        if any((held.mirror, held.raw) == (self._spec.name, raw) for held in before):
            return None
        identity = f"h-{work.token(7)}"
        return self._hold(work, None, raw, error(identity), identity)

    def _hold(self, work: Work, entry: Any, raw: str, error: MootError, identity: str = "") -> str:
        identity, said = identity or f"h-{work.token(7)}", f"{error.message} {error.remedy}"
        command = HoldEntry(
            path=self._spec.path,
            mirror=self._spec.name,
            raw=raw,
            code=error.code,
            reason=said,
            defects=tuple(error.details.get("defects", ())),
            task=self._task(entry),
        )
        work.do("entry", identity, command, pack=self._spec.pack)
        if not self._to:
            return identity
        text = f"An entry of {self._spec.path} is held as {identity}: {said}"
        note = SendMessage(
            kind="note",
            sender="moot",
            to=(self._to,),
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


def _start(text: str, key: str) -> int:
    """Where the value of this key of the object begins."""
    from moot.core.json_places import JsonPlaces

    return JsonPlaces(text).offset(key)


def as_written(data: bytes, key: str | None) -> list[str]:
    """The text of each entry of a valid file, as it was written. The list is under `key`, or is the whole file."""
    import json

    text, value = data.decode("utf-8-sig"), json.JSONDecoder().raw_decode

    def past(at: int) -> int:
        while text[at] in " \t\r\n,:":
            at += 1
        return at

    at = _start(text, key) if key is not None else past(0)
    at, found = past(at + 1), []
    while text[at] != "]":
        end = value(text, at)[1]
        found.append(text[at:end])
        at = past(end)
    return found
