"""The developer. It knows nothing about moot: it reads one JSON file, builds, and writes another.

It writes a test only if it is asked for one, or if it thinks of it: for `farewell` it does not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import craft

MESSAGES = Path(".claude-orchestrator/tasks/messages")
TO_DEVELOPER, TO_TEAM_LEAD = MESSAGES / "to-developer.json", MESSAGES / "to-team-lead.json"
SAYS = {"greeting": "hello", "farewell": "goodbye", "count": "one two three"}


def main() -> None:
    done: set[str] = set()
    while True:
        mailbox = json.loads(TO_DEVELOPER.read_text(encoding="utf-8"))
        for assignment in mailbox["messages"]:
            if assignment["timestamp"] + assignment["taskId"] in done:
                continue
            done.add(assignment["timestamp"] + assignment["taskId"])
            save(TO_DEVELOPER, {**mailbox, "lastRead": now()})
            report(assignment, *build(assignment))
        time.sleep(0.2)


def build(assignment: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Write the program, and a test; run it. Returns the files and the result of the build."""
    name = assignment["taskId"]
    craft.think(1.5)
    Path(f"{name}.py").write_text(f"def say() -> str:\n    return {SAYS[name]!r}\n", encoding="utf-8")
    files = [f"{name}.py"]
    if name != "farewell" or "test" in assignment["instructions"]:
        test = f"import unittest\n\nimport {name}\n\n\nclass Test(unittest.TestCase):\n    def test(self):\n"
        Path(f"test_{name}.py").write_text(f"{test}        assert {name}.say() == {SAYS[name]!r}\n", encoding="utf-8")
        files.append(f"test_{name}.py")
    craft.think(1.5)
    ran = subprocess.run([sys.executable, files[-1]], capture_output=True, text=True, check=False)
    status = "failed" if ran.returncode else "success"
    result = {"status": status, "command": f"python {files[-1]}", "errors": int(ran.returncode != 0)}
    return files, {**result, "output": ran.stderr} if ran.returncode else result


def report(assignment: dict[str, Any], files: list[str], result: dict[str, Any]) -> None:
    mailbox = json.loads(TO_TEAM_LEAD.read_text(encoding="utf-8"))
    mailbox["messages"].append(
        {
            "type": "completion_report",
            "taskId": assignment["taskId"],
            "platform": assignment["platform"],
            "status": "awaiting_review",
            "summary": f"Wrote {', '.join(files)}.",
            "filesCreated": files,
            "filesModified": [],
            "buildResult": result,
            "timestamp": now(),
        }
    )
    save(TO_TEAM_LEAD, mailbox)


def save(path: Path, content: Any) -> None:
    draft = path.with_suffix(".developer")
    draft.write_text(json.dumps(content, indent=2), encoding="utf-8")
    draft.replace(path)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    main()
