"""The quality-gate: which test runs are asked for, and how they are performed, one at a time.

A gate is a run of this pack: `task` is the issue or the wave, `parameters` say what was asked. The commit that stores a
request opens its run, so an open gate run is queued, in the order of the log. Whoever holds the lock
`drivers/specflow.gates` works the queue off: the driver, or `moot specflow gate`. The commit that ends a run also sends
its result to the one who asked, with everything that follows from it.

    tier        stages                    passes if
    contracts   contracts, journeys       the commands succeed; journeys only for an issue that has some
    tier2       journeys, or contracts    the command succeeds with the journeys of all issues of the wave
    tier3       regression                no test is worse than in the baseline, or missing

No evidence, no pass: where a report is named, it must be written by this run and have executed tests.
"""

from __future__ import annotations

import os
from contextlib import suppress

from moot.core.deciders.message import SendMessage
from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED, STOPPED, EndRun, EndStage, OpenRun, StartStage
from moot.core.errors import Held, Refused, Unavailable
from moot.core.json_codec import dumps
from moot.core.principal import name_of
from moot.core.task import MoveTask
from moot.core.text import age, bullets, command_line, first_few
from moot.packs.specflow import reports, team, tree
from moot.packs.specflow.migrations import SERIES, needed
from moot.packs.specflow.reports import BASELINE, FAIL, SKIPPED, WORSE
from moot.packs.specflow.team import DEFERRED, GATE, PACK, READY, Issue, Wave
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

CONTRACTS, TIER2, TIER3 = "contracts", "tier2", "tier3"
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
        gone = run.outcome == PASSED and not tree.in_history(place, commit_of(run))
        if gone or run.outcome != PASSED:
            return {"stale": f"its commit {commit_of(run)} is not in the history of HEAD"}
        return {"changed": [*tree.changed(place, commit_of(run))]}
    wave = team.live(store)
    if kind == "RUN_CONTRACTS" or wave is None:
        return {}
    found = findings(call, wave) if kind == "RUN_JOURNEY_TIER2" else []
    now = tree.version(place, settings["reports"].values())
    return {"findings": found, "dirty": tree.uncommitted(place), "version": now}


def findings(call: Call, wave: Wave) -> list[str]:
    """What the lead must look at before Tier 2, each with its path. What it has accepted is among them."""
    protocol: Any = call.packs.protocol(PACK)
    given = states.state(call.engine.read(), "series", SERIES)[0].given
    return tree.findings(
        call.place,
        wave.start,
        is_shared=protocol.is_shared,
        held=tree.held_since(call.engine, call.engine.log.read(0, 1, f"task/{wave.id}")[0].position),
        migrations=protocol.settings["migrations"],
        assigned={one.number for one in given.values()},
    )


def check_request(
    work: Work, wave: Wave, tier: str, own: int | None, saying: Saying, settings: Mapping[str, Any]
) -> None:
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
        team.describe(work, wave.id, accepted=[*wave.accepted, *found])


def _due(work: Work, wave: Wave) -> list[Issue]:
    """The issues of the wave that are not deferred, by number."""
    return [one for number in sorted(wave.issues) if (one := team.issue(work, number)).status != DEFERRED]


