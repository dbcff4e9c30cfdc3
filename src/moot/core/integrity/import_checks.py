"""Checks for imported events, before they are folded: one `check(state, event)` per kind.

An import or a restore does not decide again: what agents did stays done. But an event that no version of moot could
have written, and that would break a later command, is refused. Each check is stricter than the shape of the data
(`moot.core.schema.shape`, checked before) and more lenient than the decider:

- The type belongs to the kind of the stream, and what is changed was made before.
- Ids that moot makes have moot's form. Ids that a user chose are one line.
- Holders, senders and authors are principals. A claimed pattern can be compared with others.
- No task waits for itself, directly or through others.

A check returns what is wrong, or None. Loaded only for imports and restores.
"""

from __future__ import annotations

from moot.core import paths, timestamps
from moot.core.claims import MODES, is_id
from moot.core.deciders.custom_event import is_word
from moot.core.deciders.graph import find_path
from moot.core.deciders.settings import DEFAULTS
from moot.core.errors import MootError
from moot.core.event import TOMBSTONE
from moot.core.ids import is_name_part
from moot.core.integrity.blob import is_digest
from moot.core.kind import NOUNS, load
from moot.core.lifecycle import PHASES
from moot.core.principal import checked_name
from moot.core.task import OTHER, PRIORITIES, TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from moot.core.event import Event
    from moot.core.kind import Kind

_ALPHABET = frozenset("0123456789abcdefghjkmnpqrstvwxyz")  # of the random words that `moot.engine.clock` makes
_MADE = {"message": ("m-", 7), "entry": ("h-", 7), "checkpoint": ("k-", 7), "receipt": ("r-", 7), "effect": ("e-", 10)}
_MADE |= {"run": ("run-", 7)}
_OTHERS = ("person", "role", "plan", "process", "file", "handler")  # the part before the colon of a principal
_LONGEST = 100_000  # characters of an id that a user chose: earlier versions limited only the message
_BREAKS = frozenset("\x00\n\v\f\r\x85\u2028\u2029")  # characters that no id ever had
_LONGEST_NUMBER = 15  # digits: enough for positions, incarnations and process ids
_WANTS = ("nothing", "ack", "answer")
LARGEST = 1 << 53  # numbers above it are not exact in JSON
_DEEPEST = 100  # parts of a pointer: the depth that a file may have
# The nouns that were reserved when custom events were introduced. An older log may have custom events with later ones.
_NOUNS = NOUNS - {"event", "settings"}


def check(kind: Kind | None, state: Any, event: Event) -> str | None:
    """What is wrong with an event of a stream of this kind, after `state`; None if nothing is."""
    _, slash, key = event.stream.partition("/")
    if (kind is not None and kind.single == bool(slash)) or bool(slash) != bool(key):
        return f"there is no stream {event.stream[:80]!r}"
    if not is_principal(event.by):
        return f"its author {event.by[:80]!r} is not a principal"
    if problem := bad_lines((event.commit, event.thread, event.cause, event.pack)):
        return problem
    return load(kind.check)(state, event) if kind is not None and kind.check else None


# --- words ---------------------------------------------------------------------------------------------------------


def is_made(kind: str, text: str) -> bool:
    """Whether it has the form of the ids that moot makes for this kind."""
    start, letters = _MADE[kind]
    return text.startswith(start) and len(text) == len(start) + letters and _ALPHABET.issuperset(text[len(start) :])


def is_principal(text: str) -> bool:
    """Whether it is a principal (`moot.core.principal`)."""
    name, mark, number = text.partition("#")
    if mark and ":" not in name:
        return _is_name(name) and _is_number(number)
    kind, colon, rest = text.partition(":")
    return text == "moot" or (bool(colon) and kind in _OTHERS and bool(rest) and rest.isprintable())


def is_line(text: str) -> bool:
    """Whether it can be an id. Earlier versions accepted any single line from a protocol's file."""
    return 0 < len(text) <= _LONGEST and (text.isprintable() or _BREAKS.isdisjoint(text))


def _is_name(name: str) -> bool:
    try:
        return bool(checked_name(name))
    except MootError:
        return False


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER


def _is_pattern(text: str) -> bool:
    try:
        return bool(paths.compiled(paths.canonical_pattern(text)))
    except MootError:
        return False


