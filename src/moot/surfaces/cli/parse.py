"""Parses a command line into a verb and its arguments, by the catalogue. Knows no verb by name."""

from __future__ import annotations

import os
import sys

from moot.api import catalogue
from moot.core.errors import Usage
from moot.core.identity import decide
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.api.catalogue import Param, Verb
    from moot.core.identity import Caller

TAUGHT = ("as", "help", "completion")  # verbs of the command line that the catalogue does not have
OWN = (*TAUGHT, "complete")  # called by the completion script
ALIASES = {"ask": "checkpoint reach"}  # other names of verbs, on the command line alone
_DIGITS = 10  # of the numbers in task ids
_READ_LIMIT = 64 * 1024 * 1024
GLOBAL_FLAGS = {
    "--json": "json",
    "--person": "person",
    "--quiet": "quiet",
    "--help": "help",
    "-h": "help",
    "--version": "version",
}
GLOBAL_VALUES = {"-C": "directory", "--agent": "agent", "--at": "at"}


class CommandLine(Record):
    """A parsed command line."""

    verb: str | None
    words: tuple[str, ...]  # the verb's own words
    json: bool = False
    help: bool = False
    version: bool = False
    directory: str | None = None
    agent: str | None = None
    person: bool = False
    quiet: bool = False
    at: str | None = None
    alias: str = ""  # the alias that was typed


def understand(argv: Sequence[str]) -> CommandLine:
    """Find the verb and the global options; the rest belongs to the verb."""
    found: dict[str, Any] = {}
    rest: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            rest += ["--", *words]
            break
        if word in GLOBAL_FLAGS:
            found[GLOBAL_FLAGS[word]] = True
        elif word in GLOBAL_VALUES:
            if not words:
                raise Usage("bad_arguments", f"{word} needs a value.", "See `moot --help`.")
            found[GLOBAL_VALUES[word]] = words.pop(0)
        elif word.partition("=")[0] in GLOBAL_VALUES and word.startswith("--"):
            name, _, value = word.partition("=")
            found[GLOBAL_VALUES[name]] = value
        else:
            rest.append(word)
            if rest[0] == "as" and len(rest) > 1 and not word.startswith("-"):
                rest += words  # the rest belongs to the command after --
                break
    if found.get("help") and rest == ["--all"]:
        rest.insert(0, "help")
    alias, rest = unalias(rest)
    verb, used = _verb(rest)
    return CommandLine(verb=verb, words=tuple(rest[used:]), alias=alias, **found)


def agent_of(argv: Sequence[str]) -> str:
    """The value of --agent in a command line, even if the rest of it is not valid."""
    own = argv[: argv.index("--")] if "--" in argv else argv
    said = [word for at, word in enumerate(own) if word.startswith("--agent=") or own[at - 1 : at] == ["--agent"]]
    return said[-1].removeprefix("--agent=") if said else ""


def unalias(words: Sequence[str]) -> tuple[str, list[str]]:
    """The alias that the words begin with, if any, and the words with the verb in its place."""
    if not words or words[0] not in ALIASES:
        return "", list(words)
    return words[0], [*ALIASES[words[0]].split(), *words[1:]]


def typed(line: CommandLine) -> list[str]:
    """The words of the verb as they were typed, with an alias in its place."""
    words = (line.verb or "").split()
    return [line.alias, *words[len(ALIASES[line.alias].split()) :]] if line.alias else words


def _verb(words: list[str]) -> tuple[str | None, int]:
    if not words:
        return None, 0
    if words[0].startswith("-"):
        raise Usage("bad_arguments", f"There is no global option {words[0]}.", "See `moot --help`.")
    names = catalogue.names()
    two = " ".join(words[:2])
    if two in names and len(words) > 1:
        return two, 2
    begins = any(name.startswith(f"{words[0]} ") for name in names)  # such as `task`, which is not a verb by itself
    if words[0] in (*OWN, *names) or (begins and len(words) == 1):
        return words[0], 1
    from moot.surfaces.cli import pack_verbs

    found = pack_verbs.names(words[0])
    if two in found and len(words) > 1:
        return two, 2
    if found and len(words) == 1:
        return words[0], 1
    from moot.surfaces.cli.suggestions import unknown_verb

    raise unknown_verb(words)


def find(name: str) -> Verb:
    """The verb of the catalogue, or of a shipped or installed pack, with this name."""
    if name in catalogue.names():
        return catalogue.find(name)
    from moot.surfaces.cli import pack_verbs

    return pack_verbs.find(name)


def caller(line: CommandLine) -> Caller:
    """The caller, from the options, the environment and the terminal."""
    return decide(os.environ, agent=line.agent, person=line.person, terminal=os.isatty(0))


def directory(line: CommandLine) -> str:
    """The directory that the command runs in."""
    try:
        found = os.path.abspath(line.directory or os.getcwd())
    except FileNotFoundError:
        found = ""
    if not os.path.isdir(found):
        where = line.directory or "The current directory"
        raise Usage(
            "not_a_directory", f"{where} does not exist.", "Change to an existing directory, or name one: -C DIR."
        )
    return found


