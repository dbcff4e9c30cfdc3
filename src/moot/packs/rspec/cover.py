"""`moot rspec cover` up to the settled selection: discovery, the question to a person, and its answer.

A discovery is a run of its own with two stages, `discovery-agent` and `selection`. The answers of both are stored with
it: the proposal, and what was chosen. The question is a checkpoint, `k-RUN-select-1`; if an answer cannot be used, it
is asked again as `-2`. Nothing waits in a process: `proceed` goes on from the record, in any process.
"""

from __future__ import annotations

from moot.api.answer import Answer
from moot.core.deciders.checkpoint import ReachCheckpoint, ResolveCheckpoint
from moot.core.deciders.run import PASSED, STOPPED, EndRun, EndStage, OpenRun, StartStage
from moot.core.errors import MootError, Refused, Unknown
from moot.core.identity import people_only
from moot.core.json_codec import dumps, loads
from moot.core.record import Record
from moot.core.text import command_line, cut, option, visible
from moot.packs.rspec.agents import DISCOVERY
from moot.packs.rspec.changes import FILE, find_changes
from moot.packs.rspec.discovery import CANCELLED, STOP, Plan, discover
from moot.packs.rspec.selection import MethodChoice, applied, from_options, read_choice, view
from moot.packs.rspec.sources import relative_path
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.run import Run
    from moot.engine.unit_of_work import Work
    from moot.packs.rspec.cover_run import CoverOptions

PACK = "rspec"
SELECTION = "selection"
WARNED = 2  # the exit code of a success with warnings
STOP_CODE = 3  # the exit code of a run that was stopped, or waits for an answer
_MOST_QUESTIONS = 1000
_QUESTION = "Which methods are covered? yes, all, cancel, patterns, numbers, or +NAME -NAME"
_SHOWN = 20_000  # characters of the plan in a question


class CoverScope(Record):
    """What to look at: `mode` is branch, staged or file."""

    mode: str
    file: str | None = None
    base: str | None = None


class Beforehand(Record):
    """What options say. `given`: one of them makes the selection. `wishes`: kept with the run, such as the level."""

    given: bool = False
    wishes: Mapping[str, Any] = {}
    everything: bool = False
    only: tuple[str, ...] = ()
    but: tuple[str, ...] = ()


class CoverStop(Record):
    """A cover that ended early. `status`: stop, or waiting for the answer to a question of this `reason`."""

    status: str
    run: str
    reason: str
    message: str
    checkpoint: str | None = None


def discovered(call: Call, wanted: CoverScope) -> Plan:
    """The plan of the caller's worktree, as it is now. Changes nothing."""
    settings = call.packs.protocol(PACK).settings or {}
    path = relative_path(call.place.root, call.cwd, wanted.file) if wanted.file is not None else None
    base = wanted.base or settings.get("base") or None
    return discover(find_changes(call.place, wanted.mode, path, base))


def cover(call: Call, wanted: CoverScope, beforehand: Beforehand, options: CoverOptions) -> Answer:
    """Discover and settle the selection; or stop, or wait for an answer."""
    plan = discovered(call, wanted)
    choice = None
    if not plan.stopped and beforehand.given:
        choice = from_options(plan.answer, everything=beforehand.everything, only=beforehand.only, but=beforehand.but)
    run = _opened(call, plan, wanted, beforehand.wishes)
    for warning in plan.warnings:
        call.warn("discovery", warning)
    if plan.stopped:
        return _stopped(call, run, plan.answer)
    return _settled(call, run, plan, choice, options) if choice else _asked(call, run, plan, options)


def proceed(call: Call, run: Run, options: CoverOptions) -> Answer:
    """Go on with a discovery that waits for its selection."""
    _check_open(call, run)
    plan = _plan_of(call, run)
    question = _last_question(call, run.id)
    if question is None or question.open:
        return _asked(call, run.id, plan, options)
    if question.status == "withdrawn":
        return _settled(call, run.id, plan, MethodChoice("cancel"), options)
    try:
        choice = read_choice(plan.answer, question.answer or "")
    except MootError as problem:
        return _asked(call, run.id, plan, options, problem)
    return _settled(call, run.id, plan, choice, options)


