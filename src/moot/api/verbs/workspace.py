"""init, verify, doctor, deinit: create, maintain and remove a workspace."""

from __future__ import annotations

from abc import ABC, abstractmethod

from moot.api.answer import Answer, Notice, Table
from moot.api.catalogue import Param, Verb
from moot.api.message_view import is_overdue
from moot.api.removal import deinit
from moot.core.errors import MootError, Refused
from moot.core.event import Commit, Draft
from moot.core.record import Record
from moot.core.task.leases import has_lapsed
from moot.core.text import command_line, counted, one_line
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.api.call import Call
    from moot.api.protocol import Protocol
    from moot.api.protocol.pack_files import PackFiles
    from moot.api.removal import Removal
    from moot.core.identity import Caller
    from moot.place import Place

PARAGRAPH = """\
## Working with others

Other agents work on this repository. Coordinate through `moot`. Unless MOOT_AGENT is set, add `--agent NAME` to every
command: without a name you can only read.
1. `moot start NAME` joins under a name of your choice, shows your mail and claims a task; later, `moot start` does.
2. `moot claim PATH… --task TASK` before you edit files. If it is refused, ask the holder with
   `moot send HOLDER 'TEXT'`, or edit other files.
3. `moot check -- COMMAND` runs your tests and keeps a receipt for the task that you hold.
4. `moot task submit TASK --receipt last` hands it in. Another agent reviews it. You review others' work with
   `moot task show TASK`, then `moot task approve TASK` or `moot task reject TASK --reason 'WHY'`.
5. `moot wait` returns when there is mail, a review or a task for you. Then start again.
6. `moot leave` when you are finished.

Answer with `moot reply ID 'TEXT'`. Ask a person with `moot ask 'QUESTION' --wait`.
"""

BY_ROLE = """\
## Working with others

Other agents work on this repository, each in a role: {roles}. Coordinate through `moot`. Unless MOOT_AGENT is set,
add `--agent NAME` to every command: without a name you can only read.
1. `moot join NAME --role ROLE` joins under a name of your choice. `moot brief ROLE` says what your role does: its
   files, messages and commands. Follow it.
2. `moot inbox` shows your mail, and `moot board` the tasks.
3. `moot claim PATH… --task TASK` before you edit files. If it is refused, ask the holder with
   `moot send HOLDER 'TEXT'`, or edit other files.
4. `moot check -- COMMAND` runs your tests and keeps a receipt for the task that you hold.
5. `moot wait` returns when there is something for you.
6. `moot leave` when you are finished.

Answer with `moot reply ID 'TEXT'`. Ask a person with `moot ask 'QUESTION' --wait`.
"""  # for packs whose roles have briefs: their tasks move in other ways than those of the core


class Created(Record):
    root: str
    state: str
    new: bool
    packs: tuple[str, ...]
    excluded: tuple[str, ...] = ()  # what git ignores: lines of `exclude_file`
    exclude_file: str = ""
    exclude_problem: str = ""  # why the lines could not be written
    adopted: str = ""  # what was taken over from existing files of packs, in words
    found: tuple[str, ...] = ()  # what packs found in the files of the project
    told: tuple[str, ...] = ()  # what could not be taken over, and other notices about the files
    elsewhere: tuple[str, ...] = ()  # files in the other layout of a pack's folder
    paragraph: str = PARAGRAPH


class Finding(Record):
    check: str
    good: bool
    message: str
    remedy: str = ""


class RestoreResult(Record):
    """A restored backup.

    `kept` is the path of the previous log, if it was kept. `redacted` are positions that were redacted after the
    backup and have their text again. `effects` is the number of effects that are to be performed. `blobs` is the number
    of restored blobs, and `lacking` lists blobs that events name and that were not found.
    """

    file: str
    events: int
    kept: str | None = None
    redacted: tuple[int, ...] = ()
    effects: int = 0
    blobs: int = 0
    lacking: tuple[str, ...] = ()


class Opener(ABC):
    """Operations that need no open workspace. `moot.wiring` implements it."""

    caller: Caller
    ask: Callable[[tuple[str, ...], str], bool] | None = None  # show lines to a person, who answers yes or no

    @property
    @abstractmethod
    def place(self) -> Place:
        """Where the workspace is. It need not have a log."""

    @abstractmethod
    def create(self, packs: tuple[str, ...], *, exclude: bool = True) -> Created: ...

    @abstractmethod
    def diagnose(self) -> list[Finding]: ...

    @abstractmethod
    def restore(self, file: str, *, force: bool) -> RestoreResult: ...

    @abstractmethod
    def plan_removal(self, *, force: bool) -> Removal: ...

    @abstractmethod
    def remove(self, *, force: bool) -> Removal: ...


