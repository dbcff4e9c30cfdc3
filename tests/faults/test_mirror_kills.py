"""`kill -9` of those who keep the mailbox files and the log in step, while others write and read the files.

The agents who know only files each have a file of their own in one of two worktrees, so that none of them can destroy
what another wrote: whatever is missing or broken, moot has lost or broken.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.faults import file_agents, replay
from tests.faults.crew import Repo, Worker, until
from tests.faults.lives import Journal

FOLDER = Path(".claude-orchestrator/tasks/messages")
FILES = {"assignment": FOLDER / "to-developer.json", "report": FOLDER / "to-team-lead.json"}
SETTINGS = 'packs = ["orchestrator"]\n[tasks]\nlifecycle = "orchestrator"\n[mirrors]\ntorn_after = "10m"\n'
KILLS = 60  # of each of two senders
MOST = 30  # messages of each agent


@pytest.fixture
def trees(make_repo: Callable[..., Repo]) -> tuple[Repo, list[Path]]:
    """A repository with two worktrees, both with the two files."""
    repo = make_repo(SETTINGS)
    roots = [repo.root, repo.add_worktree("second")]
    repo.run("mirror")
    assert all((root / file).exists() for root in roots for file in FILES.values())
    return repo, roots


def task_data(task: str) -> dict[str, Any]:
    """An assignment as a caller of moot gives it."""
    message = {**file_agents.assignment("prepared", 0), "taskId": task}
    return {name: value for name, value in message.items() if name != "type"}


def assign(repo: Repo, task: str) -> None:
    repo.run("send", type="task_assignment", data=task_data(task))


def mark_of(message: dict[str, Any]) -> str:
    return message["title"] if message["type"] == "task_assignment" else message["summary"]


def in_the_log(repo: Repo) -> list[str]:
    return [mark_of(event.data["data"]) for event in repo.events("message:sent") if event.data["kind"] != "note"]


def in_the_files(roots: list[Path]) -> list[str]:
    """The marks that both files show, which are the same in all worktrees."""
    found = []
    for file in FILES.values():
        contents = [(root / file).read_bytes() for root in roots]
        assert contents[0] == contents[1], f"{file} differs between the worktrees"
        found += [mark_of(message) for message in json.loads(contents[0])["messages"]]
    return found


def in_step(repo: Repo, but: tuple[str, ...] = ()) -> None:
    """Wait until nothing is pending any more, and nothing else is to be said."""

    def calm() -> bool:
        return not [warning for warning in repo.own.run("mirror", {}).warnings if warning.code not in but]

    until(calm, "files and log come into step")


@pytest.mark.promise(1)
@pytest.mark.promise(14)
@pytest.mark.proves("S0-HRD-03")
@pytest.mark.timeout(300)
def test_a_hundred_and_twenty_kills_lose_no_message_and_break_no_file(
    trees: tuple[Repo, list[Path]], tmp_path: Path
) -> None:
    repo, roots = trees
    scene = Scene(repo, roots, tmp_path)
    with ExitStack() as stack:
        watcher, *writers = (stack.enter_context(Worker("tests.faults.file_agents")) for _ in range(5))
        keepers = [stack.enter_context(Worker("tests.faults.keeper")) for _ in scene.lives]
        watcher.tell("watch", paths=scene.watched, stop=str(scene.done))
        for writer, agent in zip(writers, scene.agents, strict=True):
            writer.tell("append", **agent, stop=str(scene.stop), most=MOST, pause=0.6)
        for keeper, life in zip(keepers, scene.lives, strict=True):
            keeper.tell("live_often", work="work_on", arguments=life, times=KILLS, most=2)
        ends = [end for keeper in keepers for end in keeper.hear(240)]
        assert ends == [-signal.SIGKILL] * KILLS * len(keepers)
        scene.stop.touch()
        told = [writer.hear() for writer in writers]
        for keeper, life in zip(keepers, scene.lives, strict=True):
            assert keeper.ask("live", work="work_on", arguments={**life, "last": True})["code"] == 0
        in_step(repo)
        scene.done.touch()
        seen = watcher.hear()

    assert seen["broken"] == []
    assert seen["looks"] > 100
    assert [said["broken"] for said in told] == [[]] * len(told)
    written = [mark for said in told for mark in said["written"]]
    acknowledged = scene.acknowledged()
    stored = Counter(in_the_log(repo))
    assert len(acknowledged) > 10
    assert len(written) > 4
    assert {mark: stored[mark] for mark in acknowledged + written if stored[mark] != 1} == {}
    assert Counter(in_the_files(roots)) == stored
    assert repo.run("held") == []
    assert replay.broken_order(repo.events()) == []
    repo.verify()


class Scene:
    """Who takes part: four who know only files, each with a file of its own, and two senders who will be killed."""

    def __init__(self, repo: Repo, roots: list[Path], place: Path) -> None:
        self.stop, self.done = place / "stop", place / "done"
        self.agents = [
            self._agent("Ann", "assignment", roots[0], "in place", place),
            self._agent("Ben", "report", roots[0], "rename", place),
            self._agent("Cid", "assignment", roots[1], "rename", place),
            self._agent("Dot", "report", roots[1], "in place", place),
        ]
        for name, tasks in (("Ben", MOST), ("Dot", MOST), ("Dev", 2 * KILLS + 2)):
            for number in range(tasks):  # a task takes one report
                assign(repo, f"for-{name}-{number}")
        dev = {"cwd": str(roots[1]), "agent": "Dev", "incarnation": repo.join("Dev", "developer")}
        self.lives = [
            {"path": str(place / "lead"), "where": {"cwd": str(roots[0])}, "plan": "assignments"},
            {"path": str(place / "dev"), "where": dev, "plan": "reports"},
        ]

    @staticmethod
    def _agent(name: str, kind: str, root: Path, how: str, place: Path) -> dict[str, str]:
        flag = place / f"{name}.flag"
        flag.write_bytes(bytes(8))
        return {"path": str(root / FILES[kind]), "agent": name, "kind": kind, "how": how, "flag": str(flag)}

    @property
    def watched(self) -> dict[str, list[str]]:
        return {agent["path"]: [agent["flag"]] for agent in self.agents}

    def acknowledged(self) -> list[str]:
        """The marks of all that the senders were told is stored."""
        journals = [Journal(life["path"]) for life in self.lives]
        sent = [journal.begun[number][1] for journal in journals for number in journal.done]
        return [mark_of({"type": arguments["type"], **arguments["data"]}) for arguments in sent]


def written_by_hand(root: Path, kind: str, message: dict[str, Any]) -> None:
    path = root / FILES[kind]
    content = json.loads(path.read_text(encoding="utf-8"))
    content["messages"].append(message)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.promise(14)
@pytest.mark.parametrize("only", ["", "/mirrors/"], ids=["anywhere", "in the mirrors"])
def test_a_call_killed_at_any_line_leaves_whole_files_and_the_next_one_brings_them_into_step(
    trees: tuple[Repo, list[Path]], keeper: Worker, only: str
) -> None:
    """Each time a message of moot's own meets one that somebody wrote into the other worktree's file."""
    repo, roots = trees
    where = {"cwd": str(roots[0])}

    def sent(number: int) -> dict[str, Any]:
        data = {name: value for name, value in file_agents.assignment("Own", number).items() if name != "type"}
        arguments = {"type": "task_assignment", "data": data, "key": f"k{number}"}
        return {"where": where, "verb": "send", "arguments": arguments, "only": only}

    written_by_hand(roots[1], "assignment", file_agents.assignment("Hand", 0))
    total = json.loads(keeper.ask("live", work="once", arguments=sent(0))["said"])["lines"]
    number = 0
    for line in range(1, total, max(1, total // 25)):
        number += 1
        written_by_hand(roots[1], "assignment", file_agents.assignment("Hand", number))
        killed = keeper.ask("live", work="once", arguments={**sent(number), "die_at": line})
        for root in roots:
            for file in FILES.values():
                json.loads((root / file).read_bytes())
        done = keeper.ask("live", work="once", arguments=sent(number))
        said = json.loads(done["said"])
        assert killed["code"] in (0, -signal.SIGKILL)
        assert "error" not in said, said
        if number % 10 == 0 or line + total // 25 >= total:
            in_step(repo)
            expected = Counter(f"{who} {n}" for who in ("Own", "Hand") for n in range(number + 1))
            assert Counter(in_the_log(repo)) == expected, f"killed at line {line} of {total}"
            assert Counter(in_the_files(roots)) == expected
    assert number > 15
    repo.verify()


@pytest.mark.promise(14)
@pytest.mark.parametrize("cut", [1, 40, 200, 390, 401, -2, -1], ids=str)
def test_a_file_whose_writer_was_killed_is_kept_in_quarantine_and_rendered_again(
    make_repo: Callable[..., Repo], cut: int
) -> None:
    repo = make_repo(SETTINGS.replace("10m", "100ms"))
    roots = [repo.root, repo.add_worktree("second")]
    assign(repo, "task-good")
    torn = roots[1] / FILES["assignment"]
    with Worker("tests.faults.file_agents") as writer:
        writer.tell("tear", path=str(torn), agent="Torn", cut=cut)
        assert writer.process.wait(30) == -signal.SIGKILL
    left = torn.read_bytes()
    assert repo.run("send", type="task_assignment", data=task_data("task-later"))["id"], "nobody has to wait for it"
    in_step(repo, but=("entry_held",))
    (event,) = repo.events("file:quarantined")
    assert event.data["sha256"] == sha256(left).hexdigest()
    (kept,) = repo.state.glob(f"*/{event.data['sha256']}")
    assert kept.read_bytes() == left
    assert [held["id"] for held in repo.run("held")] == [event.stream.partition("/")[2]]
    assert in_the_files(roots) == in_the_log(repo)
    tasks = [message["taskId"] for message in json.loads(torn.read_bytes())["messages"]]
    assert tasks == ["task-good", "task-later"]
    repo.verify()


@pytest.mark.promise(14)
def test_a_file_that_a_killed_writer_left_empty_is_rendered_again_and_holds_nothing(
    make_repo: Callable[..., Repo],
) -> None:
    repo = make_repo(SETTINGS.replace("10m", "100ms"))
    roots = [repo.root, repo.add_worktree("second")]
    assign(repo, "task-good")
    torn = roots[1] / FILES["assignment"]
    with Worker("tests.faults.file_agents") as writer:
        writer.tell("tear", path=str(torn), agent="Torn", cut=0)
        assert writer.process.wait(30) == -signal.SIGKILL
    assert torn.read_bytes() == b""
    repo.run("send", type="task_assignment", data=task_data("task-later"))
    in_step(repo)
    assert repo.events("file:quarantined") == []
    assert repo.run("held") == []
    assert in_the_files(roots) == in_the_log(repo)
    repo.verify()
