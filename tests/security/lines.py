"""A workspace in a plain folder, and the command in this process."""

from __future__ import annotations

import json
import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from moot import Workspace
from moot.surfaces.cli.main import main


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
