"""run: let the agents of a pack work through its tasks, or take files through its stages."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.api.verbs.effects.allow import commands_of, consent_of
from moot.core.errors import AwaitedFailed, Refused, TimedOut, Unknown, Usage
from moot.core.kind import load
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.task.refusals import to_reopen
from moot.core.task.refusals import unknown as unknown_task
from moot.core.text import age, bullets, closest, command_line, counted, first_few, one_line, option
from moot.place import VARIABLE
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Pack
    from moot.core.handler import Handler
    from moot.core.identity import Caller
    from moot.core.lifecycle import Lifecycle
    from moot.core.task import Task
    from moot.runs.consent import Consent
    from moot.runs.drivers import DriveOptions, DriverSetup, DriverStep, PackDriver
    from moot.runs.steps import PipelineStep, RunOptions

_DETAILS = 20  # lines
_WIDTH = 160
_LISTED = 20  # tasks in a dry run
_FLAGS = {"most": "max", "tasks": "task", "keep_going": "keep-going"}
LIMIT = "parallel"  # the setting of a pack that says how many runs may work at once
DEFAULT = "moot.runs.contract:Pipeline"  # the code of stages, for a pack that has none


class PlannedCommand(Record):
    """A command that `moot run` would start. `obstacle`: why it cannot be run."""

    stage: str
    command: tuple[str, ...]
    allowed: bool
    timeout: float
    attempts: int
    obstacle: str | None = None


class PlannedRun(Record):
    """What `moot run` would do: the commands, and the tasks in order. `more`: how many other tasks there are."""

    commands: tuple[PlannedCommand, ...]
    tasks: tuple[str, ...]
    more: int = 0


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
    sequential: bool,
    wave: int | None,
    keep_going: bool,
    output: bool,
    dry_run: bool,
) -> Answer:
    pack = next((one for one in call.packs.packs if one.name == name), None)
    if pack is None or not pack.stages:
        from moot.runs.drivers import DriveOptions

        if pack is not None and (paths or resume or stage or until or again or wait):
            raise Usage(
                "bad_arguments",
                f"{name[:80]} does not run files through stages, so only tasks can be named.",
                f"`{command_line('run', name[:80])}` drives its agents.",
            )
        if max is not None and (once or max < 1):
            raise Usage("bad_arguments", "--max must be at least 1, and not go with --once.", "Use one of them.")
        wanted = DriveOptions(
            most=1 if once else max,
            tasks=tuple(dict.fromkeys(task)),
            keep_going=keep_going,
            parallel=parallel,
            sequential=sequential,
            wave=wave,
        )
        return _agents(call, name, wanted, output=output, dry_run=dry_run)
    if task or once or max is not None or sequential or wave is not None:
        raise Usage("bad_arguments", f"{name} runs files, not tasks.", f"`{command_line('run', name, 'FILE')}`")
    if stage and until:
        raise Usage("bad_arguments", "--stage and --until cannot be combined.", "Use one of them.")
    from moot.runs.steps import RunOptions

    if parallel is not None and parallel < 1:
        raise Usage("bad_arguments", "--parallel must be at least 1.", "Leave it out for the limit of the pack.")
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
    return _files(call, pack, paths, options, dry_run=dry_run)


def _files(call: Call, pack: Pack, paths: tuple[str, ...], options: RunOptions, *, dry_run: bool) -> Answer:
    pipeline = pipeline_of(call, pack)
    site = parts_for(call, pipeline)
    targets = pipeline.targets(site, paths)
    if not targets:
        named = command_line("run", pack.name, "FILE")
        raise Usage("no_targets", "There is nothing to run.", f"Name a file: `{named}`.")
    if dry_run:
        return _planned(site, pipeline, targets, options)
    return Answer(result=[], more=_run(site, pipeline, targets, options))


def pipeline_of(call: Call, pack: Pack) -> Any:
    """The code of a pack's stages."""
    return load(call.packs.protocol(pack.name).pipeline or DEFAULT)(pack)


def parts_for(call: Call, pipeline: Any) -> Any:
    """What the code of a pack's stages is run with."""
    from moot.api.verbs.runs.site import site_of

    return call if pipeline.takes_call else site_of(call)


def limit_of(pack: Pack) -> int:
    """How many runs may work at once, by the setting of the pack."""
    found = pack.values.get(LIMIT, 1)
    return found if isinstance(found, int) and found > 0 else 1


def _planned(site: Any, pipeline: Any, targets: list[Any], options: RunOptions) -> Answer:
    found = [pipeline.planned(site, target, options) for target in targets]
    lines = [line for one in found for line in one.lines]
    return Answer(result=found, say=tuple(lines))


