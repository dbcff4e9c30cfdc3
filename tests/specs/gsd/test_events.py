"""Events: the types, their fields, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.specs.gsd import samples
from tests.specs.gsd.project import Project, codes, unnumbered
from tests.specs.gsd.samples import COMPLETED, CREATED, REACHED, SATISFIED, STARTED, Event, now, without

LIFECYCLE = ("task:started", "task:completed", "task:failed")
KNOWN = (
    *LIFECYCLE,
    *("artifact:created", "artifact:modified"),
    *("file:claimed", "file:released", "dependency:satisfied"),
    *("decision:made", "checkpoint:reached"),
)


@pytest.mark.proves("S4-EVT-01", "S4-EVT-10")
def test_the_ten_types_of_the_samples_are_known_and_their_events_come_back_as_they_were_sent(project: Project) -> None:
    assert {event["type"] for event in samples.ALL} == set(KNOWN)
    for event in samples.IN_ORDER:
        project.emit(event)
    assert [unnumbered(event) for event in project.events_shown] == list(samples.IN_ORDER)


@pytest.mark.proves("S4-EVT-01", "S4-OVW-02")
def test_the_same_events_written_into_the_file_come_back_as_they_were_written(project: Project) -> None:
    project.take(*samples.IN_ORDER)
    assert [unnumbered(event) for event in project.events_shown] == list(samples.IN_ORDER)
    assert [event["eventId"] for event in project.events_shown] == list(range(1, 11))
    assert project.held() == []


@pytest.mark.proves("S4-EVT-02")
def test_a_malformed_type_is_refused(project: Project) -> None:
    kinds = ["", "task", "Task:started", "task started", "task:", ":started", "a:b:c", "task/started"]
    refused = [project.refusal("emit", type=kind, data={}).code for kind in kinds]
    project.take(*({**STARTED, "type": kind} for kind in kinds))
    assert sorted(entry["code"] for entry in project.held()) == sorted(refused)
    assert project.events_shown == []


@pytest.mark.proves("S4-EVT-02")
@pytest.mark.parametrize(
    "entry", [without(STARTED, "type"), {**STARTED, "type": 7}, {**STARTED, "type": None}, [], "x", 7, None]
)
def test_an_entry_of_the_file_without_a_type_is_held(project: Project, entry: Any) -> None:
    warned = project.take(entry, STARTED)
    assert "is not an event of this protocol" in warned["entry_held"]
    (held,) = project.held()
    assert json.loads(held["raw"]) == entry
    assert [event["type"] for event in project.events_shown] == ["task:started"]


@pytest.mark.proves("S4-EVT-03")
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("task:complete", "task:completed"),
        ("file:claim", "file:claimed"),
        ("artifact:create", "artifact:created"),
        ("decision:make", "decision:made"),
        ("checkpoint:reach", "checkpoint:reached"),
        ("dependency:satisfy", "dependency:satisfied"),
        ("task:nonsense", "task:"),
    ],
)
def test_an_unknown_word_in_a_known_family_is_refused_with_the_closest_type(
    project: Project, said: str, meant: str
) -> None:
    refusal = project.refused({"type": said})
    assert f"Did you mean {meant}" in refusal.message
    assert refusal.details["suggestion"].startswith(meant)
    project.take({"type": said, "timestamp": "2024-01-15T10:30:00Z"})
    assert [meant in entry["reason"] for entry in project.held()] == [True]


@pytest.mark.proves("S4-EVT-03", "S4-EVT-10")
def test_another_first_word_makes_a_custom_event_that_needs_only_type_and_time(project: Project) -> None:
    event = {"type": "commit:created", "timestamp": "2024-01-15T10:30:00.123Z"}
    assert project.emit(event).number == 1
    project.emit({"type": "deploy:finished", "to": ["a", {"b": None}], "task": "any", "path": 7})
    assert unnumbered(project.events_shown[0]) == event
    assert without(unnumbered(project.events_shown[1]), "timestamp") == {
        "type": "deploy:finished",
        "to": ["a", {"b": None}],
        "task": "any",
        "path": 7,
    }
    project.take({"type": "commit:pushed", "timestamp": "2024-01-15T10:31:00Z"})
    assert project.events_shown[2]["type"] == "commit:pushed"
    assert "timestamp" in project.refused({**event, "timestamp": "yesterday"}).places


@pytest.mark.proves("S4-EVT-03")
def test_the_one_type_that_is_added_to_a_family_answers_a_checkpoint(project: Project) -> None:
    project.emit(REACHED)
    project.emit({"type": "checkpoint:resolved", "plan": "01-03", "task": 2, "answer": "approved"})
    assert project.events_shown[1]["answer"] == "approved"


@pytest.mark.proves("S4-EVT-04")
@pytest.mark.parametrize("stamp", ["2024-01-15T10:30:00Z", "2024-01-15T10:30:00.123Z", "2024-01-15T11:30:00+01:00"])
def test_both_forms_of_a_time_are_accepted_and_shown_as_sent(project: Project, stamp: str) -> None:
    project.emit({**STARTED, "timestamp": stamp})
    project.take({**STARTED, "task": 2, "timestamp": stamp})
    assert [event["timestamp"] for event in project.events_shown] == [stamp, stamp]


@pytest.mark.proves("S4-EVT-04")
def test_a_missing_time_is_filled_in_and_flagged_if_it_came_through_the_file(project: Project) -> None:
    emitted = project.emit(without(STARTED, "timestamp"))
    assert codes(emitted.flags) == []
    project.take(without(STARTED, "timestamp") | {"task": 2})
    logged = project.events("feed:posted")
    assert [event["timestamp"] for event in project.events_shown] == [event.at for event in logged]
    assert project.flags_of(2) == ["no_timestamp"]


@pytest.mark.proves("S4-EVT-04")
def test_what_is_not_a_time_is_refused(project: Project) -> None:
    for stamp in ("now", "2024-01-15", "", 1705314600, None, "2024-13-01T00:00:00Z"):
        assert project.refused({**STARTED, "timestamp": stamp}).places == ["timestamp"], stamp


NOT_PLANS: list[Any] = [
    "",
    "01",
    "1-",
    "-2",
    "a-1",
    "01-02-03",
    "1.2.3-4",
    "01_02",
    "phase 1",
    12,
    None,
    True,
    ["01-02"],
]


@pytest.mark.proves("S4-EVT-05")
@pytest.mark.parametrize("plan", ["1-2", "05.2-01"])
def test_a_plan_id_is_shown_as_it_was_sent(project: Project, plan: str) -> None:
    project.emit({**STARTED, "plan": plan})
    project.emit({**CREATED, "createdBy": plan})
    project.emit({**samples.MODIFIED, "modifiedBy": plan})
    project.emit({**samples.DECIDED, "madeBy": plan})
    project.emit({**SATISFIED, "requiredBy": [plan]})
    shown = project.events_shown
    assert [shown[0]["plan"], shown[1]["createdBy"], shown[2]["modifiedBy"], shown[3]["madeBy"]] == [plan] * 4
    assert shown[4]["requiredBy"] == [plan]


@pytest.mark.proves("S4-EVT-05")
def test_other_text_is_not_a_plan_id(project: Project) -> None:
    fields = (
        (STARTED, "plan"),
        (CREATED, "createdBy"),
        (samples.MODIFIED, "modifiedBy"),
        (samples.DECIDED, "madeBy"),
    )
    project.emit(CREATED)
    for plan in NOT_PLANS:
        for event, field in fields:
            assert project.refused({**event, field: plan}).places == [field], plan
        assert project.refused({**SATISFIED, "requiredBy": ["01-02", plan]}).places == ["requiredBy[1]"], plan


@pytest.mark.proves("S4-EVT-05")
def test_plan_ids_are_compared_without_leading_zeros(project: Project) -> None:
    project.emit(samples.started("1-2"))
    assert project.flags(samples.completed("001-02")) == [], "it ends the run of 1-2"
    project.emit(samples.claimed(plan="01-2"))
    project.emit(samples.claimed(plan="1-02"))
    assert "of plan 01-2" in project.refused(samples.claimed(plan="1-3")).message
    assert [event["plan"] for event in project.events_shown] == ["1-2", "001-02", "01-2"]


@pytest.mark.proves("S4-EVT-06")
def test_a_task_is_a_whole_number_from_one(project: Project) -> None:
    for task in ("1", 0, -1, 1.5, 1.0, True, None, [1]):
        for event in (STARTED, COMPLETED, samples.FAILED, REACHED):
            assert project.refused({**event, "task": task}).places == ["task"], task
    assert project.emit({**STARTED, "task": 1}).number == 1


@pytest.mark.proves("S4-EVT-07")
def test_an_agent_is_a_name_that_several_may_share(project: Project) -> None:
    for event in (STARTED, COMPLETED, samples.FAILED, samples.CLAIMED, samples.RELEASED):
        for agent in ("", None, 7, "two\nlines"):
            assert project.refused({**event, "agent": agent}).places == ["agent"]
    project.join("Ada")
    project.join("Bob")
    project.emit(samples.started(task=1), "Ada")
    project.emit(samples.started(task=2), "Bob")
    assert [event["agent"] for event in project.events_shown] == ["gsd-executor"] * 2
    assert [project.task(f"01-02.{n}").holder for n in (1, 2)] == ["Ada#1", "Bob#1"]


@pytest.mark.proves("S4-EVT-08")
def test_one_error_names_the_type_and_every_defect_and_nothing_is_written(project: Project) -> None:
    bad = {"type": "task:completed", "agent": "", "plan": "one", "task": "1", "commit": "xyz", "duration": 7}
    refusal = project.refused(bad)  # checks that nothing was written
    assert "task:completed" in refusal.message
    assert set(refusal.places) == {"agent", "plan", "task", "commit", "duration"}
    spoken = project.cli("emit", "task:completed", "--data", json.dumps(without(bad, "type")))
    assert spoken.code == 1
    assert [defect["path"] for defect in spoken.json["details"]["defects"]] == refusal.places


MORE = {"model": "o1", "nested": {"a": [1, 2.5, None, True], "ü": "→"}, "empty": {}, "list": []}


@pytest.mark.proves("S4-EVT-09")
@pytest.mark.parametrize("event", samples.IN_ORDER, ids=lambda event: event["type"])
def test_more_fields_are_kept_and_come_back_unchanged(project: Project, event: Event) -> None:
    project.emit(now(CREATED, path="src/other.ts"))
    project.emit(now(CREATED))
    for path in ("src/api/users.ts", "b.ts") if event["type"] == "file:released" else ():
        project.emit(samples.claimed(path))
    project.emit({**event, **MORE})
    other: Event = {"path": "b.ts"} if event["type"].startswith("file:") else {}
    other |= {"task": 3} if "task" in event else {}
    other |= {"id": "dec-007"} if "id" in event else {}
    project.take({**event, **MORE, **other, "timestamp": "2024-01-15T10:31:00Z"})
    assert project.held() == []
    assert [{key: shown[key] for key in MORE} for shown in project.events_shown[-2:]] == [MORE, MORE]


@pytest.mark.proves("S4-OVW-02")
def test_events_of_files_and_surfaces_have_one_order(project: Project) -> None:
    project.join("Ada")
    project.emit(samples.started(task=1), "Ada")
    project.take({**STARTED, "task": 2})
    assert project.cli_emit(samples.started(task=3), "Ada").result["number"] == 3
    project.take({**STARTED, "task": 4})
    assert [(e["eventId"], e["task"]) for e in project.events_shown] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert [(e["number"], e["event"]["task"]) for e in project.posted()] == [(1, 1), (2, 2), (3, 3), (4, 4)]


@pytest.mark.proves("S4-HRD-26")
def test_the_order_is_that_of_arrival_whatever_the_clocks_say(project: Project) -> None:
    for task, year in enumerate((2031, 2019, 2190), 1):
        project.emit({**samples.started(task=task), "timestamp": f"{year}-01-01T00:00:00Z"})
    project.take({**samples.started(task=4), "timestamp": "2019-01-01T00:00:00Z"})
    assert [event["task"] for event in project.events_shown] == [1, 2, 3, 4], "fresh events stay"
    assert [event.data["number"] for event in project.events("feed:posted")] == [1, 2, 3, 4]


@pytest.mark.proves("S4-EVT-09")
def test_a_redacted_event_is_nowhere_in_the_files_and_its_task_stays(project: Project) -> None:
    project.emit(samples.started(name="the swordfish plan"))
    project.emit(samples.failed(error="the password swordfish is wrong"))
    for event in project.events():
        if "swordfish" in json.dumps(event.data) and event.type in ("feed:posted", "task:added", "task:failed"):
            project.run("redact", thing=str(event.position))
    assert "swordfish" not in "".join(str(raw) for raw in project.raw_files().values())
    assert "swordfish" not in json.dumps([event.data for event in project.events()])
    assert project.state("01-02.1") == "failed"
    assert project.file("shared-context")["blocked_plans"] == ["01-02"]
    assert [(e["eventId"], e["type"], e["redacted"]) for e in project.events_shown] == [
        (1, "task:started", True),
        (2, "task:failed", True),
    ]
    assert project.flags(samples.started()) == [], "the next run begins as ever"
