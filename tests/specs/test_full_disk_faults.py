"""A disk that fills while an agent of a pipeline works: it is said, nothing is lost, and the run goes on with room."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import moot

ROOT = Path(__file__).parents[2]
SOURCES = Path(moot.__file__).resolve().parents[1]
OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]


def played(pack: str, folder: Path, *how: str) -> dict[str, Any]:
    if shutil.which("unshare") is None or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        pytest.skip("nobody may mount anything here")
    for name in ("disk", "home"):
        (folder / name).mkdir()
    folders = [str(folder / "disk"), str(folder / "home")]
    paths = os.pathsep.join([str(SOURCES), str(ROOT)])
    done = subprocess.run(
        [*OWN_MOUNTS, sys.executable, "-m", "tests.specs.full_disk", pack, *folders, *how],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert not [one for one in found["said"] if "Traceback" in one["err"]], found["said"]
    return found


@pytest.mark.promise(1)
@pytest.mark.parametrize(("pack", "stage"), [("rspec-v1", "architect"), ("rspec", "test-implementer")])
def test_a_disk_that_fills_during_a_stage_is_said_and_costs_neither_the_spec_nor_the_run(
    tmp_path: Path, pack: str, stage: str
) -> None:
    if pack == "rspec" and shutil.which("rspec") is None:
        pytest.skip("rspec is not installed")
    found = played(pack, tmp_path)
    full = found["full"]
    assert full["code"] == 1, full
    assert "No space left on device" in full["err"] or "The disk is full" in full["err"], full
    assert "ree disk space" in full["err"] or "ree some disk space" in full["err"], full
    assert found["emptied"] == "", "the agent could not write what it had emptied"
    for status in (found["status"], found["settled"]):
        assert f"! {stage} interrupted" in status["out"], status
    assert found["verified"]["code"] == 0, found["verified"]
    assert found["restored"]["code"] == 0, found["restored"]
    assert "describe" in found["spec"], "what was there before the stage is back"
    resumed = found["resumed"]
    if pack == "rspec":
        assert resumed["code"] in (0, 2), resumed
        assert "tests passed" in resumed["out"]
    else:
        assert "architect passed" in resumed["err"], resumed
        assert "{CONTEXT_WORD}" not in found["last"]


@pytest.mark.promise(1)
@pytest.mark.parametrize("pack", ["rspec-v1", "rspec"])
def test_a_run_that_cannot_begin_on_a_nearly_full_disk_is_an_error(tmp_path: Path, pack: str) -> None:
    if pack == "rspec" and shutil.which("rspec") is None:
        pytest.skip("rspec is not installed")
    found = played(pack, tmp_path, "nearly")
    assert any(one["code"] for one in found["runs"]), found["runs"]
    for one in found["runs"]:
        assert "stored, up to position" not in one["out"], one
        if pack == "rspec":
            assert ("tests passed" in one["out"]) == (one["code"] in (0, 2)), one
        if one["code"] == 1:
            assert "ree disk space" in one["err"] or "ree some" in one["err"], one
    assert found["verified"]["code"] == 0, found["verified"]
