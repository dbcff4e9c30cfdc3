"""Files that a verb writes where its caller wants them: never over one that is there unasked, never over moot's own."""

from __future__ import annotations

import os

from moot.core.errors import Refused, Unavailable, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.session import Session
    from moot.engine.place import Place


def path_of(session: Session, file: str) -> str:
    path = os.path.abspath(os.path.join(session.cwd, os.path.expanduser(file)))
    if not os.path.basename(file) or os.path.isdir(path):
        raise Usage("not_a_file", f"{path} is a directory.", "Name a file.", file=path)
    return path


def checked(session: Session, file: str, *, force: bool) -> str:
    """Where to write; refused before any work is done."""
    path = path_of(session, file)
    if _own(session.place, path):
        raise Refused(
            "own_file",
            f"{path} is a file of the workspace or of git.",
            "Name a file elsewhere; --force does not change this.",
            file=path,
        )
    if os.path.exists(path) and not os.path.isfile(path):
        raise Usage(
            "not_a_file", f"{path} is no file.", "Name a file; `moot export -` writes to the output.", file=path
        )
    if os.path.lexists(path) and not force:
        raise _exists(path)
    return path


def put(draft: str, path: str, *, force: bool) -> None:
    """Give a whole file its name: unasked never over one that came meanwhile; without links, as well as one can."""
    if force:
        os.replace(draft, path)
        return
    try:
        os.link(draft, path)
    except FileExistsError:
        raise _exists(path) from None
    except OSError:
        if os.path.lexists(path):
            raise _exists(path) from None
        os.rename(draft, path)


def unusable(path: str, error: OSError) -> Unavailable:
    """It cannot be written."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            remedy = "Make its folder first, or name a file elsewhere."
        case PermissionError():
            remedy = "Name a file where this user may write."
        case _:
            remedy = "Name another file, or make room for it."
    return Unavailable("file_unusable", f"{path} cannot be used: {_why(error)}.", remedy, file=path)


def unreadable(path: str, error: OSError) -> Unavailable | Usage:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        remedy = "Name a file that `moot export` wrote, or - for the standard input."
        return Usage("no_export", f"There is no file {path}.", remedy, file=path)
    remedy = "Let this user read it, or name another file that `moot export` wrote."
    return Unavailable("file_unreadable", f"{path} cannot be read: {_why(error)}.", remedy, file=path)


def _why(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _exists(path: str) -> Refused:
    return Refused("file_exists", f"{path} is there already.", "Take another name, or --force.", file=path)


def _own(place: Place, path: str) -> bool:
    """Whether it is, or is inside of, what moot or git keep here: by name, and by inode where names have two cases."""
    roots = {root for root in (place.root, place.main_root) if root is not None}
    kept = [os.path.join(root, name) for root in roots for name in (".git", "moot.toml")]
    kept += [directory for directory in (place.state, place.common) if directory is not None]
    names = {os.path.realpath(own) for own in kept}
    inodes = {_inode(own) for own in kept} - {None}
    named = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # a link itself,
    meant = os.path.realpath(path)  # and what it leads to
    return any(part in names or _inode(part) in inodes for full in (named, meant) for part in _upwards(full))


def _upwards(path: str) -> Iterator[str]:
    yield path
    while (above := os.path.dirname(path)) != path:
        path = above
        yield path


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
