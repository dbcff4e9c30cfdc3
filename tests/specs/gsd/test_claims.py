"""File claims: one holder for each path, the pair of agent and plan, for as long as it gives signs of life."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.specs.gsd import samples
from tests.specs.gsd.project import MovableClock, Project, finished
from tests.specs.gsd.samples import CLAIMED, RELEASED, claimed, created, released, started, without

USERS = "src/api/users.ts"
MINUTE = 60.0


@pytest.mark.proves("S4-COO-01", "S4-COO-02")
def test_a_claim_needs_path_agent_and_plan_and_a_release_path_and_agent(project: Project) -> None:
    for field in ("path", "agent", "plan"):
        assert project.refused(without(CLAIMED, field)).places == [field]
    project.emit(CLAIMED)
    for field in ("path", "agent"):
        assert project.refused(without(RELEASED, field)).places == [field]
    assert project.emit({**RELEASED, "plan": "01-02"}).number == 2
    assert project.events_shown[1]["plan"] == "01-02"


@pytest.mark.proves("S4-COO-04")
def test_a_path_has_one_holder_and_the_refusal_names_it(project: Project) -> None:
    assert project.emit(CLAIMED).number == 1
    refusal = project.refused(claimed(plan="01-03", agent="gsd-other"))
    assert (refusal.code, refusal.kind) == ("file_held", "held")
    named = {key: refusal.details[key] for key in ("agent", "plan", "since")}
    assert named == {"agent": "gsd-executor", "plan": "01-02", "since": "2024-01-15T10:30:00Z"}
    assert all(text in refusal.message for text in named.values())
    assert [event["type"] for event in project.events_shown] == ["file:claimed"]
    spoken = project.cli_emit(claimed(plan="01-03"))
    assert (spoken.code, spoken.json["error"]) == (3, "file_held")


@pytest.mark.proves("S4-COO-04", "S4-HRD-23")
def test_claims_of_moots_own_verbs_exclude_those_of_events_and_the_other_way_round(project: Project) -> None:
    project.join("Ada")
    project.run("claim", "Ada", paths=("src/[id].ts",), shared=False)
    assert project.refused(claimed("src/[id].ts")).details["agent"] == "Ada"
    project.emit(claimed("src/*.ts"))
    project.run("claim", "Ada", paths=("src/b.ts",), shared=False)
    assert project.refusal("claim", "Ada", paths=("src/[*].ts",), shared=False).code == "file_held"
    assert set(project.file("claims")["claims"]) == {"src/[id].ts", "src/*.ts", "src/b.ts"}, "a path is taken literally"


@pytest.mark.proves("S4-COO-05")
def test_the_holder_is_the_pair_of_agent_and_plan(project: Project) -> None:
    project.emit(claimed("a.ts", plan="01-02"))
    assert project.refused(claimed("a.ts", plan="01-03")).code == "file_held", "the same name in another plan"
    assert project.refused(claimed("a.ts", agent="gsd-other")).code == "file_held", "another name in the same plan"
    project.join("Ada")
    assert project.refused(claimed("a.ts", plan="01-03"), "Ada").code == "file_held", "whoever emits it"


@pytest.mark.proves("S4-COO-06")
def test_a_repeated_claim_renews_it_without_a_second_event(make_project: Callable[..., Project]) -> None:
    clock = MovableClock()
    project = make_project(clock=clock)
    project.emit(claimed("a.ts"))
    clock.by += 25 * MINUTE
    again = project.run("emit", type="file:claimed", data=without(claimed("a.ts"), "type"))
    assert again.result["number"] == 1
    clock.by += 25 * MINUTE
    assert project.refused(claimed("a.ts", plan="01-03")).code == "file_held", "50 minutes later it is still held"
    project.take({**claimed("a.ts"), "timestamp": "2024-01-15T10:30:00Z"})
    assert [event["type"] for event in project.events_shown] == ["file:claimed"]
    assert project.held() == []


@pytest.mark.proves("S4-COO-07")
def test_only_the_holder_releases_a_path(project: Project) -> None:
    refusal = project.refused(RELEASED)
    assert (refusal.code, USERS in refusal.message) == ("not_claimed", True)
    project.emit(CLAIMED)
    for other in (released(agent="gsd-other"), released(plan="01-03")):
        refusal = project.refused(other)
        assert refusal.code == "not_holder"
        assert (refusal.details["agent"], refusal.details["plan"]) == ("gsd-executor", "01-02")
    project.take({**RELEASED, "agent": "gsd-other"})
    assert [entry["code"] for entry in project.held()] == ["not_holder"]
    assert list(project.file("claims")["claims"]) == [USERS]


@pytest.mark.proves("S4-COO-07")
def test_a_release_in_the_file_without_a_plan_is_matched_by_path_and_name(project: Project) -> None:
    project.emit(CLAIMED)
    project.take(RELEASED)
    assert project.file("claims")["claims"] == {}
    project.take({**CLAIMED, "timestamp": "2024-01-15T11:30:00Z"})
    project.take({**RELEASED, "plan": "01-03", "timestamp": "2024-01-15T11:45:00Z"})
    assert [entry["code"] for entry in project.held()] == ["not_holder"], "a plan that is given counts"


@pytest.mark.proves("S4-COO-08")
def test_of_two_claims_in_the_file_the_first_wins_and_the_other_learns_who_has_it(project: Project) -> None:
    project.take(CLAIMED, {**CLAIMED, "plan": "01-03"})
    assert [event["plan"] for event in project.events_shown] == ["01-02"]
    (held,) = project.held()
    assert json.loads(held["raw"]) == {**CLAIMED, "plan": "01-03"}
    assert "gsd-executor of plan 01-02" in held["reason"]
    told = [mail["text"] for mail in project.ask("mailbox", name="@gsd-executor")["messages"]]
    assert len([text for text in told if "held by gsd-executor of plan 01-02" in text]) == 1
    assert project.file("claims")["claims"][USERS]["plan"] == "01-02"
    project.take({**CLAIMED, "plan": "01-03"})
    project.emit(released())
    project.take({**CLAIMED, "plan": "01-03"})
    assert project.file("claims")["claims"] == {}, "an old copy of a claim that lost claims nothing later"


@pytest.mark.proves("S4-COO-09")
@pytest.mark.parametrize("surface", ["api", "file"])
def test_the_samples_claim_release_and_satisfy(project: Project, surface: str) -> None:
    say = project.emit if surface == "api" else project.take
    say(CLAIMED)
    (held,) = project.ask("who-holds", path=USERS)
    assert held["holder"] == "plan:01-02/gsd-executor"
    row = project.file("claims")["claims"][USERS]
    assert (row["agent"], row["plan"], row["timestamp"]) == ("gsd-executor", "01-02", CLAIMED["timestamp"])
    say(RELEASED)
    assert project.ask("who-holds", path=USERS) == []
    say(samples.CREATED)
    say(samples.SATISFIED)
    assert [event["type"] for event in project.events_shown] == [
        "file:claimed",
        "file:released",
        "artifact:created",
        "dependency:satisfied",
    ]


@pytest.mark.proves("S4-HRD-12")
def test_a_claim_ends_when_its_holder_has_sent_nothing_for_half_an_hour(make_project: Callable[..., Project]) -> None:
    clock = MovableClock()
    project = make_project(clock=clock)
    project.emit(claimed("a.ts", plan="01-02"))
    project.emit(claimed("b.ts", plan="01-03"))
    clock.by += 20 * MINUTE
    project.emit(started("01-03"))
    clock.by += 11 * MINUTE
    project.emit(claimed("a.ts", plan="01-04"))
    gone = project.events_shown[3]
    assert (gone["type"], gone["path"], gone["agent"], gone["plan"]) == (
        "file:released",
        "a.ts",
        "gsd-executor",
        "01-02",
    )
    assert "no event from its holder for 31m" in gone["cause"]
    assert project.events_shown[4]["plan"] == "01-04"
    assert {path: row["plan"] for path, row in project.file("claims")["claims"].items()} == {
        "a.ts": "01-04",
        "b.ts": "01-03",
    }, "any event of a holder renews its claims"


@pytest.mark.proves("S4-HRD-12")
def test_a_claim_also_ends_without_a_rival_and_the_time_can_be_set(make_project: Callable[..., Project]) -> None:
    clock = MovableClock()
    project = make_project("[pack.gsd]\nclaim_ttl = 300\n", clock=clock)
    project.take({**CLAIMED, "plan": "01-02"})
    clock.by += 6 * MINUTE
    project.look()  # any call
    assert [event["type"] for event in project.events_shown] == ["file:claimed", "file:released"]
    assert project.file("claims")["claims"] == {}
    project.look()
    assert len(project.posted()) == 2
    project.emit(claimed(USERS, plan="01-03"))


@pytest.mark.proves("S4-HRD-11", "S4-HRD-12")
def test_the_release_of_an_expired_claim_is_no_sign_of_life_of_its_holder(make_project: Callable[..., Project]) -> None:
    clock = MovableClock()
    project = make_project(clock=clock)
    project.take({**samples.STARTED, "plan": "01-02", "task": 1}, {**CLAIMED, "plan": "01-02"})
    clock.by += 31 * MINUTE
    project.look()
    assert project.events_shown[-1]["cause"].startswith("no event from its holder")
    (task,) = project.ask("gsd plan", plan="01-02")["plan"]["tasks"]
    assert (task["state"], task["silent_for"] > 30 * MINUTE) == ("stalled", True)


@pytest.mark.proves("S4-HRD-13")
def test_several_paths_are_claimed_together_or_not_at_all(project: Project) -> None:
    project.emit(claimed("b.ts", plan="01-02"))
    several = {**claimed(plan="01-03"), "paths": ["a.ts", "b.ts"]}
    refusal = project.refused(without(several, "path"))
    assert refusal.code == "file_held"
    assert list(project.file("claims")["claims"]) == ["b.ts"]
    project.emit({**without(claimed(plan="01-03"), "path"), "paths": ["a.ts", "c.ts"]})
    assert {path: row["plan"] for path, row in project.file("claims")["claims"].items()} == {
        "b.ts": "01-02",
        "a.ts": "01-03",
        "c.ts": "01-03",
    }
    assert [event["path"] for event in project.events_shown] == ["b.ts", "a.ts", "c.ts"]
    project.emit({**without(released(plan="01-03"), "path"), "paths": ["a.ts", "c.ts"]})
    assert list(project.file("claims")["claims"]) == ["b.ts"]


@pytest.mark.proves("S4-HRD-14")
def test_of_many_claims_at_once_exactly_one_is_granted(project: Project) -> None:
    project.add({**claimed(plan="09-01"), "timestamp": "2024-01-15T10:30:00Z"})
    children = [
        project.start("emit", "file:claimed", "--data", json.dumps(without(claimed(plan=f"01-{n:02}"), "type")))
        for n in range(1, 9)
    ]
    children += [project.start("claim", USERS) for _ in range(2)]
    said = finished(children)
    project.look()
    granted = [event for event in project.events_shown if event["type"] == "file:claimed"]
    assert len(granted) == 1
    assert len(project.ask("who-holds", path=USERS)) == 1
    assert {spoken.code for spoken in said} <= {0, 3}
    assert sum(spoken.code == 0 for spoken in said) == (0 if granted[0].get("plan") == "09-01" else 1)


@pytest.mark.proves("S4-HRD-23")
def test_the_files_show_who_holds_what_and_what_there_is(project: Project) -> None:
    project.emit(started("01-02", 3))
    project.emit(claimed("a.ts"))
    project.emit(created("b.ts", "B"))
    claims, artifacts = project.file("claims"), project.file("artifacts")
    row = claims["claims"]["a.ts"]
    assert (row["agent"], row["plan"], row["task"]) == ("gsd-executor", "01-02", 3)
    assert row["timestamp"] == project.events_shown[1]["timestamp"]
    assert artifacts["artifacts"]["b.ts"]["provides"] == ["B"]
    project.put({"claims": {"a.ts": {"agent": "me"}}}, "claims")
    project.put("{", "artifacts")
    project.look()
    assert project.file("claims") == claims, "moot only writes it"


@pytest.mark.proves("S4-HRD-15")
def test_a_change_of_a_file_that_another_plan_has_claimed_is_flagged_and_its_holder_told(project: Project) -> None:
    project.join("Ada")
    project.emit(started("01-02"), "Ada")
    project.emit(claimed("a.ts", plan="01-02"), "Ada")
    assert "claimed" in project.flags(created("a.ts", plan="01-03"))
    told = [mail["text"] for mail in project.ask("mailbox", name="@gsd-executor")["messages"]]
    assert len([text for text in told if "a.ts" in text and "plan 01-03" in text]) == 1
    assert "claimed" not in project.flags(created("a.ts", plan="01-02"), "Ada")


@pytest.mark.proves("S4-HRD-11")
def test_a_release_with_a_cause_of_its_own_is_a_sign_of_life(make_project: Callable[..., Project]) -> None:
    clock = MovableClock()
    project = make_project(clock=clock)

    def silent_for() -> float:
        (task,) = project.ask("gsd plan", plan="01-02")["plan"]["tasks"]
        return float(task["silent_for"])

    project.emit(started())
    project.emit(claimed())
    clock.by += 1000.0
    assert silent_for() >= 1000.0
    project.emit(released(cause="I do not need it"))
    assert silent_for() < 500.0
    project.emit(claimed())
    clock.by += 2000.0
    project.look()  # now moot ends the claim
    last = project.file()["lastEventId"]
    assert (project.events_shown[-1]["type"], project.flags_of(last)) == ("file:released", ["taken_away"])
    assert silent_for() >= 2000.0


@pytest.mark.proves("S4-COO-02")
def test_the_remedy_for_a_path_that_a_plan_holds_names_no_mailbox_that_does_not_exist(project: Project) -> None:
    project.emit(claimed("a.ts"))
    project.run("join", "Ada", name="Ada")
    for verb, given in (("claim", "paths"), ("release", "what")):
        refusal = project.refusal(verb, "Ada", **{given: ("a.ts",)})
        assert refusal.remedy.startswith("Wait ")
        assert "moot send" not in refusal.remedy
    project.run("claim", "Ada", paths=("b.ts",))
    project.run("join", "Bob", name="Bob")
    assert "`moot send Ada '…'`" in project.refusal("claim", "Bob", paths=("b.ts",)).remedy
