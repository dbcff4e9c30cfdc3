"""`kill -9` at each line that handles blobs: no event names bytes that are not there, and repeating it ends well."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moot.engine.blobs import Blobs
from tests.faults.crew import Repo, Worker

LINES = "blob"  # the files that have it in their names: the store, the names, and those of backups
TORN = b"{ torn" + b"\xff" * 1_100_000  # two pieces
STEP = 67  # every so many lines; `make soak` takes all of them
WORK = ("quarantine", "restore", "backup", "redact")


def torn(root: Path) -> None:
    path = root / ".claude-orchestrator/tasks/messages/to-developer.json"
    path.write_bytes(TORN)
    os.utime(path, (0, 0))


@pytest.fixture
def made(make_repo: Callable[..., Repo]) -> tuple[Path, Path]:
    """A workspace with a blob, and its backup."""
    repo = make_repo(packs=("orchestrator",), name="made")
    torn(repo.root)
    repo.run("mirror")
    assert [len(entry["sha256"]) for entry in repo.run("held")] == [64]
    copy = repo.root.parent / "copy.db"
    repo.run("backup", file=str(copy))
    repo.close()
    return repo.root, copy


@pytest.fixture
def empty(make_repo: Callable[..., Repo]) -> Path:
    repo = make_repo(packs=("orchestrator",), name="empty")
    repo.close()
    return repo.root


def asked(work: str, now: Path, copy: Path) -> tuple[str, dict[str, Any]]:
    """What a process is told to do, and be killed at."""
    if work == "restore":
        return "put_back", {"cwd": str(now), "backup": str(copy)}
    verb, arguments = {
        "quarantine": ("mirror", {}),
        "backup": ("backup", {"file": str(now.parent / "again.db"), "force": True}),
        "redact": ("redact", {"thing": "1"}),
    }[work]
    return "once", {"where": {"cwd": str(now)}, "verb": verb, "arguments": arguments}


def killed(
    keeper: Worker, before: Path, now: Path, how: tuple[str, dict[str, Any]], prepare: Any, step: int
) -> Iterator[int]:
    """The workspace after each kill, and at last after a life that came to its end."""
    line, life = 1 - step, {"code": -signal.SIGKILL, "said": ""}
    while life["code"] == -signal.SIGKILL:
        line += step
        shutil.rmtree(now, ignore_errors=True)
        shutil.rmtree(now.parent / ".local", ignore_errors=True)  # the record of how long its log was
        shutil.copytree(before, now, symlinks=True)
        prepare(now)
        life = keeper.ask("live", work=how[0], arguments={**how[1], "die_at": line, "only": LINES})
        yield line
    assert life["code"] == 0
    said = json.loads(life["said"])
    assert "error" not in said, said
    assert line > step


def at_each_line(made: tuple[Path, Path], empty: Path, keeper: Worker, work: str, step: int) -> None:
    root, copy = made
    before = empty if work in ("quarantine", "restore") else root
    now = before.parent / "now"
    how = asked(work, now, copy)
    for line in killed(keeper, before, now, how, torn if work == "quarantine" else str, step):
        repo = Repo(now)
        try:
            events = repo.events("file:quarantined")
            redacted = repo.events("event:redacted")
            blobs = Blobs(str(repo.state))
            if not redacted:
                assert [blobs.fault(event.data["sha256"]) for event in events] == [None] * len(events), line
                repo.verify()
        finally:
            repo.close()
        if line % 3 == 1:  # the next life does what this one could not
            assert keeper.ask("live", work=how[0], arguments=how[1])["code"] == 0
            repo = Repo(now)
            try:
                repo.verify()
                assert bool(repo.events("event:redacted")) is (work == "redact")
                (digest,) = {event.data["sha256"] for event in repo.events("file:quarantined")}
                assert (blobs.fault(digest) is None) is (work != "redact")
            finally:
                repo.close()


@pytest.mark.promise(1)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("work", WORK)
def test_a_kill_leaves_no_event_without_its_bytes(
    made: tuple[Path, Path], empty: Path, keeper: Worker, work: str
) -> None:
    at_each_line(made, empty, keeper, work, STEP)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("work", WORK)
def test_no_kill_at_any_line_leaves_an_event_without_its_bytes(
    made: tuple[Path, Path], empty: Path, keeper: Worker, work: str
) -> None:
    at_each_line(made, empty, keeper, work, 1)
