"""A repository with the branch `main` and no commit; and a bookshop in Ruby with scripted agents."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packs.rspec.repository import Repository
from tests.specs.rspec.shop import Shop

MEMORY = "/dev/shm"  # where there is one: what is proven here does not depend on the disk


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """A bookshop whose agents are scripted. This process is a person's."""
    for program in ("git", "ruby", "rspec"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    for name in [*os.environ]:
        if name.startswith("MOOT_") or name == "XDG_RUNTIME_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("MOOT_PERSON", "1")
    with tempfile.TemporaryDirectory(prefix="moot-", dir=MEMORY if os.access(MEMORY, os.W_OK) else tmp_path) as made:
        monkeypatch.setenv("HOME", made)
        monkeypatch.setenv("XDG_STATE_HOME", f"{made}/state")
        yield Shop(Path(made))
