"""A repository with the branch `main` and no commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packs.rspec.repository import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")
