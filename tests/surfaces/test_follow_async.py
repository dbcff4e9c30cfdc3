"""Following on asyncio: as `follow`, without holding up the loop, and with nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from moot import MootError, Workspace
from moot.core.errors import Unavailable, Unknown, Usage
from moot.logs.sqlite import bell

if TYPE_CHECKING:
    from moot.core.event import Event
    from tests.surfaces.command import Command

T = TypeVar("T")
PATIENCE = 60.0


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE):
            return await work

    return asyncio.run(bounded())


async def first(events: AsyncGenerator[Event, None], count: int) -> list[Event]:
    came = []
    async with contextlib.aclosing(events):
        async for event in events:
            came.append(event)
            if len(came) == count:
                break
    return came


async def until(condition: Callable[[], bool]) -> None:
    """Look again whenever the loop gets round; bounded by the loop's own patience."""
    while not condition():  # noqa: ASYNC110 (what it looks at belongs to threads and files)
        await asyncio.sleep(0.01)


def followers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "moot-follower"]


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def ears(repo: Path) -> list[str]:
    directory = bell.directory_for(str(repo / ".git" / "moot"))
    return os.listdir(directory) if os.path.isdir(directory) else []


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(run: Command) -> Iterator[None]:
    """Looked at before the workspaces are opened and after they were closed.

    In between SQLite keeps some files open for later: closing one would end the locks of the others.
    """
    gc.collect()
    before = open_files()
    yield
    for thread in followers():
        thread.join(PATIENCE)  # one that has said its last word may still be on its way out
    assert followers() == []
    assert ears(run.repo) == []
    gc.collect()
    assert open_files() == before


def test_events_come_once_and_in_order_while_the_loop_goes_on(ada: Workspace, bob: Workspace) -> None:
    async def story() -> tuple[list[str], int]:
        following = asyncio.create_task(first(ada.follow_async(types="message:sent"), 60))
        turns = 0
        await asyncio.sleep(0)
        for number in range(60):
            bob.send("Ada", str(number))
            await asyncio.sleep(0)
            turns += 1
        return [event.data["text"] for event in await following], turns

    assert run_in_loop(story()) == ([str(number) for number in range(60)], 60)


def test_it_starts_at_the_call_or_past_a_position(ada: Workspace, bob: Workspace) -> None:
    async def story() -> list[list[str]]:
        start = ada.log(limit=1)[0].position
        bob.task_add("before")
        from_now = ada.follow_async(types="task:*")  # the call, not the first look, says when
        bob.task_add("after")
        past = ada.follow_async(types="task:*", after=start)
        return [[e.data["title"] for e in await first(events, n)] for events, n in ((from_now, 1), (past, 2))]

    assert run_in_loop(story()) == [["after"], ["before", "after"]]


def test_it_ends_when_its_time_is_over(ada: Workspace) -> None:
    async def story() -> list[Event]:
        return [event async for event in ada.follow_async(timeout=0.05)]

    assert run_in_loop(story()) == []


def test_several_follow_in_one_loop_each_with_what_it_asked_for(ada: Workspace, bob: Workspace) -> None:
    async def story() -> list[list[str]]:
        wanted: list[dict[str, Any]] = [{"types": "task:*"}, {"streams": "message/*"}, {}]
        counts = (3, 3, 6)
        tasks = [
            asyncio.create_task(first(ada.follow_async(**want), n)) for want, n in zip(wanted, counts, strict=True)
        ]
        await asyncio.sleep(0)
        for number in range(3):
            bob.task_add(f"t{number}")
            await asyncio.to_thread(lambda: None)
            bob.send("Ada", f"m{number}")
        return [[event.type for event in await task] for task in tasks]

    assert run_in_loop(story()) == [["task:added"] * 3, ["message:sent"] * 3, ["task:added", "message:sent"] * 3]


@pytest.mark.parametrize("when", ["at once", "while it waits", "while it is behind"])
def test_many_cancelled_followers_leave_nothing_behind(ada: Workspace, bob: Workspace, run: Command, when: str) -> None:
    async def slow(events: AsyncGenerator[Event, None], started: list[int]) -> None:
        async for _ in events:
            started.append(1)
            await asyncio.sleep(3600)

    async def story() -> None:
        start = ada.log(limit=1)[0].position
        for number in range(20):
            bob.send("Ada", str(number))
        started: list[int] = []
        tasks = [
            asyncio.create_task(slow(ada.follow_async(after=None if when == "while it waits" else start), started))
            for _ in range(25)
        ]
        if when == "while it waits":
            await until(lambda: len(ears(run.repo)) == 25)
        elif when == "while it is behind":
            await until(lambda: len(started) == 25)
        else:
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)
        await until(lambda: followers() == [])

    run_in_loop(story())


