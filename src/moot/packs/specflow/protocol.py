"""The messages of the catalogue: who may send which to whom, and what follows from each in the same commit."""

from __future__ import annotations

from moot.api.protocol import Protocol, Saying
from moot.api.protocol.hearing import accepted, prepared, store
from moot.core import paths
from moot.core.claims import AwaitFiles, Claimed, ReleaseAll, new_id
from moot.core.deciders.claims import in_the_way, standing
from moot.core.deciders.run import PASSED
from moot.core.errors import Held, Refused
from moot.core.principal import Actor, name_of, same_agent
from moot.core.reactions import notice
from moot.core.schema import Defect
from moot.core.schema.phrases import shown
from moot.core.task import FlagTask
from moot.core.text import command_line
from moot.packs.specflow import team
from moot.packs.specflow.team import BLOCKED, DEFERRED, GATE, ISSUE, LEAD, PACK, READY, SUBAGENTS, TEAMS, WAVES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.pack_views import Concern, PackView
    from moot.core.payload import Payload
    from moot.core.reactions import Step, World
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.specflow.team import Teammate, Wave

_HERE = "moot.packs.specflow"
EXPORT = "// TODO: Add to index.ts export"
_SUBJECT = "Implement #"
_MIGRATIONS = ("REQUEST_MIGRATION", "QUERY_TABLE")
_OWN = ("REQUEST_MIGRATION", "READY_FOR_CLOSURE", "BLOCKED")
TIERS = {"RUN_CONTRACTS": "contracts", "RUN_JOURNEY_TIER2": "tier2", "RUN_REGRESSION": "tier3"}
_LIMIT = 1 << 20  # bytes of an answer


def told_in_line(_key: str, happened: Payload, world: World) -> Iterator[Step]:
    """Tell a member that the file it waits for is its own now, if somebody else freed it."""
    if isinstance(happened, Claimed) and not same_agent(happened.holder, world.by) and happened.task:
        said = f"granted: {', '.join(happened.paths)} is yours now."
        yield from notice(world, "note", (happened.holder,), "moot", said, thread=happened.task, task=happened.task)


