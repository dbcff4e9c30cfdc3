"""Which parts are real. Only this package knows: everything else meets contracts."""

from __future__ import annotations

import os
import sys

from moot.api.pack import Packs
from moot.api.session import Session
from moot.core.errors import Usage
from moot.core.identity import decide
from moot.core.lifecycle import CORE, reviewed, with_receipts
from moot.core.reactions import later
from moot.core.reactions.departures import departures
from moot.core.reactions.dependencies import dependencies
from moot.engine import place as places
from moot.engine import settings as setting
from moot.engine.clock import Clock
from moot.engine.loop import Engine
from moot.engine.presence import Presence
from moot.logs.sqlite import SqliteLog
from moot.logs.sqlite.file import NAME, RESTORING
from moot.views.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.api.answer import Notice
    from moot.core.identity import Caller
    from moot.core.lifecycle import Lifecycle
    from moot.engine.place import Place
    from moot.engine.requests import Requests
    from moot.engine.rules import Rules
    from moot.engine.settings import Settings
    from moot.log import Log


RECEIPTS = '{"tasks.receipt":true}'  # as `moot.core.deciders.settings` writes it, where nothing else is set


def open_session(
    cwd: str,
    env: Mapping[str, str],
    *,
    caller: Caller | None = None,
    agent: str | None = None,
    incarnation: int | None = None,
    paths: Sequence[str] = (),
    clock: Clock | None = None,
    at: str | int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    reading: bool = False,
    via: str = "python",
    named: bool = False,
) -> Session:
    """A session in the workspace of `paths`, or of `cwd`; with `at`, in its past.

    With `reading` it only looks, and leaves no trace in any file. `via` is what its commits say about how they came in.
    `named` says that the caller named `cwd`. Who calls is `caller`, or what the environment says beside `agent` and
    `incarnation`.
    """
    caller = caller or decide(env, agent=agent, incarnation=incarnation)
    place = _found(cwd, env, paths, named=named)
    settings = setting.load(place, keep=not reading)
    packs = _packs(settings, place.state, keep=not reading)
    clock = clock or Clock()
    reactions = (dependencies, departures, later, *packs.reactions())
    real = _opened(place.state, progress, reading=reading, at=at)
    log: Log = real
    presence, then, past = Presence(place.state, clock), None, None
    if at is not None:
        from moot.wiring.past import go_back

        # The incarnation is the caller's of today; then, it may have been another one.
        caller = caller.replace(incarnation=None)
        past, store, clock, presence, then = go_back(log, place.state, at, clock, progress)
    elif reading:
        from moot.views.private_copy import PrivateCopy

        store = PrivateCopy(place.state, monotonic=clock.monotonic)
    else:
        store = Store(place.state)
    engine = Engine(past or log, store, clock, _lifecycles(settings, packs), reactions)
    if past is not None:
        engine.whole = past.whole
    engine.requests = _requests(settings, env) if settings.handlers else None
    engine.lookups |= _lookups(presence)
    engine.via, engine.progress = via, progress
    parts = (place, settings, engine, presence, packs, caller, cwd)
    session = _traced(parts, env) if _is_traced(env) else Session(*parts)
    session.env, session.identity = env, lambda: real.archive.identity()  # noqa: PLW0108 (imported when it is asked)
    _rule(session)
    session.progress, session.past = progress or session.progress, then
    session.standing = () if place.main_root else _elsewhere(place)
    if packs.mirrors and then is None and not reading:
        from moot.mirrors.sync import FileMirrors

        session.mirrors = FileMirrors(session)
    return session


def _lookups(presence: Presence) -> dict[str, Callable[[Any], Any]]:
    """Where a decision's facts come from: see `moot.engine.facts`."""

    def account(name: str) -> bool:
        from moot.engine.account import exists

        return exists(name)

    return {"silence": presence.silence_of, "stamp": lambda who: presence.stamp(*who), "account": account}


def _requests(settings: Settings, env: Mapping[str, str]) -> Requests:
    from moot.engine.requests import Requests, handlers_of

    return Requests(handlers_of(settings.handlers), env.get("MOOT_EFFECT_KEY"))