def init(opener: Opener, pack: tuple[str, ...], no_exclude: bool) -> Answer:
    created = opener.create(pack, exclude=not no_exclude)
    written = created.excluded and not created.exclude_problem
    lines = [
        f"{'Created a' if created.new else 'Found the'} workspace in {created.root} (state in {created.state}).",
        *([f"Active packs: {', '.join(created.packs)}."] if created.packs else []),
        *([f"Taken over from their files: {created.adopted}."] if created.adopted else []),
        *created.found,
        *(one_line(text, 1000) for text in created.told),
        *(f"{one_line(path, 500)} is in the other layout; moot does not use it." for path in created.elsewhere),
        *([f"git ignores the files that they write: {created.exclude_file}"] if written else []),
        "",
        "Suggested text for AGENTS.md or CLAUDE.md:",
        "",
        *created.paragraph.splitlines(),
    ]
    return Answer(result=created, say=tuple(lines), warnings=tuple(_about_git(created)))


def _about_git(created: Created) -> Iterator[Notice]:
    """Warnings about files of packs that git does not ignore."""
    if created.exclude_problem:
        lines = " ".join(created.excluded)
        said = f"{created.exclude_file} was not changed: {created.exclude_problem}. git does not ignore the files of"
        yield Notice("not_excluded", f"{said} the packs until it has these lines: {lines}")


def doctor(opener: Opener) -> Answer:
    findings = opener.diagnose()
    rows = tuple(("ok" if f.good else "BAD", f.check, f.message, f.remedy) for f in findings)
    lines = tuple(f"{row[0]} {row[1]}: {row[2]}{f' → {row[3]}' if row[3] else ''}" for row in rows)
    bad = [f for f in findings if not f.good]
    if bad:
        raise Refused(
            "unhealthy",
            f"{len(bad)} of {counted(len(findings), 'check')} failed: "
            + "; ".join(f"{f.check}: {f.message}" for f in bad),
            " ".join(f.remedy for f in bad if f.remedy) or "See the messages.",
            findings=[f.full() for f in findings],
        )
    return Answer(result=findings, say=lines, table=Table(("", "check", "found", "remedy"), rows, title="Doctor"))


def checkup(call: Call, files: PackFiles) -> list[Finding]:
    """The checks of `doctor` that need an open workspace. `files`: for the checks of packs."""
    import apsw

    store, now = call.engine.read(), call.clock.wall_seconds()
    call.sync()
    ttl = call.settings.task_ttl
    gone = [a.name for a in queries.agents(store) if a.here and has_lapsed(call.silence(a.principal), ttl)]
    held = queries.held_entries(store)
    late = [delivery.entry.id for delivery in queries.waiting(store) if is_overdue(delivery, now)]
    behind = call.engine.log.head() - store.cursor()
    return [
        Finding("sqlite", good=True, message=f"{apsw.sqlite_lib_version()}, a safe version"),
        _log(call),
        Finding(
            "views",
            good=behind == 0,
            message=f"{counted(behind, 'event')} behind",
            remedy="" if not behind else "Run the command again.",
        ),
        _finding("agents", [f"{name} fell silent" for name in gone], "`moot leave NAME` releases what they hold."),
        _finding("held entries", [entry.id for entry in held], "`moot held` lists them with their defects."),
        _finding("answers", [f"{name} is overdue" for name in late], "`moot overdue` shows who owes them."),
        _finding("effects", _effects(call), _EFFECTS),
        _finding("mirrors", call.take_warnings(), "`moot mirror` tries again and shows the cause."),
        *(_of_pack(protocol, call, files) for protocol in call.packs.having("check")),
        *_concerns(call),
    ]


def _concerns(call: Call) -> list[Finding]:
    """What packs report about the work itself: see `Protocol.concerns`."""
    if not call.packs.having("concerns"):
        return []
    from moot.api.protocol.pack_views import concerns

    found = [concern.message for concern in concerns(call, queries.ALL)]
    return [_finding("concerns of packs", found, "`moot needs-me` shows what to do about each.")]


def _of_pack(protocol: Protocol, call: Call, files: PackFiles) -> Finding:
    from moot.api.protocol.pack_files import problems

    name = protocol.pack.name
    found = [one for one in problems(protocol, call, files) if not one.note]
    said = [f"{one.file}: {one.message}" if one.file else one.message for one in found]
    return _finding(f"pack {name}", said, f"`{command_line('pack check', name)}` shows where.")


_EFFECTS = (
    "`moot effects` lists them; `moot handle` performs what waits, `moot effects retry` and `drop` settle the rest."
)


