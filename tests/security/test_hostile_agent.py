"""An agent that would rather be a person, or another one: it forgets its name, renames the account, fakes a terminal.

Under one account nothing stops a program that means harm. What is stopped here is confusion: no way of leaving out a
name gives an agent a person's rights, and none lets two agents share one identity.
"""

from __future__ import annotations

import ast
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import moot
from moot import Workspace
from moot.api import catalogue
from moot.core.errors import MootError, Refused, TimedOut, Usage
from moot.core.identity import AGENTS_SHELLS, Caller
from moot.place.account import login
from tests.calls import open_call
from tests.person import ME
from tests.surfaces.command import PATIENCE, Command, Ran, new_command
from tests.surfaces.town import PatientClock
from tests.surfaces.worlds import conclude, inhabit

if TYPE_CHECKING:
    from moot.api.catalogue import Verb

CLAUDE = {"CLAUDECODE": "1"}
VERBS = [catalogue.find(name) for name in catalogue.names()]
FOR_PEOPLE = [
    ("redact", "1"),
    ("redact", "1"),
    ("pack", "adopt"),
    ("restore", "backup.db"),
    ("checkpoint", "resolve", "k-0000000", "yes"),
    ("needs-me", "--answer", "k-0000000", "yes"),
    ("allow", "tell", "--yes"),
    ("allow", "--all", "--yes"),
    ("allow", "tell", "--revoke"),
    ("task", "reopen", "task-001", "--override", "--reason", "Again."),
    ("guard", "remove"),
    ("deinit", "--yes", "--force"),
]


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """The command in a workspace of Ada and Bob, called by nobody in particular."""
    command = new_command(tmp_path)
    inhabit(command)
    del command.environment["MOOT_PERSON"]
    return command


def traces(command: Command) -> dict[str, Any]:
    """What a caller leaves: the log, and signs of life."""
    state = command.repo / ".git" / "moot"
    presence = {str(p): p.stat().st_mtime_ns for p in state.rglob("*") if "presence" in str(p) and p.is_file()}
    return {"head": command.head(), "presence": presence}


def at_a_terminal(command: Command, *words: str, **environment: str) -> Ran:
    """The command with a terminal as its input, as `script` makes one."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "moot", *words],
            cwd=command.repo,
            env={**command.environment, **environment},
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return Ran(done.returncode, done.stdout, done.stderr)


# Without a name


def test_two_agents_that_forget_their_names_are_both_refused_the_same_file(run: Command) -> None:
    before = traces(run)
    for _ in range(2):
        ran = run("claim", "src/a.py", "--json", **CLAUDE)
        assert (ran.code, ran.error["error"]) == (2, "who_are_you")
    assert run("who-holds", "src/a.py", "--json").result == []
    assert traces(run) == before


@pytest.mark.parametrize("variable", AGENTS_SHELLS)
def test_dropping_the_name_makes_no_agent_a_person(run: Command, variable: str) -> None:
    before = traces(run)
    for said in ({}, {"MOOT_AGENT": ""}, {"MOOT_PERSON": "1"}):
        ran = run("task", "add", "Mine", "--json", **{variable: "1"}, **said)
        assert (ran.code, ran.error["error"]) == (2, "who_are_you")
        assert "--agent NAME" in ran.error["remedy"]
        assert "person" not in ran.error["remedy"]
    assert traces(run) == before


def test_neither_does_a_terminal_that_it_makes_for_itself(run: Command) -> None:
    ran = at_a_terminal(run, "task", "add", "Mine", **CLAUDE)
    assert ran.code == 2
    assert "[who_are_you]" in ran.err


def test_a_person_at_a_terminal_says_nothing(run: Command) -> None:
    assert at_a_terminal(run, "task", "add", "Mine").code == 0
    assert run("log", "--limit", "1", "--json").result[0]["by"] == ME


def test_a_pipe_alone_speaks_for_nobody(run: Command) -> None:
    assert run("send", "Bob", "-", "--json", input="hi").error["error"] == "who_are_you"
    assert run("--person", "send", "Bob", "-", "--json", input="hi").code == 0
    assert run("send", "Bob", "-", "--json", input="hi", MOOT_PERSON="1").code == 0


def _given(verb: Verb) -> dict[str, Any]:
    words = {"text": "x", "words": "x", "int": 1, "seconds": 1.0, "json": {}, "flag": True}
    return {p.name: p.choices[0] if p.choices else words[p.type] for p in verb.params if p.required}


@pytest.mark.parametrize("mark", [None, "CLAUDECODE"])
def test_nobody_changes_anything_whatever_the_verb(run: Command, mark: str | None) -> None:
    """Every verb of the catalogue that does more than look, also those that are made later."""
    before = traces(run)
    tried = [verb for verb in VERBS if verb.kind != "look" and not verb.anybody and verb.opens]
    assert len(tried) > 30
    session = open_call(str(run.repo), run.environment, caller=Caller(mark=mark))
    for verb in tried:
        with pytest.raises(MootError) as refused:
            session.run(verb.name, _given(verb))
        expected = "people_only" if verb.kind == "person" and mark else "who_are_you"
        assert refused.value.code == expected, verb.name
    session.engine.log.close()
    session.engine.store.close()
    assert traces(run) == before


def test_a_verb_with_the_wrong_class_commits_nothing_for_nobody(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second bar: what commits asks who acts, and nobody is no answer."""
    monkeypatch.setitem(catalogue._found, "send", catalogue.find("send").replace(kind="look"))
    before = traces(run)
    session = open_call(str(run.repo), run.environment, caller=Caller())
    with pytest.raises(Usage) as refused:
        session.run("send", {"to": "Bob", "text": "hi"})
    session.engine.log.close()
    session.engine.store.close()
    assert refused.value.code == "who_are_you"
    assert traces(run) == before


