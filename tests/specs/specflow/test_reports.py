"""Agent Roles / quality-gate: what test reports and the baseline say, without a workspace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moot.packs.specflow import evidence
from moot.runs.contract import StageError

ROOT = "/srv/shop"
SIGNUP, LOGIN = "journey_signup_flow.spec.ts", "journey_login.spec.ts"
JUNIT = b"""<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="vitest tests" tests="4" failures="1" errors="0" time="1.2">
  <testsuite name="/srv/shop/src/contracts/user.test.ts" hostname="ci-7f3a" tests="3" failures="1" skipped="1">
    <testcase classname="/srv/shop/src/contracts/user.test.ts" name="user &gt; has an id" time="0.01"/>
    <testcase classname="/srv/shop/src/contracts/user.test.ts" name="user &gt; has a mail" time="0.02">
      <failure message="expected 1" type="AssertionError"><![CDATA[<!DOCTYPE html><p>expected 1]]></failure>
    </testcase>
    <testcase classname="/srv/shop/src/contracts/user.test.ts" name="user &gt; has a photo"><skipped/></testcase>
  </testsuite>
  <testsuite name="store"><testsuite name="cart">
    <testcase name="adds" file="src/contracts/cart.test.ts" line="12"/>
    <testcase name="adds" file="src/contracts/cart.test.ts" line="40"><error/></testcase>
  </testsuite></testsuite>
