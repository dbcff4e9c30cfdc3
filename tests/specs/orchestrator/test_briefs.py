"""Roles: the guide of each role, on every surface."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.specs.orchestrator.project import FILES, Project
from tests.specs.orchestrator.samples import ASSIGNMENT_FIELDS, BUILD_FIELDS, REPORT_FIELDS, STATES

ROLES = ("team-lead", "developer")
READS = {"team-lead": ("to-team-lead.json", "completion_report"), "developer": ("to-developer.json", "task_assignment")}
WRITES = {"team-lead": READS["developer"], "developer": READS["team-lead"]}
MOVES = {
    "team-lead": {
        ("pending", "in_progress"),
        ("awaiting_review", "completed"),
        ("awaiting_review", "rejected"),
        ("in_progress", "rejected"),
        ("rejected", "pending"),
        ("completed", "pending"),
    },
    "developer": {("in_progress", "awaiting_review")},
}
REQUIRED = {
    "team-lead": set(ASSIGNMENT_FIELDS),
    "developer": {*REPORT_FIELDS, *(f"buildResult.{field}" for field in BUILD_FIELDS)},
}
OPTIONAL = {"team-lead": {"apiEndpoints"}, "developer": {"buildResult.output"}}


def by_cli(project: Project, role: str) -> str:
    return project.cli("brief", role).result["text"]


def by_python(project: Project, role: str) -> str:
    return project.run("brief", role=role).result.text


def as_text(project: Project, role: str) -> str:
    """What a person sees."""
    return "\n".join(project.run("brief", role=role).say)


def section(text: str, title: str) -> str:
    """The part of a guide below a heading."""
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.proves("S0-ROLE-03")
@pytest.mark.parametrize("role", ROLES)
def test_every_surface_shows_the_same_guide(project: Project, role: str) -> None:
    assert by_cli(project, role) == by_python(project, role) == as_text(project, role)
    assert role in {one["role"] for one in project.cli("brief").result}


@pytest.mark.proves("S0-ROLE-03")
@pytest.mark.parametrize("role", ROLES)
def test_a_guide_states_the_mailboxes_of_its_role(project: Project, role: str) -> None:
    lines = section(by_cli(project, role), "Files").splitlines()
    for (file, message), said in ((READS[role], "you read"), (WRITES[role], "you add")):
        path = next(path for path in FILES.values() if path.endswith(file))
        assert any(f"`{path}`" in line and f"{said} `{message}`" in line for line in lines)


@pytest.mark.proves("S0-ROLE-03")
@pytest.mark.parametrize("role", ROLES)
def test_a_guide_states_the_exact_fields_that_its_role_writes(project: Project, role: str) -> None:
    text = by_cli(project, role)
    listed = dict(re.findall(r"^ *- `([\w.]+)` \((required|optional)\)", text, re.MULTILINE))
    assert {name for name, need in listed.items() if need == "required"} == REQUIRED[role]
    assert {name for name, need in listed.items() if need == "optional"} == OPTIONAL[role]
    sample = json.loads(text.partition("```json\n")[2].partition("```")[0])
    inner = {f"{name}.{key}" for name, value in sample.items() if isinstance(value, dict) for key in value}
    assert {*sample, *inner} == REQUIRED[role] | OPTIONAL[role]


@pytest.mark.proves("S0-ROLE-03")
@pytest.mark.parametrize("role", ROLES)
def test_a_guide_states_the_state_changes_that_its_role_may_cause_and_no_others(project: Project, role: str) -> None:
    text = by_cli(project, role)
    assert set(re.findall(r"^- `(\w+)` → `(\w+)`", text, re.MULTILINE)) == MOVES[role]
    assert all(f"`{state}`" in text for state in STATES)


@pytest.mark.proves("S0-ROLE-03")
def test_a_guide_says_what_to_do_when_instructions_are_missing(project: Project) -> None:
    developer = one_line(section(by_cli(project, "developer"), "When instructions are missing"))
    for said in ("`not_verified`", "`summary` that explains", "empty `filesCreated` and `filesModified`", "`custom`"):
        assert said in developer
    lead = one_line(section(by_cli(project, "team-lead"), "When instructions are missing"))
    for said in ("`not_verified`", "moot held", "reject the task", "back to pending"):
        assert said in lead


@pytest.mark.proves("S0-ROLE-03")
def test_a_guide_says_what_to_do_when_the_build_breaks(project: Project) -> None:
    developer = one_line(section(by_cli(project, "developer"), "When the build breaks"))
    fix, report = developer.index("Try to fix the errors first"), developer.index("report truthfully")
    assert fix < report
    for said in ("`failed`", "`output` has the error output, complete and unchanged"):
        assert said in developer
    lead = one_line(section(by_cli(project, "team-lead"), "When the build breaks"))
    for said in ("`failed`", "requires a reason"):
        assert said in lead


def from_guide(text: str, **known: Any) -> dict[str, Any]:
    """The message that somebody writes who knows only the guide: its sample, each choice made, each gap filled."""

    def made(value: Any) -> Any:
        match value:
            case dict():
                return {key: known.get(key, made(item)) for key, item in value.items()}
            case list():
                return []
            case str():
                return "Something." if value == "…" else value.partition("|")[0]
        return value

    return made(json.loads(text.partition("```json\n")[2].partition("```")[0]))


@pytest.mark.proves("S0-ROLE-03")
def test_agents_that_follow_only_their_guides_bring_a_task_to_its_end(project: Project) -> None:
    project.run("task add", title="Follow the guide")
    moment = {"timestamp": "2026-01-01T00:00:00.000Z"}
    project.append("developer", from_guide(by_cli(project, "team-lead"), **moment))
    assert project.cli("task", "show", "task-001").result["task"]["state"] == "in_progress"
    project.append("team-lead", from_guide(by_cli(project, "developer"), **moment))
    assert project.cli("task", "show", "task-001").result["task"]["state"] == "awaiting_review"
    (approve,) = re.findall(r"`awaiting_review` → `completed`: `moot ([^`]*)`", by_cli(project, "team-lead"))
    assert project.cli(*approve.replace("TASK", "task-001").split()).result["state"] == "completed"


def test_a_guide_names_no_field_that_no_message_has(project: Project) -> None:
    """The prose is written by hand; the words in it are still the protocol's."""
    known = set().union(*REQUIRED.values(), *OPTIONAL.values()) | {"lastRead", "messages", "rejectionReason"}
    plain = {part for name in known for part in name.split(".")}
    for role in ROLES:
        words = set(re.findall(r"`([a-z]+[A-Z]\w*(?:\.\w+)*)`", by_cli(project, role)))
        assert {part for word in words for part in word.split(".")} <= plain
