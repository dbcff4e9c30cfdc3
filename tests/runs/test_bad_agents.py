"""Agents that crash, hang, babble or break things: each is noticed, nothing is lost, nothing is taken for granted."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess

import pytest

from tests.runs.theatre import GOOD, Theatre, ended, error_of, interrupt, steps_of
from tests.specs.orchestrator.project import FILES, STATUS, until

SECOND_TIME = (
    "if nth('tries') == 2:\n    open('brief.txt', 'w').write(brief)\n    block(DEFAULT[part])\n    sys.exit()\n"
)

# What a developer does at first, and what the driver says about it.
FAULTS = {
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", "it was killed by signal 11; its part is not done"),
    "fails": ("print('no idea'); sys.exit(3)", "its exit code was 3; the output has no JSON block with the answer"),
    "says nothing": ("", "the output is empty"),
    "says it in prose": (
        "print('The report is done: completion_report, success.')",
        "the output has no JSON block with the answer",
    ),
    "breaks its JSON": (
        'block(REPORT); block(\'{"type": "completion_report", \')',
        "the last JSON block of the output cannot be read: ",
    ),
    "copies the sample": (
        "print(brief[:brief.index('# Now')])",
        'its answer is for "task-001", not for task-002',
    ),
    "leaves something out": (
        "del REPORT['summary']; block(REPORT)",
        "its answer was refused: The completion_report has 1 defect: summary: expected a non-empty string",
    ),
    "corrects itself wrongly": (
        "block(REPORT); block({**REPORT, 'status': 'completed'})",
        "its answer was refused: The completion_report has 1 defect: status: expected awaiting_review",
    ),
    "writes a bad entry": (
        "append(TO_LEAD, {**REPORT, 'timestamp': NOW, 'platform': 'windows'})",
        f"the output is empty; moot held {FILES['team-lead']} back: The completion_report has 1 defect: platform",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_part_that_is_not_done_is_tried_again_and_the_agent_is_told_why(theatre: Theatre, fault: str) -> None:
    body, said = FAULTS[fault]
    theatre.play("Somebody else's", "Login page", developer=f"{SECOND_TIME}{body}")
    theatre.drive("--task", "task-002")
    (first, why), (second, _) = theatre.tries("developer")
    assert (first, second) == ("failed", "passed")
    assert why.startswith(said), why
    told = theatre.text("brief.txt").partition("## Your last attempt did not count\n\n")[2]
    assert told.startswith(f"> {said}".splitlines()[0])
    assert theatre.state("task-002") == "completed"
    assert theatre.sent("completion_report") == 1


def test_after_its_attempts_the_task_stays_and_the_driver_stops(theatre: Theatre) -> None:
    theatre.play("Login page", "Next", developer="sys.exit(1)")
    spoken = theatre.cli("run", "orchestrator")
    assert (spoken.code, error_of(spoken)["error"]) == (6, "run_failed")
    assert error_of(spoken)["remedy"].startswith("To go on with it: `moot run orchestrator --task task-001`.")
    assert spoken.out.count("To go on") == 2  # in the step of the run that ended, and in the error
    assert [theatre.state(task) for task in ("task-001", "task-002")] == ["in_progress", "pending"]
    assert [run.outcome for run in theatre.runs()] == ["failed"]
    (concern,) = (item for item in theatre.ask("needs-me") if item["kind"] == "concern")
    assert concern["command"] == "moot run orchestrator --task task-001"
    assert "developer did not do its part: its exit code was 1" in concern["text"]
    assert json.loads(theatre.text(STATUS))["developer"]["status"] == "idle"
    theatre.script("developer", GOOD)
    theatre.allow()
    theatre.drive("--task", "task-001")
    assert theatre.state() == "completed"
    assert theatre.count("assignment-of-task-001") == 1
    assert not [item for item in theatre.ask("needs-me") if item["kind"] == "concern"]


def test_a_task_that_an_earlier_run_left_unfinished_is_named_and_fails_the_next_run(theatre: Theatre) -> None:
    theatre.play("Bad", "Fine", developer="block(REPORT if task == 'task-002' else {})", attempts=1)
    theatre.drive("--once", code=6)
    for completed in (1, 0):
        spoken = theatre.cli("run", "orchestrator")
        assert (spoken.code, error_of(spoken)["error"]) == (6, "tasks_unfinished")
        assert steps_of(spoken)[-1]["counts"] == ({"completed": 1} if completed else {})
        assert "An earlier run left task-001 unfinished: run-" in error_of(spoken)["message"]
        assert error_of(spoken)["remedy"] == "Go on with it: `moot run orchestrator --task task-001`."
        assert error_of(spoken)["details"]["tasks"] == ["task-001"]
    theatre.script("developer", GOOD)
    theatre.allow()
    theatre.drive("--task", "task-001")
    theatre.drive()


def test_a_limited_run_answers_for_its_own_tasks_only(theatre: Theatre) -> None:
    theatre.play("Bad", "Fine", "Also fine", developer="block({} if task == 'task-001' else REPORT)", attempts=1)
    theatre.drive("--once", code=6)
    theatre.drive("--once")
    theatre.drive("--task", "task-003")


def test_with_keep_going_the_next_task_has_its_turn(theatre: Theatre) -> None:
    theatre.play("Bad", "Fine", developer="block(REPORT if task == 'task-002' else {})", attempts=1)
    theatre.drive("--keep-going", code=6)
    assert [theatre.state(task) for task in ("task-001", "task-002")] == ["in_progress", "completed"]


def test_a_program_that_cannot_be_run_is_named_before_anything_happens(theatre: Theatre) -> None:
    theatre.play("Login page")
    text = theatre.text("moot.toml")
    (theatre.root / "moot.toml").write_text(f'{text}review = ["no-such-agent"]\n')
    refusal = theatre.cli_refusal("run", "orchestrator")
    assert (refusal.code, refusal.kind) == ("command_unusable", "refused")
    assert "no-such-agent" in refusal.message


def test_a_script_without_its_interpreter_is_said_to_lack_it(theatre: Theatre) -> None:
    theatre.play("Login page")
    script = theatre.root / "lead.sh"
    script.write_text("#!/no/such/interpreter -x\n")
    script.chmod(0o755)
    text = re.sub(r"lead = .*", 'lead = ["./lead.sh"]', theatre.text("moot.toml"))
    (theatre.root / "moot.toml").write_text(text)
    theatre.allow()
    spoken = theatre.cli("run", "orchestrator")
    assert spoken.code == 6
    assert "./lead.sh cannot be run: its interpreter /no/such/interpreter does not exist" in error_of(spoken)["message"]


# Time limits and processes


def alive(process: int) -> bool:
    """Whether a process runs; one that nobody waited for does not."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


