"""`moot run specflow`: the lead of a wave without a model. It starts the members, and what they wait for.

Everything that it does next follows from the log: a killed driver is started again and goes on. Each look

    collects     the turns that have ended. What counts is the issue: ready, blocked, or neither
    starts       members whose issue waits for nothing: the first turn; the next one for new mail, or for work that was
                 given back; again after a crash, until its issue is blocked with the last output as the reason
    gates        works off the queue of gates in a thread
    leads        when all issues are ready or deferred: exports, Tier 2, Tier 3, closing, the end of the team

It stops for a decision at blocked issues, findings and exports. It leaves the last part to the lead if somebody else
opened the team. The mode `subagents` differs in three ways: one member at a time, each turn with a prompt that tells
all, and its result at the end of the output.
"""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from uuid import NAMESPACE_URL, uuid5  # noqa: TID253 (loaded on demand)

from moot.api.protocol.briefs import brief_of
from moot.api.verbs.runs.site import site_of
from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED, STOPPED, EndRun
from moot.core.errors import AwaitedFailed, Refused
from moot.core.identity import Caller
from moot.core.principal import Actor, name_of, same_agent
from moot.core.reactions import notice
from moot.core.text import REASON, bullets, command_line, one_line
from moot.packs.specflow import gates, migrations, prompts, team, tree, waves
from moot.packs.specflow.looking import runs_of, status, status_lines
from moot.packs.specflow.protocol import blocked, ready
from moot.packs.specflow.team import BLOCKED, DB, DEFERRED, FIXED, GATE, ISSUE, LEAD, READY, SUBAGENTS, TEAMS, Teammate
from moot.packs.specflow.verbs.teams import retire
from moot.place import VARIABLE
from moot.runs.answers import last_block
from moot.runs.crew import Crew, Turn
from moot.runs.drivers import DriverStep, PackDriver
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Pack
    from moot.core.deciders.agent import Agent
    from moot.core.handler import Handler
    from moot.core.run import Run
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.specflow.team import Issue, Wave
    from moot.runs.crew import Ended
    from moot.runs.drivers import Driving
    from moot.views.store import Store

FLAG = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"
_YES, _NO = ("true", "1", "yes", "on"), ("", "false", "0", "no", "off")
_NAMES = tuple(
    f"CLAUDE_CODE_{one}" for one in ("TEAM_NAME", "AGENT_ID", "AGENT_NAME", "AGENT_TYPE", "PARENT_SESSION_ID")
)
_HIDDEN = (*_NAMES, "WAVE_NUMBER", "ISSUE_NUMBER", FLAG)
_IDLE = "it ended its turn"
_NUDGE = "Nobody works any more, and your issue is neither ready nor blocked."
_LAST = 1500  # characters of the last output in a reason


class SpecflowDriver(PackDriver):
    """See the module."""

    required = ("agent",)
    options = ("wave", "parallel", "sequential")

    def __init__(self, call: Call, pack: Pack) -> None:
        super().__init__(pack.name)
        self.call, self.pack, self.outcome = call, pack, ""

    def candidates(self, store: Store, besides: tuple[str, ...]) -> list[Task]:
        wave = team.live(store) or _planned(store)
        issues = team.issues_of(store, wave.issues) if wave is not None else []
        return [one.task for one in issues if not one.status and not one.task.waits and one.id not in besides]

    def drive(self, driving: Driving) -> Iterator[DriverStep]:
        yield from _Drive(self, driving).steps()

    def summary(self, counts: Mapping[str, int]) -> str:  # noqa: ARG002
        return self.outcome


