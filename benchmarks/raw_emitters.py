"""Many processes emit one event each at the same moment: how many events are kept?

Three recipes: the protocol's shell step (jq), its JavaScript emitter (node), and `moot gsd emit`. The first two know
only the file. They run alone, while `moot mirror --watch` runs in their directory, or with a worktree for each. A
reader looks at the file all the time and counts how often it is not valid JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from moot.core.identity import decide
from moot.views import feeds
from moot.wiring import open_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "emitters")
FILE = ".planning/blackboard/events.json"
RECIPES = ("jq", "node", "moot")
SIZES = (20, 50, 100)
PLAN, AGENT = "01-01", "gsd-executor"
_EMPTY: dict[str, Any] = {"events": [], "lastEventId": 0, "retentionPolicy": "24h"}
_PATIENCE = 180.0
_QUIET = 2.0  # seconds without a new event before it stops waiting
_TORN = 8.0  # the same while the file is not valid JSON: moot gives it 5 seconds
_GATED = 'cat > /dev/null; exec "$@"'  # waits until the standard input is closed


@dataclass
class Race:
    """What came of one race."""

    sent: int
    kept: int = 0
    failed: int = 0  # emitters that ended with an error
    looks: int = 0
    invalid: int = 0  # looks that found no valid JSON
    empty: int = 0  # of them, those that found an empty file
    seconds: float = 0.0  # until all emitters have ended
    lost_again: int = 0  # events that a reader saw with a number, and that are not in the file at the end
    valid_at_end: bool = True
    in_step: bool = True  # the file has every event of the log
    errors: list[str] = field(default_factory=list)

    @property
    def lost(self) -> int:
        return self.sent - self.kept


def missing() -> str:
    """A program that the recipes need and that is not installed; empty if there is none."""
    return next((name for name in ("jq", "node", "bash") if shutil.which(name) is None), "")


def alone(root: str, recipe: str, number: int) -> Race:
    """In a directory without moot."""
    path = os.path.join(root, FILE)
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(_EMPTY, file, indent=2)
    race = Race(number)
    with _reader(path, race, {}):
        _emit(race, recipe, [root] * number)
    content = parsed(path)
    race.valid_at_end = content is not None
    race.kept = len({event["task"] for event in (content or _EMPTY)["events"]})
    return race


def with_moot(roots: Sequence[str], recipe: str, number: int, *, watched: bool = True) -> Race:
    """In worktrees of a workspace with the pack, `roots`, over which the emitters are distributed.

    `watched`: while `moot mirror --watch` runs.
    """
    race, seen = Race(number), dict[int, str]()
    path = os.path.join(roots[0], FILE)
    with contextlib.ExitStack() as stack:
        if watched:
            stack.enter_context(watching(roots[0]))
        stack.enter_context(_reader(path, race, seen))
        _emit(race, recipe, [roots[index % len(roots)] for index in range(number)])
        race.kept = _settled(roots, number)
        race.in_step = _in_step(path, stored(roots[0]))
    content = parsed(path)
    race.valid_at_end = content is not None
    shown = _numbered(content or _EMPTY)
    race.lost_again = sum(shown.get(known) != task for known, task in seen.items())
    return race


def stored(root: str) -> dict[int, int]:
    """The events in the log: the task of each number. Opened read-only, so that nothing is absorbed by looking."""
    with open_workspace(root, os.environ, reading=True) as workspace, workspace.call(decide(os.environ)) as call:
        return {one.number: one.event["task"] for one in feeds.entries(call.engine.read(), "gsd")}


def parsed(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


# --- the emitters -----------------------------------------------------------------------------------------------------


def _emit(race: Race, recipe: str, places: Sequence[str]) -> None:
    gate, hold = os.pipe()
    emitters, start = [], time.monotonic()
    try:
        for task, place in enumerate(places, 1):
            words, env = _recipe(recipe, task)
            emitters.append(
                subprocess.Popen(
                    ["sh", "-c", _GATED, "sh", *words],
                    cwd=place,
                    env={**os.environ, **env},
                    stdin=gate,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                )
            )
    finally:
        os.close(gate)
        os.close(hold)  # the start signal
    for emitter in emitters:
        _, said = emitter.communicate(timeout=max(1.0, start + _PATIENCE - time.monotonic()))
        if emitter.returncode != 0:
            race.failed += 1
            race.errors.append(said.decode(errors="replace").strip()[-200:])
    race.seconds = time.monotonic() - start


def _recipe(recipe: str, task: int) -> tuple[list[str], dict[str, str]]:
    name = f"Task {task}"
    match recipe:
        case "jq":
            env = {"PLAN": PLAN, "TASK_NUM": str(task), "TASK_NAME": name}
            return ["bash", os.path.join(HERE, "step.sh")], env
        case "node":
            event = {"type": "task:started", "agent": AGENT, "plan": PLAN, "task": task, "taskName": name}
            event["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
            return ["node", os.path.join(HERE, "emitter.mjs"), json.dumps(event)], {}
        case _:
            fields = [f"agent={AGENT}", f"plan={PLAN}", f"task={task}", f"taskName={name}"]
            return [sys.executable, "-m", "moot", "gsd", "emit", "task:started", *fields], {"MOOT_PERSON": "1"}


# --- the mirror and the reader ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def watching(root: str) -> Iterator[subprocess.Popen[bytes]]:
    """`moot mirror --watch`, from its first look on."""
    watcher = subprocess.Popen(
        [sys.executable, "-m", "moot", "mirror", "--watch"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert watcher.stdout is not None
        watcher.stdout.readline()  # it says that it has begun
        yield watcher
        if watcher.poll() is not None:
            raise RuntimeError(f"`moot mirror --watch` ended with {watcher.returncode}")
    finally:
        watcher.terminate()
        watcher.communicate(timeout=30)


@contextlib.contextmanager
def _reader(path: str, race: Race, seen: dict[int, Any]) -> Iterator[None]:
    """Read the file all the time, and note the numbered events in it."""
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.001):
            race.looks += 1
            content = parsed(path)
            if content is None:
                race.invalid += 1
                race.empty += _is_empty(path)
                continue
            seen.update(_numbered(content))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _is_empty(path: str) -> bool:
    try:
        return os.stat(path).st_size == 0
    except OSError:
        return False


def _settled(roots: Sequence[str], sent: int) -> int:
    """How many different events are in the log. Returns when all are, or when no more arrived for a while."""
    last, since = 0, time.monotonic()
    while True:
        if (now := len(set(stored(roots[0]).values()))) > last:
            last, since = now, time.monotonic()
        sound = all(parsed(os.path.join(root, FILE)) is not None for root in roots)
        if last == sent or time.monotonic() - since > (_QUIET if sound else _TORN):
            return last
        time.sleep(0.1)


def _in_step(path: str, log: dict[int, int]) -> bool:
    """Whether the file comes to show exactly the events of the log."""
    end = time.monotonic() + _TORN
    while time.monotonic() < end:
        if _numbered(parsed(path) or _EMPTY) == log:
            return True
        time.sleep(0.1)
    return False


def _numbered(content: dict[str, Any]) -> dict[int, Any]:
    """The events that moot has written: the task of each number."""
    return {event["eventId"]: event.get("task") for event in content["events"] if "eventId" in event}
