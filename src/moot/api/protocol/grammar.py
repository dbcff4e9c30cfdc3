"""The JSON Schema of `pack.toml`. The loader checks with it, and editors get it as a file.

`moot.api.protocol.references` checks what a schema cannot: that a role exists, that a state can be reached.
"""

from __future__ import annotations

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
    "title": _text("Its name for people."),
    "from": _one_or_more("The role that sends it, or several. Without it, anybody may."),
    "schema": _text("The file with its JSON Schema, in the pack's folder."),
    "task": _text("The field that names the task it is about."),
    "creates": _table(
        {
            "lifecycle": _text("Which of [lifecycles] the task follows. Without it, [lifecycle]."),
            "title": _text("The field with the title of the task."),
            "body": _text("The field with everything else that is to be known."),
            "extra": _list("Fields that the task keeps."),
        },
        "title",
        said="It adds its task if there is none.",
    ),
    "moves": _text("The verb by which it moves its task: one. Two verbs take two types, or code."),
    "reason": _text("The field with the reason of that move."),
    "paths": _list("Fields that are lists of paths: stored relative to the root of the worktree."),
    "stamp": _text("The field with the time: set by moot when a caller leaves it out. A file has to bring it."),
}
_MESSAGE = _table(
    {
        **_SAID,
        "to": _one_or_more("The role that gets it, @requester, @all, or several of these."),
        "order": _list("The keys in the order in which they are written; a dotted one is inside of an object."),
        "wants": _choice("What a recipient has to do with it. Default: `nothing`.", "nothing", "ack", "answer"),
        "answers": _text("The type of message that it answers."),
        "repeat": _choice(
            "What another one does for a task that was moved already: `store` (the default) keeps it, "
            "`ignore` drops an equal one "
            "and refuses others, `amend` drops an equal one and takes another as a correction.",
            "store",
            "ignore",
            "amend",
        ),
    },
    "to",
)
_ROLE = _table(
    {
        "title": _text("Its name for people."),
        "does": _text("What it does, in a sentence."),
        "delivery": _choice(
            "`each` (the default): every member gets its own; `one`: a mailbox of the role, the first to ack takes.",
            "one",
            "each",
        ),
        "also": _list("`person`: people may act in the role without joining with it.", {"enum": ["person"]}),
    }
)
_MIRROR = _table(
    {
        "path": _text("The file, relative to the root of the worktree."),
        "form": _text("How the file is read and written: a shared form, or one of the pack's own."),
        "mailbox": _text('The mailbox that it shows, such as @reviewer: of a role with `delivery = "one"`.'),
        "types": _list("The types of messages in it: those that go to that mailbox."),
        "follows": _list("Prefixes of the streams that it shows."),
        "fields": {
            "type": "object",
            "description": "What the form calls things in this file. Each form has its own keys, and refuses others.",
        },
        "scope": _choice("One content for all worktrees (the default), or one for each.", "workspace", "worktree"),
        "missing": _choice(
            "What a deleted file means: `restore` (the default) writes it again, `reset` begins anew "
            "with `initial`, `ignore` leaves it away.",
            "restore",
            "reset",
            "ignore",
        ),
        "emptied": _choice(
            "What an emptied file means: `clear` (the default) hides the messages, `restore` writes it again.",
            "clear",
            "restore",
        ),
        "wins": _choice("Which counts where file and log changed the same. Default: `log`.", "log", "file"),
        "counts": _flag("It belongs to the content that receipts are bound to."),
    },
    "path",
    "form",
)
_EDGE = _table(
    {
        "verb": _text("The verb that takes it: one of `moot task`, or one of the pack's own."),
        "from": _text("The state in which it begins."),
        "to": _text("The state to which it leads."),
        "who": _list("Who may take it: anyone, holder, reviewer, creator, person, or a role.", minItems=1),
        "needs": _list(
            "What it requires: a `reason`, the `report` that moves it, the `receipt` of a check, or a "
            "task added with --no-review (`unreviewed`).",
            {"enum": list(NEEDS)},
        ),
        "holds": _choice(
            "Who holds the task afterwards: `actor` (who takes the edge), `keep` (as before), `owner` "
            "(named by --owner, or who handed it in), `none` (the default).",
            *HOLDS,
        ),
        "attempt": {"enum": [0, 1], "description": "1: it begins a new attempt."},
        "explicit": _flag("It is taken by its verb only, never by naming the wanted state."),
    },
    "verb",
    "from",
    "to",
    "who",
)
_LIFECYCLE = _table(
    {
        "states": _tables("state", "Its states. A task begins in the first."),
        "edges": {"type": "array", "items": {"$ref": "#/$defs/edge"}, "minItems": 1, "description": "Its moves."},
        "silence": _choice(
            "What becomes of a task whose holder is silent too long: `return` (the default) opens it "
            "again, `flag` marks it.",
            *SILENCE,
        ),
        "attempts": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How often it may be tried."},
        "exhausted": _text("The state of a task whose attempts are used up."),
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
        "state": _table({"phase": _choice("What it means to those who do not know the lifecycle.", *PHASES)}, "phase"),
        "edge": _EDGE,
        "setting": {"type": "object", "description": "A JSON Schema of the value, with a default."},
    },
    **_table(
        {
            "name": {"type": "string", "pattern": NAME, "description": "a name in small letters, digits, `-` and `_`"},
            "title": _text("What it is, in a few words."),
            "version": _text("The version of the pack. It is recorded in the log when it is used."),
            "limits": _table({"message": {"type": ["integer", "string"], "description": "The largest message."}}),
            "roles": _tables("role", "The roles of the protocol, by name."),
            "messages": _tables("message", "Its types of messages, by name."),
            "events": _tables("event", "Events that are commands of the pack, by type: `build:broken`, `build:*`."),
            "mirrors": _tables("mirror", "Its files, by name."),
            "lifecycle": {"$ref": "#/$defs/lifecycle"},
            "lifecycles": _tables("lifecycle", "More lifecycles; tasks name them as pack/name."),
            "settings": _tables("setting", "What [pack.NAME] in moot.toml may set, by key."),
        },
        "name",
        "title",
    ),
}
