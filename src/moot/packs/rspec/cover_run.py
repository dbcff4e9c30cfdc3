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

from moot.core.deciders.checkpoint import ReachCheckpoint
from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED, STOPPED, EndRun, OpenRun, ResumeRun
from moot.core.errors import Refused, Unknown
from moot.core.json_codec import loads
from moot.core.record import Record
from moot.packs.rspec.agents import ARCHITECT, IMPLEMENTER, REVIEWER
from moot.packs.rspec.cover_report import CoverReport, FileReport, said
from moot.packs.rspec.cover_targets import Project, project_of, target_of
from moot.packs.rspec.discovery_documents import documents
from moot.packs.rspec.pipeline import Blocked, RspecPipeline, Surroundings, Unclear
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.run import Run
    from moot.packs.rspec.discovery import Plan
    from moot.pipelines.contract import Target
    from moot.pipelines.steps import PipelineStep

PACK = "rspec"
LEVELS = ("unit", "integration", "request")
EXISTING = ("overwrite", "keep", "append")
GATE = ("skip", "abort")
_RUNS = 500


class CoverOptions(Record):
    """What the caller wants. `limit`: how many documents of a wave may run at once; 0: as the settings say."""

    limit: int = 0
    level: str = ""  # for methods whose level is unclear
    existing: str = ""  # for blocks that only a person may replace
    gate: str = ""  # the answer at a wave gate
    again: bool = False
    output: bool = False


class Part(Record):
    """A document of the run: discovery's part of it, and its methods by wave."""

    slug: str
    values: Mapping[str, Any]
    waves: Mapping[int, tuple[str, ...]]


def start(call: Call, plan: Plan, discovery: str = "", options: CoverOptions | None = None) -> Answer:
    """Begin the run of a discovery whose selection is settled."""
    parts = [Part(one.slug, one.values, one.waves) for one in documents(plan.answer, _taken(call))]
    numbers = sorted({number for part in parts for number in part.waves})
    waves = tuple(tuple(part.slug for part in parts if number in part.waves) for number in numbers)
    parameters = {
        "parts": [_plain(part) for part in parts],
        "waves": numbers,
        "base": plan.base,
        "mode": plan.mode,
        "discovery": discovery,
        "warnings": list(plan.warnings),
    }
    name = ""

    def act(work: Any) -> None:
        nonlocal name
        name = f"run-{work.token(7)}"
        while work.state("run", name).exists:
            name = f"run-{work.token(7)}"
        opened = OpenRun(pack=PACK, waves=waves, parameters=parameters, pid=os.getpid(), title=f"cover {plan.mode}")
        work.do("run", name, opened, pack=PACK)

    call.commit(act)
    return Cover(call, _run(call, name), options or CoverOptions()).go()


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
    if not run.open:
        call.commit(lambda work: work.do("run", run.id, ResumeRun(pid=os.getpid()), pack=PACK))
    return Cover(call, _run(call, run.id), options).go()


def newest(call: Call) -> Run | None:
    """The newest run over waves."""
    found: list[Run] = queries.things(call.engine.read(), "run", _RUNS, ended=True)
    return next((run for run in reversed(found) if run.pack == PACK and run.waves), None)


def _run(call: Call, name: str) -> Run:
    found: Run = states.state(call.engine.read(), "run", name)[0]
    return found


def _taken(call: Call) -> list[tuple[str, str]]:
    """The slugs of documents that exist, each with its source."""
    store = call.engine.read()
    found = []
    for one in queries.things(store, "document", 10_000, ended=True):
        source = one.leaves.get("/source_file")
        if one.mirror == "rspec/metadata" and isinstance(source, str) and "__" not in one.subject:
            found.append((one.subject, source))
    return found


def _plain(part: Part) -> dict[str, Any]:
    waves = {str(number): list(names) for number, names in part.waves.items()}
    return {"slug": part.slug, "values": dict(part.values), "waves": waves}


