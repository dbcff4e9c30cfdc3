"""The files of a target: reads, digests and replaces them, and never leaves the root of the target.

A file is replaced as a whole: written beside its place, synced and renamed. It is replaced only if it still has the
content that the stage has read; otherwise somebody edits it at this moment, and nothing is overwritten.
"""

from __future__ import annotations

import os
from hashlib import sha256  # noqa: TID253 (this module itself is loaded on demand)
from stat import S_IMODE, S_ISREG

from moot.core.record import Record
from moot.place.private_files import read_all, write_private
from moot.runs.contract import StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

LARGEST = 64 << 20  # bytes of one file
MOST = 10_000  # files of one role
_SUFFIX = ".moot"  # the end of the names of files that are being written
_REGULAR = "Put a regular file of this repository in its place, then run the command again."
NONE = "-"  # the digest of a file that does not exist


class Contents(Record):
    """Files by path, with the time of their last change in nanoseconds. Missing files are left out."""

    files: Mapping[str, bytes] = {}
    mtimes: Mapping[str, int] = {}


def digest(data: bytes | None) -> str:
    return NONE if data is None else sha256(data).hexdigest()


def place_of(root: str, path: str, folders: Sequence[str] = ()) -> str:
    """Where a path of a target is. Raises if it, or a link on the way, leads out of the root.

    An absolute path must be in one of the other `folders`.
    """
    whole = os.path.realpath(os.path.join(root, path))
    for base in folders if os.path.isabs(path) else (root,):
        if whole.startswith(os.path.realpath(base).rstrip(os.sep) + os.sep):
            return whole
    raise StageError(f"{path} leads out of {root}", suggestion=_REGULAR)


def read(root: str, paths: Iterable[str], folders: Sequence[str] = ()) -> Contents:
    """The files at these paths; of a path that ends with a slash, all files below."""
    files: dict[str, bytes] = {}
    mtimes: dict[str, int] = {}
    for path in paths:
        for one in _below(place_of(root, path, folders), path) if path.endswith("/") else (path,):
            found = _read(place_of(root, one, folders), one)
            if found is not None:
                files[one], mtimes[one] = found
    return Contents(files=files, mtimes=mtimes)


def digests_of(paths: Iterable[str], found: Contents) -> dict[str, str]:
    """The digest of each of the files that were found at these paths; `NONE` for one that does not exist."""
    named = {path: NONE for path in paths if not path.endswith("/")}
    return {**named, **{path: digest(data) for path, data in found.files.items()}}


def digests(root: str, paths: Sequence[str], folders: Sequence[str] = ()) -> dict[str, str]:
    """The digest of each file; `NONE` for one that does not exist."""
    return digests_of(paths, read(root, paths, folders))


def _below(base: str, folder: str) -> Iterator[str]:
    found = 0
    for here, folders, names in os.walk(base):
        folders.sort()
        for name in sorted(names):
            whole = os.path.join(here, name)
            if os.path.islink(whole) or not os.path.isfile(whole) or is_temporary(name):
                continue
            found += 1
            if found > MOST:
                raise StageError(f"{folder} has more than {MOST} files")
            yield os.path.join(folder, os.path.relpath(whole, base))


def _read(place: str, path: str) -> tuple[bytes, int] | None:
    try:
        file = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        about = os.fstat(file)
        if not S_ISREG(about.st_mode):
            raise StageError(f"{path} is not a regular file", suggestion=_REGULAR)
        if about.st_size > LARGEST:
            raise StageError(f"{path} is larger than {LARGEST >> 20} MiB")
        return read_all(file, LARGEST), about.st_mtime_ns
    finally:
        os.close(file)


def write(root: str, files: Mapping[str, bytes | None], before: Mapping[str, str], folders: Sequence[str] = ()) -> None:
    """Replace these files. `before`: the digests that they had when the stage read them."""
    places = {path: place_of(root, path, folders) for path in files}
    edited = [path for path, place in places.items() if digest(_content(place, path)) != before.get(path, NONE)]
    if edited:
        raise StageError(
            f"{', '.join(sorted(edited))} changed while the stage ran; nothing was overwritten",
            suggestion="Run it again.",
        )
    for path, data in files.items():
        _replace(places[path], path, data)


def _content(place: str, path: str) -> bytes | None:
    found = _read(place, path)
    return None if found is None else found[0]


def _replace(place: str, path: str, data: bytes | None) -> None:
    try:
        if data is None:
            os.unlink(place)
            return
        os.makedirs(os.path.dirname(place), exist_ok=True)
        mode = S_IMODE(os.stat(place).st_mode) if os.path.exists(place) else 0o644
        write_private(place, data, sync=True, mode=mode, ending=_SUFFIX)
    except OSError as error:
        raise StageError(f"{path} cannot be written: {error.strerror}") from error


def is_temporary(name: str) -> bool:
    """Whether this is the name of a file that is being written, and will be renamed."""
    return name.endswith(_SUFFIX)


def restore(root: str, path: str, data: bytes | None, folders: Sequence[str] = ()) -> None:
    """Put a file back, whatever it contains now."""
    _replace(place_of(root, path, folders), path, data)


def roles(paths: Mapping[str, Sequence[str]], contents: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """The contents by role."""
    return {role: {path: data for path, data in contents.items() if is_of(path, of)} for role, of in paths.items()}


def is_of(path: str, of: Collection[str]) -> bool:
    """Whether a path is one of these, or in a folder that is."""
    return path in of or path.startswith(tuple(one for one in of if one.endswith("/")))
