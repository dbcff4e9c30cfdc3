"""Fifty processes want the same thing at the same moment. Who got it is read from the log, not from moot's rules."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults import replay
from tests.faults.crew import RACERS, Crew, Outcome, Repo, closed_gate
from tests.specs.orchestrator import samples

# In the queue in front of the log, and without it, where racers meet as conflicts and decide again.
queue_or_not = pytest.mark.parametrize("queue", [True, False], ids=["queue", "conflicts"])


@pytest.fixture(autouse=True)
def _the_log_stays_sound(repo: Repo):
    yield
    assert replay.broken_order(repo.events()) == []
    assert replay.double_holdings(repo.events()) == []
    repo.verify()


def split(outcomes: list[Outcome]) -> tuple[list[int], list[Outcome]]:
    """The numbers of those who won, and what the others were told."""
    return [n for n, o in enumerate(outcomes) if o.won], [o for o in outcomes if not o.won]


@queue_or_not
@pytest.mark.promise(7)
def test_one_of_fifty_gets_the_task_and_the_others_hear_who(repo: Repo, crew: Crew, queue: bool) -> None:
    who = crew.enter(repo, queue=queue)
    repo.run("task add", title="Wanted by all")
    won, lost = split(crew.race_once("task claim", {"task": "task-001"}))
    (grant,) = repo.events("task:started")
    assert [who[number] for number in won] == [grant.data["holder"]]
    assert len(lost) == RACERS - 1
    for refusal in lost:
        assert (refusal.error, refusal.exit) == ("task_held", 3)
        assert (refusal.details["holder"], refusal.details["token"]) == (grant.data["holder"], grant.position)
        assert grant.data["holder"].partition("#")[0] in refusal.text


@queue_or_not
@pytest.mark.promise(7)
def test_twenty_tasks_are_granted_once_each_to_whoever_asks_for_any(repo: Repo, crew: Crew, queue: bool) -> None:
    who = crew.enter(repo, queue=queue)
    for number in range(20):
        repo.run("task add", title=f"Work {number}")
    outcomes = crew.race_once("task claim", {})
    won, lost = split(outcomes)
    told = {outcomes[number].result["id"]: who[number] for number in won}
    granted = [(event.stream.partition("/")[2], event.data["holder"]) for event in repo.events("task:started")]
    assert len(granted) == len(told) == 20
    assert dict(granted) == told
    assert {refusal.error for refusal in lost} == {"nothing_ready"}


FAMILY = ("lib{}/core/x.py", "lib{}/core/*.py", "lib{}/", "lib{}/*/x.??", "lib{}/**/[xyz].py")  # each meets each
FAMILIES = 10


@queue_or_not
@pytest.mark.promise(7)
@pytest.mark.promise(10)
def test_one_of_fifty_gets_overlapping_files_and_the_others_hear_who(repo: Repo, crew: Crew, queue: bool) -> None:
    crew.enter(repo, queue=queue)
    orders = [random.Random(number).sample(range(FAMILIES), FAMILIES) for number in range(RACERS)]

    def steps(number: int) -> list[tuple[str, dict[str, Any]]]:
        patterns = (FAMILY[(number + family) % len(FAMILY)].format(family) for family in orders[number])
        return [("claim", {"paths": [pattern]}) for pattern in patterns]

    outcomes = crew.race(steps)
    world = replay.paths_of([*(f"lib{number}" for number in range(FAMILIES)), "core", "x.py"], 3)
    assert replay.double_grants(repo.events(), world) == []
    grants = {event.data["paths"][0].partition("/")[0]: event for event in repo.events("file:claimed")}
    assert len(repo.events("file:claimed")) == len(grants) == FAMILIES
    for number, row in enumerate(outcomes):
        for family, outcome in zip(orders[number], row, strict=True):
            grant = grants[f"lib{family}"]
            if outcome.won:
                assert (outcome.result["holder"], outcome.result["token"]) == (grant.data["holder"], grant.position)
            else:
                assert (outcome.error, outcome.exit) == ("file_held", 3)
                assert [held["holder"] for held in outcome.details["held"]] == [grant.data["holder"]]
                assert grant.data["holder"] in outcome.text
    assert sum(outcome.won for row in outcomes for outcome in row) == FAMILIES


PATTERNS = ("a/x.py", "a/*.py", "a/", "b/x.py", "b/*", "**/x.py", "a/b/**", "?/y.py", "[ab]/b/*", "c/**/x.py", "c/x.py")


@queue_or_not
@pytest.mark.promise(10)
def test_claims_that_come_and_go_never_overlap_at_any_position(repo: Repo, crew: Crew, queue: bool) -> None:
    crew.enter(repo, queue=queue)

    def steps(number: int) -> list[tuple[str, dict[str, Any]]]:
        chance = random.Random(number)
        found: list[tuple[str, dict[str, Any]]] = []
        for _ in range(4):
            wanted = chance.sample(PATTERNS, chance.randint(1, 3))
            found += [("claim", {"paths": wanted, "shared": chance.random() < 0.4}), ("release", {"all": True})]
        return found

    outcomes = crew.race(steps)
    events = repo.events()
    assert replay.double_grants(events, replay.paths_of(["a", "b", "c", "x.py", "y.py"], 4)) == []
    assert replay.live_claims(events) == {}
    grants = {event.position: event for event in events if event.type == "file:claimed"}
    won = 0
    for number, row in enumerate(outcomes):
        for (verb, _), outcome in zip(steps(number), row, strict=True):
            if verb == "release":
                assert outcome.won
            elif outcome.won:
                won += 1
                assert grants[outcome.result["token"]].data["paths"] == outcome.result["paths"], "all or nothing"
            else:
                assert (outcome.error, outcome.exit) == ("file_held", 3)
                for held in outcome.details["held"]:
                    assert grants[held["token"]].data["holder"] == held["holder"]
                    assert replay.matches(held["path"], held["witness"])
                    assert replay.matches(held["asked"], held["witness"])
    assert won == len(grants) > RACERS / 10


@queue_or_not
def test_fifty_new_tasks_get_fifty_numbers_without_a_gap(repo: Repo, crew: Crew, queue: bool) -> None:
    crew.enter(repo, queue=queue)
    outcomes = crew.race_once("task add", *({"title": f"Idea {number}"} for number in range(RACERS)))
    told = [outcome.result["id"] for outcome in outcomes]
    stored = {event.stream: event.data["title"] for event in repo.events("task:added")}
    assert sorted(told) == [f"task-{number:03}" for number in range(1, RACERS + 1)]
    assert stored == {f"task/{task}": f"Idea {number}" for number, task in enumerate(told)}


@queue_or_not
def test_one_of_fifty_gets_the_id_it_chose(repo: Repo, crew: Crew, queue: bool) -> None:
    crew.enter(repo, queue=queue)
    won, lost = split(crew.race_once("task add", *({"title": f"Idea {n}", "id": "idea"} for n in range(RACERS))))
    (added,) = repo.events("task:added")
    assert [added.data["title"]] == [f"Idea {number}" for number in won]
    assert {refusal.error for refusal in lost} == {"task_exists"}
    assert all(added.data["title"] in refusal.text for refusal in lost)


@queue_or_not
@pytest.mark.promise(4)
def test_fifty_messages_to_one_mailbox_arrive_once_each(repo: Repo, crew: Crew, queue: bool) -> None:
    repo.join("Yeats")
    crew.enter(repo, queue=queue)
    outcomes = crew.race_once("send", *({"to": ["Yeats"], "text": f"Line {number}"} for number in range(RACERS)))
    stored = {event.stream.partition("/")[2]: event.data["text"] for event in repo.events("message:sent")}
    assert stored == {outcome.result["id"]: f"Line {number}" for number, outcome in enumerate(outcomes)}
    shown = repo.session("Yeats").run("inbox", {"limit": 100}).result.new
    assert [letter.id for letter in shown] == list(stored), "in the order of the log"


@queue_or_not
@pytest.mark.promise(6)
def test_the_same_key_at_the_same_moment_is_done_once(repo: Repo, crew: Crew, queue: bool) -> None:
    repo.join("Yeats")
    crew.enter(repo, join=False, queue=queue)
    outcomes = crew.race_once("send", {"to": ["Yeats"], "text": "Once", "key": "k1"})
    (sent,) = repo.events("message:sent")
    assert {(o.result["id"], o.result["position"]) for o in outcomes} == {(sent.stream[8:], sent.position)}
    assert Counter(o.result["repeated"] for o in outcomes) == {False: 1, True: RACERS - 1}

    bodies = ({"to": ["Yeats"], "text": f"Version {number % 2}", "key": "k2"} for number in range(RACERS))
    outcomes = crew.race_once("send", *bodies)
    _, sent = repo.events("message:sent")
    same, other = (outcomes[number::2] for number in ((0, 1) if sent.data["text"] == "Version 0" else (1, 0)))
    assert {outcome.result["id"] for outcome in same} == {sent.stream[8:]}
    assert {(outcome.error, outcome.details["first"]) for outcome in other} == {("key_reused", sent.position)}


@queue_or_not
@pytest.mark.promise(7)
def test_approve_races_reject_and_the_losers_hear_the_new_state_and_who_won(
    repo: Repo, crew: Crew, queue: bool
) -> None:
    who = crew.enter(repo, queue=queue)
    repo.join("Author")
    author = repo.session("Author")
    repo.run("task add", title="Judge this")
    author.run("task claim", {"task": "task-001"})
    author.run("task submit", {"task": "task-001"})

    def steps(number: int) -> list[tuple[str, dict[str, Any]]]:
        verdict = {"task": "task-001"}
        return [("task reject", {**verdict, "reason": "No test."}) if number % 2 else ("task approve", verdict)]

    won, lost = split([outcome for (outcome,) in crew.race(steps)])
    (verdict,) = repo.events("task:approved", "task:rejected")
    assert [who[number] for number in won] == [verdict.by]
    for refusal in lost:
        assert (refusal.error, refusal.exit) == ("already_decided", 3)
        assert refusal.details["state"] == verdict.data["target"]
        assert (refusal.details["by"], refusal.details["verdict"]) == (verdict.by, verdict.data["verb"])
        winner = verdict.by.partition("#")[0]
        assert f"is {verdict.data['target']}: {winner} decided first, with `{verdict.data['verb']}`" in refusal.text


@queue_or_not
@pytest.mark.promise(7)
def test_one_of_fifty_gets_the_name(repo: Repo, crew: Crew, queue: bool) -> None:
    crew.enter(repo, join=False, queue=queue)
    outcomes = crew.race(lambda _: [("join", {"name": "Yeats"}), ("task add", {"title": "By whom?"})])
    won, lost = split([first for first, _ in outcomes])
    (joined,) = repo.events("agent:joined")
    assert len(won) == 1
    for refusal in lost:
        assert (refusal.error, refusal.exit) == ("name_in_use", 3)
        assert "Yeats#1" in refusal.text
    acted = [event.by for event in repo.events("task:added")]
    assert acted.count(joined.by) == 1, "nobody acts under a name that was refused to it"


@queue_or_not
def test_fifty_who_bring_no_name_get_fifty_names(repo: Repo, crew: Crew, queue: bool) -> None:
    crew.enter(repo, join=False, queue=queue)
    outcomes = crew.race_once("join", {})
    names = [outcome.result["name"] for outcome in outcomes]
    assert len(set(names)) == RACERS
    assert sorted(event.data["name"] for event in repo.events("agent:joined")) == sorted(names)


@pytest.mark.parametrize(
    "packs",
    [
        [],
        ["orchestrator"],
    ],
    ids=["plain", "with a pack"],
)
def test_one_of_fifty_makes_the_workspace_and_all_find_it(
    repo: Repo, crew: Crew, tmp_path: Path, packs: list[str]
) -> None:
    fresh = Repo.plain(tmp_path / "fresh")
    gate = tmp_path / "gate"
    gate.touch()
    with closed_gate(gate):
        for worker in crew.workers:
            worker.tell("race_init", gate=str(gate), cwd=str(fresh.root), packs=packs)
        assert {worker.hear() for worker in crew.workers} == {"ready"}
    outcomes = [Outcome(worker.hear()[0]) for worker in crew.workers]
    assert Counter(outcome.result["new"] for outcome in outcomes) == {True: 1, False: RACERS - 1}
    crew.enter(fresh)
    assert all(outcome.won for outcome in crew.race_once("task add", {"title": "It works"}))
    fresh.verify()
    fresh.close()


@pytest.mark.promise(7)
def test_the_first_of_fifty_to_confirm_a_roles_message_takes_it(make_repo: Callable[..., Repo], crew: Crew) -> None:
    repo = make_repo(packs=("orchestrator",), name="mirrored")
    wanted = repo.run("send", type="task_assignment", data=samples.assignment())["id"]
    for number, worker in enumerate(crew.workers):
        incarnation = repo.join(f"Dev-{number}", "developer")
        worker.tell("enter", cwd=str(repo.root), agent=f"Dev-{number}", incarnation=incarnation)
    for worker in crew.workers:
        worker.hear()
    won, lost = split(crew.race_once("ack", {"ids": [wanted]}))
    (acked,) = repo.events("message:acked")
    assert [f"Dev-{number}#1" for number in won] == [acked.data["who"]]
    for refusal in lost:
        assert (refusal.error, refusal.exit) == ("message_taken", 3)
        assert acked.data["who"].partition("#")[0] in refusal.text
    repo.verify()


@pytest.mark.promise(6)
def test_a_join_without_a_name_that_is_repeated_by_its_key_is_the_same_agent(repo: Repo) -> None:
    first, second = (repo.session().run("join", {"key": "k"}).result for _ in range(2))
    assert (first.name, first.incarnation) == (second.name, second.incarnation)
    assert len(repo.events("agent:joined")) == 1
