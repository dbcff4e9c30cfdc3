"""The one way to run an allowed command: of a handler, an agent, or a stage.

It gets its brief on standard input, or as the argument that is exactly `{brief}`. It runs with the program and the
files that `moot.runs.consent` pinned, and with a reduced environment. Each run gets new private copies of the files
that the command names, in a directory outside the workspace that only this account can enter: it runs the allowed bytes
even if the files change. At its time limit the whole process group is ended.

This module knows neither runs nor the log. It can be used by several threads.
"""

from __future__ import annotations

import os
import tempfile  # noqa: TID253 (this module itself is loaded on demand)
from contextlib import ExitStack

from moot.core.errors import Refused, Unavailable
from moot.core.record import Record
from moot.engine.sweeping import RUN, sweep_rooms
from moot.place import environment, processes, user_state
from moot.place.private_files import outside
from moot.runs.consent import interpreter, is_elsewhere, not_allowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from moot.core.handler import Handler
    from moot.place.processes import Ran
    from moot.runs.consent import Consent, PinnedHandler

BRIEF, FILES = "{brief}", "{files}"
EXAMPLE = '["claude", "-p", "--permission-mode", "acceptEdits"]'  # of an agent that can write files
LONGEST_ARGUMENT = 100_000  # bytes; Linux accepts 131,071 in one argument
_KEPT = 1 << 20  # bytes of output, the last ones
_EVERY = 1.0  # seconds between calls of `alive`
_NO_EXECUTION = getattr(os, "ST_NOEXEC", 8)


class CannotStart(Exception):
    """The command cannot be started. The text is the reason."""


class CommandInput(Record):
    """What a command gets besides its words: its brief, its variables, and how it is watched."""

    brief: str
    env: Mapping[str, str]  # the environment that its own is made from
    own: Mapping[str, str]  # its own variables
    alive: Callable[[], object] | None = None  # called about every second
    show: Callable[[bytes], object] | None = None
    hold: tuple[int, ...] = ()  # lock files that it inherits, to show that it still runs
    started: Callable[[int, int | None], object] | None = None  # see `processes.run`
    words: Mapping[str, str] = {}  # what replaces a word of the command, such as `{source}`
    files: tuple[str, ...] = ()  # see `with_files`
    cancel: Callable[[], bool] | None = None  # whether to end it now
    mark: str = ""  # in the environment of all processes that it starts
    cwd: str = ""  # another directory than that of the command, for a project outside any repository
    keep: int = _KEPT
    apart: bool = True  # standard error is kept separately
    leave: bool = False  # what it leaves in the background goes on


def obstacle(pinned: PinnedHandler) -> str | None:
    """Why the command cannot be run now; None if nothing is in the way."""
    words = pinned.handler.run
    if pinned.trouble is not None:
        return pinned.trouble
    if any(file.word == 0 for file in pinned.files):
        return None
    if pinned.program is not None:
        lacks = _lacks_script(pinned)
        return f"{words[0]} cannot be run: there is no file {words[1]} in the workspace" if lacks else None
    why = "it is not in PATH (directories of the workspace are not searched)"
    if os.sep in words[0]:
        exists = os.path.exists(os.path.join(pinned.cwd, words[0]))
        why = "Permission denied" if exists else "No such file or directory"
    return f"{words[0]} cannot be run: {why}"


def granted(consent: Consent, command: Handler, others: Iterable[Handler] = ()) -> PinnedHandler:
    """The command as it was allowed. Raises if nobody allowed it, or it cannot be run.

    `others`: commands that are needed later. The error also names those that nobody has allowed.
    """
    pinned = consent.granted(command)
    why = obstacle(pinned if pinned is not None else consent.pinned(command))
    if why is not None:
        raise Refused(
            "command_unusable",
            f"{command.name} cannot be used: {why}.",
            "Correct it in moot.toml, or install the program.",
            command=command.name,
        )
    if pinned is None:
        rest = [one for one in others if one.name != command.name and consent.granted(one) is None]
        raise not_allowed(consent, [command, *rest])
    return pinned


