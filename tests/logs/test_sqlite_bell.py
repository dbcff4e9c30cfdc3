"""The bell wakes those who follow, and whatever is wrong with it, only their patience suffers."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing

import pytest

from moot.logs.sqlite import SqliteLog, bell
from tests.logs.conformance import draft
from tests.logs.engines import SqliteEngine
from tests.logs.processes import ROOT, Worker
from tests.logs.roles import commit


@pytest.fixture
def place():
    """Short, as the path of a socket must be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield os.path.join(directory, "bell")


def test_everybody_who_listens_hears_it_once(place):
    listeners = [bell.Listener(place) for _ in range(3)]
    bell.ring(place)
    bell.ring(place)
    assert [listener.wait(5) for listener in listeners] == [True] * 3
    assert [listener.wait(0) for listener in listeners] == [False] * 3
    bell.ring(place)
    assert listeners[0].wait(5)
    for listener in listeners:
        listener.close()
        listener.close()
    assert not os.path.exists(place)


def test_it_may_be_rung_when_nobody_listens(place):
    bell.ring(place)
    os.mkdir(place)
    bell.ring(place)
    assert os.listdir(place) == []


def test_listeners_are_counted_without_waking_them(place):
    assert bell.listeners(place) == 0
    listener = bell.Listener(place)
    assert bell.listeners(place) == 1
    assert not listener.wait(0)
    bell.clear(place)
    assert bell.listeners(place) == 1
    listener.close()
    assert bell.listeners(place) == 0


def test_the_sockets_of_the_dead_are_cleared_away(place):
    script = (
        "import os, sys; from moot.logs.sqlite import bell; bell.Listener(sys.argv[1]);"
        "print('bound', flush=True); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", script, place], env=environment, check=False, timeout=60, stdout=-1)
    assert len(os.listdir(place)) == 1
    alive = bell.Listener(place)
    bell.ring(place)
    assert alive.wait(5)
    assert len(os.listdir(place)) == 1
    alive.close()


def test_a_listener_who_never_looks_holds_nobody_up(place):
    deaf, awake = bell.Listener(place), bell.Listener(place)
    for _ in range(2000):
        bell.ring(place)
    assert awake.wait(5)
    assert deaf.wait(5)
    deaf.close()
    awake.close()


def test_strange_files_beside_the_sockets_disturb_nobody(place):
    listener = bell.Listener(place)
    os.mkdir(os.path.join(place, "folder"))
    with open(os.path.join(place, "file"), "w", encoding="utf-8") as file:
        file.write("precious")
    os.symlink("/nowhere", os.path.join(place, "link"))
    bell.ring(place)
    assert listener.wait(5)
    listener.close()


def test_a_path_too_long_for_a_socket_only_means_to_look_from_time_to_time(tmp_path):
    listener = bell.Listener(str(tmp_path / ("x" * 120)))
    bell.ring(str(tmp_path / ("x" * 120)))
    assert not listener.wait(0)
    listener.close()


def test_a_directory_that_others_can_write_to_is_not_used(place):
    os.mkdir(place)
    os.chmod(place, 0o777)
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.bind(os.path.join(place, "trap"))
    ear.setblocking(False)
    bell.ring(place)
    with pytest.raises(BlockingIOError):
        ear.recv(1)
    ear.close()
    listener = bell.Listener(place)
    assert os.listdir(place) == ["trap"]
    listener.close()


def test_it_hangs_in_the_runtime_directory_if_that_is_short_and_ours(place, tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.mkdir()
    os.mkdir(place)
    monkeypatch.setenv("XDG_RUNTIME_DIR", place)
    assert os.path.dirname(bell.directory_for(str(log))) == os.path.join(place, "moot")
    for unusable in ("/" + "x" * 50, "relative", "", "/nowhere", "/tmp"):
        monkeypatch.setenv("XDG_RUNTIME_DIR", unusable)
        user = os.getuid()
        roots = {f"/run/user/{user}/moot", f"/tmp/moot-{user}"}
        assert os.path.dirname(bell.directory_for(str(log))) in roots


def test_it_is_the_same_however_the_path_is_spelled(tmp_path):
    (tmp_path / "log").mkdir()
    os.symlink(tmp_path / "log", tmp_path / "link")
    names = {bell.directory_for(str(tmp_path / name)) for name in ("log", "link", "log/../log")}
    assert len(names) == 1
    assert len(os.fsencode(names.pop())) + 11 <= 103


def test_an_append_wakes_a_follower_and_the_bell_is_left_clean(tmp_path, place):
    SqliteLog.create(str(tmp_path))
    with ExitStack() as stack:
        writer, reader = (
            stack.enter_context(closing(SqliteLog(str(tmp_path), bell_directory=place))) for _ in range(2)
        )
        listener = bell.Listener(place)
        writer.append(commit("one"), {}, [draft("a")])
        assert listener.wait(5)
        with writer.exclusive():
            writer.append(commit("two"), {}, [draft("a")])
            assert not listener.wait(0)
        assert listener.wait(5)
        with writer.exclusive():
            pass
        writer.append(commit("two"), {}, [draft("a")])
        assert not listener.wait(0)
        listener.close()
        following = reader.follow(2, timeout=0.01)
        assert list(following) == []
    assert not os.path.exists(place)


def test_it_is_rung_when_the_next_writer_may_come_in(tmp_path, monkeypatch):
    SqliteLog.create(str(tmp_path))
    free = []

    def look(directory: str) -> None:
        with open(tmp_path / "lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free.append(directory)

    monkeypatch.setattr(bell, "ring", look)
    with closing(SqliteLog(str(tmp_path))) as log:
        log.append(commit("one"), {}, [draft("a")])
        with log.exclusive():
            log.append(commit("two"), {}, [draft("a")])
            log.append(commit("three"), {}, [draft("a")])
    assert free == [bell.directory_for(str(tmp_path))] * 2


def test_without_a_bell_a_follower_still_gets_everything(tmp_path):
    """The writer rings in one place and the follower listens in another."""
    engine = SqliteEngine(str(tmp_path / "log"))
    engine.create()
    elsewhere = str(tmp_path / "elsewhere")
    with closing(SqliteLog(engine.directory, bell_directory=elsewhere)) as log:
        following = log.follow(0, timeout=30)
        with Worker(engine, "repeat", name="one", streams=["a", "b"]) as worker:
            assert worker.hear() == ["Appended", 1, 2]
            assert [event.id for event in next(following)] == ["one.0", "one.1"]
        with Worker(engine, "repeat", name="two", streams=["a"]) as worker:
            assert [event.id for event in next(following)] == ["two.0"]
