"""Carrying the log away and bringing it back: export, import, backup, restore, as people do it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot import Workspace
from moot.core.errors import Held, MootError, Refused, Unavailable, Usage
from moot.logs.sqlite import SqliteLog
from tests.surfaces.command import PATIENCE, Command, git
from tests.surfaces.worlds import enliven


@pytest.fixture
def lively(bare: Command) -> Command:
    enliven(bare)
    return bare


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Another repository, with an empty workspace."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    git(place, "init", "-q")
    Workspace.init(place).close()
    return place


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def refused(code: str, call: Any, kind: type[MootError] = Refused) -> MootError:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == code, caught.value
    return caught.value


# Export


def test_a_filtered_export_says_that_it_cannot_be_imported(lively: Command) -> None:
    assert "filtered_export" in lively("export", "tasks.jsonl", "--type", "task:*").err
    assert "filtered_export" not in lively("export", "all.jsonl").err


def test_every_line_is_a_cloud_event(lively: Command, tmp_path: Path) -> None:
    done = lively("export", "--force", str(tmp_path / "x.jsonl"), "--json").result
    lines = lines_of(tmp_path / "x.jsonl")
    assert done["events"] == len(lines) == lively.head()
    assert [line["mootposition"] for line in lines] == list(range(1, len(lines) + 1))
    for line in lines:
        assert line["specversion"] == "1.0"
        assert line["id"] == f"{line['mootcommit']}.{line['mootn']}"
        assert line["source"].startswith("urn:uuid:")
        assert line["datacontenttype"] == "application/json"
        assert all(name.isalnum() and name.islower() for name in line)
    assert [item.name for item in tmp_path.glob("x.jsonl*")] == ["x.jsonl"]


def test_the_standard_output_has_the_same_lines(lively: Command, tmp_path: Path) -> None:
    lively("export", "--force", str(tmp_path / "x.jsonl"))
    assert lively("export").out == (tmp_path / "x.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in lively("export", "--json").out.splitlines()] == lines_of(tmp_path / "x.jsonl")


def test_a_selection_has_what_was_asked_for(lively: Command) -> None:
    with Workspace(lively.repo) as ws:
        assert {e["type"] for e in ws.export(type="message:*")} == {"message:sent"}
        assert {e["subject"] for e in ws.export(stream="task/task-003")} == {"task/task-003"}
        assert [e["mootposition"] for e in ws.export(after=5)][:2] == [6, 7]


def test_any_text_survives_a_terminal_and_the_way_back(run: Command, elsewhere: Path, tmp_path: Path) -> None:
    odd = 'ünï \x1b[31m \x7f \u202e \U0001f600 \ud800 "quoted" \\'
    with Workspace(run.repo, agent="Ada") as ada:
        ada.send("Bob", odd.replace("\ud800", ""), data={"half": "x"})
    out = run("export").out
    assert out.isascii()
    (tmp_path / "x.jsonl").write_text(out)
    with Workspace(elsewhere) as ws:
        ws.import_(str(tmp_path / "x.jsonl"))
        sent = ws.log(type="message:sent")[-1]
    assert sent.data["text"] == odd.replace("\ud800", "")


def test_an_export_that_cannot_be_written_leaves_nothing_behind(lively: Command, tmp_path: Path) -> None:
    with Workspace(lively.repo) as ws:
        refused("file_unusable", lambda: ws.export(str(lively.repo / "no" / "x.jsonl")), Unavailable)
        refused("not_a_file", lambda: ws.export(str(tmp_path)), Usage)
        refused("not_a_file", lambda: ws.export("/dev/null"), Usage)
        refused("not_a_file", lambda: ws.backup("/dev/full", force=True), Usage)
    assert list(tmp_path.glob("*.moot-*")) == []


PAUSED = """
import os, signal, sys
from moot import Workspace

def halt(*_):
    if sys.argv[4] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if not os.path.exists("told"):
        open("told", "w").close()
        print("half done", flush=True)
        sys.stdin.readline()

with Workspace(sys.argv[1]) as ws:
    ws._workspace.progress = halt
    getattr(ws, sys.argv[2])(sys.argv[3], force=True)
