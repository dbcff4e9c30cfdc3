"""The team lead of the file protocol. It knows nothing about moot: it reads and writes two JSON files.

It assigns one task after the other and reads the reports. A task is completed when its messages have left the files.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(".claude-orchestrator")
TO_DEVELOPER = FOLDER / "tasks/messages/to-developer.json"
TO_TEAM_LEAD = FOLDER / "tasks/messages/to-team-lead.json"

# The task, the file that must be on main first, the file to create, and the instructions.
TASKS = [
    ("discount", "till/money.py", "till/discount.py", "Ten per cent off from 10.00 upwards, in whole cents."),
    ("receipt", "till/basket.py", "till/receipt.py", "One line for each thing, the discount, what is to be paid."),
]


def main() -> None:
    for task, needed, path, instructions in TASKS:
        while not Path(needed).exists():
            pause()
        assign(task, path, instructions)
        while not mentions(TO_TEAM_LEAD, task):
            pause()
        read_report(task)
        while mentions(TO_DEVELOPER, task):
            pause()
        note(f"{task} is completed")


def assign(task: str, path: str, instructions: str) -> None:
    mailbox = load(TO_DEVELOPER)
    mailbox["messages"].append(
        {
            "type": "task_assignment",
            "taskId": task,
            "platform": "custom",
            "title": f"Write {path}",
            "instructions": instructions,
            "filesToCreate": [path],
            "architecture": "plain functions",
            "timestamp": now(),
        }
    )
    save(TO_DEVELOPER, mailbox)
    note(f"{task} is assigned")


def read_report(task: str) -> None:
    mailbox = load(TO_TEAM_LEAD)
    report = next(message for message in mailbox["messages"] if message["taskId"] == task)
    note(f"{task} is reported: {report['summary']} (build: {report['buildResult']['status']})")
    save(TO_TEAM_LEAD, {**mailbox, "lastRead": now()})


def mentions(path: Path, task: str) -> bool:
    return any(message["taskId"] == task for message in load(path)["messages"])


def pause() -> None:
    """Wait. An agent that has only files must poll them."""
    time.sleep(0.2)


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def save(path: Path, mailbox: Any) -> None:
    path.write_text(json.dumps(mailbox, indent=2), encoding="utf-8")


def note(line: str) -> None:
    """Add a line to the development log."""
    log = FOLDER / "logs/log.md"
    log.parent.mkdir(exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"- {now()} {line}\n")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    main()
