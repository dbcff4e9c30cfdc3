"""A file is read once as long as nothing shows a change, and again whenever a change could be hidden."""

from __future__ import annotations

import hashlib
import os
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from moot.runs import file_digests
from moot.runs.file_digests import FileDigests, mark_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.promise(13)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.rb"
    path.write_text("one\n")
    return path


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as old: its ctime cannot be set back."""
    monkeypatch.setattr(file_digests, "_YOUNG_NS", -(10**12))


def digest(known: FileDigests, path: Path) -> str:
    return known.digest(str(path), mark_of(path.stat()))


def of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def reads(known: FileDigests, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are read from here on."""
    found: list[str] = []
    real = known._read
    monkeypatch.setattr(known, "_read", lambda path: (found.append(path), real(path))[1])
    return found


def test_a_young_file_that_changes_within_one_tick_is_read_again(file: Path) -> None:
    """Its size and all its times are those of the old content, as on a disk with coarse times."""
    known, mark = FileDigests(), mark_of(file.stat())
    assert known.digest(str(file), mark) == of("one\n")
    file.write_text("two\n")
    assert known.digest(str(file), mark) == of("two\n")
    assert known._known == {}


@pytest.mark.usefixtures("settled")
def test_a_file_is_read_once_and_again_for_another_content_with_the_old_size_and_time(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, before = FileDigests(), file.stat()
    paths = reads(known, monkeypatch)
    assert [digest(known, file) for _ in range(3)] == [of("one\n")] * 3
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digest(known, file) == of("two\n")
    assert paths == [str(file)] * 2


@pytest.mark.usefixtures("settled")
def test_a_file_that_changes_while_it_is_read_is_not_remembered(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, real = FileDigests(), hashlib.file_digest

    def slow(*given: object) -> object:
        found = real(*given)  # type: ignore[arg-type]
        with file.open("a") as opened:
            opened.write("more\n")
        return found

    monkeypatch.setattr(file_digests, "file_digest", slow)
    digest(known, file)
    assert known._known == {}


def test_a_link_is_followed_only_if_that_is_wanted(file: Path) -> None:
    link = file.with_name("link.rb")
    link.symlink_to(file)
    assert digest(FileDigests(), link) == of("one\n")
    with pytest.raises(OSError, match="link"):
        digest(FileDigests(follow=False), link)
