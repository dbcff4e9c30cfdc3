"""Emitting: over each surface, with the spec's own emitters, and through moot's other verbs."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from tests.specs.gsd import samples
from tests.specs.gsd.project import Project, all_codes, unnumbered
from tests.specs.gsd.samples import CREATED, DECIDED, STARTED, claimed, completed, started, without

needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="needs the system package jq")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs the system package nodejs")

ODD = [
    'quotes " and \\' + "'",
    "line\nbreak\r\n and tab\t",
    "$HOME ${HOME} $(id) `id`",
    "\\(env.HOME) \\(1+1)",
    "<b>&amp;%s {0} ü → 🙂 \u2028",
    "-- --data x; rm -rf /",
]


@pytest.mark.proves("S4-EMI-01")
def test_every_type_can_be_emitted_by_a_call_and_the_answer_has_its_number_and_flags(project: Project) -> None:
    project.emit(claimed("src/api/users.ts"))
    project.emit({**claimed("src/api/users.ts"), "type": "file:released"})
    for number, event in enumerate(samples.IN_ORDER, 3):
        spoken = project.cli_emit(event)
        flags = [warning["message"].partition(":")[0] for warning in spoken.json["warnings"]]
        assert (spoken.result["number"], flags) == (number, all_codes(spoken.result["flags"])), event
    assert [unnumbered(event) for event in project.events_shown[2:]] == list(samples.IN_ORDER)


@pytest.mark.proves("S4-EMI-02")
@needs_jq
def test_the_shell_step_of_the_specification_works_unchanged(project: Project) -> None:
    inode = project.path().stat().st_ino
    project.shell("01-02", 1, "Create User model")
    assert project.path().stat().st_ino != inode, "it replaces the file by a rename"
    project.look()
    shown = project.events_shown[0]
    assert (shown["type"], shown["plan"], shown["task"], shown["taskName"]) == (
        "task:started",
        "01-02",
        1,
        "Create User model",
    )
    assert (shown["eventId"], project.file()["lastEventId"]) == (1, 1)
    project.shell("01-02", 2)
    project.shell("01-03", 1)
    project.emit(completed())
    assert [e["eventId"] for e in project.events_shown] == [1, 2, 3, 4]
    assert project.state("01-02.1") == "completed"
    assert project.held() == []


@pytest.mark.proves("S4-EMI-04")
@pytest.mark.parametrize("text", ODD)
def test_values_are_plain_data(project: Project, text: str) -> None:
    spoken = project.cli("emit", "task:started", "--data", json.dumps(without(started(name=text), "type")))
    assert spoken.result["number"] == 1
    project.emit({"type": "note:taken", text: [text, {text: text}]})
    shown = project.events_shown
    assert shown[0]["taskName"] == text
    assert shown[1][text] == [text, {text: text}]
    assert project.task("01-02.1").title == text
    project.take({**STARTED, "task": 2, "taskName": text})
    assert project.events_shown[2]["taskName"] == text


@pytest.mark.proves("S4-EMI-04")
def test_text_that_no_file_can_hold_is_refused(project: Project) -> None:
    assert "surrogate" in project.refused(started(name="half \ud83d")).text
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    assert project.refused({"type": "deep:one", "deep": deep}).text


HOOK = """import fs from 'node:fs/promises';

// hooks/gsd-event-emitter.js
export default async function({ tool, result, session }) {
  if (tool === 'Write' && result.success) {
    await emitEvent({
      type: 'artifact:created',
      path: result.path,
      timestamp: new Date().toISOString()
    });
  }
}

