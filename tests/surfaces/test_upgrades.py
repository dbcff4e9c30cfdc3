"""A log of an older version: looked at as it is, upgraded by the first command that writes, which says so.

And a log that a newer program upgrades under one that runs: that one ends, with a clear word.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from moot import MootError, Workspace
from moot.logs.sqlite import bell, file
from tests.logs import older
from tests.surfaces.command import PATIENCE, Command

if TYPE_CHECKING:
    from pathlib import Path

LOOKS = (
    ("agents",), ("board",), ("task", "show", "task-001"), ("task", "list"), ("log",), ("log", "--after", "0"),
    ("explain", "task-001"), ("search", "letter"), ("watch", "--once"), ("who-holds",), ("decisions",), ("artifacts",),
    ("checkpoint", "list"), ("effects",), ("held",), ("mailbox", "show", "Bob"), ("inbox", "--peek"), ("verify",),
    ("doctor",), ("export",), ("--at", "3", "board"), ("overdue",), ("receipt", "list"), ("thread", "m-none"),
)  # fmt: skip


@pytest.fixture
def old(run: Command) -> Command:
    assert run("send", "Bob", "A letter", agent="Ada").code == 0
    assert run("task", "add", "A task").code == 0
    return run


def state(run: Command) -> Path:
    return run.repo / ".git" / "moot"


def age(run: Command, version: int) -> None:
    """As it was before; and nobody has seen what it became later."""
    older.age(state(run), version)
    for store in (f"{run.environment['HOME']}/.local/state", os.environ["XDG_STATE_HOME"]):
        shutil.rmtree(f"{store}/moot/known", ignore_errors=True)


@pytest.mark.parametrize("version", older.VERSIONS)
def test_no_look_upgrades_a_log(old: Command, version: int, tmp_path: Path) -> None:
    log = state(old) / "log.db"
    age(old, version)
    before = log.read_bytes()
    for words in LOOKS:
        ran = old(*words)
        assert ran.code in (0, 2, 4), (words, ran.err)
        assert "older_log" not in ran.err
        assert (log.read_bytes(), older.version_of(log)) == (before, version), words
    assert old("backup", str(tmp_path / "copy.db")).code == 0
    assert (log.read_bytes(), older.version_of(tmp_path / "copy.db")) == (before, version)
    with Workspace(old.repo) as ws:
        assert {event.via for event in ws.log(after=0)} == {None}
        assert list(ws.follow(after=0, timeout=0))
        assert ws.verify().sound
    assert log.read_bytes() == before


@pytest.mark.parametrize("version", older.VERSIONS)
def test_the_first_command_that_writes_upgrades_it_and_says_so(old: Command, version: int) -> None:
    age(old, version)
    ran = old("send", "Bob", "Another", "--json", agent="Ada")
    assert ran.code == 0
    (warning,) = (w for w in json.loads(ran.out)["warnings"] if w["code"] == "log_migrated")
    assert f"from version {version} to {file.VERSION}" in warning["message"]
    assert older.version_of(state(old) / "log.db") == file.VERSION
    ran = old("send", "Bob", "Another", "--json", agent="Ada")
    assert "log_migrated" not in ran.out
    assert old("verify").code == 0
    said = old("log").out.splitlines()
    assert " by Ada via unknown: " in said[0]
    assert " by Ada via cli: " in said[-1]


@pytest.mark.parametrize("version", older.VERSIONS)
def test_a_command_that_is_refused_upgrades_nothing(old: Command, version: int) -> None:
    age(old, version)
    before = (state(old) / "log.db").read_bytes()
    assert old("task", "claim", "task-999", agent="Ada").code == 4
    assert (state(old) / "log.db").read_bytes() == before


# Under one that runs


def raise_version(run: Command) -> None:
    with closing(apsw.Connection(str(state(run) / "log.db"))) as db:
        db.pragma("user_version", file.VERSION + 1)


RUNNING = {
    "watch": ("watch", "--follow"),
    "log": ("log", "--follow"),
    "wait": ("wait", "--type", "task:started", "--timeout", "600"),
    "handle": ("handle",),
    "mirror": ("mirror", "--watch"),
}


@pytest.mark.parametrize("name", RUNNING)
def test_one_that_runs_ends_when_a_newer_program_upgrades_the_log(old: Command, name: str) -> None:
    if name == "mirror":
        assert old("init", "--pack", "orchestrator").code == 0
    if name == "handle":
        (old.repo / "moot.toml").write_text('[[handlers]]\nname = "count"\non = ["task:added"]\nrun = ["true"]\n')
        assert old("allow", "--all", "--yes", MOOT_PERSON="1").code == 0
    process = old.popen(*RUNNING[name])
    try:
        wait_until_it_listens(old, process)
        raise_version(old)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, "Traceback" in f"{out!r}{err!r}") == (7, False), (out, err)
    assert "A newer version of moot upgraded the log" in f"{out!r}{err!r}"


def test_one_who_follows_in_python_ends_too(old: Command) -> None:
    with Workspace(old.repo, agent="Ada") as ws:
        following = ws.follow(after=0, timeout=PATIENCE)
        next(following)
        raise_version(old)
        with pytest.raises(MootError) as caught:
            for _ in following:
                pass
        assert (caught.value.code, caught.value.exit_code) == ("newer_log", 7)
        before = ws_head(old)
        with pytest.raises(MootError) as caught:
            ws.send("Bob", "Too late")
        assert caught.value.code == "newer_log"
    assert ws_head(old) == before


def ws_head(run: Command) -> Any:
    with closing(apsw.Connection(str(state(run) / "log.db"), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        return db.execute("SELECT max(position) FROM event").get


def wait_until_it_listens(run: Command, process: Any) -> None:
    """Until the process waits for news of the log, which it has opened then."""
    bells = bell.directory_for(str(state(run)))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if os.path.isdir(bells) and os.listdir(bells):
            return
        time.sleep(0.02)
    raise AssertionError(f"it does not listen: {process.poll()}")
