"""Views that only this process sees: for read-only use, a moment of the past, `verify` and trial folds.

A private copy starts from a file that is opened read-only: the shared views, a snapshot, or none. The first write
copies that file, and everything goes into the copy. It is gone when it is closed, and starts over at its next use.
Nothing in here changes a file that others see.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack

import apsw

from moot.core.errors import Unavailable
from moot.private_files import discard, open_private
from moot.views import generations
from moot.views.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WAIT_MS = 2_000  # for a writer that replaces the shared file
_PATIENCE = 0.3  # seconds: a writer appends first and updates the shared views a moment later
_GLANCE = 0.005
_AGAIN = 5.0  # seconds between two checks of shared views that were behind
_SOURCE = object()  # equal to no sign
# Nothing is undone in a private copy (`rollback` drops it), and nothing of it has to survive a crash.
_FIRST = ("synchronous = OFF", "cache_size = -8000")
_THEN = ("journal_mode = DELETE", "journal_mode = OFF", "locking_mode = EXCLUSIVE")  # shared views have another journal


class PrivateCopy(Store):
    """A private copy of the views.

    `start` is the file to begin with ("": none), or a function that returns a copy to continue. Without it, the copy
    begins with the shared file, and returns to it once it has caught up. The copy starts over when the result of
    `sign` changes. `into` is the path of the file to write; without it, SQLite uses an unnamed temporary file.
    """

    shared = False

    def __init__(
        self,
        directory: str,
        start: str | Callable[[], PrivateCopy] | None = None,
        sign: Callable[[], object] | None = None,
        *,
        into: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(directory)
        self.private = False  # whether it is a copy by now
        self._start, self._sign, self._into = start, sign, into
        self.file = ""  # the path of the copy, removed when it is closed
        self._unusable: object = _SOURCE  # the sign of a source that this copy must not start from
        self._monotonic, self._looked = monotonic, 0.0

    def _pointer(self) -> object:
        if self._start is None:
            return super()._pointer()
        return self._sign() if self._sign else None

    def _open(self) -> apsw.Connection:
        self._pointed = self._pointer()
        if self._pointed != self._unusable:
            if callable(self._start):
                return self._take_over(self._start())
            self.path = self._current() if self._start is None else self._start
            found = self._read_only(self.path)
            if found is not None:
                return found
        self.behind, self._looked = None, self._monotonic()
        return self._empty()

    def _take_over(self, other: PrivateCopy) -> apsw.Connection:
        with other._gate:  # not while another thread forks
            db, other._db = other.db, None
        self.path, self.private = other.path, other.private
        self.file, other.file = other.file, ""
        return db

    def _read_only(self, path: str) -> apsw.Connection | None:
        """The file to start from, if it can be read."""
        if not path or (self._start is None and not os.path.exists(f"{path}-wal")):  # SQLite would create it
            return None
        try:
            db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            db.set_busy_timeout(_WAIT_MS)
            generations.distrust(db)
            if self._sound(db):
                return db
            db.close()
        except (apsw.Error, OSError):
            pass  # damaged, unreadable, or being replaced: the next writer rebuilds it
        return None

    def _empty(self) -> apsw.Connection:
        return self._made(lambda db: db.execute(self.script()))

    def _made(self, fill: Callable[[apsw.Connection], object]) -> apsw.Connection:
        """A new private file."""
        try:
            with ExitStack() as undo:
                if self._into:
                    os.close(open_private(self._into, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o664))
                    undo.callback(discard, self._into)
                db = apsw.Connection(self._into)
                undo.callback(db.close)
                for setting in _FIRST:
                    db.execute(f"PRAGMA {setting}").fetchall()
                fill(db)
                for setting in _THEN:
                    db.execute(f"PRAGMA {setting}").fetchall()
                generations.distrust(db)
                undo.pop_all()
        except generations.DAMAGE as error:
            raise self._given_up(error) from error
        except (apsw.Error, OSError) as error:
            raise generations.unavailable(self._room(), error) from error
        self.private, self.file = True, self._into
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
        self._unusable = self._pointer()
        self.close()
        return self.db

    def exchanged(self) -> bool:
        """See `Generations.exchanged`. Also, whether the shared views have what this copy has."""
        return super().exchanged() or (self.private and self._start is None and self._is_caught_up())

    def _is_caught_up(self) -> bool:
        now = self._monotonic()
        if now - self._looked < _AGAIN or self._pointed == self._unusable:
            return False
        self._looked = now
        shared = type(self)(self.directory)
        try:
            lacking = self.cursor() - shared.cursor()
            missing = shared.private
        except Unavailable:
            return False
        finally:
            shared.close()
        self.behind = None if missing and lacking else max(0, lacking)
        return not missing and lacking <= 0

    def is_behind(self, head: int) -> bool:
        """See `Store.is_behind`. Waits a moment, because a writer appends first and then updates the shared views."""
        if self.cursor() >= head:
            self.behind = self.behind if self.private and head else 0
            return False
        if not self.private and self._start is None:
            end = self._monotonic() + _PATIENCE
            while (cursor := self.cursor()) < head and self._monotonic() <= end:
                time.sleep(_GLANCE)
            self.behind = max(0, head - cursor)
            return cursor < head
        return True

    def _sweep(self, keep: str, *, alone: bool) -> None:
        """There is nothing to sweep."""

    def _room(self) -> str:
        return os.path.dirname(self._into) or "the directory for temporary files"

    def _given_up(self, error: apsw.Error) -> Unavailable:
        """The error to raise. A damaged file is left as it is, and not used again."""
        private, path, reason = self.private, self.path, self._db.system_errno if self._db else None
        if isinstance(error, generations.DAMAGE) and not private:
            self._unusable = self._pointed
        self.close()
        if private:
            return generations.unavailable(self._room(), error, reason)
        return Unavailable(
            "views_unusable",
            f"The views cannot be read: {error}.",
            "Any command that writes rebuilds them from the log.",
            path=path,
        )

    def close(self) -> None:
        super().close()
        made, self.file, self.private = self.file, "", False
        if made:
            discard(made)
