"""Dependencies: plans wait for artifacts, and are told once when these exist."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from moot.packs.gsd.needs import declare as declare_needs
from tests.specs.gsd.project import finished
from tests.specs.gsd.samples import CREATED, SATISFIED, created, without

if TYPE_CHECKING:
    from tests.specs.gsd.project import Project

USER = "src/models/user.ts"


def declare(project: Project, plan: str, *artifacts: str) -> None:
    """Declare what a plan needs, as the verbs of the pack do."""
    call = project.session()
    call.login  # noqa: B018 (looked up now, because a decision must not)
    call.commit(lambda work: declare_needs(work, plan, artifacts, call.actor(work).principal))


def satisfied(project: Project) -> list[tuple[str, list[str]]]:
    return [(e["artifact"], e["requiredBy"]) for e in project.events_shown if e["type"] == "dependency:satisfied"]


def waiting(project: Project) -> dict[str, list[str]]:
    """The plans that wait, each with what it waits for."""
    found: dict[str, list[str]] = {}
    for need in project.ask("artifact needed"):
        found.setdefault(need["needer"], []).append(need["name"])
    return found


@pytest.mark.proves("S4-DEP-02")
def test_one_event_names_all_plans_that_wait_in_the_same_commit(project: Project) -> None:
    declare(project, "01-02", USER)
    declare(project, "01-03", USER)
    declare(project, "01-04", "src/other.ts")
    project.emit(CREATED)
    assert satisfied(project) == [(USER, ["01-02", "01-03"])]
    made = project.events("feed:posted")
    assert made[0].commit == made[1].commit
    assert made[1].data["cause"] == 1
    project.emit(created("src/unwanted.ts"))
    assert satisfied(project) == [(USER, ["01-02", "01-03"])], "nobody waits for this one"


@pytest.mark.proves("S4-DEP-02")
def test_a_creation_in_the_file_tells_the_plans_too(project: Project) -> None:
    declare(project, "01-02", USER)
    project.take(CREATED, {**CREATED, "path": "b.ts"})
    assert [e["type"] for e in project.events_shown] == ["artifact:created", "dependency:satisfied", "artifact:created"]


@pytest.mark.proves("S4-DEP-04")
def test_a_need_that_is_declared_late_is_satisfied_at_once(project: Project) -> None:
    project.emit(CREATED)
    declare(project, "01-02", USER)
    assert satisfied(project) == [(USER, ["01-02"])]
    assert waiting(project) == {}
    declare(project, "01-03", USER, "UserCreate")
    assert satisfied(project)[1:] == [(USER, ["01-03"])], "one event, however many of its names the plan needs"


@pytest.mark.proves("S4-DEP-05")
def test_each_pair_is_told_once(project: Project) -> None:
    declare(project, "01-02", USER)
    declare(project, "01-02", USER)
    project.emit(CREATED)
    project.emit({**CREATED, "timestamp": "2024-01-15T12:00:00Z"})
    project.take({**CREATED, "timestamp": "2024-01-15T13:00:00Z"})
    declare(project, "01-02", USER)
    assert satisfied(project) == [(USER, ["01-02"])]


@pytest.mark.proves("S4-DEP-05")
def test_two_emitters_at_the_same_time_tell_a_plan_once(project: Project) -> None:
    declare(project, "01-02", USER)
    data = json.dumps(without(CREATED, "type"))
    children = [project.start("emit", "artifact:created", "--data", data) for _ in range(4)]
    assert [spoken.code for spoken in finished(children)] == [0] * 4
    assert satisfied(project) == [(USER, ["01-02"])]


@pytest.mark.proves("S4-DEP-06", "S4-COO-03")
def test_an_agent_may_say_it_only_of_an_artifact_that_exists(project: Project) -> None:
    refusal = project.refused(SATISFIED)
    assert refusal.code == "unknown_artifact"
    project.take(SATISFIED)
    assert [entry["code"] for entry in project.held()] == ["unknown_artifact"]
    declare(project, "01-02", USER)
    project.emit(CREATED)
    assert waiting(project) == {}
    assert project.emit(SATISFIED).number == 3
    assert satisfied(project)[-1] == (USER, ["01-02", "01-03"])


@pytest.mark.proves("S4-COO-03")
def test_a_satisfied_dependency_names_an_artifact_and_each_plan_once(project: Project) -> None:
    project.emit(CREATED)
    for field in ("artifact", "requiredBy"):
        assert project.refused(without(SATISFIED, field)).places == [field]
    bad: list[tuple[Any, str]] = [
        ([], "requiredBy"),
        ("01-02", "requiredBy"),
        (["01-02", "1-2"], "requiredBy"),
        (["x"], "requiredBy[0]"),
    ]
    for plans, place in bad:
        assert project.refused({**SATISFIED, "requiredBy": plans}).places == [place]


@pytest.mark.proves("S4-DEP-07", "S4-HAN-02")
def test_the_sample_artifact_leads_to_the_sample_dependency(project: Project) -> None:
    declare(project, "01-02", USER)
    declare(project, "01-03", USER)
    project.emit(CREATED)
    shown = project.events_shown[1]
    assert {key: shown[key] for key in SATISFIED} == SATISFIED
    assert project.posted()[0]["handled"] == ["dependency-resolver"]
    arrived = [event.at for event in project.events("feed:posted")]
    assert arrived[1][:4] != "2024", "the time of recording is in the log"
