"""Taking a text out of sight: nobody and no file shows it afterwards, and the log still proves what it was."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from moot import Workspace
from moot.core.errors import MootError, Refused, Unknown, Usage
from tests.person import ME
from tests.surfaces.command import PATIENCE, Command
from tests.surfaces.worlds import ASSIGNMENT, TO_DEVELOPER

SECRET = "sk-Ohn0es-4815162342"


def holding(directory: Path, text: str = SECRET) -> list[str]:
    """The files below a directory that have the text in them, in any of the forms that JSON or SQLite may give it."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return sorted(path.name for path in files if text.encode() in path.read_bytes())


def state(command: Command) -> Path:
    return command.repo / ".git" / "moot"


def refused(code: str, call: Any, kind: type[MootError] = Refused) -> MootError:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == code, caught.value
    return caught.value


@pytest.fixture
def said(run: Command) -> str:
    """The id of a message with the secret in it, told among others, read by Bob."""
    with Workspace(run.repo, agent="Ada") as ada, Workspace(run.repo, agent="Bob") as bob:
        for number in range(50):
            ada.send("Bob", f"Before {number}: " + "x" * 500)
        told = ada.send("Bob", f"The key is {SECRET}. " + "y" * 9000, type="request", data={"key": SECRET})
        for number in range(50):
            ada.send("Bob", f"After {number}: " + "z" * 500)
        bob.inbox()
    return told.id


def test_nobody_sees_it_any_more(run: Command, said: str) -> None:
    before = run("export").out
    assert before.count(SECRET) == 2
    assert len(holding(state(run))) > 1
    assert run("redact", said, "--reason", "a key", "--json").result["fields"] == ["data", "text"]
    with Workspace(run.repo) as ws:
        assert ws.redact(said).removed == (), "twice does no harm"
        report = ws.verify(rebuild=True)
        assert (report.redacted, report.sound) == (1, True)
    for words in (("log", "--limit", "500"), ("export",), ("explain", said), ("thread", said), ("inbox", "--all")):
        for more in ((), ("--json",)):
            ran = run(*words, *more, agent="Bob")
            assert ran.code == 0
            assert SECRET not in ran.out
    assert "[redacted]" in run("explain", said).out
    assert "[redacted]" in run("thread", said).out
    with Workspace(run.repo, agent="Bob") as bob:
        assert not any(SECRET in json.dumps(event.full()) for event in bob.follow(after=0, timeout=0))
        bob.reply(said, "Thanks.")  # it is a request, and stays one
    assert holding(state(run)) == []


def test_no_moment_of_the_past_shows_it(run: Command, said: str) -> None:
    with Workspace(run.repo) as ws:
        then = str(ws.log(limit=1)[0].position)
        ws.task_add("Later")
        assert SECRET in run("log", "--limit", "500", "--at", then).out
        ws.redact(said)
    for words in (("log", "--limit", "500"), ("explain", said), ("thread", said), ("search", SECRET)):
        assert SECRET not in run(*words, "--at", then, agent="Bob").out
    assert "[redacted]" in run("thread", said, "--at", then).out
    assert holding(state(run)) == []


def test_views_that_missed_it_are_made_anew_by_whoever_verifies(run: Command, said: str, tmp_path: Path) -> None:
    """As a redaction leaves it that was killed before the views followed, or found no room for them."""
    before = [path for path in state(run).iterdir() if path.name.startswith("views")]
    for path in before:
        shutil.copy2(path, tmp_path)
    assert run("redact", said).code == 0
    for path in state(run).iterdir():
        if path.name.startswith("views"):
            path.unlink()
    for path in before:
        shutil.copy2(tmp_path / path.name, path)
    assert run("verify").code == 0
    assert SECRET not in run("thread", said).out
    assert holding(state(run)) == []


def test_all_events_of_a_long_stream_go(run: Command, ada: Workspace) -> None:
    for number in range(1010):
        ada.emit("build:finished", data={"key": f"{SECRET}-{number}"})
    ran = run("redact", "topic/build", "--reason", "a key")
    assert "and 980 more" in ran.out
    assert "10 events left" in ran.err
    ran = run("redact", "topic/build", "--reason", "a key")
    assert "left" not in ran.err
    assert SECRET not in run("export").out
    with Workspace(run.repo) as ws:
        assert ws.verify().redacted == 1010
    assert holding(state(run)) == []


