"""Finds a workspace, and resolves the paths that users type in it.

One repository is one workspace, shared by all its worktrees. Its state is in `<git common dir>/moot`. Outside git a
workspace is a folder with `.moot/` or `moot.toml`. This module does not run git or open the log. It never returns a
workspace that is not trusted (`moot.place.trust`).

A path means the real file: symbolic links are followed, including the last part, so that two spellings of one file are
one claim. A link that leads out of the worktree is refused.
"""

from __future__ import annotations

import os

from moot.core.errors import MootError, Refused, Unavailable, Usage
from moot.core.record import Record
from moot.core.text import shell_word
from moot.place import gitdir, trust
from moot.place.private_files import make_folder, open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VARIABLE = "MOOT_WORKSPACE"
MAIN = "."
"""The name of the main worktree. Git never uses it for a linked one."""


class Place(Record):
    """A workspace, seen from one of its worktrees."""

    root: str  # of the worktree; of the repository itself if it is bare and the caller is in no worktree
    state: str
    common: str | None  # the git common directory; None outside git
    worktree: str  # the name of the linked worktree in git, or MAIN
    main_root: str | None  # of the main worktree; None if the repository is bare or the root is unknown


class Worktree(Record):
    """A live worktree."""

    root: str
    name: str


class ResolvedPath(Record):
    """A path or glob that a user typed, resolved."""

    path: str  # relative to the repository; a trailing slash is kept and means everything below
    worktree: str  # the name of the worktree that contains it
    there: int = 0  # how many of its leading parts exist on this machine
    directory: bool = False  # it exists and is a directory


def find(start: str, env: Mapping[str, str], *, named: bool = False) -> Place:
    """The workspace of a directory or file. The path need not exist yet.

    `MOOT_WORKSPACE` overrides it, unless the caller `named` the directory (as with `-C`).
    """
    here = os.path.realpath(start)
    asked = None if named else env.get(VARIABLE)
    known = _named(here, env, here if named else None)
    if not asked:
        place = _locate(_directory(here), known)
        if place is None:
            from moot.place import user_state

            raise _nowhere(here, os.path.join(user_state.home(env), user_state.PRIVATE))
        return _trusted(place, env, _directory(here))
    known = (*known, *_named(here, env, os.path.realpath(asked)))
    place = _locate(os.path.realpath(asked), known) if os.path.isdir(asked) else None
    if place is None:
        missing = "is not in a workspace" if os.path.isdir(asked) else "is not a directory"
        raise Unavailable(
            "no_workspace",
            f"{VARIABLE} is set to {asked}, which {missing}.",
            f"Set {VARIABLE} to a directory inside the workspace, or unset it.",
        )
    try:
        near = _locate(_directory(here), known)
    except MootError:
        near = None
    # If the caller is in a worktree of that workspace, use that worktree.
    place = near if near is not None and near.state == place.state else place
    return _trusted(place, env, os.path.realpath(asked))


def for_paths(paths: Sequence[str], cwd: str, env: Mapping[str, str], *, named: bool = False) -> Place:
    """The workspace of these files, seen from the worktree of the first one; that of `cwd` if they are in none.

    Links inside a path are not followed: a link belongs to the workspace that contains it.
    """
    if env.get(VARIABLE) and not named:
        return find(cwd, env)
    here = os.path.realpath(cwd)
    known = _named(here, env, here if named else None)
    found: dict[str, tuple[Place, str]] = {}
    for given in filter(_speakable, paths):
        path = os.path.normpath(os.path.join(here, given))
        owner = _owner(_directory(path), known)
        place = _locate(_directory(os.path.realpath(owner[0] if owner else path)), known)
        if place is not None:
            found.setdefault(place.state, (place, os.path.realpath(_directory(path))))
    if len(found) > 1:
        roots = [place.root for place, _ in found.values()]
        raise Refused(
            "several_workspaces",
            f"The paths belong to {len(roots)} workspaces: {', '.join(roots)}.",
            "Repeat the command for each workspace with its own paths.",
            workspaces=roots,
        )
    first = next(iter(found.values()), None)
    return find(cwd, env, named=named) if first is None else _trusted(first[0], env, first[1])


