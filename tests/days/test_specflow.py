"""Days with `moot run specflow`: waves of scripted agents, from the plan to the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.specs.specflow.conftest import folder
from tests.specs.specflow.stage import GOOD, Stage

__all__ = ["folder"]


@pytest.fixture
def stage(folder: Path) -> Iterator[Stage]:
    made = Stage.create(folder / "project")
    assert isinstance(made, Stage)
    yield made
    made.run("verify")
    made.close()


@pytest.mark.proves("S3-WAVE-04", "S3-WAVE-07", "S3-OVR-01")
def test_two_issues_from_the_plan_to_the_end(stage: Stage) -> None:
    stage.play(50, 51, agent=GOOD)
    steps = stage.drive("--parallel")
    assert stage.wave().state == "complete"
    assert steps[-1]["text"]
