"""Checks what every stage of a pipeline must keep to: with the real engine, in a real workspace.

    for name in TRIALS:
        stage(rehearsal, StageTrial("checks", "review", ("prices.py",)), name)

    repeated    two runs on the same files give the same result, byte for byte
    foreign     keys and files that belong to others are refused, and nothing of them is written
    lying       a stage that only says it has done its work fails, and the next one does not start
    killed      a process is killed at several points of the stage. The next one completes it, with the same result
    perturbed   the stage runs again after a change of any single thing that it depends on, and of nothing else

Each trial begins with the files as they were when it was called.
"""

from __future__ import annotations

import copy
import os
import subprocess  # noqa: TID253 (only tests load this module)
import sys
from contextlib import contextmanager

from moot.core.errors import Refused
from moot.core.identity import decide
from moot.core.record import Record
from moot.pipelines import documents, step_keys
from moot.pipelines.contract import StageOutput
from moot.pipelines.history import runs_of
from moot.pipelines.planning import planned
from moot.pipelines.preparing import Preparation
from moot.pipelines.running import run_target
from moot.pipelines.steps import RunOptions
from moot.pipelines.verbs import pipeline_of
from moot.wiring import open_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.stage import Stage
    from moot.pipelines.contract import Pipeline, StageCode, StageInput, Target
    from moot.testing.rehearsal import Rehearsal

_DONE = ("passed", "skipped", "reused")
_NOT_OURS = (".git", ".moot", "__pycache__")
_FOREIGN = "foreign.txt"
_KILLED = """
import os, sys
left, root, pack, stage, *paths = sys.argv[1:]
left, steps = int(left), 0
def counted(call):
    def count(*given, **named):
        global steps
        steps += 1
        if steps == left:
            os._exit(9)
        return call(*given, **named)
    return count
for name in ("rename", "replace", "link", "unlink", "fsync", "write"):
    setattr(os, name, counted(getattr(os, name)))
from moot import Workspace
with Workspace(root, person=True) as workspace:
    for _ in workspace.run(pack, paths, until=stage, resume=True):
        pass
print(steps)
"""


def _nothing(_given: StageInput) -> StageOutput:
    return StageOutput()


def _longer(_path: str, data: bytes) -> bytes:
    return data + b"\n"


class StageTrial(Record):
    """A stage to try, and the files that are its target.

    lie: the code of a stage that does not do its work; by default it does nothing. changed: another content of a file
    that the stage reads, for which its result may differ. kills: at how many points the process is killed.
    """

    pack: str
    stage: str
    paths: tuple[str, ...]
    lie: StageCode = _nothing
    changed: Callable[[str, bytes], bytes] = _longer
    kills: int = 4


def stage(rehearsal: Rehearsal, trial: StageTrial, name: str) -> None:
    """Run one trial of a stage."""
    with _opened(rehearsal.path) as call:
        scene = _Scene(rehearsal, trial, call)
        scene.prepare()
        _TRIALS[name](scene)
    rehearsal.person.verify()


@contextmanager
def _opened(path: str) -> Iterator[Call]:
    workspace = open_workspace(path, os.environ)
    try:
        with workspace.call(decide(os.environ, person=True), path) as call:
            assert call.login  # looked up now, because a commit looks nothing up
            yield call
    finally:
        workspace.close()


