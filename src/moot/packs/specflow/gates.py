"""The quality-gate: which test runs are asked for, and how they are performed, one at a time.

A gate is a run of this pack: `task` is the issue or the wave, `parameters` say what was asked. The commit that stores a
request opens its run, so an open gate run is queued, in the order of the log. Whoever holds the lock
`drivers/specflow.gates` works the queue off: the driver, or `moot specflow gate`. The commit that ends a run also sends
its result to the agent that asked, with everything that follows from it.

    tier        stages                    passes if
    contracts   contracts, journeys       the commands succeed; journeys only for an issue that has some
    tier2       journeys, or contracts    the command succeeds with the journeys of all issues of the wave
    tier3       regression                no test is worse than in the baseline, or missing

No evidence, no pass: where a report is named, it must be written by this run and have executed tests.
"""

from __future__ import annotations

import os
from contextlib import suppress

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED, STOPPED, EndRun, EndStage, OpenRun, StartStage
from moot.core.errors import AwaitedFailed, Held, Refused, Unavailable, Usage
from moot.core.json_codec import dumps
from moot.core.principal import name_of
from moot.core.run import RunOpened
from moot.core.task import MoveTask
from moot.core.text import age, bullets, command_line, first_few
from moot.packs.specflow import evidence, team
from moot.packs.specflow.evidence import BASELINE, FAIL, SKIPPED, WORSE
from moot.packs.specflow.protocol import CONTRACTS, TIER2, TIER3, TIERS, blocked, ready
from moot.packs.specflow.team import DEFERRED, GATE, ISSUE, PACK, READY, Issue, Wave, describe
from moot.place import locks
from moot.runs import commands, contents
from moot.runs.contract import StageError
from moot.runs.record import REASON, new_id, printed
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Saying
    from moot.core.handler import Handler
    from moot.core.run import Run
    from moot.engine.unit_of_work import Work
    from moot.packs.specflow.protocol import Specflow
    from moot.place.processes import Ran
    from moot.runs.consent import PinnedHandler
    from moot.runs.site import Site
    from moot.views.store import Store

JOURNEYS, REGRESSION = "journeys", "regression"
RESULTS = {CONTRACTS: "CONTRACT_RESULTS", TIER2: "JOURNEY_TIER2_RESULTS", TIER3: "REGRESSION_RESULTS"}
LOCK = f"{PACK}.gates"
REPORT = "{report}"
_TAIL = 2000  # characters of the output, where no report names the failed tests
_LONGEST = 100_000  # characters of a result


# --- requests --------------------------------------------------------------------------------------------------------


