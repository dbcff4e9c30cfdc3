"""What the worktree shows of a wave: its commit, what is not committed, and the findings before Tier 2.

One look, when Tier 2 is asked for: everything comes from one comparison with the commit at which the wave started, with
untracked files. Without git there are no findings, and a digest of the files takes the place of the commit.

It reads files and runs git, so it is for `observe`, for verbs and for the executor of gates, never for a decision.
"""

from __future__ import annotations

import os

from moot.core import paths
from moot.core.claims import STREAM, Claimed, Lapsed, Released
from moot.core.record import Record
from moot.guard.hooks import git_directory
from moot.packs.specflow.reports import BASELINE
from moot.place import ignore_case
from moot.place.git import NO_DRIVERS, Git, GitFailed
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from moot.engine.engine import Engine
    from moot.place import Place

EXPORT, SHARED, MIGRATION = "export", "shared", "migration"
TODO = "// TODO: Add to index.ts export"
_SOURCES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
_HELD = (Claimed.type, Released.type, Lapsed.type)  # each names paths that somebody held
_PAGE = 500
_ADDED = "A"


class Finding(Record):
    """What the lead removes or accepts before Tier 2. `place`: a path, of an export with the line."""

    kind: str
    place: str
    text: str

    @property
    def said(self) -> str:
        return f"{self.place}: {self.text}"


def commit_of(place: Place, reports: Iterable[str] = ()) -> str:
    """The commit that is checked out; empty before the first one. Outside git, a digest of all files.

    The digest leaves out what gates write: the baseline, and the folders of the `reports`.
    """
    if place.common is not None:
        return _git(place).ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}", fails=True)
    from moot.engine import content_digest

    found = content_digest.of(place.root, [BASELINE, *(os.path.dirname(one) or one for one in reports)])
    if found.name is None:
        raise GitFailed(found.why)
    return found.name


def uncommitted(place: Place) -> list[str]:
    """The tracked files with changes that are not committed, besides the baseline."""
    if place.common is None:
        return []
    lines = _git(place).listed("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
    return [path for path in (os.fsdecode(line[3:]) for line in lines) if path != BASELINE]


def findings(
    place: Place,
    start: str,
    *,
    shared: Iterable[str],
    held: Iterable[str],
    migrations: str,
    assigned: Container[int],
) -> list[Finding]:
    """Everything that the lead must look at before Tier 2.

    start: the commit at which the wave started. shared: patterns, of barrel files too. held: the patterns that were
    claimed in this wave. migrations: their folder. assigned: the numbers that were given away.
    """
    if place.common is None or not start:
        return []
    changed = _changed(_git(place), start)
    fold = ignore_case(place)

    def compiled(patterns: Iterable[str]) -> list[paths.Pattern]:
        return [paths.compiled(paths.canonical_pattern(one), fold=fold) for one in patterns]

    wanted, known = compiled(shared), compiled(held)

    def unclaimed(path: str) -> bool:
        name = paths.literal(path, fold=fold)
        return any(paths.meet(name, one) for one in wanted) and not any(paths.meet(name, one) for one in known)

    return [
        *_exports(place.root, changed),
        *(Finding(SHARED, path, "changed without a claim in this wave") for path in changed if unclaimed(path)),
        *_migrations(place.root, migrations, changed, assigned),
    ]


def held_since(engine: Engine, position: int) -> set[str]:
    """The patterns on which anybody had a claim since this position of the log."""
    found = {path for claim in states.claims(engine.read())[0].live.values() for path in claim.paths}
    while page := engine.log.read(position, _PAGE, STREAM):
        found.update(path for event in page if event.type in _HELD for path in event.data["paths"])
        position = page[-1].position
    return found


def number_of(name: str) -> int | None:
    """The number that the name of a migration file begins with."""
    digits = name[: len(name) - len(name.lstrip("0123456789"))]
    return int(digits) if digits else None


def _git(place: Place) -> Git:
    return Git(git_directory(place), place.root)


def _changed(git: Git, start: str) -> dict[str, str]:
    """How each file differs from the commit: added, modified, deleted."""
    words = git.listed("diff", "--name-status", "-z", "--no-renames", *NO_DRIVERS, start, "--")
    new = git.listed("ls-files", "--others", "--exclude-standard", "-z")
    pairs = [*zip(words[1::2], words[::2], strict=True), *((path, b"A") for path in new)]
    return {os.fsdecode(path): status.decode() for path, status in sorted(pairs)}


def _exports(root: str, changed: Iterable[str]) -> Iterator[Finding]:
    for path in changed:
        whole = os.path.join(root, path)
        if path.endswith(_SOURCES) and os.path.isfile(whole) and not os.path.islink(whole):
            with open(whole, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    _, found, text = line.partition(TODO)
                    if found:
                        yield Finding(EXPORT, f"{path}:{number}", text.strip(" \t:-\r\n") or "(nothing is named)")


def _migrations(root: str, folder: str, changed: Mapping[str, str], assigned: Container[int]) -> Iterator[Finding]:
    """`1_a.up.sql` and `1_a.down.sql` are one migration."""
    try:
        names = sorted(os.listdir(os.path.join(root, folder)))
    except OSError:
        return
    for name in names:
        path, number = os.path.normpath(os.path.join(folder, name)), number_of(name)
        if number is None or changed.get(path) != _ADDED:
            continue
        if number not in assigned:
            yield Finding(MIGRATION, path, f"nobody was assigned the number {number}")
        same = [one for one in names if number_of(one) == number and one.partition(".")[0] != name.partition(".")[0]]
        if same:
            yield Finding(MIGRATION, path, f"has the number {number}, like {', '.join(same)}")
