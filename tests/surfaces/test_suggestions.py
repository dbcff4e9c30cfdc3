"""What moot says to a word that is not a verb never leads to a command that the caller did not mean."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from moot.api import catalogue
from moot.core.errors import Usage
from moot.surfaces.cli import parse, suggestions

if TYPE_CHECKING:
    from tests.surfaces.command import Command

SYNONYMS = suggestions.synonyms()
ROWS = [(word, command) for word, found in SYNONYMS.items() for command, _ in found]
VALUES = {"TYPE": "build:finished"}  # placeholders whose values have a form
HOSTILE = ("$(touch PWN)", "`touch PWN`", "a b", "x;touch PWN;'", '"$HOME"', "a\nb", "\x1b[2J", "x" * 500)


def said_to(*words: str) -> Usage:
    with pytest.raises(Usage) as caught:
        parse.understand(words)
    assert caught.value.code in ("unknown_verb", "bad_arguments")
    return caught.value


def commands_in(text: str) -> list[str]:
    return re.findall("`moot ([^`]+)`", text)


# The table


@pytest.mark.parametrize(("word", "command"), ROWS, ids=[f"{word}: {command}" for word, command in ROWS])
def test_every_command_in_the_table_exists_and_is_complete(word: str, command: str) -> None:
    words = [VALUES.get(one, one) for one in shlex.split(command)]
    call = parse.understand(words)
    if call.version or call.verb in ("help", "as"):
        return
    verb = catalogue.find(str(call.verb))
    given = catalogue.checked(verb, parse.arguments(verb, call.words))
    assert [p.name for p in verb.params if p.expected and given[p.name] is None] == []


def test_no_alias_is_in_the_table() -> None:
    assert SYNONYMS.keys() & {*parse.TAUGHT, *parse.ALIASES} == set()


def test_the_words_of_the_table_are_written_as_they_are_looked_up() -> None:
    assert [word for word in SYNONYMS if word != word.casefold() or word.count(" ") > 1 or "_" in word] == []


def test_an_option_of_the_table_belongs_to_some_verb() -> None:
    known = {p.name.replace("_", "-") for name in catalogue.names() for p in catalogue.find(name).params}
    assert set(suggestions.options().values()) <= known


# What is said


@pytest.mark.parametrize(
    ("typed", "commands"),
    [
        ("task done task-1", ["task submit task-1", "task complete task-1"]),
        ("done 7", ["task submit 7", "task complete 7"]),
        ("task DONE 7", ["task submit 7", "task complete 7"]),
        ("help task done", ["task submit TASK", "task complete TASK"]),
        ("msg Bob hello there", ["send Bob 'hello there'"]),
        ("message send Bob hello", ["send Bob hello"]),
        ("register Yeats --role reviewer", ["join Yeats"]),
        ("task list", ["board"]),
        ("tasks", ["board"]),
        ("submit 7", ["task submit 7"]),
        ("add-task 'Write it'", ["task add 'Write it'"]),
        ("task_add Write it", ["task add 'Write it'"]),
        ("add task Write it", ["task add 'Write it'"]),
        ("tasks claim 7", ["task claim 7"]),
        ("check_in", ["inbox", "whoami"]),
        ("resubmit h-1", ["held resubmit h-1"]),
        ("withdraw k-1", ["checkpoint withdraw k-1 --reason REASON"]),
        ("version", ["--version"]),
        ("7", ["task show 7"]),
        ("task-7", ["task show task-7"]),
        ("task 7", ["task show 7"]),
        ("begin Yeats", ["start Yeats", "task claim TASK"]),
        ("take 6", ["task claim 6", "claim PATH"]),
        ("take src/a.py", ["task claim TASK", "claim src/a.py"]),
        ("comment 5 looks fine", ["task note 5 'looks fine'"]),
        ("assign Yeats 5", ["task assign 5 Yeats"]),
        ("rename 5 New words", ["task edit 5 --title 'New words'"]),
        ("task update 5 --status done", ["task edit 5", "task note 5 TEXT", "task submit 5"]),
        ("task done parser", ["task submit parser", "task complete parser"]),
        ("read m-1234567", ["inbox", "task show TASK"]),
        ("get-tasks", ["board"]),
        ("send-message Bob hi", ["send Bob hi"]),
        ("ask-human Go on?", ["ask 'Go on?'"]),
        ("unassign 5", ["task assign 5 --nobody"]),
        ("checkpoint add Go on?", ["ask 'Go on?'"]),
    ],
)
def test_a_word_that_people_use_is_answered_with_the_command(bare: Command, typed: str, commands: list[str]) -> None:
    ran = bare(*shlex.split(typed), "--json")
    assert (ran.code, ran.error["error"]) == (2, "unknown_verb")
    assert commands_in(ran.error["remedy"]) == commands
    assert ran.error["details"]["instead"] == [f"moot {command}" for command in commands]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("tsk", "task"),
        ("taks add x", "task"),
        ("task shwo 7", "task show"),
        ("logs", "log"),
        ("baord", "board"),
        ("wohami", "whoami"),
        ("who-hold src", "who-holds"),
        ("compleiton bash", "completion"),
        ("help baord", "board"),
    ],
)
def test_a_misspelt_verb_that_reads_is_answered_with_the_verb(bare: Command, typed: str, meant: str) -> None:
    remedy = bare(*typed.split(), "--json").error["remedy"]
    assert f"Did you mean `moot {meant}`?" in remedy


@pytest.mark.parametrize("name", [name for name in catalogue.names() if catalogue.find(name).kind != "look"])
def test_a_verb_that_changes_something_is_never_suggested_for_its_spelling(name: str) -> None:
    first, _, second = name.partition(" ")
    odd = second or first
    for wrong in (odd[:-1], odd + odd[-1], odd[1:], odd[0] + odd[2:], odd[1] + odd[0] + odd[2:], f"{odd}x", f"re{odd}"):
        words = [first, wrong] if second else [wrong]
        try:
            parse.understand(words)
        except Usage as error:
            known = suggestions.synonyms().keys() & {wrong, " ".join(words)}
            near = [] if known else commands_in(error.remedy.partition("Did you mean")[2])
            verbs = [one for one in near if one in catalogue.names()]
            assert [one for one in verbs if catalogue.find(one).kind != "look"] == []


@pytest.mark.parametrize(
    "typed", ["sned Bob hi", "inbx", "clam src/a.py", "undo", "", "checkpoint go", "decision undo"]
)
def test_what_cannot_be_known_is_not_guessed(typed: str) -> None:
    error = said_to(*(typed.split() or [""]))
    assert error.details["instead"] == []
    assert "Did you mean" not in error.remedy
    assert error.remedy.endswith("`moot help --all` lists the verbs.")


def test_an_unknown_word_after_task_is_answered_with_the_words_that_can_follow() -> None:
    remedy = said_to("task", "clam").remedy
    assert "Did you mean" not in remedy
    assert "`task` is followed by add, " in remedy
    assert " claim," in remedy


@pytest.mark.parametrize("odd", HOSTILE)
def test_what_was_typed_cannot_act_in_a_suggested_command(odd: str) -> None:
    for words in (("done", odd), ("msg", odd, odd), ("submit", odd), ("add", "task", odd), ("task", odd), (odd,)):
        for command in said_to(*words).details.get("instead", []):
            known = {odd, f"{odd} {odd}"}
            plain = [word for word in shlex.split(command) if word not in known]
            assert all(word.isascii() and word.replace("-", "").isalpha() for word in plain), command


# Options


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["task", "add", "x", "--prio", "high"], "did you mean --priority?"),
        (["task", "add", "x", "--desc", "y"], "did you mean --body?"),
        (["task", "add", "x", "--depends-on", "7"], "did you mean --needs?"),
        (["task", "fail", "7", "--message", "y"], "did you mean --reason?"),
        (["task", "add", "x", "--nonsense"], "it has --id, --body, "),
        (["claims", "--mine"], "it has --holder."),
        (["send", "Bob", "-m", "hi"], "`send` has no option -m; it has --type, "),
    ],
)
def test_an_unknown_option_is_answered_with_those_of_the_verb(bare: Command, words: list[str], said: str) -> None:
    ran = bare(*words, "--json")
    assert (ran.code, ran.error["error"]) == (2, "bad_arguments")
    assert said in ran.error["message"]
