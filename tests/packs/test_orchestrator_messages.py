"""The two messages of the orchestrator pack, its lifecycle as data, and the rules beside them."""

from __future__ import annotations

import copy
import json
import os
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import moot.packs.orchestrator as package
from moot.api.protocol.content import fingerprint, normalise_paths, render, same
from moot.core.lifecycle import PHASES
from moot.core.schema import Defect, check_schema, defects
from moot.packs.orchestrator.rules import review

FOLDER = os.path.dirname(package.__file__)
with open(os.path.join(FOLDER, "pack.toml"), "rb") as file:
    PACK = tomllib.load(file)


def schema_of(kind: str) -> dict:
    with open(os.path.join(FOLDER, PACK["messages"][kind]["schema"]), encoding="utf-8") as file:
        return json.load(file)


SCHEMAS = {kind: schema_of(kind) for kind in PACK["messages"]}
ASSIGNMENT: dict = {
    "type": "task_assignment",
    "taskId": "task-001",
    "platform": "web",
    "title": "Task Title",
    "instructions": "Detailed implementation instructions",
    "filesToCreate": ["path/to/file1.ts", "path/to/file2.ts"],
    "architecture": "Architecture pattern to follow",
    "apiEndpoints": ["GET /api/resource", "POST /api/resource"],
    "timestamp": "2024-01-01T00:00:00.000Z",
}
REPORT: dict = {
    "type": "completion_report",
    "taskId": "task-001",
    "platform": "web",
    "status": "awaiting_review",
    "summary": "Brief summary of implementation",
    "filesCreated": ["path/to/created/file.ts"],
    "filesModified": ["path/to/modified/file.ts"],
    "buildResult": {"status": "success", "command": "npm run build", "errors": 0, "output": "Build output if failed"},
    "timestamp": "2024-01-01T00:00:00.000Z",
}
SAMPLES: dict[str, dict] = {"task_assignment": ASSIGNMENT, "completion_report": REPORT}
BUILDS = {
    "success": {"status": "success", "command": "npm run build", "errors": 0},
    "failed": {"status": "failed", "command": "npm run build", "errors": 3, "output": "error TS2304"},
    "not_applicable": {"status": "not_applicable", "command": "", "errors": 0, "output": "iOS on Windows"},
    "not_verified": {"status": "not_verified", "command": "", "errors": 0},
}
ABSENT = object()


def told(kind: str, path: str, value) -> list[Defect]:
    """The defects of the sample with one field, perhaps inside another, replaced or taken away."""
    message = copy.deepcopy(SAMPLES[kind])
    *outer, name = path.split(".")
    place: dict = message
    for step in outer:
        place = place[step]
    if value is ABSENT:
        del place[name]
    else:
        place[name] = value
    return defects(SCHEMAS[kind], message)


def told_build(**fields) -> list[Defect]:
    return told("completion_report", "buildResult", fields)


def refused(problems: list[Defect], path: str) -> bool:
    return [problem.path for problem in problems] == [path]


# ---------------------------------------------------------------------- the messages


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_samples_of_the_protocol_are_valid(kind):
    check_schema(SCHEMAS[kind])
    for platform in ("web", "android", "ios", "custom"):
        assert defects(SCHEMAS[kind], {**SAMPLES[kind], "platform": platform}) == []


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, name) for kind, sample in SAMPLES.items() for name in sample if name != "apiEndpoints"]
)
def test_each_required_field_that_is_missing_is_named(kind, field):
    (problem,) = told(kind, field, ABSENT)
    assert (problem.path, problem.found) == (field, "nothing")


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("value", ["", None, "task_assignment ", "Task_Assignment", "note", 1])
def test_the_type_is_exactly_its_own(kind, value):
    (problem,) = told(kind, "type", value)
    assert problem.expected == kind


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_task_id_is_one_line_without_blanks_around_it(kind):
    for good in ("task-001", "x", "Task 7 (äöü)", "タスク-1", "x" * 200):
        assert told(kind, "taskId", good) == []
    breaks = ["a\nb", "a\r\nb", "a\rb", "a\u2028b", "a\u2029b", "a\u0085b", "a\vb", "a\fb", "a\tb", "a/b", "x" * 201]
    around = [" task-001", "task-001 ", "\ttask-001", "task-001\n", "\u00a0task-001", "task-001\u3000", " ", "\n"]
    for bad in ("", *breaks, *around, None, 1, True, ["task-001"]):
        assert refused(told(kind, "taskId", bad), "taskId"), bad


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("value", ["windows", "Web", "IOS", "web ", "", "web|android|ios|custom", None, 1, ["web"]])
def test_another_platform_is_refused_with_the_four_that_there_are(kind, value):
    (problem,) = told(kind, "platform", value)
    assert (problem.path, problem.expected) == ("platform", "one of web, android, ios, custom")


