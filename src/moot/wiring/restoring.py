"""Putting a backup in place of the log of a workspace, also where that log cannot be opened any more."""

from __future__ import annotations

import os

from moot.api.verbs.care import Restored
from moot.core import principal
from moot.core.errors import Held, MootError, Refused, Usage
from moot.core.event import Commit
from moot.engine import known
from moot.engine.reburying import bury_again
from moot.log import Shown
from moot.logs.sqlite import SqliteLog, archive, restore
from moot.views import look
from moot.views.project_effects import open_effects
from moot.views.store import Store
from moot.wiring import open_session
from moot.wiring.noting import note_restore, noted, remember_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moot.api.session import Session
    from moot.engine.place import Place

    Progress = Callable[[int, int], None]

_UNREADABLE = ("damaged_log", "foreign_log", "no_log")


def put_back(
    place: Place,
    cwd: str,
    env: Mapping[str, str],
    name: str,
    *,
    force: bool,
    progress: Callable[[str, int, int], None],
    via: str,
) -> Restored:
    path = os.path.abspath(os.path.join(cwd, os.path.expanduser(name)))
    if not os.path.isfile(path):
        raise Usage("no_backup", f"There is no file {path}.", "Name a file that `moot backup` made.", file=path)
    try:
        events = archive.examine(path)
    except MootError as error:
        if error.code not in _UNREADABLE:
            raise
        raise Usage("no_backup", error.message, "Name a file that `moot backup` made.", file=path) from error

    def restoring(done: int, of: int) -> None:
        progress("restoring", done, of)

    before = noted(place.state)
    known.forget(env, place.state)

    try:
        restored = _in_place(open_session(cwd, env, via=via), path, events, restoring, force=force)
    except MootError as error:  # it cannot be opened, or not be read to its end
        if error.code not in _UNREADABLE:
            remember_again(env, place.state)
            raise
        restored = _anew(place.state, path, events, restoring)
    note_restore(env, place.state, path, before)
    return restored.replace(effects=_open_effects(cwd, env))


def _in_place(session: Session, path: str, events: int, progress: Progress, *, force: bool) -> Restored:
    try:
        return _replaced(session, path, events, progress, force=force)
    finally:
        session.engine.log.close()
        session.engine.store.close()


def _anew(state: str, path: str, events: int, progress: Progress) -> Restored:
    """What was there is no log any more."""
    kept = restore.anew(state, path, progress, lambda: Store(state).renew(alone=True).close())
    return Restored(file=path, events=events, kept=kept)


def _replaced(session: Session, path: str, events: int, progress: Progress, *, force: bool) -> Restored:
    engine, state = session.engine, session.place.state
    engine.read()
    with engine.log.exclusive():
        here = [
            agent.name
            for agent in look.agents(engine.store)
            if agent.here and session.silence(agent.principal) <= session.settings.task_ttl
        ]
        if here and not force:
            raise Held(
                "agents_here",
                f"{', '.join(here[:5])}{'…' if len(here) > 5 else ''} work in this workspace.",
                "Let them leave (`moot leave NAME`), or restore with --force.",
                agents=here,
            )
        lacking = restore.lacks(state, path)
        if lacking and not force:
            raise Refused(
                "backup_lacks_events",
                f"The log has events that {path} lacks.",
                "`moot backup` what is there now if you need it, then restore with --force. The log is kept, too.",
                file=path,
            )
        with restore.room(state) as room:
            copied = restore.keep(state, room, progress) if lacking else None
            source, redacted = _without_what_was_redacted(session, path, room, progress)
            # First the views: whoever has the workspace open notices them, and they can be folded from either log.
            engine.store.close()
            engine.store.renew(alone=True)
            restore.replace(state, source, progress)
            kept = restore.name(state, copied) if copied else None
    return Restored(file=path, events=events, kept=kept, redacted=redacted)


def _without_what_was_redacted(
    session: Session, path: str, room: str, progress: Progress
) -> tuple[str, tuple[int, ...]]:
    """The file to put in place: the backup, or a copy in which the redactions since then are made again.

    So the text is at no moment in the log again, whenever this is killed.
    """
    log = session.engine.log
    if not log.tombstones():
        return path, ()
    copied = restore.copy_to(room, path, progress)
    new = Shown(SqliteLog(room, exclusive=False))
    try:
        clock, person = session.clock, principal.person(session.caller.login)
        via = session.engine.via
        return copied, bury_again(log, new, Commit(id=clock.commit_id(), at=clock.wall(), by=person, via=via))
    finally:
        new.close()


def _open_effects(cwd: str, env: Mapping[str, str]) -> int:
    """How many are not done, as the restored log says."""
    try:
        session = open_session(cwd, env)
        try:
            return open_effects(session.engine.read())
        finally:
            session.engine.log.close()
            session.engine.store.close()
    except MootError:
        return 0  # the log is in place; what is wrong beside it is said to the next who needs that
