"""One request to a workspace: who asks, for what, what was stored, what the caller should know.

A call is opened on a `Workspace` and borrows an engine until it is closed. Verbs get it as their first argument.
"""

from __future__ import annotations

from moot.api import catalogue
from moot.api.answer import Notice
from moot.api.setup import CallSetup
from moot.core import principal as principals
from moot.core.errors import MootError, Unavailable
from moot.core.identity import Caller
from moot.private_files import is_exhausted, too_many_open_files
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from moot.api.answer import Answer
    from moot.api.catalogue import Verb
    from moot.api.workspace import Workspace
    from moot.core.deciders.agent import Agent
    from moot.core.event import Key
    from moot.engine.engine import Engine, Outcome
    from moot.engine.unit_of_work import Work
    from moot.settings import Settings
    from moot.settings.rules import Weak


READ_PATIENCE = 1.0  # seconds that a look waits for one who writes, before it asks whether that one stands still
_WHOLE_LOG = ("backup", "export", "verify")  # they keep others out, or wait for those who write


class Call:
    """See the module. For one thread at a time."""

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
        self._setup = CallSetup(workspace, self.engine)
        setup = self._setup.setup
        self.packs, self.mirrors = setup.packs, setup.mirrors
        self.output: Callable[[bytes], object] | None = None  # where the output of commands that are run goes
        self.ask: Callable[[tuple[str, ...], str], bool] | None = None  # show this to a person who says yes or no
        self.outcome: Outcome | None = None  # of its last commit
        self._warnings: list[Notice] = []
        self._stored = 0  # the last position that this call has appended
        self._looks = False
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
            engine.judge = engine.progress = None
            self.workspace.pool.give_back(engine, broken=broken or engine.store.pinned)

    def __del__(self) -> None:
        if self._lent is not None:
            self.close()

    @property
    def settings(self) -> Settings:
        return self._setup.setup.settings

    @property
    def withheld(self) -> tuple[Weak, ...]:
        return self._setup.setup.withheld

    def identity(self) -> str:
        """The id of the workspace's log."""
        return self.engine.whole.archive.identity()

    def run(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Carry out a verb."""
        if self.workspace.tracing is not None:
            from moot.api.tracing import run_in_span

            return run_in_span(self, self.workspace.tracing, name, arguments)
        return self.carry_out(name, arguments)

    def carry_out(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """The same without a trace of it."""
        verb = catalogue.find(name)
        given = catalogue.checked(verb, arguments)
        self._warnings, self._stored, self.outcome = list(self.workspace.notices), 0, None
        if self.engine is not self._lent:
            self.use_own_engine()
        kind = catalogue.kind_of(verb, given)
        looks = not verb.writes or bool(given.get("peek")) or catalogue.only_looks(verb, kind)
        # To look at an old log is no reason to upgrade it, and whoever is nobody does no more than look.
        self.engine.log.handle.kept = looks or (kind == "look" and self.caller.nobody)
        self._looks = looks and self.past is None
        self.engine.log.handle.patience = READ_PATIENCE if self._looks and name not in _WHOLE_LOG else None
        if self.past is not None:
            from moot.api.past import asked_of

            given = asked_of(verb, given)
            self.engine.read()  # whatever the verb asks then, nothing that is out of sight by now
        catalogue.admit(self.caller, verb, kind, given)  # before anything is touched
        self._request = (name, given.pop("key", None), given)
        if verb.writes and self.caller.agent is None:
            self.login  # noqa: B018 (looked up now, because a decision must not)
        try:
            answer = self._carried_out(verb, given)
            if self.mirrors is not None and not verb.quiet and not name.startswith("held"):
                self._remind_of_held()
        except (Unavailable, OSError) as error:
            if not self._stored:
                raise
            answer = self._stored_all_the_same(error)
        self._warn_of_the_log()
        if self.engine is not self._lent and answer.more is None:
            self.use_own_engine()
        if self._stored:
            self.workspace.stored(self, self._stored)
        if self._warnings:
            answer = answer.replace(warnings=(*answer.warnings, *dict.fromkeys(self._warnings)))
        return answer

    def _warn_of_the_log(self) -> None:
        handle = self.engine.log.handle
        if handle.upgraded is not None:
            from moot.api.notices import of_upgrade

            self._warnings.append(of_upgrade(handle))
        if (damage := handle.damage) is not None:
            self.warn("damaged_log", f"{damage.message} All before it can be read: this goes as far. {damage.remedy}")
        if self.past is not None and self.past.said:
            self.warn("as_it_was", f"As it was at position {self.past.position}, {self.clock.wall()}.")

    def _carried_out(self, verb: Verb, given: Mapping[str, Any]) -> Answer:
        """Run it. A read does not fail because something cannot be written: see `moot.api.read_fallback`."""

        def do() -> Answer:
            if not verb.quiet:
                if self.mirrors is not None:
                    self.sync()
                if verb.name != "join":  # it judges how long the name was silent: no sign of life of the one before
                    self.stamp()
            answer: Answer = verb.does(self, **given)
            return answer

        try:
            return do()
        except Unavailable as error:
            if not self._looks or verb.name in _WHOLE_LOG:
                raise
            from moot.api.read_fallback import read_without_writing

            return read_without_writing(self, do, lambda: verb.does(self, **given), error)

    def use_own_engine(self) -> None:
        """To the views that all share, from those that one looked at beside them."""
        usual, aside = self._lent, self.engine
        if usual is not None and usual is not aside:
            self.engine = usual
            aside.store.close()

    def use_engine(self, engine: Engine) -> None:
        """Look at the workspace through another engine, until the end of the call."""
        self.engine = engine

    def _stored_all_the_same(self, error: Unavailable | OSError) -> Answer:
        """An append that was acknowledged is never answered with a failure, whatever went wrong after it."""
        from moot.api.answer import Answer

        if isinstance(error, OSError):
            if not is_exhausted(error):
                raise error
            error = too_many_open_files()
        self.warn(error.code, f"{error.message} {error.remedy}")
        return Answer(result={"position": self._stored}, say=(f"stored, up to position {self._stored}",))

    def commit(self, act: Callable[[Work], None]) -> Outcome:
        """Decide and append as the caller, under the caller's key if it gave one; then let the mirrors follow."""
        if self.past is not None:  # a verb that looks, unless it is told to do something
            from moot.time_travel import read_only

            raise read_only("Changing something")
        outcome = self.engine.commit(lambda work: self.actor(work).principal, act, self._key())
        self._kept(outcome)
        if outcome.events:
            if self.mirrors is not None:
                self.sync()
            if self.settings.handlers and not outcome.repeated:
                self._remind_of_effects(outcome)
        return outcome

    def _kept(self, outcome: Outcome) -> Outcome:
        """Remember that something is stored: from here on the answer is yes."""
        self._stored, self.outcome = outcome.last, outcome
        if outcome.behind:
            self.warn("views_behind", "Stored. The views could not be written now and will catch up later.")
        return outcome

    def put_blob(self, data: bytes) -> str:
        """Keep bytes, before the commit that names them by the SHA-256 that is returned: see `moot.engine.blobs`."""
        if self.past is not None:
            from moot.time_travel import read_only

            raise read_only("Keeping bytes")
        from moot.engine.blobs import Blobs

        return Blobs(self.place.state).put(data)

    def blob(self, digest: str) -> bytes:
        """The bytes that an event names by this SHA-256."""
        from moot.engine.blob_names import bytes_of

        return bytes_of(digest, self.place.state, self.engine.log)

    def commit_aside(self, act: Callable[[Work], None]) -> None:
        """Record something about the call itself, outside its key."""
        self.engine.commit(lambda work: self.actor(work).principal, act)

    def try_out(self, act: Callable[[Work], None]) -> Answer:
        """Decide and write nothing: the same verdict as the real thing."""
        from moot.api.answer import Answer

        def tried(work: Work) -> None:
            self.actor(work)
            act(work)

        work = self.engine.rehearse(tried)
        kinds = [draft.type for draft in work.drafts]
        return Answer(result={"would": kinds}, say=(f"would be accepted: {', '.join(kinds)}",))

    def join(self, name: str | None, free: Callable[[Work], str], act: Callable[[Work, str], None]) -> Outcome:
        """Commit before the caller is an agent: it acts under the name that it is about to have.

        Without a name it gets a `free` one, found inside the commit. Who is refused a name stays who it was.
        """
        before, wanted = self.caller, ""

        def principal(work: Work) -> str:
            nonlocal wanted
            wanted = name or free(work)
            if (before.agent or "").lower() != wanted.lower():  # the incarnation is the one of the name before
                self.caller = Caller(agent=wanted, why="joined", mark=before.mark)
            state = work.agent(wanted)
            same = state.here and state.incarnation == self.caller.incarnation
            return principals.agent(state.name, state.incarnation if same else state.incarnation + 1)

        try:
            # A key cannot be scoped by a name that is another one each time.
            key = self._key(None if name else principals.person(self.login))
            return self._kept(self.engine.commit(principal, lambda work: act(work, wanted), key))
        except BaseException:
            self.caller = before
            raise

    def sync(self) -> None:
        """Bring the mirrors into step, except where that would upgrade a log that is only looked at."""
        handle = self.engine.log.handle
        if self.mirrors is None or (handle.kept and handle.outdated):
            return
        try:
            self._warnings += self.mirrors.sync(self)
        except Unavailable as error:
            if error is not handle.damage:  # else whoever only looks can go on
                raise

    def warn(self, code: str, message: str) -> None:
        self._warnings.append(Notice(code, message))

    def _remind_of_held(self) -> None:
        """Whoever wrote into a file what could not be taken is told by the next call, whoever makes it."""
        held = queries.held_entries(self.engine.peek())
        if held and not any(warning.code == "entry_held" for warning in self._warnings):
            from moot.api import notices

            self._warnings.append(notices.of_held(held))

    def _remind_of_effects(self, outcome: Outcome) -> None:
        """Whoever causes an effect while nobody performs any is told so."""
        caused = sum(event.type == "effect:requested" for event in outcome.events)
        if caused:
            from moot.api import notices

            self._warnings += notices.of_effects(caused, self.place.state)

    def warned(self, code: str) -> list[str]:
        """What this call was warned of so far, under this code."""
        return [warning.message for warning in self._warnings if warning.code == code]

    def take_warnings(self) -> list[str]:
        """What was warned of since the last call, as sentences."""
        said, self._warnings = [warning.message for warning in self._warnings], []
        return said

    def actor(self, work: Work) -> principals.Actor:
        """The caller as the rules see it; refused when it is a stale incarnation or not here."""
        if self._acting is not None and self._acting[0] is work:
            return self._acting[1]  # asked for twice in every commit
        if self.caller.agent is not None:
            found = work.actor(self.caller.agent, self.caller.incarnation)
        elif self.caller.person:
            found = principals.Actor(principal=principals.person(self.login))
        else:
            catalogue.needs_somebody(self.caller, self._request[0])  # whatever the class of the verb says
            found = principals.Actor(principal=principals.process(self.login))
        self._acting = work, found
        return found

    @property
    def login(self) -> str:
        """The account that calls."""
        if self._login is None:
            from moot.location.account import login

            self._login = login()
        return self._login

    def me(self) -> Agent | None:
        """The calling agent as the views know it, None for anybody else."""
        if self.caller.agent is None:
            return None
        return states.agent(self.engine.read(), self.caller.agent)[0]

    def mailboxes(self) -> tuple[str, ...]:
        """The caller's own mailbox, and those of the roles it fills."""
        catalogue.needs_somebody(self.caller, self._request[0])
        me = self.me()
        if me is None:
            return (principals.person(self.login),)
        shared = (f"@{role}" for role in me.roles if role in self.packs.shared_roles)
        return (me.name, *shared)

    def silence(self, principal: str) -> float:
        """For how long the holder has not been heard of, in seconds."""
        return self.presence.silence_of(principal)

    def silent_for(self, principal: str) -> float | None:
        """The same to be shown. Of the past it is not known, and the answer says so."""
        if self.past is None:
            return round(self.silence(principal), 3)
        self.warn("presence_unknown", "Who was silent then, and for how long, is not known: presence is no event.")
        return None

    def stamp(self) -> None:
        """Leave a trace that the calling agent is alive. A look that cannot leave one is a look all the same."""
        try:
            self._stamp()
        except Unavailable as error:
            if not self._looks or error.code != "presence_unwritable":
                raise
            self.warn(error.code, error.message)

    def _stamp(self) -> None:
        caller = self.caller
        if caller.agent is not None and caller.incarnation is not None:
            self.presence.stamp(caller.agent, caller.incarnation)
            return
        if caller.agent is None:
            return
        # As the views know it: catching up would mean to wait behind all who write, for a sign of life.
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
