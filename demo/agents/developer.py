"""The developer of the file protocol. It knows nothing about moot: it reads one JSON file, builds, and writes another.

The developer and the lead work in different worktrees, each with its own copy of the files. moot keeps the copies in
sync.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import craft

MESSAGES = Path(".claude-orchestrator/tasks/messages")
TO_DEVELOPER = MESSAGES / "to-developer.json"
TO_TEAM_LEAD = MESSAGES / "to-team-lead.json"


def main() -> None:
    built: set[str] = set()
    while True:
        mailbox = load(TO_DEVELOPER)
        new = [message for message in mailbox["messages"] if message["taskId"] not in built]
        if new:
            save(TO_DEVELOPER, {**mailbox, "lastRead": now()})
        for assignment in new:
            report(assignment, build(assignment))
            built.add(assignment["taskId"])
        time.sleep(0.2)


def build(assignment: dict[str, Any]) -> dict[str, Any]:
    """Write the files, compile them, and return the result of the build."""
    paths = assignment["filesToCreate"]
    for path in paths:
        craft.write(path, share=0.5)
        craft.think(1.2)
        craft.write(path)
        craft.think(0.8)
    craft.commit(assignment["taskId"], *paths)
    errors = craft.python("-m", "py_compile", *paths)
    command = f"python -m py_compile {' '.join(paths)}"
    if errors:
        return {"status": "failed", "command": command, "errors": 1, "output": errors}
    return {"status": "success", "command": command, "errors": 0}


def report(assignment: dict[str, Any], result: dict[str, Any]) -> None:
    mailbox = load(TO_TEAM_LEAD)
    mailbox["messages"].append(
        {
            "type": "completion_report",
            "taskId": assignment["taskId"],
            "platform": assignment["platform"],
            "status": "awaiting_review",
            "summary": f"Wrote {', '.join(assignment['filesToCreate'])}.",
            "filesCreated": assignment["filesToCreate"],
            "filesModified": [],
            "buildResult": result,
            "timestamp": now(),
        }
    )
    save(TO_TEAM_LEAD, mailbox)


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def save(path: Path, mailbox: Any) -> None:
    path.write_text(json.dumps(mailbox, indent=2), encoding="utf-8")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    main()
