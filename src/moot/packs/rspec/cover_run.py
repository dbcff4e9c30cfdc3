"""The run over all documents of a discovery, wave by wave: `moot rspec cover` after the selection, `resume`, `stage`.

A parent run has the waves; each document in a wave is a run of its own. All that a later process needs is in the
parent's record, so that any process can go on.

A wave begins when every document of the wave before has been reviewed. A stage that fails ends everything, and so do
tests that fail; a person can leave them out and go on. Nothing is fixed or repeated by itself.
"""

from __future__ import annotations

import os
from functools import partial

from moot.api.answer import Answer, Notice
from moot.core.deciders.checkpoint import ReachCheckpoint, ResolveCheckpoint
from moot.core.deciders.run import PASSED
from moot.core.errors import Refused, Unknown
from moot.core.json_codec import loads
from moot.core.record import Record
from moot.core.text import command_line, one_line
from moot.packs.rspec.agents import ARCHITECT, IMPLEMENTER, REVIEWER
from moot.packs.rspec.cover_report import CoverReport, FileReport, failed, interruption, said, stage_failed
from moot.packs.rspec.cover_targets import project_of, slug_in, target_of
from moot.packs.rspec.discovery_documents import documents, other_source, part_of
from moot.packs.rspec.document_check import REMNANTS
from moot.packs.rspec.pipeline import RspecPipeline
from moot.packs.rspec.programs import check_allowed
from moot.packs.rspec.project_classes import classes_for, ruby_files
from moot.packs.rspec.spec_blocks import blocks_of
from moot.packs.ruby.own_blocks import written
from moot.packs.ruby.sentinel import Failure
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.run import Run
    from moot.packs.rspec.discovery import Plan
    from moot.runs.contract import Target
    from moot.runs.steps import PipelineStep

PACK = "rspec"
_RUNS = 500
_LARGEST = 4 << 20
_GO_ON = "continue"
_WISHES = ("level", "level_by", "instruction")


class CoverOptions(Record):
    """`limit`: how many documents of a wave may run at once; 0: as the settings say. `go_on`: without failed tests.

    `again`: use no earlier result.
    """

    limit: int = 0
    again: bool = False
    overwrite: bool = False
    go_on: bool = False
    output: bool = False


class SingleStage(Record):
    """What came of a stage. `answer`: as the agent or moot gave it."""

    run: str
    slug: str
    stage: str
    outcome: str
    answer: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()


def start(call: Call, plan: Plan, discovery: Run, options: CoverOptions) -> Answer:
    """Begin the run of a discovery whose selection is settled."""
    parameters = {
        "parts": [part.plain() for part in documents(plan.answer)],
        "base": plan.base,
        "mode": plan.mode,
        "discovery": discovery.id,
        "warnings": list(plan.warnings),
        **{name: value for name, value in discovery.parameters.items() if name in (*_WISHES, "overwrite")},
    }
    return Cover(call, parameters, options).go()


def resume(call: Call, name: str, options: CoverOptions) -> Answer:
    """Go on with a run that ended without having passed."""
    newest = next((run for run in runs(call) if run.waves), None)
    run = run_named(call, name) if name else newest
    if run is None or not run.waves or run.pack != PACK:
        raise Unknown(
            "nothing_to_resume",
            f"{name} is not a run of the pack {PACK}." if name else "There is no run to resume.",
            "Start one: `moot rspec cover`.",
        )
    if run.outcome == PASSED:
        raise Refused("run_ended", f"The run {run.id} has finished.", "Start one: `moot rspec cover`.", run=run.id)
    return Cover(call, run.parameters, options, run.id).go()


def stage(call: Call, slug: str, name: str, options: CoverOptions) -> Answer:
    """Run one stage of one document: all that it needs is in the log."""
    cover, target = newest_of(call, slug, options)
    again = command_line("rspec stage", slug, name)
    steps = cover.run_alone(target, name, again)
    if broken := next((step for step in steps if step.what == "failed"), None):
        raise stage_failed(broken, f"Correct it, then: `{again}`.")
    done = next(step for step in reversed(steps) if step.stage == name)
    found = SingleStage(done.run, slug, name, done.what, answer_of(call, done.run, name), done.warnings)
    more = f": {done.text}" if done.what == "skipped" else ""
    notices = tuple(Notice(PACK, text) for text in done.warnings)
    return Answer(result=found, say=(f"{name} {done.what}{more}",), warnings=notices, code=2 if notices else 0)


# --- the record ------------------------------------------------------------------------------------------------------


def runs(call: Call) -> list[Run]:
    """The runs of the pack, newest first."""
    found: list[Run] = [run for run in queries.things(call.engine.read(), "run", _RUNS, ended=True) if run.pack == PACK]
    return sorted(found, key=lambda run: run.at, reverse=True)


def run_named(call: Call, name: str) -> Run:
    found: Run = states.state(call.engine.read(), "run", name)[0]
    return found


