"""init, verify, doctor, mirror: setting up a workspace and looking after it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from moot.api.answer import Answer, Table
from moot.api.catalogue import Param, Verb
from moot.api.message_view import is_overdue
from moot.api.verbs.events import PAUSE, in_trouble
from moot.core.errors import MootError, Refused, Unavailable
from moot.core.event import Commit, Draft
from moot.core.record import Record
from moot.core.task.leases import has_lapsed
from moot.core.text import counted, one_line
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call

PARAGRAPH = """\
## Working with others

Other agents work on this repository. Coordinate through `moot` (run `moot --help`):
- Start: `moot join NAME`. From then on say who you are in every call: `moot --agent NAME inbox`; without it you can
  only look. (Variables that you export are lost where each call runs in a new shell. `moot as NAME -- COMMAND` is for
  whole commands.)
- Read your mail with `moot inbox` before you start and whenever a step is done; answer requests with `moot reply`.
- Take work with `moot task claim`; hand it in with `moot task submit`. Another agent reviews it.
- Before you edit files, `moot claim PATH…`; if it is refused, message the holder or take other work. `moot release`
  them when you are done.
- Wait for what another makes with `moot artifact need NAME --wait`, make yours known with `moot artifact add PATH`, and
  record what you settle for others with `moot decide`.