@pytest.mark.parametrize("field", ["title", "instructions", "architecture"])
def test_the_texts_of_an_assignment_are_non_empty_strings(field):
    _check_text("task_assignment", field)


@pytest.mark.proves("S0-CR-06")
def test_the_summary_of_a_report_is_a_non_empty_string():
    _check_text("completion_report", "summary")


def _check_text(kind: str, field: str) -> None:
    for good in ("x", "two\nlines", '# Markdown with "quotes" and `code`', "日本語 \u202e 👩‍💻", "\x00"):
        assert told(kind, field, good) == []
    for bad in ("", None, 1, True, ["text"], {"text": "x"}):
        assert refused(told(kind, field, bad), field), bad


@pytest.mark.proves("S0-TA-06")
def test_files_to_create_are_a_list_of_non_empty_strings_that_may_be_empty():
    _check_list("task_assignment", "filesToCreate")


def test_api_endpoints_are_a_list_of_non_empty_strings_and_may_be_left_out():
    _check_list("task_assignment", "apiEndpoints")
    assert told("task_assignment", "apiEndpoints", ABSENT) == []


@pytest.mark.proves("S0-CR-07")
def test_a_report_has_both_lists_of_files_and_either_may_be_empty():
    for field in ("filesCreated", "filesModified"):
        _check_list("completion_report", field)
        assert refused(told("completion_report", field, ABSENT), field)
    assert defects(SCHEMAS["completion_report"], {**REPORT, "filesCreated": [], "filesModified": []}) == []


def _check_list(kind: str, field: str) -> None:
    assert told(kind, field, []) == []
    assert told(kind, field, ["GET /api/resource", "a b"]) == []
    for bad in (None, "src/a.ts", {}, 1, True):
        assert refused(told(kind, field, bad), field), bad
    for bad in (None, "", 1, False, [], {}):
        assert refused(told(kind, field, ["good", bad]), f"{field}[1]"), bad


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_timestamp_is_a_date_time(kind):
    for good in ("2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00", "2024-06-30T12:00:00+02:00"):
        assert told(kind, "timestamp", good) == []
    for bad in ("", "now", "2024-01-01", "2024-13-01T00:00:00Z", 1704067200, None):
        assert refused(told(kind, "timestamp", bad), "timestamp"), bad


@pytest.mark.proves("S0-CR-05")
def test_a_report_awaits_review_and_is_nothing_else():
    assert told("completion_report", "status", "awaiting_review") == []
    for other in ("completed", "done", "in_progress", "Awaiting_Review", "awaiting_review ", "", None, 1):
        (problem,) = told("completion_report", "status", other)
        assert (problem.path, problem.expected) == ("status", "awaiting_review")


def test_several_defects_are_told_at_once_each_with_field_expectation_and_finding():
    message = {**REPORT, "platform": "Web", "filesCreated": "a.ts", "timestamp": "now"}
    message["buildResult"] = {"status": "ok", "errors": "0"}
    del message["summary"]
    assert [problem.sentence for problem in defects(SCHEMAS["completion_report"], message)] == [
        'platform: expected one of web, android, ios, custom, found "Web"',
        "summary: expected a non-empty string, found nothing",
        'filesCreated: expected a list, each a non-empty string, found "a.ts"',
        'buildResult.status: expected one of success, failed, not_applicable, not_verified, found "ok"',
        "buildResult.command: expected a string, found nothing",
        'buildResult.errors: expected a whole number of 0 or more, found "0"',
        'timestamp: expected an ISO 8601 date and time such as 2024-01-01T00:00:00.000Z, found "now"',
    ]