def _found(cwd: str, env: Mapping[str, str], paths: Sequence[str], *, named: bool) -> Place:
    """The place, which has a log: nothing is kept beside one that is not there."""
    place = places.for_paths(paths, cwd, env, named=named) if paths else places.find(cwd, env, named=named)
    if os.path.lexists(os.path.join(place.state, NAME)):
        return place
    from moot.wiring.missing import no_log

    raise no_log(place, cwd)


def _elsewhere(place: Place) -> tuple[Notice, ...]:
    """A warning for one whose worktree has other settings than the workspace."""
    from moot.api.answer import Notice
    from moot.engine.settings_bare import ignored, lost

    source = setting.source(place)
    gone = lost(place)
    if gone is not None:
        held = f"those in {source} hold" if source else "there are none now"
        return (
            Notice(
                "settings_lost",
                f"The worktree {gone}, whose settings were those of the workspace, is not there any more: {held}. "
                "If it was moved, run `git worktree repair` in it; else `moot init` in the one whose settings are to "
                "hold.",
            ),
        )
    mine = ignored(place, source)
    if mine is None:
        return ()
    held = f"those in {source} hold" if source else "the workspace has none"
    return (Notice("settings_ignored", f"The settings in {mine} are not used: {held}, for all worktrees."),)


def _lifecycles(settings: Settings, packs: Packs) -> dict[str, Lifecycle]:
    found = {"core": CORE.replace(attempts=0), **packs.lifecycles()}
    return {
        name: life if life.attempts else life.replace(attempts=settings.task_attempts) for name, life in found.items()
    }


def _rule(session: Session) -> None:
    """Put the rules in force. What weakens one needs a person's word, and few settings do (`moot.engine.rules`)."""
    engine, settings = session.engine, session.settings
    core, packs = engine.lifecycles["core"], {name: one for name, one in engine.lifecycles.items() if name != "core"}

    def judge(recorded: str) -> Rules:
        from moot.wiring.ruling import consent, rules_of

        known = lambda: consent(session.place, session.env, session.identity()).known()  # noqa: E731 (asked if need be)
        rules = rules_of(session.place, settings, (core, packs), known, recorded)
        session.settings = settings.replace(
            task_review=rules.settings.task_review,
            task_receipt=rules.settings.task_receipt,
            task_lifecycle=rules.settings.task_lifecycle,
        )
        session.withheld = rules.withheld
        return rules

    engine.judge = judge
    if not settings.task_review or not all(map(reviewed, packs.values())):
        rules = judge("")
        engine.lifecycles, engine.in_force = rules.lifecycles, rules.text
    elif settings.task_receipt:
        engine.lifecycles, engine.in_force = {"core": with_receipts(core), **packs}, RECEIPTS


open_log: Callable[..., Log] = SqliteLog  # `moot.testing.memory_log` puts another one in its place


def _opened(
    state: str, progress: Callable[[str, int, int], None] | None, *, reading: bool, at: str | int | None
) -> Log:
    log = open_log(state, reading=reading and at is None, progress=progress)
    if not reading and os.path.exists(os.path.join(state, RESTORING)):
        from moot.logs.sqlite.restore import tidy

        tidy(state)  # somebody restores it, or was killed while doing so
    return log


def _is_traced(env: Mapping[str, str]) -> bool:
    """Whether there is a trace to carry on, or somebody who wants spans: see `moot.engine.tracing`."""
    return "TRACEPARENT" in env or "opentelemetry" in sys.modules or "OTEL_PYTHON_TRACER_PROVIDER" in env


def _traced(parts: tuple[Any, ...], env: Mapping[str, str]) -> Session:
    from moot.api.traced import TracedSession

    session = TracedSession(*parts)
    session.trace_with(env)
    return session


def _packs(settings: Settings, state: str, *, keep: bool) -> Packs:
    for name, table in settings.pack_settings.items():
        if table:
            raise Usage(
                "bad_settings",
                f"moot.toml sets {', '.join(f'pack.{name}.{key}' for key in table)}; the pack has no such settings.",
                f"Remove [pack.{name}]. Limits of tasks are set in [tasks].",
            )
    if not settings.packs:
        return Packs()
    from moot.wiring.packs import pack, protocol

    found = {name: pack(name, state, keep=keep) for name in settings.packs}
    return Packs(tuple(found.values()), lambda name: protocol(found[name]))
