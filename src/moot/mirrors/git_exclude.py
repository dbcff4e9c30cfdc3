"""The block of moot in git's `info/exclude`: the exact paths that moot renders.

Without it, `git stash -u` takes the mailboxes away, `git worktree remove` refuses, and `git add -A` commits messages
that come back as news with an old branch. The file belongs to the repository, is shared by all worktrees, and is never
committed.

The block is at the top of the file: the lines of the user come after it, so they overrule it, and stay byte for byte as
they are. A file that is read-only, a link, or damaged is left alone: the caller is told which lines to add.
"""

from __future__ import annotations

import os
from stat import S_ISLNK, S_ISREG

from moot.core.record import Record
from moot.location import MAIN, gitdir, worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moot.api.protocol.form import Form
    from moot.location import Place

BEGIN = b"# begin moot: what its packs render; `moot init` writes these lines, `moot deinit` removes them\n"
END = b"# end moot\n"
_BOM = b"\xef\xbb\xbf"  # git skips it at the beginning of the file only
_LONGEST = 1 << 20
_TRIES = 3  # somebody may edit the file at the same time
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\*?["})


class ExcludeUnusable(Exception):
    """The file cannot be changed. The text is the reason."""


class Excluded(Record):
    """The result: the lines of the block, files that git tracks, and why the block could not be written."""

    path: str
    lines: tuple[str, ...] = ()
    tracked: tuple[str, ...] = ()
    problem: str = ""


def exclude(place: Place, forms: Iterable[Form]) -> Excluded | None:
    """Write the block for these forms, or remove it if they render nothing. None outside of git."""
    if place.common is None:
        return None
    path, wanted = path_of(place.common), {file: pattern(file) for form in forms for file in _rendered(form)}
    if not wanted and not has_block(place):
        return None
    tracked = _tracked(place, wanted)
    lines = tuple(dict.fromkeys(line for file, line in wanted.items() if file not in tracked))
    try:
        _edit(path, lambda text: with_block(text, lines))
    except ExcludeUnusable as error:
        return Excluded(path=path, lines=lines, tracked=tracked, problem=str(error))
    return Excluded(path=path, lines=lines, tracked=tracked)


def remove(place: Place) -> None:
    """Remove the block. Raises `OSError` if that fails."""
    if place.common is None or not has_block(place):
        return
    path = path_of(place.common)
    try:
        _edit(path, lambda text: with_block(text, ()))
    except ExcludeUnusable as error:
        raise OSError(0, str(error), path) from error


def has_block(place: Place) -> bool:
    """Whether there is a block that `remove` removes."""
    if place.common is None:
        return False
    try:
        return bool(block_of(_read(path_of(place.common))))
    except ExcludeUnusable:
        return False


def leftover(place: Place) -> str | None:
    """The file, if it has lines of moot that `remove` leaves: somebody has damaged the block, or made a link."""
    if place.common is None or has_block(place):
        return None
    path = path_of(place.common)
    try:
        return path if BEGIN.split(b":")[0] in gitdir.read(path, _LONGEST) else None
    except OSError:
        return None


def missing(place: Place, forms: Iterable[Form]) -> list[str]:
    """The files of these forms that the block lacks, if there is a block. Files that git tracks need none."""
    if not has_block(place) or place.common is None:
        return []
    there = set(block_of(_read(path_of(place.common))).decode("utf-8", "replace").splitlines())
    found = {file: line for form in forms for file in _rendered(form) if (line := pattern(file)) not in there}
    tracked = _tracked(place, found) if found else ()
    return [file for file in found if file not in tracked]


def path_of(common: str) -> str:
    return os.path.join(common, "info", "exclude")


def _rendered(form: Form) -> list[str]:
    """The path templates of a form, and of the names that its files have while they are replaced."""
    if not form.writable:
        return []
    folders = dict.fromkeys(os.path.dirname(path) for path in form.paths)
    return [*form.paths, *(os.path.join(folder, ".moot.{name}") for folder in folders)]


def pattern(template: str) -> str:
    """A line of the file for a path template: from the root of the worktree, and with a star for the placeholder."""
    before, brace, rest = template.partition("{")
    literal = f"{before.translate(_SPECIAL)}{'*' if brace else ''}{rest.partition('}')[2].translate(_SPECIAL)}"
    blanks = len(literal) - len(literal.rstrip(" "))
    return "/" + literal.rstrip(" ") + "\\ " * blanks


def _tracked(place: Place, templates: Iterable[str]) -> tuple[str, ...]:
    """The files among these that git tracks in any worktree. None if git is not installed: it tells nobody then."""
    from moot.processes.git import Git, GitFailed  # slow to import

    assert place.common is not None
    specs = [f":(top,glob){pattern(template)[1:]}" for template in templates]
    found: dict[str, None] = {}
    for tree in worktrees(place):
        directory = place.common if tree.name == MAIN else os.path.join(place.common, "worktrees", tree.name)
        try:
            names = Git(directory, tree.root).listed("ls-files", "-z", "--", *specs) if specs else []
        except GitFailed:
            continue
        found |= dict.fromkeys(map(os.fsdecode, names))
    return tuple(found)


# --- the text --------------------------------------------------------------------------------------------------------


def block_of(text: bytes) -> bytes:
    """The lines between the marks. Raises `ExcludeUnusable` if only one of the marks is there, or several."""
    lines = text.removeprefix(_BOM).splitlines(keepends=True)
    marks = [line.rstrip(b"\r\n") for line in lines]
    begins, ends = marks.count(BEGIN.rstrip()), marks.count(END.rstrip())
    if not begins and not ends:
        return b""
    if (begins, ends) != (1, 1) or (first := marks.index(BEGIN.rstrip())) > (last := marks.index(END.rstrip())):
        raise ExcludeUnusable("the lines of moot in it are damaged")
    return b"".join(lines[first + 1 : last]) or b"\n"


def with_block(text: bytes, lines: Iterable[str]) -> bytes:
    """The text with these lines as its block; without them, without a block."""
    bom, rest = (_BOM, text.removeprefix(_BOM)) if text.startswith(_BOM) else (b"", text)
    if block_of(text):
        own = rest.splitlines(keepends=True)
        marks = [line.rstrip(b"\r\n") for line in own]
        rest = b"".join(own[: marks.index(BEGIN.rstrip())] + own[marks.index(END.rstrip()) + 1 :])
    block = b"".join(os.fsencode(line) + b"\n" for line in lines)
    return bom + (BEGIN + block + END if block else b"") + rest


# --- the file --------------------------------------------------------------------------------------------------------


def _read(path: str) -> bytes:
    """The content; nothing if there is no file."""
    try:
        for part in (os.path.dirname(path), path):
            if S_ISLNK(os.lstat(part).st_mode):
                raise ExcludeUnusable(f"{part} is a symbolic link")
        if not S_ISREG(os.lstat(path).st_mode):
            raise ExcludeUnusable("it is not a regular file")
        text = gitdir.read(path, _LONGEST)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ExcludeUnusable(error.strerror or str(error)) from error
    if len(text) > _LONGEST:
        raise ExcludeUnusable(f"it is larger than {_LONGEST} bytes")
    return text


def _edit(path: str, change: Callable[[bytes], bytes]) -> None:
    for _ in range(_TRIES):
        before = _read(path)
        after = change(before)
        if after == before:
            return
        try:
            if _replace(path, before, after):
                return
        except OSError as error:
            raise ExcludeUnusable(error.strerror or str(error)) from error
    raise ExcludeUnusable("somebody else keeps changing it")


def _replace(path: str, before: bytes, after: bytes) -> bool:
    """Replace the content. False if it has changed meanwhile."""
    folder = os.path.dirname(path)
    try:
        os.mkdir(folder)
    except FileExistsError:
        pass
    like = os.lstat(path) if os.path.lexists(path) else None
    if like is not None and (not like.st_mode & 0o200 or not os.access(path, os.W_OK)):
        raise ExcludeUnusable("it is read-only")
    if not after:
        if _read(path) == before:
            os.unlink(path)
            return True
        return False
    draft = f"{path}.{os.urandom(6).hex()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        with open(file, "wb") as out:
            _resemble(out.fileno(), like)
            out.write(after)
        if _read(path) != before:
            return False
        os.replace(draft, path)
    finally:
        if os.path.lexists(draft):
            os.unlink(draft)
    return True


def _resemble(file: int, like: os.stat_result | None) -> None:
    """Give a new file the mode and the owner of the one that it replaces."""
    if like is None:
        return
    os.fchmod(file, like.st_mode & 0o777)
    try:
        os.fchown(file, like.st_uid, like.st_gid)
    except PermissionError:
        pass
