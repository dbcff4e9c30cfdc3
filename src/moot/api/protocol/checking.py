"""Parses the files of a pack, and reports what is wrong in them with file, line and key.

`pack.schema.json` says what a `pack.toml` may contain. If it holds, one pass over the data checks what a schema cannot:
that what is named exists, and a few rules. Loaded only when the files of a pack have changed, so it need not be fast.
It reads no file itself: it gets a function that reads the files of the pack.
"""

from __future__ import annotations

import json
import os

from moot.api.protocol.briefs import problems as brief_problems
from moot.api.protocol.loading import overlap
from moot.core.deciders.custom_event import is_type, is_word
from moot.core.deciders.message import WANTS
from moot.core.errors import MootError, Usage
from moot.core.flat_json import overlapping
from moot.core.lifecycle import RELATIONS
from moot.core.principal import checked_name
from moot.core.record import Record
from moot.core.schema import check_schema, placed
from moot.core.schema.phrases import NOTHING, pointed
from moot.core.text import closest
from moot.runs.stage import ANSWER, DOCUMENT, is_reserved, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.core.schema.phrases import Place
    from moot.core.templates import TextForm

    Read = Callable[[str], bytes]
    Found = Iterator[tuple[Place, str]]

FILE = "pack.toml"
RESERVED = ("core", "path")  # the built-in lifecycle; a key of every [pack.NAME] in moot.toml
OTHER_NOUNS = ("file", "dependency")  # of moot's own events, besides the kinds
_EVERYBODY = ("@all", "@requester")
_SIZES = range(1 << 10, (64 << 20) + 1)
_SAID = ("messages", "events")
# The keys of a message that name fields of its schema.
_FIELDS = ("task", "stamp", "reason", "paths", "creates/title", "creates/body", "creates/extra", "receipt/field")
# The keys with paths: of files of the pack, and of files in a worktree.
_FILES = ("messages/*/schema", "events/*/schema", "roles/*/brief")
_PATHS = (*_FILES, "mirrors/*/path", "mirrors/*/flat", "pipeline/files/*")


class PackProblem(Record):
    """One problem in a pack."""

    file: str
    line: int
    key: str
    text: str


class Parsed(Record):
    """A valid pack: the data of its files, and a digest of them."""

    data: dict[str, Any]
    schemas: dict[str, dict[str, Any]]
    digest: str


