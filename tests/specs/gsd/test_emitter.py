"""From Hooks: the module that `moot gsd emitter` writes, in a real node, with the real moot."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moot.packs.gsd.methods import Blackboard
from tests.specs.gsd.handling import Site
from tests.surfaces.command import PATIENCE

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
FILE = "hooks/gsd-event-emitter.js"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def node(site: Site, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a module that imports the emitter, as a client without a name does: no agent, no person, no terminal."""
    moot = site.root.parent / "bin" / "moot"
    moot.parent.mkdir(exist_ok=True)
    moot.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m moot "$@"\n')
    moot.chmod(0o755)
    module = site.root.parent / "client.mjs"
    module.write_text(f"import hook, {{ emitEvent }} from '{site.root}/{FILE}';\n{script}\n")
    environment = {**site.moot.environment, "MOOT_COMMAND": str(moot), **env}
    environment.pop("MOOT_PERSON", None)
    return subprocess.run(
        ["node", str(module)],
        cwd=site.root.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.proves("S4-HOK-07")
def test_the_module_is_written_on_request_and_another_file_is_left_alone(site: Site) -> None:
    path = site.root / FILE
    assert not path.exists()
    (site.root / "package.json").write_text('{"type": "module"}')
    assert site.moot("gsd", "emitter", "--json").result == {"path": str(path), "written": True}
    assert site.moot("gsd", "emitter", "--json").result == {"path": str(path), "written": False}
    path.write_text("// mine\n")
    refused = site.moot("gsd", "emitter", "--json").error
    assert (refused["error"], "--replace" in refused["remedy"]) == ("emitter_exists", True)
    assert path.read_text() == "// mine\n"
    with site.person() as person:
        assert person.pack(Blackboard).emitter(replace=True).written
    assert "export default async function({ tool, result, session }" in path.read_text()
    assert "async function emitEvent(event)" in path.read_text()


@pytest.mark.proves("S4-HOK-07")
@pytest.mark.parametrize("env", [{}, {"CLAUDECODE": "1"}], ids=["a client", "an agent's shell"])
def test_its_events_go_to_moot_which_keeps_the_file(site: Site, env: dict[str, str]) -> None:
    (site.root / "package.json").write_text('{"type": "module"}')
    site.moot("gsd", "emitter")
    path = f"{site.root}/src/models/user.ts"
    call = json.dumps({"tool": "Write", "result": {"success": True, "path": path}, "session": {"id": "s1"}})
    ran = node(site, f"await hook({call});\nconsole.log(await emitEvent({{ type: 'build:passed', runs: 3 }}));", **env)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2\n", "")
    first, second = site.board("events")["events"]
    assert (first["type"], first["path"], first["eventId"]) == ("artifact:created", "src/models/user.ts", 1)
    assert (second["type"], second["runs"], second["eventId"]) == ("build:passed", 3, 2)
    assert [one["via"] for one in site.moot("gsd", "events", "--json").result] == ["cli", "cli"]  # not by the file
    assert "src/models/user.ts" in site.board("artifacts")["artifacts"]


@pytest.mark.proves("S4-HOK-07")
def test_emitters_that_run_at_once_lose_nothing(site: Site) -> None:
    (site.root / "package.json").write_text('{"type": "module"}')
    site.moot("gsd", "emitter")
    script = "await Promise.all([...Array(12).keys()].map((n) => emitEvent({ type: 'note:made', n })));"
    assert node(site, script).stderr == ""
    events = site.board("events")["events"]
    assert sorted(event["n"] for event in events) == list(range(12))
    assert [event["eventId"] for event in events] == list(range(1, 13))


@pytest.mark.proves("S4-HOK-07")
def test_an_event_that_is_refused_is_reported_and_fails_nothing(site: Site) -> None:
    (site.root / "package.json").write_text('{"type": "module"}')
    site.moot("gsd", "emitter")
    ran = node(site, "console.log(await emitEvent({ type: 'task:complete', plan: 'x' }));")
    assert (ran.returncode, ran.stdout) == (0, "null\n")
    assert ran.stderr.startswith("gsd-event-emitter: task:complete was not recorded: ")
    assert site.board("events")["events"] == []


def test_a_folder_that_leads_elsewhere_is_not_written_to(site: Site, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (site.root / "hooks").symlink_to(elsewhere)
    assert site.moot("gsd", "emitter", "--json").error["error"] == "emitter_elsewhere"
    (site.root / "hooks").unlink()
    (site.root / "hooks").write_text("a file")
    assert site.moot("gsd", "emitter", "--json").error["error"] == "file_unusable"
    assert list(elsewhere.iterdir()) == []
