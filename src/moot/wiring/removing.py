"""Removes a workspace: the hooks of the guard, the log and everything beside it, and what is kept outside about it.

The log goes before the rest, so other processes notice at once that there is none. The state directory goes last: if
this is interrupted, the workspace is still found, and repeating it removes the rest. No symbolic link is followed.
Files of the project stay, unless moot wrote them and nobody changed them.
"""

from __future__ import annotations

import errno
import os
import shutil  # noqa: TID253 (loaded on demand)

from moot.api.removal import Removal, RemovalItem
from moot.api.verbs.effects.allow import consent_of
from moot.core.errors import Held, MootError, Unavailable
from moot.core.identity import decide
from moot.core.task.leases import has_lapsed
from moot.core.text import counted
from moot.guard import hooks
from moot.logs.sqlite import bell
from moot.logs.sqlite.file import LOCK, NAME
from moot.logs.sqlite.lock import WriterLock
from moot.mirrors import git_exclude
from moot.place import gitdir, locks, worktrees
from moot.place import settings as setting
from moot.place.private_files import forbidden
from moot.views import queries
from moot.wiring import open_workspace
from moot.wiring.admin import settings_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.api.call import Call
    from moot.place import Place

_PATIENCE = 5.0  # seconds to wait for a process that writes to the log
_TRIES = 5  # a process that is ending may still create a file
_LONGEST = 1 << 20
_OURS = ("installed", "not executable")  # hooks that are exactly as the guard made them


