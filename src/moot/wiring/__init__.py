"""Connects the contracts with their implementations. No other package knows both."""

from __future__ import annotations

import os
from contextlib import closing

from moot import place as places
from moot.api.pool import LIMIT, Pool
from moot.api.protocol import Packs
from moot.api.workspace import Setup, Workspace
from moot.core.errors import Unavailable, Usage
from moot.core.lifecycle import CORE, with_receipts
from moot.core.reactions import later
from moot.core.reactions.releases import departures, dependencies
from moot.engine.clock import Clock
from moot.engine.engine import Engine
from moot.engine.presence import Presence
from moot.logs.sqlite import SqliteLog
from moot.logs.sqlite.file import NAME
from moot.place import settings as setting
from moot.views.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.api.answer import Notice
    from moot.api.protocol.mirrors import Mirrors
    from moot.api.workspace import Progress
    from moot.core.lifecycle import Lifecycle
    from moot.log import Log
    from moot.place import Place
    from moot.place.settings import Settings


open_log: Callable[..., Log] = SqliteLog  # `moot.testing.memory_log` replaces it


def open_workspace(
    cwd: str,
    env: Mapping[str, str],
    *,
    paths: Sequence[str] = (),
    clock: Clock | None = None,
    at: str | int | None = None,
    progress: Progress | None = None,
    reading: bool = False,
    via: str = "python",
    named: bool = False,
    handles: int = LIMIT,
) -> Workspace:
    """The workspace of `paths`, or of `cwd`; with `at`, as of that moment.

    With `reading` it is read-only and changes no file. Its commits record `via` as their source. `named` means that the
    caller named `cwd`. `handles` is the maximum number of concurrent calls.
    """
    clock = clock or Clock()
    place = places.for_paths(paths, cwd, env, named=named) if paths else places.find(cwd, env, named=named)
    _check_log(place, cwd)
    files = not reading and at is None  # whether the packs' files are kept in sync
    setup = _loaded(place, env, keep=not reading, files=files)
    log = _logs(place.state, reading=reading, past=at is not None)
    presence, past, make = Presence(place.state, clock), None, _engines(log, place.state, clock, reading=reading)
    if at is not None:
        from moot.time_travel import NoPresence, StoppedClock, engine_at, find

        with closing(log()) as whole:
            past = then = find(whole, at, clock.wall_seconds())
        clock = StoppedClock(then.seconds) if then.seconds is not None else clock
        presence, make = NoPresence(place.state, clock), lambda: engine_at(log(), place.state, then, clock)
    pool = Pool(lambda: _with_facts(make(), presence), handles)
    workspace = Workspace(place, env, cwd, setup, clock, presence, pool, via)
    workspace.load = lambda: _loaded(place, env, keep=not reading, files=files)
    workspace.signature = lambda: setting.signature(place)
    workspace.past = past
    workspace.check_log = lambda: _check_log(place, cwd)
    workspace.progress = progress or workspace.progress
    workspace.notices = () if place.main_root else _elsewhere(place)
    return workspace


def _logs(state: str, *, reading: bool, past: bool) -> Callable[[], Log]:
    """A function that opens handles on the log."""
    opening = open_log

    return lambda: opening(state, reading=reading and not past)


def _engines(log: Callable[[], Log], state: str, clock: Clock, *, reading: bool) -> Callable[[], Engine]:
    """A function that creates engines. An engine decides by the rules of the call that borrows it."""
    if not reading:
        return lambda: Engine(log(), Store(state), clock, {}, ())
    from moot.views.private_copy import PrivateCopy

    return lambda: Engine(log(), PrivateCopy(state, monotonic=clock.monotonic), clock, {}, ())


def _with_facts(engine: Engine, presence: Presence) -> Engine:
    """Connect the sources of facts for decisions: see `moot.engine.facts`."""

    def account(name: str) -> bool:
        from moot.place.account import exists

        return exists(name)

    engine.lookups |= {"silence": presence.silence_of, "stamp": lambda who: presence.stamp(*who), "account": account}
    return engine


def _loaded(place: Place, env: Mapping[str, str], *, keep: bool, files: bool) -> Setup:
    """The current settings of moot.toml, and what they switch on; if they cannot be used, the defaults."""
    signature, problem = setting.signature(place), None
    settings, packs = setting.Settings(), Packs()
    try:
        settings = setting.load(place, keep=keep)
        if settings.packs:
            from moot.wiring.packs import load

            packs = load(settings, place, keep=keep)
    except (Usage, Unavailable) as error:
        settings, problem = setting.Settings(), error
    lifecycles = _lifecycles(settings, packs)
    rules, in_force = _rules(settings, lifecycles)
    requests: Requests | None = None
    if settings.handlers or packs.having("effects"):
        from moot.api.protocol.pack_effects import asking
        from moot.core.handler import handlers_of
        from moot.runs.requests import Requests

        requests = Requests(handlers_of(settings.handlers), env.get("MOOT_EFFECT_KEY"), asking(packs))
    mirrors: Mirrors | None = None
    if files and (packs.mirrors or any("due" in pack.parts for pack in packs.packs)):
        from moot.mirrors.sync import FileMirrors

        mirrors = FileMirrors(packs)
    return Setup(
        settings=settings,
        packs=packs,
        lifecycles=lifecycles,
        rules=rules,
        in_force=None if problem else in_force,
        reactions=(dependencies, departures, later, *packs.reactions()),
        closers=packs.closers(),
        requests=requests,
        mirrors=mirrors,
        signature=signature,
        problem=problem,
    )


def _rules(settings: Settings, lifecycles: Mapping[str, Lifecycle]) -> tuple[Mapping[str, Any], str]:
    """The settings that can weaken a rule, and the form in which the log has them. None of them, in most workspaces."""
    if len(lifecycles) == 1 and settings.task_review and not settings.task_receipt:
        return {}, ""
    from moot.core.deciders.settings import text
    from moot.place.settings.rules import rules

    found = rules(settings, lifecycles)
    return found, text(found)


def _check_log(place: Place, cwd: str) -> None:
    """Raise if there is no log: nothing is stored next to a missing one."""
    if not os.path.lexists(os.path.join(place.state, NAME)):
        from moot.wiring.left_behind import no_log

        raise no_log(place, cwd)


def _elsewhere(place: Place) -> tuple[Notice, ...]:
    """A warning if the settings of this worktree are not those of the workspace."""
    from moot.api.answer import Notice

    source = setting.source(place)
    mine = setting.ignored(place, source)
    if mine is None:
        return ()
    path = os.path.join(setting.homes(place)[0], setting.FILE)
    held = f"those in {source} apply" if source else f"the settings of this workspace would be {path}"
    return (Notice("settings_ignored", f"The settings in {mine} are not used: {held}, for all worktrees."),)


def _lifecycles(settings: Settings, packs: Packs) -> dict[str, Lifecycle]:
    core = with_receipts(CORE) if settings.task_receipt else CORE
    found = {"core": core.replace(attempts=0), **packs.lifecycles()}
    return {
        name: life if life.attempts else life.replace(attempts=settings.task_attempts) for name, life in found.items()
    }