def select(call: Call, run: Run, said: str, options: CoverOptions) -> Answer:
    """Answer the question of a discovery, and go on. An answer that cannot be used leaves the question open."""
    _check_open(call, run)
    plan = _plan_of(call, run)
    question = _last_question(call, run.id)
    if question is None or not question.open:
        return proceed(call, run, options)
    people_only(call.caller, "`moot rspec select`")
    return _settled(call, run.id, plan, read_choice(plan.answer, said), options, said)


def waiting_run(call: Call, name: str | None = None) -> Run:
    """The discovery with this name; without a name the newest that waits for its selection."""
    store = call.engine.read()
    if name is not None:
        found: Run = states.state(store, "run", name)[0]
        return found
    runs: list[Run] = [run for run in queries.things(store, "run") if run.pack == PACK and SELECTION in run.stages]
    if not runs:
        raise Unknown(
            "nothing_to_select", "No discovery waits for a selection.", "Start one: `moot rspec cover --branch`."
        )
    return runs[-1]


# --- the record ------------------------------------------------------------------------------------------------------


def _opened(call: Call, plan: Plan, wanted: CoverScope, wishes: Mapping[str, Any]) -> str:
    """Record the discovery. If it stopped, the run ends in the same commit."""
    answer = call.put_blob(dumps(dict(plan.answer)).encode())
    name = ""

    def act(work: Work) -> None:
        nonlocal name
        name = f"run-{work.token(7)}"
        opened = OpenRun(
            pack=PACK,
            stages=(DISCOVERY, SELECTION),
            title=f"discovery of {wanted.file if wanted.mode == FILE else 'the ' + wanted.mode}",
            root=call.place.root,
            parameters={
                "mode": plan.mode,
                "base": plan.base,
                "asked": wanted.base or "",
                "worktree": call.place.worktree,
                **wishes,
            },
        )
        work.do("run", name, opened, pack=PACK)
        _stage(work, name, DISCOVERY, answer, plan.warnings)
        if plan.stopped:
            work.do("run", name, EndRun(STOPPED, reason=plan.answer["reason"], at=DISCOVERY), pack=PACK)

    call.commit(act)
    return name


def _stage(work: Work, run: str, stage: str, answer: str, warnings: tuple[str, ...]) -> None:
    """Record a stage that has already been carried out."""
    work.do("run", run, StartStage(stage=stage, who=PACK), pack=PACK)
    attempt = len(work.state("run", run).tries_of(stage))
    work.do("run", run, EndStage(stage=stage, attempt=attempt, answer=answer, warnings=warnings), pack=PACK)


def _check_open(call: Call, run: Run) -> None:
    if run.pack != PACK or SELECTION not in run.stages:
        raise Refused("not_a_discovery", f"{run.id} is not a discovery.", "`moot runs` lists the runs.", run=run.id)
    if not run.open:
        raise Refused("run_ended", f"The selection of {run.id} is settled.", _after_selection(call, run), run=run.id)


def _after_selection(call: Call, run: Run) -> str:
    from moot.packs.rspec.cover_run import runs

    later = next((one.id for one in runs(call) if one.parameters.get("discovery") == run.id), None)
    if later is None:
        return "Start another one: `moot rspec cover`."
    return f"`{command_line('rspec resume', later)}` goes on with its run."


def _plan_of(call: Call, run: Run) -> Plan:
    stored = next(attempt for attempt in run.tries_of(DISCOVERY) if attempt.answer)
    answer: Mapping[str, Any] = loads(call.blob(stored.answer or "").decode("utf-8"))
    return Plan(answer, stored.warnings, str(run.parameters["base"]), str(run.parameters["mode"]))


