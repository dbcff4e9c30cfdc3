"""A scripted model that knows only `moot --help` and the paragraph of `moot init`, and guesses as models do."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.surfaces.command import Command, Ran

SUGGESTED = re.compile(r"`moot ([^`]+)`")


class Model:
    """An agent that runs only commands whose verb it has read somewhere: in the help, the paragraph or an answer."""

    def __init__(self, command: Command, name: str, read: str) -> None:
        self._command = command
        self._read = read
        self.name = name
        self.calls = 0

    def does(self, line: str) -> str:
        """Run a command that it knows; returns the answer."""
        verb = re.match(r"(?:--agent \w+ )?((?:task )?[\w-]+)", line)
        assert verb is not None
        assert re.search(rf"\b{verb[1]}\b", self._read), f"{self.name} cannot know `moot {line}`"
        ran = self._run(line)
        assert ran.code == 0, ran
        return ran.out

    def guesses(self, line: str, *never: str) -> str:
        """Run a command that does not exist, or is wrong. Returns the first command that the answer suggests."""
        ran = self._run(line)
        assert ran.code in (1, 2), ran
        suggested = SUGGESTED.findall(ran.err)
        assert suggested, ran.err
        assert not [verb for verb in never if any(one.startswith(verb) for one in suggested)], ran.err
        return suggested[0]

    def _run(self, line: str) -> Ran:
        self.calls += 1
        ran = self._command(*shlex.split(line), MOOT_PERSON="", CLAUDECODE="1")
        self._read += ran.out + ran.err
        return ran


def test_two_models_that_know_only_the_help_finish_a_task_with_its_review(bare: Command) -> None:
    paragraph = bare("init").out
    read = bare("--help").out + paragraph
    bare("task", "add", "Write the parser", "--body", "Use the new grammar.")

    author = Model(bare, "Yeats", read)
    assert author.guesses("next") == "start"
    begun = author.does("start Yeats")
    assert "task-001 is yours" in begun
    assert "> Use the new grammar." in begun
    assert "is already yours" in author.does("--agent Yeats task claim task-1")
    assert author.guesses("--agent Yeats lock src/parser.py") == "claim PATH --agent Yeats"
    author.does("--agent Yeats claim src/parser.py --task 1")
    author.guesses("--agent Yeats task update 1 --status done", "task complete")
    assert author.guesses("--agent Yeats task done 1") == "task submit TASK --agent Yeats"
    assert "still held: src/parser.py" in author.does("--agent Yeats task submit 1")

    reviewer = Model(bare, "Bishop", read)
    assert "You can review task-001 by Yeats" in reviewer.does("start Bishop")
    reviewer.guesses("--agent Bishop review 1", "task complete")
    assert reviewer.guesses("--agent Bishop task reject 1").startswith("task reject task-001 --reason")
    reviewer.does("--agent Bishop task reject 1 --reason 'It has no tests.'")

    assert "1 new message" in author.does("--agent Yeats wait")
    again = author.does("--agent Yeats start")
    assert "> It has no tests." in again
    assert "task-001 is yours (attempt 2" in again
    author.does("--agent Yeats task submit 1")
    assert "task-001 is in review" in reviewer.does("--agent Bishop wait")
    approved = reviewer.does("--agent Bishop task approve 1")
    assert "task-001 is done" in approved
    assert "released src/parser.py" in approved
    author.does("--agent Yeats leave")
    assert bare("board", "--json").result["counts"] == {"done": 1}
    assert bare("claims", "--json").result == []


def test_without_mistakes_a_task_takes_its_author_six_calls(bare: Command) -> None:
    read = bare("--help").out + bare("init").out
    bare("task", "add", "Write the parser")
    bare("join", "Bishop")
    author = Model(bare, "Yeats", read)
    author.does("start Yeats")
    author.does("--agent Yeats claim src/parser.py --task task-001")
    author.does("--agent Yeats check --task task-001 -- true")
    author.does("--agent Yeats task submit task-001 --receipt last")
    bare("task", "approve", "task-001", agent="Bishop")
    assert "1 new message" in author.does("--agent Yeats wait")
    author.does("--agent Yeats leave")
    assert author.calls == 6
    assert bare("task", "show", "task-001", "--json").result["task"]["state"] == "done"
