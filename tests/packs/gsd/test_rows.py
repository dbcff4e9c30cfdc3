"""The lists of the feed inside a commit: they include what the commit has decided, and not what it has undone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.deciders.feed import ListRows
from moot.core.errors import Refused
from moot.packs.gsd.rows import rows_of

if TYPE_CHECKING:
    from moot.engine.unit_of_work import Work


def put(work: Work, key: str, value: object) -> None:
    work.do("feed", "gsd", ListRows(list="things", puts={key: value}))


def undone(work: Work) -> None:
    with work.savepoint():
        put(work, "b", 3)
        put(work, "c", 3)
        assert rows_of(work, "gsd").between("things", "a", "d") == {"a": 2, "b": 3, "c": 3}
        raise Refused("no", "No.", "Stop.")


def test_rows_follow_the_decisions_of_a_commit_and_their_undoing(tmp_path: Path) -> None:
    Workspace.init(tmp_path, person=True).close()
    with Workspace(tmp_path, person=True) as ws, ws._call() as call:
        call.engine.commit("person:anna", lambda work: put(work, "a", 1))

        def act(work: Work) -> None:
            rows = rows_of(work, "gsd")
            assert (rows.get("things", "a"), rows.get("things", "b")) == (1, None)
            put(work, "a", 2)
            with pytest.raises(Refused):
                undone(work)
            put(work, "d", 4)
            put(work, "e", 5)
            put(work, "f", 6)
            assert rows.get("things", "b") is None, "undone, although there are as many decisions again"
            work.do("feed", "gsd", ListRows(list="things", drops=("a", "e")))
            assert rows.between("things", "a", "z") == {"d": 4, "f": 6}
            assert rows_of(work, "gsd") is rows

        call.engine.commit("person:anna", act)