class Specflow(Protocol):
    """See the module."""

    reactions = (told_in_line,)
    driver = f"{_HERE}.driver:SpecflowDriver"
    methods = f"{_HERE}.methods:Team"
    verbs = {  # noqa: RUF012
        "plan": f"{_HERE}.verbs.planning:PLAN",
        "decide": f"{_HERE}.verbs.planning:DECIDE",
        "status": f"{_HERE}.verbs.looking:STATUS",
        "catalogue": f"{_HERE}.verbs.looking:CATALOGUE",
        "migrations": f"{_HERE}.verbs.migrations:MIGRATIONS",
        "write": f"{_HERE}.verbs.messages:WRITE",
        "broadcast": f"{_HERE}.verbs.messages:BROADCAST",
        "spawn-team": f"{_HERE}.verbs.teams:SPAWN_TEAM",
        "request-shutdown": f"{_HERE}.verbs.teams:REQUEST_SHUTDOWN",
        "gate": f"{_HERE}.verbs.gates:GATE",
    }

    # --- what is looked up before a commit ---------------------------------------------------------------------------

    def observe(self, call: Call, saying: Saying) -> Mapping[str, Any]:
        """The directory of migrations, the path of a file, or what a gate must know about the repository."""
        kind, data, root = saying.spec.name, saying.data, call.place.root
        if kind in _MIGRATIONS:
            from moot.packs.specflow.migrations import scan

            return {"files": scan(root, self.settings["migrations"])}
        if kind == "TOUCHING_FILE" and isinstance(data.get("path"), str):
            return file_of(call, data["path"])
        if kind in TIERS or kind == "READY_FOR_CLOSURE":
            from moot.packs.specflow.gates import facts

            return facts(call, self.settings, kind, data)
        return {}

    # --- messages ----------------------------------------------------------------------------------------------------

    def hear(self, work: Work, saying: Saying) -> None:
        wave, kind = team.running(work), saying.spec.name
        sender = team.actor_of(wave, saying.sender.principal)
        if wave.mode == SUBAGENTS and LEAD not in sender.roles:
            raise no_messages(wave)
        saying = prepared(work, saying.replace(sender=sender))
        saying = accepted(self.pack, saying, _bad_tables(saying))
        member = wave.member(sender.principal)
        own = member.issue if member is not None else None
        if kind in _OWN and saying.data["issue"] != own:
            raise Refused(
                "not_your_issue",
                f"Your issue is #{own}, and the message is about #{saying.data['issue']}.",
                f"Name your own issue: #{own}.",
                issue=own,
            )
        within = saying.within or self.settings["within"] if saying.spec.wants == "answer" else None
        saying = saying.replace(to=saying.to or self._to(wave, saying), within=within)
        task = work.task(f"issue-{own}") if own is not None else work.task(wave.id)
        if kind in TIERS:
            saying = self._asked_for_gate(work, wave, saying, own)
        before = getattr(self, f"_{kind.lower()}", None)
        if before is None or before(work, member, saying) is not False:
            store(work, self.pack, saying, task)
        after: Callable[..., None] | None = getattr(self, f"_after_{kind.lower()}", None)
        if after is not None:
            after(work, wave, member, saying)

    def _to(self, wave: Wave, saying: Saying) -> tuple[str, ...]:
        """Who gets it: the whole team, or the one agent in the role that the message is for."""
        if saying.spec.to == ("@all",):
            every = (wave.agent_in(LEAD), *(one.agent for one in wave.members))
            return tuple(one for one in every if not same_agent(one, saying.sender.principal))
        return (wave.agent_in(saying.spec.to[0]),)

    def answer(self, work: Work, wave: Wave, kind: str, data: Mapping[str, Any], to: str, asked: str = "") -> None:
        """Send a message of a service to this mailbox. `asked`: the request that it answers and settles."""
        spec = next(spec for spec in self.pack.messages if spec.name == kind)
        message = work.message(asked) if asked else None
        about = {"request": asked} if asked else {}
        saying = Saying(
            spec=spec,
            data={"type": kind, **data, **about},
            id=work.new_message(),
            sender=team.actor_of(wave, work.agent(wave.agent_in(spec.senders[0])).principal),
            limit=_LIMIT,
            to=(to,),
            asked=message,
        )
        issue = getattr(wave.member(to), "issue", None) or data.get("issue")
        store(work, self.pack, saying, work.task(f"issue-{issue}" if issue else wave.id))

    # Migrations

    def _after_request_migration(self, work: Work, wave: Wave, _member: Teammate, saying: Saying) -> None:
        from moot.packs.specflow.migrations import request

        request(
            work,
            wave,
            saying.facts["files"],
            self.settings["migrations"],
            saying.data,
            self._answering(work, wave, saying),
        )

    def _after_query_table(self, work: Work, wave: Wave, _member: Teammate, saying: Saying) -> None:
        from moot.packs.specflow.migrations import query

        query(work, saying.facts["files"], saying.data["table"], self._answering(work, wave, saying))

    def _answering(self, work: Work, wave: Wave, saying: Saying) -> Callable[..., None]:
        """A function that answers this request, or sends the same kind of message `to` somebody else."""
        sender = name_of(saying.sender.principal)

        def answer(kind: str, data: Mapping[str, Any], to: str | None = None) -> None:
            if to != "":
                self.answer(work, wave, kind, data, to or sender, saying.id if to is None else "")

        return answer

    # Gates

    def _asked_for_gate(self, work: Work, wave: Wave, saying: Saying, own: int | None) -> Saying:
        """The request with the run of its gate, which is queued in the same commit."""
        from moot.packs.specflow.gates import check_request, open_gate

        tier = TIERS[saying.spec.name]
        check_request(work, wave, tier, own, saying, self.settings)
        issues = [own] if own is not None else list(wave.issues)
        run = open_gate(work, wave, tier, issues, saying, self.settings)
        more = {"issue": own} if own is not None else {}
        return saying.replace(data={**saying.data, **more, "run": run})

    # Ready and blocked

    def _ready_for_closure(self, work: Work, member: Teammate, saying: Saying) -> None:
        ready(work, member, saying.sender, saying.data["certificate"], saying.facts)

    def _after_ready_for_closure(self, work: Work, wave: Wave, _member: Teammate, _saying: Saying) -> None:
        from moot.packs.specflow.waves import tell_if_all_ready

        tell_if_all_ready(work, wave)

    def _blocked(self, work: Work, member: Teammate, saying: Saying) -> None:
        blocked(work, member, saying.data["reason"])

    # Shared files

    def _touching_file(self, work: Work, member: Teammate, saying: Saying) -> bool:
        """Claim the file, or get in line for it. False: it is claimed or awaited already, and nobody is told again."""
        from moot.api.verbs.claims import silences
        from moot.core.claim_queue import place_of

        path = saying.facts["path"]
        self.guard(work, saying.sender, (path,), committed=False)
        command = AwaitFiles(
            id=new_id(work.token),
            holder=saying.sender.principal,
            paths=(paths.escape(path),),
            mode="exclusive",
            ttl=saying.facts["ttl"],
            task=f"issue-{member.issue}",
            fold=saying.facts["fold"],
        )
        now = work.claims()
        again = standing(now, command) or place_of(now, command)
        if again is None:
            silent = silences(work, [one.claim for one in in_the_way(now, command)])
            work.do("claims", "", command.replace(silent=silent))
        return again is None

    def barrel_rule(self, work: Work, wave: Wave) -> bool:
        """Whether agents must leave barrel files alone now."""
        agents = wave.agents
        done = (READY, DEFERRED)
        return (
            wave.mode == TEAMS
            and len(agents) > 1
            and any(team.issue(work, one.issue).status not in done for one in agents if one.issue is not None)
        )

    def is_shared(self, path: str) -> bool:
        return _meets((paths.escape(path),), self.settings["shared"])

    def is_barrel(self, path: str) -> bool:
        return _meets((paths.escape(path),), self._barrels())

    def _barrels(self) -> list[str]:
        """The patterns of barrel files."""
        found = []
        for pattern in self.settings["shared"]:
            folder, _, name = pattern.rpartition("/")
            if name == "**":
                found += [f"{pattern}/{barrel}" for barrel in self.settings["barrels"]]
            elif name in self.settings["barrels"]:
                found.append(f"{folder}/{name}")
        return found

    def guard(self, work: Work, actor: Actor, files: Sequence[str], *, committed: bool) -> None:
        wave = team.live(work.store)
        member = wave.member(actor.principal) if wave is not None else None
        if wave is None or member is None or member.role != ISSUE:
            return
        if not committed and member.agent in wave.stopping:
            raise stopping(wave)
        asked = [paths.escape(one) for one in files] if committed else files
        if self.barrel_rule(work, wave) and _meets(asked, self._barrels()):
            raise Refused(
                "barrel_file",
                f"While agents work side by side, nobody changes a barrel file: {', '.join(files[:5])}.",
                f"Write this line where you would export from, and go on: `{EXPORT}`. The lead adds all exports.",
                todo=EXPORT,
                paths=list(files[:20]),
            )
        if committed:
            mine = [one for one in work.claims().live.values() if same_agent(one.holder, actor.principal)]
            held = [path for one in mine for path in one.paths]
            missing = [one for one in files if self.is_shared(one) and not _meets((paths.escape(one),), held)]
            if missing:
                first = command_line("specflow broadcast", f"TOUCHING_FILE {missing[0]}")
                raise Held(
                    "shared_file_unclaimed",
                    f"This commit changes shared files that you have not announced: {', '.join(missing[:10])}.",
                    f"Announce each before you change it: `{first}`. Then commit again.",
                    files=missing,
                )

    # --- addresses and tasks -----------------------------------------------------------------------------------------

    def address(self, work: Work, text: str) -> str | None:
        wave = team.live(work.store)
        found = wave.addressed(text) if wave is not None else []
        return found[0] if len(found) == 1 else None

    def task_id(self, title: str) -> str | None:
        number, colon, _ = title.removeprefix(_SUBJECT).partition(":")
        is_issue = title.startswith(_SUBJECT) and colon and number.isascii() and number.isdigit()
        return f"issue-{int(number)}" if is_issue else None

    def move(self, work: Work, task: Task, verb: str, _reason: str | None) -> tuple[str, ...]:
        wave = team.live(work.store)
        if task.lifecycle == WAVES:
            raise Refused(
                "moves_by_itself",
                f"{task.id} is {task.state}: its team and its gates move it.",
                f"`{command_line('specflow status')}` shows what it waits for.",
                task=task.id,
            )
        if self.task_id(f"{_SUBJECT}{task.id.removeprefix('issue-')}:") != task.id:
            return ()
        member = wave.member(work.by) if wave is not None else None
        if (
            verb == "claim"
            and wave is not None
            and (own := member.issue if member else None) != team.Issue.of_task(task).number
        ):
            raise Refused(
                "not_your_issue",
                f"{task.id} is for the agent of that issue; yours is {f'#{own}' if own else 'none'}.",
                f"The {LEAD} decides who works on it (`moot specflow decide`).",
                issue=own,
            )
        if verb == "claim" and wave is not None and member is not None and member.agent in wave.stopping:
            raise stopping(wave)
        if verb == "complete":
            _check_complete(task)
        if verb in ("reopen", "cancel") and wave is not None:
            team.only_lead(wave, work.by)
        return ()

    def due(self, call: Call) -> Callable[[Work], None] | None:
        from moot.packs.specflow.looking import overdue

        return overdue(call)

    # --- looking -----------------------------------------------------------------------------------------------------

    def watch(self, call: Call) -> PackView | None:
        from moot.packs.specflow.looking import watch

        return watch(call)

    def concerns(self, call: Call) -> Iterable[Concern]:
        from moot.packs.specflow.looking import concerns

        return concerns(call)

    def adopted(self, call: Call) -> Iterable[str]:
        from moot.packs.specflow.looking import adopted

        return adopted(call, self.settings)


