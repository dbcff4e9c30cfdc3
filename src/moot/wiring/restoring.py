"""Replaces the log of a workspace with a backup, even if the log cannot be opened."""

from __future__ import annotations

import os
from contextlib import closing

from moot import place as places
from moot.api.verbs.workspace import RestoreResult
from moot.core.errors import Held, MootError, Refused
from moot.core.identity import decide
from moot.core.task.leases import has_lapsed
from moot.engine.blob_names import NamedBlobs
from moot.engine.blobs import LARGEST, Blobs
from moot.engine.clock import Clock
from moot.engine.engine import Engine
from moot.engine.presence import Presence
from moot.engine.verify import examine
from moot.log import REDACTIONS
from moot.logs.sqlite import SqliteLog
from moot.logs.sqlite import restore as files
from moot.views import queries
from moot.views.effects import open_effects
from moot.views.private_copy import PrivateCopy
from moot.views.store import Store
from moot.wiring import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.api.call import Call
    from moot.api.workspace import Progress
    from moot.log import Log
    from moot.place import Place

_MOST = 10_000  # redactions that are compared with the backup
_UNUSABLE = ("damaged_log", "foreign_log", "no_log", "log_version")


def restore(
    place: Place, cwd: str, env: Mapping[str, str], name: str, progress: Progress, *, force: bool, via: str
) -> RestoreResult:
    """Check the backup that the caller calls `name`, then put it in place of the log."""
    path = os.path.abspath(os.path.join(cwd, os.path.expanduser(name)))
    files.check_regular(path)
    if not os.path.isdir(place.state):
        places.create(cwd, env)  # the state directory is missing, too
    with files.room(place.state) as room:
        backup = _Backup(path, room, place.state, progress)
        try:
            with open_workspace(cwd, env, via=via) as workspace, workspace.call(decide(env)) as call:
                return backup.replace(call, force=force)
        except MootError as error:  # it cannot be opened or read completely
            if error.code not in _UNUSABLE:
                raise
            return backup.put()


class _Backup:
    """A backup that was checked; its copy is in a folder of its own."""

    def __init__(self, path: str, room: str, state: str, progress: Progress) -> None:
        self._state, self._room, self._progress = state, room, progress
        self._named = NamedBlobs()
        try:
            self._log = files.copied(path, room, lambda done, of: progress("copying", done, of))
            with closing(SqliteLog(room)) as log, closing(PrivateCopy(room, empty=True)) as views:
                engine = Engine(log, views, Clock(), {}, ())
                engine.progress = progress
                problems = examine(engine, self._named)
                if not problems:
                    self._agents = [agent for agent in queries.agents(views) if agent.here]
                    self._found = RestoreResult(file=path, events=log.head(), effects=open_effects(views))
        except MootError as error:
            if error.code not in _UNUSABLE or error.code == "log_version":
                raise
            raise files.not_a_backup(path, error.message) from error
        if problems:
            raise files.not_a_backup(path, f"{path} is damaged: {problems[0].removeprefix('log: ')}.")

    def replace(self, call: Call, *, force: bool) -> RestoreResult:
        """Put it in place of a log that can be read."""
        engine, state = call.engine, self._state
        engine.read()
        with engine.log.exclusive():
            lacking = files.lacks(state, self._log)
            if not force:
                _check(call, self._found.file, lacking=lacking)
            result = self._result()
            before = _redacted(engine.log)
            kept = files.keep(state, self._room, self._restoring) if lacking else None
            # First the views: open workspaces notice their removal, and they can be rebuilt from either log.
            engine.store.close()
            engine.store.renew(alone=True)
            files.replace(state, self._log, self._restoring)
        again = _redacted(engine.log)
        back = [at for at, commit in before.items() if at not in again and _is_there(engine.log, at, commit)]
        return result.replace(kept=kept, redacted=tuple(sorted(back)))

    def put(self) -> RestoreResult:
        """Put it where there is no log, or none that can be read."""
        result = self._result()
        Store(self._state).renew(alone=True).close()
        return result.replace(kept=files.put(self._state, self._log))

    def _restoring(self, done: int, of: int) -> None:
        self._progress("restoring", done, of)

    def _result(self) -> RestoreResult:
        """Before the log is in place: what it needs beside it, its blobs and the presence of its agents."""
        blobs, brought = Blobs(self._state), 0
        lacking = {digest for digest in self._named.at if blobs.fault(digest) is not None}
        for digest, pieces in files.blobs(self._log):
            if digest in lacking:
                with blobs.writing() as blob:
                    for piece in pieces:
                        blob.write(piece)
                    if blob.size <= LARGEST and blob.digest == digest and blob.keep():
                        lacking.discard(digest)
                        brought += 1
        files.finish(self._log)
        presence = Presence(self._state, Clock())
        for agent in self._agents:
            presence.welcome(agent.name, agent.incarnation)
        return self._found.replace(blobs=brought, lacking=tuple(sorted(lacking)))


def _check(call: Call, path: str, *, lacking: bool) -> None:
    here = [
        agent.name
        for agent in queries.agents(call.engine.store)
        if agent.here and not has_lapsed(call.silence(agent.principal), call.settings.task_ttl)
    ]
    if here:
        raise Held(
            "agents_here",
            f"{', '.join(here[:5])}{'…' if len(here) > 5 else ''} work in this workspace.",
            "Let them leave (`moot leave NAME`), or restore with --force.",
            agents=here,
        )
    if lacking:
        raise Refused(
            "backup_lacks_events",
            f"The log has events that {path} lacks.",
            "If you need them, run `moot backup` first; then restore with --force. moot also keeps the old log.",
            file=path,
        )


def _redacted(log: Log) -> dict[int, str]:
    """The positions and commits of redacted events."""
    return {event.data["position"]: event.data["commit"] for event in log.read(0, _MOST, REDACTIONS)}


def _is_there(log: Log, position: int, commit: str) -> bool:
    return any(event.commit == commit for event in log.read(position - 1, 1))
