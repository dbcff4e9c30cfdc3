"""Files that a killed writer left beside the files of a target: the next run removes them, and nothing else."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

from moot.runs import contents
from tests.runs.pipelines.conftest import PATIENCE

TOKEN = "0123456789ab"
LONG_AGO = 1_000_000_000
DIES = """
import os, signal, sys
from moot.runs import contents
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
contents.restore(sys.argv[1], "reports/a.md", b"half", ())
"""


def aged(path: Path) -> Path:
    os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    return path


def test_what_a_killed_writer_left_is_removed_by_the_next_run(notes):
    killed = subprocess.run([sys.executable, "-c", DIES, str(notes.root)], timeout=PATIENCE, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = (notes.root / "reports").iterdir()
    assert contents.is_temporary(left.name)
    aged(left)
    assert notes.run()[-2] == "check passed"
    assert [path.name for path in (notes.root / "reports").iterdir()] == ["a.md"]


def test_only_old_regular_files_that_nobody_writes_are_removed(notes, tmp_path):
    reports = notes.root / "reports"
    reports.mkdir()
    precious = tmp_path / "precious"
    precious.write_text("x")
    aged(precious)
    stale = reports / f"a.md.{TOKEN}.moot"
    kept = {
        "young": reports / "a.md.aaaaaaaaaaaa.moot",
        "locked": reports / "a.md.bbbbbbbbbbbb.moot",
        "of another file": reports / f"b.md.{TOKEN}.moot",
        "another name": reports / "a.md.backup.moot",
        "folder": reports / "a.md.cccccccccccc.moot",
        "link": reports / "a.md.dddddddddddd.moot",
    }
    for path in (stale, *list(kept.values())[:4]):
        path.write_text("x")
    kept["folder"].mkdir()
    kept["link"].symlink_to(precious)
    for name, path in kept.items():
        if name != "young":
            aged(path)
    aged(stale)
    with kept["locked"].open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert notes.run()[-2] == "check passed"
    assert not stale.exists()
    assert [name for name, path in kept.items() if not os.path.lexists(path)] == []
    assert precious.read_text() == "x"


def test_a_leftover_in_a_folder_is_no_input(tmp_path):
    (tmp_path / "factories").mkdir()
    (tmp_path / "factories/user.rb").write_text("x")
    left = tmp_path / f"factories/user.rb.{TOKEN}.moot"
    left.write_text("half")
    assert list(contents.read(str(tmp_path), ["factories/"]).files) == ["factories/user.rb"]
    contents.sweep(str(tmp_path), ["factories/"])
    assert left.exists(), "it may be written now"
    aged(left)
    contents.sweep(str(tmp_path), ["factories/"])
    assert not left.exists()
