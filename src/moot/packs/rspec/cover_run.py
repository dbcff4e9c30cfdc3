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
from moot.core.deciders.checkpoint import ReachCheckpoint, ResolveCheckpoint
from moot.core.deciders.run import PASSED
from moot.core.errors import Refused, Unknown
from moot.core.json_codec import loads
from moot.core.record import Record
from moot.core.text import command_line, option
from moot.packs.rspec.agents import REVIEWER
from moot.packs.rspec.cover import STOP_CODE, CoverStop
from moot.packs.rspec.cover_options import GATE, CoverOptions
from moot.packs.rspec.cover_report import CoverReport, FileReport, said
from moot.packs.rspec.cover_targets import MIRROR, RspecProject, project_of, slug_in, target_of
from moot.packs.rspec.discovery_documents import documents
from moot.packs.rspec.own_blocks import written
from moot.packs.rspec.pipeline import RspecPipeline, Surroundings
from moot.packs.rspec.programs import check_allowed
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.errors import MootError
    from moot.core.run import Run
    from moot.packs.rspec.discovery import Plan
    from moot.packs.rspec.pipeline import Question
    from moot.pipelines.contract import Target
    from moot.pipelines.steps import PipelineStep

PACK = "rspec"
_RUNS = 500
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
    parameters["chosen"] = {"level": options.level, "existing": options.existing, "by": _who(call)}
    return Cover(call, parameters, options).go()


def resume(call: Call, name: str, options: CoverOptions) -> Answer:
    """Go on with a run that ended without having passed, or that waits for an answer."""
    run = _run(call, name) if name else newest(call)
    if run is None or not run.waves or run.pack != PACK:
        raise Unknown(
            "nothing_to_resume",
            f"{name} is not a run of the pack {PACK}." if name else "There is no run to go on with.",
            "Start one: `moot rspec cover`.",
        )
    if run.outcome == PASSED:
        raise Refused("run_ended", f"The run {run.id} has finished.", "Start another one: `moot rspec cover`.")
    return Cover(call, run.parameters, options, run.id).go()


def newest(call: Call) -> Run | None:
    """The newest run over waves."""
    return next((run for run in _runs(call) if run.waves), None)


def newest_of(call: Call, slug: str) -> Run | None:
    """The newest run over waves that has this document."""
    return next((run for run in _runs(call) if any(slug in map(slug_in, wave) for wave in run.waves)), None)


def last_run(call: Call) -> Run | None:
    """The newest run of the pack that is not a part of another one."""
    return next((run for run in _runs(call) if run.parent is None), None)


def _runs(call: Call) -> list[Run]:
    """The runs of the pack, newest first."""
    found: list[Run] = [run for run in queries.things(call.engine.read(), "run", _RUNS, ended=True) if run.pack == PACK]
    return sorted(found, key=lambda run: run.at, reverse=True)


def _who(call: Call) -> str:
    return call.caller.agent or call.login


