"""The Python API: the same verbs as everywhere, typed, in this process."""

from __future__ import annotations

import inspect
import json
import keyword
import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import moot
from moot import MootError, Workspace
from moot.api import catalogue
from moot.core.errors import AwaitedFailed, Held, Refused, TimedOut, Unknown, Usage
from moot.surfaces.python.tasks import Board
from moot.surfaces.python.verbs import Mail, Verbs

if TYPE_CHECKING:
    from moot.api.catalogue import Param, Verb
    from tests.surfaces.command import Command

pytestmark = pytest.mark.in_memory

# Verbs that need no open workspace are made by hand; streams are methods of their own.
APART = {"init", "doctor", "restore", "deinit"}
STREAMS = {("log", "follow"): "follow", ("mirror", "watch"): "mirror_watch", ("run status", "follow"): "run_follow"}
VOICES = {("watch", "once")}  # say how a terminal hears it
OWN = {
    "blob",
    "close",
    "follow",
    "follow_async",
    "mirror_watch",
    "init",
    "doctor",
    "pack",
    "put_blob",
    "restore",
    "run_follow",
    "deinit",
}


def method_of(verb: str) -> str:
    name = verb.replace(" ", "_").replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def default_of(param: Param) -> Any:
    if param.required:
        return inspect.Parameter.empty
    return () if param.many else False if param.type == "flag" else param.default