def arguments(verb: Verb, words: Sequence[str]) -> dict[str, Any]:
    """The verb's arguments, not yet checked: the catalogue does that."""
    options = {param.flag: param for param in verb.params if not param.positional}
    given: dict[str, Any] = {}
    free: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            free += queue
            break
        name, equals, value = word.partition("=")
        param = options.get(name)
        if param is None:
            if word.startswith("--") or (word.startswith("-") and len(word) > 1 and not _negative(word)):
                from moot.surfaces.cli.suggestions import unknown_option

                raise _usage(verb, unknown_option(verb.name, name, list(options)))
            free.append(word)
        elif param.type == "flag":
            if equals:
                raise _usage(verb, f"{name} takes no value")
            given[param.name] = True
        elif param.alone is not None and not equals and not (queue and queue[0].isdecimal()):
            given[param.name] = param.alone
        else:
            if not equals:
                if not queue:
                    raise _usage(verb, f"{name} needs a value")
                value = queue.pop(0)
            _put(verb, given, param, value)
    _place(verb, given, free)
    return given


def short_number(word: str) -> int | None:
    """The number in a short task id (`7`, `task-7`), None for any other word. `task-007` is not short."""
    digits = word[5:] if word[:5].lower() == "task-" else word
    if not (digits.isascii() and digits.isdecimal() and len(digits) < _DIGITS):
        return None
    return int(digits) if word != f"task-{int(digits):03d}" else None


def has_short_ids(given: Mapping[str, Any]) -> bool:
    """Whether an argument could be a short task id."""
    words = [word for value in given.values() for word in (value if isinstance(value, list) else [value])]
    return any(isinstance(word, str) and short_number(word) is not None for word in words)


def _negative(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdigit()


def _place(verb: Verb, given: dict[str, Any], free: list[str]) -> None:
    """Assign positional words to parameters. A repeatable parameter leaves the last words to those after it."""
    places = [param for param in verb.params if param.positional]
    for number, param in enumerate(places):
        behind = len(places) - number - 1
        if param.many:
            take = len(free) - behind if len(free) > behind else min(len(free), 1)
            for word in free[:take]:
                _put(verb, given, param, word)
            free = free[take:]
        elif free:
            _put(verb, given, param, free.pop(0))
    if free:
        raise _usage(verb, f"`{verb.name}` does not take the argument {free[0]!r}")


def _put(verb: Verb, given: dict[str, Any], param: Param, value: str) -> None:
    if param.type == "json" and value.startswith("@"):
        value = _file(verb, param, value[1:])
    elif param.type == "json" and value == "-":
        value = _standard_input(verb, param)
    elif catalogue.is_prose(param) and value.startswith("@@"):
        value = value[1:]
    elif catalogue.is_prose(param) and (value == "-" or value.startswith("@")):
        value = _standard_input(verb, param) if value == "-" else _text_of(param, value[1:])
        if param.type != "words":  # one line: the newline at its end is not part of it
            value = value.removesuffix("\n").removesuffix("\r")
    if param.many:
        given.setdefault(param.name, []).append(value)
    elif param.name in given:
        raise _usage(verb, f"{param.name} is given twice")
    else:
        given[param.name] = value


def _standard_input(verb: Verb, param: Param) -> str:
    if getattr(sys, "stdin", None) is None:
        raise _usage(verb, f"{param.name}: standard input is closed")
    return _decoded(verb, param, sys.stdin.buffer.read(_READ_LIMIT + 1))


def _file(verb: Verb, param: Param, path: str) -> str:
    try:
        with open(path, "rb") as file:
            return _decoded(verb, param, file.read(_READ_LIMIT + 1))
    except OSError as error:
        raise _usage(verb, f"{param.name}: {path} cannot be read ({error.strerror})") from None


def _text_of(param: Param, path: str) -> str:
    """The text of a file that an argument names as @FILE."""
    from moot.api import text_files

    limit = catalogue.limit_of(param)
    if param.type != "words":
        limit = 4 * limit + 2  # a limit in characters, and the end of the line
    limit = min(limit, _READ_LIMIT)
    remedy = "@ names a text file in UTF-8. For a text that begins with @, write @@ instead of @."
    return text_files.read({"": ".", "-": "./-"}.get(path, path), os.getcwd(), limit, remedy)


def _decoded(verb: Verb, param: Param, raw: bytes) -> str:
    if len(raw) > _READ_LIMIT:
        raise _usage(verb, f"{param.name}: more than {_READ_LIMIT} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _usage(verb, f"{param.name}: not valid UTF-8") from None


def _usage(verb: Verb, message: str) -> Usage:
    end = "" if message.endswith("?") else "."
    return Usage("bad_arguments", message + end, f"See `moot {verb.name} --help`.")
