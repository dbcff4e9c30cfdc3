"""The parsed form of a pack is kept, and made anew when anything that it was made from is another."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from moot.place import caches
from moot.wiring import packs

SCHEMA = "messages/task_assignment.json"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the pack that a test may change."""
    copy = tmp_path / "packs" / "orchestrator"
    # Other processes write compiled files there at the same time.
    shutil.copytree(os.path.join(packs._PACKS, "orchestrator"), copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(packs, "_PACKS", str(copy.parent))
    return copy


def parses(state: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Open the pack; say whether it was parsed for that."""
    parsed: list[str] = []
    parse = packs._parsed

    def noted(name: str, source: packs.Source, place: None) -> object:
        parsed.append(name)
        return parse(name, source, place)

    monkeypatch.setattr(packs, "_parsed", noted)

    def opened() -> bool:
        parsed.clear()
        packs.pack("orchestrator", str(state))
        return bool(parsed)

    return opened


@pytest.mark.parametrize("file", ["pack.toml", SCHEMA])
def test_a_changed_file_is_parsed_again(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    opened = parses(tmp_path, monkeypatch)
    assert [opened(), opened()] == [True, False]
    path = installed / file
    path.write_text(path.read_text() + "\n")
    assert [opened(), opened()] == [True, False]


def test_another_version_of_moot_parses_again(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = parses(tmp_path, monkeypatch)
    assert [opened(), opened()] == [True, False]
    monkeypatch.setattr(sys.modules["moot"], "__version__", "99.0")
    assert opened()


@pytest.mark.parametrize("kept", ["", "[]", "{}", '{"signature": [], "schemas": 7}', '{"schemas": {"gone.json": {}}}'])
def test_a_cache_that_is_none_is_parsed_over(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    cache = tmp_path / "cache" / "pack-orchestrator.json"
    cache.parent.mkdir()
    if kept:
        caches.keep(str(cache), json.loads(kept))
    opened = parses(tmp_path, monkeypatch)
    assert [opened(), opened()] == [True, False]
    assert SCHEMA in caches.recall(str(cache))["schemas"]


def test_a_cache_in_which_a_letter_is_wrong_is_parsed_over(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = parses(tmp_path, monkeypatch)
    assert [opened(), opened()] == [True, False]
    cache = tmp_path / "cache" / "pack-orchestrator.json"
    written = cache.read_bytes()
    cache.write_bytes(written.replace(b"reviewer", b"reviewex", 1).replace(b"lead", b"leak", 1))
    assert cache.read_bytes() != written
    assert [opened(), opened()] == [True, False]
    assert cache.read_bytes() == written
