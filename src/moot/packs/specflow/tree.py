"""What the worktree shows of a wave: its commit, what is not committed, and the findings before Tier 2.

One look, when Tier 2 is asked for: everything comes from one comparison with the commit at which the wave started, with
untracked files. Without git there are no findings, and a digest of the files takes the place of the commit.

It reads files and runs git, so it is for `observe`, for verbs and for the executor of gates, never for a decision.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from moot.core import paths
from moot.core.claims import STREAM, Claimed, Lapsed, Released
from moot.core.errors import Refused
from moot.guard.hooks import git_directory
from moot.packs.specflow.migrations import scan
from moot.packs.specflow.protocol import EXPORT
from moot.packs.specflow.reports import BASELINE
from moot.place import ignore_case
from moot.place.git import NO_DRIVERS, Git, GitFailed
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from moot.engine.engine import Engine
    from moot.place import Place

_SOURCES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
_HELD = (Claimed.type, Released.type, Lapsed.type)  # each names paths that somebody held
_PAGE = 500


# --- the commit ------------------------------------------------------------------------------------------------------


def head(place: Place) -> str:
    """The commit that is checked out; empty before the first one, and outside git."""
    if place.common is None:
        return ""
    with _git(place) as git:
        return git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}", fails=True)


def version(place: Place, reports: Iterable[str]) -> str:
    """What a gate's result holds for: the commit; outside git, a digest of all files.

    The digest leaves out what gates write: the baseline, and the folders of the `reports`.
    """
    if place.common is not None:
        return head(place)
    from moot.engine import content_digest

    found = content_digest.of(place.root, [BASELINE, *(os.path.dirname(one) or one for one in reports)])
    if found.name is None:
        raise _unknown(found.why)
    return found.name


def in_history(place: Place, commit: str) -> bool:
    """Whether HEAD contains this commit. Outside git, nobody can tell."""
    if place.common is None:
        return True
    with _git(place) as git:
        return not git.fails("merge-base", "--is-ancestor", commit, "HEAD")


def uncommitted(place: Place) -> list[str]:
    """The tracked files with changes that are not committed, besides the baseline."""
    if place.common is None:
        return []
    with _git(place) as git:
        lines = git.listed("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
    return [path for path in (os.fsdecode(line[3:]) for line in lines) if path != BASELINE]


@contextmanager
def _git(place: Place) -> Iterator[Git]:
    try:
        yield Git(git_directory(place), place.root)
    except GitFailed as error:
        raise _unknown(str(error)) from error


def _unknown(why: str) -> Refused:
    return Refused("unknown_version", f"moot cannot tell which version of the files this is: {why}.", "Use git here.")


# --- findings --------------------------------------------------------------------------------------------------------


def findings(
    place: Place,
    start: str,
    *,
    is_shared: Callable[[str], bool],
    held: Iterable[str],
    migrations: str,
    assigned: Container[int],
) -> list[str]:
    """Everything that the lead must look at before Tier 2, each with its path.

    start: the commit at which the wave started. held: the patterns that were claimed in this wave. migrations: their
    folder. assigned: the numbers that were given away.
    """
    files, fold = changed(place, start), ignore_case(place)
    known = [paths.compiled(one, fold=fold) for one in held]
    shared = {path: paths.literal(path, fold=fold) for path in files if is_shared(path)}
    unclaimed = [path for path, one in shared.items() if not any(paths.meet(one, two) for two in known)]
    return [
        *_exports(place.root, files),
        *(f"{path}: changed without a claim in this wave" for path in unclaimed),
        *_migrations(place.root, migrations, files, assigned),
    ]


def exports(place: Place, start: str) -> list[str]:
    """The open exports, for the lead who consolidates them."""
    return [*_exports(place.root, changed(place, start))]


def held_since(engine: Engine, position: int) -> set[str]:
    """The patterns on which anybody had a claim since this position of the log."""
    found = {path for claim in states.claims(engine.read())[0].live.values() for path in claim.paths}
    while page := engine.log.read(position, _PAGE, STREAM):
        found.update(path for event in page if event.type in _HELD for path in event.data["paths"])
        position = page[-1].position
    return found


def changed(place: Place, start: str) -> dict[str, str]:
    """How each file differs from the commit: (A)dded, (M)odified, (D)eleted."""
    if place.common is None or not start:
        return {}
    with _git(place) as git:
        words = git.listed("diff", "--name-status", "-z", "--no-renames", *NO_DRIVERS, start, "--")
        new = git.listed("ls-files", "--others", "--exclude-standard", "-z")
    pairs = [*zip(words[1::2], words[::2], strict=True), *((path, b"A") for path in new)]
    return {os.fsdecode(path): status.decode() for path, status in sorted(pairs)}


def _exports(root: str, changed: Iterable[str]) -> Iterator[str]:
    """The open exports: `path:line`, and the text after it."""
    for path in changed:
        whole = os.path.join(root, path)
        if path.endswith(_SOURCES) and os.path.isfile(whole) and not os.path.islink(whole):
            with open(whole, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    _, found, text = line.partition(EXPORT)
                    if found:
                        yield f"{path}:{number}: export{text.rstrip()}"


def _migrations(root: str, folder: str, changed: Mapping[str, str], assigned: Container[int]) -> Iterator[str]:
    """`1_a.up.sql` and `1_a.down.sql` are one migration."""
    files = scan(root, folder)
    for one in files:
        if changed.get(one.file) != "A":
            continue
        number = int(one.number)
        if number not in assigned:
            yield f"{one.file}: nobody was assigned the number {one.number}"
        twins = [two.file for two in files if int(two.number) == number and _stem(two.file) != _stem(one.file)]
        if twins:
            yield f"{one.file}: has the number {one.number}, like {', '.join(twins)}"


def _stem(file: str) -> str:
    return os.path.basename(file).partition(".")[0]
