"""Which verbs there are. A surface finds a verb here, checks the arguments and runs it.

The index names the module of each verb, so that a short-lived command imports the one it needs.
"""

from __future__ import annotations

import sys

from moot.core.errors import Usage
from moot.core.identity import people_only, who_are_you
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from moot.api.answer import Answer
    from moot.core.identity import Caller

MODULES: dict[str, tuple[str, ...]] = {
    "moot.api.verbs.agents": ("join", "leave", "whoami", "agents"),
    "moot.api.verbs.mail.send": ("send", "reply", "thread"),
    "moot.api.verbs.mail.inbox": ("inbox", "ack", "overdue"),
    "moot.api.verbs.mail.mailbox": ("mailbox", "mailbox clear", "mailbox restore", "instructions"),
    "moot.api.verbs.tasks.tasks": (
        "task add",
        "task link",
        "task unlink",
        "task claim",
        "task submit",
        "task approve",
        "task reject",
        "task reopen",
        "task complete",
        "task fail",
        "task cancel",
        "task release",
        "task move",
    ),
    "moot.api.verbs.tasks.board": ("task show", "board", "ready"),
    "moot.api.verbs.claims": ("claim", "release", "claims", "who-holds"),
    "moot.api.verbs.artifacts": ("artifact add", "artifact modify", "artifact show", "artifacts"),
    "moot.api.verbs.tasks.dependencies": ("artifact need", "artifact needed"),
    "moot.api.verbs.decisions": ("decide", "decision supersede", "decision show", "decisions"),
    "moot.api.verbs.checkpoints": (
        "checkpoint reach",
        "checkpoint resolve",
        "checkpoint withdraw",
        "checkpoint show",
        "checkpoints",
    ),
    "moot.api.verbs.tasks.checks": ("check", "receipt show", "receipts"),
    "moot.needs_me.verbs": ("needs-me",),
    "moot.api.verbs.mail.held": ("held", "held show", "held resubmit", "held drop"),
    "moot.api.verbs.events": ("wait", "log", "explain"),
    "moot.api.verbs.effects.emit": ("emit",),
    "moot.api.verbs.effects.handle": ("handle",),
    "moot.api.verbs.effects.allow": ("allow",),
    "moot.api.verbs.effects.effects": ("effects", "effects retry", "effects drop"),
    "moot.api.verbs.search": ("search",),
    "moot.overview.verbs": ("watch",),
    "moot.api.verbs.workspace": ("init", "verify", "doctor", "mirror"),
    "moot.transfer.verbs": ("export", "import", "backup", "restore", "redact"),
}


class Param(Record):
    """One argument of a verb.

    type: text, words (text, or `-` for standard input), int, seconds (`90`, `30m`), flag, json.
    limit: how long a text may be, in characters (words: in bytes); 0 is what its name is worth, see `_LIMITS`.
    person: with it, the call is for people only, whatever the class of the verb.
    """

    name: str
    help: str
    type: str = "text"
    positional: bool = False
    many: bool = False
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    limit: int = 0
    person: bool = False


# The classes of verbs, each with what a call of it can do at most. A surface, or a permission rule, can go by them.
KINDS = {
    "look": "reads, and changes nothing that others see",
    "speak": "says something to others: messages, answers, decisions, events",
    "own": "changes tasks, files, roles and other things that are held or shared",
    "person": "only for people: refused to agents, and in an agent's shell",
    "local-exec": "runs commands on this machine",
}


class Verb(Record):
    """One thing that can be done, on every surface under the same name."""

    name: str
    summary: str
    does: Callable[..., Answer]
    kind: str  # one of KINDS
    params: tuple[Param, ...] = ()
    examples: tuple[str, ...] = ()
    detail: str = ""
    writes: bool = True
    opens: bool = True  # needs an existing workspace
    past: bool | None = None  # whether it can be asked of the past; None: if it writes nothing
    anybody: bool = False  # needs no identity, although it does more than look
    quiet: bool = False  # leaves no trace: no sign of life of the caller, no turn of the files that others write


_NOTHING: dict[str, Any] = {}