def _run(site: Any, pipeline: Any, targets: list[Any], options: RunOptions) -> Iterator[Answer]:
    from moot.place.processes import interruptible

    failed: list[PipelineStep] = []
    last: PipelineStep | None = None
    with interruptible():
        for step in pipeline.steps(site, targets, options):
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


def lines_of(step: PipelineStep, pipeline: Any) -> tuple[str, ...]:
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


# --- the agents of a pack ---------------------------------------------------------------------------------------------


def _agents(call: Call, name: str, options: DriveOptions, *, output: bool, dry_run: bool) -> Answer:
    driver = _driver(call, name)
    given = {key for key, value in options.__dict__.items() if value is not None and value is not False and value != ()}
    if wrong := given.difference(driver.options):
        raise Usage(
            "bad_arguments",
            f"`{command_line('run', name)}` does not take --{_FLAGS.get(min(wrong), min(wrong))}.",
            f"`{command_line('run', options='--help')}` shows what each pack takes.",
        )
    if options.sequential and options.parallel is not None:
        raise Usage("bad_arguments", "--parallel and --sequential cannot be combined.", "Use one of them.")
    commands = _commands(call, driver)
    store = call.engine.read()
    for one in options.tasks:
        found, _ = states.task(store, one)
        if not found.exists:
            raise unknown_task(one, queries.task_ids(store))
        _check_task(name, found, call.engine.lifecycles.get(found.lifecycle))
    if dry_run:
        return _agents_planned(call, driver, commands, options)
    _check_ready(consent_of(call), commands)
    return Answer(result=[], more=_driven(call, driver, _setup(call, name, commands, output=output), options))


def _setup(call: Call, pack: str, commands: dict[str, Handler], *, output: bool) -> DriverSetup:
    from moot.runs.drivers import DriverSetup

    def as_agent(caller: Caller, verb: str, **given: Any) -> Answer:
        with call.workspace.call(caller, call.cwd) as own:
            return own.run(verb, given)

    place = call.place
    named = VARIABLE in call.env or place.root == place.common  # otherwise it is found from the directory
    return DriverSetup(
        pack=pack,
        state=place.state,
        engine=call.engine,
        env=call.env,
        own={VARIABLE: place.root} if named else {},
        commands=commands,
        consent=consent_of(call),
        presence=call.presence,
        commit=call.commit,
        sync=call.sync,
        stamp=call.stamp,
        put_blob=call.put_blob,
        progress=call.progress,
        as_agent=as_agent,
        show=call.output if output else None,
    )


def _driver(call: Call, name: str) -> PackDriver:
    active = {pack.name: pack for pack in call.packs.packs}
    if name not in active:
        near = closest(name, active)
        hint = f"Did you mean {command_line('run', near)}? " if near else ""
        raise Unknown(
            "unknown_pack_name",
            f"No active pack is called {name[:80]!r}.",
            f"{hint}Active: {', '.join(active) or 'none'}. To run a command and keep its result: "
            "`moot check -- COMMAND`. To run one as an agent: `moot as NAME -- COMMAND`.",
            pack=name,
        )
    place = call.packs.protocol(name).driver
    if not place:
        raise Refused(
            "not_drivable",
            f"The pack {name} does not drive agents.",
            "Start its agents yourself; `moot brief` shows what each role must know.",
            pack=name,
        )
    driver: PackDriver = load(place)(call, active[name])
    return driver


def _commands(call: Call, driver: PackDriver) -> dict[str, Handler]:
    """The commands of [run.PACK] by stage. Refuses unknown stages, and missing ones that are required."""
    pack = driver.name
    found = {command.stage: command for command in commands_of(call) if command.pack == pack}
    for stage in found:
        if driver.stages and stage not in driver.stages:
            near = closest(stage, driver.stages)
            advice = f"Did you mean {near}?" if near else f"Known: {', '.join(driver.stages)}."
            raise Usage("unknown_stage", f"moot.toml: run.{pack} has no stage {stage!r}.", advice, stage=stage)
    missing = [stage for stage in driver.required if stage not in found]
    if missing:
        from moot.runs.commands import EXAMPLE

        raise Usage(
            "no_commands",
            f"moot.toml does not say how to run {' and '.join(missing)} of {pack}.",
            f"In the table [run.{pack}] of moot.toml, add for example: {missing[0]} = {EXAMPLE}",
            pack=pack,
            missing=missing,
        )
    return found


