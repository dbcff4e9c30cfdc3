"""The engine takes a target through its stages, checks everything, and runs nothing twice without a reason."""

from __future__ import annotations

import os
import shutil

import pytest

from moot.core.errors import Refused
from tests.runs.pipelines.conftest import GOOD

ALL = ["outline", "draft_report", "polish", "check"]


def test_a_target_goes_through_all_stages_in_order_and_markers_follow(notes):
    assert notes.run() == [*(f"{stage} passed" for stage in ALL), "ended"]
    note = notes.note()
    assert note["outline"] == ["One", "Two"]
    assert note["done"] == {"outline": True, "outline_version": "1.0", "draft": True, "polish": True, "check": True}
    assert note["outline_completed"] is True
    assert note["lines"] == 2
    assert notes.steps[-1].text == "finished"
    assert notes.drivers() == []


CHANGES = {
    "the text, but not its headings": (lambda notes: notes.source("a.txt", "# One\nother\n# Two\n"), ALL[:3], "a.txt"),
    "the headings": (lambda notes: notes.source("a.txt", "# One\n# Three\n"), ALL, "a.txt"),
    "the report": (lambda notes: notes.source("reports/a.md", "- One\n- Two\n- Four\n"), ALL[3:], "reports/a.md"),
    "the report is deleted": (lambda notes: (notes.root / "reports/a.md").unlink(), ALL[1:3], "reports/a.md"),
    "the command": (lambda notes: notes.rename_agent(), ALL[1:3], "the command"),
    "another file": (lambda notes: notes.source("other.txt", "x"), [], ""),
    "the time of the source": (lambda notes: (notes.root / "a.txt").touch(), [], ""),
}


@pytest.mark.promise(13)
@pytest.mark.parametrize("name", CHANGES)
def test_exactly_the_stages_that_depend_on_a_change_run_again(notes, name):
    change, again, named = CHANGES[name]
    notes.run()
    change(notes)
    found = notes.run()
    assert found == [f"{stage} {'passed' if stage in again else 'reused'}" for stage in ALL] + ["ended"]
    if again:
        assert named in notes.person.run_explain("last", stage=again[0])[0].why
    assert notes.run() == [*(f"{stage} reused" for stage in ALL), "ended"]


def test_the_first_failure_ends_the_run_and_names_the_stages_that_did_not_run(notes):
    notes.agent("print('status: error\\nerror: I cannot')")
    assert notes.run() == ["outline passed", "draft_report failed", "ended"]
    assert notes.steps[-1].text == "failed at draft_report"
    assert notes.states() == {"outline": "completed", "draft_report": "failed", "polish": "pending", "check": "pending"}
    assert notes.note()["errors"] == ["draft-report: I cannot"]
    assert notes.note()["done"]["draft"] is False
    assert "I cannot" in notes.error.message


def test_a_warning_does_not_stop_the_run_and_is_in_the_document(notes):
    notes.agent(GOOD.replace("status: success", "status: success\\nwarnings: [short]"))
    assert notes.run()[-1] == "ended"
    assert notes.steps[-1].text == "finished with warnings"
    assert notes.note()["warnings"] == ["draft-report: short"]


def test_a_problem_that_does_not_block_is_a_warning(notes):
    notes.agent(GOOD.replace('"\\n\\n"', '"TODO\\n"'))
    notes.run()
    assert notes.note()["warnings"] == ["draft-report: reports/a.md: there is something to do"]


def test_exit_code_2_is_success_with_warnings_and_any_other_is_failure(notes):
    notes.agent(GOOD + "print('Warning: hm', file=sys.stderr); sys.exit(2)")
    assert notes.run()[-1] == "ended"
    assert notes.note()["warnings"] == ["draft-report: hm"]
    notes.agent(GOOD + "sys.exit(7)")
    assert "draft_report failed" in notes.run(again=True)
    assert "exit code 7" in notes.error.message


def test_a_skip_counts_as_passed_and_needs_no_command(notes):
    notes.source("a.txt", "no headings\n")
    (notes.root / "reports").mkdir()
    (notes.root / "reports/a.md").write_text("old\n")
    assert notes.run()[:3] == ["outline passed", "draft_report skipped", "polish passed"]
    done = notes.note()["done"]
    assert (done["draft"], done["draft_skipped"], done["draft_reason"]) == (True, True, "there is nothing to report")
    assert notes.ran() == 0


