"""The test level of a method, by the classes that it uses."""

from __future__ import annotations

import os
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

UNIT, INTEGRATION, REQUEST = "unit", "integration", "request"


def level_of(path: str, dependencies: Sequence[str]) -> str:
    """`request` for a controller, `integration` for a method that uses two or more classes of the project."""
    if path.startswith("app/controllers/"):
        return REQUEST
    own = [name for name in dependencies if name.partition("::")[0] not in _of_ruby() and not _is_error(name)]
    return INTEGRATION if len(own) > 1 else UNIT


def _is_error(name: str) -> bool:
    return name.endswith(("Error", "Exception"))


@cache
def _of_ruby() -> frozenset[str]:
    """The classes of Ruby itself."""
    with open(os.path.join(os.path.dirname(__file__), "data", "ruby_classes.txt"), encoding="utf-8") as file:
        return frozenset(line.strip() for line in file if not line.startswith("#"))
