"""Decisions and checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from tests.specs.gsd import samples
from tests.specs.gsd.project import Project, finished, unnumbered
from tests.specs.gsd.samples import DECIDED, REACHED, decided, reached, started, without

ANSWER = {"type": "checkpoint:resolved", "plan": "01-03", "task": 2, "answer": "approved"}


def mail_of(project: Project, box: str) -> list[str]:
    return [mail["text"] for mail in project.ask("mailbox", name=box)["messages"]]


@pytest.mark.proves("S4-DEC-01")
def test_a_decision_needs_its_text_its_reason_and_its_plan(project: Project) -> None:
    for field in ("decision", "rationale", "madeBy"):
        assert project.refused(without(DECIDED, field)).places == [field]
        assert project.refused({**DECIDED, field: ""}).places == [field]
    for affects in ("02-*", [1], {}):
        assert project.refused({**DECIDED, "affects": affects}).places[0].startswith("affects")
    project.emit(without(DECIDED, "affects"))
    assert project.events_shown[0]["affects"] == []


@pytest.mark.proves("S4-DEC-02")
def test_a_missing_id_is_allotted_in_three_digits(project: Project) -> None:
    project.emit(decided())
    project.emit(decided(id="dec-007"))
    project.emit(decided())
    project.take({**decided(), "timestamp": "2024-01-15T10:40:00Z"})
    assert [event["id"] for event in project.events_shown] == ["dec-001", "dec-007", "dec-008", "dec-009"]
    for bad in ("dec-1", "d-001", "DEC-001", "", "001", True):
        assert project.refused(decided(id=bad)).places == ["id"]


@pytest.mark.proves("S4-DEC-02")
def test_an_id_that_is_taken_is_refused_on_a_surface_and_replaced_in_a_file(project: Project) -> None:
    project.emit(DECIDED)
    refusal = project.refused(decided("Another", id="dec-001"))
    assert (refusal.code, refusal.details["free"]) == ("decision_exists", "dec-002")
    project.take({**DECIDED, "decision": "Another"})
    assert [(e["id"], e["decision"]) for e in project.events_shown] == [
        ("dec-001", "Use jose library for JWT"),
        ("dec-002", "Another"),
    ]
    assert "id_taken" in project.flags_of(2)


@pytest.mark.proves("S4-DEC-02")
def test_a_bare_number_is_the_number_of_the_event(project: Project) -> None:
    project.take({**DECIDED, "id": 1})
    shown = project.events_shown[0]
    assert (shown["id"], shown["eventId"]) == ("dec-001", 1)
    project.emit({**decided("Another"), "id": 77})
    assert (project.events_shown[1]["id"], project.events_shown[1]["eventId"]) == ("dec-002", 2)


@pytest.mark.proves("S4-DEC-03", "S4-DEC-04")
def test_a_decision_reaches_the_plans_that_it_affects_and_no_others(project: Project) -> None:
    plans = ("02-01", "2-02", "020-01", "12-01", "02.1-01", "01-02")
    for n, plan in enumerate(plans):
        project.join(f"A{n}")
        project.emit(started(plan), f"A{n}")
    for affects, reached_by in (
        (["02-*"], {"02-01", "2-02"}),
        (["2-1"], {"02-01"}),
        (["*"], set(plans)),
        (["all of phase 02", "02", "02*", "auth-*"], set()),
    ):
        project.emit(decided(f"About {affects}", *affects, plan="09-01"))
        told = {plan for n, plan in enumerate(plans) if any(str(affects) in t for t in inbox(project, f"A{n}"))}
        assert told == reached_by, affects
    assert project.events_shown[-1]["affects"] == ["all of phase 02", "02", "02*", "auth-*"], "free text is kept"


def inbox(project: Project, agent: str) -> list[str]:
    return [mail["text"] for mail in project.ask("inbox", agent, peek=True)["new"]]


@pytest.mark.proves("S4-DEC-04")
def test_a_plan_gets_the_decisions_about_it_when_it_starts_a_task(project: Project) -> None:
    project.emit(decided("Use jose", "02-*"))
    project.emit(decided("Use tabs", "03-*"))
    project.join("Ada")
    project.emit(started("02-05"), "Ada")
    (text,) = inbox(project, "Ada")
    assert "Use jose" in text
    project.take({**samples.STARTED, "plan": "03-01"})
    assert [text for text in mail_of(project, "@gsd-executor") if "Use tabs" in text] == [
        "dec-002 affects plan 03-01: Use tabs"
    ]
    project.take({**samples.STARTED, "plan": "03-01", "task": 2})
    assert len(mail_of(project, "@gsd-executor")) == 1, "once"


@pytest.mark.proves("S4-DEC-04")
def test_a_decision_made_while_a_plan_runs_through_a_file_is_a_notice_to_it(project: Project) -> None:
    project.take({**samples.STARTED, "plan": "02-01"})
    project.emit(decided("Use jose", "02-*"))
    assert mail_of(project, "@gsd-executor") == ["dec-001 affects plan 02-01: Use jose"]


@pytest.mark.proves("S4-DEC-05")
def test_a_checkpoint_needs_everything(project: Project) -> None:
    for field in ("plan", "task", "checkpointType", "awaiting"):
        assert project.refused(without(REACHED, field)).places == [field]
    for field in ("checkpointType", "awaiting"):
        assert project.refused({**REACHED, field: " "}).places == [field]


@pytest.mark.proves("S4-DEC-06")
def test_an_unknown_type_of_checkpoint_is_shown_as_it_is_and_flagged(project: Project) -> None:
    for n, kind in enumerate(("human-verify", "decision", "human-action"), 1):
        assert project.flags(reached(task=n, checkpointType=kind)) == []
    assert project.flags(reached(task=4, checkpointType="coffee break")) == ["checkpoint_type"]
    assert [point["kind"] for point in project.ask("checkpoints")] == [
        "human-verify",
        "decision",
        "human-action",
        "coffee break",
    ]


@pytest.mark.proves("S4-DEC-07")
def test_the_answer_is_recorded_reaches_the_plan_and_is_in_the_file(project: Project) -> None:
    project.join("Ada")
    project.emit(started("01-03", 2), "Ada")
    project.emit(REACHED, "Ada")
    (point,) = project.ask("checkpoints")
    assert (point["task"], point["status"]) == ("01-03.2", "reached")
    project.run("checkpoint resolve", id=point["id"], answer="approved", text="Looks right")
    shown = project.events_shown[-1]
    assert (shown["type"], shown["plan"], shown["task"]) == ("checkpoint:resolved", "01-03", 2)
    assert (shown["answer"], shown["text"], shown["answeredBy"]) == ("approved", "Looks right", "person:root")
    assert shown["timestamp"] == project.events("checkpoint:resolved")[0].at
    assert any("approved" in text for text in inbox(project, "Ada"))
    assert project.ask("checkpoints") == []


@pytest.mark.proves("S4-DEC-07")
def test_a_plan_that_only_uses_files_is_told_too(project: Project) -> None:
    project.take({**samples.STARTED, "plan": "01-03", "task": 2}, REACHED)
    (point,) = project.ask("checkpoints")
    project.run("checkpoint resolve", id=point["id"], answer="use option B")
    assert any("use option B" in text for text in mail_of(project, "@gsd-executor"))
    assert project.events_shown[-1]["answer"] == "use option B"


@pytest.mark.proves("S4-DEC-07")
def test_only_a_person_answers(project: Project) -> None:
    project.join("Ada")
    project.emit(REACHED)
    assert project.refused(ANSWER, "Ada").code == "people_only"
    project.take({**ANSWER, "timestamp": "2024-01-15T11:30:00Z"})
    assert [entry["code"] for entry in project.held()] == ["people_only"]
    assert len(project.ask("checkpoints")) == 1
    project.emit(ANSWER)
    assert project.ask("checkpoints") == []
    assert unnumbered(project.events_shown[-1])["answer"] == "approved"


@pytest.mark.proves("S4-DEC-08")
def test_what_does_not_exist_or_is_answered_is_not_answered_again(project: Project) -> None:
    assert project.refused(ANSWER).code == "unknown_checkpoint"
    assert project.refusal("checkpoint resolve", id="k-0000000", answer="yes").code == "unknown_checkpoint"
    project.emit(REACHED)
    (point,) = project.ask("checkpoints")
    project.emit(ANSWER)
    for refusal in (
        project.refused({**ANSWER, "answer": "rejected"}),
        project.refusal("checkpoint resolve", id=point["id"], answer="rejected"),
    ):
        assert refusal.code == "checkpoint_resolved"
        assert refusal.details["answer"] == "approved"
        assert "approved" in refusal.message


@pytest.mark.proves("S4-DEC-08")
def test_two_users_at_once_leave_one_answer(project: Project) -> None:
    project.emit(REACHED)
    (point,) = project.ask("checkpoints")
    said = finished([project.start("checkpoint", "resolve", point["id"], word) for word in ("yes", "no")])
    assert sorted(spoken.code for spoken in said) == [0, 3]
    assert len([e for e in project.events_shown if e["type"] == "checkpoint:resolved"]) == 1


@pytest.mark.proves("S4-DEC-09")
@pytest.mark.parametrize("surface", ["api", "file"])
def test_the_samples_are_listed(project: Project, surface: str) -> None:
    for event in (DECIDED, REACHED):
        project.emit(event) if surface == "api" else project.take(event)
    assert [unnumbered(event) for event in project.events_shown] == [DECIDED, REACHED]
    (made,) = project.ask("decisions", affecting=("02-01.1",))
    assert (made["id"], made["title"]) == ("dec-001", "Use jose library for JWT")
    assert project.ask("decisions", affecting=("03-01.1",)) == []
    (point,) = project.ask("checkpoints")
    assert (point["kind"], point["awaiting"], point["task"]) == ("human-verify", "user approval", "01-03.2")


# --- decisions.json --------------------------------------------------------------------------------------------------


@pytest.mark.proves("S4-HAN-03", "S4-HAN-09")
def test_decisions_are_added_once_and_in_order(project: Project) -> None:
    project.emit(DECIDED)
    project.take({**decided("Use tabs", "free text", plan="05.2-01"), "timestamp": "2024-01-15T10:41:00Z"})
    assert project.file("decisions") == {
        "decisions": [
            {
                "id": "dec-001",
                "phase": "01",
                "plan": "01-02",
                "madeBy": "01-02",
                "decision": "Use jose library for JWT",
                "rationale": "Edge runtime compatibility",
                "affects": ["02-*"],
                "timestamp": "2024-01-15T10:40:00Z",
            },
            {
                "id": "dec-002",
                "phase": "05.2",
                "plan": "05.2-01",
                "madeBy": "05.2-01",
                "decision": "Use tabs",
                "rationale": "Because",
                "affects": ["free text"],
                "timestamp": "2024-01-15T10:41:00Z",
            },
        ]
    }
    assert [one["handled"] for one in project.posted()] == [["decision-tracker"]] * 2


def write_decisions(project: Project, *entries: Any) -> None:
    project.put({"decisions": [*project.file("decisions")["decisions"], *entries]}, "decisions")
    project.look()


@pytest.mark.proves("S4-HAN-09")
def test_an_entry_that_is_added_or_edited_by_hand_is_held_with_the_advice_to_emit(project: Project) -> None:
    project.emit(DECIDED)
    good = project.file("decisions")
    (known,) = good["decisions"]
    for odd in ({"decision": "Use tabs", "plan": "01-03"}, {**known, "decision": "Use tabs"}, 7):
        project.put({"decisions": [known, odd]}, "decisions")
        assert "decision:made" in project.look()["entry_held"]
        assert project.file("decisions") == good
        assert project.look() == {}
    assert len(project.held()) == 3
    assert len(project.posted()) == 1


@pytest.mark.proves("S4-HRD-22")
def test_decisions_that_are_removed_edited_or_damaged_come_back(project: Project) -> None:
    project.emit(DECIDED)
    project.emit(decided("Use tabs"))
    good = project.file("decisions")
    project.put({"decisions": []}, "decisions")
    project.look()
    assert project.file("decisions") == good
    project.path("decisions").unlink()
    project.look()
    assert project.file("decisions") == good
    assert project.file("decisions") == good


@pytest.mark.proves("S4-HAN-04", "S4-HAN-06")
def test_a_checkpoint_is_put_before_the_user_and_the_orchestrator(project: Project) -> None:
    project.emit(REACHED)
    assert project.posted()[0]["handled"] == ["orchestrator"]
    (point,) = project.ask("checkpoints")
    (text,) = mail_of(project, "@orchestrator")
    assert all(part in text for part in (point["id"], "01-03", "task 2", "human-verify", "user approval"))
    (needed,) = [one for one in project.ask("needs-me") if one["id"] == point["id"]]
    assert needed["kind"]
