"""Agents who know nothing of moot: they read a protocol's file, append, write it back. And a reader who never stops.

Commands and answers as in `worker.py`, which is not imported: nothing of moot is loaded here.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import sys
import time
from typing import Any


class Flag:
    """Tells everybody whether its agent is just writing in place: an odd number. No number comes twice."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8)

    def read(self) -> int:
        return int.from_bytes(self._memory[:8], "little")

    def step(self) -> None:
        self._memory[:8] = (self.read() + 1).to_bytes(8, "little")


def assignment(agent: str, number: int) -> dict[str, Any]:
    return {
        "type": "task_assignment",
        "taskId": f"{agent}-{number}",
        "platform": "web",
        "title": f"{agent} {number}",
        "instructions": "Build it. " * 10,
        "filesToCreate": ["src/new.ts"],
        "architecture": "MVVM",
        "timestamp": "2031-01-01T00:00:00.000Z",
    }


def report(agent: str, number: int) -> dict[str, Any]:
    return {
        "type": "completion_report",
        "taskId": f"for-{agent}-{number}",
        "platform": "web",
        "status": "awaiting_review",
        "summary": f"{agent} {number}",
        "filesCreated": [],
        "filesModified": ["src/new.ts"],
        "buildResult": {"status": "success", "command": "make", "errors": 0},
        "timestamp": "2031-01-01T00:00:00.000Z",
    }


def event(agent: str, number: int) -> dict[str, Any]:
    return {"type": "build:finished", "mark": f"{agent} {number}", "timestamp": "2031-01-01T00:00:00.000Z"}


MAKERS = {"assignment": assignment, "report": report, "event": event}


def added(content: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """The content of a mailbox or of a blackboard with one more entry, as the protocol's own emitters write it."""
    if "events" not in content:
        return {**content, "messages": [*content["messages"], entry]}
    return {**content, "events": [*content["events"], entry], "lastEventId": content["lastEventId"] + 1}


def append(
    path: str, agent: str, kind: str, how: str, flag: str, stop: str, most: int, pause: float
) -> dict[str, list[str]]:
    """Append messages to the file until told to stop; the marks of those that were completely written.

    Nobody but moot writes this file beside the agent, so whatever it finds broken, moot broke.
    """
    chance, own = random.Random(agent), Flag(flag)
    written: list[str] = []
    broken: list[str] = []
    while len(written) < most and not os.path.exists(stop):
        message = MAKERS[kind](agent, len(written))
        try:
            with open(path, "rb") as file:
                content = added(json.loads(file.read()), message)
        except (OSError, ValueError) as error:
            broken.append(repr(error))
            break
        time.sleep(chance.uniform(0, 0.005))  # it thinks, and what it read grows old
        if how == "in place":
            _write_in_place(path, json.dumps(content, indent=2).encode(), own)
        else:
            _write_by_rename(path, json.dumps(content, indent=2).encode())
        written.append(f"{agent} {len(written)}")
        time.sleep(chance.uniform(0, pause))
    return {"written": written, "broken": broken}


def _write_in_place(path: str, data: bytes, flag: Flag) -> None:
    flag.step()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for start in range(0, len(data), 1 + len(data) // 3):
        os.write(file, data[start : start + 1 + len(data) // 3])
    os.close(file)
    flag.step()


def _write_by_rename(path: str, data: bytes) -> None:
    draft = f"{path}.draft"
    with open(draft, "wb") as file:
        file.write(data)
    os.replace(draft, path)


def tear(path: str, agent: str, cut: int) -> None:
    """Begin to write the file in place, and die after so many bytes."""
    with open(path, "rb") as file:
        content = json.loads(file.read())
    content["messages"].append({**assignment(agent, 0), "instructions": "Größe " * 20})
    data = json.dumps(content, ensure_ascii=False).encode()
    writing = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(writing, data[: cut % len(data)])
    os.kill(os.getpid(), signal.SIGKILL)


def watch(paths: dict[str, list[str]], stop: str) -> dict[str, Any]:
    """Read the files over and over. Each has the flags of those who write it in place: then it may be torn."""
    flags = {path: [Flag(flag) for flag in its] for path, its in paths.items()}
    looks, broken = 0, []
    while not os.path.exists(stop):
        for path, its in flags.items():
            before = [flag.read() for flag in its]
            try:
                with open(path, "rb") as file:
                    data = file.read()
                found = json.loads(data)
                sound = isinstance(found["events" if "events" in found else "messages"], list)
            except (OSError, ValueError, KeyError, TypeError) as error:
                sound, data = False, repr(error).encode()
            looks += 1
            ours = all(number % 2 == 0 for number in before) and before == [flag.read() for flag in its]
            if not sound and ours:
                broken.append(f"{path}: {data[:100]!r}")
        time.sleep(0.003)  # it shares the machine
    return {"looks": looks, "broken": broken[:20]}


COMMANDS = {"append": append, "tear": tear, "watch": watch}


def main() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        sys.stdout.write(json.dumps(COMMANDS[command.pop("do")](**command)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