unknown_fields = st.dictionaries(
    st.text().map(lambda name: f"x{name}"),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5),
)


@given(st.sampled_from(sorted(SAMPLES)), unknown_fields)
def test_unknown_fields_never_make_a_message_invalid_and_are_rendered_back(kind, extra):
    message = {**extra, **SAMPLES[kind]}
    assert defects(SCHEMAS[kind], message) == []
    assert defects(SCHEMAS[kind], json.loads(json.dumps(message))) == []
    assert render(kind, message, PACK["messages"][kind]["order"]) == message


# ---------------------------------------------------------------------- the build result


@pytest.mark.parametrize("status", BUILDS)
def test_a_build_result_of_each_status_is_valid(status):
    assert told_build(**BUILDS[status]) == []
    assert told_build(**{**BUILDS[status], "output": ""}) == []
    assert told_build(**BUILDS[status], signedBy="ci") == []


@pytest.mark.parametrize("field", ["status", "command", "errors"])
def test_a_missing_key_of_the_build_result_is_named_with_its_path(field):
    assert refused(told("completion_report", f"buildResult.{field}", ABSENT), f"buildResult.{field}")


def test_the_output_is_an_optional_string():
    assert told("completion_report", "buildResult.output", ABSENT) == []
    for bad in (None, 1, ["line"]):
        assert refused(told("completion_report", "buildResult.output", bad), "buildResult.output")


@pytest.mark.proves("S0-BR-02")
@pytest.mark.parametrize(
    "value", ["ok", "Success", "", "success|failed|not_applicable|not_verified", None, True, "not-verified"]
)
def test_another_build_status_is_refused_with_the_four_that_there_are(value):
    (problem,) = told_build(status=value, command="make", errors=0)
    assert problem.path == "buildResult.status"
    assert problem.expected == "one of success, failed, not_applicable, not_verified"
    for status, build in BUILDS.items():
        assert told_build(**{**build, "status": status}) == []


@pytest.mark.proves("S0-BR-03")
def test_success_comes_with_no_errors():
    assert told_build(status="success", command="make", errors=0) == []
    for errors in (1, 40):
        (problem,) = told_build(status="success", command="make", errors=errors)
        assert (problem.path, problem.expected) == ("buildResult.errors", "0 when status is success")


@pytest.mark.proves("S0-BR-05")
def test_a_build_that_is_not_applicable_needs_no_command_and_has_no_errors():
    assert told_build(status="not_applicable", command="", errors=0) == []
    assert told_build(status="not_applicable", command="", errors=0, output="an iOS task on Windows") == []
    assert refused(told_build(status="not_applicable", command="", errors=1), "buildResult.errors")


def test_a_build_that_was_not_verified_needs_no_command_and_has_no_errors():
    assert told_build(status="not_verified", command="", errors=0) == []
    assert refused(told_build(status="not_verified", command="", errors=1), "buildResult.errors")


@pytest.mark.proves("S0-BR-07")
@pytest.mark.parametrize("status", BUILDS)
def test_errors_are_a_whole_number_of_0_or_more(status):
    for bad in (-1, 0.5, True, False, None, "0", "3", [], 1e400):
        assert refused(told_build(**{**BUILDS[status], "errors": bad}), "buildResult.errors"), bad
    for good in (0, 7, 10**12):
        assert told_build(status="failed", command="make", errors=good, output="error") == []


@pytest.mark.proves("S0-BR-08")
def test_a_command_is_given_for_success_and_failure_and_may_be_empty_otherwise():
    for status, build in BUILDS.items():
        problems = told_build(**{**build, "command": ""})
        assert refused(problems, "buildResult.command") if status in ("success", "failed") else problems == []
        for bad in (None, 1, ["make"]):
            assert refused(told_build(**{**build, "command": bad}), "buildResult.command")


def test_a_build_result_is_an_object():
    for bad in (None, "success", [], True):
        assert refused(told("completion_report", "buildResult", bad), "buildResult")


# ---------------------------------------------------------------------- what the schemas cannot say


def reviewed(build: dict, *, from_file: bool) -> tuple[list[Defect], list[str]]:
    problems, flags = review("completion_report", {**REPORT, "buildResult": build}, from_file=from_file)
    return problems, [flag.partition(":")[0] for flag in flags]