"""


def in_the_middle(run: Command, verb: str, target: Path, what: str) -> subprocess.Popen[str]:
    """A process that is killed, or waits, while it writes `target`."""
    return subprocess.Popen(
        [sys.executable, "-c", PAUSED, str(run.repo), verb, str(target), what],
        cwd=target.parent,
        env=run.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("verb", ["export", "backup"])
def test_what_a_killed_process_has_left_goes_with_the_next_one(lively: Command, verb: str) -> None:
    there = lively.repo / "there"
    there.mkdir()
    mine = [there / name for name in ("x.moot.part", "x.1234.part", "y.moot-1f2e3d.part", "y.moot-1f2e3d.lock")]
    for path in mine:
        path.write_text("mine")
    for _ in range(2):
        other = in_the_middle(lively, verb, there / "x", "killed")
        other.communicate(timeout=PATIENCE)
        assert other.returncode == -signal.SIGKILL
        assert [path.suffix for path in sorted(there.glob("x.moot-*"))] == [".lock", ".part"]
    assert lively(verb, str(there / "x")).code == 0
    assert sorted(there.iterdir()) == sorted([there / "x", *mine]), "of this file, and of no other one"


@pytest.mark.parametrize("verb", ["export", "backup"])
def test_what_a_living_process_writes_is_left_alone(lively: Command, verb: str) -> None:
    there = lively.repo / "there"
    there.mkdir()
    other = in_the_middle(lively, verb, there / "x", "waits")
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "half done\n"
        its = sorted(there.glob("x.moot-*"))
        assert len(its) == 2
        assert lively(verb, str(there / "x")).code == 0
        assert sorted(there.glob("x*")) == [there / "x", *its]
        (there / "x").unlink()
        other.communicate("\n", timeout=PATIENCE)
        assert other.returncode == 0
    finally:
        if other.poll() is None:
            other.kill()
            other.communicate(timeout=PATIENCE)
    assert sorted(there.glob("x*")) == [there / "x"]


@pytest.mark.parametrize("verb", ["export", "backup"])
@pytest.mark.parametrize("force", [True, False])
def test_a_file_is_on_the_disk_before_it_has_its_name(
    lively: Command, monkeypatch: pytest.MonkeyPatch, verb: str, *, force: bool
) -> None:
    done: list[tuple[str, int, int]] = []
    naming = "replace" if force else "link"
    fsync, name = os.fsync, getattr(os, naming)

    def synced(file: int) -> None:
        fsync(file)
        done.append(("flushed", os.fstat(file).st_ino, os.fstat(file).st_mtime_ns))

    def named(source: str, target: str) -> None:
        if target == str(lively.repo / "x"):
            done.append(("named", os.stat(source).st_ino, os.stat(source).st_mtime_ns))
        name(source, target)

    with Workspace(lively.repo) as ws:
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, naming, named)
        getattr(ws, verb)(str(lively.repo / "x"), force=force)
        monkeypatch.undo()
    file = (lively.repo / "x").stat()
    assert done[-2:] == [("flushed", file.st_ino, file.st_mtime_ns), ("named", file.st_ino, file.st_mtime_ns)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the full disk of this system is elsewhere")
def test_an_output_that_is_full_is_told(lively: Command) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "moot", "export"],
            cwd=lively.repo,
            env=lively.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 7
    assert b"Traceback" not in done.stderr


def test_a_pipe_is_imported_like_a_file(lively: Command, elsewhere: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = lively("export").out
    writer = threading.Thread(target=lambda: pipe.write_text(text))
    writer.start()
    with Workspace(elsewhere) as there:
        assert there.import_(str(pipe)).events == lively.head()
    writer.join(PATIENCE)


def test_an_export_is_not_put_over_a_file_unless_one_says_so(lively: Command) -> None:
    (lively.repo / "x.jsonl").write_text("mine")
    with Workspace(lively.repo) as ws:
        refused("file_exists", lambda: ws.export(str(lively.repo / "x.jsonl")))
        assert (lively.repo / "x.jsonl").read_text() == "mine"
        assert ws.export(str(lively.repo / "x.jsonl"), force=True).events == lively.head()
    assert len(lines_of(lively.repo / "x.jsonl")) == lively.head()


def test_no_file_of_the_workspace_or_of_git_is_written_over(run: Command, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run.repo / ".git" / "moot")
    names = (".git/moot/log.db", ".git/moot/new.db", ".git/config", ".git/new", ".git/none/new", "moot.toml")
    targets = [*(str(run.repo / name) for name in names), str(tmp_path / "link" / "log.db"), str(run.linked / ".git")]
    with Workspace(run.repo) as ws:
        for target in targets[:-1]:
            for force in (False, True):
                refused("own_file", lambda target=target, force=force: ws.export(target, force=force))
                refused("own_file", lambda target=target, force=force: ws.backup(target, force=force))
        assert ws.verify().sound
    with Workspace(run.linked) as there:
        for target in (*targets, str(run.linked / "moot.toml")):
            refused("own_file", lambda target=target: there.export(target, force=True))
    assert not (run.repo / "moot.toml").exists()


def test_the_past_is_neither_exported_nor_backed_up(run: Command) -> None:
    for words in (("export",), ("backup", "x.db"), ("restore", "x.db")):
        assert run("--at", "1", *words, "--json").error["error"] == "past_is_read_only"


# Import


def test_an_import_gives_the_same_log_and_may_be_repeated(lively: Command, elsewhere: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    with Workspace(lively.repo) as here, Workspace(elsewhere) as there:
        here.export(str(first), force=True)
        assert there.import_(str(first), dry_run=True).events == lively.head()
        assert there.log() == []
        assert there.import_(str(first)).events == lively.head()
        assert there.import_(str(first)).known == lively.head()
        there.export(str(second), force=True)
        assert there.verify().sound
        assert [t.full() for t in there.board(all=True).tasks] == [t.full() for t in here.board(all=True).tasks]
    assert first.read_bytes() == second.read_bytes()


def test_what_came_later_is_added_to_what_is_there(lively: Command, elsewhere: Path, tmp_path: Path) -> None:
    with Workspace(lively.repo) as here, Workspace(elsewhere) as there:
        here.export(str(tmp_path / "1.jsonl"), force=True)
        there.import_(str(tmp_path / "1.jsonl"))
        here.task_add("Later")
        here.export(str(tmp_path / "2.jsonl"), force=True)
        here.export(str(tmp_path / "3.jsonl"), after=lively.head() - 1, force=True)
        assert there.import_(str(tmp_path / "3.jsonl")).events == 1
        assert there.import_(str(tmp_path / "2.jsonl")).events == 0
        there.task_add("Here only")
        here.task_add("There only")
        here.export(str(tmp_path / "4.jsonl"), force=True)
        refused("another_history", lambda: there.import_(str(tmp_path / "4.jsonl")))


@pytest.mark.parametrize(
    "change", [{"mootby": "Bob#1"}, {"time": "2031-01-01T12:00:00.000Z"}, {"data": {"title": "Another"}}]
)
def test_an_event_that_was_altered_is_not_taken_for_the_one_that_is_there(
    run: Command, tmp_path: Path, change: dict[str, Any]
) -> None:
    with Workspace(run.repo) as ws:
        ws.task_add("One")
        ws.export(str(tmp_path / "x.jsonl"), force=True)
        lines = lines_of(tmp_path / "x.jsonl")
        altered = {**lines[-1], **change, "data": {**lines[-1]["data"], **change.get("data", {})}}
        del altered["mootdigest"]
        (tmp_path / "y.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (*lines[:-1], altered)))
        refused("another_history", lambda: ws.import_(str(tmp_path / "y.jsonl")))
        assert ws.import_(str(tmp_path / "x.jsonl")).known == len(lines)
        ws.redact("task-001")
        assert ws.import_(str(tmp_path / "x.jsonl")).known == len(lines), "only its text went"
        refused("another_history", lambda: ws.import_(str(tmp_path / "y.jsonl")))


def test_a_gap_another_history_and_a_selection_are_refused(run: Command, elsewhere: Path, tmp_path: Path) -> None:
    with Workspace(run.repo) as here, Workspace(elsewhere) as there:
        here.export(str(tmp_path / "late.jsonl"), after=1, force=True)
        error = refused("import_gap", lambda: there.import_(str(tmp_path / "late.jsonl")))
        assert "position" in error.message
        here.task_add("x")
        here.export(
            str(tmp_path / "some.jsonl"),
            type=("agent:joined", "task:added"),
            stream=("agent/ada", "task/*"),
            force=True,
        )
        refused("bad_import", lambda: there.import_(str(tmp_path / "some.jsonl")))
        there.task_add("Other")
        here.export(str(tmp_path / "all.jsonl"), force=True)
        refused("another_history", lambda: there.import_(str(tmp_path / "all.jsonl")))
        assert len(there.log()) == 2, "the selection's first event was a whole commit; nothing else came in"


def test_a_commit_that_is_cut_off_is_left_out_and_told(lively: Command, elsewhere: Path, tmp_path: Path) -> None:
    with Workspace(lively.repo) as here:
        here.export(str(tmp_path / "x.jsonl"), force=True)
    whole = (tmp_path / "x.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    many = next(n for n, line in enumerate(lines) if json.loads(line)["mootof"] > 1)
    (tmp_path / "x.jsonl").write_bytes(b"".join(lines[: many + 1]) + lines[many + 1][:50])
    ran = Command(elsewhere, elsewhere, tmp_path)("import", str(tmp_path / "x.jsonl"), "--json")
    assert (ran.result["events"], ran.result["cut_off"]) == (many, 2)
    assert json.loads(ran.out)["warnings"][0]["code"] == "import_cut_off"
    (tmp_path / "x.jsonl").write_bytes(whole)
    with Workspace(elsewhere) as there:
        assert there.import_(str(tmp_path / "x.jsonl")).known == many
        assert there.verify().sound


def test_an_import_reads_the_standard_input(lively: Command, elsewhere: Path, tmp_path: Path) -> None:
    out = lively("export").out
    ran = Command(elsewhere, elsewhere, tmp_path)("import", "-", "--json", input=out)
    assert ran.result["events"] == lively.head()


def test_a_file_that_cannot_be_read_or_written_gets_a_fitting_remedy(run: Command, tmp_path: Path) -> None:
    missing = run("import", str(tmp_path / "no.jsonl"))
    assert missing.code == 2
    assert f"There is no file {tmp_path}/no.jsonl." in missing.err
    assert "Name a file that `moot export` wrote" in missing.err
    (run.repo / "file").write_text("")
    with Workspace(run.repo) as ws:
        refused("no_export", lambda: ws.import_(str(run.repo / "file" / "x.jsonl")), Usage)
        for call in (ws.export, ws.backup):
            for folder in ("no", "file"):
                found = refused("file_unusable", lambda c=call, f=folder: c(str(run.repo / f / "x")), Unavailable)
                assert "folder" in found.remedy
        if os.path.exists("/proc/self/mem"):
            found = refused("file_unreadable", lambda: ws.import_("/proc/self/mem"), Unavailable)
            assert "read" in found.remedy


def test_an_agent_may_not_import_what_others_are_said_to_have_done(ada: Workspace, tmp_path: Path) -> None:
    ada.export(str(tmp_path / "x.jsonl"), force=True)
    refused("people_only", lambda: ada.import_(str(tmp_path / "x.jsonl")))


BAD_LINES = [
    "",
    "[]",
    "null",
    "{",
    '{"specversion": "1.0"}',
    '{"specversion": "0.3", "data": {}}',
    "NaN",
    "[" * 100_000,
    "\x00\x01",
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_line_is_named_and_nothing_is_lost(run: Command, elsewhere: Path, tmp_path: Path, line: str) -> None:
    lines = run("export").out.splitlines()
    (tmp_path / "x.jsonl").write_text("\n".join([lines[0], line, lines[1], ""]))
    with Workspace(elsewhere) as there:
        if line:
            error = refused("bad_import", lambda: there.import_(str(tmp_path / "x.jsonl")))
            assert error.details["line"] == 2
            assert len(there.log()) == 1
        else:
            assert there.import_(str(tmp_path / "x.jsonl")).events == 2, "an empty line means nothing"
        assert there.verify().sound


SHAPELESS = [
    ({"data": {}}, 0),
    ({"data": {"name": ["Ada"], "incarnation": "one"}}, 0),
    ({"type": "message:sent", "subject": "message/m-1", "data": {"kind": "note"}}, 0),
    ({"type": "message:sent", "subject": "message/m-1", "data": {"kind": 1, "sender": 2, "to": 3, "wants": 4}}, 0),
    ({"type": "task:started", "subject": "task/t", "data": {"verb": "claim"}}, 0),
    ({"type": "mailbox:cleared", "subject": "mailbox/ada", "data": None}, 0),
    ({"type": "agent:sang"}, 0),
    ({"mootv": 99}, 0),
    ({"data": {"name": "../../Ada", "incarnation": 1}}, 0),
    ({"data": {"name": "Bob", "incarnation": 1}}, 0),
    (
        {
            "type": "event:redacted",
            "subject": "redactions",
            "data": {"position": 1, "commit": "another", "n": 0, "digest": "", "fields": []},
        },
        0,
    ),
]


@pytest.mark.parametrize(("change", "line"), SHAPELESS)
def test_an_event_that_nobody_could_ever_fold_does_not_get_into_the_log(
    run: Command, elsewhere: Path, tmp_path: Path, change: dict[str, Any], line: int
) -> None:
    lines = [json.loads(text) for text in run("export").out.splitlines()]
    lines[line].update(change)
    del lines[line]["mootdigest"]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(item) + "\n" for item in lines))
    with Workspace(elsewhere) as there:
        for dry_run in (True, False):
            refused("bad_import", lambda dry=dry_run: there.import_(str(tmp_path / "x.jsonl"), dry_run=dry))
        assert there.log() == []
        there.join("Ada")
        assert there.verify().sound


def test_a_redaction_of_another_event_than_it_names_is_not_imported(
    run: Command, ada: Workspace, elsewhere: Path, tmp_path: Path
) -> None:
    sent = ada.send("Bob", "A secret.")
    assert run("redact", sent.id).code == 0
    lines = [json.loads(text) for text in run("export").out.splitlines()]
    lines[-1]["data"]["position"] = 1
    del lines[-1]["mootdigest"]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(item) + "\n" for item in lines))
    with Workspace(elsewhere) as there:
        refused("digest_mismatch", lambda: there.import_(str(tmp_path / "x.jsonl"), dry_run=True))
        refused("digest_mismatch", lambda: there.import_(str(tmp_path / "x.jsonl")))
        assert there.verify().events == len(lines) - 2  # up to what the redaction would have explained


@pytest.mark.parametrize("field", ["to", "sender", "kind.x", "fields"])
@pytest.mark.parametrize("together", [True, False], ids=["in one commit", "in two"])
def test_a_redaction_of_what_is_no_text_is_not_imported(
    run: Command, ada: Workspace, elsewhere: Path, tmp_path: Path, field: str, *, together: bool
) -> None:
    sent = ada.send("Bob", "A secret.", data={"more": "words"})
    assert run("redact", sent.id).code == 0
    lines = [json.loads(text) for text in run("export").out.splitlines()]
    message, tombstone = lines[-2:]
    tombstone["data"]["fields"] += [field]
    del tombstone["mootdigest"]
    if together:
        message["mootof"] = 2
        tombstone |= {"mootcommit": message["mootcommit"], "mootn": 1, "mootof": 2, "time": message["time"]}
        tombstone |= {"mootby": message["mootby"], "mootvia": message["mootvia"], "id": f"{message['mootcommit']}.1"}
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(item) + "\n" for item in lines))
    with Workspace(elsewhere) as there:
        for dry_run in (True, False):
            call = lambda dry=dry_run: there.import_(str(tmp_path / "x.jsonl"), dry_run=dry)  # noqa: E731
            refused("digest_mismatch", call)  # such a redaction explains nothing
        assert there.verify().events == len(lines) - 2


def test_a_redaction_of_a_redaction_is_not_imported(
    run: Command, ada: Workspace, elsewhere: Path, tmp_path: Path
) -> None:
    assert run("redact", ada.send("Bob", "A secret.").id, "--reason", "mine").code == 0
    assert run("redact", ada.send("Bob", "Another.").id).code == 0
    lines = [json.loads(text) for text in run("export").out.splitlines()]
    first, last = lines[-3], lines[-1]
    del last["mootdigest"]
    last["data"] |= {"position": first["mootposition"], "commit": first["mootcommit"], "fields": ["reason"]}
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(item) + "\n" for item in lines))
    with Workspace(elsewhere) as there:
        refused("digest_mismatch", lambda: there.import_(str(tmp_path / "x.jsonl")))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
SAMPLE = {
    "specversion": "1.0",
    "id": "c.0",
    "source": "urn:uuid:2e34982a-99c0-74a0-e5a0-51c49822fa9b",
    "type": "agent:joined",
    "subject": "agent/ada",
    "time": "2030-01-01T12:00:00.000Z",
    "mootposition": 1,
    "mootprev": 0,
    "mootby": "Ada#1",
    "mootcommit": "c",
    "mootn": 0,
    "mootof": 1,
    "mootv": 1,
    "mootthread": "t",
    "data": {"name": "Ada"},
}


@given(st.sampled_from([*SAMPLE]), JSON)
def test_no_line_however_changed_ends_in_anything_but_an_event_or_a_reason(name: str, value: Any) -> None:
    from moot.transfer.cloudevents import Bad, item

    said = ""
    try:
        said = item(json.dumps({**SAMPLE, name: value})).event.id
    except Bad as error:
        said = str(error)
    assert said


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_end_in_a_traceback(elsewhere: Path, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.jsonl").write_bytes(data)
    with Workspace(elsewhere) as there:
        code = "bad_import"
        try:
            assert there.import_(str(tmp_path / "x.jsonl")).events == 0
        except Refused as error:
            code = error.code
        assert code == "bad_import"


def test_an_import_that_is_killed_is_gone_on_with(bare: Command, elsewhere: Path, tmp_path: Path) -> None:
    Workspace.init(bare.repo).close()
    with Workspace(bare.repo) as ws:
        for number in range(60):
            ws.task_add(f"Task {number}", body="x" * 200_000)  # several transactions
        ws.export(str(tmp_path / "x.jsonl"), force=True)
    there = Command(elsewhere, elsewhere, tmp_path)
    with closing(SqliteLog(str(elsewhere / ".git" / "moot"))) as log:
        command = [sys.executable, "-m", "moot", "import", str(tmp_path / "x.jsonl")]
        process = subprocess.Popen(command, cwd=elsewhere, env=there.environment)
        wait_until(lambda: log.head() > 0)
        with log.exclusive():  # it waits now before its next transaction
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
    before = there.head()
    assert 0 < before < 60
    with Workspace(elsewhere) as ws:
        assert ws.import_(str(tmp_path / "x.jsonl")).events == 60 - before
        assert ws.verify().sound


def wait_until(holds: Any) -> None:
    import time

    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


# Backup and restore


def test_a_backup_is_taken_while_others_write_and_is_whole(run: Command, tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        with Workspace(run.repo) as ws:
            while not stop.is_set():
                ws.task_add("More")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with Workspace(run.repo) as ws:
            copies = [ws.backup(str(tmp_path / f"{n}.db")) for n in range(5)]
    finally:
        stop.set()
        writer.join(PATIENCE)
    assert [copy.events for copy in copies] == sorted(copy.events for copy in copies)
    assert sorted(item.name for item in tmp_path.glob("*.db*")) == [f"{n}.db" for n in range(5)]
    with Workspace(run.repo) as ws:
        ws.leave("Ada")
        ws.leave("Bob")
    assert Workspace.restore(tmp_path / "2.db", run.repo, force=True).events == copies[2].events
    assert run.head() == copies[2].events
    with Workspace(run.repo) as ws:
        assert ws.verify().sound


def test_a_backup_is_not_put_over_a_file_unless_one_says_so(lively: Command, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("mine")
    with Workspace(lively.repo) as ws:
        refused("file_exists", lambda: ws.backup(str(tmp_path / "x.db")))
        assert (tmp_path / "x.db").read_text() == "mine"
        assert ws.backup(str(tmp_path / "x.db"), force=True).events == lively.head()


def test_a_restore_is_refused_while_agents_are_here_or_events_would_go(run: Command, tmp_path: Path) -> None:
    with Workspace(run.repo) as ws:
        ws.backup(str(tmp_path / "x.db"))
        assert refused("agents_here", lambda: Workspace.restore(tmp_path / "x.db", run.repo), Held).details["agents"]
        ws.leave("Ada")
        ws.leave("Bob")
        refused("backup_lacks_events", lambda: Workspace.restore(tmp_path / "x.db", run.repo))
        restored = Workspace.restore(tmp_path / "x.db", run.repo, force=True)
        assert restored.kept is not None
        assert run.head() == 2
        ws.task_add("After")
        assert Workspace.restore(restored.kept, run.repo, force=True).events == 4
        assert [event.type for event in ws.log()][-1] == "agent:left"
        assert ws.verify().sound


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + bytes(4000)])
def test_what_is_no_backup_is_refused_and_changes_nothing(run: Command, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.db").write_bytes(content)
    error = refused("no_backup", lambda: Workspace.restore(tmp_path / "x.db", run.repo, force=True), Usage)
    assert "moot backup" in error.remedy
    refused("no_backup", lambda: Workspace.restore(tmp_path / "none.db", run.repo), Usage)
    assert run.head() == 2


@pytest.mark.parametrize("damage", ["gone", "empty", "garbage"])
def test_a_log_that_cannot_be_read_any_more_is_replaced_and_kept(run: Command, tmp_path: Path, damage: str) -> None:
    with Workspace(run.repo) as ws:
        ws.backup(str(tmp_path / "x.db"))
    log = run.repo / ".git" / "moot" / "log.db"
    for end in ("-wal", "-shm"):
        Path(f"{log}{end}").unlink(missing_ok=True)
    log.unlink()
    if damage != "gone":
        log.write_bytes(b"" if damage == "empty" else b"garbage" * 1000)
    assert run("log").code == 7
    ran = run("restore", str(tmp_path / "x.db"), "--json")
    assert ran.result["events"] == 2
    assert bool(ran.result["kept"]) == (damage != "gone")
    with Workspace(run.repo) as ws:
        assert ws.verify().sound


def test_a_log_that_opens_and_cannot_be_read_is_replaced_and_kept(run: Command, tmp_path: Path) -> None:
    """Nobody is asked to force it: what the log would say against it is what cannot be read."""
    with Workspace(run.repo) as ws:
        ws.backup(str(tmp_path / "x.db"))
    log = run.repo / ".git" / "moot" / "log.db"
    with log.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 2 * 4096)
    assert run("log", "--json").error["error"] == "damaged_log"
    ran = run("restore", str(tmp_path / "x.db"), "--json")
    assert ran.result["events"] == 2
    assert b"\xff" * 2 * 4096 in Path(ran.result["kept"]).read_bytes()
    with Workspace(run.repo) as ws:
        assert ws.verify().sound


def test_an_agent_may_not_restore(run: Command, tmp_path: Path) -> None:
    for words in (("--agent", "Ada", "restore", "x.db"), ("restore", "x.db")):
        assert run(*words, "--json", agent="Ada").error["error"] == "people_only"


LONG_LIVED = """
import sys
from moot import Workspace
with Workspace(sys.argv[1], agent=sys.argv[2]) as ws:
    print("open", len(ws.log()), flush=True)
    for line in sys.stdin:
        if line.startswith("add"):
            print(ws.task_add("From the other process").id, flush=True)
        else:
            print(len(ws.board(all=True).tasks), ws.verify().sound, flush=True)
