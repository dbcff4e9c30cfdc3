"""Who calls: an agent, a person, or nobody in particular. One function decides it, for every surface.

What was said comes first: `--agent`, `--person`, MOOT_AGENT. Where nothing was said, a coding agent's shell is
nobody's: an agent that forgot its name must not act as the person whose account it runs in. Elsewhere MOOT_PERSON, and
then a terminal, speak for a person. Everything else is nobody, who may look and change nothing.
"""

from __future__ import annotations

from moot.core.errors import Refused, Usage
from moot.core.principal import checked_name
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# What coding agents set in the shells in which they run commands. Nothing that an editor sets in a person's terminal.
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
)
PERSON = "MOOT_PERSON"
_DIGITS = 16
_NO = ("", "0", "false")


class Caller(Record):
    """Who calls, and which rule says so. `mark` is the variable that marks a coding agent's shell, if there is one."""

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
    """Who calls, by what was said, by the environment, and by whether a terminal is where the input comes from."""
    if agent is not None and person:
        raise Usage("bad_arguments", "You cannot be an agent and a person at once.", "Leave one of them out.")
    if incarnation is not None and agent is None and not env.get("MOOT_AGENT"):
        raise Usage("bad_arguments", "An incarnation of which agent?", "Name the agent: Workspace(agent='Yeats', …).")
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
    """The environment for a process that moot starts: that a person started it makes nobody else a person."""
    return {name: value for name, value in env.items() if name != PERSON}


def reason(caller: Caller) -> str:
    """Why the caller is who it is, in words."""
    match caller.why:
        case "shell":
            return f"{caller.mark} says that this is a coding agent's shell, and nothing says which agent you are"
        case "terminal":
            return "you are at a terminal"
        case "joined":
            return "you joined"
        case "nothing":
            return "nothing says who you are"
        case said:
            return f"{said} says so"


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
    """What nobody is told. It teaches no way around: in an agent's shell it speaks of agents only."""
    return Usage("who_are_you", f"{what} needs to know who you are, and nothing says so.", how_to_say(caller))


def how_to_say(caller: Caller) -> str:
    """What somebody does who has to say who they are."""
    how = "`moot join NAME`, then `moot --agent NAME …` or MOOT_AGENT=NAME (in Python: Workspace(agent='NAME'))."
    if caller.mark is not None:
        return f"You are in a coding agent's shell ({caller.mark}): {how}"
    return (
        f"If you are an agent: {how} If you are a person, run it in a terminal; in a pipe or a job: `moot --person …`."
    )


def people_only(caller: Caller, what: str) -> None:
    """Refuse what only a person may do: to agents, and in an agent's shell whatever is said there."""
    if caller.person and caller.mark is None:
        return
    if caller.nobody and caller.mark is None:
        raise who_are_you(caller, what)
    where = f"{caller.agent} is an agent" if caller.agent else f"this is a coding agent's shell ({caller.mark})"
    raise Refused(
        "people_only",
        f"{what} is for people only, and {where}.",
        "Ask a person to do it, in a terminal of their own.",
    )
