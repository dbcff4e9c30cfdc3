"""Events as an export has them, written by hand or changed: what somebody may try to import."""

from __future__ import annotations

import json
import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from moot import Workspace
from moot.surfaces.cli.main import main

CORPUS = Path(__file__).parent / "corpus"
SOURCE = "urn:uuid:00000000-0000-4000-8000-000000000000"


class Story:
    """Lines that are in order and belong together, whatever they say."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._versions: dict[str, int] = {}

    def add(self, stream: str, type_: str, data: dict[str, Any], **more: Any) -> Story:
        """One more commit of one event."""
        return self.commit((stream, type_, data), **more)

    def commit(self, *events: tuple[str, str, dict[str, Any]], **more: Any) -> Story:
        name = f"{len(self.lines) + 1:026d}"
        for n, (stream, type_, data) in enumerate(events):
            position = len(self.lines) + 1
            line = {
                "specversion": "1.0",
                "id": f"{name}.{n}",
                "source": SOURCE,
                "type": type_,
                "subject": stream,
                "time": "2031-05-08T09:30:00.125Z",
                "datacontenttype": "application/json",
                "mootposition": position,
                "mootprev": self._versions.get(stream, 0),
                "mootby": "person:anna",
                "mootcommit": name,
                "mootn": n,
                "mootof": len(events),
                "mootv": 1,
                "data": data,
            }
            self._versions[stream] = position
            self.lines.append({**line, **more})
        return self

    def write(self, path: Path) -> Path:
        return write(path, self.lines)


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def workspace(place: Path) -> Path:
    """A place with an empty workspace, that is no repository."""
    place.mkdir(parents=True)
    (place / "moot.toml").write_text("")
    Workspace.init(place).close()
    return place


def moot(place: Path, *words: str) -> tuple[int, str]:
    """The command in this process: its exit code, and all that it said. A mistake of moot itself fails the test."""
    said = StringIO()
    before = os.getcwd()
    os.chdir(place)
    try:
        with redirect_stdout(said), redirect_stderr(said):
            code = main(words)
    finally:
        os.chdir(before)
    assert "internal_error" not in said.getvalue(), (words, said.getvalue())
    return code, said.getvalue()