# --- kinds ---------------------------------------------------------------------------------------------------------


def task(state: Any, event: Event) -> str | None:
    data, made = event.data, event.type == "task:added"
    if state.exists == made:
        return f"{state.id[:80]!r} was already added" if made else f"there is no task {state.id[:80]!r}"
    if data.get("priority", "medium") not in PRIORITIES:
        return f"there is no priority {data['priority'][:80]!r}"
    if "phase" in data and (data["phase"] not in PHASES or not is_line(data["state" if made else "target"])):
        return "its phase or state is not valid"
    if "verb" in data and TYPES.get(data["verb"], OTHER) != event.type:
        return f"the verb {data['verb'][:80]!r} does not write {event.type}"
    if made and state.id in (*data.get("needs", ()), *data.get("waits", ())):
        return f"{state.id[:80]!r} would wait for itself"
    if problem := _number_fault(data):
        return problem
    lines = [state.id, *data.get("needs", ()), *data.get("waits", ()), *data.get("on", ()), data.get("done")]
    if data.get("to") is not None and not _is_name(data["to"]):
        return f"{data['to'][:80]!r} cannot be the name of an agent"
    return (
        _principals(data, "creator", "holder", "author", "who")
        or bad_lines(lines)
        or bad_fields(data, "lifecycle", "origin")
    )


def _number_fault(data: dict[str, Any]) -> str | None:
    """The first number of a task that no version can have written."""
    attempt, ttl = data.get("attempt", 0), data.get("ttl")
    if not 0 <= attempt < LARGEST:
        return f"{str(attempt)[:20]} is not a valid attempt"
    return None if ttl is None or 0 <= ttl < LARGEST else f"{str(ttl)[:20]} is not a valid ttl"


def claims(state: Any, event: Event) -> str | None:
    data = event.data
    claim, texts = state.live.get(data["id"]), data["paths"]
    if event.type == "file:unawaited":
        claim = state.waiting.get(data["id"])
    if event.type in ("file:claimed", "file:awaited"):
        if claim is not None or not is_id(data["id"]):
            return f"{data['id'][:80]!r} cannot be the id of a new claim"
        if data["mode"] not in MODES or not 0 < data["ttl"] < LARGEST:
            return "its mode or its ttl is not valid"
        if wrong := next((text for text in texts if not _is_pattern(text)), None):
            return f"{wrong[:80]!r} cannot be claimed"
    elif claim is None or claim.holder != data["holder"]:
        return f"{data['holder'][:80]!r} has no claim {data['id'][:80]!r}"
    elif event.type != "file:overridden" and not set(claim.paths).issuperset((*texts, *data.get("left", ()))):
        return f"{data['id']} does not have these paths"
    return None if texts and "" not in texts and is_principal(data["holder"]) else "it has no path or no holder"


def graph(state: Any, event: Event) -> str | None:
    """`state` has the edges that can be reached from what the event names."""
    task, needs = event.data["task"], event.data["needs"]
    if problem := bad_lines((task, *needs)):
        return problem
    if event.type == "graph:linked":
        for need in needs:
            if (path := find_path(state.needs, need, task)) is not None:
                return f"these tasks would wait for each other: {' → '.join((task, *path))[:200]}"
    return None


def message(state: Any, event: Event) -> str | None:
    data = event.data
    if state.exists or not is_made("message", state.id):
        return f"{state.id[:80]!r} cannot be the id of a new message"
    if len({name.lower() for name in data["to"]}) != len(data["to"]):
        return "it has a recipient twice"
    if data["wants"] not in _WANTS or not data["to"]:
        return "it has no recipient, or its `wants` is not valid"
    named = (data.get("reply_to"), data.get("task"), data.get("role"), data.get("source"))
    return _principals(data, "sender") or bad_lines((data["kind"], *data["to"], *named))


def mailbox(state: Any, event: Event) -> str | None:
    """`state` has the entries that the event names."""
    data = event.data
    ids = data["ids"] if "ids" in data else [data["id"]] if "id" in data else []
    wrong = next((name for name in ids if name not in state.entries), None)
    if wrong is not None:
        return f"the mailbox has no message {wrong[:80]!r}"
    read_at = data.get("read_at")
    if read_at is not None and timestamps.parse(read_at) is None:
        return f"{read_at[:80]!r} is not a valid time"
    return _principals(data, "to", "who") or bad_lines((state.name, data.get("reply")))


