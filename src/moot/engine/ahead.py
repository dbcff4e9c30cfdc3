"""Deciding ahead: what a process does while others write, instead of standing in line with nothing decided.

The decision rests on the views as they are, maybe a little behind the log. When the turn comes, the log compares the
versions of all streams that were read, appends, and lets the next one in: a turn is as short as that. If one of them
moved, nothing is written, and it is decided anew inside, as always. Only what rests on streams alone may be decided
ahead (a message to named agents), and only to say yes: whoever is refused is refused by what is true inside.

The views are folded later, for many commits at once: by whoever appended last before it became quiet, and by one of
every so many. Until then whoever reads catches up, as after a crash.
"""

from __future__ import annotations

from moot.core.errors import MootError
from moot.core.event import Commit
from moot.engine.loop import Outcome, events_of
from moot.log import Ahead, Appended, Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.core.event import Key
    from moot.engine.loop import Engine
    from moot.engine.work import Work

_EVERY = 64  # events: how far the views may fall behind while many write


def commit_ahead(
    engine: Engine,
    by: str | Callable[[Work], str],
    act: Callable[[Work], None],
    key: Callable[[str], Key] | None,
) -> Outcome | Conflict | None:
    """None: it could not be decided on what is known outside."""
    engine.crowded = True
    try:
        engine.notice_new_views()
        # Before anything else is read: if the log still ends here when the turn comes, nothing of that has moved.
        cursor, last, _ = engine.store.standing()
        work = engine.work()
        principal = by if isinstance(by, str) else by(work)
        act(work)
    except MootError:
        return None
    if not work.drafts:
        return None
    if work.rules is not None:
        work.do_settings(work.rules)
    request = key(principal) if key else None
    commit = Commit(id=engine.clock.commit_id(), at=work.at, by=principal, via=work.via)
    times: list[str] = []

    def now() -> str:
        times.append(engine.clock.wall())
        return times[-1]

    result = engine.log.append(commit, work.conditions, work.drafts, request, cursor, Ahead(upon=last, at=now))
    if isinstance(result, Appended):
        events = events_of(work, commit.replace(at=times[-1]), result)
        return Outcome(events=tuple(events), behind=not _folded(engine, result))
    return result if isinstance(result, Conflict) else engine.repeated(result, request)


def _folded(engine: Engine, new: Appended) -> bool:
    """False if the views should be folded now and cannot be. What was appended stays appended."""
    turn = new.last // _EVERY > (new.first - 1) // _EVERY  # this commit has the one event of so many
    try:
        if turn or engine.log.head() == new.last:
            with engine.log.exclusive(wait=turn) as alone:
                if alone:
                    engine.fold_in()
                    engine.crowded = turn  # else it has become quiet
    except engine.store.failures:
        return False
    return True
