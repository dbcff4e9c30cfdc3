"""The workspace in a Python program: opening it, its identity, and following events.

    with Workspace("path/to/repository") as ws:
        ws.join("Yeats")
        ws.send("Blake", "The parser is on main.")
        for event in ws.follow(types="task:*", timeout=60):
            ...

With asyncio: `async for event in ws.follow_async(types="task:*"): ...`

The verbs themselves are in `moot.surfaces.python.verbs`.
"""

from __future__ import annotations

import os
from _thread import _local  # `threading.local` without importing `threading`
from itertools import chain

from moot.api import catalogue
from moot.api.pool import closed
from moot.core.errors import Usage
from moot.core.identity import decide
from moot.surfaces.python.edge import EDGE, edged
from moot.surfaces.python.verbs import Verbs
from moot.wiring import open_workspace
from moot.wiring.admin import Admin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence
    from types import TracebackType
    from typing import Any, Self, TypeVar

    from moot.api.answer import Answer, Notice
    from moot.api.call import Call
    from moot.api.protocol.pack_methods import PackMethods
    from moot.api.removal import Removal
    from moot.api.verbs.runs.status import RunStatus, WavesStatus
    from moot.api.verbs.workspace import Finding, RestoreResult
    from moot.api.workspace import Workspace as Opened
    from moot.core.event import Event
    from moot.surfaces.python.following import Follower
    from moot.surfaces.python.verbs import Some

    T = TypeVar("T")
    M = TypeVar("M", bound=PackMethods)
    Path = str | os.PathLike[str]