def grammar() -> dict[str, Any]:
    """The JSON Schema of `pack.toml`."""
    with open(os.path.join(os.path.dirname(__file__), "pack.schema.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
        return found


def parse(
    folder: str,
    read: Read,
    *,
    name: str | None = None,
    forms: Mapping[str, Any] | None = None,
    below: str = "",
    coded: bool = False,
) -> Parsed:
    """Parse a pack. Raises `Usage` with its problems.

    `folder`: the name of the folder in errors. `name`: the name of the pack in moot.toml. `forms`: the known forms of
    mirrors. `below`: the directory that its mirrors must be in. `coded`: it has code that takes its events.
    """
    from hashlib import sha256

    from moot.place.settings.lines import Lines

    content, text, data = _toml(folder, read)
    files = {FILE: content}
    found = list(_misplaced(data)) or [*_named(data, forms or {}), *_rules(data, name, coded=coded)]
    found += [] if found else _mirrors(data, forms or {}, below)
    lines, problems = Lines(text), list[PackProblem]()
    schemas: dict[str, dict[str, Any]] = {}
    for place, file in (one for path in _FILES for one in _at(data, *path.split("/"))) if not found else ():
        try:
            files[file] = _content(read, file)
            if place[-1] == "brief":
                types = [kind for key in _SAID for kind in data.get(key, ())]
                wrong = brief_problems(data.get("mirrors", ()), types, files[file])
                problems += [PackProblem(file, line, "", text) for line, text in wrong]
            else:
                schemas[file] = json.loads(files[file].decode("utf-8-sig"))
                check_schema(schemas[file])
        except json.JSONDecodeError as error:
            problems.append(PackProblem(file, error.lineno, "", f"this is not valid JSON: {error.msg}"))
        except (UnicodeDecodeError, RecursionError) as error:
            problems.append(PackProblem(file, 1, "", f"this is not valid JSON: {error}"))
        except MootError as error:
            at = str(error.details.get("where", ""))
            here = PackProblem(file, 1, at, error.message)
            problems.append(here if at else PackProblem(FILE, lines.of(place), pointed(place), error.message))
    found += [] if found or problems else _wrong_fields(data, schemas)
    problems += [PackProblem(FILE, lines.of(place), pointed(place), said) for place, said in found]
    if problems:
        raise bad_pack(folder, problems)
    if "message" in data.get("limits", {}):
        data["limits"]["message"] = size(data["limits"]["message"])
    digest = sha256()
    for file, content in files.items():
        digest.update(f"{file}\0{len(content)}\0".encode() + content)
    return Parsed(data=data, schemas=schemas, digest=digest.hexdigest())


def _toml(folder: str, read: Read) -> tuple[bytes, str, dict[str, Any]]:
    """`pack.toml` as bytes, as text and as data. Dates are texts: JSON has none."""
    import tomllib

    try:
        content = _content(read, FILE)
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        return content, text, json.loads(json.dumps(tomllib.loads(text), default=str))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, MootError) as error:
        said, _, at = str(error).rpartition(" (at line ")
        number = at.partition(",")[0]
        line = int(number) if number.isdigit() else 1
        raise bad_pack(folder, [PackProblem(FILE, line, "", said or str(error))]) from None


def bad_pack(folder: str, found: Iterable[PackProblem]) -> Usage:
    problems = sorted(dict.fromkeys(found), key=lambda problem: (problem.file != FILE, problem.file, problem.line))
    said = [f"{p.file}, line {p.line}: {p.text}" for p in problems]
    end = "" if said[0].endswith(("?", ".")) else "."
    many = "\n  ".join([f"{folder} has {len(said)} problems:", *said])
    return Usage(
        "bad_pack",
        f"{folder}: {said[0]}{end}" if len(said) == 1 else many,
        "Correct what is named, then run the command again. docs/reference/pack.md describes every key.",
        folder=folder,
        problems=[problem.plain() for problem in problems],
    )


def _content(read: Read, file: str) -> bytes:
    try:
        return read(file)
    except OSError as error:
        raise Usage("bad_pack", f"{file} cannot be read: {error.strerror or error}", "") from None


def size(value: object) -> int | None:
    """A size such as "1MiB" in bytes; None if it is not one, or too small or large for a message."""
    from moot.place.settings.parse import size as bytes_of

    found = bytes_of(value)
    return found if found in _SIZES else None


def _misplaced(data: dict[str, Any]) -> Found:
    """What the schema does not allow."""
    for place, defect in placed(grammar(), data):
        unknown_key = f"there is no key {defect.path}; docs/reference/pack.md has all keys"
        known_key = f"{defect.path}: expected {defect.expected}, got {defect.found}"
        yield place, unknown_key if defect.expected == NOTHING else known_key


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    known = list(known)
    near = closest(str(name), known)
    advice = f"did you mean {near}?" if near and near != name else f"known: {', '.join(known) or 'none'}"
    return f"there is no {what} {name!r}; {advice}"


def _at(value: Any, *steps: str, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """The names at a path: a text, the texts of a list, or the keys of a table. The step `*` is any key or item."""
    if steps and steps[0] != "*":
        if steps[0] in value:
            yield from _at(value[steps[0]], *steps[1:], place=(*place, steps[0]))
    elif steps:
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _at(value[key], *steps[1:], place=(*place, key))
    elif isinstance(value, str):
        yield place, value
    else:
        pairs = zip(value, value, strict=True) if isinstance(value, dict) else enumerate(value)
        yield from (((*place, key), name) for key, name in pairs)


def _messages(data: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    return (((key, kind), said) for key in _SAID for kind, said in data.get(key, {}).items())


def _lives(data: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    if "lifecycle" in data:
        yield ("lifecycle",), data["lifecycle"]
    yield from ((("lifecycles", name), life) for name, life in data.get("lifecycles", {}).items())


# --- what is named exists --------------------------------------------------------------------------------------------


def _named(data: Mapping[str, Any], forms: Mapping[str, Any]) -> Found:
    roles, mirrors, pipeline = data.get("roles", {}), data.get("mirrors", {}), data.get("pipeline", {})
    verbs = dict.fromkeys(edge["verb"] for _, life in _lives(data) for edge in life["edges"])
    rows: list[tuple[str, str, Iterable[str]]] = [
        ("role", "messages/*/from events/*/from", roles),
        ("role", "messages/*/to", [*roles, *_EVERYBODY]),
        ("message", "messages/*/answers mirrors/*/types", data.get("messages", {})),
        ("verb", "messages/*/moves events/*/moves", verbs),
        ("lifecycle", "messages/*/creates/lifecycle events/*/creates/lifecycle", data.get("lifecycles", {})),
        ("form", "mirrors/*/form", forms),
        ("mailbox", "mirrors/*/mailbox", [f"@{name}" for name in roles if roles[name].get("delivery") == "one"]),
        (
            "mirror with {…} in its path",
            "pipeline/document",
            [name for name in mirrors if "{" in mirrors[name]["path"]],
        ),
    ]
    if "files" in pipeline:
        kinds = ["source", *pipeline["files"]]
        rows += [("role", "stage/*/writes", kinds), ("role", "stage/*/reads", [*kinds, DOCUMENT, ANSWER])]
    named = [
        (at, what, name, known)
        for what, paths, known in rows
        for p in paths.split()
        for at, name in _at(data, *p.split("/"))
    ]
    for place, life in _lives(data):
        for what, path, known in (
            *(("state", path, life["states"]) for path in ("edges/*/from", "edges/*/to", "exhausted")),
            ("role", "editors", roles),
            ("role", "edges/*/who", [*RELATIONS, *roles]),
        ):
            named += [(at, what, name, known) for at, name in _at(life, *path.split("/"), place=place)]
    yield from ((at, unknown(what, name, known)) for at, what, name, known in named if name not in known)
    for place, said in _messages(data):
        if "creates" in said and "lifecycle" not in {*data, *said["creates"]}:
            yield (*place, "creates"), "the pack has no [lifecycle]; name one of [lifecycles]: lifecycle = …"


def _wrong_fields(data: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> Found:
    """Fields that the schema of a message does not have."""
    for place, said in _messages(data):
        known = schemas.get(said.get("schema", ""), {}).get("properties") or ()
        named = [one for path in _FIELDS for one in _at(said, *path.split("/"), place=place)]
        for form in _forms(said):
            named += [((*place, "text"), name) for name in getattr(form, "names", ())]
        named += [(at, name.partition(".")[0]) for at, name in _at(said, "order", place=place) if name]
        for at, name in named if known else ():
            if name not in known and name != "type":
                yield at, unknown("field in the schema called", name, known)


# --- rules -----------------------------------------------------------------------------------------------------------


def _rules(data: Mapping[str, Any], name: str | None, *, coded: bool) -> Found:
    if name is not None and data["name"] != name:
        yield ("name",), f"the name is {data['name']!r} here, but {name!r} in moot.toml"
    if data["name"] in RESERVED:
        yield ("name",), f"{data['name']!r} is reserved; choose another name"
    if "message" in data.get("limits", {}) and size(data["limits"]["message"]) is None:
        yield ("limits", "message"), 'limits.message: expected a size such as "1MiB", from 1KiB to 64MiB'
    for place, path in (one for keys in _PATHS for one in _at(data, *keys.split("/"))):
        yield from _outside(place, path.removesuffix("/") if place[0] == "pipeline" else path)
    for role in data.get("roles", ()):
        try:
            checked_name(role, "a role")
        except MootError as error:
            yield ("roles", role), error.message.rstrip(".")
        if role in RELATIONS:
            yield ("roles", role), f"{role!r} is a relation to a task and cannot be the name of a role"
    for kind, said in data.get("messages", {}).items():
        yield from _message(kind, said, data["name"])
    for kind in data.get("events", ()):
        yield from _event(kind, coded=coded)
    for place, life in _lives(data):
        yield from _lifecycle(place, life)
    yield from _stages(data.get("stage", ()), data.get("pipeline", {}))
    yield from _settings(data.get("settings", {}))


def _message(kind: str, said: Mapping[str, Any], pack: str) -> Found:
    owner, slash, word = kind.rpartition("/")
    if not is_word(word.lower()) or (slash and owner != pack) or (not slash and word.lower() in WANTS):
        yield ("messages", kind), f"{kind!r}: expected a word that moot does not use itself, or {pack}/word"
    yield from ((("messages", kind, "text"), wrong) for wrong in _forms(said) if isinstance(wrong, str))


def _forms(said: Mapping[str, Any]) -> Iterator[TextForm | str]:
    """The text forms of a message, or what is wrong with them."""
    from moot.core.templates import form_of

    texts = said.get("text", ())
    for text in (texts,) if isinstance(texts, str) else texts:
        try:
            yield form_of(text)
        except ValueError as error:
            yield f"{text!r}: {error}"


def _outside(place: Place, path: str) -> Found:
    """Why a path of a pack cannot be used, if it is not below its root."""
    steps = path.casefold().split("/")
    if path.startswith("/") or "\\" in path or not path.isprintable() or {"", ".", ".."} & {*steps}:
        yield place, f"{path!r}: expected a plain relative path with forward slashes"
    if is_reserved(path):
        yield place, f"{path!r} belongs to git or to moot itself"


def _event(kind: str, *, coded: bool) -> Found:
    from moot.core.kind import TABLE

    noun, _, participle = kind.partition(":")
    if not is_type(kind) and not (participle == "*" and is_word(noun)) and not (coded and kind == "*"):
        yield ("events", kind), f"{kind!r}: expected an event type such as build:finished, or build:*"
    elif not coded and (noun in TABLE or noun in OTHER_NOUNS):
        yield ("events", kind), f"{noun!r} is reserved for moot's own events; choose another noun"


def _lifecycle(place: Place, life: Mapping[str, Any]) -> Found:
    states = life["states"]
    if not states or next(iter(states.values()))["phase"] != "open":
        yield (*place, "states"), "tasks start in the first state, so there must be one, and its phase must be open"
    steps = [(edge["verb"], edge["from"]) for edge in life["edges"]]
    for number, edge in enumerate(life["edges"]):
        at, verb, target = (*place, "edges", number), edge["verb"], edge["to"]
        if not is_word(verb) or verb == "lapse" or (verb in states and verb != target):
            rest = "a lower-case word, other than lapse and other than a state that the edge does not lead to"
            yield (*at, "verb"), f"{verb!r}: expected {rest}"
        if steps.index((verb, edge["from"])) < number:
            yield at, f"{verb} already leads from {edge['from']} to another state"
        if edge.get("holds", "none") != "none" and states.get(target, {}).get("phase") in ("done", "stopped", "open"):
            yield (*at, "holds"), f"a task in {target} cannot have a holder: see its phase"


def _mirrors(data: Mapping[str, Any], forms: Mapping[str, Any], below: str) -> Found:
    taken: list[str] = []
    for name, mirror in data.get("mirrors", {}).items():
        place, path = ("mirrors", name), mirror["path"]
        if not is_word(name):
            yield place, f"{name!r}: expected a name of lower-case letters, digits and `-`"
        if not path.startswith(below):  # files of others are not its to write
            yield (*place, "path"), f"a pack that a repository brings has its files below {below}"
        if any(overlap(path, other) for other in taken):
            yield (*place, "path"), f"{path!r} and the path of another mirror are the same file, or one is in the other"
        taken.append(path)
        form, fields = forms[mirror["form"]], mirror.get("fields", {})
        wrong = placed(dict(getattr(form, "fields", {})), fields)
        for at, defect in wrong:
            yield (*place, "fields", *at), f"{pointed(at)}: expected {defect.expected}, got {defect.found}"
        if not wrong and hasattr(form, "misfits"):
            yield from (((*place, "fields", *at), text) for at, text in form.misfits(fields, [*data.get("roles", ())]))


def _stages(stages: Sequence[Mapping[str, Any]], pipeline: Mapping[str, Any]) -> Found:
    owner: dict[str, str] = {pipeline.get(key, ""): "" for key in ("errors", "warnings")}
    names = [stage["name"] for stage in stages]
    if pipeline and not names:
        yield ("pipeline",), "the pack has [pipeline], but no [[stage]]"
    for number, stage in enumerate(stages):
        place = ("stage", number)
        if stage["name"] in names[:number]:
            yield (*place, "name"), f"there are two stages {stage['name']!r}"
        if "timeout" in stage and seconds(stage["timeout"]) is None:
            yield (*place, "timeout"), 'timeout: expected a time such as "10m", from 1s to 7d'
        for key in ("sees", "owns", "claims", "marker", "sets", "skips"):
            for at, pointer in _at(stage, key, place=place):
                if "document" not in pipeline:
                    yield at, f"`{key}` is about a document, but [pipeline] names none: document = …"
                elif not pointer.startswith("/"):
                    yield at, f"{pointer!r}: expected a pointer such as /status, with a slash before it"
                elif key != "sees" and pointer not in owner:
                    clash = overlapping([pointer])
                    other = next((one for at, one in owner.items() if one and clash(at)), stage["name"])
                    if other != stage["name"]:
                        yield at, f"{pointer} already belongs to the stage {other}"
                    owner[pointer] = stage["name"]


def _settings(found: Mapping[str, Any]) -> Found:
    for key, schema in found.items():
        if key in RESERVED or not is_word(key):
            yield ("settings", key), f"{key!r}: expected a lower-case word, other than path"
        elif "default" not in schema:
            yield ("settings", key), f"settings.{key} has no default"
        else:
            try:
                check_schema(schema)
            except MootError as error:
                yield ("settings", key), error.message
            else:
                for at, defect in placed(schema, schema["default"]):
                    said = f"expected {defect.expected}, got {defect.found}"
                    yield ("settings", key, "default"), f"{pointed(('settings', key, 'default', *at))}: {said}"
