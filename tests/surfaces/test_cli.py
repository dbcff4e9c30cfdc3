"""The command, as people, agents and programs use it: every verb does what it says, in all three voices."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from moot import Workspace
from moot.api import catalogue
from moot.surfaces.cli import parse, reference
from moot.surfaces.cli.main import main
from tests.person import ME
from tests.surfaces.command import PATIENCE, Command, Ran, new_command
from tests.surfaces.worlds import (
    ASSIGNMENT,
    TO_DEVELOPER,
    carry,
    conclude,
    drive,
    enliven,
    inhabit,
    orchestrate,
    react,
    react_as_allowed,
    run_stages,
)

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")  # the only kind that a drawn table may use


class Case(NamedTuple):
    """A verb at work: who calls it how, what the short answer says, what the result must be."""

    agent: str | None
    words: str
    says: str
    holds: Callable[[Any], bool]
    drawn: str = ""  # the title of the table that a person gets
    world: Callable[[Command], dict[str, str]] = enliven


def guarded(command: Command) -> dict[str, str]:
    """A lively workspace whose commits are checked."""
    ids = enliven(command)
    command("guard", "install")
    return ids


def moves(task: str, state: str) -> Callable[[Any], bool]:
    return lambda result: (result["id"], result["state"]) == (task, state)


CASES = {
    "start": Case(None, "start Cleo", "task-001 is yours", lambda r: (r["agent"], r["claimed"]) == ("Cleo", True)),
    "join": Case(None, "join Cleo --role poet", "You are Cleo#1. Roles: poet.", lambda r: r["roles"] == ["poet"]),
    "leave": Case("Bob", "leave", "Bob has left.", lambda r: r["here"] is False),
    "whoami": Case("Bob", "whoami", "You are Bob#1, an agent: MOOT_AGENT is set.", lambda r: r["principal"] == "Bob#1"),
    "agents": Case(
        None, "agents", "Ada here (reviewer)", lambda r: [m["name"] for m in r] == ["Ada", "Bob"], drawn="Agents"
    ),
    "send": Case("Ada", "send Bob 'Well done.'", "stored for Bob", lambda r: r["to"] == ["Bob"]),
    "reply": Case("Bob", "reply {request} Looked.", "stored for Ada", lambda r: r["to"] == ["Ada"]),
    "answer": Case("Bob", "answer {request} Looked.", "stored for Ada", lambda r: r["to"] == ["Ada"]),
    "inbox": Case("Bob", "inbox", "> Please look.", lambda r: [m["text"] for m in r["new"]] == ["Please look."]),
    "ack": Case("Bob", "ack {request}", "acked m-", lambda r: len(r["acked"]) == 1),
    "thread": Case("Ada", "thread {request}", "> Please look.", lambda r: r[0]["stages"][0][1] == "stored"),
    "overdue": Case(None, "overdue", "has not answered Ada", lambda r: r[0]["sender"] == "Ada", drawn="Overdue"),
    "mailbox": Case("Bob", "mailbox", "1 message, last read never", lambda r: len(r["messages"]) == 1),
    "instructions": Case(
        "Bob", "instructions task-001", "task-001 in_progress", lambda r: r["attempt"] == 1, world=orchestrate
    ),
    "mailboxes": Case(
        None,
        "mailboxes",
        "task_assignment from Ada about task-001",
        lambda r: [box["name"] for box in r] == ["@team-lead", "@developer"],
        world=orchestrate,
    ),
    "pack check": Case(None, "pack check", "no problems", lambda r: r["problems"] == [], world=orchestrate),
    "pack adopt": Case(None, "pack adopt", "Nothing to take over", lambda r: r["tasks"] == {}, world=orchestrate),
    "task add": Case(
        "Ada", "task add New --needs task-001", "task-008 added: New", lambda r: r["waits"] == ["task-001"]
    ),
    "task link": Case(
        "Ada", "task link task-001 --needs task-003", "task-001 needs task-003", lambda r: r["waits"] == ["task-003"]
    ),
    "task unlink": Case(
        "Ada",
        "task unlink task-002 --needs task-001",
        "task-002 no longer needs task-001",
        lambda r: (r["id"], r["waits"]) == ("task-002", []),
    ),
    "task edit": Case(
        "Ada",
        "task edit task-001 --title Other --priority low",
        "task-001 edited: Other",
        lambda r: (r["title"], r["priority"]) == ("Other", "low"),
    ),
    "task note": Case("Ada", "task note task-003 'Look.'", "task-003 noted: Hold it", lambda r: r["notes"] == 1),
    "task assign": Case(
        "Ada", "task assign task-001 Bob", "task-001 assigned to Bob: Write it", lambda r: r["assigned"] == "Bob"
    ),
    "task claim": Case("Bob", "task claim", "task-001 is yours", lambda r: r["holder"] == "Bob#1"),
    "task submit": Case("Bob", "task submit task-003", "task-003 is in review", moves("task-003", "review")),
    "task approve": Case("Ada", "task approve task-004", "task-004 is done", moves("task-004", "done")),
    "task reject": Case("Ada", "task reject task-004 --reason No.", "task-004 is open", lambda r: r["attempt"] == 2),
    "task reopen": Case("Ada", "task reopen task-007 --reason Yes.", "task-007 is open", moves("task-007", "open")),
    "task complete": Case("Bob", "task complete task-006", "task-006 is done", moves("task-006", "done")),
    "task fail": Case("Bob", "task fail task-003 --reason No.", "task-003 has failed", moves("task-003", "failed")),
    "task cancel": Case(
        "Ada", "task cancel task-001 --reason No.", "task-001 is cancelled", moves("task-001", "cancelled")
    ),
    "task release": Case("Bob", "task release task-003", "task-003 is open", lambda r: r["holder"] is None),
    "task move": Case("Bob", "task move task-003 review", "task-003 is in review", moves("task-003", "review")),
    "task show": Case(None, "task show task-003", "held by: Bob#1", lambda r: r["task"]["holder"] == "Bob#1"),
    "board": Case(None, "board", "task-002 waits", lambda r: r["counts"]["done"] == 1, drawn="Board"),
    "ready": Case(
        None, "ready", "task-001 high Write it", lambda r: [t["id"] for t in r] == ["task-001"], drawn="Ready"
    ),
    "claim": Case("Ada", "claim src/a.py 'docs/**'", "exclusive: src/a.py, docs/**", lambda r: len(r["paths"]) == 2),
    "release": Case("Bob", "release src/b.py", "released src/b.py", lambda r: r["released"] == ["src/b.py"]),
    "claims": Case(
        None, "claims", "Bob exclusive src/b.py (new grammar)", lambda r: r[0]["holder"] == "Bob#1", drawn="Claims"
    ),
    "who-holds": Case(None, "who-holds src/b.py", "Bob exclusive", lambda r: r[0]["holder"] == "Bob#1", drawn="Claims"),
    "artifact add": Case(
        "Ada",
        "artifact add src/a.py --provides A",
        "src/a.py registered: provides A",
        lambda r: (r["artifact"]["paths"], r["satisfied"]) == (["src/a.py"], {"A": ["Bob"]}),
        world=conclude,
    ),
    "artifact modify": Case(
        "Ada",
        "artifact modify src/b.py --change 'one more field'",
        "src/b.py changed",
        lambda r: r["artifact"]["changes"] == 1,
        world=conclude,
    ),
    "check": Case("Bob", "check true", "passed after", lambda r: r["receipt"]["code"] == 0),
    "receipt show": Case(None, "receipt show {receipt}", "passed", lambda r: r["doubt"] is None, world=conclude),
    "receipts": Case(None, "receipts", "passed Bob true", lambda r: len(r) == 1, drawn="Receipts", world=conclude),
    "artifact show": Case(
        None, "artifact show B", "provides: B", lambda r: r["artifact"]["id"] == "src/b.py", world=conclude
    ),
    "artifacts": Case(
        None, "artifacts", "src/b.py (file) by Bob", lambda r: len(r) == 1, drawn="Artifacts", world=conclude
    ),
    "artifact need": Case(
        "Ada",
        "artifact need B C",
        "B is available: src/b.py",
        lambda r: [n["satisfied"] for n in r] == [True, False],
        world=conclude,
    ),
    "artifact needed": Case(
        None, "artifact needed", "A is needed by Bob", lambda r: len(r) == 1, drawn="Missing artifacts", world=conclude
    ),
    "decide": Case(
        "Ada",
        "decide 'Use tabs' --affects task-003 --path 'src/**'",
        "stands; notified: Bob",
        lambda r: r["told"] == ["Bob"],
        world=conclude,
    ),
    "decision supersede": Case(
        "Ada",
        "decision supersede {old} --by {new} --reason Better.",
        "is superseded by",
        lambda r: r["decision"]["status"] == "superseded",
        world=conclude,
    ),
    "decision show": Case(
        None, "decision show {old}", "> Use spaces", lambda r: r["status"] == "standing", world=conclude
    ),
    "decisions": Case(
        None,
        "decisions --affecting src/b.py",
        "Ada: Use spaces (affects src/**)",
        lambda r: len(r) == 1,
        drawn="Decisions",
        world=conclude,
    ),
    "checkpoint reach": Case(
        "Bob", "checkpoint reach Right? --option yes", "waits for a person", lambda r: r["options"] == ["yes"]
    ),
    "checkpoint resolve": Case(
        None,
        "checkpoint resolve {checkpoint} 1",
        "answered: blue; notified: Bob",
        lambda r: (r["answer"], r["resolved_by"]) == ("blue", ME),
        world=conclude,
    ),
    "checkpoint withdraw": Case(
        "Bob",
        "checkpoint withdraw {checkpoint} --reason Solved.",
        "withdrawn",
        lambda r: r["status"] == "withdrawn",
        world=conclude,
    ),
    "checkpoint show": Case(
        None, "checkpoint show {checkpoint}", "> Which colour?", lambda r: r["status"] == "reached", world=conclude
    ),
    "checkpoints": Case(
        None,
        "checkpoints",
        "from Bob about task-003: Which colour? [blue | red]",
        lambda r: len(r) == 1,
        drawn="Checkpoints",
        world=conclude,
    ),
    "needs-me": Case(
        None,
        "needs-me",
        "moot checkpoint resolve k-",
        lambda r: [item["kind"] for item in r] == ["checkpoint", "no-review"],
        drawn="Needs you",
        world=conclude,
    ),
    "brief": Case(
        "Bob",
        "brief developer",
        "# Developer",
        lambda r: (r["role"], r["folder"]) == ("developer", ""),
        world=orchestrate,
    ),
    "run": Case(
        None, "run orchestrator --dry-run", "would drive task-002", lambda r: len(r["commands"]) == 2, world=drive
    ),
    "runs": Case(
        None,
        "runs",
        "passed orchestrator task-001",
        lambda r: [x["outcome"] for x in r] == ["passed"] * 2,
        "Runs",
        drive,
    ),
    "run show": Case(
        None, "run show last", "review, attempt 1, passed", lambda r: r["task"] == "task-001", world=drive
    ),
    "run log": Case(None, "run log {run}", "> ```json", lambda r: r["stage"] == "review", world=drive),
    "run status": Case(None, "run status", "report completed", lambda r: r["state"] == "finished", world=run_stages),
    "run explain": Case(
        None, "run explain last", "report ran", lambda r: [x["stage"] for x in r] == ["report"], world=run_stages
    ),
    "run restore": Case(
        None, "run restore last", "restored a.md", lambda r: r["restored"] == ["a.md"], world=run_stages
    ),
    "run stages": Case(
        None, "run stages checks", "report: by a command", lambda r: r[0]["writes"] == ["report"], world=run_stages
    ),
    "doc list": Case(None, "doc list", "in sync", lambda r: r[0]["state"] == "in sync", world=run_stages),
    "doc show": Case(None, "doc show {document}", "lines", lambda r: r["leaves"] == {"/lines": 1}, world=run_stages),
    "doc diff": Case(None, "doc diff {document}", "", lambda r: r["leaves"] == [], world=run_stages),
    "doc restore": Case(None, "doc restore {document}", "a.json", bool, world=run_stages),
    "doc reset": Case(None, "doc reset {document} --reason Again.", "reset", bool, world=run_stages),
    "held": Case(None, "held", "to-developer.json", lambda r: len(r) == 1, drawn="Held", world=orchestrate),
    "held show": Case(None, "held show {entry}", "task_assignment", lambda r: r["status"] == "held", world=orchestrate),
    "held drop": Case(
        None, "held drop {entry} --reason No.", "dropped", lambda r: r["status"] == "dropped", world=orchestrate
    ),
    "wait": Case("Bob", "wait --mail --timeout 30", "1 new message: moot inbox", lambda r: r["new"] == 1),
    "log": Case(None, "log --limit 1", "file:claimed", lambda r: [e["type"] for e in r] == ["file:claimed"]),
    "watch": Case(
        None,
        "watch --once",
        "Agents: 2 here",
        lambda r: (r["tasks"]["done"], [a["name"] for a in r["agents"]]) == (1, ["Ada", "Bob"]),
    ),
    "explain": Case(None, "explain task-007", "Impossible.", lambda r: r[-1]["type"] == "task:failed"),
    "emit": Case(
        "Ada",
        "emit build:finished --data '{{\"ok\": true}}'",
        "build:finished in topic/build",
        lambda r: r["caused"] == 0,
    ),
    "handle": Case(None, "handle --drain", "1 done.", lambda r: r["counts"] == {"done": 1}, world=react_as_allowed),
    "allow": Case(None, "allow tell --yes", "allowed", lambda r: r[0]["allowed"] is True, world=react),
    "effects": Case(
        None,
        "effects",
        "waiting tell",
        lambda r: [e["state"] for e in r] == ["waiting"],
        "Effects",
        world=react_as_allowed,
    ),
    "effects drop": Case(
        None,
        "effects drop {effect} --reason Gone",
        "dropped: e-",
        lambda r: len(r["dropped"]) == 1,
        world=react,
    ),
    "effects retry": Case(None, "effects retry {effect}", "due now: e-", lambda r: len(r["retried"]) == 1, world=react),
    "search": Case(
        None, "search write", "> [Write] it", lambda r: [t["id"] for t in r][:1] == ["task-001"], drawn="Search"
    ),
    "init": Case(None, "init", "Found the workspace", lambda r: r["new"] is False),
    "verify": Case(None, "verify", "sound:", lambda r: r["problems"] == []),
    "doctor": Case(None, "doctor", "ok workspace", lambda r: all(f["good"] for f in r), drawn="Doctor", world=inhabit),
    "export": Case(None, "export ../events.jsonl --force", "events in", lambda r: r["events"] == r["position"]),
    "backup": Case(None, "backup ../log.db", "checked", lambda r: r["size"] > 0),
    "restore": Case(None, "restore ../log.db --force", "restored", lambda r: r["kept"] is None, world=carry),
    "redact": Case(
        None, "redact {request} --reason Why.", "redacted #", lambda r: r["fields"] == ["text"], world=enliven
    ),
    "guard install": Case(None, "guard install", "are checked.", lambda r: r["guarded"] is True),
    "guard remove": Case(None, "guard remove", "Removed", lambda r: len(r["removed"]) == 2, world=guarded),
    "guard status": Case(None, "guard status", "are checked.", lambda r: r["guarded"] is True, world=guarded),
    "guard check": Case(
        None, "guard check pre-commit", "Nobody else has claimed", lambda r: (r["files"], r["overridden"]) == (0, [])
    ),
    "deinit": Case(None, "deinit --yes --force", "Removed", lambda r: len(r["removed"]) > 0),
    "mirror": Case(None, "mirror", "in sync", lambda r: TO_DEVELOPER in r["files"], world=orchestrate),
}


def words_of(case: Case, ids: dict[str, str]) -> list[str]:
    return shlex.split(case.words.format(**ids))


@pytest.mark.parametrize("name", catalogue.names())
class TestEveryVerb:
    def test_says_shortly_what_it_did(self, bare: Command, name: str) -> None:
        case = CASES[name]
        ran = bare(*words_of(case, case.world(bare)), agent=case.agent)
        assert ran.code == 0, ran
        assert case.says in ran.out
        assert "\x1b" not in ran.out

    def test_answers_in_json_on_one_line(self, bare: Command, name: str) -> None:
        case = CASES[name]
        ran = bare(*words_of(case, case.world(bare)), "--json", agent=case.agent)
        assert ran.out.count("\n") == 1
        assert json.loads(ran.out).keys() - {"unread"} == {"result", "warnings"}
        assert case.holds(ran.result), ran.out

    def test_teaches_itself_with_an_example(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        verb = catalogue.find(name)
        assert main([*name.split(), "--help"]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"moot {name}")
        assert "Example" in said
        assert all(example in said for example in reference.examples(verb))
        for param in verb.params:
            shown = param.name.upper() if param.positional else param.flag
            assert shown in said
        assert all(len(line) <= 100 for line in said.splitlines())


PEOPLE = [name for name, case in CASES.items() if case.drawn or name in {"send", "inbox", "task show", "log"}]


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_at_a_terminal_gets_tables_and_words(bare: Command, name: str) -> None:
    case = CASES[name]
    ran = bare.at_a_terminal(*words_of(case, case.world(bare)), agent=case.agent)
    plain = ESCAPE.sub("", ran.out)
    assert ran.code == 0, ran
    assert "\x1b" not in plain
    if case.drawn:
        assert plain.lstrip().startswith(case.drawn)
        assert "───" in plain
    else:
        assert case.says in plain


EXAMPLES = [(name, example) for name in catalogue.names() for example in reference.examples(catalogue.find(name))]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_an_example_is_understood(name: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("fixed.json", "message.json"):
        (tmp_path / file).write_text("{}")
    program, *words = shlex.split(example)
    call = parse.understand(words)
    assert (program, call.verb) == ("moot", name)
    catalogue.checked(catalogue.find(name), parse.arguments(catalogue.find(name), call.words))


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """One lively workspace for tests that write nothing."""
    command = new_command(tmp_path_factory.mktemp("village"))
    enliven(command)
    return command


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """One lively workspace for tests that bear each other's traces."""
    command = new_command(tmp_path_factory.mktemp("stage"))
    enliven(command)
    with Workspace(command.repo) as ws:
        ws.join("Yeats", role=["reviewer", "developer"])
    (command.repo / "fixed.json").write_text(json.dumps(ASSIGNMENT))
    (command.repo / "plan.md").write_text("- [ ] Write the parser\n")
    return command


