"""A checkpoint waits for a person. The answer is recorded once, and reaches the plan that waits."""

from __future__ import annotations

import json
import shlex
import threading
from typing import Any

import pytest

from moot import Workspace
from moot.core.errors import Held, Refused, Unknown
from tests.specs.gsd.board import AGENT, FOLDER, REACHED, Board
from tests.surfaces.command import PATIENCE

KINDS = ("human-verify", "decision", "human-action")


def reach(board: Board, kind: str = "human-verify", **more: Any) -> str:
    """The id of a new checkpoint of task 2 of plan 01-03."""
    board.emit({**REACHED, "checkpointType": kind, **more})
    (found,) = board.ws.checkpoints()
    return found.id


def state(board: Board) -> str:
    (task,) = [task for task in board.gsd.plan("01-03").plan.tasks if task.task == 2]
    return task.state


@pytest.mark.proves("S4-DEC-07")
@pytest.mark.parametrize("kind", KINDS[:1])
def test_each_kind_is_brought_before_a_person_and_the_answer_is_in_the_file(board: Board, kind: str) -> None:
    board.start("01-03", 2, "Look at it")
    name = reach(board, kind)
    assert state(board) == "waiting"
    (item,) = [item for item in board.ws.needs_me() if item.kind == "checkpoint"]
    assert (item.id, item.task, item.text) == (name, "01-03.2", "user approval")
    assert name in board("watch", "--once").out
    answered = board("checkpoint", "resolve", name, "approved", "--text", "Looks good.")
    assert answered.code == 0
    assert state(board) == "running"
    event = board.shown()[-1]
    assert (event["type"], event["plan"], event["task"]) == ("checkpoint:resolved", "01-03", 2)
    assert (event["answer"], event["text"], event["checkpointType"]) == ("approved", "Looks good.", kind)
    assert event["answeredBy"].startswith("person:")
    assert event["timestamp"]
    (record,) = board.ws.checkpoints(all=True)
    assert (record.answer, record.text, record.resolved_by) == ("approved", "Looks good.", event["answeredBy"])
    assert record.ended_at


@pytest.mark.proves("S4-DEC-07", "S4-INS-03")
def test_a_task_waits_for_the_user_from_its_checkpoint_on_even_if_nobody_announced_its_start(board: Board) -> None:
    board.plan_file("01-03", "phase: 01-base", "plan: 03", tasks=("Build it", "Look at it"))
    board.write(REACHED)
    board("mirror")
    (name,) = [one.id for one in board.ws.checkpoints()]
    plan = board.gsd.plan("01-03").plan
    assert [(task.state, task.name) for task in plan.tasks] == [("planned", "Build it"), ("waiting", "Look at it")]
    assert (plan.state, board.gsd.phase("01").waiting) == ("asking", 1)
    late = board("gsd", "wait", "--phase", "01", "--tasks", "1", "--timeout", "0")
    assert f"01-03 task 2 waiting Look at it ({name}, human-verify: user approval)" in late.out
    board("checkpoint", "resolve", name, "approved")
    assert state(board) == "planned"


@pytest.mark.proves("S4-DEC-07")
def test_a_task_waits_until_each_of_its_checkpoints_is_answered(board: Board) -> None:
    board.start("01-03", 2, "Look at it")
    for kind in KINDS:
        board.emit({**REACHED, "checkpointType": kind})
    first, second, third = [one.id for one in board.ws.checkpoints()]
    board.emit({**REACHED, "checkpointType": KINDS[0]})  # a repeat of one that is open
    assert [one.id for one in board.ws.checkpoints()] == [first, second, third]
    board.gsd.emit({"type": "checkpoint:resolved", "plan": "01-03", "task": 2, "answer": "the newest"})
    board.ws.checkpoint_resolve(first, "the oldest")
    assert state(board) == "waiting"
    assert board.gsd.wait(plan="01-03", checkpoint=True, timeout=0).outcome == "timeout"
    board.gsd.emit({"type": "checkpoint:resolved", "plan": "01-03", "task": 2, "answer": "the last one"})
    assert state(board) == "running"
    assert board.gsd.wait(plan="01-03", checkpoint=True, timeout=0).outcome == "completed"
    answers = {one.id: one.answer for one in board.ws.checkpoints(all=True)}
    assert answers == {first: "the oldest", second: "the last one", third: "the newest"}


