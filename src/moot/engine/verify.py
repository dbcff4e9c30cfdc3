"""`moot verify`: checks that the log is sound and that the views match it.

Reads the whole log once, checks its order and hash chain, folds it into private views and compares them with the shared
views row by row.
"""

from __future__ import annotations

import os
from itertools import zip_longest

from moot.core.errors import Held, Unavailable
from moot.core.event import Commit
from moot.core.integrity.redaction import is_redacted
from moot.core.record import Record
from moot.engine.blob_names import NamedBlobs, mentioned
from moot.engine.blobs import Blobs
from moot.engine.engine import STUMBLES
from moot.log import REDACTIONS, Duplicate
from moot.views.private_copy import PrivateCopy
from moot.views.project import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.core.event import Event
    from moot.engine.engine import Engine
    from moot.log import Log
    from moot.views.store import Store

_PAGE = 1000
_SHOWN = 20
_TRIES = 5
_OF_LOG = "log: "
_OF_BLOB = "blob: "
_TABLES = (
    *("entity", "task", "thing", "edge", "message", "delivery", "unread", "mailbox", "read_mark", "effect"),
    *("feed_entry", "feed_key", "feed_print", "feed_row", "feed_note", "journal"),
)


class Report(Record):
    events: int
    streams: int
    commits: int
    problems: tuple[str, ...]
    redacted: int = 0  # events without their text
    blobs: int = 0  # that events reference
    unnamed: int = 0  # blobs that no event references; a sweep removes them

    @property
    def sound(self) -> bool:
        return not self.problems

    @property
    def log_sound(self) -> bool:
        return not any(problem.startswith(_OF_LOG) for problem in self.problems)

    @property
    def lacks_blobs(self) -> bool:
        """Whether missing or damaged blobs are the only problems."""
        return not self.sound and all(problem.startswith(_OF_BLOB) for problem in self.problems)


def verify(engine: Engine, directory: str) -> Report:
    """Verify the log and the views. Other writers wait only while the rows are compared."""
    for _ in range(_TRIES):
        head = engine.log.head()
        report = _verified(engine, directory)
        if not engine.log.read(head, 1, REDACTIONS):
            return report
        # Text was redacted in between, so the two may differ although nothing is wrong. Start again.
    raise Held(
        "log_moved",
        f"Events were redacted {_TRIES} times during the verification.",
        "Try again when nobody is redacting.",
    )


def examine(engine: Engine, named: NamedBlobs) -> list[str]:
    """What is wrong with a log that nobody else uses. Folds it into the private views of the engine.

    `named` is told the blobs that its events reference.
    """
    chain, views = _Chain(blobs=False), engine.store
    chain.named = named
    views.begin()
    upto = engine.log.head()
    _audit(engine, chain, upto)
    _fold(engine, views, chain, upto)
    _check_log(engine, chain)
    return chain.problems


def _verified(engine: Engine, directory: str) -> Report:
    chain = _Chain(blobs=bool(Blobs(directory).stored()))
    live = engine.store
    fresh = PrivateCopy(directory, empty=True)
    try:
        fresh.begin()
        upto = engine.log.head()
        _audit(engine, chain, upto)
        _fold(engine, fresh, chain, upto)
        if not os.access(directory, os.W_OK | os.X_OK):  # nor can the lock be taken
            engine.store = PrivateCopy(directory)
        with engine.alone():
            problems = _judged(engine, fresh, chain)
    finally:
        fresh.close()
        if engine.store is not live:
            engine.store.close()
            engine.store = live
    unnamed = _blobs(engine, directory, chain, problems)
    return Report(
        events=chain.position,
        streams=len(chain.versions),
        commits=chain.commits,
        problems=tuple(problems[:_SHOWN]),
        redacted=chain.redacted,
        blobs=len(chain.named.at),
        unnamed=unnamed,
    )


def _blobs(engine: Engine, directory: str, chain: _Chain, problems: list[str]) -> int:
    """Check every blob that an event references. Returns the number of blobs that no event references."""
    blobs = Blobs(directory)
    for number, (digest, position) in enumerate(chain.named.at.items(), 1):
        fault = blobs.fault(digest)
        if fault is not None:
            problems.append(f"{_OF_BLOB}{digest}, referenced at position {position}, is {fault}")
        _tell(engine, "checking blobs", number, len(chain.named.at))
    stored = blobs.stored()
    for digest in stored.intersection(chain.named.removed):
        position = chain.named.removed[digest]
        problems.append(f"{_OF_BLOB}{digest} still exists, although the redaction at position {position} removed it")
    # If part of the log cannot be read, it may reference the other blobs.
    return 0 if chain.problems else len(stored - chain.mentioned - chain.named.at.keys())