class _Drive:
    def __init__(self, driver: SpecflowDriver, driving: Driving) -> None:
        self.driver, self.driving, self.call, self.pack = driver, driving, driver.call, driver.pack
        self.engine, self.place, self.site = self.call.engine, self.call.place, site_of(self.call)
        self.protocol: Any = self.call.packs.protocol(team.PACK)
        self.settings, self.commands = self.protocol.settings, driving.setup.commands
        self.crew = Crew(driving)
        self.gate: Future[list[Run]] | None = None
        self.failed = 0  # gates of the wave, since this driver began

    def steps(self) -> Iterator[DriverStep]:
        number = self._opened().number
        yield self._about("opened", f"{self._wave(number).team}, mode {self._wave(number).mode}", number)
        with self.crew:
            while True:
                head = self.engine.log.head()
                yield from self._collected(number)
                yield from self._gates()
                wave = self._wave(number)
                if wave.is_live:
                    yield from self._look(wave)
                elif self._over(wave):
                    break
                self.crew.wait(head)
        yield self._about("report", "\n".join(status_lines(status(self.call, self._wave(number)))), number)
        self.driver.outcome = f"Wave {number} is {self._wave(number).state}."

    def _about(self, what: str, text: str, wave: int) -> DriverStep:
        return DriverStep(what, self.driving.id, f"wave-{wave}", text=text)

    # --- the wave ----------------------------------------------------------------------------------------------------

    def _opened(self) -> Wave:
        """The wave that an earlier driver has left, that is live or planned, or the next one. Then it is live."""
        options = self.driving.options
        left = [self._wave(run.parameters["wave"]) for run in self.driving.open_runs() if run.repeats]
        found = next(iter(left), None) or team.live(self.engine.read()) or _planned(self.engine.read())
        if found is None:
            self.driving.as_agent(self.call.caller, "specflow plan")
            found = _planned(self.engine.read())
        assert found is not None, "a plan has a wave, or was refused"
        wanted = TEAMS if options.parallel is not None else SUBAGENTS if options.sequential else ""
        if options.wave not in (None, found.number) or (found.mode and wanted not in ("", found.mode)):
            raise Refused(
                "other_wave",
                f"The wave to run is {found.number}{f', in the mode {found.mode}' if found.mode else ''}.",
                f"Run it as it is: `{command_line('run specflow')}`.",
                wave=found.number,
                mode=found.mode,
            )
        return found if found.state != "planned" else self._spawned(found, wanted)

    def _spawned(self, planned: Wave, wanted: str) -> Wave:
        """Open the team as Finn McCool. The mode is decided now, by the option, or by the variable."""
        given = self.call.env.get(FLAG, "")
        mode = wanted or (TEAMS if given.lower() in _YES else SUBAGENTS)
        decided = {TEAMS: "--parallel", SUBAGENTS: "--sequential", "": f"{FLAG}={given}"}[wanted]
        if not wanted and given.lower() not in (*_YES, *_NO):
            decided += ", which is not a known value"
        members = planned.members
        if mode == SUBAGENTS:
            members = tuple(
                one.replace(name=f"issue-{one.issue}", agent=f"w{planned.number}.issue-{one.issue}") for one in members
            )
        session = self.call.env.get("CLAUDE_CODE_SESSION_ID") or self.driving.id
        start, me = tree.head(self.place), Actor(principal="")

        def act(work: Work) -> None:
            fields = {"mode": mode, "decided": decided, "start": start, "session": session}
            team.spawn(work, work.task(planned.id), me, as_finn=True, team=planned.team, members=members, **fields)

        self.call.commit(act)
        return self._wave(planned.number)

    def _wave(self, number: int) -> Wave:
        found = team.wave(self.engine.read(), number)
        assert found is not None, "its task exists"
        return found

    def _over(self, wave: Wave) -> bool:
        """After the wave: let the turns end, then end the runs and retire the agents. Whether that is done."""
        self.crew.stop(*self.crew.running, grace=self.settings["grace"])
        if self.crew.running or self.gate is not None:
            return False
        store, unread = self.engine.read(), {}
        for one in wave.members:
            me, _ = states.agent(store, one.agent)
            unread[one.agent] = [
                mail.message.id for mail in queries.unsettled(store, me.name, me.principal, seen=False)
            ]
        runs = self.crew.runs()

        def act(work: Work) -> None:
            for run in runs:
                work.do("run", run.id, EndRun(STOPPED, f"wave {wave.number} is {wave.state}"), pack=team.PACK)
            team.describe(work, wave.id, unread={agent: ids for agent, ids in unread.items() if ids})
            retire(work, wave)

        self.call.commit(act)
        return True

    # --- turns that have ended ---------------------------------------------------------------------------------------

    def _collected(self, number: int) -> Iterator[DriverStep]:
        for ended in self.crew.ended():
            how, reason, also = self._judged(self._wave(number), ended)
            self.crew.record(ended, how, reason, also)
            ran, last = ended.ran, ended.tried
            took = {} if ran is None else {"seconds": ran.seconds, "code": ran.code, "timed_out": ran.timed_out}
            about: dict[str, Any] = {"stage": last.stage, "attempt": last.attempt, "who": last.who, **took}
            yield DriverStep(how, ended.run.id, ended.run.task, **about, text=one_line(reason, 300))

    def _judged(self, wave: Wave, ended: Ended) -> tuple[str, str, Callable[[Work], object] | None]:
        """How a turn has ended, why, and what else its commit stores."""
        member, wrong = wave.member(ended.member), ended.how
        issue = self._issue(member) if member is not None else None
        if ended.forced:
            return INTERRUPTED, "it was ended after its grace time", None
        if issue is not None and issue.status:
            return PASSED, issue.status, None
        if ended.adopted and not wrong:
            return INTERRUPTED, "its driver ended before it", None
        if issue is not None and member is not None and wave.mode == SUBAGENTS and not wrong:
            word, about, rest = (*last_block(ended.output).split(None, 2), "", "", "")[:3]
            if about == f"#{issue.number}" and word == "READY_FOR_CLOSURE":
                asked = partial(gates.open_gate, wave=wave, tier=gates.CONTRACTS, issues=[issue.number], saying=None)
                return PASSED, READY, partial(asked, settings=self.settings)
            if about == f"#{issue.number}" and word == "BLOCKED" and rest:
                return PASSED, BLOCKED, partial(blocked, member=member, reason=rest)
        if issue is not None and (wave.mode == SUBAGENTS or "resume" not in self.commands):
            wrong = wrong or "it ended without READY_FOR_CLOSURE or BLOCKED"
        last = f"; it wrote last:\n{ended.output[-_LAST:]}" if ended.output else ""
        told = partial(self._tell, wave, f"{ended.tried.who}: {wrong}{last}", ended.run.task)
        return (FAILED, wrong + last, told) if wrong else (PASSED, _IDLE, None)

    # --- one look ----------------------------------------------------------------------------------------------------

    def _look(self, wave: Wave) -> Iterator[DriverStep]:
        """Do what can be done now."""
        for name in (*(one.agent for one in wave.members), name_of(wave.lead) if self._is_mine(wave) else ""):
            agent = self._agent(name)
            if agent.here:  # also those that wait for a message
                self.driving.setup.presence.stamp(agent.name, agent.incarnation)
        for member in wave.members:
            issue = self._issue(member)
            is_over = issue is not None and issue.status == READY and member.agent not in self.crew.running
            if is_over and issue is not None and issue.task.phase == "working":
                self.driving.as_agent(self._caller(member.agent), "task complete", task=issue.id)
        self._stop_others(wave)
        yield from self._attended(wave)
        if self.crew.running or gates.queue(self.engine.read()) or not self._is_mine(wave):
            return
        issues = team.issues_of(self.engine.read(), wave.issues)
        if all(one.status == DEFERRED or (one.status == READY and one.task.phase == "done") for one in issues):
            yield from self._led(wave, [one for one in issues if one.status == READY])
            return
        yield from self._attended(wave, quiet=True)
        if not self.crew.running:
            raise self._stuck(team.issues_of(self.engine.read(), wave.issues))

    def _stuck(self, issues: list[Issue]) -> AwaitedFailed:
        """The error when nobody works, and issues are open."""
        left = [one for one in issues if one.status not in (READY, DEFERRED)]
        left = [one for one in left if not one.task.waits] or left
        ways = [
            command_line("specflow decide", str(one.number), "resume" if one.status else "defer", options=REASON)
            for one in left
        ]
        return AwaitedFailed(
            "issues_blocked",
            "\n".join(
                [
                    "These issues wait for a decision:",
                    *bullets([f"#{one.number}: {one.why or 'it has no agent'}" for one in left]),
                ]
            ),
            f"Resume, reassign or defer each, then run this again: {', '.join(f'`{way}`' for way in ways)}.",
            issues=[one.number for one in left],
        )

    def _is_mine(self, wave: Wave) -> bool:
        """Whether the driver is the lead."""
        return name_of(wave.lead) == team.agent_id(wave.number, FIXED[LEAD])

    def _gates(self) -> Iterator[DriverStep]:
        """Let a thread work off the queue of gates."""
        if self.gate is not None and self.gate.done():
            for run in self.gate.result():
                self.failed += run.outcome == FAILED and run.parameters["tier"] != gates.CONTRACTS
                text = one_line(run.reason or run.id, 300)
                took = sum(one.seconds or 0 for one in run.tries)
                yield DriverStep(
                    run.outcome, run.id, run.task, f"the gate {run.parameters['tier']}", text=text, seconds=took
                )
            self.gate = None
        if self.gate is None and gates.queue(self.engine.read()):
            self.gate = self.crew.aside(self._work_off)

    def _work_off(self) -> list[Run]:
        with self.site.fork() as own:
            return list(gates.work_off(own, self.protocol, cancel=lambda: self.crew.closing))

    def _stop_others(self, wave: Wave) -> None:
        """Let agents that were asked to stop, or replaced, end their turns. Then their runs end."""
        for run in self.crew.runs():
            name = run.parameters["member"]
            if wave.role_of(name) and name not in wave.stopping:
                continue
            self.crew.stop(name, grace=self.settings["grace"])
            if name not in self.crew.running:
                self.call.commit(partial(self._dismiss, wave, run))

    def _dismiss(self, wave: Wave, run: Run, work: Work) -> None:
        work.do("run", run.id, EndRun(STOPPED, "its agent was asked to stop"), pack=team.PACK)
        task = work.task(str(run.task))
        if task.phase == "working" and same_agent(task.holder or "", run.parameters["member"]):
            waves.give_back(work, (team.Issue.of_task(task),), team.actor_of(wave, wave.lead))

    # --- members -----------------------------------------------------------------------------------------------------

    def _attended(self, wave: Wave, *, quiet: bool = False) -> Iterator[DriverStep]:
        """Start the turns that are due. `quiet`: nothing else happens, so agents that wait do so in vain."""
        options = self.driving.options
        most = 1 if wave.mode == SUBAGENTS else options.parallel or len(wave.members)
        for member in wave.members:
            busy = len(self.crew.running) >= most or (wave.mode == SUBAGENTS and gates.queue(self.engine.read()))
            if member.role in (DB, GATE) or busy or {member.agent} & {*self.crew.running, *wave.stopping}:
                continue
            issue = self._issue(member)
            if issue is not None and wave.mode == SUBAGENTS and not issue.status:
                issue = self._certified(wave, member, issue)
            if issue is None or not (issue.status or issue.task.waits):
                yield from self._started(wave, member, issue, quiet=quiet)

    def _started(self, wave: Wave, member: Teammate, issue: Issue | None, *, quiet: bool) -> Iterator[DriverStep]:
        """Start the next turn of a member, if one is due. After too many crashes, its issue is blocked."""
        task = issue.id if issue is not None else None
        run = self.crew.find(member.agent, task)
        tries = run.tries if run is not None else ()
        last, reason = (tries[-1], f"Your last turn has ended: {tries[-1].reason}") if tries else (None, "")
        if last is not None and last.status == PASSED and last.reason == _IDLE:
            reason = "You have new mail." if self._has_news(member, last.at) else _NUDGE if quiet and issue else ""
            if not reason:
                return
        vain = [*takewhile(lambda one: one.status != PASSED or one.why == _NUDGE, reversed(tries))]
        crashes = sum(one.status != INTERRUPTED for one in vain)
        if crashes > self.settings["respawns"]:
            if issue is not None:
                self.call.commit(partial(self._block, wave, member, vain[0].reason, run))
            return
        command, resume = self.commands.get(member.command), self.commands.get("resume")
        if command is None:
            raise Refused("no_commands", f"[run.specflow] has no command {member.command!r}.", "Add it to moot.toml.")
        again = wave.mode == TEAMS and last is not None and (last.status == PASSED or last.command == command.run)
        if again and resume is not None:
            about = {"task": task or "your work", "waiting": prompts.waiting(resumed=True)}
            command, brief = resume, prompts.filled("resume", reason=one_line(reason, 2000), **about)
        else:
            brief = self._prompt(wave, member, issue)
        if issue is not None and issue.task.phase == "open":
            self.driving.as_agent(self._caller(member.agent), "task claim", task=issue.id)
        yield self._start(wave, member, issue, command, brief, reason if reason == _NUDGE else "")

    def _start(
        self,
        wave: Wave,
        member: Teammate,
        issue: Issue | None,
        command: Handler,
        brief: str,
        reason: str,
        task: str = "",
    ) -> DriverStep:
        """Start a command as this member, or as the lead."""
        store, place, extra = self.engine.read(), self.place, states.task(self.engine.read(), wave.id)[0].extra
        every = [
            run for run in queries.things(store, "run", ended=True) if run.parameters.get("member") == member.agent
        ]
        who = f"{member.agent}#{1 + sum(len(run.tries) for run in every)}"
        own = {
            VARIABLE: place.root,
            "MOOT_TEAM": wave.team,
            "MOOT_WAVE": str(wave.number),
            "WAVE_NUMBER": str(wave.number),
        }
        if issue is not None:
            own |= {"MOOT_ISSUE": str(issue.number), "ISSUE_NUMBER": str(issue.number)}
        if FLAG in self.call.env:
            own[FLAG] = self.call.env[FLAG]
        if wave.mode == TEAMS and member.role != LEAD:
            own |= zip(_NAMES, (wave.team, who, member.name, member.role, extra.get("session") or wave.id), strict=True)
        session = uuid5(NAMESPACE_URL, f"{self.call.identity()}/{member.agent if wave.mode == TEAMS else who}")
        run = self.crew.run_of(member.agent, task or (issue.id if issue is not None else None), wave=wave.number)
        turn = Turn(
            command=command,
            brief=brief,
            who=who,
            incarnation=self._agent(member.agent).incarnation,
            reason=reason,
            own=own,
            hides=_HIDDEN,
            words={"{session}": str(session), **({"{issue}": str(issue.number)} if issue is not None else {})},
        )
        last = self.crew.start(run, turn)
        about: dict[str, Any] = {"stage": last.stage, "attempt": last.attempt, "who": who, "seconds": command.timeout}
        return DriverStep("started", run.id, run.task, **about, text=" ".join(command.run))

    def _prompt(self, wave: Wave, member: Teammate, issue: Issue | None) -> str:
        """The text of a first turn."""
        given = (issue.task.extra.get("prompt") if issue is not None else None) or member.prompt
        if given or issue is None:
            return prompts.first(wave, member, issue, given, ())
        role = self.pack.role(ISSUE)
        assert role is not None, "the roles of this pack are its own"
        base = prompts.brief(self.place.root, self.settings) or ""
        if not base and wave.mode == TEAMS:
            base = brief_of(self.call.packs, self.pack, role).text
        part = (
            prompts.team_part(self.pack, issue, self.settings, resumed="resume" in self.commands)
            if wave.mode == TEAMS
            else prompts.subagent_part(issue, self._migration(wave, issue), self._failures(wave, issue))
        )
        return prompts.first(wave, member, issue, base, (prompts.issue_part(wave, issue), part))

    def _migration(self, wave: Wave, issue: Issue) -> str:
        """The file of the migration that is reserved for the issue of a subagent."""
        given: dict[str, Any] = {}
        folder, asked = self.settings["migrations"], {"issue": issue.number, "tables": [f"issue_{issue.number}"]}
        files = migrations.scan(self.place.root, folder)

        def answer(_kind: str, data: Mapping[str, Any], _to: str | None = None) -> None:
            given.update(data)

        self.call.commit(lambda work: migrations.request(work, wave, files, folder, asked, answer))
        return str(given.get("file"))

    def _certified(self, wave: Wave, member: Teammate, issue: Issue) -> Issue:
        """The issue of a subagent, after what its last gate says: ready, blocked, or to be worked on."""
        gate = self._last_gate(wave, issue)
        if gate is None or gate.parameters["tier"] != gates.CONTRACTS:
            return issue
        me = Actor(principal=self._agent(member.agent).principal, roles=(ISSUE,))
        if gate.outcome == PASSED and issue.task.extra.get("proof") != gate.id:

            def act(work: Work) -> None:
                team.describe(work, issue.id, proof=gate.id)
                ready(work, member, me, gate.id, {})

            self.call.commit(act)
            self.driving.as_agent(self._caller(member.agent), "task complete", task=issue.id)
        elif gate.outcome == FAILED and issue.failed >= self.settings["attempts"]:
            self.call.commit(
                partial(self._block, wave, member, f"the contract gate failed ({gate.id}): {gate.reason}", None)
            )
        return self._issue(member) or issue

    def _last_gate(self, wave: Wave, issue: Issue) -> Run | None:
        """The newest gate that is about this issue."""
        runs = runs_of(self.engine.read(), wave)
        return next((run for run in reversed(runs) if issue.number in run.parameters.get("issues", ())), None)

    def _failures(self, wave: Wave, issue: Issue) -> str:
        """What the newest gate of an issue found; empty if it passed, or if there is none."""
        gate = self._last_gate(wave, issue)
        last = gate.tries[-1] if gate is not None and gate.tries and gate.outcome == FAILED else None
        if last is None:
            return ""
        output = self.call.blob(last.output).decode("utf-8", "replace")[-_LAST:] if last.output else ""
        return "\n".join(filter(None, (last.reason, *last.problems, output)))

    def _block(self, wave: Wave, member: Teammate, reason: str, run: Run | None, work: Work) -> None:
        """Block the issue of a member that cannot go on, and tell the lead."""
        if run is not None:
            work.do("run", run.id, EndRun(FAILED, reason), pack=team.PACK)
        blocked(work, member, reason)
        self._tell(wave, f"BLOCKED #{member.issue} {reason}", f"issue-{member.issue}", work)

    def _tell(self, wave: Wave, text: str, task: str | None, work: Work) -> None:
        """Write a note to the lead."""
        for _, thread, message, *_ in notice(work, "note", (wave.lead,), "moot", text, thread=wave.id, task=task):
            work.do("message", work.new_message(), message, thread=thread, pack=team.PACK)

    def _issue(self, member: Teammate) -> Issue | None:
        return team.issues_of(self.engine.read(), (member.issue,))[0] if member.issue else None

    def _agent(self, name: str) -> Agent:
        return states.agent(self.engine.read(), name)[0]

    def _caller(self, name: str) -> Caller:
        agent = self._agent(name)
        return Caller(agent=agent.name, incarnation=agent.incarnation, why="--agent")

    def _has_news(self, member: Teammate, since: str) -> bool:
        """Whether a message has come that the member has not seen."""
        agent = self._agent(member.agent)
        new = queries.unsettled(self.engine.read(), agent.name, agent.principal, seen=False)
        return any(mail.message.at > since for mail in new)

    # --- the lead ----------------------------------------------------------------------------------------------------

    def _led(self, wave: Wave, issues: list[Issue]) -> Iterator[DriverStep]:
        """The next step of the lead, when no agent works any more."""
        lead = Teammate(FIXED[LEAD], name_of(wave.lead), LEAD)
        now = tree.version(self.place, self.settings["reports"].values())
        passed = [(gate or {}).get("commit") == now for gate in (wave.tier2, wave.tier3)]
        exports = [one for one in tree.exports(self.place, wave.start) if issues and one not in wave.accepted]
        if self.failed >= self.settings["attempts"]:
            raise AwaitedFailed(
                "gates_failed",
                f"The gates of wave {wave.number} failed {self.failed} times.",
                "Look at them, then run this again.",
            )
        if exports:
            said = "\n".join(bullets(exports, most=len(exports)))
            if "lead" not in self.commands or not self._is_due(wave, wave.id, said):
                raise AwaitedFailed(
                    "open_exports",
                    f"These exports are open:\n{said}",
                    "Add them to the barrel files and commit, then run this again.",
                    exports=exports,
                )
            brief = prompts.filled("exports", wave=wave.number, exports=said)
            yield self._start(wave, lead, None, self.commands["lead"], brief, said, task=wave.id)
        elif issues and not all(passed):
            numbers = ", ".join(f"#{one.number}" for one in issues)
            asked = f"RUN_REGRESSION wave:{wave.number}" if passed[0] else f"RUN_JOURNEY_TIER2 issues:[{numbers}]"
            self.driving.as_agent(self._caller(lead.agent), "specflow write", to=GATE, message=asked)
        else:
            for issue in issues if "close" in self.commands else ():
                if self._is_due(wave, issue.id, ""):
                    yield self._start(wave, lead, issue, self.commands["close"], issue.name, "")
                    return
            self.call.commit(partial(self._close, wave, now))

    def _close(self, wave: Wave, version: str, work: Work) -> None:
        waves.close(work, wave, version, team.actor_of(wave, wave.lead))

    def _is_due(self, wave: Wave, task: str, reason: str) -> bool:
        """Whether a command of the lead has not yet run for this reason."""
        run = self.crew.find(name_of(wave.lead), task)
        last = run.tries[-1] if run is not None and run.tries else None
        return last is None or last.status == INTERRUPTED or last.why != reason


def _planned(store: Store) -> Wave | None:
    tasks = (states.task(store, name)[0] for name in queries.task_ids(store, "planned"))
    return next((team.Wave.of_task(task) for task in tasks if task.lifecycle == team.WAVES), None)
