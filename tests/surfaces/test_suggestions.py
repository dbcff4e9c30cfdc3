"""What moot says to a word that is not a verb never leads to a command that the caller did not mean."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from moot.api import catalogue
from moot.core.errors import Usage
from moot.surfaces.cli import parse
from moot.surfaces.cli.suggestions import SYNONYMS

if TYPE_CHECKING:
    from tests.surfaces.command import Command

HOSTILE = ("$(touch PWN)", "`touch PWN`", "x;touch PWN;'", "a\nb", "\x1b[2J", "x" * 500)
MEANT = {
    "task done task-1": ["task submit TASK", "task complete TASK"],
    "DONE 7": ["task submit TASK", "task complete TASK"],
    "help task done": ["task submit TASK", "task complete TASK"],
    "message Bob hello": ["send NAME TEXT", "inbox"],
    "register Yeats": ["join NAME"],
    "task list": ["board", "inbox", "agents"],
    "submit 7": ["task submit"],
    "version": ["--version"],
}
MISSPELT = {
    "tsk": "task",
    "taks add x": "task",
    "task shwo 7": "task show",
    "logs": "log",
    "baord": "board",
    "wohami": "whoami",
    "who-hold src": "who-holds",
    "help baord": "board",
}


def said_to(*words: str) -> Usage:
    with pytest.raises(Usage) as caught:
        parse.understand(words)
    return caught.value


def commands_in(text: str) -> list[str]:
    return re.findall("`moot ([^`]+)`", text)


def test_every_command_in_the_table_exists_and_is_complete() -> None:
    wrong = []
    for command in {command for found in SYNONYMS.values() for command in found}:
        call = parse.understand(shlex.split(command))
        if call.version:
            continue
        verb = catalogue.find(str(call.verb))
        given = catalogue.checked(verb, parse.arguments(verb, call.words))
        wrong += [command for p in verb.params if p.expected and given[p.name] is None]
    assert wrong == []
    assert SYNONYMS.keys() & {*parse.TAUGHT, *parse.ALIASES, *catalogue.names()} == set()


def test_a_word_that_people_use_is_answered_with_the_command(bare: Command) -> None:
    for typed, commands in MEANT.items():
        ran = bare(*typed.split(), "--json")
        assert (ran.code, ran.error["error"]) == (2, "unknown_verb")
        assert commands_in(ran.error["remedy"]) == commands
        assert ran.error["details"]["instead"] == [f"moot {command}" for command in commands]


def test_a_misspelt_verb_that_reads_is_answered_with_the_verb(bare: Command) -> None:
    found = {typed: bare(*typed.split(), "--json").error["remedy"] for typed in MISSPELT}
    assert {typed: commands_in(said)[0] for typed, said in found.items()} == MISSPELT


def test_a_verb_that_changes_something_is_never_suggested_for_its_spelling() -> None:
    guessed = []
    for name in (name for name in catalogue.names() if catalogue.find(name).kind != "look"):
        first, _, second = name.partition(" ")
        odd = second or first
        for wrong in (odd[:-1], odd + odd[-1], odd[1:], odd[1] + odd[0] + odd[2:], f"{odd}x", f"re{odd}"):
            try:
                parse.understand([first, wrong] if second else [wrong])
            except Usage as error:
                near = commands_in(error.remedy.partition("Did you mean")[2])
                guessed += [one for one in near if one in catalogue.names() and catalogue.find(one).kind != "look"]
    assert guessed == []


def test_what_cannot_be_known_is_not_guessed() -> None:
    for typed in ("sned Bob hi", "inbx", "clam src/a.py", "undo", "", "checkpoint go", "decision undo", *HOSTILE):
        error = said_to(*(typed.split(" ")))
        assert error.details["instead"] == []
        assert "Did you mean" not in error.remedy
        assert error.remedy.endswith("`moot help --all` lists the verbs.")
    assert "`task` is followed by add, " in said_to("task", "clam").remedy


def test_an_unknown_option_is_answered_with_those_of_the_verb(bare: Command) -> None:
    wrong = {
        ("task", "add", "x", "--prio", "high"): "did you mean --priority?",
        ("task", "add", "x", "--nonsense"): "it has --id, --body, ",
        ("claims", "--mine"): "it has --holder.",
        ("send", "Bob", "-m", "hi"): "`send` has no option -m; it has --type, ",
    }
    for words, said in wrong.items():
        ran = bare(*words, "--json")
        assert (ran.code, ran.error["error"]) == (2, "bad_arguments")
        assert said in ran.error["message"]
