"""What to run instead of a verb that does not exist.

A suggestion must never mislead. Words that people use for a verb are listed in synonyms.toml. Beyond these, a verb is
suggested for its exact words in another form (`add-task`, `submit`). Only verbs that read, and first words that list
verbs, are suggested because the spelling is similar.
"""

from __future__ import annotations

import os

from moot.api import catalogue
from moot.core.text import shell_word
from moot.surfaces.cli import pack_verbs
from moot.surfaces.cli.parse import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from moot.core.errors import Usage

    Suggestion = tuple[str, str]  # a command without `moot`, and when it is the right one

_SIMILAR = 0.72  # of difflib: one wrong letter in a word of four
_OWN = ("help", "completion")
_LONGEST = 60  # characters of a word that is repeated in a suggestion
_ONE = ("TASK", "NAME", "PATH", "ID", "THING", "TYPE")  # placeholders for one word
_REST = ("TEXT", "TITLE", "QUESTION", "ANSWER", "WORDS")  # placeholders for all remaining words


def unknown_verb(words: Sequence[str]) -> Usage:
    """The error for words that begin with no verb."""
    first, group = words[0], _second_words(words[0])
    name = " ".join(words[:2]) if group else first
    found = _instead(words)
    if found:
        said = [f"`moot {command}`" + (f" ({when})" if when else "") for command, when in found]
        hint = f"Run {', or '.join(said)}."
    elif near := _similar(words[1], first) if group and len(words) > 1 else _similar(first, ""):
        hint = f"Did you mean `moot {near}`?"
    elif group:
        hint = f"`{first}` is followed by {', '.join(group)}."
    else:
        hint = ""
    return catalogue.unknown_verb(name, hint, [f"moot {command}" for command, _ in found])


def synonyms() -> dict[str, list[Suggestion]]:
    """For each word, or pair of words, the commands to run instead."""
    return {word: [(command, when) for command, when in found] for word, found in _table()["words"].items()}


def options() -> dict[str, str]:
    """For each name of an option that people try, the name to use if the verb has it."""
    return dict(_table()["options"])


def _table() -> dict[str, Any]:
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "synonyms.toml"), "rb") as file:
        return tomllib.load(file)


def _instead(words: Sequence[str]) -> list[Suggestion]:
    """What the table and the verbs' own words say, the longest match first."""
    table = synonyms()
    plain = [word.casefold().replace("_", "-") for word in words[:2]]
    parts = plain if "-" not in plain[0] else plain[0].split("-")
    rest = words[len(plain) :] if parts is plain else words[1:]
    if found := _of_a_task(plain):
        return found
    if len(parts) == 2:
        if found := table.get(" ".join(parts), []):
            return _filled(found, rest, of_task=parts[0] == "task")
        for name in _turned(*parts):
            return [(_called(name, rest), "")]
        if parts[0] in ("task", "tasks") and parts[1] in table:
            own = [one for one in table[parts[1]] if one[0].startswith("task ")]
            return _filled(own or table[parts[1]], rest, of_task=True)
    if plain[0] in table:
        return _filled(table[plain[0]], words[1:])
    return [(_called(name, words[1:]), "") for name in catalogue.names() if name.endswith(f" {plain[0]}")]


def _of_a_task(words: Sequence[str]) -> list[Suggestion]:
    """`moot 7`, `moot task-7` and `moot task 7`: a task without a verb."""
    last = words[-1] if words[0] == "task" else words[0]
    return [(f"task show {last}", "")] if last.removeprefix("task-").isdecimal() and last.isascii() else []


def _turned(one: str, other: str) -> list[str]:
    """The verb with exactly these two words: the noun in the plural, or after its verb."""
    names = catalogue.names()
    return [name for name in (f"{one.removesuffix('s')} {other}", f"{other.removesuffix('s')} {one}") if name in names]


def _similar(word: str, group: str) -> str | None:
    """The verb that reads, or the first word of verbs, whose spelling is similar."""
    from difflib import get_close_matches

    verbs = catalogue.names()
    firsts = dict.fromkeys(verb.partition(" ")[0] for verb in verbs)
    known = _second_words(group) if group else [*firsts, *_OWN, *pack_verbs.packs()]
    near = get_close_matches(word[:100].casefold(), known, n=1, cutoff=_SIMILAR)
    if not near:
        return None
    name = f"{group} {near[0]}".lstrip()
    if group or name in verbs:
        return name if find(name).kind == "look" else None
    return name if name in (*firsts, *_OWN) or pack_verbs.names(name, broken=False) else None


def _second_words(first: str) -> list[str]:
    names = catalogue.names() if not catalogue.is_free(first) else pack_verbs.names(first)
    return [name.partition(" ")[2] for name in names if name.startswith(f"{first} ")]


def _called(name: str, given: Sequence[str]) -> str:
    """The verb with what was typed as its arguments, if it takes as many."""
    params, typed = catalogue.find(name).params, _arguments(given)
    places = [param for param in params if param.positional]
    options = [f"{p.flag} {p.name.upper()}" for p in params if not p.positional and (p.required or p.expected)]
    if places and len(typed) > len(places) and not places[-1].many:
        typed = [*typed[: len(places) - 1], " ".join(typed[len(places) - 1 :])]
    said = [shell_word(word) for word in typed] if max(map(len, typed), default=0) <= _LONGEST else []
    said += [param.name.upper() for param in places[len(said) :] if param.required]
    return " ".join([name, *said, *options])


def _filled(found: Iterable[Suggestion], given: Sequence[str], *, of_task: bool = False) -> list[Suggestion]:
    return [(filled(command, given, of_task=of_task), when) for command, when in found]


def filled(command: str, given: Sequence[str], *, of_task: bool = False) -> str:
    """The command with what was typed in place of its words in capitals.

    TASK takes only a word that looks like the id of a task, unless the words were `of_task`. Other placeholders
    never take such a word. Words that no placeholder takes are left out.
    """
    typed, parts = _arguments(given), command.split(" ")
    found: dict[int, str] = {}
    for number in sorted(range(len(parts)), key=lambda number: parts[number] != "TASK"):
        part = parts[number]
        if part in _REST:
            found[number], typed = " ".join(typed), []
        elif part in _ONE:
            wanted = [word for word in typed if _like_a_task(word) == (part == "TASK") or (of_task and part == "TASK")]
            if wanted:
                found[number] = wanted[0]
                typed.remove(wanted[0])
    said = {number: word for number, word in found.items() if 0 < len(word) <= _LONGEST}
    return " ".join(shell_word(said[number], part) if number in said else part for number, part in enumerate(parts))


def _like_a_task(word: str) -> bool:
    """Whether it ends in a digit and does not begin like a message (m-…), a claim (c-…) or another generated id."""
    return word[-1:].isdigit() and word[1:2] != "-"


def _arguments(given: Sequence[str]) -> list[str]:
    """The words before the first option."""
    options = [number for number, word in enumerate(given) if word.startswith("-")]
    return list(given[: options[0]] if options else given)


def unknown_option(verb: str, name: str, known: Sequence[str]) -> str:
    """What is wrong with an option that a verb does not have, and which one it has."""
    from difflib import get_close_matches

    meant = f"--{options().get(name.lstrip('-'), '')}"
    near = [meant] if meant in known else get_close_matches(name[:100], known, n=1, cutoff=_SIMILAR)
    if near:
        return f"`{verb}` has no option {name}; did you mean {near[0]}?"
    return f"`{verb}` has no option {name}; it has {', '.join(known) or 'no options of its own'}"
