"""Links, pipes and foreign files at the place of the views: as a clone may bring them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from moot import Workspace
from moot.views.store import VERSION

PRECIOUS = "do not touch"
PATIENCE = 60


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter").write_text(PRECIOUS)
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
    return all(path.read_text() == PRECIOUS for path in victim.iterdir())


NAME = f"views-{VERSION}.db"


@pytest.mark.parametrize("beside", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("what", ["link", "pipe"])
def test_what_is_not_a_file_at_the_place_of_the_views_is_replaced(
    repo: Path, victim: Path, beside: str, what: str
) -> None:
    path = state(repo) / f"{NAME}{beside}"
    path.unlink(missing_ok=True)
    if what == "link":
        path.symlink_to(victim / "letter")
    else:
        os.mkfifo(path)
    all_verbs(repo)
    assert untouched(victim)
    assert not path.exists() or (path.is_file() and not path.is_symlink())


def test_where_a_folder_is_at_the_place_of_the_views_the_log_can_be_read(repo: Path) -> None:
    (state(repo) / NAME).unlink()
    (state(repo) / NAME).mkdir()
    assert moot(repo, "board").returncode == 0
    said = moot(repo, "task", "add", "Two", "--json")
    assert (said.returncode, "views_unusable" in said.stdout) == (7, True)


def test_a_planted_schema_runs_nothing(repo: Path) -> None:
    """A trigger would change what others read from the views, for ever."""
    db = apsw.Connection(str(state(repo) / NAME))
    db.execute("CREATE TRIGGER evil AFTER INSERT ON task BEGIN UPDATE task SET state = 'done'; END")
    db.close()
    with Workspace(repo) as ws:
        ws.task_add("Two")
        assert "done" not in ws.board().counts
        assert ws.verify().problems == ()


def test_links_that_are_called_like_views_of_other_versions_are_left_alone(repo: Path, victim: Path) -> None:
    (state(repo) / "views-9.db").symlink_to(victim / "letter")
    (state(repo) / "views-8.db").mkdir()
    with Workspace(repo) as ws:
        sent = ws.task_add("The code is 0000")
        ws.redact(sent.id, reason="secret")
        assert not ws.search("code")
    assert untouched(victim)


def test_views_that_everybody_may_write_are_made_anew(repo: Path) -> None:
    before = (state(repo) / NAME).stat().st_ino
    os.chmod(state(repo) / NAME, 0o666)
    os.link(state(repo) / NAME, repo / "kept")  # so that its number is not used again
    all_verbs(repo)
    assert (state(repo) / NAME).stat().st_ino != before
