"""A fresh repository with the protocol turned on, whose agents are scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.theatre import Theatre
from tests.specs.orchestrator.conftest import folder

__all__ = ["folder"]


@pytest.fixture
def theatre(folder: Path) -> Iterator[Theatre]:
    made = Theatre.create(folder / "project")
    yield made
    made.run("verify")  # whatever the agents did, log and views agree
    made.close()
