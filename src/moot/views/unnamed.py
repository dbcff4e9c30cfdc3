"""Views in a file without a name, for those who may make none in the state directory.

SQLite keeps it among the temporary files of the system, and it is gone when it is closed, however that happens.
"""

from __future__ import annotations

import os

import apsw

from moot.views.snapshots import Shelf, Snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.views.store import Store


class Unnamed(Snapshot):
    """See the module. After a fork it is empty, and is folded anew by whoever reads from it."""

    def __init__(self, directory: str, base: Store | None = None) -> None:
        super().__init__(os.path.join(directory, "unnamed"), draft=True)
        if base is None:
            return
        try:
            with self.db.backup("main", base.db, "main") as copying:
                copying.step(-1)
        except apsw.Error as error:
            raise self._given_up(error) from error

    def _open_draft(self) -> apsw.Connection:
        db = apsw.Connection("")
        db.execute(self.script())
        return db

    def exchanged(self) -> bool:
        return False  # nothing points to it

    def renew(self, *, alone: bool = False) -> apsw.Connection:  # noqa: ARG002 (it always is)
        """Start over with an empty one."""
        self.close()
        return self.db

    def seal(self) -> None:
        """Nothing can be changed from here on."""
        self.db.execute("PRAGMA query_only = ON").fetchall()


class ReadOnlyShelf(Shelf):
    """The snapshots of a workspace where none can be added."""

    def draft(self, base: str | None) -> Snapshot:
        if base is None:
            return Unnamed(self.directory)
        kept = Snapshot(base)
        try:
            return Unnamed(self.directory, kept)
        finally:
            kept.close()

    def draft_of(self, live: Store) -> Snapshot:
        return Unnamed(self.directory, live)

    def keep(self, draft: Snapshot, position: int, *, copy: bool = False) -> Snapshot:  # noqa: ARG002
        if isinstance(draft, Unnamed) and not copy:
            draft.seal()
        return draft


def shelf_of(state: str, mark: int) -> Shelf:
    """The snapshots of a workspace, as far as this user may change them."""
    folder = os.path.join(state, "past")
    return (Shelf if may_write(folder if os.path.isdir(folder) else state) else ReadOnlyShelf)(state, mark)


def may_write(directory: str) -> bool:
    """Whether this user may make files there."""
    return os.access(directory, os.W_OK | os.X_OK)
