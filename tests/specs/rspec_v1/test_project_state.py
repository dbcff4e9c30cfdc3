"""The files of a project that the tests may depend on: their contents decide, and unchanged ones are not read again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from moot.packs.rspec_v1 import project_state as module
from moot.packs.rspec_v1.project_state import project_state
from moot.pipelines.file_digests import FileDigests

if TYPE_CHECKING:
    from pathlib import Path

    from tests.specs.rspec_v1.shop import Shop

pytestmark = pytest.mark.promise(13)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("app/a.rb", "spec/spec_helper.rb", "config/shop.yml", "Gemfile", ".rspec"):
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one\n")
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path / "shop"


def state(root: Path) -> str:
    return project_state(str(root), str(root.parent / "state"))


def rewrite(path: Path, text: str) -> None:
    """Another content, with the size and the mtime of the old one."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("name", ["spec/other_spec.rb", "tmp/a.rb", "log/a.yml", ".git/a.rb", "README.md"])
def test_files_that_no_run_of_one_spec_reads_do_not_count(root: Path, name: str) -> None:
    before = state(root)
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("new\n")
    assert state(root) == before


@pytest.mark.parametrize("damaged", [False, True])
def test_a_later_process_reads_only_what_has_changed_or_is_not_remembered(
    root: Path, damaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.runs.file_digests._YOUNG_NS", -(10**12))
    before = state(root)
    (cache,) = (root.parent / "state/cache").iterdir()
    if damaged:
        cache.write_bytes(cache.read_bytes().replace(b"app/a.rb", b"app/b.rb"))
    module._known.clear()
    read: list[str] = []
    real = FileDigests._read
    monkeypatch.setattr(FileDigests, "_read", lambda self, path: (read.append(path), real(self, path))[1])
    assert state(root) == before
    assert len(read) == (5 if damaged else 0)
    (root / "app/a.rb").write_text("three\n")
    read.clear()
    assert state(root) != before
    assert read == [str(root / "app/a.rb")]


@pytest.mark.proves("S1-POL-01")
def test_the_polisher_runs_again_for_another_content_and_not_for_another_time(staffed: Shop) -> None:
    helper = staffed.root / "spec/spec_helper.rb"
    assert staffed.run().code == 2
    os.utime(helper)
    assert "polisher reused" in staffed.run().err
    rewrite(helper, helper.read_text())
    assert "polisher reused" in staffed.run().err
    rewrite(helper, helper.read_text().replace("= authenticated", "=authenticated "))
    assert "polisher passed" in staffed.run().err