def _run(call: Call, name: str) -> Run:
    found: Run = states.state(call.engine.read(), "run", name)[0]
    return found


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
        self.targets = [self.target(part, wave) for part in self.parts.values() for wave in part.waves]
        self.targets.sort(key=lambda target: target.wave)
        self.steps: list[PipelineStep] = []
        self._gated: MootError | Answer | None = None  # what the gate says, if the run does not go on

    def go(self) -> Answer:
        """Take all waves through the stages. Raises if a stage fails, or the run waits for an answer."""
        from moot.pipelines.steps import RunOptions
        from moot.pipelines.waves import run_targets

        self.check_allowed()
        pipeline = RspecPipeline(self.protocol.pack, {one.id: self.surroundings(one) for one in self.targets})
        options = RunOptions(
            resume=self._resumed,
            parent=self.id or None,
            again=self.options.again,
            wait=True,
            limit=self.options.limit or int(self.settings.get("parallel", 1)),
            output=self.options.output,
        )
        title = f"cover {self.parameters['mode']}"
        for step in run_targets(self.call, pipeline, self.targets, options, self._gate, title, dict(self.parameters)):
            self.id = self.id or step.run
            self.steps.append(step)
            report_step(self.call, step)
        if isinstance(self._gated, Answer):
            return self._gated
        if self._gated is not None:
            raise self._gated
        for target in self.targets:
            if target.id in pipeline.questions:
                return self._asked(target, pipeline.questions[target.id])
        if self.steps[-1].outcome != PASSED:
            raise self._failed()
        return said(self.report(), PASSED)

    def check_allowed(self) -> None:
        """Refuse before anything starts if RSpec's command comes with the repository, and nobody has allowed it."""
        from moot.api.verbs.effects.allow import consent_of

        timeout = float(self.settings.get("rspec_timeout", 300))
        check_allowed(self.project.rspec, timeout, consent_of(self.call).allows)

    # --- what goes in -------------------------------------------------------------------------------------------------

    def target(self, part: CoverPart, wave: int) -> Target:
        from moot.packs.rspec.project_classes import classes_for

        source = os.path.join(self.project.root, part.values["source_file"])
        try:
            with open(source, "rb") as file:
                classes = classes_for(self.project.root, file.read(_LARGEST))
        except FileNotFoundError:
            classes = {}
        return target_of(
            self.project, part.slug, part.values, part.waves, wave, classes, {"base": self.parameters["base"]}
        )

    def surroundings(self, target: Target) -> Surroundings:
        level, level_by = self._chosen("level", target, self.options.level)
        existing, _ = self._chosen("existing", target, self.options.existing)
        return Surroundings(
            written=written(self.call, self._runs_of(target), target),
            choices={"*": existing} if existing else {},
            helper=self.project.helper,
            level=level,
            level_by=level_by,
            rspec=self.project.rspec,
            rspec_timeout=float(self.settings.get("rspec_timeout", 300)),
        )

    def _runs_of(self, target: Target) -> list[Run]:
        """All runs of the document of a target."""
        return [run for run in _runs(self.call) if slug_in(run.target) == slug_in(target.id)]

    def reached(self, slug: str) -> Target:
        """The target of a document in the last wave that it has reached."""
        from moot.pipelines.running import runs_of

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
        found: Checkpoint = states.state(self.call.engine.read(), "checkpoint", f"k-{self.id}-{about}")[0]
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

    def _ask(self, about: str, question: str, options: Sequence[str]) -> Answer:
        """Record a question to a person, once. The answer says that the run waits."""
        name = f"k-{self.id}-{about}"

        def act(work: Any) -> None:
            who = self.call.actor(work).principal
            reach = ReachCheckpoint(who=who, kind="decision", question=question[:2000], options=tuple(options))
            work.do("checkpoint", name, reach, pack=PACK)

        if not self._checkpoint(about).exists:
            self.call.commit(act)
        kind = about.partition("-")[0]
        resume = command_line("rspec resume", options=option(f"--{kind}", options[0]))
        resolve = command_line("checkpoint resolve", name, options[0])
        advice = f"Answer {' or '.join(options)}: `{resume}`; or `{resolve}`, and then `moot rspec resume`."
        stop = CoverStop(status="waiting", run=self.id, reason=kind, message=f"{question} {advice}", checkpoint=name)
        return Answer(result=stop, say=(f"{self.id} waits for your answer: {question}", advice), code=STOP_CODE)

    # --- the gate -----------------------------------------------------------------------------------------------------

    def _gate(self, call: Call, wave: int, ended: Sequence[PipelineStep]) -> str:
        """After a wave: if tests failed, a person decides whether to go on. Returns why not; empty to go on."""
        reviews = {step.target: answer_of(call, step.run, REVIEWER) for step in ended}
        failing = {slug: one for slug, one in reviews.items() if one.get("tests_passed") is False}
        if not failing:
            return ""
        found = self._checkpoint(f"gate-{wave}")
        answer = found.answer if found.status == "resolved" else self.options.gate
        if answer == "skip":
            return ""
        lines = [
            f"{one['description']} ({one['location']}): {one['message'].strip().splitlines()[0]}"
            for review in failing.values()
            for one in review.get("failures") or ()
        ]
        text = f"Tests of wave {wave} failed: {'; '.join(lines) or 'no example ran'}."
        if answer == "abort":
            specs = ", ".join(str(self.parts[slug_in(one)].values["spec_path"]) for one in failing)
            advice = f"Correct the code or {specs}, then go on: `moot rspec resume`."
            self._gated = Refused("tests_failed", text, advice, run=self.id)
        else:
            question = f"{text} Skip the failed methods and go on, or abort?"
            self._gated = self._ask(f"gate-{wave}", question, GATE)
        return text

    # --- what comes out -----------------------------------------------------------------------------------------------

    def report(self) -> CoverReport:
        ended = [step for step in self.steps if step.what == "ended" and step.target]
        return CoverReport(
            run=self.id,
            files=tuple(self._file(step) for step in ended),
            warnings=tuple(self.parameters.get("warnings") or ()),
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

    def _failed(self) -> MootError:
        step = next((one for one in self.steps if one.what == "failed"), None)
        if step is None:
            last = next((one for one in reversed(self.steps) if one.what == "ended" and one.text), self.steps[-1])
            advice = last.suggestion or "`moot run status` shows more."
            return Refused("run_failed", f"{last.title}: {last.text}", advice, run=self.id)
        details = [*step.problems, *([step.details] if step.details else [])]
        advice = f"{step.suggestion.rstrip('.')}. " if step.suggestion else ""
        return Refused(
            "stage_failed",
            "\n  ".join([f"{step.stage} failed for {step.title}: {step.text}", *unsaid(step.text, details)[:20]]),
            f"{advice}To go on from {step.stage}: `moot rspec resume`.",
            run=step.run,
            stage=step.stage,
            problems=list(step.problems),
        )


def unsaid(text: str, details: Sequence[str]) -> list[str]:
    """The details that a text does not already contain."""
    return [one for one in details if one not in text]


def question_of(about: str, target: str) -> str:
    """The end of the id of a question about a target."""
    return f"{about}-{target.replace('@', '-')}"


def report_step(call: Call, step: PipelineStep) -> None:
    """Say what happened while it happens."""
    report = getattr(call, "report", None)
    if report is not None and step.stage and step.what in ("started", "passed", "skipped", "reused", "failed"):
        more = f": {step.text}" if step.text and step.what in ("skipped", "failed", "reused") else ""
        report(f"wave {step.wave}, {step.title}: {step.stage} {step.what}{more}")


def answer_of(call: Call, run: str, stage: str) -> dict[str, Any]:
    """The answer of a stage of a run; empty if it has none."""
    for attempt in reversed(_run(call, run).tries_of(stage)):
        if attempt.answer:
            found: dict[str, Any] = loads(call.blob(attempt.answer).decode("utf-8"))
            return found
    return {}