def test_the_tombstone_keeps_the_digest_and_a_changed_row_is_noticed(run: Command, said: str) -> None:
    with Workspace(run.repo) as ws:
        (original,) = [e for e in ws.log(limit=500) if e.stream == f"message/{said}"]
        ws.redact(said, field="text")
        (tombstone,) = ws.log(type="event:redacted")
        assert tombstone.by == ME
        assert tombstone.data["digest"] == original.digest
        assert (tombstone.data["position"], tombstone.data["fields"]) == (original.position, ["text"])
    connection = apsw.Connection(str(state(run) / "log.db"))
    forged = json.dumps({**original.data, "redacted": tombstone.data["digest"], "text": "never said"})
    with pytest.raises(apsw.ConstraintError):  # another row
        connection.execute("UPDATE event SET data = ? WHERE position = 1", (forged,))
    with pytest.raises(apsw.ConstraintError):  # without the digest
        connection.execute("UPDATE event SET data = '{}' WHERE position = ?", (original.position,))
    with pytest.raises(apsw.ConstraintError):  # another column
        connection.execute("UPDATE event SET at = 'x', data = ? WHERE position = ?", (forged, original.position))
    with pytest.raises(apsw.ConstraintError):
        connection.execute("DELETE FROM event WHERE position = ?", (original.position,))
    connection.close()


def test_only_some_fields_go_and_others_can_follow(run: Command, said: str) -> None:
    with Workspace(run.repo) as ws:
        assert ws.redact(said, field="data.key").fields == ("data.key",)
        shown = ws.thread(said)[0]
        assert SECRET in shown.text
        assert shown.data == {"key": "[redacted]"}
        ws.redact(said, field="text")
        assert ws.thread(said)[0].data == {"key": "[redacted]"}
        assert ws.thread(said)[0].text == "[redacted]"
        assert ws.verify().sound
        error = refused("no_such_field", lambda: ws.redact(said, field="sender"), Usage)
        assert "text" in error.remedy
        refused("no_such_field", lambda: ws.redact(said, field="title"), Usage)
        refused("no_such_field", lambda: ws.redact(said, field="data.nothing"), Usage)


def test_by_position_and_by_the_id_of_an_event(run: Command, said: str) -> None:
    with Workspace(run.repo) as ws:
        events = ws.log(type="message:sent", limit=3)
        assert ws.redact(str(events[0].position)).positions == (events[0].position,)
        assert ws.redact(f"#{events[1].position}").positions == (events[1].position,)
        assert ws.redact(events[2].id).positions == (events[2].position,)
        for wrong in ("0", "99999999", "nothing", "m-nothing", "x.0", "..", "redactions"):
            refused("unknown_thing", lambda wrong=wrong: ws.redact(wrong), Unknown)
        refused("nothing_to_redact", lambda: ws.redact("1"))
        (tombstone, *_) = ws.log(type="event:redacted")
        refused("is_a_tombstone", lambda: ws.redact(str(tombstone.position)))
        assert ws.verify().sound


def test_only_a_person_may(run: Command, ada: Workspace, said: str) -> None:
    head = run.head()
    refused("people_only", lambda: ada.redact(said))
    assert run.head() == head


def test_a_task_goes_on_without_its_words(run: Command, ada: Workspace, bob: Workspace) -> None:
    ada.task_add(f"Use {SECRET}", body=f"The key: {SECRET}")
    bob.task_claim("task-001")
    bob.task_release("task-001", reason=f"{SECRET} does not work")
    with Workspace(run.repo) as ws:
        ws.redact("task-001")
        assert ws.board().tasks[0].title == "[redacted]"
        assert ws.verify().sound
    bob.task_claim("task-001")
    bob.task_submit("task-001")
    assert ada.task_approve("task-001").state == "done"
    assert holding(state(run)) == []
    assert SECRET not in run("explain", "task-001").out


