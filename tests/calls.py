"""A call in a workspace of its own, as the command line opens one; it may run several verbs, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moot.core.identity import Caller, decide
from moot.wiring import open_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.api.call import Call


def open_call(
    cwd: str,
    env: Mapping[str, str],
    *,
    caller: Caller | None = None,
    agent: str | None = None,
    incarnation: int | None = None,
    **more: Any,
) -> Call:
    """Who calls is `caller`, or what the environment says beside `agent` and `incarnation`."""
    who = caller or decide(env, agent=agent, incarnation=incarnation)
    return open_workspace(cwd, env, **more).call(who)