def run(pinned: PinnedHandler, given: CommandInput) -> Ran:
    """Run the allowed command to its end. Raises `CannotStart`."""
    handler, content = pinned.handler, given.brief.encode("utf-8", "replace")
    if (why := obstacle(pinned)) is not None:
        raise CannotStart(why)
    argument = BRIEF in handler.run
    if argument and len(content) > LONGEST_ARGUMENT:
        raise CannotStart(
            f"its brief has {len(content):,} bytes, which is too long for an argument: without {BRIEF} in the "
            "command, it gets the brief on standard input"
        )
    roots = (*pinned.roots, given.cwd) if given.cwd else pinned.roots
    script = {} if pinned.script is None else {"MOOT_SCRIPT": pinned.script}
    with ExitStack() as stack:
        try:
            named = {0: pinned.program or "", **_copies(pinned, given.env, stack)}
        except OSError as error:
            raise CannotStart(f"its files cannot be copied: {error.strerror}") from error
        words = {BRIEF: given.brief, **given.words}
        argv = [named.get(number) or words.get(word, word) for number, word in enumerate(handler.run)]
        try:
            return processes.run(
                with_files(argv, given.files),
                cwd=given.cwd or pinned.cwd,
                env={**environment.allowed(handler, given.env, *roots), **script, **given.own},
                keep=given.keep,
                apart=given.apart,
                stdin=b"" if argument else content,
                timeout=handler.timeout,
                show=given.show,
                alive=given.alive,
                cancel=given.cancel,
                every=_EVERY,
                hold=given.hold,
                leave=given.leave,
                started=given.started,
                mark=given.mark,
            )
        except processes.NotStarted as error:
            raise CannotStart(f"{handler.run[0]} cannot be run: {error.why}") from error


def with_files(words: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """The words of a command, with these files in place of `{files}`, or else at the end."""
    at = words.index(FILES) if FILES in words else len(words)
    return (*words[:at], *files, *words[at + 1 :])


def _lacks_script(pinned: PinnedHandler) -> bool:
    """Whether an interpreter gets a script that did not exist when its files were read. It may exist by now."""
    words = pinned.handler.run
    if not interpreter(words[0]) or len(words) == 1 or words[1][:1] == "-":
        return False
    path = os.path.join(pinned.cwd, words[1])
    return not (any(file.word == 1 for file in pinned.files) or is_elsewhere(path, pinned.roots) or os.path.isdir(path))


def _copies(pinned: PinnedHandler, env: Mapping[str, str], stack: ExitStack) -> dict[int, str]:
    """The words of the command that name a file, changed to name its copy, which is there as long as the stack."""
    words = {}
    room = ""
    for file in pinned.files:
        if file.text:
            continue
        if not room:
            made = tempfile.TemporaryDirectory(prefix=RUN, dir=_place(pinned.roots, env), ignore_cleanup_errors=True)
            room = stack.enter_context(made)
        path = os.path.join(room, str(file.word), os.path.basename(file.path))
        os.mkdir(os.path.dirname(path), 0o700)
        copy = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(copy, "wb") as stream:
            stream.write(file.content)
            os.fchmod(copy, file.mode & 0o755 | 0o400)
        words[file.word] = f"{file.before}{path}"
    return words


def _place(roots: tuple[str, ...], env: Mapping[str, str]) -> str:
    """The directory for temporary files; another one if that is in the workspace or does not allow execution."""
    place = os.path.realpath(env.get("TMPDIR") or tempfile.gettempdir())
    try:
        user_state.check_way(place)
        if outside(place, *roots) and not os.statvfs(place).f_flag & _NO_EXECUTION:
            return place
    except (OSError, Unavailable):
        pass  # it does not exist, or others can write to it
    place = os.path.join(user_state.home(env), "run")
    os.makedirs(place, 0o700, exist_ok=True)
    user_state.check_way(place)
    sweep_rooms(place)
    return place