CHILD = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("child.pid", "w").write(str(child.pid))
"""


def test_a_command_that_hangs_is_ended_with_its_children_after_its_time_limit(theatre: Theatre) -> None:
    theatre.play("Login page", developer=f"{CHILD}block(REPORT)\ntime.sleep(600)", timeout="1s", attempts=1)
    spoken = theatre.cli("run", "orchestrator")
    assert (spoken.code, error_of(spoken)["error"]) == (5, "run_timed_out")
    ((status, why),) = theatre.tries("developer")
    assert (status, why) == (
        "failed",
        "it was ended after 1s; its part is not done; its output is incomplete and does not count",
    )
    assert theatre.state() == "in_progress"
    until(lambda: not alive(int(theatre.text("child.pid"))), "the end of the child")


def test_a_part_that_was_handed_in_counts_although_the_command_hangs(theatre: Theatre) -> None:
    body = "append(TO_LEAD, {**REPORT, 'timestamp': NOW})\ntime.sleep(600)"
    theatre.play("Login page", developer=body, timeout="2s", attempts=1)
    theatre.drive()
    assert theatre.tries("developer")[0][1].endswith("(it was ended after 2s)")
    assert theatre.state() == "completed"


def test_processes_that_an_agent_leaves_behind_are_ended(theatre: Theatre) -> None:
    theatre.play("Login page", developer=f"{CHILD}{GOOD}")
    theatre.drive()
    assert "the processes that it left behind were ended" in theatre.tries("developer")[0][1]
    until(lambda: not alive(int(theatre.text("child.pid"))), "the end of the child")


def test_a_valid_answer_counts_although_the_exit_code_is_not_zero(theatre: Theatre) -> None:
    theatre.play("Login page", developer=f"{GOOD}\nsys.exit(7)")
    theatre.drive()
    ((status, why),) = theatre.tries("developer")
    assert (status, theatre.state()) == ("passed", "completed")
    assert why.endswith("(its exit code was 7)")
    assert theatre.runs()[0].tries_of("developer")[0].code == 7


def test_an_agent_that_deletes_the_files_costs_nothing(theatre: Theatre) -> None:
    body = "import shutil\nshutil.rmtree('.claude-orchestrator')\nblock(DEFAULT[part])"
    theatre.play("Login page", lead=body, developer=body)
    theatre.drive()
    assert theatre.state() == "completed"
    assert theatre.file("developer")["messages"] == []


def test_an_agent_that_breaks_a_file_costs_nothing(theatre: Theatre) -> None:
    theatre.play("Login page", developer="open(TO_DEVELOPER, 'w').write('{\"messages\": [')\nblock(REPORT)")
    theatre.drive()
    assert theatre.state() == "completed"


# Verdicts


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('APPROVED. I approve task-001.')", "the output has no JSON block with the answer"),
        ("block({'taskId': task, 'verdict': 'approved'})", "its verdict cannot be used: verdict: expected one of"),
        ("block({'taskId': task, 'verdict': 'reject'})", "its verdict cannot be used: reason: expected"),
        ("block({'verdict': 'approve'})", "its verdict cannot be used: taskId: expected a non-empty string"),
        ("block(APPROVE); block({**APPROVE, 'verdict': 'unsure'})", "its verdict cannot be used: verdict"),
        ("block({**APPROVE, 'taskId': 'task-9'})", 'its answer is for "task-9", not for task-001'),
    ],
)
def test_anything_but_an_explicit_verdict_is_none(theatre: Theatre, body: str, said: str) -> None:
    theatre.play("Login page", review=body, attempts=1)
    theatre.drive(code=6)
    assert theatre.state() == "awaiting_review"
    ((status, why),) = theatre.tries("review")
    assert status == "failed"
    assert why.startswith(said), why


@pytest.mark.proves("S0-HRD-14")
def test_a_rejection_whose_reason_contains_approve_is_a_rejection(theatre: Theatre) -> None:
    body = "block({**REJECT, 'reason': 'I cannot approve this; approve it later.'} if attempt == '1' else APPROVE)"
    theatre.play("Login page", review=body)
    theatre.drive()
    assert theatre.events("task:rejected")[0].data["reason"] == "I cannot approve this; approve it later."


def test_the_last_of_several_verdicts_counts(theatre: Theatre) -> None:
    body = "block(APPROVE); print('On second thought:'); block(REJECT if attempt == '1' else APPROVE); block({'a': 1})"
    theatre.play("Login page", review=body)
    theatre.drive()
    assert [event.type for event in theatre.events("task:rejected", "task:approved")] == [
        "task:rejected",
        "task:approved",
    ]


def test_an_unproven_build_is_approved_only_with_a_reason(theatre: Theatre) -> None:
    report = "REPORT['buildResult'].update(status='not_verified', command=''); block(REPORT)"
    judge = "nth('judged'); block({**APPROVE, 'reason': '' if nth('tries') == 1 else 'Reviewed by hand.'})"
    theatre.play("Login page", developer=report, review=judge)
    theatre.drive()
    assert "is doubtful: build not_verified" in theatre.tries("review")[0][1]
    assert theatre.events("task:approved")[0].data["reason"] == "Reviewed by hand."


# Verdicts before the review

REPORTED = """
REPORT["buildResult"].update(status="failed", errors=2, output="x")
print(moot("send", "--type", "completion_report", "--data", json.dumps(REPORT)))
"""
AS_LEAD = """
os.environ["MOOT_AGENT"] = "Lead"
del os.environ["MOOT_INCARNATION"]
print(moot("task", "approve", task, "--reason", "x"))
"""
IN_THE_QUEUE = """
append(TO_LEAD, {**REPORT, "timestamp": NOW})
print(moot("board"))
with open(".claude-orchestrator/tasks/queue.json") as file:
    queue = json.load(file)
