"""Performs effects: commands, functions and webhooks. These modules do not use the log.

Each performer returns a `Result` within its timeout. Each call runs in its own thread, so performers share no state.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event as Flag
    from typing import Any

    from moot.core.handler import Handler
    from moot.effects.pinned import PinnedHandler


class Result(Record):
    """The result of an attempt. `after`: seconds the receiver asks to wait; `hopeless`: retrying is pointless."""

    ok: bool
    detail: str = ""
    after: float = 0.0
    hopeless: bool = False
    stopped: bool = False  # the runner was stopped


class EffectInput(Record):
    """What a performer gets: one attempt at one effect."""

    handler: Handler
    event: Mapping[str, Any]
    key: str
    attempt: int
    env: Mapping[str, str]
    cancel: Flag
    pinned: PinnedHandler | None = None  # commands and functions: what a person allowed, with the bytes of its files
    hold: int | None = None  # a lock file that the started process inherits, to show that it still runs


def perform(job: EffectInput) -> Result:
    if job.handler.kind == "url":
        from moot.effects.performers.webhook import post

        return post(job)
    from moot.effects.performers.command import run

    return run(job)


def missing(handler: Handler, env: Mapping[str, str]) -> str | None:
    """What this machine lacks to perform the effect; None if nothing. Waiting for it uses up no attempt."""
    if handler.secret_env is None:
        return None
    if env.get(handler.secret_env):
        return None  # the attempt reports a secret that is not valid
    return f"{handler.secret_env} does not contain a signing secret. {NEW_SECRET}"


NEW_SECRET = 'Create one: `echo "whsec_$(head -c 32 /dev/urandom | base64)"`'  # noqa: S105 (a command that prints one)
