"""`kill -9` of a restore at each of its own lines: it leaves the old log or the new one, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import apsw
import pytest

from moot.core.errors import Unavailable
from moot.logs.sqlite import file
from moot.wiring.admin import Admin
from tests.faults import scripts
from tests.faults.worker import ENV

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.crew import Worker

ITSELF = "/restor"  # the files that do nothing else


def killed(keeper: Worker, place: str) -> Iterator[str]:
    """The workspace `before` after a restore into it was killed, for each line; at last after one that was not."""
    before, now = os.path.join(place, "before"), os.path.join(place, "now")
    line, life = 0, {"code": -signal.SIGKILL, "said": ""}
    while life["code"] == -signal.SIGKILL:
        line += 1
        shutil.rmtree(now, ignore_errors=True)
        shutil.copytree(before, now)
        how = {"cwd": now, "backup": scripts.copy(now), "die_at": line, "only": ITSELF}
        life = keeper.ask("live", work="put_back", arguments=how)
        yield now
    assert life["code"] == 0
    assert json.loads(life["said"])["lines"] == line - 1 > 50


def kept(root: str) -> list[str]:
    """The logs that lie beside the log. Fails if there is anything else that was not there before."""
    known = (file.NAME, "views", "presence", "device", "lock", ".gitignore", "cache", "swept", "restoring-")
    left = [name for name in os.listdir(scripts.state(root)) if not name.startswith(known)]
    assert all(name.startswith("log-") for name in left), left
    drafts = [name for name in os.listdir(scripts.state(root)) if name.startswith(f"{file.NAME}.")]
    assert drafts == []
    return [os.path.join(scripts.state(root), name) for name in sorted(left)]


def texts(path: str) -> list[str]:
    """The messages in a log that lies somewhere."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found = connection.execute("SELECT data ->> 'text' FROM event WHERE type = 'message:sent' ORDER BY position")
        return [text for (text,) in found]
    finally:
        connection.close()


def content(path: str) -> bytes:
    with open(path, "rb") as found:
        return found.read()


@pytest.mark.promise(1)
def test_a_damaged_log_stays_damaged_until_the_restored_one_is_whole(keeper: Worker, place: str) -> None:
    """And nothing of it is lost, however often somebody begins."""
    before = os.path.join(place, "before")
    scripts.prepare(before, "repair")
    log = os.path.join(scripts.state(before), file.NAME)
    damaged = {end: content(log + end) for end in ("", "-wal")}
    ends = set()
    for root in killed(keeper, place):
        try:
            with scripts.session(root) as here:
                assert here.engine.log.head() == 8
            ends.add("restored")
        except Unavailable as error:
            ends.add(error.code)
            with pytest.raises(Unavailable):
                Admin(root, ENV).create(())  # `moot init` does not take the place for a free one
            Admin(root, ENV).restore(scripts.copy(root), force=False)
        with scripts.session(root) as here:
            assert here.engine.log.head() == 8
            here.run("verify", {})
        assert texts(os.path.join(scripts.state(root), file.NAME)) == [f"Message {number}" for number in range(3)]
        found = {(path.partition(".db")[2], content(path)) for path in kept(root)}
        assert found >= {*damaged.items()}
    assert ends == {"restored", "foreign_log"}


@pytest.mark.promise(1)
def test_a_log_that_is_replaced_is_kept(keeper: Worker, place: str) -> None:
    before = os.path.join(place, "before")
    scripts.prepare(before, "work")
    with scripts.session(before, "Ada") as here:
        here.run("send", {"to": ["Bob"], "text": "Not in the backup."})
    ends = []
    for root in killed(keeper, place):
        with scripts.session(root) as here:  # the next command, whatever it is
            here.run("board", {})
            here.run("verify", {})
        now = texts(os.path.join(scripts.state(root), file.NAME))
        if "Not in the backup." in now:
            ends.append("old")
        else:
            (copy,) = kept(root)
            assert "Not in the backup." in texts(copy)
            assert len(now) == 3
            ends.append("new")
    assert ends.count("old") > 20
    assert ends.count("new") > 2


def test_drafts_of_a_log_whose_making_was_killed_are_gone_with_the_next(tmp_path: Path) -> None:
    (tmp_path / "log.db.0badcafe").write_bytes(b"half")
    (tmp_path / "log.db.0badcafe-journal").write_bytes(b"half")
    assert file.create(str(tmp_path), 1.0)
    assert not list(tmp_path.glob("log.db.*"))
