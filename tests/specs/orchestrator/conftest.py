"""A fresh repository with the protocol turned on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.specs.orchestrator.project import Project


@pytest.fixture
def make_project(tmp_path: Path) -> Iterator[Callable[..., Project]]:
    """Makes a repository; settings beyond the pack go into its moot.toml."""
    made: list[Project] = []

    def make(settings: str = "", name: str = "project") -> Project:
        made.append(Project.create(tmp_path / name, settings))
        return made[-1]

    yield make
    for project in made:
        project.run("verify")  # whatever a test did, log and views agree
        project.close()


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    return make_project()