- Need a person's word? `moot checkpoint reach 'QUESTION' --wait`.
- Nothing to do? `moot wait --mail` wakes you. `moot leave` when you are finished.
"""


class Created(Record):
    root: str
    state: str
    new: bool
    packs: tuple[str, ...]
    carried_over: str | None = None  # where the log of before is kept, if this one goes on with it
    allowed: tuple[str, ...] = ()  # settings that weaken a rule: whoever makes a workspace wants what moot.toml says
    paragraph: str = PARAGRAPH


class Finding(Record):
    check: str
    good: bool
    message: str
    remedy: str = ""


class RestoreResult(Record):
    """A backup that is in place now.

    `kept` is the log that was there before, if it was kept; `redacted` are the positions that had been redacted after
    the backup and are again; `effects` are so many that are to be performed. `blobs` are so many that were brought
    back, and `lacking` those that events name and that are nowhere.
    """

    file: str
    events: int
    kept: str | None = None
    redacted: tuple[int, ...] = ()
    effects: int = 0
    blobs: int = 0
    lacking: tuple[str, ...] = ()


class Opener(ABC):
    """What can be done before there is an open workspace. `moot.wiring` has the real one."""

    @abstractmethod
    def create(self, packs: tuple[str, ...], *, carry_over: bool = False) -> Created: ...

    @abstractmethod
    def diagnose(self) -> list[Finding]: ...

    @abstractmethod
    def restore(self, file: str, *, force: bool) -> RestoreResult: ...


def init(opener: Opener, pack: tuple[str, ...], carry_over: bool) -> Answer:
    created = opener.create(pack, carry_over=carry_over)
    weak = f"You allow, by this `moot init`, what weakens a rule in moot.toml: {', '.join(created.allowed)}."
    lines = [
        f"{'Made' if created.new else 'Found'} the workspace of {created.root} (state in {created.state}).",
        *([f"The log goes on; the old one is kept as {created.carried_over}."] if created.carried_over else []),
        *([f"Active packs: {', '.join(created.packs)}."] if created.packs else []),
        *([weak, "To take that back: moot allow settings --revoke"] if created.allowed else []),
        "",
        "For AGENTS.md or CLAUDE.md, if you like:",
        "",
        *created.paragraph.splitlines(),
    ]
    return Answer(result=created, say=tuple(lines))


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


def checkup(call: Call) -> list[Finding]:
    """What an open workspace says about itself."""
    import apsw

    from moot.api.protocol.pack_code import findings

    call.engine.log.handle.kept = True
    store, now = call.engine.read(), call.clock.wall_seconds()
    call.sync()
    ttl = call.settings.task_ttl
    gone = [a.name for a in queries.agents(store) if a.here and has_lapsed(call.silence(a.principal), ttl)]
    held = queries.held_entries(store)
    late = [delivery.entry.id for delivery in queries.waiting(store) if is_overdue(delivery, now)]
    behind = call.engine.log.head() - store.cursor()
    return [
        Finding("sqlite", good=True, message=f"{apsw.sqlite_lib_version()}, one of those that are safe"),
        _log(call),
        _history(call),
        Finding(
            "views",
            good=behind == 0,
            message=f"{counted(behind, 'event')} behind",
            remedy="" if not behind else "Run it again.",
        ),
        _finding("agents", [f"{name} fell silent" for name in gone], "`moot leave NAME` gives back what they hold."),
        _finding("held entries", [entry.id for entry in held], "`moot held` lists them with their defects."),
        _finding("answers", [f"{name} is overdue" for name in late], "`moot overdue` says who owes them."),
        _finding("effects", _effects(call), _EFFECTS),
        _finding("mirrors", call.take_warnings(), "`moot mirror` tries again and says what is in the way."),
        *(finding for protocol in call.packs.having("check") for finding in findings(protocol)),
    ]


_EFFECTS = (
    "`moot effects` lists them; `moot handle` performs what waits, `moot effects retry` and `drop` settle the rest."
)


def _log(call: Call) -> Finding:
    """Whether the log takes events, tried with one that has to be refused, and whether all that it has are known."""
    log, by = call.engine.log, "moot"
    if log.handle.outdated:
        said = f"{counted(log.head(), 'event')}; of an older version, which the next command that writes upgrades"
        return Finding("log", good=True, message=said)
    never = Draft(stream="claims", type="file:claimed", data={})
    try:
        log.append(Commit(id=call.clock.commit_id(), at=call.clock.wall(), by=by), {"claims": -1}, (never,))
    except MootError as error:
        return Finding("log", good=False, message=error.message, remedy=error.remedy)
    newer = queries.newer(call.engine.store)
    if newer is not None:
        said = f"it has events that this version of moot does not know ({newer}); it can be read, and not changed"
        return Finding("log", good=False, message=said, remedy="Update moot.")
    return Finding("log", good=True, message=counted(log.head(), "event"))


def _history(call: Call) -> Finding:
    """Whether the log has what was seen in it, and what was brought into it from elsewhere."""
    from moot.engine.commit_record import contradiction

    archive = call.engine.log.archive
    wrong = contradiction(call.env, call.place.state, archive)
    if wrong is not None:
        remedy = "`moot verify` says more. Restore a backup that you trust, unless you have replaced the log yourself."
        return Finding("history", good=False, message=wrong, remedy=remedy)
    last = [f"{one['what']} of {one['file']} at {one['at']}" for one in archive.carried()[-3:] if "file" in one]
    return Finding("history", good=True, message="; ".join(last) or "nothing was imported or restored")


def _effects(call: Call) -> list[str]:
    """What was parked, and what waits while nobody performs effects."""
    from moot.engine.runners import anybody_runs
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
    from moot.engine.commit_record import contradiction, remember
    from moot.engine.verify import verify as compare

    report, archive = compare(call.engine, call.place.state), call.engine.log.archive
    rewritten = contradiction(call.env, call.place.state, archive)
    if rebuild and report.log_sound:  # of a log with a hole, the old views are the better witness
        call.engine.rebuild()
        report = compare(call.engine, call.place.state)
    if rewritten is not None:
        report = report.replace(problems=(f"log: {rewritten}", *report.problems))
    if not report.sound:
        raise Refused(
            "not_sound",
            f"{counted(len(report.problems), 'problem')}: " + "; ".join(report.problems),
            "Put the files back: copy them into the folder `blobs` of the state directory, or import an export that "
            "has them. What is lost for good, give up: `moot redact POSITION`."
            if report.lacks_blobs
            else "`moot verify --rebuild` makes the views anew from the log, which has everything."
            if report.log_sound
            else "If you have put another log there yourself, remove that record and verify again. If not, somebody "
            "else has: restore a backup that you trust."
            if rewritten is not None
            else "The log itself is damaged: `moot restore FILE` puts a backup in its place, and keeps it beside.",
            **report.full(),
        )
    remember(call.env, call.place.state, archive)
    carried = len(archive.carried())
    said = f"sound: {counted(report.events, 'event')} in {counted(report.commits, 'commit')} "
    said += f"on {counted(report.streams, 'stream')}; views "
    said += "rebuilt" if rebuild else "agree"
    said += f"; {counted(report.redacted, 'event')} redacted, {report.erased} of them erased" if report.redacted else ""
    said += f"; {counted(report.blobs, 'blob')}" if report.blobs else ""
    said += f"; {counted(report.unnamed, 'blob')} that no event names" if report.unnamed else ""
    said += f"; {carried} {'import or restore' if carried == 1 else 'imports or restores'}" if carried else ""
    return Answer(result=report, say=(said,))


def mirror(call: Call, watch: bool) -> Answer:
    if call.mirrors is None:
        raise Refused("no_mirrors", "No active pack has files here.", "Turn one on: `moot init --pack NAME`.")
    files = [spec.path for spec in call.packs.mirrors]
    said = call.warned("mirror_pending")  # of one file, or of all of them
    pending = [path for path in files if any(path in text or not any(file in text for file in files) for text in said)]
    lines = tuple(f"{'not yet in step' if path in pending else 'in step'}: {path}" for path in files)
    return Answer(result={"files": files, "pending": pending}, say=lines, more=_watching(call) if watch else None)


def _watching(call: Call) -> Iterator[Answer]:
    """Keep the files and the log in step until interrupted. What cannot be done now is told once, and tried again."""
    position, trouble = 0, None
    while True:
        try:
            position = position or call.engine.log.head()
            for events in call.engine.log.follow(position, timeout=0.25):
                position = events[-1].position
                break
            told = call.mirrors.sync(call) if call.mirrors else ()
            trouble = None
        except Unavailable as error:
            told = () if error.code == trouble else (in_trouble(error),)
            trouble = error.code
        for notice in told:
            yield Answer(result=notice, say=(one_line(f"{notice.code}: {notice.message}", 500),))
        if trouble is not None:
            time.sleep(PAUSE)


VERBS = (
    Verb(
        "init",
        "Make this repository a workspace. Doing it again changes nothing.",
        init,
        kind="own",
        anybody=True,
        params=(
            Param("pack", "Turn a protocol on (repeat for more); writes moot.toml if there is none.", many=True),
            Param("carry_over", "Go on with the log of this folder from before `git init`.", type="flag"),
        ),
        examples=("moot init", "moot init --pack NAME"),
        detail=(
            "Makes the state directory inside the git directory and touches nothing else. Run by a person, it also "
            "allows what moot.toml holds now that weakens a rule, and says so (`moot help allow`)."
        ),
        opens=False,
    ),
    Verb(
        "verify",
        "Check the log, fold it anew and compare it with the views.",
        verify,
        kind="look",
        params=(Param("rebuild", "Make the views anew from the log, if that is sound.", type="flag"),),
        examples=("moot verify", "moot verify --rebuild"),
        writes=False,
        past=False,
    ),
    Verb(
        "doctor",
        "Look for what could go wrong here, and say what to do.",
        doctor,
        kind="look",
        examples=("moot doctor",),
        writes=False,
        opens=False,
    ),
    Verb(
        "mirror",
        "Bring the packs' files and the log into step; with --watch, keep them so.",
        mirror,
        kind="own",
        anybody=True,
        params=(Param("watch", "Until interrupted.", type="flag"),),
        examples=("moot mirror", "moot mirror --watch"),
    ),
)
