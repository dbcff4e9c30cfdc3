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

import os
from functools import partial
from itertools import takewhile
from uuid import NAMESPACE_URL, uuid5  # noqa: TID253 (loaded on demand)

from moot.api.protocol.briefs import brief_of
from moot.api.verbs.runs.site import site_of
from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED, STOPPED, EndRun
from moot.core.errors import AwaitedFailed, Refused
from moot.core.identity import Caller
from moot.core.principal import name_of, same_agent
from moot.core.text import REASON, bullets, command_line, fence, one_line
from moot.packs.specflow import evidence, gates, lead, migrations, team
from moot.packs.specflow.looking import runs_of, status, status_lines
from moot.packs.specflow.protocol import CONTRACTS, TIER2, TIER3, blocked
from moot.packs.specflow.team import BLOCKED, DEFERRED, FIXED, GATE, ISSUE, LEAD, READY, SUBAGENTS, TEAMS, Teammate
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
_WAITING = {
    True: "While you wait for an answer, end your turn: you are started again when a message arrives.",
    False: "Do not end before one of the two: `moot wait` waits for an answer.",
}
_BRIEF = "issue-lifecycle.md"


class SpecflowDriver(PackDriver):
    """See the module."""

    required = ("agent",)
    options = ("wave", "parallel", "sequential")

    def __init__(self, call: Call, pack: Pack) -> None:
        super().__init__(pack.name)
        self.call, self.pack, self.outcome = call, pack, ""

    def candidates(self, store: Store, besides: tuple[str, ...]) -> list[Task]:
        wave = team.live(store) or team.planned(store)
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
        yield self._about("report", "\n".join(status_lines(status(self.call, number))), number)
        self.driver.outcome = f"Wave {number} is {self._wave(number).state}."

    def _about(self, what: str, text: str, wave: int) -> DriverStep:
        return DriverStep(what, self.driving.id, f"wave-{wave}", text=text)

    # --- the wave ----------------------------------------------------------------------------------------------------

    def _opened(self) -> Wave:
        """The wave that an earlier driver has left, that is live or planned, or the next one. Then it is live."""
        options, store = self.driving.options, self.engine.read()
        left = [self._wave(run.parameters["wave"]) for run in self.driving.open_runs() if run.repeats]
        found = next(iter(left), None) or team.live(store) or team.planned(store)
        if found is None:
            self.driving.as_agent(self.call.caller, "specflow plan")
            found = team.planned(self.engine.read())
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
            named = [(one, f"issue-{one.issue}") for one in members]
            members = tuple(one.replace(name=name, agent=f"w{planned.number}.{name}") for one, name in named)
        fields: dict[str, Any] = {"mode": mode, "decided": decided, "start": evidence.head(self.place)}
        fields["session"] = self.call.env.get("CLAUDE_CODE_SESSION_ID") or self.driving.id
        self.call.commit(partial(lead.spawn, planned=planned, lead=None, members=members, **fields))
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
        runs = self.crew.runs()

        def act(work: Work) -> None:
            for run in runs:
                work.do("run", run.id, EndRun(STOPPED, f"wave {wave.number} is {wave.state}"), pack=team.PACK)
            lead.retire(work, wave)

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
        if ended.forced:
            return INTERRUPTED, "it was ended after its grace time", None
        if member is not None and (status := self._issue(member).status):
            return PASSED, status, None
        if ended.adopted and not wrong:
            return INTERRUPTED, "its driver ended before it", None
        if member is not None and wave.mode == SUBAGENTS and not wrong:
            word, about, rest = (*last_block(ended.output).split(None, 2), "", "", "")[:3]
            if about == f"#{member.issue}" and word == "READY_FOR_CLOSURE":
                asked = partial(gates.open_gate, wave=wave, tier=CONTRACTS, issues=[member.issue or 0])
                return PASSED, READY, partial(asked, settings=self.settings)
            if about == f"#{member.issue}" and word == "BLOCKED" and rest:
                return PASSED, BLOCKED, partial(blocked, member=member, reason=rest)
        if member is not None and (wave.mode == SUBAGENTS or "resume" not in self.commands):
            wrong = wrong or "it ended without READY_FOR_CLOSURE or BLOCKED"
        last = f"; it wrote last:\n{ended.output[-_LAST:]}" if ended.output else ""
        if not wrong:
            return PASSED, _IDLE, None
        note, task = f"{ended.tried.who}: {wrong}{last}", ended.run.task
        return FAILED, wrong + last, lambda work: team.tell(work, (wave.lead,), note, wave.id, task)

    # --- one look ----------------------------------------------------------------------------------------------------

    def _look(self, wave: Wave) -> Iterator[DriverStep]:
        """Do what can be done now."""
        for name in (*(one.agent for one in wave.members), name_of(wave.lead) if self._is_mine(wave) else ""):
            agent = self._agent(name)
            if agent.here:  # also those that wait for a message
                self.driving.setup.presence.stamp(agent.name, agent.incarnation)
        for member in (one for one in wave.agents if one.agent not in self.crew.running):
            issue = self._issue(member)
            if issue.status == READY and issue.task.phase == "working":
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
        left = [one.number for one in issues if one.status not in (READY, DEFERRED)]
        if left and not self.crew.running:
            raise _stuck(team.issues_of(self.engine.read(), left))

    def _is_mine(self, wave: Wave) -> bool:
        """Whether the driver is the lead."""
        return name_of(wave.lead) == team.agent_id(wave.number, FIXED[LEAD])

    def _gates(self) -> Iterator[DriverStep]:
        """Let a thread work off the queue of gates."""
        if self.gate is not None and self.gate.done():
            for run in self.gate.result():
                self.failed += run.outcome == FAILED and run.parameters["tier"] != CONTRACTS
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
            lead.give_back(work, (team.Issue.of_task(task),), team.actor_of(wave, wave.lead))

    # --- members -----------------------------------------------------------------------------------------------------

    def _attended(self, wave: Wave, *, quiet: bool = False) -> Iterator[DriverStep]:
        """Start the turns that are due. `quiet`: nothing else happens, so agents that wait do so in vain."""
        most = 1 if wave.mode == SUBAGENTS else self.driving.options.parallel or len(wave.members)
        for member in wave.agents:
            if len(self.crew.running) >= most or (wave.mode == SUBAGENTS and gates.queue(self.engine.read())):
                return
            issue = self._issue(member)
            is_away = member.agent in (*self.crew.running, *wave.stopping)
            if not (is_away or issue.status or issue.task.waits):
                yield from self._started(wave, member, issue, quiet=quiet)

    def _started(self, wave: Wave, member: Teammate, issue: Issue, *, quiet: bool) -> Iterator[DriverStep]:
        """Start the next turn of an agent, if one is due. After too many crashes, its issue is blocked."""
        run = self.crew.run_of(member.agent, issue.id, wave=wave.number)
        last, reason = (run.tries[-1], f"Your last turn has ended: {run.tries[-1].reason}") if run.tries else (None, "")
        if last is not None and last.status == PASSED and last.reason == _IDLE:
            reason = "You have new mail." if self._has_news(member, last.at) else _NUDGE
            if reason == _NUDGE and not quiet:
                return
        vain = [*takewhile(lambda one: one.status != PASSED or one.why == _NUDGE, reversed(run.tries))]
        if sum(one.status != INTERRUPTED for one in vain) > self.settings["respawns"]:
            self.call.commit(partial(_give_up, wave, member, run, vain[0].reason))
            return
        command, resume = self.commands.get(member.command), self.commands.get("resume")
        if command is None:
            raise Refused("no_commands", f"[run.specflow] has no command {member.command!r}.", "Add it to moot.toml.")
        again = wave.mode == TEAMS and last is not None and (last.status == PASSED or last.command == command.run)
        if again and resume is not None:
            text = _filled("resume", reason=one_line(reason, 2000), task=issue.id, waiting=_WAITING[True])
            command = resume
        else:
            text = self._prompt(wave, member, issue)
        if issue.task.phase == "open":
            self.driving.as_agent(self._caller(member.agent), "task claim", task=issue.id)
        yield self._start(wave, member, run, command, text, reason if reason == _NUDGE else "")

    def _start(
        self, wave: Wave, member: Teammate, run: Run, command: Handler, brief: str, reason: str = ""
    ) -> DriverStep:
        """Start a command as this member, or as the lead."""
        mine = [one for one in runs_of(self.engine.read(), wave) if one.parameters.get("member") == member.agent]
        who, number = f"{member.agent}#{1 + sum(len(one.tries) for one in mine)}", str(wave.number)
        issue = str(team.issue_number(str(run.task)) or "")
        own = {VARIABLE: self.place.root, "MOOT_TEAM": wave.team, "MOOT_WAVE": number, "WAVE_NUMBER": number}
        own |= {"MOOT_ISSUE": issue, "ISSUE_NUMBER": issue} if issue else {}
        own |= {FLAG: self.call.env[FLAG]} if FLAG in self.call.env else {}
        if wave.mode == TEAMS and member.role != LEAD:
            parent = wave.session or wave.id
            own |= zip(_NAMES, (wave.team, who, member.name, member.role, parent), strict=True)
        session = uuid5(NAMESPACE_URL, f"{self.call.identity()}/{member.agent if wave.mode == TEAMS else who}")
        turn = Turn(
            command=command,
            brief=brief,
            who=who,
            incarnation=self._agent(member.agent).incarnation,
            reason=reason,
            own=own,
            hides=_HIDDEN,
            words={"{session}": str(session), "{issue}": issue},
        )
        last = self.crew.start(run, turn)
        about: dict[str, Any] = {"stage": last.stage, "attempt": last.attempt, "who": who, "seconds": command.timeout}
        return DriverStep("started", run.id, run.task, **about, text=" ".join(command.run))

    def _prompt(self, wave: Wave, member: Teammate, issue: Issue) -> str:
        """The text of a first turn: the prompt that was given for the agent, unchanged, or what moot makes of it.

        In the mode of teams, who it is comes last. What others wrote into an issue is fenced, so that it cannot be
        mistaken for moot's own words.
        """
        if member.prompt:
            parts = [self.call.blob(member.prompt).decode()]
        else:
            said = "\n\n".join(filter(None, (issue.text, *(f"Comment: {one}" for one in issue.comments))))
            about = {"number": issue.number, "name": issue.name, "wave": wave.number}
            parts = [self._base(wave), _filled("issue", text=fence(said or "(no text)"), **about)]
            parts += [self._alone(wave, issue) if wave.mode == SUBAGENTS else self._together(issue)]
        if wave.mode == TEAMS:
            me = {"member": member.name, "role": member.role, "agent": member.agent, "issue": issue.number}
            parts.append(_filled("member", wave=wave.number, team=wave.team, **me))
        return "\n\n".join(filter(None, parts))

    def _base(self, wave: Wave) -> str:
        """The prompt of issue agents in the project, else in the pack."""
        own = self.settings["agents_dir"]
        for folder in [own] if own else ["agents", "scripts/agents"]:
            path = os.path.join(self.place.root, folder, _BRIEF)
            if os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    return file.read()
        role = self.pack.role(ISSUE)
        assert role is not None, "the roles of this pack are its own"
        return brief_of(self.call.packs, self.pack, role).text if wave.mode == TEAMS else ""

    def _together(self, issue: Issue) -> str:
        """The messages of an issue agent, the rules about files, and when its issue can be closed."""
        sends = [(form, one.to) for one in self.pack.messages if ISSUE in one.senders for form in one.text]
        gets = [(form, one.senders) for one in self.pack.messages if ISSUE in one.to for form in one.text]
        return _filled(
            "teams",
            number=issue.number,
            sends="\n".join(bullets([f"`{form}` to {to[0].replace('@all', 'all')}" for form, to in sends])),
            gets="\n".join(bullets([f"`{form}` from {senders[0]}" for form, senders in gets])),
            shared=", ".join(f"`{one}`" for one in self.settings["shared"]),
            barrels=", ".join(f"`{one}`" for one in self.settings["barrels"]),
            waiting=_WAITING["resume" in self.commands],
        )

    def _alone(self, wave: Wave, issue: Issue) -> str:
        """What a subagent does, with a migration number reserved for it, and what the last gate found."""
        folder, given = self.settings["migrations"], list[str]()
        asked = {"issue": issue.number, "tables": [f"issue_{issue.number}"]}
        files = migrations.scan(self.place.root, folder)

        def act(work: Work) -> None:
            given.extend(data.get("file", "") for _, data, _ in migrations.request(work, wave, files, folder, asked))

        self.call.commit(act)
        found = self._failures(wave, issue)
        failures = f"The last gate failed. Correct this:\n\n{fence(found)}\n\n" if found else ""
        return _filled("subagents", number=issue.number, migration=given[-1], failures=failures)

    def _failures(self, wave: Wave, issue: Issue) -> str:
        """What the newest gate of an issue found; empty if it passed, or if there is none."""
        runs = [run for run in runs_of(self.engine.read(), wave) if issue.number in run.parameters.get("issues", ())]
        if not runs or runs[-1].outcome != FAILED or not runs[-1].tries:
            return ""
        last = runs[-1].tries[-1]
        output = self.call.blob(last.output).decode("utf-8", "replace")[-_LAST:] if last.output else ""
        return "\n".join(filter(None, (last.reason, *last.problems, output)))

    def _issue(self, member: Teammate) -> Issue:
        return team.issues_of(self.engine.read(), (member.issue or 0,))[0]

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
        me = Teammate(FIXED[LEAD], name_of(wave.lead), LEAD)
        now = evidence.version(self.place, self.settings["reports"].values())
        passed = [(gate or {}).get("commit") == now for gate in (wave.tier2, wave.tier3)]
        exports = [one for one in evidence.exports(self.place, wave.start) if issues and one not in wave.accepted]
        if self.failed >= self.settings["attempts"]:
            said = f"The gates of wave {wave.number} failed {self.failed} times."
            raise AwaitedFailed("gates_failed", said, "Look at them, then run this again.")
        if exports:
            said = "\n".join(bullets(exports, most=len(exports)))
            run = self.crew.run_of(me.agent, wave.id, wave=wave.number) if "lead" in self.commands else None
            if run is None or not _is_due(run, said):
                raise AwaitedFailed(
                    "open_exports",
                    f"These exports are open:\n{said}",
                    "Add them to the barrel files and commit, then run this again.",
                    exports=exports,
                )
            brief = _filled("exports", wave=wave.number, exports=said)
            yield self._start(wave, me, run, self.commands["lead"], brief, said)
        elif issues and not all(passed):
            asked = gates.request_text(self.engine.read(), TIER3 if passed[0] else TIER2)
            self.driving.as_agent(self._caller(me.agent), "specflow write", to=GATE, message=asked)
        else:
            for issue in issues if "close" in self.commands else ():
                run = self.crew.run_of(me.agent, issue.id, wave=wave.number)
                if _is_due(run):
                    yield self._start(wave, me, run, self.commands["close"], issue.name)
                    return
            self.call.commit(partial(self._close, wave, now))

    def _close(self, wave: Wave, version: str, work: Work) -> None:
        lead.close(work, wave, version, team.actor_of(wave, wave.lead), retired=False)


