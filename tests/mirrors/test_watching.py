"""`moot mirror --watch` wakes by notification. Polling is switched off here, so what is absorbed was notified.

The watcher is a real process. Nothing here is timed: each wait ends when it is true, or fails after a minute.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.mirrors import notifications
from moot.mirrors.notifications import Notifications
from tests.mirrors.place import FOLDER, Place, assignment
from tests.person import AS_A_PERSON
from tests.surfaces.command import PATIENCE, SOURCES, git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NEVER = "watching.POLL_IF_NOTIFIED = 10 ** 6"
WATCHER = """
import sys
from moot.mirrors import notifications, watching
from moot.surfaces.cli.main import main
arm = notifications.Notifications.arm
def armed(self, folders):
    again = arm(self, folders)
    print("again" if again else "watching" if self.descriptor is not None else "polling", flush=True)
    return again
notifications.Notifications.arm = armed
{change}
main(["mirror", "--watch"])
"""


@contextlib.contextmanager
def watcher(root: Path, change: str, expected: str = "watching") -> Iterator[subprocess.Popen[str]]:
    """A watcher that is about to wait."""
    env = {**os.environ, **AS_A_PERSON, "PYTHONPATH": str(SOURCES)}
    words = [sys.executable, "-c", WATCHER.format(change=change)]
    with subprocess.Popen(words, cwd=root, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            while (line := process.stdout.readline().strip()) != expected:
                assert line, "the watcher has ended"
            yield process
        finally:
            process.kill()


def until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def write(root: Path, *numbers: int) -> None:
    """Rename a file with these assignments over the developer's one."""
    path = root / FOLDER / "to-developer.json"
    draft = root / "draft"
    draft.write_text(json.dumps({"messages": [assignment(number) for number in numbers], "lastRead": None}))
    draft.replace(path)


def until_rendered(root: Path, number: int) -> None:
    """Wait until all files show this task: the journal is the last one that is written."""
    journal = root / ".claude-orchestrator" / "logs" / "log.md"
    until(lambda: journal.exists() and f"task-{number}" in journal.read_text(), "the journal")


def stored(place: Place) -> set[str]:
    return {event.data["task"] for event in place.types("message:sent")}


@pytest.fixture
def place(tmp_path):
    root = tmp_path / "repo"
    with Place(root) as made:
        git(root, "commit", "-q", "--allow-empty", "-m", "begin")
        yield made


def test_a_file_that_is_renamed_into_place_or_written_in_place_wakes_the_watcher(place):
    with watcher(place.root, NEVER):
        write(place.root, 1)
        until(lambda: stored(place) == {"task-1"}, "a renamed file")
        until(lambda: place.shown() == ["task-1"], "its rendering")
        place.write(assignment(1), assignment(2))
        until(lambda: stored(place) == {"task-1", "task-2"}, "a file written in place")


def test_what_is_sent_through_moot_still_wakes_it(place):
    """Another process has stored a message and was killed before it rendered."""
    with watcher(place.root, NEVER):
        mirrors, place.call.mirrors = place.call.mirrors, None
        place.send(1)
        place.call.mirrors = mirrors
        until(lambda: place.shown() == ["task-1"], "an event in the log")


def deleted(folder: Path) -> None:
    """The watcher may be writing a file of it: then this takes another try, as it would for a person."""

    def is_gone() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    until(is_gone, f"{folder} is deleted")


def renamed(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def replaced(folder: Path) -> None:
    """By another directory, in one instant."""
    other = folder.with_name("other")
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns(".moot.*"))  # its drafts come and go
    folder.rename(folder.with_name("elsewhere"))
    other.rename(folder)


