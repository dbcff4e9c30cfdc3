"""What the parts of one sync share: the call, the files and their cached state, warnings, and the appended events.

And what the syncs of one process share: which events no file shows.
"""

from __future__ import annotations

import os
import sys

from moot.api.answer import Notice
from moot.core.record import Record
from moot.log import REDACTIONS
from moot.mirrors.files import MirrorFile
from moot.mirrors.folders import Accounts
from moot.mirrors.state_cache import MirrorMemory
from moot.place import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.form import Form, Instance
    from moot.core.event import Event
    from moot.engine.engine import Engine
    from moot.mirrors.file_reading import Look
    from moot.mirrors.files import Displaced
    from moot.views.store import Store

_FEW = 50  # events that are read at once; if there are more, the files are rendered


class Seen(Record):
    """The state of one file, as read once."""

    form: Form
    one: Instance
    file: MirrorFile
    look: Look
    graves: list[Displaced]


class SyncContext:
    """See the module."""

    def __init__(
        self, call: Call, forms: list[Form], *, patient: bool = False, among: frozenset[str] | None = frozenset()
    ) -> None:
        self.call, self.engine, self.forms = call, call.engine, forms
        self.directory = os.path.join(call.place.state, "mirrors")
        self.memory = MirrorMemory(self.directory)
        self.maker: str = sys.modules["moot"].__version__  # modules of moot do not import the package root
        self.warnings: list[Notice] = []
        self.news: list[Event] = []  # the events that this sync has appended
        self._keep = os.path.join(self.directory, "keep")
        self.patient = patient  # see `Mirrors.sync`
        self.among = among  # see `Form.resting`
        self.before: dict[str, Any] = {}  # the memo of what each displaced content replaced
        self.restoring: set[str] = set()  # files to write again, whatever they are now
        self._trees = worktrees(call.place)
        self._accepts = Accounts(call.place).__getitem__

    def files(self, store: Store) -> list[tuple[Form, Instance, MirrorFile]]:
        instances = list(self._instances(store))
        if not instances:
            return []
        roots = {tree.root: os.path.realpath(tree.root) for tree in self._trees}
        keep, accepts = os.path.realpath(self._keep), self._accepts
        now = self.call.clock.wall_seconds()
        found: list[tuple[Form, Instance, MirrorFile]] = []
        for form, one in instances:
            root = roots.get(one.root) or os.path.realpath(one.root)
            limit, makes = form.largest, one.root in roots
            file = MirrorFile(root, one.path, keep, limit=limit, accepts=accepts, resolved=True, makes=makes)
            found.append((form, one.replace(now=now), file))
        return found

    def _instances(self, store: Store) -> Iterator[tuple[Form, Instance]]:
        for form in self.forms:
            awake = {one.name: one for one in form.instances(store, self._trees)}
            resting = form.resting(store, self._trees, self.among) if self.among is None or self.among else ()
            for one in (*awake.values(), *(one for one in resting if one.name not in awake)):
                yield form, one

    def know(self, path: str, **news: Any) -> None:
        """Cache something about a file."""
        self.memory.files[path] = self.memory.known(path).replace(**news)

    def warn(self, code: str, message: str) -> None:
        self.warnings.append(Notice(code, message))


def showing(news: Sequence[Event], forms: list[Form]) -> list[Form]:
    """The forms that show one of these events. A redaction concerns all of them."""
    if any(event.stream == REDACTIONS for event in news):
        return forms
    return [form for form in forms if any(map(form.follows, news))]


class QuietEvents:
    """How far the log has nothing to show in any file, so that a process reads each of these events once.

    A run that reuses everything appends events that no file shows. Without this, every sync would read all events since
    the last rendering again, and after some runs write the state of all files only to note that nothing was rendered.
    """

    def __init__(self) -> None:
        self._known = 0, 0, ""  # nothing after the first position, up to the second, is shown; the commit there

    def is_quiet(self, engine: Engine, after: int, forms: list[Form]) -> bool:
        """Whether no file shows an event after this position, up to the end of the views."""
        start, end, commit = self._known
        if commit and start <= after <= end:
            if engine.store.standing()[:2] == (end, commit):
                return True
            events = engine.log.read(end - 1, _FEW + 1)
            if events and (events[0].position, events[0].commit) == (end, commit):  # else it is another log
                return self._is_quiet(start, events[1:], forms)
        return self._is_quiet(after, engine.log.read(after, _FEW), forms)

    def _is_quiet(self, start: int, events: Sequence[Event], forms: list[Form]) -> bool:
        quiet = len(events) < _FEW and not showing(events, forms)
        if quiet and events:
            self._known = start, events[-1].position, events[-1].commit
        return quiet

    def note(self, news: Sequence[Event]) -> None:
        """Remember events that were appended just now, and that no file shows."""
        start, end, commit = self._known
        if commit and news and news[0].position == end + 1:
            self._known = start, news[-1].position, news[-1].commit
