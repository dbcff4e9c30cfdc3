"""Bad input gets a refusal with code, reason and remedy, the documented exit code, and nothing written."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot import Workspace
from moot.api import catalogue
from moot.surfaces.cli.main import main
from moot.views.store import Store
from tests.surfaces.command import PATIENCE, RAW, Command, Ran, git, new_command
from tests.surfaces.worlds import enliven, orchestrate

ESCAPE = "\x1b[41mred\x1b]0;title\x07 \x9b41m \x08\x7f \u202egnirts \u2028line"
COLOURS = re.compile(r"\x1b\[(?!41)[0-9;]*m")  # those that a table is drawn with; none has a red background
NO_UTF8 = b"\xff\xfe"
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def ids() -> dict[str, str]:
    return {}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory, ids: dict[str, str]) -> Command:
    """One lively workspace for all tests here that only get refusals."""
    command = new_command(tmp_path_factory.mktemp("town"))
    ids.update(enliven(command))
    (command.repo / "leads-out").symlink_to("/etc")
    (command.repo / "src").mkdir()
    (command.repo / "src" / "leads-out.py").symlink_to("../../home")
    (command.repo / "not.json").write_text('{"a": ')
    return command


def refused(
    command: Command, *words: str | bytes, code: int, error: str, agent: str | None = "Ada", **more: Any
) -> dict[str, Any]:
    """The refusal, as data. That it is the same in the other voices, test_cli.py says."""
    before = command.head()
    ran = command("--json", *words, agent=agent, **more)
    assert ran.code == code, ran
    said = ran.error
    assert said["error"] == error
    assert said["message"]
    assert said["remedy"]
    assert ran.err == ""
    assert command.head() == before
    return said


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["agenst"], "moot agents"),
        (["taks", "add", "x"], "moot task"),
        (["tsk"], "moot task"),
        (["tsk", "--help"], "moot task"),
        (["task", "shwo"], "moot task show"),
        (["help", "agenst"], "moot agents"),
        (["help", "compleiton"], "moot completion"),
        (["compleiton", "bash"], "moot completion"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else None,
)
def test_a_verb_that_is_misspelt_is_answered_with_the_nearest(town: Command, words: list[str], meant: str) -> None:
    assert f"Did you mean `{meant}`?" in refused(town, *words, code=2, error="unknown_verb")["remedy"]


def test_a_pack_without_verbs_is_not_suggested_in_their_place(town: Command) -> None:
    assert "Did you mean" not in refused(town, "orchestrator", code=2, error="unknown_verb")["remedy"]


# What is not there


@pytest.mark.promise(4)
@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["send", "Bbo", "hi"], "unknown_agent", "Did you mean Bob?"),
        (["send", "Bob", "Zoe", "hi"], "unknown_agent", "moot agents"),
        (["send", "@reviewrs", "hi"], "unknown_role", "reviewer"),
        (["send", "person:nobody-has-this-name", "hi"], "unknown_person", "whoami"),
        (["send", "Bob", "hi", "--type", "qeustion"], "unknown_type", "request"),
        (["send", "Bob", "hi", "--task", "task-999"], "unknown_task", "moot board"),
        (["send", "Bob", "hi", "--thread", "m-0000000"], "unknown_message", "moot inbox"),
        (["reply", "m-0000000", "hi"], "unknown_message", "moot inbox"),
        (["ack", "m-0000000"], "unknown_message", "moot inbox"),
        (["thread", "m-0000000"], "unknown_message", "moot inbox"),
        (["leave", "Bbo"], "unknown_agent", "Did you mean Bob?"),
        (["task", "claim", "tsk-001"], "unknown_task", "Did you mean task-001?"),
        (["task", "show", "task-999"], "unknown_task", "moot board"),
        (["task", "add", "New", "--needs", "task-999"], "unknown_task", "moot board"),
        (["task", "link", "task-001", "--needs", "task-999"], "unknown_task", "moot board"),
        (["task", "move", "task-999", "done"], "unknown_task", "moot board"),
        (["claim", "new.py", "--task", "task-999"], "unknown_task", "moot board"),
        (["wait", "--task", "task-999"], "unknown_task", "moot board"),
        (["release", "c-0000000"], "unknown_claim", "moot claims"),
        (["release", "free.py"], "not_claimed", "moot claims"),
        (["mailbox", "@nobody"], "unknown_mailbox", "Bob"),
        (["held", "show", "h-0000000"], "unknown_entry", "moot held"),
        (["held", "drop", "h-0000000", "--reason", "no"], "unknown_entry", "moot held"),
        (["explain", "nothing"], "unknown_thing", "a task"),
    ],
)
def test_what_is_unknown_is_named_with_what_is_known(town: Command, words: list[str], error: str, hint: str) -> None:
    assert hint in refused(town, *words, code=4, error=error)["remedy"]


@pytest.mark.parametrize(
    "words", [["send", "Bob", "hi"], ["task", "claim"], ["claim", "new.py"], ["inbox"], ["wait", "--mail"]]
)
def test_an_unknown_caller_is_refused_with_the_closest_name(town: Command, words: list[str]) -> None:
    remedy = refused(town, *words, agent="Adda", code=4, error="unknown_agent")["remedy"]
    assert "Did you mean Ada?" in remedy
    assert "join first: `moot join Adda`" in remedy


@pytest.mark.parametrize("agent", ["Bob Smith", "", "all", "\udcff"])
def test_a_caller_who_cannot_be_an_agent_is_refused(town: Command, agent: str) -> None:
    refused(town, "--agent", os.fsencode(agent), "inbox", agent=None, code=2, error="bad_name")


def test_what_a_lifecycle_does_not_have_is_refused_with_what_it_has(town: Command) -> None:
    assert "review" in refused(town, "task", "move", "task-001", "finished", code=1, error="unknown_state")["remedy"]
    assert "working" in refused(town, "task", "move", "task-001", "done", code=1, error="no_such_move")["remedy"]
    assert (
        "core" in refused(town, "task", "add", "x", "--lifecycle", "agile", code=1, error="unknown_lifecycle")["remedy"]
    )
    assert "orchestrator" in refused(town, "init", "--pack", "agile", code=2, error="unknown_pack")["remedy"]


# What another holds


@pytest.mark.promise(7)
def test_what_is_held_is_refused_with_the_holder(town: Command) -> None:
    task = refused(town, "task", "claim", "task-003", code=3, error="task_held")
    assert "Bob" in task["message"]
    assert task["details"]["holder"] == "Bob#1"
    file = refused(town, "claim", "src/*.py", code=3, error="file_held")
    assert "Bob#1" in file["message"]
    assert "moot send Bob" in file["remedy"]
    assert "Bob" in refused(town, "task", "submit", "task-003", code=3, error="not_holder")["message"]


@pytest.mark.promise(7)
def test_a_stale_token_is_refused_with_who_holds_it_now(town: Command) -> None:
    stale = refused(town, "task", "submit", "task-003", "--token", "1", agent="Bob", code=3, error="not_holder")
    assert stale["details"]["holder"] == "Bob#1"
    assert stale["details"]["token"] > 1
    assert str(stale["details"]["token"]) in stale["message"]


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    "words",
    [
        ["send", "Ada", "hi"],
        ["task", "submit", "task-003"],
        ["claim", "x.py"],
        ["leave"],
        ["inbox"],
        ["wait", "--mail"],
        ["ack", "{request}"],
    ],
)
def test_a_stale_incarnation_is_refused_with_who_has_its_name_now(
    town: Command, ids: dict[str, str], words: list[str]
) -> None:
    call = [word.format(**ids) for word in words]
    said = refused(town, *call, agent="Bob", incarnation=7, code=3, error="stale_incarnation")
    assert said["details"]["holder"] == "Bob#1"
    assert "Bob#1" in said["message"]


def test_a_name_in_use_is_not_taken_by_accident(town: Command) -> None:
    assert "--take-over" in refused(town, "join", "Bob", agent=None, code=3, error="name_in_use")["remedy"]
    refused(town, "join", "Bob", agent="Ada", incarnation=1, code=3, error="name_in_use")


# What a rule forbids


def test_the_author_is_not_the_reviewer(town: Command) -> None:
    assert (
        "another agent" in refused(town, "task", "approve", "task-004", agent="Bob", code=1, error="own_work")["remedy"]
    )


@pytest.mark.promise(9)
def test_a_cycle_is_refused_and_shown(town: Command) -> None:
    said = refused(town, "task", "link", "task-001", "--needs", "task-002", code=1, error="cycle")
    assert "task-001 → task-002 → task-001" in said["message"]
    assert said["details"]["cycle"] == ["task-001", "task-002", "task-001"]
    refused(town, "task", "link", "task-001", "--needs", "task-001", code=1, error="cycle")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["task", "claim", "task-002"], "task_blocked"),
        (["task", "reject", "task-004"], "reason_missing"),
        (["task", "add", "   "], "no_title"),
        (["send", "Bob", "   "], "empty_message"),
        (["send", "Bob", "--data", "{}"], "empty_message"),
        (["send"], "no_recipient"),
    ],
)
def test_what_a_rule_forbids_is_refused(town: Command, words: list[str], error: str) -> None:
    refused(town, *words, code=1, error=error)


@pytest.mark.parametrize("bad", ["bad id", "", "../up", "-dash", "two\nlines", "a" * 101])
@pytest.mark.parametrize("verb", ["artifact add", "decide", "task add"])
def test_an_id_that_is_not_plain_cannot_be_chosen(town: Command, verb: str, bad: str) -> None:
    refused(town, *verb.split(), "a.py", f"--id={bad}", code=2, error="bad_id")


@pytest.mark.promise(15)
@pytest.mark.parametrize("ttl", ["0", "0s", "366d"])
def test_a_lease_that_never_ends_cannot_be_given(town: Command, ttl: str) -> None:
    refused(town, "task", "add", "New", "--ttl", ttl, code=2, error="bad_ttl")
    refused(town, "claim", "new.py", "--ttl", ttl, code=2, error="bad_ttl")


# Paths


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("../elsewhere.py", "path_outside"),
        ("a/../../elsewhere.py", "path_outside"),
        ("/etc/passwd", "path_absolute"),
        ("/", "path_absolute"),
        ("leads-out/passwd", "path_symlink"),
        ("leads-out", "path_symlink"),
        ("src/leads-out.py", "path_symlink"),
        (".git/config", "path_internal"),
        (".git/moot/log.db", "path_internal"),
        ("", "path_malformed"),
        (".", "path_malformed"),
        ("new\nline", "path_malformed"),
        ("back\\slash", "path_malformed"),
        ("a" * 5000, "path_malformed"),
        ("[", "pattern_malformed"),
        ("a**b", "pattern_malformed"),
        ("[z-a]", "pattern_malformed"),
        ("*?" * 40, "pattern_too_complex"),
        ("*/" * 70 + "x", "pattern_too_complex"),
    ],
)
def test_a_path_that_is_not_the_repositorys_and_a_pattern_that_means_nothing_are_refused(
    town: Command, path: str, error: str
) -> None:
    for verb in ("claim", "release", "who-holds") if error in {"path_outside", "path_symlink"} else ("claim",):
        refused(town, verb, path, code=1, error=error)


@pytest.mark.promise(10)
def test_one_bad_path_among_good_ones_claims_none(town: Command) -> None:
    refused(town, "claim", "good.py", "/etc/passwd", "better.py", code=1, error="path_absolute")
    refused(town, "claim", "good.py", "src/b.py", code=3, error="file_held")
    assert town("who-holds", "good.py").out == "Nobody holds good.py.\n"


def test_paths_of_two_workspaces_are_refused_together(town: Command, tmp_path: Path) -> None:
    other = new_command(tmp_path)
    Workspace.init(other.repo).close()
    refused(town, "claim", "a.py", str(other.repo / "b.py"), code=1, error="several_workspaces")


# Messages


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ('{"a": ', "bad_json"),
        ("", "bad_json"),
        ("nonsense", "bad_json"),
        ("[1]", "bad_json"),
        ('"text"', "bad_json"),
        ('{"a": NaN}', "bad_json"),
        ('{"a": Infinity}', "bad_json"),
        ('{"a": 1e999}', "bad_json"),
        ('{"a": "\\ud800"}', "bad_json"),
        ('{"a": ' + "9" * 5000 + "}", "bad_json"),
        ('{"a": ' + "[" * 500 + "]" * 500 + "}", "bad_json"),
        ('{"a": ' + "[" * 50_000 + "]" * 50_000 + "}", "bad_json"),
        ("@not.json", "bad_json"),
        ("@missing.json", "bad_arguments"),
        ("@", "bad_arguments"),
        ("@/", "bad_arguments"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_malformed_json_is_refused(town: Command, data: str, error: str) -> None:
    refused(town, "send", "Bob", "--data", data, code=2, error=error)


@pytest.mark.parametrize("raw", [b"\xff", b"a\x00b", b'{"a": "\xff"}'])
def test_bytes_on_standard_input_that_are_no_text_are_refused(town: Command, raw: bytes) -> None:
    refused(town, "send", "Bob", "-", input=raw, code=2, error="bad_arguments")


@pytest.mark.parametrize("extra", [1, MEBIBYTE])
def test_a_message_over_the_limit_is_refused_and_not_cut(town: Command, extra: int) -> None:
    said = refused(town, "send", "Bob", "-", input="x" * (MEBIBYTE + extra), code=1, error="message_too_large")
    assert said["details"] == {"size": MEBIBYTE + extra, "limit": MEBIBYTE}
    data = json.dumps({"a": "x" * MEBIBYTE})
    refused(town, "send", "Bob", "--data", "-", input=data, code=1, error="message_too_large")


def test_a_message_at_the_limit_arrives_whole(run: Command) -> None:
    text = "ü" * (MEBIBYTE // 2)
    assert run("send", "Bob", "-", agent="Ada", input=text).code == 0
    assert run("inbox", "--json", agent="Bob").result["new"][0]["text"] == text
    refused(run, "send", "Bob", "-", input=text + "x", code=1, error="message_too_large")


# Words that are none


@pytest.mark.parametrize(
    "words",
    [
        ["--limit"],
        ["--limit", ""],
        ["--limit", "many"],
        ["--limit", "1.5"],
        ["--limit", "-1"],
        ["--limit", "9" * 20],
        ["--limit", "9" * 5000],
        ["--limit=1", "--limit=2"],
        ["--nonsense"],
        ["--nonsense=1"],
        ["-x"],
        ["surplus"],
        ["--all=yes"],
    ],
    ids=lambda words: " ".join(words)[:24],
)
def test_an_argument_that_is_none_is_refused(town: Command, words: list[str]) -> None:
    said = refused(town, "inbox", *words, code=2, error="bad_arguments")
    assert "moot inbox --help" in said["remedy"]


@pytest.mark.parametrize("verb", ["inbox", "ready", "log"])
def test_a_limit_of_nothing_shows_nothing_and_breaks_nothing(town: Command, verb: str) -> None:
    before = town.head()
    assert town(verb, "--limit", "0", agent="Ada").code == 0
    assert town.head() == before


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--nonsense"], "bad_arguments"),
        (["-C"], "bad_arguments"),
        (["--agent"], "bad_arguments"),
        (["nonsense"], "unknown_verb"),
        ([""], "unknown_verb"),
        ([ESCAPE], "unknown_verb"),
        ([NO_UTF8], "unknown_verb"),
        (["task", "nonsense"], "unknown_verb"),
    ],
)
def test_a_call_without_a_verb_that_exists_is_refused(town: Command, words: list[Any], error: str) -> None:
    refused(town, *words, code=2, error=error)


@pytest.mark.parametrize("value", ["soon", "", "-5", "1e9", "1y", "٣", "1" * 30])
def test_a_duration_that_is_none_is_refused(town: Command, value: str) -> None:
    refused(town, "wait", "--mail", "--timeout", value, code=2, error="bad_arguments")
    refused(town, "claim", "new.py", "--ttl", value, code=2, error="bad_arguments")


@pytest.mark.parametrize(
    "environment",
    [{"MOOT_INCARNATION": "first"}, {"MOOT_INCARNATION": "-1"}, {"MOOT_INCARNATION": "١"}],
)
def test_an_environment_that_makes_no_sense_is_refused(town: Command, environment: dict[str, str]) -> None:
    refused(town, "inbox", code=2, error="bad_environment", **environment)


def test_a_workspace_that_is_none_is_refused(town: Command, tmp_path: Path) -> None:
    refused(town, "inbox", code=7, error="no_workspace", MOOT_WORKSPACE=str(tmp_path / "missing"))
    refused(town, "inbox", code=7, error="no_workspace", cwd=tmp_path)
    git(tmp_path, "init", "-q", "fresh")
    said = refused(town, "inbox", code=7, error="no_log", cwd=tmp_path / "fresh")
    assert "moot init" in said["remedy"]


# Settings


def test_broken_settings_are_refused_with_file_line_and_key(run: Command) -> None:
    for content, line, key in (
        ('packs = []\n\n[tasks]\nttl = "soon"\n', 4, "tasks.ttl"),
        ("[tasks]\natempts = 3\n", 2, "tasks.atempts"),
        ("[tasks]\nattempts = 3\nattempts = 4\n", 3, ""),
        ("packs = [\n", 1, ""),
        ("[claims]\nscope = 'planet'\n", 2, "claims.scope"),
        ("[messages]\nlimit = -1\n", 2, "messages.limit"),
    ):
        (run.repo / "moot.toml").write_text(content)
        for words in (["join", "Zoe"], ["-C", str(run.linked), "task", "add", "x"]):
            said = refused(run, *words, code=2, error="bad_settings")["message"]
            assert [part for part in (f"line {line}", key, str(run.repo / "moot.toml")) if part not in said] == []
    (run.repo / "moot.toml").write_text('packs = ["agile"]\n')
    assert "agile" in refused(run, "task", "add", "x", code=2, error="unknown_pack")["message"]


def test_settings_that_cannot_be_read_are_refused(run: Command) -> None:
    path = run.repo / "moot.toml"
    path.mkdir()
    refused(run, "task", "add", "x", code=7, error="settings_unreadable")
    path.rmdir()
    path.symlink_to(run.repo / "missing.toml")
    refused(run, "task", "add", "x", code=7, error="settings_unreadable")
    (run.repo / "missing.toml").write_text("[tasks]\nattempts = 5\n")
    assert run("task", "add", "x").code == 0


# A disk that does not take it


@pytest.mark.promise(1)
@pytest.mark.parametrize("room", [0, 100, 4096])
def test_a_full_disk_is_refused_and_what_was_acknowledged_stays(run: Command, room: int) -> None:
    """No file may grow beyond `room` bytes: what a full disk is to the log."""
    kept = run("send", "Bob", "Kept.", "--json", agent="Ada").result["id"]

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    for words in (["send", "Bob", "x" * 10_000], ["task", "add", "Lost"], ["claim", "a.py"]):
        refused(run, *words, code=7, error="disk_full", before=full)
    assert [letter["id"] for letter in run("inbox", "--json", agent="Bob").result["new"]] == [kept]
    assert run("verify").code == 0
    assert run("send", "Bob", "There is room again.", agent="Ada").code == 0


@pytest.fixture
def read_only(run: Command) -> Iterator[Callable[..., Ran]]:
    """Calls the command where the state directory cannot be written."""
    state = run.repo / ".git" / "moot"
    if os.geteuid() != 0:
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (state, *state.rglob("*"))}
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        yield run
        for path, mode in modes.items():
            path.chmod(mode)
        return
    here = shlex.quote(str(state))
    mount = f"mount --bind {here} {here} && mount -o remount,ro,bind {here}"

    def call(*words: str, agent: str | None = None) -> Ran:
        env = {**run.environment, **({"MOOT_AGENT": agent} if agent else {})}
        line = f"{mount} && exec {shlex.join(words)}"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", line],
            cwd=run.repo,
            env=env,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    if shutil.which("unshare") is None or call("true").code != 0:
        pytest.skip("root can write everywhere, and may not mount anything here")
    yield lambda *words, agent=None: call(sys.executable, "-m", "moot", *words, agent=agent)


def test_a_read_only_file_system_is_refused_and_the_log_can_be_read(
    run: Command, read_only: Callable[..., Ran]
) -> None:
    before = run.head()
    for words in (["send", "Bob", "hi"], ["task", "add", "x"], ["claim", "a.py"]):
        ran = read_only(*words, "--json", agent="Ada")
        assert ran.code == 7, ran
        assert ran.error["error"] in {"read_only", "views_unusable", "presence_unwritable"}
        assert ran.error["remedy"]
    assert "agent:joined" in read_only("log").out
    state = run.repo / ".git" / "moot"
    files = sorted(state.rglob("*"))
    assert read_only("verify").out == "sound: 2 events in 2 commits on 2 streams; views agree\n"
    assert sorted(state.rglob("*")) == files
    assert run.head() == before


def test_the_past_can_be_looked_at_where_nothing_can_be_written(run: Command, request: pytest.FixtureRequest) -> None:
    run("task", "add", "First")
    head = run.head()
    run("task", "add", "Second")
    read_only: Callable[..., Ran] = request.getfixturevalue("read_only")
    for position, titles in ((0, []), (head, ["First"]), (head + 1, ["First", "Second"])):
        ran = read_only("board", "--at", str(position), "--json")
        assert [task["title"] for task in ran.result["tasks"]] == titles
    assert "Second" not in read_only("log", "--at", str(head)).out


@pytest.mark.parametrize("harm", ["behind", "wrong"])
def test_views_are_compared_where_nothing_can_be_written(
    run: Command, request: pytest.FixtureRequest, harm: str
) -> None:
    state = run.repo / ".git" / "moot"
    run("task", "add", "First")
    if harm == "behind":
        kept = {path: path.read_bytes() for path in state.glob("views-*")}
        run("task", "add", "Second")
        for path, content in kept.items():
            path.write_bytes(content)
    else:
        with contextlib.closing(Store(str(state))) as store:
            store.begin()
            store.db.execute("UPDATE task SET rank = 9")
            store.commit()
    read_only: Callable[..., Ran] = request.getfixturevalue("read_only")
    ran = read_only("verify", "--json")
    assert ran.code == (0 if harm == "behind" else 1), ran
    if harm == "wrong":
        assert ran.error["error"] == "not_sound"


# Text that would steer a terminal


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A workspace where everything that takes a text has got control characters and escape sequences."""
    command = new_command(tmp_path_factory.mktemp("haunted"))
    ids = orchestrate(command)
    nasty = ESCAPE
    with Workspace(command.repo, agent="Ada") as ada, Workspace(command.repo, agent="Bob") as bob:
        ada.task_add(nasty, body=nasty, id="task-002", lifecycle="core")
        ada.task_add("Second", id="task-003", lifecycle="core", needs="task-002")
        bob.task_claim("task-002")
        bob.task_submit("task-002", reason=nasty)
        ada.task_reject("task-002", reason=nasty)
        ada.task_cancel("task-003", reason=nasty)
        ada.send("Bob", nasty, data={nasty: nasty}, type="request", within=0, task="task-002")
        bob.send("Ada", nasty)
        bob.claim("src/b.py", reason=nasty)
        ada.claim("src/a.py", reason=nasty)
        ada.release("src/a.py", reason=nasty)
        ada.held_drop(ids["entry"], reason=nasty)
    with Workspace(command.repo) as ws:
        ws.join("Cleo", client=nasty)
        ws.leave(reason=nasty)
    path = command.repo / ".claude-orchestrator/tasks/messages/to-team-lead.json"
    content = json.loads(path.read_text())
    content["messages"].append({"type": nasty, nasty: nasty})
    path.write_text(json.dumps(content))
    return command


