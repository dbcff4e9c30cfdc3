"""`moot run restore` on the files of this pipeline."""

from __future__ import annotations

import pytest

from tests.specs.rspec_v1.shop import SOURCE, SPEC, Shop


@pytest.mark.proves("S1-HARD-12", "S1-SPEC-02")
def test_a_spec_file_is_taken_back_stage_by_stage_until_it_is_gone(staffed: Shop) -> None:
    staffed.rspec("analyzer", SOURCE, "process")
    assert staffed.rspec("architect", SOURCE).code in (0, 2)
    said = staffed("run", "restore", "last", "architect")
    assert f"restored {SPEC}, as it was before architect, attempt 1" in said.out
    assert "{CONTEXT_WORD}" in staffed.read(SPEC)
    would = staffed("run", "restore", "last", "skeleton", "--dry-run").out
    assert would == f"would remove {SPEC}, which was not there before skeleton, attempt 1\n"
    assert staffed("run", "restore", "last", "skeleton").out == would.replace("would remove", "removed")
    assert not (staffed.root / SPEC).exists()
    versions = staffed.json("versions", SOURCE)
    assert [one["stage"] for one in versions] == ["skeleton", "architect"], "the log has all versions"
    assert "{CONTEXT_WORD}" in staffed.rspec("versions", SOURCE, "--show", "1").out