@pytest.mark.proves("S4-DEC-07")
def test_the_answer_reaches_the_plan_that_waits_over_any_surface(board: Board) -> None:
    with Workspace(board.root) as ada:
        ada.join("Ada")
        started = {"type": "task:started", "agent": AGENT, "plan": "01-03", "task": 2, "taskName": "Look"}
        from moot.packs.gsd.methods import Blackboard

        ada.pack(Blackboard).emit(started)
        ada.pack(Blackboard).emit(REACHED)
        (open_one,) = board.ws.checkpoints()
        waiting = board.moot.popen("gsd", "wait", "--plan", "1-3", "--checkpoint", "--json")
        assert board.gsd.wait(plan="01-03", checkpoint=True, timeout=0).outcome == "timeout"
        board.ws.checkpoint_resolve(open_one.id, "rejected", text="The button is missing.")
        out, _ = waiting.communicate(timeout=PATIENCE)
        (answer,) = json.loads(out)["result"]["answers"]
        assert (answer["answer"], answer["text"]) == ("rejected", "The button is missing.")
        assert waiting.returncode == 0
        mail = [letter.text for letter in ada.inbox().new]
        assert any("rejected" in text and "The button is missing." in text for text in mail)


@pytest.mark.proves("S4-DEC-07")
def test_an_option_can_be_chosen(board: Board) -> None:
    name = reach(board, "decision", options=["jose", "jsonwebtoken"])
    (item,) = [item for item in board.ws.needs_me() if item.kind == "checkpoint"]
    assert item.options == ("jose", "jsonwebtoken")
    with pytest.raises(Refused, match="is not an option"):
        board.ws.checkpoint_resolve(name, "passport")
    board.ws.checkpoint_resolve(name, "2")
    assert board.shown()[-1]["answer"] == "jsonwebtoken"


@pytest.mark.proves("S4-DEC-08")
def test_a_checkpoint_that_does_not_exist_or_was_answered_cannot_be_answered(board: Board) -> None:
    with pytest.raises(Unknown):
        board.ws.checkpoint_resolve("k-nothing", "approved")
    with pytest.raises(Unknown):
        board.gsd.emit({"type": "checkpoint:resolved", "plan": "01-03", "task": 2, "answer": "approved"})
    name = reach(board)
    board.ws.checkpoint_resolve(name, "approved", text="Go on.")
    with pytest.raises(Held) as caught:
        board.ws.checkpoint_resolve(name, "rejected")
    assert caught.value.details["answer"] == "approved"
    again = board("checkpoint", "resolve", name, "rejected")
    assert again.code == 3
    assert "approved" in again.err
    with pytest.raises(Held):
        board.gsd.emit({"type": "checkpoint:resolved", "plan": "01-03", "task": 2, "answer": "rejected"})
    assert [event["type"] for event in board.shown()] == ["checkpoint:reached", "checkpoint:resolved"]


@pytest.mark.proves("S4-DEC-08")
def test_two_users_who_answer_at_once_leave_one_answer(board: Board) -> None:
    name = reach(board)
    outcomes: list[str] = []

    def answer(word: str) -> None:
        with Workspace(board.root, person=True) as ws:
            barrier.wait(PATIENCE)
            try:
                ws.checkpoint_resolve(name, word)
                outcomes.append(word)
            except Held as held:
                outcomes.append(f"refused, {held.details['answer']}")

    words = ("approved", "rejected", "approved", "rejected")
    barrier = threading.Barrier(len(words))
    users = [threading.Thread(target=answer, args=(word,)) for word in words]
    for user in users:
        user.start()
    for user in users:
        user.join(PATIENCE)
    (kept,) = [word for word in outcomes if not word.startswith("refused")]
    assert sorted(outcomes) == sorted([kept, *[f"refused, {kept}"] * (len(words) - 1)])
    answers = [event["answer"] for event in board.shown() if event["type"] == "checkpoint:resolved"]
    assert answers == [kept]


def planned(board: Board) -> None:
    """Plan 01-03 has one task, and 01-04 depends on it."""
    board.plan_file("01-03", "phase: 01-base", "plan: 03", tasks=("Look at it",))
    board.plan_file("01-04", "phase: 01-base", "plan: 04", 'depends_on: ["01-03"]', tasks=("Build on it",))