for entry in queue["tasks"]:
    entry["status"] = "completed"
with open(".claude-orchestrator/tasks/queue.json", "w") as file:
    json.dump(queue, file)
"""
OWN_APPROVALS = {"as the lead": (REPORTED + AS_LEAD, "Lead"), "in the queue file": (IN_THE_QUEUE, "team-lead")}


@pytest.mark.proves("S0-ST-04", "S0-ST-10")
@pytest.mark.parametrize("way", OWN_APPROVALS)
def test_a_developer_that_approves_its_own_task_is_reported(theatre: Theatre, way: str) -> None:
    body, who = OWN_APPROVALS[way]
    theatre.play("Login page", developer=body, review=GOOD)
    spoken = theatre.cli("run", "orchestrator")
    assert (spoken.code, error_of(spoken)["error"]) == (6, "run_failed")
    assert f"{who} decided with `approve` before the review" in error_of(spoken)["message"]
    assert "moot task reopen task-001" in error_of(spoken)["remedy"]
    assert theatre.cli("task", "reopen", "task-001", "--reason", "Nobody reviewed it.").code == 0
    theatre.script("developer", GOOD)
    theatre.allow()
    theatre.drive("--task", "task-001")
    assert (theatre.state(), theatre.count("verdict-of-task-001")) == ("completed", 1)


def test_a_developer_that_rejects_its_own_report_is_reported(theatre: Theatre) -> None:
    theatre.play("Login page", developer=REPORTED + AS_LEAD.replace('"approve"', '"reject"'), review=GOOD)
    spoken = theatre.cli("run", "orchestrator")
    assert (spoken.code, theatre.state()) == (6, "rejected")
    assert "Lead decided with `reject` before the review" in error_of(spoken)["message"]


def test_a_verdict_that_a_person_gives_between_two_drivers_counts(theatre: Theatre) -> None:
    theatre.play("Login page", review="sys.exit(1)", attempts=1)
    theatre.drive(code=6)
    assert theatre.cli("task", "approve", "task-001").code == 0
    theatre.drive()
    assert theatre.state() == "completed"


# Interrupts and crashes

SLOW = """
open("started", "w").close()
for _ in range(6000):
    time.sleep(0.01)
    if os.path.exists("go"):
        break
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_driver_ends_the_command_and_goes_on_later(theatre: Theatre, number: int) -> None:
    theatre.play("Login page", developer=f"{CHILD}{SLOW}{GOOD}")
    driver = theatre.start_driving()
    theatre.has("started")
    assert interrupt(driver, number) == 130
    until(lambda: not alive(int(theatre.text("child.pid"))), "the end of the child")
    assert theatre.tries("developer") == [("interrupted", "the driver was interrupted")]
    assert theatre.state() == "in_progress"
    assert json.loads(theatre.text(STATUS))["developer"]["status"] == "idle"
    (concern,) = (item for item in theatre.ask("needs-me") if item["kind"] == "concern")
    assert concern["command"] == "moot run orchestrator"
    assert "was interrupted in developer" in concern["text"]
    (theatre.root / "go").touch()
    theatre.drive()
    assert (theatre.state(), theatre.count("assignment-of-task-001")) == ("completed", 1)
    assert len(theatre.runs()) == 1
    assert [theatre.sent(kind) for kind in ("task_assignment", "completion_report")] == [1, 1]


