"""Runs and seats that were imported as still open: their process is dead here, so they keep nobody from working."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.security.lines import CORPUS, moot, read, workspace, write

pytestmark = pytest.mark.usefixtures("person")

BEFORE = [*read(CORPUS / "documents.jsonl"), *read(CORPUS / "feeds-and-runs.more")]
PACK = """
name = "counts"
title = "Counts"
version = "1.0"

[pipeline.files]
report = "reports/{stem}.md"

[[stage]]
name = "report"
agent = "required"
answer = "exit"
reads = ["source"]
writes = ["report"]
"""
COPY = "import os, shutil, sys; os.makedirs('reports', exist_ok=True); shutil.copy(*sys.argv[1:])"


def pipeline(place: Path) -> Path:
    """A workspace with a pipeline for src/a.txt, as the corpus has it."""
    workspace(place)
    (place / "pack").mkdir()
    (place / "src").mkdir()
    (place / "pack" / "pack.toml").write_text(PACK)
    (place / "src" / "a.txt").write_text("text\n")
    command = json.dumps([sys.executable, "-c", COPY, "{source}", "{report}"])
    settings = f'packs = ["counts"]\n[pack.counts]\npath = "pack"\n[run.counts]\nreport = {command}\n'
    (place / "moot.toml").write_text(settings)
    return place


def open_run(lines: int, **changed: Any) -> list[dict[str, Any]]:
    """The first events of the run on src/a.txt: opened, seat asked for, granted, stage started."""
    found = [line for line in read(CORPUS / "pipelines.more") if line["type"] != "moot.blob"][:lines]
    return [
        {**line, "data": {**line["data"], **{k: v for k, v in changed.items() if k in line["data"]}}} for line in found
    ]


@pytest.mark.parametrize(
    "driver", ["p-2b90239bcd14", "", "../../moot.toml", ".", "p-" + "0" * 12, "x" * 150, "a b", "$(touch x)"]
)
@pytest.mark.parametrize("lines", [4, 5], ids=["opened", "started"])
def test_a_seat_that_was_imported_keeps_nobody_from_working(tmp_path: Path, driver: str, lines: int) -> None:
    place = pipeline(tmp_path / "place")
    code, said = moot(place, "import", str(write(tmp_path / "x.jsonl", [*BEFORE, *open_run(lines, driver=driver)])))
    if code:
        assert "[bad_import]" in said
        return
    assert "interrupted" in moot(place, "run", "status")[1]
    assert moot(place, "allow", "counts.report", "--yes")[0] == 0
    code, said = moot(place, "run", "counts", "src/a.txt")
    assert code == 0, said
    assert (place / "reports" / "a.md").read_text() == "text\n"
    assert moot(place, "verify")[0] == 0
    assert (place / "moot.toml").exists()
