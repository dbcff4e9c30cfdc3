"""Events reach those who listen: filtered, in order, once, and again from any number; history is never cut."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from typing import Any

import pytest

from moot import Workspace
from moot.packs.gsd.methods import Blackboard
from tests.specs.gsd.board import AGENT, COMPLETED, EVENTS, SAMPLES, STARTED, Board, until
from tests.surfaces.command import PATIENCE


def numbers(board: Board, **wanted: Any) -> list[int]:
    return [one.number for one in board.gsd.events(**wanted)]


@pytest.fixture
def busy(board: Board) -> Board:
    """Events 1 to 9, of two phases and two agents."""
    board.start("01-01", 1)  # 1
    board.start("01-02", 1, agent="gsd-tester")  # 2
    board.gsd.emit("file:claimed", ["agent=gsd-executor", "plan=01-01", "path=src/a.ts"])  # 3
    board.emit({"type": "artifact:created", "path": "src/a.ts", "createdBy": "01-01"})  # 4
    board.start("02-01", 1)  # 5
    board.emit({"type": "build:passed", "target": "web"})  # 6
    board.complete("01-01", 1)  # 7
    board.fail("01-02", 1, agent="gsd-tester")  # 8
    board.write({"type": "task:completed", "agent": AGENT, "plan": "2-1", "task": 1})  # 9
    board.ws.board()
    return board


# Filters


@pytest.mark.proves("S4-SUB-08")
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"type": "task:*"}, [1, 2, 5, 7, 8, 9]),
        ({"type": ["task:failed", "build:*"]}, [6, 8]),
        ({"phase": "1"}, [1, 2, 3, 4, 7, 8]),
        ({"phase": "02"}, [5, 9]),
        ({"plan": "1-1"}, [1, 3, 4, 7]),
        ({"by": "gsd-tester"}, [2, 8]),
        ({"path": "src/a.ts"}, [3, 4]),
        ({"path": "src/*"}, [3, 4]),
        ({"plan": "01-01", "task": 1, "type": "task:completed"}, [7]),
        ({"after": 5}, [6, 7, 8, 9]),
        ({"after": 5, "limit": 2}, [6, 7]),
        ({"limit": 2}, [8, 9]),
        ({"type": "no:thing"}, []),
    ],
)
def test_a_subscription_is_narrowed(busy: Board, wanted: dict[str, Any], found: list[int]) -> None:
    assert numbers(busy, **wanted) == found
    words = [
        part
        for key, value in wanted.items()
        for one in (value if isinstance(value, list) else [value])
        for part in (f"--{key}", str(one))
    ]
    said = json.loads(busy("gsd", "events", *words, "--json").out)["result"]
    assert [one["number"] for one in said] == found


@pytest.mark.proves("S4-SUB-08")
def test_each_event_is_delivered_once_and_in_order_across_disconnects(busy: Board) -> None:
    seen: list[int] = []

    def listen(count: int) -> None:
        """Read so many events after the last one seen, and break off."""
        words = ("gsd", "events", "--after", str(seen[-1] if seen else 0), "--type", "task:*", "--follow", "--json")
        listener = busy.moot.popen(*words)
        assert listener.stdout is not None
        seen.extend(json.loads(listener.stdout.readline())["number"] for _ in range(count))
        listener.kill()
        listener.communicate(timeout=PATIENCE)

    listen(2)
    busy.start("03-01", 1)  # 10: while nobody listens
    listen(3)
    busy.emit({"type": "build:failed"})  # 11
    busy.complete("03-01", 1)  # 12
    listen(3)
    assert seen == [1, 2, 5, 7, 8, 9, 10, 12]


@pytest.mark.proves("S4-SUB-08", "S4-BEN-02")
def test_a_subscription_in_python_gets_new_events_and_can_begin_in_the_past(busy: Board) -> None:
    with Workspace(busy.root, agent="Ada") as ada:
        past = ada.pack(Blackboard).follow(after=7)
        assert [next(past).number for _ in range(2)] == [8, 9]
        heard: list[int] = []
        new = ada.pack(Blackboard).follow(type="task:*", phase="04")
        listener = threading.Thread(target=lambda: heard.append(next(new).number))
        listener.start()
        busy.emit({"type": "build:passed"})
        busy.start("04-01", 1)
        listener.join(PATIENCE)
        assert heard == [11]


# Polling the file


@pytest.mark.proves("S4-SUB-07")
def test_who_polls_the_file_sees_every_event_however_it_was_emitted(board: Board) -> None:
    board.emit(STARTED)
    assert board("gsd", "emit", "task:started", "agent=cli", "plan=01-03", "task=1", "taskName=CLI").code == 0
    board("emit", "task:started", "--data", '{"agent": "generic", "plan": "01-04", "task": 1, "taskName": "Generic"}')
    board.write({"type": "task:started", "agent": "file", "plan": "01-05", "task": 1, "taskName": "File"})
    board.ws.board()
    with Workspace(board.root) as ada:
        ada.join("Ada")
        ada.claim("src/x.ts")
        ada.decide("Use spaces")
    board.emit(COMPLETED)
    shown = board.shown()
    assert [event["eventId"] for event in shown] == list(range(1, len(shown) + 1))
    agents = [event["agent"] for event in shown if event["type"] == "task:started"]
    assert agents == ["gsd-executor", "cli", "generic", "file"]
    assert {"file:claimed", "decision:made", "task:completed"} <= {event["type"] for event in shown}
    counted = subprocess.run(
        ["jq", '[.events[] | select(.type == "task:completed" and (.plan | startswith("01")))] | length', EVENTS],
        cwd=board.root,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert counted.stdout.strip() == "1"


# Benefits


@pytest.mark.proves("S4-BEN-01")
@pytest.mark.timeout(3 * PATIENCE)
def test_with_ten_agents_at_work_an_event_reaches_a_listener_in_less_than_a_second(board: Board) -> None:
    """The time of each delivery: from before the call that emits, until the listener has it."""
    each, agents = 10, 10
    sent: dict[str, float] = {}
    took: list[float] = []
    follower = board.gsd.follow(type="probe:sent")
    watched: list[int] = []

    def listen() -> None:
        for _ in range(each * agents):
            event = next(follower).event
            took.append(time.monotonic() - sent[event["probe"]])

    def wait() -> None:
        with Workspace(board.root, person=True) as ws:
            watched.append(ws.pack(Blackboard).wait(phase="09", tasks=1, timeout=PATIENCE).reached)

    def work(agent: int) -> None:
        with Workspace(board.root, person=True) as ws:
            for number in range(each):
                name = f"{agent}.{number}"
                sent[name] = time.monotonic()
                ws.pack(Blackboard).emit({"type": "probe:sent", "probe": name, "agent": f"agent-{agent}"})

    listener, waiting = threading.Thread(target=listen), threading.Thread(target=wait)
    crew = [threading.Thread(target=work, args=(agent,)) for agent in range(agents)]
    for thread in (listener, waiting, *crew):
        thread.start()
    for thread in crew:
        thread.join(PATIENCE)
    listener.join(PATIENCE)
    board.complete("09-01", 1)
    waiting.join(PATIENCE)
    assert len(took) == each * agents
    assert watched == [1]
    assert sorted(took)[int(len(took) * 0.99) - 1] < 1.0


@pytest.mark.proves("S4-BEN-02")
def test_an_emitter_needs_no_listener_and_a_listener_no_emitters_name(board: Board) -> None:
    assert board.emit({"type": "build:passed"}) == 1
    first = board.moot.popen("gsd", "events", "--follow", "--after", "0", "--json")
    assert first.stdout is not None
    assert json.loads(first.stdout.readline())["number"] == 1
    for agent in ("gsd-executor", "another-kind"):  # one emitter after the other, each in a process of its own
        assert (
            board(
                "gsd", "emit", "task:started", f"agent={agent}", "plan=01-01", f"task={len(agent)}", "taskName=X"
            ).code
            == 0
        )
        assert json.loads(first.stdout.readline())["event"]["agent"] == agent
    first.kill()
    first.communicate(timeout=PATIENCE)
    second = board.moot.popen("gsd", "events", "--follow", "--after", "2", "--json")  # a new listener in its place
    assert second.stdout is not None
    assert json.loads(second.stdout.readline())["event"]["agent"] == "another-kind"
    second.kill()
    second.communicate(timeout=PATIENCE)


@pytest.mark.proves("S4-BEN-03")
def test_the_history_is_listed_and_exported_by_every_property(busy: Board) -> None:
    middle = busy.gsd.events(limit=1)[0].at
    time.sleep(0.01)  # the next event is later
    busy.start("05-01", 7)  # 10
    (later,) = busy.gsd.events(after=9)
    assert numbers(busy, since=later.at) == [10]
    assert numbers(busy, until=later.at) == list(range(1, 10))
    assert numbers(busy, until=middle) == list(range(1, 9))
    assert numbers(busy, since="1h") == list(range(1, 11))
    assert numbers(busy, plan="05-01", task=7) == [10]
    exported = busy("gsd", "events", "--all", "--json")
    file = json.loads(exported.out)["result"]
    assert [one["number"] for one in file] == list(range(1, 11))
    assert {"number", "event", "at", "by", "via", "flags"} <= file[0].keys()
    bad = busy("gsd", "events", "--since", "soon")
    assert bad.code == 2
    assert "'soon' is not a time" in bad.err


@pytest.mark.proves("S4-BEN-03")
def test_events_that_left_the_file_stay_in_the_history(board: Board) -> None:
    for sample in SAMPLES[:4]:
        board.emit(sample)
    content = board.file()
    (board.root / EVENTS).write_text(json.dumps({**content, "retentionPolicy": "1m"}))
    board.ws.board()
    with board.ws._call() as call:  # as if a minute had passed
        call.clock.wall_seconds = lambda: time.time() + 3600  # type: ignore[method-assign]
        call.sync()
        (board.root / EVENTS).unlink()
        call.sync()
    until((board.root / EVENTS).exists, "the file")
    assert board.shown() == []
    assert board.file()["lastEventId"] == 4
    assert numbers(board) == [1, 2, 3, 4]
