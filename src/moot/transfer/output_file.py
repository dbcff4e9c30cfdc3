"""A file that a verb writes for its caller: where it may be, and how it appears only when it is complete.

It is never a file of moot or git, nor where a link in the repository leads. It replaces an existing file only with
--force, and never a link. Its draft is `FILE.moot-ID.part`, next to it; a killed process leaves that behind.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from moot.core.errors import Refused, Unavailable, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call

_KINDS = ("", "-journal", "-wal", "-shm")  # of the files that SQLite makes


def checked(call: Call, file: str, *, force: bool) -> str:
    """The absolute path, checked before any work is done."""
    path = os.path.abspath(os.path.join(call.cwd, os.path.expanduser(file)))
    place, real = call.place, os.path.realpath(path).casefold()  # names may ignore case
    folders = [folder for folder in (place.state, place.common) if folder is not None]
    roots = [root for root in (place.root, place.main_root) if root is not None]
    own = [os.path.realpath(one).casefold() for one in (*folders, *(os.path.join(root, "moot.toml") for root in roots))]
    if ".git" in real.split(os.sep) or any(real == one or real.startswith(one + os.sep) for one in own):
        raise Refused("own_file", f"{path} belongs to moot or git.", "Name another file.", file=path)
    for root in map(os.path.realpath, roots):
        if path.startswith(root + os.sep) and not real.startswith(root.casefold() + os.sep):
            remedy = f"Name the file by its real place, {os.path.realpath(path)}."
            raise Refused("outside_workspace", f"A link in {path} leads out of the workspace.", remedy, file=path)
    if not os.path.basename(file) or (os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path))):
        remedy = "Name a new file. `moot export -` writes to standard output."
        raise Usage("not_a_file", f"{path} is a directory, a link or a device.", remedy, file=path)
    if os.path.exists(path) and not force:
        raise exists(path)
    return path


@contextmanager
def written(path: str, *, force: bool) -> Iterator[tuple[str, int]]:
    """A new empty draft of the file, and its descriptor. The draft gets its name when the context ends without error.

    Only its caller can read it, whatever the umask: a log contains what agents tell each other.
    """
    draft = f"{path}.moot-{os.urandom(3).hex()}.part"
    try:
        # Also for SQLite: an error of the system says more about a bad place than SQLite's.
        file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            yield draft, file
            _put(draft, path, force=force)
        finally:
            os.close(file)
            for kind in _KINDS:
                with suppress(FileNotFoundError):
                    os.unlink(draft + kind)
    except OSError as error:
        raise _unusable(path, error) from error


def _put(draft: str, path: str, *, force: bool) -> None:
    """Give a complete draft its name. Without `force`, never replace a file, even one that was created meanwhile."""
    if force:
        os.replace(draft, path)
        return
    try:
        os.link(draft, path)
    except FileExistsError:
        raise exists(path) from None
    except OSError:  # a file system without hard links, where this cannot be atomic
        if os.path.lexists(path):
            raise exists(path) from None
        os.rename(draft, path)


def exists(path: str) -> Refused:
    return Refused("file_exists", f"{path} already exists.", "Choose another name, or use --force.", file=path)


def reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _unusable(path: str, error: OSError) -> Unavailable:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            remedy = "Create its folder first, or name another file."
        case PermissionError():
            remedy = "Name a file that this user may write."
        case _:
            remedy = "Name another file, or make room for it."
    return Unavailable("file_unusable", f"{path} cannot be written: {reason(error)}.", remedy, file=path)
