"""A fresh repository with the protocol turned on: as a `Project`, or as a `Board` with the verbs of the pack."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.specs.gsd.board import Board
from tests.specs.gsd.project import Project
from tests.surfaces.command import new_command

MEMORY = "/dev/shm"  # where there is one: what is proven here does not depend on the disk, and its syncs take long


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A temporary directory, in memory if possible."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="moot-", dir=MEMORY) as made:
        yield Path(made)


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
def new_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Board]]:
    """Makes a project with these settings of the pack, and nothing on the blackboard. This process is a person's."""
    made: list[Board] = []
    for name in [*os.environ]:
        if name.startswith("MOOT_") or name == "XDG_RUNTIME_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("MOOT_PERSON", "1")

    def make(settings: str = "") -> Board:
        command = new_command(tmp_path)
        for name in ("HOME", "XDG_STATE_HOME"):  # where consent is kept
            monkeypatch.setenv(name, command.environment["HOME"])
            command.environment[name] = os.environ[name]
        made.append(Board(command, settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def board(new_board: Callable[..., Board]) -> Board:
    """A project with the pack and nothing on the blackboard."""
    return new_board()