def plan_states(board: Board) -> dict[str, str]:
    return {plan.plan: plan.state for plan in board.gsd.phase("01").plans}


def assert_held(board: Board) -> None:
    """The completion of task 1 of plan 01-03 does not count."""
    phase = board.gsd.phase("01")
    assert (phase.completed, phase.waiting, phase.done) == (0, 1, 0)
    assert plan_states(board) == {"01-03": "asking", "01-04": "waiting"}
    assert board.gsd.wait(phase="01", tasks=1, timeout=0).outcome == "timeout"
    assert board.gsd.wait(phase="01", plans=1, timeout=0).outcome == "timeout"
    assert board.gsd.wait(plan="01-04", timeout=0).outcome == "timeout"
    assert board.file(f"{FOLDER}/shared-context.json")["completed_plans"] == []
    assert "01-03.1" in board("needs-me").out


def assert_counts(board: Board) -> None:
    assert plan_states(board) == {"01-03": "done", "01-04": "ready"}
    outcome = board.gsd.wait(phase="01", tasks=1, timeout=0)
    assert (outcome.outcome, [task.commit for task in outcome.completed]) == ("completed", ["abc1234"])
    assert board.gsd.wait(plan="01-04", timeout=0).outcome == "completed"
    context = board.file(f"{FOLDER}/shared-context.json")
    (done,) = context["completed_tasks"]
    assert (done["plan"], done["task"], done["commit"], done["agent"]) == ("01-03", 1, "abc1234", AGENT)
    assert (context["completed_plans"], context["active_agents"]) == (["01-03"], [])
    assert context["last_commit"]["commit"] == "abc1234"
    assert board.ws.task_show("01-03.1").task.state == "completed"


@pytest.mark.proves("S4-DEC-07", "S4-ROL-03")
@pytest.mark.parametrize(("way", "started"), [("verb", True), ("event", False), ("withdraw", True)])
def test_a_completion_before_the_answer_is_recorded_and_counts_from_the_answer_on(
    board: Board, way: str, *, started: bool
) -> None:
    planned(board)
    if started:
        board.start("01-03", 1)
    board.emit({**REACHED, "task": 1})
    (name,) = [one.id for one in board.ws.checkpoints()]
    done = board.gsd.emit({"type": "task:completed", "agent": AGENT, "plan": "01-03", "task": 1, "commit": "abc1234"})
    (flag,) = [flag for flag in done.flags if flag.startswith("open_checkpoint")]
    assert name in flag
    assert_held(board)
    assert board.ws.task_show("01-03.1").task.state != "completed"
    again = board.gsd.emit({"type": "task:completed", "agent": AGENT, "plan": "01-03", "task": 1, "commit": "abc1234"})
    assert any(flag.startswith("repeat") for flag in again.flags)
    assert_held(board)
    if way == "verb":
        board.ws.checkpoint_resolve(name, "approved")
    elif way == "event":
        board.gsd.emit({"type": "checkpoint:resolved", "plan": "01-03", "task": 1, "answer": "approved"})
    else:
        board.ws.checkpoint_withdraw(name, reason="Not needed.")
    assert_counts(board)


@pytest.mark.proves("S4-DEC-07", "S4-ROL-03")
def test_a_completion_in_a_file_is_held_until_the_last_of_two_checkpoints_is_answered(board: Board) -> None:
    planned(board)
    reached = {**REACHED, "task": 1}
    end = {"type": "task:completed", "agent": AGENT, "plan": "01-03", "task": 1, "commit": "abc1234"}
    board.write(reached, {**reached, "checkpointType": "decision"}, end)
    board("mirror")
    first, second = [one.id for one in board.ws.checkpoints()]
    assert_held(board)
    board.ws.checkpoint_resolve(second, "approved")
    assert_held(board)
    board.ws.checkpoint_resolve(first, "approved")
    assert_counts(board)


@pytest.mark.proves("S4-DEC-07")
@pytest.mark.parametrize("verb", [True, False])
def test_a_checkpoint_after_the_completion_takes_it_back_until_the_answer(board: Board, *, verb: bool) -> None:
    planned(board)
    board.start("01-03", 1)
    board.complete("01-03", 1)
    assert_counts(board)
    if verb:
        board.ws.checkpoint_reach("Good enough?", task="01-03.1")
    else:
        board.emit({**REACHED, "task": 1})
    assert_held(board)
    board.ws.checkpoint_resolve(board.ws.checkpoints()[0].id, "approved")
    assert_counts(board)


