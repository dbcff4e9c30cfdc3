"""Links, pipes and foreign files at the places of the views, the index and the snapshots: as a clone may bring them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from moot import Workspace
from moot.core.errors import MootError
from moot.views.search import VERSION as INDEXES
from moot.views.store import VERSION

PRECIOUS = "do not touch"
HEX = "0123456789ab"
PATIENCE = 60


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("letter", "views-1-5-0-00000000.db", "draft-0123456789ab"):
        (home / name).write_text(PRECIOUS)
    return home


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MOOT_AGENT", "MOOT_INCARNATION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MOOT_PERSON", "1")
    root = tmp_path / "repo"
    root.mkdir()
    with Workspace.init(root) as ws:
        ws.task_add("One")
        ws.search("one")
    return root


def state(repo: Path) -> Path:
    return repo / ".moot"


def moot(repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line: a pipe that nobody writes to would block it for good."""
    return subprocess.run(
        [sys.executable, "-m", "moot", *words],
        cwd=repo,
        env={**os.environ, "MOOT_PERSON": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def all_verbs(repo: Path) -> None:
    for words in (("board",), ("task", "add", "Two"), ("search", "two"), ("board", "--at", "1"), ("watch", "--once")):
        said = moot(repo, *words)
        assert said.returncode == 0, (words, said)


def untouched(victim: Path) -> bool:
    return all(path.read_text() == PRECIOUS for path in victim.iterdir()) and len(list(victim.iterdir())) == 3


POINTERS = [f"views-{VERSION}", f"search-{INDEXES}", "views", "search"]


@pytest.mark.parametrize("name", POINTERS)
def test_a_link_at_the_place_of_a_pointer_is_not_followed(repo: Path, victim: Path, name: str) -> None:
    (state(repo) / name).unlink(missing_ok=True)
    (state(repo) / name).symlink_to(victim / "letter")
    all_verbs(repo)
    assert untouched(victim)


@pytest.mark.parametrize("name", POINTERS)
def test_a_pipe_at_the_place_of_a_pointer_blocks_nobody(repo: Path, name: str) -> None:
    (state(repo) / name).unlink(missing_ok=True)
    os.mkfifo(state(repo) / name)
    all_verbs(repo)


@pytest.mark.parametrize("kind", [f"views-{VERSION}", f"search-{INDEXES}"])
@pytest.mark.parametrize("beside", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("what", ["link", "pipe"])
def test_a_file_of_the_views_that_is_no_file_is_left_behind(
    repo: Path, victim: Path, kind: str, beside: str, what: str
) -> None:
    name = (state(repo) / kind).read_text()
    path = state(repo) / f"{name}{beside}"
    path.unlink(missing_ok=True)
    if what == "link":
        path.symlink_to(victim / "letter")
    else:
        os.mkfifo(path)
    all_verbs(repo)
    assert untouched(victim)
    assert (state(repo) / kind).read_text() != name


def test_views_that_a_pointer_names_elsewhere_are_not_opened(repo: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / f"views-{VERSION}-{HEX}.db"
    elsewhere.write_bytes(b"")
    for name in (str(elsewhere), f"../../{elsewhere.name}", f"views-{VERSION}-/../log.db", "log.db"):
        (state(repo) / f"views-{VERSION}").write_text(name)
        all_verbs(repo)
    assert elsewhere.read_bytes() == b""


def test_a_planted_schema_runs_nothing(repo: Path) -> None:
    """A trigger would change what others read from the views, for ever."""
    name = (state(repo) / f"views-{VERSION}").read_text()
    db = apsw.Connection(str(state(repo) / name))
    db.execute("CREATE TRIGGER evil AFTER INSERT ON task BEGIN UPDATE task SET state = 'done'; END")
    db.close()
    with Workspace(repo) as ws:
        ws.task_add("Two")
        assert "done" not in ws.board().counts
        assert ws.verify().problems == ()


def test_a_folder_of_snapshots_that_is_a_link_loses_nothing(repo: Path, victim: Path) -> None:
    """To go back tidies the folder up, and a redaction empties it."""
    (state(repo) / "past").symlink_to(victim)
    with Workspace(repo) as ws:
        sent = ws.task_add("The code is 0000")
        with pytest.raises(MootError) as caught:
            Workspace(repo, at=1)
        assert caught.value.code == "past_unusable"
        ws.redact(sent.id, reason="secret")
    assert untouched(victim)


def test_a_snapshot_that_is_a_link_is_not_used(repo: Path, victim: Path) -> None:
    (state(repo) / "past").mkdir()
    (state(repo) / "past" / f"views-{VERSION}-1-0-00000000.db").symlink_to(victim / "letter")
    assert moot(repo, "board", "--at", "1").returncode == 0
    assert untouched(victim)


def test_folders_that_are_called_like_views_do_not_keep_a_text_in_sight(repo: Path) -> None:
    (state(repo) / f"views-9-{HEX}.db").mkdir()
    (state(repo) / "search-x").mkdir()
    with Workspace(repo) as ws:
        sent = ws.task_add("The code is 0000")
        ws.redact(sent.id, reason="secret")
        assert not ws.search("code")


def test_views_that_everybody_may_write_are_made_anew(repo: Path) -> None:
    name = (state(repo) / f"views-{VERSION}").read_text()
    os.chmod(state(repo) / name, 0o666)
    all_verbs(repo)
    assert (state(repo) / f"views-{VERSION}").read_text() != name
