"""The block of moot in git's `info/exclude`: the exact paths that moot renders.

Without it, `git stash -u` takes the mailboxes away, `git worktree remove` refuses, and `git add -A` commits messages
that come back as news with an old branch. The file belongs to the repository, is shared by all worktrees, and is never
committed.

The block is at the top of the file: the lines of the user come after it, so they overrule it, and stay byte for byte as
they are. A file that is read-only, a link, or damaged is left alone: the caller is told which lines to add.
"""

from __future__ import annotations

import os

from moot.core.record import Record
from moot.place import gitdir
from moot.place.private_files import write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.api.protocol.form import Form
    from moot.place import Place

BEGIN = b"# begin moot: what its packs render; `moot init` writes these lines, `moot deinit` removes them\n"
END = b"# end moot\n"
_BOM = b"\xef\xbb\xbf"  # git skips it at the beginning of the file only
_LONGEST = 1 << 20
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\*?["})


class Excluded(Record):
    """The result: the lines of the block, and why it could not be written."""

    path: str
    lines: tuple[str, ...] = ()
    problem: str = ""


def exclude(place: Place, forms: Iterable[Form]) -> Excluded | None:
    """Write the block for these forms, or remove it if they render nothing. None outside of git."""
    if place.common is None:
        return None
    path, lines = path_of(place.common), tuple(dict.fromkeys(pattern(at) for form in forms for at in _rendered(form)))
    if not lines and not has_block(place):
        return None
    try:
        _write(path, lines)
    except OSError as error:
        return Excluded(path=path, lines=lines, problem=error.strerror or str(error))
    return Excluded(path=path, lines=lines)


def remove(place: Place) -> None:
    """Remove the block. Raises `OSError` if that fails."""
    if place.common is not None and has_block(place):
        _write(path_of(place.common), ())


def has_block(place: Place) -> bool:
    """Whether there is a block that `remove` removes."""
    try:
        return place.common is not None and bool(_split(_read(path_of(place.common)))[1])
    except OSError:
        return False


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


def _read(path: str) -> bytes:
    """The content; nothing if there is no file. Raises `OSError` if it must not be changed."""
    if os.path.islink(path) or os.path.islink(os.path.dirname(path)):
        raise OSError(0, "it is a symbolic link", path)
    try:
        return gitdir.read(path, _LONGEST)
    except FileNotFoundError:
        return b""


def _split(text: bytes) -> tuple[bytes, bytes, bytes]:
    """What is before the block, the block, and what is after it."""
    head, begin, rest = text.partition(BEGIN)
    block, end, tail = rest.partition(END)
    if bool(begin) != bool(end) or BEGIN in tail or len(text) > _LONGEST:
        raise OSError(0, "the lines of moot in it are damaged, or it is too large")
    return head, begin + block + end, tail


def _write(path: str, lines: Iterable[str]) -> None:
    text = _read(path)
    head, _, tail = _split(text.removeprefix(_BOM))
    block = b"".join(os.fsencode(line) + b"\n" for line in lines)
    after = text[: len(_BOM) if text.startswith(_BOM) else 0] + (BEGIN + block + END if block else b"") + head + tail
    if after == text:
        return
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
    if not mode & 0o200:
        raise OSError(0, "it is read-only", path)
    if not after:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_private(path, after)
    os.chmod(path, mode)
