"""Measures how fast Ruby files are parsed and analysed, beside Ripper on the same files.

The files are the libraries that are installed with Ruby: the same share of them in every run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from common import Row, interleaved

from moot.core.errors import Refused
from moot.packs.rspec.characteristics import characteristics_of
from moot.packs.ruby.declarations import declarations
from moot.packs.ruby.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspaces import Stage

FOLDERS = ("/usr/lib/ruby", "/usr/share/rubygems-integration")
RIPPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ripper.rb")
_FILES, _FEW = 330, 5


def measure(stage: Stage) -> list[Row]:
    paths = _paths(_FILES if stage.size.seconds else _FEW)
    if not paths or shutil.which("ruby") is None:
        return [
            Row(name, None, unit, None, f"{what}: not measured, ruby is not installed.") for name, unit, what in _ROWS
        ]
    sources = [_read(path) for path in paths]
    lines = sum(source.count(b"\n") for source in sources)
    rounds = interleaved(
        {
            "parse": lambda: _timed(sources, analysing=False),
            "analyse": lambda: _timed(sources, analysing=True),
            "ripper": lambda: _ripper(paths),
        },
        0,
        stage.size.repeats * 3,
    )
    against = rounds.ratio("analyse", "ripper")
    values = {
        "ruby.parse": lines / rounds.median("parse"),
        "ruby.analyse": lines / rounds.median("analyse"),
        "ruby.ripper": lines / rounds.median("ripper"),
        "ruby.analyse_against_ripper": against.median,
    }
    about = f"{len(paths)} files, {lines:,} lines"
    notes = {"ruby.analyse_against_ripper": f", {against}"}
    return [Row(name, values[name], unit, None, f"{what}: {about}{notes.get(name, '')}.") for name, unit, what in _ROWS]


_ROWS = (
    ("ruby.parse", "lines/s", "Syntax tree, classes, methods and visibility"),
    ("ruby.analyse", "lines/s", "The same, and the characteristics of every method"),
    ("ruby.ripper", "lines/s", "For comparison: the syntax trees of Ripper, Ruby's own parser"),
    ("ruby.analyse_against_ripper", "x", "Time to parse and analyse, against Ripper's time to parse"),
)


def _paths(count: int) -> list[str]:
    found = set()
    for folder in FOLDERS:
        for directory, _, names in os.walk(folder):
            found |= {os.path.realpath(os.path.join(directory, name)) for name in names if name.endswith(".rb")}
    paths = sorted(path for path in found if os.path.isfile(path))
    return paths[:: max(1, len(paths) // count)][:count]


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _timed(sources: Sequence[bytes], *, analysing: bool) -> float:
    start = time.perf_counter()
    for data in sources:
        found = declarations(parse(data))
        if analysing:
            for method in found.methods:
                try:
                    characteristics_of(method, method.owner)
                except Refused:  # too complex
                    continue
    return time.perf_counter() - start


def _ripper(paths: Sequence[str]) -> float:
    asked = "\n".join(paths)
    run = subprocess.run(
        ["ruby", "-W0", RIPPER], input=asked, capture_output=True, text=True, timeout=600, check=True, encoding="utf-8"
    )
    return float(run.stdout)
