"""A small Ruby project, in memory if possible."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.specs.rspec_v1.shop import Shop

MEMORY = "/dev/shm"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="moot-", dir=MEMORY) as made:
        yield Path(made)


@pytest.fixture
def shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A project without a workspace."""
    return Shop(folder / "shop", folder / "home", monkeypatch)


@pytest.fixture
def staffed(shop: Shop) -> Shop:
    """A project whose agents behave well."""
    shop.agents()
    return shop
