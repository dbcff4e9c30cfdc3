"""Replaces the log of a workspace with a backup, even if the log cannot be opened."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager

from moot import location as places
from moot.api.verbs.workspace import RestoreResult
from moot.core.errors import Held, MootError, Refused, Usage
from moot.core.identity import decide
from moot.core.integrity.redaction import is_redacted
from moot.core.task.leases import has_lapsed
from moot.engine.blob_names import NamedBlobs, removed_in
from moot.engine.blobs import LARGEST, Blobs
from moot.engine.clock import Clock
from moot.engine.presence import Presence
from moot.log import REDACTIONS
from moot.logs.sqlite.archive import restore, untrusted_log
from moot.logs.sqlite.archive.rebuild import Rebuilt
from moot.transfer.present_agents import PresentAgents
from moot.views import queries
from moot.views.effects import open_effects
from moot.views.store import Store
from moot.views.trial import Trial
from moot.wiring import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from moot.api.call import Call
    from moot.api.workspace import Progress
    from moot.core.event import Event
    from moot.location import Place
    from moot.log import Log

_MOST = 10_000  # redactions that are compared with the backup
_UNREADABLE = ("damaged_log", "foreign_log", "no_log")


class LogRestore:
    """One restore, from the backup that the caller names as `name`."""

    def __init__(
        self,
        place: Place,
        cwd: str,
        env: Mapping[str, str],
        name: str,
        progress: Progress,
        *,
        force: bool,
        via: str,
    ) -> None:
        self._state, self._cwd, self._env = place.state, cwd, env
        self._path = untrusted_log.regular_file(os.path.abspath(os.path.join(cwd, os.path.expanduser(name))))
        self._progress, self._force, self._via = progress, force, via
        self._present, self._named = PresentAgents(), NamedBlobs()
        self._blobs = _Blobs(place.state, self._path, self._named)

    def run(self) -> RestoreResult:
        with closing(self._rebuilt()) as new:
            if not os.path.isdir(self._state):
                places.create(self._cwd, self._env)  # the state directory is missing, too
            try:
                with self._call() as call:
                    restored = self._replaced(call, new)
            except MootError as error:  # it cannot be opened or read completely
                if error.code not in _UNREADABLE:
                    raise
                restored = self._anew(new)
        lacking = tuple(sorted(self._blobs.lacking))
        return restored.replace(blobs=self._blobs.brought, lacking=lacking, effects=self._open_effects())

    @contextmanager
    def _call(self) -> Iterator[Call]:
        with (
            open_workspace(self._cwd, self._env, via=self._via) as workspace,
            workspace.call(decide(self._env)) as call,
        ):
            yield call

    def _rebuilt(self) -> Rebuilt:
        """A new log from the rows of the file, each checked as an import does."""
        trial = Trial(self._state, anew=True, seen=self._present.see)

        def fold(events: Sequence[Event]) -> str | None:
            problem = trial.fold(events)
            if problem is None:
                self._named.see(events)
            return problem

        try:
            return Rebuilt(self._path, fold, lambda done, of: self._progress("checking", done, of))
        except MootError as error:
            if error.code not in _UNREADABLE:
                raise
            details = {"position": error.details["position"]} if "position" in error.details else {}
            remedy = "Name an unchanged file that `moot backup` created. The log was not changed."
            raise Usage("no_backup", error.message, remedy, file=self._path, **details) from error
        finally:
            trial.close()

    def _restoring(self, done: int, of: int) -> None:
        self._progress("restoring", done, of)

    def _anew(self, new: Rebuilt) -> RestoreResult:
        """Replace a file that is not a usable log."""

        def meanwhile() -> None:
            self._blobs.bring({})
            self._present.stamp(Presence(self._state, Clock()))
            Store(self._state).renew(alone=True).close()

        kept = restore.anew(self._state, new.connection, self._restoring, meanwhile)
        return RestoreResult(file=self._path, events=new.head, kept=kept)

    def _replaced(self, call: Call, new: Rebuilt) -> RestoreResult:
        engine = call.engine
        engine.read()
        with engine.log.exclusive():
            if not self._force:
                _refuse_under_agents(call)
            lacking = restore.lacks(self._state, new.connection)
            if lacking and not self._force:
                raise Refused(
                    "backup_lacks_events",
                    f"The log has events that {self._path} lacks.",
                    "If you need them, run `moot backup` first; then restore with --force. moot also keeps the old "
                    "log.",
                    file=self._path,
                )
            self._blobs.bring(removed_in(engine.log))
            said = [event.data for event in engine.log.read(0, _MOST, REDACTIONS) if event.data.get("fields")]
            with restore.room(self._state) as room:
                copied = restore.keep(self._state, room, self._restoring)
                # First the views: open workspaces notice their removal, and they can be rebuilt from either log.
                engine.store.close()
                engine.store.renew(alone=True)
                self._present.stamp(call.presence)
                restore.replace(self._state, new.connection, self._restoring)
                needed = lacking or not restore.opens(self._state, new.head)
                kept = restore.name(self._state, copied) if needed else None
        back = {one["position"] for one in said if _has_text(engine.log, one["position"], one["commit"])}
        return RestoreResult(file=self._path, events=new.head, kept=kept, redacted=tuple(sorted(back)))

    def _open_effects(self) -> int:
        """How many effects are open in the restored log."""
        try:
            with self._call() as call:
                return open_effects(call.engine.read())
        except MootError:
            return 0  # the log is in place; the next command reports other problems


class _Blobs:
    """Restores the blobs that the events of a backup name, before the log is in place."""

    def __init__(self, state: str, path: str, named: NamedBlobs) -> None:
        self._blobs, self._path, self._named = Blobs(state), path, named
        self.brought = 0
        self.lacking: set[str] = set()

    def bring(self, removed: Mapping[str, int]) -> None:
        """LogRestore missing blobs, except those that a later redaction `removed`, by position."""
        wanted = (digest for digest, position in self._named.at.items() if removed.get(digest, 0) < position)
        self.lacking = {digest for digest in wanted if self._blobs.fault(digest) is not None}
        if not self.lacking:
            return
        try:
            with closing(untrusted_log.UntrustedLog(self._path)) as source:
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


def _has_text(log: Log, position: int, commit: str) -> bool:
    """Whether the restored log has the event, and it is not redacted there."""
    return any(event.commit == commit and not is_redacted(event.data) for event in log.read(position - 1, 1))


def _refuse_under_agents(call: Call) -> None:
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
