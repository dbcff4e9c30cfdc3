"""Discovery and analysis of Ruby code that nobody here wrote: the libraries that come with Ruby."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from moot.core.errors import MootError
from moot.packs.rspec.analyzer import analyze
from moot.packs.rspec.changes import FILE, ChangedSource, Changes
from moot.packs.rspec.discovery import Plan, discover
from moot.packs.rspec.discovery_documents import documents
from moot.packs.rspec.document_check import errors_of

HOME = Path("/usr/lib/ruby")
FILES = 80
LARGEST = 60_000  # bytes: enough to be real, and quick


def some_files() -> list[Path]:
    found = sorted(Path(folder) / name for folder, _, names in os.walk(HOME) for name in names if name.endswith(".rb"))
    small = [path for path in found if 1000 < path.stat().st_size < LARGEST]
    return small[:: max(1, len(small) // FILES)]


def _plan(source: ChangedSource) -> Plan | None:
    """The plan; None if the file has no public method."""
    try:
        return discover(Changes(mode=FILE, sources=(source,)))
    except MootError as error:
        if error.code != "no_testable_methods":
            raise
        return None


@pytest.mark.skipif(shutil.which("ruby") is None or not HOME.is_dir(), reason="ruby is not installed")
def test_every_method_of_foreign_files_gives_a_valid_document() -> None:
    analysed = 0
    for path in some_files():
        data = path.read_bytes()
        source = ChangedSource(path=f"lib/{path.name}", data=data, old=data)
        plan = _plan(source)
        if plan is None:
            continue
        items = [item for wave in plan.answer["method_waves"] for item in wave["items"]]
        try:
            found = [(part, analyze(part.values, data, 1, part.slug)) for part in documents(plan.answer)]
        except MootError as error:
            if error.code != "method_too_complex":
                raise
            continue
        for part, analysis in found:
            assert errors_of({**part.values, **analysis.data}) == [], path
        assert sum(len(analysis.data["methods"]) for _, analysis in found) == len(items)
        analysed += len(items)
    assert analysed > 300