def test_where_the_same_words_still_stand_is_told(run: Command, ada: Workspace) -> None:
    first = ada.send("Bob", f"It is {SECRET}.")
    ada.send("Bob", f"I said: It is {SECRET}. Again.")
    with Workspace(run.repo) as ws:
        gone = ws.redact(first.id)
        assert [w.code for w in ws.warnings] == ["copies_elsewhere", "also_there"]
        assert len(gone.also) == 1
        assert ws.redact(str(gone.also[0])).also == ()


LONG_LIVED = """
import sys
from moot import Workspace
with Workspace(sys.argv[1], agent="Bob") as ws:
    print(ws.thread(sys.argv[2])[0].text[:11], flush=True)
    sys.stdin.readline()
    print(ws.thread(sys.argv[2])[0].text, flush=True)
    ws.send("Ada", "I am still here.")
    print(ws.verify().sound, flush=True)
"""


def test_a_process_that_has_the_workspace_open_shows_it_no_more(run: Command, said: str) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", LONG_LIVED, str(run.repo), said],
        env=run.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "The key is \n"
        assert run("redact", said).code == 0
        told, _ = other.communicate("\n", timeout=PATIENCE)
        assert told == "[redacted]\nTrue\n"
    finally:
        if other.poll() is None:
            other.kill()
            other.communicate(timeout=PATIENCE)
    assert holding(state(run)) == []


def test_a_moment_that_was_open_before_shows_it_no_more(run: Command, said: str) -> None:
    head = run.head()
    with Workspace(run.repo, at=head, agent="Bob") as then, Workspace(run.repo, at=head - 1) as before:
        assert SECRET in then.thread(said)[0].text
        assert before.board().counts == {}
        with Workspace(run.repo) as now:
            now.task_add("Later")
            now.redact(said)
        assert then.thread(said)[0].text == "[redacted]"
        assert SECRET not in json.dumps([letter.full() for letter in then.inbox(all=True).new])
        assert SECRET not in json.dumps([event.full() for event in then.log(limit=500)])
        assert (then.board().counts, before.board().counts) == ({}, {}), "it is still the same moment"


@pytest.mark.promise(1)
def test_a_killed_redaction_is_complete_or_completed_by_the_next(run: Command, said: str) -> None:
    for number in range(6):
        process = run.popen("redact", said)
        try:
            process.wait(0.1 + 0.05 * number)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate(timeout=PATIENCE)
        with Workspace(run.repo) as ws:
            report = ws.verify()
            assert report.sound
            assert (SECRET in run("export").out) is (report.redacted == 0)
    assert run("redact", said).code == 0
    assert holding(state(run)) == []
    with Workspace(run.repo) as ws:
        assert len(ws.log(type="event:redacted")) == 1
        assert ws.verify().sound


def test_a_restore_names_what_is_back(run: Command, said: str, tmp_path: Path) -> None:
    with Workspace(run.repo) as ws:
        ws.backup(str(tmp_path / "before.db"))
        gone = ws.redact(said, reason="a key")
        ws.redact(ws.task_add("Later").id)
    assert run("restore", str(tmp_path / "before.db"), "--json").error["error"] == "agents_here"
    ran = run("restore", str(tmp_path / "before.db"), "--force", "--json")
    assert ran.result["redacted"] == list(gone.positions)
    (warning,) = (one for one in json.loads(ran.out)["warnings"] if one["code"] == "text_is_back")
    assert f"#{gone.positions[0]}" in warning["message"]
    with Workspace(run.repo) as ws:
        assert ws.redact(str(gone.positions[0])).positions == gone.positions
        assert ws.verify().sound
    assert holding(state(run)) == []
    assert Workspace.restore(ran.result["kept"], run.repo, force=True).redacted == ()


