"""The hook files of a repository: where git looks for them, what is there, installing and removing the guard.

Only files in the repository's own git directory are written. If git looks elsewhere (`core.hooksPath`), somebody else
manages the hooks there: the guard is one line that this person adds.

A hook that exists is kept: it becomes `NAME.before-moot`, and the guard runs it first. It is linked, not copied, so
removing the guard gives back the same file. A hook that somebody edited after the guard was installed is not touched.

The second line of a hook that moot made has a digest of the other lines. So the hook is recognised whatever version
made it, and one that somebody edited is not taken for it.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import contextmanager
from hashlib import sha256  # noqa: TID253 (loaded on demand)
from shlex import quote
from stat import S_ISLNK, S_ISREG

from moot.core.errors import Refused, Unavailable
from moot.core.record import Record
from moot.core.text import shell_word
from moot.place import MAIN, caches, gitdir
from moot.place.git import Git, GitFailed
from moot.place.private_files import check_folders, check_private, open_private, unsafe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.place import Place

HOOKS = ("pre-commit", "pre-push")
BEFORE = ".before-moot"
LEGACY = ".legacy"  # where the program `pre-commit` moves the hook that it finds, and calls it from
RECORD = "guard"  # a file of the state directory: the guard was installed, and where
_LOCK = "guard.lock"  # another file there, locked while hooks are changed
_LONGEST = 1 << 20  # bytes of a hook
_MARK = b"# moot guard 1 "
_CALL = "moot -C . guard check"
_ARGUMENTS = {"pre-commit": "pre-commit", "pre-push": 'pre-push --refs - -- "$@"'}
_CONFIG = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_SAID = {
    "installed": "installed",
    "by hand": "calls the guard by a line of its own",
    "by pre-commit": "runs the guard as the earlier hook of `pre-commit`",
    "not executable": "installed, but the file is not executable, so git ignores it",
    "edited": "installed, but somebody has edited the file since",
    "replaced": "another hook is in the place of the guard",
    "missing": "not installed",
    "other": "another hook, without the guard",
}
_GUARDED = ("installed", "by hand", "by pre-commit")


class HookFolder(Record):
    """Where git looks for hooks. moot writes only to a folder `inside` the git directory."""

    path: str
    inside: bool
    setting: str | None = None  # the value of core.hooksPath
    scope: str | None = None  # which of git's configs sets it: local, worktree, global, system


class HookStatus(Record):
    """One hook. `before` is the hook that was there before, which the guard runs first."""

    hook: str
    path: str
    state: str
    guarded: bool
    before: str | None = None

    @property
    def said(self) -> str:
        first = f"; it runs {self.before} first" if self.before and self.state == "installed" else ""
        return f"{self.hook}: {_SAID[self.state]}{first} ({self.path})"


class GuardStatus(Record):
    """`installed`: by `moot guard install`, and not removed since. `guarded`: commits and pushes are really checked."""

    installed: bool
    guarded: bool
    folder: HookFolder
    hooks: tuple[HookStatus, ...]


class GuardRemoved(Record):
    """Removed hooks, earlier hooks that are in their place again, and files that were left."""

    removed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def git_directory(place: Place) -> str:
    """The git directory of the worktree of this place."""
    if place.common is None:
        raise Refused(
            "no_git",
            f"{place.root} is not a git repository, so there are no commits to guard.",
            "Use it in a git repository. `moot claims` shows what others have claimed.",
        )
    return place.common if place.worktree == MAIN else os.path.join(place.common, "worktrees", place.worktree)


def folder_of(place: Place) -> HookFolder:
    """Where git looks for the hooks of this worktree."""
    directory = git_directory(place)
    more = {name: os.environ[name] for name in _CONFIG if name in os.environ}
    try:
        git = Git(directory, place.root, more=more, hooks=True)
        ran = git.run("config", "-z", "--show-scope", "--type=path", "--get", "core.hooksPath")
    except GitFailed as problem:
        raise git_failed(problem) from problem
    common = place.common or directory
    if ran.code:
        path, setting, scope = os.path.join(common, "hooks"), None, None
    else:
        scope, setting = (os.fsdecode(part) for part in ran.output.tail.split(b"\0")[:2])
        path = os.path.normpath(os.path.join(place.root, setting))
    real = os.path.realpath(path)
    inside = real.startswith(f"{common}/")
    return HookFolder(path=real if inside else path, inside=inside, setting=setting, scope=scope)


def git_failed(problem: GitFailed) -> Unavailable:
    return Unavailable(
        "git_failed",
        f"Git failed: {str(problem)[:300]}.",
        "Run `git status` here to see what is wrong, then try again.",
    )


def status(place: Place) -> GuardStatus:
    folder, record = folder_of(place), caches.recall(_record(place))
    hooks = tuple(_status(folder, hook, known=record is not None) for hook in HOOKS)
    return GuardStatus(
        installed=record is not None, guarded=all(one.guarded for one in hooks), folder=folder, hooks=hooks
    )


def _status(folder: HookFolder, hook: str, *, known: bool) -> HookStatus:
    path = _path(folder, hook)
    before = f"{path}{BEFORE}"
    there = os.path.lexists(before)
    state = _state(path, hook)
    if state == "other" and (known or there):
        state = "replaced"
    return HookStatus(hook=hook, path=path, state=state, guarded=state in _GUARDED, before=before if there else None)


def _path(folder: HookFolder, hook: str) -> str:
    """The file for this hook. Husky's own files are in `_`; those of the project are above it."""
    above, name = os.path.split(folder.path)
    husky = name == "_" and os.path.basename(above) == ".husky"
    return os.path.join(above if husky and not folder.inside else folder.path, hook)


