"""hooks/gsd-event-emitter.js in a real node, with a program in place of moot that notes what it gets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from moot.packs import gsd

SOURCE = Path(gsd.__file__).parent / "hooks" / "gsd-event-emitter.js"
RECORDER = """#!/bin/sh
printf '%s\\n' "$*" >> "$0.words"
cat >> "$0.input"
echo >> "$0.input"
pwd > "$0.cwd"
echo '{"result": {"number": 7}}'
"""

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "pro ject $(x)"
    (root / "hooks").mkdir(parents=True)
    shutil.copy(SOURCE, root / "hooks")
    (root / "package.json").write_text('{"type": "module"}')
    return root


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    program = tmp_path / "recorder"
    program.write_text(RECORDER)
    program.chmod(0o755)
    return program


def run(project: Path, script: str, program: Path | str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script that has `hook` and `emitEvent`, from another directory."""
    file = project / "try.mjs"
    file.write_text(f"import hook, {{ emitEvent }} from './hooks/gsd-event-emitter.js';\n{script}\n")
    return subprocess.run(
        ["node", str(file)],
        cwd="/",
        env={"PATH": os.environ["PATH"], "MOOT_COMMAND": str(program), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def events(recorder: Path) -> list[dict[str, object]]:
    found = Path(f"{recorder}.input")
    return [json.loads(line) for line in found.read_text().splitlines()] if found.exists() else []


def call(tool: str, path: object, *, success: bool = True) -> str:
    return f"await hook({json.dumps({'tool': tool, 'result': {'success': success, 'path': path}, 'session': {}})});"


def test_a_successful_write_is_emitted_with_its_path_and_the_time(project, recorder):
    ran = run(project, call("Write", "src/models/user.ts") + call("Write", f"{project}/src/api.ts"), recorder)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second = events(recorder)
    assert list(first) == ["type", "path", "timestamp"]
    assert (first["type"], first["path"], second["path"]) == ("artifact:created", "src/models/user.ts", "src/api.ts")
    assert str(first["timestamp"]).endswith("Z")
    assert Path(f"{recorder}.words").read_text() == "gsd emit - --json\n" * 2
    assert Path(f"{recorder}.cwd").read_text().strip() == str(project)


def test_an_edit_is_a_change_and_other_tools_and_failures_emit_nothing(project, recorder):
    script = call("Edit", "src/a.ts") + call("Read", "src/a.ts") + call("Bash", "src/a.ts")
    script += call("Write", "src/a.ts", success=False) + call("constructor", "src/a.ts") + call("Write", "")
    script += call("Write", None) + "await hook({ tool: 'Write' }); await hook({}); await hook();"
    ran = run(project, script, recorder)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [(event["type"], event["path"]) for event in events(recorder)] == [("artifact:modified", "src/a.ts")]


def test_the_files_of_the_protocol_and_paths_outside_the_project_are_ignored(project, recorder):
    paths = [
        ".planning/blackboard/events.json",
        f"{project}/.planning/config.json",
        ".planning",
        "../x.ts",
        "/etc/hosts",
    ]
    paths += ["src/../.planning/x", str(project)]
    ran = run(project, "".join(call("Write", path) for path in [*paths, ".planningx/a.ts"]), recorder)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [event["path"] for event in events(recorder)] == [".planningx/a.ts"]


def test_values_are_data_and_the_answer_is_the_number(project, recorder):
    event = {"type": "note:made", "text": "$(touch pwned) `id` \\(env.HOME) \"quotes\" 'too' é\n-x"}
    ran = run(project, f"console.log(await emitEvent({json.dumps(event)}));", recorder)
    assert (ran.stdout, ran.stderr) == ("7\n", "")
    assert events(recorder) == [event]
    assert not list(project.glob("**/pwned"))


FAILING = {
    "missing": (None, "no-such-program was not found"),
    "refusing": ('#!/bin/sh\necho \'{"message": "Not a valid event."}\'; exit 1', "Not a valid event."),
    "crashing": ("#!/bin/sh\necho boom >&2; exit 9", "boom"),
    "silent": ("#!/bin/sh\nexit 3", "Command failed"),
    "babbling": ("#!/bin/sh\necho no json", "JSON"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_is_reported_and_never_reaches_the_tool_call(project, tmp_path, name):
    body, said = FAILING[name]
    program = tmp_path / ("no-such-program" if body is None else name)
    if body is not None:
        program.write_text(body)
        program.chmod(0o755)
    # The second event is more than a pipe holds, for a program that does not read it.
    script = call("Write", "a.ts") + f"console.log(await emitEvent({{ type: 'a:b', text: 'x'.repeat({1 << 20}) }}));"
    ran = run(project, script, program)
    assert (ran.returncode, ran.stdout) == (0, "null\n")
    assert ran.stderr.startswith("gsd-event-emitter: artifact:created was not recorded: ")
    assert said in ran.stderr


def test_an_event_that_cannot_be_written_as_json_is_reported(project, recorder):
    ran = run(project, "const x = { type: 'a:b' }; x.self = x; console.log(await emitEvent(x));", recorder)
    assert (ran.returncode, ran.stdout, events(recorder)) == (0, "null\n", [])
    assert "a:b was not recorded" in ran.stderr
