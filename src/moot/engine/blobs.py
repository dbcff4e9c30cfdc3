"""Blobs: content that events reference by its SHA-256. Each is a private file `blobs/DIGEST` in the state directory.

Invariants:
- A blob is durable (file and directory are synced) before the commit that references it. So call `put` first.
- Content is checked against its digest on every read. Nothing in the folder is trusted.
- A blob that no event references is removed after a day, not earlier.

This module does not know what the content means or which events reference it: see `moot.engine.blob_names`.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager

from moot.core.errors import Refused, Unavailable, Unknown
from moot.core.integrity.blob import is_digest
from moot.place.private_files import check_folders, discard, open_private, sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import FileIO

LARGEST = 256 << 20  # bytes of one blob
CHUNK = 1 << 20
FOLDER = "blobs"


class Blobs:
    """The blobs of one workspace."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._folder = os.path.join(state, FOLDER)

    def put(self, data: bytes) -> str:
        """Store these bytes and return their digest. They are durable on return, so an event may reference them."""
        from hashlib import sha256

        digest = sha256(data).hexdigest()
        if not self._is_kept(digest):
            with self.writing() as blob:
                blob.write(data)
                blob.keep()
        return digest

    @contextmanager
    def writing(self) -> Iterator[BlobWriter]:
        """Write a blob piece by piece. It is discarded unless `keep` is called before the context ends."""
        try:
            check_folders(self._state, FOLDER, make=True)
            blob = BlobWriter(self._state, self._folder)
        except OSError as error:
            raise unwritable(self._folder, error) from error
        try:
            yield blob
        finally:
            blob.close()

    def get(self, digest: str) -> bytes:
        """The bytes with this digest. Raises `Unknown` if there are none."""
        return b"".join(self.pieces(digest))

    def pieces(self, digest: str) -> Iterator[bytes]:
        """Like `get`, piece by piece. The content is checked before this returns."""
        file = open(self._opened(digest), "rb", buffering=0)  # noqa: SIM115 (the iterator closes it)
        file.seek(0)
        return _read(file, digest)

    def fault(self, digest: str) -> str | None:
        """The fault of this blob (`missing`, `damaged` or `unreadable`); None if it is sound."""
        try:
            os.close(self._opened(digest))
        except Unknown:
            return "missing"
        except Unavailable as error:
            return "damaged" if error.code == "blob_damaged" else "unreadable"
        return None

    def stored(self) -> set[str]:
        """The digests of all stored blobs, sound or not."""
        try:
            return {name for name in os.listdir(check_folders(self._state, FOLDER)) if is_digest(name)}
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise _unreadable(self._folder, error) from error

    def remove(self, digests: Iterable[str]) -> list[str]:
        """Remove these blobs. Returns the digests of those that existed."""
        removed = [digest for digest in digests if self._removed(digest)]
        if removed:
            sync(self._folder)
        return removed

    def sweep(self, digests: Iterable[str], oldest: float) -> int:
        """Remove those of these blobs that were last put before `oldest`. Returns the number removed."""
        try:
            check_folders(self._state, FOLDER)
            with _locked(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB):  # no `put` is in progress
                return sum(self._is_older(digest, oldest) and self._removed(digest) for digest in digests)
        except OSError:
            return 0

    def _opened(self, digest: str) -> int:
        """A descriptor of a file whose content has this digest."""
        if not is_digest(digest):
            raise Unknown("blob_missing", f"{str(digest)[:80]!r} is not a SHA-256.", "Give the SHA-256 of the blob.")
        path = os.path.join(self._folder, digest)
        try:
            check_folders(self._state, FOLDER)
            file = open_private(path)
        except FileNotFoundError:
            raise Unknown(
                "blob_missing",
                f"The blob with the SHA-256 {digest} is missing: {self._folder} has no such file.",
                "Restore the file from a copy of that folder.",
                sha256=digest,
            ) from None
        except OSError as error:
            raise _unreadable(path, error) from error
        try:
            sound = _digest_of(file) == digest
        except OSError as error:
            os.close(file)
            raise _unreadable(path, error) from error
        if not sound:
            os.close(file)
            raise _damaged(path, digest)
        return file

    def _is_kept(self, digest: str) -> bool:
        """Whether the blob exists and is sound. If so, refresh its time and sync it: its writer may have died."""
        try:
            check_folders(self._state, FOLDER)
            with _locked(self._folder, fcntl.LOCK_SH):
                file = open_private(os.path.join(self._folder, digest))
                try:
                    if _digest_of(file) != digest:
                        return False
                    os.utime(file)
                    os.fsync(file)
                finally:
                    os.close(file)
                sync(self._folder)
                sync(self._state)
        except OSError:
            return False  # writing it reports the problem
        return True

    def _is_older(self, digest: str, oldest: float) -> bool:
        try:
            return os.lstat(os.path.join(self._folder, digest)).st_mtime < oldest
        except FileNotFoundError:
            return False

    def _removed(self, digest: str) -> bool:
        try:
            check_folders(self._state, FOLDER)
            os.unlink(os.path.join(self._folder, digest))
        except FileNotFoundError:
            return False
        return True


