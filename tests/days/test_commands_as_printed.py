"""Agents follow what moot prints. Each command is allowed by the documented list, and works for who was shown it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.api import catalogue
from moot.api.verbs.workspace import BY_ROLE, PARAGRAPH
from moot.surfaces.cli.parse import understand
from tests.surfaces.command import Command, new_command

if TYPE_CHECKING:
    from tests.surfaces.command import Ran

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "permit-agents.md"
RULES = json.loads(re.search(r"```json\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)[1])["permissions"]["allow"]
PRINTED = re.compile(r"(?<!\$ )\bmoot [a-z].*?(?=`|, or moot|, then moot| \(|; | →|$)", re.MULTILINE)
FILLED = {"'…'": "'Why not.'", "PATH…": "docs/a.md", "COMMAND": "make test", "TEXT": "'A text.'", "TASK": "task-001"}
FILLED |= {"NAME": "Bishop", "REASON": "'No.'", "ID": "m-1", "TITLE": "'A title.'", "'Apache|MIT'": "MIT"}
OF_THE_CASE = ("[no_such_move]", "[file_held]")  # of examples with another task or file than the caller's


def allowed(command: str) -> bool:
    """Whether a rule allows it: rules match the beginning of a command, up to the end of a word."""
    bare = [rule.removeprefix("Bash(").removesuffix(")") for rule in RULES]
    return any(command == rule or (rule.endswith(":*") and f"{command} ".startswith(f"{rule[:-2]} ")) for rule in bare)


def printed(text: str) -> list[list[str]]:
    """The commands of a text, without those that others wrote. Those of one line that says `then` are done in turn."""
    firsts = {name.partition(" ")[0] for name in catalogue.names()}
    found: list[list[str]] = []
    for line in (line for line in text.splitlines() if not line.startswith(">")):
        first, *others = (
            [command for command in PRINTED.findall(part) if command.split()[1] in firsts]
            for part in re.split(", or (?=`?moot )", line)
        )
        if not re.search(", then `?moot", line):
            found += [[command] for commands in (first, *others) for command in commands]
            continue
        found += [first, *([*first[:-1], command] for commands in others for command in commands)]
    return [commands for commands in found if commands]


class Day:
    """Agents in their shells. What they are shown is tried in a copy of the repository, each command on its own."""

    def __init__(self, folder: Path, *, in_environment: bool) -> None:
        self._folder, self._in_environment = folder, in_environment
        self.command = new_command(folder / "0")
        self.shown: dict[str, list[list[str]]] = {}
        self.refused: list[str] = []
        self._copies = 0

    def person(self, *words: str) -> Ran:
        return self._seen(None, self.command(*words))

    def agent(self, name: str, *words: str) -> Ran:
        return self._seen(name, self._call(self.command, name, words))

    def _call(self, command: Command, name: str, words: tuple[str, ...]) -> Ran:
        env = {"CLAUDECODE": "1", "MOOT_PERSON": ""}
        if self._in_environment:
            return command(*words, agent=name, **env)
        return command(*words, *(() if name in words else ("--agent", name)), **env)

    def _seen(self, name: str | None, ran: Ran) -> Ran:
        for lines in printed(ran.out + ran.err):
            if name is not None and lines not in self.shown.setdefault(name, []):
                self.shown[name].append(lines)
                self._try(name, lines)
        return ran

    def _try(self, name: str, lines: list[str]) -> None:
        copy = self._folder / str(self._copies + 1)
        self._copies += 1
        shutil.copytree(self._folder / "0", copy, symlinks=True)
        there = Command(copy / "repo", copy / "linked", copy / "home")
        env = {"CLAUDECODE": "1", "MOOT_PERSON": "", **({"MOOT_AGENT": name} if self._in_environment else {})}
        for line in lines:
            filled = line
            for placeholder, value in FILLED.items():
                filled = re.sub(rf"(?<!\w){re.escape(placeholder)}(?!\w)", value, filled)
            words = shlex.split(filled)[1:]
            words += ["--timeout", "0"] if understand(words).verb == "wait" or "--wait" in words else []
            ran = there(*words, **env)
            if ran.code not in (0, 5) and not ran.err.rstrip().endswith(OF_THE_CASE):
                self.refused.append(f"{name}: {filled}: {ran.err}")
        shutil.rmtree(copy)


@pytest.mark.parametrize("in_environment", [True, False], ids=["MOOT_AGENT", "--agent"])
def test_a_day_of_two_agents_who_do_what_they_are_shown(tmp_path: Path, in_environment: bool) -> None:
    (tmp_path / "0").mkdir()
    day = Day(tmp_path, in_environment=in_environment)
    (day.command.repo / "moot.toml").write_text("[tasks]\nreceipt = true\n")
    (day.command.repo / "Makefile").write_text("test:\n\ttrue\n")
    day.person("init")
    day.person("task", "add", "Write the parser")
    day.person("task", "add", "Write the lexer", "--needs", "task-001")
    day.agent("Yeats", "start", *([] if in_environment else ["Yeats"]))
    day.agent("Bishop", "join", "Bishop", "--role", "reviewer")
    day.agent("Yeats", "claim", "src/**", "--task", "task-001")
    assert day.agent("Bishop", "claim", "src/lexer.py").code == 3
    assert day.agent("Bishop", "task", "claim", "task-001").code == 3
    day.agent("Bishop", "send", "Yeats", "May I?", "--type", "request", "--within", "1h")
    for words in (["board"], [], ["inbox"], ["whoami"], ["task", "show", "task-001"]):
        day.agent("Yeats", *(words or ["start"]))
    assert day.agent("Yeats", "task", "submit", "task-001").code == 1  # without a receipt
    day.agent("Yeats", "ask", "Which licence?", "--option", "MIT", "--option", "Apache")
    (day.command.repo / "src").mkdir()
    (day.command.repo / "src" / "lexer.py").write_text("x = 1\n")
    assert day.command("check", "--", "true", agent="Yeats").code == 0
    assert day.agent("Yeats", "task", "submit", "task-001", "--receipt", "last").code == 0
    assert day.agent("Yeats", "task", "approve", "task-001").code == 1  # its own work
    for words in (["wait"], ["inbox"], ["start"], ["task", "show", "task-001"], ["board"]):
        day.agent("Bishop", *words)
    for words in (["task", "done", "task-001"], ["send", "Nobody", "Hi"], ["reply", "m-nothing", "Hi"], ["claim"]):
        assert day.agent("Bishop", *words).code != 0
    day.agent("Bishop", "task", "reject", "task-001", "--reason", "No test.")
    day.agent("Yeats", "inbox")
    day.agent("Yeats", "start")
    everything = [line for found in day.shown.values() for lines in found for line in lines]
    assert len(everything) > 15, everything
    assert not in_environment or [line for line in everything if "--agent" in line] == []
    mine = [line for line in everything if in_environment or "check" not in line]
    assert [line for line in mine if not allowed(line.replace("COMMAND", "make test"))] == []
    assert not day.refused, "\n".join(day.refused)


def test_the_documented_list_has_every_verb_of_the_paragraph() -> None:
    text = (PARAGRAPH + BY_ROLE).replace("\n   ", " ")
    wanted = [line for lines in printed(text) for line in lines]
    assert len(wanted) > 15
    assert [line for line in wanted if not allowed(line.replace("COMMAND", "make test"))] == []
    assert not allowed("moot check -- rm -r x")
    assert not allowed("moot allow --all --yes")
