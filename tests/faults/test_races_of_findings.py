"""Fifty processes answer one checkpoint, or need and make the same thing, at the same moment."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.faults import replay
from tests.faults.crew import RACERS, Crew, Repo
from tests.person import ME

# In the queue in front of the log, and without it, where racers meet as conflicts and decide again.
queue_or_not = pytest.mark.parametrize("queue", [True, False], ids=["queue", "conflicts"])


@pytest.fixture(autouse=True)
def _the_log_stays_sound(repo: Repo):
    yield
    assert replay.broken_order(repo.events()) == []
    repo.verify()


@queue_or_not
def test_one_of_fifty_answers_a_checkpoint_and_the_others_hear_who(repo: Repo, crew: Crew, queue: bool) -> None:
    repo.join("Yeats")
    agent = repo.session("Yeats")
    asked = agent.run("checkpoint reach", {"question": "Which?", "option": ("blue", "red")}).result
    crew.enter(repo, join=False, queue=queue)
    verb = "checkpoint resolve"
    outcomes = crew.race_once(verb, {"id": asked.id, "answer": "blue"}, {"id": asked.id, "answer": "red"})
    (resolved,) = repo.events("checkpoint:resolved")
    (mail,) = repo.events("message:sent")
    assert mail.commit == resolved.commit
    assert mail.data["to"] == ["Yeats"]
    assert mail.data["text"].startswith(resolved.data["answer"])
    (winner,) = [outcome for outcome in outcomes if outcome.won]
    assert winner.result["answer"] == resolved.data["answer"]
    lost = [outcome for outcome in outcomes if not outcome.won]
    assert len(lost) == RACERS - 1
    for refusal in lost:
        assert (refusal.error, refusal.exit) == ("checkpoint_resolved", 3)
        assert (refusal.details["by"], refusal.details["answer"]) == (ME, resolved.data["answer"])


@queue_or_not
def test_needs_and_artifacts_of_one_moment_meet_once_each(repo: Repo, crew: Crew, queue: bool) -> None:
    """Half of them need two names, the other half each make something that provides one of them."""
    who = crew.enter(repo, queue=queue)

    def steps(number: int) -> list[tuple[str, dict[str, object]]]:
        if number % 2:
            return [("artifact need", {"names": ("A", "B")}), ("artifact need", {"names": ("A", "B")})]
        return [("artifact add", {"paths": (f"made-{number}.py",), "provides": ("AB"[number // 2 % 2],)})]

    outcomes = crew.race(steps)
    assert all(outcome.won for row in outcomes for outcome in row)
    needers = [who[number].partition("#")[0] for number in range(RACERS) if number % 2]
    met = Counter(
        (event.stream, needer) for event in repo.events("dependency:satisfied") for needer in event.data["required_by"]
    )
    assert met == Counter((f"dependency/{name}", needer) for name in "AB" for needer in needers)
    told = Counter(
        (event.thread, box)
        for event in repo.events("message:sent")
        if event.data["sender"] == "moot"
        for box in event.data["to"]
    )
    assert told == met
    commits = {event.commit for event in repo.events("dependency:satisfied")}
    assert {event.commit for event in repo.events("message:sent")} == commits
    assert len(repo.events("artifact:created")) == RACERS // 2


@queue_or_not
def test_one_of_fifty_makes_the_same_file_known(repo: Repo, crew: Crew, queue: bool) -> None:
    crew.enter(repo, queue=queue)
    outcomes = crew.race_once("artifact add", {"paths": ("same.py",)})
    assert Counter(outcome.error for outcome in outcomes) == {None: 1, "artifact_exists": RACERS - 1}
    assert len(repo.events("artifact:created")) == 1
