"""The content of a message: how it is written, when two are equal, and checks that a schema cannot express.

Pure: the roots of the worktrees are an argument.
"""

from __future__ import annotations

from moot.core.schema import Defect
from moot.core.schema.phrases import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moot.api.protocol import MessageType

_NESTED = (dict, list, tuple)
DEEPEST = 98
"""Maximum nesting of a message. In a file it may be in a list in an object, and files are read up to 100 levels."""


def too_deep(data: Mapping[str, Any]) -> list[Defect]:
    return [
        Defect(name, f"at most {DEEPEST} levels", "more")
        for name, value in data.items()
        if isinstance(value, _NESTED) and _levels(value) >= DEEPEST
    ]


def _levels(value: Any) -> int:
    """The nesting depth of a list or an object: 1 for a list of numbers."""
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max((_levels(item) for item in inner if isinstance(item, _NESTED)), default=0)


def render(kind: str, data: Mapping[str, Any], order: Iterable[str]) -> dict[str, Any]:
    """The message as the protocol writes it: its type, its keys in the order of `order`, then all others.

    A dotted key (`result.status`) orders the fields of an object inside.
    """
    whole = {**data, "type": kind}
    inner: dict[str, list[str]] = {}
    ordered: dict[str, Any] = {}
    for key in order:
        outer, dot, name = key.partition(".")
        if dot:
            inner.setdefault(outer, []).append(name)
        elif key in whole:
            ordered[key] = whole[key]
    ordered.update(whole)
    for key, names in inner.items():
        value = ordered.get(key)
        if isinstance(value, dict):
            ordered[key] = {**{name: value[name] for name in names if name in value}, **value}
    return ordered


def fingerprint(data: Mapping[str, Any]) -> str:
    """The content as canonical text: independent of the order of keys, different for 1, 1.0 and true.

    Normalise the paths first, on both sides of a comparison.
    """
    import json

    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def canonical(spec: MessageType, data: Mapping[str, Any], roots: Sequence[str]) -> str:
    """The text of a message with relative paths: equal for equal messages, however they were written."""
    return fingerprint(normalise_paths({**unmarked(spec, data), "type": spec.word}, spec.paths, roots)[0])


def unmarked(spec: MessageType, data: Mapping[str, Any]) -> dict[str, Any]:
    """The message without the mark of an observed result: only moot knows whether it is true."""
    found = dict(data)
    if spec.receipt is not None:
        field, mark = spec.receipt["field"], spec.receipt["mark"]
        if isinstance(result := found.get(field), dict) and mark in result:
            found[field] = {key: value for key, value in result.items() if key != mark}
    return found


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return fingerprint(one) == fingerprint(other)


def normalise_paths(
    data: dict[str, Any], fields: Iterable[str], roots: Sequence[str]
) -> tuple[dict[str, Any], list[Defect]]:
    """A copy with the paths in the given lists relative to the project root, and a defect for each path outside it.

    `roots` are the absolute paths of the project's worktrees. Only the text counts: symlinks are not followed.
    """
    changed, wrong = dict(data), []
    for field in fields:
        paths = data.get(field)
        if not isinstance(paths, list):
            continue
        changed[field] = kept = []
        for index, path in enumerate(paths):
            inside = relative(path, roots) if isinstance(path, str) and path else path
            if inside is None and path is not None:
                wrong.append(Defect(f"{field}[{index}]", "the path of a file inside the project", shown(path)))
            kept.append(inside or path)
    return changed, wrong


def relative(path: str, roots: Sequence[str]) -> str | None:
    """The path relative to the root that contains it, with forward slashes; None if it is outside, or the root."""
    path = path.replace("\\", "/")
    steps = None if _in_a_home(path) else _steps(path)
    if steps is not None and _is_absolute(path):
        above = [root for root in map(_steps, roots) if root is not None and steps[: len(root)] == root]
        steps = steps[len(max(above, key=len)) :] if above else None
    if not steps:
        return None
    inside = "/".join(steps) + ("/" if path.endswith("/") else "")
    elsewhere = _in_a_home(inside) or _is_absolute(inside)  # then `./` marks it as relative
    return f"./{inside}" if elsewhere else inside


def _in_a_home(path: str) -> bool:
    return path == "~" or path.startswith("~/")


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or (path[:1].isalpha() and path[1:3] == ":/")


def _steps(path: str) -> list[str] | None:
    """The names along a path, `.` and `..` resolved; None if it leaves its start."""
    steps: list[str] = []
    for step in path.replace("\\", "/").split("/"):
        if step == "..":
            if not steps:
                return None
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    return steps
