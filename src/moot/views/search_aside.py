"""The full-text index for one who cannot write the shared one: a private copy of it, gone when it is closed."""

from __future__ import annotations

import os

import apsw

from moot.views.file import distrust
from moot.views.search import Index

_WAIT_MS = 1_000


class IndexAside(Index):
    """See the module. Nothing in here changes a file that others see."""

    def _open(self) -> apsw.Connection:
        private = apsw.Connection("")
        shared = self._shared()
        if shared is not None:
            try:
                with private.backup("main", shared, "main") as copying:
                    copying.step(-1)
            except apsw.Error:
                private.close()
                private, shared = apsw.Connection(""), None
        if shared is None or not self._sound(private):
            private.close()
            private = apsw.Connection("")
            private.execute(self.script())
        distrust(private)
        return private

    def _shared(self) -> apsw.Connection | None:
        try:
            self.path = self._current()
            if not self.path or not os.path.exists(f"{self.path}-wal"):  # which SQLite would make
                return None
            db = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)
            db.set_busy_timeout(_WAIT_MS)
        except (apsw.Error, OSError):
            return None
        return db

    def exchanged(self) -> bool:
        return False  # nothing points to it

    def renew(self, *, alone: bool = False) -> apsw.Connection:  # noqa: ARG002 (it always is)
        """Start over with an empty one."""
        self.close()
        self._db = apsw.Connection("")
        self._db.execute(self.script())
        return self._db

    def tidy(self) -> None:
        """Nothing of it stays."""
        self.run("tidied")
