"""The commands of agents in `moot.toml` (`[run.PACK]`), which `moot run PACK` starts.

A command comes with the repository, so it runs only while a person allows its exact content, like a handler: consent,
the pinned program and files, and the reduced environment are the same. It gets its brief on standard input, or as the
argument that is exactly `{brief}`. It knows neither runs nor the log.
"""

from __future__ import annotations

from contextlib import ExitStack

from moot.core.handler import Handler
from moot.core.record import Record
from moot.effects.commands import copies, no_program, words_of
from moot.place import environment, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from moot.effects.pinned import PinnedHandler
    from moot.place.processes import Ran

BRIEF = "{brief}"
LONGEST_ARGUMENT = 100_000  # bytes; Linux accepts 131,071 in one argument
_KEPT = 1 << 20  # bytes of output, the last ones
_EVERY = 1.0  # seconds between calls of `alive`


class CannotStart(Exception):
    """The command cannot be started. The text is the reason."""


class AgentInput(Record):
    """What a command gets besides its words: its brief, the variables of its agent, and how it is watched."""

    brief: str
    env: Mapping[str, str]  # the environment that it is made from
    own: Mapping[str, str]  # variables that identify the agent
    alive: Callable[[], object]
    show: Callable[[bytes], object] | None = None
    hold: int | None = None  # a lock file that the command inherits, to show that it still runs
    started: Callable[[int, int | None], object] | None = None  # see `processes.run`
    words: Mapping[str, str] = {}  # what replaces a word of the command, such as `{source}`
    cancel: Callable[[], bool] | None = None  # whether to end it now
    mark: str = ""  # in the environment of all processes that it starts
    cwd: str = ""  # another directory than the root of the workspace, for a project outside any repository


def commands_of(runs: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> tuple[Handler, ...]:
    """The commands in the settings. Each is called `PACK.STAGE`."""
    return tuple(
        Handler.of({**fields, "name": f"{pack}.{stage}", "on": [], "pack": pack, "stage": stage})
        for pack, stages in runs.items()
        for stage, fields in stages.items()
    )


def obstacle(pinned: PinnedHandler) -> str | None:
    """Why the command cannot be run now; None if nothing is in the way."""
    if pinned.trouble is not None:
        return pinned.trouble
    runs = pinned.program is not None or any(file.word == 0 for file in pinned.files)
    return None if runs else f"{pinned.handler.run[0]} cannot be run: {no_program(pinned)}"


def run(pinned: PinnedHandler, given: AgentInput) -> Ran:
    """Run the allowed command to its end. Everything in its process group ends with it. Raises `CannotStart`."""
    handler, content = pinned.handler, given.brief.encode("utf-8", "replace")
    roots = (*pinned.roots, given.cwd) if given.cwd else pinned.roots
    with ExitStack() as stack:
        try:
            words = words_of(pinned, stack.enter_context(copies(pinned, given.env)))
        except OSError as error:
            raise CannotStart(f"its files cannot be copied: {error.strerror}") from error
        if words is None:
            raise CannotStart(f"{handler.run[0]} cannot be run: {no_program(pinned)}")
        argument = BRIEF in words
        if argument and len(content) > LONGEST_ARGUMENT:
            raise CannotStart(
                f"its brief has {len(content):,} bytes, which is too long for an argument: without {BRIEF} in the "
                "command, it gets the brief on standard input"
            )
        try:
            return processes.run(
                [given.brief if word == BRIEF else given.words.get(word, word) for word in words],
                cwd=given.cwd or pinned.cwd,
                env={**environment.allowed(handler, given.env, *roots), **_script(pinned), **given.own},
                keep=_KEPT,
                apart=True,
                stdin=b"" if argument else content,
                timeout=handler.timeout,
                show=given.show,
                alive=given.alive,
                cancel=given.cancel,
                every=_EVERY,
                hold=() if given.hold is None else (given.hold,),
                leave=False,
                started=given.started,
                mark=given.mark,
            )
        except processes.NotStarted as error:
            raise CannotStart(f"{handler.run[0]} cannot be run: {error.why}") from error


def _script(pinned: PinnedHandler) -> dict[str, str]:
    return {} if pinned.script is None else {"MOOT_SCRIPT": pinned.script}
