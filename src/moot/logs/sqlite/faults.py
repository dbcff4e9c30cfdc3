"""Translates errors of SQLite and the operating system into errors of moot: code, message, remedy.

None of them loses an acknowledged event: a failed append leaves the log unchanged.
"""

from __future__ import annotations

import errno
import os

import apsw

from moot.core.errors import Unavailable, Usage
from moot.place.private_files import EXHAUSTED, hardly_any_left, too_many_open_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.errors import MootError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_GROWN = (apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE)  # shared memory; SQLite does not keep the errno
_DAMAGE = (apsw.NotADBError, apsw.CorruptError, apsw.FormatError, apsw.MismatchError, apsw.SchemaChangeError)
_NO_WRITING = (errno.EROFS, errno.EACCES, errno.EPERM)


def of_sqlite(error: apsw.Error, path: str, system_errno: int = 0) -> MootError | None:
    """The error to raise for one of SQLite; None if it is a bug in moot."""
    told = isinstance(error, (apsw.IOError, apsw.CantOpenError))  # after other errors, the errno is stale
    if told and (system_errno in EXHAUSTED or hardly_any_left()):
        return too_many_open_files()
    if isinstance(error, apsw.FullError) or (told and system_errno in _NO_ROOM):
        return disk_full(path)
    if getattr(error, "extendedresult", 0) in _NOT_GROWN:
        return disk_full(path)
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError)):
        return read_only(path)
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return locked(path, None)
    if isinstance(error, _DAMAGE):
        return damaged(path, str(error))
    if isinstance(error, apsw.CantOpenError) and not os.access(os.path.dirname(path), os.W_OK):
        return read_only(path)
    if isinstance(error, (apsw.IOError, apsw.CantOpenError, apsw.NoMemError, apsw.NoLFSError)):
        return log_io(path, str(error))
    if isinstance(error, apsw.TooBigError):
        return Usage("too_large", "An event is larger than SQLite can store.", "Keep large content in a file.")
    return None


def of_system(error: OSError, path: str) -> Unavailable:
    """The error to raise for an OSError."""
    if error.errno in EXHAUSTED:
        return too_many_open_files()
    if error.errno in _NO_ROOM:
        return disk_full(path)
    if error.errno in _NO_WRITING:
        return read_only(path)
    return log_io(path, str(error))


def missing(path: str) -> Unavailable:
    remedy = "Run `moot init` to create a workspace."
    return Unavailable("no_log", f"There is no workspace here: no log at {path}.", remedy, path=path)


def foreign(path: str, what: str) -> Unavailable:
    remedy = f"If you do not need {path}, move it away and run `moot init`. It was not changed."
    return Unavailable("foreign_log", f"{path} is not a log of moot: {what}.", remedy, path=path)


def damaged(path: str, what: str) -> Unavailable:
    remedy = f"Restore {path} from a backup, together with its -wal file if there is one. It was not changed."
    return Unavailable("damaged_log", f"The log {path} is damaged: {what}.", remedy, path=path)


def undecodable(path: str, position: int, what: str) -> Unavailable:
    remedy = "Earlier events can still be read and exported. Restore the log from a backup: `moot restore FILE`."
    sentence = f"The log {path} is damaged at position {position}: {what}."
    return Unavailable("damaged_log", sentence, remedy, path=path, position=position)


def orphaned_wal(path: str) -> Unavailable:
    remedy = f"Put {path} back, or move {path}-wal and {path}-shm away to start an empty log."
    return Unavailable("damaged_log", f"{path} is missing, but {path}-wal still contains events.", remedy, path=path)


def other_version(path: str, version: int, known: int) -> Unavailable:
    sentence = f"The log {path} has version {version}; this program supports only version {known}."
    remedy = "Upgrade moot here." if version > known else "Move the log away and run `moot init`. It was not changed."
    return Unavailable("log_version", sentence, remedy, path=path, version=version, known=known)


def read_only(path: str) -> Unavailable:
    sentence = f"{path} cannot be written: the file, its folder or the file system is read-only for this user."
    return Unavailable(
        "read_only", sentence, "Give this user write permission, or run as a user who has it.", path=path
    )


def disk_full(path: str) -> Unavailable:
    sentence = f"The disk is full; nothing was appended to {path}."
    return Unavailable("disk_full", sentence, "Free disk space or raise the quota, then try again.", path=path)


def log_io(path: str, what: str) -> Unavailable:
    remedy = "Check the disk and the system log, then try again."
    return Unavailable("log_io", f"The log {path} could not be used: {what}.", remedy, path=path)


def not_flushed(path: str, what: str) -> Unavailable:
    sentence = f"The events appended to {path} could not be flushed to disk ({what}). A power loss may undo them."
    remedy = (
        "Check the disk and the system log. Then check `moot log`, and run the command again if its events are missing."
    )
    return Unavailable("not_flushed", sentence, remedy, path=path)


def locked(path: str, pid: int | None, seconds: float | None = None) -> Unavailable:
    who = f"process {pid}" if pid else "another process"
    waited = f" for {seconds:g} s" if seconds is not None else ""
    remedy = f"Check what {who} is doing (suspended? slow disk?), end it if it hangs, and try again."
    details = {"path": path, "pid": pid} if pid else {"path": path}
    return Unavailable("locked", f"{who.capitalize()} has kept the log {path} locked{waited}.", remedy, **details)


def closed(path: str) -> Unavailable:
    return Unavailable("log_closed", f"This handle on {path} was closed.", "Open the log again.", path=path)


def old_sqlite(version: str, needed: str) -> Unavailable:
    sentence = f"SQLite {version} can corrupt a log that several processes write; {needed} or later is needed."
    remedy = "Upgrade apsw (it brings its own SQLite)."
    return Unavailable("old_sqlite", sentence, remedy, version=version, needed=needed)


def network_file_system(path: str, kind: str) -> Unavailable:
    sentence = f"{path} is on {kind}, a network or shared file system, where SQLite's locks are not reliable."
    remedy = "Keep the workspace on a local disk (MOOT_WORKSPACE can point there), or use a shared log."
    return Unavailable("network_file_system", sentence, remedy, path=path, kind=kind)


def nested(path: str) -> Usage:
    sentence = f"exclusive() was entered twice on one handle of {path}."
    return Usage("nested_exclusive", sentence, "Use one exclusive() for both.", path=path)