def agent(state: Any, event: Event) -> str | None:
    data, key = event.data, event.stream.partition("/")[2]
    if not 0 < data["incarnation"] <= event.position:  # each incarnation needs an event
        return f"{data['incarnation']} is not a valid incarnation"
    if event.type == "agent:left":
        return None if state.exists else f"there is no agent {key[:80]!r}"
    if not _is_name(data["name"]) or data["name"].lower() != key:
        return f"{data['name'][:80]!r} cannot be the name of this agent"
    return bad_lines(data.get("roles", ()))


def entry(state: Any, event: Event) -> str | None:
    data, made = event.data, event.type in ("entry:held", "file:quarantined")
    if made == bool(state.status) or not is_made("entry", state.id):
        return f"{state.id[:80]!r} cannot be a new entry" if made else f"there is no held entry {state.id[:80]!r}"
    if "sha256" in data and not is_digest(data["sha256"]):
        return "its sha256 is not a SHA-256"
    return bad_fields(data, "path", "mirror", "task", "message")


def effect(state: Any, event: Event) -> str | None:
    data, made = event.data, event.type == "effect:requested"
    if made == bool(state.status) or not is_made("effect", state.id):
        return f"{state.id[:80]!r} cannot be a new effect" if made else f"there is no effect {state.id[:80]!r}"
    if made and not 0 <= data["n"] < event.n:
        return "its `n` does not name an event of its commit"
    for other in (data.get("after"), data.get("behind"), *data.get("during", ())) if made else ():
        if other is not None and not is_made("effect", other):
            return f"there is no effect {other[:80]!r}"
    if "attempt" in data and not 0 <= data["attempt"] < LARGEST:
        return f"{data['attempt']} is not a valid attempt"
    if made:
        return bad_lines((data["handler"], data["on"], data["stream"], *data.get("during", {}).values()))
    return _principals(data, "runner", "over")


def artifact(state: Any, event: Event) -> str | None:
    data, made = event.data, event.type == "artifact:created"
    if state.exists == made:
        return f"{state.id[:80]!r} was already created" if made else f"there is no artifact {state.id[:80]!r}"
    named = (state.id, *data.get("paths", ()), *data.get("provides", ()), data.get("uri"), data.get("kind"))
    return _principals(data, "creator", "modifier") or bad_lines(named) or bad_fields(data, "task")


def dependency(state: Any, event: Event) -> str | None:
    data = event.data
    named = (state.id, data.get("needer"), data.get("who"), data.get("artifact"), *data.get("required_by", ()))
    return bad_lines(named)


def decision(state: Any, event: Event) -> str | None:
    data, made = event.data, event.type == "decision:made"
    if state.exists == made:
        return f"{state.id[:80]!r} was already made" if made else f"there is no decision {state.id[:80]!r}"
    if wrong := next((text for text in data.get("paths", ()) if not _is_pattern(text)), None):
        return f"{wrong[:80]!r} is not a valid path pattern"
    named = (state.id, *data.get("affects", ()), data.get("task"), data.get("replaces"), data.get("by"))
    return _principals(data, "maker", "who") or bad_lines(named)


def checkpoint(state: Any, event: Event) -> str | None:
    made = event.type == "checkpoint:reached"
    if state.exists == made or not is_made("checkpoint", state.id):
        return f"{state.id[:80]!r} cannot be a new checkpoint" if made else f"there is no checkpoint {state.id[:80]!r}"
    return _principals(event.data, "who") or bad_fields(event.data, "kind", "task")


def receipt(state: Any, event: Event) -> str | None:
    if state.exists or not is_made("receipt", state.id):
        return f"{state.id[:80]!r} cannot be the id of a new receipt"
    return _principals(event.data, "by") or bad_fields(event.data, "digest", "tree", "commit", "task")


def document(state: Any, event: Event) -> str | None:
    data, made = event.data, event.type == "document:opened"
    if made == bool(state.status):
        return f"{state.id[:80]!r} was opened before" if made else f"there is no document {state.id[:80]!r}"
    if made and (problem := _document_place(state.id, data)):
        return problem
    pointers = [
        *(at for field in ("leaves", "set", "log", "file") for at in data.get(field, ())),
        *data.get("gone", ()),
    ]
    if (wrong := next((at for at in pointers if not _is_pointer(at)), None)) is not None:
        return f"{wrong[:80]!r} is not a pointer to a part of a document"
    return bad_lines(data.get("owners", ()))