</testsuites>
"""


def spec(title: str, *ends: str, project: str = "chromium", expected: str = "passed", line: int = 3) -> dict[str, Any]:
    results = [{"workerIndex": 0, "status": end, "retry": retry, "errors": []} for retry, end in enumerate(ends)]
    test = {"timeout": 30000, "expectedStatus": expected, "projectName": project, "results": results}
    return {"title": title, "ok": True, "tags": [], "line": line, "column": 5, "tests": [test]}


def playwright(files: dict[str, list[dict[str, Any]]], **more: Any) -> bytes:
    """A report of Playwright, whose specs are all in a suite `happy path` of their file."""
    suites = [
        {
            "title": file,
            "file": file,
            "line": 0,
            "specs": [],
            "suites": [{"title": "happy path", "file": file, "specs": [{**one, "file": file} for one in specs]}],
        }
        for file, specs in files.items()
    ]
    return json.dumps({"config": {"version": "1.50.0"}, "suites": suites, "errors": [], **more}).encode()


def failure(data: bytes) -> str:
    with pytest.raises(StageError) as raised:
        evidence.tests_of(data, ROOT)
    return raised.value.text


@pytest.mark.proves("S3-QG-09", "S3-HARD-27")
def test_a_playwright_test_has_an_id_without_lines_and_its_last_word_counts() -> None:
    said = {
        SIGNUP: [
            spec("signs up", "passed"),
            spec("signs up", "failed", "passed", project="webkit"),
            spec("is refused", "timedOut", "failed"),
            spec("is broken", "failed", expected="failed"),
            spec("is kept", "skipped"),
            spec("is cut off", "interrupted"),
        ],
        LOGIN: [spec("logs in", "passed", project="")],
    }
    found = evidence.tests_of(playwright(said), ROOT)
    assert found == {
        f"{SIGNUP} > happy path > signs up > [chromium]": "pass",
        f"{SIGNUP} > happy path > signs up > [webkit]": "pass",
        f"{SIGNUP} > happy path > is refused > [chromium]": "fail",
        f"{SIGNUP} > happy path > is broken > [chromium]": "pass",
        f"{SIGNUP} > happy path > is kept > [chromium]": "skipped",
        f"{SIGNUP} > happy path > is cut off > [chromium]": "skipped",
        f"{LOGIN} > happy path > logs in": "pass",
    }
    moved = {file: [{**one, "line": 99} for one in specs] for file, specs in said.items()}
    assert evidence.tests_of(playwright(moved), ROOT) == found


@pytest.mark.proves("S3-QG-09")
def test_a_junit_test_has_an_id_of_its_file_suites_and_title() -> None:
    assert evidence.tests_of(JUNIT, ROOT) == {
        "src/contracts/user.test.ts > user > has an id": "pass",
        "src/contracts/user.test.ts > user > has a mail": "fail",
        "src/contracts/user.test.ts > user > has a photo": "skipped",
        "src/contracts/cart.test.ts > store > cart > adds": "fail",  # of two with one id, the worse one counts
    }


@pytest.mark.proves("S3-HARD-20")
def test_a_report_without_evidence_is_a_failure_that_names_this_cause() -> None:
    laughs = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><testsuites><testcase name="&b;"/></testsuites>'
    unreadable = [
        b"",
        b"\0\1\2",
        b"<testsuites><testsuite",
        b"<html/>",
        b"<testsuite><testcase/></testsuite>",
        b"[]",
        b"12",
        b'{"suites": [{}, 7]}',
        playwright({SIGNUP: [spec("signs up", "passed")]})[:-20],
        b'{"suites":' * 100_000,
        laughs,
    ]
    for data in unreadable:
        assert "cannot be read" in failure(data), data[:80]
    for data in (b"<testsuites/>", playwright({}), playwright({SIGNUP: [spec("signs up", "skipped")]})):
        assert "no executed test" in failure(data), data[:80]
    one = {SIGNUP: [spec("signs up", "passed")]}
    assert "SyntaxError: x.spec.ts" in failure(playwright(one, errors=[{"message": "SyntaxError: x.spec.ts"}]))


@pytest.mark.proves("S3-QG-07", "S3-HARD-27")
def test_each_test_is_compared_with_the_baseline() -> None:
    before = {"a": "pass", "b": "fail", "c": "fail", "gone": "pass", "off": "pass", "same": "pass", "bad": "fail"}
    now = {"a": "fail", "b": "fail", "c": "pass", "d": "pass", "e": "fail", "off": "skipped", "same": "pass"}
    assert evidence.compared(before, {**now, "new and off": "skipped"}) == {
        "regression": ["a"],
        "known": ["b"],
        "fixed": ["c"],
        "new": ["d"],
        "new_failing": ["e"],
        "missing": ["gone", "off"],
    }


@pytest.mark.proves("S3-QG-09", "S3-QG-10")
def test_a_baseline_is_sorted_and_read_back() -> None:
    existing = b'{"version":1,"last_updated":null,"last_wave":null,"last_commit":null,"tests":{}}'
    assert evidence.baseline_of(existing)["tests"] == evidence.baseline_of(None)["tests"] == {}
    tests = {"b > signs up": "pass", "a": "fail", "c": "skipped"}
    made = evidence.baseline(tests, at="2026-11-20T10:00:00.000Z", wave=3, commit="4f2a")
    found = json.loads(made)
    assert list(found) == sorted(found)
    assert list(found["tests"].items()) == [("a", "fail"), ("b > signs up", "pass")]
    assert (found["version"], found["last_wave"], found["last_commit"]) == (1, 3, "4f2a")
    assert evidence.baseline_of(made) == found


@pytest.mark.proves("S3-HARD-26")
def test_a_baseline_that_cannot_be_read_is_named_with_the_place_and_is_not_empty() -> None:
    good = b'{"version": 1,\n "tests": {"a > b.c": "pass",\n  "d": "fail"}}'
    assert evidence.baseline_of(good)["tests"] == {"a > b.c": "pass", "d": "fail"}
    wrong = {
        good[:-9]: "line 3",
        b"": "line 1",
        b"<<<<<<< HEAD\n": "line 1",
        b"[]": "line 1, column 1",
        b'{"version": 1}': "line 1, column 1",
        good.replace(b"1", b"2"): "line 1, column 13",
        good.replace(b'"fail"', b'"flaky"'): "line 3, column 8",
        good.replace(b'"pass"', b"true"): "line 2, column 23",
        good.replace(b'"d"', b'"a > b.c"'): "line 3, column 3",
    }
    for data, place in wrong.items():
        with pytest.raises(StageError) as raised:
            evidence.baseline_of(data)
        assert evidence.BASELINE in raised.value.text, data
        assert place in raised.value.text, (data, raised.value.text)


@pytest.mark.proves("S3-QG-03", "S3-QG-06")
def test_the_journeys_of_an_issue_lead_to_files_and_failed_tests_back_to_issues() -> None:
    texts = ["Covers J-SIGNUP-FLOW and j-other, see J-LOGIN-2FA.", "again `J-SIGNUP-FLOW`, not OBJ-SIGNUP-X, J-X"]
    assert evidence.journeys(texts) == ("J-SIGNUP-FLOW", "J-LOGIN-2FA")
    default = "tests/e2e/journey_{name}.spec.ts"
    assert evidence.journey_file(default, "J-SIGNUP-FLOW") == "tests/e2e/journey_signup_flow.spec.ts"
    assert evidence.journey_file("j/{name}/{name}.ts", "J-LOGIN-2FA") == "j/login_2fa/login_2fa.ts"
    files = {50: ("tests/e2e/journey_signup_flow.spec.ts",), 51: ("tests/e2e/journey_login.spec.ts",), 52: ()}
    failed = [f"{SIGNUP} > happy path > signs up", "tests/e2e/journey_login.spec.ts > logs in", "flow.spec.ts > x"]
    assert list(evidence.blamed(failed, files).values()) == [[50], [51], []]
