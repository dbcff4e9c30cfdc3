"""The JSON Schema of `pack.toml`. The loader validates packs with it, and editors can use it as a file.

`moot.api.protocol.references` checks what a schema cannot: that a role exists, that a state can be reached.
"""

from __future__ import annotations

from moot.api.protocol.stage_grammar import PIPELINE, STAGE
from moot.core.lifecycle import HOLDS, NEEDS, PHASES, SILENCE
from moot.core.schema.keywords import DIALECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

NAME = "^[a-z][a-z0-9_-]{0,63}$"


def _text(said: str, **more: Any) -> Schema:
    return {"type": "string", "minLength": 1, "description": said, **more}


def _choice(said: str, *words: str) -> Schema:
    return {"enum": list(words), "description": said}


def _list(said: str, item: Schema | None = None, **more: Any) -> Schema:
    return {"type": "array", "items": item or {"type": "string", "minLength": 1}, "description": said, **more}


def _flag(said: str) -> Schema:
    return {"type": "boolean", "description": said}


def _one_or_more(said: str) -> Schema:
    return {
        "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
        "description": said,
    }


def _table(keys: dict[str, Schema], *required: str, said: str = "") -> Schema:
    about = {"description": said} if said else {}
    return {"type": "object", "properties": keys, "required": list(required), "additionalProperties": False, **about}


def _tables(of: str, said: str) -> Schema:
    return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{of}"}, "description": said}


_SAID = {  # what messages and bound events have in common
    "title": _text("The name that people see."),
    "from": _one_or_more("The role or roles that may send it. Without it, anybody may."),
    "schema": _text("The file with its JSON Schema, in the pack's folder."),
    "task": _text("The field with the id of its task."),
    "creates": _table(
        {
            "lifecycle": _text("The entry of [lifecycles] that the task follows. Without it, [lifecycle]."),
            "title": _text("The field with the title of the task."),
            "body": _text("The field with the body of the task."),
            "extra": _list("Fields that are stored with the task."),
        },
        "title",
        said="Adds the task if it does not exist.",
    ),
    "moves": _text("The verb that it applies to its task. For two verbs, define two types or write code."),
    "reason": _text("The field with the reason for that move."),
    "paths": _list("Fields that are lists of paths. They are stored relative to the root of the worktree."),
    "stamp": _text("The field with the time. If a caller omits it, moot sets it. In a file it is required."),
}
_MESSAGE = _table(
    {
        **_SAID,
        "to": _one_or_more("The recipients: roles, @requester or @all."),
        "order": _list("The order in which the keys are written. `a.b` is the key `b` of the object `a`."),
        "wants": _choice("What the recipient must do. Default: `nothing`.", "nothing", "ack", "answer"),
        "answers": _text("The type of message that it answers."),
        "repeat": _choice(
            "What happens to another such message after the task was moved: `store` (the default) stores it; `ignore` "
            "drops it if it is equal, and refuses it otherwise.",
            "store",
            "ignore",
        ),
        "receipt": _table(
            {
                "field": _text("The field with the result of a command. It is an object."),
                "command": _text("Its key for the command."),
                "output": _text("Its key for the output."),
                "mark": _text("Its key that shows in a file which receipt it was taken from. Only moot writes it."),
                "passed": {"type": "object", "description": "The other keys if the command succeeded."},
                "failed": {"type": "object", "description": "The other keys if it failed."},
            },
            "field",
            "command",
            "output",
            "mark",
            "passed",
            "failed",
            said="How the receipt of a check becomes a part of the message: `moot send --receipt`.",
        ),
    },
    "to",
)
_ROLE = _table(
    {
        "title": _text("The name that people see."),
        "does": _text("What the role does, in one sentence."),
        "delivery": _choice(
            "`each` (the default): every member gets its own copy. `one`: the role has one mailbox, and the "
            "member that acknowledges a message first takes it.",
            "one",
            "each",
        ),
        "also": _list("Who may act in the role without joining with it: `person`.", {"enum": ["person"]}),
        "brief": _text(
            "The file with the brief of the role, which `moot brief ROLE` shows: Markdown, in the pack's folder. "
            "Without it, moot writes one from the data."
        ),
    }
)
_MIRROR = _table(
    {
        "path": _text("The file, relative to the root of the worktree."),
        "about": _text("What the file is for, in a few words. Briefs show it."),
        "form": _text("How the file is read and written: a shared form, or one that the pack defines."),
        "mailbox": _text('The mailbox that it shows, such as @reviewer. The role has `delivery = "one"`.'),
        "types": _list("The types of messages in it. They are sent to that mailbox."),
        "follows": _list("Prefixes of the streams that it shows."),
        "fields": {
            "type": "object",
            "description": "Options of the form, such as the names of keys in the file. Each form has its own.",
        },
        "scope": _choice(
            "Whether all worktrees have the same content (the default), or each has its own.", "workspace", "worktree"
        ),
        "missing": _choice(
            "What happens when the file is deleted: `restore` (the default) writes it again, `reset` starts over with "
            "`initial`, `ignore` does nothing.",
            "restore",
            "reset",
            "ignore",
        ),
        "emptied": _choice(
            "What happens when the file is emptied: `clear` (the default) hides the messages, `restore` writes them "
            "again.",
            "clear",
            "restore",
        ),
        "wins": _choice("Which one wins if the file and the log changed the same part. Default: `log`.", "log", "file"),
        "counts": _flag("Whether receipts cover the file."),
        "misplaced": _list("Paths where the file may be by mistake. `moot pack check` reports a file there."),
    },
    "path",
    "form",
)
_EDGE = _table(
    {
        "verb": _text("The verb that makes the move: a verb of `moot task`, or a new one."),
        "from": _text("The state before."),
        "to": _text("The state after."),
        "who": _list("Who may make the move: anyone, holder, reviewer, creator, person, or a role.", minItems=1),
        "needs": _list(
            "What the move requires: a `reason`; a message that makes the move (`report`); the `receipt` of a check; "
            "a task added with --no-review (`unreviewed`).",
            {"enum": list(NEEDS)},
        ),
        "holds": _choice(
            "Who holds the task afterwards: `actor` (the caller), `keep` (the same as before), `owner` (named by "
            "--owner, or the author), `none` (the default).",
            *HOLDS,
        ),
        "attempt": {"enum": [0, 1], "description": "1: the move starts a new attempt."},
        "moot": _flag("Whether moot itself may make the move: for a report of missing instructions, or a time limit."),
        "explicit": _flag("The move is made only by its verb, never by naming the target state."),
    },
    "verb",
    "from",
    "to",
    "who",
)
_LIFECYCLE = _table(
    {
        "states": _tables("state", "The states. A task starts in the first one."),
        "edges": {"type": "array", "items": {"$ref": "#/$defs/edge"}, "minItems": 1, "description": "The moves."},
        "editors": _list("The roles that may edit its tasks, besides their creator, their holder and people."),
        "silence": _choice(
            "What happens to a task whose holder is silent for too long: `return` (the default) opens it again, "
            "`flag` marks it, `ignore` does nothing: the pack has limits of its own.",
            *SILENCE,
        ),
        "attempts": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000_000,
            "description": "The maximum number of attempts.",
        },
        "exhausted": _text("The state of a task after its last attempt failed."),
    },
    "states",
    "edges",
)