ENDLESS = ("--follow", "--watch", "wait --task")


@pytest.mark.parametrize("example", [e for _, e in EXAMPLES if not any(word in e for word in ENDLESS)])
def test_an_example_can_be_run(stage: Command, example: str) -> None:
    """It is done, or refused for a reason of this workspace; it is never malformed, and nothing breaks."""
    words = shlex.split(example)[1:]
    if "--timeout" in words:
        words[words.index("--timeout") + 1] = "1s"
    assert stage(*words, agent="Ada").code in {0, 1, 3, 4, 5}


# Help


def test_the_first_word_of_several_verbs_lists_them(bare: Command) -> None:
    ran = bare("task", "--help")
    assert ran.code == 0
    assert [line.split("  ")[1] for line in ran.out.splitlines()] == [
        name for name in catalogue.names() if name.startswith("task ")
    ]


def test_a_wait_answers_with_an_object_whatever_it_was_for(bare: Command) -> None:
    enliven(bare)
    (done,) = bare("wait", "--task", "task-005", "--json").result["tasks"]
    assert (done["id"], done["phase"]) == ("task-005", "done")
    assert bare("wait", "--mail", "--json", agent="Bob").result.keys() == {"new", "ids"}
    (event,) = bare("wait", "--type", "task:added", "--after", "0", "--json").result["events"]
    assert event["type"] == "task:added"