LOOKS = {
    "thread": ["{request}"],
    "mailbox": ["Bob"],
    "instructions": None,  # of a pack
    "mailboxes": None,  # of a pack
    "pack check": None,  # of a pack
    "brief": None,  # of a pack
    "run show": None,  # of a pack
    "run log": None,  # of a pack
    "run explain": None,  # of a pack
    "run stages": None,  # of a pack
    "doc show": None,  # of a pack
    "doc diff": None,  # of a pack
    "task show": ["task-001"],
    "who-holds": ["src/b.py"],
    "artifact show": ["src/b.py"],
    "decision show": ["{new}"],
    "checkpoint show": ["{checkpoint}"],
    "receipt show": ["{receipt}"],
    "held show": None,  # of a pack
    "wait": ["--type", "task:added", "--after", "0"],
    "explain": ["task-001"],
    "search": ["parser"],
    "watch": ["--once"],
    "export": ["-"],
    "backup": ["../log.db"],
}


def test_nobody_may_look_at_everything_and_leaves_no_trace(tmp_path: Path) -> None:
    command = new_command(tmp_path)
    ids = conclude(command)
    del command.environment["MOOT_PERSON"]
    before = traces(command)
    for verb in VERBS:
        words = LOOKS.get(verb.name, [])
        if verb.kind != "look" or words is None:
            continue
        ran = command(*verb.name.split(), *(word.format(**ids) for word in words), **CLAUDE)
        late = verb.name == "doctor"  # which finds that an answer is overdue
        assert (ran.code, "who_are_you" in ran.err) == (int(late), False), (verb.name, ran)
    assert traces(command) == before


@pytest.mark.parametrize(
    "words", [("inbox",), ("mailbox",), ("wait", "--mail"), ("inbox", "--peek"), ("instructions",)]
)
def test_what_needs_a_me_asks_who_that_is(run: Command, words: tuple[str, ...]) -> None:
    ran = run(*words, "--json", **CLAUDE)
    assert (ran.code, ran.error["error"]) == (2, "who_are_you")


def test_nobody_who_waits_for_a_task_takes_it_from_no_one(run: Command) -> None:
    run("task", "add", "Slow", agent="Ada")
    run("task", "claim", "task-001", agent="Bob")
    clock, ended = PatientClock(), []
    clock.passed = 24 * 3600.0
    for caller in (Caller(), Caller(mark="CLAUDECODE"), Caller(agent="Ada")):
        session = open_call(str(run.repo), run.environment, caller=caller, clock=clock)
        with pytest.raises(TimedOut):
            session.run("wait", {"task": "task-001", "timeout": 0})
        ended.append(session.engine.log.read(run.head() - 1, 1)[0].type)
        session.engine.log.close()
        session.engine.store.close()
    assert ended == ["task:started", "task:started", "task:lapsed"]


# Under another name


def test_another_account_cannot_be_borrowed_from_the_environment(run: Command) -> None:
    borrowed = {"USER": "somebody", "LOGNAME": "somebody", "SUDO_USER": "somebody", "USERNAME": "somebody"}
    run("emit", "build:finished", MOOT_PERSON="1", **borrowed)
    assert run("log", "--limit", "1", "--json").result[0]["by"] == ME
    assert run("whoami", "--json", MOOT_PERSON="1", **borrowed).result["principal"] == ME


@pytest.mark.parametrize("name", ["person:root", f"process:{login()}", "moot", "role:developer", "Ada#1", "person"])
def test_no_agent_is_called_like_a_person_or_a_process(run: Command, name: str) -> None:
    assert run("--agent", name, "task", "add", "x", "--json").error["error"] == "bad_name"
    assert run("task", "add", "x", "--json", MOOT_AGENT=name).error["error"] == "bad_name"
    assert run("join", name, "--json").error["error"] == "bad_name"


