"""The sample events of the specification, as they are written there, and variants of them."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]

STARTED: Event = {
    "type": "task:started",
    "agent": "gsd-executor",
    "plan": "01-02",
    "task": 1,
    "taskName": "Create User model",
    "timestamp": "2024-01-15T10:30:00Z",
}
COMPLETED: Event = {
    "type": "task:completed",
    "agent": "gsd-executor",
    "plan": "01-02",
    "task": 1,
    "taskName": "Create User model",
    "commit": "abc1234",
    "duration": "15min",
    "timestamp": "2024-01-15T10:45:00Z",
}
FAILED: Event = {
    "type": "task:failed",
    "agent": "gsd-executor",
    "plan": "01-02",
    "task": 1,
    "error": "Test verification failed",
    "timestamp": "2024-01-15T10:45:00Z",
}
CREATED: Event = {
    "type": "artifact:created",
    "path": "src/models/user.ts",
    "provides": ["User", "UserCreate", "UserUpdate"],
    "createdBy": "01-01",
    "timestamp": "2024-01-15T10:35:00Z",
}
MODIFIED: Event = {
    "type": "artifact:modified",
    "path": "src/models/user.ts",
    "modifiedBy": "01-02",
    "changes": ["added role field"],
    "timestamp": "2024-01-15T11:00:00Z",
}
CLAIMED: Event = {
    "type": "file:claimed",
    "path": "src/api/users.ts",
    "agent": "gsd-executor",
    "plan": "01-02",
    "timestamp": "2024-01-15T10:30:00Z",
}
RELEASED: Event = {
    "type": "file:released",
    "path": "src/api/users.ts",
    "agent": "gsd-executor",
    "timestamp": "2024-01-15T10:45:00Z",
}
SATISFIED: Event = {
    "type": "dependency:satisfied",
    "artifact": "src/models/user.ts",
    "requiredBy": ["01-02", "01-03"],
    "timestamp": "2024-01-15T10:35:00Z",
}
DECIDED: Event = {
    "type": "decision:made",
    "id": "dec-001",
    "decision": "Use jose library for JWT",
    "rationale": "Edge runtime compatibility",
    "madeBy": "01-02",
    "affects": ["02-*"],
    "timestamp": "2024-01-15T10:40:00Z",
}
REACHED: Event = {
    "type": "checkpoint:reached",
    "plan": "01-03",
    "task": 2,
    "checkpointType": "human-verify",
    "awaiting": "user approval",
    "timestamp": "2024-01-15T11:00:00Z",
}
ALL = (STARTED, COMPLETED, FAILED, CREATED, MODIFIED, CLAIMED, RELEASED, SATISFIED, DECIDED, REACHED)  # as in the text
IN_ORDER = (CREATED, STARTED, CLAIMED, DECIDED, RELEASED, COMPLETED, MODIFIED, SATISFIED, REACHED, FAILED)  # all valid


def without(event: Event, *keys: str) -> Event:
    return {key: value for key, value in event.items() if key not in keys}


def now(event: Event, **changes: Any) -> Event:
    """The event without its time: moot writes the current one."""
    return {**without(event, "timestamp"), **changes}


def started(plan: str = "01-02", task: int = 1, agent: str = "gsd-executor", name: str = "Build") -> Event:
    return {"type": "task:started", "agent": agent, "plan": plan, "task": task, "taskName": name}


def completed(plan: str = "01-02", task: int = 1, agent: str = "gsd-executor", **more: Any) -> Event:
    return {"type": "task:completed", "agent": agent, "plan": plan, "task": task, "commit": "abc1234", **more}


def failed(plan: str = "01-02", task: int = 1, agent: str = "gsd-executor", error: str = "It broke") -> Event:
    return {"type": "task:failed", "agent": agent, "plan": plan, "task": task, "error": error}


def claimed(path: str = "src/api/users.ts", plan: str = "01-02", agent: str = "gsd-executor") -> Event:
    return {"type": "file:claimed", "path": path, "agent": agent, "plan": plan}


def released(path: str = "src/api/users.ts", agent: str = "gsd-executor", **more: Any) -> Event:
    return {"type": "file:released", "path": path, "agent": agent, **more}


def created(path: str = "src/models/user.ts", *provides: str, plan: str = "01-01") -> Event:
    return {"type": "artifact:created", "path": path, "provides": list(provides), "createdBy": plan}


def decided(decision: str = "Use jose", *affects: str, plan: str = "01-02", **more: Any) -> Event:
    said = {"decision": decision, "rationale": "Because", "madeBy": plan, "affects": list(affects)}
    return {"type": "decision:made", **said, **more}


def reached(plan: str = "01-03", task: int = 2, **more: Any) -> Event:
    said = {"plan": plan, "task": task, "checkpointType": "human-verify", "awaiting": "user approval"}
    return {"type": "checkpoint:reached", **said, **more}
