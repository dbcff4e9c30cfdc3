"""The grammar of `[[stage]]` and `[pipeline]` in `pack.toml`, and the checks of names that refer to each other.

Loaded only when the files of a pack have changed.
"""

from __future__ import annotations

from moot.api.protocol.stage import AGENTS, ANSWER, ANSWERS, CACHES, DOCUMENT, seconds
from moot.core.flat_json import overlapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.core.schema.phrases import Place

    Schema = dict[str, Any]
    Found = Iterator[tuple[Place, str]]

_MOST = 100
_NAME = "^[a-z][a-z0-9_-]{0,63}$"


def _text(said: str, **more: Any) -> Schema:
    return {"type": "string", "minLength": 1, "description": said, **more}


def _pointer(said: str) -> Schema:
    return _text(said, pattern="^/.")


def _words(said: str) -> Schema:
    return {"type": "array", "items": {"type": "string", "pattern": _NAME}, "description": said}


def _pointers(said: str) -> Schema:
    return {"type": "array", "items": {"type": "string", "pattern": "^/."}, "description": said}


def _choice(said: str, *words: str) -> Schema:
    return {"enum": list(words), "description": said}


STAGE: Schema = {
    "type": "object",
    "properties": {
        "name": _text("The name of the stage: a word, unique in the pack.", pattern=_NAME),
        "title": _text("How messages call it. Default: its name."),
        "after": _text("The stage that must have passed before it. It is the one above, and need not be written."),
        "agent": _choice(
            "Who does the work: `required`: a command in [run.PACK] of moot.toml. `optional`: the code of the pack, or "
            "such a command instead. `refines`: the code of the pack, and then such a command, if there is one. `none` "
            "(the default): the code of the pack.",
            *AGENTS,
        ),
        "answer": _choice(
            "How the result of a command is read. `yaml` (the default): the last YAML block of its output. `exit`: "
            "its exit code alone.",
            *ANSWERS,
        ),
        "reads": _words("What it gets: roles of files, `document`, and `answer` (that of the stage before)."),
        "writes": _words("The roles of files that it may write."),
        "parameters": {
            "type": "array",
            "items": {"type": "string", "pattern": f"{_NAME}|^\\*$"},
            "description": "The parameters of the target that its result depends on. Default: `*`, all of them.",
        },
        "sees": _pointers("The parts of the document that it gets. Default: all of it."),
        "owns": _pointers("The parts of the document that only this stage may change."),
        "requires": _words("Checks of the pack that must hold before it starts."),
        "criteria": _words("Criteria of the pack that must hold, on the real files, before it has passed."),
        "marker": _pointer("The value of the document that moot sets to true when the stage has passed."),
        "sets": {"type": "object", "description": "Other values that moot sets together with the marker, by pointer."},
        "claims": _pointers(
            "Other values by which agents say that the stage has passed. moot removes them at its end."
        ),
        "skips": {
            "type": "object",
            "description": "Values that moot sets when the stage is skipped, by pointer. `{reason}` is replaced.",
        },
        "cache": _choice(
            "When an earlier result is used again, if everything that the stage reads is the same. `content` (the "
            "default): always. `run`: only when the same run is resumed. `never`: not at all.",
            *CACHES,
        ),
        "timeout": _text('The time limit of a program that it runs, such as "10m" (the default).'),
    },
    "required": ["name"],
    "additionalProperties": False,
}
PIPELINE: Schema = {
    "type": "object",
    "properties": {
        "document": _text("The mirror with the documents of the targets."),
        "errors": _pointer("The list in the document that every stage appends its errors to."),
        "warnings": _pointer("The list in the document that every stage appends its warnings to."),
        "incidental": _pointers(
            "Parts of the document that no result depends on, such as a time. Stages that see them need not run again "
            "when only they change."
        ),
        "files": {
            "type": "object",
            "additionalProperties": {"type": "string", "minLength": 1},
            "description": "The path of each role of files besides `source`. `{path}`, `{folder}`, `{name}` and "
            "`{stem}` are those of the source. A path that ends with `/` means all files in that folder.",
        },
    },
    "additionalProperties": False,
    "description": "What the stages have in common.",
}


# --- references ------------------------------------------------------------------------------------------------------