class _Scene:
    """A target whose earlier stages have passed."""

    def __init__(self, rehearsal: Rehearsal, trial: StageTrial, call: Call) -> None:
        self.rehearsal, self.trial, self.call = rehearsal, trial, call
        pack = next(one for one in call.packs.packs if one.name == trial.pack)
        self.pipeline = pipeline_of(call, pack)
        (self.target,) = self.pipeline.targets(call, trial.paths)
        self.stage: Stage = next(one for one in pack.stages if one.name == trial.stage)
        self._start = {path: _read(path) for path in _files(rehearsal.path)}

    def prepare(self) -> None:
        """Put the files back, and run the earlier stages."""
        for path in _files(self.rehearsal.path):
            if path not in self._start:
                os.unlink(path)
        for path, data in self._start.items():
            if not os.path.exists(path) or _read(path) != data:
                _write(path, data)
        if self.stage.after:
            failed = self.run(RunOptions(until=self.stage.after, again=True), self.stage.after)
            assert not failed, f"{self.stage.after} failed: {failed}"

    def run(self, options: RunOptions, name: str = "", pipeline: Pipeline | None = None) -> str:
        """Run stages. Returns why the one with this name, by default the tried one, failed; empty if it passed."""
        steps = list(run_target(self.call, pipeline or self.pipeline, self.target, options))
        name = name or self.stage.name
        last = [step for step in steps if step.stage == name and step.what in (*_DONE, "failed", "waits")]
        if not last:
            return next((step.text for step in steps if step.what == "failed"), "it did not run")
        return "" if last[-1].what in _DONE else last[-1].text or last[-1].what

    def result(self) -> dict[str, str]:
        """Run the stage. Returns the digests of what it left."""
        failed = self.run(RunOptions(until=self.stage.name, resume=True))
        assert not failed, f"{self.stage.name} failed: {failed}"
        now = Preparation(self.call, self.pipeline, self.target).look()
        return step_keys.outputs_of(self.stage, self.target, now.digests, now.leaves)

    def instead(self, code: StageCode) -> str:
        """Run the stage alone, with this code instead of its own or its command. Returns why it failed."""
        stages = tuple(
            one.replace(agent="none") if one.name == self.stage.name else one for one in self.pipeline.pack.stages
        )
        other = _subclassed(self.pipeline, stages={**self.pipeline.stages, self.stage.name: code})
        other.pack = self.pipeline.pack.replace(stages=stages)
        return self.run(RunOptions(only=self.stage.name), pipeline=other)

    def leaves(self) -> dict[str, Any]:
        state = Preparation(self.call, self.pipeline, self.target).document()
        return dict(state.leaves) if state is not None else {}

    def is_reused(self, target: Target | None = None, pipeline: Pipeline | None = None) -> bool:
        """Whether the result of the stage would be used again."""
        found = planned(
            self.call, pipeline or self.pipeline, target or self.target, RunOptions(until=self.stage.name, resume=True)
        )
        return next(one.reused for one in found.stages if one.stage == self.stage.name)


def _subclassed(pipeline: Pipeline, **attributes: Any) -> Pipeline:
    made = copy.copy(pipeline)
    made.__class__ = type(type(pipeline).__name__, (type(pipeline),), attributes)
    return made


def _files(root: str) -> list[str]:
    """The files of a worktree, without those of git, moot and Python."""
    found = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if name not in _NOT_OURS]
        found += [os.path.join(folder, name) for name in names if name not in _NOT_OURS]
    return [path for path in found if os.path.isfile(path) and not os.path.islink(path)]


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


# --- the trials -------------------------------------------------------------------------------------------------------


def _repeated(scene: _Scene) -> None:
    first = scene.result()
    scene.prepare()
    differing = step_keys.changed(first, scene.result())
    assert not differing, f"the second run gave another result: {', '.join(differing)}"


def _foreign(scene: _Scene) -> None:
    pack, stage_ = scene.pipeline.pack, scene.stage
    pointers = [pointer for one in pack.stages if one is not stage_ for pointer in documents.owned(one)]
    foreign = documents.foreign(pack, stage_, pointers) if scene.target.document is not None else {}
    for pointer in (one for one in foreign if "*" not in one):
        sets = StageOutput(document={pointer: "foreign"})
        assert scene.instead(_returning(sets)), f"{pointer} was written, but belongs to others"
        assert "foreign" not in documents.below(scene.leaves(), pointer).values(), f"{pointer} was written"
    assert scene.instead(_returning(StageOutput(files={_FOREIGN: b"foreign"}))), (
        "a file that belongs to nobody was written"
    )
    assert not os.path.exists(os.path.join(scene.rehearsal.path, _FOREIGN))


def _returning(output: StageOutput) -> StageCode:
    return lambda _given: output


def _lying(scene: _Scene) -> None:
    failed = scene.instead(scene.trial.lie)
    assert failed, f"{scene.stage.name} passed, but had not done its work: it needs a criterion"
    if scene.stage.marker:
        assert scene.leaves().get(scene.stage.marker) is not True, "the marker is set, but the stage failed"
    following = next((one for one in scene.pipeline.pack.stages if one.after == scene.stage.name), None)
    if following is not None:
        try:
            scene.run(RunOptions(only=following.name), following.name)
        except Refused:
            return
        raise AssertionError(f"{following.name} started after {scene.stage.name} had failed")


