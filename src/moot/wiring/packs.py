"""The packs that ship with moot: where they are, and their parsed form, cached by the signature of their files."""

from __future__ import annotations

import os
import sys

from moot.api.protocol.loading import pack_of
from moot.core.errors import Unavailable, Usage
from moot.engine import caches
from moot.private_files import check_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.pack import Pack, Protocol

SHIPPED = ("orchestrator",)
_PACKS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "packs")


def protocol(pack: Pack) -> Protocol:
    from moot.packs.orchestrator.protocol import Orchestrator

    return {"orchestrator": Orchestrator}[pack.name](pack)


def pack(name: str, state: str, *, keep: bool = True) -> Pack:
    """A pack, from its parsed form in the cache if its files are still the same."""
    if name not in SHIPPED:
        raise Usage("unknown_pack", f"moot.toml names the pack {name!r}.", f"Known are: {', '.join(SHIPPED)}.")
    cache = os.path.join(state, "cache", f"pack-{name}.json")
    kept = caches.recall(cache)
    try:
        if kept["signature"] == _signature(name, kept["schemas"]):
            return pack_of(kept["pack"], kept["schemas"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # no cache, or of another version: parse
    data, schemas = _parsed(name)
    if keep:
        _keep(state, name, {"signature": _signature(name, schemas), "pack": data, "schemas": schemas})
    return pack_of(data, schemas)


def _signature(name: str, schemas: Mapping[str, Any]) -> list[list[Any]]:
    """What the parsed form was made from, and by which version of moot."""
    found: list[list[Any]] = [[sys.modules["moot"].__version__]]  # loaded before all else; nothing inside imports it
    for file in ("pack.toml", *sorted(schemas)):
        seen = os.stat(os.path.join(_PACKS, name, file))
        found.append([file, seen.st_ino, seen.st_size, seen.st_mtime_ns])
    return found


def _parsed(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    import json
    import tomllib

    from moot.core.schema import check_schema
    from moot.engine.settings_parse import size

    with open(os.path.join(_PACKS, name, "pack.toml"), "rb") as file:
        data = tomllib.load(file)
    schemas = {}
    for message in data.get("messages", {}).values():
        with open(os.path.join(_PACKS, name, message["schema"]), encoding="utf-8") as file:
            schemas[message["schema"]] = json.load(file)
        check_schema(schemas[message["schema"]])
    if "limits" in data:
        data["limits"]["message"] = size(data["limits"]["message"])
    return data, schemas


def _keep(state: str, name: str, content: dict[str, Any]) -> None:
    try:
        check_folders(state, "cache", make=True)
        caches.keep(os.path.join(state, "cache", f"pack-{name}.json"), content)
    except (OSError, Unavailable):
        return  # a cache that cannot be written is none
