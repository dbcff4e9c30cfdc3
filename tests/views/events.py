"""Events, made by hand."""

from __future__ import annotations

from typing import Any

from moot.core.event import Event


def said(text: str, position: int = 1, **more: Any) -> Event:
    """A message as the log has it."""
    fields: dict[str, Any] = {
        "position": position,
        "type": "message:sent",
        "v": 1,
        "stream": f"message/m-{position:07}",
        "prev": 0,
        "at": "2030-01-01T12:00:00.000Z",
        "by": "Ada#1",
        "data": {"text": text, "kind": "note", "sender": "Ada#1", "to": ["Bob"], "wants": "nothing"},
        "cause": None,
        "thread": None,
        "pack": None,
        "commit": f"commit-{position}",
        "n": 0,
    }
    return Event(**{**fields, **more})