def test_one_cannot_be_an_agent_and_a_person_at_once(run: Command) -> None:
    assert run("--agent", "Ada", "--person", "whoami", "--json").error["error"] == "bad_arguments"
    with pytest.raises(Usage):
        Workspace(run.repo, agent="Ada", person=True)


# For people only


@pytest.mark.parametrize("words", FOR_PEOPLE, ids=" ".join)
def test_what_is_for_people_is_refused_in_an_agents_shell_whatever_is_said(
    run: Command, words: tuple[str, ...]
) -> None:
    before = traces(run)
    tries = [
        run(*words, "--json", **CLAUDE),
        run("--person", *words, "--json", **CLAUDE),
        run(*words, "--json", MOOT_PERSON="1", **CLAUDE),
        run("--person", *words, "--json", MOOT_PERSON="1", MOOT_AGENT="", **CLAUDE),
        run(*words, "--json", agent="Ada", **CLAUDE),
        run(*words, "--json", agent="Ada"),
        at_a_terminal(run, *words, "--json", **CLAUDE),
        at_a_terminal(run, "--person", *words, "--json", MOOT_PERSON="1", **CLAUDE),
    ]
    for ran in tries:
        assert (ran.code, ran.error["error"]) == (1, "people_only"), ran
        assert "--person" not in ran.error["remedy"]
        assert "MOOT_" not in ran.error["remedy"]
    assert run(*words, "--json").error["error"] == "who_are_you"
    assert traces(run) == before


def test_the_list_above_has_every_verb_that_is_for_people() -> None:
    named = {" ".join(words[:2]) for words in FOR_PEOPLE} | {words[0] for words in FOR_PEOPLE}
    missing = [v.name for v in VERBS if (v.kind == "person" or any(p.person for p in v.params)) and v.name not in named]
    assert missing == []


def test_a_program_in_an_agents_shell_is_nobody_and_cannot_make_itself_a_person(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    with Workspace(run.repo) as ws:
        assert ws.whoami().kind == "nobody"
        with pytest.raises(Usage) as refused:
            ws.send("Bob", "hi")
        assert refused.value.code == "who_are_you"
        assert ws.join("Cleo").name == "Cleo"
        assert (ws.whoami().kind, ws.whoami().why) == ("agent", "you joined")
        ws.send("Bob", "hi")
    with Workspace(run.repo, person=True) as ws:
        ws.send("Bob", "hi")  # what is not for people only may be said to be a person's
        with pytest.raises(Refused) as denied:
            ws.redact("1")
        assert denied.value.code == "people_only"
        ws.backup(str(run.repo.parent / "log.db"))
    with pytest.raises(Refused):
        Workspace.restore(run.repo.parent / "log.db", run.repo, person=True)


def test_a_program_has_no_terminal_to_speak_for_it(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOOT_PERSON")
    monkeypatch.setattr("os.isatty", lambda _fd: True)
    with Workspace(run.repo) as ws:
        assert ws.whoami().kind == "nobody"


# By what a person started

SEND = f"env -u MOOT_AGENT {sys.executable} -m moot task add Mine"


def test_what_moot_starts_for_a_person_is_no_person(run: Command) -> None:
    inherited = {"MOOT_PERSON": "1"}
    ran = run("as", "Cleo", "--", "sh", "-c", f"env | grep -c MOOT_PERSON; {SEND}", **inherited)
    assert (ran.out, ran.code) == ("0\n", 2)
    assert "[who_are_you]" in ran.err
    ran = run("check", "--", "sh", "-c", f"env | grep -c MOOT_PERSON; {SEND}", **inherited)
    assert ran.out.startswith("0\n")
    assert "[who_are_you]" in ran.out + ran.err
    assert run("board", "--json").result["tasks"] == []


# What is performed for nobody


def test_what_nobody_performs_is_a_processs(run: Command) -> None:
    (run.repo / "moot.toml").write_text(
        '[[handlers]]\nname = "tell"\non = ["build:*"]\nmessage = { to = "Bob", text = "{type}" }\n'
    )
    run("emit", "build:finished", agent="Ada")
    run("handle", "--drain", **CLAUDE)
    by = {event["by"] for event in run("log", "--json").result if event["type"].startswith("effect:")}
    assert by <= {"Ada#1", f"process:{login()}"}
    assert run("claim", "a.py", "--json", **CLAUDE).error["error"] == "who_are_you"


# What is taught


def test_no_remedy_teaches_a_way_around() -> None:
    """An agent does what a remedy says."""
    taught = []
    for path in Path(moot.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
                said = " ".join(n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and type(n.value) is str)
                if any(word in said for word in ("MOOT_PERSON", "--person", "without --agent", "without MOOT_AGENT")):
                    taught.append(f"{path}:{node.lineno}")
    assert taught == []


ERRORS = {"Refused", "Usage", "Held", "Unknown", "TimedOut", "AwaitedFailed", "Unavailable", "Notice"}