def facts(call: Call, settings: Mapping[str, Any], kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What a request for a gate, or a certificate, is compared with: looked up before the commit."""
    place, store = call.place, call.engine.read()
    if kind == "READY_FOR_CLOSURE":
        run = states.state(store, "run", str(data.get("certificate")))[0]
        if run.outcome != PASSED:
            return {}
        if not evidence.in_history(place, commit_of(run)):
            return {"stale": f"its commit {commit_of(run)} is not in the history of HEAD"}
        return {"changed": [*evidence.changed(place, commit_of(run))]}
    wave = team.live(store)
    if TIERS[kind] == CONTRACTS or wave is None:
        return {}
    found = evidence.findings(call, wave) if TIERS[kind] == TIER2 else []
    now = evidence.version(place, settings["reports"].values())
    return {"findings": found, "dirty": evidence.uncommitted(place), "version": now}


def _check(work: Work, wave: Wave, tier: str, own: int | None, saying: Saying, settings: Mapping[str, Any]) -> None:
    """Raise if the gate cannot be asked for now, with everything that is missing."""
    if tier == CONTRACTS:
        if team.issue(work, int(own or 0)).failed >= settings["attempts"]:
            raise Refused(
                "attempts_used",
                f"{settings['attempts']} contract runs of #{own} have failed.",
                f"Report it: `{command_line('specflow write', team.LEAD, f'BLOCKED #{own} REASON')}`.",
                issue=own,
            )
        return
    if tier == TIER2:
        _check_tier_2(work, wave, saying)
    elif saying.data["wave"] != wave.number:
        raise Refused("wrong_wave", f"Wave {wave.number} runs.", "Name that one.", wave=wave.number)
    elif wave.tier2 is None or wave.tier2["commit"] != saying.facts["version"]:
        raise Refused(
            "tier2_missing",
            f"Tier 2 has passed on {(wave.tier2 or {}).get('commit', 'nothing')}; now it is {saying.facts['version']}.",
            f"Run it first: `{command_line('specflow gate tier2')}`.",
            missing=[TIER2],
        )
    if changed := saying.facts["dirty"]:
        raise Refused(
            "uncommitted",
            f"Tracked files have changes that are not committed: {first_few(changed)}.",
            "Commit them, or take them back.",
            missing=changed,
        )


def _check_tier_2(work: Work, wave: Wave, saying: Saying) -> None:
    """Raise unless all issues of the wave are named and ready, and nothing is left that the lead must look at."""
    due = _due(work, wave)
    named = [f"#{one.number}" for one in due]
    if sorted(saying.data["issues"]) != [one.number for one in due]:
        raise Refused(
            "wrong_issues", f"Tier 2 is for {', '.join(named)}.", "Name all of them, each once.", missing=named
        )
    if open_ones := [f"#{one.number} ({one.status or one.task.state})" for one in due if one.status != READY]:
        said = ", ".join(open_ones)
        raise Refused("not_all_ready", f"These issues are not ready: {said}.", "Wait for them.", missing=open_ones)
    found = [one for one in saying.facts["findings"] if one not in wave.accepted]
    listed = "\n".join(bullets(found, len(found)))
    if found and not saying.data.get("accept"):
        raise Refused(
            "findings",
            f"The lead must look at this before Tier 2:\n{listed}",
            f"Remove them, or accept all: `{command_line('specflow gate tier2', options='--accept')}`.",
            missing=found,
        )
    if found:
        describe(work, wave.id, accepted=[*wave.accepted, *found])


def _due(work: Work, wave: Wave) -> list[Issue]:
    """The issues of the wave that are not deferred, by number."""
    return [one for number in sorted(wave.issues) if (one := team.issue(work, number)).status != DEFERRED]


def asked(work: Work, wave: Wave, own: int | None, saying: Saying, settings: Mapping[str, Any]) -> Saying:
    """The request with the run of its gate, which is queued in the same commit. `own`: the issue of the sender."""
    tier = TIERS[saying.spec.name]
    _check(work, wave, tier, own, saying, settings)
    issues, more = ([own], {"issue": own}) if own is not None else (list(wave.issues), {})
    run = open_gate(work, wave, tier, issues, settings, saying)
    return saying.replace(data={**saying.data, **more, "run": run})


def open_gate(
    work: Work,
    wave: Wave,
    tier: str,
    issues: Sequence[int],
    settings: Mapping[str, Any],
    saying: Saying | None = None,
) -> str:
    """Queue a gate. Returns the id of its run. A wave whose Tier 2 is asked for is in its gates.

    Without a message, nobody is sent the result.
    """
    due = [one for number in issues if (one := team.issue(work, number)).status != DEFERRED]
    has = any(journey_files(one, settings) for one in due)
    stages = {CONTRACTS: (CONTRACTS, JOURNEYS)[: 1 + has], TIER2: (JOURNEYS if has else CONTRACTS,)}
    parameters = {"tier": tier, "issues": [one.number for one in due], "wave": wave.number, "accept": False}
    parameters |= {"request": "", "by": wave.lead}
    if saying is not None:
        accept = bool(saying.data.get("accept"))
        parameters |= {"request": saying.id, "by": saying.sender.principal, "accept": accept}
    task, name = due[0].id if tier == CONTRACTS else wave.id, new_id(work)
    opened = OpenRun(PACK, stages.get(tier, (REGRESSION,)), task, parameters=parameters)
    work.do("run", name, opened, pack=PACK)
    if tier == TIER2 and wave.state == "running":
        work.do("task", wave.id, MoveTask(verb="gate", actor=team.actor_of(wave, wave.lead)), pack=PACK)
    return name


def journey_files(issue: Issue, settings: Mapping[str, Any]) -> tuple[str, ...]:
    found = evidence.journeys((issue.text, *issue.comments))
    return tuple(dict.fromkeys(evidence.journey_file(settings["journey_file"], one) for one in found))


def queue(store: Store) -> list[Run]:
    """The gates that are asked for, in their order. The first one may be running."""
    return [run for run in queries.things(store, "run") if run.pack == PACK and "tier" in run.parameters]


def commit_of(run: Run) -> str:
    """What the result of a gate holds for."""
    return next((str(one.outputs.get("commit", "")) for one in run.tries if one.status == PASSED), "")


# --- the executor ----------------------------------------------------------------------------------------------------


def work_off(
    site: Site,
    protocol: Specflow,
    *,
    cancel: Callable[[], bool] | None = None,
    show: Callable[[bytes], object] | None = None,
) -> Iterator[Run]:
    """Perform queued gates until none is left. Yields each when it has ended. Nothing while another process does.

    A gate whose executor died, or was cancelled, runs again; what is left of its command is ended first.
    """
    state = site.place.state
    lock = locks.take(locks.path_of(state, locks.DRIVERS, LOCK), str(os.getpid()))
    if lock is None:
        return
    try:
        if not locks.end_what_is_left(state, LOCK):
            raise Held("gate_still_runs", "The command of an earlier gate still runs.", "End it, then try again.")
        while waiting := queue(site.engine.read()):
            yield _Gate(site, protocol, waiting[0], cancel, show).performed()
    finally:
        lock.release()


class _Gate:
    """One gate run, while it is performed."""

    def __init__(
        self,
        site: Site,
        protocol: Specflow,
        run: Run,
        cancel: Callable[[], bool] | None,
        show: Callable[[bytes], object] | None,
    ) -> None:
        self.site, self.protocol, self.settings = site, protocol, protocol.settings
        self.run, self.cancel, self.show = run, cancel, show
        self.asked: Any = run.parameters
        issues = team.issues_of(site.engine.read(), self.asked["issues"])
        self.files = {one.number: journey_files(one, self.settings) for one in issues}
        self.version = ""
        self.ran: Ran | None = None
        self.tests: dict[str, str] = {}
        self.worse: dict[str, str] = {}  # the tests that fail the gate, each with what is wrong with it
        self.counts = {"tests": 0, "failed": 0}

    def performed(self) -> Run:
        wave = team.wave(self.site.engine.read(), self.asked["wave"])
        if (last := self.run.running) is not None:
            end = EndStage(last.stage, last.attempt, "its executor ended before it", how=INTERRUPTED, crashed=True)
            self._commit(lambda work: self._do(work, end))
        if wave is None or not wave.is_live:
            self._commit(lambda work: self._do(work, EndRun(STOPPED, "its wave has ended")))
        for stage in self.run.stages[self.run.passed :]:
            if self.run.open:
                self._stage(stage)
        return self.run

    def _commit(self, act: Callable[[Work], None]) -> None:
        self.site.commit(act)
        self.run = states.state(self.site.engine.read(), "run", self.run.id)[0]

    def _do(self, work: Work, command: Any) -> None:
        work.do("run", self.run.id, command, pack=PACK)

    def _stage(self, stage: str) -> None:
        command = next((one for one in self.site.commands if (one.pack, one.stage) == (PACK, stage)), None)
        files = tuple(dict.fromkeys(file for own in self.files.values() for file in own)) if stage == JOURNEYS else ()
        start, wrong, lock = StartStage(stage), "", locks.CommandLock(self.site.place.state, LOCK)
        self.ran, self.tests, self.worse = None, {}, {}
        if command is not None:
            start = StartStage(stage, command.name, commands.with_files(command.run, files), command.timeout)
        try:
            self._commit(lambda work: self._do(work, start))
            try:
                self._judge(stage, command, files, lock)
            except (StageError, commands.CannotStart) as error:
                wrong = str(error)
            except Refused as error:
                wrong = f"{error.message} {error.remedy}"
            self._end(stage, wrong)
        finally:
            lock.ended()

    # --- the verdict -------------------------------------------------------------------------------------------------

    def _judge(self, stage: str, command: Handler | None, files: tuple[str, ...], lock: locks.CommandLock) -> None:
        """Run the command, and take a new baseline if the whole suite passed. Raises why the stage fails."""
        place, written, accept = self.site.place, self.settings["reports"], self.asked["accept"]
        path = written.get(stage, "")
        self.version = evidence.version(place, written.values())
        dirty = evidence.uncommitted(place) if self.asked["tier"] != CONTRACTS else []
        missing = [file for file in files if not os.path.isfile(os.path.join(place.root, file))]
        nothing = stage == REGRESSION and accept and not path
        named = command is not None and any(word.rpartition("=")[2] == path for word in command.run)
        obstacles = {
            f"tracked files have changes that are not committed: {', '.join(dirty)}": dirty,
            f"there is no file for journeys: {', '.join(missing)}": missing,
            f"moot.toml has no command `{stage}` in [run.{PACK}]": command is None,
            # consent would cover the content of its report
            f"the command `{stage}` names its report: write {REPORT} in the place of {path}": path and named,
            f"no report of {stage} is named in [pack.{PACK}], so there is nothing to accept": nothing,
        }
        for why, is_so in obstacles.items():
            if is_so:
                raise StageError(why)
        assert command is not None
        old = contents.read(place.root, [BASELINE] if stage == REGRESSION else [])
        known = {} if accept else evidence.baseline_of(old.files.get(BASELINE))["tests"]
        before = contents.read(place.root, [path] if path else [])
        code = self._run(stage, commands.granted(self.site.consent, command), files, lock)
        if path:
            now = contents.read(place.root, [path])
            if now == before or path not in now.files:
                raise StageError(f"{path} was not written by this run (exit code {code})")
            self.tests = evidence.tests_of(now.files[path], place.root)
        self.worse = dict.fromkeys((test for test, how in self.tests.items() if how == FAIL), "failed")
        self.counts["tests"] += sum(how != SKIPPED for how in self.tests.values())
        self.counts["failed"] += len(self.worse)
        failed = bool(self.worse)
        if path and stage == REGRESSION:
            self._compare(known)
        if code and not (failed and stage == REGRESSION):
            raise StageError(f"exit code {code}")
        if stage == REGRESSION:
            at, commit = self.site.wall(), evidence.head(place) or None
            data = evidence.baseline(self.tests or known, at=at, wave=self.asked["wave"], commit=commit)
            contents.write(place.root, {BASELINE: data}, contents.digests_of([BASELINE], old))

    def _alive(self) -> None:
        with suppress(Unavailable):  # the command goes on
            self.site.stamp()

    def _run(self, stage: str, pinned: PinnedHandler, files: tuple[str, ...], lock: locks.CommandLock) -> int:
        """Run the command to its end. Returns its exit code."""
        own = {"MOOT_RUN": self.run.id, "MOOT_STAGE": stage}
        if self.asked["tier"] == CONTRACTS:  # the tests of neighbours, who are not done, may fail meanwhile
            own["ISSUE_NUMBER"] = own["MOOT_ISSUE"] = str(self.asked["issues"][0])
        given = commands.CommandInput(
            brief="",
            env=self.site.env,
            own=own,
            alive=self._alive,
            show=self.show,
            hold=(lock.file,),
            started=lock.started,
            mark=lock.mark,
            cancel=self.cancel,
            files=files,
            words={REPORT: self.settings["reports"].get(stage, REPORT)},
            apart=False,
        )
        self.ran = ran = commands.run(pinned, given)
        if ran.cancelled:
            raise KeyboardInterrupt
        if ran.timed_out:
            raise StageError(f"timed out after {age(pinned.handler.timeout)}")
        if ran.signal:
            raise StageError(f"killed by signal {ran.signal}")
        return ran.code

    def _compare(self, known: Mapping[str, str]) -> None:
        """Compare the tests with the baseline. Raises if some are worse, unless their results are to be accepted."""
        if self.asked["accept"]:
            self.counts["accepted"], self.worse = len(self.worse), {}
            return
        classes = evidence.compared(known, self.tests)
        self.counts |= {name: len(tests) for name, tests in classes.items()}
        self.worse = {test: name for name in WORSE for test in classes[name]}
        if self.worse:
            raise StageError(", ".join(f"{self.counts[name]} {name}" for name in WORSE if self.counts[name]))

    # --- what follows ------------------------------------------------------------------------------------------------

    def _end(self, stage: str, wrong: str) -> None:
        """Record the end of a stage; of the last one, or one that failed, with that of the run and what follows."""
        last, ran = self.run.running, self.ran
        assert last is not None
        blame = evidence.blamed(self.worse, self.files)
        lines = [f"{self.worse[test]}: {' '.join((test, *(f'#{one}' for one in own)))}" for test, own in blame.items()]
        kept: dict[str, Any] = {"outputs": {"commit": self.version}}
        if ran is not None:
            kept |= {"seconds": ran.seconds, **printed(self.site, ran)}
            lines = lines or [ran.output.tail.decode("utf-8", "replace")[-_TAIL:].strip()]
        if self.tests:
            kept["answer"] = self.site.put_blob(dumps({"tests": self.tests}).encode())
        how, reason, problems = FAILED if wrong else PASSED, wrong[:REASON], tuple(lines if wrong else ())
        end = EndStage(stage, last.attempt, reason, how=how, problems=problems, **kept)
        over = EndRun(how, reason, self.counts, stage if wrong else "")
        details = "\n".join((wrong, *problems)).strip()[:_LONGEST]

        def act(work: Work) -> None:
            self._do(work, end)
            if wrong or stage == self.run.stages[-1]:
                self._do(work, over)
                wave = Wave.of_task(work.task(f"wave-{self.asked['wave']}"))
                if wave.is_live:
                    self._tell(work, wave, details, {one for own in blame.values() for one in own})

        self._commit(act)

    def _tell(self, work: Work, wave: Wave, details: str, named: set[int]) -> None:
        """Record the result, and send it to the one that asked. `details`: why it failed. `named`: issues to blame."""
        asked, tier, about = self.asked, self.asked["tier"], {"run": self.run.id, "wave": wave.number}
        if tier == CONTRACTS:
            issue = team.issue(work, asked["issues"][0])
            about = {"run": self.run.id, "issue": issue.number}
            counts = details and self.ran is not None  # a command that cannot run is not the fault of the agent
            describe(work, issue.id, failed=issue.failed + bool(counts))
            if not asked["request"]:
                self._certify(work, wave, issue, details)
        elif details:
            self._give_back(work, wave, details, named)
        else:
            describe(work, wave.id, **{tier: {"run": self.run.id, "commit": self.version}})
        to = name_of(asked["by"])
        if asked["request"] and not work.agent(to).retired:
            data = {**about, **({"details": details} if details else {})}
            data |= {"counts": self.counts} if tier == TIER3 else {}
            self.protocol.answer(work, wave, RESULTS[tier], data, to, asked["request"])

    def _certify(self, work: Work, wave: Wave, issue: Issue, details: str) -> None:
        """What an agent that works alone, without messages, would report after its gate."""
        member = wave.of_issue(issue.number)
        if not details:
            ready(work, member, self.run.id)
        elif issue.failed + 1 >= self.settings["attempts"]:
            blocked(work, member, f"the contract gate failed ({self.run.id}): {details.splitlines()[0]}", wave)

    def _give_back(self, work: Work, wave: Wave, details: str, named: set[int]) -> None:
        """Return the wave to its agents: the issues that are named, or all, are no longer ready."""
        lead, keane = team.actor_of(wave, wave.lead), work.agent(wave.agent_in(GATE)).principal
        if wave.state == "gating":
            work.do("task", wave.id, MoveTask(verb="resume", actor=lead), pack=PACK)
        describe(work, wave.id, tier2=None, tier3=None)
        ready = [one for one in _due(work, wave) if one.status == READY and (not named or one.number in named)]
        agents = {one.issue: work.agent(one.agent).principal for one in wave.members if one.role == ISSUE}
        for issue in team.dependents_first(work, ready):
            describe(work, issue.id, status="", certificate="")
            if issue.task.phase == "done":
                work.do("task", issue.id, MoveTask(verb="reopen", actor=lead, owner=agents[issue.number]), pack=PACK)
            team.tell(work, (agents[issue.number],), details, issue.id, issue.id, sender=keane)


# --- the verb --------------------------------------------------------------------------------------------------------

_COMMANDS = {None: (CONTRACTS, JOURNEYS, REGRESSION), TIER2: (CONTRACTS, JOURNEYS), TIER3: (REGRESSION,)}


def gate(call: Call, tier: str | None, *, accept: bool) -> Answer:
    from moot.api.verbs.runs.site import site_of
    from moot.runs.commands import granted

    if accept and tier is None:
        raise Usage("bad_arguments", "--accept is for one gate.", "Name it: tier2 or tier3.")
    site = site_of(call)
    for command in site.commands:
        if command.pack == PACK and command.stage in _COMMANDS[tier]:
            granted(site.consent, command)
    return Answer(result=[], more=_performed(call, site, _ask(call, tier, accept=accept) if tier else ""))


def request_text(store: Store, tier: str) -> str:
    """The message with which the lead asks for a gate of the live wave."""
    wave = team.live(store)
    due = [one for one in team.issues_of(store, wave.issues if wave else ()) if one.status != DEFERRED]
    if tier == TIER2:
        return f"RUN_JOURNEY_TIER2 issues:[{', '.join(f'#{one.number}' for one in due)}]"
    return f"RUN_REGRESSION wave:{wave.number if wave else 0}"


def _ask(call: Call, tier: str, *, accept: bool) -> str:
    """Ask for a gate, as its message does. Returns the id of its run."""
    kind, data = call.packs.typed(request_text(call.engine.read(), tier)) or ("", {})
    spec = call.packs.find(kind, PACK)
    assert spec is not None, "the text is one of a message of this pack"
    saying = call.packs.saying(call, spec, {"type": kind, **data, **({"accept": True} if accept else {})})

    def act(work: Work) -> None:
        call.packs.hear(work, saying.replace(sender=call.actor(work)))

    outcome = call.commit(act)
    for one in saying.facts.get("findings", ()) if accept else ():
        call.report(f"accepted: {one}")
    return next(event.stream.partition("/")[2] for event in outcome.events if event.type == RunOpened.type)


def _performed(call: Call, site: Site, asked: str) -> Iterator[Answer]:
    """Work the queue off until it is empty. Another process may perform the gate that was asked for."""
    from moot.place.processes import interruptible
    from moot.runs.seats import listen

    protocol: Any = call.packs.protocol(PACK)
    with interruptible():
        while any(asked in ("", run.id) for run in queue(call.engine.read())):
            performed = 0
            for run in work_off(site, protocol, show=call.output):
                performed += 1
                if run.id != asked:
                    yield Answer(result=run, say=(_line(run),))
            if not performed:
                listen(site)
    if not asked:
        return
    run = states.state(call.engine.read(), "run", asked)[0]
    if run.outcome != PASSED:
        log = command_line("run log", asked)
        raise AwaitedFailed(
            "gate_failed", f"The gate {asked} {run.outcome}: {run.reason}", f"`{log}` shows what it wrote.", run=asked
        )
    yield Answer(result=run, say=(_line(run),))


def _line(run: Run) -> str:
    counts = ", ".join(f"{number} {name}" for name, number in run.counts.items())
    said = f"{run.id}: {run.parameters['tier']} of {run.task} {run.outcome}"
    return "".join((said, f" ({counts})" if counts else "", f": {run.reason}" if run.reason else ""))


RUN_GATE = Verb(
    "specflow gate",
    "Ask for a gate of the wave, and run the gates that are queued.",
    gate,
    kind="local-exec",
    params=(
        Param("tier", "tier2 (the wave) or tier3 (the whole suite).", positional=True, choices=(TIER2, TIER3)),
        Param(
            "accept",
            "tier2: accept the findings that are listed. tier3: take the results as the new baseline.",
            type="flag",
        ),
    ),
    examples=("moot specflow gate", "moot specflow gate tier2", "moot specflow gate tier3 --accept"),
    detail=(
        "One gate runs at a time, in the order in which they were asked for. While a driver runs, it performs them, "
        "and this command waits for its own. Exit codes: 0 passed, 1 refused, 6 failed."
    ),
)
