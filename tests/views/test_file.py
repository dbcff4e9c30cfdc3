"""The file of the views: made anew in case of doubt, noticed by others, and apart from those of other versions."""

from __future__ import annotations

import os
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Unavailable
from moot.core.kind import TABLE
from moot.engine.sweeping import sweep
from moot.place.private_files import is_private
from moot.views import file as files
from moot.views.store import VERSION, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

DAY = 86_400


class Older(Store):
    version = VERSION - 1


class Newer(Store):
    version = VERSION + 1


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[type[Store]], Store]]:
    made: list[Store] = []

    def open_(kind: type[Store] = Store) -> Store:
        store = kind(str(tmp_path))
        store.cursor()
        made.append(store)
        return store

    yield open_
    for store in made:
        store.close()


def mark(store: Store, position: int) -> None:
    store.begin()
    store.move(position, "c")
    store.commit()


def test_two_stores_share_one_file_and_another_version_has_its_own(opened: Callable[..., Store]) -> None:
    one, two, older, newer = opened(), opened(), opened(Older), opened(Newer)
    mark(one, 7)
    assert (two.cursor(), older.cursor(), newer.cursor()) == (7, 0, 0)
    one.close()
    one.renew()
    assert two.exchanged()
    assert not older.exchanged()
    assert not newer.exchanged()
    assert one.cursor() == 0


def test_who_has_a_replaced_file_open_disturbs_nobody(opened: Callable[..., Store]) -> None:
    one, two = opened(), opened()
    mark(one, 7)
    for away in (lambda: os.unlink(one.path), one.renew):
        away()
        mark(two, 8)  # goes nowhere
        new = opened()
        assert new.cursor() == 0
        mark(new, 3)
        two.close()
        assert (new.cursor(), two.cursor()) == (3, 3)
        mark(two, 4)
        assert new.cursor() == 4
        one.close()


def test_a_connection_that_was_opened_while_the_file_was_replaced_is_not_used(
    tmp_path: Path, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have the old database and the -wal of the new one, and would write the one over the other."""
    other = opened()
    mark(other, 9)
    set_up = files._set_up

    def meanwhile(db: apsw.Connection) -> None:
        monkeypatch.setattr(files, "_set_up", set_up)
        other.close()
        other.renew()
        mark(other, 2)
        set_up(db)

    monkeypatch.setattr(files, "_set_up", meanwhile)
    store = Store(str(tmp_path))
    assert store.cursor() == other.cursor() == 2
    store.close()
    assert other.cursor() == opened().cursor() == 2
    assert other.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_file_that_vanishes_while_it_is_opened_is_made_anew(
    tmp_path: Path, opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()

    def unlinked(path: str, *, missing: bool = False) -> bool:
        monkeypatch.setattr("moot.views.file.is_private", is_private)
        Path(path).unlink()
        return True

    monkeypatch.setattr("moot.views.file.is_private", unlinked)
    store = Store(str(tmp_path))
    assert store.cursor() == 0
    assert os.path.exists(store.path)
    store.close()


def test_a_file_that_cannot_be_made_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "script", lambda _: "CREATE TABLE t (a); SELECT nonsense")
    with pytest.raises(Unavailable):
        Store(str(tmp_path)).cursor()
    assert os.listdir(tmp_path) == []


def test_who_redacts_takes_the_files_of_every_version_away_and_they_notice(opened: Callable[..., Store]) -> None:
    ours, older, newer = (opened(kind) for kind in (Store, Older, Newer))
    ours.close()
    ours.renew(alone=True)
    assert older.exchanged()
    assert newer.exchanged()
    assert not ours.exchanged()
    assert {name.partition(".")[0] for name in os.listdir(ours.directory)} == {f"views-{VERSION}"}


def test_other_versions_that_nobody_used_for_30_days_are_swept_and_nothing_else(tmp_path: Path) -> None:
    long_ago = time() - 31 * DAY
    used = [f"views-3.db{end}" for end in ("", "-wal", "-shm")]
    unused = [f"views-{version}.db{end}" for version in (2, VERSION + 1) for end in ("", "-wal", "-shm")]
    alike = ["views-three.db", "views-2.db-backup", "viewsx-2.db", "views-.db", f"views-{VERSION}.db"]
    for name in (*used, *unused, *alike):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (long_ago, long_ago))
    os.utime(tmp_path / "views-3.db-wal")
    (tmp_path / "views-4.db").mkdir()
    (tmp_path / "views-5.db").symlink_to(tmp_path / "views-three.db")
    sweep(str(tmp_path))
    left = set(os.listdir(tmp_path)) - {"swept"}
    assert left == {*used, *alike, "views-4.db", "views-5.db"}


# The kinds that the views are folded by. If a kind is new, raise the version and then write it here.
FOLDED = (
    "task message agent entry effect artifact dependency decision checkpoint receipt run permit series document "
    "feed topic mailbox "
    "claims graph settings pack redactions"
)


def test_a_new_kind_comes_with_a_new_version_of_the_views() -> None:
    assert (Store.version, " ".join(TABLE)) == (39, FOLDED)
