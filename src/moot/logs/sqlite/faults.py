"""What SQLite and the operating system complain about, said as errors of moot: code, sentence, remedy.

Whatever is said here, nothing that was acknowledged is lost: a failed append leaves the log as it was.
"""

from __future__ import annotations

import errno
import os

import apsw

from moot.core.errors import Unavailable, Usage
from moot.private_files import EXHAUSTED, hardly_any_left, too_many_open_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.core.errors import MootError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_GROWN = (apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE)  # shared memory; SQLite keeps no number of why
_DAMAGE = (apsw.NotADBError, apsw.CorruptError, apsw.FormatError, apsw.MismatchError, apsw.SchemaChangeError)
_NO_WRITING = (errno.EROFS, errno.EACCES, errno.EPERM)


def of_sqlite(error: apsw.Error, path: str, system_errno: int = 0) -> MootError | None:
    """The error to raise for one that SQLite raised, None if it is a mistake of ours that should be seen as it is."""
    told = isinstance(error, (apsw.IOError, apsw.CantOpenError))  # after others the number is of one before
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
    """The error to raise for one of the operating system."""
    if error.errno in EXHAUSTED:
        return too_many_open_files()
    if error.errno in _NO_ROOM:
        return disk_full(path)
    if error.errno in _NO_WRITING:
        return read_only(path)
    return log_io(path, str(error))


def missing(path: str) -> Unavailable:
    remedy = "If nobody works with moot here yet, `moot init` makes the workspace."
    return Unavailable("no_log", f"There is no workspace here: no log at {path}.", remedy, path=path)


def foreign(path: str, what: str) -> Unavailable:
    remedy = f"Move {path} away if it is not needed, then run `moot init`. It was not touched."
    return Unavailable("foreign_log", f"{path} is not a log of moot: {what}.", remedy, path=path)


def damaged(path: str, what: str) -> Unavailable:
    remedy = f"Restore {path} from a backup, together with its -wal file if there is one. It was not touched."
    return Unavailable("damaged_log", f"The log {path} is damaged: {what}.", remedy, path=path)


def undecodable(path: str, position: int, what: str) -> Unavailable:
    remedy = "What comes before it can still be read and exported. Restore the log from a backup: `moot restore FILE`."
    sentence = f"The log {path} is damaged at position {position}: {what}."
    return Unavailable("damaged_log", sentence, remedy, path=path, position=position)


def half_restored(path: str) -> Unavailable:
    remedy = "Wait if `moot restore` is at work; else run it again. The log of before is kept beside it."
    return Unavailable("damaged_log", f"A restore of {path} has not come to its end.", remedy, path=path)


def orphaned_wal(path: str) -> Unavailable:
    remedy = f"Put {path} back, or move {path}-wal and {path}-shm away to start an empty log."
    return Unavailable("damaged_log", f"{path} is missing, but the events in {path}-wal are not.", remedy, path=path)


def newer(path: str, version: int, known: int) -> Unavailable:
    sentence = f"The log {path} has version {version}; this program knows {known} and may only read it."
    return Unavailable("newer_log", sentence, "Upgrade moot here.", path=path, version=version, known=known)


def superseded(path: str, version: int, known: int) -> Unavailable:
    sentence = f"The log was upgraded by a newer moot (to version {version}) while this was running."
    remedy = "Start it again with the new version."
    return Unavailable("newer_log", sentence, remedy, path=path, version=version, known=known)


def older(path: str, version: int, known: int) -> Unavailable:
    sentence = f"The log {path} has version {version}, and only a command that writes may bring it to version {known}."
    remedy = "Run one: any agent's `moot send` or `moot join` does it."
    return Unavailable("older_log", sentence, remedy, path=path, version=version, known=known)


def read_only(path: str) -> Unavailable:
    sentence = f"{path} cannot be written: the file, its folder or the file system is read-only for this user."
    return Unavailable("read_only", sentence, "Give this user write permission, or run where there is one.", path=path)


def disk_full(path: str) -> Unavailable:
    sentence = f"There is no room left to append to {path}; nothing was written."
    return Unavailable("disk_full", sentence, "Free space (or raise the quota) and do it again.", path=path)


def log_io(path: str, what: str) -> Unavailable:
    remedy = "Look at the disk and the system's log, then do it again."
    return Unavailable("log_io", f"The log {path} could not be used: {what}.", remedy, path=path)


def not_flushed(path: str, what: str) -> Unavailable:
    sentence = f"The disk did not take what was appended to {path} ({what}). A loss of power may undo it."
    remedy = "Look at the disk and the system's log, then at `moot log`: do it again if it is not there."
    return Unavailable("not_flushed", sentence, remedy, path=path)


def locked(path: str, pid: int | None, seconds: float | None = None) -> Unavailable:
    who = f"process {pid}" if pid else "another process"
    waited = f" for {seconds:g} s" if seconds is not None else ""
    remedy = f"Look at what {who} is doing (stopped? on a slow disk?), end it if it hangs, and do it again."
    details = {"path": path, "pid": pid} if pid else {"path": path}
    return Unavailable("locked", f"{who.capitalize()} has kept the log {path} locked{waited}.", remedy, **details)


def closed(path: str) -> Unavailable:
    return Unavailable("log_closed", f"This handle on {path} was closed.", "Open the log again.", path=path)


def forked(path: str) -> Unavailable:
    sentence = f"The log {path} was in use by another thread when this process was forked."
    return Unavailable("forked", sentence, "Fork while no thread uses the log, or start a new program.", path=path)


def old_sqlite(version: str, needed: str) -> Unavailable:
    sentence = f"SQLite {version} can corrupt a log that several processes write; {needed} or later is needed."
    remedy = "Upgrade apsw (it brings its own SQLite)."
    return Unavailable("old_sqlite", sentence, remedy, version=version, needed=needed)


def network_file_system(path: str, kind: str) -> Unavailable:
    sentence = f"{path} is on {kind}, a network or shared file system, where the locks of SQLite do not hold."
    remedy = "Keep the workspace on a local disk (MOOT_WORKSPACE can point there), or use a shared log."
    return Unavailable("network_file_system", sentence, remedy, path=path, kind=kind)


def nested(path: str) -> Usage:
    sentence = f"exclusive() was entered twice on one handle of {path}."
    return Usage("nested_exclusive", sentence, "Do both things inside one exclusive().", path=path)
