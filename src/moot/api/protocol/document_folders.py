"""Folders for documents outside a repository, such as one below the system's temporary directory.

Everybody can create files there. So a folder is used only if it is a directory of the caller, not a link, and not
writable for every account. It is created private to the user. A small file in it names the project that it belongs to:
two projects of the same name never share one.

This module creates the folder and nothing else in it. The documents are written by the mirrors.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG, S_IWOTH

from moot.core.errors import Unavailable
from moot.core.record import Record

OWNER = ".moot-project"  # the file with the path of the project
_SHARED = "*"  # in that file: the folder does not belong to one project
_LONGEST = 8192
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class DocumentFolder(Record):
    """`warning`: why it is not the folder that one would expect; empty if it is."""

    path: str
    warning: str = ""


def project_folder(plain: str, distinct: str, root: str, setting: str) -> DocumentFolder:
    """The folder of a project: `plain`, or, if that cannot be used, `distinct`, whose name contains a digest.

    Creates it. Raises `Unavailable`, naming the `setting` for another folder.
    """
    reason = unusable(plain, root)
    if not reason:
        return DocumentFolder(plain)
    if worse := unusable(distinct, root):
        raise _refused(distinct, worse, setting)
    return DocumentFolder(distinct, f"{plain} is not used: {reason}. The documents are in {distinct}.")


def shared_folder(path: str, setting: str) -> str:
    """A folder that does not belong to one project. Creates it. Raises `Unavailable`, naming the `setting`."""
    if reason := unusable(path, _SHARED):
        raise _refused(path, reason, setting)
    return path


def is_prepared(path: str, root: str) -> bool:
    """Whether this module has prepared a folder for the documents of this project. Creates nothing."""
    try:
        folder = os.open(path, _DIRECTORY)
    except OSError:
        return False
    try:
        return os.fstat(folder).st_uid == os.geteuid() and _noted(folder) in (root, os.path.realpath(root), _SHARED)
    except OSError:
        return False
    finally:
        os.close(folder)


def unusable(path: str, root: str) -> str:
    """Why a folder cannot be used for the documents of this project; empty if it can. Creates it if it is missing."""
    try:
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
        folder = os.open(path, _DIRECTORY)
    except OSError as error:
        return "it is a link" if os.path.islink(path) else error.strerror or str(error)
    try:
        status = os.fstat(folder)
        if not S_ISDIR(status.st_mode):
            return "it is not a directory"
        if status.st_uid != os.geteuid():
            return f"it belongs to another account (uid {status.st_uid})"
        if status.st_mode & S_IWOTH:
            return "every account on this machine can write to it"
        owner = _owner(folder, root)
        return "" if owner == root else f"it belongs to {owner}"
    except OSError as error:
        return error.strerror or str(error)
    finally:
        os.close(folder)


def _owner(folder: int, root: str) -> str:
    """The project that the folder belongs to: this one, if it has none yet."""
    try:
        return _noted(folder)
    except FileNotFoundError:
        pass
    new = f"{OWNER}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        with open(os.open(new, _WRITE, 0o600, dir_fd=folder), "wb") as file:
            file.write(os.fsencode(root) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(new, OWNER, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        pass  # another process was faster
    finally:
        os.unlink(new, dir_fd=folder)
    return _noted(folder)


def _noted(folder: int) -> str:
    file = os.open(OWNER, _READ, dir_fd=folder)
    with open(file, "rb") as reader:
        if not S_ISREG(os.fstat(file).st_mode):
            return "an unknown project"
        return os.fsdecode(reader.read(_LONGEST).strip()) or "an unknown project"


def _refused(path: str, reason: str, setting: str) -> Unavailable:
    return Unavailable(
        "document_folder_unusable",
        f"The folder {path} cannot be used: {reason}.",
        f"Set {setting} to another folder.",
        path=path,
        setting=setting,
    )
