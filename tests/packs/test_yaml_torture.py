"""Whatever happens to the YAML file of a document, nothing in it is lost or stored twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from moot.testing.rehearsal import Rehearsal, rehearse
from tests.kit.packs import load
from tests.kit.torture import TORTURES, Subject, torture

PACK = """
name = "notes"
title = "Notes"

[mirrors.board]
path = ".notes/board.yml"
form = "document"
emptied = "restore"
fields = { initial = { notes = {}, last = "end" }, order = { "" = ["notes"] } }
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsal]:
    root = tmp_path / "notes"
    (root / "pack").mkdir(parents=True)
    (root / "pack" / "pack.toml").write_text(PACK)
    (root / "moot.toml").write_text('packs = ["notes"]\n[pack.notes]\npath = "pack"\n[mirrors]\ntorn_after = "10m"\n')
    monkeypatch.setenv("MOOT_PERSON", "1")
    generator = rehearse(root, monkeypatch.delenv)
    yield next(generator)
    next(generator, None)


class Board(Subject):
    """A mapping of notes, edited as text: the rest of the file stays as it is."""

    json = False

    def add(self, root: str, number: int) -> None:
        text = self.read(root).decode("utf-8-sig").replace("\r\n", "\n").replace("notes: {}\n", "notes:\n")
        self.write(root, text.replace("notes:\n", f"notes:\n  note-{number}: {number}\n", 1).encode())

    def stored(self) -> int:
        changes = self.events("document:changed")
        return sum(pointer.startswith("/notes/note-") for change in changes for pointer in change.data["set"])

    def shown(self, root: str) -> int:
        return len(yaml.safe_load(self.read(root))["notes"])

    def empty(self, root: str) -> None:
        self.write(root, b"{}\n")


@pytest.mark.parametrize("name", TORTURES)
def test_nothing_in_a_yaml_document_is_lost_or_stored_twice_whatever_happens_to_its_file(
    notes: Rehearsal, name: str
) -> None:
    torture(Board(notes, load(Path(notes.path) / "pack").mirrors[0]), name)
    assert [held.reason for held in notes.person.held()] == []
