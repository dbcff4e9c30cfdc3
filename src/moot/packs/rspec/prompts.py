"""The prompt of an agent: its task, what it is judged by, paths, the part of the document that it may read, the answer.

The prompt has everything that the agent needs to start, and nothing twice. The document in it is exactly the part in
the agent's row of the table (`agents`).
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
    for role in ("source", "spec", "factories"):
        for path in target.paths.get(role, ()):
            may = "you may change it" if role in given.stage.writes else "do not change it"
            yield f"- {role}: `{path}` ({may})"
    yield "- Change no other file."
    part = readable(agent, given.document, str(given.parameters.get("project_type", ""))) if given.document else {}
    if part:
        yield from ("", "## The document", "", *_yaml(part))
    if agent == FACTORY:
        yield from ("", "## Existing factories and traits", "", *_yaml(existing_factories(given)))
    yield from ("", "## Your answer", "", brief("answer"), brief(f"{agent}.answer"))


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


def _yaml(part: Mapping[str, Any]) -> Iterator[str]:
    import yaml

    yield "```yaml"
    text: str = yaml.safe_dump(dict(part), default_flow_style=None, sort_keys=False, width=1 << 20, allow_unicode=True)
    yield f"{text}```"
