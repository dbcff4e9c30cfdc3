"""A workspace in a Python program: opening it, who one is in it, and following what happens.

    with Workspace("path/to/repository") as ws:
        ws.join("Yeats")
        ws.send("Blake", "The parser is on main.")
        for event in ws.follow(types="task:*", timeout=60):
            ...

and in a program that runs on asyncio: `async for event in ws.follow_async(types="task:*"): ...`

The verbs themselves are in `moot.surfaces.python.verbs`.
"""

from __future__ import annotations

import os
from itertools import chain

from moot.api import catalogue
from moot.core.errors import Usage
from moot.core.identity import decide
from moot.surfaces.python.edge import EDGE, edged
from moot.surfaces.python.verbs import Verbs
from moot.wiring import open_session
from moot.wiring.workshop import Workshop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence
    from types import TracebackType
    from typing import Any, Self

    from moot.api.answer import Answer, Notice
    from moot.api.session import Session
    from moot.api.verbs.care import Finding, Restored
    from moot.core.event import Event
    from moot.surfaces.python.following import Follower
    from moot.surfaces.python.verbs import Some

    Path = str | os.PathLike[str]


class Workspace(Verbs):
    """One caller in one workspace. Use each from one thread only, and open another one in another thread.

    The caller is `agent`, or with `person=True` the person whose account it is. With neither it is the agent that
    MOOT_AGENT names, or a person if MOOT_PERSON is set (though never in a coding agent's shell), or else nobody, who
    may look and join, and change nothing. `warnings` are those of the last call: what one should know although it went
    through.

    MOOT_WORKSPACE overrides where the program is, but no other `path` than that.

    With `at` (a position, a time, or how long ago: 1200, "2031-05-08T09:30Z", "2h") it is the workspace as it was then,
    and nothing can be changed or followed.
    """

    def __init__(
        self,
        path: Path = ".",
        agent: str | None = None,
        incarnation: int | None = None,
        *,
        person: bool = False,
        at: str | int | None = None,
    ) -> None:
        self.warnings: tuple[Notice, ...] = ()
        self._followers: set[Follower] = set()
        caller = decide(os.environ, agent=agent, incarnation=incarnation, person=person)
        self._session: Session | None = None
        with EDGE:
            self._session = open_session(_absolute(path), os.environ, caller=caller, at=at, named=_is_named(path))

    @classmethod
    def init(
        cls, path: Path = ".", packs: str | Sequence[str] = (), *, agent: str | None = None, person: bool = False
    ) -> Self:
        """Make a repository (or a folder) a workspace, and open it. Doing it again changes nothing."""
        wanted = (packs,) if isinstance(packs, str) else tuple(packs)
        caller = decide(os.environ, agent=agent, person=person)
        with EDGE:
            Workshop(_absolute(path), os.environ, caller, named=_is_named(path)).create(wanted)
        return cls(path, agent=agent, person=person)

    @staticmethod
    def doctor(path: Path = ".") -> list[Finding]:
        """Look for what could go wrong here. Raises `Refused` when something is wrong already."""
        with EDGE:
            workshop = Workshop(_absolute(path), os.environ, decide(os.environ), named=_is_named(path))
            findings: list[Finding] = catalogue.find("doctor").does(workshop).result
        return findings

    @staticmethod
    def restore(file: Path, path: Path, *, force: bool = False, person: bool = False) -> Restored:
        """Put a backup in place of the log of a workspace. Those who have it open go on with the restored one."""
        caller = decide(os.environ, person=person)
        with EDGE:
            workshop = Workshop(_absolute(path), os.environ, caller, named=_is_named(path))
            restored: Restored = workshop.restore(_absolute(file), force=force)
        return restored

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is open. It does not leave: the agent may go on in another process."""
        session, self._session = self._session, None
        for follower in tuple(self._followers):
            follower.stop()
        if session is not None:
            session.come_back()
            session.engine.log.close()
            session.engine.store.close()

    @property
    def root(self) -> str:
        """The directory of the worktree."""
        return self._opened().place.root

    @property
    def agent(self) -> str | None:
        """Which agent calls; None if none does."""
        return self._opened().caller.agent

    @property
    def incarnation(self) -> int | None:
        """Which incarnation of the agent calls; None if it does not say."""
        return self._opened().caller.incarnation

    def follow(
        self,
        *,
        types: Some = (),
        streams: Some = (),
        after: int | None = None,
        timeout: float | str | None = None,
    ) -> Iterator[Event]:
        """Events as they come: those past `after`, or past this very call; without end, or for `timeout` seconds.

        `task:*` fits all events of tasks, `mailbox/*` all streams of mailboxes. Who follows counts as present.
        """
        session, after, end, fitting = self._followed(types, streams, after, timeout)
        return self._following(session, after, end, *fitting)

    def follow_async(
        self,
        *,
        types: Some = (),
        streams: Some = (),
        after: int | None = None,
        timeout: float | str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """What `follow` does, for `async for`: the loop goes on meanwhile, and several may follow in it.

        A thread and a session of its own wait for events, as the agent that calls now. They end with the follower:
        when its time is over, its task is cancelled, it is closed, or the workspace is.
        """
        from moot.surfaces.python.following import Follower

        session, after, end, fitting = self._followed(types, streams, after, timeout)
        return self._following_async(Follower(session, after, end, *fitting))

    def _followed(
        self, types: Some, streams: Some, after: int | None, timeout: float | str | None
    ) -> tuple[Session, int, float | None, tuple[tuple[str, ...], tuple[str, ...]]]:
        """The arguments of a follower, checked at the call and not at the first event."""
        from moot.api.verbs.events import check_types

        session = self._opened()
        if session.past is not None:
            raise Usage("past_is_read_only", "Nothing more comes in the past.", "Open the workspace without `at`.")
        asked = {"type": types, "stream": streams, "after": after, "timeout": timeout}
        given = catalogue.checked(catalogue.find("wait"), asked)
        check_types(given["type"])
        end = None if timeout is None else session.clock.monotonic() + given["timeout"]
        with EDGE:
            start = session.engine.log.head() if after is None else given["after"]
        return session, start, end, (given["type"], given["stream"])

    def watch(self) -> Iterator[Notice]:
        """Keep the packs' files and the log in step, without end. What comes is what could not be done."""
        answer = self._answer("mirror", {"watch": True})
        return chain(answer.warnings, (later.result for later in edged(iter(answer.more or ()))))

    def _following(
        self, session: Session, after: int, end: float | None, types: tuple[str, ...], streams: tuple[str, ...]
    ) -> Iterator[Event]:
        from moot.api.following import follow

        for heard in edged(follow(session, after, types, streams, end=end)):
            if not heard.events:
                self._opened()
                self.warnings = heard.warnings
            for event in heard.events:
                yield event
                self._opened()

    async def _following_async(self, follower: Follower) -> AsyncGenerator[Event, None]:
        self._opened()
        follower.start()
        self._followers.add(follower)
        try:
            while (heard := await follower.next()) is not None:
                self._opened()
                self.warnings = heard.warnings or self.warnings
                for event in heard.events:
                    yield event
                    self._opened()
            self._opened()
            if follower.failure is not None:
                with EDGE:
                    raise follower.failure
        finally:
            self._followers.discard(follower)
            follower.stop()
            await follower.ended()

    def _opened(self) -> Session:
        if self._session is None:
            raise Usage("workspace_closed", "This workspace was closed.", "Open it again: Workspace(path).")
        return self._session

    def _ask(self, verb: str, given: dict[str, Any]) -> Any:
        given.pop("self", None)  # the names and values of a method, which are nobody else's
        answer = self._answer(verb, given)
        if answer.after is not None:
            with EDGE:
                answer.after()  # here, returning a value is showing it
        return answer.result

    def _ask_on(self, verb: str, given: dict[str, Any]) -> Iterator[Any]:
        given.pop("self", None)
        answer = self._answer(verb, given)
        first = getattr(answer.result, "effects", answer.result)
        return chain(first, (later.result for later in edged(iter(answer.more or ())) if later.result is not None))

    def _answer(self, verb: str, arguments: dict[str, Any]) -> Answer:
        session = self._opened()
        before = session.caller
        try:
            with EDGE:
                answer = session.run(verb, arguments)
        except BaseException:
            session.caller = before  # a refused join leaves one who one was
            raise
        self.warnings = answer.warnings
        return answer

    def __repr__(self) -> str:
        if self._session is None:
            return "Workspace(closed)"
        return f"Workspace({self.root!r}, agent={self.agent!r}, incarnation={self.incarnation!r})"


def _is_named(path: Path) -> bool:
    """Whether the caller chose a directory, which MOOT_WORKSPACE then does not override."""
    return os.fspath(path) != "."


def _absolute(path: Path) -> str:
    return os.path.abspath(os.fspath(path))
