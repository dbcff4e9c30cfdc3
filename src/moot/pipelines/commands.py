"""The one place where the command of an agent is run for a stage.

The command is in `[run.PACK]` of moot.toml, and needs the consent of a person. It gets the prompt on standard input, in
the root of the worktree. A word that is exactly `{ROLE}` is replaced by the path of that role, `{document}` by that of
the document. Its exit code means: 0 success, 2 success with warnings, everything else failure, whatever it answers.
At its time limit the whole process group is ended.
"""

from __future__ import annotations

import os
import time

from moot.core.errors import Unavailable, Usage
from moot.core.text import closest, one_line
from moot.pipelines.answers import answer_in
from moot.pipelines.contract import StageError, StageOutput
from moot.place import VARIABLE
from moot.runs import commands
from moot.runs.stage import DOCUMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moot.api.call import Call
    from moot.core.handler import Handler
    from moot.pipelines.contract import Pipeline, StageInput
    from moot.place.locks import CommandLock
    from moot.place.processes import Ran
    from moot.runs.consent import PinnedHandler
    from moot.runs.stage import Stage

WARNED = 2  # the exit code of a command that succeeded with warnings
_SHOWN = 300  # characters of an error


def commands_of(call: Call, pipeline: Pipeline) -> dict[str, Handler]:
    """The commands in moot.toml, by stage. Refuses those of stages that the pack does not have."""
    from moot.api.verbs.effects.allow import commands_of as all_of

    pack = pipeline.pack
    found = {one.stage: one for one in all_of(call) if one.pack == pack.name}
    stages = {stage.name: stage for stage in pack.stages}
    for name in found:
        if name not in stages:
            near = closest(name, stages)
            advice = f"Did you mean {near}?" if near else f"Known: {', '.join(stages)}."
            raise Usage("unknown_stage", f"moot.toml: run.{pack.name} has no stage {name!r}.", advice, stage=name)
    return found


def is_inside(path: str, root: str) -> bool:
    return path == root or os.path.join(os.path.realpath(path), "").startswith(os.path.join(os.path.realpath(root), ""))


def missing_command(call: Call, pipeline: Pipeline, stage: Stage) -> Usage:
    pack, root = pipeline.pack.name, call.place.main_root or call.place.root
    file = "moot.toml" if is_inside(call.cwd, root) else os.path.join(root, "moot.toml")
    return Usage(
        "no_commands",
        f"The stage {stage.said} needs a command: moot.toml does not set run.{pack}.{stage.name}.",
        f"In the table [run.{pack}] of {file}, add for example: {stage.name} = {commands.EXAMPLE}",
        pack=pack,
        stage=stage.name,
    )


def run(
    call: Call,
    env: Mapping[str, str],
    pipeline: Pipeline,
    given: StageInput,
    pinned: PinnedHandler,
    lock: CommandLock,
    *,
    run_id: str,
    output: bool,
    cancel: Callable[[], bool] | None,
    progress: Callable[[float], None],
) -> Ran:
    """Run the command to its end. Raises `StageError` if it cannot be started. `env`: what its own is made from."""
    begun = time.monotonic()

    def alive() -> None:
        progress(time.monotonic() - begun)
        try:
            call.stamp()
        except Unavailable:
            pass  # the command goes on

    own = {"MOOT_RUN": run_id, "MOOT_STAGE": given.stage.name}
    place = call.place
    elsewhere = "" if is_inside(given.target.root, place.root) else given.target.root  # in no repository
    if VARIABLE in env or place.root == place.common or elsewhere:
        own[VARIABLE] = place.root
    try:
        return commands.run(
            pinned,
            commands.CommandInput(
                brief=pipeline.prompt(given),
                env=env,
                own=own,
                alive=alive,
                show=call.output if output else None,
                hold=(lock.file,),
                started=lock.started,
                mark=lock.mark,
                words=_words(given),
                cancel=cancel,
                cwd=elsewhere,
            ),
        )
    except commands.CannotStart as error:
        raise StageError(str(error)) from error


def _words(given: StageInput) -> dict[str, str]:
    """The paths of roles with one file, and of the document. None of them can be taken for an option."""
    found, document = {}, given.target.document
    named = {DOCUMENT: (document.path,)} if document is not None and document.path else {}
    for role, paths in {**named, **given.target.paths}.items():
        if len(paths) == 1:
            path = paths[0]
            found[f"{{{role}}}"] = os.path.join(os.curdir, path) if path.startswith("-") else path
    return found


def output_of(pipeline: Pipeline, given: StageInput, ran: Ran, timeout: float) -> StageOutput:
    """What a command did, by its exit code and its answer. Raises `StageError` if it failed."""
    if ran.timed_out:
        raise StageError(f"timed out after {timeout:g} s")
    if ran.signal:
        raise StageError(f"killed by signal {ran.signal}")
    failed = f"exit code {ran.code}{_last_line(ran)}" if ran.code not in (0, WARNED) else ""
    if given.stage.answer == "exit":
        if failed:
            raise StageError(failed)
        return StageOutput(warnings=_warnings(ran) if ran.code == WARNED else ())
    try:
        answer = answer_in(ran.output.tail.decode("utf-8", "replace"))
        found = pipeline.answered(given, answer)
    except StageError as error:
        if ran.output.size > len(ran.output.tail):
            error.text += f"; of its {ran.output.size >> 10} KiB, the last {len(ran.output.tail) >> 10} were read"
        if failed:
            raise StageError(f"{error.text} ({failed})", details=error.details, suggestion=error.suggestion) from error
        raise
    if failed:
        raise StageError(failed)
    if ran.code == WARNED and not found.warnings:
        return found.replace(warnings=_warnings(ran))
    return found


def _warnings(ran: Ran) -> tuple[str, ...]:
    """The warnings on standard error; at least one."""
    lines = ran.errors.tail.decode("utf-8", "replace").splitlines()
    found = tuple(line.partition(":")[2].strip()[:_SHOWN] for line in lines if line.startswith("Warning:"))
    return found or (f"it ended with exit code {WARNED}",)


def _last_line(ran: Ran) -> str:
    for output in (ran.errors, ran.output):
        lines = output.tail.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip(" \t\r`")), "")
        if last:
            return f": {one_line(last, _SHOWN)}"
    return ""