def _stuck(issues: list[Issue]) -> AwaitedFailed:
    """The error when nobody works, and these issues are open."""
    left = [one for one in issues if not one.task.waits] or issues
    ways = [(str(one.number), "resume" if one.status else "defer") for one in left]
    commands = [command_line("specflow decide", *way, options=REASON) for way in ways]
    said = bullets([f"#{one.number}: {one.why or 'it has no agent'}" for one in left])
    return AwaitedFailed(
        "issues_blocked",
        "\n".join(["These issues wait for a decision:", *said]),
        f"Resume, reassign or defer each, then run this again: {', '.join(f'`{one}`' for one in commands)}.",
        issues=[one.number for one in left],
    )


def _is_due(run: Run, reason: str = "") -> bool:
    """Whether a command of the lead has not yet run for this reason."""
    last = run.tries[-1] if run.tries else None
    return last is None or last.status == INTERRUPTED or last.why != reason


def _give_up(wave: Wave, member: Teammate, run: Run, reason: str, work: Work) -> None:
    work.do("run", run.id, EndRun(FAILED, reason), pack=team.PACK)
    blocked(work, member, reason, wave)


def _filled(file: str, /, **values: Any) -> str:
    """A text of the folder `prompts`, with its values."""
    with open(os.path.join(os.path.dirname(__file__), "prompts", f"{file}.md"), encoding="utf-8") as opened:
        return opened.read().format_map(values)