def _document_place(name: str, data: dict[str, Any]) -> str | None:
    """What is wrong with its mirror, worktree and subject, which name the file to write."""
    (pack, _, mirror), subject = data["mirror"].partition("/"), data.get("subject", "")
    if subject and not is_name_part(subject):
        return f"{subject[:80]!r} cannot be part of a file name"
    slug = f"{mirror}.{subject}" if subject else mirror
    if name != f"{pack}.{data.get('worktree', '-')}.{slug}":
        return f"{name[:80]!r} is not the document of {data['mirror'][:80]!r}"
    return bad_lines((name,))


def feed(state: Any, event: Event) -> str | None:
    data = event.data
    if event.type == "feed:posted":
        if not state.last < data["number"] < LARGEST:
            return f"{str(data['number'])[:20]} is not a number that can follow {state.last}"
        named = [*data.get("stamps", ()), *data.get("keys", ()), *data.get("handled", ()), *data.get("series", ())]
        named += [value for values in data.get("keys", {}).values() for value in values]
        named += data.get("during", {}).values()
        if problem := bad_lines(named):
            return problem
        for other in data.get("during", ()):
            if not is_made("effect", other):
                return f"there is no effect {other[:80]!r}"
    if event.type == "feed:listed" and (problem := bad_lines((*data.get("puts", ()), *data.get("drops", ())))):
        return problem
    numbers = [
        data.get("last", 0),
        data.get("upto", 0),
        data.get("after", 0),
        data.get("line", 0),
        *data.get("series", {}).values(),
    ]
    if wrong := next((number for number in numbers if not 0 <= number < LARGEST), None):
        return f"{str(wrong)[:20]} is not a valid number"
    who = data.get("who") or None
    if who is not None and not is_principal(who):
        return f"who is {who[:80]!r}, which is not a principal"
    return bad_lines((state.id,)) or bad_fields(data, "source", "list", "file")


def _is_pointer(text: str) -> bool:
    return text.startswith("/") and text.count("/") <= _DEEPEST


def settings(_state: Any, event: Event) -> str | None:
    key, values = event.data["key"], (event.data["old"], event.data["new"])
    if key not in DEFAULTS:
        return f"{key[:80]!r} is not a recorded setting"
    kinds: tuple[type, ...] = {"packs": (list,), "tasks.lifecycle": (str, type(None))}.get(key, (bool,))
    words = [word for value in values for word in (value if isinstance(value, list) else [value])]
    if not all(isinstance(value, kinds) for value in values):
        return f"the value of {key} is not valid"
    return bad_lines(word for word in words if word is not None and not isinstance(word, bool))


def pack(state: Any, event: Event) -> str | None:
    data = event.data
    if data["name"] != state.name or not is_line(state.name):
        return f"{data['name'][:80]!r} is not the name of this pack"
    return bad_lines((data["version"] or None, data["digest"]))


def redactions(_state: Any, event: Event) -> str | None:
    from moot.core.integrity.redaction import is_well_formed

    return None if is_well_formed(event.data) else "it is not a valid redaction"


def topic(_state: Any, event: Event) -> str | None:
    noun = event.type.partition(":")[0]
    if noun in _NOUNS or event.type == TOMBSTONE:
        return f"{event.type} is reserved and cannot be in {event.stream[:80]!r}"
    return None if is_word(event.stream.partition("/")[2]) else f"there is no stream {event.stream[:80]!r}"


def _principals(data: dict[str, Any], *fields: str) -> str | None:
    wrong = next((field for field in fields if data.get(field) is not None and not is_principal(data[field])), None)
    return None if wrong is None else f"{wrong} is {data[wrong][:80]!r}, which is not a principal"


def bad_fields(data: dict[str, Any], *fields: str) -> str | None:
    return bad_lines(data.get(field) for field in fields)


def bad_lines(texts: Iterable[str | None]) -> str | None:
    wrong = next((text for text in texts if text is not None and not is_line(text)), None)
    return None if wrong is None else f"{wrong[:80]!r} is not one line"