def _settled(
    call: Call, run: str, plan: Plan, choice: MethodChoice, options: CoverOptions, said: str | None = None
) -> Answer:
    """Record what was chosen, together with the answer that was given at the terminal, and go on."""
    answer, warnings = applied(plan.answer, choice)
    stored = call.put_blob(dumps(answer).encode())
    question = _last_question(call, run)

    def act(work: Work) -> None:
        if said is not None and question is not None:
            work.do("checkpoint", question.id, ResolveCheckpoint(actor=call.actor(work), answer=said), pack=PACK)
        _stage(work, run, SELECTION, stored, warnings)
        stopped = answer["status"] == STOP
        end = EndRun(STOPPED, reason=CANCELLED, at=SELECTION) if stopped else EndRun(PASSED)
        work.do("run", run, end, pack=PACK)

    call.commit(act)
    for warning in warnings:
        call.warn("discovery", warning)
    if answer["status"] == STOP:
        return _stopped(call, run, answer)
    from moot.packs.rspec.cover_run import start

    settled = plan.replace(answer=answer, warnings=(*plan.warnings, *warnings))
    return start(call, settled, states.state(call.engine.read(), "run", run)[0], options)


def _stopped(_call: Call, run: str, answer: Mapping[str, Any]) -> Answer:
    result = CoverStop(status=STOP, run=run, reason=answer["reason"], message=answer["message"])
    return Answer(result=result, say=(f"stopped: {answer['message']}",), code=STOP_CODE)


# --- the question ----------------------------------------------------------------------------------------------------


def _question_id(run: str, number: int) -> str:
    return f"k-{run}-select-{number}"


def _last_question(call: Call, run: str) -> Checkpoint | None:
    store = call.engine.read()
    last = None
    for number in range(1, _MOST_QUESTIONS):
        found: Checkpoint = states.state(store, "checkpoint", _question_id(run, number))[0]
        if not found.exists:
            break
        last = found
    return last


def _asked(call: Call, run: str, plan: Plan, options: CoverOptions, problem: MootError | None = None) -> Answer:
    """Ask, or say that the question is still open. At a terminal, read the answer there."""
    question = _last_question(call, run)
    if question is None or not question.open:
        question = _reached(call, run, plan, 1 if question is None else _number(question) + 1, problem)
    if call.prompt is not None and call.caller.person:
        return _at_the_terminal(call, run, plan, question, options)
    message = f"{_QUESTION}. Answer and go on: `{_selecting(run)}`."
    result = CoverStop(status="waiting", run=run, reason=SELECTION, message=message, checkpoint=question.id)
    lines = (*_shown(plan, problem), f"{question.id} waits for a person.", message)
    return Answer(result=result, say=lines, code=STOP_CODE)


def _selecting(run: str) -> str:
    return command_line("rspec select ANSWER", options=option("--run", run))


def _number(question: Checkpoint) -> int:
    return int(question.id.rpartition("-")[2])


def _reached(call: Call, run: str, plan: Plan, number: int, problem: MootError | None) -> Checkpoint:
    name = _question_id(run, number)
    text = "\n".join(_shown(plan, problem))
    question = f"{text[:_SHOWN]}\n{_QUESTION}."

    def act(work: Work) -> None:
        who = call.actor(work).principal
        reach = ReachCheckpoint(who=who, kind="decision", question=question, awaiting="the selection of methods")
        work.do("checkpoint", name, reach, pack=PACK)

    call.commit(act)
    found: Checkpoint = states.state(call.engine.read(), "checkpoint", name)[0]
    return found


def _shown(plan: Plan, problem: MootError | None) -> list[str]:
    notes = [f"{problem.message} {problem.remedy}"] if problem is not None else []
    return [*notes, *shown(plan)]


def shown(plan: Plan) -> list[str]:
    """The numbered methods of a plan."""
    return [cut(visible(line), 300) for line in view(plan.answer, plan.warnings)]


def _at_the_terminal(call: Call, run: str, plan: Plan, question: Checkpoint, options: CoverOptions) -> Answer:
    """Read answers until one can be used. The end of the input leaves the question open."""
    assert call.prompt is not None
    lines = tuple(_shown(plan, None))
    while True:
        said = call.prompt(lines, _QUESTION)
        if said is None:
            message = f"The question stays open. Answer and go on: `{_selecting(run)}`."
            stop = CoverStop(status="waiting", run=run, reason=SELECTION, message=message, checkpoint=question.id)
            return Answer(result=stop, say=(message,), code=STOP_CODE)
        try:
            choice = read_choice(plan.answer, said or "yes")
        except MootError as problem:
            lines = (f"{problem.message} {problem.remedy}",)
            continue
        return _settled(call, run, plan, choice, options, said or "yes")
