"""`moot run explain`: the sentence about a stage names the input that changed, or those that did not."""

from __future__ import annotations

import subprocess
import sys

from tests.runs.pipelines.conftest import PATIENCE


def explained(notes, *words):
    command = [sys.executable, "-m", "moot", "--person", "run", "explain", *words]
    done = subprocess.run(command, cwd=notes.root, text=True, capture_output=True, timeout=PATIENCE, check=True)
    head, *lines = done.stdout.splitlines()
    assert head.startswith("run-")
    assert head.endswith(": a.txt")
    return lines


def test_a_stage_that_was_reused_names_what_did_not_change(notes):
    notes.run()
    first = notes.steps[-1].run
    notes.run()
    [line] = explained(notes, "last", "--stage", "draft_report")
    assert f"draft_report was reused from {first}: " in line
    for part in ("a.txt", "/outline of the document", "the command of the stage", "did not change"):
        assert part in line


def test_a_stage_that_was_refused_says_why(notes):
    (notes.root / "notes").mkdir()
    (notes.root / "notes" / "a.json").write_text('{"outline": ')
    notes.run()
    [line] = explained(notes, "last")
    assert line.strip().startswith("outline was not started: ")
    assert "notes/a.json" in line


def test_a_run_is_found_by_each_of_its_files_and_the_list_names_its_target(notes):
    notes.run()
    run = notes.steps[-1].run
    assert notes.person.run_status("reports/a.md").run == run
    command = [sys.executable, "-m", "moot", "--person", "runs"]
    shown = subprocess.run(command, cwd=notes.root, text=True, capture_output=True, timeout=PATIENCE, check=True).stdout
    assert " a.txt " in next(line for line in shown.splitlines() if run in line)