def test_a_command_that_outlives_its_driver_is_waited_for_and_not_started_twice(theatre: Theatre) -> None:
    hand_in = "print(moot('send', '--type', 'completion_report', '--data', json.dumps(REPORT)).stdout)"
    theatre.play("Login page", developer=f"signal.signal(signal.SIGPIPE, signal.SIG_IGN)\n{SLOW}{hand_in}")
    driver = theatre.start_driving()
    theatre.has("started")
    driver.kill()
    ended(driver)
    second = theatre.start_driving()
    line = second.stdout.readline() if second.stdout else b""
    assert (json.loads(line)["what"], json.loads(line)["stage"]) == ("waiting", "developer")
    (theatre.root / "go").touch()
    assert ended(second) == 0
    assert theatre.state() == "completed"
    assert theatre.count("report-of-task-001") == 1
    assert [status for status, _ in theatre.tries("developer")] == ["passed"]


def test_a_command_that_outlives_its_driver_and_its_time_limit_is_named(theatre: Theatre) -> None:
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('agent.pid', 'w').write(str(os.getpid()))\n"
    theatre.play("Login page", developer=f"{stubborn}{SLOW}", timeout="2s")
    driver = theatre.start_driving()
    theatre.has("started")
    driver.kill()
    ended(driver)
    try:
        spoken = theatre.cli("run", "orchestrator")
        assert (spoken.code, error_of(spoken)["error"]) == (3, "agent_still_runs")
        process = int(theatre.text("agent.pid"))
        (ending,) = re.findall(r"`(kill [^`]+)`", error_of(spoken)["remedy"])
        assert ending.endswith(f" -- -{process}")
        subprocess.run(["bash", "-c", ending], check=True)
        until(lambda: not alive(process), "the end of the command")
    finally:
        if alive(int(theatre.text("agent.pid"))):
            os.kill(int(theatre.text("agent.pid")), signal.SIGKILL)


def test_an_agent_that_kills_its_driver_uses_up_its_attempts(theatre: Theatre) -> None:
    theatre.play("Login page", developer="os.kill(os.getppid(), signal.SIGKILL)")
    for _ in range(2):
        assert theatre.cli("run", "orchestrator").code == -signal.SIGKILL
    spoken = theatre.cli("run", "orchestrator")
    assert (spoken.code, error_of(spoken)["error"]) == (6, "run_failed")
    assert theatre.count("report-of-task-001") == 2
    assert theatre.count("assignment-of-task-001") == 1