def _log(call: Call) -> Finding:
    """Whether the log accepts an append (which must then be refused), and whether this version knows all its events."""
    log, by = call.engine.log, "moot"
    never = Draft(stream="claims", type="file:claimed", data={})
    try:
        log.append(Commit(id=call.clock.commit_id(), at=call.clock.wall(), by=by), {"claims": -1}, (never,))
    except MootError as error:
        return Finding("log", good=False, message=error.message, remedy=error.remedy)
    newer = queries.newer(call.engine.store)
    if newer is not None:
        said = f"it has events that this version of moot does not know ({newer}); it can be read, but not changed"
        return Finding("log", good=False, message=said, remedy="Update moot.")
    return Finding("log", good=True, message=counted(log.head(), "event"))


def _effects(call: Call) -> list[str]:
    """Parked effects, and effects that wait while no runner performs them."""
    from moot.place.locks import anybody_runs
    from moot.views.effects import counts

    idle = not anybody_runs(call.place.state)
    return [
        f"{number} of {handler} {status if status == 'parked' else 'waits' if number == 1 else 'wait'}"
        for handler, status, number in counts(call.engine.store)
        if status == "parked" or (status == "waiting" and idle)
    ]


def _finding(check: str, problems: list[str], remedy: str) -> Finding:
    said = "; ".join(one.rstrip(".") for one in problems[:5]) + ("…" if len(problems) > 5 else "")
    said = said or "nothing to report"
    return Finding(check, good=not problems, message=said, remedy=remedy if problems else "")


def verify(call: Call, rebuild: bool) -> Answer:
    from moot.engine.verify import verify as compare

    report = compare(call.engine, call.place.state)
    if rebuild and report.log_sound:  # if events are missing, the old views have more than a rebuild could give
        call.engine.rebuild()
        report = compare(call.engine, call.place.state)
    if not report.sound:
        raise Refused(
            "not_sound",
            f"{counted(len(report.problems), 'problem')}: " + "; ".join(report.problems),
            "Copy the missing files into the directory `blobs` of the state directory. If a blob cannot be recovered, "
            "give it up with `moot redact POSITION`."
            if report.lacks_blobs
            else "`moot verify --rebuild` rebuilds the views from the log, which is complete."
            if report.log_sound
            else "The log itself is damaged. `moot restore FILE` replaces it with a backup and keeps a copy of it.",
            **report.full(),
        )
    said = f"sound: {counted(report.events, 'event')} in {counted(report.commits, 'commit')} "
    said += f"on {counted(report.streams, 'stream')}; views "
    said += "rebuilt" if rebuild else "agree"
    said += f"; {counted(report.redacted, 'event')} redacted" if report.redacted else ""
    said += f"; {counted(report.blobs, 'blob')}" if report.blobs else ""
    said += f"; {counted(report.unnamed, 'blob')} that no event names" if report.unnamed else ""
    return Answer(result=report, say=(said,))


VERBS = (
    Verb(
        "init",
        "Create a workspace in this repository. Safe to repeat.",
        init,
        kind="own",
        anybody=True,
        params=(
            Param("pack", "Enable a pack (repeatable). Writes moot.toml if there is none.", many=True),
            Param("no_exclude", "Do not let git ignore the files of the packs; undo it.", type="flag"),
        ),
        examples=("moot init", "moot init --pack NAME"),
        detail=(
            "Creates the state directory inside the git directory. If packs are active, it adds the paths of their "
            "files to git's `info/exclude`, for all worktrees, so that `git stash`, `git add -A` and `git worktree "
            "remove` leave them alone. It changes nothing else. Run it again after you change `packs` in moot.toml."
        ),
        opens=False,
    ),
    Verb(
        "verify",
        "Check the log, and compare the views with it.",
        verify,
        kind="look",
        params=(Param("rebuild", "Rebuild the views from the log, if the log is sound.", type="flag"),),
        examples=("moot verify", "moot verify --rebuild"),
        writes=False,
        past=False,
    ),
    Verb(
        "doctor",
        "Check this workspace for problems, and show how to fix them.",
        doctor,
        kind="look",
        examples=("moot doctor",),
        writes=False,
        opens=False,
    ),
    Verb(
        "deinit",
        "Remove moot from this repository, with its whole log.",
        deinit,
        kind="person",
        params=(
            Param("yes", "Do not ask for confirmation; required without a terminal.", type="flag"),
            Param("force", "Remove it even while agents or other processes use it.", type="flag"),
        ),
        examples=("moot deinit", "moot deinit --yes"),
        detail=(
            "Removes the state directory, the hooks of the guard, the lines of moot in git's `info/exclude`, "
            "sockets, and what is kept about the workspace in the user's state directory. Removes moot.toml only "
            "if it is as `moot init` wrote it. Leaves the files of packs, and names them. Shows everything before "
            "and after. If it is interrupted, run it again. `moot backup` before it keeps a copy of the log."
        ),
        opens=False,
    ),
)
