"""The JSON Schema of documents, and of the data in each agent's answer."""

from __future__ import annotations

import json
import os
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@cache
def document_schema() -> dict[str, Any]:
    with open(os.path.join(os.path.dirname(__file__), "document.json"), encoding="utf-8") as file:
        schema: dict[str, Any] = json.load(file)
    return schema


@cache
def answer_schema(agent: str) -> dict[str, Any]:
    """The schema of `data` in the answer of an agent."""
    return {"$ref": f"#/$defs/{agent}", "$defs": document_schema()["$defs"]}