class BlobWriter:
    """A blob that is being written."""

    def __init__(self, state: str, folder: str) -> None:
        from hashlib import sha256

        self._state, self._folder = state, folder
        self._path = os.path.join(folder, f"new.{os.urandom(6).hex()}")
        self._file = open_private(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self._digest = sha256()
        self.size = 0

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def write(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > LARGEST:
            raise Refused(
                "blob_too_large",
                f"The content is larger than {LARGEST} bytes.",
                "Keep it in a separate file and reference that file.",
                limit=LARGEST,
            )
        self._digest.update(piece)
        left = memoryview(piece)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def keep(self, digest: str | None = None) -> str:
        """Store the blob durably. If a digest is given, the content must match it."""
        if digest not in (None, self.digest):
            raise _damaged(self._path, str(digest))
        try:
            os.fsync(self._file)
            with _locked(self._folder, fcntl.LOCK_SH):  # no sweep is in progress
                os.replace(self._path, os.path.join(self._folder, self.digest))
            sync(self._folder)
            sync(self._state)  # the folder itself may be new
        except OSError as error:
            raise unwritable(self._folder, error) from error
        return self.digest

    def close(self) -> None:
        os.close(self._file)
        discard(self._path)  # if it was kept, it has another name by now


@contextmanager
def _locked(folder: str, how: int) -> Iterator[None]:
    """Lock the folder. `put` waits for a sweep, which is short. A sweep does not wait (`LOCK_NB`)."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(file, how)
        except OSError:
            if how & fcntl.LOCK_EX:
                raise
            # The file system has no locks, so nothing is swept there.
        yield
    finally:
        os.close(file)


def _digest_of(file: int) -> str:
    from hashlib import sha256

    found, left = sha256(), LARGEST
    while piece := os.read(file, CHUNK):
        found.update(piece)
        left -= len(piece)
        if left < 0:
            return ""  # larger than any blob
    return found.hexdigest()


def _read(file: FileIO, digest: str) -> Iterator[bytes]:
    with file:
        try:
            while piece := file.read(CHUNK):
                yield piece
        except OSError as error:
            raise _unreadable(digest, error) from error


def unwritable(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        "blob_unwritable",
        f"The content cannot be stored in {path}: {error.strerror or error}. Nothing was recorded.",
        "Free some disk space, or make the folder writable, then try again.",
        path=path,
    )


def _unreadable(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        "blob_unreadable",
        f"The blob {path} cannot be read: {error.strerror or error}.",
        "Make the file readable, then try again.",
        path=path,
    )


def _damaged(path: str, digest: str) -> Unavailable:
    return Unavailable(
        "blob_damaged",
        f"{path} is damaged: its content does not have the SHA-256 {digest}.",
        "Restore the file from a copy.",
        path=path,
        sha256=digest,
    )