class Workspace(Verbs):
    """One caller in one workspace. Several threads may use it at once; each verb is a separate call.

    The caller is `agent`, or with `person=True` the person who owns the account. With neither, it is the agent that
    MOOT_AGENT names, or a person if MOOT_PERSON is set (but never in a coding agent's shell). Otherwise the caller is
    unidentified, and can only read and join. `warnings` holds the warnings of the last call in this thread.

    MOOT_WORKSPACE overrides the default `path`, but not an explicit one.

    With `at` (a position, a time or an age: 1200, "2031-05-08T09:30Z", "2h"), it is the workspace as of that moment,
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
        self._last = _local()
        self._followers: set[Follower] = set()
        caller = decide(os.environ, agent=agent, incarnation=incarnation, person=person)
        self._caller = caller if at is None else caller.replace(incarnation=None)
        self._workspace: Opened | None = None
        with EDGE:
            self._workspace = open_workspace(_absolute(path), os.environ, at=at, named=_is_named(path))

    @classmethod
    def init(
        cls,
        path: Path = ".",
        packs: str | Sequence[str] = (),
        *,
        exclude: bool = True,
        agent: str | None = None,
        person: bool = False,
    ) -> Self:
        """Create a workspace in a repository or a folder, and open it. Repeating it changes nothing.

        With `exclude`, git ignores the files of the packs.
        """
        wanted = (packs,) if isinstance(packs, str) else tuple(packs)
        caller = decide(os.environ, agent=agent, person=person)
        with EDGE:
            Admin(_absolute(path), os.environ, caller, named=_is_named(path)).create(wanted, exclude=exclude)
        return cls(path, agent=agent, person=person)

    @staticmethod
    def doctor(path: Path = ".") -> list[Finding]:
        """Check the workspace for problems. Raises `Refused` if there is one."""
        with EDGE:
            admin = Admin(_absolute(path), os.environ, decide(os.environ), named=_is_named(path))
            findings: list[Finding] = catalogue.find("doctor").does(admin).result
        return findings

    @staticmethod
    def restore(file: Path, path: Path, *, force: bool = False, person: bool = False) -> RestoreResult:
        """Replace the log of a workspace with a backup. Processes that have it open continue with the restored log."""
        caller = decide(os.environ, person=person)
        with EDGE:
            admin = Admin(_absolute(path), os.environ, caller, named=_is_named(path))
            restored: RestoreResult = admin.restore(_absolute(file), force=force)
        return restored

    @staticmethod
    def deinit(path: Path, *, force: bool = False, person: bool = False) -> Removal:
        """Remove the workspace with its whole log. Only for people; does not ask."""
        caller = decide(os.environ, person=person)
        with EDGE:
            admin = Admin(_absolute(path), os.environ, caller, named=_is_named(path))
            removal: Removal = catalogue.find("deinit").does(admin, yes=True, force=force).result
        return removal

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all handles. The agent does not leave: it may continue in another process."""
        workspace, self._workspace = self._workspace, None
        for follower in tuple(self._followers):
            follower.stop()
        if workspace is not None:
            workspace.close()

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """The warnings of the last call in this thread."""
        found: tuple[Notice, ...] = getattr(self._last, "warnings", ())
        return found

    @property
    def root(self) -> str:
        """The directory of the worktree."""
        return self._opened().place.root

    @property
    def agent(self) -> str | None:
        """The calling agent, if any."""
        self._opened()
        return self._caller.agent

    @property
    def incarnation(self) -> int | None:
        """The incarnation of the calling agent, if known."""
        self._opened()
        return self._caller.incarnation

    def pack(self, methods: type[M]) -> M:
        """The verbs that a pack brings, as methods of the class `methods`. A verb raises if its pack is not active."""
        return methods(self._ask, self._ask_on)

    def put_blob(self, data: bytes) -> str:
        """Store bytes and return their SHA-256. If no event names it, they are removed after a day."""
        with EDGE, self._call() as call:
            catalogue.needs_somebody(call.caller, "")
            return call.put_blob(data)

    def blob(self, sha256: str) -> bytes:
        """The bytes with this SHA-256."""
        with EDGE, self._call() as call:
            return call.blob(sha256)

    def follow(
        self,
        *,
        types: Some = (),
        streams: Some = (),
        task: str | None = None,
        after: int | None = None,
        timeout: float | str | None = None,
    ) -> Iterator[Event]:
        """Yield events after the position `after`, or after this call: forever, or for `timeout` seconds.

        `task:*` matches all events of tasks, `mailbox/*` all streams of mailboxes; `task` is the id of a task, for
        the events about it. A follower counts as present.
        """
        after, end, fitting = self._followed(types, streams, task, after, timeout)
        return self._following(after, end, *fitting)

    def follow_async(
        self,
        *,
        types: Some = (),
        streams: Some = (),
        task: str | None = None,
        after: int | None = None,
        timeout: float | str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Like `follow`, for `async for`. It does not block the event loop; several followers can run in one loop.

        A thread with its own call waits for events, as the current agent. Both end with the follower: at its timeout,
        when its task is cancelled, or when the follower or the workspace is closed.
        """
        from moot.surfaces.python.following import Follower

        after, end, fitting = self._followed(types, streams, task, after, timeout)
        return self._following_async(Follower(self._opened(), self._caller, after, end, *fitting))

    def _followed(
        self, types: Some, streams: Some, task: str | None, after: int | None, timeout: float | str | None
    ) -> tuple[int, float | None, tuple[tuple[str, ...], tuple[str, ...], str | None]]:
        """The arguments of a follower, checked at the call rather than at the first event."""
        from moot.api.explain import about_task
        from moot.api.verbs.events import check_types

        workspace = self._opened()
        if workspace.past is not None:
            raise Usage(
                "past_is_read_only", "A workspace of the past has no new events.", "Open the workspace without `at`."
            )
        asked = {"type": types, "stream": streams, "after": after, "timeout": timeout}
        given = catalogue.checked(catalogue.find("wait"), asked)
        check_types(given["type"])
        end = None if timeout is None else workspace.clock.monotonic() + given["timeout"]
        start = given["after"]
        with EDGE, workspace.call(self._caller) as call:
            start = call.engine.log.head() if after is None else start
            about_task(call, task)  # raises if there is no such task
        return start, end, (given["type"], given["stream"], task)

    def mirror_watch(self) -> Iterator[Notice]:
        """Keep the packs' files in sync with the log, forever. Yields notices of what failed."""
        with EDGE:
            call, answer = self._called("mirror", {"watch": True})
        return chain(answer.warnings, (later.result for later in _held(call, answer.more or iter(()))))

    def run_follow(self, id: str | None = None) -> Iterator[RunStatus | WavesStatus]:  # noqa: A002
        """The status of a run whenever it changes, until the run has ended."""
        return self._ask_on("run status", {"id": id, "follow": True})

    def _following(
        self, after: int, end: float | None, types: tuple[str, ...], streams: tuple[str, ...], task: str | None
    ) -> Iterator[Event]:
        from moot.api.following import follow

        with EDGE:
            call = self._call()
        for heard in _held(call, follow(call, after, types, streams, task=task, end=end)):
            if not heard.events:
                self._opened()
                self._last.warnings = heard.warnings
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
                self._last.warnings = heard.warnings or self.warnings
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

    def _opened(self) -> Opened:
        if self._workspace is None:
            raise closed()
        return self._workspace

    def _call(self) -> Call:
        return self._opened().call(self._caller)

    def _ask(self, verb: str, given: dict[str, Any]) -> Any:
        given.pop("self", None)  # `given` is the `locals()` of the calling method
        with EDGE:
            call, answer = self._called(verb, given)
            if answer.more is None:
                with call:
                    if answer.after is not None:
                        answer.after()  # returning the value counts as showing it
                return answer.result
        return _held(call, answer.result)  # the answer is an iterator

    def _ask_on(self, verb: str, given: dict[str, Any]) -> Iterator[Any]:
        given.pop("self", None)
        with EDGE:
            call, answer = self._called(verb, given)
        first = getattr(answer.result, "effects", answer.result)
        if answer.more is None:
            call.close()
            return iter(first)
        return chain(first, (more.result for more in _held(call, answer.more) if more.result is not None))

    def _called(self, verb: str, arguments: dict[str, Any]) -> tuple[Call, Answer]:
        """Run a verb. The caller closes the returned call after it has shown the answer."""
        call = self._call()
        before = call.caller
        try:
            answer = call.run(verb, arguments)
        except BaseException as error:  # a refused join keeps the previous identity
            call.__exit__(type(error), error, None)
            raise
        if call.caller is not before:
            self._caller = call.caller
        self._last.warnings = answer.warnings
        return call, answer

    def __repr__(self) -> str:
        if self._workspace is None:
            return "Workspace(closed)"
        return f"Workspace({self.root!r}, agent={self.agent!r}, incarnation={self.incarnation!r})"


def _held(call: Call, items: Iterator[T]) -> Iterator[T]:
    """Yield the items; close the call when they end or the consumer stops."""
    with call:
        try:
            yield from edged(items)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()


def _is_named(path: Path) -> bool:
    """Whether the caller named a directory; MOOT_WORKSPACE then does not override it."""
    return os.fspath(path) != "."


def _absolute(path: Path) -> str:
    return os.path.abspath(os.fspath(path))
