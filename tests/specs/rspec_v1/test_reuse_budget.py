"""What a run costs that reuses everything: no program, one commit, and only the target's own files are read."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.packs.rspec_v1.methods import RspecV1Methods
from tests.specs.rspec_v1.shop import METADATA, REPORT, SOURCE, SPEC
from tests.watch import Watch, watching

if TYPE_CHECKING:
    from tests.specs.rspec_v1.shop import Shop

MORE = 30  # other files of the project


def watched(ws: Workspace, shop: Shop) -> tuple[Watch, int]:
    """What one run does, and the number of its commits."""
    before = commits(shop)
    with watching(shop.root) as watch:
        outcome = ws.pack(RspecV1Methods).run(SOURCE, "process")
    assert set(outcome.stages.values()) == {"reused"}
    return watch, len(commits(shop) - before)


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
    for name in ("mirrors.file_reading", "mirrors.exchange", "runs.file_digests"):
        monkeypatch.setattr(f"moot.{name}._YOUNG_NS", -(10**12))  # nothing is young: a ctime cannot be set back
    monkeypatch.chdir(staffed.root)
    with Workspace(staffed.root, person=True) as ws:
        watched(ws, staffed)  # now it is known which files have settled
        for _ in range(3):
            watch, made = watched(ws, staffed)
            assert (watch.programs, made) == ([], 1)
            # the method is looked up, the cached analysis is judged, the step keys are made, and all of them are
            # compared again under the writer lock; the verdict is read from the report
            assert watch.files == {SOURCE: 4, SPEC: 2, METADATA: 3, REPORT: 3}
