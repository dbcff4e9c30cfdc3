"""Files are put back as they were before a stage, and nothing that somebody else wrote is lost."""

import signal

import pytest

from moot.core.errors import Refused, Unknown, Usage

REPORT = "reports/a.md"


def stopped_after_draft(notes):
    assert notes.run(until="draft_report")[-1] == "ended"


def test_a_file_that_a_stage_has_made_is_removed_and_its_content_is_kept_in_the_log(notes):
    stopped_after_draft(notes)
    text = (notes.root / REPORT).read_bytes()
    planned = notes.person.run_restore("last", stage="draft_report", dry_run=True)
    assert (planned.restored, planned.removed, planned.kept) == ((), (REPORT,), ())
    assert (notes.root / REPORT).exists(), "a dry run changes nothing"
    assert notes.person.run_restore("last", stage="draft_report") == planned
    assert not (notes.root / REPORT).exists()
    [event] = [one for one in notes.person.log(limit=1000) if one.type == "run:restored"]
    assert event.data["removed"] == [REPORT]
    assert notes.person.blob(event.data["replaced"][REPORT]) == text
    assert notes.run()[1] == "draft_report passed", "the stage runs again"


def test_a_file_that_changed_since_a_stage_made_it_is_kept_and_named(notes):
    stopped_after_draft(notes)
    (notes.root / REPORT).write_text("my own")
    done = notes.person.run_restore("last", stage="draft_report")
    assert (done.removed, done.kept) == ((), (REPORT,))
    assert (notes.root / REPORT).read_text() == "my own"
    assert "run:restored" not in [one.type for one in notes.person.log(limit=1000)], "nothing was done"


def test_a_file_of_an_attempt_that_was_killed_is_kept_because_nobody_knows_who_wrote_it(notes):
    notes.agent("os.makedirs('reports', exist_ok=True)\nopen(report, 'w').write('half')\nos.kill(os.getppid(), 9)")
    assert notes.elsewhere("a.txt").returncode == -signal.SIGKILL
    done = notes.person.run_restore("last", stage="draft_report")
    assert (done.removed, done.kept) == ((), (REPORT,))
    assert (notes.root / REPORT).read_text() == "half"


def test_a_failed_stage_takes_its_new_file_back(notes):
    notes.agent("os.makedirs('reports', exist_ok=True)\nopen(report, 'w').write('nothing')\nprint('status: success')")
    notes.run()
    assert notes.error is not None
    assert notes.person.run_restore("last").removed == (REPORT,)
    assert not (notes.root / REPORT).exists()


def test_reused_stages_have_made_nothing(notes):
    notes.run()
    notes.run()
    with pytest.raises(Unknown, match="has no files to restore"):
        notes.person.run_restore("last")


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_something_else_in_the_place_of_a_file_is_not_removed(notes, kind):
    stopped_after_draft(notes)
    path = notes.root / REPORT
    path.unlink()
    outside = notes.root.parent / "outside"
    outside.write_text("mine")
    path.mkdir() if kind == "folder" else path.symlink_to(outside)
    with pytest.raises(Refused, match="cannot be restored"):
        notes.person.run_restore("last", stage="draft_report")
    assert path.is_symlink() or path.is_dir()
    assert outside.read_text() == "mine"


def rewritten(notes):
    """A run whose agent has changed a report that was there before."""
    (notes.root / "reports").mkdir()
    (notes.root / REPORT).write_text("before")
    stopped_after_draft(notes)
    left = (notes.root / REPORT).read_text()
    assert left != "before"
    return left


def test_a_file_that_somebody_edited_since_is_replaced_only_if_asked_and_can_be_put_back(notes):
    rewritten(notes)
    (notes.root / REPORT).write_text("two hours of work")
    spared = notes.person.run_restore("last", stage="draft_report")
    assert (spared.restored, spared.edited) == ((), (REPORT,))
    assert (notes.root / REPORT).read_text() == "two hours of work"
    assert notes.person.run_restore("last", stage="draft_report", edited=True).restored == (REPORT,)
    assert (notes.root / REPORT).read_text() == "before"
    undone = notes.person.run_restore("last", undo=True)
    assert undone.restored == (REPORT,)
    assert (notes.root / REPORT).read_text() == "two hours of work"
    assert notes.person.run_restore("last", undo=True).restored == (REPORT,)
    assert (notes.root / REPORT).read_text() == "before", "what was taken back can be done again"


def test_what_a_stage_has_left_is_replaced_without_a_question_and_an_undo_spares_edits(notes):
    left = rewritten(notes)
    assert notes.person.run_restore("last", stage="draft_report").restored == (REPORT,)
    (notes.root / REPORT).write_text("mine")
    assert notes.person.run_restore("last", undo=True).edited == (REPORT,)
    assert (notes.root / REPORT).read_text() == "mine"
    (notes.root / REPORT).write_text("before")
    assert notes.person.run_restore("last", undo=True).edited == ()
    assert (notes.root / REPORT).read_text() == left


def test_a_removed_file_comes_back_and_without_a_restore_there_is_nothing_to_undo(notes):
    stopped_after_draft(notes)
    with pytest.raises(Unknown, match="No files of run-"):
        notes.person.run_restore("last", undo=True)
    text = (notes.root / REPORT).read_text()
    notes.person.run_restore("last", stage="draft_report")
    assert not (notes.root / REPORT).exists()
    assert notes.person.run_restore("last", undo=True).restored == (REPORT,)
    assert (notes.root / REPORT).read_text() == text
    with pytest.raises(Usage, match="--undo"):
        notes.person.run_restore("last", undo=True, stage="draft_report")


def test_a_file_that_was_missing_is_removed_again(notes):
    rewritten(notes)
    (notes.root / REPORT).unlink()
    assert notes.person.run_restore("last", stage="draft_report").restored == (REPORT,)
    assert notes.person.run_restore("last", undo=True).removed == (REPORT,)
    assert not (notes.root / REPORT).exists()
