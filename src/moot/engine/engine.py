"""The one loop: keep others out, catch up, decide, append, project; on a conflict, again.

The engine knows a log by its contract and the views by their store. What is decided it does not know.
"""

from __future__ import annotations

from moot.core.errors import Held, Refused, Unavailable, Unknown, Usage
from moot.core.event import Commit, Event
from moot.core.record import Record
from moot.engine.clock import iso
from moot.engine.facts import Facts, Wanted
from moot.engine.unit_of_work import Work
from moot.log import REDACTIONS, Appended, Conflict, Duplicate, Mismatch, Shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from moot.core.event import Key
    from moot.core.lifecycle import Lifecycle
    from moot.core.reactions import Reaction
    from moot.engine.clock import Clock
    from moot.log import Log
    from moot.settings.rules import Rules
    from moot.views.store import Store, ViewsTransaction

_PAGE = 1000
_MANY = 50  # events: from so many on, folding them in one go is worth its beginning
_TRIES = 50
# What a fold stumbles over in data that no decider wrote.
STUMBLES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


class Outcome(Record):
    """What a commit came to. `repeated`: the key was known, and these are the events of the first time."""

    events: tuple[Event, ...] = ()
    repeated: bool = False
    behind: bool = False  # appended, but the views could not be written now

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
        self.log = self.whole = Shown(log)  # `whole`: up to its real end, where `log` ends earlier
        self.store = store
        self.clock = clock
        self.lifecycles = lifecycles
        self.reactions = reactions
        self.closers: Sequence[Callable[[Work], None]] = ()  # of the packs, run when everything else is decided
        self.requests: Callable[[Work, str], None] | None = None  # of effects, where there are handlers
        self.via: str | None = None  # how commits come in, unless an act says otherwise
        self.in_force = ""  # the rules that settings can weaken, in the form of `moot.core.deciders.settings`
        self.judge: Callable[[str], Rules] | None = None  # says anew what is in force, if the log has recorded others
        self.progress: Callable[[str, int, int], None] | None = None  # told about a long catching up
        self._folder: Callable[[Store, Sequence[Event]], None] | None = None
        self._bound = False
        self.lookups: dict[str, Callable[[Any], Any]] = {  # see `moot.engine.facts`
            "rules": self._judged,
            "tombstones": lambda _version: self.log.tombstones(),
        }
        self.trace: Callable[[], str | None] | None = None  # what messages and tasks carry on, where there is a trace

    def read(self) -> Store:
        """The views, caught up with the log; pinned ones as they are."""
        if self.store.pinned:
            return self.store
        self.notice_new_views()
        if self.store.is_behind(self.log.head()):
            with self.alone():
                self.fold_in()
        return self.store

    def alone(self) -> AbstractContextManager[object]:
        """Keep others from changing the views. A private copy needs no lock: nobody else has it."""
        if self.store.shared:
            return self.log.exclusive()
        from contextlib import nullcontext

        return nullcontext()

    def fold_in(self) -> None:
        """Fold what others appended, while holding the writer lock."""
        with self.writing():
            self.catch_up()
            self.store.commit()

    def writing(self) -> ViewsTransaction:
        """A transaction on the views that count now, as a context manager. The caller holds the writer lock."""
        return self.store.writing(self.begin)

    def peek(self) -> Store:
        """The views as they are, perhaps a little behind the log."""
        self._bind()
        return self.store

    def commit(
        self,
        by: str | Callable[[Work], str],
        act: Callable[[Work], None],
        key: Callable[[str], Key] | None = None,
    ) -> Outcome:
        """Decide and append until no other was faster. `act` may run several times and must not touch the world.

        `by` is the principal, or finds it out (an agent's incarnation is known only inside). What a decision needs to
        know of the world it asks of `work.facts`.
        """
        if not self.store.shared:
            raise Refused("only_looking", "The workspace was opened read-only.", "Open it for writing to change it.")
        stream, facts = "the log", Facts(self.lookups)
        for _ in range(_TRIES):
            with self.log.exclusive():
                result = facts.knowing(lambda: self._inside(by, act, key, facts))
            if isinstance(result, Outcome):
                return result
            stream = result.stream
        raise Held(
            "lost_race",
            f"Others were faster {_TRIES} times in a row ({stream}).",
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
            except (Refused, Held, Unknown, Usage, Wanted):  # what was caught up to decide this stays
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
        principal = by if isinstance(by, str) else by(work)
        request = key(principal) if key else None
        if request is not None:
            before = self.log.append(Commit(id="", at=work.at, by=principal), {}, (), request)
            if isinstance(before, (Duplicate, Mismatch)):
                return self.repeated(before, request)
        act(work)
        if not work.drafts:
            return Outcome()
        if work.rules is not None:
            work.do("settings", "", work.rules)
        for close in self.closers:
            close(work)
        if self.requests is not None:
            self.requests(work, principal)
        commit = Commit.made({"id": self.clock.commit_id(), "at": work.at, "by": principal, "via": work.via})
        result = self.log.append(commit, work.conditions, work.drafts, request)
        if isinstance(result, Appended):
            return self._appended(events_of(work, commit, result), cursor)
        return result if isinstance(result, Conflict) else self.repeated(result, request)

    def rehearse(self, act: Callable[[Work], None]) -> Work:
        """Decide and append nothing."""
        facts = Facts(self.lookups)

        def decide() -> Work:
            work = self.work(facts)
            act(work)
            return work

        self.read()
        return facts.knowing(decide)

    def work(self, facts: Facts) -> Work:
        """An attempt at a commit, on the views as they are now."""
        newer = self.store.standing()[2]
        if newer is not None:
            raise Unavailable(
                "newer_events",
                f"The log has events that this version of moot does not know ({newer}).",
                "Update moot. Until then everything can be read and nothing changed.",
                type=newer,
            )
        now = self.clock.wall_seconds()
        work = Work(self.store, iso(now), self.lifecycles, self.reactions, self.clock.token)
        work.now, work.facts, work.via = now, facts, self.via
        if self.trace is not None:
            work.trace = self.trace()
        if self.store.rules != self.in_force:
            work.rules = facts.find("rules", self.store.rules)
            work.lifecycles = self.lifecycles
        return work

    def _judged(self, recorded: str) -> Mapping[str, Any] | None:
        """The values of the rules in force, if the log has recorded others. Settings may have changed meanwhile."""
        if self.judge is None:
            return None
        rules = self.judge(recorded)
        self.lifecycles, self.in_force = rules.lifecycles, rules.text
        return None if self.in_force == recorded else rules.values

    def _appended(self, events: list[Event], cursor: int) -> Outcome:
        """From here on the answer is yes, whatever happens to the views: the next call catches up."""
        try:
            streams = [event.stream for event in events]
            if events[0].position == cursor + 1 and REDACTIONS not in streams:
                self._project(events)
            else:  # another machine's event came in between
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
        """All views anew, from the first event."""
        with self.log.exclusive():
            self.store.close()
            self.store.renew()
        return self.read()

    def repeated(self, found: Duplicate | Mismatch, key: Key | None) -> Outcome:
        """The answer of the first time."""
        if isinstance(found, Mismatch):
            name, whose = (key.name, key.scope) if key else (found.key, "")
            raise Refused(
                "key_reused",
                f"The key {name!r}{f' of {whose}' if whose else ''} was used for another request "
                f"(at position {found.first}).",
                "Use a new key for a new request; the same key only repeats the same one. Keys are per agent: "
                "another agent's key of the same name is another one.",
                key=name,
                first=found.first,
            )
        events = self.log.read(found.first - 1, found.last - found.first + 1)
        return Outcome(events=tuple(events), repeated=True)

    def _bind(self, *, inside: bool = False) -> None:
        """Once per process: make sure that these are views of this log, and not of one before a backup was restored.

        Views are exchanged by one at a time; `inside`: the caller has the turn.
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
        if self.store.exchanged():  # while this one waited for the lock
            self.store.close()
        if not self._of_this_log():
            self.store.close()
            self.store.renew()

    def catch_up(self) -> int:
        """Fold in what others appended. The position of the last event, where the views are now."""
        try:
            return self._caught_up()
        except STUMBLES as error:
            raise Unavailable(
                "damaged_log",
                f"An event that comes after position {self.store.cursor()} is not what moot wrote: {error!r:.200}.",
                "`moot verify` looks for it. Restore the log from a backup: `moot restore FILE`.",
            ) from error

    def _caught_up(self) -> int:
        position = self.store.cursor()
        if position >= self.log.head():
            return position
        if not position and (known := self.log.last_tombstone()):
            self.store.run("set_meta", "redacted", known)
        events = self.log.read(position, _PAGE)
        if len(events) < _MANY and not self._outdated(events):
            self._project(events)
            return events[-1].position if events else position
        from moot.views.batch import Batch

        batch = Batch(self.store)
        while events:
            if self._outdated(events):
                self._start_over()
                batch, position = Batch(self.store), 0
            else:
                batch.fold(events)
                position = events[-1].position
            if self.progress is not None:
                self.progress("folding events", position, self.log.head())
            events = self.log.read(position, _PAGE)
        batch.flush()
        return position

    def _outdated(self, events: Sequence[Event]) -> bool:
        """Whether one of these takes out of sight what the views were folded from with its text."""
        tombstones = [event.position for event in events if event.stream == REDACTIONS]
        return bool(tombstones) and tombstones[-1] > int((self.store.row("get_meta", "redacted") or (0,))[0] or 0)

    def _start_over(self) -> None:
        """Fold everything anew, into a new file: what was redacted must not stay in the old one."""
        self.store.rollback()
        self.store.close()
        self.store.renew(alone=True)
        self.store.begin()
        self.store.run("set_meta", "redacted", self.log.last_tombstone())

    def begin(self) -> None:
        """Begin a transaction on the views that count now. Nobody can exchange them while one has the turn."""
        if not self._bound or self.store.exchanged():
            self.notice_new_views(inside=True)
        self.store.begin()

    def notice_new_views(self, *, inside: bool = False) -> None:
        """Go on with the views that count now, if another made them anew; make sure that they are of this log."""
        self._bind(inside=inside)
        if self.store.exchanged():  # another made them anew, maybe because it put another log into place
            self.store.close()
            self._bound = False
            self._bind(inside=inside)

    def _project(self, events: Sequence[Event]) -> None:
        if self._folder is None:
            from moot.views.project import project  # a reader that is up to date never needs it

            self._folder = project
        self._folder(self.store, events)


def events_of(work: Work, commit: Commit, new: Appended) -> list[Event]:
    """What was decided, as the log has it now, made without reading it back."""
    versions, first = dict(work.conditions), new.first
    events = []
    for n, draft in enumerate(work.drafts):
        prev, versions[draft.stream] = versions[draft.stream], first + n
        here = {"position": first + n, "prev": prev, "at": commit.at, "by": commit.by, "commit": commit.id, "n": n}
        events.append(Event.made({**draft.__dict__, **here, "via": commit.via, "digest": new.digests[n]}))
    return events