@pytest.mark.parametrize("output", [{}, {"output": ""}])
def test_a_failure_without_output_is_refused_on_a_surface_and_flagged_from_a_file(output):
    build = {"status": "failed", "command": "make", "errors": 2, **output}
    problems, flags = reviewed(build, from_file=False)
    assert refused(problems, "buildResult.output")
    assert flags == []
    assert reviewed(build, from_file=True) == ([], ["failed_without_output"])


@pytest.mark.parametrize("from_file", [True, False])
def test_an_unverified_build_is_flagged_and_the_others_are_not(from_file):
    flags = {status: reviewed(build, from_file=from_file) for status, build in BUILDS.items()}
    assert flags.pop("not_verified") == ([], ["build_not_verified"])
    assert set(flags) == {"success", "failed", "not_applicable"}
    assert all(flag == ([], []) for flag in flags.values())


@given(
    st.sampled_from([*SAMPLES, "note"]),
    st.dictionaries(
        st.sampled_from(["buildResult", "timestamp", "filesCreated", "filesModified"]),
        st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
    ),
)
def test_malformed_data_is_left_to_the_schemas(kind, data):
    assert review(kind, data, from_file=True)[0] == []
    normalise_paths(data, ["filesCreated", "filesModified"], ["/repo"])


@pytest.mark.parametrize("kind", SAMPLES)
def test_keys_are_rendered_in_the_order_of_the_samples_and_unknown_ones_after_them(kind):
    backwards = {"zebra": 1, **dict(reversed(SAMPLES[kind].items())), "ant": None}
    if "buildResult" in backwards:
        backwards["buildResult"] = {"by": "ci", **dict(reversed(REPORT["buildResult"].items()))}
    rendered = render(kind, backwards, PACK["messages"][kind]["order"])
    assert rendered == backwards
    assert list(rendered) == [*SAMPLES[kind], "zebra", "ant"]
    if "buildResult" in rendered:
        assert list(rendered["buildResult"]) == ["status", "command", "errors", "output", "by"]


def test_what_was_not_sent_is_not_rendered():
    bare = {key: value for key, value in ASSIGNMENT.items() if key != "apiEndpoints"}
    assert list(render("task_assignment", bare, PACK["messages"]["task_assignment"]["order"])) == list(bare)


def test_entries_are_the_same_by_content_whatever_their_form():
    reordered = json.loads(json.dumps(dict(reversed(REPORT.items())), indent=8, ensure_ascii=False))
    assert same(REPORT, reordered)
    assert fingerprint(REPORT) == fingerprint(reordered)
    texts = [fingerprint({"a": value}) for value in (1, 1.0, True, "1", [1], None, "", "é", "e\u0301", "\ud800")]
    assert len(set(texts)) == len(texts)


ROOTS = ["/work/repo", "/work/repo/trees/two", "/elsewhere/three/"]


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("src/a.ts", "src/a.ts"),
        ("./src//a.ts", "src/a.ts"),
        ("src\\win\\a.ts", "src/win/a.ts"),
        ("src/../lib/a.ts", "lib/a.ts"),
        ("src/parts/", "src/parts/"),
        ("/work/repo/src/a.ts", "src/a.ts"),
        ("/work/repo/../repo/src/a.ts", "src/a.ts"),
        ("/work/repo/trees/two/src/a.ts", "src/a.ts"),
        ("/work/repo/trees/two/../../src/a.ts", "src/a.ts"),
        ("/elsewhere/three/a.ts", "a.ts"),
        ("..a/b", "..a/b"),
        ("~a/b", "~a/b"),
        ("./~/a", "./~/a"),
        ("src/../~", "./~"),
        ("/work/repo/~/a", "./~/a"),
        (".//C:/a", "./C:/a"),
        ("pages/[id].tsx", "pages/[id].tsx"),
        (" a", " a"),
    ],
)
def test_paths_are_stored_relative_to_the_root_with_forward_slashes(path, stored):
    data = {"files": ["x", path], "other": ["/untouched"]}
    assert normalise_paths(data, ["files"], ROOTS) == ({"files": ["x", stored], "other": ["/untouched"]}, [])
    assert data["files"] == ["x", path]


