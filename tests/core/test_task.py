"""Tasks, under both lifecycles: only the edges, one holder, a reviewer who is not the author, an end to attempts."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from moot.core.deciders.task import KIND, decide, evolve, may_review
from moot.core.errors import Held, MootError, Refused, Unknown
from moot.core.kind import Meta
from moot.core.lifecycle import CORE, Edge, Lifecycle, State
from moot.core.principal import Actor
from moot.core.task import (
    EVENTS,
    PRIORITIES,
    TYPES,
    Added,
    AddTask,
    Blocked,
    BlockTask,
    Described,
    DescribeTask,
    Flagged,
    FlagTask,
    LapseTask,
    Moved,
    MoveTask,
    Readied,
    ReadyTask,
    Step,
    Task,
    UnflagTask,
)
from tests.core.lifecycles import LIFECYCLES, ORCHESTRATOR, PHASES, ROWS

AT = "2030-01-01T00:00:00.000Z"
NEW = Task(id="task-1")

YEATS, YEATS_2, KEATS = Actor("Yeats#1"), Actor("Yeats#2"), Actor("Keats#1")
LEAD, DEV = Actor("Lead#1", roles=("team-lead",)), Actor("Dev#1", roles=("developer",))
ALONE = Actor("Alone#1", roles=("developer", "team-lead"))
POSER = Actor("Poser#1", roles=("person", "creator", "reviewer", "holder", "anyone"))
ANNA, FILE = Actor("person:anna"), Actor("role:developer", roles=("developer",))
ACTORS = (YEATS, YEATS_2, KEATS, LEAD, DEV, ALONE, POSER, ANNA, FILE)

ADD = AddTask(title="Write the parser", creator="Keats#1", ttl=60.0)
SILENT = LapseTask(silent_for=61.0, ttl=60.0, reason="Yeats was silent for 61 s")


def move(verb, actor=YEATS, **fields):
    return MoveTask(verb=verb, actor=actor, **fields)


class History:
    """A task and what happened to it, one position per event. `by` is Yeats unless a move says otherwise."""

    def __init__(self, life=CORE, **fields):
        self.life, self.task, self.log = life, NEW, []
        self.does(ADD.replace(**fields))

    def does(self, *commands):
        for command in commands:
            by = command.actor.principal if isinstance(command, MoveTask) else "Yeats#1"
            for payload in decide(self.task, command, self.life):
                self.log.append((payload.type, json.dumps(payload.plain()), by))
                self.task = evolve(self.task, payload, Meta(position=len(self.log), at=AT, by=by))
        return self

    def refuses(self, command):
        before = self.task
        with pytest.raises(MootError) as caught:
            decide(self.task, command, self.life)
        assert self.task is before
        assert caught.value.remedy
        return caught.value


def in_review(**fields):
    return History(**fields).does(move("claim"), move("submit"))


def assigned():
    return History(ORCHESTRATOR).does(move("claim", LEAD))


def reported():
    return assigned().does(move("submit", DEV, report="m-1"))


# Adding


@pytest.mark.parametrize("life", LIFECYCLES, ids=lambda life: life.name)
def test_a_new_task_is_in_the_first_state_of_its_lifecycle(life):
    task = History(life, body="all of it", priority="high", needs=("task-0",), waits=("task-0",)).task
    assert (task.state, task.phase, task.lifecycle, task.attempt) == (life.initial, "open", life.name, 1)
    assert (task.title, task.body, task.priority, task.waits) == ("Write the parser", "all of it", "high", ("task-0",))
    assert (task.creator, task.since, task.last_by) == ("Keats#1", AT, "Yeats#1")
    assert KIND.stream(task.id) == "task/task-1"


@pytest.mark.parametrize(
    ("code", "command"),
    [("no_title", ADD.replace(title=" ")), ("bad_priority", ADD.replace(priority="urgent"))],
)
def test_a_task_needs_a_title_and_a_known_priority(code, command):
    with pytest.raises(Refused) as caught:
        decide(NEW, command, CORE)
    assert caught.value.code == code


def test_an_id_is_used_once():
    error = History().refuses(ADD)
    assert (error.code, error.details["title"]) == ("task_exists", "Write the parser")


@pytest.mark.parametrize("command", [move("claim"), SILENT, BlockTask(("a",)), ReadyTask("a")])
def test_nothing_happens_to_a_task_that_is_not_there(command):
    with pytest.raises(Unknown) as caught:
        decide(NEW, command, CORE)
    assert caught.value.code == "unknown_task"


# Holding


@pytest.mark.promise(7)
def test_the_token_is_the_position_of_the_grant():
    told = History().does(move("claim"))
    assert (told.task.holder, told.task.token) == ("Yeats#1", 2)
    assert told.does(move("release")).task.plain().get("holder") is None
    told.does(move("claim", KEATS))
    assert (told.task.holder, told.task.token) == ("Keats#1", 4)


@pytest.mark.promise(7)
def test_a_task_is_held_by_one():
    error = History().does(move("claim")).refuses(move("claim", KEATS))
    assert isinstance(error, Held)
    assert (error.code, error.details["holder"], error.details["token"]) == ("task_held", "Yeats#1", 2)
    assert "Yeats" in error.message


@pytest.mark.promise(7)
@pytest.mark.parametrize("verb", ["submit", "complete", "fail", "release"])
@pytest.mark.parametrize(
    ("actor", "token"), [(KEATS, None), (KEATS, 2), (YEATS_2, None), (YEATS_2, 2), (YEATS, 1), (POSER, None)]
)
def test_a_stale_token_or_incarnation_is_refused_with_the_holder_s_name(verb, actor, token):
    told = History(review=False).does(move("claim"))
    error = told.refuses(move(verb, actor, token=token, reason="because"))
    assert isinstance(error, Held)
    assert (error.code, error.details) == ("not_holder", {"task": "task-1", "holder": "Yeats#1", "token": 2})


def test_the_refusal_says_whether_the_token_the_incarnation_or_the_agent_is_another():
    told = History().does(move("claim"))
    for actor, token, word in (
        (YEATS, 1, "the token 1"),
        (YEATS_2, None, "incarnation"),
        (KEATS, None, "Yeats holds it"),
    ):
        assert word in told.refuses(move("submit", actor, token=token)).message


@pytest.mark.promise(7)
@pytest.mark.parametrize("token", [None, 2])
def test_the_holder_needs_no_token_but_a_shown_one_must_be_right(token):
    assert History().does(move("claim"), move("submit", token=token)).task.state == "review"


@pytest.mark.promise(7)
def test_a_token_of_an_earlier_grant_is_stale_even_for_the_same_holder():
    told = History().does(move("claim"), move("release"), move("claim"))
    assert told.refuses(move("submit", token=2)).details["token"] == 4
    assert told.does(move("submit", token=4)).task.state == "review"


def test_a_person_can_give_back_what_an_agent_holds():
    told = History().does(move("claim"), move("release", ANNA))
    assert (told.task.state, told.task.holder) == ("open", None)


def test_the_holder_is_told_that_it_holds_the_task_already():
    error = History().does(move("claim")).refuses(move("claim"))
    assert "held by you" in error.message


# Reviewing


@pytest.mark.promise(11)
@pytest.mark.parametrize("verb", ["approve", "reject"])
@pytest.mark.parametrize(
    "author",
    [YEATS, ANNA, ALONE, POSER, Actor("Yeats#1", roles=("reviewer",))],
    ids=lambda a: f"{a.principal} {' '.join(a.roles)}",
)
def test_nobody_judges_what_they_submitted_themselves(verb, author):
    told = History().does(move("claim", author), move("submit", author))
    error = told.refuses(move(verb, author, reason="looks good to me"))
    assert (error.code, error.details["author"]) == ("own_work", author.principal)


@pytest.mark.promise(11)
@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_new_incarnation_is_still_the_author(verb):
    assert in_review().refuses(move(verb, YEATS_2, reason="x")).code == "own_work"
    assert in_review().refuses(move(verb, Actor("YEATS#9"), reason="x")).code == "own_work"


@pytest.mark.promise(11)
@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_whoever_has_both_roles_of_the_orchestrator_does_not_judge_its_own_report(verb):
    told = History(ORCHESTRATOR).does(move("claim", LEAD), move("submit", ALONE, report="m-1"))
    assert told.refuses(move(verb, ALONE, reason="fine")).code == "own_work"
    assert told.does(move(verb, LEAD, reason="fine")).task.phase in ("done", "stopped")


def test_another_agent_or_a_person_approves():
    for actor, role in ((KEATS, "reviewer"), (ANNA, "person")):
        told = in_review().does(move("approve", actor))
        assert told.task.state == "done"
        assert json.loads(told.log[-1][1])["role"] == role


def test_a_rejected_task_is_open_again_with_the_reason_and_without_an_author():
    task = in_review().does(move("reject", KEATS, reason=" No tests. ")).task
    assert (task.state, task.attempt, task.author, task.holder) == ("open", 2, None, None)
    assert task.setbacks == (Step(verb="reject", target="open", attempt=1, by="Keats#1", at=AT, reason="No tests."),)


def test_a_task_that_wants_review_is_not_completed_by_its_holder():
    assert History().does(move("claim")).refuses(move("complete")).code == "needs_review"
    assert History(review=False).does(move("claim"), move("complete")).task.state == "done"


def test_a_verdict_is_about_the_report_that_was_read():
    error = reported().refuses(move("approve", LEAD, judged="m-0"))
    assert (error.code, error.details["report"]) == ("report_outdated", "m-1")
    assert reported().does(move("approve", LEAD, judged="m-1")).task.state == "completed"


# The orchestrator


def test_a_task_of_the_orchestrator_goes_into_review_by_its_report_alone():
    assert assigned().refuses(move("submit", DEV)).code == "report_missing"
    task = reported().task
    assert (task.state, task.report, task.author) == ("awaiting_review", "m-1", "Dev#1")


@pytest.mark.parametrize(
    ("told", "command"),
    [
        (lambda: History(ORCHESTRATOR), move("claim", DEV)),
        (lambda: History(ORCHESTRATOR), move("claim", POSER)),
        (assigned, move("submit", LEAD, report="m-1")),
        (assigned, move("submit", ANNA, report="m-1")),
        (reported, move("approve", YEATS)),
        (reported, move("approve", POSER)),
    ],
)
def test_an_edge_is_for_its_role(told, command):
    error = told().refuses(command)
    assert error.code == "wrong_role"
    assert error.details["roles"] == list(command.actor.roles)


def test_a_role_by_the_name_of_a_relation_gives_no_rights():
    assert History().refuses(move("cancel", POSER, reason="because")).code == "wrong_role"
    assert History().does(move("cancel", KEATS, reason="mine")).task.state == "cancelled"


def test_a_new_attempt_has_no_report_and_no_author():
    task = reported().does(move("reject", LEAD, reason="fails"), move("reopen", LEAD)).task
    assert (task.state, task.attempt, task.report, task.author) == ("pending", 2, None, None)


def test_a_pack_keeps_fields_on_a_task():
    told = assigned().does(DescribeTask({"platform": "ios"}))
    assert decide(told.task, DescribeTask({"platform": "ios"}), ORCHESTRATOR) == []
    assert decide(told.task, DescribeTask({"platform": "ios", "n": 1}), ORCHESTRATOR) == [Described(extra={"n": 1})]
    assert told.does(DescribeTask({"n": 1})).task.extra == {"platform": "ios", "n": 1}


# Moves that are none


@pytest.mark.parametrize("life", LIFECYCLES, ids=lambda life: life.name)
def test_every_pair_of_state_and_verb_without_an_edge_is_refused_with_the_ways_out(life):
    for state, phase in PHASES[life.name].items():
        there = Task(id="t", state=state, phase=phase, title="x", last_by="Ada#1")
        for verb in TYPES:
            if (verb, state) in {(row.verb, row.source) for row in ROWS[life.name]}:
                continue
            with pytest.raises(Refused) as caught:
                decide(there, move(verb, ANNA, reason="x", report="m-1"), life)
            assert caught.value.code == "no_such_move"
            assert "Ada" in caught.value.message
            assert caught.value.details["state"] == state
            assert set(caught.value.details["to"]) == {r.target for r in ROWS[life.name] if r.source == state}


@pytest.mark.parametrize("reason", [None, "", " \n"])
@pytest.mark.parametrize(
    ("told", "command"),
    [
        (in_review, move("reject", KEATS)),
        (lambda: History().does(move("claim")), move("fail")),
        (History, move("cancel", ANNA)),
        (lambda: in_review().does(move("approve", KEATS)), move("reopen")),
        (reported, move("reject", LEAD)),
        (lambda: reported().does(move("approve", LEAD)), move("reopen", LEAD)),
    ],
)
def test_what_goes_wrong_takes_a_reason(told, command, reason):
    assert told().refuses(command.replace(reason=reason)).code == "reason_missing"


# Waiting for others


@pytest.mark.promise(9)
def test_a_blocked_task_cannot_be_claimed_until_all_it_waits_for_is_done():
    told = History(needs=("a", "b"), waits=("a", "b"))
    error = told.refuses(move("claim"))
    assert (error.code, error.details["waits"]) == ("task_blocked", ["a", "b"])
    told.does(ReadyTask("a"))
    assert told.refuses(move("claim")).details["waits"] == ["b"]
    assert decide(told.task, ReadyTask("a"), CORE) == []
    assert decide(told.task, ReadyTask("b"), CORE) == [Readied(done="b")]
    assert told.does(ReadyTask("b"), move("claim")).task.state == "working"


def test_what_blocks_a_task_is_named_once_and_becomes_a_need():
    assert decide(History(waits=("a",), needs=("a",)).task, BlockTask(("a", "b", "b")), CORE) == [Blocked(on=("b",))]
    task = History(waits=("a",), needs=("a",)).does(BlockTask(("b", "a"))).task
    assert (task.waits, task.needs) == (("a", "b"), ("a", "b"))


@pytest.mark.promise(9)
def test_whoever_works_on_a_task_that_is_blocked_goes_on_but_given_back_it_waits():
    told = History().does(move("claim"), BlockTask(("a",)))
    assert told.does(move("submit")).task.state == "review"
    told.does(move("reject", KEATS, reason="later"))
    assert told.refuses(move("claim")).code == "task_blocked"
    assert told.does(ReadyTask("a"), move("claim")).task.holder == "Yeats#1"


@pytest.mark.promise(9)
def test_an_ended_task_remembers_what_it_would_have_to_wait_for():
    told = in_review().does(move("approve", KEATS), BlockTask(("a",)))
    assert told.task.state == "done"
    assert told.does(move("reopen", reason="broken")).refuses(move("claim")).code == "task_blocked"


# Silence


@pytest.mark.promise(8)
def test_silence_gives_a_task_of_the_core_back_as_a_new_attempt_and_says_for_how_long():
    told = History().does(move("claim"), SILENT)
    kind, data, _ = told.log[-1]
    assert kind == "task:lapsed"
    assert json.loads(data).items() >= {"silent_for": 61.0, "ttl": 60.0, "reason": SILENT.reason}.items()
    assert (told.task.state, told.task.holder, told.task.attempt) == ("open", None, 2)


@pytest.mark.promise(8)
def test_silence_flags_a_task_of_a_lifecycle_that_flags_once_and_takes_it_from_nobody():
    flagging = ORCHESTRATOR.replace(silence="flag")
    told = assigned()
    assert decide(told.task, SILENT, flagging) == [Flagged(SILENT.reason, SILENT.silent_for, SILENT.ttl)]
    told.life = flagging
    told.does(SILENT)
    assert (told.task.state, told.task.holder, told.task.flagged) == ("in_progress", "Lead#1", SILENT.reason)
    assert decide(told.task, SILENT, flagging) == []
    assert told.does(move("submit", DEV, report="m-1")).task.flagged is None


@pytest.mark.promise(8)
def test_silence_of_the_holder_means_nothing_where_a_pack_has_limits_of_its_own():
    told = assigned()
    assert decide(told.task, SILENT, ORCHESTRATOR) == []


def test_a_pack_flags_a_task_once_until_it_takes_the_flag_away():
    told = assigned()
    since = told.task.active_at
    told.does(FlagTask(reason="stuck", silent_for=60.0, ttl=30.0))
    assert (told.task.flagged, told.task.state, told.task.holder) == ("stuck", "in_progress", "Lead#1")
    assert decide(told.task, FlagTask(reason="again"), ORCHESTRATOR) == []
    told.does(UnflagTask(reason="alive"))
    assert told.task.flagged is None
    assert decide(told.task, UnflagTask(reason="alive"), ORCHESTRATOR) == []
    assert told.task.active_at == since  # a flag is not activity


def test_moot_takes_only_the_edges_that_say_so():
    moot = Actor(principal="moot")
    told = History(ORCHESTRATOR)
    assert told.does(MoveTask(verb="claim", actor=moot)).task.state == "in_progress"
    assert told.refuses(MoveTask(verb="reject", actor=moot, reason="timed out")).code == "wrong_role"
    told.does(move("reject", LEAD, reason="timed out"))
    assert told.refuses(MoveTask(verb="reopen", actor=moot)).code == "wrong_role"
    assert reported().refuses(MoveTask(verb="approve", actor=moot)).code == "wrong_role"
    assert reported().refuses(MoveTask(verb="reject", actor=moot, reason="late")).code == "wrong_role"


@pytest.mark.promise(8)
def test_a_task_that_nobody_holds_does_not_lapse():
    for told in (History(), in_review(), History(ORCHESTRATOR), reported()):
        assert decide(told.task, SILENT, told.life) == []


@pytest.mark.promise(8)
def test_whoever_takes_its_leave_has_used_up_no_attempt():
    told = History()
    for _ in range(5):
        told.does(move("claim"), SILENT.replace(failed=False))
    assert (told.task.state, told.task.attempt, told.task.holder) == ("open", 1, None)


def test_the_silent_one_finds_its_token_stale():
    told = History().does(move("claim"), SILENT, move("claim", KEATS))
    assert told.refuses(move("submit", YEATS, token=2)).details["holder"] == "Keats#1"


@pytest.mark.promise(7)
@pytest.mark.parametrize(("first", "second"), [("approve", "reject"), ("reject", "approve"), ("approve", "approve")])
def test_a_verdict_that_comes_too_late_names_the_first_one_and_who_gave_it(first, second):
    told = in_review().does(move(first, KEATS, reason="x"))
    error = told.refuses(move(second, ANNA, reason="y"))
    assert isinstance(error, Held)
    assert (error.code, error.details["by"], error.details["verdict"]) == ("already_decided", "Keats#1", first)
    assert f"Keats decided first, with `{first}`" in error.message
    assert told.refuses(move(second, KEATS, reason="y")).code == "no_such_move", "Keats was not late"


def test_a_late_verdict_is_still_late_while_the_next_attempt_is_worked_on():
    told = in_review().does(move("reject", KEATS, reason="x"), move("claim"))
    assert told.refuses(move("approve", ANNA)).code == "already_decided"
    told.does(move("submit"), move("approve", ANNA))
    assert told.refuses(move("approve", KEATS)).details["by"] == ANNA.principal


def test_only_a_reason_that_sends_a_task_back_or_stops_it_is_a_setback():
    told = in_review().does(move("approve", KEATS, reason="Well done."))
    assert told.task.setbacks == ()
    told.does(
        move("reopen", reason="It broke."), move("claim", reason="I know how."), move("release", reason="No time.")
    )
    told.does(move("claim"), move("fail", reason="Cannot."), move("reopen", reason="Now it can."))
    told.does(move("cancel", ANNA, reason="Obsolete."))
    said = [step.reason for step in told.task.setbacks]
    assert said == ["It broke.", "No time.", "Cannot.", "Now it can.", "Obsolete."]


# The end of attempts


@pytest.mark.promise(8)
def test_past_the_limit_a_silent_task_is_dead_lettered_with_the_reason():
    told = History()
    for attempt in (1, 2, 3):
        assert told.task.attempt == attempt
        told.does(move("claim"), SILENT)
    assert (told.task.state, told.task.phase, told.task.attempt) == ("dead", "stopped", 3)
    assert [step.target for step in told.task.setbacks] == ["open", "open", "dead"]
    assert told.task.setbacks[-1].reason == SILENT.reason


@pytest.mark.promise(8)
def test_past_the_limit_a_rejected_task_is_dead_lettered_with_the_reason():
    told = History()
    for reason in ("one", "two", "three"):
        told.does(move("claim"), move("submit"), move("reject", KEATS, reason=reason))
    assert told.task.state == "dead"
    assert told.task.setbacks[-1] == Step("reject", "dead", attempt=3, by="Keats#1", at=AT, reason="three")


def test_a_dead_task_is_opened_again_by_a_person_who_says_so_and_by_nobody_else():
    told = History()
    for _ in range(3):
        told.does(move("claim"), SILENT)
    for command in (move("reopen"), move("reopen", ANNA), move("reopen", override=True)):
        error = told.refuses(command.replace(reason="once more"))
        assert (error.code, error.details["limit"]) == ("attempts_exhausted", 3)
    task = told.does(move("reopen", ANNA, reason="once more", override=True)).task
    assert (task.state, task.attempt) == ("open", 4)


@pytest.mark.promise(8)
def test_whoever_leaves_in_an_attempt_beyond_the_limit_gives_the_task_back_alive():
    told = History()
    for _ in range(3):
        told.does(move("claim"), SILENT)
    told.does(move("reopen", ANNA, reason="once more", override=True), move("claim"), SILENT.replace(failed=False))
    assert (told.task.state, told.task.attempt) == ("open", 4)
    assert told.does(move("claim"), SILENT).task.state == "dead"


def test_past_the_limit_the_orchestrator_refuses_the_way_back_until_a_person_overrides():
    told = History(ORCHESTRATOR)
    for attempt in (1, 2, 3):
        told.does(move("claim", LEAD), move("submit", DEV, report="m"), move("reject", LEAD, reason="no"))
        if attempt < 3:
            told.does(move("reopen", LEAD))
    assert told.refuses(move("reopen", LEAD)).code == "attempts_exhausted"
    assert told.does(move("reopen", ANNA, override=True)).task.attempt == 4


# The state


def test_a_task_survives_being_written_down():
    told = in_review(extra={"platform": "ios", "list": [1, {"a": [2]}]}, needs=("a",), body="b")
    told.does(move("reject", KEATS, reason="no"), move("claim"), move("fail", reason="cannot"))
    assert len(told.task.setbacks) == 2
    assert Task.of(json.loads(json.dumps(told.task.plain()))) == told.task


def test_every_event_has_a_type_of_its_own():
    assert {kind for kind, payload in EVENTS.items() if payload is Moved} == {*TYPES.values(), "task:moved"}
    assert Moved(verb="claim", source="open", target="working", phase="working", attempt=1).type == "task:started"
    assert EVENTS["task:added"] is Added


# Verbs and holders of a pack's own

OWNED = Lifecycle(
    name="owned",
    states=(State("new", "open"), State("with", "working"), State("tested", "working"), State("good", "done")),
    edges=(
        Edge("assign", "new", "with", holds="owner"),
        Edge("test", "with", "tested", holds="keep"),
        Edge("pass", "tested", "good", ("holder",)),
        Edge("fault", "good", "with", holds="owner"),
        Edge("take", "with", "with", holds="actor"),
    ),
)


def test_a_verb_that_only_a_pack_knows_moves_the_task():
    history = History(OWNED).does(move("assign", KEATS, owner="Yeats#1"), move("test", KEATS))
    assert [kind for kind, _, _ in history.log] == ["task:added", "task:moved", "task:moved"]
    assert json.loads(history.log[-1][1])["verb"] == "test"
    assert history.task.state == "tested"


def test_the_owner_is_the_agent_named_or_the_one_who_handed_it_in():
    history = History(OWNED)
    assert history.refuses(move("assign", KEATS)).code == "owner_missing"
    assert "moot task move task-1 assign --owner NAME" in history.refuses(move("assign", KEATS)).remedy
    history.does(move("assign", KEATS, owner="Yeats#1"))
    assert (history.task.holder, history.task.token) == ("Yeats#1", 2)
    history.does(move("test", KEATS), move("pass", YEATS))
    assert (history.task.holder, history.task.author) == (None, "Yeats#1")
    history.does(move("fault", KEATS))
    assert (history.task.holder, history.task.token) == ("Yeats#1", 5)
    assert history.refuses(move("test", KEATS, owner="Keats#1")).code == "no_owner"


def test_who_keeps_a_task_keeps_the_token_and_who_takes_it_gets_a_new_one():
    history = History(OWNED).does(move("assign", KEATS, owner="Yeats#1"), move("take", KEATS), move("test", YEATS))
    assert (history.task.holder, history.task.token) == ("Keats#1", 3)
    assert history.refuses(move("pass", YEATS)).code == "not_holder"


EDITED = Lifecycle(
    name="edited",
    states=(State("idea", "open"), State("draft", "working"), State("editing", "review"), State("out", "done"),
            State("spiked", "stopped")),
    edges=(
        Edge("claim", "idea", "draft", holds="actor"),
        Edge("hand-in", "draft", "editing", ("holder",)),
        Edge("annotate", "editing", "editing"),
        Edge("release-it", "editing", "out", ("desk", "creator", "anyone")),
        Edge("send-back", "editing", "draft", ("reviewer",), holds="owner"),
        Edge("spike", "editing", "spiked", ("reviewer", "creator")),
    ),
)  # fmt: skip


def in_editing(**fields):
    return History(EDITED, **fields).does(move("claim"), move("hand-in"))


@pytest.mark.parametrize("actor", [YEATS, YEATS_2, Actor("Yeats#1", roles=("desk",))])
@pytest.mark.parametrize("creator", ["Keats#1", "Yeats#1"])
def test_the_author_ends_no_review_whatever_the_verb_is_called(actor, creator):
    history = in_editing(creator=creator)
    assert history.refuses(move("release-it", actor)).code == "own_work"
    assert history.refuses(move("send-back", actor)).code == "own_work"
    assert history.does(move("release-it", KEATS)).task.state == "out"


def test_the_author_may_stop_what_is_in_review_as_its_creator_but_not_as_its_reviewer():
    assert in_editing().refuses(move("spike")).code == "own_work"
    assert in_editing(creator="Yeats#1").does(move("spike")).task.state == "spiked"


@pytest.mark.promise(11)
def test_those_who_may_give_a_verdict_may_review_and_nobody_else():
    def reviewers(history):
        return [actor for actor in ACTORS if may_review(history.life, history.task, actor)]

    core = History().does(move("claim"))
    assert reviewers(core) == []
    assert reviewers(core.does(move("submit"))) == [actor for actor in ACTORS if actor not in (YEATS, YEATS_2)]
    assert reviewers(in_editing()) == [actor for actor in ACTORS if actor not in (YEATS, YEATS_2)]
    reported = History(ORCHESTRATOR).does(move("claim", LEAD), move("submit", DEV, report="m-1"))
    assert reviewers(reported) == [LEAD, ALONE, ANNA]


def test_a_move_inside_of_review_does_not_change_the_author():
    history = in_editing().does(move("annotate", KEATS))
    assert history.task.author == "Yeats#1"
    assert history.refuses(move("release-it", YEATS)).code == "own_work"
    assert history.does(move("release-it", KEATS)).task.state == "out"


def test_a_task_that_waits_is_given_to_nobody():
    history = History(OWNED, waits=("task-0",))
    assert history.refuses(move("assign", KEATS, owner="Yeats#1")).code == "task_blocked"


# Any sequence of commands, against the rows of `lifecycles.py`

reasons = st.sampled_from([None, None, " ", "because"])


class Tasks(RuleBasedStateMachine):
    life = CORE

    def __init__(self):
        super().__init__()
        self.task, self.log, self.overrides = NEW, [], 0
        self.phases = PHASES[self.life.name]
        self.rows = {(row.verb, row.source): row for row in ROWS[self.life.name]}
        self.start = next(iter(self.phases))

    @initialize(review=st.booleans(), waits=st.sampled_from([(), (), ("a",), ("a", "b")]))
    def add(self, review, waits):
        assert len(self.run(ADD.replace(review=review, waits=waits, needs=waits), "Keats#1")) == 1
        self.review, self.waits = review, set(waits)
        self.state, self.attempt, self.holder, self.token, self.author = self.start, 1, None, 0, None
        self.report, self.flagged, self.judge = None, False, None

    def run(self, command, by):
        """Decide and fold; the payloads, or the error, which must have changed nothing."""
        before = json.dumps(self.task.plain())
        try:
            decided = decide(self.task, command, self.life)
        except MootError as error:
            assert json.dumps(self.task.plain()) == before
            return error
        assert json.dumps(self.task.plain()) == before
        for payload in decided:
            self.log.append((payload.type, json.dumps(payload.plain()), by))
            self.task = evolve(self.task, payload, Meta(position=len(self.log), at=AT, by=by))
        return decided

    def refusal(self, row, command):
        """The codes that may answer this move, in any order of looking; empty if it is allowed."""
        actor, who, needs = command.actor, row.who.split(), row.needs.split()
        codes = set()
        same = self.author is not None and self.author.split("#")[0] == actor.principal.split("#")[0]
        if row.verb in ("approve", "reject") and same:
            codes.add("own_work")
        holds = actor.principal == self.holder and command.token in (None, self.token)
        person = "person" in who and actor.principal.startswith("person:")
        allowed = person or "anyone" in who or bool({"team-lead", "developer"} & set(actor.roles) & set(who))
        allowed = allowed or ("creator" in who and actor.principal.split("#")[0] == "Keats") or "reviewer" in who
        if "holder" in who and not holds and not person:
            codes.add("not_holder")
        elif "holder" not in who and not allowed:
            codes.add("wrong_role")
        if "reason" in needs and not (command.reason or "").strip():
            codes.add("reason_missing")
        if "report" in needs and command.report is None:
            codes.add("report_missing")
        if command.judged is not None and command.judged != self.report:
            codes.add("report_outdated")
        if "unreviewed" in needs and self.review:
            codes.add("needs_review")
        if row.verb == "claim" and self.waits:
            codes.add("task_blocked")
        overridden = command.override and actor.principal.startswith("person:")
        stuck = row.verb == "reopen" or "dead" not in self.phases
        if row.attempt and self.attempt == 3 + self.overrides and not overridden and stuck:
            codes.add("attempts_exhausted")
        return codes

    @rule(
        verb=st.sampled_from(sorted(TYPES)),
        actor=st.sampled_from(ACTORS),
        fields=st.fixed_dictionaries(
            {
                "reason": reasons,
                "token": st.sampled_from(["none", "none", "current", "stale"]),
                "report": st.sampled_from([None, "m-1", "m-2"]),
                "judged": st.sampled_from([None, None, "m-1", "m-2"]),
                "override": st.booleans(),
            }
        ),
    )
    def move(self, verb, actor, fields):
        token = {"none": None, "current": self.token, "stale": self.token - 1}[fields.pop("token")]
        self._move(MoveTask(verb=verb, actor=actor, token=token, **fields))

    @rule(data=st.data())
    def move_along(self, data):
        """Something that could well succeed, so that histories get long."""
        row = data.draw(st.sampled_from([row for row in self.rows.values() if row.source == self.state]))
        able = [a for a in ACTORS if not self.refusal(row, MoveTask(row.verb, a, reason="x", report="m"))]
        actor = data.draw(st.sampled_from([*able, ANNA]))
        self._move(MoveTask(verb=row.verb, actor=actor, reason="because", report="m-1", override=actor is ANNA))

    def _move(self, command):
        said, row = self.run(command, command.actor.principal), self.rows.get((command.verb, self.state))
        if row is None:
            held = command.verb == "claim" and self.holder is not None
            decided = command.verb in ("approve", "reject") and self.judge not in (None, command.actor.name.lower())
            assert said.code == ("task_held" if held else "already_decided" if decided else "no_such_move")
            return
        if codes := self.refusal(row, command):
            assert said.code in codes
            if said.code == "not_holder":
                assert said.details["holder"] == self.holder
                assert self.holder.split("#")[0] in said.message
            return
        (moved,) = said
        assert (moved.source, moved.type) == (self.state, TYPES[command.verb])
        self._took(row.target, row.attempt, command)

    def _took(self, target, more, command=None):
        limit = 3 + self.overrides
        if more and self.attempt + more > limit:
            if command is not None and command.override and command.actor is ANNA:
                self.overrides += 1
            else:
                target, more = "dead", 0
        if self.phases[target] == "review":
            self.judge = None
        elif self.phases[self.state] == "review":
            self.judge = command.actor.name.lower()
        self.state, self.attempt = target, self.attempt + more
        takes = command is not None and command.verb == "claim"
        self.holder = command.actor.principal if takes else None
        self.token = len(self.log) if takes else self.token
        if self.phases[target] == "review":
            self.author = command.actor.principal
        elif more and self.phases[target] == "open":
            self.author = None
        given = command.report if command is not None else None
        self.report = given or (None if more else self.report)
        self.flagged = False

    @rule(seconds=st.floats(0, 1e6), failed=st.sampled_from([True, True, False]))
    def silence(self, seconds, failed):
        said = self.run(LapseTask(silent_for=seconds, ttl=60.0, reason="silent", failed=failed), "moot")
        if self.holder is None or self.life.silence == "ignore":
            assert said == []
        elif self.life.silence == "flag":
            assert [type(p) for p in said] == ([] if self.flagged else [Flagged])
            self.flagged = True
        else:
            assert [p.type for p in said] == ["task:lapsed"]
            self._took(self.start, int(failed))

    @rule(on=st.lists(st.sampled_from("abc"), max_size=2))
    def block(self, on):
        said = self.run(BlockTask(tuple(on)), "moot")
        new = set(on) - self.waits
        assert {name for payload in said for name in payload.on} == new
        self.waits |= new

    @rule(done=st.sampled_from("abc"))
    def ready(self, done):
        assert bool(self.run(ReadyTask(done), "moot")) is (done in self.waits)
        self.waits.discard(done)

    @rule(extra=st.dictionaries(st.sampled_from("xy"), st.lists(st.integers(), max_size=2), max_size=2))
    def describe(self, extra):
        self.run(DescribeTask(extra), "Lead#1")
        assert self.task.extra.items() >= extra.items()

    @rule()
    def add_again(self):
        assert self.run(ADD, "Keats#1").code == "task_exists"

    @invariant()
    def the_task_is_what_the_model_says(self):
        if not self.log:
            return
        task = self.task
        assert (task.state, task.phase, task.attempt) == (self.state, self.phases[self.state], self.attempt)
        assert (task.holder, task.token, task.author) == (self.holder, self.token, self.author)
        assert (task.report, set(task.waits)) == (self.report, self.waits)
        assert (task.flagged is not None) is self.flagged

    @invariant()
    def what_always_holds(self):
        task = self.task
        assert (task.holder is not None) is (task.phase == "working")
        assert task.attempt <= 3 + self.overrides
        assert task.phase != "review" or task.author is not None
        assert task.state != "dead" or task.setbacks[-1].reason
        assert len(set(task.waits)) == len(task.waits)
        assert Task.of(json.loads(json.dumps(task.plain()))) == task

    def teardown(self):
        """The log alone gives the same task, and each step of it was an edge."""
        task, edges = NEW, {(row.verb, row.source, row.target) for row in self.rows.values()}
        for position, (kind, data, by) in enumerate(self.log, start=1):
            payload = EVENTS[kind].of(json.loads(data))
            if isinstance(payload, Moved):
                assert payload.source == task.state
                ended = payload.target == "dead" and task.attempt >= 3
                lapsed = kind == "task:lapsed" and payload.target == self.start
                assert (payload.verb, payload.source, payload.target) in edges or ended or lapsed
                judged = kind in ("task:approved", "task:rejected") and task.author is not None
                assert not judged or by.split("#")[0] != task.author.split("#")[0]
            task = evolve(task, payload, Meta(position=position, at=AT, by=by))
        assert task == self.task
        assert not task.holder or self.log[task.token - 1][0] == "task:started"


class OrchestratorTasks(Tasks):
    life = ORCHESTRATOR


Tasks.TestCase.settings = OrchestratorTasks.TestCase.settings = settings(
    max_examples=settings.default.max_examples // 2, stateful_step_count=30
)
TestTasksOfTheCore = pytest.mark.promise(7)(pytest.mark.promise(8)(pytest.mark.promise(11)(Tasks.TestCase)))
TestTasksOfTheOrchestrator = pytest.mark.promise(7)(pytest.mark.promise(11)(OrchestratorTasks.TestCase))


def test_there_are_four_priorities():
    assert PRIORITIES == ("critical", "high", "medium", "low")


def test_the_time_of_a_change_is_later_than_every_earlier_one_even_if_the_clock_goes_back():
    task = assigned().task
    assert task.added_at < task.changed_at  # both events happened at the same moment
    for at in (task.changed_at, "2020-01-01T00:00:00.000Z", "2031-01-01T00:00:00.000Z"):
        before, task = task, evolve(task, Described(extra={"at": at}), Meta(at=at))
        assert task.changed_at > before.changed_at
        assert len(task.changed_at) == len(AT)
    assert task.changed_at == "2031-01-01T00:00:00.000Z"
    midnight = evolve(task.replace(changed_at="2031-12-31T23:59:59.999Z"), Described(extra={}), Meta(at=AT))
    assert midnight.changed_at == "2032-01-01T00:00:00.000Z"