def open_gate(
    work: Work, wave: Wave, tier: str, issues: Sequence[int], saying: Saying | None, settings: Mapping[str, Any]
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
    found = reports.journeys((issue.text, *issue.comments))
    return tuple(dict.fromkeys(reports.journey_file(settings["journey_file"], one) for one in found))


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
        self.version = tree.version(place, written.values())
        if self.asked["tier"] != CONTRACTS and (dirty := tree.uncommitted(place)):
            raise StageError(f"tracked files have changes that are not committed: {', '.join(dirty)}")
        if missing := [file for file in files if not os.path.isfile(os.path.join(place.root, file))]:
            raise StageError(f"there is no file for journeys: {', '.join(missing)}")
        if command is None:
            raise StageError(f"moot.toml has no command `{stage}` in [run.{PACK}]")
        if path and any(word.rpartition("=")[2] == path for word in command.run):  # consent would cover its content
            raise StageError(f"the command `{stage}` names its report: write {REPORT} in the place of {path}")
        if stage == REGRESSION and accept and not path:
            raise StageError(f"no report of it is named in [pack.{PACK}], so there is nothing to accept")
        old = contents.read(place.root, [BASELINE] if stage == REGRESSION else [])
        known = {} if accept else reports.baseline_of(old.files.get(BASELINE))["tests"]
        before = contents.read(place.root, [path] if path else [])
        code = self._run(stage, commands.granted(self.site.consent, command), files, lock)
        if path:
            now = contents.read(place.root, [path])
            if now == before or path not in now.files:
                raise StageError(f"{path} was not written by this run (exit code {code})")
            self.tests = reports.tests_of(now.files[path], place.root)
        failed = [test for test, how in self.tests.items() if how == FAIL]
        self.counts["tests"] += sum(how != SKIPPED for how in self.tests.values())
        self.counts["failed"] += len(failed)
        self.worse = dict.fromkeys(failed, "failed")
        if path and stage == REGRESSION:
            self._compare(known)
        if code and not (path and stage == REGRESSION and failed):
            raise StageError(f"exit code {code}")
        if stage == REGRESSION:
            self._write_baseline(known, contents.digests_of([BASELINE], old))

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
        classes = reports.compared(known, self.tests)
        self.counts |= {name: len(tests) for name, tests in classes.items()}
        self.worse = {test: name for name in WORSE for test in classes[name]}
        if self.worse:
            raise StageError(", ".join(f"{self.counts[name]} {name}" for name in WORSE if self.counts[name]))

    def _write_baseline(self, known: Mapping[str, str], before: Mapping[str, str]) -> None:
        at, wave, commit = self.site.wall(), self.asked["wave"], tree.head(self.site.place) or None
        data = reports.baseline(self.tests or known, at=at, wave=wave, commit=commit)
        contents.write(self.site.place.root, {BASELINE: data}, before)

    # --- what follows ------------------------------------------------------------------------------------------------

    def _end(self, stage: str, wrong: str) -> None:
        """Record the end of a stage; of the last one, or one that failed, with that of the run and what follows."""
        last, ran = self.run.running, self.ran
        assert last is not None
        blame = reports.blamed(self.worse, self.files)
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
        """Record the result, and send it to the one who asked. `details`: why it failed. `named`: issues to blame."""
        asked, tier, about = self.asked, self.asked["tier"], {"run": self.run.id, "wave": wave.number}
        if tier == CONTRACTS:
            issue = team.issue(work, asked["issues"][0])
            about = {"run": self.run.id, "issue": issue.number}
            team.describe(work, issue.id, failed=issue.failed + bool(details))
        elif details:
            self._give_back(work, wave, details, named)
        else:
            team.describe(work, wave.id, **{tier: {"run": self.run.id, "commit": self.version}})
        to = name_of(asked["by"])
        if asked["request"] and not work.agent(to).retired:
            data = {**about, **({"details": details} if details else {})}
            data |= {"counts": self.counts} if tier == TIER3 else {}
            self.protocol.answer(work, wave, RESULTS[tier], data, to, asked["request"])

    def _give_back(self, work: Work, wave: Wave, details: str, named: set[int]) -> None:
        """Return the wave to its agents: the issues that are named, or all, are no longer ready.

        An issue comes before those that it depends on: it could not be opened again while they are open.
        """
        lead, keane = team.actor_of(wave, wave.lead), work.agent(wave.agent_in(GATE)).principal
        if wave.state == "gating":
            work.do("task", wave.id, MoveTask(verb="resume", actor=lead), pack=PACK)
        team.describe(work, wave.id, tier2=None, tier3=None)
        ready = [one for one in _due(work, wave) if one.status == READY and (not named or one.number in named)]
        for issue in sorted(ready, key=lambda one: len(needed(work, one.id)), reverse=True):
            team.describe(work, issue.id, status="", certificate="")
            member = wave.of_issue(issue.number)
            agent = work.agent(member.agent) if member is not None else None
            if issue.task.phase == "done":
                owner = agent.principal if agent is not None else None
                work.do("task", issue.id, MoveTask(verb="reopen", actor=lead, owner=owner), pack=PACK)
            if agent is not None and not agent.retired:
                size = len(details.encode())
                note = SendMessage(
                    "note", keane, (agent.name,), "nothing", size, size, details, task=issue.id, role=GATE
                )
                work.do("message", work.new_message(), note)
