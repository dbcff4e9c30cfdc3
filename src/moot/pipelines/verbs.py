"""run: drive the agents of a pack through its tasks, or files through its stages."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.errors import AwaitedFailed, TimedOut, Usage
from moot.core.text import age, bullets, command_line, one_line
from moot.runs import verbs as driving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.api.protocol import Pack
    from moot.pipelines.contract import Pipeline, Target
    from moot.pipelines.steps import PipelineStep, RunOptions

_DETAILS = 20  # lines
LIMIT = "parallel"  # the setting of a pack that says how many runs may work at once


def run(
    call: Call,
    name: str,
    paths: tuple[str, ...],
    task: tuple[str, ...],
    once: bool,
    max: int | None,  # noqa: A002
    resume: bool,
    stage: str | None,
    until: str | None,
    again: bool,
    wait: bool,
    parallel: int | None,
    keep_going: bool,
    output: bool,
    dry_run: bool,
) -> Answer:
    pack = next((one for one in call.packs.packs if one.name == name), None)
    if pack is None or not pack.stages:
        if pack is not None and (paths or resume or stage or until or again or wait or parallel is not None):
            raise Usage(
                "bad_arguments",
                f"{name[:80]} does not run files through stages, so only tasks can be named.",
                f"`{command_line('run', name[:80])}` drives its agents.",
            )
        return driving.run(call, name, task, once, max, keep_going, output, dry_run)
    if task or once or max is not None:
        raise Usage("bad_arguments", f"{name} runs files, not tasks.", f"`{command_line('run', name, 'FILE')}`")
    if stage and until:
        raise Usage("bad_arguments", "--stage and --until cannot be combined.", "Use one of them.")
    from moot.pipelines.steps import RunOptions

    if parallel is not None and parallel < 1:
        raise Usage("bad_arguments", "--parallel must be at least 1.", "Leave it out for the limit of the pack.")
    pipeline = pipeline_of(call, pack)
    targets = pipeline.targets(call, paths)
    if not targets:
        raise Usage("no_targets", "There is nothing to run.", f"Name a file: `{command_line('run', name, 'FILE')}`.")
    options = RunOptions(
        resume=resume,
        only=stage or "",
        until=until or "",
        again=again,
        wait=wait,
        limit=parallel or limit_of(pack),
        output=output,
        keep_going=keep_going,
    )
    if dry_run:
        return _planned(call, pipeline, targets, options)
    return Answer(result=[], more=_run(call, pipeline, targets, options))


def pipeline_of(call: Call, pack: Pack) -> Pipeline:
    """The code of a pack's stages; the default one for a pack without code."""
    from moot.core.kind import load
    from moot.pipelines.contract import Pipeline

    place = call.packs.protocol(pack.name).pipeline
    made: Pipeline = (load(place) if place else Pipeline)(pack)
    return made


def limit_of(pack: Pack) -> int:
    """How many runs may work at once, by the setting of the pack."""
    found = pack.values.get(LIMIT, 1)
    return found if isinstance(found, int) and found > 0 else 1


def _planned(call: Call, pipeline: Pipeline, targets: list[Target], options: RunOptions) -> Answer:
    from moot.pipelines.planning import planned

    found = [planned(call, pipeline, target, options) for target in targets]
    lines = [line for one in found for line in one.lines]
    return Answer(result=found, say=tuple(lines))


def _run(call: Call, pipeline: Pipeline, targets: list[Target], options: RunOptions) -> Iterator[Answer]:
    from moot.pipelines.running import run_target
    from moot.pipelines.waves import run_targets
    from moot.place.processes import interruptible

    failed: list[PipelineStep] = []
    last: PipelineStep | None = None
    with interruptible():
        if len(targets) == 1:
            steps = run_target(call, pipeline, targets[0], options)
        else:
            steps = run_targets(call, pipeline, targets, options)
        for step in steps:
            lines = lines_of(step, pipeline)
            yield Answer(result=step, say=lines)
            if step.what == "failed":
                failed.append(step)
            last = step
    if last is not None and last.outcome == "failed":
        raise _failed(last, failed)


