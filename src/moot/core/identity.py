"""Who the caller is: an agent, a person, or unidentified. One function decides it for every surface.

Explicit options come first: `--agent`, `--person`, MOOT_AGENT. Without them, a caller in a coding agent's shell is
unidentified: an agent that forgot its name must not act as the person whose account it uses. Elsewhere MOOT_PERSON, and
then a terminal, identify a person. Every other caller is unidentified and can only read.
"""

from __future__ import annotations

from moot.core.errors import Refused, Usage
from moot.core.principal import checked_name
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Variables that coding agents set in the shells where they run commands, and that no editor sets for a person.
# moot sets the last two for the commands that it starts: they are not persons either.
AGENTS_SHELLS = (
    "CLAUDECODE",  # Claude Code
    "CODEX_THREAD_ID",  # Codex
    "CODEX_SANDBOX",
    "CODEX_CI",
    "CURSOR_AGENT",  # Cursor
    "GEMINI_CLI",  # Gemini CLI
    "QWEN_CODE",  # Qwen Code
    "OPENCODE",  # opencode
    "COPILOT_CLI",  # Copilot CLI
    "GOOSE_TERMINAL",  # goose
    "AUGMENT_AGENT",  # Auggie
    "CRUSH",  # Crush
    "MOOT_RUN",  # a command of `moot run` or `moot as`
    "MOOT_HANDLER",  # a command of a handler
)
PERSON = "MOOT_PERSON"
_DIGITS = 16
_NO = ("", "0", "false")


class Caller(Record):
    """The caller, and the rule that identified it. `mark` is the variable that marks a coding agent's shell, if any."""

    agent: str | None = None
    incarnation: int | None = None
    person: bool = False
    why: str = "nothing"  # --agent, --person, MOOT_AGENT, shell, MOOT_PERSON, terminal, joined, nothing
    mark: str | None = None

    @property
    def nobody(self) -> bool:
        return self.agent is None and not self.person

    @property
    def kind(self) -> str:
        return "nobody" if self.nobody else "person" if self.agent is None else "agent"


def decide(
    env: Mapping[str, str],
    *,
    agent: str | None = None,
    incarnation: int | None = None,
    person: bool = False,
    terminal: bool = False,
) -> Caller:
    """Identify the caller by its options, its environment, and whether its input is a terminal."""
    if agent is not None and person:
        raise Usage("bad_arguments", "You cannot be an agent and a person at once.", "Use only one of them.")
    if incarnation is not None and agent is None and not env.get("MOOT_AGENT"):
        raise Usage("bad_arguments", "An incarnation needs an agent.", "Name the agent: Workspace(agent='Yeats', …).")
    mark = next((name for name in AGENTS_SHELLS if env.get(name)), None)
    named = env.get("MOOT_AGENT") or None
    if person:
        return Caller(person=True, why="--person", mark=mark)
    if agent is not None or named is not None:
        name = checked_name(agent if agent is not None else named or "")
        number = incarnation
        if number is None and name == named:
            number = _incarnation(env)
        return Caller(agent=name, incarnation=number, why="--agent" if agent is not None else "MOOT_AGENT", mark=mark)
    if mark is not None:
        return Caller(why="shell", mark=mark)
    if env.get(PERSON, "").lower() not in _NO:
        return Caller(person=True, why=PERSON)
    return Caller(person=terminal, why="terminal" if terminal else "nothing")


def without_person(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process that moot starts, without MOOT_PERSON: the process is not a person."""
    return {name: value for name, value in env.items() if name != PERSON}


def reason(caller: Caller) -> str:
    """Why the caller was identified this way, in words."""
    match caller.why:
        case "shell":
            return f"{caller.mark} marks this as a coding agent's shell, and no agent is named"
        case "terminal":
            return "you are at a terminal"
        case "joined":
            return "you joined"
        case "nothing":
            return "nothing identifies you"
        case setting:
            return f"{setting} is set"


def _incarnation(env: Mapping[str, str]) -> int | None:
    said = env.get("MOOT_INCARNATION")
    if not said:
        return None
    if not (said.isascii() and said.isdigit() and len(said) < _DIGITS):
        raise Usage(
            "bad_environment",
            f"MOOT_INCARNATION is {said!r}, which is not a number.",
            "Set it as `moot join` prints it, or unset it.",
        )
    return int(said)


def who_are_you(caller: Caller, what: str) -> Usage:
    """The error for an unidentified caller. In an agent's shell it does not mention how to act as a person."""
    return Usage("who_are_you", f"{what} needs to know who you are.", how_to_say(caller))


def how_to_say(caller: Caller) -> str:
    """How the caller can identify itself."""
    how = "`moot join NAME`, then `moot … --agent NAME` or MOOT_AGENT=NAME (in Python: Workspace(agent='NAME'))."
    if caller.mark is not None:
        return f"You are in a coding agent's shell ({caller.mark}): {how}"
    return (
        f"If you are an agent: {how} If you are a person, run it in a terminal; in a pipe or a job: `moot … --person`."
    )


def people_only(caller: Caller, what: str) -> None:
    """Raise unless the caller is a person outside an agent's shell."""
    if caller.person and caller.mark is None:
        return
    if caller.nobody and caller.mark is None:
        raise who_are_you(caller, what)
    where = f"{caller.agent} is an agent" if caller.agent else f"this is a coding agent's shell ({caller.mark})"
    raise Refused(
        "people_only",
        f"{what} is for people only; {where}.",
        "Ask a person to run it in their own terminal.",
    )
