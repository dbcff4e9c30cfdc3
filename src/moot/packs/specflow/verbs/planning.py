"""specflow plan, decide: what the next waves are, and what becomes of an issue that is blocked."""

from __future__ import annotations

from moot.api import text_files
from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core.errors import Unavailable, Usage
from moot.core.text import one_line
from moot.packs.specflow import team, waves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.engine.unit_of_work import Work
    from moot.packs.specflow.waves import Backlog

_GH_FIELDS = {"open": "number,title,body,labels,comments,state", "closed": "number,title,state"}
_GH_PATIENCE = 300.0


def plan(call: Call, source: str | None, gh: bool, pool: str, dry_run: bool) -> Answer:
    if gh and source is not None:
        raise Usage("bad_arguments", "--gh and a file cannot be combined.", "Use one of them.")
    given: list[Backlog] | None = None
    if gh:
        given = [one for state in _GH_FIELDS for one in waves.read(_listed(call, state), f"The output of gh ({state})")]
    elif source is not None:
        given = waves.read(text_files.read(source, call.cwd, waves.SIZE_LIMIT).encode(), source)
    made: dict[str, Any] = {}

    def act(work: Work) -> None:
        settings = call.packs.protocol(team.PACK).settings
        made.update(waves.plan(work, given, settings, pool, call.actor(work), call.settings.task_ttl))

    (call.try_out if dry_run else call.commit)(act)
    return Answer(result={**made, "dry_run": dry_run}, say=tuple(_lines(made)))


def _lines(made: Mapping[str, Any]) -> Iterator[str]:
    if made["live"] is not None:
        yield f"Wave {made['live']} runs; its issues stay as they are."
    for wave in made["waves"]:
        yield f"wave {wave['number']}: {wave['team']}"
        for one in wave["issues"]:
            after = f" (after {', '.join(f'#{number}' for number in one['waits'])})" if one["waits"] else ""
            yield f"  {one['agent']}: #{one['number']} {one_line(one['name'], 100)}{after}"
    yield from (f"#{number} is left out: its task was deleted" for number in made["deleted"])


def _listed(call: Call, state: str) -> bytes:
    """The issues that the command gh lists."""
    import os
    import shutil

    from moot.place import processes
    from moot.place.environment import search_path

    root, path = call.place.root, os.pathsep.join(search_path(call.env, call.place.root))
    program = shutil.which("gh", path=path)
    if program is None:
        raise Usage("gh_missing", "The command gh is not installed.", "Install it, or name a file with the issues.")
    argv = (program, "issue", "list", "--state", state, "--limit", str(waves.ISSUE_LIMIT), "--json", _GH_FIELDS[state])
    env = {name: value for name, value in call.env.items() if not name.startswith("MOOT_")} | {"PATH": path}
    try:
        ran = processes.run(argv, cwd=root, env=env, keep=waves.SIZE_LIMIT, apart=True, timeout=_GH_PATIENCE)
        why = ran.errors.tail.decode("utf-8", "replace") or ("it did not finish in time" if ran.timed_out else "")
    except processes.NotStarted as problem:
        raise Unavailable("gh_failed", f"gh could not be started: {problem.why}.", "Name a file instead.") from None
    if ran.code or not ran.output.whole:
        raise Unavailable(
            "gh_failed",
            f"`gh issue list` failed ({ran.code}): {one_line(why or 'it wrote too much', 500)}",
            "Correct that (`gh auth status`), or name a file with the issues.",
            code=ran.code,
        )
    return ran.output.tail


def decide(call: Call, issue: str, how: str, reason: str | None) -> Answer:
    number = issue.strip().removeprefix("issue-").removeprefix("#")
    if not (number.isascii() and number.isdigit()):
        raise Usage("bad_arguments", f"{issue[:80]!r} is not the number of an issue.", f"For example: {_EXAMPLE}")
    if not (reason or "").strip():
        raise Usage("reason_missing", "`specflow decide` requires a reason.", f"For example: {_EXAMPLE}")

    def act(work: Work) -> None:
        settings = call.packs.protocol(team.PACK).settings
        waves.decide(work, int(number), how, str(reason), call.actor(work), settings)
        waves.tell_if_all_ready(work, team.running(work))

    call.commit(act)
    store = call.engine.read()
    (found,), wave = team.issues_of(store, (int(number),)), team.live(store)
    agent = wave.of_issue(found.number) if wave is not None else None
    result = {"issue": found.number, "decision": how, "status": found.status, "agent": agent.agent if agent else None}
    does = {"resume": "goes on with", "reassign": "has", "defer": "leaves"}[how]
    return Answer(result=result, say=(f"{agent.name if agent else 'nobody'} {does} #{found.number}.",))


_EXAMPLE = "moot specflow decide 50 resume --reason 'The API is back.'"

PLAN = Verb(
    "specflow plan",
    "Plan waves from issues and their dependencies. It starts nothing.",
    plan,
    kind="own",
    params=(
        Param("source", "A JSON list of issues, or - for standard input.", positional=True, limit=4096),
        Param("gh", "List the issues with the command gh.", type="flag"),
        Param("pool", "Where the names of the issue agents come from.", default="writers"),
        Param("dry_run", "Only show the plan.", type="flag"),
        KEY,
    ),
    examples=("moot specflow plan issues.json", "moot specflow plan --gh --dry-run", "moot specflow plan"),
    detail=(
        "`Depends on #N` and `Blocks #N` in the body of an issue are its dependencies: a wave has the issues whose "
        "dependencies are closed or in earlier waves. Without a source, the open tasks issue-N are planned; deferred "
        "issues always are. Each issue becomes the task issue-N, and the next wave the task wave-N. Planning again "
        "replaces the planned wave. While a wave runs, its issues stay as they are. "
        "`gh issue list --json number,title,body,labels,comments,state` writes such a file."
    ),
)
DECIDE = Verb(
    "specflow decide",
    "Decide on a blocked issue, as the lead or as a person.",
    decide,
    kind="own",
    params=(
        Param("issue", "Its number.", positional=True, required=True),
        Param(
            "how",
            "resume (the same agent goes on), reassign (another agent gets it) or defer (a later wave).",
            positional=True,
            required=True,
            choices=("resume", "reassign", "defer"),
        ),
        Param("reason", "Why; recorded with the issue.", expected=True),
        KEY,
    ),
    examples=(_EXAMPLE,),
    detail="With a deferred issue, all issues of the wave that depend on it leave the wave, too.",
)