def test_the_version_is_that_of_the_package(bare: Command) -> None:
    try:
        version = importlib.metadata.version("moot")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("moot is run from its sources and not installed")
    assert bare("--version").out == f"moot {version}\n"
    assert bare("--version", "--json").result == {"version": version}


# How words are understood


def test_options_may_stand_anywhere_and_have_an_equals_sign(run: Command) -> None:
    assert run("--agent", "Ada", "send", "--type=request", "Bob", "Please.", "--json").result["to"] == ["Bob"]
    assert run("--json", "task", "add", "--priority=high", "New", "--agent", "Ada").result["priority"] == "high"
    assert run("send", "Bob", "--", "--json", agent="Ada").out.endswith("stored for Bob\n")


def test_a_text_comes_from_standard_input_as_it_is(run: Command) -> None:
    text = "Two lines,\n  Ünïcode ☃ and 'quotes'.\n"
    run("send", "Bob", "-", agent="Ada", input=text)
    assert run("inbox", "--json", agent="Bob").result["new"][0]["text"] == text


def test_data_is_given_as_it_is_from_a_file_or_from_standard_input(run: Command) -> None:
    (run.repo / "data.json").write_text('{"from": "file"}')
    run("send", "Bob", "--data", '{"from": "words"}', agent="Ada")
    run("send", "Bob", "--data", "@data.json", agent="Ada")
    run("send", "Bob", "--data", "-", agent="Ada", input='{"from": "input"}')
    new = run("inbox", "--json", agent="Bob").result["new"]
    assert [letter["data"]["from"] for letter in new] == ["words", "file", "input"]


