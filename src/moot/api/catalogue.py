"""The catalogue of verbs. A surface finds a verb here, checks the arguments and runs it.

The index names the module of each verb, so a command imports only the module it needs.
"""

from __future__ import annotations

import sys

from moot.core.errors import Refused, Usage
from moot.core.identity import people_only, who_are_you
from moot.core.record import Record
from moot.core.text import PLACEHOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.protocol import Packs
    from moot.core.identity import Caller

MODULES: dict[str, tuple[str, ...]] = {
    "moot.api.verbs.start": ("start",),
    "moot.api.verbs.agents": ("join", "whoami", "agents"),
    "moot.api.verbs.leaving": ("leave",),
    "moot.api.verbs.mail.send": ("send", "reply", "thread"),
    "moot.api.verbs.answer": ("answer",),
    "moot.api.verbs.mail.inbox": ("inbox", "ack", "overdue"),
    "moot.api.verbs.mail.mailbox": ("mailboxes", "mailbox", "instructions"),
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
    "moot.api.verbs.tasks.changes": ("task edit", "task note", "task assign"),
    "moot.api.verbs.tasks.board": ("task show", "board", "ready"),
    "moot.api.verbs.claims": ("claim", "release", "claims", "who-holds"),
    "moot.guard.verbs": ("guard install", "guard remove", "guard status", "guard check"),
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
    "moot.api.verbs.brief": ("brief",),
    "moot.api.verbs.mail.held": ("held", "held show", "held drop"),
    "moot.api.verbs.documents": ("doc list", "doc show", "doc diff", "doc restore", "doc reset"),
    "moot.mirrors.verbs": ("pack check", "pack adopt"),
    "moot.api.verbs.events": ("wait",),
    "moot.api.verbs.reading": ("log", "explain"),
    "moot.api.verbs.effects.emit": ("emit",),
    "moot.api.verbs.effects.handle": ("handle",),
    "moot.api.verbs.effects.allow": ("allow",),
    "moot.api.verbs.effects.effects": ("effects", "effects retry", "effects drop"),
    "moot.api.verbs.runs.run": ("run",),
    "moot.api.verbs.runs.looking": ("runs", "run show", "run log", "run status", "run explain", "run stages"),
    "moot.api.verbs.runs.restoring": ("run restore",),
    "moot.api.verbs.search": ("search",),
    "moot.overview.verbs": ("watch",),
    "moot.api.verbs.workspace": ("init", "verify", "doctor", "deinit"),
    "moot.mirrors.watching": ("mirror",),
    "moot.transfer.verbs": ("export", "backup", "restore", "redact"),
}


class Param(Record):
    """One argument of a verb.

    type: text, words (long text), int, seconds (`90`, `30m`), flag, json.
    suggested: words that shells complete; other values are valid, too.
    limit: the maximum length in characters (words: in bytes); 0 means the default for its name, see `_LIMITS`.
    person: a call with this argument is only for people, whatever the class of the verb.
    expected: the built-in rules require it, so help shows it as required; a pack's rules may not.
    alone: its value if it has a number that is left out.
    """

    name: str
    help: str
    type: str = "text"
    positional: bool = False
    many: bool = False
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()
    limit: int = 0
    person: bool = False
    expected: bool = False
    alone: int | None = None

    @property
    def flag(self) -> str:
        """Its option on the command line. A name that is a keyword of Python ends with `_`: `from_` is `--from`."""
        return f"--{self.name.rstrip('_').replace('_', '-')}"


# The classes of verbs and the most that a call of each can do. Surfaces and permission rules can rely on them.
KINDS = {
    "look": "reads; changes nothing that others see",
    "speak": "communicates: messages, answers, decisions, events",
    "own": "changes tasks, files, roles and other things that are held or shared",
    "person": "only for people: refused to agents and in an agent's shell",
    "local-exec": "runs commands on this machine",
}


class Verb(Record):
    """One operation, with the same name on every surface."""

    name: str
    summary: str
    does: Callable[..., Answer]
    kind: str  # one of KINDS
    params: tuple[Param, ...] = ()
    examples: tuple[str, ...] = ()
    detail: str = ""
    writes: bool = True
    opens: bool = True  # needs an existing workspace
    founds: bool = False  # a pack's verb: works in the workspace of its `path`, and creates it if there is none
    in_repository: bool = False  # it founds nothing for a file outside any repository
    past: bool | None = None  # whether it accepts --at; None: if it writes nothing
    anybody: bool = False  # needs no identity, although it writes
    syncs: bool = True  # the files of packs are synchronized before it runs
    everything: bool = False  # also those that are otherwise looked at only during a run
    quiet: bool = False  # leaves no trace: no presence stamp, no synchronization of files
    protocol: bool = False  # of a pack: speaks the exit codes of its protocol (`moot.surfaces.cli.protocol_verbs`)


