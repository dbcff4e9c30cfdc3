"""The prompt of an agent: its task, the paths, the part of the document that it may read, and what it must answer.

The prompt has everything that the agent needs to start. The document in it is exactly the part in the agent's row of
the table (`agents`).
"""

from __future__ import annotations

import os

from moot.packs.rspec.agents import FACTORY, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.runs.contract import StageInput

_BRIEFS = os.path.join(os.path.dirname(__file__), "briefs")


def prompt(given: StageInput) -> str:
    return "\n".join(_lines(given)) + "\n"


def _lines(given: StageInput) -> Iterator[str]:
    agent, target = given.stage.name, given.target
    yield f"You are {agent}. You work on {target.said}."
    yield ""
    yield brief(agent)
    if given.parameters.get("instruction"):
        yield from ("## The instruction of a person", "", str(given.parameters["instruction"]), "")
    if given.failure:
        yield from ("## What was wrong with the last attempt", "", given.failure, "")
    yield "## Paths"
    yield ""
    yield "All paths are relative to the current directory."
    yield ""
    for role in ("source", "spec", "factories"):
        for path in target.paths.get(role, ()):
            may = "you may change it" if role in given.stage.writes else "do not change it"
            yield f"- {role}: `{path}` ({may})"
    if target.document is not None:
        yield f"- document: `{target.document.path}` (moot writes it; do not change it)"
    yield "- Change no other file."
    if given.document is not None:
        part = readable(agent, given.document, str(given.parameters.get("project_type", "")))
        if part:
            yield from ("", "## The document", "", *_yaml(part))
    if agent == FACTORY:
        yield from ("", "## Existing factories and traits", "", *_yaml(existing_factories(given)))
    if given.answer is not None:
        yield from ("", f"## The answer of {given.stage.after}", "", *_yaml(given.answer))
    yield from ("", "## Your answer", "", brief(f"{agent}.answer"), brief("answer"))


def existing_factories(given: StageInput) -> dict[str, Any]:
    """The factories in the project, each with its file and its traits."""
    from moot.packs.rspec.factory_checks import factories_in

    found = {}
    for path, data in given.files.get("factories", {}).items():
        for name, traits in factories_in(data).items():
            found[name] = {"file": path, "traits": sorted(traits)}
    return {"factories": found}


def brief(name: str) -> str:
    """A text of this pack."""
    with open(os.path.join(_BRIEFS, f"{name}.md"), encoding="utf-8") as file:
        return file.read()


def _yaml(value: Mapping[str, Any]) -> list[str]:
    from moot.core.strict_yaml import dump

    return ["```yaml", dump(value).decode("utf-8").rstrip("\n"), "```"]
