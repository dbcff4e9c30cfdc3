"""The files of a target: reads, digests and replaces them, and never leaves the root of the target.

A file is replaced as a whole: written beside its place, synced and renamed. It is replaced only if it still has the
content that the stage has read; otherwise somebody edits it at this moment, and nothing is overwritten.
"""

from __future__ import annotations

import os
import time
from hashlib import sha256  # noqa: TID253 (this module itself is loaded on demand)
from secrets import token_hex
from stat import S_IMODE, S_ISLNK, S_ISREG

from moot.core.record import Record
from moot.place.private_files import is_still, locked, read_all
from moot.runs.contract import StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LARGEST = 64 << 20  # bytes of one file
MOST = 10_000  # files of one role
_SUFFIX, _TOKEN = ".moot", 12  # the end of the names of files that are being written, and the letters before it
_REGULAR = "Put a regular file of this repository in its place, then run the command again."
_NEW = 10.0  # seconds; a writer that lives has locked its file long before
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
    if _is_plain(root, path):
        return os.path.join(root, path.rstrip("/"))
    whole = os.path.realpath(os.path.join(root, path))
    for base in folders if os.path.isabs(path) else (root,):
        if whole.startswith(os.path.realpath(base).rstrip(os.sep) + os.sep):
            return whole
    raise StageError(f"{path} leads out of {root}", suggestion=_REGULAR)


def is_inside(path: str, root: str) -> bool:
    return path == root or os.path.join(os.path.realpath(path), "").startswith(os.path.join(os.path.realpath(root), ""))


def _is_plain(root: str, path: str) -> bool:
    """Whether a path cannot leave the root: it goes neither up nor through a link."""
    parts = path.rstrip("/").split("/")
    if not {"", os.curdir, os.pardir}.isdisjoint(parts):
        return False
    here = root
    try:
        for part in parts:
            here = f"{here}/{part}"
            if S_ISLNK(os.lstat(here).st_mode):
                return False
    except (FileNotFoundError, NotADirectoryError):
        return True  # nor does what is not there
    except OSError:
        return False
    return True


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


def digests(root: str, paths: Iterable[str], folders: Sequence[str] = ()) -> dict[str, str]:
    """The digest of each file; `NONE` for one that does not exist."""
    wanted = list(paths)
    found = read(root, wanted, folders).files
    named = {path: NONE for path in wanted if not path.endswith("/")}
    return {**named, **{path: digest(data) for path, data in found.items()}}


def fingerprint(root: str, path: str, folders: Sequence[str] = ()) -> str:
    """The digest of a file; if it cannot be read, the reason."""
    try:
        return digests(root, (path,), folders)[path] if path else NONE
    except StageError as error:
        return error.text


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
        beside = f"{place}.{token_hex(_TOKEN // 2)}{_SUFFIX}"
        try:
            file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            with open(file, "wb") as opened:
                _hold(file)
                opened.write(data)
                opened.flush()
                os.fsync(file)
            os.replace(beside, place)
        except BaseException:
            _discard(beside)
            raise
    except OSError as error:
        raise StageError(f"{path} cannot be written: {error.strerror}") from error


def _hold(file: int) -> None:
    """Show `sweep` that somebody is writing this file, until it is closed."""
    try:
        locked(file)
    except OSError:
        pass  # the file system has no locks, so nothing is swept in it


def is_temporary(name: str) -> bool:
    """Whether this is the name of a file that is being written, and will be renamed."""
    if not name.endswith(_SUFFIX):
        return False
    token = name.removesuffix(_SUFFIX).rpartition(".")[2]
    return len(token) == _TOKEN and frozenset("0123456789abcdef").issuperset(token)


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def sweep(root: str, paths: Iterable[str], folders: Sequence[str] = ()) -> None:
    """Remove what writers of these files left beside them when they were killed.

    Only regular files with such a name, of this account, that are not new, and that no process has locked: a
    writer keeps its file locked. What cannot be removed stays.
    """
    for path in paths:
        try:
            place = place_of(root, path, folders)
            inside = path.endswith("/")
            for here in _folders_below(place) if inside else (os.path.dirname(place),):
                with os.scandir(here) as entries:
                    found = [one.path for one in entries if is_temporary(one.name)]
                for one in found:
                    if inside or one[: -len(_SUFFIX) - _TOKEN - 1] == place:
                        _remove_stale(one)
        except (OSError, StageError):
            continue


def _folders_below(base: str) -> Iterator[str]:
    for number, (here, _, _) in enumerate(os.walk(base)):
        if number >= MOST:
            return
        yield here


def _remove_stale(path: str) -> None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        about = os.fstat(file)
        old = time.time() - about.st_mtime > _NEW
        if S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and old and locked(file) and is_still(path, file):
            os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(file)


def restore(root: str, path: str, data: bytes | None, folders: Sequence[str] = ()) -> None:
    """Put a file back, whatever it contains now."""
    _replace(place_of(root, path, folders), path, data)


def roles(paths: Mapping[str, Sequence[str]], contents: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """The contents by role."""
    return {role: {path: data for path, data in contents.items() if is_of(path, of)} for role, of in paths.items()}


def is_of(path: str, of: Sequence[str]) -> bool:
    """Whether a path is one of these, or in a folder that is."""
    return path in of or path.startswith(tuple(one for one in of if one.endswith("/")))
