"""Reference texts of the command line: options, exit codes, variables, files, and the synopsis of each verb.

`moot help` and docs/reference/cli.md are built from it and from the catalogue. It prints nothing.
"""

from __future__ import annotations

from moot.api.catalogue import KINDS, is_prose
from moot.core.identity import AGENTS_SHELLS
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.catalogue import Param, Verb

OPTIONS = (
    (
        "--json",
        (
            "Print the answer, or the error, as one JSON object; endless answers print one object per line. For an "
            "agent, `unread` is the number of new messages, besides those in the answer."
        ),
    ),
    ("-C DIR", "Run as if called from DIR."),
    ("--agent NAME", "Act as this agent (default: MOOT_AGENT)."),
    ("--person", "Act as a person. This is the default at a terminal, outside a coding agent's shell."),
    ("--quiet", "Do not mention new messages at the end of an answer."),
    ("--at WHEN", "Answer as of a position, a time or an age (2h); for read-only verbs."),
    ("--help, -h", "Show usage with an example, as `moot help VERB` does."),
    ("--version", "Show the version."),
)
EXIT_CODES = (
    ("0", "Done."),
    ("1", "Refused by a rule; the message says what to do instead."),
    ("2", "Usage: the command or the settings are invalid."),
    ("3", "Held by another agent, or lost a race; try again, or ask the holder."),
    ("4", "Unknown: no such agent, task, message or type."),
    ("5", "Timeout: the awaited event did not happen."),
    ("6", "The awaited event happened, and was a failure."),
    ("7", "Unavailable: the workspace cannot be used now (locked, disk full, read-only, newer than this program)."),
    ("130, 141", "Interrupted; the reader of the output is gone."),
)
AGENTS = (
    f"Mark a coding agent's shell: {', '.join(AGENTS_SHELLS)}. In it, a call without an agent's name is unidentified."
)
ENVIRONMENT = (
    ("MOOT_AGENT", "The name of the calling agent."),
    ("MOOT_INCARNATION", "The incarnation of the agent; `moot join` prints both. A stale one is refused."),
    ("MOOT_PERSON", "If 1, the caller is a person, unless an agent is named or this is a coding agent's shell."),
    ("CLAUDECODE and others", AGENTS),
    (
        "MOOT_WORKSPACE",
        "A directory inside the workspace to use, from any current directory, unless -C names one.",
    ),
    (
        "MOOT_HANDLER, MOOT_EFFECT_KEY, MOOT_EFFECT_ATTEMPT, MOOT_SCRIPT",
        "Set for the commands of handlers: the handler, the key and attempt of the effect, the script's original path.",
    ),
    (
        "MOOT_RUN",
        "Set for the commands of `moot run` and `moot as` and the programs of stages: the id of the run, or a name.",
    ),
    ("MOOT_STAGE", "Set for the commands of stages: the name of the stage."),
    ("MOOT_TEAM, MOOT_WAVE, MOOT_ISSUE", "Set for the members of a wave of Specflow."),
    (
        "MOOT_PROGRAM",
        "Set for the commands of stages: marks the processes that a command starts, so that they end with it (Linux).",
    ),
    (
        "MOOT_GUARD, MOOT_GUARD_REASON",
        "If off, the guard lets a commit or push through, and records it with the reason.",
    ),
    ("MOOT_DEBUG", "If 1, an internal error shows its traceback."),
    ("XDG_RUNTIME_DIR", "The directory for the sockets that wake waiting processes (default: /tmp)."),
)
FILES = (
    ("moot.toml", "Settings, in the root of the repository. See docs/how-to/configure.md."),
    (".git/moot/", "The state of the workspace, shared by all worktrees; .moot/ outside git."),
    (".git/moot/log.db", "The log, which contains everything; `moot backup` copies it safely."),
    (".git/moot/log-DATE.db", "A log that `moot restore` replaced. Delete it when you no longer need it."),
    (".git/moot/views-*", "Views, computed from the log; you can delete them at any time."),
    (
        ".git/moot/blobs/",
        "Blobs: bytes that events refer to by SHA-256, such as files of a protocol that could not be read.",
    ),
)

