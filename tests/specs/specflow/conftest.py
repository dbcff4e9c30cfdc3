"""A fresh repository with the protocol turned on, with and without a team."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.specs.orchestrator.conftest import folder
from tests.specs.specflow.project import Project

__all__ = ["folder"]


@pytest.fixture
def make_project(folder: Path) -> Iterator[Callable[..., Project]]:
    """Makes a repository; settings beyond the pack go into its moot.toml."""
    made: list[Project] = []

    def make(settings: str = "", name: str = "project", **more: object) -> Project:
        made.append(Project.create(folder / name, settings, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for project in made:
        project.run("verify")  # whatever a test did, log and views agree
        project.close()


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    return make_project()


@pytest.fixture
def fianna(project: Project) -> Project:
    """The team Fianna: Yeats with issue 50, Swift with issue 51, Hamilton, Keane, and a person as the lead."""
    project.commit(src__lib__auth_ts="1\n")
    project.spawn(50, 51)
    return project
