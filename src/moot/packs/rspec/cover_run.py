"""The run over all documents of a discovery, wave by wave: `moot rspec cover` after the selection, and `resume`.

A parent run has the waves; each document in a wave is a run of its own. All that a later process needs is in the
parent's record, so that any process can go on. What always holds:

- A wave begins when every document of the wave before it has been reviewed. A stage that fails ends everything.
- If tests of a wave fail, a person decides at its gate: go on without the failed methods, or abort. Nothing is fixed or
  repeated by itself.
- A question to a person is a checkpoint. The run waits without a process; `resume` goes on with the answer.
"""

from __future__ import annotations

import os

from moot.api.answer import Answer
from moot.api.verbs.effects.allow import commands_of
from moot.core.deciders.checkpoint import ReachCheckpoint, ResolveCheckpoint
from moot.core.deciders.run import PASSED
from moot.core.errors import Refused, Unknown
from moot.core.record import Record
from moot.core.text import command_line, option
from moot.packs.rspec.agents import ANALYZER, REVIEWER
from moot.packs.rspec.cover import STOP_CODE, CoverStop
from moot.packs.rspec.cover_ends import failed, interruption
from moot.packs.rspec.cover_history import PACK, answer_of, newest, run_named, runs
from moot.packs.rspec.cover_options import CoverOptions
from moot.packs.rspec.cover_report import CoverReport, FileReport, said
from moot.packs.rspec.cover_targets import MIRROR, RspecProject, methods_in, project_of, slug_in, target_of
from moot.packs.rspec.discovery_documents import documents
from moot.packs.rspec.found_documents import check_found
from moot.packs.rspec.own_blocks import written
from moot.packs.rspec.pipeline import RspecPipeline, Surroundings
from moot.packs.rspec.programs import check_allowed
from moot.packs.rspec.project_classes import classes_for, ruby_files
from moot.packs.rspec.rspec_runs import RspecCommand
from moot.packs.rspec.wave_gate import EarlierChoice, WaveGate, withdraw_all, withdraw_settled, withdraw_superseded
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from moot.api.call import Call
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.run import Run
    from moot.packs.rspec.discovery import Plan
    from moot.packs.rspec.pipeline import Question
    from moot.packs.rspec.wave_gate import Halt
    from moot.pipelines.contract import Target
    from moot.runs.steps import PipelineStep

    Found = TypeVar("Found")

_LARGEST = 4 << 20


class CoverPart(Record):
    """A document of the run: discovery's part of it, and its methods by wave."""

    slug: str
    values: Mapping[str, Any]
    waves: Mapping[int, tuple[str, ...]]


def start(call: Call, plan: Plan, discovery: str = "", options: CoverOptions | None = None) -> Answer:
    """Begin the run of a discovery whose selection is settled."""
    parts = [CoverPart(one.slug, one.values, one.waves) for one in documents(plan.answer, _taken(call))]
    parameters: dict[str, Any] = {
        "parts": [_plain(part) for part in parts],
        "base": plan.base,
        "mode": plan.mode,
        "discovery": discovery,
        "warnings": list(plan.warnings),
    }
    options = options or CoverOptions()
    parameters["chosen"] = {"level": options.level, "existing": options.existing, "gate": options.gate}
    parameters["chosen"]["by"] = _who(call)
    return Cover(call, parameters, options).go()


def resume(call: Call, name: str, options: CoverOptions) -> Answer:
    """Go on with a run that ended without having passed, or that waits for an answer."""
    run = run_named(call, name) if name else newest(call)
    if run is None or not run.waves or run.pack != PACK:
        raise Unknown(
            "nothing_to_resume",
            f"{name} is not a run of the pack {PACK}." if name else "There is no run to resume.",
            "Start one: `moot rspec cover`.",
        )
    if run.outcome == PASSED:
        raise _finished_before(call, run)
    return Cover(call, run.parameters, options, run.id).go()


