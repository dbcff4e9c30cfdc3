"""Commands that lie, write where they may not, hang, or talk too much: each fails its stage, and nothing is lost."""

from __future__ import annotations

import json
import sys

import pytest

from moot.core.errors import TimedOut
from tests.runs.pipelines.conftest import GOOD

CHANGE_NOTE = """
data = json.load(open(note))
{change}
json.dump(data, open(note, "w"))
"""
SKIP = "print('status: skip\\nskip_reason: nothing new')"


def failure(notes):
    notes.run()
    [failed] = [step for step in notes.steps if step.what == "failed"]
    assert (failed.stage, notes.steps[-1].text) == ("draft_report", "failed at draft_report")
    assert notes.note()["done"]["draft"] is False
    return failed


def test_a_marker_that_the_agent_sets_without_the_work_is_turned_back(notes):
    notes.agent(CHANGE_NOTE.format(change='data["done"]["draft"] = True') + "print('status: success')")
    failed = failure(notes)
    assert failed.problems == ("reports/a.md: there is no report (names-every-heading)",)


def test_a_claim_of_success_with_half_of_the_work_names_the_criterion_and_the_line(notes):
    notes.agent(GOOD.replace("for h in headings", "for h in headings[:1]"))
    assert failure(notes).problems == ("reports/a.md:1: 'Two' is missing (names-every-heading)",)


def test_a_key_of_another_stage_is_refused_rendered_back_and_recorded(notes):
    notes.agent(CHANGE_NOTE.format(change='data["outline"] = ["Mine"]') + GOOD)
    failed = failure(notes)
    assert failed.problems == ("/outline: belongs to outline; the change was refused",)
    assert notes.note()["outline"] == ["One", "Two"]
    [refused] = [e for e in notes.person.log(limit=500) if e.type == "document:refused"]
    assert refused.data["set"] == {"/outline": ["Mine"]}


def test_an_own_key_is_taken_over(notes):
    notes.agent(CHANGE_NOTE.format(change='data["draft"] = {"words": 3}') + GOOD)
    notes.run()
    assert (notes.note()["draft"], notes.steps[-1].text) == ({"words": 3}, "finished")


def test_other_files_that_change_meanwhile_are_named_in_the_document(notes):
    notes.agent(GOOD + "open('made', 'w'); open('a.txt', 'a').write('!')")
    failed = failure(notes)
    assert [one.partition(":")[0] for one in failed.problems] == ["a.txt", "made"]
    assert notes.note()["errors"] == [f"draft-report: {one}" for one in failed.problems]


def test_only_the_last_block_of_the_output_counts(notes):
    notes.agent(
        GOOD.replace(
            'print("status: success")',
            "print('```yaml\\nstatus: success\\n```\\nHm.\\n```yaml\\nstatus: error\\nerror: no\\n```')",
        )
    )
    assert failure(notes).text == "no"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "the output is empty"),
        ("I am done.", "no YAML block"),
        ("```yaml\nstatus: [\n```", "cannot be read"),
        ("status: fine", "status: expected success, error, skip, got 'fine'"),
        ("status: error", "error: expected a text"),
        ("status: success\nerror: but", "error: not allowed with status success"),
        ("status: success\nwarnings: none", "warnings: expected a list of texts"),
        ("status: skip", "skip_reason: expected a text"),
        ("status: success\nstatus: error", "cannot be read"),
    ],
)
def test_an_answer_that_is_missing_or_invalid_fails_the_stage(notes, answer, said):
    notes.agent(GOOD.replace('print("status: success")', f"print({json.dumps(answer)})"))
    assert said in failure(notes).text


def test_a_skip_by_the_agent_is_recorded_with_its_reason_and_it_may_say_so_in_the_document(notes):
    notes.source("reports/a.md", "- One\n- Two\n")
    change = CHANGE_NOTE.format(change='data["done"] |= {"draft": True, "draft_skipped": True}')
    notes.agent(change + SKIP.replace("skip\\n", "skipped\\n"))
    notes.run()
    assert [step.text for step in notes.steps if step.what == "skipped"] == ["nothing new"]
    assert (notes.note()["done"]["draft_reason"], notes.note()["done"]["draft_skipped"]) == ("nothing new", True)


def test_a_skip_by_the_agent_is_held_to_the_criteria(notes):
    notes.source("reports/a.md", "- One\n")
    notes.agent(SKIP)
    assert failure(notes).problems == ("reports/a.md:1: 'Two' is missing (names-every-heading)",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("open(report, 'a').write('- Three')", "reports/a.md: skipped, but changed"),
        ("os.unlink(report)", "reports/a.md: skipped, but changed"),
        (CHANGE_NOTE.format(change='data["draft"] = {"words": 3}'), "/draft of the document: skipped, but changed"),
    ],
)
def test_an_agent_that_changes_anything_cannot_say_that_there_was_nothing_to_do(notes, change, said):
    notes.source("reports/a.md", "- One\n- Two\n")
    notes.agent(f"{change}\n{SKIP}")
    assert failure(notes).problems == (said,)


