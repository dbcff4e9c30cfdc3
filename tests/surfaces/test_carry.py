"""The log in a file and back: export, backup and restore, as people do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from moot import Workspace
from moot.core.errors import Held, MootError, Refused, Unavailable, Usage
from tests.surfaces.command import PATIENCE, Command
from tests.surfaces.worlds import enliven


@pytest.fixture
def lively(bare: Command) -> Command:
    enliven(bare)
    return bare


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def refused(code: str, call: Any, kind: type[MootError] = Refused) -> MootError:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == code, caught.value
    return caught.value


# Export


def test_an_export_has_each_event_on_a_line_as_the_log_has_it(lively: Command, tmp_path: Path) -> None:
    done = lively("export", str(tmp_path / "x.jsonl"), "--json").result
    lines = lines_of(tmp_path / "x.jsonl")
    assert done == {"file": str(tmp_path / "x.jsonl"), "events": len(lines), "position": lively.head()}
    assert [line["position"] for line in lines] == list(range(1, lively.head() + 1))
    with Workspace(lively.repo) as ws:
        assert [{"id": event.id, **event.full()} for event in ws.log(limit=500)] == lines
    assert lively("export").out == (tmp_path / "x.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in lively("export", "--json").out.splitlines()] == lines
    assert [item.name for item in tmp_path.glob("x.jsonl*")] == ["x.jsonl"]


def test_a_selection_has_what_was_asked_for(lively: Command) -> None:
    with Workspace(lively.repo) as ws:
        assert {e["type"] for e in ws.export(type="message:*")} == {"message:sent"}
        assert {e["stream"] for e in ws.export(stream="task/task-003")} == {"task/task-003"}
        assert [e["position"] for e in ws.export(after=5)][:2] == [6, 7]


def test_any_text_survives_a_terminal(run: Command) -> None:
    odd = 'ünï \x1b[31m \x7f \u202e \U0001f600 "quoted" \\'
    with Workspace(run.repo, agent="Ada") as ada:
        ada.send("Bob", odd)
    out = run("export").out
    assert out.isascii()
    assert out.replace("\n", "").isprintable()
    assert json.loads(out.splitlines()[-1])["data"]["text"] == odd


def test_what_cannot_be_written_leaves_nothing_behind(lively: Command, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "new")
    with Workspace(lively.repo) as ws:
        refused("file_unusable", lambda: ws.export(str(lively.repo / "no" / "x.jsonl")), Unavailable)
        for target in (str(tmp_path), "/dev/null", str(tmp_path / "link"), ""):
            refused("not_a_file", lambda target=target: ws.export(target, force=True), Usage)
            refused("not_a_file", lambda target=target: ws.backup(target, force=True), Usage)
    assert list(tmp_path.glob("*.moot-*")) == []
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("force", [True, False])
def test_a_file_is_on_the_disk_before_it_has_its_name(
    lively: Command, monkeypatch: pytest.MonkeyPatch, *, force: bool
) -> None:
    done: list[tuple[str, int, int]] = []
    naming = "replace" if force else "link"
    fsync, name = os.fsync, getattr(os, naming)

    def synced(file: int) -> None:
        fsync(file)
        done.append(("flushed", os.fstat(file).st_ino, os.fstat(file).st_mtime_ns))

    def named(source: str, target: str) -> None:
        if os.path.dirname(target) == str(lively.repo):
            done.append(("named", os.stat(source).st_ino, os.stat(source).st_mtime_ns))
        name(source, target)

    with Workspace(lively.repo) as ws:
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, naming, named)
        for verb in (ws.export, ws.backup):
            path = lively.repo / verb.__name__
            verb(str(path), force=force)
            file = path.stat()
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


def test_a_file_is_replaced_only_with_force(lively: Command) -> None:
    path = lively.repo / "x"
    with Workspace(lively.repo) as ws:
        for verb in (ws.export, ws.backup):
            path.write_text("mine")
            refused("file_exists", lambda verb=verb: verb(str(path)))
            assert path.read_text() == "mine"
            assert verb(str(path), force=True).events == lively.head()


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


def test_effects_that_are_open_again_are_told(run: Command, tmp_path: Path) -> None:
    (run.repo / "moot.toml").write_text('[[handlers]]\nname = "go"\non = ["build:*"]\nrun = ["true"]\n')
    assert run("allow", "go", "--yes").code == 0
    assert run("emit", "build:finished", agent="Ada").code == 0
    assert run("emit", "build:finished", agent="Ada").code == 0
    with Workspace(run.repo) as ws:
        ws.backup(str(tmp_path / "x.db"))
    assert run("handle", "--drain").code == 0
    ran = run("restore", str(tmp_path / "x.db"), "--force", "--json")
    assert ran.result["effects"] == 2
    (warning,) = json.loads(ran.out)["warnings"]
    assert warning["code"] == "effects_open"
    assert warning["message"].startswith("2 effects are open again")
