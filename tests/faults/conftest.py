"""Repositories to break things in, and processes to break them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.crew import RACERS, Crew, Repo, Worker


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
