"""Requesting effects: what the handlers want done because of a commit, in that same commit.

Loaded only where moot.toml has handlers. What fits is `moot.core.handler`'s to say.
"""

from __future__ import annotations

from moot.core.deciders.effect import RequestEffect
from moot.core.handler import Handler, requested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from moot.engine.work import Work

_LETTERS = 10  # of the random part of an id: a million of them, and one chance in two thousand that two are the same


def handlers_of(settings: Iterable[Mapping[str, Any]]) -> tuple[Handler, ...]:
    return tuple(Handler.of(fields) for fields in settings)


class Requests:
    """What the engine calls when a commit was decided and is about to be appended."""

    def __init__(self, handlers: tuple[Handler, ...], token: Callable[[int], str]) -> None:
        self.handlers = handlers
        self._token = token

    def __call__(self, work: Work, by: str) -> None:
        for handler, n, draft in requested(tuple(work.drafts), by, self.handlers):
            command = RequestEffect(handler=handler.name, n=n, on=draft.type, stream=draft.stream)
            work.do_effect(f"e-{self._token(_LETTERS)}", command)
