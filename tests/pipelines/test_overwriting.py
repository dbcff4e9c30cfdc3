"""What somebody writes into a file of a stage while its command runs, and is overwritten, is kept."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from moot.pipelines.overwriting import WatchedFiles

from moot.pipelines.contract import Target

BEFORE, MINE = b"a\nb\n", b"a\nb\n# mine\n"


@pytest.mark.parametrize(
    ("contents", "lost"),
    [
        ([BEFORE], ()),
        ([BEFORE, b"a\nc\n"], ()),
        ([BEFORE, MINE, b"a\nc\n# mine\n"], ()),
        ([BEFORE, MINE, b"a\nc\n"], ("# mine",)),
        ([BEFORE, MINE, BEFORE], ("# mine",)),
        ([BEFORE, b"", b"a\nc\n"], ()),
        ([BEFORE, b"a\n", b"a\nc\n"], ()),
        ([BEFORE, b"  a\n\n\tb\n", b"a\nc\n"], ()),
        ([BEFORE, b"x\n", b"x\ny\n", b"c\n"], ("x", "y")),
        ([None, MINE, BEFORE], ("# mine",)),
        ([BEFORE, MINE, None], ("# mine",)),
    ],
)
def test_lines_that_are_neither_in_the_first_nor_in_the_last_content_are_lost(
    tmp_path: Path, contents: list[bytes | None], lost: tuple[str, ...]
) -> None:
    file = tmp_path / "a"
    watched = WatchedFiles(Target("t", str(tmp_path), {"spec": ("a",)}), ["a", "folder/"])
    for data in contents:
        if data is None:
            file.unlink(missing_ok=True)
        else:
            file.with_name("b").write_bytes(data)
            file.with_name("b").rename(file)
        watched._look()
    first, last = ({"a": one} if one is not None else {} for one in (contents[0], contents[-1]))
    found = list(watched.overwritten(first, last))
    assert [one.lines for one in found] == ([lost] if lost else [])
    assert all(line.encode() in one.data for one in found for line in lost)


def test_without_a_file_that_may_change_nobody_looks(tmp_path: Path) -> None:
    before = threading.active_count()
    with WatchedFiles(Target("t", str(tmp_path), {}), ["folder/"]):
        assert threading.active_count() == before
    with WatchedFiles(Target("t", str(tmp_path), {}), ["a"]):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_what_is_not_a_file_of_the_target_is_not_looked_at(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_bytes(b"secret\n")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").mkdir()
    watched = WatchedFiles(Target("t", str(root), {"spec": ("link",)}), ["link", "folder", "../secret"])
    with watched:
        pass
    assert list(watched.overwritten({}, {})) == []
