"""Plans as their files describe them: needs, numbers of tasks, waves, and what a broken file leads to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.specs.gsd.handling import COMPLETED, STARTED, Site

MODEL = ("wave: 1", "depends_on: []")
API = ("wave: 2", 'depends_on: ["01-01"]')


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def needed(site: Site) -> dict[str, list[str]]:
    """The artifacts that are waited for, and who waits for each."""
    found: dict[str, list[str]] = {}
    for one in site.moot("artifact", "needed", "--json").result:
        found[one["name"]] = sorted([*found.get(one["name"], ()), one["needer"]])
    return found


def ending(task: int, kind: str = "completed", plan: str = "01-01") -> dict[str, object]:
    return {**COMPLETED, "type": f"task:{kind}", "plan": plan, "task": task}


@pytest.mark.proves("S4-DEP-01", "S4-INS-02")
def test_a_plan_waits_for_what_its_file_says_it_needs(site: Site) -> None:
    site.plan("01-01", *MODEL)
    site.plan("01-02", *API)
    path = site.plan("01-03", *API, "needs:", "  - docs/schema.md", "  - src/user.ts")
    assert needed(site) == {"docs/schema.md": ["plan:01-03"], "src/user.ts": ["plan:01-03"]}
    site.emit({"type": "artifact:created", "path": "src/user.ts", "createdBy": "01-01"})
    satisfied = [one for one in site.board("events")["events"] if one["type"] == "dependency:satisfied"]
    assert [(one["artifact"], one["requiredBy"]) for one in satisfied] == [("src/user.ts", ["01-03"])]
    waits = {one["plan"]: one for one in site.moot("gsd", "waiting", "--json").result}
    assert {plan: [one["plan"] for one in wait["plans"]] for plan, wait in waits.items()} == {
        "01-02": ["01-01"],
        "01-03": ["01-01"],
    }
    assert [one["artifact"] for one in waits["01-03"]["missing"]] == ["docs/schema.md"]
    assert all(one["since"] for wait in waits.values() for one in (*wait["plans"], *wait["missing"]))
    site.plan("01-03", "needs: [docs/other.md]")  # a changed file changes what its plan waits for
    assert needed(site) == {"docs/other.md": ["plan:01-03"]}
    path.unlink()
    assert needed(site) == {}


@pytest.mark.proves("S4-DEP-01")
def test_a_need_of_something_that_exists_is_satisfied_at_once(site: Site) -> None:
    site.emit({"type": "artifact:created", "path": "src/models/user.ts", "createdBy": "01-01"})
    site.plan("01-02", "needs: [src/models/user.ts]")
    assert needed(site) == {}
    events = site.board("events")["events"]
    assert [(one["type"], one.get("requiredBy")) for one in events[1:]] == [("dependency:satisfied", ["01-02"])]


@pytest.mark.proves("S4-HAN-08")
def test_a_plan_is_done_when_its_declared_tasks_are_completed(site: Site) -> None:
    site.plan("01-01", *MODEL, tasks=3)
    for task in (1, 2):
        site.emit(ending(task))
        assert site.board("shared-context")["completed_plans"] == []
    site.emit(ending(2))  # again: it counts once
    site.emit({**ending(3, "failed"), "error": "no"})
    assert site.board("shared-context")["completed_plans"] == []
    site.emit(ending(3))
    assert site.board("shared-context")["completed_plans"] == ["01-01"]
    site.emit({**STARTED, "plan": "01-01", "task": 3})
    assert site.board("shared-context")["completed_plans"] == []


@pytest.mark.proves("S4-HAN-08")
def test_a_plan_is_done_when_its_summary_exists(site: Site) -> None:
    site.plan("01-01", *MODEL, "needs: [src/a.ts]", tasks=3)
    assert needed(site) == {"src/a.ts": ["plan:01-01"]}
    summary = site.root / ".planning" / "phases" / "01-base" / "01-01-SUMMARY.md"
    summary.write_text("# Done\n")
    assert site.moot("board").code == 0
    assert site.board("shared-context")["completed_plans"] == ["01-01"]
    assert needed(site) == {}  # a plan that is done waits for nothing
    summary.unlink()
    assert site.moot("board").code == 0
    assert site.board("shared-context")["completed_plans"] == []


@pytest.mark.proves("S4-HAN-08")
def test_without_a_declared_number_of_tasks_and_a_summary_a_plan_is_not_done(site: Site) -> None:
    site.emit(ending(1))
    site.plan("01-02", "wave: 1")
    site.emit(ending(1, plan="01-02"))
    assert site.board("shared-context")["completed_plans"] == []
    (site.root / ".planning" / "phases" / "01-base" / "01-03-SUMMARY.md").write_text("# Without a plan\n")
    assert site.moot("board").code == 0
    assert site.board("shared-context")["completed_plans"] == ["01-03"]


def test_the_wave_of_the_running_plan_is_shown(site: Site) -> None:
    site.plan("01-01", *MODEL, tasks=1)
    site.plan("01-02", *API, tasks=1)
    site.emit({**STARTED, "plan": "01-01"})
    assert site.board("shared-context")["current_wave"] == 1
    site.emit({**STARTED, "plan": "1-2"})
    assert site.board("shared-context")["current_wave"] == 2


BROKEN = {
    "no front matter": b"# Plan\n",
    "not closed": b"---\nwave: 1\n",
    "an alias": b"---\nwave: *x\n---\n",
    "not text": b"---\nwave: \xff\xfe\n---\n",
    "binary": bytes(range(256)) * 20,
    "empty": b"",
    "deep": b"---\na: " + b"[" * 5000 + b"\n---\n",
    "too large": b"---\nwave: 1\n---\n" + b"x" * (1 << 20),
}


@pytest.mark.proves("S4-DEP-08", "S4-INS-05")
def test_a_broken_plan_file_blocks_its_plan_is_reported_once_and_stops_nothing(site: Site) -> None:
    paths = {}
    for number, (name, data) in enumerate(BROKEN.items(), 1):
        paths[name] = site.plan(f"01-{number:02d}")
        paths[name].write_bytes(data)
    told = "".join(site.warnings(site.emit(STARTED), "source_defective"))
    assert [name for name, path in paths.items() if str(path) not in told] == []
    assert site.warnings(site.emit(COMPLETED), "source_defective") == []  # once
    code, problems = site.check()
    assert (code, sorted(one["file"] for one in problems)) == (
        6,
        sorted(str(path.relative_to(site.root)) for path in paths.values()),
    )
    found = site.moot("gsd", "phase", "01", "--json").result["plans"]
    assert {one["state"] for one in found} == {"blocked"}
    assert all(one["blocked"] and one["path"] for one in site.moot("gsd", "waiting", "--json").result)
    assert len([one for one in site.moot("needs-me", "--json").result if "is blocked" in one["text"]]) == len(paths)
    for number, (name, path) in enumerate(paths.items(), 1):
        assert path.read_bytes() == BROKEN[name]  # never written, never moved
        site.plan(f"01-{number:02d}", *MODEL)
    assert site.check() == (0, [])
    assert {one["state"] for one in site.moot("gsd", "phase", "01", "--json").result["plans"]} == {"ready", "idle"}


def test_links_are_not_followed(site: Site, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "01-01-PLAN.md").write_text("---\nneeds: [secret.txt]\n---\n")
    phases = site.root / ".planning" / "phases"
    phases.mkdir(parents=True)
    (phases / "01-linked").symlink_to(outside)
    (phases / "02-base").mkdir()
    (phases / "02-base" / "02-01-PLAN.md").symlink_to(outside / "01-01-PLAN.md")
    (phases / "02-base" / "02-01-SUMMARY.md").symlink_to(outside / "01-01-PLAN.md")
    assert needed(site) == {}
    assert site.board("shared-context")["completed_plans"] == []
    code, problems = site.check()
    assert code == 6
    assert {one["file"] for one in problems} == {
        ".planning/phases/02-base/02-01-PLAN.md",
        ".planning/phases/02-base/02-01-SUMMARY.md",
    }
    assert all("symbolic link" in one["message"] for one in problems)


def test_the_plan_of_the_main_worktree_counts_and_others_add_to_it(site: Site, tmp_path: Path) -> None:
    site.plan("01-01", "needs: [main.txt]")
    linked = tmp_path / "another"
    git = ["git", "-C", str(site.root), "-c", "user.name=A", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "start"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], check=True)
    site.plan("01-01", "needs: [linked.txt]", root=linked)
    site.plan("01-02", "needs: [other.txt]", root=linked)
    assert needed(site) == {"main.txt": ["plan:01-01"], "other.txt": ["plan:01-02"]}
    site.plan("01-02", "needs: [here.txt]")
    assert needed(site) == {"main.txt": ["plan:01-01"], "here.txt": ["plan:01-02"]}


def test_a_second_file_of_a_plan_is_reported_and_not_read(site: Site) -> None:
    site.plan("01-01", "needs: [a.txt]")
    other = site.root / ".planning" / "phases" / "01-other" / "1-1-PLAN.md"
    other.parent.mkdir()
    other.write_text("---\nneeds: [b.txt]\n---\n")
    assert needed(site) == {"a.txt": ["plan:01-01"]}
    code, problems = site.check()
    assert (code, [one["file"] for one in problems]) == (6, [".planning/phases/01-other/1-1-PLAN.md"])
    assert "01-base/01-01-PLAN.md is the file of plan 01-01" in problems[0]["message"]


def test_unchanged_plans_are_not_read_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their signature is enough: no command opens them."""
    site.plan("01-01", *MODEL)
    site.plan("01-02", *API)
    monkeypatch.setattr("moot.mirrors.file_reading._YOUNG_NS", 0)  # else a signature is trusted after two seconds
    opened: list[str] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and str(arguments[0]).endswith("-PLAN.md"):
            opened.append(str(arguments[0]))

    sys.addaudithook(note)
    with site.person() as person:
        person.board()
        assert len(opened) >= 2
        opened.clear()
        person.board()
        assert opened == []


def test_the_check_names_a_file_that_cannot_be_used_once(site: Site) -> None:
    (site.root / ".planning" / "phases" / "01-base" / "01-04-PLAN.md").mkdir(parents=True)
    code, found = site.check()
    assert (code, [one["message"] for one in found]) == (6, ["the file cannot be used: it is a directory"])


def test_a_held_entry_of_a_file_is_corrected_in_the_file(site: Site) -> None:
    path = ".planning/blackboard/events.json"
    content = site.board("events")
    (site.root / path).write_text(json.dumps({**content, "events": [*content["events"], {"type": "task:started"}]}))
    warned = site.moot("gsd", "events").err
    assert f"Correct all of them and add the entry to {path} again." in warned
    assert "--dry-run" not in warned
