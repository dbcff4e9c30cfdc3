"""Something else in the place of a file: a pipe is never waited for, a link never followed, a huge file never read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from moot.packs.rspec_v1.verbs import reviewing
from tests.specs.rspec_v1.shop import REPORT, SOURCE, SPEC, Shop

KINDS = {
    "pipe": "is not a regular file",
    "folder": "is not a regular file",
    "link": "leads out of",
    "huge": "is larger than 64 MiB",
}
NO_OFFENCE = '{"files": []}'


def replace(path: Path, kind: str) -> None:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to("/etc/passwd")
        case "huge":
            with path.open("wb") as file:
                file.truncate(65 << 20)


def clear(path: Path) -> None:
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def program(shop: Shop, name: str, text: str) -> str:
    script = shop.root.parent / name
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return json.dumps([str(script)])


def drafted(shop: Shop, settings: str) -> Shop:
    """A project whose spec waits for the polisher."""
    shop.agents(f"[pack.rspec-v1]\n{settings}")
    shop.rspec("analyzer", SOURCE, "process")
    for word in ("architect", "implementer", "factory-optimizer"):
        said = shop.rspec(word, SOURCE)
        assert said.code in (0, 2), said.err
    return shop


@pytest.mark.proves("S1-POL-01")
@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_a_spec_that_the_linter_replaces_by_something_else_fails_the_polisher(shop: Shop, kind: str) -> None:
    make = {
        "pipe": f"rm {SPEC}; mkfifo {SPEC}",
        "folder": f"rm {SPEC}; mkdir {SPEC}",
        "link": f"mv {SPEC} ../outside; ln -s {shop.root.parent}/outside {SPEC}",
        "huge": f"truncate -s 65M {SPEC}",
    }[kind]
    shop.write(".rubocop.yml", "")
    linter = program(shop, "linter", f"{make}\necho '{NO_OFFENCE}'")
    drafted(shop, f"linter = {linter}")
    said = shop.rspec("polisher", SPEC)
    assert (said.code, said.out) == (1, "")
    assert f"Error: {SPEC} {KINDS[kind]}" in said.err
    assert shop.document()["automation"]["polisher_completed"] is False
    assert shop.states()["reviewer"] == "pending"
    clear(shop.root / SPEC)
    said = shop("run", "restore", "last", "polisher")
    assert said.code == 0, said
    assert "expect(result)" in shop.read(SPEC), "what was there before the stage can be put back"


@pytest.mark.proves("S1-POL-04")
@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
@pytest.mark.parametrize("make", ["mkfifo", "mkdir", "ln -s /dev/zero", "true"])
def test_a_test_run_without_a_readable_result_fails_the_polisher(shop: Shop, make: str) -> None:
    drafted(shop, "rspec = " + program(shop, "tests", f'{make} "$6"'))
    said = shop.rspec("polisher", SPEC)
    assert said.code == 1
    assert "RSpec ended with exit code 0 and reported no result" in said.err


@pytest.mark.proves("S1-REV-05", "S1-REP-02")
@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_the_report_is_read_from_the_log_if_something_else_is_in_its_place(
    staffed: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = staffed.run()
    assert said.code in (0, 2), said.err
    report, path, tell = staffed.read(REPORT), staffed.root / REPORT, reviewing.tell_result
    for kind, reason in KINDS.items():

        def disturbed(*given: Any, kind: str = kind, **how: Any) -> str:
            replace(path, kind)
            return tell(*given, **how)

        with monkeypatch.context() as patch:
            patch.setattr(reviewing, "tell_result", disturbed)
            said = staffed.run()
        assert said.code in (0, 2), said.err
        assert f"Warning: {REPORT} {reason}" in said.err
        assert staffed.rspec("report", SPEC).out == report, kind
        said = staffed.run()
        assert (said.code, said.out) == (1, ""), kind
        assert f"Error: {REPORT} {reason}" in said.err
        clear(path)
        staffed.write(REPORT, report)


@pytest.mark.proves("S1-REV-06", "S1-REP-01")
@pytest.mark.parametrize("kind", ["folder", "link", "linked folder"])
def test_a_review_is_not_written_through_something_else(shop: Shop, kind: str) -> None:
    shop.write("spec/other_spec.rb", "RSpec.describe String do\n  it('works') { expect(1).to eq(1) }\nend\n")
    path = shop.root / "tmp/rspec_claude_metadata/review_report_spec_other_spec.md"
    outside = shop.root.parent / "outside"
    outside.mkdir()
    if kind == "linked folder":
        path.parent.symlink_to(outside)
    else:
        path.parent.mkdir()
        replace(path, kind)
    said = shop.rspec("reviewer", "spec/other_spec.rb")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("Error: tmp/rspec_claude_metadata/review_report_spec_other_spec.md ")
    assert os.listdir(outside) == []
