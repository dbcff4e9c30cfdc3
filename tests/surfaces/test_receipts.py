"""Receipts as agents and reviewers use them: what was checked, on which content, and when that proves nothing."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import MootError, Refused, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.surfaces.command import Command

pytestmark = pytest.mark.in_memory


def refused(expected: type[MootError], code: str, call: Callable[[], object]) -> None:
    with pytest.raises(expected) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.remedy


@pytest.fixture
def strict(run: Command) -> Command:
    (run.repo / "moot.toml").write_text("[tasks]\nreceipt = true\n")
    return run


@pytest.mark.on_disk
def test_a_check_shows_the_output_and_tells_the_result_by_its_exit_code(run: Command, ada: Workspace) -> None:
    done = run("check", "--", "sh", "-c", "echo out; echo err >&2; exit 3", agent="Ada")
    assert (done.code, done.out.splitlines()[:2]) == (6, ["out", "err"])
    (receipt,) = ada.receipts()
    assert (receipt.code, receipt.tail, receipt.by) == (3, "out\nerr\n", "Ada#1")
    said = run("check", "--json", "--", "echo", "--json", agent="Ada")
    assert said.result["receipt"]["argv"] == ["echo", "--json"]


@pytest.mark.promise(11)
def test_finished_work_carries_a_receipt_that_is_refused_once_the_files_change(run: Command, ada: Workspace) -> None:
    ada.task_add("Write it", no_review=True)
    ada.task_claim("task-001")
    (run.repo / "code.py").write_text("x = 1\n")
    receipt = ada.check(["true"], task="task-001").receipt
    (run.repo / "code.py").write_text("x = 2\n")
    refused(Refused, "receipt_stale", lambda: ada.task_complete("task-001", receipt=receipt.id))
    assert ada.receipt_show(receipt.id).doubt == "the files have changed since"
    (run.repo / "code.py").write_text("x = 1\n")
    assert ada.task_complete("task-001", receipt="last").receipt == receipt.id
    assert [r.id for r in ada.receipts(task="task-001")] == [receipt.id]


@pytest.mark.promise(11)
@pytest.mark.usefixtures("strict")
def test_a_lifecycle_that_demands_a_receipt_takes_no_other_word_for_it(run: Command, ada: Workspace) -> None:
    with Workspace(run.repo, agent="Ada") as strict, Workspace(run.repo, agent="Bob") as bob:
        ada.task_add("Write it")
        strict.task_claim("task-001")
        refused(Refused, "receipt_missing", lambda: strict.task_submit("task-001"))
        failed = strict.check(["false"]).receipt
        refused(Refused, "receipt_failed", lambda: strict.task_submit("task-001", receipt=failed.id))
        refused(Unknown, "unknown_receipt", lambda: strict.task_submit("task-001", receipt="r-nothing"))
        passed = strict.check(["true"]).receipt
        assert strict.task_submit("task-001", receipt="last").receipt == passed.id
        (run.repo / "late.py").write_text("# one more thing\n")
        refused(Refused, "receipt_stale", lambda: bob.task_approve("task-001"))
        (run.repo / "late.py").unlink()
        done = bob.task_approve("task-001")
        assert (done.state, done.receipt) == ("done", passed.id)


@pytest.mark.usefixtures("strict")
def test_work_that_is_sent_back_needs_a_new_receipt(run: Command, ada: Workspace) -> None:
    with Workspace(run.repo, agent="Ada") as strict, Workspace(run.repo, agent="Bob") as bob:
        ada.task_add("Write it")
        strict.task_claim("task-001")
        strict.check(["true"])
        strict.task_submit("task-001", receipt="last")
        bob.task_reject("task-001", reason="No test.")
        strict.task_claim("task-001")
        assert strict.task_show("task-001").task.receipt is None
        refused(Refused, "receipt_missing", lambda: strict.task_submit("task-001"))


def test_a_check_that_changes_the_files_itself_proves_nothing(run: Command, ada: Workspace) -> None:
    checked = ada.check(["touch", str(run.repo / "made.txt")])
    assert checked.doubt == "the files changed while it ran"
    ada.task_add("Write it", no_review=True)
    ada.task_claim("task-001")
    refused(Refused, "receipt_stale", lambda: ada.task_complete("task-001", receipt=checked.receipt.id))


@pytest.mark.promise(11)
def test_a_receipt_is_for_its_task_and_for_the_files_of_whoever_gives_it(run: Command, ada: Workspace) -> None:
    with Workspace(run.linked, agent="Ada") as there:
        for _ in range(2):
            ada.task_add("Write it", no_review=True)
        for task in ("task-001", "task-002"):
            there.task_claim(task)
        other = ada.check(["true"], task="task-002").receipt
        refused(Refused, "receipt_of_another", lambda: there.task_complete("task-001", receipt=other.id))
        good = ada.check(["true"], task="task-001").receipt
        (run.linked / "broken.py").write_text("broken\n")
        refused(Refused, "receipt_stale", lambda: there.task_complete("task-001", receipt="last"))
        (run.linked / "broken.py").unlink()
        assert there.task_complete("task-001", receipt="last").receipt == good.id


def test_a_receipt_whose_words_were_redacted_still_proves(run: Command, ada: Workspace) -> None:
    receipt = ada.check(["echo", "secret words"]).receipt
    with Workspace(run.repo) as person:
        person.redact(str(ada.log()[-1].position))
        found = person.receipt_show(receipt.id)
        assert (found.doubt, "secret" in str(found)) == (None, False)


def test_a_check_in_vain_is_refused_before_it_runs(run: Command, ada: Workspace) -> None:
    marker = run.repo / "ran"
    refused(Unknown, "unknown_task", lambda: ada.check(["touch", str(marker)], task="task-999"))
    assert not marker.exists()


def test_the_output_of_a_check_never_acts_on_a_terminal_later(run: Command, ada: Workspace) -> None:
    receipt = ada.check(["printf", r"\033[31mred\033[0m"]).receipt
    assert "\033" not in run("receipt", "show", receipt.id, agent="Ada").out


# What changed


def commit(run: Command, **files: str) -> None:
    for name, text in files.items():
        (run.repo / f"{name}.py").write_text(text)
    for words in (["add", "-A"], ["-c", "user.name=Ada", "-c", "user.email=a@example.org", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(run.repo), *words], check=True)


def test_a_stale_receipt_names_the_files_that_changed(run: Command, ada: Workspace) -> None:
    commit(run, one="1", two="2", three="3")
    (run.repo / "one.py").write_text("dirty")
    (run.repo / "new.py").write_text("new")
    receipt = ada.check(["true"]).receipt
    assert ada.receipt_show(receipt.id).changed == ()
    (run.repo / "one.py").write_text("1")  # as committed, but not as checked
    (run.repo / "two.py").unlink()
    (run.repo / "late.py").write_text("late")
    found = ada.receipt_show("last")
    assert (found.receipt.id, found.changed, found.changed_more) == (receipt.id, ("late.py", "one.py", "two.py"), 0)


@pytest.mark.on_disk
def test_the_short_answer_names_the_files_that_changed(run: Command) -> None:
    commit(run, one="1")
    run("check", "--", "true", agent="Ada")
    (run.repo / "late.py").write_text("late")
    shown = run("receipt", "show", "last", agent="Ada").out.splitlines()[0]
    assert shown.endswith("(the files have changed since: late.py)")


def test_a_receipt_names_what_changed_also_across_commits(run: Command, ada: Workspace) -> None:
    commit(run, one="1", two="2")
    (run.repo / "one.py").write_text("dirty")
    receipt = ada.check(["true"]).receipt
    commit(run, three="3")
    assert ada.receipt_show(receipt.id).changed == ("three.py",)
    (run.repo / "three.py").unlink()
    assert ada.receipt_show(receipt.id).doubt is None


def test_a_refusal_names_some_of_the_files_that_changed_and_counts_the_others(run: Command, ada: Workspace) -> None:
    commit(run, one="1")
    ada.task_add("Write it", no_review=True)
    ada.task_claim("task-001")
    ada.check(["true"])
    for number in range(13):
        (run.repo / f"n{number:02d}.py").write_text("x")
    with pytest.raises(Refused) as caught:
        ada.task_complete("task-001", receipt="last")
    assert caught.value.code == "receipt_stale"
    assert ", n08.py, n09.py and 3 more." in caught.value.message
    assert len(caught.value.details["changed"]) == 13


def test_more_changed_files_than_are_kept_are_not_guessed(run: Command, ada: Workspace) -> None:
    commit(run, one="1")
    for number in range(201):
        (run.repo / f"n{number}.py").write_text("x")
    receipt = ada.check(["true"]).receipt
    (run.repo / "one.py").write_text("2")
    shown = ada.receipt_show(receipt.id)
    assert (shown.doubt, shown.changed) == ("the files have changed since", ())


def test_a_redacted_receipt_does_not_say_what_changed(run: Command, ada: Workspace) -> None:
    commit(run, one="1")
    (run.repo / "secret-plan.py").write_text("x")
    receipt = ada.check(["true"]).receipt
    with Workspace(run.repo) as person:
        person.redact(receipt.id, reason="Secret.")
        (run.repo / "one.py").write_text("2")
        shown = person.receipt_show(receipt.id)
        assert (shown.doubt, shown.changed) == ("the files have changed since", ())


def test_the_last_receipt_is_the_callers_and_for_a_person_that_of_anybody(
    run: Command, ada: Workspace, bob: Workspace
) -> None:
    refused(Unknown, "unknown_receipt", lambda: ada.receipt_show("last"))
    mine = ada.check(["true"], task=ada.task_add("Write it").id).receipt
    bobs = bob.check(["false"]).receipt
    assert ada.receipt_show("last").receipt.id == mine.id
    with Workspace(run.repo) as person:
        assert person.receipt_show("last").receipt.id == bobs.id