LOOKS = [
    ["agents", "--all"],
    ["inbox", "--peek"],
    ["mailbox", "Bob"],
    ["mailbox", "@team-lead"],
    ["overdue", "--all"],
    ["board", "--all"],
    ["ready"],
    ["task", "show", "task-002"],
    ["task", "show", "task-003"],
    ["claims"],
    ["who-holds", "src/b.py"],
    ["held"],
    ["log", "--limit", "1000"],
    ["explain", "task-002"],
    ["explain", "claims"],
    ["explain", "Cleo"],
    ["wait", "--task", "task-003", "--timeout", "0"],
    ["claim", "src/*.py"],
    ["task", "show", ESCAPE],
    ["send", ESCAPE, "hi"],
    ["inbox", f"--{ESCAPE}"],
    ["-C", ESCAPE, "claims"],
]


@pytest.mark.parametrize("words", LOOKS, ids=lambda words: ascii(" ".join(words))[:30])
def test_no_control_character_comes_out_raw(haunted: Command, words: list[str]) -> None:
    """`Command` looks at all that goes into a pipe; what goes to a terminal is looked at here."""
    haunted(*words, agent="Ada")
    json.loads(haunted("--json", *words, agent="Ada").out)
    shown = COLOURS.sub("", haunted.at_a_terminal(*words, agent="Ada").out)
    assert not RAW.search(shown), shown