def _finished_before(call: Call, run: Run) -> Refused:
    """The error for a run that needs no resuming. Names another one that may, unless it was asked for."""
    remedy = "Start another one: `moot rspec cover`."
    last = newest(call)
    if last is not None and last.id == run.id:
        roots = (one for one in runs(call) if one.waves and not one.open and one.outcome != PASSED)
        if (other := next(roots, None)) is not None:
            again = command_line("rspec resume", other.id)
            remedy = f"To go on with an earlier one, which has not: `{again}`. To start a new one: `moot rspec cover`."
    return Refused("run_ended", f"The run {run.id} has finished.", remedy, run=run.id)


def _who(call: Call) -> str:
    return call.caller.agent or call.login


def _taken(call: Call) -> list[tuple[str, str]]:
    """The slugs of documents that exist, each with its source."""
    store = call.engine.read()
    found = []
    for one in queries.things(store, "document", 10_000, ended=True):
        source = one.leaves.get("/source_file")
        if one.mirror == MIRROR and isinstance(source, str) and "__" not in one.subject:
            found.append((one.subject, source))
    return found


def _plain(part: CoverPart) -> dict[str, Any]:
    waves = {str(number): list(names) for number, names in part.waves.items()}
    return {"slug": part.slug, "values": dict(part.values), "waves": waves}


def parts_of(parameters: Mapping[str, Any]) -> dict[str, CoverPart]:
    """The documents of a run, from its record."""
    found = {}
    for one in parameters["parts"]:
        waves = {int(number): tuple(names) for number, names in one["waves"].items()}
        found[one["slug"]] = CoverPart(one["slug"], one["values"], waves)
    return found