@pytest.mark.parametrize("name", [name for name in catalogue.names() if name not in APART])
def test_a_method_takes_what_its_verb_takes(name: str) -> None:
    verb: Verb = catalogue.find(name)
    found = inspect.signature(getattr(Workspace, method_of(name))).parameters
    wanted = {p.name: default_of(p) for p in verb.params if (name, p.name) not in {*STREAMS, *VOICES}}
    assert {n: p.default for n, p in found.items() if n != "self"} == wanted
    by_position = [n for n, p in found.items() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert by_position == ["self", *(p.name for p in verb.params if p.positional)]


@pytest.mark.parametrize("name", [name for name in catalogue.names() if name not in APART])
def test_a_closed_choice_is_a_literal_with_the_same_values(name: str) -> None:
    annotations = getattr(Workspace, method_of(name)).__annotations__
    for param in catalogue.find(name).params:
        if param.choices:
            values = ", ".join(repr(choice) for choice in param.choices)
            assert f"Literal[{values}]" in annotations[param.name].replace('"', "'")


def test_a_traceback_shows_the_remedy_and_the_code(bare: Command) -> None:
    with Workspace.init(bare.repo, person=True) as ws, pytest.raises(Unknown) as caught:
        ws.task_show("task-404")
    shown = "".join(traceback.format_exception(caught.value))
    assert f"→ {caught.value.remedy} [{caught.value.code}]" in shown


def test_every_public_method_is_a_verb_or_listed_here() -> None:
    found = {n for n, v in inspect.getmembers(Workspace) if not n.startswith("_") and callable(v)}
    verbs = {method_of(name) for name in catalogue.names() if name not in APART}
    assert found == verbs | OWN
    assert set(STREAMS.values()) <= OWN
    assert {n for part in Verbs.__mro__[:-1] for n in vars(part) if not n.startswith("_") and n != "register"} == verbs


def test_the_public_face_has_what_a_program_needs() -> None:
    assert moot.Workspace is Workspace
    assert issubclass(Refused, MootError)


# Opening


def test_init_makes_and_opens_a_workspace_and_may_be_repeated(bare: Command) -> None:
    with Workspace.init(bare.repo) as ws:
        assert ws.root == str(bare.repo)
        assert ws.agent is None
        ws.task_add("One")
    with Workspace.init(bare.repo) as again:
        assert [task.id for task in again.board().tasks] == ["task-001"]
    assert {item.name for item in bare.repo.iterdir()} == {".git"}


def test_init_turns_a_pack_on(bare: Command) -> None:
    with Workspace.init(bare.repo, packs="orchestrator") as ws:
        assert ws.mailbox("@developer").messages == ()
        assert ".claude-orchestrator/tasks/messages/to-developer.json" in ws.mirror()
    assert "orchestrator" in (bare.repo / "moot.toml").read_text()


def test_the_environment_says_who_calls(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_AGENT", "Ada")
    monkeypatch.setenv("MOOT_INCARNATION", "1")
    with Workspace(run.repo) as ws:
        assert (ws.agent, ws.incarnation) == ("Ada", 1)
    with Workspace(run.repo, agent="Bob") as ws:
        assert (ws.agent, ws.incarnation) == ("Bob", None)


@pytest.mark.parametrize("name", ["", "Bob Smith", "\udcff", "all", "x" * 100])
def test_an_agent_must_have_a_sound_name(run: Command, name: str) -> None:
    with pytest.raises(Usage) as caught:
        Workspace(run.repo, agent=name)
    assert caught.value.code == "bad_name"


def test_an_incarnation_belongs_to_an_agent(run: Command) -> None:
    with pytest.raises(Usage):
        Workspace(run.repo, incarnation=1)


def test_a_closed_workspace_says_so(run: Command) -> None:
    ws = Workspace(run.repo)
    ws.close()
    ws.close()
    assert repr(ws) == "Workspace(closed)"
    for call in (ws.agents, ws.follow, lambda: ws.agent):
        with pytest.raises(Usage) as caught:
            call()
        assert caught.value.code == "workspace_closed"


# Who one is


def test_join_makes_the_workspace_act_as_that_agent(run: Command) -> None:
    with Workspace(run.repo) as ws:
        member = ws.join("Yeats", role="poet", client="pytest")
        assert (member.name, member.incarnation, member.roles, member.here) == ("Yeats", 1, ("poet",), True)
        assert (ws.agent, ws.incarnation) == ("Yeats", 1)
        assert ws.task_add("One").creator == "Yeats#1"
        assert "Yeats" in [m.name for m in ws.agents()]
        assert ws.leave().here is False
        with pytest.raises(Refused) as caught:
            ws.task_add("Two")
        assert caught.value.code == "not_joined"


def test_a_refused_join_leaves_one_who_one_was(ada: Workspace) -> None:
    with pytest.raises(Held) as caught:
        ada.join("Bob")
    assert caught.value.code == "name_in_use"
    assert ada.agent == "Ada"
    assert ada.task_add("One").creator == "Ada#1"


def test_nobody_becomes_another_by_having_the_same_number(run: Command) -> None:
    with Workspace(run.repo, agent="Ada", incarnation=1) as ws:
        with pytest.raises(Held):
            ws.join("Bob")
        assert ws.join("Carl").incarnation == 1


# Messages


@pytest.mark.promise(5)
def test_what_inbox_returns_counts_as_shown_unless_one_peeks(ada: Workspace, bob: Workspace) -> None:
    sent = ada.send("Bob", "hello")
    assert [letter.id for letter in bob.inbox(peek=True).new] == [sent.id]
    assert ada.thread(sent.id)[0].stages[0][1] == "stored"
    assert [letter.id for letter in bob.inbox().new] == [sent.id]
    assert ada.thread(sent.id)[0].stages[0][1] == "offered"
    assert bob.inbox().new == ()


def test_several_recipients_are_a_sequence(ada: Workspace, run: Command) -> None:
    with Workspace(run.repo) as ws:
        ws.join("Carl")
    assert ada.send(["Bob", "Carl"], "hello").to == ("Bob", "Carl")
    assert ada.send("@all", "hello").to == ("Bob", "Carl")


def test_a_dry_run_says_what_would_happen_and_writes_nothing(ada: Workspace, run: Command) -> None:
    before = run.head()
    assert ada.send("Bob", "hello", dry_run=True) == {"would": ["message:sent"]}
    assert run.head() == before


# Tasks and files


def test_a_task_goes_its_way_in_typed_steps(ada: Workspace, bob: Workspace) -> None:
    first = ada.task_add("Write it", body="All of it.", priority="high")
    second = ada.task_add("Test it", needs=first.id)
    assert (first.id, first.state, second.waits) == ("task-001", "open", ("task-001",))
    assert [task.id for task in bob.ready()] == [first.id]
    taken = bob.task_claim()
    assert (taken.id, taken.holder) == (first.id, "Bob#1")
    assert bob.task_submit(taken.id, token=taken.token).state == "review"
    assert ada.task_reject(first.id, reason="No test.").attempt == 2
    assert bob.task_claim(first.id).setbacks[0].reason == "No test."
    bob.task_submit(first.id)
    assert ada.task_approve(first.id).state == "done"
    assert [task.id for task in bob.ready()] == [second.id]
    assert bob.task_show(second.id).task.waits == ()
    board = bob.board(all=True)
    assert isinstance(board, Board)
    assert board.counts == {"done": 1, "open": 1}
    assert bob.explain(first.id)[0].type == "task:added"


# A pack


@pytest.fixture
def lead(bare: Command) -> Iterator[Workspace]:
    with Workspace.init(bare.repo, packs="orchestrator") as ws:
        ws.join("Lea", role="team-lead")
        ws.task_add("Build it", id="task-001")
        ws.task_claim("task-001")
        yield ws


def test_watching_the_files_says_what_could_not_be_taken(lead: Workspace) -> None:
    path = Path(lead.root, ".claude-orchestrator/tasks/messages/to-developer.json")
    path.write_text(json.dumps({"messages": [{"type": "written before"}], "lastRead": None}))
    notices = lead.mirror_watch()
    assert next(notices).code.endswith("_held")
    path.write_text(json.dumps({"messages": [{"type": "written while watching"}], "lastRead": None}))
    assert next(notices).code.endswith("_held")
    assert len(lead.held()) == 2


def test_watching_without_a_packs_files_is_refused(ada: Workspace) -> None:
    with pytest.raises(Refused) as caught:
        ada.mirror_watch()
    assert caught.value.code == "no_mirrors"


# Following and waiting


def test_a_follower_has_what_comes_after_the_call_and_only_that(ada: Workspace, bob: Workspace) -> None:
    ada.task_add("before")
    events = bob.follow(timeout=0)
    ada.task_add("after")
    assert [event.data["title"] for event in events] == ["after"]


def test_a_follower_chooses_types_streams_and_the_start(ada: Workspace) -> None:
    start = ada.log(limit=1)[0].position
    ada.task_add("one")
    ada.send("Bob", "hello")
    ada.task_add("two")
    assert [e.type for e in ada.follow(types="message:*", after=start, timeout=0)] == ["message:sent"]
    assert [e.stream for e in ada.follow(streams="task/*", after=start, timeout=0)] == [
        "task/task-001",
        "task/task-002",
    ]
    both = ada.follow(types=["task:added", "message:sent"], after=start, timeout=0)
    assert [e.position for e in both] == [start + 1, start + 2, start + 3]
    assert [e.type for e in ada.log(after=start, type="task:*", limit=1)] == ["task:added"]


def test_a_follower_counts_as_present(ada: Workspace, run: Command) -> None:
    with Workspace(run.repo) as person:
        stamps = {p: p.read_bytes() for p in Path(run.repo, ".git/moot/presence").rglob("[Aa]da.*")}
        assert stamps
        assert list(ada.follow(timeout=0)) == []
        assert all(path.read_bytes() != before for path, before in stamps.items())
        assert person.agents()


@pytest.mark.parametrize("wrong", [{"timeout": -1}, {"timeout": "soon"}, {"after": -1}, {"after": "x"}, {"types": 3}])
def test_a_follower_with_a_bad_argument_is_refused_at_once(ada: Workspace, wrong: dict[str, Any]) -> None:
    with pytest.raises((Usage, TypeError)):
        ada.follow(**wrong)


def test_waiting_answers_by_what_was_waited_for(ada: Workspace, bob: Workspace) -> None:
    start = ada.log(limit=1)[0].position
    sent = ada.send("Bob", "hello")
    mail = bob.wait(mail=True, timeout=30)
    assert mail == Mail(new=1, ids=(sent.id,))
    awaited = bob.wait(type="message:*", after=start, timeout=30)
    assert awaited.events[0].type == "message:sent"
    ada.task_add("One", no_review=True)
    bob.task_claim("task-001")
    bob.task_complete("task-001")
    assert [task.state for task in ada.wait(task="task-001", timeout=30)] == ["done"]
    assert len(ada.wait(stream="task/task-001", after=start, count=3, timeout=30).events) == 3


def test_waiting_in_vain_and_waiting_for_a_failure_are_errors(ada: Workspace, bob: Workspace) -> None:
    with pytest.raises(TimedOut):
        bob.wait(mail=True, timeout=0)
    with pytest.raises(Unknown):
        bob.wait(task="task-009", timeout=0)
    start = ada.log(limit=1)[0].position
    ada.task_add("One")
    ada.task_cancel("task-001", reason="no")
    with pytest.raises(AwaitedFailed):
        bob.wait(task="task-001", timeout=30)
    with pytest.raises(AwaitedFailed):
        bob.wait(type="task:submitted", fail_on="task:cancelled", after=start, timeout=30)


# What is wrong


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(levels):
        inner = {"x": inner}
    return inner


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda ws: ws.send("Bbo", "hello"), "unknown_agent"),
        (lambda ws: ws.send(3, "hello"), "bad_arguments"),
        (lambda ws: ws.send("Bob", 3), "bad_arguments"),
        (lambda ws: ws.send("Bob", "a\x00b"), "bad_arguments"),
        (lambda ws: ws.send("Bob", "\udcff"), "bad_arguments"),
        (lambda ws: ws.send("Bob", data={"at": object()}), "bad_json"),
        (lambda ws: ws.send("Bob", data={"x": float("nan")}), "bad_json"),
        (lambda ws: ws.send("Bob", data=["x"]), "bad_json"),
        (lambda ws: ws.send("Bob", data={"x": "\ud800"}), "bad_json"),
        (lambda ws: ws.send("Bob", data=nested(900)), "bad_json"),
        (lambda ws: ws.send("Bob", "x" * (1 << 20) + "y"), "message_too_large"),
        (lambda ws: ws.send("Bob", "hello", within="soon"), "bad_arguments"),
        (lambda ws: ws.task_show("task-009"), "unknown_task"),
        (lambda ws: ws.task_add("One", priority="extreme"), "bad_arguments"),
        (lambda ws: ws.ready(limit="many"), "bad_arguments"),
        (lambda ws: ws.ready(limit=float("inf")), "bad_arguments"),
        (lambda ws: ws.ready(limit=1 << 64), "bad_arguments"),
        (lambda ws: ws.claim(()), "bad_arguments"),
        (lambda ws: ws.claim("/etc/passwd"), "path_absolute"),
        (lambda ws: ws.wait(mail=True, task="task-001"), "bad_arguments"),
        (lambda ws: ws.explain("nothing"), "unknown_thing"),
    ],
)
def test_a_refusal_has_a_code_and_a_remedy_and_writes_nothing(
    ada: Workspace, run: Command, call: Any, code: str
) -> None:
    before = run.head()
    with pytest.raises(MootError) as caught:
        call(ada)
    assert caught.value.code == code
    assert caught.value.message
    assert caught.value.remedy
    assert run.head() == before


def test_an_unknown_argument_is_a_type_error_as_everywhere_in_python(ada: Workspace) -> None:
    with pytest.raises(TypeError):
        ada.send("Bob", "hello", colour="red")  # type: ignore[call-overload]


@pytest.mark.on_disk
def test_doctor_and_verify_say_what_they_found(run: Command) -> None:
    assert all(finding.good for finding in Workspace.doctor(run.repo))
    with Workspace(run.repo) as ws:
        report = ws.verify()
    assert report.sound
    assert report.events == run.head()


def test_a_workspace_says_who_and_where_it_is(ada: Workspace) -> None:
    assert repr(ada) == f"Workspace({ada.root!r}, agent='Ada', incarnation=None)"
    assert os.path.isdir(ada.root)
