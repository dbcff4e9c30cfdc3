"""The engine of one who only looks: it waits for no writer, and changes nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import Refused
from moot.overview import overview
from tests.calls import open_call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from moot.api.call import Call


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    for name in ("MOOT_AGENT", "MOOT_INCARNATION", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    with Workspace.init(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def onlooker(ws: Workspace) -> Iterator[Call]:
    session = open_call(ws.root, os.environ, reading=True)
    yield session
    session.engine.log.close()
    session.engine.store.close()


def test_it_waits_for_nobody_who_keeps_the_log_locked(ws: Workspace, onlooker: Call) -> None:
    ws.task_add("One")
    writer = open_call(ws.root, os.environ)
    with writer.engine.log.exclusive():
        writer.engine.store.begin()
        assert overview(onlooker).tasks.total == 1
        writer.engine.store.rollback()


def test_it_decides_nothing(onlooker: Call) -> None:
    with pytest.raises(Refused) as caught:
        onlooker.engine.commit("person:anna", lambda _work: None)
    assert caught.value.code == "only_looking"


def test_views_that_were_made_anew_are_found_again(ws: Workspace, onlooker: Call) -> None:
    ws.task_add("One")
    assert overview(onlooker).tasks.total == 1
    ws.verify(rebuild=True)
    ws.task_add("Two")
    found = overview(onlooker)
    assert (found.tasks.total, found.position) == (2, 2)


def test_what_is_looked_at_is_of_one_moment(ws: Workspace, onlooker: Call) -> None:
    ws.task_add("One")
    store = onlooker.engine.read()
    store.pin()
    ws.task_add("Two")
    assert onlooker.engine.read().cursor() == 1
    store.unpin()
    assert onlooker.engine.read().cursor() == 2


def test_the_last_thirty_events_are_shown(ws: Workspace, onlooker: Call) -> None:
    for number in range(40):
        ws.task_add(f"Task {number}")
    assert [event.position for event in overview(onlooker).events] == list(range(11, 41))