def create(start: str, env: Mapping[str, str], *, named: bool = False) -> Place:
    """The workspace of a directory. Creates the state directory if it does not exist."""
    asked = None if named else env.get(VARIABLE)
    start = os.path.realpath(asked or start)
    if not os.path.isdir(start):
        raise Usage("not_a_directory", f"{start} is not a directory.", "Give an existing directory, or create it.")
    place = _locate(start, _named(start, env, start if asked or named else None))
    if place is None and _ignored(start) is not None:
        raise _nowhere(start)
    place = _trusted(place or _outside(start), env, start)
    try:
        make_folder(place.state)
        if place.common is None:
            ignore = open_private(os.path.join(place.state, ".gitignore"), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(ignore, "wb") as out:
                out.write(b"*\n")
    except FileExistsError:
        pass
    except OSError as problem:
        raise Unavailable(
            "state_unwritable",
            f"{place.state} cannot be created: {problem.strerror}.",
            "Make its parent directory writable, or free some disk space.",
        ) from problem
    return _trusted(place, env, start)


def _trusted(place: Place, env: Mapping[str, str], start: str) -> Place:
    """The place, if it is trusted. Every place that this module returns passes through here.

    Another account may create a repository above a plain workspace (anybody can in /tmp). That does not hide the plain
    workspace.
    """
    try:
        trust.check(place, env)
    except Unavailable as refusal:
        nearer = None if place.common is None else _plain_below(place.root, start)
        if nearer is None:
            raise
        try:
            trust.check(nearer, env)
        except Unavailable:
            raise refusal from None
        return nearer
    return place


def _plain_below(root: str, start: str) -> Place | None:
    for here in _upwards(start):
        if not here.startswith(f"{root.rstrip('/')}/"):
            return None
        if _is_plain(here):
            return _outside(here)
    return None


def _named(here: str, env: Mapping[str, str], given: str | None) -> tuple[str, ...]:
    """The git directories that the caller named: `given`, which may also be a state directory, and GIT_DIR."""
    asked = env.get("GIT_DIR")
    named = [] if given is None else [given]
    if given is not None and os.path.basename(given) == "moot":
        named.append(os.path.dirname(given))
    return (*named, os.path.realpath(os.path.join(here, asked))) if asked else tuple(named)


def worktrees(place: Place) -> list[Worktree]:
    """All live worktrees: the main one first, then the linked ones by name."""
    if place.common is None:
        return [Worktree(place.root, MAIN)]
    linked = gitdir.linked_worktrees(place.common)
    # Another account may have created a directory in place of a deleted worktree that points back to the repository.
    found = {name: root for name, root in linked if trust.is_own(root, place)}
    if place.main_root is not None and os.path.isdir(place.main_root):
        found = {MAIN: place.main_root, **found}
    if place.root != place.common:
        found[place.worktree] = place.root  # the current one, even if it was moved without `git worktree move`
    return [Worktree(root, name) for name, root in found.items()]


def ignore_case(place: Place) -> bool:
    """Whether the file system ignores case in paths."""
    if place.common is None:
        return os.path.exists(os.path.join(place.root, ".MOOT"))  # there is no git config, so ask the file system
    return gitdir.truth(gitdir.config(place.common).get("core.ignorecase"))


def _locate(directory: str, named: tuple[str, ...]) -> Place | None:
    """The workspace around a directory, given as a real path. The caller must still check whether it is trusted."""
    found = _owner(directory, named)
    if found is None:
        return None
    here, git_directory = found
    return _outside(here) if git_directory is None else _in_git(here, git_directory)


def _owner(directory: str, named: tuple[str, ...]) -> tuple[str, str | None] | None:
    """The nearest parent directory that is a workspace, and its git directory if it has one."""
    for here in _upwards(directory):
        git_directory = gitdir.at(here, named=here in named)
        if git_directory is not None:
            return here, git_directory
    for here in _upwards(directory):
        if _is_plain(here):
            return here, None
    return None


def _is_plain(here: str) -> bool:
    return os.path.isdir(os.path.join(here, ".moot")) or os.path.isfile(os.path.join(here, "moot.toml"))


def _in_git(here: str, git_directory: str) -> Place:
    """The place whose `.git` is in `here`, or whose git directory is `here`."""
    inside = here == git_directory
    git_directory = gitdir.real(git_directory, {here: here})
    common = gitdir.common_of(git_directory)
    config = gitdir.config(common)
    main = _main_root(common, config)
    name = MAIN
    root: str | None
    if common != git_directory:
        name = os.path.basename(git_directory)
        root = gitdir.worktree_of(git_directory) if inside else here
        if root is None:
            name, root = MAIN, main
    elif gitdir.truth(config.get("core.bare")):
        root = None
    else:
        # The main worktree is the directory that contains `.git`, unless the config sets another one.
        if not inside and (main is None or "core.worktree" not in config):
            main = here
        root = main
    return Place(root or common, os.path.join(common, "moot"), common, name, main)


def _main_root(common: str, config: Mapping[str, str]) -> str | None:
    """The root of the main worktree, as far as the shared git directory shows it."""
    if gitdir.truth(config.get("core.bare")):
        return None
    if "core.worktree" in config:
        root = os.path.realpath(os.path.join(common, config["core.worktree"]))
        return root if os.path.isdir(root) else None
    return os.path.dirname(common) if os.path.basename(common) == ".git" else None


def _outside(root: str) -> Place:
    return Place(root, os.path.join(root, ".moot"), None, MAIN, root)


def _ignored(here: str) -> str | None:
    """A parent directory that looks like a git directory but was not named by the caller."""
    return next((above for above in _upwards(_directory(here)) if gitdir.is_git_directory(above)), None)


def _nowhere(here: str, private: str = "") -> Unavailable:
    """The error. `private`: the workspace for files outside any repository, which may not exist."""
    below = _repositories_below(here)
    ignored = _ignored(here)
    if ignored is not None:
        return Unavailable(
            "no_workspace",
            f"{here} is not in a workspace. {ignored} looks like a git directory, but may be committed files.",
            f"If it is your repository, name it: `moot -C {shell_word(ignored, 'DIR')} …`.",
            repositories=[ignored],
        )
    remedy = "Change to a git repository, or run `moot init` to make this folder a workspace."
    if below:
        remedy = f"Change to one of the repositories here: {', '.join(below)}. Or run `moot init` in this folder."
    if private and os.path.lexists(os.path.join(private, ".moot")):
        remedy += f" Runs on files outside any repository: `moot -C {shell_word(private, 'DIR')} run status`."
    return Unavailable("no_workspace", f"{here} is not in a workspace.", remedy, repositories=below)


def _repositories_below(directory: str, looks: int = 2000, enough: int = 20) -> list[str]:
    found: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for entry, _ in zip(entries, range(looks), strict=False):
                if entry.is_dir() and gitdir.is_root(entry.path):
                    found.append(entry.name)
    except OSError:
        return []
    return sorted(found)[:enough]


def _upwards(path: str) -> Iterator[str]:
    while True:
        yield path
        above = os.path.dirname(path)
        if above == path:
            return
        path = above


def _directory(path: str) -> str:
    """The path itself, or its nearest parent that is a directory."""
    return next(above for above in _upwards(path) if os.path.isdir(above))


def resolve(place: Place, cwd: str, given: str) -> ResolvedPath:
    """Resolve a path or glob as typed: relative to `cwd`, or absolute in any worktree."""
    from moot.core.paths import HERE, canonical

    if not _speakable(given):
        raise Refused("path_malformed", f"{given!r} is not a valid path.", "Give a file, a directory or a glob.")
    if given == "~" or given.startswith("~/"):
        raise Refused(
            "path_outside",
            f"{given} starts with a home directory, which moot does not expand.",
            f"Give a path inside the workspace. For a file with that name, write ./{given}.",
            path=given,
        )
    slash = "/" if given.endswith("/") else ""
    here = os.path.realpath(cwd)
    if place.root == place.common == here and not os.path.isabs(given):
        # In the directory of a bare repository, the path can only be relative to the repository.
        return ResolvedPath(canonical(given) + slash, place.worktree)
    typed = os.path.join(here, given)
    real = os.path.realpath(typed)
    roots = {_identity(worktree.root): worktree.name for worktree in worktrees(place)}
    roots.pop(None, None)  # worktrees that no longer exist
    top = _top(real, roots)
    typed_top = _top(os.path.normpath(typed), roots)
    if typed_top is not None and (top is None or _identity(top) != _identity(typed_top)):
        raise Refused(
            "path_symlink",
            f"{given} leads through a symbolic link out of the worktree, to {real}.",
            "Give a file inside the worktree.",
            path=given,
        )
    if top is None:
        outside = f"{given} is outside the workspace {place.root}."
        remedy = "Give a path inside one of its worktrees, relative to the current directory."
        if os.path.isabs(given):
            raise Refused("path_absolute", outside, remedy, path=given)
        raise Refused("path_outside", outside, remedy, path=given)
    inner = real[len(top) :].strip("/")
    _refuse_foreign(place, given, top, inner)
    path = canonical(inner or ".") + slash
    parts = inner.split("/")
    there = next((n for n in range(len(parts)) if not os.path.lexists(os.path.join(top, *parts[: n + 1]))), len(parts))
    there += path.startswith(HERE)  # one more part, which exists
    return ResolvedPath(path, roots[_identity(top)], there, os.path.isdir(real))


def _refuse_foreign(place: Place, given: str, top: str, inner: str) -> None:
    """Refuse a path in the worktree that does not belong to the repository's content."""
    parts = inner.split("/")
    kept = os.path.relpath(place.common or place.state, top)  # starts with `..` if it is elsewhere
    if ".git" in (part.lower() for part in parts) or f"{inner}/".startswith(f"{kept}/"):
        raise Refused(
            "path_internal", f"{given} is an internal file of git or moot.", "Give a file of the project.", path=given
        )
    for end in range(1, len(parts)):
        nested = os.path.join(top, *parts[:end])
        if gitdir.is_root(nested):
            raise Refused(
                "path_outside",
                f"{given} belongs to another repository, {nested}.",
                f"Run the command in {nested}, with {VARIABLE} unset.",
                path=given,
            )


def _top(path: str, roots: Mapping[tuple[int, int] | None, str]) -> str | None:
    """The nearest worktree root above a path, spelled as in the path (case or links may differ)."""
    return next((above for above in _upwards(path) if _identity(above) in roots), None)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _speakable(path: str) -> bool:
    """Whether the text can be a path: not empty, no NUL, valid Unicode."""
    try:
        return bool(path) and b"\0" not in path.encode()
    except UnicodeEncodeError:
        return False
