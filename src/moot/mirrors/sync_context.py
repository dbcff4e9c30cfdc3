"""What the parts of one sync share: the call, the files and their cached state, warnings, and the appended events."""

from __future__ import annotations

import os
import sys

from moot.api.answer import Notice
from moot.core.record import Record
from moot.location import worktrees
from moot.log import REDACTIONS
from moot.mirrors.files import MirrorFile
from moot.mirrors.folders import Accounts
from moot.mirrors.state_cache import MirrorMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.form import Form, Instance
    from moot.core.event import Event
    from moot.mirrors.file_reading import Look
    from moot.mirrors.files import Displaced
    from moot.views.store import Store


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
        self.restoring: set[str] = set()  # files to write again, whatever they are now
        self._trees = worktrees(call.place)
        self._accepts = Accounts(call.place).__getitem__

    def files(self, store: Store) -> list[tuple[Form, Instance, MirrorFile]]:
        roots = {tree.root: os.path.realpath(tree.root) for tree in self._trees}
        keep, accepts = os.path.realpath(self._keep), self._accepts
        now = self.call.clock.wall_seconds()
        found: list[tuple[Form, Instance, MirrorFile]] = []
        for form, one in self._instances(store):
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