def test_several_recipients_stand_before_the_text(run: Command) -> None:
    assert run("send", "Ada", "Bob", "Hello.", "--json").result["to"] == ["Ada", "Bob"]


def test_the_directory_can_be_another(run: Command, tmp_path: Path) -> None:
    assert run("-C", str(run.linked), "agents", "--json", cwd=tmp_path).result
    (run.linked / "src").mkdir()
    assert run("-C", str(run.linked / "src"), "claim", "a.py", "--json", agent="Bob").result["paths"] == ["src/a.py"]


def test_a_files_own_repository_is_the_workspace(run: Command, tmp_path: Path) -> None:
    assert run("who-holds", str(run.repo / "a.py"), cwd=tmp_path).out == "Nobody holds a.py.\n"


def test_both_worktrees_and_a_subdirectory_are_one_workspace(run: Command) -> None:
    (run.repo / "deep" / "down").mkdir(parents=True)
    run("claim", "a.py", agent="Ada")
    for cwd in (run.linked, run.repo / "deep" / "down"):
        assert [h["paths"] for h in run("claims", "--json", cwd=cwd).result] == [["a.py"]]


def test_init_touches_nothing_but_the_state_directory_and_is_idempotent(bare: Command) -> None:
    before = {path for path in bare.repo.rglob("*") if ".git/moot" not in str(path)}
    first, second = bare("init", "--json").result, bare("init", "--json").result
    assert (first["new"], second["new"]) == (True, False)
    assert {path for path in bare.repo.rglob("*") if ".git/moot" not in str(path)} == before
    assert "moot start NAME" in first["paragraph"]
    assert first["paragraph"].splitlines()[0] in bare("init").out


