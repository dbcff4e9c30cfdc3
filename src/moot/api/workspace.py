"""A workspace in one process: what stays the same from call to call. Several threads may open calls on it.

`moot.wiring` creates it. It does not know callers and verbs: each `Call` has its own.
"""

from __future__ import annotations

from moot.api.call import Call
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self

    from moot.api.answer import Notice
    from moot.api.pool import Pool
    from moot.api.protocol import Packs
    from moot.api.protocol.mirrors import Mirrors
    from moot.core.errors import MootError
    from moot.core.identity import Caller
    from moot.core.lifecycle import Lifecycle
    from moot.core.reactions import Reaction
    from moot.engine.clock import Clock
    from moot.engine.presence import Presence
    from moot.engine.unit_of_work import Work
    from moot.place import Place
    from moot.place.settings import Settings
    from moot.time_travel import Moment

    # What is being done, how much of it is done, and of how much: 0 if that is unknown, -1 if `done` are seconds.
    Progress = Callable[[str, int, int], None]

_MINUTE, _DAY = 60.0, 86_400.0


def quietly(_what: str, _done: int, _of: int) -> None:
    """Report no progress."""


class Workspace:
    """An open workspace. Close it to close its files."""

    def __init__(
        self,
        place: Place,
        env: Mapping[str, str],
        cwd: str,
        setup: Setup,
        clock: Clock,
        presence: Presence,
        pool: Pool,
        via: str,
    ) -> None:
        self.place = place
        self.env = env  # of the process that opened it
        self.cwd = cwd
        self.setup = setup  # replaced as a whole: calls that are opened afterwards use the new one
        self.clock = clock
        self.presence = presence
        self.via = via  # the source that its commits record
        self.past: Moment | None = None  # the moment that it shows, if that is not the present
        self.notices: tuple[Notice, ...] = ()  # warnings for every call
        self.progress: Progress = quietly
        self.load: Callable[[], Setup] = lambda: self.setup
        self.signature: Callable[[], object] = lambda: self.setup.signature  # that of moot.toml now
        self.check_log: Callable[[], None] = lambda: None  # raises if the log no longer exists
        self.pool = pool
        self._maintained = float("-inf")  # when a call last did some maintenance

    def call(self, caller: Caller, cwd: str | None = None) -> Call:
        """Open a call. Close it: until then it occupies an engine."""
        if self.past is not None:  # the incarnation is today's; in the past it may have been another
            caller = caller.replace(incarnation=None)
        if self.signature() != self.setup.signature:
            self.reload()
        return Call(self, caller, self.cwd if cwd is None else cwd)

    def reload(self) -> None:
        """Read settings and packs again: they have changed. Open calls keep those that they started with."""
        self.setup = self.load()

    def close(self) -> None:
        """Close all handles. Those of open calls are closed when the calls end."""
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stored(self, call: Call) -> None:
        """A call has stored something. At most once a minute, do some maintenance after it."""
        now = self.clock.monotonic()
        if now - self._maintained < _MINUTE:
            return
        self._maintained = now
        if self.clock.has_rested(f"{self.place.state}/swept", _DAY):
            from moot.engine.sweeping import sweep

            sweep(self.place.state, call.engine.log)


class Setup(Record):
    """The settings and packs in force. Replaced as a whole: an open call keeps the setup that it started with."""

    settings: Settings
    packs: Packs
    lifecycles: Mapping[str, Lifecycle]
    reactions: Sequence[Reaction]
    rules: Mapping[str, Any] = {}  # the settings that can weaken a rule: see `moot.place.settings.rules`
    in_force: str | None = ""  # the same in the form in which the log has them; None: unknown
    closers: Sequence[Callable[[Work], None]] = ()  # of the packs, run after everything else is decided
    requests: Callable[[Work, str], None] | None = None  # requests effects, if there are handlers
    mirrors: Mirrors | None = None
    signature: Any = None  # of moot.toml
    problem: MootError | None = None  # why moot.toml cannot be used: then these are the defaults
