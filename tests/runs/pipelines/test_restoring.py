"""Files are put back as they were before a stage, and nothing that somebody else wrote is lost."""

from __future__ import annotations

import os
import signal

import pytest

from moot.core.errors import Refused, Unknown
from tests.runs.pipelines.conftest import GOOD, is_running, until

REPORT = "reports/a.md"
WRITES_ON = """
os.makedirs("reports", exist_ok=True)
open("UP", "w").write(str(os.getpid()))
os.kill(os.getppid(), signal.SIGKILL)
while True:
    open(report, "a").write("half")
    time.sleep(0.01)
"""


def restored(notes, **options):
    done = notes.person.run_restore("last", stage="draft_report", **options)
    return done.restored, done.removed


def events(notes):
    return [one.data for one in notes.person.log(limit=1000) if one.type == "run:restored"]


def test_a_file_that_a_stage_has_made_is_removed_and_its_content_is_kept_in_the_log(notes):
    report = notes.root / REPORT
    notes.run(until="draft_report")
    text = report.read_bytes()
    assert restored(notes, dry_run=True) == ((), (REPORT,))
    assert report.exists(), "a dry run changes nothing"
    assert restored(notes) == ((), (REPORT,))
    assert not report.exists()
    [event] = events(notes)
    assert (event["removed"], notes.person.blob(event["replaced"][REPORT])) == ([REPORT], text)
    assert restored(notes) == ((), ()), "it is done"
    assert notes.run()[1] == "draft_report passed", "the stage runs again"


def test_a_failed_stage_gives_back_what_it_replaced_but_not_what_somebody_has_edited_since(notes):
    notes.source(REPORT, "before")
    notes.agent("open(report, 'w').write('nothing')\nprint('status: success')")
    notes.run()
    notes.source(REPORT, "two hours of work")
    with pytest.raises(Refused) as caught:
        restored(notes)
    assert (caught.value.code, caught.value.details["paths"]) == ("changed_since", [REPORT])
    assert ((notes.root / REPORT).read_text(), events(notes)) == ("two hours of work", [])
    notes.source(REPORT, "nothing")
    assert restored(notes) == ((REPORT,), ())
    assert (notes.root / REPORT).read_text() == "before"


def test_a_killed_attempt_is_taken_back_and_its_command_writes_no_more(notes):
    notes.source(".gitignore", "RAN\nFAULT\nUP\nnotes/\n")
    notes.agent(WRITES_ON)
    for before in (None, "before"):
        if before:
            notes.source(REPORT, before)
        assert notes.elsewhere("a.txt").returncode == -signal.SIGKILL
        orphan = int((notes.root / "UP").read_text())
        until((notes.root / REPORT).exists)
        assert restored(notes) == (((REPORT,), ()) if before else ((), (REPORT,)))
        until(lambda orphan=orphan: not is_running(orphan))
        assert (notes.root / REPORT).exists() is bool(before)
        assert before is None or (notes.root / REPORT).read_text() == before
    notes.agent(GOOD)
    assert notes.run(resume=True)[-2] == "check passed"


def test_reused_stages_have_made_nothing(notes):
    notes.run()
    notes.run()
    with pytest.raises(Unknown) as caught:
        notes.person.run_restore("last")
    assert caught.value.code == "no_snapshot"


def test_something_else_in_the_place_of_a_file_is_not_removed(notes):
    notes.run(until="draft_report")
    path, outside = notes.root / REPORT, notes.root.parent / "outside"
    outside.write_text("mine")
    for put in (path.mkdir, lambda: path.symlink_to(outside)):
        os.unlink(path) if path.is_file() else path.rmdir()
        put()
        with pytest.raises(Refused) as caught:
            restored(notes)
        assert caught.value.code == "not_restored"
        assert path.is_symlink() or path.is_dir()
    assert outside.read_text() == "mine"
