"""Plan files: what is taken from them, and what is a problem."""

from __future__ import annotations

import pytest

from moot.packs.gsd import plans
from moot.packs.gsd.ids import plan_of

PLAN = """---
phase: 01-foundation
plan: 02
type: execute
wave: 2                     # Execution wave. Pre-computed at plan time.
depends_on: ["01-01"]       # Plan IDs this plan requires.
files_modified: [src/api/users.ts, src/api/index.ts]
autonomous: false

must_haves:
  truths:
    - "Users can be listed"
  artifacts:
    - path: "src/api/users.ts"
      provides: "User endpoints"
      exports: ["GET", "POST"]
    - path: src/api/index.ts
      contains: "router"
  key_links:
    - from: "src/api/users.ts"
      to: "src/models/user.ts"
      pattern: "import.*User"
---

<objective>
List users.
</objective>

<!-- <task type="auto"><name>Task 0: commented out</name></task> -->

```xml
<task type="auto"><name>Task 0: an example</name></task>
```

<tasks>

<task type="auto">
  <name>Task 1: Create the endpoints</name>
  <files>src/api/users.ts</files>
</task>

<task type="auto" tdd="true">
  <name>Validate input</name>
</task>

<task type="checkpoint:human-verify" gate="blocking">
  <what-built>The list</what-built>
</task>

</tasks>
"""


def read(text: str, plan: str = "01-02") -> plans.PlanFile:
    found = plan_of(plan)
    assert found is not None
    return plans.read(text.encode(), found)


def test_a_plan_as_the_planning_system_writes_it():
    tasks = ("Create the endpoints", "Validate input", "")
    assert read(PLAN) == plans.PlanFile(wave=2, depends_on=("01-01",), tasks=tasks)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ('["01-01"]', ("01-01",)),
        ("[01]", ("01-01",)),
        ("[3, 4]", ("01-03", "01-04")),
        ("01-01", ("01-01",)),
        ("\n  - 1-1\n  - 01-01", ("01-01",)),
        ("[01-foundation-03]", ("01-03",)),
        ("[01-03-login-form]", ("01-03",)),
        ("[01-foundation-03-PLAN.md]", ("01-03",)),
        ("[.planning/phases/00-setup/00-01-PLAN.md]", ("00-01",)),
        ("[05.2-01]", ("05.2-01",)),
        ('[\n"01-01",\n01-03\n]', ("01-01", "01-03")),
        ("&first [01-01]\nalso: *first", ("01-01",)),
        ("!!seq [01-01]", ("01-01",)),
        ("[]", ()),
        ("", ()),
        ("null", ()),
    ],
)
def test_the_ways_in_which_agents_name_the_plans_they_depend_on(said, meant):
    found = read(f"---\ndepends_on: {said}\n---\n")
    assert (found.depends_on, found.problems) == (meant, ())


BLOCKING = {
    "depends_on: [phase-2]": 'depends_on: "phase-2" is not a plan',
    "depends_on: [01-02]": "depends_on: the plan depends on itself",
    "depends_on: {a: b}": "depends_on: an object",
    "depends_on: [[01-01]]": "depends_on: a list",
    "needs: [../x]": 'needs: "../x" is not a path',
    "needs: [/etc/passwd]": 'needs: "/etc/passwd" is not a path',
    "needs: [a//b]": 'needs: "a//b" is not a path',
    'contains: "a", "b"': "line 2, column 14: ",
    "a: [1\nb: 2": "line 3, column ",
    "a: " + "[" * 100_000: "line 2, column 103: the value is nested",
    "- " * 100_000 + "x": "line 2, column ",
    "just text": "the front matter has no keys",
    "depends_on: [01-01]\ndepends_on: []": "line 3, column 1: the key depends_on stands twice",
    "depends_on: [" + "01, " * 1001 + "]": "depends_on: 1001 entries",
}


def test_what_hides_what_a_plan_waits_for_blocks_it_with_the_reason():
    found = {line: read(f"---\n{line}\n---\n<task><name>T</name></task>\n") for line in BLOCKING}
    wrong = {
        line: found[line].unreadable
        for line, reason in BLOCKING.items()
        if not found[line].unreadable.startswith(reason)
    }
    assert wrong == {}
    assert {one.tasks for one in found.values()} == {("T",)}
    unread = [read("# Plan"), read("---\nwave: 1\n"), plans.read(b"---\nb: \xff\n---\n", plan_of("01-02")), read("")]
    assert all(one.unreadable and one.problems == (one.unreadable,) for one in unread)


def test_what_else_is_wrong_is_named_and_the_rest_counts():
    for wave in ("two", "1.5", "[1]"):
        found = read(f"---\nwave: {wave}\nneeds: [src/x.ts]\na: 1\na: 2\n---\n")
        assert (found.wave, found.needs, found.unreadable, len(found.problems)) == (0, ("src/x.ts",), "", 1)


def test_tasks_may_be_headings_where_there_are_no_elements():
    text = "---\nwave: 1\n---\n## Tasks\n### Task 1: Tag the version\n### Task 2 - Notes\n### Tasks\n## Task 3\n"
    assert read(text).tasks == ("Tag the version", "Notes", "")
    assert read("---\nwave: 1\n---\nNo tasks.").tasks == ()


@pytest.mark.parametrize(
    ("file", "folder", "plan"),
    [
        ("01-02-PLAN.md", "01-foundation", "01-02"),
        ("1-2-PLAN.md", "x", "01-02"),
        ("05.2-01-PLAN.md", "05.2-pwa", "05.2-01"),
        ("01-02-login-PLAN.md", "01-foundation", "01-02"),
        ("02-PLAN.md", "01-foundation", "01-02"),
        ("02-PLAN.md", "foundation", None),
        ("PLAN.md", "01-foundation", None),
        ("01-02-SUMMARY.md", "01-foundation", None),
        ("quick-004-PLAN.md", "quick", None),
        ("01-02-PLAN.md.bak", "01-foundation", None),
        ("01-02A-PLAN.md", "01-foundation", None),
    ],
)
def test_a_file_belongs_to_the_plan_in_its_name(file, folder, plan):
    found = plans.named(file, folder)
    assert (found.name if found else None) == plan