def ready(work: Work, member: Teammate, actor: Actor, certificate: str, facts: Mapping[str, Any]) -> None:
    """Record that an issue is ready, with the gate run that proves it, and end its agent's claims."""
    issue = team.issue(work, int(member.issue or 0))
    run = work.state("run", certificate)
    wrong = (
        "there is no such gate run"
        if not run.exists or run.pack != PACK or "tier" not in run.parameters
        else f"it is a run of {run.parameters['tier']}"
        if run.parameters["tier"] != "contracts"
        else f"it is for {run.task}"
        if run.task != issue.id
        else f"it has not passed ({run.outcome or 'it has not ended'})"
        if run.outcome != PASSED
        else facts.get("stale", "") or _overtaken(work, actor, facts.get("changed", ()))
    )
    if wrong:
        raise Refused(
            "bad_certificate",
            f"{certificate[:80]} does not prove that #{issue.number} is ready: {wrong}.",
            f"Ask for a run, and name the one that passed: `{command_line('specflow write', GATE, 'RUN_CONTRACTS')}`.",
            certificate=certificate,
        )
    if issue.task.phase != "working" or not same_agent(issue.task.holder or "", actor.principal):
        raise Refused(
            "not_in_progress",
            f"{issue.id} is {issue.task.state}, and held by {issue.task.holder or 'nobody'}.",
            f"Claim it first: `{command_line('task claim', issue.id)}`.",
            task=issue.id,
        )
    team.describe(work, issue.id, status=READY, certificate=certificate, why="")
    work.do("claims", "", ReleaseAll(holder=actor.principal, reason=f"#{issue.number} is ready"))


