"""The content of a worktree as one digest, which changes with any content: the basis of a receipt.

In a git repository it is the id of a git tree of all files that are not ignored: tracked, changed and untracked ones.
Git writes it to a temporary index and object store, so the repository does not change. Elsewhere it is a digest of all
files. Loaded only when a receipt is created or checked.

Git runs only in a trusted workspace, and nothing that the repository's config names (`moot.place.git`). Only
filters run, so that the tree is the one that `git add` would create.
"""

from __future__ import annotations

import os
import shutil  # noqa: TID253 (loaded on demand)
import tempfile  # noqa: TID253 (loaded on demand)

from moot.core.record import Record
from moot.engine.sweeping import TREE
from moot.place import gitdir
from moot.place.git import NO_DRIVERS, Git, GitFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT = 16  # letters of an id, enough to tell two contents of one file apart
_FILES = 50_000  # limits outside git, where no .gitignore excludes files
_BYTES = 1 << 30
TEMPORARY = ".moot."  # the beginning of the names that files of moot have while they are replaced
_FAST = ("-c", "core.looseCompression=0", "-c", "core.safecrlf=false")
_WHOLE = ("-c", "core.sparseCheckout=false")  # otherwise git hides or rejects files outside the sparse checkout


class Tree(Record):
    """The digest of a worktree. `name` is None if it cannot be computed; `why` is the reason."""

    name: str | None = None
    commit: str | None = None
    dirty: bool = False
    why: str = ""
    differs: tuple[str, ...] | None = None  # each file that differs from the base, as "MODE ID PATH"; None: unknown


def of(
    root: str, without: Sequence[str] = (), *, common: str | None = None, base: str | None = None, listed: int = 0
) -> Tree:
    """The content of the worktree at `root`, excluding the files `without` (those that moot itself writes).

    `common` is the trusted git directory of the workspace; None outside git. `listed`: the maximum number of files
    that differ from the commit `base` (None: HEAD) to list.
    """
    if common is None:
        return _of_folder(root, without)
    if root == common:
        return Tree(why="the repository is bare and has no files")
    git = gitdir.at(root)
    if git is None or gitdir.common_of(gitdir.real(git)) != common:
        return Tree(why=f"{root} is no longer a worktree of this repository")
    try:
        with tempfile.TemporaryDirectory(prefix=TREE) as place:
            return _Index(root, git, place, without).tree(base, listed)
    except (OSError, GitFailed) as problem:
        return Tree(why=str(problem)[:500])


