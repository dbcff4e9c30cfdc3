"""Verbs with --at: read-only, and nothing is recorded as shown."""

from __future__ import annotations

from moot.time_travel import read_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.catalogue import Verb


def asked_of(verb: Verb, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that make the verb read-only; refused if it cannot be."""
    looks = not verb.writes if verb.past is None else verb.past
    if not looks or not verb.opens:
        raise read_only(f"`{verb.name}`")
    if given.get("follow") or given.get("wait"):
        raise read_only("What is still to come")
    return {**given, "peek": True} if "peek" in given else given
