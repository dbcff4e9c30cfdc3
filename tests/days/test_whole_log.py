"""Days on which somebody needs the log as a whole: a full disk, a repository that was created again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.command import PATIENCE, SOURCES, git, new_command

OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
# A file system without any room, on which the views cannot be written. The backup goes to another disk.
FULL = """
set -e
mount -t tmpfs -o size=6M none "$1/disk"; cd "$1/disk"
export XDG_STATE_HOME="$1/disk/state" TMPDIR="$1/disk"
git init -q repo; cd repo
moot() { "$PYTHON" -m moot "$@"; }
moot init --pack orchestrator >/dev/null; moot join Ada --role team-lead >/dev/null
moot --agent Ada send Ada "The work of a day." >/dev/null
rm .git/moot/views-*
cat /dev/zero >../ballast 2>/dev/null || true
for who in "" "--agent Ada"; do
  moot $who export - >"$1/export.jsonl"
  moot $who backup --force "$1/backup.db"
done
"""


@pytest.mark.promise(1)
def test_on_a_full_disk_the_log_can_still_be_exported_and_backed_up(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        pytest.skip("nobody may mount anything here")
    (tmp_path / "disk").mkdir()
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(tmp_path),
        "PYTHON": sys.executable,
        "PYTHONPATH": str(SOURCES),
        "MOOT_PERSON": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        [*OWN_MOUNTS, "bash", "-c", FULL, "bash", str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    exported = [json.loads(line) for line in (tmp_path / "export.jsonl").read_text().splitlines()]
    assert exported[-1]["data"]["text"] == "The work of a day."

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moot = new_command(elsewhere)
    moot("init", "--pack", "orchestrator")
    assert moot("--json", "restore", str(tmp_path / "backup.db")).result["events"] == exported[-1]["position"]
    assert moot("export", "-").out == (tmp_path / "export.jsonl").read_text()


def test_a_repository_that_is_created_again_at_its_path_has_a_sound_log(tmp_path: Path) -> None:
    moot = new_command(tmp_path)
    moot("init")
    moot("join", "Ada")
    assert moot("send", "Ada", "The first repository.", agent="Ada").code == 0
    assert moot("verify").code == 0

    shutil.rmtree(moot.linked)
    shutil.rmtree(moot.repo)
    moot.repo.mkdir()
    git(moot.repo, "init", "-q", "-b", "main")
    moot("init")
    moot("join", "Ada")
    assert moot("send", "Ada", "The second repository.", agent="Ada").code == 0
    assert moot("--json", "verify").result["events"] == 2
    assert moot("doctor").code == 0
