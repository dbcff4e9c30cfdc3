"""Whether a metadata document is valid. Every defect is an error of its own that begins with the path of its key.

Pure: what exists on disk is passed in. `dependency_checks` has the rules between characteristics.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from moot.core.record import Record
from moot.packs.rspec_v1.dependency_checks import check_dependencies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

SECTIONS = ("analyzer", "validation", "test_level", "target", "characteristics", "factories_detected", "automation")
LEVELS = ("unit", "integration", "request", "e2e")
METHOD_TYPES = ("instance", "class")
TYPES = ("binary", "enum", "range", "sequential")
LINTERS = ("rubocop", "standardrb")
BUILT_IN = "built-in"  # how `automation.analyzer_version` begins in a document of moot's own analyzer
_REQUIRED = ("analyzer", "test_level", "target", "characteristics", "factories_detected")
_SECOND_VERSION = frozenset(("source_file", "class_name"))  # in every document of the pipeline `rspec`
_OTHER = "it is one of the pipeline rspec (version 2), which version 1 cannot use"
_BINARY = 2  # states of a binary characteristic
_OPERATORS = frozenset(
    (
        *("[]", "[]=", "+", "-", "*", "/", "%", "**", "==", "!=", "===", "=~", "!~", "<=>", "<", "<=", ">", ">="),
        *("!", "~", "+@", "-@", "<<", ">>", "&", "|", "^", "`"),
    )
)
_SHOWN = 60


class DocumentValidity(Record):
    """The result of a validation."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.errors

    def section(self) -> dict[str, Any]:
        """The section `validation` of the document."""
        return {"completed": self.valid, "errors": list(self.errors), "warnings": list(self.warnings)}


def validate(document: object, *, exists: Callable[[str], bool] = lambda _: True) -> DocumentValidity:
    """All defects of a document. `exists`: whether a path of the project does."""
    if not isinstance(document, dict):
        return DocumentValidity(errors=(f"document: expected a map, got {_kind(document)}",))
    errors = [f"document: {_OTHER}"] if "target" not in document and document.keys() >= _SECOND_VERSION else []
    errors += [f"{name}: missing" for name in _REQUIRED if name not in document]
    errors += _analyzer(document, built_in=is_built_in(document))
    errors += _enum(document, "test_level", LEVELS)
    errors += _target(document)
    entries = document.get("characteristics", [])
    errors += _characteristics(entries)
    errors += _factories(document.get("factories_detected", {}))
    errors += _automation(document.get("automation", {}))
    return DocumentValidity(errors=tuple(errors), warnings=tuple(_warnings(document, entries, exists)))


def is_built_in(document: Mapping[str, Any]) -> bool:
    """Whether moot's own analyzer wrote the document."""
    automation = document.get("automation")
    version = automation.get("analyzer_version") if isinstance(automation, dict) else None
    return isinstance(version, str) and version.startswith(BUILT_IN)


def is_constant_path(text: object) -> bool:
    """Whether this is a Ruby constant path, such as `Billing::PaymentService`."""
    if not isinstance(text, str):
        return False
    return all(part.isidentifier() and part[0].isupper() for part in text.removeprefix("::").split("::"))


def is_method_name(text: object) -> bool:
    """Whether this is the name of a Ruby method, without `#` or `.`."""
    if not isinstance(text, str) or not text:
        return False
    return text in _OPERATORS or text.removesuffix(text[-1] if text[-1] in "?!=" else "").isidentifier()


def _analyzer(document: Mapping[str, Any], *, built_in: bool) -> Iterator[str]:
    if "analyzer" not in document:
        return
    section = document["analyzer"]
    if not isinstance(section, dict):
        yield f"analyzer: expected a map, got {_kind(section)}"
        return
    wanted = ("completed", "timestamp", "source_file_mtime", *(("version",) if built_in else ()))
    yield from (f"analyzer.{name}: missing" for name in wanted if name not in section)
    if "completed" in section and section["completed"] is not True:
        yield f"analyzer.completed: expected true, got {_shown(section['completed'])}"
    if "timestamp" in section and not _is_timestamp(section["timestamp"]):
        yield f"analyzer.timestamp: expected an ISO 8601 time in UTC, got {_shown(section['timestamp'])}"
    if "source_file_mtime" in section and not _is_positive(section["source_file_mtime"]):
        yield f"analyzer.source_file_mtime: expected a positive integer, got {_shown(section['source_file_mtime'])}"
    if "version" in section and not isinstance(section["version"], str):
        yield f"analyzer.version: expected a string, got {_kind(section['version'])}"


