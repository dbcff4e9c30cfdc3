"""The position of a follower: it notices another log, goes back to where both part, and misses nothing."""

from __future__ import annotations

from contextlib import closing

import pytest

from moot.api.verbs.events import LogPosition
from moot.logs.sqlite import SqliteLog
from tests.logs.conformance import draft
from tests.logs.roles import commit


def filled(path: str, *words: str) -> SqliteLog:
    SqliteLog.create(path)
    log = SqliteLog(path)
    for word in words:
        log.append(commit(word), {}, [draft("s")])
    return log


@pytest.mark.parametrize("common", [0, 150, 399])
@pytest.mark.parametrize("start", [0, 400])
def test_after_a_loss_it_stands_at_or_before_the_parting(tmp_path, common, start):
    old = [f"old{n}" for n in range(400)]
    with (
        closing(filled(str(tmp_path / "a"), *old)) as first,
        closing(filled(str(tmp_path / "b"), *old[:common], *(f"new{n}" for n in range(410)))) as second,
    ):
        position = LogPosition(first, start)
        assert not position.lost()
        if start < 400:
            position.pass_by(first.read(start, 1000))
        assert not position.lost()
        assert position.after == 400
        position._log = second
        assert position.lost()
        assert position.after <= common
        assert position.after == common or common < start - 100  # exactly there, unless that was long before its start
        assert not position.lost()


def test_a_place_that_the_log_has_not_reached_is_kept(tmp_path):
    with closing(filled(str(tmp_path / "a"), "one", "two")) as log:
        position = LogPosition(log, 7)
        log.append(commit("three"), {}, [draft("s")] * 9)
        assert (position.lost(), position.after) == (False, 7)