@pytest.mark.parametrize("change", [deleted, renamed, replaced])
@pytest.mark.parametrize("folder", [FOLDER, ".claude-orchestrator"])
def test_it_survives_a_directory_that_is_deleted_renamed_or_replaced(place, folder, change):
    """What has vanished is restored by a poll, some moments later; what is there again is watched again."""
    slowly = "from moot.mirrors import absorbing; absorbing._DELETION = 3; watching.POLL_IF_NOTIFIED = 0.1"
    with watcher(place.root, slowly) as process:
        for number in range(1, 3):
            write(place.root, number)
            until(lambda: f"task-{number}" in stored(place), f"a file before change {number}")  # noqa: B023
            until(lambda: len(place.shown()) == number, "its rendering")  # noqa: B023
            until_rendered(place.root, number)
            change(place.root / folder)
            until(lambda: place.to_developer.exists() and place.to_lead.exists(), "the files are there again")
            shutil.rmtree((place.root / folder).with_name("elsewhere"), ignore_errors=True)
            while process.stdout.readline() != "again\n":
                pass


def test_it_finds_new_worktrees_and_forgets_removed_ones(place, tmp_path):
    with watcher(place.root, NEVER):
        for number in range(1, 4):
            tree = tmp_path / f"tree-{number}"
            git(place.root, "worktree", "add", "-q", "--detach", str(tree))
            until((tree / FOLDER / "to-developer.json").exists, "the files of a new worktree")
            write(tree, number)
            until(lambda: f"task-{number}" in stored(place), "a file in a new worktree")  # noqa: B023
            until(lambda: len(place.shown(tree)) == number, "its rendering")  # noqa: B023
            until_rendered(tree, number)
            git(place.root, "worktree", "remove", str(tree))
            assert not tree.exists()


def test_a_directory_that_is_deleted_in_a_linked_worktree_is_restored_after_a_while(place, tmp_path):
    tree = tmp_path / "tree"
    git(place.root, "worktree", "add", "-q", "--detach", str(tree))
    place.sync()
    with watcher(
        place.root, "from moot.mirrors import absorbing; absorbing._REMOVAL = 0.5; watching.POLL_IF_NOTIFIED = 0.1"
    ):
        shutil.rmtree(tree / FOLDER)
        until((tree / FOLDER / "to-developer.json").exists, "it is restored")


def test_where_the_system_has_no_room_for_more_watches_it_polls(place):
    full = "import watchfiles\ndef watch(*_given, **_named): raise OSError(28, 'No space left on device')"
    with watcher(place.root, f"{full}\nwatchfiles.watch = watch; {NEVER}", "polling"):
        write(place.root, 1)
        until(lambda: stored(place) == {"task-1"}, "a poll")


# --- what wakes and what does not, counted ---------------------------------------------------------------------------


def told(armed: Notifications) -> int:
    """How often it was notified since the last time."""
    before = armed.heard
    armed.clear()
    return armed.heard - before


def test_only_what_may_concern_a_mirror_is_told(tmp_path):
    leaf = tmp_path / "a" / "b"
    leaf.mkdir(parents=True)
    with Notifications() as armed:
        assert armed.arm([(str(leaf), str(tmp_path))])
        assert not armed.arm([(str(leaf), str(tmp_path))])
        for number in range(20):
            (tmp_path / f"other-{number}").write_text("something else in the worktree")
            (tmp_path / "a" / "other").write_text(f"{number}")
        (leaf / "mirror").write_text("x")
        until(lambda: told(armed) > 0, "a change of a mirror")
        time.sleep(4 * notifications.LONGEST / 1000)  # nothing waits for this: more would only be counted more
        assert told(armed) <= 1, "the other changes were told"


def test_a_directory_that_appears_is_told_and_watched_from_then_on(tmp_path):
    leaf = tmp_path / "a" / "b"
    folders = [(str(leaf), str(tmp_path))]
    with Notifications() as armed:
        assert armed.arm(folders)
        for made in (leaf.parent, leaf):
            made.mkdir()
            until(lambda: told(armed) > 0, f"{made} was made")
            assert armed.arm(folders)
        (leaf / "mirror").write_text("x")
        until(lambda: told(armed) > 0, "a change of a mirror")


def test_nothing_is_left_open_afterwards(tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list open files")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with Notifications() as armed:
            armed.arm([(str(tmp_path), str(tmp_path))])
    until(lambda: len(os.listdir("/proc/self/fd")) <= before, "a thread of the system closes them")
