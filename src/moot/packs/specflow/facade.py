"""The operations of the protocol, by the names and parameters of its text, and the verbs that carry them out."""

from __future__ import annotations

from moot.core.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TOOL = "TeammateTool"
OPERATIONS = {  # each with its verb, and the verb's parameter for each of its own
    "write": ("specflow write", {"to": "to", "message": "message"}),
    "broadcast": ("specflow broadcast", {"message": "message"}),
    "spawnTeam": ("specflow spawn-team", {"name": "name", "config": "config"}),
    "requestShutdown": ("specflow request-shutdown", {"name": "name"}),
}
TASKS = {
    "TaskCreate": ("task add", {"subject": "title", "description": "body", "activeForm": "doing"}),
    "TaskUpdate": ("task move", {"taskId": "task", "status": "state"}),
    "TaskList": ("board", {}),
}
_UPDATES = {  # the other parameters of TaskUpdate
    "owner": ("task assign", "task", "agent"),
    "addBlockedBy": ("task link", "task", "needs"),
    "addBlocks": ("task link", "needs", "task"),
}


def verbs_of(tool: str, given: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The verbs, with their arguments, that a call of one of these tools stands for."""
    rest = dict(given)
    table, operation = (OPERATIONS, rest.pop("operation", None)) if tool == TOOL else (TASKS, tool)
    verb, names = table.get(str(operation), ("", {}))
    more = _UPDATES if tool == "TaskUpdate" else {}
    own = {names[name]: value for name, value in rest.items() if name in names}
    found = [(verb, own)] if not more or "status" in rest else []
    for name, (other, mine, its) in more.items():
        values = rest[name] if isinstance(rest.get(name), list) else [rest[name]] if name in rest else []
        for value in values:
            pair = {mine: rest.get("taskId"), its: value}
            found.append((other, {key: (text,) if key == "needs" else text for key, text in pair.items()}))
    if not verb or not found or not {*rest} <= {*names, *more} or (more and "taskId" not in rest):
        known = [*names, *more] if verb else [*table]
        about = ", ".join(known)
        raise Usage(
            "bad_arguments",
            f"{tool} cannot do that: {operation} with {', '.join(rest)}.",
            f"Use: {about}.",
            known=known,
        )
    return found