def test_one_whose_task_was_cancelled_does_not_end_in_silence(ada: Workspace, bob: Workspace) -> None:
    async def story() -> str:
        events = ada.follow_async(after=ada.log(limit=1)[0].position)
        bob.send("Ada", "one")

        async def handle() -> None:
            await anext(events)
            task.cancel()
            await asyncio.sleep(3600)

        task = asyncio.create_task(handle())
        await asyncio.wait([task])
        with pytest.raises(Usage) as caught:
            await anext(events)
        return caught.value.code

    assert run_in_loop(story()) == "follower_abandoned"


def test_each_event_may_be_taken_by_a_task_of_its_own(ada: Workspace, bob: Workspace) -> None:
    async def story() -> list[str]:
        came = []
        async with contextlib.aclosing(ada.follow_async(types="message:sent")) as events:
            for number in range(5):
                bob.send("Ada", str(number))
                came.append((await asyncio.create_task(anext(events))).data["text"])
        return came

    assert run_in_loop(story()) == list("01234")


def test_a_follower_that_is_dropped_in_the_middle_ends(ada: Workspace, bob: Workspace) -> None:
    async def story() -> None:
        start = ada.log(limit=1)[0].position
        bob.send("Ada", "one")
        async for _ in ada.follow_async(after=start):
            break
        await until(lambda: followers() == [])

    run_in_loop(story())


def test_a_loop_that_was_closed_without_a_word_ends_its_followers(ada: Workspace, bob: Workspace) -> None:
    start = ada.log(limit=1)[0].position
    bob.send("Ada", "one")
    loop = asyncio.new_event_loop()
    events = ada.follow_async(after=start)
    assert loop.run_until_complete(anext(events)).data["text"] == "one"
    (thread,) = followers()
    loop.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    ada._followers.clear()


def test_closing_the_workspace_ends_its_followers_with_the_reason(run: Command) -> None:
    async def story() -> str:
        ws = Workspace(run.repo, agent="Ada")
        task = asyncio.create_task(first(ws.follow_async(), 1))
        await until(lambda: followers() != [])
        ws.close()
        with pytest.raises(Usage) as caught:
            await task
        return caught.value.code

    assert run_in_loop(story()) == "workspace_closed"


def test_the_verbs_of_the_workspace_may_be_used_between_events(ada: Workspace, bob: Workspace) -> None:
    """The thread never touches the handle of the loop."""

    async def story() -> int:
        start = ada.log(limit=1)[0].position
        bob.send("Ada", "0")
        turns = 0
        async with contextlib.aclosing(ada.follow_async(types="message:sent", after=start)) as events:
            async for event in events:
                if event.by.startswith("Bob"):
                    ada.send("Bob", "echo")
                    turns += 1
                    if turns == 20:
                        break
                else:
                    bob.send("Ada", str(turns))
        return turns

    assert run_in_loop(story()) == 20
    assert ada.verify().sound


