"""task add --from: a plan becomes tasks in one commit, once, and every defect is named at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.core.errors import Refused, Usage
from tests.surfaces.town import Town, of_two, refused

if TYPE_CHECKING:
    from tests.surfaces.command import Command

PLAN = """# Plan

- [ ] Build it
  As described.
  - [ ] Write it
  - [x] Choose a tool
- [ ] Ship it
  needs: Build it, task-001, Choose a tool
"""


@pytest.fixture
def town(bare: Command) -> Town:
    """Ada and Bob, a task, and a plan."""
    town = of_two(bare)
    town.ask("Ada", "task add", title="Before")
    write(town, PLAN)
    return town


def write(town: Town, text: str, name: str = "plan.md") -> None:
    (town.command.repo / name).write_text(text)


def add(town: Town, **given: Any) -> Any:
    return town.ask("Ada", "task add", **{"from_": "plan.md", **given})


def tasks(town: Town) -> dict[str, Any]:
    return {task.title: task for task in town.ask(None, "board", all=True).result["tasks"]}


def test_the_open_boxes_of_a_plan_are_added_in_one_commit(town: Town) -> None:
    answer = add(town, priority="high", no_review=True)
    assert answer.say == (
        "task-002 added: Build it (needs task-003)",
        "task-003 added: Write it",
        "task-004 added: Ship it (needs task-002, task-001)",
        "1 checked item skipped",
    )
    assert [(item.line, item.title, item.task) for item in answer.result.skipped] == [(6, "Choose a tool", None)]
    found = tasks(town)
    build = found["Build it"]
    assert (build.body, build.creator, build.priority, build.review) == ("As described.", "Ada#1", "high", False)
    assert (build.waits, found["Ship it"].waits) == (("task-003",), ("task-002", "task-001"))
    assert len({event.commit for event in town.ask(None, "log", type=("task:added",)).result[1:]}) == 1
    assert [task.id for task in town.ask("Bob", "ready").result] == ["task-003", "task-001"]
    assert town.ask(None, "verify").result.sound


def test_a_parent_is_ready_once_what_is_below_it_is_done(town: Town) -> None:
    add(town, no_review=True)
    town.ask("Bob", "task claim", task="task-003")
    town.ask("Bob", "task complete", task="task-003")
    assert "task-002" in {task.id for task in town.ask("Bob", "ready").result}


def test_the_same_plan_again_adds_nothing_and_says_so(town: Town) -> None:
    add(town)
    before = town.ask(None, "log", limit=1).result[-1].position
    for who in ("Ada", "Bob", None):
        again = town.ask(who, "task add", from_="plan.md")
        assert again.say == ("Nothing to add: 3 tasks added before, 1 checked item skipped.",)
        assert [item.task for item in again.result.known] == ["task-002", "task-003", "task-004"]
    assert town.ask(None, "log", limit=1).result[-1].position == before


def test_a_plan_in_another_worktree_is_the_same_plan(town: Town) -> None:
    add(town)
    (town.command.linked / "docs").mkdir()
    (town.command.linked / "plan.md").write_text(PLAN)
    with Workspace(town.command.linked / "docs", agent="Bob") as bob:
        assert bob.task_add(from_="../plan.md").added == ()


def test_a_changed_plan_adds_only_what_is_new(town: Town) -> None:
    add(town)
    write(town, "- [ ] First of all\n" + PLAN.replace("  - [x] Choose", "  - [ ] Test it\n  - [x] Choose"))
    answer = add(town)
    assert answer.say == (
        "task-005 added: First of all",
        "task-006 added: Test it",
        "task-002 now needs task-006",
        "3 tasks added before, 1 checked item skipped",
    )
    assert tasks(town)["Build it"].waits == ("task-003", "task-006")


def test_a_new_dependency_between_known_boxes_is_linked_once(town: Town) -> None:
    write(town, "- [ ] A\n- [ ] B\n- [ ] C\n")
    add(town)
    write(town, "- [ ] A\n- [ ] B (needs: A)\n- [ ] C\n  needs: task-001, D\n- [ ] D\n")
    assert add(town, dry_run=True).say[1:3] == ("task-003 would need task-002", "task-004 would need task-001")
    answer = add(town)
    assert answer.say == (
        "task-005 added: D",
        "task-003 now needs task-002",
        "task-004 now needs task-001",
        "task-004 now needs task-005",
        "3 tasks added before",
    )
    assert (tasks(town)["B"].waits, tasks(town)["C"].waits) == (("task-002",), ("task-001", "task-005"))
    assert add(town).say == ("Nothing to add: 4 tasks added before.",)
    assert town.ask(None, "verify").result.sound


def test_a_dependency_on_a_task_that_is_done_blocks_nothing(town: Town) -> None:
    write(town, "- [ ] A\n- [ ] B\n")
    add(town, no_review=True)
    town.ask("Bob", "task claim", task="task-002")
    town.ask("Bob", "task complete", task="task-002")
    write(town, "- [ ] A\n- [ ] B (needs: A)\n")
    assert add(town).say[0] == "task-003 now needs task-002"
    assert tasks(town)["B"].waits == ()


def test_a_changed_body_or_priority_is_reported_with_the_command_and_not_applied(town: Town) -> None:
    add(town)
    write(town, PLAN.replace("As described.", "As discussed."))
    answer = add(town, priority="high")
    assert answer.say[:2] == (
        "task-002 has another body than the plan: `moot task edit task-002 --body '…'`",
        "task-002 has another priority than the plan: `moot task edit task-002 --priority high`",
    )
    assert [(one.line, one.task, one.field) for one in answer.result.differences[:2]] == [
        (3, "task-002", "body"),
        (3, "task-002", "priority"),
    ]
    assert (tasks(town)["Build it"].body, tasks(town)["Build it"].priority) == ("As described.", "medium")
    town.ask("Ada", "task edit", task="task-002", body="As discussed.")
    assert add(town).result.differences == ()


def test_a_plan_that_was_renamed_copied_or_piped_is_the_same_plan(town: Town) -> None:
    add(town)
    write(town, PLAN, "docs.md")
    again = add(town, from_="docs.md")
    assert again.say == ("Nothing to add: 3 tasks added before (3 from plan.md), 1 checked item skipped.",)
    assert {item.file for item in again.result.known} == {"plan.md"}
    piped = town.command("task", "add", "--from", "-", agent="Ada", input=PLAN + "- [ ] More\n")
    assert piped.out.splitlines() == [
        "task-005 added: More",
        "3 tasks added before (3 from plan.md), 1 checked item skipped",
    ]
    write(town, "- [ ] More\n", "more.md")
    assert add(town, from_="more.md").say == ("Nothing to add: 1 task added before (1 from standard input).",)


def test_an_ended_task_of_another_plan_is_named(town: Town) -> None:
    add(town)
    town.ask("Ada", "task cancel", task="task-004", reason="No.")
    write(town, "- [ ] Ship it\n", "next.md")
    assert add(town, from_="next.md").say == (
        "Already ended: task-004. For a new task, change the title of the box.",
        "Nothing to add: 1 task added before (1 from plan.md).",
    )


def test_a_task_that_has_ended_gets_no_new_needs(town: Town) -> None:
    add(town)
    town.ask("Ada", "task cancel", task="task-002", reason="No.")
    write(town, PLAN.replace("  - [x] Choose", "  - [ ] Test it\n  - [x] Choose"))
    assert add(town).result.linked == ()
    assert tasks(town)["Build it"].waits == ("task-003",)


def test_a_box_that_was_added_and_checked_later_is_still_waited_for_until_its_task_is_done(town: Town) -> None:
    add(town)
    write(town, PLAN.replace("- [ ] Write", "- [x] Write") + "- [ ] Last\n  needs: Write it\n")
    assert add(town).say[0] == "task-005 added: Last (needs task-003)"


def test_a_dry_run_shows_the_same_and_adds_nothing(town: Town) -> None:
    dry = add(town, dry_run=True)
    assert dry.say[0] == "task-002 would be added: Build it (needs task-003)"
    assert list(tasks(town)) == ["Before"]
    assert dry.result.replace(dry_run=False) == add(town).result
    assert town.ask("Ada", "task add", title="x", dry_run=True).result == {"would": ["task:added"]}
    assert "x" not in tasks(town)


def test_a_key_adds_a_plan_once_even_if_the_file_has_changed(town: Town) -> None:
    first = add(town, key="k")
    write(town, PLAN + "- [ ] More\n")
    again = add(town, key="k")
    assert [item.task for item in again.result.added] == [item.task for item in first.result.added]
    assert "More" not in tasks(town)


def test_every_defect_is_named_with_its_line_and_nothing_is_added(town: Town) -> None:
    write(town, "- [ ] A\n  needs: B, nobody\n- [ ] B\n  needs: A\n- [?] C\n")
    error = refused(Refused, "bad_plan", town, "Ada", "task add", from_="plan.md")
    assert error.message.startswith("plan.md has 3 defects, so nothing was added: line 2: there is no check box and")
    assert "line 3: these would wait for each other: “B” (line 3) → “A” (line 1) → “B” (line 3)" in error.message
    assert [defect["line"] for defect in error.details["defects"]] == [2, 3, 5]
    assert list(tasks(town)) == ["Before"]


def test_a_cycle_through_tasks_from_before_is_refused(town: Town) -> None:
    add(town)
    write(town, PLAN.replace("  - [x] Choose", "  - [ ] Test it\n    needs: task-004\n  - [x] Choose"))
    refused(Refused, "cycle", town, "Ada", "task add", from_="plan.md")
    assert "Test it" not in tasks(town)


def test_a_plan_comes_from_standard_input_too(town: Town) -> None:
    said = town.command("task", "add", "--from", "-", agent="Ada", input="- [ ] One\n- [ ] Two\n")
    assert said.out.splitlines() == ["task-002 added: One", "task-003 added: Two"]
    again = town.command("--json", "task", "add", "--from", "-", agent="Ada", input="- [ ] Two\n- [ ] Three\n").result
    assert ([i["title"] for i in again["added"]], [i["title"] for i in again["known"]]) == (["Three"], ["Two"])


def test_what_is_no_plan_is_refused(town: Town) -> None:
    repo = town.command.repo
    (repo / "binary").write_bytes(b"- [ ] A\n- [ ] \xff\n")
    (repo / "nul").write_bytes(b"- [ ] A\0\n")
    (repo / "large").write_text("x" * (1 << 20) + "y")
    (repo / "words").write_text("No boxes.\n")
    os.mkfifo(repo / "pipe")
    for name, code in (
        ("missing", "unreadable_file"),
        ("binary", "unreadable_file"),
        ("nul", "unreadable_file"),
        ("pipe", "unreadable_file"),
        (".", "unreadable_file"),
        ("large", "file_too_large"),
    ):
        refused(Usage, code, town, "Ada", "task add", from_=name)
    refused(Refused, "no_items", town, "Ada", "task add", from_="words")
    refused(Usage, "bad_arguments", town, "Ada", "task add", from_="plan.md", title="Both")
    refused(Usage, "bad_arguments", town, "Ada", "task add", from_="plan.md", needs=("task-001",))
    refused(Usage, "bad_arguments", town, "Ada", "task add")
    assert list(tasks(town)) == ["Before"]