@pytest.mark.proves("S4-DEC-07", "S4-LIF-06")
def test_a_completion_that_is_held_can_be_taken_back_by_a_start_or_a_failure(board: Board) -> None:
    planned(board)
    for take_back, state in ((board.start, "running"), (board.fail, "failed")):
        board.start("01-03", 1)
        board.emit({**REACHED, "task": 1})
        board.complete("01-03", 1)
        assert_held(board)
        take_back("01-03", 1)
        board.ws.checkpoint_resolve(board.ws.checkpoints()[0].id, "rejected")
        (task,) = board.gsd.plan("01-03").plan.tasks
        assert task.state == state
        assert plan_states(board)["01-04"] == "waiting"
    board.start("01-03", 1)
    board.complete("01-03", 1)
    assert_counts(board)


@pytest.mark.proves("S4-INS-03", "S4-DEC-07")
def test_a_task_without_a_plan_file_is_still_known_after_the_answer(board: Board) -> None:
    board.emit(REACHED)
    board.ws.checkpoint_resolve(board.ws.checkpoints()[0].id, "ok")
    (task,) = board.gsd.plan("01-03").plan.tasks
    assert (task.task, task.state, task.checkpoint) == (2, "planned", "")
    assert "  2 planned" in board("gsd", "phase", "01").out.splitlines()
    board.emit({"type": "artifact:created", "path": "a.ts", "createdBy": "01-07"})
    assert board("gsd", "plan", "01-07").code == 0  # it has an event


@pytest.mark.proves("S4-HAN-04")
def test_every_list_of_checkpoints_shows_plan_task_type_and_what_is_awaited(board: Board) -> None:
    kind = "design-review"
    reach(board, kind)
    for words in (("needs-me",), ("checkpoints",), ("gsd", "phase", "01"), ("watch", "--once")):
        shown = board(*words).out
        assert kind in shown
        assert "user approval" in shown
    (item,) = [one for one in json.loads(board("needs-me", "--json").out)["result"] if one["kind"] == "checkpoint"]
    assert (item["task"], item["checkpoint_type"], item["text"]) == ("01-03.2", kind, "user approval")


@pytest.mark.proves("S4-DEC-07")
def test_the_placeholder_of_the_suggested_command_is_not_an_answer(board: Board) -> None:
    name = reach(board)
    (item,) = [item for item in board.ws.needs_me() if item.kind == "checkpoint"]
    words = shlex.split(item.command)[1:]
    assert words == ["checkpoint", "resolve", name, "…"]
    pasted = board(*words)
    assert (pasted.code, "placeholder_answer" in pasted.err) == (1, True)
    assert state(board) == "waiting"
    assert board("answer", name, "approved …").code == 0


@pytest.mark.proves("S4-ROL-03")
def test_a_failure_that_other_plans_wait_for_is_put_before_the_user(board: Board) -> None:
    planned(board)
    board.start("01-05", 1)
    board.fail("01-05", 1)  # nobody waits for it
    assert [item for item in board.ws.needs_me() if item.kind == "concern"] == []
    board.start("01-03", 1)
    board.fail("01-03", 1, "Tests fail")
    (item,) = [item for item in board.ws.needs_me() if item.kind == "concern"]
    assert item.id == "01-03.1"
    assert item.text == "01-03 task 1 failed, and 01-04 waits for the plan: Tests fail"
    assert board(*shlex.split(item.command)[1:]).code == 0
    board.start("01-03", 1)
    assert [item for item in board.ws.needs_me() if item.kind == "concern"] == []


@pytest.mark.proves("S4-DEC-07", "S4-LIF-06")
def test_a_task_that_waits_after_its_completion_can_be_started_and_completed_again(board: Board) -> None:
    planned(board)
    board.start("01-03", 1)
    board.complete("01-03", 1)
    board.emit({**REACHED, "task": 1})
    board.start("01-03", 1)
    board.ws.checkpoint_resolve(board.ws.checkpoints()[0].id, "rejected")
    assert plan_states(board)["01-03"] == "running"
    board.complete("01-03", 1)
    assert_counts(board)