def test_a_failing_stage_may_leave_values_in_its_own_keys(notes):
    notes.source("a.txt", "broken")
    notes.run()
    assert notes.note()["outline"] == []
    assert notes.note()["errors"] == ["outline: the text is broken"]


def test_one_stage_alone_needs_its_predecessors(notes):
    with pytest.raises(Refused, match="note-outline has not completed successfully") as caught:
        notes.run(stage="draft_report")
    assert caught.value.remedy == "Run note-outline first."
    assert notes.run(stage="outline") == ["outline passed", "ended"]
    assert notes.steps[-1].text == "stopped after outline"
    assert notes.run(stage="draft_report") == ["outline reused", "draft_report passed", "ended"]
    assert notes.note()["done"] == {
        "outline": True, "outline_version": "1.0", "draft": True, "polish": False, "check": False
    }  # fmt: skip
    notes.source("a.txt", "# New\n")
    with pytest.raises(Refused, match=r"note-outline must run again: a\.txt changed"):
        notes.run(stage="polish")


def test_without_a_command_the_run_stops_before_that_stage_and_keeps_the_rest(notes):
    (notes.root / "moot.toml").write_text('packs = ["notes"]\n')
    notes.reopen()
    assert notes.run() == ["outline passed", "draft_report failed", "ended"]
    assert "moot.toml does not set run.notes.draft_report" in notes.error.message
    assert notes.note()["done"]["outline"] is True
    assert notes.states()["draft_report"] == "failed"


def test_markers_of_an_earlier_run_do_not_count_in_a_new_one(notes):
    notes.run()
    notes.agent("print('status: error\\nerror: no')")
    notes.run(again=True)
    assert notes.note()["done"]["polish"] is False


def test_a_dry_run_says_what_would_happen_and_starts_nothing(notes):
    notes.run()
    notes.source("a.txt", "# X\n")
    [plan] = notes.person.run("notes", ["a.txt"], dry_run=True)
    first = plan.stages[0]
    assert (first.stage, first.reused, first.reason) == ("outline", False, "a.txt changed")
    assert notes.ran() == 1


def test_a_document_whose_folder_was_deleted_is_written_again_by_the_next_run(notes):
    notes.run()
    before = notes.note()
    for again in (False, True):
        shutil.rmtree(notes.root / "notes")
        notes.person.runs()  # a command that starts no run leaves the folder alone
        assert not (notes.root / "notes").exists()
        notes.run(again=again)
        assert notes.steps[-1].text == "finished"
        assert notes.note() == before


def test_a_run_does_not_go_on_without_the_file_of_its_document(notes):
    notes.run()
    shutil.rmtree(notes.root / "notes")
    (notes.root / "notes").write_text("in the way")
    notes.run(again=True)
    assert notes.steps[-1].text == "failed at outline"
    assert (notes.root / "notes").read_text() == "in the way"


@pytest.mark.parametrize("kind", ["folder", "fifo", "link to a folder"])
def test_something_else_in_the_place_of_a_file_fails_the_stage_and_is_never_waited_for(notes, kind):
    place = notes.root / "reports/a.md"
    place.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        (notes.root / "folder").mkdir()
        place.symlink_to(notes.root / "folder")
    notes.run()
    [failed] = [step for step in notes.steps if step.what == "failed"]
    assert (failed.stage, failed.text) == ("outline", "reports/a.md is not a regular file")


def test_a_stage_runs_again_by_its_name_on_what_a_person_has_repaired(notes):
    assert notes.run()[-2] == "check passed"
    report = notes.root / "reports/a.md"
    report.write_text(report.read_text() + "Repaired by hand\n")
    for _ in range(2):  # also again
        assert notes.run(stage="polish") == ["outline reused", "draft_report reused", "polish passed", "ended"]
        assert "Repaired by hand" in report.read_text()
    assert notes.run(resume=True)[-2:] == ["check passed", "ended"]
    assert notes.ran() == 1


def test_a_run_that_reuses_everything_does_not_touch_the_document(notes):
    notes.run()
    path = notes.root / "notes/a.json"
    before = path.stat()
    assert notes.run() == [*(f"{stage} reused" for stage in ALL), "ended"]
    assert path.stat() == before
    path.unlink()
    assert notes.run()[-1] == "ended"
    assert path.exists(), "it is written again, and what was lost is done again"
