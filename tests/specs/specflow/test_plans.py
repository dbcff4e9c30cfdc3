"""Plans: where issues come from, in which waves they are done, and what cannot be planned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.specs.specflow.project import Project, issue

WRITERS = ["Yeats", "Swift", "Beckett", "Heaney", "Wilde", "Joyce", "Synge", "Lady Gregory"]
TEAMS = ["Fianna", "Tuatha", "Red Branch", "Brigid's Forge", "Tir na nOg"]


def numbers(plan: Any) -> list[list[int]]:
    """The issues of each wave."""
    return [[one["number"] for one in wave["issues"]] for wave in plan["waves"]]


def names(plan: Any) -> list[str]:
    return [one["agent"] for one in plan["waves"][0]["issues"]]


@pytest.mark.proves("S3-WAVE-01", "S3-NAME-04", "S3-TASK-09", "S3-TASK-10")
def test_a_wave_has_the_issues_whose_dependencies_lie_in_earlier_ones(project: Project) -> None:
    listed = [
        issue(52),
        issue(50, title="User Profile Page"),
        issue(51, "Depends on #50"),
        issue(53, "text\n**Blocks:** #51, and #54. Not that it depends on anything, see #52."),
        issue(54, None, labels=[{"name": "wave"}], comments=[{"body": "J-SIGNUP-FLOW"}]),  # type: ignore[arg-type]
    ]
    for plan in (project.plan(*listed), project.plan(*listed)):
        assert numbers(plan) == [[50, 52, 53], [51, 54]]
        assert [(wave["number"], wave["team"]) for wave in plan["waves"]] == [(1, "Fianna"), (2, "Tuatha")]
        assert names(plan) == ["Yeats", "Swift", "Beckett"]
        assert plan["waves"][1]["issues"][0]["waits"] == [50, 53]
    assert numbers(project.ask("specflow plan")) == [[50, 52, 53], [51, 54]]
    made = project.task("issue-50")
    assert (made.title, made.body) == ("Implement #50: User Profile Page", project.task("issue-51").body)
    assert made.body == "Full lifecycle: contract -> build -> test -> close"
    assert made.extra["activeForm"] == "Implementing issue #50"
    assert (made.state, project.task("issue-51").waits) == ("pending", ("issue-50", "issue-53"))
    assert project.issue(54).comments == ("J-SIGNUP-FLOW",)
    wave = project.wave()
    assert (wave.state, wave.issues, wave.pool) == ("planned", (50, 52, 53), "writers")
    assert not project.ask("agents")
    for title in ("Implement #50: Again", "Implement #50: User Profile Page"):
        assert project.refusal("task add", title=title).code == "task_exists"
    project.run("task add", title="Implement #60: By hand")
    assert (project.task("issue-60").state, project.issue(60).number) == ("pending", 60)
    assert numbers(project.ask("specflow plan"))[0] == [50, 52, 53, 60]


@pytest.mark.proves("S3-WAVE-02")
def test_a_plan_is_refused_with_everything_that_is_wrong_with_it(project: Project) -> None:
    project.plan(issue(1))
    wrong = [
        issue(10, "Depends on #11"),
        issue(11, "depends on #12 & #99"),
        issue(12, "Depends on: #10"),
        issue(13, "Blocks #13"),
        issue(14),
        issue(14),
        issue(15, "Depends on #98"),
        issue(16, "Depends on #20. Blocks #97."),
        issue(20, state="CLOSED"),
    ]
    project.put(".git/issues.json", json.dumps(wrong))
    refusal = project.refusal("specflow plan", source=".git/issues.json")
    assert (refusal.code, refusal.details["twice"]) == ("bad_plan", [14])
    assert refusal.details["cycles"] == [[10, 11, 12, 10], [13, 13]]
    said = " ".join(refusal.details["defects"])
    assert "#99" in said
    assert "#98" in said
    assert "#97" not in said
    assert "#20" not in said
    for content, code in {
        "[]": "no_issues",
        '[{"number": 3, "title": "x", "state": "CLOSED"}]': "no_issues",
        "{": "bad_issues",
        "{}": "bad_issues",
        '[{"number": 0, "title": " "}, {"number": 1, "body": 3, "title": "x", "labels": [1]}, 7]': "bad_issues",
    }.items():
        project.put(".git/issues.json", content)
        refusal = project.refusal("specflow plan", source=".git/issues.json")
        assert refusal.code == code
    assert len(refusal.details["defects"]) == 5
    assert project.wave().issues == (1,)


@pytest.mark.proves("S3-NAME-03", "S3-NAME-05", "S3-HARD-18", "S3-NAME-02")
def test_forty_issues_get_forty_names_from_the_pool(make_project: Callable[..., Project]) -> None:
    project = make_project()
    forty = [issue(number) for number in range(1, 41)]
    found = names(project.plan(*forty))
    assert found[:10] == [*WRITERS, "Yeats 2", "Swift 2"]
    assert len({name.casefold() for name in found}) == 40
    for pool, first in {"builders": "Goibniu", "warriors": "Cuchulainn", "explorers": "Crean"}.items():
        assert names(project.plan(*forty, pool=pool))[::8] == [first, *(f"{first} {n}" for n in range(2, 6))]
    assert project.refusal("specflow plan", pool="poets").code == "unknown_pool"
    own = 'pools = { poets = ["hamilton", "KEANE", "Finn  McCool", "Ann O\'Hara", "ann o hara", "Ánn Ó Hára", "Bo"] }'
    odd = make_project(f'[pack.specflow]\n{own}\nteams = ["Tir na nOg"]\n', "own")
    assert names(odd.plan(*forty[:4], pool="poets")) == ["Ann O'Hara", "Bo", "hamilton 2", "KEANE 2"]
    assert [member.agent for member in odd.wave().members] == ["w1.ann-o-hara", "w1.bo", "w1.hamilton-2", "w1.keane-2"]
    for number, name in enumerate(("a/b", ".a", "a\\u0007b", "\\u674e")):
        bad = make_project(f'[pack.specflow]\npools = {{ bad = ["{name}"] }}\n', f"bad{number}")
        bad.put(".git/issues.json", json.dumps(forty[:1]))
        assert bad.refusal("specflow plan", source=".git/issues.json", pool="bad").code == "bad_name"


@pytest.mark.proves("S3-WAVE-01", "S3-TASK-11")
def test_a_plan_follows_changes_of_its_issues(project: Project) -> None:
    """Bodies that change, issues that others closed, dependencies by hand, and a task that was deleted."""
    project.plan(issue(50), issue(51, "Depends on #50"), issue(52, "Depends on #51"), issue(53))
    project.run("task link", task="issue-53", needs=("issue-52",))
    plan = project.plan(issue(50), issue(51, "Depends on #53", "New"), issue(52), issue(53), dry_run=True)
    assert (plan["dry_run"], numbers(plan)) == (True, [[50, 52], [53], [51]])
    assert project.issue(51).name == "Page 51"
    project.plan(issue(50), issue(51, "Depends on #53", "New"), issue(52), issue(53))
    assert (project.task("issue-51").title, project.task("issue-51").waits) == ("Implement #51: New", ("issue-53",))
    assert (project.task("issue-52").waits, project.task("issue-53").waits) == ((), ("issue-52",))
    plan = project.plan(issue(51, "Depends on #53"), issue(52, state="CLOSED"), issue(53))
    assert (numbers(plan), project.task("issue-53").waits) == ([[53], [51]], ())
    assert project.wave().issues == (53,)
    project.run("task cancel", task="issue-53")
    project.put(".git/issues.json", json.dumps([issue(53), issue(54)]))
    plan = project.ask("specflow plan", source=".git/issues.json")
    assert (numbers(plan), plan["deleted"]) == ([[54]], [53])
    assert project.refusal("specflow plan").details["defects"]  # 51 depends on a deleted task


@pytest.mark.proves("S3-WAVE-01", "S3-NAME-01")
def test_a_plan_of_two_thousand_issues_goes_through_the_names_of_teams_again_and_again(project: Project) -> None:
    many = [issue(n, f"Depends on #{n - 100}" if n > 100 else "", "T" * 60) for n in range(1, 2001)]
    for plan in (project.plan(*many), project.plan(*many)):
        assert [len(wave) for wave in numbers(plan)] == [100] * 20
        assert [wave["team"] for wave in plan["waves"]] == TEAMS * 4


@pytest.mark.proves("S3-WAVE-01", "S3-HARD-19")
def test_issues_come_from_gh(project: Project, tmp_path: Path) -> None:
    """A stand-in for gh, which says what it was asked. Without one, the refusal says so."""
    listed = {"open": [issue(50, "Depends on #7")], "closed": [{"number": 7, "title": "Old", "state": "CLOSED"}]}
    program = tmp_path / "bin" / "gh"
    assert project.refusal("specflow plan", gh=True).code == "gh_missing"
    program.parent.mkdir()
    lines = [f"  *' {state} '*) echo '{json.dumps(found)}';;" for state, found in listed.items()]
    program.write_text("\n".join(["#!/bin/sh", 'case " $* " in', *lines, "esac", ""]))
    program.chmod(0o755)
    project.env["PATH"] = f"{program.parent}:/usr/bin:/bin"
    project.close()
    assert numbers(project.ask("specflow plan", gh=True)) == [[50]]
    program.write_text("#!/bin/sh\necho no login >&2\nexit 4\n")
    refusal = project.refusal("specflow plan", gh=True)
    assert (refusal.code, refusal.details["code"]) == ("gh_failed", 4)