def parts_of(run: Run) -> dict[str, Part]:
    """The documents of a run, from its record."""
    found = {}
    for one in run.parameters["parts"]:
        waves = {int(number): tuple(names) for number, names in one["waves"].items()}
        found[one["slug"]] = Part(one["slug"], one["values"], waves)
    return found


class TargetResult(Record):
    """What came of one document in one wave."""

    slug: str
    wave: int
    run: str = ""
    outcome: str = ""
    failed: PipelineStep | None = None
    question: Unclear | Blocked | None = None
    steps: tuple[PipelineStep, ...] = ()
    review: Mapping[str, Any] = {}


class Waits(Exception):
    """The run cannot go on before a person has answered."""

    def __init__(self, checkpoint: Checkpoint, text: str) -> None:
        super().__init__(text)
        self.checkpoint, self.text = checkpoint, text


class Cover:
    """One parent run, in this process."""

    def __init__(self, call: Call, run: Run, options: CoverOptions) -> None:
        self.call, self.run, self.options = call, run, options
        self.protocol = call.packs.protocol(PACK)
        self.settings = self.protocol.settings or {}
        self.project: Project = project_of(call, self.settings)
        self.parts = parts_of(run)
        self.numbers: Sequence[int] = run.parameters["waves"]
        self.results: list[TargetResult] = []

    def go(self) -> Answer:
        """Take all waves through the stages. Raises if a stage fails, or the run waits for an answer."""
        try:
            for number, slugs in zip(self.numbers, self.run.waves, strict=True):
                self._wave(number, slugs)
                self._gate(number)
        except Waits as waits:
            self._end(STOPPED, waits.text)
            raise self._waiting(waits) from None
        except KeyboardInterrupt:
            self._end(INTERRUPTED, "it was interrupted")
            raise
        except Refused as error:
            self._end(FAILED, error.message)
            raise
        self._end(PASSED, "")
        return said(self.report(), PASSED)

    def report(self) -> CoverReport:
        files = tuple(
            FileReport(
                wave=one.wave,
                path=str(self.parts[one.slug].values["source_file"]),
                class_name=str(self.parts[one.slug].values["class_name"]),
                spec=str(self.parts[one.slug].values["spec_path"]),
                slug=one.slug,
                outcome=one.outcome,
                tests_passed=one.review.get("tests_passed"),
                examples=dict(one.review.get("examples") or {}),
                violations=tuple(one.review.get("violations") or ()),
                failures=tuple(one.review.get("failures") or ()),
                skipped={step.stage: step.text for step in one.steps if step.what == "skipped"},
                warnings=tuple(warning for step in one.steps for warning in step.warnings),
            )
            for one in self.results
        )
        return CoverReport(run=self.run.id, files=files, warnings=tuple(self.run.parameters.get("warnings") or ()))

    def _end(self, outcome: str, reason: str) -> None:
        counts: dict[str, int] = {}
        for one in self.results:
            counts[one.outcome] = counts.get(one.outcome, 0) + 1
        end = EndRun(outcome=outcome, reason=reason[:2000], counts=counts)
        self.call.commit(lambda work: work.do("run", self.run.id, end, pack=PACK))

    # --- one wave -----------------------------------------------------------------------------------------------------

    def _wave(self, number: int, slugs: Sequence[str]) -> None:
        """Take all documents of a wave through the stages. Raises at the first that fails."""
        limit = self.options.limit or int(self.settings.get("parallel", 1))
        found = self._side_by_side(number, slugs, limit) if limit > 1 and len(slugs) > 1 else []
        if not found:
            for slug in slugs:
                found.append(self._document(self.call, slug, number, limit))
                if found[-1].outcome != PASSED:
                    break
        self.results += found
        for one in found:
            if one.question is not None:
                raise self._ask(one)
            if one.outcome != PASSED:
                raise _failed(one)

    def _side_by_side(self, number: int, slugs: Sequence[str], limit: int) -> list[TargetResult]:
        """Several documents at once, each in its own thread and call. After a failure, no other one is started."""
        from concurrent.futures import ThreadPoolExecutor

        stopped = False

        def one(slug: str) -> TargetResult | None:
            nonlocal stopped
            if stopped:
                return None
            try:
                with self.call.workspace.call(self.call.caller, self.call.cwd) as own:
                    found = self._document(own, slug, number, limit)
            except BaseException:
                stopped = True
                raise
            stopped = stopped or found.outcome != PASSED
            return found

        with ThreadPoolExecutor(max_workers=limit) as pool:
            return [found for found in pool.map(one, slugs) if found is not None]

    def _document(self, call: Call, slug: str, wave: int, limit: int) -> TargetResult:
        from moot.pipelines.running import run_target
        from moot.pipelines.steps import RunOptions

        target = self.target(slug, wave)
        around = self._surroundings(call, target)
        pipeline = RspecPipeline(self.protocol.pack, around)
        options = RunOptions(
            resume=True,
            again=self.options.again,
            wait=True,
            limit=limit,
            parent=self.run.id,
            output=self.options.output,
        )
        steps: list[PipelineStep] = []
        for step in run_target(call, pipeline, target, options):
            steps.append(step)
            report_step(self.call, step)
        last, failed = steps[-1], next((step for step in steps if step.what == "failed"), None)
        return TargetResult(
            slug=slug,
            wave=wave,
            run=last.run,
            outcome=last.outcome,
            failed=failed,
            question=pipeline.question,
            steps=tuple(steps),
            review=answer_of(call, last.run, REVIEWER),
        )

    def target(self, slug: str, wave: int) -> Target:
        from moot.packs.rspec.project_classes import classes_for

        part = self.parts[slug]
        with open(os.path.join(self.project.root, part.values["source_file"]), "rb") as file:
            classes = classes_for(self.project.root, file.read(1 << 22))
        extra = {"base": self.run.parameters["base"]}
        return target_of(self.project, slug, part.values, part.waves, wave, classes, extra)

    def _surroundings(self, call: Call, target: Target) -> Surroundings:
        level, level_by = self._answer("level", target, self.options.level)
        existing, _ = self._answer("existing", target, self.options.existing)
        return Surroundings(
            written=written(call, target),
            choices={"*": existing} if existing else {},
            helper=self.project.helper,
            level=level,
            level_by=level_by,
            rspec=self.project.rspec,
            rspec_timeout=float(self.settings.get("rspec_timeout", 300)),
        )

    # --- questions ----------------------------------------------------------------------------------------------------

    def _checkpoint(self, about: str) -> Checkpoint:
        found: Checkpoint = states.state(self.call.engine.read(), "checkpoint", f"k-{self.run.id}-{about}")[0]
        return found

    def _answer(self, about: str, target: Target, given: str) -> tuple[str, str]:
        """What was chosen for a document, and by whom: by an option, or as the answer to the question."""
        if given:
            return given, self.call.caller.principal
        found = self._checkpoint(f"{about}-{target.id}-{target.wave}")
        return (found.answer or "", found.resolved_by or "") if found.status == "resolved" else ("", "")

    def _ask(self, one: TargetResult) -> Waits:
        """Ask the person one question for the document."""
        if isinstance(one.question, Unclear):
            about, options = "level", LEVELS
            question = f"{one.slug}: at which level are {', '.join(one.question.methods)} tested?"
        else:
            assert one.question is not None
            about = "existing"
            options = tuple(c for c in EXISTING if all(c in conflict.choices for conflict in one.question.conflicts))
            question = one.question.text
        return self._reached(f"{about}-{one.slug}-{one.wave}", question, options, one.question.suggestion)

    def _reached(self, about: str, question: str, options: Sequence[str], advice: str) -> Waits:
        name = f"k-{self.run.id}-{about}"
        who = self.call.caller.principal
        reach = ReachCheckpoint(who=who, kind="decision", question=question[:2000], options=tuple(options))
        if not self._checkpoint(about).exists:
            self.call.commit(lambda work: work.do("checkpoint", name, reach, pack=PACK))
        return Waits(self._checkpoint(about), f"{question} {advice}".strip())

    def _waiting(self, waits: Waits) -> Refused:
        name, options = waits.checkpoint.id, " or ".join(waits.checkpoint.options)
        return Refused(
            "waits_for_answer",
            f"The run {self.run.id} waits for your answer: {waits.checkpoint.question}",
            f"Answer {options}: `moot checkpoint resolve {name} ANSWER`, then `moot rspec resume`.",
            checkpoint=name,
            options=list(waits.checkpoint.options),
            run=self.run.id,
        )

    # --- the gate -----------------------------------------------------------------------------------------------------

    def _gate(self, number: int) -> None:
        """After a wave: if tests failed, a person decides whether to go on."""
        failing = [one for one in self.results if one.wave == number and one.review.get("tests_passed") is False]
        if not failing:
            return
        about = f"gate-{number}"
        found = self._checkpoint(about)
        answer = found.answer if found.status == "resolved" else self.options.gate
        if answer == "skip":
            return
        lines = [
            f"{failure['description']} ({failure['location']}): {failure['message'].splitlines()[0]}"
            for one in failing
            for failure in one.review.get("failures") or ()
        ]
        text = f"Tests of wave {number} failed: {'; '.join(lines) or 'no example ran'}."
        if answer == "abort":
            raise Refused("tests_failed", text, "Correct the code or the tests, then start again: `moot rspec cover`.")
        advice = f"Or run test-implementer again: `moot rspec stage {failing[0].slug} {IMPLEMENTER}`."
        raise self._reached(about, f"{text} Skip the failed methods and go on, or abort?", GATE, advice)