# The codes


@pytest.mark.parametrize(
    ("code", "kind", "agent", "words"),
    [
        (1, "refused", "Bob", ["task", "approve", "task-004"]),
        (2, "usage", "Bob", ["task", "claim", "--fast"]),
        (3, "held", "Ada", ["claim", "src/b.py"]),
        (4, "unknown", "Ada", ["task", "show", "task-999"]),
        (5, "timeout", "Ada", ["wait", "--type", "task:cancelled", "--timeout", "0"]),
        (6, "failed", "Ada", ["wait", "--task", "task-007", "--timeout", "30"]),
        (7, "unavailable", None, ["-C", "/", "inbox"]),
    ],
)
def test_an_error_has_its_documented_exit_code_in_every_voice(
    village: Command, code: int, kind: str, agent: str | None, words: list[str]
) -> None:
    short, data = village(*words, agent=agent), village(*words, "--json", agent=agent)
    assert short.code == data.code == code
    assert short.out == data.err == ""
    error = data.error
    assert error["kind"] == kind
    assert short.err.startswith("moot: ")
    for part in (error["message"], error["remedy"], f"[{error['error']}]"):
        assert part in short.err
    shown = village.at_a_terminal(*words, agent=agent)
    assert shown.code == code
    assert f"[{error['error']}]" in shown.out


