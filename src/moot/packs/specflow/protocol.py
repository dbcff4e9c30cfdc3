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
    from moot.packs.specflow.team import Issue, Teammate, Wave

_HERE = "moot.packs.specflow"
EXPORT = "// TODO: Add to index.ts export"
_SUBJECT = "Implement #"
_MIGRATIONS = ("REQUEST_MIGRATION", "QUERY_TABLE")
_OWN = ("REQUEST_MIGRATION", "READY_FOR_CLOSURE", "BLOCKED")
CONTRACTS, TIER2, TIER3 = "contracts", "tier2", "tier3"
TIERS = {"RUN_CONTRACTS": CONTRACTS, "RUN_JOURNEY_TIER2": TIER2, "RUN_REGRESSION": TIER3}
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
        "plan": f"{_HERE}.waves:PLAN",
        "decide": f"{_HERE}.lead:DECIDE",
        "status": f"{_HERE}.looking:STATUS",
        "catalogue": f"{_HERE}.looking:CATALOGUE",
        "migrations": f"{_HERE}.migrations:MIGRATIONS",
        "write": f"{_HERE}.writing:WRITE",
        "broadcast": f"{_HERE}.writing:BROADCAST",
        "spawn-team": f"{_HERE}.lead:SPAWN_TEAM",
        "request-shutdown": f"{_HERE}.lead:REQUEST_SHUTDOWN",
        "gate": f"{_HERE}.gates:RUN_GATE",
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
        to_all = saying.spec.to == ("@all",)
        usual = wave.everybody_but(sender.principal) if to_all else (wave.agent_in(saying.spec.to[0]),)
        to = saying.to or usual
        found = wave.role_of(to[0])
        if not to_all and found not in saying.spec.to:
            raise Refused(
                "wrong_recipient",
                f"A {kind} goes to the {' or '.join(saying.spec.to)}; {to[0]} is {found or 'not in the team'}.",
                f"Write it to {saying.spec.to[0]}.",
                type=kind,
                required=list(saying.spec.to),
                found=found,
            )
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
        saying = saying.replace(to=to, within=within)
        if kind in TIERS:
            from moot.packs.specflow.gates import asked

            saying = asked(work, wave, own, saying, self.settings)
        elif kind == "READY_FOR_CLOSURE":
            ready(work, member, saying.data["certificate"], **saying.facts)
        elif kind == "BLOCKED":
            blocked(work, member, saying.data["reason"])
        elif kind == "TOUCHING_FILE" and not self._claimed(work, sender, own, saying.facts):
            return
        store(work, self.pack, saying, work.task(f"issue-{own}" if own is not None else wave.id))
        if kind in _MIGRATIONS:
            self._answer_about_tables(work, wave, saying)
        elif kind == "READY_FOR_CLOSURE":
            from moot.packs.specflow.lead import tell_if_all_ready

            tell_if_all_ready(work, wave)

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

    def _answer_about_tables(self, work: Work, wave: Wave, saying: Saying) -> None:
        from moot.packs.specflow import migrations

        files, data, sender = saying.facts["files"], saying.data, name_of(saying.sender.principal)
        if saying.spec.name == "QUERY_TABLE":
            replies = iter([migrations.query(work, files, data["table"])])
        else:
            replies = migrations.request(work, wave, files, self.settings["migrations"], data)
        for kind, fields, other in replies:
            self.answer(work, wave, kind, fields, other or sender, "" if other else saying.id)

    # --- shared files ------------------------------------------------------------------------------------------------

    def _claimed(self, work: Work, sender: Actor, issue: int | None, facts: Mapping[str, Any]) -> bool:
        """Claim the file, or get in line for it. False: it is claimed or awaited already, and nobody is told again."""
        from moot.api.verbs.claims import silences
        from moot.core.claim_queue import place_of

        self.guard(work, sender, (facts["path"],), committed=False)
        command = AwaitFiles(
            id=new_id(work.token),
            holder=sender.principal,
            paths=(paths.escape(facts["path"]),),
            mode="exclusive",
            ttl=facts["ttl"],
            task=f"issue-{issue}",
            fold=facts["fold"],
        )
        now = work.claims()
        if standing(now, command) or place_of(now, command):
            return False
        silent = silences(work, [one.claim for one in in_the_way(now, command)])
        work.do("claims", "", command.replace(silent=silent))
        return True

    def barrel_rule(self, work: Work, wave: Wave) -> bool:
        """Whether agents must leave barrel files alone now."""
        open_ones = [one for one in wave.issues if team.issue(work, one).status not in (READY, DEFERRED)]
        return wave.mode == TEAMS and len(wave.agents) > 1 and bool(open_ones)

    def _barrels(self) -> list[str]:
        """The patterns of barrel files."""
        found: list[str] = []
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
            missing = [one for one in files if is_shared(one, self.settings) and not _meets((paths.escape(one),), held)]
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
        found = team.issue_number(f"issue-{number}") if title.startswith(_SUBJECT) and colon else 0
        return f"issue-{found}" if found else None

    def move(self, work: Work, task: Task, verb: str, _reason: str | None) -> tuple[str, ...]:
        if task.lifecycle == WAVES:
            raise Refused(
                "moves_by_itself",
                f"{task.id} is {task.state}: its team and its gates move it.",
                f"`{command_line('specflow status')}` shows what it waits for.",
                task=task.id,
            )
        wave, number = team.live(work.store), team.issue_number(task.id)
        if number and verb == "complete":
            _check_complete(task)
        if number and wave is not None and verb in ("reopen", "cancel"):
            team.only_lead(wave, work.by)
        if number and wave is not None and verb == "claim":
            self._check_claim(wave, number, work.by)
        return ()

    def _check_claim(self, wave: Wave, number: int, by: str) -> None:
        member = wave.member(by)
        if member is None or member.issue != number:
            own = f"#{member.issue}" if member is not None and member.issue else "none"
            raise Refused(
                "not_your_issue",
                f"issue-{number} is for the agent of that issue; yours is {own}.",
                f"The {LEAD} decides who works on it (`moot specflow decide`).",
                issue=own,
            )
        if member.agent in wave.stopping:
            raise stopping(wave)

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

        return adopted(call, self.settings["migrations"])


