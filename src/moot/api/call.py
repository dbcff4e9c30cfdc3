"""One request to a workspace: the caller, the verb and its arguments, the answer and its warnings.

A call is opened on a `Workspace` and borrows an engine until it is closed. Verbs get it as their first argument.
"""

from __future__ import annotations

from moot.api import catalogue
from moot.api.answer import Notice
from moot.core import principal as principals
from moot.core.errors import MootError, Unavailable
from moot.core.identity import Caller
from moot.place.private_files import is_exhausted, too_many_open_files
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Self

    from moot.api.answer import Answer
    from moot.api.catalogue import Verb
    from moot.api.workspace import Setup, Workspace
    from moot.core.deciders.agent import Agent
    from moot.core.event import Event, Key
    from moot.engine.engine import Engine, Outcome
    from moot.engine.unit_of_work import Work


READ_PATIENCE = 1.0  # seconds that a read waits for a writer before it checks whether the writer has stalled
_WITHOUT_SETTINGS = ("ack", "guard check", "inbox", "reply", "send", "verify", "wait")  # besides all that only looks
_WHOLE_LOG = ("backup", "export", "verify")  # they lock out writers, or wait for them


class Call:
    """One request. For one thread at a time."""

    _lent: Engine | None = None  # the engine to give back

    def __init__(self, workspace: Workspace, caller: Caller, cwd: str) -> None:
        self.workspace = workspace
        self.caller = caller
        self.cwd = cwd
        self.place = workspace.place
        self.env = workspace.env
        self.clock = workspace.clock
        self.presence = workspace.presence
        self.past = workspace.past
        self.progress = workspace.progress
        self.engine = self._lent = workspace.pool.borrow()
        setup = workspace.setup
        self.problem = setup.problem  # why the settings cannot be used, and the defaults apply
        self.settings, self.packs, self.mirrors = setup.settings, setup.packs, setup.mirrors
        self._let_decide(setup)
        self.output: Callable[[bytes], object] | None = None  # gets the output of commands that the verb runs
        self.ask: Callable[[tuple[str, ...], str], bool] | None = None  # shows lines to a person and asks: yes or no?
        self.report: Callable[[str], object] = lambda _line: None  # shows a line while the verb runs
        self.prompt: Callable[[tuple[str, ...], str], str | None] | None = None  # the same, for one line of text
        self.rewrite: Callable[[Call, Verb, Mapping[str, Any]], Mapping[str, Any]] | None = None  # of the arguments
        self.outcome: Outcome | None = None  # of its last commit
        self._warnings: list[Notice] = []
        self._stored = 0  # the last position that this call has appended
        self._unstored = False  # it began to store something more, and has not
        self.lasting = False  # a verb that works between its commits: an error is an error, whatever was stored before
        self._reads = False  # whether it only reads, in the present
        self._request: tuple[str, str | None, Mapping[str, Any]] = ("", None, {})
        self._login: str | None = None
        self._acting: tuple[Work, principals.Actor] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.close(broken=error is not None and not isinstance(error, (MootError, GeneratorExit)))

    def close(self, *, broken: bool = False) -> None:
        """Give the engine back. A broken one is not used again."""
        engine, self._lent = self._lent, None
        if engine is not None:
            if self.engine is not engine:
                self.engine.store.close()
            engine.progress = None
            self.workspace.pool.give_back(engine, broken=broken or engine.store.pinned)

    def __del__(self) -> None:
        if self._lent is not None:
            self.close()

    def _let_decide(self, setup: Setup) -> None:
        """Let the borrowed engine decide by this setup, whatever it was used for before."""
        engine, workspace = self.engine, self.workspace
        engine.lifecycles, engine.reactions, engine.closers = setup.lifecycles, setup.reactions, setup.closers
        engine.rules, engine.in_force, engine.requests = setup.rules, setup.in_force, setup.requests
        engine.via, engine.progress = workspace.via, workspace.progress

    def identity(self) -> str:
        """The id of the workspace's log."""
        return self.engine.whole.archive.identity()

    def run(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Run a verb."""
        if self.problem is not None and catalogue.is_of_pack(name):
            raise self.problem
        verb = catalogue.find(name, self.packs)
        given = catalogue.checked(verb, arguments)
        self._warnings, self._stored, self._unstored = list(self.workspace.notices), 0, False
        self.outcome, self.lasting = None, False
        self.use_own_engine()
        kind = catalogue.kind_of(verb, given)
        if self.problem is not None:
            self._go_on_without_settings(name, kind, self.problem)
        reads = not verb.writes or bool(given.get("peek")) or catalogue.only_looks(verb, kind)
        self._reads = reads and self.past is None
        self.engine.log.handle.patience = READ_PATIENCE if self._reads and name not in _WHOLE_LOG else None
        if self.past is not None:
            given = catalogue.read_only_arguments(verb, given)
            self.engine.read()  # first, so that the verb does not see what has been redacted since
        catalogue.admit(self.caller, verb, kind, given)  # before anything is touched
        self._request = (name, given.pop("key", None), given)
        if verb.writes and self.caller.agent is None:
            self.login  # noqa: B018 (looked up now, because a decision must not)
        try:
            answer = self._carried_out(verb, given)
        except (Unavailable, OSError) as error:
            if not self._stored or self._unstored or self.lasting:
                raise
            answer = self._stored_anyway(error)
        self._warn_of_the_log()
        if self.engine is not self._lent and answer.more is None:
            self.use_own_engine()
        if self._stored:
            self.workspace.stored(self)
        if self._warnings:
            answer = answer.replace(warnings=(*answer.warnings, *dict.fromkeys(self._warnings)))
        return answer

    def _go_on_without_settings(self, name: str, kind: str, problem: MootError) -> None:
        """A typo in moot.toml does not cut agents off from what was written, from mail, or from the guard."""
        if kind != "look" and name not in _WITHOUT_SETTINGS:
            raise problem
        self.warn(problem.code, f"{problem.message} The defaults apply until that is repaired. {problem.remedy}")

    def _warn_of_the_log(self) -> None:
        handle = self.engine.log.handle
        if (damage := handle.damage) is not None:
            self.warn("damaged_log", f"{damage.message} The answer covers everything before it. {damage.remedy}")
        if self.past is not None and self.past.said:
            self.warn("as_it_was", f"As it was at position {self.past.position}, {self.clock.wall()}.")

    def _carried_out(self, verb: Verb, given: Mapping[str, Any]) -> Answer:
        """Run it. A read does not fail because something cannot be written: see `moot.api.read_fallback`."""

        def do() -> Answer:
            if not verb.quiet:
                if self.mirrors is not None and verb.syncs:
                    self.sync(everything=verb.everything)
                if verb.name != "join":  # it checks how long the name was silent, which a stamp would reset
                    self.stamp()
            return does()

        def does() -> Answer:
            if self.rewrite is not None:
                self._request = (*self._request[:2], self.rewrite(self, verb, given))
            answer: Answer = verb.does(self, **self._request[2])
            return answer

        try:
            return do()
        except Unavailable as error:
            if not self._reads or verb.name in _WHOLE_LOG:
                raise
            from moot.api.read_fallback import read_without_writing

            return read_without_writing(self, do, does, error)
        except MootError as error:
            if self.problem is not None:  # it may be the only reason: without settings there are no packs
                error.remedy = f"The defaults apply: {self.problem.message} {self.problem.remedy} {error.remedy}"
            raise

    def use_own_engine(self) -> None:
        """Return to the borrowed engine after `moot.api.read_fallback` has replaced it."""
        borrowed, other = self._lent, self.engine
        if borrowed is not None and borrowed is not other:
            self.engine = borrowed
            other.store.close()

    def _stored_anyway(self, error: Unavailable | OSError) -> Answer:
        """The answer if something failed after a successful append. It is a warning, never an error."""
        from moot.api.answer import Answer

        if isinstance(error, OSError):
            if not is_exhausted(error):
                raise error
            error = too_many_open_files()
        self.warn(error.code, f"{error.message} {error.remedy}")
        return Answer(result={"position": self._stored}, say=(f"stored, up to position {self._stored}",))

    def commit(self, act: Callable[[Work], None], asks: Iterable[tuple[str, Any]] = ()) -> Outcome:
        """Decide and append as the caller, with its key if it has one; then update the mirrors. See `Engine.commit`."""
        self._check_present("Changing something")  # some verbs only write with certain arguments
        self._unstored = True
        outcome = self.engine.commit(lambda work: self.actor(work).principal, act, self._key(), asks)
        self._kept(outcome)
        if outcome.events:
            if self.mirrors is not None:
                self.sync(outcome.events)
            if self.engine.requests is not None and not outcome.repeated:
                self.remind_of_effects(outcome.events)
        return outcome

    def _check_present(self, what: str) -> None:
        if self.past is not None:
            from moot.time_travel import read_only

            raise read_only(what)

    def _kept(self, outcome: Outcome) -> Outcome:
        """Note that something is stored: from here on the call succeeds, unless it has more to store."""
        self._stored, self.outcome, self._unstored = outcome.last, outcome, False
        if outcome.behind:
            self.warn("views_behind", "Stored. The views could not be written now and will catch up later.")
        return outcome

    def put_blob(self, data: bytes) -> str:
        """Store bytes, before the commit that references them. Returns their SHA-256. See `moot.engine.blobs`."""
        self._check_present("Storing bytes")
        self._unstored = True
        from moot.engine.blobs import Blobs

        return Blobs(self.place.state).put(data)

    def blob(self, digest: str) -> bytes:
        """The bytes with this SHA-256, which an event references."""
        from moot.engine.blob_names import bytes_of

        return bytes_of(digest, self.place.state, self.engine.log)

    def commit_aside(self, act: Callable[[Work], None]) -> None:
        """Record something about the call itself, outside its key."""
        self.engine.commit(lambda work: self.actor(work).principal, act)

    def try_out(self, act: Callable[[Work], None]) -> Answer:
        """Decide as `commit` does, but write nothing."""
        from moot.api.answer import Answer

        def tried(work: Work) -> None:
            self.actor(work)
            act(work)

        work = self.engine.rehearse(tried)
        kinds = [draft.type for draft in work.drafts]
        return Answer(result={"would": kinds}, say=(f"would be accepted: {', '.join(kinds)}",))

    def join(self, name: str | None, free: Callable[[Work], str], act: Callable[[Work, str], None]) -> Outcome:
        """Commit as the agent that the caller is about to become.

        Without a name it gets a `free` one, chosen inside the commit. If it fails, the caller keeps its identity.
        """
        before, wanted = self.caller, ""

        def principal(work: Work) -> str:
            nonlocal wanted
            wanted = name or free(work)
            if (before.agent or "").lower() != wanted.lower():  # the incarnation belongs to the previous name
                self.caller = Caller(agent=wanted, why="joined", mark=before.mark)
            state = work.agent(wanted)
            same = state.here and state.incarnation == self.caller.incarnation
            return principals.agent(state.name, state.incarnation if same else state.incarnation + 1)

        try:
            key = self._key(None if name else principals.person(self.login))  # not by a name that differs each time
            return self._kept(self.engine.commit(principal, lambda work: act(work, wanted), key))
        except BaseException:
            self.caller = before
            raise

    def sync(self, news: Sequence[Event] | None = None, *, everything: bool = False, also: Sequence[str] = ()) -> None:
        """Synchronize the mirrors. See `Mirrors.sync`."""
        if self.mirrors is None:
            return
        try:
            self._warnings += self.mirrors.sync(self, news, everything=everything, also=also)
        except Unavailable as error:
            if error is not self.engine.log.handle.damage:  # reads can continue on a damaged log
                raise

    def warn(self, code: str, message: str) -> None:
        self._warnings.append(Notice(code, message))

    def remind_of_effects(self, events: Sequence[Event]) -> None:
        """Warn of effects that these events request while no runner performs any, and of handlers that are missing."""
        from moot.api import notices

        self._warnings += notices.of_effects(self, events)

    def warned(self, code: str) -> list[str]:
        """The warnings of this call so far that have this code."""
        return [warning.message for warning in self._warnings if warning.code == code]

    def take_warnings(self) -> list[str]:
        """The messages of all warnings since the last time. They are then removed from the answer."""
        said, self._warnings = [warning.message for warning in self._warnings], []
        return said

    def actor(self, work: Work) -> principals.Actor:
        """The caller as the rules see it. Refused if its incarnation is stale, or if the agent has not joined."""
        if self._acting is not None and self._acting[0] is work:
            return self._acting[1]  # every commit asks twice
        if self.caller.agent is not None:
            found = work.actor(self.caller.agent, self.caller.incarnation)
        elif self.caller.person:
            found = principals.Actor(principal=principals.person(self.login))
        else:
            catalogue.needs_somebody(self.caller, self._request[0], self.packs)  # whatever the class of the verb
            found = principals.Actor(principal=principals.process(self.login))
        self._acting = work, found
        return found

    @property
    def login(self) -> str:
        """The account of the caller."""
        if self._login is None:
            from moot.place.account import login

            self._login = login()
        return self._login

    def me(self) -> Agent | None:
        """The calling agent as the views know it; None if the caller is not an agent."""
        agent = self.caller.agent
        return states.agent(self.engine.read(), agent)[0] if agent is not None else None

    def mailboxes(self) -> tuple[str, ...]:
        """The caller's own mailbox, and those of its roles."""
        catalogue.needs_somebody(self.caller, self._request[0])
        me = self.me()
        return queries.mailboxes_of(me, self.packs.shared_roles) if me else (principals.person(self.login),)

    def unread(self) -> tuple[int, str] | None:
        """The number of new messages for the calling agent, without catching up, and its name. None: it is not here."""
        caller, now = self.caller, self.clock.wall_seconds()
        if caller.agent is None or self.past is not None:
            return None
        try:
            return queries.unread(self.engine.peek(), caller.agent, caller.incarnation, self.packs.shared_roles, now)
        except Unavailable:  # the answer is complete without it
            return None

    def silence(self, principal: str) -> float:
        """How long this agent has been silent, in seconds."""
        return self.presence.silence_of(principal)

    def silent_for(self, principal: str) -> float | None:
        """The same, rounded for the answer. For the past it is unknown, and the answer warns of that."""
        if self.past is None:
            return round(self.silence(principal), 3)
        self.warn("presence_unknown", "How long agents had been silent is unknown: presence is not in the log.")
        return None

    def stamp(self) -> None:
        """Record that the calling agent is alive. A read does not fail if that cannot be written."""
        try:
            self._stamp()
        except Unavailable as error:
            if not self._reads or error.code != "presence_unwritable":
                raise
            self.warn(error.code, error.message)

    def _stamp(self) -> None:
        caller = self.caller
        if caller.agent is not None and caller.incarnation is not None:
            self.presence.stamp(caller.agent, caller.incarnation)
        elif caller.agent is not None:
            # As the views know it now: catching up would wait for all writers, only to stamp a file.
            me, version = states.agent(self.engine.peek(), caller.agent)
            found = me if version else self.me()
            if found is not None and found.here:
                self.presence.stamp(found.name, found.incarnation)

    def _key(self, scope: str | None = None) -> Callable[[str], Key] | None:
        verb, name, arguments = self._request
        if name is None:
            return None
        from moot.api.keys import key_of

        return key_of(verb, name, arguments, self.cwd, scope)
