"""Matches the entries of a file with the messages in the log: by content and count, or by number and content."""

from __future__ import annotations

from moot.core.errors import MootError
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.protocol import MessageType
    from moot.mirrors.forms.entries import EntriesForm
    from moot.views.queries import Delivery
    from moot.views.store import Store


class KnownMessages:
    """The messages in the log, loaded as needed. `showed`: the ids of those that the file showed."""

    def __init__(self, form: EntriesForm, store: Store, roots: tuple[str, ...], showed: frozenset[str]) -> None:
        self._form, self._store, self._roots, self._showed = form, store, roots, showed
        self._all: list[Delivery] | None = None
        self._matched: set[str] = set()  # ids that were matched by number

    def text(self, spec: MessageType, said: dict[str, Any]) -> str:
        return self._form.packs.same(spec, said, self._roots)

    def matched(
        self, spec: MessageType, said: dict[str, Any], text: str, count: int
    ) -> tuple[list[str], list[str], int]:
        """Match `count` equal entries: the ids of their messages, those to show again, and the number of new ones."""
        name = said.get(spec.task) if spec.task else None
        if spec.task and not isinstance(name, str):
            return [], [], count  # it will be refused, so it cannot be in the log
        found = (d for d in self._messages(name) if d.message.kind == spec.name and d.entry.id not in self._matched)
        known = [d for d in found if self._says(spec, d) == text]
        if known and name is not None:
            task, _ = states.task(self._store, name)
            if task.phase == "done":
                return [], [], 0  # an old copy: nothing is delivered again
            # The file may still show a message of an earlier attempt, if it was not rendered since.
            earlier = [d for d in known if (d.message.attempt or 0) < task.attempt]
            count = max(0, count - sum(d.entry.id in self._showed for d in earlier))
            known = [d for d in known if d not in earlier]
        visible = sum(d.entry.hidden is None for d in known)
        hidden = [d.entry.id for d in known if d.entry.hidden == "emptied"][: max(0, count - visible)]
        return [d.entry.id for d in known][:count], hidden, count - len(known)

    def _messages(self, task: str | None) -> list[Delivery]:
        if task is not None:
            return queries.mailbox(self._store, self._form.spec.mailbox, task)
        if self._all is None:
            self._all = self._form.history(self._store)
        return self._all

    def _says(self, spec: MessageType, delivery: Delivery) -> str:
        return self.text(spec, delivery.message.data or {})

    def by_number(self, entries: list[Any]) -> dict[int, str]:
        """Entries whose number and content are those of a message: the id, by index."""
        found = {}
        history = self._form.history(self._store)
        for place, entry in enumerate(entries):
            number, spec = self._form.number_of(entry), self._form.type_of(entry)
            if number is None or not 0 < number <= len(history) or isinstance(spec, MootError):
                continue
            one = history[number - 1]
            if one.message.kind == spec.name and self._says(spec, one) == self.text(spec, self._form.said(entry, spec)):
                found[place] = one.entry.id
                self._matched.add(one.entry.id)
        return found
