"""What the stages write into a document, and what they count: between the rules of the pack and the engine."""

from __future__ import annotations

from moot.packs.rspec.agents import selected_methods
from moot.packs.rspec.analyzer import completed
from moot.packs.rspec.contexts import shown_name
from moot.packs.rspec.reviewing import missing_terminals
from moot.packs.rspec.spec_blocks import blocks_of, planned_blocks
from moot.packs.rspec.structure import examples_of
from moot.runs.contract import Problem, StageError, StageOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.packs.rspec.answers import AgentAnswer
    from moot.runs.contract import StageInput

_PARTS = ("behavior_id", "side_effects", "characteristics", "dependencies")  # of a method, as the analyzer finds them
# Running the examples decides the first, the structure the order and the cases, a linter the last.
_DECIDED_ELSEWHERE = frozenset((2, 7, 8, 21))


def pointer(*names: str) -> str:
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def analysis_output(
    document: Mapping[str, Any], data: Mapping[str, Any], warnings: Sequence[str], source: bytes | None = None
) -> StageOutput:
    """The analysis in a document: checked, with modes and counts filled in. It replaces what an earlier one found.

    `source`: if an agent made it.
    """
    found = completed(document, data, source)
    if found.faults:
        problems = [Problem(text, key=path) for path, text in found.faults]
        raise StageError(f"the analysis is not valid: {problems[0].said}", problems=problems)
    changes: dict[str, Any] = {f"/{key}": found.data[key] for key in ("slug", "source_mtime", "behaviors")}
    for method in found.data["methods"]:
        changes |= {pointer("methods", method["name"], key): value for key, value in method.items()}
    notes = tuple(dict.fromkeys((*warnings, *found.warnings)))
    analysed = {method["name"]: method for method in found.data["methods"]}
    known = [method["name"] for method in document.get("methods") or ()]
    gone = [pointer("methods", name) for name in known if name not in analysed]
    gone += [pointer("methods", n, key) for n in known for key in _PARTS if key not in analysed.get(n, _PARTS)]
    return StageOutput(document=changes, removed=tuple(gone), warnings=notes, answer=dict(found.data))


def configured(document: Mapping[str, Any], methods: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The configurations that an agent decided, by pointer."""
    known = {method["name"] for method in selected_methods(document)}
    changes = {}
    for index, method in enumerate(methods):
        if method["name"] not in known:
            said = f"{method['name']} is not a selected method"
            raise StageError(said, problems=[Problem(said, key=f"data.methods[{index}].name")])
        changes[pointer("methods", method["name"], "test_config")] = method["test_config"]
    return changes


def stated_warnings(answer: AgentAnswer) -> Iterator[str]:
    """The warnings in an answer, without the name of the agent in front."""
    label = answer.agent.replace("-", "_") + ":"
    for text in (*(answer.data.get("warnings") or ()), *(answer.automation.get("warnings") or ())):
        yield str(text).removeprefix(label).strip()


def violations(document: Mapping[str, Any], path: str, data: bytes) -> tuple[list[dict[str, Any]], list[str]]:
    """The rules that a spec file breaks, and what it should do better: `must` rules, and `should` rules."""
    broken = [*missing_terminals(document, path, data)]
    advice: list[str] = []
    for number, severity, text, line in _remarks(document, path, data):
        if severity == "must":
            broken.append({"rule": number, "description": text, "location": f"{path}:{line}"})
        elif severity == "should":
            advice.append(f"rule {number}: {text} ({path}:{line})")
    return broken, advice


def _remarks(document: Mapping[str, Any], path: str, data: bytes) -> Iterator[tuple[int, str, str, int]]:
    """What the mechanical checks of rspec-v1 find in the blocks of the document's methods."""
    from moot.packs.rspec_v1.review_rules import CHECKS, Reviewed
    from moot.packs.rspec_v1.shipped import rules

    found = blocks_of(data, document["class_name"])
    names = [method["name"] for method in document["structure"]["methods"]]
    groups = tuple(block.group for block in found.blocks if block.name in names)
    outer = (found.group,) if found.group is not None else ()
    given = Reviewed(path=path, data=data, groups=groups, outer=outer)
    for rule in rules():
        if rule.checked == "program" and rule.needs != "document" and rule.number not in _DECIDED_ELSEWHERE:
            for remark in CHECKS[rule.number](given):
                yield rule.number, rule.severity, remark.found, remark.line


def examples_by_method(document: Mapping[str, Any], data: bytes) -> dict[str, int]:
    """How many examples the spec file has for each method of the structure."""
    found = planned_blocks(document["structure"], data)
    return {name: sum(len(block.examples) for block in blocks) for name, blocks in found.items()}


def planned(structure: Mapping[str, Any], name: str) -> int:
    """How many examples the structure has for a method."""
    return sum(len(examples_of(method["contexts"])) for method in structure["methods"] if method["name"] == name)


def document_of(given: StageInput) -> dict[str, Any]:
    if given.document is None:
        raise StageError("there is no document")
    return dict(given.document)


def structure_of(given: StageInput) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (given.document or {}).get("structure") or {"describe": "", "methods": []}
    return found


def answer_in(after: StageInput) -> Mapping[str, Any]:
    """What the stage itself answered."""
    return after.output.answer if after.output is not None else {}


def of_this_wave(given: StageInput) -> dict[str, Any]:
    """The document without the selected methods of later waves."""
    document, asked = document_of(given), given.parameters
    methods = selected_methods(document)
    later = [one for one in methods if one["name"] not in (*asked["now"], *asked["done"])]
    structure, names = structure_of(given), {shown_name(one) for one in later}
    planned = [one for one in structure["methods"] if one["name"] not in names]
    methods = [one for one in document.get("methods") or () if one not in later]
    return {**document, "methods": methods, "structure": {**structure, "methods": planned}}
