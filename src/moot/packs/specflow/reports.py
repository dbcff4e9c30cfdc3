"""What test runs show: reports, the baseline that Tier 3 compares them with, and the journeys of an issue.

A test is known by its file, the titles of its suites, its own title and its project, never by a line. JUnit XML has no
project: tests of several projects then count as one, which failed if any of them did.

The baseline is the only file of the project that moot writes. A baseline that cannot be read is never taken for an
empty one. This module starts nothing and knows neither runs nor waves; `StageError` is the cause for which a gate
fails.
"""

from __future__ import annotations

import os

from moot.runs.contract import StageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

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
        test: [issue for issue, own in files.items() if any(f"/{one}".endswith(f"/{_file(test)}") for one in own)]
        for test in failed
    }


def _file(test: str) -> str:
    return test.partition(_BETWEEN)[0]