def _check_task(pack: str, task: Task, life: Lifecycle | None) -> None:
    """Refuse a task that was named, but cannot be driven."""
    if task.lifecycle.partition("/")[0] != pack:
        added = command_line("task add", "TITLE", options=option("--lifecycle", pack))
        raise Refused(
            "other_lifecycle",
            f"{task.id} follows the lifecycle {task.lifecycle}, which {pack} does not drive.",
            f"Add the task with that lifecycle: `{added}`.",
            task=task.id,
        )
    if task.phase in ("done", "stopped"):
        assert life is not None, "the lifecycle of this pack is active"
        raise Refused(
            "task_over",
            f"{task.id} is {task.state}: there is nothing to drive.",
            f"To try it again: `{to_reopen(life, task)}`.",
            task=task.id,
        )
    if task.waits:
        raise Refused(
            "task_waits",
            f"{task.id} waits for {', '.join(task.waits)}.",
            "Drive those first.",
            task=task.id,
        )


def _check_ready(consent: Consent, commands: dict[str, Handler]) -> None:
    """Refuse before anything happens if a command is not allowed, or cannot be run."""
    from moot.runs.commands import obstacle
    from moot.runs.consent import not_allowed

    for command in commands.values():
        why = obstacle(consent.pinned(command))
        if why is not None:
            raise Refused(
                "command_unusable",
                f"{command.name} cannot be used: {why}.",
                "Correct it in moot.toml, or install the program.",
                command=command.name,
            )
    unallowed = [command for command in commands.values() if not consent.allows(command)]
    if unallowed:
        raise not_allowed(consent, unallowed)


def _agents_planned(call: Call, driver: PackDriver, commands: dict[str, Handler], options: DriveOptions) -> Answer:
    from moot.runs.commands import obstacle

    consent = consent_of(call)
    planned = tuple(
        PlannedCommand(
            stage, one.run, consent.allows(one), one.timeout, one.attempts, obstacle=obstacle(consent.pinned(one))
        )
        for stage, one in commands.items()
    )
    names = options.tasks or tuple(task.id for task in driver.candidates(call.engine.read(), ()))
    names = names[: options.most]
    plan = PlannedRun(commands=planned, tasks=names[:_LISTED], more=max(0, len(names) - _LISTED))
    lines = [_plan_line(one) for one in planned]
    lines += [f"would drive {', '.join(plan.tasks)}{f' and {plan.more} more' if plan.more else ''}"] if names else []
    return Answer(result=plan, say=(*lines, *([] if names else ["No task is pending."])))


def _plan_line(one: PlannedCommand) -> str:
    from shlex import join

    state = one.obstacle or ("allowed" if one.allowed else "not allowed here yet: `moot allow`")
    limits = f"{counted(one.attempts, 'attempt')} of at most {age(one.timeout)}"
    return one_line(f"{one.stage}: {join(one.command)} ({limits}; {state})", _WIDTH)


def _driven(call: Call, driver: PackDriver, setup: DriverSetup, options: DriveOptions) -> Iterator[Answer]:
    from moot.place.processes import interruptible
    from moot.runs.drivers import DriverStep, Driving

    failures: list[DriverStep] = []
    seen: set[str] = set()
    last: DriverStep | None = None
    call.lasting = True
    with interruptible():
        driving = Driving(setup, options)
        try:
            with driving:
                for step in driver.drive(driving):
                    yield Answer(result=step, say=_agent_lines(step))
                    seen.add(step.task or "")
                    if step.what == "failed":
                        last = step
                    if step.what == "ended" and step.outcome == "failed":
                        failures.append(step if last is None else step.replace(timed_out=last.timed_out))
        except KeyboardInterrupt:
            again = f"Interrupted. To go on: {command_line(f'run {driver.name}')}"
            yield Answer(result=DriverStep("interrupted", driving.id, text=again), say=(again,))
            raise
        counts = driving.counts
        failed = counts.get("failed", 0) + counts.get("rejected", 0)
        summary = DriverStep("summary", driving.id, text=driver.summary(counts), counts=dict(counts))
        yield Answer(result=summary, say=(summary.text,))
    if failed:
        raise _tasks_failed(failed, failures)
    if not options.tasks and (options.most is None or sum(counts.values()) < options.most):
        _check_left(call, driver.name, seen)


def _check_left(call: Call, pack: str, seen: set[str]) -> None:
    """Fail if tasks are unfinished that an earlier driver left, and that this one did not take."""
    from moot.api.verbs.runs.status import concerns

    left = [one for one in concerns(call, pack) if one.about not in seen]
    if left:
        names = [one.about for one in left]
        said = f"An earlier run left {first_few(names)} unfinished: {one_line(left[0].message, 900)}"
        raise AwaitedFailed(
            "tasks_unfinished",
            said,
            f"Go on with it: `{left[0].remedy}`.",
            tasks=names,
        )


