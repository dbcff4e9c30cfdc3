"""The words of a protocol are its pack's: no other room of the house knows them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import moot

SOURCE = Path(moot.__file__).parent
ROOMS = ("core", "api", "engine", "log", "logs", "mirrors", "surfaces", "testing", "views")
OUTRIGHT = ("taskId", "lastRead", "@developer", "team-lead", "buildResult", "completion_report", "filesToCreate")


def properties(schema: Any) -> Iterator[str]:
    """The names of all fields in a schema, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from properties(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from properties(part)


def words_of(folder: Path) -> set[str]:
    """What a pack calls things in a way that nobody else would: not `title`, but `taskId` and `in_progress`."""
    pack = tomllib.loads((folder / "pack.toml").read_text())
    found = [*pack.get("messages", {}), *(f"@{role}" for role in pack.get("roles", {}))]
    for life in (pack.get("lifecycle", {}), *pack.get("lifecycles", {}).values()):
        found += life.get("states", {})
    for mirror in pack.get("mirrors", {}).values():
        found += [str(word) for word in mirror.get("fields", {}).values()] + mirror["path"].split("/")
    for file in folder.glob("messages/*.json"):
        found += properties(json.loads(file.read_text()))
    return {word for word in found if re.search("[a-z][A-Z]|[_@-]", word)}


def packs() -> list[Path]:
    return [file.parent for file in (SOURCE / "packs").glob("*/pack.toml")]


def test_the_words_that_are_looked_for_are_those_of_the_protocol() -> None:
    words = words_of(SOURCE / "packs" / "orchestrator")
    assert {"taskId", "buildResult", "completion_report", "in_progress", "lastRead", "@developer"} <= words


@pytest.mark.parametrize("folder", packs(), ids=lambda folder: folder.name)
def test_no_other_room_uses_the_words_of_a_protocol(folder: Path) -> None:
    words = {*words_of(folder), *OUTRIGHT, folder.name}
    pattern = re.compile("|".join(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])" for word in sorted(words)))
    used = [
        f"{file.relative_to(SOURCE)}:{number}: {found[0]}"
        for room in ROOMS
        for file in [*(SOURCE / room).rglob("*"), SOURCE / f"{room}.py"]
        if file.is_file() and file.suffix in (".py", ".sql", ".toml", ".json", ".md", ".txt")
        if not file.match("api/verbs/runs/run.py")  # the examples of `moot run` name a pack that drives agents
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if (found := pattern.search(line))
    ]
    assert used == []
