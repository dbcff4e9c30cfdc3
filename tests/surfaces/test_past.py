"""`--at`: every verb that only looks answers as it did then."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from moot import MootError, Usage, Workspace
from moot.api import catalogue
from moot.api.answer import plain
from tests.calls import open_call
from tests.surfaces.town import Town

if TYPE_CHECKING:
    from tests.surfaces.command import Command

MEASURED = {"silent_for", "waited", "submission"}  # not known of the past, or measured when the answer was given

QUESTIONS: list[tuple[str | None, str, dict[str, Any]]] = [
    (None, "agents", {"all": True}),
    (None, "board", {"all": True}),
    (None, "ready", {}),
    (None, "claims", {}),
    (None, "who-holds", {"paths": ["src/a.py"]}),
    (None, "overdue", {"all": True}),
    (None, "log", {"limit": 1000}),
    (None, "log", {"after": 2, "type": ["task:*"]}),
    (None, "held", {}),
    (None, "search", {"words": ["parser"]}),
    ("Ada", "inbox", {"peek": True, "all": True}),
    ("Bob", "inbox", {"peek": True, "all": True}),
    ("Bob", "mailbox", {}),
    (None, "task show", {"task": "task-001"}),
    (None, "explain", {"thing": "task-001"}),
    (None, "explain", {"thing": "Bob"}),
    (None, "checkpoints", {}),
    (None, "decisions", {}),
    (None, "artifacts", {}),
    (None, "needs-me", {}),
]


def told(town: Town, at: int | None = None) -> list[Any]:
    """What all questions are answered with."""
    answers = []
    for who, verb, given in QUESTIONS:
        session = open_call(str(town.command.repo), town.command.environment, agent=who, at=at)
        try:
            answers.append((verb, _steady(plain(session.run(verb, given).result))))
        except MootError as error:  # a refusal is an answer too
            answers.append((verb, str(error)))
        finally:
            session.engine.log.close()
            session.engine.store.close()
    return answers


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _steady(inner) for name, inner in value.items() if name not in MEASURED}
    return [_steady(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def test_every_question_is_answered_as_it_was_then(run: Command) -> None:
    town = Town(run)
    steps: list[tuple[str | None, str, dict[str, Any]]] = [
        (None, "task add", {"title": "Write the parser"}),
        (None, "task add", {"title": "Test the parser", "needs": ["task-001"]}),
        ("Ada", "send", {"to": ["Bob"], "text": "Is the parser there?", "type": "request", "within": 1}),
        ("Bob", "inbox", {}),
        ("Bob", "task claim", {"task": "task-001"}),
        ("Bob", "claim", {"paths": ["src/a.py", "docs/**"], "reason": "parser"}),
        ("Bob", "task submit", {"task": "task-001"}),
        ("Ada", "task approve", {"task": "task-001"}),
        ("Bob", "release", {"all": True}),
        ("Ada", "decide", {"title": "The parser is recursive", "rationale": "It is short."}),
        ("Ada", "artifact add", {"id": "parser", "paths": ["src/a.py"], "summary": "The parser itself"}),
        ("Ada", "checkpoint reach", {"question": "Is the parser right?"}),
        ("Bob", "leave", {}),
        ("Bob", "join", {"name": "Bob"}),
    ]
    then = [(run.head(), told(town))]
    for who, verb, given in steps:
        town.ask(who, verb, **given)
        then.append((run.head(), told(town)))
    assert len({position for position, _ in then}) > 8
    head = run.head()
    for position, answers in reversed(then):
        assert told(town, position) == answers, position
    assert run.head() == head


def test_every_verb_is_refused_or_changes_nothing(run: Command) -> None:
    run("task", "add", "One")
    head = run.head()
    with Workspace(run.repo, at=head) as past:
        for name in catalogue.names():
            verb = catalogue.find(name)
            if not verb.writes or verb.past or not verb.opens:
                continue
            given = {p.name: "task-001" for p in verb.params if p.required}
            with pytest.raises(Usage) as refused:
                past._ask(name, given)
            assert refused.value.code == "past_is_read_only" or refused.value.code.startswith("bad_")
        with pytest.raises(Usage):
            past.follow()
    assert run.head() == head


def test_an_inbox_of_the_past_counts_as_no_showing(run: Command) -> None:
    run("send", "Bob", "Hello.", agent="Ada")
    head = run.head()
    for place in (["--at", str(head), "inbox"], ["inbox", f"--at={head}"]):
        assert "> Hello." in run(*place, agent="Bob").out
    assert run.head() == head
    assert [m["text"] for m in run("--json", "inbox", agent="Bob").result["new"]] == ["Hello."]


def test_who_calls_may_be_a_later_incarnation_than_then(run: Command) -> None:
    run("send", "Bob", "Hello.", agent="Ada")
    head = run.head()
    run("leave", agent="Bob")
    run("join", "Bob")
    assert "> Hello." in run("inbox", "--at", str(head), agent="Bob", incarnation=2).out
    assert "There is no agent" in run("inbox", "--at", "0", agent="Bob").err


def test_presence_is_said_to_be_unknown(run: Command) -> None:
    said = json.loads(run("--json", "agents", "--at", str(run.head())).out)
    assert {member["silent_for"] for member in said["result"]} == {None}
    assert [warning["code"] for warning in said["warnings"]] == ["presence_unknown"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["board", "--at", "99999"], 2, "ends at position"),
        (["board", "--at", "soon"], 2, "neither a position nor a time"),
        (["board", "--at", "2999-01-01"], 2, "in the future"),
        (["board", "--at"], 2, "--at needs a value"),
        (["send", "Bob", "x", "--at", "1"], 2, "is not available with --at"),
        (["log", "--follow", "--at", "1"], 2, "is not available with --at"),
        (["verify", "--at", "1"], 2, "is not available with --at"),
        (["doctor", "--at", "1"], 2, "is not available with --at"),
        (["--at", "1", "as", "Cleo", "--", "true"], 2, "cannot be combined with --at"),
        (["board", "--at", "0"], 0, ""),
        (["board", "--at", "0s"], 0, "As it was at position"),
    ],
)
def test_what_can_not_be_asked_is_said(run: Command, words: list[str], code: int, says: str) -> None:
    head = run.head()
    ran = run(*words)
    assert (ran.code, says in ran.err) == (code, True), ran
    assert run.head() == head


def test_a_time_is_taken_from_the_clock_on_the_wall(run: Command) -> None:
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
    run("task", "add", "One")
    assert run("--json", "board", "--at", before).result["tasks"] == []
    assert run("--json", "board", "--at", "0s").result["counts"] == {"open": 1}


def test_a_program_opens_the_past(run: Command) -> None:
    head = run.head()
    run("task", "add", "One")
    with Workspace(run.repo, at=head) as then, Workspace(run.repo, at="0s") as now:
        assert then.board().counts == {}
        assert now.board().counts == {"open": 1}
        assert [w.code for w in now.warnings] == ["as_it_was"]
        with pytest.raises(Usage):
            then.send("Bob", "x")


def test_what_waited_for_a_person_can_be_seen_and_not_answered(run: Command) -> None:
    run("checkpoint", "reach", "May I?", agent="Ada")
    head = run.head()
    assert run("--json", "needs-me", "--at", "2").result == []
    (waiting,) = run("--json", "needs-me", "--at", str(head)).result
    refused = run("--json", "needs-me", "--answer", waiting["id"], "Yes.", "--at", str(head)).error
    assert refused["error"] == "past_is_read_only"
    assert run.head() == head