def _failed(last: PipelineStep, failed: list[PipelineStep]) -> AwaitedFailed | TimedOut:
    first = failed[0] if failed else last
    what = one_line(f"{first.title or first.target}: {first.stage or 'it'} failed: {first.text}", 1000)
    name = first.run or last.run
    remedy = f"{first.suggestion} " if first.suggestion else ""
    remedy += f"See what happened: `{command_line('run status', name)}`"
    printed = first.code is not None
    remedy += (
        f", and what the command printed: `{command_line('run log', name)} --stage {first.stage}`." if printed else "."
    )
    if failed and all(step.timed_out for step in failed):
        return TimedOut("run_timed_out", what, remedy, run=first.run)
    return AwaitedFailed("run_failed", what, remedy, run=first.run, problems=list(first.problems))


def lines_of(step: PipelineStep, pipeline: Pipeline) -> tuple[str, ...]:
    """A step in words."""
    at = f"{step.title}: " if step.title else ""
    stage = next((one.said for one in pipeline.pack.stages if one.name == step.stage), step.stage)
    took = f" after {age(step.seconds)}" if step.seconds >= 1 else ""
    match step.what:
        case "opened":
            said = [f"{at}{step.text} ({step.run})"]
        case "waiting" | "ready":
            said = [f"{at}{step.text}"]
        case "started":
            again = f", attempt {step.attempt}" if step.attempt > 1 else ""
            usual = f", usually {age(step.estimate)}" if step.estimate else ""
            said = [f"{at}{stage} starts{again}{usual}: {step.text}"]
        case "waits":
            said = [f"{at}{stage} needs an answer: {step.text}"]
        case "ended":
            counts = ", ".join(f"{number} {word}" for word, number in step.counts.items())
            said = [f"{at}{step.text}{f' ({counts})' if counts else ''}"]
        case "failed":
            more = [problem for problem in step.problems if problem != step.text]
            said = [f"{at}{stage} failed{took}: {step.text}", *bullets(more)]
            said += [f"  {text}" for text in (*step.details.splitlines()[:_DETAILS], step.suggestion) if text]
        case _:
            text = f": {step.text}" if step.text else ""
            said = [f"{at}{stage} {step.what}{took}{text}", *(f"  warning: {one}" for one in step.warnings)]
    return tuple(f"{'  ' * line.startswith('  ')}{one_line(line, 500)}" for line in said)


VERBS = (
    Verb(
        "run",
        "Let agent commands work through the tasks of a pack, or run files through its stages.",
        run,
        kind="local-exec",
        everything=True,
        params=(
            Param("name", "The pack.", positional=True, required=True),
            Param("paths", "The files to run through the stages of the pack.", positional=True, many=True),
            *driving.PARAMS,
            Param("resume", "Go on with the last run of these files.", type="flag"),
            Param("stage", "Run this stage alone, on what the earlier ones left."),
            Param("until", "Stop after this stage."),
            Param("again", "Use no earlier result.", type="flag"),
            Param("wait", "Wait while another process works on the same file, instead of refusing.", type="flag"),
            Param(
                "parallel",
                "How many files may be worked on at once. Default: the setting of the pack, or 1.",
                type="int",
            ),
            Param("keep_going", "Go on with the next one when one has failed.", type="flag"),
            Param("output", "Show the output of the commands as it comes.", type="flag"),
            Param("dry_run", "Show what would be run, and start nothing.", type="flag"),
        ),
        examples=(
            "moot run orchestrator --dry-run",
            "moot run orchestrator --task task-003",
            "moot run checks src/app.py src/store.py --parallel 2",
            "moot run checks src/app.py --resume",
        ),
        detail=(
            f"If the agents of the pack work on tasks, {driving.DETAIL[:1].lower()}{driving.DETAIL[1:]}\n"
            "If the pack has stages (`moot run stages PACK`), each file goes through them in order. A stage is the "
            "code of the pack, or a command in [run.PACK] of moot.toml, which gets its prompt on standard input; a "
            "word `{source}` is replaced by the path of the file, and `{document}` by that of its document. A stage "
            "whose inputs have not changed is not run "
            "again. The first one that fails ends the run. `moot run status` shows where everything stands, and "
            "`moot run explain` why."
        ),
    ),
)
