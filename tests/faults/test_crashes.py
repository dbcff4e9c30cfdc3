"""A process ends at any single operation of its disk. The next start is clean, and nothing acknowledged is gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults import health, scripts

if TYPE_CHECKING:
    from tests.faults.crew import Worker

STEP = 13  # every so many operations; `make soak` takes all of them, and test_power_loss.py what each of them leaves


def played(keeper: Worker, place: str, script: str, **how: Any) -> tuple[int, list[Any]]:
    """How the script ended, and what was acknowledged until then."""
    root = os.path.join(place, "now")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(os.path.join(place, "before"), root)
    life = keeper.ask("live", work="play", arguments={"root": root, "script": script, **how})
    return life["code"], [json.loads(line) for line in life["said"].splitlines()]


def at_each_operation(keeper: Worker, place: str, script: str, step: int, torn: bool) -> None:
    scripts.prepare(os.path.join(place, "before"), script)
    code, said = played(keeper, place, script)
    assert code == 0
    operations = said.pop()
    assert operations > 20
    for number in range(1 + torn, operations + 1, step):
        code, said = played(keeper, place, script, die_at=number, torn=torn)
        where = f"{script}, operation {number} of {operations}"
        assert code == -signal.SIGKILL, where
        assert health.wrong(os.path.join(place, "now"), script, said) is None, where


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("torn", [False, True], ids=["before", "in the middle of"])
@pytest.mark.parametrize("script", scripts.SCRIPTS)
def test_a_process_that_ends_at_an_operation_of_its_disk_loses_nothing(keeper, place, script, torn):
    at_each_operation(keeper, place, script, STEP, torn)


@pytest.mark.soak
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("torn", [False, True], ids=["before", "in the middle of"])
@pytest.mark.parametrize("script", scripts.SCRIPTS)
def test_a_process_that_ends_at_any_operation_of_its_disk_loses_nothing(keeper, place, script, torn):
    at_each_operation(keeper, place, script, 1, torn)
