"""A pipeline that is data only, with a document for each file: it is named after the path, and commands share it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from moot import Workspace
from moot.core.errors import AwaitedFailed, Usage
from moot.runs.targets import slug_of

PATIENCE = 60
PACK = """
name = "counts"
title = "Counts"
version = "1.0"

[pipeline]
document = "count"
errors = "/errors"

[mirrors.count]
path = ".counts/{name}.json"
form = "document"
scope = "SCOPE"
missing = "reset"

[[stage]]
name = "count"
agent = "required"
answer = "exit"
reads = ["source"]
owns = ["/lines"]
marker = "/done/count"

[[stage]]
name = "judge"
agent = "required"
answer = "exit"
reads = ["document"]
sees = ["/lines"]
marker = "/done/judge"
"""
COUNT = """
import json, os, sys
source, document = sys.argv[1:]
os.makedirs(os.path.dirname(document), exist_ok=True)
data = json.load(open(document)) if os.path.exists(document) else {}
data["lines"] = len(open(source).readlines())
json.dump(data, open(document, "w"))
"""
JUDGE = "import json, sys; sys.exit(json.load(open(sys.argv[1]))['lines'] > 3)"


@pytest.fixture(params=["worktree", "workspace"])
def counts(tmp_path, request):
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=PATIENCE)
    (root / "pack").mkdir()
    (root / "src").mkdir()
    (root / "pack" / "pack.toml").write_text(PACK.replace("SCOPE", request.param))
    (root / "src" / "a.txt").write_text("1\n2\n")
    (root / "src--a.txt").write_text("1\n2\n3\n")
    count = json.dumps([sys.executable, "-c", COUNT, "{source}", "{document}"])
    judge = json.dumps([sys.executable, "-c", JUDGE, "{document}"])
    commands = f"[run.counts]\ncount = {count}\njudge = {judge}\n"
    (root / "moot.toml").write_text(f'packs = ["counts"]\n[pack.counts]\npath = "pack"\n{commands}')
    with Workspace.init(root, person=True) as person:
        person.allow(["counts.count", "counts.judge"], yes=True)
        yield person, root
        person.verify()


def outcomes(person, *paths):
    return [f"{s.stage} {s.what}" for s in person.run("counts", list(paths)) if s.what in ("passed", "reused")]


def test_each_file_has_a_document_with_the_slug_of_its_path(counts):
    person, root = counts
    assert outcomes(person, "src/a.txt") == ["count passed", "judge passed"]
    assert outcomes(person, "src--a.txt") == ["count passed", "judge passed"]
    first, second = sorted((root / ".counts").iterdir(), key=lambda path: len(path.name))
    assert first.name == "src--a.txt.json"
    assert second.name.startswith("src--a.txt-")
    assert json.loads(first.read_text()) == {"lines": 2, "done": {"count": True, "judge": True}}
    assert json.loads(second.read_text())["lines"] == 3
    assert {one.state for one in person.doc_list()} == {"in sync"}


def test_a_stage_runs_again_when_the_part_of_the_document_that_it_sees_has_changed(counts):
    person, root = counts
    outcomes(person, "src/a.txt")
    assert outcomes(person, "src/a.txt") == ["count reused", "judge reused"]
    (root / "src" / "a.txt").write_text("3\n4\n")  # as many lines as before
    assert outcomes(person, "src/a.txt") == ["count passed", "judge reused"]
    (root / "src" / "a.txt").write_text("3\n")
    assert outcomes(person, "src/a.txt") == ["count passed", "judge passed"]


def test_a_mark_that_somebody_sets_in_the_document_is_not_taken(counts):
    person, root = counts
    outcomes(person, "src/a.txt")
    file = root / ".counts" / "src--a.txt.json"
    file.write_text(json.dumps({"lines": 2, "done": {"count": True, "judge": False}}))
    person.doc_list()
    assert json.loads(file.read_text())["done"]["judge"] is True


def test_the_error_names_every_command_that_nobody_has_allowed_and_how_to_go_on(counts):
    person, _ = counts
    person.allow(["counts.count", "counts.judge"], revoke=True)
    with pytest.raises(AwaitedFailed, match=r"counts\.count") as caught:
        outcomes(person, "src/a.txt")
    assert "`moot allow counts.count counts.judge`" in caught.value.remedy
    person.allow(["counts.count", "counts.judge"], yes=True)
    assert outcomes(person, "src/a.txt") == ["count passed", "judge passed"]


def test_a_folder_and_a_file_of_git_or_moot_are_no_source(counts):
    person, _ = counts
    for path, code in ((".", "no_such_file"), ("src/", "no_such_file"), ("moot.toml", "reserved_path")):
        with pytest.raises(Usage) as caught:
            outcomes(person, path)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("path", "slug"),
    [("a.py", "a.py"), ("src/store/cart_2.py", "src--store--cart_2.py"), ("a-b/c.d", "a-b--c.d")],
)
def test_a_plain_path_has_a_slug_that_shows_it(path, slug):
    assert slug_of(path) == slug


def test_no_two_paths_have_one_slug_and_all_are_plain_names():
    names = ["a", "-", "--", "a-", "-a", ".", ".a", "a.", "ä", " ", "a b", "a\nb", "A", "x" * 200, "{name}", "$(a)"]
    paths = [*names, *(f"{one}/{two}" for one in names for two in names)]
    slugs = {slug_of(path) for path in paths}
    assert len(slugs) == len(paths)
    for slug in slugs:
        assert slug.isascii()
        assert not {"/", "\n", " ", "{", "$"} & set(slug)
        assert 0 < len(slug) <= 120
        assert slug[0] not in ".-"