def report_step(call: Call, step: PipelineStep) -> None:
    """Say what happened while it happens."""
    report = getattr(call, "report", None)
    if report is not None and step.what in ("started", "passed", "skipped", "reused", "failed", "waiting"):
        more = f": {step.text}" if step.text and step.what in ("skipped", "failed", "waiting", "reused") else ""
        report(f"wave {step.wave}, {step.title}: {step.stage} {step.what}{more}".replace(":  ", ": "))


def answer_of(call: Call, run: str, stage: str) -> dict[str, Any]:
    """The answer of a stage of a run; empty if it has none."""
    for attempt in reversed(_run(call, run).tries_of(stage)):
        if attempt.answer:
            found: dict[str, Any] = loads(call.blob(attempt.answer).decode("utf-8"))
            return found
    return {}


def written(call: Call, target: Target) -> bytes | None:
    """The spec file as moot last accepted it: the content that the last stage left which passed."""
    from moot.pipelines import contents
    from moot.pipelines.running import runs_of

    path = target.paths["spec"][0]
    for run in runs_of(call, target.id):
        for attempt in reversed(run.tries):
            digest = attempt.outputs.get(f"file:{path}")
            if digest is None or attempt.stage not in (ARCHITECT, IMPLEMENTER) or attempt.status == "failed":
                continue
            now = contents.read(target.root, (path,)).files.get(path)
            return now if now is not None and contents.digest(now) == digest else None
    return None


def _failed(one: TargetResult) -> Refused:
    step = one.failed
    text = f"{step.stage} failed for {step.title}: {step.text}" if step else f"{one.slug} ended: {one.outcome}"
    details = [*(step.problems if step else ()), *([step.details] if step and step.details else [])]
    advice = f"{step.suggestion} " if step and step.suggestion else ""
    return Refused(
        "stage_failed",
        "\n  ".join([text, *details[:20]]),
        f"{advice}Then go on: `moot rspec resume`. `moot run show {one.run}` shows the whole run.",
        run=one.run,
        stage=step.stage if step else "",
        problems=list(step.problems) if step else [],
    )
