"""`moot`: finds the verb, opens the workspace, runs the verb, prints the answer, returns the exit code.

Every error is printed as a message with a remedy. A traceback is shown only with MOOT_DEBUG=1.
"""

from __future__ import annotations

import os
import sys

from moot.api import catalogue
from moot.core.errors import MootError, Unavailable
from moot.place.private_files import forbidden, is_exhausted, too_many_open_files
from moot.surfaces.cli import parse, voices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO

    from moot.api.answer import Answer
    from moot.api.catalogue import Verb
    from moot.surfaces.cli.parse import CommandLine

_UNREMINDED = ("guard check", "inbox", "join", "start", "wait")  # called by git, or about new mail themselves
_INTERRUPTED = 130
_BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    as_json = "--json" in words[: words.index("--") if "--" in words else None]
    if not _heard():
        return Unavailable.exit_code
    for stream in (sys.stdout, sys.stderr):
        _take_everything(stream)
    try:
        code = _run(parse.understand(words))
        _flush()
    except MootError as error:
        if is_exhausted(error):
            error = too_many_open_files()
        elif agent := parse.agent_of(words):
            from moot.api.hints import addressed

            error.remedy = addressed(error.remedy, agent)
        return _complained(error, as_json=as_json)
    except KeyboardInterrupt:
        voices.end_line()
        return _INTERRUPTED
    except voices.UnsaidError as unsaid:
        return _unsaid(unsaid)
    except BrokenPipeError:
        voices.hush(sys.stdout)
        return _BROKEN_PIPE
    except Exception as error:  # the outermost edge: reports everything
        if os.environ.get("MOOT_DEBUG"):
            raise
        failure = too_many_open_files() if is_exhausted(error) else forbidden(error) or _internal(error)
        return _complained(failure, as_json=as_json)
    return code


def _internal(error: Exception) -> Unavailable:
    return Unavailable(
        "internal_error",
        f"moot itself failed: {type(error).__name__}: {error}",
        "No acknowledged command is lost. Run it again with MOOT_DEBUG=1 and report the output.",
    )


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError as error:
        raise voices.UnsaidError(error) from error


def _complained(error: MootError, *, as_json: bool) -> int:
    """Print an error and return its exit code, even if it could not be printed."""
    try:
        voices.complain(error, as_json=as_json)
    except voices.UnsaidError:
        voices.hush(sys.stdout)
        voices.complain(error, as_json=False)
    try:
        sys.stdout.flush()
    except OSError:  # Python would try again and exit with its own code
        voices.hush(sys.stdout)
    return error.exit_code


def _unsaid(unsaid: voices.UnsaidError) -> int:
    """The output is broken: nothing was shown, so nothing more is recorded or written there."""
    voices.hush(sys.stdout)
    if unsaid.gone:
        return _BROKEN_PIPE
    failure = Unavailable(
        "output_failed",
        f"The answer could not be written to the output: {unsaid}.",
        "Redirect the output or free disk space, then try again.",
    )
    return _complained(failure, as_json=False)


def _heard() -> bool:
    """Whether standard output is open. If the caller closed it, the answer would be lost, so the verb does not run."""
    if getattr(sys, "stderr", None) is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (stays open until exit)
    if getattr(sys, "stdout", None) is not None:
        return True
    sys.stderr.write("moot: Standard output is closed, so nothing was done.\n  → Redirect it to a file or /dev/null.\n")
    return False


def _take_everything(stream: TextIO) -> None:
    """Escape characters that the output cannot encode, so that a stored command does not end in an error."""
    change = getattr(stream, "reconfigure", None)
    if change is not None:
        change(errors="backslashreplace")


def _run(line: CommandLine) -> int:
    if line.version:
        return _print_version(as_json=line.json)
    if line.verb is None and not line.help:
        return _bare(line)
    if line.verb in (None, "help") or (line.help and line.verb != "as"):
        return _teach(line)
    if line.verb == "as":
        from moot.surfaces.cli.run_as import run_as

        return run_as(line)
    if line.verb in ("completion", "complete"):
        from moot.surfaces.cli import completion

        return completion.script(line.words) if line.verb == "completion" else completion.complete(line.words)
    if line.verb not in catalogue.names() and " " not in line.verb:
        from moot.surfaces.cli.help import incomplete

        raise incomplete(line.verb)
    return _run_verb(line, parse.find(line.verb))


def _run_verb(line: CommandLine, verb: Verb) -> int:
    if verb.protocol:
        from moot.surfaces.cli.protocol_verbs import run_protocol_verb

        return run_protocol_verb(line, verb, _draw, _asking())
    arguments = parse.arguments(verb, line.words)
    if sys.stdout.isatty() and not line.json and (code := _live(line, arguments)) is not None:
        return code
    answer, reader = _answer(line, verb, arguments)
    try:
        voices.tell(answer, as_json=line.json)
    except voices.UnsaidError as unsaid:
        if not _stored(verb, arguments):
            raise
        voices.hush(sys.stdout)
        voices.tell_aside(answer, unsaid, as_json=line.json)
    if answer.unread and not line.json and not line.quiet and verb.name not in _UNREMINDED:
        voices.remind(answer.unread, reader)
    return answer.code