def _overtaken(work: Work, actor: Actor, changed: Iterable[str]) -> str:
    """Which of the files that an agent holds changed after its gate ran."""
    held = [path for one in work.claims().live.values() if one.holder == actor.principal for path in one.paths]
    touched = [one for one in changed if _meets((paths.escape(one),), held)]
    return f"{', '.join(touched[:5])} changed since it ran" if touched else ""


def blocked(work: Work, member: Teammate, reason: str) -> None:
    """Record that an issue is blocked until the lead decides, and end its agent's claims."""
    issue = team.issue(work, int(member.issue or 0))
    team.describe(work, issue.id, status=BLOCKED, why=reason)
    work.do("task", issue.id, FlagTask(reason=f"blocked: {reason}"), pack=PACK)
    holder = work.agent(member.agent).principal
    work.do("claims", "", ReleaseAll(holder=holder, reason=f"#{issue.number} is blocked"))


def no_messages(wave: Wave) -> Refused:
    return Refused(
        "no_messages",
        f"Wave {wave.number} runs in the mode {wave.mode}: its agents work one after the other and know only the lead.",
        "End your output with READY_FOR_CLOSURE or BLOCKED instead.",
        mode=wave.mode,
    )


def stopping(wave: Wave) -> Refused:
    return Refused(
        "team_stopping",
        f"{wave.team} is asked to stop: you can finish your work, but take nothing new.",
        "Finish your turn, or report BLOCKED.",
        team=wave.team,
    )