SCHEMA: Schema = {
    "$schema": DIALECT,
    "title": "pack.toml of moot",
    "$defs": {
        "role": _ROLE,
        "message": _MESSAGE,
        "event": _table(_SAID),
        "mirror": _MIRROR,
        "lifecycle": _LIFECYCLE,
        "state": _table(
            {"phase": _choice("What the state means to programs that do not know the lifecycle.", *PHASES)}, "phase"
        ),
        "edge": _EDGE,
        "stage": STAGE,
        "setting": {"type": "object", "description": "The JSON Schema of the value, with a default."},
    },
    **_table(
        {
            "name": {
                "type": "string",
                "pattern": NAME,
                "description": "a name of lower-case letters, digits, `-` and `_`",
            },
            "title": _text("What the pack is, in a few words."),
            "version": _text("The version of the pack. The log records which version is active."),
            "limits": _table(
                {
                    "message": {
                        "type": ["integer", "string"],
                        "description": "The maximum size of a message of this pack, if it is larger than "
                        "`messages.limit` in moot.toml.",
                    }
                }
            ),
            "roles": _tables("role", "The roles of the protocol, by name."),
            "messages": _tables("message", "The message types, by name."),
            "events": _tables(
                "event",
                "Events that the pack acts on, by type: `build:broken`, `build:*`. If the pack has code that takes "
                "events, also moot's own types, and `*` for all types that nothing else has.",
            ),
            "mirrors": _tables("mirror", "The files, by name."),
            "lifecycle": {"$ref": "#/$defs/lifecycle"},
            "lifecycles": _tables("lifecycle", "More lifecycles, by name. Tasks refer to them as pack/name."),
            "stage": {
                "type": "array",
                "items": {"$ref": "#/$defs/stage"},
                "description": "The stages of a pipeline, in order.",
            },
            "pipeline": PIPELINE,
            "settings": _tables("setting", "The keys that [pack.NAME] in moot.toml may have."),
        },
        "name",
        "title",
    ),
}
