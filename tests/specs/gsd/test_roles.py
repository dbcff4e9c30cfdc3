"""The three roles, each by its guide: what it takes, what it puts out, and when its part is finished."""

from __future__ import annotations

import json
import re

import pytest

from moot import Workspace
from moot.packs.gsd.methods import Blackboard
from tests.specs.gsd.board import AGENT, REACHED, SAMPLES, Board
from tests.surfaces.command import PATIENCE


def step(guide: str, name: str) -> str:
    found = re.search(rf'<step name="{name}">\n(.*?)</step>', guide, re.DOTALL)
    assert found is not None, f"the guide has no step {name}"
    return found[1]


def script(text: str) -> str:
    return text.partition("```bash\n")[2].partition("```")[0]


@pytest.mark.proves("S4-ROL-01")
def test_an_executor_takes_a_plan_and_puts_out_what_its_guide_says(board: Board) -> None:
    board.plan_file("01-02", "wave: 1", "needs: [src/models/user.ts]", tasks=("Users API", "Its tests"))
    board.emit(
        {"type": "decision:made", "decision": "Use jose", "rationale": "Edge", "madeBy": "01-01", "affects": ["01-*"]}
    )
    guide = board("brief", "gsd-executor").out
    for taken in ("its tasks", "the decisions that affect it", "moot gsd plan $PLAN", "moot gsd wait --plan $PLAN"):
        assert taken in guide
    seen = board("gsd", "plan", "01-02").out
    for part in (
        "  1 planned Users API",
        "  2 planned Its tests",
        "  dec-001 Use jose (Edge)",
        "needs src/models/user.ts",
    ):
        assert part in seen
    waiting = board.moot.popen("gsd", "wait", "--plan", "01-02")
    board.emit({"type": "artifact:created", "path": "src/models/user.ts", "createdBy": "01-01"})
    waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0

    order = [
        "emit_task_started",
        "emit_file_claimed",
        "emit_artifact_created",
        "emit_file_released",
        "emit_task_completed",
    ]
    assert [guide.index(f'name="{name}"') for name in order] == sorted(guide.index(f'name="{name}"') for name in order)
    variables = {"AGENT": AGENT, "PLAN": "01-02", "TASK_NUM": "1", "TASK_NAME": "Users API", "FILE": "src/api/users.ts"}
    arrays = "FILES=(src/api/users.ts) PROVIDES=(listUsers)\n"
    for name in order:
        ran = board.shell(arrays + script(step(guide, name)), **variables, COMMIT="abc1234")
        assert ran.returncode == 0, ran
        if name == "emit_file_claimed":
            assert [held.plan for held in board.gsd.claims("src/api/users.ts")] == ["01-02"]
    assert board.gsd.claims() == []
    variables |= {"TASK_NUM": "2", "TASK_NAME": "Its tests", "ERROR": "They fail"}
    for name in ("emit_task_started", "emit_task_failed"):
        assert board.shell(script(step(guide, name)), **variables).returncode == 0
    first, second = board.gsd.plan("01-02").plan.tasks
    assert (first.state, first.commit) == ("completed", "abc1234")
    assert (second.state, second.error) == ("failed", "They fail")


@pytest.mark.proves("S4-ROL-02")
def test_an_orchestrator_waits_collects_results_and_handles_failures_in_this_order(board: Board) -> None:
    guide = board("brief", "orchestrator").out
    text = step(guide, "wait_for_completions")
    numbered = re.findall(r"^(\d)\. (\w+)", text, re.MULTILINE)
    assert numbered == [("1", "Wait"), ("2", "Collect"), ("3", "Handle")]
    for part in ("checkpoint", "Start one executor for each plan", "moot gsd phase $PHASE"):
        assert part in guide
    board.complete("01-01", 1)
    board.start("01-01", 2, "Hard one")
    board.fail("01-01", 2, "Tests fail")
    ran = board.shell(f'set +e\n{script(text)}\necho "ended with $?"', PHASE="01", EXPECTED="2")
    said = ran.stdout.splitlines()
    assert said[0] == "phase 01 ended with failures: 1 of 2 tasks"
    assert said[1].startswith("  01-01 task 1 completed: abc1234")
    assert said[-2].startswith("  01-01 task 2 failed Hard one (gsd-executor): Tests fail")
    assert said[-1] == "ended with 6"