def test_a_warning_goes_beside_the_answer(bare: Command) -> None:
    orchestrate(bare)
    mailbox = Path(bare.repo, ".claude-orchestrator/tasks/messages/to-developer.json")

    def spoil(number: int) -> None:
        content = json.loads(mailbox.read_text())
        mailbox.write_text(json.dumps({**content, "messages": [*content["messages"], {"number": number}]}))

    spoil(1)
    ran = bare("board")
    assert "held" in ran.err
    assert "held" not in ran.out
    spoil(2)
    said = json.loads(bare("board", "--json").out)["warnings"]
    assert {"code", "message"} <= said[0].keys()


# Keys


REPEATED = {
    "send": ["send", "Bob", "Hello."],
    "task add": ["task", "add", "New"],
    "task claim": ["task", "claim"],
    "task claim by name": ["task", "claim", "task-002"],
    "claim": ["claim", "src/a.py", "--reason", "mine"],
    "reply": ["reply", "{request}", "Looked."],
    "task submit": ["task", "submit", "task-001"],
    "release": ["release", "old.py"],
}
OTHER = {
    "send": ["send", "Bob", "Goodbye."],
    "task add": ["task", "add", "Other"],
    "task claim": ["task", "claim", "task-002"],
    "task claim by name": ["task", "claim", "task-001"],
    "claim": ["claim", "src/c.py", "--reason", "mine"],
    "reply": ["reply", "{request}", "Not yet."],
    "task submit": ["task", "submit", "task-002"],
    "release": ["release", "other.py"],
}
PASSING = {"repeated", "silent_for", "gone"}  # what may differ: that it is the second time, and what happened since