def problems(data: Mapping[str, Any]) -> Found:
    """Problems in the tables, each with its place. `data` has only what the grammar allows."""
    tables = [(n, table) for n, table in enumerate(data.get("stage") or ()) if isinstance(table, dict)]
    spec = data.get("pipeline") or {}
    if spec and not tables:
        yield ("pipeline",), "the pack has [pipeline], but no [[stage]]"
    if len(tables) > _MOST:
        yield ("stage",), f"there are {len(tables)} stages; at most {_MOST} are allowed"
    yield from _names(tables)
    yield from _owners(tables, [spec[key] for key in ("errors", "warnings") if key in spec])
    mirrors = data.get("mirrors") or {}
    if "document" in spec and spec["document"] not in mirrors:
        known = ", ".join(mirrors) or "none"
        yield ("pipeline", "document"), f"there is no mirror {spec['document']!r}; known: {known}"
    elif "document" in spec:
        yield from _document(spec["document"], mirrors[spec["document"]])
    roles = {"source", *spec.get("files", {})}
    for n, table in tables:
        yield from _stage(("stage", n), table, spec, roles, first=n == 0)


def _document(name: str, mirror: object) -> Found:
    """Problems of the mirror with the documents of the targets. Each target has one of its own."""
    if isinstance(mirror, dict) and "{" not in str(mirror.get("path", "{")):
        yield ("pipeline", "document"), f"the path of the mirror {name!r} needs a placeholder, such as {{name}}"


def _names(tables: Sequence[tuple[int, Mapping[str, Any]]]) -> Found:
    seen: list[str] = []
    for n, table in tables:
        name = table.get("name", "")
        if name in seen:
            yield ("stage", n, "name"), f"there are two stages {name!r}"
        if "after" in table and table["after"] != (seen[-1] if seen else None):
            above = f"expected {seen[-1]!r}" if seen else "the first stage comes after none"
            yield ("stage", n, "after"), f"stages run in the order of the file, each after the one above it: {above}"
        seen.append(name)


def _owners(tables: Sequence[tuple[int, Mapping[str, Any]]], shared: list[str]) -> Found:
    owner: dict[str, str] = {}
    for n, table in tables:
        for place, pointer in _owned(("stage", n), table):
            clash = overlapping([pointer])
            other = next((one for at, one in owner.items() if clash(at) and one != table.get("name")), None)
            if other is not None:
                yield place, f"{pointer} already belongs to the stage {other}"
            elif pointer not in shared:
                owner.setdefault(pointer, table.get("name", ""))


def _owned(place: Place, table: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """The pointers that a stage owns: those that it lists, and those that moot sets for it."""
    for key in ("owns", "claims"):
        for n, pointer in enumerate(table.get(key) or ()):
            if isinstance(pointer, str):
                yield (*place, key, n), pointer
    if "marker" in table:
        yield (*place, "marker"), table["marker"]
    for key in ("sets", "skips"):
        for pointer in table.get(key) or {}:
            yield (*place, key, pointer), pointer


def _stage(place: Place, table: Mapping[str, Any], spec: Mapping[str, Any], roles: set[str], *, first: bool) -> Found:
    for key in ("sees", "owns", "marker", "sets", "claims", "skips"):
        if table.get(key) and "document" not in spec:
            yield (*place, key), f"`{key}` is about a document, but [pipeline] names none: document = …"
    for key in ("sets", "skips"):
        for pointer in table.get(key) or {}:
            if not pointer.startswith("/"):
                yield (*place, key, pointer), f"{pointer!r}: expected a pointer such as /status, with a slash before it"
    for key in ("reads", "writes"):
        for n, role in enumerate(table.get(key) or ()):
            if role in (DOCUMENT, ANSWER):
                if key == "writes" or (first if role == ANSWER else "document" not in spec):
                    yield (*place, key, n), _misused(role, key)
            elif role not in roles and spec.get("files"):
                yield (*place, key, n), f"there is no role {role!r}; known: {', '.join(sorted(roles))}"
    if "timeout" in table and seconds(table["timeout"]) is None:
        yield (*place, "timeout"), 'timeout: expected a time such as "10m", from 1s to 7d'


def _misused(role: str, key: str) -> str:
    if key == "writes":
        return f"a stage writes to the {role} by what it owns; list files only"
    if role == ANSWER:
        return "the first stage has no answer before it"
    return "[pipeline] names no document: document = …"
