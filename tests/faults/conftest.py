"""Repositories to break things in, and processes to break them with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.crew import RACERS, Crew, Repo, Worker

MEMORY = "/dev/shm"  # what is proven there does not depend on how fast a disk is


@pytest.fixture
def place() -> Iterator[str]:
    """A folder in memory: what happens to its files is made up by the test."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as found:
        yield found


@pytest.fixture
def make_repo(tmp_path: Path) -> Iterator[Callable[..., Repo]]:
    made: list[Repo] = []

    def make(settings: str = "", packs: tuple[str, ...] = (), name: str = "repo") -> Repo:
        made.append(Repo.create(tmp_path / name, settings, packs))
        return made[-1]

    yield make
    for repo in made:
        repo.close()


@pytest.fixture
def repo(make_repo: Callable[..., Repo]) -> Repo:
    return make_repo()


@pytest.fixture
def keeper() -> Iterator[Worker]:
    with Worker("tests.faults.keeper") as keeper:
        yield keeper


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """Fifty processes that race in one test after the other: to start them takes longest."""
    crew = Crew(RACERS, tmp_path_factory.mktemp("crew") / "gate")
    yield crew
    crew.end()