def test_one_who_follows_is_present_also_while_it_is_slow(
    ada: Workspace, bob: Workspace, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.api.following.ROUND", 0.01)
    monkeypatch.setattr("moot.surfaces.python.following.ROUND", 0.01)

    def stamps() -> list[bytes]:
        return [path.read_bytes() for path in sorted(Path(run.repo, ".git/moot/presence").rglob("[Aa]da.*"))]

    async def story() -> None:
        start = ada.log(limit=1)[0].position
        async with contextlib.aclosing(ada.follow_async(after=start)) as events:
            for number in range(10):
                bob.send("Ada", str(number))
                await anext(events)
                before = stamps()
                assert before
                await until(lambda before=before: stamps() != before)  # type: ignore[misc]

    run_in_loop(story())


def test_one_who_is_slow_holds_up_the_thread_and_not_the_memory(ada: Workspace, bob: Workspace) -> None:
    async def story() -> tuple[int, list[int]]:
        start = ada.log(limit=1)[0].position
        positions = []
        async with contextlib.aclosing(ada.follow_async(after=start, types="message:sent")) as events:
            for number in range(40):
                bob.send("Ada", str(number))
                await asyncio.to_thread(lambda: None)
            await anext(events)
            (follower,) = ada._followers
            most = len(follower.heard)
            for _ in range(39):
                positions.append((await anext(events)).position)
                most = max(most, len(follower.heard))
        return most, positions

    most, positions = run_in_loop(story())
    assert most <= 4
    assert positions == sorted(set(positions))
    assert len(positions) == 39


@pytest.mark.parametrize("wrong", [{"timeout": -1}, {"timeout": "soon"}, {"after": -1}, {"types": 3}])
@pytest.mark.parametrize("kind", ["follow", "follow_async"])
def test_a_bad_argument_is_refused_at_the_call(ada: Workspace, kind: str, wrong: dict[str, Any]) -> None:
    with pytest.raises((Usage, TypeError)):
        getattr(ada, kind)(**wrong)


@pytest.mark.parametrize("kind", ["follow", "follow_async"])
def test_an_event_type_that_cannot_come_is_refused_at_the_call(ada: Workspace, kind: str) -> None:
    with pytest.raises(Unknown) as caught:
        getattr(ada, kind)(types="task:startd")
    assert caught.value.code == "unknown_event_type"
    assert "task:started" in caught.value.remedy


def flaky(monkeypatch: pytest.MonkeyPatch, times: float) -> list[int]:
    """Let reading fail that often, in every session."""
    from moot.logs.sqlite import SqliteLog

    real, calls = SqliteLog.follow, []

    def follow(log: SqliteLog, *args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) <= times:
            raise Unavailable("locked", "Another process has kept the log locked.", "Do it again.")
        return real(log, *args, **more)

    monkeypatch.setattr(SqliteLog, "follow", follow)
    monkeypatch.setattr("moot.api.following.PAUSE", 0.0)
    return calls


def test_a_follower_outlives_a_log_that_is_away_for_a_while(
    ada: Workspace, bob: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = ada.log(limit=1)[0].position
    bob.send("Ada", "one")
    assert flaky(monkeypatch, 3) == []
    events = ada.follow(after=start, timeout=30)
    assert next(events).data["text"] == "one"
    assert [warning.code for warning in ada.warnings] == ["locked"]
    events.close()  # type: ignore[attr-defined]
    monkeypatch.undo()
    assert flaky(monkeypatch, 3) == []
    assert [event.data["text"] for event in run_in_loop(first(ada.follow_async(after=start), 1))] == ["one"]
    assert [warning.code for warning in ada.warnings] == ["locked"]


def test_a_log_that_is_still_away_when_the_time_is_over_is_an_error(
    ada: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes it for silence."""
    flaky(monkeypatch, float("inf"))
    with pytest.raises(Unavailable):
        list(ada.follow(timeout=0.02))
    with pytest.raises(Unavailable):
        run_in_loop(first(ada.follow_async(timeout=0.02), 1))


def test_a_workspace_that_is_gone_is_said_where_one_follows(run: Command, tmp_path: Path) -> None:
    async def story(ws: Workspace) -> None:
        events = ws.follow_async()
        os.rename(run.repo / ".git" / "moot", tmp_path / "away")
        try:
            await anext(events)
        finally:
            os.rename(tmp_path / "away", run.repo / ".git" / "moot")

    with Workspace(run.repo, agent="Ada") as ws, pytest.raises(MootError) as caught:
        run_in_loop(story(ws))
    assert "moot" in caught.value.remedy


def test_more_followers_than_the_machine_can_bear_are_refused_and_the_others_go_on(run: Command) -> None:
    script = """
import asyncio, os, resource
from moot import MootError, Workspace
async def main():
    with Workspace() as ws:
        ws.task_add("One")
        room = len(os.listdir("/dev/fd")) + 40
        resource.setrlimit(resource.RLIMIT_NOFILE, (room, room))
        async def one():
            async for event in ws.follow_async(after=0):
                return event.type
        found = await asyncio.gather(*(one() for _ in range(60)), return_exceptions=True)
        assert all(isinstance(each, MootError) for each in found if not isinstance(each, str)), found
        print(len([each for each in found if isinstance(each, str)]) > 0, any(isinstance(e, MootError) for e in found))
        resource.setrlimit(resource.RLIMIT_NOFILE, (room, room))
        print(await one())
asyncio.run(asyncio.wait_for(main(), 60))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=run.repo, capture_output=True, text=True, check=False, timeout=90
    )
    assert done.stdout.splitlines() == ["True True", "agent:joined"], done.stderr
    run("task", "add", "Two")  # a program that ends may leave an ear behind, which the next bell removes


def test_others_do_not_pay_for_asyncio(run: Command) -> None:
    script = (
        "import json, sys\nfrom moot import Workspace\nws = Workspace()\nws.agents()\nlist(ws.follow(timeout=0))\n"
        "print(json.dumps([name for name in ('asyncio', 'threading') if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=run.repo, capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == []
