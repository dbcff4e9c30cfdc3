"""Reads a git directory without running git, because starting git takes longer than a whole moot command.

Knows git's files (`.git` as a directory or file, `commondir`, `worktrees/*/gitdir`, `config`) but not workspaces. It
does not read the environment: the caller passes what was named there.

The files may come from anybody. Only regular files are opened (a FIFO would block), and the work per file is limited.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from moot.core.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LONGEST_POINTER = 8192  # a path with a prefix
_LONGEST_CONFIG = 4 << 20
_MOST_WORK = 1 << 18  # characters in values with quotes, escapes or comments, which are read one by one


def at(directory: str, *, named: bool = False) -> str | None:
    """The git directory of exactly this directory: its `.git`, or the directory itself; None if it has none.

    As in git, a `.git` file must lead to a repository; a `.git` directory that is not a repository is ignored. A
    directory that only looks like a git directory may be committed files. It counts only if the caller `named` it, or
    if it is in a location that only git writes.
    """
    dot_git = os.path.join(directory, ".git")
    try:
        mode = os.stat(dot_git).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    except OSError as problem:
        raise _broken(dot_git, problem.strerror or "it cannot be read") from problem
    if S_ISREG(mode):
        return _pointed_to(dot_git)
    if S_ISDIR(mode):
        if is_git_directory(dot_git):
            return dot_git
        if _has_odd_head(dot_git):
            raise _broken(os.path.join(dot_git, "HEAD"), "it is not a regular file")
    return directory if (named or _is_gits(directory)) and is_git_directory(directory) else None


def _is_gits(directory: str) -> bool:
    """Whether it is a `.git`, or a git directory of a submodule or worktree. Committed files cannot be there."""
    return directory.endswith("/.git") or "/.git/modules/" in directory or "/.git/worktrees/" in directory


def _has_odd_head(directory: str) -> bool:
    """Whether HEAD is a special file that would block git, such as a FIFO."""
    try:
        mode = os.stat(os.path.join(directory, "HEAD")).st_mode
    except OSError:
        return False
    return not S_ISREG(mode) and not S_ISDIR(mode)


def is_root(directory: str) -> bool:
    """Whether its `.git` makes it the root of a repository or worktree, even a broken one."""
    dot_git = os.path.join(directory, ".git")
    return os.path.isfile(dot_git) or is_git_directory(dot_git)


def is_git_directory(directory: str) -> bool:
    """Whether it is the git directory of a repository or of a linked worktree."""
    try:
        mode = os.lstat(os.path.join(directory, "HEAD")).st_mode
    except OSError:
        return False
    if not S_ISREG(mode) and (not S_ISLNK(mode) or _has_odd_head(directory)):
        return False
    own = os.path.isdir(os.path.join(directory, "objects")) and os.path.isdir(os.path.join(directory, "refs"))
    return own or os.path.isfile(os.path.join(directory, "commondir"))


def common_of(git_directory: str) -> str:
    """The git directory that all worktrees of the repository share. Both are real paths."""
    pointer = os.path.join(git_directory, "commondir")
    if not os.path.lexists(pointer):
        return git_directory
    target = _line(pointer)
    # `git_directory` is a real path, so normalizing `../..` textually is safe.
    common = (
        os.path.realpath(target) if os.path.isabs(target) else os.path.normpath(os.path.join(git_directory, target))
    )
    if not is_git_directory(common):
        raise _broken(pointer, f"it points to {common}, which is not a repository")
    return common


def worktree_of(git_directory: str, known: dict[str, str] | None = None) -> str | None:
    """The root of the linked worktree with this git directory, or None if it no longer exists.

    Another repository may be in its place, so its `.git` must point back. `known` caches the real paths of parent
    directories between calls.
    """
    try:
        dot_git = os.path.join(git_directory, _line(os.path.join(git_directory, "gitdir")))
        if not os.path.isfile(dot_git):
            return None
        back = _line(dot_git).removeprefix("gitdir: ")
    except Unavailable:
        return None
    root = real(os.path.dirname(dot_git), known)
    target = os.path.join(root, back)
    return root if target == git_directory or os.path.realpath(target) == git_directory else None


def real(path: str, known: dict[str, str] | None = None) -> str:
    """The real path. Resolving a whole path is slow, so those of parent directories are cached in `known`."""
    parent, name = os.path.split(os.path.normpath(path))
    known = {} if known is None else known
    if parent not in known:
        known[parent] = os.path.realpath(parent)
    whole = os.path.join(known[parent], name)
    return os.path.realpath(whole) if os.path.islink(whole) else whole


def linked_worktrees(common: str) -> Iterator[tuple[str, str]]:
    """Name and root of each linked worktree that still exists."""
    folder = os.path.join(common, "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    known: dict[str, str] = {}
    for name in names:
        root = worktree_of(os.path.join(folder, name), known)
        if root is not None:
            yield name, root


def config(common: str) -> dict[str, str]:
    """The keys of `[core]` and `[extensions]`, in lower case, such as `core.bare`. The last value wins."""
    values = _parsed(os.path.join(common, "config"))
    if truth(values.get("extensions.worktreeconfig")):
        # Git moves core.bare and core.worktree there when it enables this extension.
        values |= _parsed(os.path.join(common, "config.worktree"))
    return values


def truth(value: str | None) -> bool:
    """A config value as a boolean, as git reads it."""
    return value is not None and value.lower() in ("true", "yes", "on", "1")


def _parsed(path: str) -> dict[str, str]:
    return {f"{section}.{name}": value for section, name, value in entries(path) if section in ("core", "extensions")}


def entries(path: str) -> Iterator[tuple[str, str, str]]:
    """Section, name and value of each entry in a config file, in order; nothing if the file does not exist."""
    try:
        raw = read(path, _LONGEST_CONFIG)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise _broken(path, problem.strerror or "it cannot be read") from problem
    if len(raw) > _LONGEST_CONFIG:
        raise _broken(path, f"it is larger than {_LONGEST_CONFIG} bytes")
    lines = iter(os.fsdecode(_checked(path, raw)).removeprefix("\ufeff").split("\n"))
    section = ""
    work = _Work(path)
    for line in lines:
        text = line.strip()
        if text.startswith("["):
            section, text = _header(text)
        if not text or text[0] in "#;":
            continue
        name, equals, value = text.partition("=")
        yield section, name.strip().lower(), _value(value, lines, work) if equals else "true"


def _header(text: str) -> tuple[str, str]:
    """The section that a line opens, and the rest of the line. A subsection stays part of the name."""
    end = text.find('"]') + 1 if '"' in text.partition("]")[0] else text.find("]")
    return text[1:end].strip().lower(), text[end + 1 :].strip()


class _Work:
    """Limits how much of a file is read character by character."""

    def __init__(self, path: str) -> None:
        self._path, self._left = path, _MOST_WORK

    def take(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise _broken(self._path, f"it has more than {_MOST_WORK} characters in quotes, escapes and comments")


def _value(raw: str, lines: Iterator[str], work: _Work) -> str:
    """A value without quotes, escapes and comment. A backslash at the end of a line continues on the next line."""
    if not any(letter in raw for letter in '"\\#;'):
        return raw.strip()
    letters: list[str] = []
    quoted, at = False, 0
    work.take(len(raw))
    while at < len(raw):
        letter = raw[at]
        if letter == "\\":
            if at + 1 == len(raw):
                raw, at = next(lines, ""), 0
                work.take(len(raw) + 1)
                continue
            at += 1
            letters.append({"n": "\n", "t": "\t", "b": "\b"}.get(raw[at], raw[at]))
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            letters.append(letter)
        at += 1
    return "".join(letters).strip()


def _pointed_to(dot_git: str) -> str:
    line = _line(dot_git)
    if not line.startswith("gitdir: "):
        raise _broken(dot_git, "it is a file without a line `gitdir: …`")
    target = os.path.join(os.path.dirname(dot_git), line.removeprefix("gitdir: "))
    if not is_git_directory(target):
        raise _broken(dot_git, f"it points to {target}, which is not a repository")
    return target


def _line(path: str) -> str:
    try:
        raw = read(path, _LONGEST_POINTER)[:_LONGEST_POINTER]
    except OSError as problem:
        raise _broken(path, problem.strerror or "it cannot be read") from problem
    return os.fsdecode(_checked(path, raw).rstrip(b"\r\n"))


def _checked(path: str, raw: bytes) -> bytes:
    """The same bytes. Raises if they contain a NUL, which no path can."""
    if b"\0" in raw:
        raise _broken(path, "it contains a NUL byte")
    return raw


def read(path: str, limit: int, check_author: Callable[[int], None] | None = None) -> bytes:
    """Up to `limit` + 1 bytes of a regular file; `limit` + 1 means that it is too long. Never blocks.

    A link is followed, as in git. `check_author` gets the owner of the file before it is read.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        if not S_ISREG(found.st_mode):
            raise OSError(0, "it is not a regular file", path)
        if check_author is not None:
            check_author(found.st_uid)
        parts, left = [], limit + 1
        while left > 0 and (part := os.read(file, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(file)


def _broken(path: str, why: str) -> Unavailable:
    return Unavailable(
        "git_broken",
        f"{path} does not lead to a repository: {why}.",
        "Run `git status` there. `git worktree repair` repairs a moved worktree, `git submodule update --init` a "
        "submodule. If the `.git` is a leftover, remove it.",
        path=path,
    )