@pytest.fixture
def keyed(run: Command) -> tuple[Command, dict[str, str]]:
    """Ada has what the requests above need."""
    with Workspace(run.repo, agent="Ada") as ada, Workspace(run.repo, agent="Bob") as bob:
        ada.task_add("One")
        ada.task_add("Two")
        ada.claim(["old.py", "other.py"])
        return run, {"request": bob.send("Ada", "Please look.", type="request").id}


def lasting(ran: Ran) -> dict[str, Any]:
    return {name: value for name, value in ran.result.items() if name not in PASSING}


@pytest.mark.promise(6)
@pytest.mark.parametrize("name", REPEATED)
def test_the_same_key_gives_the_same_result_whatever_happened_since(
    keyed: tuple[Command, dict[str, str]], name: str
) -> None:
    run, ids = keyed
    words = [word.format(**ids) for word in REPEATED[name]]
    if name == "task submit":
        run("task", "claim", "task-001", agent="Ada")
    first = run(*words, "--key", "k", "--json", agent="Ada")
    assert first.code == 0, first
    head = run.head()
    assert lasting(run(*words, "--key", "k", "--json", agent="Ada")) == lasting(first)
    assert run.head() == head
    with Workspace(run.repo, agent="Ada") as ada, Workspace(run.repo) as person, Workspace(run.repo, "Bob") as bob:
        ada.release(all=True)
        bob.claim(["src/a.py", "old.py"])
        bob.send("Ada", "Something else.")
        for task in person.board().tasks:
            if task.state == "working":
                person.task_release(task.id)
            if task.state == "review":
                person.task_reject(task.id, reason="No.")
            bob.task_claim(task.id)
    head = run.head()
    assert lasting(run(*words, "--key", "k", "--json", agent="Ada")) == lasting(first)
    assert run.head() == head


@pytest.mark.promise(6)
@pytest.mark.parametrize("name", REPEATED)
def test_the_same_key_with_another_request_is_refused(keyed: tuple[Command, dict[str, str]], name: str) -> None:
    run, ids = keyed
    if name == "task submit":
        run("task", "claim", "task-001", agent="Ada")
    assert run(*(word.format(**ids) for word in REPEATED[name]), "--key", "k", agent="Ada").code == 0
    head = run.head()
    ran = run(*(word.format(**ids) for word in OTHER[name]), "--key", "k", "--json", agent="Ada")
    assert (ran.code, ran.error["error"]) == (1, "key_reused")
    assert run.head() == head


@pytest.mark.promise(6)
def test_a_key_belongs_to_who_used_it(run: Command) -> None:
    first = run("send", "Ada", "Hello.", "--key", "k", "--json", agent="Bob").result
    second = run("send", "Bob", "Hello.", "--key", "k", "--json", agent="Ada").result
    assert first["id"] != second["id"]


# Output that nobody sees


@pytest.mark.promise(5)
def test_mail_is_not_shown_when_the_reader_of_the_output_is_gone(run: Command) -> None:
    sent = run("send", "Bob", "Hello.", "--json", agent="Ada").result["id"]
    with run.popen("inbox", agent="Bob") as process:
        process.stdout.close()
        assert process.wait(PATIENCE) == 141
    assert run("thread", sent, "--json").result[0]["stages"][0][1] == "stored"


