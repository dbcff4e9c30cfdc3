"""Who holds what, who waits for what, how the tasks of a phase stand, whether the files are sound: one query each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from moot import Workspace
from moot.core.errors import Unknown, Usage
from tests.specs.gsd.board import AGENT, CLAIMED, EVENTS, FOLDER, Board, until
from tests.surfaces.command import PATIENCE


def claim(board: Board, plan: str, *paths: str, agent: str = AGENT) -> None:
    board.gsd.emit("file:claimed", [f"agent={agent}", f"plan={plan}", *(f"path={path}" for path in paths)])


def asked(board: Board, *words: str) -> Any:
    return json.loads(board("gsd", *words, "--json").out)["result"]


# Claims


@pytest.mark.proves("S4-INS-01")
def test_one_query_names_the_holder_of_a_path(board: Board) -> None:
    board.emit(CLAIMED)
    (held,) = asked(board, "claims", "src/api/users.ts")
    assert (held["path"], held["agent"], held["plan"]) == ("src/api/users.ts", "gsd-executor", "01-02")
    assert held["since"] == "2024-01-15T10:30:00Z"
    assert 0 <= held["silent_for"] < PATIENCE
    assert 1800 - PATIENCE < held["expires_in"] <= 1800
    said = board("gsd", "claims", "src/api/users.ts").out
    assert re.fullmatch(
        r"src/api/users.ts gsd-executor of 01-02 since 2024-01-15 .*, ends after \d+m without an event\n", said
    )
    assert board.gsd.claims(str(board.root / "src" / "api" / "users.ts"))[0].plan == "01-02"
    assert board("gsd", "claims", "src/other.ts").out == "Nobody holds src/other.ts.\n"


@pytest.mark.proves("S4-INS-01")
def test_another_names_all_paths_of_an_agent_or_a_plan(board: Board) -> None:
    claim(board, "01-01", "a.ts", "b.ts")
    claim(board, "01-02", "c.ts", agent="gsd-tester")
    assert {held.path for held in board.gsd.claims()} == {"a.ts", "b.ts", "c.ts"}
    assert {held["path"] for held in asked(board, "claims", "--plan", "1-1")} == {"a.ts", "b.ts"}
    assert {held["path"] for held in asked(board, "claims", "--by", "gsd-tester")} == {"c.ts"}
    assert asked(board, "claims", "--by", "gsd-tester", "--plan", "01-01") == []
    with pytest.raises(Usage, match="is not a plan"):
        board.gsd.claims(plan="one")


# Waiting plans


@pytest.mark.proves("S4-INS-02", "S4-DEP-01")
def test_one_query_lists_waiting_plans_with_what_is_missing_and_since_when(board: Board) -> None:
    board.gsd.need("01-03", ["src/a.ts", "src/b.ts"])
    board.gsd.need("01-04", "src/b.ts")
    found = {one["plan"]: one["missing"] for one in asked(board, "waiting")}
    assert {plan: [one["artifact"] for one in missing] for plan, missing in found.items()} == {
        "01-03": ["src/a.ts", "src/b.ts"],
        "01-04": ["src/b.ts"],
    }
    assert all(one["since"] for missing in found.values() for one in missing)
    assert board("gsd", "waiting").out.splitlines()[0].startswith("01-03 waits for src/a.ts since 20")
    board.emit({"type": "artifact:created", "path": "src/b.ts", "createdBy": "01-02"})
    assert [one.plan for one in board.gsd.waiting()] == ["01-03"]


# Tasks


@pytest.mark.proves("S4-INS-03")
def test_one_query_shows_all_tasks_of_a_phase_with_times_agent_and_last_error(new_board: Callable[..., Board]) -> None:
    board = new_board("stalled_after = 2\n")
    board.start("01-05", 1, "Silent", agent="gsd-sleeper")
    board.complete("01-01", 1)
    board.start("01-02", 1, "Hard one")
    board.fail("01-02", 1, "Tests fail")
    board.start("01-02", 2, "Retried")
    board.fail("01-02", 2, "First try")
    board.start("01-02", 2, "Retried")
    board.emit(
        {
            "type": "checkpoint:reached",
            "plan": "01-03",
            "task": 2,
            "checkpointType": "human-verify",
            "awaiting": "a look",
        }
    )
    board.start("01-03", 2, "Look")
    board.start("02-01", 1)

    def states() -> dict[tuple[str, int], dict[str, Any]]:
        board.start("01-02", 2, "Retried")  # signs of life
        return {
            (task["plan"], task["task"]): task for plan in asked(board, "phase", "1")["plans"] for task in plan["tasks"]
        }

    until(lambda: states()["01-05", 1]["state"] == "stalled", "the stall")
    found = states()
    assert {key: task["state"] for key, task in found.items()} == {
        ("01-01", 1): "completed",
        ("01-02", 1): "failed",
        ("01-02", 2): "running",
        ("01-03", 2): "waiting",
        ("01-05", 1): "stalled",
    }
    assert found["01-02", 1]["error"] == "Tests fail"
    assert found["01-02", 2]["runs"] == 2
    assert found["01-05", 1]["agent"] == "gsd-sleeper"
    assert found["01-02", 1]["started"]
    assert found["01-02", 1]["ended"]
    (checkpoint,) = board.ws.checkpoints()
    assert found["01-03", 2]["checkpoint"] == checkpoint.id
    said = board("gsd", "phase", "01").out
    assert said.startswith("Phase 01: 1 of 5 tasks completed, 1 failed, 1 running, 1 stalled, 1 waiting for you; ")
    for line in (
        "  1 completed abc1234 gsd-executor",
        "  1 failed Hard one Tests fail gsd-executor",
        "  2 running run 2 Retried gsd-executor",
        f"  2 waiting Look for you: {checkpoint.id} (human-verify: a look) gsd-executor",
        "  1 stalled Silent silent ",
    ):
        assert line in said


def test_a_phase_fits_on_a_narrow_terminal(board: Board) -> None:
    board.plan_file("01-01", "wave: 1", tasks=("A task with a long name that says what is to be done",))
    board.start("01-01", 1, "A task with a long name that says what is to be done")
    shown = board.moot.at_a_terminal("gsd", "phase", "01").out
    assert "A task with a long name" in shown


def test_all_phases_and_one_plan_are_shown_too(board: Board) -> None:
    board.plan_file("01-01", "wave: 1", tasks=("One", "Two"))
    board.plan_file("02-01", "wave: 1", "depends_on: [01-01]", folder="02-next", tasks=("Three",))
    board.complete("01-01", 1)
    board.emit(
        {"type": "decision:made", "decision": "Use jose", "rationale": "Edge", "madeBy": "01-01", "affects": ["02-*"]}
    )
    claim(board, "01-01", "a.ts")
    assert [phase.phase for phase in board.gsd.phase()] == ["01", "02"]
    assert board("gsd", "phase").out.splitlines() == [
        "Phase 01: 1 of 2 tasks completed; 0 of 1 plan done",
        "Phase 02: 0 of 1 task completed; 0 of 1 plan done",
    ]
    details = board.gsd.plan("2-1")
    assert (details.plan.plan, details.plan.state, details.plan.decisions) == ("02-01", "waiting", ("dec-001",))
    assert board("gsd", "plan", "02-01").out.splitlines() == [
        "02-01 waiting 0/1",
        "  1 planned Three",
        "  after 01-01",
        "  dec-001 Use jose (Edge)",
        "  depends on 01-01",
    ]
    first = board.gsd.plan("01-01").plan
    assert [held.path for held in first.claims] == ["a.ts"]
    board.complete("01-01", 2)
    assert board.gsd.plan("01-01").plan.state == "done"
    assert board.gsd.plan("02-01").plan.state == "ready"
    with pytest.raises(Unknown, match="Nothing is known about plan 07-01"):
        board.gsd.plan("07-01")
    with pytest.raises(Usage, match="is not a plan"):
        board.gsd.plan("seven")
    with pytest.raises(Usage, match="is not a phase"):
        board.gsd.phase("seven")


# The check


def bytes_of(board: Board) -> dict[str, bytes]:
    files = [path for path in (board.root / ".planning").rglob("*") if path.is_file()]
    return {"log": str(board.moot.head()).encode(), **{str(path): path.read_bytes() for path in files}}


@pytest.mark.proves("S4-INS-05")
@pytest.mark.parametrize(
    ("file", "edit", "said"),
    [
        (EVENTS, lambda c: c["events"].append({"type": "task:failed"}), r"events\[\d\].error: expected a text"),
        (EVENTS, lambda c: c["events"].append({"type": "task:complete"}), r"Did you mean task:completed\?"),
        (EVENTS, lambda c: c.update(retentionPolicy="soon"), r'retentionPolicy stays 24h: "soon"'),
        (".planning/config.json", lambda c: c["event_handlers"].update({"task:failed": "all"}), r"event_handlers"),
    ],
)
def test_the_check_names_each_problem_with_its_place_and_changes_nothing(
    board: Board, file: str, edit: Callable[[Any], object], said: str
) -> None:
    config = board.root / ".planning" / "config.json"
    config.write_text('{"event_handlers": {"task:completed": ["builtin:blackboard-sync"]}}')
    board.start("01-01", 1, "One")
    claim(board, "01-01", "a.ts")
    board.emit({"type": "decision:made", "decision": "D", "rationale": "R", "madeBy": "01-01"})
    good = board("gsd", "check")
    assert (good.code, good.err) == (0, ""), good
    content = board.file(file)
    edit(content)
    (board.root / file).write_text(json.dumps(content, indent=2))
    before = bytes_of(board)
    bad = board("gsd", "check")
    assert bad.code != 0
    (line,) = [line for line in bad.out.splitlines() if re.search(said, line)]
    assert re.match(rf"{re.escape(file)}:\d+:\d+: ", line)
    assert bytes_of(board) == before


@pytest.mark.proves("S4-INS-05")
@pytest.mark.parametrize("file", [EVENTS, ".planning/config.json", f"{FOLDER}/shared-context.json"])
def test_the_check_names_where_a_file_is_not_json(board: Board, file: str) -> None:
    (board.root / file).write_text('{\n  "events": [\n}')
    bad = board("gsd", "check")
    assert bad.code != 0
    assert re.search(rf"^{re.escape(file)}:3:\d+: ", bad.out, re.MULTILINE)
    assert board("pack", "check", "gsd").out == bad.out
    assert {one.file for one in board.gsd.check().problems} == {file}


# What nobody works on


def test_a_plan_none_of_whose_tasks_runs_is_not_shown_as_running(board: Board) -> None:
    board.start("01-05", 1)
    board.complete("01-05", 1)
    assert board("gsd", "plan", "01-05").out.splitlines()[0] == "01-05 idle 1/1"
    assert board.gsd.phase("01").done == 0  # nobody knows how many tasks it has
    assert "01-05 idle" in board("watch", "--once").out
    board.start("01-05", 2)
    assert board.gsd.plan("01-05").plan.state == "running"


def test_a_claim_without_a_plan_is_shown_without_one(board: Board) -> None:
    with Workspace(board.root) as ada:
        ada.join("Ada")
        ada.claim("a.ts")
    assert re.fullmatch(r"a.ts Ada since 20.*\n", board("gsd", "claims").out)


# The check of plans


@pytest.mark.proves("S4-INS-05")
def test_a_configuration_that_was_deleted_is_not_missed(board: Board) -> None:
    config = board.root / ".planning" / "config.json"
    config.write_text("{}")
    board("gsd", "phase")
    config.unlink()
    said = board("gsd", "check")
    assert (said.code, "config.json" in said.out) == (0, False)


@pytest.mark.proves("S4-INS-05")
def test_the_check_counts_the_files_that_it_names_and_says_what_to_do(board: Board) -> None:
    board.plan_file("01-01", "wave: soon", tasks=("One",))
    board.plan_file("01-1", tasks=("One",))
    board.write({"type": "task:failed"}, {"type": "task:complete"})
    (board.root / ".planning" / "config.json").write_text('{"event_handlers": {"task:failed": "all"}}')
    content = {**board.file(), "retentionPolicy": "soon"}
    (board.root / EVENTS).write_text(json.dumps(content))
    found = board.gsd.check()
    wrong = [problem for problem in found.problems if not problem.note]
    named = {(problem.worktree, problem.file) for problem in wrong}
    assert len(named) == 4
    assert [problem.message for problem in wrong if not problem.remedy] == []
    last = board("gsd", "check").out.splitlines()[-1]
    every = named | {(file.worktree, file.path) for file in found.files}
    assert last == f"{len(wrong)} problems; 4 of {len(every)} files bad."
