"""Doing to the world what an effect asks for: commands, functions and webhooks. Nothing here knows the log.

Each of them takes as long as it takes, but not longer than its timeout, and answers with a `Result`. They are called in
threads of their own, so they share nothing.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event as Flag
    from typing import Any

    from moot.core.handler import Handler
    from moot.effects.exact import Exact


class Result(Record):
    """What came of it. `after`: seconds that the receiver asks to wait; `hopeless`: it need not be tried again."""

    ok: bool
    detail: str = ""
    after: float = 0.0
    hopeless: bool = False
    stopped: bool = False  # the runner was told to end


class EffectAttempt(Record):
    """One attempt at one effect."""

    handler: Handler
    event: Mapping[str, Any]
    key: str
    attempt: int
    root: str
    env: Mapping[str, str]
    cancel: Flag
    exact: Exact | None = None  # commands and functions: what a person allowed, with the bytes of its files
    hold: int | None = None  # a file that what is started keeps open, as a sign that it goes on


def perform(job: EffectAttempt) -> Result:
    if job.handler.kind == "url":
        from moot.effects.performers.webhook import post

        return post(job)
    from moot.effects.performers.command import run

    return run(job)


def missing(handler: Handler, env: Mapping[str, str]) -> str | None:
    """What this machine lacks to perform it: then it waits, and no attempt is used up."""
    if handler.secret_env is None:
        return None
    if env.get(handler.secret_env):
        return None  # if it is not good, the attempt says so
    return f"{handler.secret_env} does not hold a signing secret. {NEW_SECRET}"


NEW_SECRET = 'Make one: `echo "whsec_$(head -c 32 /dev/urandom | base64)"`'  # noqa: S105 (a command that prints one)
