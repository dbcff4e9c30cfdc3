"""What the arguments of verbs name: tasks, agents, messages, files. Completion and short task ids go by it."""

from __future__ import annotations

# By the argument's name, or by verb and name where the name is ambiguous.
_NAMES = {
    "to": "recipients",
    "task": "tasks",
    "needs": "tasks",
    "thread": "messages",
    "ids": "messages",
    "thing": "things",
    "holder": "agents",
    "paths": "files",
    "path": "files",
    "what": "files",
    "file": "files",
    "type": "events",
    "fail_on": "events",
}
_OF_VERB = {
    ("leave", "name"): "agents",
    ("reply", "id"): "messages",
    ("answer", "id"): "messages",
    ("thread", "id"): "messages",
    ("artifact modify", "id"): "artifacts",
    ("artifact show", "id"): "artifacts",
    ("decide", "replaces"): "decisions",
    ("decision supersede", "id"): "decisions",
    ("decision supersede", "by"): "decisions",
    ("decision show", "id"): "decisions",
    ("checkpoint resolve", "id"): "checkpoints",
    ("checkpoint withdraw", "id"): "checkpoints",
    ("checkpoint show", "id"): "checkpoints",
    ("mailbox", "name"): "mailboxes",
    ("mailbox clear", "name"): "mailboxes",
    ("mailbox restore", "name"): "mailboxes",
    ("held show", "id"): "entries",
    ("held resubmit", "id"): "entries",
    ("held drop", "id"): "entries",
    ("effects", "handler"): "handlers",
    ("effects retry", "ids"): "effects",
    ("effects drop", "ids"): "effects",
    ("handle", "allow"): "handlers",
    ("handle", "forbid"): "handlers",
    ("allow", "names"): "handlers",
    ("needs-me", "answer"): "needs",
    ("receipt show", "id"): "receipts",
    ("send", "type"): "types",
    ("task add", "lifecycle"): "lifecycles",
    ("task move", "state"): "moves",
    ("task move", "owner"): "agents",
    ("task assign", "agent"): "agents",
    ("task add", "from_"): "files",
    ("join", "role"): "roles",
    ("init", "pack"): "packs",
    ("brief", "role"): "roles",
    ("run", "name"): "packs",
    ("run show", "id"): "runs",
    ("run log", "id"): "runs",
}


def named_by(verb: str, argument: str) -> str:
    """The kind of things that this argument names; empty if it names none."""
    return _OF_VERB.get((verb, argument), _NAMES.get(argument, ""))