@pytest.mark.proves("S4-ROL-02")
def test_a_phase_is_finished_when_each_shortfall_is_accounted_for(board: Board) -> None:
    with Workspace(board.root) as lead:
        lead.join("Lead", role="orchestrator")
        for task in (1, 2):
            board.complete("01-01", task)
        board.start("01-02", 1, "Slow one")
        board.fail("01-02", 2, "Tests fail")
        timed_out = lead.pack(Blackboard).wait(phase="01", tasks=4, timeout=0)
        accounted = len(timed_out.completed) + len(timed_out.failed) + len(timed_out.running)
        assert (timed_out.outcome, accounted) == ("timeout", 4)
        board.emit({**REACHED, "plan": "01-02", "task": 1})
        mail = [letter.text for letter in lead.inbox().new]
        assert any("Task 2 of plan 01-02 (gsd-executor) failed: Tests fail" in text for text in mail)
        assert any("01-02 task 1 (human-verify) awaits: user approval" in text for text in mail)
        board.ws.checkpoint_resolve(board.ws.checkpoints()[0].id, "approved")
        board.complete("01-02", 1)
        board.start("01-02", 2)
        board.complete("01-02", 2)
        done = lead.pack(Blackboard).wait(phase="01", tasks=4, timeout=0)
        assert (done.outcome, len(done.completed), done.failed) == ("completed", 4, ())


@pytest.mark.proves("S4-ROL-03")
def test_a_user_takes_checkpoints_and_failures_and_nothing_continues_before_the_answer(board: Board) -> None:
    guide = board("brief", "user").out
    for part in (
        "moot needs-me",
        "moot checkpoint resolve ID approved",
        "Nothing that awaits you continues",
        "task:failed",
    ):
        assert part in guide
    board.start("01-03", 2, "Look")
    board.emit(REACHED)
    board.start("01-04", 1)
    board.fail("01-04", 1, "Tests fail")
    listed = json.loads(board("needs-me", "--json").out)["result"]
    (asked,) = [item for item in listed if item["kind"] == "checkpoint"]
    assert (asked["task"], asked["text"]) == ("01-03.2", "user approval")
    failures = board("gsd", "events", "--type", "task:failed").out
    assert "01-04" in failures
    assert "Tests fail" in failures
    waiting = board.moot.popen("gsd", "wait", "--plan", "01-03", "--checkpoint")
    assert board("gsd", "wait", "--plan", "01-03", "--checkpoint", "--timeout", "0").code == 5
    assert waiting.poll() is None
    command = asked["command"].replace("'…'", "approved").removeprefix("moot ")
    assert board(*command.split()).code == 0
    out, _ = waiting.communicate(timeout=PATIENCE)
    assert "approved" in out
    assert waiting.returncode == 0
    assert [item for item in board.ws.needs_me() if item.kind == "checkpoint"] == []


@pytest.mark.proves("S4-ROL-01", "S4-ROL-02")
def test_what_the_guides_name_exists(board: Board) -> None:
    guide = board("brief", "gsd-executor").out
    path = board.plan_file("01-02", tasks=("One",)).relative_to(board.root)
    assert "`.planning/phases/{phase}/{plan}-PLAN.md`" in guide
    assert str(path) == ".planning/phases/{phase}/{plan}-PLAN.md".format(phase="01-base", plan="01-02")
    for event in SAMPLES:
        assert f"`{event['type']}`:\n- `type` (required)" in guide
        for field in event:
            assert f"- `{field}`" in guide
    board.start("01-02", 1)
    board.complete("01-02", 1)
    (option,) = re.findall(r"continues after a pause with\s+`(--\w+) NUMBER`", board("brief", "orchestrator").out)
    assert "#2" in board("gsd", "events", option, "1").out
