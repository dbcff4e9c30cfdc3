"""What a run costs that reuses everything: no program, one commit, and only the target's own files are read."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.packs.rspec_v1.methods import RspecV1Methods
from tests.specs.rspec_v1.shop import METADATA, REPORT, SOURCE, SPEC

if TYPE_CHECKING:
    from tests.specs.rspec_v1.shop import Shop

PROGRAMS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec")
MORE = 30  # other files of the project


class Watch:
    """The programs that are started and the files below a folder that are opened, while it is on."""

    def __init__(self) -> None:
        self.folder, self.programs, self.files = "", list[str](), Counter[str]()
        sys.addaudithook(self._hear)  # for good: a hook cannot be removed

    def _hear(self, event: str, given: tuple[object, ...]) -> None:
        if not self.folder:
            return
        if event in PROGRAMS:
            self.programs.append(f"{event} {given}")
        elif event == "open" and isinstance(given[0], str) and os.path.isabs(given[0]):
            path = os.path.realpath(given[0])
            inside = path.startswith(f"{self.folder}/") and not path.startswith(f"{self.folder}/.git/")
            if inside and not os.path.isdir(path):
                self.files[path.removeprefix(f"{self.folder}/")] += 1

    def start(self, folder: str) -> None:
        self.programs, self.files = [], Counter()
        self.folder = os.path.realpath(folder)


WATCH = Watch()


def watched(ws: Workspace, shop: Shop) -> tuple[list[str], Counter[str], int]:
    """The programs that one run starts, the files that it reads, and the number of its commits."""
    before = commits(shop)
    WATCH.start(str(shop.root))
    try:
        outcome = ws.pack(RspecV1Methods).run(SOURCE, "process")
    finally:
        WATCH.folder = ""
    assert set(outcome.stages.values()) == {"reused"}
    return WATCH.programs, WATCH.files, len(commits(shop) - before)


def commits(shop: Shop) -> set[str]:
    return {event["commit"] for event in shop.events()}


@pytest.mark.promise(13)
@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_a_run_that_reuses_everything_reads_only_its_own_files_and_is_one_commit(
    staffed: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(MORE):
        staffed.write(f"app/models/other{number}.rb", f"class Other{number}; end\n")
    assert staffed.run().code == 2
    for name in ("mirrors.file_reading", "mirrors.exchange", "pipelines.file_digests"):
        monkeypatch.setattr(f"moot.{name}._YOUNG_NS", -(10**12))  # nothing is young: a ctime cannot be set back
    monkeypatch.chdir(staffed.root)
    with Workspace(staffed.root, person=True) as ws:
        watched(ws, staffed)  # now it is known which files have settled
        for _ in range(3):
            programs, files, made = watched(ws, staffed)
            assert (programs, made) == ([], 1)
            # the method is looked up, the cached analysis is judged, the step keys are made, and all of them are
            # compared again under the writer lock; the verdict is read from the report
            assert files == {SOURCE: 4, SPEC: 2, METADATA: 3, REPORT: 3}