def _state(path: str, hook: str) -> str:
    content = _read(path)
    if content is None:
        return "missing" if not os.path.lexists(path) else "other"
    runs = os.access(path, os.X_OK)
    if is_unchanged(content):
        return "installed" if runs else "not executable"
    if is_made(content):
        return "edited"
    if calls_guard(content, hook):
        return "by hand"
    legacy = _read(path + LEGACY)
    if b"pre-commit.com" in content and legacy is not None and is_unchanged(legacy):
        return "by pre-commit"
    return "other"


def _read(path: str) -> bytes | None:
    """The content of a hook; None if it cannot be read. A link is followed, as git does."""
    try:
        content = gitdir.read(path, _LONGEST)
    except OSError:
        return None
    return content if len(content) <= _LONGEST else None


def install(place: Place) -> GuardStatus:
    """Install both hooks, or refuse and change nothing. Safe to repeat."""
    folder = folder_of(place)
    if not folder.inside:
        found = status(place)
        if found.guarded:
            return found
        raise _elsewhere(place, folder)
    _check_folder(place, folder)
    with _alone(place):
        edited = [path for hook in HOOKS if _state(path := _path(folder, hook), hook) == "edited"]
        if edited:
            raise _edited(edited)
        for hook in HOOKS:
            _install(_path(folder, hook), hook)
        caches.keep(_record(place), {"folder": folder.path})
    return status(place)


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """Keep other processes from installing or removing the guard. Without a state directory there are none."""
    try:
        file = open_private(os.path.join(place.state, _LOCK), os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)  # held for some milliseconds
        yield
    finally:
        os.close(file)


def _install(path: str, hook: str) -> None:
    state, script = _state(path, hook), hook_script(hook)
    if state in ("by hand", "by pre-commit") or (state == "installed" and _read(path) == script):
        return
    if state == "other":
        _set_aside(path)
    draft = f"{path}.{os.urandom(6).hex()}"
    file = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
    try:
        with open(file, "wb") as out:
            os.fchmod(out.fileno(), 0o755)
            out.write(script)
        os.replace(draft, path)
    except BaseException:
        _unlink(draft)
        raise


def _set_aside(path: str) -> None:
    """Keep a hook as the one that the guard runs first. One that was kept before gets a numbered name."""
    before = f"{path}{BEFORE}"
    found = os.lstat(path)
    if S_ISREG(found.st_mode):
        check_private(path)
    elif not S_ISLNK(found.st_mode):
        raise unsafe(path, "it is not a regular file")
    if os.path.lexists(before):
        if _is_same(path, before):
            return  # an earlier installation was interrupted
        os.rename(before, next(name for name in _numbered(before) if not os.path.lexists(name)))
    try:
        os.link(path, before, follow_symlinks=False)
    except OSError:  # this file system has no links
        os.rename(path, before)