def _target(document: Mapping[str, Any]) -> Iterator[str]:
    if "target" not in document:
        return
    target = document["target"]
    if not isinstance(target, dict):
        yield f"target: expected a map, got {_kind(target)}"
        return
    yield from (f"target.{name}: missing" for name in ("class", "method", "method_type", "file") if name not in target)
    if "class" in target and not is_constant_path(target["class"]):
        yield f"target.class: expected a Ruby constant path, got {_shown(target['class'])}"
    if "method" in target and not is_method_name(target["method"]):
        yield f"target.method: expected the name of a Ruby method, without # or ., got {_shown(target['method'])}"
    yield from _enum(target, "method_type", METHOD_TYPES, "target.")
    file = target.get("file", "-")
    if not isinstance(file, str) or not file or file.startswith("/") or ".." in file.split("/"):
        yield f"target.file: expected a path relative to the project root, got {_shown(file)}"
    if "uses_models" in target and not isinstance(target["uses_models"], bool):
        yield f"target.uses_models: expected true or false, got {_shown(target['uses_models'])}"


def _characteristics(entries: object) -> Iterator[str]:
    if not isinstance(entries, list):
        yield f"characteristics: expected a list, got {_kind(entries)}"
        return
    seen: dict[str, int] = {}
    for number, entry in enumerate(entries):
        at = f"characteristics[{number}]"
        if not isinstance(entry, dict):
            yield f"{at}: expected a map, got {_kind(entry)}"
            continue
        yield from _entry(entry, at)
        name = entry.get("name")
        if isinstance(name, str) and name in seen:
            yield f"{at}.name: {_shown(name)} is already the name of characteristics[{seen[name]}]"
        elif isinstance(name, str):
            seen[name] = number
    yield from check_dependencies(entries)


def _entry(entry: Mapping[str, Any], at: str) -> Iterator[str]:
    yield from (f"{at}.{name}: missing" for name in ("name", "type", "states", "default", "level") if name not in entry)
    if "depends_on" not in entry:
        yield f"{at}.depends_on: missing"
    if "name" in entry and not (isinstance(entry["name"], str) and entry["name"]):
        yield f"{at}.name: expected a string, got {_shown(entry['name'])}"
    yield from _enum(entry, "type", TYPES, f"{at}.")
    states = entry.get("states", ("", ""))
    if not isinstance(states, (list, tuple)):
        yield f"{at}.states: expected a list, got {_kind(states)}"
        states = ()
    elif len(states) < 2:
        yield f"{at}.states: expected at least two states, got {len(states)}"
    for number, state in enumerate(states):
        if not isinstance(state, str):
            yield f"{at}.states[{number}]: expected a string, got {_shown(state)}"
        elif state in states[:number]:
            yield f"{at}.states[{number}]: {_shown(state)} is there twice"
    if "states" in entry and entry.get("default") is not None and entry["default"] not in states:
        yield f"{at}.default: {_shown(entry['default'])} is not one of its states"
    if "level" in entry and not _is_positive(entry["level"]):
        yield f"{at}.level: expected an integer from 1, got {_shown(entry['level'])}"


def _factories(factories: object) -> Iterator[str]:
    if not isinstance(factories, dict):
        yield f"factories_detected: expected a map, got {_kind(factories)}"
        return
    for name, factory in factories.items():
        at = f"factories_detected.{name}"
        if not isinstance(factory, dict):
            yield f"{at}: expected a map with file and traits, got {_kind(factory)}"
            continue
        yield from (f"{at}.{key}: missing" for key in ("file", "traits") if key not in factory)
        if "file" in factory and not isinstance(factory["file"], str):
            yield f"{at}.file: expected a path, got {_shown(factory['file'])}"
        if "traits" in factory and not _is_strings(factory["traits"]):
            yield f"{at}.traits: expected a list of strings, got {_shown(factory['traits'])}"


def _automation(section: object) -> Iterator[str]:
    if not isinstance(section, dict):
        yield f"automation: expected a map, got {_kind(section)}"
        return
    for key in ("errors", "warnings"):
        if key in section and not _is_strings(section[key]):
            yield f"automation.{key}: expected a list of strings, got {_shown(section[key])}"
    if section.get("linter") is not None:
        yield from _enum(section, "linter", LINTERS, "automation.")


def _warnings(document: Mapping[str, Any], entries: object, exists: Callable[[str], bool]) -> Iterator[str]:
    if entries == []:
        yield "characteristics: empty, so only a minimal skeleton follows"
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and entry.get("type") == "binary" and isinstance(entry.get("states"), list):
            count = len(entry["states"])
            if count != _BINARY:
                yield f"characteristics[{number}].states: a binary characteristic has two states, not {count}"
    target = document.get("target")
    file = target.get("file") if isinstance(target, dict) else None
    if isinstance(file, str) and file and not exists(file):
        yield f"target.file: {file} does not exist"


def _enum(section: Mapping[str, Any], key: str, allowed: tuple[str, ...], before: str = "") -> Iterator[str]:
    if key in section and section[key] not in allowed:
        yield f"{before}{key}: expected {', '.join(allowed[:-1])} or {allowed[-1]}, got {_shown(section[key])}"


def _is_timestamp(value: object) -> bool:
    if not isinstance(value, str) or "T" not in value:
        return False
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return False
    return found.utcoffset() in (None, timedelta(0))


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _shown(value: object) -> str:
    from json import dumps

    try:
        text = dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "a map", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)