def _killed(scene: _Scene) -> None:
    expected = scene.result()
    scene.prepare()
    count = int(_in_another_process(scene, 0))
    for number in range(scene.trial.kills):
        scene.prepare()
        at = 1 + number * (count - 1) // max(1, scene.trial.kills - 1)
        _in_another_process(scene, at)
        differing = step_keys.changed(expected, scene.result())
        assert not differing, f"killed at step {at} of {count}: another result: {', '.join(differing)}"
        scene.rehearsal.person.verify()


def _in_another_process(scene: _Scene, left: int) -> str:
    """Run the stage in another process, which is killed at a step. Returns what it printed."""
    trial = scene.trial
    words = [sys.executable, "-c", _KILLED, str(left), scene.rehearsal.path, trial.pack, trial.stage, *trial.paths]
    done = subprocess.run(
        words,
        cwd=scene.rehearsal.path,
        capture_output=True,
        text=True,
        timeout=scene.rehearsal.patience + scene.stage.timeout,
        check=False,
    )
    assert done.returncode in (0, 9), done.stderr
    return done.stdout


def _perturbed(scene: _Scene) -> None:
    assert scene.stage.cache == "content", f"{scene.stage.name} is never reused in another run"
    scene.result()
    assert scene.is_reused(), "the stage would run again, although nothing has changed"
    _write(other := os.path.join(scene.rehearsal.path, _FOREIGN), b"unrelated")
    assert scene.is_reused(), "the stage would run again because of a file that it does not read"
    os.unlink(other)
    attempt = runs_of(scene.call, scene.target.id)[0].tries_of(scene.stage.name)[-1]
    for name in attempt.inputs:
        kind, _, rest = name.partition(":")
        if kind in _PERTURB:
            assert not _PERTURB[kind](scene, rest), f"the stage would not run again after a change of {name}"
            assert scene.is_reused(), f"the stage would run again, although {name} is as before"


def _changed_file(scene: _Scene, path: str) -> bool:
    """Whether the result is reused while a file has another content."""
    whole = os.path.join(scene.target.root, path)
    if not os.path.exists(whole):
        return False
    data, times = _read(whole), os.stat(whole)
    try:
        _write(whole, scene.trial.changed(path, data))
        return scene.is_reused()
    finally:
        _write(whole, data)
        os.utime(whole, ns=(times.st_atime_ns, times.st_mtime_ns))


def _changed_document(scene: _Scene, pointer: str) -> bool:
    found = documents.below(scene.leaves(), pointer)
    if not found:
        return False
    at, value = next(iter(found.items()))
    _set(scene, at, f"{value} changed")
    try:
        return scene.is_reused()
    finally:
        _set(scene, at, value)


def _set(scene: _Scene, at: str, value: Any) -> None:
    """Change a leaf of the document, as a person does in its file."""
    ref, pack = scene.target.document, scene.pipeline.pack
    assert ref is not None

    def act(work: Any) -> None:
        state = work.state("document", ref.key)
        change = documents.DocumentChange(documents.FILE, {at: value})
        for command in documents.commands(pack, ref, state, [change]):
            work.do("document", ref.key, command)

    scene.call.commit(act)


def _changed_parameter(scene: _Scene, name: str) -> bool:
    given = scene.target.parameters
    return scene.is_reused(target=scene.target.replace(parameters={**given, name: [given[name], "changed"]}))


def _changed_code(scene: _Scene, _rest: str) -> bool:
    return scene.is_reused(pipeline=_subclassed(scene.pipeline, version=f"{scene.pipeline.version}-other"))


_PERTURB: dict[str, Callable[[_Scene, str], bool]] = {
    "file": _changed_file,
    "document": _changed_document,
    "parameter": _changed_parameter,
    "declaration": _changed_code,
}
_TRIALS: dict[str, Callable[[_Scene], None]] = {
    "repeated": _repeated,
    "foreign": _foreign,
    "lying": _lying,
    "killed": _killed,
    "perturbed": _perturbed,
}
TRIALS = tuple(_TRIALS)