_SOME_PACK = "--pack NAME"


class Own(Record):
    """A verb that only the command line has."""

    name: str
    synopsis: str
    text: str
    examples: tuple[str, ...]
    kind: str = "look"


OWN = (
    Own(
        "as",
        "moot as NAME [--role ROLE] [--take-over] -- COMMAND …",
        "Join as NAME, run COMMAND with MOOT_AGENT and MOOT_INCARNATION set, and leave when it ends. The exit code is "
        "the command's. While the command runs, the agent counts as present, however long it is silent.",
        ("moot as Yeats --role reviewer -- claude -p --permission-mode acceptEdits 'Review what is waiting.'",),
        "local-exec",
    ),
    Own(
        "help",
        "moot help [VERB | --all]",
        "Show what a verb does, its arguments and an example; without VERB, list the everyday verbs; with --all, list "
        "all verbs. Verbs for the files of a pack are listed only where a pack is switched on.",
        ("moot help task add", "moot help --all"),
    ),
    Own(
        "completion",
        "moot completion bash",
        "Print a completion script for bash. It completes verbs, options, choices, and the names of agents, tasks and "
        "messages of the workspace.",
        ("moot completion bash > ~/.local/share/bash-completion/completions/moot",),
    ),
)


def synopsis(verb: Verb) -> list[str]:
    """The parts of a synopsis, required ones first; each is kept on one line."""
    free: list[str] = []
    needed: list[str] = []
    options: list[str] = []
    for param in verb.params:
        if param.positional:
            name = param.name.upper() + ("…" if param.many else "")
            free.append(name if param.required else f"[{name}]")
        else:
            word = head(param)
            must = param.required or param.expected
            (needed if must else options).append((word if must else f"[{word}]") + ("…" if param.many else ""))
    return [f"moot {verb.name}", *free, *needed, *options]


def examples(verb: Verb) -> tuple[str, ...]:
    """Example commands. Verbs know no pack by name, so the name of a shipped pack is filled in here."""
    if not any(_SOME_PACK in example for example in verb.examples):
        return verb.examples
    from moot.wiring.packs import SHIPPED

    return tuple(example.replace(_SOME_PACK, f"--pack {next(iter(SHIPPED))}") for example in verb.examples)


def head(param: Param) -> str:
    """An argument as the user types it."""
    if param.positional:
        return param.name.upper()
    flag = param.flag
    if param.type == "flag":
        return flag
    return f"{flag} {value(param)}" if param.alone is None else f"{flag} [{value(param)}]"


def value(param: Param) -> str:
    """The placeholder for an option's value: its choices, or its type."""
    if param.choices:
        return "|".join(param.choices)
    return {"int": "N", "seconds": "TIME", "json": "JSON"}.get(param.type, "TEXT")


def told(param: Param) -> str:
    """What an argument does, whether it is required, and its default."""
    if param.required or param.expected:
        note = "" if param.positional else " (required)"
    elif isinstance(param.default, float):
        note = f" (default {param.default:g}s)" if param.type == "seconds" else f" (default {param.default:g})"
    else:
        note = f" (default {param.default})" if isinstance(param.default, (str, int)) else ""
    return param.help + note + (" For people only." if param.person else "")


def kind(verb: Verb | Own) -> str:
    """The class of a verb, for permission rules."""
    return f"Class: {verb.kind} ({KINDS[verb.kind]})."


def types_used(verb: Verb) -> list[str]:
    """The syntax of this verb's arguments, where it is not obvious."""
    said = {
        "seconds": "TIME is 90, 90s, 30m, 2h or 1d.",
        "json": "JSON is the text itself, @FILE, or - for standard input.",
        "prose": "A text can also be @FILE, or - for standard input. To begin a text with @, write @@.",
    }
    used = {"prose" if is_prose(param) else param.type for param in verb.params}
    return [said[kind] for kind in said if kind in used]
