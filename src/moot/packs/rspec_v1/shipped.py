"""The data that the pack ships: the 28 rules, exit codes, path and cache rules, and the schema of the document."""

from __future__ import annotations

import os

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOLDER = os.path.join(os.path.dirname(__file__), "data")
_comments: dict[str, str] = {}


class Rule(Record):
    """A rule of the review. `checked` is `program` or `reader`; `needs` is `document` or empty."""

    number: int
    title: str
    severity: str
    checked: str
    needs: str = ""


def rules() -> tuple[Rule, ...]:
    return tuple(Rule(**entry) for entry in _toml("rules.toml")["rule"])


def contract() -> dict[str, Any]:
    """Exit codes, paths and cache steps, as lists of tables."""
    return _toml("contract.toml")


def comments() -> dict[str, str]:
    """The comments of the skeleton, by what they are about."""
    if not _comments:
        _comments.update(_toml("skeleton.toml"))
    return _comments


def schema() -> dict[str, Any]:
    """The JSON Schema of the metadata document."""
    import json

    with open(os.path.join(_FOLDER, "metadata.schema.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def _toml(name: str) -> dict[str, Any]:
    import tomllib

    with open(os.path.join(_FOLDER, name), "rb") as file:
        return tomllib.load(file)
