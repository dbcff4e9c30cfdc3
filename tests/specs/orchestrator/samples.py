"""The samples of the specification, as they stand there. `|` separates the values of which a real message has one."""

from __future__ import annotations

import json
from typing import Any

TO_DEVELOPER = """\
{
  "messages": [
    {
      "type": "task_assignment",
      "taskId": "task-001",
      "platform": "web|android|ios|custom",
      "title": "Task Title",
      "instructions": "Detailed implementation instructions",
      "filesToCreate": ["path/to/file1.ts", "path/to/file2.ts"],
      "architecture": "Architecture pattern to follow",
      "apiEndpoints": ["GET /api/resource", "POST /api/resource"],
      "timestamp": "2024-01-01T00:00:00.000Z"
    }
  ],
  "lastRead": null
}
"""

TO_TEAM_LEAD = """\
{
  "messages": [
    {
      "type": "completion_report",
      "taskId": "task-001",
      "platform": "web|android|ios|custom",
      "status": "awaiting_review",
      "summary": "Brief summary of implementation",
      "filesCreated": ["path/to/created/file.ts"],
      "filesModified": ["path/to/modified/file.ts"],
      "buildResult": {
        "status": "success|failed|not_applicable|not_verified",
        "command": "npm run build",
        "errors": 0,
        "output": "Build output if failed"
      },
      "timestamp": "2024-01-01T00:00:00.000Z"
    }
  ],
  "lastRead": null
}
"""

BUILD_RESULT = """\
{
  "status": "success|failed|not_applicable|not_verified",
  "command": "The build command executed",
  "errors": 0,
  "output": "Optional: Error output or relevant messages"
}
"""

CLEARED = """\
{
  "messages": [],
  "lastRead": "2024-01-01T00:00:00.000Z"
}
"""

PLATFORMS = ("web", "android", "ios", "custom")
BUILD_STATUSES = ("success", "failed", "not_applicable", "not_verified")
STATES = ("pending", "in_progress", "awaiting_review", "completed", "rejected")

ASSIGNMENT_FIELDS = (
    "type",
    "taskId",
    "platform",
    "title",
    "instructions",
    "filesToCreate",
    "architecture",
    "timestamp",
)
REPORT_FIELDS = (
    "type",
    "taskId",
    "platform",
    "status",
    "summary",
    "filesCreated",
    "filesModified",
    "buildResult",
    "timestamp",
)
BUILD_FIELDS = ("status", "command", "errors")


def developer_file(platform: str = "web") -> str:
    """The sample of `to-developer.json` with one platform."""
    return TO_DEVELOPER.replace("|".join(PLATFORMS), platform)


def team_lead_file(platform: str = "web", status: str = "success") -> str:
    """The sample of `to-team-lead.json` with one platform and one build status."""
    return TO_TEAM_LEAD.replace("|".join(PLATFORMS), platform).replace("|".join(BUILD_STATUSES), status)


def assignment(task: str = "task-001", **changes: Any) -> dict[str, Any]:
    """The sample assignment, with changes."""
    message: dict[str, Any] = json.loads(developer_file())["messages"][0]
    return {**message, "taskId": task, **changes}


def report(task: str = "task-001", build: str = "success", **changes: Any) -> dict[str, Any]:
    """The sample report, with changes; those of the form `build_errors=1` go into its build result."""
    message: dict[str, Any] = json.loads(team_lead_file(status=build))["messages"][0]
    inner = {name[6:]: value for name, value in changes.items() if name.startswith("build_")}
    outer = {name: value for name, value in changes.items() if not name.startswith("build_")}
    return {**message, "taskId": task, "buildResult": {**message["buildResult"], **inner}, **outer}


def without(message: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in fields}
