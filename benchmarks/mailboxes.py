"""Eight processes write to the protocol's mailbox file at once: how many messages survive?

There are three variants: the file alone, as the protocol prescribes (read, append, write); a send through moot; and the
file while moot's mirror watches it, with each process in its own worktree, or all of them in one.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import workspaces
from common import Row

from moot import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from workspaces import Stage

WRITERS = 8
FILE = ".claude-orchestrator/tasks/messages/to-developer.json"
_EMPTY: dict[str, Any] = {"messages": [], "lastRead": None}
_PAUSE = 0.02  # maximum seconds between two messages of one process
_TORN_PATIENCE = 0.5  # seconds after which a writer discards the content of a torn file
_QUIET, _QUIET_IF_TORN = 2.0, 8.0  # seconds without a new message before it stops waiting; moot gives a torn file 5
_PATIENCE = 120.0


def measure(stage: Stage) -> list[Row]:
    each, repeats = stage.size.letters, stage.size.repeats
    rooms = [stage.room(f"mailboxes-{number}") for number in range(repeats)]
    return [
        _files_alone([stage.room(f"mailboxes-alone-{number}") for number in range(3 * repeats)], each),
        _through_moot(rooms, each),
        _through_mirror(rooms, each, own=True),
        _through_mirror(rooms, each, own=False),
    ]


def _files_alone(rooms: Sequence[str], each: int) -> Row:
    left = []
    for room in rooms:
        path = f"{room}/{FILE}"
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_EMPTY, file)
        _all_write(_by_file, [path] * WRITERS, each)
        left.append(len({message["taskId"] for message in (_parsed(path) or _EMPTY)["messages"]}))
    note = (
        f"{WRITERS} processes, {each} messages each, read, append, write: messages in the file at the end, of "
        f"{WRITERS * each}; the median of {len(left)} runs, from {min(left)} to {max(left)}."
    )
    return Row("mailbox.files_alone", statistics.median(left), "messages", None, note)


def _through_moot(rooms: Sequence[str], each: int) -> Row:
    arrived = []
    start = time.monotonic()
    for room in rooms:
        repository = workspaces.make(f"{room}/moot", packs=("orchestrator",))
        _all_write(_by_moot, [repository] * WRITERS, each)
        arrived.append(_arrived(repository))
    took = (time.monotonic() - start) / len(rooms)
    sent = WRITERS * each
    note = (
        f"The same through moot, which writes its files after each send: of {sent}, in {took:.1f} s{_worst(arrived)}."
    )
    return Row("mailbox.moot", min(arrived), "messages", f"== {sent}", note)


def _through_mirror(rooms: Sequence[str], each: int, *, own: bool) -> Row:
    arrived = [_mirrored(f"{room}/{'own' if own else 'shared'}", each, own=own) for room in rooms]
    sent = WRITERS * each
    if own:
        note = (
            "Processes that know only the file, each in its own worktree, while `moot mirror --watch` runs: messages "
            f"in the log, of {sent}{_worst(arrived)}."
        )
        return Row("mailbox.mirror_own", min(arrived), "messages", f"== {sent}", note)
    note = (
        f"The same with all {WRITERS} in one worktree: of {sent}{_worst(arrived)}. Messages that another writer "
        "overwrites before the mirror reads the file are lost."
    )
    return Row("mailbox.mirror_shared", min(arrived), "messages", None, note)


def _worst(arrived: Sequence[int]) -> str:
    return f"; the worst of {len(arrived)} runs" if len(arrived) > 1 else ""


def _mirrored(directory: str, each: int, *, own: bool) -> int:
    repository = workspaces.make(directory, packs=("orchestrator",), worktrees=WRITERS if own else 0)
    roots = [f"{repository}-{number}" for number in range(WRITERS)] if own else [repository] * WRITERS
    files = [f"{root}/{FILE}" for root in roots]
    with watching(repository):
        _until_there(files)
        _all_write(_by_file, files, each)
        return _settled(repository, files, WRITERS * each)


# --- the writers ------------------------------------------------------------------------------------------------------


def _all_write(role: Callable[[str, int, int], None], places: Sequence[str], each: int) -> None:
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=role, args=(place, number, each), daemon=True) for number, place in enumerate(places)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(_PATIENCE)
        if process.exitcode != 0:
            process.kill()
            raise RuntimeError(f"a writer ended with {process.exitcode}")


def _by_file(path: str, number: int, each: int) -> None:
    for message in _messages(number, each):
        box = _read(path)
        text = json.dumps({**box, "messages": [*box["messages"], message]}, indent=2)
        with open(path, "wb", buffering=0) as file:
            file.write(text.encode())
        time.sleep(random.uniform(0, _PAUSE))


def _by_moot(repository: str, number: int, each: int) -> None:
    with Workspace(repository) as ws:
        for message in _messages(number, each):
            ws.send(type="task_assignment", data=message)
            time.sleep(random.uniform(0, _PAUSE))


def _messages(number: int, each: int) -> Iterator[dict[str, Any]]:
    for count in range(each):
        yield {
            "type": "task_assignment",
            "taskId": f"task-{number}{count:02}",
            "platform": "web",
            "title": f"Part {count} of {number}",
            "instructions": "Build the sign-in form with its tests. Errors are shown beside the field.",
            "filesToCreate": [f"src/part_{number}_{count}.ts"],
            "architecture": "One component, no state outside it.",
            "timestamp": "2026-01-01T00:00:00.000Z",
        }


def _read(path: str) -> dict[str, Any]:
    """The mailbox. If it is half written, read it again; after a while, start with an empty one."""
    end = time.monotonic() + _TORN_PATIENCE
    while time.monotonic() < end:
        if (box := _parsed(path)) is not None:
            return box
        time.sleep(0.001)
    return _EMPTY


def _parsed(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            box: dict[str, Any] = json.load(file)
            return box
    except ValueError:
        return None


# --- the mirror -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def watching(repository: str) -> Iterator[None]:
    watcher = subprocess.Popen(
        [sys.executable, "-m", "moot", "mirror", "--watch"],
        cwd=repository,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
        if watcher.poll() is not None:
            raise RuntimeError(f"`moot mirror --watch` ended with {watcher.returncode}")
    finally:
        watcher.terminate()
        watcher.wait(30)


def _until_there(paths: Sequence[str]) -> None:
    end = time.monotonic() + _PATIENCE
    while not all(map(os.path.exists, paths)):
        if time.monotonic() > end:
            raise TimeoutError("the mirror does not write its files")
        time.sleep(0.01)


def _settled(repository: str, files: Sequence[str], sent: int) -> int:
    """How many messages arrived. Returns when all did, or when no more arrived for a while."""
    last, since = 0, time.monotonic()
    while last < sent:
        patience = _QUIET if all(map(_parsed, files)) else _QUIET_IF_TORN
        if time.monotonic() - since > patience:
            break
        time.sleep(0.1)
        if (arrived := _arrived(repository)) > last:
            last, since = arrived, time.monotonic()
    return last


def _arrived(repository: str) -> int:
    """The assignments in the log, each counted once."""
    with Workspace(repository) as ws:
        return len({event.data["task"] for event in ws.log(after=0, limit=100_000, type="message:sent")})
