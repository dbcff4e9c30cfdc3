"""A workspace in one process: what stays from call to call. Calls may be opened on it from several threads.

`moot.wiring` makes one. Who asks, and for what, is the `Call`'s to know.
"""

from __future__ import annotations

from moot.api.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from moot.api.answer import Notice
    from moot.api.pool import Pool
    from moot.api.setup import Setup
    from moot.core.identity import Caller
    from moot.engine.clock import Clock
    from moot.engine.presence import Presence
    from moot.engine.tracing import Tracing
    from moot.location import Place
    from moot.settings.rules import Rules
    from moot.time_travel import Moment

    Progress = Callable[[str, int, int], None]  # what is being done, how much of it, of how much
    # A setup, what gives the id of the log, the rules that it has recorded: which ones are in force now.
    Judge = Callable[[Setup, Callable[[], str], str], Rules]

_SELDOM, _MINUTE, _DAY = 60.0, 60.0, 86_400.0


def quietly(_what: str, _done: int, _of: int) -> None:
    """Progress that nobody watches."""


class Workspace:
    """See the module."""

    def __init__(
        self,
        place: Place,
        env: Mapping[str, str],
        cwd: str,
        setup: Setup,
        clock: Clock,
        presence: Presence,
        pool: Pool,
        judge: Judge,
        via: str,
    ) -> None:
        self.place = place
        self.env = env  # of the process that opened it
        self.cwd = cwd
        self.setup = setup  # replace it whole: calls that are opened from then on go by the new one
        self.clock = clock
        self.presence = presence
        self.via = via  # what commits say about how they came in
        self.past: Moment | None = None  # the moment it is opened at, if it is not the present
        self.notices: tuple[Notice, ...] = ()  # warnings that hold for every call
        self.progress: Progress = quietly
        self.tracing: Tracing | None = None
        self.judge = judge
        self.load: Callable[[], Setup] = lambda: self.setup
        self.check_log: Callable[[], None] = lambda: None  # raises if the log is not in its place any more
        self.pool = pool
        self._judged = setup, setup  # a setup, and what became of it when the rules were last judged
        self._swept = float("-inf")  # when it was last asked whether it is time to sweep
        self._remembered = float("-inf")  # when the end of the log was last put on record

    def call(self, caller: Caller, cwd: str | None = None) -> Call:
        """Open a call. Close it: until then it has an engine of its own."""
        if self.past is not None:  # the incarnation is the caller's of today; then, it may have been another one
            caller = caller.replace(incarnation=None)
        return Call(self, caller, self.cwd if cwd is None else cwd)

    def reload(self) -> None:
        """Read settings and packs again. Calls that are open keep those they began with."""
        self.setup = self.load()

    def current(self) -> tuple[Setup, Setup]:
        """The setup, and the same with the rules in force that were judged last."""
        setup, (of, judged) = self.setup, self._judged
        return setup, judged if of is setup else setup

    def judged(self, setup: Setup, rules: Rules) -> Setup:
        """A setup with these rules in force. Calls that are opened from now on need not judge it again."""
        found = setup.under(rules)
        self._judged = setup, found
        return found

    def close(self) -> None:
        """Close all handles; those of open calls when these end."""
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stored(self, call: Call, position: int) -> None:
        """A call has stored something: from time to time, more is to be done."""
        now = self.clock.monotonic()
        if now - self._remembered >= _SELDOM:
            from moot.engine.commit_record import remember_now_and_then

            self._remembered = now
            remember_now_and_then(self.env, self.place.state, call.engine.log, position)
        if now - self._swept >= _MINUTE:  # a caller that stores much need not ask each time
            self._swept = now
            if self.clock.has_rested(f"{self.place.state}/swept", _DAY):
                from moot.engine.sweeping import sweep

                sweep(self.place.state, call.engine.log)
