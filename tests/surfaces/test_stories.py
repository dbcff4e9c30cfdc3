"""`explain` and `log`: the whole story, in moot's own words, of things that are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.api import explain
from moot.core.event import Event
from moot.core.kind import event_types, kinds
from moot.core.record import shape_of
from moot.core.sentences import sentence
from moot.core.task import OTHER, TYPES
from tests.surfaces.worlds import orchestrate

if TYPE_CHECKING:
    from tests.surfaces.command import Command

pytestmark = pytest.mark.in_memory


def event(type: str, stream: str = "", by: str = "Ada#1", **data: Any) -> Event:  # noqa: A002
    kind = event_types().get(type)
    stream = stream or (kind.stream("x") if kind else "task/task-001")
    return Event(
        position=7, type=type, v=1, stream=stream, prev=0, at="2031-05-08T09:30:00.000Z", by=by, data=data,
        cause=None, thread=None, pack=None, commit="c", n=0,
    )  # fmt: skip


def moved(verb: str, **data: Any) -> Event:
    return event(TYPES.get(verb, OTHER), verb=verb, source="working", target="open", attempt=2, **data)


@pytest.mark.parametrize(
    ("happened", "said"),
    [
        (event("agent:left", incarnation=1), "left"),
        (event("agent:left", incarnation=1, retired=True, reason="No more."), "left (retired): No more."),
        (event("agent:joined", name="Ada", incarnation=3, replaces=2), "joined as Ada#3 (in place of #2)"),
        (event("message:expired", ids=["m-1"]), "m-1 expired"),
        (
            event("file:released", paths=["a.py"], holder="Bob#1", forced=True, reason="stuck"),
            "released a.py (by force, Bob#1 held it): stuck",
        ),
        (event("file:released", paths=["a.py"], left=["b.py"]), "released a.py (keeps b.py)"),
        (
            event("file:lapsed", paths=["a.py"], holder="Bob#1", reason="silent", silent_for=61.4, ttl=60.0),
            "Bob#1 lost a.py (silent for 1m1s, limit 1m): silent",
        ),
        (event("file:claimed", paths=["a.py"], mode="shared", reason="docs"), "claimed a.py (shared): docs"),
        (moved("lapse", silent_for=61.4, ttl=60.0), "working → open (attempt 2; silent for 1m1s, limit 1m)"),
        (moved("move", flags=["late: after the deadline"]), "working → open (attempt 2; late: after the deadline)"),
        (moved("submit", report="m-1", reason="Done."), "working → open (attempt 2; report m-1): Done."),
        (event("mailbox:cleared", ids=["m-1"], reason="emptied"), "cleared m-1 from the file (emptied)"),
        (event("mailbox:restored", ids=["m-1"]), "put m-1 back into the file, unread again"),
        (event("task:readied", done="task-001", waits=[]), "no longer waits for task-001"),
        (
            event("task:readied", done="task-001", waits=["task-002"]),
            "no longer waits for task-001 (still for task-002)",
        ),
        (
            event("receipt:recorded", argv=["make", "-C", "a b"], seconds=1.5, code=2),
            "ran make -C a b in 1.5 s: exit code 2",
        ),
        (event("message:sent", kind="note", to=["Bob"], text=""), "sent a note to Bob"),
    ],
)
def test_what_was_recorded_is_told(happened: Event, said: str) -> None:
    assert sentence(happened) == said


def test_every_event_has_a_sentence_of_its_own() -> None:
    for kind in kinds():
        for name, payload in kind.events.items():
            assert payload.said, name
            assert set(re.findall(r"{(\w+)", payload.said)) <= set(shape_of(payload)[0]), name
            for field, said in payload.asides:
                assert {field, *re.findall(r"{(\w+)", said)} <= set(shape_of(payload)[0]), name


@pytest.mark.parametrize("field", ["type", "stream", "by"])
def test_a_line_of_the_log_stays_one_line_whatever_is_in_it(field: str) -> None:
    forged = {field: "x\n#8 2031 task:approved task/task-001 by Ada", **({} if field == "type" else {"type": "a:b"})}
    assert "\n" not in explain.line(event(**forged))


def test_a_story_is_searched_to_its_end(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much happened in a mailbox or to claims before: what matters is what the story is about."""
    monkeypatch.setattr(explain, "_PAGE", 5)
    monkeypatch.setattr(explain, "_LONGEST", 8)
    with Workspace(run.repo, agent="Ada") as ada:
        for n in range(10):
            ada.send("Bob", f"Noise {n}.")
        for n in range(5):
            ada.claim(f"noise-{n}.py")
            ada.release(f"noise-{n}.py")
        sent = ada.send("Bob", "Please look.", type="request")
        held = ada.claim("last.py")
        with Workspace(run.repo, agent="Bob") as bob:
            bob.inbox(limit=100)
            bob.ack(sent.id)
        assert [e.type for e in ada.explain(sent.id)] == ["message:sent", "message:offered", "message:acked"]
        assert [e.type for e in ada.explain(held.id)] == ["file:claimed"]
        assert ada.warnings == ()


@pytest.mark.promise(15)
def test_a_very_long_story_is_cut_at_its_beginning_and_says_so(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "_LONGEST", 8)
    with Workspace(run.repo, agent="Ada") as ada:
        ada.task_add("Circle")
        for _ in range(10):
            ada.task_claim("task-001")
            ada.task_release("task-001")
        told = ada.explain("task-001")
        (warning,) = ada.warnings
        assert [e.position for e in told] == [e.position for e in ada.log(stream="task/task-001", limit=8)]
    assert warning.code == "story_cut"
    assert "first 13 events" in warning.message


@pytest.mark.parametrize("thing", ["c-0000000", "@nobody", "never-claimed.py", "m-0000000", "person:nobody"])
def test_what_is_not_there_has_no_story(run: Command, thing: str) -> None:
    ran = run("explain", thing, "--json")
    assert (ran.code, ran.error["error"]) == (4, "unknown_thing")


def test_claims_and_the_graph_have_one(run: Command) -> None:
    assert run("explain", "graph").out == "No events yet.\n"
    with Workspace(run.repo, agent="Ada") as ada:
        ada.task_add("One")
        ada.task_add("Two", needs="task-001")
        ada.claim("a.py")
        assert [e.type for e in ada.explain("graph")] == ["graph:linked"]
        assert [e.type for e in ada.explain("claims")] == [e.type for e in ada.explain("a.py")] == ["file:claimed"]


@pytest.mark.on_disk
def test_a_roles_mailbox_has_one_even_before_the_first_message(bare: Command) -> None:
    orchestrate(bare)
    assert bare("explain", "@team-lead").out == "No events yet.\n"
    bare("inbox", agent="Bob")
    assert "message:offered" in bare("explain", "@developer").out


@pytest.mark.on_disk
def test_case_does_not_count_in_streams(run: Command) -> None:
    for stream in ("agent/Ada", "agent/ada", "AGENT/A*"):
        assert [e["type"] for e in run("log", "--stream", stream, "--json").result] == ["agent:joined"]


@pytest.mark.parametrize(
    "words",
    [
        ["wait", "--type"],
        ["log", "--type"],
        ["wait", "--type", "task:*", "--fail-on"],
        ["log", "--type", "*", "--type"],
    ],
)
def test_an_event_that_cannot_come_is_not_waited_for(run: Command, words: list[str]) -> None:
    ran = run(*words, "task:submited", "--json")
    assert (ran.code, ran.error["error"]) == (4, "unknown_event_type")
    assert "Did you mean task:submitted?" in ran.error["remedy"]