class WorkspaceRemoval:
    """One removal. `plan` changes nothing."""

    def __init__(self, place: Place, cwd: str, env: Mapping[str, str]) -> None:
        self._place, self._cwd, self._env = place, cwd, env
        self._here: list[str] = []  # agents that work here
        self._head: int | None = None  # the number of events, if the log can be read
        self._consent: str | None = None
        self._mirrors: list[str] = []
        self._bell = bell.directory_for(place.state)  # named after the state directory, so look before it is gone
        self._settings = self._own_settings()
        self._look()

    def _look(self) -> None:
        """Read the workspace without leaving a trace. A workspace that cannot be opened is removed all the same."""
        try:
            with (
                open_workspace(self._cwd, self._env, reading=True) as workspace,
                workspace.call(decide({})) as call,
            ):
                self._head = call.engine.log.head()
                self._consent = consent_of(call).path
                self._mirrors = list(dict.fromkeys(_mirrors(call)))
                self._here = [
                    agent.name
                    for agent in queries.agents(call.engine.read())
                    if agent.here and not has_lapsed(call.silence(agent.principal), call.settings.task_ttl)
                ]
        except MootError:
            return

    def plan(self, *, force: bool) -> Removal:
        """What would be removed and left. Raises if the workspace is in use, unless `force` is set."""
        if not force:
            self._check_unused()
        return Removal(removed=tuple(self._removed()), left=tuple(self._left()))

    def run(self, *, force: bool) -> Removal:
        plan = self.plan(force=force)
        try:
            self._run()
        except OSError as error:
            raise forbidden(error) or Unavailable(
                "removal_incomplete",
                f"Not everything could be removed: {error.strerror} ({error.filename}).",
                "Fix the cause and run `moot deinit` again: it removes the rest.",
            ) from error
        return plan

    def _run(self) -> None:
        state = self._place.state
        if self._place.common is not None:
            hooks.remove(self._place, leave_edited=True)
            git_exclude.remove(self._place)
        lock = WriterLock(os.path.join(state, LOCK), _PATIENCE)
        if os.path.isdir(state):
            lock.acquire()
        try:
            for path in (self._consent, *(os.path.join(state, NAME + end) for end in ("", "-wal", "-shm"))):
                if path is not None:
                    _unlink(path)
        finally:
            lock.close()
        if self._settings is not None:
            _unlink(self._settings)
        _remove_tree(state)
        bell.clear(self._bell)

    def _check_unused(self) -> None:
        listening = bell.listeners(self._bell)
        waiting = "1 process waits" if listening == 1 else f"{listening} processes wait"
        users = [
            *(f"{name} works here" for name in self._here[:5]),
            *([f"{counted(len(self._here) - 5, 'other agent')} too"] if len(self._here) > 5 else []),
            *(["`moot handle` performs effects"] if locks.anybody_runs(self._place.state) else []),
            *([f"{waiting} for events"] if listening else []),
        ]
        if users:
            raise Held(
                "in_use",
                f"The workspace is in use: {'; '.join(users)}.",
                "Let the agents leave (`moot leave NAME`) and stop the processes, or use --force.",
                agents=self._here,
                followers=listening,
            )

    # What goes

    def _removed(self) -> Iterator[RemovalItem]:
        place = self._place
        for one in self._hooks():
            if one.state in _OURS:
                back = "; the earlier hook is put back" if one.before else ""
                yield RemovalItem(one.path, f"the hook of the guard{back}")
        if place.common is not None and git_exclude.has_block(place):
            yield RemovalItem(git_exclude.path_of(place.common), "the lines of moot; all others stay")
        if os.path.isdir(place.state):
            events = "" if self._head is None else f" of {counted(self._head, 'event')}"
            yield RemovalItem(place.state, f"the log{events}, views, blobs")
        if self._settings is not None:
            yield RemovalItem(self._settings, "settings as `moot init` wrote them")
        if os.path.isdir(self._bell) and not bell.listeners(self._bell):
            yield RemovalItem(self._bell, "sockets")
        if self._consent is not None and os.path.isfile(self._consent):
            yield RemovalItem(self._consent, "what was allowed here")

    def _hooks(self) -> tuple[hooks.HookStatus, ...]:
        try:
            return hooks.status(self._place).hooks if self._place.common is not None else ()
        except Unavailable:  # there is no git; hooks in the usual folder are removed all the same
            return ()

    def _own_settings(self) -> str | None:
        """The settings file, if it is exactly as `moot init` wrote it."""
        try:
            path = setting.source(self._place)
            if path is None or os.path.islink(path):
                return None
            packs = setting.load(self._place, keep=False).packs
            made = packs and gitdir.read(path, _LONGEST) == settings_text(packs, self._place).encode()
        except (MootError, OSError):
            return None
        return path if made else None

    # What stays

    def _left(self) -> Iterator[RemovalItem]:
        place = self._place
        try:
            settings = setting.source(place)
        except MootError:
            settings = None
        if settings is not None and settings != self._settings:
            yield RemovalItem(settings, "settings; they belong to the project")
        for path in self._mirrors:
            what = "a folder with files of a pack" if os.path.isdir(path) else "a file of a pack"
            yield RemovalItem(path, f"{what}; agents may still use it")
        for one in self._hooks():
            if one.state in ("edited", "by hand"):
                yield RemovalItem(one.path, "a hook that calls the guard; remove its lines by hand")
            elif one.before is not None and one.state not in _OURS:
                yield RemovalItem(one.before, "an earlier hook, which was replaced")


def _mirrors(call: Call) -> Iterator[str]:
    """The files of packs, in all worktrees. Of a path with variables, its fixed beginning."""
    for tree in worktrees(call.place):
        for spec in call.packs.mirrors:
            fixed = spec.path.partition("{")[0]
            path = os.path.join(tree.root, fixed if fixed == spec.path else os.path.dirname(fixed))
            if os.path.lexists(path):
                yield path


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _remove_tree(path: str) -> None:
    """Remove a directory. `rmtree` removes links without following them, and refuses one in place of the directory."""
    for left in reversed(range(_TRIES)):
        try:
            return shutil.rmtree(path)
        except FileNotFoundError:
            if not os.path.lexists(path):
                return None
        except OSError as error:
            if not left or error.errno != errno.ENOTEMPTY:
                raise
    return None
