"""What gates look at: the reports of test runs, the baseline, the journeys of an issue, and the worktree.

A test is known by its file, the titles of its suites, its own title and its project, never by a line. JUnit XML has no
project: tests of several projects then count as one, which failed if any of them did.

The baseline is the only file of the project that moot writes. A baseline that cannot be read is never taken for an
empty one. `StageError` is the cause for which a gate fails.

The findings before Tier 2 are one look, when it is asked for: everything comes from one comparison with the commit at
which the wave started, with untracked files. Without git there are no findings, and a digest of the files takes the
place of the commit. What reads files and runs git is for `observe`, for verbs and for the executor of gates, never for
a decision.
"""

from __future__ import annotations

import os

from moot.core import paths
from moot.core.claims import STREAM, Claimed, Lapsed, Released
from moot.core.errors import Refused
from moot.guard.hooks import git_directory
from moot.packs.specflow import team
from moot.packs.specflow.migrations import SERIES, scan
from moot.packs.specflow.protocol import EXPORT, is_shared
from moot.place import ignore_case
from moot.place.git import NO_DRIVERS, Git, GitFailed
from moot.runs.contract import StageError
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from moot.api.call import Call
    from moot.engine.engine import Engine
    from moot.packs.specflow.team import Wave
    from moot.place import Place

    Answer = TypeVar("Answer")
    Case = tuple[tuple[str, ...], str]  # the parts of a test's id, and how it ended

PASS, FAIL, SKIPPED = "pass", "fail", "skipped"
BASELINE = ".specflow/baseline.json"
REGRESSION, NEW_FAILING, MISSING = "regression", "new_failing", "missing"
WORSE = (REGRESSION, NEW_FAILING, MISSING)  # each of them fails Tier 3
_CLASSES = {
    (PASS, FAIL): REGRESSION,
    (FAIL, FAIL): "known",
    (FAIL, PASS): "fixed",
    (None, PASS): "new",
    (None, FAIL): NEW_FAILING,
}
_BETWEEN = " > "
_RANKS = (SKIPPED, PASS, FAIL)  # of several tests with one id, the last of these counts
_PIECE = 1 << 16  # characters
_UNREADABLE = (ValueError, SyntaxError, LookupError, TypeError, AttributeError, RecursionError)
_SOURCES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
_HELD = (Claimed.type, Released.type, Lapsed.type)  # each names paths that somebody held
_PAGE = 500


# --- reports ---------------------------------------------------------------------------------------------------------


def tests_of(data: bytes, root: str) -> dict[str, str]:
    """How each test of a report ended: pass, fail or skipped. Playwright's JSON, or JUnit XML.

    A test that passed on a retry has passed. `root`: paths below it are shortened.
    """
    import json

    found: dict[str, str] = {}
    try:
        text = data.decode("utf-8-sig").lstrip()
        for parts, how in _junit(text) if text.startswith("<") else _playwright(json.loads(text)):
            name = _BETWEEN.join(filter(None, parts)).replace(f"{root}/", "").encode("utf-8", "replace").decode()
            found[name] = max(how, found.get(name, how), key=_RANKS.index)
    except _UNREADABLE as error:
        raise StageError(f"the report cannot be read: {type(error).__name__}: {error}") from error
    if not set(found.values()) - {SKIPPED}:
        raise StageError("the report has no executed test")
    return found


def _playwright(report: Any) -> Iterator[Case]:
    if report.get("errors"):
        raise StageError(f"the report has an error outside of tests: {report['errors'][0].get('message', '')[:500]}")
    for suite in report["suites"]:
        yield from _specs(suite, ())


def _specs(suite: Any, titles: tuple[str, ...]) -> Iterator[Case]:
    for spec in suite.get("specs", ()):
        for test in spec["tests"]:
            ends = {one["status"] for one in test["results"]} - {"skipped", "interrupted"}
            how = PASS if test.get("expectedStatus", "passed") in ends else FAIL if ends else SKIPPED
            project = test.get("projectName")
            file = spec.get("file") or suite["file"]
            yield (file, *(one for one in titles if one != file), spec["title"], f"[{project}]" if project else ""), how
    for inner in suite.get("suites", ()):
        yield from _specs(inner, (*titles, inner["title"]))


