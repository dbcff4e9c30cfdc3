"""What a `.git` says, read without running git: starting git would cost more than a whole command of ours.

Knows git's files (`.git` as a directory or file, `commondir`, `worktrees/*/gitdir`, `config`) and nothing of
workspaces. It never looks at the environment: whoever calls says what was named in it.

What is read here may be a stranger's: nothing but a regular file is opened (a FIFO would block), and no file makes
more work than its size allows.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from moot.core.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LONGEST_POINTER = 8192  # a path with a word in front
_LONGEST_CONFIG = 4 << 20
_MOST_WORK = 1 << 18  # characters in values with quotes, escapes or comments, which are read one by one


def at(directory: str, *, named: bool = False) -> str | None:
    """The git directory that belongs to this very directory: its `.git`, or itself; None if it has none.

    As git has it: only a `.git` file must lead to a repository. Any other leftover of that name is as good as none.
    A directory that only looks like a git directory may be a stranger's committed files. It counts if somebody `named`
    it, or if it is git's own place.
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
    """Whether it is a `.git`, or where git keeps those of submodules and worktrees: no commit puts files there."""
    return directory.endswith("/.git") or "/.git/modules/" in directory or "/.git/worktrees/" in directory


def _has_odd_head(directory: str) -> bool:
    """Whether HEAD is something that git would wait for, such as a FIFO."""
    try:
        mode = os.stat(os.path.join(directory, "HEAD")).st_mode
    except OSError:
        return False
    return not S_ISREG(mode) and not S_ISDIR(mode)


def is_root(directory: str) -> bool:
    """Whether its `.git` makes it a repository's or a worktree's root, be it a broken one."""
    dot_git = os.path.join(directory, ".git")
    return os.path.isfile(dot_git) or is_git_directory(dot_git)


def is_git_directory(directory: str) -> bool:
    """Whether it is a repository's git directory or a linked worktree's."""
    try:
        mode = os.lstat(os.path.join(directory, "HEAD")).st_mode
    except OSError:
        return False
    if not S_ISREG(mode) and (not S_ISLNK(mode) or _has_odd_head(directory)):
        return False
    own = os.path.isdir(os.path.join(directory, "objects")) and os.path.isdir(os.path.join(directory, "refs"))
    return own or os.path.isfile(os.path.join(directory, "commondir"))


def common_of(git_directory: str) -> str:
    """The git directory that all worktrees of the repository share. Both paths are real ones."""
    pointer = os.path.join(git_directory, "commondir")
    if not os.path.lexists(pointer):
        return git_directory
    said = _line(pointer)
    # From a directory without links in its name, `../..` leads to another one.
    common = os.path.realpath(said) if os.path.isabs(said) else os.path.normpath(os.path.join(git_directory, said))
    if not is_git_directory(common):
        raise _broken(pointer, f"it names {common}, which is not a repository")
    return common


def worktree_of(git_directory: str, known: dict[str, str] | None = None) -> str | None:
    """The root of the linked worktree with this git directory, or None if it is gone.

    Another repository may stand in its place by now: only a `.git` that points back counts.
    `known` remembers the real paths of parents, for those who ask about several neighbours.
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
    """The path without links in it. Resolving a whole path is slow, so the parents' are taken from `known`."""
    parent, name = os.path.split(os.path.normpath(path))
    known = {} if known is None else known
    if parent not in known:
        known[parent] = os.path.realpath(parent)
    whole = os.path.join(known[parent], name)
    return os.path.realpath(whole) if os.path.islink(whole) else whole


def linked_worktrees(common: str) -> Iterator[tuple[str, str]]:
    """Name and root of each linked worktree that is still there."""
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
        # Git moves core.bare and core.worktree there when it turns this extension on.
        values |= _parsed(os.path.join(common, "config.worktree"))
    return values


def truth(value: str | None) -> bool:
    """A config value as git's yes or no."""
    return value is not None and value.lower() in ("true", "yes", "on", "1")


def _parsed(path: str) -> dict[str, str]:
    return {f"{section}.{name}": value for section, name, value in entries(path) if section in ("core", "extensions")}


def entries(path: str) -> Iterator[tuple[str, str, str]]:
    """Section, name and value of all that a config says, in its order; nothing if there is no such file."""
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
        name, equals, said = text.partition("=")
        yield section, name.strip().lower(), _value(said, lines, work) if equals else "true"


def _header(text: str) -> tuple[str, str]:
    """The section that a line opens, and what follows on the line. A section with a subsection is not ours."""
    end = text.find('"]') + 1 if '"' in text.partition("]")[0] else text.find("]")
    return text[1:end].strip().lower(), text[end + 1 :].strip()


class _Work:
    """How much of a file was read one character after the other."""

    def __init__(self, path: str) -> None:
        self._path, self._left = path, _MOST_WORK

    def take(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise _broken(self._path, f"it has more than {_MOST_WORK} characters in quotes, escapes and comments")


def _value(raw: str, lines: Iterator[str], work: _Work) -> str:
    """A value without quotes, escapes and comment; a backslash at the end of a line takes the next line in."""
    if not any(letter in raw for letter in '"\\#;'):
        return raw.strip()
    said: list[str] = []
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
            said.append({"n": "\n", "t": "\t", "b": "\b"}.get(raw[at], raw[at]))
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            said.append(letter)
        at += 1
    return "".join(said).strip()


def _pointed_to(dot_git: str) -> str:
    said = _line(dot_git)
    if not said.startswith("gitdir: "):
        raise _broken(dot_git, "it is a file without a line `gitdir: …`")
    target = os.path.join(os.path.dirname(dot_git), said.removeprefix("gitdir: "))
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
    """The same, unless it cannot be text: no path with a NUL in it names anything."""
    if b"\0" in raw:
        raise _broken(path, "it holds a NUL byte")
    return raw


def read(path: str, limit: int, check_author: Callable[[int], None] | None = None) -> bytes:
    """The first bytes of a regular file, one more than `limit` if there are more. Waits for nobody.

    A link is followed, as git does. `check_author` is told whose file it is, before it is read.
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
        "See what `git status` says there. `git worktree repair` mends a moved worktree, "
        "`git submodule update --init` a submodule; remove the `.git` if it is a leftover.",
        path=path,
    )