def _tasks_failed(number: int, failures: list[DriverStep]) -> AwaitedFailed | TimedOut:
    said = f"{counted(number, 'task')} {'was' if number == 1 else 'were'} not completed"
    what = one_line(f"{said}. {failures[-1].text}", 1000)
    go_on = f"{failures[-1].remedy} " if failures[-1].remedy else ""
    remedy = f"{go_on}See what happened: `{command_line('run show', failures[-1].run)}`."
    if all(step.timed_out for step in failures):
        return TimedOut("run_timed_out", what, remedy, run=failures[-1].run)
    return AwaitedFailed("run_failed", what, remedy, run=failures[-1].run)


def _agent_lines(step: DriverStep) -> tuple[str, ...]:
    at = f"{step.task}: " if step.task else ""
    match step.what:
        case "opened":
            again = f", attempt {step.attempt}" if step.attempt > 1 else ""
            said = f"{at}{step.text} ({step.run}{again})"
        case "started":
            limit = f" of {step.limit}" if step.limit else ""
            again = f", attempt {step.attempt}{limit}" if step.attempt > 1 else ""
            said = f"{at}{step.stage} starts as {name_of(step.who)}{again}: {step.text}"
        case "waiting":
            said = f"{at}{step.stage} still runs, although its driver was killed; waiting up to {age(step.seconds)}"
        case "ended":
            said = f"{at}{step.text}"
        case "report":
            return tuple(step.text.splitlines())
        case _:
            said = f"{at}{step.stage} {step.what} after {age(step.seconds)}: {step.text}"
    return (one_line(said, 500),)


# --- the verb ---------------------------------------------------------------------------------------------------------

_AGENTS = (
    'The commands are in moot.toml: [run.orchestrator] lead = ["claude", "-p", "--permission-mode", "acceptEdits"], '
    'developer = ["codex", "exec", "--sandbox", "workspace-write", "-"], and review = […] if the lead\'s command does '
    "not review. No shell is involved. Each runs only after a person has allowed its exact content on this machine "
    "(`moot allow`), in this worktree, with the environment of handlers, as an agent of its own (MOOT_AGENT). It gets "
    "the brief of its role and the task on standard input, or as the argument `{brief}`.\n"
    "The next task is the pending one with the highest priority, then the oldest. What counts is the log: a "
    "command has done its part when there is an assignment, a report or a verdict, written into a file, sent "
    "with moot, or printed as the last JSON block of the output. If there is none, the command is run again, "
    "as often as its `attempts`, and told why. A rejected task is tried again while it has attempts left.\n"
    "An interrupt ends the running command. If the driver is killed, run it again: it goes on where it was. "
    "One driver at a time works on a pack. `moot run log last` shows what a command wrote. Exit codes: 0 all "
    "completed, 1 refused, 3 another driver runs, 5 time limit, 6 a task was not completed, now or by an earlier "
    "run, 130 interrupted."
)

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
            Param("task", "Only this task (repeatable); also one that is in progress or in review.", many=True),
            Param("once", "Stop after one task.", type="flag"),
            Param("max", "Stop after this many tasks.", type="int"),
            Param("resume", "Go on with the last run of these files.", type="flag"),
            Param("stage", "Run this stage alone, on what the earlier ones left."),
            Param("until", "Stop after this stage."),
            Param("again", "Use no earlier result.", type="flag"),
            Param("wait", "Wait while another process works on the same file, instead of refusing.", type="flag"),
            Param(
                "parallel",
                "How many may be worked on at once. Default: the setting of the pack, or 1. Alone, it is for a pack "
                "with agents that work side by side: all of them.",
                type="int",
                alone=0,
            ),
            Param("sequential", "Let the agents of a wave work one after the other.", type="flag"),
            Param("wave", "Only this wave.", type="int"),
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
            f"If the agents of the pack work on tasks, {_AGENTS[:1].lower()}{_AGENTS[1:]}\n"
            "If the pack has stages (`moot run stages PACK`), each file goes through them in order. A stage is the "
            "code of the pack, or a command in [run.PACK] of moot.toml, which gets its prompt on standard input; a "
            "word `{source}` is replaced by the path of the file, and `{document}` by that of its document. A stage "
            "whose inputs have not changed is not run "
            "again. The first one that fails ends the run. `moot run status` shows where everything stands, and "
            "`moot run explain` why."
        ),
    ),
)