def _junit(text: str) -> Iterator[Case]:
    from xml.etree import ElementTree as ET

    class Tree(ET.TreeBuilder):
        def doctype(self, *_: object) -> None:
            raise ValueError("it has a document type")

    parser = ET.XMLParser(target=Tree())  # noqa: S314 (a document type is refused)
    for start in range(0, len(text), _PIECE):  # in pieces, so that little is read behind a document type
        parser.feed(text[start : start + _PIECE])
    root = parser.close()
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError(f"{root.tag} is not the root of a report")
    return _cases(root, ())


def _cases(suite: Any, names: tuple[str, ...]) -> Iterator[Case]:
    if suite.tag == "testsuite":
        names = tuple(dict.fromkeys((*names, suite.get("file", ""), suite.get("name", ""))))
    for inner in suite:
        if inner.tag == "testcase":
            tags = {one.tag for one in inner}
            how = FAIL if tags & {"failure", "error"} else SKIPPED if "skipped" in tags else PASS
            before = dict.fromkeys((inner.get("file", ""), *names, inner.get("classname", "")))
            yield (*before, inner.attrib["name"]), how
        elif inner.tag == "testsuite":
            yield from _cases(inner, names)


# --- the baseline ----------------------------------------------------------------------------------------------------


def baseline_of(data: bytes | None) -> dict[str, Any]:
    """The content of the baseline; an empty one if there is no file. Raises with the place of what is wrong."""
    import json

    from moot.core.json_places import JsonPlaces
    from moot.core.schema import placed
    from moot.core.strict_json import Torn, load

    if data is None:
        return {"version": 1, "tests": {}}
    try:
        found: Any = load(data)
    except Torn as error:
        raise _unusable(str(error)) from error
    with open(os.path.join(os.path.dirname(__file__), "baseline.schema.json"), encoding="utf-8") as file:
        wrong = placed(json.load(file), found)
    if wrong:
        defect, places = wrong[0][1], JsonPlaces(data.decode("utf-8-sig"))
        line, column = places.line_and_column(places.offset(defect.path))
        raise _unusable(f"{defect.sentence} (line {line}, column {column})")
    return dict(found)


def _unusable(why: str) -> StageError:
    accept = "To make a new one of the next results: `moot specflow gate tier3 --accept`."
    return StageError(f"{BASELINE} cannot be used: {why}", suggestion=accept)


def baseline(tests: Mapping[str, str], *, at: str, wave: int, commit: str | None) -> bytes:
    """A new baseline: the tests that passed or failed, with sorted keys."""
    from moot.core.strict_json import dump

    kept = {name: how for name, how in sorted(tests.items()) if how != SKIPPED}
    return dump({"last_commit": commit, "last_updated": at, "last_wave": wave, "tests": kept, "version": 1})


def compared(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, list[str]]:
    """The tests by class. One that passed before and did not run is missing; one that passes as before has no class."""
    found: dict[str, list[str]] = {name: [] for name in (*_CLASSES.values(), MISSING)}
    for test, how in now.items():
        found.get(_CLASSES.get((before.get(test), how), ""), []).append(test)
    found[MISSING] = [test for test, how in before.items() if how == PASS and now.get(test, SKIPPED) == SKIPPED]
    return found


# --- journeys --------------------------------------------------------------------------------------------------------


def journeys(texts: Iterable[str]) -> tuple[str, ...]:
    """The distinct ids of journeys in the text and the comments of an issue, in order."""
    import re

    return tuple(dict.fromkeys(re.findall(r"(?<![A-Za-z0-9])J-[A-Z]+-[A-Z0-9-]+", "\n".join(texts))))


