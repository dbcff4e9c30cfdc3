"""Short task ids: on the command line `7` and `task-7` mean task-007, and nothing ever means another task."""

from __future__ import annotations

import json

import pytest

from moot import Workspace
from moot.core.errors import Unknown
from moot.core.task.refusals import unknown
from moot.surfaces.cli.parse import short_number
from tests.surfaces.command import Command, new_command
from tests.surfaces.worlds import ASSIGNMENT, enliven, orchestrate


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """One lively workspace, task-001 to task-007, for tests that change nothing in it."""
    command = new_command(tmp_path_factory.mktemp("town"))
    enliven(command)
    return command


@pytest.mark.parametrize("short", ["3", "03", "003", "task-3", "task-03", "Task-003", "TASK-3"])
def test_a_number_means_the_task_with_that_number(town: Command, short: str) -> None:
    assert town("task", "show", short, "--json").result["task"]["id"] == "task-003"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["wait", "--task", "5"], lambda result: result["tasks"][0]["id"] == "task-005"),
        (["search", "it", "--task", "4"], lambda result: {hit["task"] for hit in result} == {"task-004"}),
        (["explain", "task-7"], lambda result: result[0]["stream"] == "task/task-007"),
        (["explain", "7"], lambda result: result[0]["stream"] == "task/task-007"),
        (["--at", "12", "task", "show", "3"], lambda result: result["task"]["id"] == "task-003"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_argument_that_names_a_task_takes_a_number(town: Command, words: list[str], found) -> None:
    assert found(town(*words, "--json").result)


def test_several_numbers_are_several_tasks(run: Command) -> None:
    for title in ("One", "Two", "Three"):
        run("task", "add", title, agent="Ada")
    run("task", "link", "3", "--needs", "1", "--needs", "task-2", agent="Ada")
    assert run("task", "show", "3", "--json").result["task"]["waits"] == ["task-001", "task-002"]
    made = run("task", "add", "Four", "--needs", "3", "--json", agent="Ada").result
    assert made["waits"] == ["task-003"]


def test_an_existing_id_always_means_itself(run: Command) -> None:
    for words in (("One",), ("Short", "--id", "1"), ("Same", "--id", "task-1"), ("Other", "--id", "a-2")):
        run("task", "add", *words, agent="Ada")
    for given in ("1", "task-1", "task-001", "a-2"):
        assert run("task", "show", given, "--json").result["task"]["id"] == given


def test_a_number_of_two_tasks_is_refused_with_both(run: Command) -> None:
    run("task", "add", "One", agent="Ada")
    run("task", "add", "Same", "--id", "task-1", agent="Ada")
    before = run.head()
    ran = run("task", "claim", "01", "--json", agent="Ada")
    assert (ran.code, ran.error["error"]) == (1, "ambiguous_id")
    assert ran.error["message"] == "01 can mean task-001 or task-1."
    assert ran.error["details"]["known"] == ["task-001", "task-1"]
    assert run.head() == before


def test_a_chosen_id_that_ends_in_a_number_is_named_and_not_taken(run: Command) -> None:
    run("task", "add", "Chosen", "--id", "a-7", agent="Ada")
    ran = run("task", "claim", "7", "--json", agent="Ada")
    assert (ran.code, ran.error["error"]) == (4, "unknown_task")
    assert "Did you mean a-7?" in ran.error["remedy"]


def test_a_repeated_request_may_spell_the_id_otherwise(run: Command) -> None:
    run("task", "add", "One", agent="Ada")
    first = run("task", "claim", "1", "--key", "k", "--json", agent="Ada").result
    before = run.head()
    assert run("task", "claim", "task-001", "--key", "k", "--json", agent="Ada").result["token"] == first["token"]
    assert run.head() == before


def test_a_task_that_a_file_has_just_brought_is_found_by_its_number(bare: Command) -> None:
    orchestrate(bare)
    path = bare.repo / ".claude-orchestrator/tasks/messages/to-developer.json"
    known = json.loads(path.read_text())
    number = 40 + len(known["messages"])
    known["messages"].append({**ASSIGNMENT, "taskId": f"task-{number:03d}"})
    path.write_text(json.dumps(known))
    assert bare("task", "show", str(number), "--json").result["task"]["id"] == f"task-{number:03d}"


# Where numbers mean nothing


def test_python_and_json_input_know_only_full_ids(run: Command) -> None:
    run("task", "add", "One", agent="Ada")
    with Workspace(run.repo, agent="Ada") as ws, pytest.raises(Unknown) as caught:
        ws.task_claim("1")
    assert "Did you mean task-001?" in caught.value.remedy
    made = run("emit", "build:finished", "--data", '{"task": "1"}', "--json", agent="Ada")
    assert made.code == 0
    (event,) = run("log", "--type", "build:finished", "--json").result
    assert event["data"]["task"] == "1"


def test_a_position_is_not_taken_for_a_task(run: Command) -> None:
    for number in range(1, 4):
        run("task", "add", f"Task {number}", agent="Ada")
    assert run("redact", "3", "--json").result["positions"] == [3]


@pytest.mark.parametrize(
    "word", ["", "task-", "task-007", "task-1000", "7a", "-7", "a-7", "٣", "1" * 10, "task-٣", "7.0"]
)
def test_other_words_are_no_short_ids(word: str) -> None:
    assert short_number(word) is None


# What is unknown


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("task-1", ["task-021", "task-001"], "task-001"),
        ("task-1", ["task-021", "task-010", "task-011"], None),
        ("tsk-021", ["task-021", "task-022"], "task-021"),
        ("a-7", ["task-007"], "task-007"),
        ("7", ["a-7", "b-8"], "a-7"),
        ("task", ["task-001", "task-002"], None),
        ("parsr", ["parser", "task-001"], "parser"),
        ("arser", ["parser"], None),
        ("", ["parser"], None),
    ],
)
def test_only_the_same_number_or_a_slip_in_a_name_is_suggested(name: str, known: list[str], meant: str | None) -> None:
    remedy = unknown(name, known).remedy
    assert (f"Did you mean {meant}?" in remedy) if meant else ("Did you mean" not in remedy)


@pytest.mark.parametrize("words", [["task", "add", "x"], ["decide", "x"]], ids=" ".join)
@pytest.mark.parametrize("bad", ["a b", "../x", "-x", "", "ä", "a/b", "x" * 101])
def test_an_id_that_cannot_be_chosen_is_refused_with_the_rule(town: Command, words: list[str], bad: str) -> None:
    before = town.head()
    ran = town(*words, f"--id={bad}", "--json", agent="Ada")
    assert (ran.code, ran.error["error"]) == (2, "bad_id")
    assert "letters, digits" in ran.error["remedy"]
    assert town.head() == before
