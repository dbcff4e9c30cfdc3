"""Running out of descriptors: each command works, or says so; none lies about what it stored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from moot import Workspace
from moot.api.call import Call
from moot.core.errors import Unavailable
from moot.surfaces.python.edge import EDGE
from tests.faults.crew import ROOT, SOURCES, Repo

PATIENCE = 300


def tried(repo: Repo, surface: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.descriptors", str(repo.root), surface],
        cwd=ROOT,
        env={**repo.env, "MOOT_PERSON": "1", "PYTHONPATH": os.pathsep.join([str(SOURCES), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.promise(15)
@pytest.mark.promise(1)
@pytest.mark.timeout(PATIENCE)
@pytest.mark.parametrize("surface", ["cli", "python"])
@pytest.mark.parametrize("packs", [(), ("orchestrator",)], ids=["plain", "with mirrors"])
def test_whoever_has_too_few_descriptors_is_told_so(
    make_repo: Callable[..., Repo], surface: str, packs: tuple[str, ...]
) -> None:
    repo = make_repo(packs=packs, name="narrow")
    repo.join("Ada")
    repo.run("send", to=["Ada"], text="first")
    found = tried(repo, surface)
    refused = [said for said in found if said["code"] not in (0, 3)]
    assert {(said["code"], said["error"]) for said in refused} == {(7, "too_many_open_files")}
    for words in {tuple(said["words"]) for said in found}:
        of_it = [said for said in found if tuple(said["words"]) == words]
        assert of_it[0]["error"] == "too_many_open_files", words
        assert of_it[-1]["code"] in (0, 3), f"with descriptors enough it works: {words}"
    sends = [said for said in found if "send" in said["words"] and said["code"] == 0]
    stored = [event for event in repo.events("message:sent") if event.data["text"] == "hello"]
    assert len(stored) == len(sends), "what was refused was not stored, what was stored was not refused"
    repo.verify()


def test_a_workspace_that_is_open_says_so_too_and_goes_on_when_there_are_enough_again(repo: Repo) -> None:
    repo.join("Ada")
    script = """
import os, resource, sys
from moot import MootError, Workspace
with Workspace(sys.argv[1], agent="Ada") as ws:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    files, refused, sent = [], 0, 0
    while True:
        try:
            files.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            break
    while files:
        os.close(files.pop())
        try:
            ws.send("Ada", "hello")
            sent += 1
        except MootError as error:
            assert error.code == "too_many_open_files", error
            refused += 1
    assert refused and sent
    assert len(ws.log(type="message:sent", limit=500)) == sent
"""
    env = {**repo.env, "PYTHONPATH": str(SOURCES)}
    subprocess.run([sys.executable, "-c", script, str(repo.root)], env=env, timeout=PATIENCE, check=True)
    repo.verify()


@pytest.mark.parametrize("problem", [5, 28, 30, 13])
def test_no_error_of_the_system_leaves_a_python_call_raw(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, problem: int
) -> None:
    ws = Workspace(repo.root, agent=None)

    def broken(*_: Any) -> Any:
        raise OSError(problem, os.strerror(problem), "some/file")

    monkeypatch.setattr(Call, "run", broken)
    with pytest.raises(Unavailable) as caught:
        ws.board()
    assert caught.value.code == "system_refused"
    assert os.strerror(problem) in caught.value.message
    ws.close()
    with pytest.raises(BrokenPipeError), EDGE:
        raise BrokenPipeError
