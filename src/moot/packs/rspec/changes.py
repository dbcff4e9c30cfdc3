"""The changed Ruby files of a repository: of a branch, of the index, or one file; each with its old and new content.

The new content is always the file on disk, and changed lines are lines of that file, so that uncommitted edits cannot
shift them. The old content is that of the base: for staged changes HEAD, otherwise the commit where the branch left
the remote's default branch, `main` or `master`.
"""

from __future__ import annotations

import os

from moot.core.errors import MootError, Refused, Unavailable, Unknown, Usage
from moot.core.record import Record
from moot.guard.hooks import git_directory
from moot.packs.rspec.patches import Entry, Hunk, entries, hunks
from moot.packs.rspec.sources import LARGEST, is_testable, is_text, missing, not_testable, read_source
from moot.place.git import NO_DRIVERS, Git, GitFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moot.place import Place

BRANCH, STAGED, FILE = "branch", "staged", "file"
_LINK = "120000"
_OPTIONS = (
    *NO_DRIVERS,
    *("--no-color", "--find-renames", "--ignore-submodules=all", "--no-relative", "--no-abbrev", "--text"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0", "--indent-heuristic", "--diff-algorithm=myers"),
)
_MOST_FILES = 2000
_AT_ONCE = 200  # file names in one command


class ChangedSource(Record):
    """A changed source file. `old` is None if the base does not have it, `known` False if there is no base at all."""

    path: str
    data: bytes
    old: bytes | None = None
    hunks: tuple[Hunk, ...] = ()
    known: bool = True


class Changes(Record):
    """The sources, the commit they were compared with, and warnings about files that were left out."""

    mode: str
    sources: tuple[ChangedSource, ...]
    base: str = ""
    warnings: tuple[str, ...] = ()


class Repository:
    """The repository of a project. Only `git` of a trusted workspace is run."""

    def __init__(self, place: Place) -> None:
        self._root = place.root
        try:
            self._git = Git(git_directory(place), place.root, "--literal-pathspecs", "-c", "core.quotePath=true")
        except GitFailed as problem:
            raise _failed(problem) from problem

    def branch(self, base: str | None) -> Changes:
        """What differs from the base on disk."""
        commit = self._fork_point(base)
        return self._changes(BRANCH, commit, self._listed(commit))

    def staged(self) -> Changes:
        """The files with staged changes, as they are on disk."""
        commit = self._commit("HEAD")
        if not commit:
            raise Refused(
                "no_commit", "The repository has no commit yet.", "Commit something, or cover a single file: FILE."
            )
        return self._changes(STAGED, commit, self._listed("--cached", commit))

    def file(self, path: str, base: str | None) -> Changes:
        """One file, as it is on disk. It counts as modified if the base has it."""
        if not is_testable(path):
            raise not_testable(path)
        data = read_source(self._root, path)
        commit = self._fork_point(base)
        changed = [entry for entry in self._listed(commit) if entry.path == os.fsencode(path)]
        if changed:
            return self._changes(FILE, commit, changed)
        old = None if self._quietly("cat-file", "-e", f"{commit}:{path}") is None else data
        return Changes(mode=FILE, base=commit, sources=(ChangedSource(path=path, data=data, old=old),))

    def _changes(self, mode: str, commit: str, changed: Sequence[Entry]) -> Changes:
        warnings: list[str] = []
        taken: list[Entry] = []
        for entry in sorted(changed, key=lambda one: one.path):
            path = os.fsdecode(entry.path)
            if not is_testable(path) or not os.path.lexists(os.path.join(self._root, path)):
                continue
            if not is_text(path):
                warnings.append(f"{ascii(path)[1:-1]} was left out: its name is not UTF-8.")
            elif entry.mode == _LINK or os.path.islink(os.path.join(self._root, path)):
                warnings.append(f"{path} is a symbolic link and was left out.")
            else:
                taken.append(entry)
        if len(taken) > _MOST_FILES:
            raise Refused(
                "too_many_files",
                f"{len(taken)} testable files differ from {commit[:12]}; at most {_MOST_FILES} are taken.",
                "Give a nearer base with `--base`, or cover single files.",
            )
        old = self._blobs({entry.blob for entry in taken if set(entry.blob) != {"0"} and entry.status != "A"})
        lines = self._changed_lines(commit, taken)
        sources: list[ChangedSource] = []
        for entry in taken:
            path = os.fsdecode(entry.path)
            before = old.get(entry.blob) if entry.status != "A" else None
            try:
                data = read_source(self._root, path)
            except Refused as problem:
                if len(taken) == 1:
                    raise
                warnings.append(f"{problem.message} It was left out.")
                continue
            sources.append(ChangedSource(path=path, data=data, old=before, hunks=lines.get(entry.path, ())))
        return Changes(mode=mode, base=commit, sources=tuple(sources), warnings=tuple(warnings))

    def _listed(self, *against: str) -> list[Entry]:
        found = {entry.path: entry for entry in entries(self._list("diff", "--raw", "-z", *_OPTIONS, *against, "--"))}
        return [entry for entry in found.values() if entry.status != "D"]

    def _changed_lines(self, commit: str, taken: Sequence[Entry]) -> Mapping[bytes, tuple[Hunk, ...]]:
        """The changed lines of these files. A renamed file is compared with its old content."""
        found: dict[bytes, tuple[Hunk, ...]] = {}
        same_name = [os.fsdecode(entry.path) for entry in taken if entry.path == entry.old_path]
        for start in range(0, len(same_name), _AT_ONCE):
            found |= self._hunks(commit, *same_name[start : start + _AT_ONCE])
        for entry in taken:
            if entry.path != entry.old_path:
                found |= self._hunks(entry.blob, os.fsdecode(entry.path))
        return found

    def _hunks(self, against: str, *paths: str) -> Mapping[bytes, tuple[Hunk, ...]]:
        return hunks(self._do("diff", "--patch", "--unified=0", *_OPTIONS, against, "--", *paths))

    def _blobs(self, names: set[str]) -> dict[str, bytes]:
        """The contents of these objects. One that is too large for a source counts as empty."""
        asked = sorted(names)
        output = self._do("cat-file", "--batch", stdin="".join(f"{name}\n" for name in asked).encode())
        found: dict[str, bytes] = {}
        at = 0
        for name in asked:
            head, _, _ = output[at : at + 200].partition(b"\n")
            words = head.split(b" ")
            if len(words) != 3:
                raise _failed(GitFailed(f"object {name} is missing"))
            start, size = at + len(head) + 1, int(words[2])
            found[name] = output[start : start + size] if size <= LARGEST else b""
            at = start + size + 1
        return found

    def base(self, mode: str, given: str | None) -> str:
        """The commit that changes are compared with now."""
        return self._commit("HEAD") if mode == STAGED else self._fork_point(given)

    def _fork_point(self, given: str | None) -> str:
        """The commit where the branch left its base."""
        commit = self._base(given)
        fork = self._quietly("merge-base", "--end-of-options", commit, "HEAD")
        if not fork:
            raise Refused(
                "no_common_commit",
                f"HEAD and the base {given or commit[:12]} have no common commit.",
                "Name another base: `--base BRANCH`. In a shallow clone, fetch more: `git fetch --unshallow`.",
            )
        return fork

    def _base(self, given: str | None) -> str:
        if given is not None:
            found = self._commit(given)
            if not found:
                raise Unknown(
                    "unknown_base", f"The base {given!r} is not a commit or branch.", "`git branch -a` lists branches."
                )
            return found
        for name in (self._default_branch(), "refs/heads/main", "refs/heads/master"):
            if name and (found := self._commit(name)):
                return found
        raise Refused(
            "no_base",
            "The base of the branch was not found. Tried: the remote's default branch (origin/HEAD), main, master.",
            "Name it: `--base BRANCH`, or `base` in [pack.rspec] of moot.toml.",
            tried=["origin/HEAD", "main", "master"],
        )

    def _default_branch(self) -> str:
        """The default branch of the remote, as far as the repository knows it; empty if it does not."""
        remotes = (self._quietly("remote") or "").split("\n")
        remote = "origin" if "origin" in remotes else remotes[0]
        return self._quietly("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD") or "" if remote else ""

    def _commit(self, name: str) -> str:
        if not name or "\0" in name:
            return ""
        return self._quietly("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") or ""

    def _quietly(self, *words: str) -> str | None:
        """The output of git; None if it fails."""
        try:
            ran = self._git.run(*words)
        except GitFailed as problem:
            raise _failed(problem) from problem
        return None if ran.code else os.fsdecode(ran.output.tail).strip()

    def _do(self, *words: str, stdin: bytes = b"") -> bytes:
        try:
            return self._git.do(*words, stdin=stdin)
        except GitFailed as problem:
            raise _failed(problem) from problem

    def _list(self, *words: str) -> list[bytes]:
        return self._do(*words).split(b"\0")[:-1]


def find_changes(place: Place, mode: str, path: str | None, base: str | None) -> Changes:
    """The changed sources of the project. `path`, relative to its root, is that of a single file."""
    if place.common is None:
        if mode != FILE or path is None:
            raise _no_git(place.root)
        if not is_testable(path):
            raise not_testable(path)
        return Changes(mode=FILE, sources=(ChangedSource(path=path, data=read_source(place.root, path), known=False),))
    repository = Repository(place)
    if mode == FILE:
        if path is None:
            raise Usage("no_file", "No file was given.", "Name a source file, or give --branch or --staged.")
        if not os.path.lexists(os.path.join(place.root, path)):
            raise missing(path)
        return repository.file(path, base)
    return repository.branch(base) if mode == BRANCH else repository.staged()


def base_now(place: Place, mode: str, given: str | None) -> str:
    """The commit that changes would be compared with now; empty without a repository, or if there is none."""
    if place.common is None:
        return ""
    try:
        return Repository(place).base(mode, given)
    except (Refused, Unknown):
        return ""


def _no_git(root: str) -> MootError:
    return Refused(
        "no_repository",
        f"{root} is not in a git repository, so there is no branch and nothing is staged.",
        "Cover a single file: `moot rspec cover FILE`.",
    )


def _failed(problem: GitFailed) -> MootError:
    return Unavailable("git_failed", f"git failed: {problem}.", "Run `git status` there to see what is wrong.")
