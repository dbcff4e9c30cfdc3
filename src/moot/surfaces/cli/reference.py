"""What there is to know about the command beside its verbs, and each verb as synopsis and arguments.

`moot help`, docs/reference/cli.md and the manual page are made from it and from the catalogue. It prints nothing.
"""

from __future__ import annotations

from moot.api.catalogue import KINDS
from moot.core.identity import AGENTS_SHELLS
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.catalogue import Param, Verb

OPTIONS = (
    ("--json", "The answer, or the error, as one JSON object; of what goes on without end, one on each line."),
    ("-C DIR", "As if called from DIR."),
    ("--agent NAME", "Act as this agent (otherwise MOOT_AGENT)."),
    ("--person", "Act as a person. At a terminal, and outside an agent's shell, you are one without it."),
    ("--at WHEN", "Answer as it was then: a position, a time or how long ago (2h); for verbs that only look."),
    ("--help, -h", "How it is called, with an example. `moot help VERB` says the same."),
    ("--version", "Which version this is."),
)
EXIT_CODES = (
    ("0", "Done."),
    ("1", "Refused: a rule says no, and the message says what to do instead."),
    ("2", "Usage: the call is malformed, or the settings are."),
    ("3", "Held by another, or lost a race; try again, or ask the holder."),
    ("4", "Unknown: no such agent, task, message or type."),
    ("5", "Timeout: what was waited for did not come."),
    ("6", "What was waited for came, and was a failure."),
    ("7", "Unavailable: the workspace cannot be used now (locked, full, read-only, newer than this program)."),
    ("130, 141", "Interrupted; whoever read the output was gone."),
)
AGENTS = f"Mark a coding agent's shell: {', '.join(AGENTS_SHELLS)}. There, a call without an agent's name is nobody's."
ENVIRONMENT = (
    ("MOOT_AGENT", "The agent that calls."),
    ("MOOT_INCARNATION", "Which incarnation of it; `moot join` prints both. A stale one is refused."),
    ("MOOT_PERSON", "Set to 1, a person calls, unless an agent is named or this is a coding agent's shell."),
    ("CLAUDECODE and others", AGENTS),
    (
        "MOOT_WORKSPACE",
        "A directory inside the workspace to use, wherever the command is called from, unless -C names one.",
    ),
    (
        "MOOT_HANDLER, MOOT_EFFECT_KEY, MOOT_EFFECT_ATTEMPT, MOOT_SCRIPT",
        "Set for the commands of handlers: which one, the key and attempt of the effect, where its script really is.",
    ),
    ("MOOT_DEBUG", "Set to 1, an error inside moot itself shows its traceback."),
    ("XDG_RUNTIME_DIR", "Where those who wait are woken; /tmp otherwise."),
)
FILES = (
    ("moot.toml", "Settings, in the root of the repository. docs/how-to/configure.md names them."),
    (".git/moot/", "The state of a workspace, shared by all worktrees; .moot/ outside git."),
    (".git/moot/log.db", "The log. It has everything; `moot backup` copies it safely."),
    (".git/moot/log-DATE.db", "A log that `moot restore` replaced. Delete it when it is not needed."),
    (".git/moot/views-*.db", "Read models, folded from the log; they may be deleted at any time."),
    (".git/moot/blobs/", "Bytes that events name by their SHA-256: files of a protocol that could not be read."),
    (".git/moot/quarantine/", "The same of earlier versions."),
)

_SOME_PACK = "--pack NAME"


class Own(Record):
    """A verb of the command line alone."""

    name: str
    synopsis: str
    text: str
    examples: tuple[str, ...]
    kind: str = "look"


OWN = (
    Own(
        "as",
        "moot as NAME [--role ROLE] [--take-over] -- COMMAND …",
        "Join as NAME, run COMMAND with MOOT_AGENT and MOOT_INCARNATION set, leave when it ends. The exit code is the "
        "command's. While it runs it counts as present, however long it is silent.",
        ("moot as Yeats --role reviewer -- claude -p 'Review what is waiting.'",),
        "local-exec",
    ),
    Own(
        "help",
        "moot help [VERB]",
        "What a verb is for, its arguments, and an example; without VERB, all of them. `moot help man` prints the "
        "manual page moot(1).",
        ("moot help task add", "moot help man | man -l -"),
    ),
    Own(
        "completion",
        "moot completion bash|zsh|fish",
        "Print a completion script for a shell: verbs, options and choices, and the names of agents, tasks and "
        "messages, which it asks the workspace for.",
        (
            "moot completion bash > ~/.local/share/bash-completion/completions/moot",
            "moot completion zsh > ~/.zfunc/_moot  # and in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; compinit",
            "moot completion fish > ~/.config/fish/completions/moot.fish",
        ),
    ),
)


def synopsis(verb: Verb) -> list[str]:
    """The words of a call, each with what belongs together."""
    free, options = [], []
    for param in verb.params:
        if param.positional:
            name = param.name.upper() + ("…" if param.many else "")
            free.append(name if param.required else f"[{name}]")
        else:
            word = head(param)
            options.append((word if param.required else f"[{word}]") + ("…" if param.many else ""))
    return [f"moot {verb.name}", *free, *options]


def examples(verb: Verb) -> tuple[str, ...]:
    """Commands that can be typed. Where one names a pack, it is one that moot ships: the verbs know none by name."""
    if not any(_SOME_PACK in example for example in verb.examples):
        return verb.examples
    from moot.wiring.packs import SHIPPED

    return tuple(example.replace(_SOME_PACK, f"--pack {next(iter(SHIPPED))}") for example in verb.examples)


def head(param: Param) -> str:
    """An argument as it is written."""
    if param.positional:
        return param.name.upper()
    flag = f"--{param.name.replace('_', '-')}"
    return flag if param.type == "flag" else f"{flag} {value(param)}"


def value(param: Param) -> str:
    """What stands for the value of an option: its choices, or its type."""
    if param.choices:
        return "|".join(param.choices)
    return {"int": "N", "seconds": "TIME", "json": "JSON"}.get(param.type, "TEXT")


def told(param: Param) -> str:
    """What an argument is for, whether one must give it, and what holds without it."""
    if param.required:
        note = "" if param.positional else " (required)"
    elif isinstance(param.default, float):
        note = f" (default {param.default:g}s)" if param.type == "seconds" else f" (default {param.default:g})"
    else:
        note = f" (default {param.default})" if isinstance(param.default, (str, int)) else ""
    return param.help + note + (" For people only." if param.person else "")


def kind(verb: Verb | Own) -> str:
    """The class of a verb, for those who decide by it what may be called."""
    return f"Class: {verb.kind} ({KINDS[verb.kind]})."


def types_used(verb: Verb) -> list[str]:
    """How the values of this verb's options are written, where that is not obvious."""
    said = {
        "seconds": "TIME is 90, 90s, 30m, 2h or 1d.",
        "json": "JSON is the text itself, @FILE, or - for the standard input.",
    }
    return [said[kind] for kind in said if any(param.type == kind for param in verb.params)]