def test_a_second_driver_is_refused_while_the_first_lives(theatre: Theatre) -> None:
    theatre.play("Login page", developer=f"{SLOW}{GOOD}")
    driver = theatre.start_driving()
    theatre.has("started")
    spoken = theatre.cli("run", "orchestrator")
    assert (spoken.code, error_of(spoken)["error"]) == (3, "already_driven")
    assert error_of(spoken)["details"]["process"] == driver.pid
    (theatre.root / "go").touch()
    assert ended(driver) == 0
    assert theatre.state() == "completed"


def test_a_crash_between_a_rejection_and_its_retry_loses_no_retry(theatre: Theatre) -> None:
    """The reviewer rejects by a command, then kills the driver."""
    judge = """
if attempt == "1":
    print(moot("task", "reject", task, "--reason", "No tests."))
    os.kill(os.getppid(), signal.SIGKILL)
block(APPROVE)
"""
    theatre.play("Login page", review=judge)
    assert theatre.cli("run", "orchestrator").code == -signal.SIGKILL
    steps = theatre.drive()
    assert (theatre.state(), theatre.task().attempt) == ("completed", 2)
    assert [run.outcome for run in theatre.runs()] == ["failed", "passed"]
    assert steps[0]["text"] == "rejected: No tests. Trying again"


# Others at the same time


def test_a_task_that_somebody_else_resets_is_left(theatre: Theatre) -> None:
    body = """
os.environ["MOOT_AGENT"] = "Carol"
del os.environ["MOOT_INCARNATION"]
print(moot("task", "reject", task, "--reason", "Stop."), moot("task", "reopen", task))
"""
    theatre.play("Login page", developer=body)
    theatre.join("Carol", "team-lead")
    steps = theatre.drive()
    assert [run.outcome for run in theatre.runs()] == ["stopped"]
    assert steps[-1]["counts"] == {"stopped": 1}


def test_an_assignment_that_another_developer_took_is_left_to_them(theatre: Theatre) -> None:
    theatre.play("Login page", lead=f"{GOOD}\nopen('assigned', 'w').close()")
    theatre.join("Dora", "developer")
    theatre.run("task claim", task="task-001")
    sent = theatre.assign({"taskId": "task-001", **json.loads(ASSIGNED)})
    theatre.run("ack", "Dora", ids=(sent["id"],))
    spoken = theatre.cli("run", "orchestrator", "--task", "task-001")
    assert spoken.code == 6
    assert "Dora" in error_of(spoken)["message"]
    assert theatre.count("report-of-task-001") == 0


ASSIGNED = json.dumps({"platform": "web", "title": "A", "instructions": "B", "filesToCreate": [], "architecture": "C"})


def test_what_happened_before_a_failure_is_said_in_order(theatre: Theatre) -> None:
    theatre.play("Login page", developer="sys.exit(1)", attempts=1)
    spoken = theatre.cli("run", "orchestrator")
    assert [step["what"] for step in steps_of(spoken)] == [
        *("opened", "started", "passed", "started", "failed", "ended", "summary")
    ]


def test_a_driver_that_is_killed_again_and_again_still_does_everything_once(theatre: Theatre) -> None:
    """At moments that the machine chooses: while it starts, joins, runs a command, judges, records."""
    theatre.play(
        "First", "Second", review="time.sleep(0.05)\nblock(REJECT if attempt == '1' else APPROVE)", attempts=20
    )
    chance = random.Random(4)
    for _ in range(12):
        driver = theatre.start_driving()
        try:
            driver.wait(chance.uniform(0.1, 0.7))
        except subprocess.TimeoutExpired:
            driver.kill()
        ended(driver)
    theatre.drive()
    for task in ("task-001", "task-002"):
        assert (theatre.state(task), theatre.task(task).attempt) == ("completed", 2)
        mine = [event.data for event in theatre.events("message:sent") if event.data.get("task") == task]
        sent = sorted((data["kind"], data["attempt"]) for data in mine if data["kind"] != "note")
        assert sent == [(kind, n) for kind in ("completion_report", "task_assignment") for n in (1, 2)]
    assert all(run.outcome for run in theatre.runs())
    assert {run["outcome"] for run in theatre.cli("runs", "--limit", "100").result if not run["task"]} <= {
        "passed",
        "stopped",
    }
