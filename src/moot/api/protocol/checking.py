"""Parses the files of a pack, and reports all problems at once, each with file, key and line.

Loaded only when the files of a pack have changed, so it need not be fast. It reads no file itself: it gets a function
that reads the files of the pack.
"""

from __future__ import annotations

import json

from moot.api.protocol import briefs, grammar, mirror_references, references
from moot.core.errors import MootError, Usage
from moot.core.record import Record
from moot.core.schema import check_schema, placed
from moot.core.schema.phrases import NOTHING, pointed
from moot.core.text import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from moot.core.schema.phrases import Place
    from moot.settings.lines import Lines

    Read = Callable[[str], bytes]

FILE = "pack.toml"


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


def parse(
    folder: str,
    read: Read,
    *,
    name: str | None = None,
    forms: Mapping[str, Any] | None = None,
    below: str = "",
    coded: bool = False,
) -> Parsed:
    """Parse a pack. Raises `Usage` with all problems.

    `folder`: the name of the folder in errors. `name`: the name of the pack in moot.toml. `forms`: the known forms of
    mirrors. `below`: the directory that its mirrors must be in. `coded`: it has code that takes its events.
    """
    found: list[PackProblem] = []
    raw = _bytes(read, FILE, found)
    data, lines = (None, None) if raw is None else _toml(raw, found)
    schemas: dict[str, dict[str, Any]] = {}
    digested = [(FILE, raw or b"")]
    if data is not None and lines is not None:

        def add(place: Place, text: str) -> None:
            found.append(PackProblem(FILE, lines.of(place), pointed(place), text))

        for place in _dates(data, ()):
            add(place, f"{pointed(place)}: expected a text in quotes, got a date or time")
        data = json.loads(json.dumps(data, default=str))
        for place, text in _misplaced(data):
            add(place, text)
        sound = _sound(data)
        for file, named in references.schema_files(sound).items():
            content = _bytes(read, file, found, (lines.of(named), pointed(named)))
            digested.append((file, content or b""))
            schema = None if content is None else _schema(file, content, found)
            if schema is not None:
                schemas[file] = schema
        for file, named in references.brief_files(sound).items():
            content = _bytes(read, file, found, (lines.of(named), pointed(named)))
            digested.append((file, content or b""))
            wrong = () if content is None else briefs.problems(*references.names(data), content)
            found += [PackProblem(file, line, "", text) for line, text in wrong]
        for place, text in references.problems(sound, data, name, schemas, coded=coded):
            add(place, text)
        for place, text in mirror_references.problems(sound, data, forms or {}, below):
            add(place, text)
        if "message" in data.get("limits", {}):
            data["limits"]["message"] = references.size(data["limits"]["message"])
    if found:
        raise bad_pack(folder, found)
    assert data is not None
    return Parsed(data=data, schemas=schemas, digest=_digest(digested))


def bad_pack(folder: str, found: Iterable[PackProblem]) -> Usage:
    problems = sorted(dict.fromkeys(found), key=lambda problem: (problem.file != FILE, problem.file, problem.line))
    said = [f"{p.file}, line {p.line}: {p.text}" for p in problems]
    end = "" if said[0].endswith("?") else "."
    many = "\n  ".join([f"{folder} has {len(said)} problems:", *said])
    message = f"{folder}: {said[0]}{end}" if len(said) == 1 else many
    return Usage(
        "bad_pack",
        message,
        "Correct what is named, then run the command again. docs/reference/pack.md describes every key.",
        folder=folder,
        problems=[problem.plain() for problem in problems],
    )


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    from hashlib import sha256

    found = sha256()
    for name, content in files:
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def _bytes(read: Read, file: str, found: list[PackProblem], named: tuple[int, str] | None = None) -> bytes | None:
    """A file of the pack. `named`: the line and key of pack.toml that names it."""
    try:
        return read(file)
    except OSError as error:
        why = error.strerror or str(error)
    except MootError as error:
        why = error.message.rstrip(".")
    at = (file, 1, "") if named is None else (FILE, *named)
    found.append(PackProblem(*at, f"{file} cannot be read: {why}"))
    return None


