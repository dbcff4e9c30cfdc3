"""Artifact events: one record per path, whatever its spelling, and the names it provides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.specs.gsd import samples
from tests.specs.gsd.samples import CREATED, MODIFIED, created, started, without
from tests.specs.gsd.test_dependencies import declare

if TYPE_CHECKING:
    from tests.specs.gsd.project import Project

USER = "src/models/user.ts"


def record(project: Project, path: str = USER) -> dict[str, Any]:
    found: dict[str, Any] = project.file("artifacts")["artifacts"][path]
    return found


@pytest.mark.proves("S4-ART-01")
def test_a_creation_needs_only_its_path(project: Project) -> None:
    assert project.refused(without(CREATED, "path")).places == ["path"]
    for path in ("", None, 7, ["a"]):
        assert project.refused({**CREATED, "path": path}).places == ["path"]
    for provides in ("User", [1], None, {"a": 1}):
        assert project.refused({**CREATED, "provides": provides}).places[0].startswith("provides")
    assert project.flags({"type": "artifact:created", "path": "a.ts"}) == ["no_plan"]
    shown = project.events_shown[0]
    assert shown["provides"] == []
    assert "createdBy" not in shown


@pytest.mark.proves("S4-ART-01", "S4-ART-02")
def test_the_plan_that_the_emitter_is_running_is_filled_in(project: Project) -> None:
    project.join("Ada")
    project.emit(started("07-01", 3), "Ada")
    assert project.flags({"type": "artifact:created", "path": "a.ts"}, "Ada") == []
    assert project.flags({"type": "artifact:modified", "path": "a.ts"}, "Ada") == []
    assert [(e.get("createdBy"), e.get("modifiedBy")) for e in project.events_shown[1:]] == [
        ("07-01", None),
        (None, "07-01"),
    ]


@pytest.mark.proves("S4-ART-02")
def test_a_change_needs_only_its_path(project: Project) -> None:
    assert project.refused(without(MODIFIED, "path")).places == ["path"]
    assert project.refused({**MODIFIED, "changes": "one"}).places == ["changes"]
    project.emit(created("a.ts"))
    assert project.flags({"type": "artifact:modified", "path": "a.ts"}) == ["no_plan"]
    shown = project.events_shown[1]
    assert shown["changes"] == []
    assert "modifiedBy" not in shown


@pytest.mark.proves("S4-ART-03")
def test_there_is_one_record_per_path_with_its_creation_and_every_change_in_order(project: Project) -> None:
    project.emit(CREATED)
    project.emit(MODIFIED)
    project.take({**MODIFIED, "modifiedBy": "01-03", "changes": ["split"], "timestamp": "2024-01-15T12:00:00Z"})
    assert record(project) == {
        "createdBy": "01-01",
        "created": "2024-01-15T10:35:00Z",
        "provides": ["User", "UserCreate", "UserUpdate"],
        "changes": 2,
        "modifiedBy": "01-03",
        "modified": "2024-01-15T12:00:00Z",
    }
    history = [event for event in project.events_shown if event.get("path") == USER]
    assert [(e.get("modifiedBy"), e.get("changes"), e["timestamp"]) for e in history[1:]] == [
        ("01-02", ["added role field"], "2024-01-15T11:00:00Z"),
        ("01-03", ["split"], "2024-01-15T12:00:00Z"),
    ]
    changes = project.ask("artifact show", id=USER)["changes"]
    assert [change["changes"] for change in changes] == [["added role field"], ["split"]]


@pytest.mark.proves("S4-ART-04")
@pytest.mark.parametrize("surface", ["api", "file"])
def test_a_change_of_something_unannounced_opens_a_record_and_resolves_dependencies(
    project: Project, surface: str
) -> None:
    declare(project, "02-01", USER)
    if surface == "api":
        project.emit(MODIFIED)
    else:
        project.take(MODIFIED)
    assert record(project)["modifiedBy"] == "01-02"
    assert [(e["type"], e.get("requiredBy")) for e in project.events_shown] == [
        ("artifact:modified", None),
        ("dependency:satisfied", ["02-01"]),
    ]


@pytest.mark.proves("S4-ART-05")
def test_a_repeated_creation_adds_names_and_keeps_the_first_creator(project: Project) -> None:
    declare(project, "02-01", USER)
    project.emit(CREATED)
    project.emit(created(USER, "User", "UserDelete", plan="01-09"))
    project.emit(created(USER, "User", plan="01-09"))
    assert record(project)["createdBy"] == "01-01"
    assert record(project)["provides"] == ["User", "UserCreate", "UserUpdate", "UserDelete"]
    assert [e["type"] for e in project.events_shown].count("dependency:satisfied") == 1
    assert project.ask("artifact show", id=USER)["artifact"]["provides"] == [
        "User",
        "UserCreate",
        "UserUpdate",
        "UserDelete",
    ]


@pytest.mark.proves("S4-ART-06")
def test_names_lead_to_artifacts_and_artifacts_to_names(project: Project) -> None:
    project.emit(CREATED)
    project.emit(created("src/models/team.ts", "Team"))
    (found,) = project.ask("artifacts", provides="UserCreate")
    assert found["id"] == USER
    assert record(project, found["id"])["createdBy"] == "01-01"
    assert project.ask("artifact show", id=USER)["artifact"]["provides"] == ["User", "UserCreate", "UserUpdate"]
    assert project.ask("artifacts", provides="Nothing") == []


@pytest.mark.proves("S4-ART-07")
@pytest.mark.parametrize("surface", ["api", "file"])
def test_the_samples_give_the_record_of_the_specification(project: Project, surface: str) -> None:
    for event in (CREATED, MODIFIED):
        project.emit(event) if surface == "api" else project.take(event)
    found = record(project)
    assert (found["createdBy"], len(found["provides"]), found["changes"]) == ("01-01", 3, 1)
    assert found["modifiedBy"] == "01-02"
    (change,) = project.ask("artifact show", id=USER)["changes"]
    assert change["changes"] == ["added role field"]


@pytest.mark.proves("S4-HRD-16")
@pytest.mark.parametrize(
    "spelling",
    ["./src/a.ts", "src//a.ts", "src/./a.ts", "src/x/../a.ts", "src\\a.ts", "{root}/src/a.ts", "{root}/./src/a.ts"],
)
def test_all_spellings_of_a_file_are_one_artifact_and_one_claim(project: Project, spelling: str) -> None:
    path = spelling.replace("{root}", str(project.root))
    project.emit(created("src/a.ts", "A"))
    project.emit(created(path, "B"))
    assert list(project.file("artifacts")["artifacts"]) == ["src/a.ts"]
    assert record(project, "src/a.ts")["provides"] == ["A", "B"]
    project.emit(samples.claimed("src/a.ts", "01-02"))
    assert project.refused(samples.claimed(path, "01-03")).code == "file_held"
    project.emit(samples.released(path))
    assert project.file("claims")["claims"] == {}
    project.take({**samples.claimed(path), "timestamp": "2024-01-15T10:45:00Z"})
    assert list(project.file("claims")["claims"]) == ["src/a.ts"]
    assert project.events_shown[-1]["path"] == "src/a.ts"


@pytest.mark.proves("S4-HRD-16")
@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.ts", "a/../../b.ts", "~/x.ts", "C:\\x.ts", "."])
def test_paths_outside_the_project_are_refused(project: Project, path: str) -> None:
    for event in (CREATED, MODIFIED, samples.CLAIMED, samples.RELEASED):
        assert project.refused({**event, "path": path}).places == ["path"]
    assert project.refused({**samples.SATISFIED, "artifact": path}).places == ["artifact"]
    project.take({**CREATED, "path": path})
    assert len(project.held()) == 1