@pytest.mark.parametrize("change", ["open(report, 'a').write('- Three')", "os.unlink(report)"])
def test_nor_can_it_say_so_when_it_is_asked_once_more(notes, change):
    notes.source("reports/a.md", "- One\n- Two\n")
    notes.agent(f"{change}\n{GOOD.replace('success', 'fine')}")
    notes.run()
    notes.agent(SKIP)
    assert "draft_report failed" in notes.run(resume=True)
    assert notes.steps[-2].problems == ("reports/a.md: skipped, but changed",)
    notes.source("reports/a.md", "- One\n- Two\n- What a person added\n")
    assert "draft_report skipped" in notes.run(resume=True)


def test_fifty_megabytes_of_output_do_not_hide_the_answer(notes):
    notes.agent("for _ in range(50): sys.stdout.write('x' * (1 << 20) + '\\n')\n" + GOOD)
    notes.run()
    assert notes.steps[-1].text == "finished"
    [attempt] = notes.person.runs()[0].tries_of("draft_report")
    assert attempt.output_size > 50 << 20


def test_at_the_time_limit_the_whole_process_group_is_ended(notes):
    notes.configure(timeout="1s")
    notes.reopen()
    notes.person.allow("notes.draft_report", yes=True)
    notes.agent("subprocess.Popen(['sleep', '60']); time.sleep(60)")
    failed = failure(notes)
    assert failed.text == "timed out after 1 s"
    assert isinstance(notes.error, TimedOut)
    assert notes.note()["errors"] == ["draft-report: timed out after 1 s"]


def test_a_program_of_a_built_in_stage_has_a_time_limit_too(notes):
    notes.agent(GOOD.replace('"\\n\\n"', '"programs\\n"'))
    notes.run()
    assert notes.steps[-2].text == "timed out after 0.3 s"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("foreign", "wrote keys that it does not own: /outline"),
        ("elsewhere", "wrote files that it may not write: other.md"),
    ],
)
def test_a_built_in_stage_is_held_to_its_declaration_before_anything_is_written(notes, word, said):
    notes.agent(GOOD.replace('"\\n\\n"', f'"{word}\\n"'))
    notes.run()
    assert notes.steps[-2].text == said
    assert not (notes.root / "other.md").exists()


def test_a_deletion_is_not_laundered_by_trying_again_and_what_a_person_made_of_it_counts(notes):
    script, prompt = notes.root.parent / "polisher.py", notes.root.parent / "prompt"
    command = json.dumps([sys.executable, str(script), "{report}"])
    notes.configure(f"polish = {command}\n")
    notes.reopen()
    notes.person.allow("notes.polish", yes=True)
    reads = f"import sys\nopen({str(prompt)!r}, 'w').write(sys.stdin.read())\n"
    for does, what in (("open(sys.argv[1], 'w').write('- One')", "failed"), ("", "failed"), ("", "passed")):
        script.write_text(f"{reads}{does}\nprint('status: success')\n")
        if what == "passed":
            notes.source("reports/a.md", "One")
        assert f"polish {what}" in notes.run(resume=True)
    assert "- reports/a.md: words are missing (keeps-words)" in prompt.read_text()
    assert (notes.root / "reports/a.md").read_text() == "One"


def test_a_link_out_of_the_repository_is_not_followed(notes, tmp_path):
    (tmp_path / "secret.txt").write_text("# Secret\n")
    (notes.root / "reports").mkdir()
    (notes.root / "reports" / "a.md").symlink_to(tmp_path / "secret.txt")
    notes.run()
    assert notes.steps[-1].outcome == "failed"
    assert "leads out of" in notes.error.message
    assert (tmp_path / "secret.txt").read_text() == "# Secret\n"


def test_a_document_that_cannot_be_parsed_stops_the_stage_with_its_line(notes):
    notes.run(stage="outline")
    (notes.root / "notes" / "a.json").write_text('{"outline": [\n')
    notes.run(resume=True)
    assert "notes/a.json cannot be parsed" in notes.error.message
    assert (notes.root / "notes" / "a.json").read_text() == '{"outline": [\n'


@pytest.mark.proves("S1-MARK-03")
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("open(note, 'w').write('invalid [[[')", "cannot be parsed since the stage ran"),
        ("os.unlink(note)", "was deleted while the stage ran"),
        ("import shutil; shutil.rmtree(os.path.dirname(note))", "was deleted while the stage ran"),
    ],
)
def test_an_agent_that_ruins_the_document_fails_although_its_work_is_done(notes, damage, said):
    notes.agent(GOOD + damage)
    [problem] = failure(notes).problems
    assert problem.startswith("notes/a.json")
    assert said in problem
    assert notes.note()["outline"] == ["One", "Two"]
    bytes_kept = [e for e in notes.person.log(limit=500) if e.type == "file:quarantined"]
    assert len(bytes_kept) == ("parsed" in said)
    notes.agent(GOOD)
    assert notes.run()[-1] == "ended"
    assert notes.steps[-1].text == "finished"


def test_a_document_that_is_deleted_and_written_again_during_a_stage_keeps_the_values(notes):
    sync = "subprocess.run([sys.executable, '-m', 'moot', 'run', 'status'], check=True, stdout=subprocess.DEVNULL)\n"
    notes.agent(GOOD + "os.unlink(note)\n" + sync + "assert os.path.exists(note)")
    assert notes.run()[-1] == "ended"
    assert notes.note()["outline"] == ["One", "Two"]
