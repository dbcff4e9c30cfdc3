"""Looks at a workspace on a file system that cannot be written: they show what is there, and change nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from moot.views.store import VERSION
from tests.surfaces.command import PATIENCE, Command
from tests.surfaces.test_blobs import DIGEST, torn

if TYPE_CHECKING:
    from pathlib import Path

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'
LOOKS = (
    ("board",),
    ("agents",),
    ("log", "--limit", "3"),
    ("search", "lexer"),
    ("inbox", "--peek"),
    ("who-holds", "src"),
    ("verify",),
    ("board", "--at", "2"),
)


def _can_mount() -> bool:
    tried = ["unshare", "-m", "sh", "-c", "mount --bind /usr /usr && mount -o remount,bind,ro /usr"]
    try:
        return subprocess.run(tried, capture_output=True, timeout=PATIENCE, check=False).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not _can_mount(), reason="only root can mount a file system")


@pytest.fixture
def repo(run: Command) -> Command:
    run("join", "Ada")
    run("--agent", "Ada", "send", "Ada", "the lexer is done")
    run("task", "add", "Lexer")
    run("board")
    return run


def looked(run: Command, *words: str) -> tuple[Any, list[str]]:
    """The result and the codes of the warnings, on a mount of its own."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", READ_ONLY, str(run.repo), sys.executable, "-m", "moot", "--json", *words],
        env=run.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, (words, done)
    said = json.loads(done.stdout)
    return said["result"], [warning["code"] for warning in said.get("warnings", ())]


def content(state: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in state.rglob("*") if path.is_file() and "-shm" not in path.name}


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
@pytest.mark.parametrize("agent", [True, False], ids=["agent", "person"])
@pytest.mark.parametrize("views", ["up to date", "behind", "gone"])
def test_a_look_shows_everything_that_is_in_the_log(
    repo: Command, words: tuple[str, ...], agent: bool, views: str
) -> None:
    state = repo.repo / ".git/moot"
    if views == "gone" and words == ("verify",):
        pytest.skip("there is nothing that the log could be compared with")
    if views == "behind":
        kept = {path: path.read_bytes() for path in state.glob(f"views-{VERSION}*")}
        repo("task", "add", "Parser")
        for path, data in kept.items():
            path.write_bytes(data)
    elif views == "gone":
        for path in state.glob("views-*"):
            path.unlink()
    before = content(state)
    result, warnings = looked(repo, *(("--agent", "Ada") if agent else ()), *words)
    if words == ("board",):
        assert len(result["tasks"]) == (2 if views == "behind" else 1)
        assert ("views_behind" in warnings) is (views != "up to date")
    if words[0] == "search":
        assert result
    if agent and "--at" not in words:
        assert {"presence_unwritable", "views_behind"} & set(warnings), "that it leaves no sign of life"
    assert len(warnings) == len(set(warnings))
    assert content(state) == before


def test_whoever_wants_to_write_is_refused_as_before(repo: Command) -> None:
    with pytest.raises(AssertionError, match="assert 7 == 0"):
        looked(repo, "--agent", "Ada", "send", "Ada", "hi")


def test_blobs_are_checked_and_shown(bare: Command) -> None:
    bare("init", "--pack", "orchestrator")
    entry = torn(bare)
    report, _ = looked(bare, "verify")
    assert (report["blobs"], report["unnamed"]) == (1, 0)
    shown, _ = looked(bare, "held", "show", entry)
    assert shown["sha256"] == DIGEST