def journey_file(pattern: str, journey: str) -> str:
    """The file of a journey: `J-SIGNUP-FLOW` has the name `signup_flow`."""
    return pattern.replace("{name}", journey.removeprefix("J-").lower().replace("-", "_"))


def blamed(failed: Iterable[str], files: Mapping[int, Iterable[str]]) -> dict[str, list[int]]:
    """For each failed test, the issues that have its journey. A report may write paths from another directory."""
    return {
        test: [n for n, own in files.items() if any(f"/{one}".endswith(f"/{test.split(_BETWEEN)[0]}") for one in own)]
        for test in failed
    }


# --- the commit ------------------------------------------------------------------------------------------------------


def head(place: Place) -> str:
    """The commit that is checked out; empty before the first one, and outside git."""
    if place.common is None:
        return ""
    return _asked(place, lambda git: git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}", fails=True))


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
    return place.common is None or _asked(
        place, lambda git: not git.fails("merge-base", "--is-ancestor", commit, "HEAD")
    )


def uncommitted(place: Place) -> list[str]:
    """The tracked files with changes that are not committed, besides the baseline."""
    if place.common is None:
        return []
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
    lines = _asked(place, lambda git: git.listed(*words))
    return [path for path in (os.fsdecode(line[3:]) for line in lines) if path != BASELINE]


def _asked(place: Place, question: Callable[[Git], Answer]) -> Answer:
    try:
        return question(Git(git_directory(place), place.root))
    except GitFailed as error:
        raise _unknown(str(error)) from error


def _unknown(why: str) -> Refused:
    return Refused("unknown_version", f"moot cannot tell which version of the files this is: {why}.", "Use git here.")


# --- findings --------------------------------------------------------------------------------------------------------


def findings(call: Call, wave: Wave) -> list[str]:
    """What the lead must look at before Tier 2, each with its path. What it has accepted is among them."""
    place, settings = call.place, call.packs.protocol(team.PACK).settings
    files, fold = changed(place, wave.start), ignore_case(place)
    held = _held_since(call.engine, call.engine.log.read(0, 1, f"task/{wave.id}")[0].position)
    known = [paths.compiled(one, fold=fold) for one in held]
    shared = {path: paths.literal(path, fold=fold) for path in files if is_shared(path, settings)}
    unclaimed = [path for path, one in shared.items() if not any(paths.meet(one, two) for two in known)]
    return [
        *_exports(place.root, files),
        *(f"{path}: changed without a claim in this wave" for path in unclaimed),
        *_migrations(call, settings["migrations"], files),
    ]


def exports(place: Place, start: str) -> list[str]:
    """The open exports, for the lead who consolidates them."""
    return [*_exports(place.root, changed(place, start))]


def _held_since(engine: Engine, position: int) -> set[str]:
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
    compared = ("diff", "--name-status", "-z", "--no-renames", *NO_DRIVERS, start, "--")
    words = _asked(place, lambda git: git.listed(*compared))
    new = _asked(place, lambda git: git.listed("ls-files", "--others", "--exclude-standard", "-z"))
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


def _migrations(call: Call, folder: str, changed: Mapping[str, str]) -> Iterator[str]:
    """New files with a number that nobody was assigned, or that another one has.

    `1_a.up.sql` and `1_a.down.sql` are one migration.
    """
    files, series = scan(call.place.root, folder), states.state(call.engine.read(), "series", SERIES)[0]
    assigned = {one.number for one in series.given.values()}
    for one in (file for file in files if changed.get(file.file) == "A"):
        number = int(one.number)
        if number not in assigned:
            yield f"{one.file}: nobody was assigned the number {one.number}"
        twins = [two.file for two in files if int(two.number) == number and _stem(two.file) != _stem(one.file)]
        if twins:
            yield f"{one.file}: has the number {one.number}, like {', '.join(twins)}"


def _stem(file: str) -> str:
    return os.path.basename(file).partition(".")[0]
