"""Reads requirement files, and pins them: a requirement that is added, removed or reworded does not go unnoticed.

A pin holds a digest of each requirement and of its file. Digests are taken from the parsed content, so comments and
layout may change.
"""

from __future__ import annotations

import hashlib  # noqa: TID253 (only tests load this package)
import json
import tomllib  # noqa: TID253
from dataclasses import dataclass  # noqa: TID253
from pathlib import Path  # noqa: TID253
from typing import Any  # noqa: TID253

SHORT = 16


@dataclass(frozen=True)
class Requirement:
    id: str
    group: str  # the protocol that it belongs to
    must: str


@dataclass(frozen=True)
class Pin:
    """The content of one file: a digest of the whole, and one of each entry by its id."""

    sha256: str
    ids: dict[str, str]


def read_requirements(place: Path) -> dict[str, Requirement]:
    """All requirements of a file, or of the files in a folder, by id and in order."""
    found: dict[str, Requirement] = {}
    for path in _files(place):
        data = _parsed(path)
        group = f"S{data['spec']['number']} {data['spec']['pack']}"
        for entry in data["requirement"]:
            if entry["id"] in found:
                raise ValueError(f"{path.name}: {entry['id']} occurs twice")
            found[entry["id"]] = Requirement(entry["id"], group, entry["must"])
    return found


def pin_requirements(place: Path) -> dict[str, Pin]:
    """The content of each requirement file, by its name."""
    pins = {}
    for path in _files(place):
        data = _parsed(path)
        ids = {entry["id"]: _digest(entry)[:SHORT] for entry in data["requirement"]}
        pins[path.name] = Pin(_digest(data), ids)
    return pins


def pin_table(entries: dict[str, Any]) -> Pin:
    """The content of a table whose keys are ids."""
    return Pin(_digest(entries), {name: _digest(entry)[:SHORT] for name, entry in entries.items()})


def read_pins(path: Path) -> dict[str, Pin]:
    """The pins in a file, each checked against its own count."""
    pins = {}
    for name, table in _parsed(path).items():
        if table["count"] != len(table["ids"]):
            raise ValueError(f"{path.name}: {name} has {len(table['ids'])} ids, its count is {table['count']}")
        pins[name] = Pin(table["sha256"], dict(table["ids"]))
    return pins


def write_pins(path: Path, pins: dict[str, Pin], comment: str) -> None:
    lines = [f"# {line}" for line in comment.splitlines()]
    for name, pin in pins.items():
        lines += ["", f"[{json.dumps(name)}]", f"count = {len(pin.ids)}", f'sha256 = "{pin.sha256}"']
        lines += ["", f"[{json.dumps(name)}.ids]", *(f'{json.dumps(key)} = "{pin.ids[key]}"' for key in pin.ids)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def differences(before: dict[str, Pin], now: dict[str, Pin]) -> list[str]:
    """What is not as it was, one line for each id."""
    said = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, Pin("", {})), now.get(name, Pin("", {}))
        if old == new:
            continue
        changes = {"added": new.ids.keys() - old.ids.keys(), "removed": old.ids.keys() - new.ids.keys()}
        changes["changed"] = {key for key in old.ids.keys() & new.ids.keys() if old.ids[key] != new.ids[key]}
        lines = [f"{name}: {key} was {what}" for what, keys in changes.items() for key in sorted(keys)]
        said += lines or [f"{name}: something beside its {len(new.ids)} entries, or their order, was changed"]
    return said


def _files(place: Path) -> list[Path]:
    return sorted(place.glob("*.toml")) if place.is_dir() else [place]


def _parsed(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