async function emitEvent(event) {
  const eventsFile = '.planning/blackboard/events.json';
  const data = JSON.parse(await fs.readFile(eventsFile, 'utf-8'));
  data.events.push({ ...event, id: ++data.lastEventId });
  await fs.writeFile(eventsFile, JSON.stringify(data, null, 2));
}
"""


@pytest.mark.proves("S4-HOK-06")
@needs_node
def test_the_hook_of_the_specification_works_as_it_stands(project: Project) -> None:
    (project.root / "hooks").mkdir()
    (project.root / "hooks" / "gsd-event-emitter.mjs").write_text(HOOK)
    for tool, success, path in (("Write", "true", "src/a.ts"), ("Write", "false", "src/b.ts"), ("Read", "true", "c")):
        call = f"{{ tool: '{tool}', result: {{ success: {success}, path: '{path}' }}, session: {{}} }}"
        script = f"import hook from './hooks/gsd-event-emitter.mjs'; await hook({call});"
        argv = ["node", "--input-type=module", "-e", script]
        subprocess.run(argv, cwd=project.root, env=project.env, check=True, timeout=60)
    project.look()
    assert [(event["eventId"], event["id"], event["path"]) for event in project.events_shown] == [(1, 1, "src/a.ts")]


@pytest.mark.proves("S4-HOK-06")
@needs_node
def test_the_function_of_the_specification_works_as_it_stands(project: Project) -> None:
    project.node(without(CREATED, "createdBy", "provides"))
    project.look()
    assert (project.events_shown[0]["eventId"], project.events_shown[0]["id"]) == (1, 1), "the number it chose is free"
    stale = project.path().read_bytes()
    project.emit(started())
    project.path().write_bytes(stale)  # what the emitter has read, a moment ago
    project.node({**CREATED, "path": "b.ts"})
    project.look()
    assert [(e["eventId"], e["id"], e["type"]) for e in project.events_shown] == [
        (1, 1, "artifact:created"),
        (2, 2, "task:started"),
        (3, 3, "artifact:created"),
    ], "the number it chose was taken"
    project.node(DECIDED)
    project.look()
    shown = project.events_shown[3]
    assert (shown["eventId"], shown["id"]) == (4, "dec-001"), "the emitter overwrote the id of the decision"


@pytest.mark.proves("S4-HRD-27")
def test_a_repeated_key_stores_one_event_and_returns_its_number(project: Project) -> None:
    first = project.emit(started(), key="k1")
    again = project.emit(started(), key="k1")
    assert (first.number, again.number, again.repeated) == (1, 1, True)
    spoken = project.cli_emit(started(), None, "--key", "k1")
    assert (spoken.result["number"], spoken.result["repeated"]) == (1, True)
    refusal = project.refusal("emit", type="task:started", data=without(started(task=2), "type"), key="k1")
    assert refusal.code == "key_reused"
    assert len(project.events_shown) == 1
    assert project.emit(started(task=2), key="k2").number == 2


# --- moot's own verbs ------------------------------------------------------------------------------------------------


@pytest.mark.proves("S4-OVW-02")
def test_what_moots_verbs_decide_is_on_the_blackboard_in_the_same_order(project: Project) -> None:
    project.join("Ada")
    project.emit(started("01-02", 1), "Ada")
    project.run("claim", "Ada", paths=("src/a.ts", "src/b.ts"))
    project.run("artifact add", "Ada", paths=("src/a.ts",), provides=("A",))
    project.run("artifact modify", "Ada", id="src/a.ts", change=("more",))
    project.take({**STARTED, "plan": "01-03"})
    project.run("decide", "Ada", title="Use tabs", rationale="Taste", affects=("02-*",))
    project.run("checkpoint reach", "Ada", question="Right?", task="01-02.1")
    (point,) = project.ask("checkpoints")
    project.run("checkpoint resolve", id=point["id"], answer="yes")
    project.run("task complete", "Ada", task="01-02.1")
    project.run("release", "Ada", what=("src/a.ts",))
    project.run("leave", "Ada")
    shown = [unnumbered(without(event, "timestamp")) for event in project.events_shown]
    assert [event["type"] for event in shown] == [
        "task:started",
        "file:claimed",
        "file:claimed",
        "artifact:created",
        "artifact:modified",
        "task:started",
        "decision:made",
        "checkpoint:reached",
        "checkpoint:resolved",
        "task:completed",
        "file:released",
        "file:released",
    ]
    assert shown[1] == {"type": "file:claimed", "path": "src/a.ts", "agent": "gsd-executor", "plan": "01-02"}
    assert shown[3] == {
        "type": "artifact:created",
        "path": "src/a.ts",
        "provides": ["A"],
        "createdBy": "01-02",
    }
    assert shown[4]["changes"] == ["more"]
    assert (shown[6]["id"], shown[6]["decision"], shown[6]["madeBy"]) == ("dec-001", "Use tabs", "01-02")
    assert (shown[7]["plan"], shown[7]["task"], shown[7]["awaiting"]) == ("01-02", 1, "Right?")
    assert (shown[8]["answer"], shown[8]["checkpoint"]) == ("yes", point["id"])
    assert (shown[9]["plan"], shown[9]["task"]) == ("01-02", 1)
    assert shown[11] == {"type": "file:released", "path": "src/b.ts", "agent": "gsd-executor", "plan": "01-02"}
    assert project.file("claims")["claims"] == {}
    assert project.file("shared-context")["completed_tasks"][0]["taskName"] == "Build"


@pytest.mark.proves("S4-OVW-02")
def test_tasks_and_messages_of_other_lifecycles_are_not_events(project: Project) -> None:
    project.join("Ada")
    project.run("task add", "Ada", title="Something else")
    project.run("task claim", "Ada", task="task-001")
    project.run("send", "Ada", to=("Ada",), text="hello")
    assert project.events_shown == []