def test_the_text_leaves_the_files_of_a_protocol(bare: Command) -> None:
    with Workspace.init(bare.repo, packs="orchestrator") as lead:
        lead.join("Ada", role="team-lead")
        lead.task_add("Build it", id="task-001")
        lead.task_claim("task-001")
        sent = lead.send(type="task_assignment", data={**ASSIGNMENT, "instructions": f"Use {SECRET}."})
    files = [bare.repo / TO_DEVELOPER, bare.linked / TO_DEVELOPER]
    assert all(SECRET in path.read_text() for path in files)
    ran = bare("redact", sent.id, "--json")
    assert "data.instructions" in ran.result["fields"]
    for path in files:
        (shown,) = json.loads(path.read_text())["messages"]
        assert shown["instructions"] == "[redacted]"
        assert (shown["taskId"], shown["platform"], shown["filesToCreate"]) == ("task-001", "web", ["a.py"])
    assert holding(bare.repo) == []
    assert holding(bare.linked) == []
    with Workspace(bare.repo) as ws:
        assert ws.verify().sound
        assert len(ws.mailbox("@developer").messages) == 1, "what was rendered is not taken for something new"


def test_a_held_entry_is_redacted(bare: Command) -> None:
    with Workspace.init(bare.repo, packs="orchestrator") as ws:
        path = bare.repo / TO_DEVELOPER
        path.write_text(json.dumps({"messages": [{"type": SECRET}], "lastRead": None}))
        (entry,) = ws.held()
        gone = ws.redact(entry.id)
        assert (len(gone.positions), gone.also) == (2, ()), "with the note that it is held"
        (entry,) = ws.held()
        assert entry.raw == '"[redacted]"'
        ws.held_drop(entry.id, reason="done")
        assert ws.verify().sound
    assert holding(state(bare)) == []


def test_mail_that_repeats_it_goes_along(run: Command, ada: Workspace, bob: Workspace) -> None:
    ada.task_add("Log in")
    bob.task_claim("task-001")
    made = ada.decide(f"Use {SECRET}", rationale="It works.", affects=("task-001",))
    asked = bob.checkpoint_reach(f"Is {SECRET} right?")
    with Workspace(run.repo) as ws:
        ws.checkpoint_resolve(asked.id, "Yes")
        assert SECRET in run("export").out
        assert len(ws.redact(made.decision.id).positions) == 2
        assert len(ws.redact(asked.id).positions) == 3
        assert [warning.code for warning in ws.warnings] == ["copies_elsewhere"]
        assert ws.verify().redacted == 5
    assert [message.text for message in bob.inbox().new] == ["[redacted]", "[redacted]"]
    assert holding(state(run)) == []


def test_a_receipt_an_effect_and_a_topic_are_redacted_by_name(run: Command, ada: Workspace) -> None:
    apart = f"{SECRET[:3]}''{SECRET[3:]}"  # so that it is said, and does not stand in the settings that are cached
    toml = f'[[handlers]]\nname = "fail"\non = ["build:*"]\nattempts = 1\nrun = ["sh", "-c", "echo {apart}; exit 3"]\n'
    (run.repo / "moot.toml").write_text(toml)
    assert run("allow", "fail", "--yes").code == 0
    assert run("check", "--", "echo", SECRET, agent="Ada").code == 0
    assert run("emit", "build:finished", "--data", json.dumps({"key": SECRET, "all": [SECRET]}), agent="Ada").code == 0
    run("handle", "--drain")
    (run.repo / "moot.toml").unlink()
    with Workspace(run.repo) as ws:
        (receipt,) = ws.receipts()
        (effect,) = ws.effects()
        for name in (f"receipt/{receipt.id}", effect.id, "topic/build"):
            assert ws.redact(name).fields
        for wrong in ("topic/", "topic/none", "claims/x", "redactions/x", "/"):
            refused("unknown_thing", lambda wrong=wrong: ws.redact(wrong), Unknown)
        assert ws.receipts()[0].argv == ("[redacted]",)
        assert ws.log(type="build:finished")[0].data["all"] == ["[redacted]"]
        assert ws.verify().sound
    assert holding(state(run)) == []


def test_a_checkpoint_whose_options_went_can_still_be_answered(run: Command, ada: Workspace) -> None:
    asked = ada.checkpoint_reach("Which?", option=(f"{SECRET}-1", f"{SECRET}-2"), awaiting=f"a word about {SECRET}")
    with Workspace(run.repo) as ws:
        ws.redact(asked.id)
        assert holding(state(run)) == []
        assert ws.checkpoint_resolve(asked.id, "The second.").answer == "The second."
