"""Step keys: a digest of everything that the result of a stage depends on, and what changed between two of them.

    declaration            of the stage, with the versions of the pack and its code
    command                the words of the agent's command, if one does the work
    file:PATH              the content of a file that it reads
    document:POINTER       a part of the document that it reads
    parameter:NAME         of the target, if the result depends on it
    answer                 of the stage before, if it reads it
    also:NAME              what the pack adds (`Pipeline.also`)

The step key is the digest of this table. Pure.
"""

from __future__ import annotations

from hashlib import sha256  # noqa: TID253 (this module itself is loaded on demand)

from moot.core.json_codec import dumps_sorted
from moot.runs import documents
from moot.runs.contents import NONE, is_of
from moot.runs.stage import ANSWER, DOCUMENT, EVERY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.runs.contract import Target
    from moot.runs.stage import PipelinePack, Stage

FILE = "file:"
_PRESENTATION = ("title", "timeout", "after", "cache")  # do not change a result


def inputs_of(
    pack: PipelinePack,
    version: str,
    stage: Stage,
    target: Target,
    files: Mapping[str, str],
    leaves: Mapping[str, Any],
    command: Sequence[str] = (),
    answer: str | None = None,
    more: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The table of a stage.

    `files`: digests by path. `answer`: the blob with the answer of the stage before. `more`: what the pack adds.
    """
    declared = {name: value for name, value in stage.plain().items() if name not in _PRESENTATION}
    found = {"declaration": _digest([pack.version, version, declared])}
    if command:
        found["command"] = _digest(list(command))
    for role in stage.reads:
        paths = target.paths.get(role, ())
        found |= {FILE + path: NONE for path in paths if not path.endswith("/")}
        found |= {FILE + path: one for path, one in files.items() if is_of(path, paths)}
    if DOCUMENT in stage.reads:
        parts = documents.inputs(pack, stage, leaves)
        found |= {f"document:{pointer}": _digest(part) for pointer, part in parts.items()}
    known = {name: one for name, one in target.parameters.items() if not {EVERY, name}.isdisjoint(stage.parameters)}
    found |= {f"parameter:{name}": _digest(value) for name, value in known.items()}
    if ANSWER in stage.reads:
        found["answer"] = answer or NONE
    return {**found, **{f"also:{name}": _digest(value) for name, value in (more or {}).items()}}


def outputs_of(stage: Stage, target: Target, files: Mapping[str, str], leaves: Mapping[str, Any]) -> dict[str, str]:
    """The table of what a stage left: the files that it may write, and the parts of the document that it owns."""
    found: dict[str, str] = {}
    for role in stage.writes:
        paths = target.paths.get(role, ())
        found |= {FILE + path: NONE for path in paths if not path.endswith("/")}
        found |= {FILE + path: one for path, one in files.items() if is_of(path, paths)}
    return found | owned_parts(stage, leaves)


def owned_parts(stage: Stage, leaves: Mapping[str, Any]) -> dict[str, str]:
    """The parts of the document that a stage owns, without its marker: that alone is not what it has left."""
    marks = (stage.marker, *stage.sets, *stage.skips)
    leaves = {pointer: value for pointer, value in leaves.items() if pointer not in marks}
    parts = {pointer: documents.below(leaves, pointer) for pointer in stage.owns}
    return {f"document:{pointer}": _digest(part) for pointer, part in parts.items()}


def key_of(inputs: Mapping[str, str]) -> str:
    return _digest(dict(inputs))


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The inputs that differ between two attempts at a stage, in order."""
    return [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]


def word(name: str) -> str:
    """An input of a stage, as people call it."""
    kind, _, rest = name.partition(":")
    match kind:
        case "file" | "also":
            return rest
        case "document":
            return f"{rest} of the document"
        case "parameter":
            return f"the parameter {rest}"
        case "declaration":
            return "the declaration of the stage"
        case "answer":
            return "the answer of the stage before"
        case _:
            return f"the {name} of the stage"


def said(names: Sequence[str]) -> str:
    """What changed, in words."""
    return f"{', '.join(map(word, names))} changed"


def _digest(value: Any) -> str:
    """Of a JSON value. The order of keys in a document does not matter."""
    return sha256(dumps_sorted(value).encode("utf-8", "surrogatepass")).hexdigest()


EMPTY = _digest({})  # of a part of the document that is not there