def _live(line: CommandLine, arguments: dict[str, Any]) -> int | None:
    """Draw `watch` or `run status --follow`, if the terminal can. The exit code, or None if it was not that."""
    watch = line.verb == "watch" and line.at is None and not arguments
    if not watch and not (line.verb == "run status" and arguments.get("follow")):
        return None
    from moot.surfaces.cli.watching import can_draw, follow_run, watch_live

    cwd, named, name = parse.directory(line), line.directory is not None, arguments.get("id")
    if not can_draw(os.environ, sys.stdout):
        return None
    return watch_live(cwd, os.environ, named=named) if watch else follow_run(cwd, name, os.environ, named=named)


def _bare(line: CommandLine) -> int:
    """`moot` without a verb."""
    from moot.surfaces.cli.situation import answer

    voices.tell(answer(line), as_json=line.json)
    return 0


def _teach(line: CommandLine) -> int:
    from moot.surfaces.cli.help import teach

    return teach(line.words if line.verb == "help" else parse.typed(line), line)


def _stored(verb: Verb, arguments: dict[str, object]) -> bool:
    """Whether the verb has changed something: then its answer must not be lost."""
    shown = verb.name == "inbox" or "dry_run" in arguments  # it records only after the answer was shown
    return verb.writes and not shown and catalogue.kind_of(verb, arguments) != "look"


def _answer(line: CommandLine, verb: Verb, arguments: dict[str, object]) -> tuple[Answer, str | None]:
    """The answer, and the name of the calling agent if the command line has to name it."""
    from moot.wiring import open_workspace

    cwd, caller = parse.directory(line), parse.caller(line)
    if line.at is not None:
        catalogue.read_only_arguments(verb, catalogue.checked(verb, arguments))  # refuse before anything is opened
    if not verb.opens:
        from moot.wiring.admin import Admin

        admin = Admin(cwd, os.environ, caller, via="cli", named=line.directory is not None)
        admin.progress, admin.ask = _draw, _asking()
        return verb.does(admin, **catalogue.checked(verb, arguments)), None
    paths = arguments.get("paths") or arguments.get("path") or arguments.get("what") or ()
    named = [paths] if isinstance(paths, str) else [str(path) for path in paths]  # type: ignore[attr-defined]
    if verb.founds and named:
        from moot.wiring.founding import workspace_directory

        pack, loose = verb.name.partition(" ")[0], not verb.in_repository
        named = [workspace_directory(named[0], cwd, os.environ, pack, caller, "cli", loose=loose)]
    workspace = open_workspace(
        cwd,
        os.environ,
        paths=named,
        at=line.at,
        progress=_draw,
        reading=verb.quiet,
        via="cli",
        named=line.directory is not None,
    )
    call = workspace.call(caller)  # both stay open until the process ends, after the answer is shown
    call.output = lambda chunk: _pass_on(sys.stderr if line.json else sys.stdout, chunk)
    call.ask, call.report = _asking(), voices.remark
    if parse.has_short_ids(arguments):
        from moot.surfaces.cli.task_ids import in_full

        call.rewrite = in_full
    answer = call.run(verb.name, arguments)
    if answer.unread is not None or answer.more is not None or answer.code or (mail := call.unread()) is None:
        return answer, None
    return answer.replace(unread=mail[0]), mail[1] if line.agent else None


def _asking() -> Callable[[tuple[str, ...], str], bool] | None:
    """What asks the person; None without a terminal."""
    return _ask if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() else None


def _ask(lines: tuple[str, ...], question: str) -> bool:
    """Ask the person at the terminal a yes-or-no question."""
    sys.stderr.write("".join(f"{line}\n" for line in (*lines, "")) + f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _pass_on(stream: TextIO, chunk: bytes) -> None:
    """Pass on the output of a running command."""
    try:
        stream.buffer.write(chunk)
        stream.buffer.flush()
    except OSError as error:
        raise voices.UnsaidError(error) from error


def _draw(what: str, done: int, of: int) -> None:
    """Show progress to a person at a terminal."""
    if sys.stderr.isatty():
        from moot.surfaces.cli.progress import draw

        draw(what, done, of)


def _print_version(*, as_json: bool) -> int:
    from moot.api.answer import Answer

    version = sys.modules["moot"].__version__  # already loaded; modules of moot do not import the package root
    voices.tell(Answer(result={"version": version}, say=(f"moot {version}",)), as_json=as_json)
    return 0
