"""The commit loop: take the writer lock, catch up, decide, append, project. On a conflict, retry.

The engine uses the log through its contract and the views through their store. It does not know the rules that
decide.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unavailable, Unknown, Usage
from moot.core.event import Commit, Event
from moot.core.record import Record
from moot.engine.clock import iso
from moot.engine.facts import Facts, Wanted
from moot.engine.unit_of_work import Work
from moot.log import REDACTIONS, Appended, Conflict, Duplicate, Mismatch
from moot.views.store import ViewsTransaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from moot.core.event import Key
    from moot.core.lifecycle import Lifecycle
    from moot.core.reactions import Reaction
    from moot.engine.clock import Clock
    from moot.engine.facts import Question
    from moot.log import Log
    from moot.views.store import Store

_PAGE = 1000
_TRIES = 50
# Errors that a fold raises on data that no decider wrote.
STUMBLES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


class Outcome(Record):
    """The result of a commit. `repeated`: the key was used before, and these are the events of that first commit."""

    events: tuple[Event, ...] = ()
    repeated: bool = False
    behind: bool = False  # appended, but the views could not be written

    @property
    def last(self) -> int:
        return self.events[-1].position if self.events else 0


class Engine:
    """See the module."""

    def __init__(
        self,
        log: Log,
        store: Store,
        clock: Clock,
        lifecycles: Mapping[str, Lifecycle],
        reactions: Sequence[Reaction],
    ) -> None:
        self.log = self.whole = log  # `whole` always goes to the real end; `log` may end earlier (`--at`)
        self.store = store
        self.clock = clock
        self.lifecycles = lifecycles
        self.reactions = reactions
        self.closers: Sequence[Callable[[Work], None]] = ()  # from packs; run after everything else is decided
        self.requests: Callable[[Work, str], None] | None = None  # requests effects, if there are handlers
        self.via: str | None = None  # the surface that commits come from, unless an act sets another
        self.rules: Mapping[
            str, Any
        ] = {}  # the settings in force that can weaken a rule: see `moot.place.settings.rules`
        self.in_force: str | None = ""  # the same in the form in which the log has them; None: unknown
        self.progress: Callable[[str, int, int], None] | None = None  # called during a long catch-up
        self._folder: Callable[[Store, Sequence[Event]], None] | None = None
        self._bound = False
        self.lookups: dict[str, Callable[[Any], Any]] = {}  # see `moot.engine.facts`

    def read(self) -> Store:
        """The views, caught up with the log. Pinned views are returned unchanged."""
        store = self.store
        if store.pinned:
            return store
        if not self._bound or store.exchanged():
            self.notice_new_views()
        if store.is_behind(self.log.head()):
            with self.alone():
                self.fold_in()
        return store

    def alone(self) -> AbstractContextManager[object]:
        """Keep other processes from changing the views. A private copy needs no lock: nobody shares it."""
        if self.store.shared:
            return self.log.exclusive()
        from contextlib import nullcontext

        return nullcontext()

    def fold_in(self) -> None:
        """Fold the events that others appended. The caller holds the writer lock."""
        with self.writing():
            self.catch_up()
            self.store.commit()

    def writing(self) -> ViewsTransaction:
        """A transaction on the current views, as a context manager. The caller holds the writer lock."""
        return ViewsTransaction(self.store, self.begin)

    def peek(self) -> Store:
        """The views without catching up. They may be slightly behind the log."""
        self._bind()
        return self.store

    def commit(
        self,
        by: str | Callable[[Work], str],
        act: Callable[[Work], None],
        key: Callable[[str], Key] | None = None,
        asks: Iterable[Question] = (),
    ) -> Outcome:
        """Decide and append; retry on a conflict. `act` may run several times and must have no side effects.

        `by` is the principal, or a function that finds it inside the attempt (an agent's incarnation is known only
        there). A decision gets facts from outside the log through `work.facts`. `asks`: facts that it will ask for, so
        that its first attempt has them.
        """
        if not self.store.shared:
            raise Refused("only_looking", "The workspace was opened read-only.", "Open it for writing to change it.")
        stream, facts = "the log", Facts(self.lookups, asks)
        for _ in range(_TRIES):
            with self.log.exclusive():
                result = facts.knowing(self._inside, by, act, key, facts)
            if isinstance(result, Outcome):
                return result
            stream = result.stream
        raise Held(
            "lost_race",
            f"The commit conflicted with other writers {_TRIES} times in a row ({stream}).",
            "Try again in a moment.",
            stream=stream,
        )

    def _inside(
        self,
        by: str | Callable[[Work], str],
        act: Callable[[Work], None],
        key: Callable[[str], Key] | None,
        facts: Facts,
    ) -> Outcome | Conflict:
        """One attempt while holding the writer lock."""
        with self.writing():
            try:
                result = self._attempt(by, act, key, facts)
            except (Refused, Held, Unknown, Usage, Wanted):  # keep what was caught up
                self._finish(Outcome())
                raise
            return result if isinstance(result, Conflict) else self._finish(result)

    def _attempt(
        self,
        by: str | Callable[[Work], str],
        act: Callable[[Work], None],
        key: Callable[[str], Key] | None,
        facts: Facts,
    ) -> Outcome | Conflict:
        cursor = self.catch_up()
        work = self.work(facts)
        principal = work.by = by if isinstance(by, str) else by(work)
        request = key(principal) if key else None
        if request is not None:
            before = self.log.append(Commit(id="", at=work.at, by=principal), {}, (), request)
            if isinstance(before, (Duplicate, Mismatch)):
                return self.repeated(before, request)
        act(work)
        if not work.drafts:
            return Outcome()
        if self.in_force not in (self.store.rules, None):
            work.do("settings", "", self.rules)
        for close in self.closers:
            close(work)
        if self.requests is not None:
            self.requests(work, principal)
        commit = Commit.made({"id": self.clock.commit_id(), "at": work.at, "by": principal, "via": work.via})
        if work.rows:
            result = self.log.archive.redact(commit, work.conditions, work.drafts, work.rows, request)
        else:
            result = self.log.append(commit, work.conditions, work.drafts, request)
        if isinstance(result, Appended):
            return self._appended(events_of(work, commit, result), cursor)
        return result if isinstance(result, Conflict) else self.repeated(result, request)

    def rehearse(self, act: Callable[[Work], None]) -> Work:
        """Run `act` without appending anything."""
        facts = Facts(self.lookups)

        def decide() -> Work:
            work = self.work(facts)
            act(work)
            return work

        self.read()
        return facts.knowing(decide)

    def work(self, facts: Facts) -> Work:
        """A new attempt at a commit, based on the current views."""
        newer = self.store.standing()[2]
        if newer is not None:
            raise Unavailable(
                "newer_events",
                f"The log has events of a type that this version of moot does not know ({newer}).",
                "Update moot. Until then the workspace is read-only.",
                type=newer,
            )
        now = self.clock.wall_seconds()
        work = Work(self.store, iso(now), self.lifecycles, self.reactions, self.clock.token)
        work.now, work.facts, work.via = now, facts, self.via
        return work

    def _appended(self, events: list[Event], cursor: int) -> Outcome:
        """Project the new events. The commit has succeeded: if the views fail now, the next call catches them up."""
        try:
            streams = [event.stream for event in events]
            if events[0].position == cursor + 1 and REDACTIONS not in streams:
                self._project(events)
            else:  # events of another writer came first, or something was redacted
                self.catch_up()
        except self.store.failures:
            self.store.rollback()
            return Outcome(events=tuple(events), behind=True)
        return Outcome.made({"events": tuple(events), "repeated": False, "behind": False})

    def _finish(self, outcome: Outcome) -> Outcome:
        try:
            if not outcome.behind:
                self.store.commit()
        except Unavailable:
            if not outcome.events:
                raise
            return outcome.replace(behind=True)
        return outcome

    def rebuild(self) -> Store:
        """Rebuild all views from the first event."""
        with self.log.exclusive():
            self.store.close()
            self.store.renew()
        return self.read()

    def repeated(self, found: Duplicate | Mismatch, key: Key | None) -> Outcome:
        """The outcome of the first commit with this key."""
        if isinstance(found, Mismatch):
            name, whose = (key.name, key.scope) if key else (found.key, "")
            raise Refused(
                "key_reused",
                f"The key {name!r}{f' of {whose}' if whose else ''} was already used for a different request "
                f"(at position {found.first}).",
                "Use a new key for each new request. Reuse a key only to retry the same request. Keys are per agent: "
                "two agents can use the same key independently.",
                key=name,
                first=found.first,
            )
        events = self.log.read(found.first - 1, found.last - found.first + 1)
        return Outcome(events=tuple(events), repeated=True)

    def _bind(self, *, inside: bool = False) -> None:
        """Once per process: check that the views belong to this log, and not to one that a restore replaced.

        Only the holder of the writer lock replaces views. `inside`: the caller holds it already.
        """
        if not self._bound and not self._of_this_log():
            if inside:
                self._leave_behind()
            else:
                with self.alone():
                    self._leave_behind()
        self._bound = True

    def _of_this_log(self) -> bool:
        position, commit, _ = self.store.standing()
        event = self.log.read(position - 1, 1) if position else []
        return not position or bool(event and event[0].position == position and event[0].commit == commit)

    def _leave_behind(self) -> None:
        if self.store.exchanged():  # another process replaced them while this one waited for the lock
            self.store.close()
        if not self._of_this_log():
            self.store.close()
            self.store.renew()

    def catch_up(self) -> int:
        """Fold the events that others appended. Returns the position that the views have reached."""
        try:
            return self._caught_up()
        except STUMBLES as error:
            raise Unavailable(
                "damaged_log",
                f"An event after position {self.store.cursor()} is damaged: {error!r:.200}.",
                "Run `moot verify` to find it. Then restore the log from a backup: `moot restore FILE`.",
            ) from error

    def _caught_up(self) -> int:
        position = self.store.cursor()
        if position >= self.log.head():
            return position
        if not position:
            self.store.run("set_meta", "redacted", self.log.head())
        events = self.log.read(position, _PAGE)
        while events:
            if self._outdated(events):
                self._start_over()
                position = 0
            else:
                self._project(events)
                position = events[-1].position
            more = len(events) == _PAGE or not position
            if more and self.progress is not None:
                self.progress("folding events", position, self.log.head())
            events = self.log.read(position, _PAGE) if more else []
        return position

    def _outdated(self, events: Sequence[Event]) -> bool:
        """Whether one of these events redacts text that the views may still contain."""
        tombstones = [event.position for event in events if event.stream == REDACTIONS]
        return bool(tombstones) and tombstones[-1] > int((self.store.row("get_meta", "redacted") or (0,))[0] or 0)

    def _start_over(self) -> None:
        """Replace the views by a new file and fold from the start: redacted text must not stay in the old file."""
        self.store.rollback()
        self.store.close()
        self.store.renew(alone=True)
        self.store.begin()
        self.store.run("set_meta", "redacted", self.log.head())

    def begin(self) -> None:
        """Begin a transaction on the current views. Nobody can replace them while the caller holds the writer lock."""
        if not self._bound or self.store.exchanged():
            self.notice_new_views(inside=True)
        self.store.begin()

    def notice_new_views(self, *, inside: bool = False) -> None:
        """Switch to the current views if another process replaced them. Check that they belong to this log."""
        self._bind(inside=inside)
        if self.store.exchanged():  # perhaps because the log itself was replaced
            self.store.close()
            self._bound = False
            self._bind(inside=inside)

    def _project(self, events: Sequence[Event]) -> None:
        if self._folder is None:
            from moot.views.project import project  # imported late: a reader that is up to date does not need it

            self._folder = project
        self._folder(self.store, events)


def events_of(work: Work, commit: Commit, new: Appended) -> list[Event]:
    """The events of a commit as the log stored them, built without reading them back."""
    versions, first = dict(work.conditions), new.first
    events = []
    for n, draft in enumerate(work.drafts):
        prev, versions[draft.stream] = versions[draft.stream], first + n
        place = {"position": first + n, "prev": prev, "at": commit.at, "by": commit.by, "commit": commit.id, "n": n}
        events.append(Event.made({**draft.__dict__, **place, "via": commit.via, "digest": new.digests[n]}))
    return events
