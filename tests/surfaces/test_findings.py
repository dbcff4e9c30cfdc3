"""Artifacts, decisions and checkpoints as agents and people use them: told once, found again, answered once."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import AwaitedFailed, Held, MootError, Refused, TimedOut, Unknown, Usage
from tests.person import ME
from tests.surfaces.command import PATIENCE, Command

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.in_memory


@pytest.fixture
def anna(run: Command):
    """A person."""
    with Workspace(run.repo) as ws:
        yield ws


def texts(ws: Workspace) -> list[str]:
    return [letter.text.splitlines()[0] for letter in ws.inbox().new]


def refused(expected: type[MootError], code: str, call: Callable[[], object]) -> None:
    with pytest.raises(expected) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.remedy


def started(run: Command, *words: str, agent: str | None) -> subprocess.Popen[str]:
    """A command that waits, once it waits: its need or question is in the log."""
    before = run.head()
    process = run.popen(*words, agent=agent)
    with Workspace(run.repo) as ws:
        ws.wait(type=["checkpoint:reached", "dependency:declared"], after=before, timeout=PATIENCE)
    return process


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    return process.returncode, out


# Artifacts


@pytest.mark.on_disk
def test_a_path_is_the_same_from_wherever_it_is_named(run: Command, ada: Workspace) -> None:
    (run.repo / "src").mkdir()
    (run.repo / "src" / "user.py").touch()
    run("artifact", "add", "user.py", "--provides", "User", cwd=run.repo / "src", agent="Bob")
    assert ada.warnings == ()
    for named in ("src/user.py", "User", "./src/../src/user.py"):
        assert ada.artifact_show(named).artifact.id == "src/user.py"
    assert [n.satisfied for n in ada.artifact_need(path=["src/user.py"])] == [True]


def test_what_is_not_there_yet_is_taken_and_flagged(ada: Workspace) -> None:
    ada.artifact_add("later.py")
    assert [notice.code for notice in ada.warnings] == ["artifact_absent"]
    (made,) = ada.log(type="artifact:created")
    assert made.data["flags"] == ["absent: later.py"]


@pytest.mark.parametrize("paths", ["../outside.py", "/etc/passwd", ".git/config", "a\nb"])
def test_an_artifact_is_inside_the_repository(ada: Workspace, paths: str) -> None:
    with pytest.raises(Refused):
        ada.artifact_add(paths)


@pytest.mark.parametrize("name", ["", " x", "x\n", "a\x1b[31mb"])
def test_a_name_is_one_clean_line(ada: Workspace, name: str) -> None:
    refused(Usage, "bad_name", lambda: ada.artifact_add("a.py", provides=[name]))
    refused(Usage, "bad_name", lambda: ada.artifact_need([name]))
    refused(Usage, "bad_name", lambda: ada.decide("x", affects=[name]))


def test_an_artifact_has_its_history_and_is_found_by_task_kind_and_name(ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    bob.artifact_add("a.py", provides="A", task="task-001")
    bob.artifact_add(uri="https://example.org/api", provides="API", kind="service")
    ada.artifact_modify("A", change=["renamed a field"])
    shown = ada.artifact_show("a.py")
    assert [(change.by, change.changes) for change in shown.changes] == [("Ada#1", ("renamed a field",))]
    assert [a.id for a in ada.artifacts()] == ["https://example.org/api", "a.py"]
    assert [a.id for a in ada.artifacts(task="task-001")] == ["a.py"]
    assert [a.id for a in ada.artifacts(kind="service")] == ["https://example.org/api"]
    assert [a.id for a in ada.artifacts(provides="API")] == ["https://example.org/api"]
    assert ada.artifacts(provides="nothing") == []
    refused(Unknown, "unknown_artifact", lambda: ada.artifact_show("nothing"))
    refused(Unknown, "unknown_artifact", lambda: ada.artifact_modify("nothing", change="x"))
    refused(Usage, "bad_arguments", ada.artifact_add)
    refused(Usage, "bad_arguments", ada.artifact_need)
    refused(Usage, "bad_arguments", lambda: ada.artifact_need("A", drop=True, wait=True))


def test_the_same_key_needs_and_makes_once(ada: Workspace, bob: Workspace) -> None:
    first = ada.artifact_add("a.py", provides="A", key="k")
    assert ada.artifact_add("a.py", provides="A", key="k").position == first.position
    assert bob.artifact_need("A", key="n") == bob.artifact_need("A", key="n")
    assert texts(bob) == ["A is available: a.py."]


@pytest.mark.on_disk
def test_a_need_is_waited_for_and_two_needs_take_two(run: Command, ada: Workspace) -> None:
    process = started(run, "artifact", "need", "A", "B", "--wait", "--timeout", "60", "--json", agent="Bob")
    try:
        ada.artifact_add("a.py", provides="A")
        assert process.poll() is None
        ada.artifact_add("b.py", provides="B")
        code, out = ended(process)
    finally:
        process.kill()
    assert code == 0
    assert [need["artifacts"] for need in json.loads(out)["result"]] == [["a.py"], ["b.py"]]


def test_a_wait_for_a_need_is_bounded_and_goes_on_where_it_stopped(ada: Workspace, bob: Workspace) -> None:
    refused(TimedOut, "timeout", lambda: bob.artifact_need("A", wait=True, timeout=0))
    assert [(n.name, n.needer) for n in ada.artifact_needed()] == [("A", "Bob")]
    ada.artifact_add("a.py", provides="A")
    assert [n.satisfied for n in bob.artifact_need("A", wait=True, timeout=0)] == [True]
    assert ada.artifact_needed() == []


def test_satisfaction_can_be_waited_for_as_an_event(ada: Workspace, bob: Workspace) -> None:
    bob.artifact_need("A")
    start = bob.log(limit=1)[0].position
    ada.artifact_add("a.py", provides="A")
    came = bob.wait(type="dependency:satisfied", stream="dependency/A", after=start, timeout=30)
    assert came.events[0].data == {"artifact": "a.py", "required_by": ["Bob"]}


def test_a_finished_task_needs_nothing(ada: Workspace) -> None:
    ada.task_add("One", no_review=True)
    ada.task_claim("task-001")
    ada.task_complete("task-001")
    refused(Refused, "task_ended", lambda: ada.artifact_need("A", task="task-001"))
    refused(Unknown, "unknown_task", lambda: ada.artifact_need("A", task="task-009"))


def test_moot_itself_reads_no_mail(ada: Workspace, bob: Workspace) -> None:
    ada.artifact_add("a.py", provides="A")
    bob.artifact_need("A")
    (letter,) = bob.inbox().new
    assert letter.sender == "moot"
    refused(Refused, "no_reader", lambda: bob.reply(letter.id, "Thanks."))


# Decisions


@pytest.mark.on_disk
def test_a_decision_is_found_by_what_it_concerns(run: Command, ada: Workspace) -> None:
    (run.repo / "src").mkdir()
    made = ada.decide("Use tabs", path=["src"], affects=["02-*"]).decision
    assert made.paths == ("src/**",)
    for what in ("src", "src/deep/a.py", "src/*.py", "02-07"):
        assert [d.id for d in ada.decisions(affecting=what)] == [made.id], what
    for what in ("docs/a.py", "03-07", "../elsewhere", "a\nb"):
        assert ada.decisions(affecting=what) == [], what
    assert run("decisions", "--affecting", "a.py", "--json", cwd=run.repo / "src").result[0]["id"] == made.id


def test_a_file_with_brackets_is_meant_by_its_name(run: Command, ada: Workspace) -> None:
    (run.repo / "[id].tsx").touch()
    made = ada.decide("Use tabs", path="[id].tsx").decision
    assert [d.id for d in ada.decisions(affecting="[id].tsx")] == [made.id]
    assert ada.decisions(affecting="i.tsx") == []
    refused(Refused, "path_outside", lambda: ada.decide("No", path="../x"))


@pytest.mark.on_disk
def test_the_same_key_decides_once_wherever_one_stands(run: Command) -> None:
    (run.repo / "src").mkdir()
    first = run("decide", "Tabs", "--key", "k", "--json", agent="Ada").result
    again = run("decide", "Tabs", "--key", "k", "--json", agent="Ada", cwd=run.repo / "src").result
    assert (again["decision"]["id"], again["repeated"]) == (first["decision"]["id"], True)


def test_a_name_that_is_no_task_is_taken_with_a_warning(ada: Workspace) -> None:
    ada.decide("One", affects="task-9")
    assert [notice.code for notice in ada.warnings] == ["affects_unknown"]


def test_a_decision_is_replaced_once(ada: Workspace, bob: Workspace) -> None:
    old = ada.decide("Use tabs", id="dec-001").decision
    new = bob.decide("Use spaces", replaces=old.id).decision
    assert ada.decision_show("dec-001").superseded_by == new.id
    assert [d.id for d in ada.decisions()] == [new.id]
    assert [d.id for d in ada.decisions(all=True)] == [new.id, old.id]
    refused(Held, "decision_superseded", lambda: ada.decide("Use both", replaces=old.id))
    assert len(ada.decisions(all=True)) == 2, "nothing of it was stored"
    refused(Refused, "decision_not_standing", lambda: ada.decision_supersede(new.id, by=old.id))
    refused(Unknown, "unknown_decision", lambda: ada.decision_supersede("d-0000000", by=new.id))
    refused(Unknown, "unknown_decision", lambda: ada.decision_show("d-0000000"))


@pytest.mark.on_disk
def test_what_a_decision_says_stays_inside_its_fence(run: Command, ada: Workspace) -> None:
    made = ada.decide("Use\x1b[31m tabs", rationale="line\nm-0000000 note from moot").decision
    shown = run("decision", "show", made.id).out
    assert "\n> m-0000000" in shown


# Checkpoints


@pytest.mark.on_disk
def test_who_waits_at_a_checkpoint_goes_on_with_the_answer(run: Command, anna: Workspace) -> None:
    process = started(run, "checkpoint", "reach", "Which?", "--wait", "--timeout", "60", "--json", agent="Bob")
    try:
        (asked,) = anna.checkpoints()
        anna.checkpoint_resolve(asked.id, "The blue one.", text="It is calmer.")
        code, out = ended(process)
    finally:
        process.kill()
    assert code == 0
    assert json.loads(out)["result"]["answer"] == "The blue one."


def test_the_answer_wakes_a_wait_for_mail_and_for_the_event(run: Command, anna: Workspace, bob: Workspace) -> None:
    asked = bob.checkpoint_reach("Which?")
    start = bob.log(limit=1)[0].position
    anna.checkpoint_resolve(asked.id, "blue")
    assert bob.wait(mail=True, timeout=30).new == 1
    came = bob.wait(type="checkpoint:resolved", stream=f"checkpoint/{asked.id}", after=start, timeout=30)
    assert came.events[0].data["answer"] == "blue"
    (letter,) = bob.inbox().new
    assert (letter.sender, letter.thread, letter.type) == (ME, asked.id, "checkpoint")
    assert [item.id for item in bob.thread(asked.id)] == [letter.id]


def test_a_wait_that_ends_leaves_the_checkpoint_open(anna: Workspace, bob: Workspace) -> None:
    refused(TimedOut, "timeout", lambda: bob.checkpoint_reach("Which?", wait=True, timeout=0))
    (asked,) = anna.checkpoints()
    anna.checkpoint_resolve(asked.id, "blue")
    assert bob.checkpoint_show(asked.id, wait=True, timeout=0).answer == "blue"


def test_a_checkpoint_that_is_withdrawn_fails_the_wait(anna: Workspace, ada: Workspace, bob: Workspace) -> None:
    asked = bob.checkpoint_reach("Which?")
    refused(Refused, "not_yours", lambda: ada.checkpoint_withdraw(asked.id, reason="no"))
    anna.checkpoint_withdraw(asked.id, reason="Not any more.")
    refused(AwaitedFailed, "checkpoint_withdrawn", lambda: bob.checkpoint_show(asked.id, wait=True, timeout=0))
    assert texts(bob) == ["Withdrawn: Not any more."]
    assert [c.status for c in bob.checkpoints(all=True)] == ["withdrawn"]


def test_the_same_key_asks_once_and_waits_on(anna: Workspace, bob: Workspace) -> None:
    first = bob.checkpoint_reach("Which?", key="k")
    anna.checkpoint_resolve(first.id, "blue")
    assert bob.checkpoint_reach("Which?", key="k").answer == "blue"
    assert len(bob.checkpoints(all=True)) == 1


def test_an_unknown_checkpoint_is_said_to_be_unknown(anna: Workspace) -> None:
    refused(Unknown, "unknown_checkpoint", lambda: anna.checkpoint_show("k-0000000"))
    refused(Unknown, "unknown_checkpoint", lambda: anna.checkpoint_resolve("k-0000000", "yes"))


# Their stories


def test_the_story_of_each_has_all_that_followed(anna: Workspace, ada: Workspace, bob: Workspace) -> None:
    ada.task_add("One")
    bob.task_claim("task-001")
    bob.artifact_need("A")
    ada.artifact_add("a.py", provides="A", task="task-001")
    decided = ada.decide("Use tabs", affects="task-001", task="task-001").decision
    asked = bob.checkpoint_reach("Which?", task="task-001")
    anna.checkpoint_resolve(asked.id, "blue")
    bob.inbox()

    def story(thing: str) -> list[str]:
        return [event.type for event in ada.explain(thing)]

    mail = ["message:sent", "message:offered"]
    satisfied = ["dependency:declared", "dependency:provided", "dependency:satisfied"]
    assert story("A") == [*satisfied, *mail]
    assert story("a.py")[:2] == ["dependency:declared", "artifact:created"]
    assert set(story("a.py")) == {"artifact:created", *satisfied, *mail}
    assert story(decided.id) == ["decision:made", *mail]
    assert story(asked.id) == ["checkpoint:reached", "checkpoint:resolved", *mail]
    assert {"task:started", "artifact:created", "decision:made", "checkpoint:resolved"} <= set(story("task-001"))