def newest_of(call: Call, slug: str, options: CoverOptions) -> tuple[Cover, Target]:
    """The newest run that has a document, and its target in the last wave that it has reached."""
    parent = next((run for run in runs(call) if any(slug in map(slug_in, wave) for wave in run.waves)), None)
    if parent is None:
        raise Unknown("unknown_document", f"No run has a document {slug[:200]!r}.", "Start one: `moot rspec cover`.")
    cover = Cover(call, parent.parameters, options, parent.id)
    reached = {run.target for run in runs(call) if run.parent == parent.id}
    own = [target for target in cover.targets if slug_in(target.id) == slug]
    return cover, next((one for one in reversed(own) if one.id in reached), own[0])


def answer_of(call: Call, run: str, stage: str) -> dict[str, Any]:
    """The answer of a stage of a run; empty if it has none."""
    for attempt in reversed(run_named(call, run).tries_of(stage)):
        if attempt.answer:
            found: dict[str, Any] = loads(call.blob(attempt.answer).decode("utf-8"))
            return found
    return {}


# --- one run ---------------------------------------------------------------------------------------------------------


class Cover:
    """One parent run, in this process. `resumed`: its id, if it goes on."""

    def __init__(self, call: Call, parameters: Mapping[str, Any], options: CoverOptions, resumed: str = "") -> None:
        self.call, self.parameters, self.options, self.id = call, parameters, options, resumed
        self.pack = call.packs.protocol(PACK).pack
        self.settings = self.pack.values
        self.project = project_of(call, self.settings)
        self.parts = {one["slug"]: part_of(one) for one in parameters["parts"]}
        self.targets = sorted(self._targets(), key=lambda target: target.wave)
        self.steps: list[PipelineStep] = []
        self._resumed = bool(resumed)
        self._halt: Refused | None = None  # what the gate says, if the run does not go on

    def _targets(self) -> Iterator[Target]:
        files, root = ruby_files(self.project.root), self.project.root
        wishes = {name: self.parameters[name] for name in _WISHES if self.parameters.get(name)}
        for part in self.parts.values():
            try:
                with open(os.path.join(root, part.values["source_file"]), "rb") as file:
                    data = file.read(_LARGEST)
            except FileNotFoundError:
                data = b""
            extra = {"base": self.parameters["base"], "classes": classes_for(root, data, files), **wishes}
            yield from (target_of(self.project, part, wave, extra) for wave in part.waves)

    def pipeline(self) -> RspecPipeline:
        """The stages, with the blocks that they may replace."""
        every, own = runs(self.call), {}
        for target in self.targets:
            about = [run for run in every if slug_in(run.target or "") == slug_in(target.id)]
            name = self.parts[slug_in(target.id)].values["class_name"]
            texts = partial(_blocks, class_name=name)
            own[target.id] = written(about, target.paths["spec"][0], ARCHITECT, self.call.blob, texts)
        overwrite = self.options.overwrite or bool(self.parameters.get("overwrite"))
        return RspecPipeline(self.pack, own, overwrite=overwrite)

    def go(self) -> Answer:
        """Take all waves through the stages. Raises if a stage or a test fails."""
        from moot.api.verbs.runs.site import site_of
        from moot.runs.steps import RunOptions
        from moot.runs.waves import WavePlan, run_targets

        self._check()
        options = RunOptions(
            resume=self._resumed,
            parent=self.id or None,
            again=self.options.again,
            wait=True,
            limit=self.options.limit or int(self.settings.get("parallel", 1)),
            output=self.options.output,
        )
        plan = WavePlan(f"cover {self.parameters['mode']}", self.parameters, self._gate)
        self._take(run_targets(site_of(self.call), self.pipeline(), self.targets, options, plan))
        if self._halt is not None:
            raise self._halt
        if self.steps[-1].outcome != PASSED:
            raise failed(self.id, self.steps)
        return said(self._report(), PASSED)

    def run_alone(self, target: Target, stage: str, again: str) -> list[PipelineStep]:
        """Run one stage of one target."""
        from moot.api.verbs.runs.site import site_of
        from moot.runs.steps import RunOptions
        from moot.runs.waves import run_targets

        self._check()
        options = RunOptions(only=stage, output=self.options.output)
        self._take(run_targets(site_of(self.call), self.pipeline(), [target], options), again)
        return self.steps

    def planned(self, target: Target) -> Sequence[Any]:
        """What would happen to the stages of a target now."""
        from moot.api.verbs.runs.site import site_of
        from moot.runs.steps import RunOptions
        from moot.runs.waves import planned

        return planned(site_of(self.call), self.pipeline(), target, RunOptions()).stages

    def _take(self, steps: Iterator[PipelineStep], again: str = "") -> None:
        report = getattr(self.call, "report", None) or (lambda _text: None)
        try:
            for step in steps:
                self.id = self.id or step.run
                self.steps.append(step)
                _tell(report, step)
        except KeyboardInterrupt:
            report(f"Interrupted. To run it again: `{again}`." if again else interruption(self.id, self.steps))
            raise

    def _check(self) -> None:
        """Refuse before anything starts: RSpec's command that nobody has allowed, a document of another source."""
        from moot.api.verbs.effects.allow import consent_of
        from moot.packs.rspec.cover_targets import rspec_of

        timeout = float(self.settings.get("rspec_timeout", 300))
        check_allowed(rspec_of(self.project.root, self.settings), timeout, consent_of(self.call).allows)
        for part in self.parts.values():
            ref, source = self.project.document(part.slug), part.values["source_file"]
            self.call.sync(also=(ref.key,))
            state = states.state(self.call.engine.read(), "document", ref.key)[0]
            found = {"source_file": state.leaves.get("/source_file")} if state.status else self._found(ref.path)
            if found.get("source_file") not in (None, source):
                raise other_source(ref.path, str(found["source_file"])[:200], source)
            for name in (one for one in REMNANTS if one in found):
                self.call.warn("document", f"{ref.path}: {name} is a remnant of the older format.")

    def _found(self, path: str) -> Mapping[str, Any]:
        """What a file in the place of a document says that moot does not know yet."""
        from moot.core import strict_yaml
        from moot.runs import contents
        from moot.runs.contract import StageError

        try:
            data = contents.read(self.project.root, (path,)).files.get(path, b"")
            return strict_yaml.load_mapping(data) if data.strip() else {}
        except (StageError, strict_yaml.TornYaml):  # the first stage says what is wrong
            return {}

    # --- the gate -----------------------------------------------------------------------------------------------------

    def _gate(self, wave: int, ended: Sequence[PipelineStep]) -> str:
        """After a wave: why the run does not go on, because tests have failed; empty to go on."""
        names, lines = [], []
        for step in ended:
            spec = self.parts[slug_in(step.target)].values["spec_path"]
            review = answer_of(self.call, step.run, REVIEWER)
            failures = [Failure(**one) for one in review.get("failures") or ()]
            if review.get("tests_passed") is False:
                names += [f"{spec}: {one_line(one.description, 300)}" for one in failures] or [f"{spec}: no test"]
                lines += [_shown(spec, one) for one in failures] or [f"no example of {spec} ran"]
        if not names or {name for one in self._left_out() for name in one.awaiting.splitlines()}.issuperset(names):
            return ""
        text = f"Tests of wave {wave} failed: {'; '.join(lines)}."
        if self.options.go_on:
            self._leave_out(wave, text, "\n".join(names))
            return ""
        again = command_line("rspec resume", self.id)
        worker = command_line("rspec stage", slug_in(ended[0].target), IMPLEMENTER)
        advice = (
            f"Correct it, or let the agent do it: `{worker}`; then go on: `{again}`. "
            f"To go on without them: `{again} --continue`."
        )
        self._halt = Refused("tests_failed", text, advice, run=self.id)
        return text

    def _left_out(self) -> list[Checkpoint]:
        """What was decided about failed tests of this run: each a checkpoint with its author."""
        found = queries.things(self.call.engine.read(), "checkpoint", _RUNS, ended=True)
        return [one for one in found if one.id.startswith(f"k-{self.id}-gate-") and one.status == "resolved"]

    def _leave_out(self, wave: int, text: str, names: str) -> None:
        """Record that the run goes on without these tests, and who said so."""
        name = f"k-{self.id}-gate-{wave}-{len(self._left_out()) + 1}"

        def act(work: Any) -> None:
            actor = self.call.actor(work)
            reach = ReachCheckpoint(actor.principal, "decision", text[:2000], names, (_GO_ON,))
            work.do("checkpoint", name, reach, pack=PACK)
            work.do("checkpoint", name, ResolveCheckpoint(actor=actor, answer=_GO_ON), pack=PACK)

        self.call.commit(act)

    # --- what comes out -----------------------------------------------------------------------------------------------

    def _report(self) -> CoverReport:
        ended = [step for step in self.steps if step.what == "ended" and step.target]
        return CoverReport(
            run=self.id,
            files=tuple(self._file(step) for step in ended),
            warnings=tuple(self.parameters.get("warnings") or ()),
            waited=tuple({"target": step.target, **one.plain()} for step in self.steps for one in step.awaits),
            left_out={name: one.resolved_by or "" for one in self._left_out() for name in one.awaiting.splitlines()},
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


def _blocks(data: bytes, class_name: str) -> set[bytes]:
    found = blocks_of(data, class_name)
    return {found.source(one) for one in found.blocks}


def _shown(spec: str, one: Failure) -> str:
    """A failed test, with the first line of its message. If the file could not be loaded, with the name of the file."""
    first = next(iter(one.message.strip().splitlines()), "").rstrip(".")
    return f"{one.place if one.location else f'{one.description} ({spec})'}: {first}"


def _tell(report: Any, step: PipelineStep) -> None:
    """Say what happened while it happens."""
    if step.what == "waiting":
        report(f"wave {step.wave}, {step.title}: {step.text}")
    elif step.stage and step.what in ("started", "passed", "skipped", "reused", "failed"):
        more = f": {step.text}" if step.text and step.what in ("skipped", "failed", "reused") else ""
        report(f"wave {step.wave}, {step.title}: {step.stage} {step.what}{more}")
