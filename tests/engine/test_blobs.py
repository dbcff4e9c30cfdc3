"""Blobs: durable before anything names them, checked when they are read, and removed only when nothing names them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from moot import Workspace
from moot.core.errors import Refused, Unavailable, Unknown
from moot.engine import blob_names
from moot.engine import blobs as module
from moot.engine.blobs import Blobs
from moot.engine.sweeping import sweep
from tests.person import AS_A_PERSON

OLD = time.time() - 10 * 86_400
DATA = b"{ torn \xff"
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> Blobs:
    return Blobs(str(tmp_path))


def names(state: Path) -> list[str]:
    return sorted(os.listdir(state / "blobs")) if (state / "blobs").exists() else []


def test_bytes_come_back_by_their_digest_and_only_this_account_can_read_them(store: Blobs, tmp_path: Path) -> None:
    assert store.put(DATA) == DIGEST
    assert store.get(DIGEST) == DATA
    assert b"".join(store.pieces(DIGEST)) == DATA
    assert names(tmp_path) == [DIGEST]
    assert ((tmp_path / "blobs").stat().st_mode & 0o777, (tmp_path / "blobs" / DIGEST).stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )


def test_the_same_bytes_are_one_file_and_a_damaged_one_is_replaced(store: Blobs, tmp_path: Path) -> None:
    store.put(DATA)
    path = tmp_path / "blobs" / DIGEST
    inode = path.stat().st_ino
    os.utime(path, (OLD, OLD))
    store.put(DATA)
    assert path.stat().st_ino == inode
    assert path.stat().st_mtime > OLD, "it counts as put now"
    path.write_bytes(b"something else")
    assert store.put(DATA) == DIGEST
    assert store.get(DIGEST) == DATA


def test_what_is_read_is_never_trusted(store: Blobs, tmp_path: Path) -> None:
    store.put(DATA)
    path = tmp_path / "blobs" / DIGEST
    path.write_bytes(DATA + b"\n")
    for read in (store.get, lambda digest: next(store.pieces(digest))):
        with pytest.raises(Unavailable) as caught:
            read(DIGEST)
        assert caught.value.code == "blob_damaged"
    assert store.fault(DIGEST) == "damaged"
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(Unavailable) as caught:
        store.get(DIGEST)
    assert caught.value.code == "unsafe_file"
    path.unlink()
    os.mkfifo(path)
    assert store.fault(DIGEST) == "unreadable"


@pytest.mark.parametrize("name", ["", "../log.db", DIGEST.upper(), DIGEST[1:], "0" * 64])
def test_what_is_not_there_is_unknown(store: Blobs, name: str) -> None:
    with pytest.raises(Unknown) as caught:
        store.get(name)
    assert caught.value.code == "blob_missing"
    assert store.fault(name) == "missing"


def test_a_blob_is_bounded(store: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 10)
    assert store.put(b"x" * 10)
    with pytest.raises(Refused) as caught:
        store.put(b"x" * 11)
    assert caught.value.code == "blob_too_large"
    (tmp_path / "blobs" / DIGEST).write_bytes(b"x" * 11)
    assert store.fault(DIGEST) == "damaged"
    assert len(names(tmp_path)) == 2


def test_a_blob_in_pieces_must_be_what_its_digest_says(store: Blobs, tmp_path: Path) -> None:
    with store.writing() as blob:
        for byte in DATA:
            blob.write(bytes([byte]))
        assert blob.keep(DIGEST) == DIGEST
    with store.writing() as blob:
        blob.write(b"other")
        with pytest.raises(Unavailable) as caught:
            blob.keep(DIGEST)
    assert caught.value.code == "blob_damaged"
    assert (store.get(DIGEST), names(tmp_path)) == (DATA, [DIGEST])


def test_a_folder_that_leads_elsewhere_is_not_used(store: Blobs, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "blobs").symlink_to(tmp_path / "away")
    for use in (lambda: store.put(DATA), lambda: store.get(DIGEST), store.stored, lambda: store.remove([DIGEST])):
        with pytest.raises(Unavailable) as caught:
            use()
        assert caught.value.code == "unsafe_file"
    assert list((tmp_path / "away").iterdir()) == []


# Durability

STEPS = ("mkdir", "open", "write", "fsync", "replace")


@pytest.mark.parametrize("step", STEPS)
def test_without_room_the_caller_is_told_and_nothing_half_written_is_left(
    store: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    real = getattr(os, step)

    def full(*given: object, **more: object) -> object:
        if step == "open" and not (isinstance(given[1], int) and given[1] & os.O_CREAT):
            return real(*given, **more)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, step, full)
        with pytest.raises(Unavailable) as caught:
            store.put(DATA)
    assert caught.value.code == "blob_unwritable"
    assert "No space left" in caught.value.message
    assert names(tmp_path) == []
    assert store.put(DATA) == DIGEST, "with room again it goes on"
    assert store.get(DIGEST) == DATA


def test_the_file_and_then_its_folders_are_synced_before_the_digest_is_returned(
    store: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(file: int) -> None:
        done.append(os.readlink(f"/proc/self/fd/{file}").removeprefix(str(tmp_path)))
        sync(file)

    def replaced(source: str, target: str) -> None:
        done.append("its name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    store.put(DATA)
    assert done[0].startswith("/blobs/new.")
    assert done[1:] == ["its name", "/blobs", ""]
    done.clear()
    store.put(DATA)
    assert done == [f"/blobs/{DIGEST}", "/blobs", ""], "the one who wrote it may have died before"


KILLED = """
import os, signal, sys
from moot.engine.blobs import Blobs
at, calls = int(sys.argv[2]), 0
def counted(real):
    def call(*given, **more):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **more)
    return call
