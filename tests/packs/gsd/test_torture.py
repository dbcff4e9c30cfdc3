"""Nothing is lost or stored twice, whatever happens to the files of the blackboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import moot
from moot.testing.rehearsal import Rehearsal, rehearse
from tests.kit.packs import load
from tests.kit.torture import TORTURES, Subject, torture

FOLDER = Path(moot.__file__).parent / "packs" / "gsd"


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsal]:
    root = tmp_path / "stage"
    root.mkdir()
    generator = rehearse(root, monkeypatch.delenv, "gsd")
    rehearsal = next(generator)
    monkeypatch.setenv("MOOT_PERSON", "1")
    yield rehearsal
    next(generator, None)


def mirror(name: str) -> Any:
    from moot.packs.gsd.protocol import Gsd

    return next(one for one in load(FOLDER, Gsd).mirrors if one.name == name)


class Events(Subject):
    """The event file. Each event is appended without a number."""

    def add(self, root: str, number: int) -> None:
        event = {"type": "task:started", "agent": "a", "plan": "01-02", "task": number + 1, "taskName": "x"}
        event["timestamp"] = "2031-01-01T00:00:00Z"
        self.update(root, lambda file: file["events"].append(event))

    def stored(self) -> int:
        return len(self.events("feed:posted"))

    def shown(self, root: str) -> int:
        return len(self.content(root)["events"])

    def empty(self, root: str) -> None:
        self.write(root, b'{"events": [], "lastEventId": 0, "retentionPolicy": "24h"}')


class Context(Subject):
    """Keys that agents put into the shared context themselves."""

    def add(self, root: str, number: int) -> None:
        self.update(root, lambda file: file.update({f"own-{number}": number}))

    def stored(self) -> int:
        changes = self.events("document:changed")
        return sum(pointer.startswith("/own-") for change in changes for pointer in change.data["set"])

    def shown(self, root: str) -> int:
        return sum(key.startswith("own-") for key in self.content(root))


@pytest.mark.parametrize("name", TORTURES)
@pytest.mark.parametrize(
    ("file", "subject"),
    [("events", Events), ("shared-context", Context)],
    ids=str,
)
def test_nothing_is_lost_whatever_happens_to_a_file(
    stage: Rehearsal, file: str, subject: type[Subject], name: str
) -> None:
    torture(subject(stage, mirror(file)), name)
    assert [held.reason for held in stage.person.held()] == []