def kind_of(verb: Verb, given: Mapping[str, Any]) -> str:
    """The class of one call: that of its verb, unless an argument makes it a person's."""
    mine = verb.kind != "person" and any(p.person and given.get(p.name) not in _SILENCE for p in verb.params)
    return "person" if mine else verb.kind


def admit(caller: Caller, verb: Verb, kind: str, given: Mapping[str, Any] = _NOTHING) -> None:
    """Let a caller make a call of this class: what only people may is for them, and nobody only looks."""
    if kind == "person":
        people_only(caller, said(verb, given))
    elif kind != "look" and caller.nobody and not verb.anybody:
        raise who_are_you(caller, said(verb, given))


def needs_somebody(caller: Caller, name: str) -> None:
    """Refuse nobody what takes a name: to act, other than in a verb that is for anybody, and to have mail."""
    if caller.nobody and not (name and find(name).anybody):
        raise who_are_you(caller, said(find(name), _NOTHING) if name else "This")


def only_looks(verb: Verb, kind: str) -> bool:
    """Whether a call of this class appends nothing, although others of the verb do: those with a person's arguments."""
    return kind == "look" and any(param.person for param in verb.params)


def said(verb: Verb, given: Mapping[str, Any]) -> str:
    """A call in short: its verb, and the arguments that make it a person's."""
    told = [p for p in verb.params if p.person and not p.positional and given.get(p.name) not in _SILENCE]
    for_people = [f"--{p.name.replace('_', '-')}" for p in told]
    return f"`{' '.join(['moot', verb.name, *for_people])}`"


_SILENCE = (None, False, ())
_LIMIT = 10_000
_NAMES = (
    *("fail_on", "holder", "id", "ids", "key", "lifecycle", "name", "needs", "pack", "report", "role", "state"),
    *("task", "thread", "to", "type"),
)
_LIMITS = {"title": 500, "stream": 4200, **dict.fromkeys(_NAMES, 200)}
_WORDS_LIMITS = {"body": 1 << 20}  # a message is weighed as a whole, by its decider: `text` is not weighed here

DEEPEST = 100  # levels of JSON; what comes in must be readable by everybody later
KEY = Param(
    "key",
    "An idempotency key: the same key with the same request is done once. Each agent has its own keys: "
    "the same key of another agent is another one.",
)


def names() -> list[str]:
    """All verbs, in the order of the catalogue."""
    return [name for group in MODULES.values() for name in group]


_found: dict[str, Verb] = {}


def find(name: str) -> Verb:
    """The verb of that name, importing only its module."""
    if name in _found:
        return _found[name]
    module = next((m for m, verbs in MODULES.items() if name in verbs), None)
    if module is None:
        raise unknown_verb(name)
    loaded = __import__(module, fromlist=["VERBS"])
    found: Verb = next(verb for verb in loaded.VERBS if verb.name == name)
    _found[name] = found
    return found


def unknown_verb(name: str, longer: str = "", own: Iterable[str] = ()) -> Usage:
    """What to say about a verb that there is not.

    `longer` is what it would be with the next word; `own` are words that the surface knows beside the verbs.
    """
    from moot.core.text import closest

    near = closest(longer, names()) or closest(name, [*names(), *(verb.partition(" ")[0] for verb in names()), *own])
    hint = f"Did you mean `moot {near}`? " if near else ""
    return Usage("unknown_verb", f"There is no verb {name!r}.", f"{hint}`moot --help` lists them.", verb=name)