def test_json_keeps_what_it_escapes(haunted: Command) -> None:
    letters = haunted("inbox", "--peek", "--all", "--json", agent="Bob").result
    found = [letter for letter in (*letters["new"], *letters["waiting"]) if letter["text"] == ESCAPE]
    assert found[0]["data"] == {ESCAPE: ESCAPE}


def test_a_text_cannot_pass_for_a_line_of_moots_own(run: Command) -> None:
    forged = "x\nc-forged0 Ada exclusive src/z.py"
    with Workspace(run.repo, agent="Bob") as bob:
        bob.claim("src/b.py", reason=forged)
        bob.send("Ada", "x\nm-forged0 note from Ada at noon")
        bob.task_add("x\ntask-999 open forged", body="x\ntask-999 open forged", id="task-001")
        bob.task_claim("task-001")
        bob.task_fail("task-001", reason="x\nmoot: forged")
    for words in (["claims"], ["inbox", "--peek"], ["board", "--all"], ["task", "show", "task-001"], ["log"]):
        lines = run(*words, agent="Ada").out.splitlines()
        assert not [line for line in lines if line.startswith(("c-forged", "m-forged", "task-999", "moot: forged"))]
    lines = run("wait", "--task", "task-001", "--timeout", "0", agent="Ada").err.splitlines()
    assert "moot: forged" not in lines


