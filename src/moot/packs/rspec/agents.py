"""The seven agents of the pipeline: their order, and what each may read and write of a document.

This is the table "Progressive Enrichment" of the protocol, and the only place that knows it.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

DISCOVERY = "discovery-agent"
ANALYZER = "code-analyzer"
ISOLATION = "isolation-decider"
ARCHITECT = "test-architect"
FACTORY = "factory-agent"
IMPLEMENTER = "test-implementer"
REVIEWER = "test-reviewer"

WHOLE = "*"  # the whole document
DEBUG_ONLY = frozenset(("cross_class_deps", "absorbed_private_methods"))


class Row(Record):
    """What one agent writes and reads: keys of the document. `methods[].x` is the key `x` of each method."""

    agent: str
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    version: str = "1.0"


ROWS = (
    Row(DISCOVERY, ("source_file", "class_name", "complexity", "spec_path", "methods_to_analyze"), ()),
    Row(
        ANALYZER,
        ("slug", "source_mtime", "behaviors", "methods"),
        ("source_file", "class_name", "complexity", "methods_to_analyze"),
        "3.0",
    ),
    Row(ISOLATION, ("methods[].test_config",), ("methods", "project_type")),
    Row(ARCHITECT, ("spec_file", "structure"), ("behaviors", "methods", "spec_path"), "2.0"),
    Row(FACTORY, ("automation.warnings",), ("methods",)),
    Row(IMPLEMENTER, ("automation.warnings",), (WHOLE,)),
    Row(REVIEWER, ("automation.errors",), (WHOLE,)),
)
AGENTS = tuple(row.agent for row in ROWS)
TABLE = {row.agent: row for row in ROWS}


def snake(agent: str) -> str:
    """The name of an agent in `automation`."""
    return agent.replace("-", "_")


def before(agent: str) -> str | None:
    """The agent that must have completed first."""
    place = AGENTS.index(agent)
    return AGENTS[place - 1] if place else None


def own_marks(agent: str) -> frozenset[str]:
    """The keys of `automation` that belong to this agent."""
    name = snake(agent)
    lists = [key.partition(".")[2] for key in TABLE[agent].writes if key.startswith("automation.")]
    return frozenset((f"{name}_completed", f"{name}_version", f"{name}_skipped", f"{name}_skip_reason", *lists))


def is_completed(document: Mapping[str, Any], agent: str) -> bool:
    """Whether the marker of this agent is the YAML boolean true and nothing else."""
    marks = document.get("automation")
    return isinstance(marks, dict) and marks.get(f"{snake(agent)}_completed") is True


def is_selected(document: Mapping[str, Any], method: Mapping[str, Any]) -> bool:
    """Whether a method of `methods` is selected in `methods_to_analyze`."""
    entry = selection_of(document, method)
    return entry is not None and entry.get("selected") is True


def selection_of(document: Mapping[str, Any], method: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The entry of `methods_to_analyze` for a method. A class method and an instance method may share a name."""
    entries: list[Mapping[str, Any]] = [
        entry for entry in document.get("methods_to_analyze") or () if entry.get("name") == method.get("name")
    ]
    typed = [entry for entry in entries if entry.get("type") == method.get("type")]
    return next(iter(typed or [entry for entry in entries if "type" not in entry]), None)


def selected_methods(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [method for method in document.get("methods") or () if is_selected(document, method)]


def readable(agent: str, document: Mapping[str, Any], project_type: str = "") -> dict[str, Any]:
    """The part of the document that the prompt of this agent contains: exactly its row."""
    reads = TABLE[agent].reads
    if reads == (WHOLE,):
        return dict(document)
    part = {key: document[key] for key in reads if key in document}
    if agent == ISOLATION:
        part = {"methods": selected_methods(document), "project_type": project_type}
    if agent == FACTORY:
        part = {"methods": [_states(method) for method in selected_methods(document)]}
    return part


def _states(method: Mapping[str, Any]) -> dict[str, Any]:
    """What factory-agent reads of a method: which states its tests need, and its test configuration."""
    kept = ("name", "description", "setup", "values")
    states = [{key: one[key] for key in kept if key in one} for one in method.get("characteristics") or ()]
    about = ("name", "type", "method_mode", "dependencies", "test_config")
    return {**{key: method[key] for key in about if key in method}, "characteristics": states}


def without_debug(value: Any) -> Any:
    """The value without debug-only fields: no later agent gets them."""
    if isinstance(value, dict):
        return {key: without_debug(item) for key, item in value.items() if key not in DEBUG_ONLY}
    return [without_debug(item) for item in value] if isinstance(value, list) else value