"""


@pytest.mark.promise(1)
def test_a_process_that_has_the_workspace_open_goes_on_with_the_restored_log(run: Command, tmp_path: Path) -> None:
    """What it is told is stored is in the log that counts."""
    with Workspace(run.repo) as ws:
        ws.backup(str(tmp_path / "x.db"))
        ws.task_add("One")
        ws.task_add("Two")
    other = subprocess.Popen(
        [sys.executable, "-c", LONG_LIVED, str(run.repo), "Ada"],
        env=run.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def ask(what: str) -> str:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(f"{what}\n")
        other.stdin.flush()
        return other.stdout.readline().strip()

    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "open 4\n"
        assert ask("add") == "task-003"
        assert run("restore", str(tmp_path / "x.db"), "--force").code == 0
        assert ask("look") == "0 True"
        assert ask("add") == "task-001"
        assert run("restore", str(tmp_path / "x.db"), "--force").code == 0
        assert ask("add") == "task-001"
        with Workspace(run.repo) as ws:
            assert [task.id for task in ws.board().tasks] == ["task-001"]
            assert [event.type for event in ws.log()] == ["agent:joined", "agent:joined", "task:added"]
            assert ws.verify().sound
        assert ask("look") == "1 True"
        # And if somebody moves a whole new log into place, which only a damaged one needs:
        log = run.repo / ".git" / "moot" / "log.db"
        for end in ("-wal", "-shm", ""):
            os.rename(f"{log}{end}", f"{tmp_path / 'away.db'}{end}")
        assert run("restore", str(tmp_path / "x.db")).code == 0
        assert ask("add") == "task-001"
        assert run.head() == 3
    finally:
        other.kill()
        other.communicate(timeout=PATIENCE)


def test_a_restore_that_is_killed_leaves_the_old_log_or_the_new_one(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", f"{run.environment['HOME']}/.local/state")  # one account, one store
    with Workspace(run.repo) as ws:
        ws.backup(str(tmp_path / "small.db"))
        for number in range(20):
            ws.task_add(f"{number}", body="x" * 100_000)
        ws.backup(str(tmp_path / "large.db"))
    for number in range(12):
        name = ("small.db", "large.db")[number % 2]
        process = run.popen("restore", str(tmp_path / name), "--force")
        try:
            process.wait(0.05 + 0.02 * number)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate(timeout=PATIENCE)
        assert run.head() in (2, 22)
        with Workspace(run.repo) as ws:
            assert ws.verify().sound


def test_followers_and_waiters_go_on_with_the_restored_log(run: Command, tmp_path: Path) -> None:
    with Workspace(run.repo) as ws, Workspace(run.repo) as other:
        ws.task_add("Kept")
        ws.backup(str(tmp_path / "b.db"))
        ws.task_add("Lost")
        ws.task_add("Lost, too")
        following = ws.follow(types="task:added", after=ws.log()[-2].position, timeout=PATIENCE)
        assert next(following).stream == "task/task-003"
        Workspace.restore(tmp_path / "b.db", run.repo, force=True)
        for title in ("New", "Newer", "Newest", "And one more"):
            other.task_add(title)
        assert [next(following).data["title"] for _ in range(4)] == ["New", "Newer", "Newest", "And one more"]


def test_effects_that_are_open_again_are_told(run: Command, elsewhere: Path, tmp_path: Path) -> None:
    (run.repo / "moot.toml").write_text('[[handlers]]\nname = "go"\non = ["build:*"]\nrun = ["true"]\n')
    assert run("handle", "--allow", "go").code == 0
    assert run("emit", "build:finished", agent="Ada").code == 0
    assert run("emit", "build:finished", agent="Ada").code == 0
    with Workspace(run.repo) as ws:
        ws.backup(str(tmp_path / "x.db"))
        ws.export(str(tmp_path / "x.jsonl"), force=True)
    assert run("handle", "--drain").code == 0
    ran = run("restore", str(tmp_path / "x.db"), "--force", "--json")
    assert ran.result["effects"] == 2
    (warning,) = json.loads(ran.out)["warnings"]
    assert warning["code"] == "effects_open"
    assert warning["message"].startswith("2 effects are open again")
    with Workspace(elsewhere) as there:
        there.import_(str(tmp_path / "x.jsonl"), dry_run=True)
        assert not there.warnings
        there.import_(str(tmp_path / "x.jsonl"))
        assert [warning.code for warning in there.warnings] == ["effects_open"]