@pytest.mark.promise(5)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_mail_is_not_shown_when_the_output_cannot_be_written(run: Command) -> None:
    sent = run("send", "Bob", "Hello.", "--json", agent="Ada").result["id"]
    words = f"{shlex.quote(sys.executable)} -m moot inbox > /dev/full"
    code = run_in_shell(run, words, "Bob")
    assert code == 7
    assert run("thread", sent, "--json").result[0]["stages"][0][1] == "stored"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("words", ["inbox", "inbox --json", "nonsense", "send Ada -"])
def test_a_closed_stream_is_no_reason_to_break(village: Command, closed: str, words: str) -> None:
    call = f"{shlex.quote(sys.executable)} -m moot {words} </dev/null {closed}"
    assert run_in_shell(village, call, "Bob") in range(8)


def test_an_output_that_is_closed_is_told(village: Command) -> None:
    line = f"{shlex.quote(sys.executable)} -m moot inbox >&- 2>told"
    assert run_in_shell(village, line, "Bob") == 7
    assert "output is closed" in (village.repo / "told").read_text()


def run_in_shell(command: Command, line: str, agent: str) -> int:
    env = {**command.environment, "MOOT_AGENT": agent}
    done = subprocess.run(
        ["sh", "-c", line], cwd=command.repo, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


# Streams


def read_line(process: Any) -> str:
    assert select.select([process.stdout], [], [], PATIENCE)[0], "nothing came"
    return process.stdout.readline()


def test_following_the_log_prints_each_event_as_it_comes_until_interrupted(run: Command) -> None:
    head = run.head()
    with run.popen("log", "--follow", "--json", "--after", str(head), "--type", "message:*") as process:
        try:
            for text in ("one", "two"):
                run("task", "add", "Noise", agent="Ada")
                run("send", "Bob", text, agent="Ada")
                event = json.loads(read_line(process))
                assert (event["type"], event["data"]["text"]) == ("message:sent", text)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
            assert process.stderr.read() == ""
        finally:
            process.kill()


def test_a_waiter_is_woken_by_mail(run: Command) -> None:
    with run.popen("wait", "--mail", "--timeout", "60", agent="Bob") as process:
        try:
            run("send", "Bob", "Hello.", agent="Ada")
            assert read_line(process) == "1 new message: moot inbox\n"
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


# As somebody


def test_as_joins_runs_the_command_and_leaves(run: Command) -> None:
    script = (
        'moot() { %s -m moot "$@"; }; moot task add New; moot claim a.py; echo $MOOT_AGENT $MOOT_INCARNATION; exit 9'
    )
    ran = run("as", "Cleo", "--role", "poet", "--", "sh", "-c", script % shlex.quote(sys.executable))
    assert ran.code == 9
    assert ran.out.splitlines()[-1] == "Cleo 1"
    assert run("claims", "--json").result == []
    (cleo,) = [m for m in run("agents", "--all", "--json").result if m["name"] == "Cleo"]
    assert (cleo["here"], cleo["roles"]) == (False, ["poet"])
    assert run("explain", "Cleo", "--json").result[-1]["type"] == "agent:left"


def test_as_leaves_when_the_command_is_killed(run: Command) -> None:
    assert run("as", "Cleo", "--", "sh", "-c", "kill -9 $$").code == 137
    assert "Cleo left" in run("agents", "--all").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["Cleo"], 2),
        (["Cleo", "--"], 2),
        (["Cleo", "true"], 2),
        (["Cleo", "--what", "--", "true"], 2),
        (["Cle o", "--", "true"], 2),
        (["Cleo", "--", "no-such-command-anywhere"], 2),
        (["Ada", "--", "true"], 3),
    ],
)
def test_as_refuses_what_it_cannot_do(run: Command, words: list[str], code: int) -> None:
    ran = run("as", *words)
    assert ran.code == code
    assert ran.err.startswith("moot: ")
    assert "Cleo here" not in run("agents").out


def test_as_teaches_itself_too(bare: Command) -> None:
    assert "moot as Yeats --role reviewer -- " in bare("as", "--help").out