class _Index:
    """A temporary index. It starts as a copy of the repository's, so git does not read unchanged files again."""

    def __init__(self, root: str, git: str, place: str, without: Sequence[str]) -> None:
        objects = os.path.join(gitdir.common_of(gitdir.real(git)), "objects")
        self._root = root
        more = {
            "GIT_INDEX_FILE": os.path.join(place, "index"),
            "GIT_OBJECT_DIRECTORY": os.path.join(place, "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects,
        }
        self._git = Git(gitdir.real(git), root, *_FAST, more=more)
        self._without = without
        os.mkdir(os.path.join(place, "objects"))
        if os.path.exists(os.path.join(git, "index")):
            # Keep its time: git compares it with file times to find files that may have changed in the same tick.
            shutil.copy2(os.path.join(git, "index"), os.path.join(place, "index"))

    def tree(self, base: str | None, listed: int) -> Tree:
        commit = self._git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}", fails=True)
        self._look_at_all()
        self._git.ask(*_WHOLE, "add", "--all", "--", ".")
        for line in self._git.listed("diff-files", *NO_DRIVERS, "--raw", "-z", "--ignore-submodules=none"):
            if line.startswith(b":160000 "):
                return Tree(commit=commit or None, dirty=True, why="a submodule has changes of its own")
        if self._without:
            replaced = dict.fromkeys(f"{os.path.dirname(path)}/{TEMPORARY}*".lstrip("/") for path in self._without)
            self._git.ask("rm", "-r", "--quiet", "--cached", "--ignore-unmatch", "--", *self._without, *replaced)
        name = self._git.ask("write-tree")
        others = [f":(exclude,top){path}" for path in self._without]
        differs = not commit or self._git.fails(
            "diff-index", *NO_DRIVERS, "--cached", "--quiet", "HEAD", "--", ".", *others
        )
        against = base or commit
        files = self._differs(against, others, listed) if listed and _is_hash(against) else None
        return Tree(name=f"git:{name}", commit=commit or None, dirty=differs, differs=files)

    def _differs(self, base: str, others: list[str], limit: int) -> tuple[str, ...] | None:
        """The files that differ from a commit; None if there are more than `limit`, or the commit is not known."""
        raw = ("--cached", "--raw", "-z", "--no-renames", "--full-index")
        try:
            words = self._git.listed("diff-index", *NO_DRIVERS, *raw, base, "--", ".", *others)
        except GitFailed:
            return None
        if len(words) > 2 * limit:
            return None
        found = []
        for head, path in zip(words[::2], words[1::2], strict=True):
            _, mode, _, name, _ = head.decode("ascii", "replace").split(" ")
            found.append(f"{mode} {name[:_SHORT]} {path.decode('utf-8', 'replace')}")
        return tuple(found)

    def _look_at_all(self) -> None:
        """Clear assume-unchanged and skip-worktree. Files outside a sparse checkout stay as they are in the index."""
        assumed, skipped = [], []
        sparse = self._git.ask("config", "--type=bool", "core.sparseCheckout", fails=True) == "true"
        for line in self._git.listed(*_WHOLE, "ls-files", "-v", "-z"):
            mark, path = line[:1], line[2:]
            if mark.islower():
                assumed.append(path)
            if mark in b"Ss" and (not sparse or os.path.lexists(os.path.join(os.fsencode(self._root), path))):
                skipped.append(path)
        for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
            if paths:
                self._git.do(*_WHOLE, "update-index", option, "-z", "--stdin", stdin=b"\0".join(paths) + b"\0")


def _is_hash(name: str) -> bool:
    """Whether git cannot take it for an option or another name."""
    return len(name) in (40, 64) and all(letter in "0123456789abcdef" for letter in name)


def changed_paths(before: Sequence[str] | None, now: Sequence[str] | None) -> tuple[str, ...] | None:
    """The paths that differ between two contents, given how each differs from the same commit; None: unknown."""
    if before is None or now is None or any(line.count(" ") < 2 for line in before):
        return None
    one, other = _by_path(before), _by_path(now)
    return tuple(sorted(path for path in {**one, **other} if one.get(path) != other.get(path)))


def _by_path(files: Sequence[str]) -> dict[str, str]:
    return {path: f"{mode} {name}" for mode, name, path in (line.split(" ", 2) for line in files)}


def _of_folder(root: str, without: Sequence[str]) -> Tree:
    import hashlib

    whole, files, size = hashlib.sha256(), 0, 0
    skip = {".moot", *without}
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root)
        folders[:] = sorted(name for name in folders if os.path.normpath(os.path.join(inside, name)) not in skip)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # os.walk does not follow them
        for name in sorted([*names, *links]):
            path = os.path.normpath(os.path.join(inside, name))
            if path in skip or name.startswith(TEMPORARY):
                continue
            files += 1
            try:
                digest, length = _digest(os.path.join(folder, name))
            except OSError as problem:
                return Tree(why=str(problem))
            size += length
            if files > _FILES or size > _BYTES:
                return Tree(why=f"there are more than {_FILES} files or {_BYTES} bytes, and no git to exclude some")
            whole.update(f"{path}\0{digest}\n".encode("utf-8", "surrogateescape"))
    return Tree(name=f"files:{whole.hexdigest()}", dirty=True)


def _digest(path: str) -> tuple[str, int]:
    import hashlib

    if os.path.islink(path):
        return f"-> {os.readlink(path)}", 0
    if not os.path.isfile(path):  # a socket or a pipe has no content
        return "special", 0
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"{os.access(path, os.X_OK):d} {digest}", os.fstat(file.fileno()).st_size