def _toml(raw: bytes, found: list[PackProblem]) -> tuple[dict[str, Any] | None, Lines | None]:
    import tomllib

    from moot.settings.lines import Lines

    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        return tomllib.loads(text), Lines(text)
    except UnicodeDecodeError as problem:
        found.append(PackProblem(FILE, raw[: problem.start].count(b"\n") + 1, "", "this is not UTF-8"))
    except tomllib.TOMLDecodeError as problem:
        said, _, at = str(problem).rpartition(" (at line ")
        number = at.partition(",")[0]
        line = int(number) if number.isdigit() else raw.rstrip().count(b"\n") + 1
        found.append(PackProblem(FILE, line, "", said or str(problem)))
    except RecursionError:
        found.append(PackProblem(FILE, 1, "", "values are nested too deeply"))
    return None, None


def _dates(value: Any, place: Place) -> Iterable[Place]:
    """Values that TOML has and JSON does not."""
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _dates(item, (*place, key))
    elif not isinstance(value, (str, int, float, bool)):
        yield place


def _schema(file: str, content: bytes, found: list[PackProblem]) -> dict[str, Any] | None:
    """The schema in a file. Problems name the place inside it, because JSON has no line numbers."""
    try:
        schema = json.loads(content.decode("utf-8-sig"))
        check_schema(schema)
        if isinstance(schema, dict):
            return schema
        found.append(PackProblem(file, 1, "#", "the schema of a message must be an object"))
    except json.JSONDecodeError as error:
        found.append(PackProblem(file, error.lineno, "", f"this is not valid JSON: {error.msg}"))
    except (UnicodeDecodeError, RecursionError) as error:
        found.append(PackProblem(file, 1, "", f"this is not valid JSON: {error}"))
    except MootError as error:
        where = str(error.details.get("where", "#"))
        found.append(PackProblem(file, _line_in(content, where), where, error.message))
    return None


def _line_in(content: bytes, where: str) -> int:
    """The line where the last key of a place in a schema first occurs: a good guess."""
    key = json.dumps(where.rpartition("/")[2]).encode()
    return content.partition(key)[0].count(b"\n") + 1 if key in content else 1


# --- the grammar -----------------------------------------------------------------------------------------------------


def _misplaced(data: dict[str, Any]) -> Iterable[tuple[Place, str]]:
    """Unknown keys, missing keys, values of another type."""
    for place, defect in placed(grammar.SCHEMA, data):
        if defect.expected == NOTHING:
            known = _keys(place[:-1])
            near = closest(str(place[-1]), known)
            advice = f"did you mean {near}?" if near else f"known here: {', '.join(known)}"
            yield place, f"there is no key {defect.path}; {advice}"
        elif defect.found == NOTHING:
            yield place, f"{defect.path} is missing; expected {defect.expected}"
        else:
            yield place, f"{defect.path}: expected {defect.expected}, got {defect.found}"


def _keys(place: Place) -> list[str]:
    """The keys that the grammar allows at a place."""
    schema: Any = grammar.SCHEMA
    for step in place:
        schema = _resolved(schema)
        schema = (
            schema["items"]
            if isinstance(step, int)
            else schema.get("properties", {}).get(step, schema.get("additionalProperties"))
        )
    return list(_resolved(schema).get("properties", {}))


def _resolved(schema: Any) -> Any:
    return grammar.SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _sound(data: dict[str, Any]) -> dict[str, Any]:
    """A copy without what the grammar does not allow, so that the rest can be checked."""
    copy: dict[str, Any] = json.loads(json.dumps(data))
    for place, defect in placed(grammar.SCHEMA, data):
        missing = defect.found == NOTHING and defect.expected != NOTHING
        _drop(copy, place[:-1] if missing else place)
    return copy


def _drop(data: dict[str, Any], place: Place) -> None:
    if not place:
        return
    around: Any = data
    for step in place[:-1]:
        around = around.get(step) if isinstance(around, dict) else around[step] if around is not None else None
    if isinstance(around, dict):
        around.pop(place[-1], None)
    elif isinstance(around, list) and isinstance(place[-1], int):
        around[place[-1]] = None  # so that the others keep their numbers
