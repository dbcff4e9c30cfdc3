"""`kill -9` of those who keep a blackboard and the log in step, while others write to the event file and read it.

As in `test_mirror_kills`, each agent who knows only files has a file of its own in one of two worktrees: whatever is
missing or broken, moot has lost or broken. `make soak` kills hundreds of times.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.faults import file_agents, replay
from tests.faults.crew import Repo, Worker, until
from tests.faults.lives import Journal

FOLDER = Path(".planning/blackboard")
EVENTS, BOARD = FOLDER / "events.json", FOLDER / "shared-context.json"
SETTINGS = 'packs = ["gsd"]\n[mirrors]\ntorn_after = "10m"\n'


@pytest.fixture
def trees(make_repo: Callable[..., Repo]) -> tuple[Repo, list[Path]]:
    """A repository with two worktrees, both with the files."""
    repo = make_repo(SETTINGS)
    roots = [repo.root, repo.add_worktree("second")]
    repo.run("mirror")
    assert all((root / EVENTS).exists() for root in roots)
    return repo, roots


def in_step(repo: Repo) -> None:
    until(lambda: not repo.own.run("mirror", {}).warnings, "files and log come into step")


def check(repo: Repo, roots: list[Path], marks: list[str]) -> None:
    """Each mark is once in the log, and the files of both worktrees are what the log says."""
    posted = [event.data for event in repo.events("feed:posted")]
    assert [entry["number"] for entry in posted] == list(range(1, len(posted) + 1))
    stored = Counter(entry["event"]["mark"] for entry in posted)
    assert {mark: stored[mark] for mark in {*marks, *stored} if stored[mark] != 1} == {}
    ended = [entry["event"] for entry in posted if entry["event"]["type"] == "task:completed"]
    for root in roots:
        shown = json.loads((root / EVENTS).read_bytes())
        assert [(event["eventId"], event["mark"]) for event in shown["events"]] == [
            (entry["number"], entry["event"]["mark"]) for entry in posted
        ]
        assert shown["lastEventId"] == len(posted)
        board = json.loads((root / BOARD).read_bytes())
        assert sorted((one["plan"], one["task"]) for one in board["completed_tasks"]) == sorted(
            (event["plan"], event["task"]) for event in ended
        )
    assert repo.run("held") == []
    assert replay.broken_order(repo.events()) == []
    repo.verify()


@pytest.mark.promise(1)
@pytest.mark.promise(14)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [6, pytest.param(150, marks=pytest.mark.soak)])  # of each of two senders
def test_kills_lose_no_event_and_break_no_file(trees: tuple[Repo, list[Path]], tmp_path: Path, kills: int) -> None:
    repo, roots = trees
    stop, done = tmp_path / "stop", tmp_path / "done"
    agents = []
    for name, root, how in (("Ann", roots[0], "in place"), ("Cid", roots[1], "rename")):
        (tmp_path / f"{name}.flag").write_bytes(bytes(8))
        path, flag = str(root / EVENTS), str(tmp_path / f"{name}.flag")
        agents.append({"path": path, "agent": name, "kind": "event", "how": how, "flag": flag})
    wheres: list[dict[str, Any]] = [
        {"cwd": str(roots[0])},
        {"cwd": str(roots[1]), "agent": "Dev", "incarnation": repo.join("Dev")},
    ]
    lives = [
        {"path": str(tmp_path / f"life-{n}"), "where": where, "plan": "blackboard"} for n, where in enumerate(wheres)
    ]
    with ExitStack() as stack:
        watcher, *writers = (stack.enter_context(Worker("tests.faults.file_agents")) for _ in range(3))
        keepers = [stack.enter_context(Worker("tests.faults.keeper")) for _ in lives]
        watcher.tell("watch", paths={agent["path"]: [agent["flag"]] for agent in agents}, stop=str(done))
        for writer, agent in zip(writers, agents, strict=True):
            writer.tell("append", **agent, stop=str(stop), most=200, pause=0.3)
        for keeper, life in zip(keepers, lives, strict=True):
            keeper.tell("live_often", work="work_on", arguments=life, times=kills, most=3)
        ends = [end for keeper in keepers for end in keeper.hear(540)]
        assert ends == [-signal.SIGKILL] * kills * len(keepers)
        stop.touch()
        told = [writer.hear() for writer in writers]
        for keeper, life in zip(keepers, lives, strict=True):
            assert keeper.ask("live", work="work_on", arguments={**life, "last": True})["code"] == 0
        in_step(repo)
        done.touch()
        seen = watcher.hear()
    assert seen["broken"] == []
    assert seen["looks"] > 20
    assert [said["broken"] for said in told] == [[], []]
    written = [mark for said in told for mark in said["written"]]
    journals = [Journal(life["path"]) for life in lives]
    acknowledged = [j.begun[number][1]["data"]["mark"] for j in journals for number in j.done]
    assert len(written) > 2
    assert len(acknowledged) > kills // 2
    check(repo, roots, written + acknowledged)


@pytest.mark.promise(14)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [8, pytest.param(300, marks=pytest.mark.soak)])
def test_a_sync_killed_in_the_middle_of_a_write_leaves_whole_files_and_the_next_one_does_the_rest(
    trees: tuple[Repo, list[Path]], keeper: Worker, kills: int
) -> None:
    """Each time an event of moot's own meets one that somebody wrote into the other worktree's file."""
    repo, roots = trees

    def sent(number: int) -> dict[str, Any]:
        data = {"mark": f"Own {number}"}
        arguments = {"type": "build:finished", "data": data, "key": f"k{number}"}
        return {"where": {"cwd": str(roots[0])}, "verb": "emit", "arguments": arguments, "only": "/mirrors/"}

    def write(number: int) -> None:
        content = json.loads((roots[1] / EVENTS).read_bytes())
        changed = file_agents.added(content, file_agents.event("Hand", number))
        (roots[1] / EVENTS).write_text(json.dumps(changed), encoding="utf-8")

    write(0)
    total = json.loads(keeper.ask("live", work="once", arguments=sent(0))["said"])["lines"]
    ends = Counter[int]()
    for number in range(1, kills + 1):
        write(number)
        killed = keeper.ask(
            "live", work="once", arguments={**sent(number), "die_at": 1 + number * total // (kills + 1)}
        )
        ends[killed["code"]] += 1
        for root in roots:
            for path in (root / FOLDER).glob("*.json"):
                json.loads(path.read_bytes())
        said = json.loads(keeper.ask("live", work="once", arguments=sent(number))["said"])
        assert "error" not in said, said
    assert ends.keys() <= {0, -signal.SIGKILL}
    assert ends[-signal.SIGKILL] > kills // 2
    in_step(repo)
    check(repo, roots, [f"{who} {number}" for who in ("Own", "Hand") for number in range(kills + 1)])
