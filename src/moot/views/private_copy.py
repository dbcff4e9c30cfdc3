"""Views that only this process sees: for read-only use, a moment of the past, and `verify`.

A private copy begins with the shared file, opened read-only, or empty. The first write copies the shared file into an
unnamed temporary one, and everything goes into the copy. It is gone when it is closed, and starts over at its next use.
Nothing in here changes a file that others see.
"""

from __future__ import annotations

import os
import time

import apsw

from moot.core.errors import Unavailable
from moot.views import file
from moot.views.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WAIT_MS = 2_000  # for a writer that replaces the shared file
_PATIENCE = 0.3  # seconds: a writer appends first and updates the shared views a moment later
_GLANCE = 0.005
_AGAIN = 5.0  # seconds between two checks of shared views that were behind
_SOURCE = object()  # equal to no file
# Nothing is undone in a private copy (`rollback` drops it), and nothing of it has to survive a crash.
_FIRST = ("synchronous = OFF", "cache_size = -8000")
_THEN = ("journal_mode = DELETE", "journal_mode = OFF", "locking_mode = EXCLUSIVE")  # shared views have another journal
_ROOM = "the directory for temporary files"


class PrivateCopy(Store):
    """A private copy of the views. `empty`: it begins empty; else it returns to the shared file once that caught up."""

    shared = False

    def __init__(self, directory: str, *, empty: bool = False, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(directory)
        self.private = False  # whether it is a copy by now
        self._empty = empty
        self._unusable: object = _SOURCE  # the shared file that this copy must not start from
        self._monotonic, self._looked = monotonic, 0.0

    def _open(self) -> apsw.Connection:
        self._opened_file = None if self._empty else self._file()
        found = None if self._empty or self._opened_file == self._unusable else self._read_only()
        if found is None:
            self.behind, self._looked = (0 if self._empty else None), self._monotonic()
            found = self._made(lambda db: db.execute(self.script()))
        return found

    def _read_only(self) -> apsw.Connection | None:
        """The shared file, if it can be read."""
        if not os.path.exists(f"{self.path}-wal"):  # SQLite would create it
            return None
        try:
            db = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)
            db.set_busy_timeout(_WAIT_MS)
            file.distrust(db)
            if self._is_ours(db) and self._file() == self._opened_file:
                return db
            db.close()
        except (apsw.Error, OSError):
            pass  # damaged, unreadable, or being replaced: the next writer rebuilds it
        return None

    def _made(self, fill: Callable[[apsw.Connection], object]) -> apsw.Connection:
        """A new private file."""
        db = apsw.Connection("")
        try:
            for setting in _FIRST:
                db.execute(f"PRAGMA {setting}").fetchall()
            fill(db)
            for setting in _THEN:
                db.execute(f"PRAGMA {setting}").fetchall()
            file.distrust(db)
        except BaseException as error:
            db.close()
            if isinstance(error, file.DAMAGE):
                raise self._given_up(error) from error
            if isinstance(error, (apsw.Error, OSError)):
                raise file.unavailable(_ROOM, error) from error
            raise
        self.private = True
        return db

    def _copied(self, db: apsw.Connection) -> None:
        with db.backup("main", self.db, "main") as copying:
            copying.step(-1)

    def begin(self) -> None:
        """See `Store.begin`. The first time, it makes the copy."""
        source = self.db
        if not self.private:
            self._looked = self._monotonic()
            self._db = self._made(self._copied)
            source.close()
            self.forget()
        super().begin()

    def rollback(self) -> None:
        """See `Store.rollback`. A copy that was written to is dropped."""
        if self._writing and self.private:
            self.close()
        else:
            super().rollback()

    def renew(self, *, alone: bool = False) -> apsw.Connection:  # noqa: ARG002 (a copy always is)
        """Start over with an empty copy: the source belongs to another log, or contains redacted text."""
        self._unusable = self._file()
        self.close()
        return self.db

    def exchanged(self) -> bool:
        """See `ViewsFile.exchanged`. Now and then also, to see whether the shared views have caught up."""
        behind = self.private and self.behind is not None and self._opened_file != self._unusable
        return not self._empty and (super().exchanged() or (behind and self._monotonic() - self._looked >= _AGAIN))

    def is_behind(self, head: int) -> bool:
        """See `Store.is_behind`. Waits a moment, because a writer appends first and then updates the shared views."""
        if self.cursor() >= head:
            self.behind = self.behind if self.private and head else 0
            return False
        if not self.private:
            end = self._monotonic() + _PATIENCE
            while (cursor := self.cursor()) < head and self._monotonic() <= end:
                time.sleep(_GLANCE)
            self.behind = max(0, head - cursor)
            return cursor < head
        return True

    def _given_up(self, error: apsw.Error) -> Unavailable:
        """The error to raise. A damaged file is left as it is, and not used again."""
        private, reason = self.private, self._db.system_errno if self._db else None
        if isinstance(error, file.DAMAGE) and not private:
            self._unusable = self._opened_file
        self.close()
        if private:
            return file.unavailable(_ROOM, error, reason)
        return Unavailable(
            "views_unusable",
            f"The views cannot be read: {error}.",
            "Any command that writes rebuilds them from the log.",
            path=self.path,
        )

    def close(self) -> None:
        super().close()
        self.private = False