_NOTHING: dict[str, Any] = {}


def kind_of(verb: Verb, given: Mapping[str, Any]) -> str:
    """The class of one call: that of its verb, or `person` if an argument is only for people."""
    for param in verb.params:
        if param.person and given.get(param.name) not in _NOT_GIVEN:
            return "person"
    return verb.kind


def admit(caller: Caller, verb: Verb, kind: str, given: Mapping[str, Any] = _NOTHING) -> None:
    """Refuse a call of this class that the caller may not make."""
    if kind == "person":
        people_only(caller, said(verb, given))
    elif kind != "look" and caller.nobody and not verb.anybody:
        raise who_are_you(caller, said(verb, given))


def needs_somebody(caller: Caller, name: str, packs: Packs | None = None) -> None:
    """Refuse a caller without an identity."""
    if caller.nobody and not (name and find(name, packs).anybody):
        raise who_are_you(caller, said(find(name, packs), _NOTHING) if name else "This")


def only_looks(verb: Verb, kind: str) -> bool:
    """Whether a call of this class appends nothing, although calls with a person's arguments do."""
    return kind == "look" and any(param.person for param in verb.params)


def read_only_arguments(verb: Verb, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call with --at: nothing is recorded as shown. Refuses a verb that cannot be read-only."""
    from moot.time_travel import read_only

    reads = not verb.writes if verb.past is None else verb.past
    if not reads or not verb.opens:
        raise read_only(f"`{verb.name}`")
    if given.get("follow") or given.get("wait"):
        raise read_only("Waiting for events")
    return {**given, "peek": True} if "peek" in given else given


def said(verb: Verb, given: Mapping[str, Any]) -> str:
    """A call in short form: its verb, and the arguments that are only for people."""
    options = [p.flag for p in verb.params if p.person and not p.positional and given.get(p.name) not in _NOT_GIVEN]
    return f"`{' '.join(['moot', verb.name, *options])}`"


_NOT_GIVEN = (None, False, ())
_LIMIT = 10_000
_NAMES = (
    *("fail_on", "holder", "id", "ids", "key", "lifecycle", "name", "needs", "pack", "report", "role", "state"),
    *("task", "thread", "to", "type"),
)
_LIMITS = {"title": 500, "stream": 4200, **dict.fromkeys(_NAMES, 200)}
_WORDS_LIMITS = {"body": 1 << 20}  # the decider checks the size of a whole message, so `text` has no limit here

_SENTENCES = ("awaiting", "change", "option", "reason", "summary", "title")  # one-line texts that people write

DEEPEST = 100  # levels of JSON that every reader can parse
TIMEOUT = "Default: 100s for an agent, because clients end longer commands; otherwise 10m."
KEY = Param(
    "key",
    "An idempotency key: repeating a request with the same key has no further effect. Keys are per agent: "
    "two agents can use the same key.",
)


def names() -> list[str]:
    """All verbs, in catalogue order."""
    return [name for group in MODULES.values() for name in group]


def is_free(word: str) -> bool:
    """Whether no verb of the catalogue begins with this word, so that it can be the name of a pack with verbs."""
    return all(name.partition(" ")[0] != word for name in names())


def is_of_pack(name: str) -> bool:
    """Whether only a pack can have this verb."""
    return name not in _found and not any(name in group for group in MODULES.values())


_found: dict[str, Verb] = {}


def find(name: str, packs: Packs | None = None) -> Verb:
    """The verb with this name, or the verb `PACK WORD` of one of these packs. Imports only its module."""
    if name in _found:
        return _found[name]
    module = next((m for m, verbs in MODULES.items() if name in verbs), None)
    if module is None and packs is not None and is_free(name.partition(" ")[0]):
        from moot.api.protocol.pack_verbs import verb_of

        return verb_of(packs, name)
    if module is None:
        raise unknown_verb(name)
    loaded = __import__(module, fromlist=["VERBS"])
    found: Verb = next(verb for verb in loaded.VERBS if verb.name == name)
    _found[name] = found
    return found


def unknown_verb(name: str, hint: str = "", instead: Sequence[str] = ()) -> Usage:
    """The error for a verb that does not exist. A surface can say what to run `instead`."""
    remedy = hint if instead else f"{hint} `moot help --all` lists the verbs.".lstrip()
    return Usage("unknown_verb", f"There is no verb {name!r}.", remedy, verb=name, instead=list(instead))


def checked(verb: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, complete and of the right types. Raises `Usage`."""
    params = {param.name: param for param in verb.params}
    values = {p.name: () if p.many else False if p.type == "flag" else p.default for p in verb.params}
    for name, value in given.items():
        if name not in params:
            raise _usage(verb, f"`{verb.name}` has no argument {name!r}")
        if value is not None and value is not values[name]:
            values[name] = _value(verb, params[name], value)
    for param in verb.params:
        if param.required and values[param.name] in (None, ()):
            raise _missing(verb, param)
    return values


def _missing(verb: Verb, param: Param) -> Usage:
    """The error for a required argument that was not given, with an example that has it."""
    example = next((one for one in verb.examples if param.positional or param.flag in one.split()), "")
    shown = f"For example: `{example}`. " if example else ""
    said = f"`{verb.name}` needs {param.name.upper() if param.positional else param.flag}: {param.help.rstrip('.')}."
    return Usage("bad_arguments", said, f"{shown}`moot {verb.name} --help` shows the usage.", verb=verb.name)


def limit_of(param: Param) -> int:
    """The maximum length: in bytes for words, otherwise in characters."""
    if param.type == "words":
        return param.limit or _WORDS_LIMITS.get(param.name, sys.maxsize)
    return param.limit or _LIMITS.get(param.name, _LIMIT)


def is_prose(param: Param) -> bool:
    """Whether people write it freely. On the command line, such a text can be `@FILE`, or `-` for standard input."""
    return param.type == "words" or (param.type == "text" and param.name in _SENTENCES)


def _value(verb: Verb, param: Param, value: Any) -> Any:
    if param.many:
        items = value if isinstance(value, (list, tuple, set, frozenset)) else (value,) if value else ()
        return tuple([_single(verb, param, item) for item in items])
    return _single(verb, param, value)


def _single(verb: Verb, param: Param, value: Any) -> Any:
    match param.type:
        case "text" | "words":
            if not isinstance(value, str):
                raise _usage(verb, f"{param.name}: expected text, got {value!r}")
            if param.choices and value not in param.choices:
                raise _usage(verb, f"{param.name}: {value!r} is not one of {', '.join(param.choices)}")
            if param.name == "reason" and value.strip() == PLACEHOLDER:
                raise Refused(
                    "placeholder_reason",
                    f"{PLACEHOLDER!r} stands for the reason in the command that moot suggests.",
                    "Write your reason in its place.",
                )
            return _sound(verb, param, value)
        case "flag":
            return bool(value)
        case "json":
            return _json(verb, param, value)
        case "int":
            return _whole_number(verb, param, value)
        case _:
            from moot.place.settings import seconds

            found = seconds(value)
            if found is None:
                raise _usage(verb, f"{param.name}: {value!r} is not a valid duration (use 90, 90s, 30m, 2h or 1d)")
            return found


def _whole_number(verb: Verb, param: Param, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise _usage(verb, f"{param.name}: {value!r} is not a whole number") from None
    if not 0 <= number < 1 << 63:
        raise _usage(verb, f"{param.name}: {value!r} is not between 0 and {(1 << 63) - 1}")
    return number


def _sound(verb: Verb, param: Param, value: str) -> str:
    """The text, if it can be stored: valid UTF-8, without NUL, and not too long."""
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
    limit = limit_of(param)
    if size > limit:
        unit = "bytes" if words else "characters"
        raise Usage(
            "too_long",
            f"{param.name} of `{verb.name}` has {size:,} {unit}; the limit is {limit:,}.",
            "Shorten it, or put it into a file of the repository and name that file.",
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
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # refuses NaN, lone surrogates and other types
    except (TypeError, ValueError, RecursionError) as error:
        raise _usage(verb, f"{param.name} is not valid JSON: {error}", code="bad_json") from None
    if not _shallow(value, DEEPEST):
        raise _usage(verb, f"{param.name} is nested more than {DEEPEST} levels deep", code="bad_json")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} occurs twice")
    return found


def _shallow(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return left > 0 and all(_shallow(item, left - 1) for item in inner)


def _usage(verb: Verb, message: str, code: str = "bad_arguments") -> Usage:
    return Usage(code, f"{message}.", f"`moot {verb.name} --help` shows the usage.", verb=verb.name)
