"""Idempotency keys. Loaded only by calls that have one."""

from __future__ import annotations

import hashlib  # noqa: TID253 (few calls load this module)
import json

from moot.core import principal as principals
from moot.core.event import Key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def key_of(verb: str, name: str, arguments: Mapping[str, Any], cwd: str, scope: str | None) -> Callable[[str], Key]:
    """A function that makes the key, given the principal. The key is scoped to the principal's name, or to `scope`."""

    def key(principal: str) -> Key:
        # Paths are relative to the caller, so the same arguments in another directory are another request.
        here = cwd if any(arguments.get(given) for given in ("path", "paths", "what")) else None
        request = json.dumps([verb, arguments, here], sort_keys=True, default=str)
        digest = hashlib.sha256(request.encode()).hexdigest()
        return Key(scope=scope or principals.name_of(principal), name=name, digest=digest)

    return key
