"""Two versions of moot at work in one workspace, as after any upgrade while a watcher or a runner lives.

The other version is the same source with other numbers of its views. Counted are the files that are made.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from moot.views.store import VERSION
from tests.faults.crew import SOURCES, Repo, Worker

OTHER = VERSION + 1
TOLD = "the launch code is 0000"


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The next version of moot."""
    sources = tmp_path_factory.mktemp("upgraded")
    shutil.copytree(SOURCES / "moot", sources / "moot", ignore=shutil.ignore_patterns("__pycache__"))
    file = sources / "moot" / "views" / "store.py"
    text, changed = re.subn(
        r"^VERSION = (\d+)", lambda n: f"VERSION = {int(n[1]) + 1}", file.read_text(), flags=re.MULTILINE
    )
    assert changed == 1
    file.write_text(text)
    return sources


@pytest.fixture
def start(repo: Repo, upgraded: Path) -> Iterator[Callable[..., Worker]]:
    with ExitStack() as stack:

        def start(name: str, *, new: bool = False, repo: Repo = repo) -> Worker:
            worker = stack.enter_context(Worker(sources=upgraded if new else None))
            worker.ask("enter", cwd=str(repo.root), agent=name, incarnation=repo.join(name))
            return worker

        yield start


def files(repo: Repo) -> dict[str, int]:
    """The files of the views by name; a file that was replaced has another number."""
    names = [name for name in os.listdir(repo.state) if re.fullmatch(r"views-\d+\.db", name)]
    return {name: os.stat(repo.state / name).st_ino for name in names}


@pytest.mark.promise(3)
def test_two_versions_that_take_turns_fold_every_event_once(repo: Repo, start: Callable[..., Worker]) -> None:
    old, new = start("Ada"), start("Bob", new=True)
    assert old.run("send", to=["Bob"], text="Hello").won
    assert new.run("send", to=["Ada"], text="Hello").won
    before = files(repo)
    assert {f"views-{VERSION}.db", f"views-{OTHER}.db"} == set(before)
    for number in range(25):
        assert old.run("send", to=["Bob"], text=f"from the old one: {number}").won
        assert new.run("send", to=["Ada"], text=f"from the new one: {number}").won
        assert old.run("board").won
        assert new.run("board").won
    assert files(repo) == before
    assert len(old.run("inbox", limit=100).result["new"]) == 26
    assert len(new.run("inbox", limit=100).result["new"]) == 26
    assert files(repo) == before
    repo.verify()


def test_a_redaction_reaches_what_the_other_version_keeps(repo: Repo, start: Callable[..., Worker]) -> None:
    old, new = start("Ada"), start("Bob", new=True)
    sent = old.run("send", to=["Bob"], text=TOLD).result["id"]
    for worker in (old, new):
        assert worker.run("search", words=["launch"]).result
        assert worker.run("inbox").won
    repo.run("redact", thing=sent, reason="secret")
    left = {name: (repo.state / name).read_bytes() for name in os.listdir(repo.state) if name[0] == "v"}
    assert [name for name, data in left.items() if TOLD.encode() in data or b"launch" in data] == []
    before: dict[str, int] = {}
    for _ in range(3):
        for worker in (old, new):
            assert TOLD not in str(worker.run("log", limit=100).said)
            assert worker.run("send", to=["Ada"], text="more").won
            assert worker.run("search", words=["launch"]).result == []
        before = before or files(repo)
    assert files(repo) == before, "each of them has made its own anew, once"
    repo.verify()
