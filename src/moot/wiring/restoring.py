"""Putting a backup in place of the log of a workspace, also where that log cannot be opened any more."""

from __future__ import annotations

import os
from contextlib import contextmanager

from moot.api.verbs.care import Restored
from moot.core import principal
from moot.core.errors import Held, MootError, Refused, Usage
from moot.core.event import Commit
from moot.engine.reburying import bury_again
from moot.log import Shown
from moot.logs.sqlite import SqliteLog, archive, file, restore
from moot.views import look
from moot.views.project_effects import open_effects
from moot.views.store import Store
from moot.wiring import open_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from moot.api.session import Session
    from moot.engine.place import Place

    Progress = Callable[[int, int], None]

_ASIDE = "restoring"  # a folder beside the log, while it is being replaced
_UNREADABLE = ("damaged_log", "foreign_log", "no_log")


def put_back(
    place: Place, cwd: str, env: Mapping[str, str], name: str, *, force: bool, progress: Callable[[str, int, int], None]
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

    try:
        session = open_session(cwd, env)
    except MootError as error:
        if error.code not in _UNREADABLE:
            raise
        restored = _anew(place.state, path, events, restoring)
        return restored.replace(effects=_open_effects(cwd, env))
    try:
        restored = _replaced(session, path, events, restoring, force=force)
    finally:
        session.engine.log.close()
        session.engine.store.close()
    return restored.replace(effects=_open_effects(cwd, env))


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
        kept = restore.keep(state, progress) if lacking else None
        with _without_what_was_redacted(session, path, progress) as (source, redacted):
            # First the views: whoever has the workspace open notices them, and they can be folded from either log.
            engine.store.close()
            engine.store.renew(alone=True)
            restore.replace(state, source, progress)
    return Restored(file=path, events=events, kept=kept, redacted=redacted)


@contextmanager
def _without_what_was_redacted(
    session: Session, path: str, progress: Progress
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The file to put in place: the backup, or a copy in which the redactions since then are made again.

    So the text is at no moment in the log again, whenever this is killed.
    """
    import shutil

    log, aside = session.engine.log, os.path.join(session.place.state, _ASIDE)
    shutil.rmtree(aside, ignore_errors=True)  # of one that was killed; nobody else has the turn
    if not log.tombstones():
        yield path, ()
        return
    try:
        restore.copy_to(aside, path, progress)
        new = Shown(SqliteLog(aside, exclusive=False))
        try:
            clock, person = session.clock, principal.person(session.caller.login)
            redacted = bury_again(log, new, Commit(id=clock.commit_id(), at=clock.wall(), by=person))
        finally:
            new.close()
        yield os.path.join(aside, file.NAME), redacted
    finally:
        shutil.rmtree(aside, ignore_errors=True)


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
