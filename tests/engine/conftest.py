"""What the tests of the engine share: machines on real logs, closed again at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.harness import Machine, join


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """One machine, its log and its views in one place, with Yeats and Keats."""
    made = Machine(tmp_path / "state", tmp_path / "state")
    made.does(join("Yeats"), join("Keats", roles=("reviewer",)))
    yield made
    made.close()


@pytest.fixture
def opened() -> Iterator[Callable[[Machine], Machine]]:
    """The place of a machine, opened once more."""
    made: list[Machine] = []

    def another(machine: Machine) -> Machine:
        made.append(machine.again())
        return made[-1]

    yield another
    for one in made:
        one.close()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Callable[[], Machine]]:
    """Machines that share one log without any lock, each with views of its own."""
    made: list[Machine] = []

    def another() -> Machine:
        made.append(Machine(tmp_path / "log", tmp_path / f"views-of-{len(made)}", exclusive=False))
        return made[-1]

    yield another
    for one in made:
        one.close()
