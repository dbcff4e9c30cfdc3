"""The views for one who only looks: the shared file opened for reading, or a private copy of it.

Nothing in here changes a file that others see. A private copy is kept by SQLite in a temporary file of its own, which
is gone when it is closed.
"""

from __future__ import annotations

import os

import apsw

from moot.core.errors import Unavailable
from moot.views import file, store

_WAIT_MS = 2_000


class Aside(store.Store):
    """See the module. `private` says which of both is open."""

    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self.private = False

    def _open(self) -> apsw.Connection:
        found = self._shared()
        return self.renew() if found is None else found

    def _shared(self) -> apsw.Connection | None:
        """The shared file, if there is one of this version that can be read."""
        try:
            self._pointed = self._pointer()
            self.path = self._current()
            if not self.path or not os.path.exists(f"{self.path}-wal"):  # which SQLite would make
                return None
            db = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)
            db.set_busy_timeout(_WAIT_MS)
            file.distrust(db)
            if self._sound(db):
                self.private = False
                return db
            db.close()
        except (apsw.Error, OSError):
            pass  # damaged, not ours to read, or just being replaced: whoever may write it will see to it
        return None

    def renew(self, *, alone: bool = False) -> apsw.Connection:  # noqa: ARG002 (a private copy is always alone)
        """Start over with an empty private copy."""
        self.forget()
        self._db = apsw.Connection("")
        self._db.execute(self.script())
        self.private = True
        return self._db

    def part(self) -> None:
        """Go on with a private copy of what the shared file has now."""
        if self.private:
            return
        private = apsw.Connection("")
        try:
            with private.backup("main", self.db, "main") as copy:
                copy.step()
        except apsw.Error as error:
            private.close()
            raise self._given_up(error) from error
        self.close()
        self._db, self.private = private, True

    def rejoin(self, position: int) -> int | None:
        """Go back to the shared file if it has the events up to `position`. How many it has; None: there is none."""
        private, self._db = self._db, None
        shared = self._shared()
        self._db = shared
        try:
            cursor = None if shared is None else self.cursor()
        except Unavailable:
            cursor = None
        if cursor is not None and cursor >= position:
            if private is not None:
                private.close()
            self.forget()
            return cursor
        if shared is not None:
            shared.close()
        self._db, self.private = private, True
        return cursor

    def _given_up(self, error: apsw.Error) -> Unavailable:
        """The file stays as it is, whatever is wrong with it."""
        self.close()
        return Unavailable(
            "views_unusable",
            f"The views cannot be read: {error}.",
            "Any other command makes them anew from the log, which has everything.",
            path=self.path,
        )