LEAVING = r"""
.. ../a src/../../a ..\a /etc/passwd /work/repo2/a /work/repo/../x /work/repo/../../../../etc
/ /work/repo /work/repo/ . a/.. ~ ~/a C:\Users\a c:/a //server/share/a
""".split()  # noqa: SIM905 (a table reads better)


@pytest.mark.parametrize("path", LEAVING)
def test_a_path_that_leaves_the_root_or_is_the_root_is_refused(path):
    kept, problems = normalise_paths({"files": ["ok", path]}, ["files", "missing"], ROOTS)
    assert kept == {"files": ["ok", path]}
    assert [problem.path for problem in problems] == ["files[1]"]


def test_windows_roots_are_understood():
    kept, problems = normalise_paths({"files": ["C:\\repo\\src\\a.ts"]}, ["files"], ["C:\\repo"])
    assert (kept, problems) == ({"files": ["src/a.ts"]}, [])


@given(st.lists(st.text("a./\\~C: "), max_size=4))
def test_a_stored_path_never_leaves_the_root_and_stays_as_it_is(paths):
    kept, problems = normalise_paths({"files": paths}, ["files"], ROOTS)
    bad = {problem.path for problem in problems}
    good = [path for index, path in enumerate(kept["files"]) if path and f"files[{index}]" not in bad]
    bare = [path.removeprefix("./") if path.startswith(("./~", "./C:")) else path for path in good]
    assert all(not path.startswith("/") and not {"..", "."} & {*path.split("/")} for path in bare)
    assert normalise_paths({"files": good}, ["files"], ROOTS) == ({"files": good}, [])


# ---------------------------------------------------------------------- the pack as data


def test_everything_that_the_pack_names_is_there():
    roles, messages, mirrors = PACK["roles"], PACK["messages"], PACK["mirrors"]
    for kind, message in messages.items():
        known = SCHEMAS[kind]["properties"]
        assert {message["from"], message["to"]} <= roles.keys()
        assert [key for key in message["order"] if "." not in key] == list(known)
        assert {message["stamp"], message["task"], *message["paths"]} <= known.keys()
    for mirror in (mirror for mirror in mirrors.values() if "mailbox" in mirror):
        role = mirror["mailbox"].removeprefix("@")
        assert mirror["types"] == [kind for kind, message in messages.items() if message["to"] == role]


def test_the_mailboxes_are_where_the_protocol_has_them():
    assert {mirror["path"] for mirror in PACK["mirrors"].values() if "mailbox" in mirror} == {
        ".claude-orchestrator/tasks/messages/to-developer.json",
        ".claude-orchestrator/tasks/messages/to-team-lead.json",
    }


def test_the_lifecycle_has_the_seven_edges_of_the_protocol_and_no_other():
    life = PACK["lifecycle"]
    states = list(life["states"])
    assert states == ["pending", "in_progress", "awaiting_review", "completed", "rejected"]
    assert {state["phase"] for state in life["states"].values()} <= set(PHASES)
    edges = {(edge["from"], edge["to"]): edge for edge in life["edges"]}
    assert len(edges) == len(life["edges"])
    assert {pair: edge["verb"] for pair, edge in edges.items()} == {
        ("pending", "in_progress"): "claim",
        ("in_progress", "awaiting_review"): "submit",
        ("awaiting_review", "completed"): "approve",
        ("awaiting_review", "rejected"): "reject",
        ("in_progress", "rejected"): "reject",
        ("rejected", "pending"): "reopen",
        ("completed", "pending"): "reopen",
    }
    for (_, target), edge in edges.items():
        assert ("developer" in edge["who"]) == (target == "awaiting_review")
        assert ("team-lead" in edge["who"]) == (target != "awaiting_review")
        assert edge.get("attempt", 0) == (1 if target == "pending" else 0)
    assert [pair for pair, edge in edges.items() if "reason" in edge.get("needs", ())] == [
        ("awaiting_review", "rejected"),
        ("in_progress", "rejected"),
        ("completed", "pending"),
    ]
    assert edges["in_progress", "awaiting_review"]["needs"] == ["report"]
