"""A watcher runs while a person works, and then the project is thrown away."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.specs.orchestrator.project import FILES, until
from tests.surfaces.command import PATIENCE, new_command

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("gone", ["repository", "state"])
def test_the_watcher_ends_when_its_workspace_is_deleted(tmp_path: Path, gone: str) -> None:
    moot = new_command(tmp_path)
    assert moot("init", "--pack", "orchestrator").code == 0
    mailbox = moot.repo / FILES["developer"]
    mailbox.unlink()
    watcher = moot.popen("mirror", "--watch")
    try:
        until(mailbox.exists, "the watcher writes the file again")
        deleted = moot.repo if gone == "repository" else moot.repo / ".git" / "moot"
        while deleted.exists():  # the watcher may be writing there
            shutil.rmtree(deleted, ignore_errors=True)
        said, trouble = watcher.communicate(timeout=PATIENCE)
    finally:
        watcher.kill()
        watcher.wait()
    assert watcher.returncode != 0
    assert "Traceback" not in said + trouble
    assert not (moot.repo / ".git" / "moot").exists()