def _audit(engine: Engine, chain: _Chain, upto: int) -> None:
    """Check the hash chain. If it cannot be read, report that: the events are checked as far as they can be read."""
    try:
        for problem in engine.log.archive.audit(upto, lambda done, of: _tell(engine, "checking the chain", done, of)):
            chain.complain(problem)
    except Unavailable as error:
        if error.code != "damaged_log":
            raise
        chain.complain(error.message)
    except STUMBLES as error:
        chain.complain(f"a row is damaged: {error!r:.200}")


def _check_log(engine: Engine, chain: _Chain) -> None:
    if engine.log.handle.damage is not None:
        chain.complain(
            f"position {engine.log.handle.damage.details['position']} cannot be read: {engine.log.handle.damage}"
        )


def _judged(engine: Engine, fresh: Store, chain: _Chain) -> list[str]:
    _check_log(engine, chain)
    # A damaged log cannot be folded into views that are worth comparing.
    return chain.problems or _compared(engine, fresh, chain)


def _compared(engine: Engine, fresh: Store, chain: _Chain) -> list[str]:
    """Bring both to the same position, then compare them. On a shared log others may append meanwhile."""
    live = engine.store
    with engine.writing():
        engine.catch_up()  # as every command does; redacted text must not stay in the views
        _fold(engine, fresh, chain, live.cursor())
        fresh.commit()
        problems = [*chain.problems, *_differences(live, fresh)]
        live.commit()
    return problems


def _fold(engine: Engine, fresh: Store, chain: _Chain, upto: int) -> None:
    while chain.position < upto and (events := engine.log.read(chain.position, min(_PAGE, upto - chain.position))):
        chain.follow(events)
        _tell(engine, "verifying events", chain.position, upto)
        chain.look_up(engine.log, ended=False)
        if not chain.problems:
            try:
                project(fresh, events)
            except STUMBLES as error:
                chain.complain(f"the events after position {fresh.cursor()} cannot be folded: {error!r:.200}")
    if chain.position >= upto:
        chain.look_up(engine.log, ended=True)


def _tell(engine: Engine, what: str, done: int, of: int) -> None:
    if engine.progress is not None:
        engine.progress(what, done, of)


class _Chain:
    """Checks each event against the one before, and each commit as a whole."""

    def __init__(self, *, blobs: bool) -> None:
        self.position = 0
        self._looks_for_unnamed = blobs  # only if there are blobs
        self.commits = 0
        self.redacted = 0
        self.versions: dict[str, int] = {}
        self.problems: list[str] = []
        self._commit, self._n = "", -1
        self._spans: dict[str, tuple[int, int]] = {}  # positions of commits that were not looked up yet
        self.named = NamedBlobs()
        self.mentioned: set[str] = set()

    def follow(self, events: Sequence[Event]) -> None:
        self.named.see(events)
        if self._looks_for_unnamed:
            self.mentioned.update(mentioned(events))
        for event in events:
            self.redacted += is_redacted(event.data)
            self._expect(event.position == self.position + 1, event, f"follows position {self.position}")
            self._expect(event.prev == self.versions.get(event.stream, 0), event, f"has prev {event.prev}")
            if event.commit == self._commit:
                self._expect(event.n == self._n + 1, event, f"is number {event.n} of its commit")
            else:
                self._expect(event.n == 0, event, "does not begin its commit")
                self.commits += 1
            first, _ = self._spans.get(event.commit, (event.position, 0))
            self._spans[event.commit] = (first, event.position)
            self._commit, self._n = event.commit, event.n
            self.versions[event.stream] = self.position = event.position

    def look_up(self, log: Log, *, ended: bool) -> None:
        """Check that the log finds each commit by its id. Otherwise a retried append would be stored twice."""
        for commit, (first, last) in list(self._spans.items()):
            if ended or commit != self._commit:  # the last one may continue on the next page
                del self._spans[commit]
                known = log.append(Commit(id=commit, at="", by=""), {}, ())
                if not (isinstance(known, Duplicate) and (known.first, known.last) == (first, last)):
                    self.complain(f"the commit at positions {first} to {last} cannot be found by its id")

    def _expect(self, holds: bool, event: Event, problem: str) -> None:  # noqa: FBT001
        if not holds:
            self.complain(f"{event.type} at position {event.position} {problem}")

    def complain(self, problem: str) -> None:
        if len(self.problems) < _SHOWN:
            self.problems.append(f"{_OF_LOG}{problem}")


def _differences(live: Store, fresh: Store) -> list[str]:
    """The first row that differs in each table. Both sides are sorted by key, so memory use stays constant."""
    problems = []
    for table in _TABLES:
        pairs = zip_longest(live.all_rows(table), fresh.all_rows(table))
        differing = next(((ours, theirs) for ours, theirs in pairs if ours != theirs), None)
        if differing is not None:
            problems.append(f"{table}: the views have {differing[0]!r:.200}, the log says {differing[1]!r:.200}")
    return problems