def _numbered(path: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{path}.{number}"


def _is_same(one: str, other: str) -> bool:
    return os.path.samestat(os.lstat(one), os.lstat(other))


def remove(place: Place, *, leave_edited: bool = False) -> GuardRemoved:
    """Remove the guard and put the earlier hooks back. An edited hook is refused, or left."""
    with _alone(place):
        return _remove(place, leave_edited=leave_edited)


def _remove(place: Place, *, leave_edited: bool) -> GuardRemoved:
    found = GuardRemoved()
    hooks = [
        path + end
        for folder in _folders(place)
        for name in HOOKS
        for path in [os.path.join(folder, name)]
        for end in ("", LEGACY)
    ]
    edited = [
        path
        for path in hooks
        if (content := _read(path)) is not None and is_made(content) and not is_unchanged(content)
    ]
    if edited and not leave_edited:
        raise _edited(edited)
    for path in hooks:
        found = _removed(path, found)
    _unlink(_record(place))
    return found.replace(left=(*edited, *found.left))


def _removed(path: str, found: GuardRemoved) -> GuardRemoved:
    before = f"{path.removesuffix(LEGACY)}{BEFORE}"
    content = _read(path)
    if content is not None and is_unchanged(content) and not os.path.islink(path):
        if os.path.lexists(before):
            os.replace(before, path)
            return found.replace(removed=(*found.removed, path), restored=(*found.restored, path))
        os.unlink(path)
        return found.replace(removed=(*found.removed, path))
    if path.endswith(LEGACY) or not os.path.lexists(before):
        return found
    if not os.path.lexists(path):  # an earlier removal or installation was interrupted
        os.rename(before, path)
        return found.replace(restored=(*found.restored, path))
    if _is_same(path, before):
        os.unlink(before)
        return found
    return found.replace(left=(*found.left, before))


def _folders(place: Place) -> list[str]:
    """The folders in the git directory that may have the guard: where git looks, has looked, or would look."""
    common = place.common or git_directory(place)
    record = caches.recall(_record(place))
    noted = record.get("folder") if isinstance(record, dict) else None
    try:
        now = folder_of(place)
    except Unavailable:
        now = None
    wanted = (now.path if now is not None and now.inside else None, noted, os.path.join(common, "hooks"))
    real = [os.path.realpath(path) for path in wanted if isinstance(path, str)]
    return list(dict.fromkeys(path for path in real if path.startswith(f"{common}/") and os.path.isdir(path)))


def _check_folder(place: Place, folder: HookFolder) -> None:
    """Create the folder if it is missing. Refuse one that another account could change."""
    common = place.common or folder.path
    try:
        os.mkdir(folder.path)
    except FileExistsError:
        pass
    check_folders(common, *os.path.relpath(folder.path, common).split(os.sep))


def _record(place: Place) -> str:
    return os.path.join(place.state, RECORD)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _edited(paths: list[str]) -> Refused:
    where = shell_word(paths[0], "FILE")
    return Refused(
        "guard_edited",
        f"Somebody has edited {', '.join(paths)} since `moot guard install` made it. Nothing was changed.",
        f"Move the added lines to {where}{BEFORE}, which runs first, and make that file executable. Then delete "
        f"{where} and try again.",
        files=paths,
    )


def _elsewhere(place: Place, folder: HookFolder) -> Refused:
    files = {hook: _path(folder, hook) for hook in HOOKS}
    lines = {path: line_for(hook) for hook, path in files.items()}
    where = f"core.hooksPath in git's {folder.scope} config" if folder.setting is not None else "a link"
    told = "\n".join(f"  {path}:\n    {line}" for path, line in lines.items())
    return Refused(
        "hooks_elsewhere",
        f"The hooks of {place.root} are in {folder.path} ({where}). moot does not write outside the git directory.",
        f"Add a line to these files (create them with `#!/bin/sh`, and make them executable):\n{told}",
        folder=folder.path,
        setting=folder.setting,
        scope=folder.scope,
        lines=lines,
    )


def hook_script(hook: str) -> bytes:
    """The hook for this machine: it runs moot with the interpreter that runs this."""
    with open(os.path.join(os.path.dirname(__file__), "hook.sh"), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("@HOOK@", hook).replace("@PYTHON@", quote(os.path.abspath(sys.executable or "moot")))
    whole = text.encode("utf-8", "surrogateescape")
    return whole.replace(b"@DIGEST@", _digest(whole), 1)


def is_made(content: bytes) -> bool:
    """Whether `moot guard install` made it, even if it was edited since."""
    return _second_line(content).startswith(_MARK)


def is_unchanged(content: bytes) -> bool:
    """Whether it is exactly what `moot guard install` made."""
    return is_made(content) and _second_line(content) == _MARK + _digest(content)


def calls_guard(content: bytes, hook: str) -> bool:
    """Whether a hook of somebody else has the line that runs the guard."""
    return f"guard check {hook}".encode() in content


def line_for(hook: str) -> str:
    """The line that runs the guard in a hook of somebody else. Without moot, it does nothing."""
    return f"! command -v moot >/dev/null || {_CALL} {_ARGUMENTS[hook]} || [ $? -ne 3 ] || exit 1"


def _second_line(content: bytes) -> bytes:
    return b"".join(content.split(b"\n", 2)[1:2])


def _digest(content: bytes) -> bytes:
    lines = content.split(b"\n")
    return sha256(b"\n".join(lines[:1] + lines[2:])).hexdigest().encode()
