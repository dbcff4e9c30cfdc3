"""Replaces the log of a workspace with a backup, even if the log cannot be opened."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager

from apsw import SQLITE_OPEN_READONLY, Connection

from moot import location as places
from moot.api.verbs.workspace import RestoreResult
from moot.core import principal
from moot.core.errors import Held, MootError, Refused, Usage
from moot.core.event import Commit
from moot.core.identity import decide
from moot.core.task.leases import has_lapsed
from moot.engine import commit_record
from moot.engine.blob_names import NamedBlobs, removed_in
from moot.engine.blobs import LARGEST, Blobs
from moot.engine.clock import Clock
from moot.engine.presence import Presence
from moot.log import Shown
from moot.logs.sqlite import SqliteLog
from moot.logs.sqlite.archive import foreign, restore
from moot.logs.sqlite.archive.rebuild import Rebuilt
from moot.transfer.present_agents import PresentAgents
from moot.transfer.redact_again import redact_again
from moot.views import queries
from moot.views.effects import open_effects
from moot.views.store import Store
from moot.views.trial import Trial
from moot.wiring import open_workspace
from moot.wiring.noting import note_restore, noted, remember_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.location import Place

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
) -> RestoreResult:
    path = foreign.named(os.path.abspath(os.path.join(cwd, os.path.expanduser(name))))
    arrivals = PresentAgents()
    named = NamedBlobs()
    with closing(_rebuilt(place.state, path, arrivals, named, lambda done, of: progress("checking", done, of))) as new:
        if not os.path.isdir(place.state):
            places.create(cwd, env)  # the state directory is missing, too
        blobs = _Blobs(place.state, path, named)
        return _put_back(place, cwd, env, new, path, progress, arrivals, blobs, force=force, via=via)


class _Blobs:
    """Restores the blobs that the events of a backup name, before the log is in place."""

    def __init__(self, state: str, path: str, named: NamedBlobs) -> None:
        self._blobs, self._path, self._named = Blobs(state), path, named
        self.brought = 0
        self.lacking: set[str] = set()

    def bring(self, removed: Mapping[str, int]) -> None:
        """Restore missing blobs, except those that a later redaction `removed`, by position."""
        wanted = (digest for digest, position in self._named.at.items() if removed.get(digest, 0) < position)
        self.lacking = {digest for digest in wanted if self._blobs.fault(digest) is not None}
        if not self.lacking:
            return
        try:
            with closing(foreign.Foreign(self._path)) as source:
                for digest, pieces in source.blobs():
                    if digest in self.lacking and self._is_written(digest, pieces):
                        self.lacking.discard(digest)
                        self.brought += 1
        except MootError as error:
            if error.code not in _UNREADABLE:
                raise
            # The blobs of the backup are damaged, but its events are not: restore those anyway.

    def _is_written(self, digest: str, pieces: Iterable[bytes]) -> bool:
        with self._blobs.writing() as blob:
            for piece in pieces:
                if blob.size + len(piece) > LARGEST:
                    return False
                blob.write(piece)
            return blob.digest == digest and bool(blob.keep())

    def said(self, restored: RestoreResult) -> RestoreResult:
        return restored.replace(blobs=self.brought, lacking=tuple(sorted(self.lacking)))


def _rebuilt(state: str, path: str, arrivals: PresentAgents, named: NamedBlobs, progress: Progress) -> Rebuilt:
    """A new log from the rows of the file, each checked as an import does."""
    trial = Trial(state, anew=True, seen=arrivals.see)

    def fold(events: Sequence[Event]) -> str | None:
        problem = trial.fold(events)
        if problem is None:
            named.see(events)
        return problem

    try:
        return Rebuilt(path, fold, progress)
    except MootError as error:
        if error.code not in _UNREADABLE:
            raise
        details = {"file": path, **({"position": error.details["position"]} if "position" in error.details else {})}
        remedy = "Name an unchanged file that `moot backup` created. The log was not changed."
        raise Usage("no_backup", error.message, remedy, **details) from error
    finally:
        trial.close()


def _put_back(
    place: Place,
    cwd: str,
    env: Mapping[str, str],
    new: Rebuilt,
    path: str,
    progress: Callable[[str, int, int], None],
    arrivals: PresentAgents,
    blobs: _Blobs,
    *,
    force: bool,
    via: str,
) -> RestoreResult:
    def restoring(done: int, of: int) -> None:
        progress("restoring", done, of)

    before = noted(place.state)
    commit_record.forget(env, place.state)

    try:
        with open_workspace(cwd, env, via=via) as workspace, workspace.call(decide(env)) as call:
            restored = _replaced(call, new, path, restoring, arrivals, blobs, force=force)
    except MootError as error:  # it cannot be opened or read completely
        if error.code not in _UNREADABLE:
            remember_again(env, place.state)
            raise
        restored = _anew(place.state, new, path, restoring, arrivals, blobs)
    note_restore(env, place.state, path, before)
    return blobs.said(restored).replace(effects=_open_effects(cwd, env))


def _anew(
    state: str, new: Rebuilt, path: str, progress: Progress, arrivals: PresentAgents, blobs: _Blobs
) -> RestoreResult:
    """Replace a file that is not a usable log."""

    def meanwhile() -> None:
        blobs.bring({})
        arrivals.stamp(Presence(state, Clock()))
        Store(state).renew(alone=True).close()

    kept = restore.anew(state, new.connection, progress, meanwhile)
    return RestoreResult(file=path, events=new.head, kept=kept)


def _replaced(
    call: Call, new: Rebuilt, path: str, progress: Progress, arrivals: PresentAgents, blobs: _Blobs, *, force: bool
) -> RestoreResult:
    engine, state = call.engine, call.place.state
    engine.read()
    with engine.log.exclusive():
        here = [
            agent.name
            for agent in queries.agents(engine.store)
            if agent.here and not has_lapsed(call.silence(agent.principal), call.settings.task_ttl)
        ]
        if here and not force:
            raise Held(
                "agents_here",
                f"{', '.join(here[:5])}{'…' if len(here) > 5 else ''} work in this workspace.",
                "Let them leave (`moot leave NAME`), or restore with --force.",
                agents=here,
            )
        lacking = restore.lacks(state, new.connection)
        if lacking and not force:
            raise Refused(
                "backup_lacks_events",
                f"The log has events that {path} lacks.",
                "If you need them, run `moot backup` first; then restore with --force. moot also keeps the old log.",
                file=path,
            )
        blobs.bring(removed_in(engine.log))
        with restore.room(state) as room:
            copied = restore.keep(state, room, progress)
            with _without_what_was_redacted(call, new, room, progress) as (source, redacted):
                # First the views: open workspaces notice their removal, and they can be rebuilt from either log.
                engine.store.close()
                engine.store.renew(alone=True)
                arrivals.stamp(call.presence)
                restore.replace(state, source, progress)
            kept = restore.name(state, copied) if lacking or not restore.opens(state, new.head) else None
    return RestoreResult(file=path, events=new.head, kept=kept, redacted=redacted)


@contextmanager
def _without_what_was_redacted(
    call: Call, new: Rebuilt, room: str, progress: Progress
) -> Iterator[tuple[Connection, tuple[int, ...]]]:
    """The log to put in place: the rebuilt one, or a copy with the later redactions applied again.

    So the text is never in the log again, even if this is killed.
    """
    log = call.engine.log
    if not log.tombstones():
        yield new.connection, ()
        return
    copied = restore.copy_to(room, new.connection, progress)
    shown = Shown(SqliteLog(room, exclusive=False))
    try:
        clock, person = call.clock, principal.person(call.login)
        via = call.engine.via
        redacted = redact_again(log, shown, Commit(id=clock.commit_id(), at=clock.wall(), by=person, via=via))
    finally:
        shown.close()
    with closing(Connection(copied, flags=SQLITE_OPEN_READONLY)) as source:
        yield source, redacted


def _open_effects(cwd: str, env: Mapping[str, str]) -> int:
    """How many effects are open in the restored log."""
    try:
        with open_workspace(cwd, env) as workspace, workspace.call(decide(env)) as call:
            return open_effects(call.engine.read())
    except MootError:
        return 0  # the log is in place; the next command reports other problems
