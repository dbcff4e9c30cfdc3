"""The data of the orchestrator pack, and what is rendered, compared and stored of its messages."""

from __future__ import annotations

import json
import os
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import moot.packs.orchestrator as package
from moot.api.protocol.content import fingerprint, normalise_paths, render, same
from moot.core.schema import check_schema, defects
from moot.packs.orchestrator.protocol import review

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


# ---------------------------------------------------------------------- the messages


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_samples_of_the_protocol_are_valid(kind):
    check_schema(SCHEMAS[kind])
    for platform in ("web", "android", "ios", "custom"):
        assert defects(SCHEMAS[kind], {**SAMPLES[kind], "platform": platform}) == []


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


# ---------------------------------------------------------------------- what the schemas cannot say


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
