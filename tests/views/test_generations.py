"""Which file is in use, and which ones go: two versions of the views in one directory leave each other alone."""

from __future__ import annotations

import os
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import pytest

from moot.core.kind import TABLE
from moot.views import unused_files
from moot.views.search import Index
from moot.views.snapshots import Snapshots
from moot.views.store import VERSION, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEX = "0123456789ab"
LONG_AGO = time() - unused_files.UNUSED - 3600


class Older(Store):
    version = VERSION - 1


class Newer(Store):
    version = VERSION + 1


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[type[Store]], Store]]:
    made: list[Store] = []

    def open_(kind: type[Store]) -> Store:
        store = kind(str(tmp_path))
        store.cursor()
        made.append(store)
        return store

    yield open_
    for store in made:
        store.close()


def planted(directory: Path, *names: str, at: float = LONG_AGO) -> list[Path]:
    paths = [directory / name for name in names]
    for path in paths:
        path.write_text("x")
        os.utime(path, (at, at))
    return paths


def test_each_version_has_a_pointer_and_a_file_of_its_own(tmp_path: Path, opened: Callable[..., Store]) -> None:
    stores = [opened(kind) for kind in (Store, Older, Newer)]
    for store in stores:
        assert Path(store.pointer) == tmp_path / f"views-{store.version}"
        assert Path(store.pointer).read_text() == Path(store.path).name
        assert not store.exchanged()
    assert len({store.path for store in stores}) == 3


def test_whoever_starts_over_leaves_the_other_versions_as_they_are(opened: Callable[..., Store]) -> None:
    ours, older, newer = (opened(kind) for kind in (Store, Older, Newer))
    ours.close()
    ours.renew()
    assert not older.exchanged()
    assert not newer.exchanged()
    assert all(os.path.exists(store.path) for store in (ours, older, newer))


def test_whoever_is_alone_takes_every_version_away_and_they_notice(
    tmp_path: Path, opened: Callable[..., Store]
) -> None:
    ours, older, newer = (opened(kind) for kind in (Store, Older, Newer))
    (before,) = planted(tmp_path, "views")
    ours.close()
    ours.renew(alone=True)
    assert older.exchanged()
    assert newer.exchanged()
    assert not before.exists()
    left = {name for name in os.listdir(tmp_path) if not name.startswith(Path(ours.path).name)}
    assert left == {f"views-{VERSION}"}
    assert not ours.exchanged()


def test_the_index_takes_every_version_of_itself_away_when_it_is_tidied(tmp_path: Path) -> None:
    planted(tmp_path, "search", "search-1", f"search-1-{HEX}.db", "search-99", f"search-99-{HEX}.db")
    index = Index(str(tmp_path))
    index.tidy()
    assert {name.split(".")[0] for name in os.listdir(tmp_path)} == {
        f"search-{index.version}",
        Path(index.path).name.split(".")[0],
    }
    index.close()


def test_an_older_version_that_nobody_uses_is_swept_and_a_newer_one_never(
    tmp_path: Path, opened: Callable[..., Store]
) -> None:
    store = opened(Store)
    old = planted(tmp_path, "views-3", f"views-3-{HEX}.db", f"views-3-{HEX}.db-wal", f"views-3-{'f' * 12}.db.pointer")
    new = planted(tmp_path, f"views-{VERSION + 1}", f"views-{VERSION + 1}-{HEX}.db")
    ours = planted(tmp_path, f"views-{VERSION}-{HEX}.db")
    unused_files.sweep(str(tmp_path), "views", VERSION)
    assert [path for path in (*old, *ours) if path.exists()] == []
    assert all(path.exists() for path in new)
    assert os.path.exists(store.path)
    assert not store.exchanged()


def test_an_older_version_stays_whole_as_long_as_one_of_its_files_is_written_to(tmp_path: Path) -> None:
    old = planted(tmp_path, "views-3", f"views-3-{HEX}.db", f"views-3-{HEX}.db-wal")
    os.utime(old[2])
    unused_files.sweep(str(tmp_path), "views", VERSION)
    assert all(path.exists() for path in old)


def test_the_pointer_without_a_version_goes_with_the_file_that_it_names(tmp_path: Path) -> None:
    pointer, file = planted(tmp_path, "views", f"views-13-{HEX}.db")
    pointer.write_text(file.name)
    os.utime(file)
    unused_files.sweep(str(tmp_path), "views", VERSION)
    assert pointer.exists()
    os.utime(file, (LONG_AGO, LONG_AGO))
    unused_files.sweep(str(tmp_path), "views", VERSION)
    assert not file.exists()
    assert not pointer.exists()


def test_what_only_looks_like_a_file_of_the_views_is_not_touched(tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.db"
    outside.write_text("precious")
    alike = planted(
        tmp_path,
        "views-3.db",
        "views-three",
        f"views-3-{HEX[:-1]}.db",
        f"views-3-{HEX.upper()}.db",
        f"views-3-{HEX}.db-backup",
        f"viewsx-3-{HEX}.db",
        f"search-1-{HEX}.db",
    )
    (tmp_path / f"views-2-{HEX}.db").mkdir()
    (tmp_path / f"views-1-{HEX}.db").symlink_to(outside)
    unused_files.sweep(str(tmp_path), "views", VERSION)
    assert all(path.exists() for path in alike)
    assert (tmp_path / f"views-2-{HEX}.db").is_dir()
    assert outside.read_text() == "precious"


def test_snapshots_of_another_version_stay_unless_a_text_was_taken_out_of_sight_since(tmp_path: Path) -> None:
    folder = tmp_path / "past"
    folder.mkdir()
    names = [f"views-{VERSION - 1}-5-7-00000000.db", f"views-{VERSION + 1}-5-7-00000000.db"]
    kept = planted(folder, *names)
    outdated = planted(folder, f"views-{VERSION - 1}-5-6-00000000.db", f"views-{VERSION}-5-6-00000000.db")
    assert Snapshots(str(tmp_path), mark=7).at_or_before(9) == []
    assert all(path.exists() for path in kept)
    assert [path for path in outdated if path.exists()] == []
    Snapshots(str(tmp_path), mark=7).clear()
    assert os.listdir(folder) == []


# The kinds that both files are folded by. If a kind is new, raise both versions and then write them here.
FOLDED = (
    "task message agent entry effect artifact dependency decision checkpoint receipt run permit document "
    "feed topic mailbox "
    "claims graph settings pack redactions"
)


def test_a_new_kind_comes_with_new_versions_of_the_views_and_of_the_index() -> None:
    assert (Store.version, Index.version, " ".join(TABLE)) == (33, 8, FOLDED)