# Everything, everywhere


NASTY = [
    "",
    " ",
    "\x1b[31m",
    "\udcff",
    "-1",
    "9" * 25,
    "9" * 5000,
    "x" * 70_000,
    "@all",
    "..",
    "{",
    "\u202e",
    "a\nb",
    "#",
    "/",
]
ENDLESS = {("log", "follow"), ("mirror", "watch"), ("watch", "follow")}
PLACES = [
    (verb, param)
    for verb in map(catalogue.find, catalogue.names())
    for param in verb.params
    if (verb.name, param.name) not in ENDLESS
]


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The command in this process, which is quick; its workspace may become a mess."""
    command = new_command(tmp_path_factory.mktemp("mill"))
    enliven(command)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(command.repo)
        patch.setenv("MOOT_AGENT", "Ada")
        patch.setenv("HOME", command.environment["HOME"])
        patch.setattr("sys.stdin", open(os.devnull, encoding="utf-8"))  # noqa: SIM115
        yield command
        sys.stdin.close()


def grind(words: list[str]) -> tuple[int, str, str]:
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    (out.getvalue() + err.getvalue()).encode()
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(("verb", "param"), PLACES, ids=[f"{verb.name} {param.name}" for verb, param in PLACES])
def test_no_argument_of_any_verb_breaks_it(mill: Command, verb: Any, param: Any) -> None:
    fill = {p.name: "x" for p in verb.params if p.required and p.name != param.name}
    for value in NASTY:
        words = verb.name.split()
        for other in verb.params:
            given = value if other.name == param.name else fill.get(other.name)
            if given is None or other.positional:
                continue
            flag = other.flag
            words += [flag] if other.type == "flag" else [f"{flag}={given}"]
        if param.name != "timeout" and any(p.name == "timeout" for p in verb.params):
            words += ["--timeout", "0"]
        words.append("--")
        words += [value if p.name == param.name else fill.get(p.name, "x") for p in verb.params if p.positional]
        if verb.name == "leave":
            words.append("surplus")  # Ada is still needed
        code, out, err = grind(words)
        assert code in range(7), (words, out, err)
        assert not RAW.search(out + err), (words, out, err)


WORDS = st.one_of(
    st.sampled_from(
        [*catalogue.names(), "task", "held", "--json", "--help", "--", "-C", "--agent", "--limit", "--key", "Bob"]
    ),
    st.sampled_from(
        ["task-001", "task-003", "src/b.py", "--type", "--data", "{}", "--reason", "x", "--task", "--to", "-h"]
    ),
    st.text(max_size=20),
)


@settings(max_examples=200)
@given(st.lists(WORDS, max_size=8))
def test_no_command_line_at_all_breaks_it(mill: Command, words: list[str]) -> None:
    words = [part for word in words for part in (word.split(" ") if word in catalogue.names() else [word])]
    if {"wait", "leave", "as", "init"} & set(words):
        return  # they wait, end the story, run other programs, or write elsewhere
    code, out, err = grind(words)
    assert "moot itself failed" not in err + out, (words, err)
    assert code in range(8)
    assert not RAW.search(out + err)


def test_after_all_this_the_log_is_sound(mill: Command) -> None:
    assert grind(["verify"])[0] == 0
