"""What attempts that did not pass have left in the files of a stage. Pure."""

from __future__ import annotations

from moot.core.run import BEHIND, FAILED
from moot.runs import step_keys
from moot.runs.contents import NONE, is_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moot.core.run import StageTry
    from moot.pipelines.contract import Target
    from moot.pipelines.reuse import Reuse
    from moot.runs.stage import Stage


def before_leftover(
    plan: Reuse,
    stages: Sequence[Stage],
    stage: Stage,
    target: Target,
    tried: Sequence[StageTry] | None,
    last: StageTry | None,
    files: Mapping[str, str],
) -> dict[str, str | None]:
    """The blobs of files with work of earlier attempts at a stage, as they were before it; None if they did not exist.

    `tried`: the earlier attempts, if a command does the work. `files`: the digests of all files now.
    """
    found: dict[str, str | None] = {}
    if tried is not None:
        before = {path: blob for one in reversed(tried) for path, blob in one.snapshots.items()}
        really = {path: plan.left.get(step_keys.FILE + path) for path in plan.repaired}
        known = {(path, blob) for one in tried for path, blob in one.snapshots.items()}
        found = {
            path: really[path] if (path, really[path]) in known else before[path] for path in really if path in before
        }
    if last is not None and last.stage == stage.name and last.status not in BEHIND:
        found |= {path: last.snapshots[path] for path in plan.leftover if path in last.snapshots}
        if tried is not None:
            paths = _first_written(stages, stage, target, last, files)
            paths += [path for path in last.left if path in last.snapshots and _is_as_left(path, last, files)]
            found |= {path: last.snapshots.get(path) for path in paths}
    return found


def edited_since(last: StageTry | None, files: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The files that somebody edited after an attempt that failed: blobs of what was there before it and after it."""
    if last is None or last.status != FAILED:
        return {}
    return {
        path: (last.snapshots[path], left)
        for path, left in last.left.items()
        if path in last.snapshots and not _is_as_left(path, last, files)
    }


def _is_as_left(path: str, last: StageTry, files: Mapping[str, str]) -> bool:
    return last.outputs.get(step_keys.FILE + path) == files.get(path, NONE)


def _first_written(
    stages: Sequence[Stage], stage: Stage, target: Target, last: StageTry, files: Mapping[str, str]
) -> list[str]:
    """Files that no earlier stage writes, and that are as the last attempt at this stage left them."""
    earlier = stages[: [one.name for one in stages].index(stage.name)]
    made = [path for one in earlier for role in one.writes for path in target.paths.get(role, ())]
    left = {
        name.removeprefix(step_keys.FILE): one for name, one in last.outputs.items() if name.startswith(step_keys.FILE)
    }
    return [path for path, one in left.items() if not is_of(path, made) and one == files.get(path, NONE)]
