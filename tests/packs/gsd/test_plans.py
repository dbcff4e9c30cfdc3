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
      contains: "router", "users"
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
    assert read(PLAN) == plans.PlanFile(
        wave=2,
        depends_on=("01-01",),
        makes=("src/api/users.ts", "src/api/index.ts"),
        touches=("src/api/users.ts", "src/api/index.ts"),
        tasks=("Create the endpoints", "Validate input", ""),
        autonomous=False,
        problems=("line 18, column 25: there is text after the end of the value",),
    )


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
        ("[]", ()),
        ("", ()),
    ],
)
def test_the_ways_in_which_agents_name_the_plans_they_depend_on(said, meant):
    found = read(f"---\ndepends_on: {said}\n---\n")
    assert (found.depends_on, found.problems) == (meant, ())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("depends_on: [phase-2]", 'depends_on: "phase-2" is not a plan'),
        ("depends_on: [01-02]", "depends_on: the plan depends on itself"),
        ("depends_on: {a: b}", "depends_on: expected a list of texts, got an object of 1 field"),
        ("depends_on: [[01-01]]", "depends_on: expected a list of texts, got a list of 1"),
        ("wave: two", 'wave: expected a whole number, got "two"'),
        ("wave: 1.5", 'wave: expected a whole number, got "1.5"'),
        ("wave: [1]", "wave: expected a whole number, got a list of 1"),
        ("autonomous: maybe", 'autonomous: expected true or false, got "maybe"'),
        ("files_modified: [/etc/passwd]", 'files_modified: "/etc/passwd" is not a path of this project'),
        ("files_modified: [../x]", 'files_modified: "../x" is not a path of this project'),
        ("files_modified: [a//b]", 'files_modified: "a//b" is not a path of this project'),
        ("must_haves: {artifacts: x}", 'must_haves.artifacts: expected a list, got "x"'),
        ("phase: 02-other", "phase is '02-other', but the file is that of plan 01-02"),
        ("plan: 3", "plan is '3', but the file is that of plan 01-02"),
        ("a: 1\na: 2", "line 3, column 1: the key 'a' stands twice"),
        ("a: &x", "line 2, column 4: an anchor is not allowed here; put the text in quotes"),
    ],
)
def test_what_is_wrong_is_named_and_the_rest_counts(line, problem):
    found = read(f"---\n{line}\nneeds: [src/x.ts]\n---\n<task><name>T</name></task>\n")
    assert found.problems == (problem,)
    assert found.tasks == ("T",)
    assert found.needs == (() if problem.startswith("line") else ("src/x.ts",))


def test_front_matter_that_contradicts_nothing_is_no_problem():
    for line in (
        "phase: 1",
        "phase: quick",
        "plan: 02",
        "plan: 01-02",
        "plan: 04-06-cutover",
        "phase: 01",
        "plan: login",
    ):
        assert read(f"---\n{line}\n---\n").problems == ()


def test_descriptions_among_the_artifacts_are_not_paths():
    listed = "[src/a.ts, 'tests pass (9/9)', {provides: x}, {path: ./src/b.ts}, src/a.ts]"
    assert read(f"---\nmust_haves: {{artifacts: {listed}}}\n---\n").makes == ("src/a.ts", "src/b.ts")


def test_files_without_front_matter_or_in_another_encoding_are_reported():
    assert read("# Plan\n<task>x</task>").problems[0].startswith("line 1, column 1: the file does not begin")
    assert read("# Plan\n<task>x</task>").tasks == ("",)
    assert plans.read(b"---\na: 1\nb: \xff\n---\n", plan_of("01-02")).problems == ("line 3: the text is not UTF-8",)


def test_tasks_may_be_headings_where_there_are_no_elements():
    text = "---\nwave: 1\n---\n## Tasks\n### Task 1: Tag the version\n### Task 2 - Notes\n### Tasks\n## Task 3\n"
    assert read(text).tasks == ("Tag the version", "Notes", "")
    assert read("---\nwave: 1\n---\nNo tasks.").tasks == ()


def test_long_lists_and_many_problems_are_bounded():
    many = ", ".join(f"p{n}" for n in range(plans.MOST + 5))
    found = read(f"---\ndepends_on: [{many}]\nfiles_modified: [{many}]\n---\n" + "<task></task>" * (plans.MOST + 1))
    assert len(found.touches) == len(found.tasks) == plans.MOST
    assert len(found.problems) == 21
    assert found.problems[-1].endswith(" more problems")


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
