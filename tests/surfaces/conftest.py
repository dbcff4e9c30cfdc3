"""What the tests of surfaces share: a repository with two worktrees, the command in it, and agents that joined."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from moot import Workspace
from tests.surfaces.command import Command, new_command
from tests.surfaces.worlds import inhabit


@pytest.fixture(scope="session", autouse=True)
def _nobody_in_particular() -> Iterator[None]:
    """This process is a person's, whoever started the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.startswith("MOOT_") or name == "XDG_RUNTIME_DIR":
                patch.delenv(name)
        patch.setenv("MOOT_PERSON", "1")
        yield


@pytest.fixture
def bare(tmp_path: Path) -> Command:
    """The command in a repository that is no workspace yet."""
    return new_command(tmp_path)


@pytest.fixture
def run(bare: Command) -> Command:
    """The command in a workspace of two agents: Ada, who reviews, and Bob."""
    inhabit(bare)
    return bare


@pytest.fixture
def repo(run: Command) -> Path:
    return run.repo


@pytest.fixture
def linked(run: Command) -> Path:
    return run.linked


@pytest.fixture
def ada(run: Command) -> Iterator[Workspace]:
    with Workspace(run.repo, agent="Ada") as ws:
        yield ws


@pytest.fixture
def bob(run: Command) -> Iterator[Workspace]:
    with Workspace(run.linked, agent="Bob") as ws:
        yield ws
