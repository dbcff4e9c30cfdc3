"""Putting a backup in place of the log of a workspace, also where that log cannot be opened any more."""

from __future__ import annotations

import os

from moot.api.verbs.care import Restored
from moot.core.errors import Held, MootError, Refused, Usage
from moot.logs.sqlite import SqliteLog, archive, restore
from moot.views import look
from moot.views.store import Store
from moot.wiring import open_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moot.api.session import Session
    from moot.engine.place import Place

    Progress = Callable[[int, int], None]

_UNREADABLE = ("damaged_log", "foreign_log", "no_log")


def put_back(
    place: Place, cwd: str, env: Mapping[str, str], file: str, *, force: bool, progress: Callable[[str, int, int], None]
) -> Restored:
    path = os.path.abspath(os.path.join(cwd, os.path.expanduser(file)))
    if not os.path.isfile(path):
        raise Usage("no_backup", f"There is no file {path}.", "Name a file that `moot backup` made.", file=path)
    events = archive.examine(path)

    def restoring(done: int, of: int) -> None:
        progress("restoring", done, of)

    try:
        session = open_session(cwd, env)
    except MootError as error:
        if error.code not in _UNREADABLE:
            raise
        return _anew(place.state, path, events, restoring)
    try:
        return _replaced(session, path, events, restoring, force=force)
    finally:
        session.engine.log.close()
        session.engine.store.close()


def _anew(state: str, path: str, events: int, progress: Progress) -> Restored:
    """What was there is no log any more."""
    there = os.path.exists(os.path.join(state, "log.db")) or os.path.exists(os.path.join(state, "log.db-wal"))
    kept = restore.set_aside(state) if there else None
    SqliteLog.create(state)
    Store(state).renew(alone=True).close()
    restore.replace(state, path, progress)
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
        kept = restore.keep(state, progress) if lacking else None
        # First the views: whoever has the workspace open notices them, and they can be folded from either log.
        engine.store.close()
        engine.store.renew(alone=True)
        restore.replace(state, path, progress)
    return Restored(file=path, events=events, kept=kept)