class Cover:
    """One parent run, in this process. `resumed`: its id, if it goes on."""

    def __init__(self, call: Call, parameters: Mapping[str, Any], options: CoverOptions, resumed: str = "") -> None:
        self.call, self.parameters, self.options, self.id = call, parameters, options, resumed
        self._resumed = bool(resumed)
        self.protocol = call.packs.protocol(PACK)
        self.settings = self.protocol.settings or {}
        self.project: RspecProject = project_of(call, self.settings)
        self.parts = parts_of(parameters)
        self._has_analyzer = any(one.pack == PACK and one.stage == ANALYZER for one in commands_of(call))
        files = ruby_files(self.project.root)
        self.targets = [self.target(part, wave, files) for part in self.parts.values() for wave in part.waves]
        self.targets.sort(key=lambda target: target.wave)
        self.steps: list[PipelineStep] = []
        self._halt: Halt | None = None  # what the gate says, if the run does not go on

    def go(self) -> Answer:
        """Take all waves through the stages. Raises if a stage fails, or the run waits for an answer."""
        from moot.pipelines.waves import run_targets
        from moot.runs.steps import RunOptions

        self.check_allowed()
        check_found(self.call, self.targets)
        pipeline = RspecPipeline(self.protocol.pack, {one.id: self.surroundings(one) for one in self.targets})
        options = RunOptions(
            resume=self._resumed,
            parent=self.id or None,
            again=self.options.again,
            wait=True,
            limit=self.options.limit or int(self.settings.get("parallel", 1)),
            output=self.options.output,
            keep=self.options.keep,
        )
        title = f"cover {self.parameters['mode']}"
        steps = run_targets(self.call, pipeline, self.targets, options, self._gate, title, dict(self.parameters))
        try:
            for step in steps:
                self.id = self.id or step.run
                self.steps.append(step)
                report_step(self.call, step)
        except KeyboardInterrupt:
            self._report_interruption()
            raise
        if self._halt is not None:
            if isinstance(self._halt.told, Answer):
                return self._halt.told
            raise self._halt.told
        for target in self.targets:
            if target.id in pipeline.questions:
                return self._asked(target, pipeline.questions[target.id])
        if self.steps[-1].outcome != PASSED:
            raise failed(self.call, self.id, self.steps)
        return said(self._finished(), PASSED)

    def _report_interruption(self) -> None:
        report = getattr(self.call, "report", None)
        if report is not None:
            report(interruption(self.id, self.steps))

    def check_allowed(self) -> None:
        """Refuse before anything starts if RSpec's command comes with the repository, and nobody has allowed it."""
        from moot.api.verbs.effects.allow import consent_of

        timeout = float(self.settings.get("rspec_timeout", 300))
        check_allowed(self.project.rspec, timeout, consent_of(self.call).allows)

    # --- what goes in -------------------------------------------------------------------------------------------------

    def target(self, part: CoverPart, wave: int, files: Mapping[str, Sequence[str]]) -> Target:
        """What goes through the stages for one class in one wave. `files`: the Ruby files of the project, by name."""
        source, data = os.path.join(self.project.root, part.values["source_file"]), b""
        try:
            with open(source, "rb") as file:
                data = file.read(_LARGEST)
        except FileNotFoundError:
            pass
        classes, more = classes_for(self.project.root, data, files), {"base": self.parameters["base"]}
        known = methods_in(self.call, self.project.document(part.slug))
        return target_of(self.project, part.slug, part.values, part.waves, wave, classes, more, known)

    def surroundings(self, target: Target) -> Surroundings:
        level, level_by = self._chosen("level", target, self.options.level)
        existing, _ = self._chosen("existing", target, self.options.existing)
        return Surroundings(
            written=lambda: self._from_log(written, target),
            choices={"*": existing} if existing else {},
            helper=self.project.helper,
            level=level,
            level_by=level_by,
            rspec=RspecCommand(tuple(self.project.rspec), float(self.settings.get("rspec_timeout", 300))),
            keeps="moot rspec resume --keep",
        )

    def _from_log(self, find: Callable[[Call, list[Run], Target], Found], target: Target) -> Found:
        """What the runs of a document say. Stages ask in threads of their own: each with its own call."""
        with self.call.workspace.call(self.call.caller, self.call.cwd) as own:
            return find(own, [run for run in runs(own) if slug_in(run.target) == slug_in(target.id)], target)

    def reached(self, slug: str) -> Target:
        """The target of a document in the last wave that it has reached."""
        from moot.pipelines.history import runs_of

        own = [target for target in self.targets if slug_in(target.id) == slug]
        reached = (one for one in reversed(own) if any(run.parent == self.id for run in runs_of(self.call, one.id)))
        return next(reached, own[0])

    def _chosen(self, about: str, target: Target, given: str) -> tuple[str, str]:
        """What was chosen for a document, and by whom: now, as the answer to the question, or when the run began."""
        found = self._checkpoint(question_of(about, target.id))
        if given:
            self._answered(found, given)
            return given, _who(self.call)
        if found.status == "resolved":
            return found.answer or "", found.resolved_by or ""
        chosen = self.parameters.get("chosen") or {}
        return (chosen[about], chosen["by"]) if chosen.get(about) else ("", "")

    # --- questions ----------------------------------------------------------------------------------------------------

    def _checkpoint(self, about: str) -> Checkpoint:
        """The question of this kind. One that was withdrawn is asked again under another name."""
        store, name, number = self.call.engine.read(), f"k-{self.id}-{about}", 1
        found: Checkpoint = states.state(store, "checkpoint", name)[0]
        while found.status == "withdrawn":
            number += 1
            found = states.state(store, "checkpoint", f"{name}-again-{number}")[0]
        return found

    def _answered(self, question: Checkpoint, answer: str) -> None:
        """Record an option of a person as the answer to an open question, so that the run goes on with it later."""
        caller = self.call.caller
        if not question.open or answer not in question.options or not caller.person or caller.mark is not None:
            return
        self.call.commit(
            lambda work: work.do(
                "checkpoint", question.id, ResolveCheckpoint(actor=self.call.actor(work), answer=answer), pack=PACK
            )
        )

    def _asked(self, target: Target, question: Question) -> Answer:
        return self._ask(question_of(question.about, target.id), question.text, question.options)

    def _ask(self, about: str, question: str, options: Sequence[str], awaiting: str = "") -> Answer:
        """Record a question to a person, once. The answer says that the run waits."""
        known = self._checkpoint(about)
        name = known.id

        def act(work: Any) -> None:
            who = self.call.actor(work).principal
            reach = ReachCheckpoint(who, "decision", question[:2000], awaiting, tuple(options))
            work.do("checkpoint", name, reach, pack=PACK)

        if not known.exists:
            self.call.commit(act)
        kind = about.partition("-")[0]
        resume = command_line("rspec resume", self.id, options=option(f"--{kind}", options[0]))
        resolve, later = command_line("checkpoint resolve", name, options[0]), command_line("rspec resume", self.id)
        advice = f"Answer {' or '.join(options)}: `{resume}`; or `{resolve}`, and then `{later}`."
        stop = CoverStop(status="waiting", run=self.id, reason=kind, message=f"{question} {advice}", checkpoint=name)
        return Answer(result=stop, say=(f"{self.id} waits for your answer: {question}", advice), code=STOP_CODE)

    # --- the gate -----------------------------------------------------------------------------------------------------

    def _gate(self, call: Call, wave: int, ended: Sequence[PipelineStep]) -> str:
        """After a wave: if tests failed, a person decides whether to go on. Returns why not; empty to go on."""
        reviews = [(self._spec(step), answer_of(call, step.run, REVIEWER)) for step in ended]
        chosen = self.parameters.get("chosen") or {}
        earlier = EarlierChoice(chosen.get("gate", ""), chosen.get("by", ""))
        self._halt = WaveGate(call, self.options.gate, earlier, self._ask).passed(self.id, wave, reviews)
        return self._halt.reason if self._halt is not None else ""

    def _spec(self, step: PipelineStep) -> str:
        return str(self.parts[slug_in(step.target)].values["spec_path"])

    def _finished(self) -> CoverReport:
        """The report of a run that has passed. Questions that it settled are withdrawn."""
        report = self.report()
        withdraw_all(self.call, self.id)
        every = runs(self.call)
        here = {run.parent for run in every if run.root == self.project.root}
        ended = [run.id for run in every if run.waves and not run.open and run.id in here]
        withdraw_settled(self.call, ended, {one.spec for one in report.files if one.tests_passed}, self.id)
        withdraw_superseded(self.call, ended, {one.slug for one in report.files}, self.id)
        return report

    # --- what comes out -----------------------------------------------------------------------------------------------

    def report(self) -> CoverReport:
        ended = [step for step in self.steps if step.what == "ended" and step.target]
        return CoverReport(
            run=self.id,
            files=tuple(self._file(step) for step in ended),
            warnings=tuple(self.parameters.get("warnings") or ()),
            waited=tuple({"target": step.target, **one.plain()} for step in self.steps for one in step.awaits),
        )

    def _file(self, ended: PipelineStep) -> FileReport:
        slug = slug_in(ended.target)
        values, review = self.parts[slug].values, answer_of(self.call, ended.run, REVIEWER)
        own = [step for step in self.steps if step.run == ended.run]
        return FileReport(
            wave=ended.wave,
            path=str(values["source_file"]),
            class_name=str(values["class_name"]),
            spec=str(values["spec_path"]),
            slug=slug,
            outcome=ended.outcome,
            tests_passed=review.get("tests_passed"),
            examples=dict(review.get("examples") or {}),
            violations=tuple(review.get("violations") or ()),
            failures=tuple(review.get("failures") or ()),
            skipped={step.stage: step.text for step in own if step.what == "skipped"},
            warnings=tuple(warning for step in own for warning in step.warnings),
        )


def question_of(about: str, target: str) -> str:
    """The end of the id of a question about a target."""
    return f"{about}-{target.replace('@', '-')}"


def report_step(call: Call, step: PipelineStep) -> None:
    """Say what happened while it happens."""
    report = getattr(call, "report", None)
    if report is not None and step.what == "waiting":
        report(f"wave {step.wave}, {step.title}: {step.text}")
    if report is not None and step.stage and step.what in ("started", "passed", "skipped", "reused", "failed"):
        more = f": {step.text}" if step.text and step.what in ("skipped", "failed", "reused") else ""
        report(f"wave {step.wave}, {step.title}: {step.stage} {step.what}{more}")
