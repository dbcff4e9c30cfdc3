"""Where the files of a target are: inside its root, whatever links say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moot.runs import contents
from moot.runs.contract import StageError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root that is named by a link, with links in it that lead out, and one that does not."""
    real = tmp_path / "real"
    (real / "in/side").mkdir(parents=True)
    (real / "in/side/a").write_text("a")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/a").write_text("secret")
    (real / "out").symlink_to(tmp_path / "secret")
    (real / "in/out").symlink_to("../../secret/a")
    (real / "also").symlink_to("in/side")
    (tmp_path / "root").symlink_to(real)
    return tmp_path / "root"


@pytest.mark.parametrize("path", ["in/side/a", "also/a", "in/../in/side/a", "in//side/a", "./in/side/a"])
def test_a_file_inside_is_found_by_any_of_its_names(root: Path, path: str) -> None:
    assert contents.read(str(root), [path]).files == {path: b"a"}
    assert os.path.samefile(contents.place_of(str(root), path), root / "in/side/a")


@pytest.mark.parametrize(
    "path", ["out/a", "out", "out/", "out/new", "in/out", "in/../out/a", "../secret/a", "in/../../secret/a", "..", ""]
)
def test_a_path_that_leads_out_is_refused(root: Path, path: str) -> None:
    with pytest.raises(StageError, match="leads out of"):
        contents.place_of(str(root), path)


@pytest.mark.parametrize("path", ["new", "in/new/a", "in/side/a/b"])
def test_what_does_not_exist_is_inside_and_has_no_content(root: Path, path: str) -> None:
    assert contents.digests(str(root), [path]) == {path: contents.NONE}
    assert os.path.realpath(contents.place_of(str(root), path)) == os.path.join(os.path.realpath(root), path)


def test_a_folder_is_read_with_or_without_links_on_the_way(root: Path) -> None:
    assert contents.read(str(root), ["in/"]).files == {"in/side/a": b"a"}
    assert contents.read(str(root), ["also/"]).files == {"also/a": b"a"}


def test_a_folder_that_becomes_a_link_is_noticed(root: Path, tmp_path: Path) -> None:
    assert contents.read(str(root), ["in/side/a"]).files == {"in/side/a": b"a"}
    (root / "in/side").rename(tmp_path / "moved")
    (root / "in/side").symlink_to(tmp_path / "secret")
    with pytest.raises(StageError, match="leads out of"):
        contents.read(str(root), ["in/side/a"])