for name in ("mkdir", "open", "write", "fsync", "replace", "unlink", "close"):
    setattr(os, name, counted(getattr(os, name)))
Blobs(sys.argv[1]).put(b"x" * 5000)
"""


def test_a_process_killed_at_any_step_leaves_a_whole_blob_or_none(store: Blobs, tmp_path: Path) -> None:
    data = b"x" * 5000
    digest = hashlib.sha256(data).hexdigest()
    outcomes = set()
    for at in range(1, 40):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(at)], check=False).returncode
        assert ended in (0, -signal.SIGKILL)
        outcomes.add(fault := store.fault(digest))
        assert fault in (None, "missing"), f"at step {at}"
        assert store.put(data) == digest, "another process goes on"
        store.remove([digest])
        if ended == 0:
            break
    else:
        pytest.fail("it never came to its end")
    assert outcomes == {None, "missing"}
    drafts = [name for name in names(tmp_path) if name != digest]
    assert drafts, "what was killed has left something"
    assert all(name.startswith("new.") for name in drafts)
    for name in drafts:
        os.utime(tmp_path / "blobs" / name, (OLD, OLD))
    sweep(str(tmp_path))
    assert names(tmp_path) == []


def _put_many(state: str, times: int) -> None:
    for number in range(times):
        Blobs(state).put(b"%d" % (number % 5) * 100_000)


def test_several_processes_may_put_the_same_bytes_while_another_sweeps(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    crowd = [context.Process(target=_put_many, args=(str(tmp_path), 40)) for _ in range(3)]
    for one in crowd:
        one.start()
    digests = [hashlib.sha256(b"%d" % number * 100_000).hexdigest() for number in range(5)]
    store = Blobs(str(tmp_path))
    while any(one.is_alive() for one in crowd):
        assert store.sweep(digests, time.time() - 3600) == 0
        assert all(store.fault(digest) in (None, "missing") for digest in digests)
    for one in crowd:
        one.join(60)
        assert one.exitcode == 0
    assert names(tmp_path) == sorted(digests)
    assert all(store.fault(digest) is None for digest in digests)


# What no event names


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    for name in ("MOOT_AGENT", "MOOT_INCARNATION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in AS_A_PERSON.items():
        monkeypatch.setenv(name, value)
    with Workspace.init(tmp_path) as ws:
        yield ws


def aged(ws: Workspace, data: bytes) -> Path:
    """A blob that was put long ago."""
    state = Path(ws.root) / ".moot"
    path = state / "blobs" / Blobs(str(state)).put(data)
    os.utime(path, (OLD, OLD))
    return path


def swept(ws: Workspace) -> int:
    with ws._call() as call:
        return sweep(call.place.state, call.engine.log)


def test_old_bytes_that_no_event_names_are_swept_and_others_are_not(ws: Workspace) -> None:
    orphan, named = aged(ws, b"orphan"), aged(ws, b"named")
    young = aged(ws, b"young")
    os.utime(young)
    ws.emit("note:made", data={"deep": [{"er": named.name}]})
    swept(ws)
    assert (orphan.exists(), named.exists(), young.exists()) == (False, True, True)
    os.utime(young, (OLD, OLD))
    ws.emit("note:made", data={"it": young.name})
    swept(ws)
    assert (named.exists(), young.exists()) == (True, True), "also by events that came after the last look"


def test_bytes_that_come_back_are_still_named(ws: Workspace) -> None:
    named = aged(ws, b"named")
    named.unlink()
    ws.emit("note:made", data={"it": named.name})
    orphan = aged(ws, b"orphan")
    swept(ws)
    assert not orphan.exists(), "the log was read up to its end"
    aged(ws, b"named")
    swept(ws)
    assert named.exists()


def test_a_long_log_is_read_over_several_days(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_names, "_MOST", 2)
    for number in range(5):
        ws.task_add(f"Task {number}")
    orphan, days = aged(ws, b"orphan"), 0
    while orphan.exists():
        swept(ws)
        days += 1
        assert days < 10
    assert days > 1


def test_nothing_is_swept_while_a_replaced_log_is_kept(ws: Workspace) -> None:
    orphan = aged(ws, b"orphan")
    other = Path(ws.root) / ".moot" / "log-20310508T093000Z.db"
    other.touch()
    swept(ws)
    assert orphan.exists()
    other.unlink()
    swept(ws)
    assert not orphan.exists()


def test_nothing_is_swept_beside_a_damaged_log(ws: Workspace) -> None:
    """The events after the damaged one cannot be read, and may name anything."""
    ws.task_add("One")
    ws.task_add("Two")
    ws.emit("note:made", data={"it": DIGEST})
    named = aged(ws, DATA)
    with contextlib.closing(apsw.Connection(str(Path(ws.root) / ".moot" / "log.db"))) as db:
        db.execute("DROP TRIGGER event_never_changes; UPDATE event SET data = '{' WHERE position = 2")
    swept(ws)
    assert named.exists()


def test_nobody_sweeps_while_somebody_puts(ws: Workspace) -> None:
    orphan = aged(ws, b"orphan")
    folder = os.open(orphan.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_SH)
        swept(ws)
        assert orphan.exists()
    finally:
        os.close(folder)
    swept(ws)
    assert not orphan.exists()


def test_a_note_that_somebody_spoiled_is_made_anew(ws: Workspace) -> None:
    named = aged(ws, b"named")
    ws.emit("note:made", data={"it": named.name})
    for said in ("", "{", "[]", '{"position": 1, "commit": "x", "named": []}', '{"position": 1e9}', "7"):
        (named.parent / "named").write_text(said)
        orphan = aged(ws, b"orphan")
        swept(ws)
        assert (named.exists(), orphan.exists()) == (True, False), said