def ready(work: Work, member: Teammate | None, certificate: str, stale: str = "", changed: Iterable[str] = ()) -> None:
    """Record that an issue is ready, with the gate run that proves it, and end its agent's claims.

    `changed`: the files that have changed after the gate ran. If the agent holds one, the gate proves nothing.
    """
    issue, holder = _own(work, member)
    held = [path for one in work.claims().live.values() if one.holder == holder for path in one.paths]
    if touched := [one for one in changed if _meets((paths.escape(one),), held)]:
        stale = f"{', '.join(touched[:5])} changed since it ran"
    run = work.state("run", certificate)
    wrong = stale
    if not run.exists or (run.pack, run.task, run.parameters.get("tier")) != (PACK, issue.id, CONTRACTS):
        wrong = f"it is not a contracts gate of {issue.id}"
    elif run.outcome != PASSED:
        wrong = f"it has not passed ({run.outcome or 'it has not ended'})"
    if wrong:
        raise Refused(
            "bad_certificate",
            f"{certificate[:80]} does not prove that #{issue.number} is ready: {wrong}.",
            f"Ask for a run, and name the one that passed: `{command_line('specflow write', GATE, 'RUN_CONTRACTS')}`.",
            certificate=certificate,
        )
    is_held = issue.task.phase == "working" and same_agent(issue.task.holder or "", holder)
    if not is_held or issue.status == BLOCKED:
        raise Refused(
            "not_in_progress",
            f"{issue.id} is {issue.status or issue.task.state}, and held by {issue.task.holder or 'nobody'}.",
            f"A blocked issue waits for the {LEAD}. Claim any other first: `{command_line('task claim', issue.id)}`.",
            task=issue.id,
        )
    team.describe(work, issue.id, status=READY, certificate=certificate, why="")
    work.do("claims", "", ReleaseAll(holder=holder, reason=f"#{issue.number} is ready"))


def blocked(work: Work, member: Teammate | None, reason: str, told: Wave | None = None) -> None:
    """Record that an issue is blocked until the lead decides, and end its agent's claims.

    `told`: the wave whose lead is told, if its agent does not say it itself.
    """
    issue, holder = _own(work, member)
    if issue.task.phase == "done":
        raise Refused(
            "not_in_progress",
            f"{issue.id} is completed.",
            f"Only the {LEAD} gives it back, after a failed gate; write to it.",
            task=issue.id,
        )
    team.describe(work, issue.id, status=BLOCKED, why=reason)
    work.do("task", issue.id, FlagTask(reason=f"blocked: {reason}"), pack=PACK)
    work.do("claims", "", ReleaseAll(holder=holder, reason=f"#{issue.number} is blocked"))
    if told is not None:
        team.tell(work, (told.lead,), f"BLOCKED #{issue.number} {reason}", told.id, issue.id)


def _own(work: Work, member: Teammate | None) -> tuple[Issue, str]:
    """The issue of an agent, and the agent's principal."""
    assert member is not None, "its role was checked, and who has it is a member"
    assert member.issue is not None, "an issue agent has an issue"
    return team.issue(work, member.issue), work.agent(member.agent).principal


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
    where = "tables" if "tables" in saying.data else "table"
    bad = [one for one in given if not isinstance(one, str) or table_name(one) is None]
    return [Defect(where, "names of tables, such as users", shown(one)) for one in bad]


def is_shared(path: str, settings: Mapping[str, Any]) -> bool:
    return _meets((paths.escape(path),), settings["shared"])


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
