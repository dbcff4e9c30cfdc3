"""Puts the files of a stage back as they were before an attempt, which the log has.

A file that the stage has made is removed. If a file has another content than any attempt found or left in it, somebody
has changed it since, and nothing is touched. Of an attempt that was interrupted, nobody knows what it has left: its
files are put back in any case. The log keeps what is replaced or removed.
"""

from __future__ import annotations

from moot.core.deciders.run import RestoreFiles
from moot.core.errors import Refused
from moot.core.record import Record
from moot.core.run import INTERRUPTED
from moot.core.text import first_few
from moot.place.locks import end_what_is_left
from moot.runs import contents
from moot.runs.contract import StageError
from moot.runs.history import runs_of
from moot.runs.seats import command_name
from moot.runs.step_keys import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.core.run import Run, StageTry
    from moot.runs.site import Site


class RestorePlan(Record):
    """What there is to do. `now`: the contents of these files."""

    now: Mapping[str, bytes]
    restored: Mapping[str, bytes]
    removed: tuple[str, ...]


def has_files(one: StageTry) -> bool:
    """Whether an attempt had files to write."""
    return bool(one.writes or one.snapshots) and not one.source


def planned(site: Site, run: Run, one: StageTry) -> RestorePlan:
    """What would be put back. Refuses if somebody has changed one of the files since."""
    try:
        single = {path for path in (*one.snapshots, *one.writes) if not path.endswith("/")}
        single |= {name.removeprefix(FILE) for name in one.outputs if name.startswith(FILE)}
        now = contents.read(run.root, sorted(single), _folders(run)).files
    except StageError as error:
        raise _impossible(run, error) from error
    before = {path: site.blob(blob) for path, blob in one.snapshots.items()}
    restored = {path: data for path, data in before.items() if now.get(path) != data}
    removed = tuple(path for path in now if path not in before)
    changed = _changed_since(site, run, {path: now[path] for path in (*restored, *removed) if path in now})
    if changed:
        raise Refused(
            "changed_since",
            f"{first_few(changed)} changed since {one.stage}, attempt {one.attempt}. Nothing was put back.",
            "Move what you want to keep out of the way, then run this again.",
            run=run.id,
            paths=changed,
        )
    return RestorePlan(now, restored, removed)


def end_command(site: Site, run: Run) -> None:
    """End what is left of the command of a run, so that it writes no more. Do this before `planned`."""
    if run.driver:
        end_what_is_left(site.place.state, command_name(run.driver, run.id))


def carry_out(site: Site, run: Run, one: StageTry, plan: RestorePlan) -> None:
    """Record the contents that go, then put the files back."""
    gone = {path: plan.now[path] for path in (*plan.restored, *plan.removed) if path in plan.now}
    if not (plan.restored or plan.removed):
        return
    command = RestoreFiles(
        one.stage,
        one.attempt,
        restored={path: one.snapshots[path] for path in plan.restored},
        replaced={path: site.put_blob(data) for path, data in gone.items()},
        removed=plan.removed,
    )
    site.commit(lambda work: work.do("run", run.id, command, pack=run.pack))
    files: dict[str, bytes | None] = {**plan.restored, **dict.fromkeys(plan.removed)}
    try:
        contents.write(run.root, files, {path: contents.digest(data) for path, data in gone.items()}, _folders(run))
    except StageError as error:
        raise _impossible(run, error) from error


def _changed_since(site: Site, run: Run, files: Mapping[str, bytes]) -> list[str]:
    """The files with a content that no attempt at this target has found or left, as far as is known."""
    tries = [one for other in runs_of(site.engine.read(), run.target) for one in other.tries if not one.source]
    last = max(tries, key=lambda one: one.at, default=None)
    if last is None or last.status in (INTERRUPTED, "running"):
        return []
    found = []
    for path, data in files.items():
        known = {one.outputs.get(FILE + path) for one in tries}
        known |= {kept[path] for one in tries for kept in (one.snapshots, one.left) if path in kept}
        if contents.digest(data) not in known:
            found.append(path)
    return found


def _folders(run: Run) -> tuple[str, ...]:
    """The folders outside the root in which files of the run are."""
    paths = [path for of in run.paths.values() for path in of if path.startswith("/")]
    return tuple(dict.fromkeys(path.rpartition("/")[0] for path in paths))


def _impossible(run: Run, error: StageError) -> Refused:
    return Refused(
        "not_restored",
        f"The files of {run.id} cannot be restored: {error.text}.",
        "Correct that, then try again.",
        run=run.id,
    )
