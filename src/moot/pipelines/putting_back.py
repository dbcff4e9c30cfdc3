"""Puts files back as the reused stages left them, for a stage that writes them and begins again.

Only files that later stages have made of that, with nobody else in between: what a person wrote stays. The log keeps
what is replaced.
"""

from __future__ import annotations

from moot.core.deciders.run import RestoreFiles
from moot.runs import contents, step_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.pipelines.preparing import TargetState
    from moot.pipelines.recording import RunRecord
    from moot.pipelines.reuse import Reuse
    from moot.runs.stage import Stage


def put_back(record: RunRecord, stage: Stage, plan: Reuse, now: TargetState) -> None:
    """Record it with the contents that go, then do it. Nothing that changed meanwhile is overwritten."""
    target, call, there = record.target, record.call, now.contents.files
    own = [path for role in stage.writes for path in target.paths.get(role, ())]
    left = {name.removeprefix(step_keys.FILE): digest for name, digest in plan.undone.items()}
    files = {path: digest for path, digest in left.items() if contents.is_of(path, own)}
    if not files:
        return
    kept = {path: digest for path, digest in files.items() if digest != contents.NONE}
    new = {path: call.blob(kept[path]) if path in kept else None for path in files}
    command = RestoreFiles(
        stage.name,
        record.attempts(stage) + 1,
        restored=kept,
        replaced={path: call.put_blob(there[path]) for path in files},
        removed=tuple(path for path in files if path not in kept),
    )
    call.commit(lambda work: work.do("run", record.id, command, pack=record.pack.name))
    contents.write(target.root, new, {path: contents.digest(there[path]) for path in files}, target.folders)


def put_files(record: RunRecord, stage: Stage, files: Mapping[str, bytes], there: Mapping[str, bytes]) -> None:
    """Put other contents into files, in the same way. `there`: what they contain now."""
    target, call = record.target, record.call
    command = RestoreFiles(
        stage.name,
        record.attempts(stage) + 1,
        restored={path: contents.digest(data) for path, data in files.items()},
        replaced={path: call.put_blob(there[path]) for path in files},
    )
    call.commit(lambda work: work.do("run", record.id, command, pack=record.pack.name))
    contents.write(target.root, {**files}, {path: contents.digest(there[path]) for path in files}, target.folders)
