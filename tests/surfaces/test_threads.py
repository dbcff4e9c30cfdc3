"""One `Workspace` of a Python program, used by many of its threads at once."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from moot import MootError, Unavailable, Usage, Workspace
from moot.api import pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.surfaces.command import Command

THREADS = 32
PATIENCE = 120.0


def together(work: Callable[[int], None], threads: int = THREADS) -> list[BaseException]:
    """Run it in so many threads at once; what went wrong."""
    failures: list[BaseException] = []
    start = threading.Barrier(threads)

    def run(number: int) -> None:
        try:
            start.wait(PATIENCE)
            work(number)
        except BaseException as error:
            failures.append(error)

    running = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(PATIENCE)
    assert not [thread for thread in running if thread.is_alive()]
    return failures


@pytest.mark.timeout(300)
def test_threads_share_a_workspace_and_none_gets_what_is_anothers(ada: Workspace, bob: Workspace) -> None:
    def work(number: int) -> None:
        name = f"nothing-{number:02}"
        made = ada.decide(f"Decision {number:02}", affects=name)
        assert made.decision.title == f"Decision {number:02}"
        assert [name in warning.message for warning in ada.warnings] == [True], "warnings of another thread"
        sent = ada.send("Bob", f"text {number:02}", key=f"key {number}")
        assert ada.warnings == ()
        assert ada.send("Bob", f"text {number:02}", key=f"key {number}").id == sent.id
        claim = ada.claim(f"file-{number:02}.py")
        assert claim.paths == (f"file-{number:02}.py",)
        ada.release(claim.id)
        assert ada.task_claim(ada.task_add(f"Task {number:02}").id).title == f"Task {number:02}"
        assert [event.type for event in ada.log(limit=1)]
        assert next(iter(ada.follow(after=sent.position - 1, timeout=60))).data["text"] == f"text {number:02}"

    assert together(work) == []
    assert Counter(letter.text for letter in bob.inbox(limit=100).new) == {f"text {n:02}": 1 for n in range(THREADS)}
    assert {event.by for event in ada.log(type="task:*", limit=200)} == {"Ada#1"}
    assert ada.claims() == []
    ada.verify()


def test_a_thread_that_joins_changes_who_the_workspace_is_and_a_refused_one_does_not(run: Command) -> None:
    with Workspace(run.repo) as ws:
        failures = together(lambda _: ws.join("Eve"), 4)
        assert ws.agent == "Eve"
        assert all(isinstance(failure, MootError) for failure in failures)
        assert ws.send("Ada", "It is me.").to == ("Ada",)


@pytest.mark.timeout(120)
def test_closing_a_workspace_while_threads_use_it_ends_them_with_the_reason(run: Command) -> None:
    ws, sent = Workspace(run.repo, agent="Ada"), []

    def work(number: int) -> None:
        while number or len(sent) < 20:
            sent.append(ws.send("Bob", "hello").id)
        ws.close()

    failures = together(work, 8)
    assert {failure.code for failure in failures if isinstance(failure, Usage)} == {"workspace_closed"}
    assert len(failures) == 7
    with Workspace(run.repo, agent="Bob") as bob:
        assert {letter.id for letter in bob.inbox(limit=1000).new} >= set(sent), "what was acknowledged is there"


def holding(ws: Workspace, kind: str) -> Iterator[object]:
    return iter(ws.follow(after=0)) if kind == "follow" else iter(ws.export())


@pytest.mark.parametrize("kind", ["follow", "export"])
def test_iterators_hold_a_handle_until_they_end_and_too_many_are_refused(
    ada: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(pool, "PATIENCE", 0.01)
    ada._workspace.pool._limit = 4
    ada.send("Bob", "hello")
    held = []
    for _ in range(4):
        held.append(holding(ada, kind))
        next(held[-1])
    with pytest.raises(Unavailable) as caught:
        ada.agents()
    assert caught.value.code == "too_many_calls"
    held.pop()  # dropped
    gc.collect()
    assert ada.agents()
    del held
    gc.collect()
    assert len(ada._workspace.pool._idle) == 4
    assert not ada._workspace.pool._borrowed