def checked(verb: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, complete and of the right types; raises `Usage` with what is wrong."""
    params, room, silence, required = _plans.get(verb.name) or _planned(verb)
    values = silence.copy()
    for name, value in given.items():
        if value is silence.get(name, required):  # what nobody said; the second is no value of anything
            continue
        # Most arguments are short and plain: what need not be looked at closely is taken as it is.
        if name in room and type(value) is str and len(value) <= room[name] and value.isascii() and "\0" not in value:
            values[name] = value if not params[name].many else (value,) if value else ()
        elif name not in params:
            raise _usage(verb, f"`{verb.name}` takes no argument {name!r}")
        elif value is not None:
            values[name] = _value(verb, params[name], value)
    for name in required:
        if values[name] is None or values[name] == ():
            said = params[name].help.rstrip(".")
            raise _usage(verb, f"`{verb.name}` needs {name.upper()} ({said})")
    return values


# What a verb takes, as a call is checked: each argument by its name; how many characters of plain text it may have, if
# it is one; what silence means; what must be said.
_plans: dict[str, tuple[dict[str, Param], dict[str, int], dict[str, Any], tuple[str, ...]]] = {}


def _planned(verb: Verb) -> tuple[dict[str, Param], dict[str, int], dict[str, Any], tuple[str, ...]]:
    params = {param.name: param for param in verb.params}
    room = {p.name: _limit(p) for p in verb.params if p.type in ("text", "words") and not p.choices}
    values = {p.name: () if p.many else False if p.type == "flag" else p.default for p in verb.params}
    plan = params, room, values, tuple(p.name for p in verb.params if p.required)
    if _found.get(verb.name) is verb:
        _plans[verb.name] = plan
    return plan


def _limit(param: Param) -> int:
    """How long a text may be: in bytes for words, else in characters."""
    if param.type == "words":
        return param.limit or _WORDS_LIMITS.get(param.name, sys.maxsize)
    return param.limit or _LIMITS.get(param.name, _LIMIT)


def _value(verb: Verb, param: Param, value: Any) -> Any:
    if param.many:
        items = value if isinstance(value, (list, tuple, set, frozenset)) else (value,) if value else ()
        return tuple([_single(verb, param, item) for item in items])
    return _single(verb, param, value)


def _single(verb: Verb, param: Param, value: Any) -> Any:
    match param.type:
        case "text" | "words":
            if not isinstance(value, str):
                raise _usage(verb, f"{param.name}: expected a text, found {value!r}")
            if param.choices and value not in param.choices:
                raise _usage(verb, f"{param.name}: {value!r} is none of {', '.join(param.choices)}")
            return _sound(verb, param, value)
        case "flag":
            return bool(value)
        case "json":
            return _json(verb, param, value)
        case "int":
            return _whole_number(verb, param, value)
        case _:
            from moot.settings import seconds

            found = seconds(value)
            if found is None:
                raise _usage(verb, f"{param.name}: {value!r} is no duration (write 90, 90s, 30m, 2h or 1d)")
            return found


def _whole_number(verb: Verb, param: Param, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise _usage(verb, f"{param.name}: {value!r} is no whole number") from None
    if not 0 <= number < 1 << 63:
        raise _usage(verb, f"{param.name}: {value!r} is not between 0 and {(1 << 63) - 1}")
    return number


def _sound(verb: Verb, param: Param, value: str) -> str:
    """A text that can be stored and read by everybody later: real characters, none of them NUL, and not too many."""
    words = param.type == "words"
    size = len(value)
    if not value.isascii():
        try:
            encoded = len(value.encode())
        except UnicodeEncodeError:
            raise _usage(verb, f"{param.name}: the text is not valid UTF-8") from None
        size = encoded if words else size
    if "\x00" in value:
        raise _usage(verb, f"{param.name}: the text has a NUL character")
    limit = _limit(param)
    if size > limit:
        unit = "bytes" if words else "characters"
        raise Usage(
            "too_long",
            f"{param.name} of `{verb.name}` has {size:,} {unit}; {limit:,} are allowed.",
            "Say it shorter, or put it into a file of the repository and name that.",
            verb=verb.name,
            argument=param.name,
            size=size,
            limit=limit,
        )
    return value


def _json(verb: Verb, param: Param, given: Any) -> Any:
    import json

    try:
        value = json.loads(given, object_pairs_hook=_unique) if isinstance(given, str) else given
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # no NaN, no half of a pair, nothing foreign
    except (TypeError, ValueError, RecursionError) as error:
        raise _usage(verb, f"{param.name} is no valid JSON: {error}", code="bad_json") from None
    if not _shallow(value, DEEPEST):
        raise _usage(verb, f"{param.name} is nested more than {DEEPEST} levels deep", code="bad_json")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} stands there twice")
    return found


def _shallow(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return left > 0 and all(_shallow(item, left - 1) for item in inner)


def _usage(verb: Verb, message: str, code: str = "bad_arguments") -> Usage:
    return Usage(code, f"{message}.", f"`moot {verb.name} --help` shows how it is called.", verb=verb.name)
