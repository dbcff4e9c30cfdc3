"""What to run instead of a verb that does not exist.

A suggestion must never mislead: words that people use for a verb are in a table, and only verbs that read, and first
words that list verbs, are suggested because the spelling is similar.
"""

from __future__ import annotations

from moot.api import catalogue
from moot.surfaces.cli import pack_verbs
from moot.surfaces.cli.parse import TAUGHT, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moot.core.errors import Usage

_SIMILAR = 0.72  # of difflib: one wrong letter in a word of four

# Words that people and models try, and the commands for what they may mean. `task WORD` finds them, too.
SYNONYMS = {
    "register": ("join NAME",),
    "login": ("join NAME",),
    "logout": ("leave",),
    "who": ("agents", "whoami"),
    "team": ("agents",),
    "message": ("send NAME TEXT", "inbox"),
    "mail": ("inbox", "send NAME TEXT"),
    "messages": ("inbox",),
    "read": ("inbox", "task show TASK"),
    "broadcast": ("send @all TEXT",),
    "respond": ("reply ID TEXT",),
    "tasks": ("board",),
    "list": ("board", "inbox", "agents"),
    "status": ("board", "whoami"),
    "next": ("start", "ready"),
    "show": ("task show TASK", "board"),
    "get": ("task show TASK",),
    "create": ("task add TITLE",),
    "add": ("task add TITLE", "artifact add PATH"),
    "take": ("task claim TASK", "claim PATH"),
    "drop": ("task release TASK", "release PATH"),
    "done": ("task submit TASK", "task complete TASK"),
    "finish": ("task submit TASK", "task complete TASK"),
    "complete": ("task submit TASK", "task complete TASK"),
    "close": ("task submit TASK", "task complete TASK", "task cancel TASK --reason REASON"),
    "review": ("board --state review", "task approve TASK", "task reject TASK --reason REASON"),
    "accept": ("task approve TASK",),
    "deny": ("task reject TASK --reason REASON",),
    "delete": ("task cancel TASK --reason REASON",),
    "block": ("task link TASK --needs TASK", "ask QUESTION"),
    "stuck": ("ask QUESTION", "task release TASK"),
    "retry": ("task reopen TASK --reason REASON",),
    "update": ("task edit TASK", "task note TASK TEXT", "task submit TASK"),
    "comment": ("task note TASK TEXT",),
    "locks": ("claims",),
    "lock": ("claim PATH",),
    "unlock": ("release PATH",),
    "question": ("ask QUESTION", "send NAME TEXT --type request"),
    "history": ("log", "explain THING"),
    "find": ("search WORDS",),
    "test": ("check -- COMMAND",),
    "setup": ("init",),
    "version": ("--version",),
}


def unknown_verb(words: Sequence[str]) -> Usage:
    """The error for words that begin with no verb."""
    first, group = words[0], _second_words(words[0])
    name = " ".join(words[:2]) if group else first
    found = _meant([word.casefold() for word in words[:2]])
    if found:
        hint = f"Run {', or '.join(f'`moot {command}`' for command in found)}."
    elif near := _similar(words[1], first) if group and len(words) > 1 else _similar(first, ""):
        hint = f"Did you mean `moot {near}`?"
    elif group:
        hint = f"`{first}` is followed by {', '.join(group)}."
    else:
        hint = ""
    return catalogue.unknown_verb(name, hint, [f"moot {command}" for command in found])


def _meant(words: Sequence[str]) -> Sequence[str]:
    """The commands in the table, or the verbs that end with this word: `submit` is `task submit`."""
    word = words[-1] if words[0] in ("task", "tasks") else words[0]
    return SYNONYMS.get(word) or [name for name in catalogue.names() if name.endswith(f" {word}")]


def _similar(word: str, group: str) -> str | None:
    """The verb that reads, or the first word of verbs, whose spelling is similar."""
    from difflib import get_close_matches

    firsts = dict.fromkeys(verb.partition(" ")[0] for verb in (*catalogue.names(), *pack_verbs.all_names()))
    known = _second_words(group) if group else [*firsts, *TAUGHT]
    near = get_close_matches(word[:100].casefold(), known, n=1, cutoff=_SIMILAR)
    name = f"{group} {near[0]}".lstrip() if near else ""
    is_verb = bool(group) or name in catalogue.names()
    return name if name and (not is_verb or find(name).kind == "look") else None


def _second_words(first: str) -> list[str]:
    names = catalogue.names() if not catalogue.is_free(first) else pack_verbs.names(first)
    return [name.partition(" ")[2] for name in names if name.startswith(f"{first} ")]


def unknown_option(verb: str, name: str, known: Sequence[str]) -> str:
    """What is wrong with an option that a verb does not have, and which one it has."""
    from difflib import get_close_matches

    near = get_close_matches(name[:100], known, n=1, cutoff=_SIMILAR)
    if near:
        return f"`{verb}` has no option {name}; did you mean {near[0]}?"
    return f"`{verb}` has no option {name}; it has {', '.join(known) or 'no options of its own'}"