def _check_complete(task: Task) -> None:
    status = team.Issue.of_task(task).status
    if status != READY:
        raise Refused(
            "not_ready",
            f"{task.id} cannot be completed: {'its BLOCKED is undecided' if status == BLOCKED else 'it is not ready'}.",
            f"First: `{command_line('specflow write', LEAD, 'READY_FOR_CLOSURE #N CERTIFICATE')}`.",
            task=task.id,
            status=status,
        )


def _bad_tables(saying: Saying) -> list[Defect]:
    """The names in the message that are not tables."""
    if saying.spec.name not in _MIGRATIONS:
        return []
    from moot.packs.specflow.migrations import table_name

    given = saying.data.get("tables", [saying.data.get("table")])
    bad = (
        [one for one in given if not isinstance(one, str) or table_name(one) is None] if isinstance(given, list) else []
    )
    where = "tables" if "tables" in saying.data else "table"
    return [Defect(where, "names of tables, such as users", shown(one)) for one in bad]


def file_of(call: Call, text: str) -> dict[str, Any]:
    """The file that the text of a TOUCHING_FILE names."""
    import os
    import re

    from moot.place import ignore_case, resolve

    named = re.sub(r"\s*\(issue-[0-9]+\)$", "", text)
    found = resolve(call.place, call.place.root, named if os.path.lexists(named) else named.replace("\\", "/"))
    if (
        "\n" in named
        or found.directory
        or found.path.endswith("/")
        or (paths.is_glob(found.path) and not os.path.lexists(os.path.join(call.place.root, found.path)))
    ):
        raise Refused(
            "one_file",
            f"{text[:200]!r} is not one file.",
            "Name one file; announce each file on its own.",
            path=text[:200],
        )
    return {"path": found.path, "fold": ignore_case(call.place), "ttl": call.settings.claim_ttl}


def _meets(files: Iterable[str], patterns: Iterable[str]) -> bool:
    """Whether one of these files or globs has a file in common with one of these patterns."""
    asked = [paths.compiled(paths.lenient_pattern(one)) for one in files]
    return any(paths.meet(one, paths.compiled(pattern)) for pattern in patterns for one in asked)
