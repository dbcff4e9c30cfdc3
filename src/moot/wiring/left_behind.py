"""A workspace without a log: the error, and how to carry over a log that `git init` left behind.

A plain folder keeps its log in `.moot`. Once it is a git repository, its log belongs in the git directory.
"""

from __future__ import annotations

import os

from moot.core.errors import Refused
from moot.engine.blobs import Blobs
from moot.engine.clock import Clock
from moot.engine.presence import Presence
from moot.location import trust
from moot.logs.sqlite import SqliteLog, faults
from moot.logs.sqlite.file import NAME
from moot.private_files import forbidden, sync
from moot.transfer.present_agents import PresentAgents
from moot.views.trial import Trial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.api.workspace import Progress
    from moot.core.errors import Unavailable
    from moot.location import Place


def no_log(place: Place, start: str) -> Unavailable:
    """The error; it names a log that was left behind."""
    try:
        os.lstat(os.path.join(place.state, NAME))
    except PermissionError as problem:  # unknown whether there is one
        return forbidden(problem) or faults.of_system(problem, place.state)
    except OSError:
        pass
    error = faults.missing(os.path.join(place.state, NAME))
    left = find(place, start)
    if left is None:
        return error
    return type(error)(
        error.code,
        f"{error.message} But {left} is the log of this folder from before it was a git repository.",
        _goes_on(place, left),
        path=os.path.join(place.state, NAME),
        left_behind=left,
    )


def check_nothing_left(place: Place, start: str) -> None:
    """Refuse to create a new log if one was left behind."""
    left = find(place, start)
    if left is not None and not os.path.lexists(os.path.join(place.state, NAME)):
        raise Refused(
            "log_left_behind",
            f"{left} is the log of this folder from before it was a git repository; a new one would hide it.",
            f"{_goes_on(place, left)} To start with an empty log, move `.moot` away.",
            left_behind=left,
        )


def find(place: Place, start: str) -> str | None:
    """The log of a plain workspace in which, or above which, `git init` was run; None if there is none."""
    if place.common is None:
        return None
    for folder in _folders(place, start):
        path = os.path.join(folder, ".moot", NAME)
        if os.path.isfile(path) and not os.path.islink(path):
            return path
    return None


def _folders(place: Place, start: str) -> Iterator[str]:
    here = os.path.realpath(start)
    while here.startswith(f"{place.root.rstrip('/')}/"):
        yield here
        here = os.path.dirname(here)
    if place.main_root is not None:
        yield place.main_root


def _goes_on(place: Place, left: str) -> str:
    folder = os.path.dirname(os.path.dirname(left))
    if folder == place.main_root:
        return "`moot init --carry-over` continues with it here; the old one is kept."
    return (
        f"`moot init --carry-over` continues with it for all of {place.root}; its paths are then "
        "relative to that folder. The old one is kept."
    )


def carry_over(place: Place, start: str, env: Mapping[str, str], progress: Progress) -> str:
    """Move the log that was left behind to a state directory without one. Returns where the old one is kept.

    If this is killed, the log is complete in at least one of the two places. Until the new one exists, running it again
    completes the move. After that, the new one counts, and `.moot` holds only a copy.
    """
    left = find(place, start)
    if left is None:
        raise Refused(
            "nothing_to_carry_over",
            f"There is no log that `git init` left behind in {place.main_root or place.root}.",
            "Leave out --carry-over.",
        )
    target = os.path.join(place.state, NAME)
    if os.path.lexists(target):
        raise Refused(
            "workspace_exists",
            f"There is already a log: {target}. Two logs cannot be merged.",
            f"Move {os.path.dirname(left)} away, or `moot export` it from a copy outside of git.",
            left_behind=left,
        )
    old = os.path.dirname(left)
    trust.check(place.replace(root=os.path.dirname(old), state=old, common=None, worktree="."), env)
    unique = os.urandom(6).hex()
    draft, kept = os.path.join(place.state, f"carried.{unique}"), os.path.join(old, f"carried-over-{unique}.db")
    log = SqliteLog(old)
    try:
        with log.exclusive():  # no process appends meanwhile, and those that have it open notice that it moved
            for path in (draft, kept):
                log.archive.backup(path, lambda done, of: progress("carrying over", done, of))
                os.chmod(path, 0o600)
            Blobs(old).carry_to(place.state)
            _arrivals(log, place.state).stamp(Presence(place.state, Clock()))
            os.link(draft, target)  # atomic, and never overwrites a log that another process has created
            os.unlink(draft)
            for folder in (place.state, old):
                sync(folder)
            for kind in ("", "-wal", "-shm"):
                if os.path.lexists(left + kind):
                    os.unlink(left + kind)
    except OSError as error:
        raise faults.of_system(error, target) from error
    finally:
        log.close()
        if os.path.lexists(draft):
            os.unlink(draft)
    return kept


def _arrivals(log: SqliteLog, state: str) -> PresentAgents:
    """The agents at work here. A log that cannot be folded to its end is still carried over."""
    arrivals, last = PresentAgents(), 0
    trial = Trial(state, anew=True, seen=arrivals.see)
    try:
        while events := log.read(last):
            if trial.fold(events) is not None:
                break
            last = events[-1].position
    finally:
        trial.close()
    return arrivals
