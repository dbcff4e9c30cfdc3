"""Many events folded at once come to the same rows as one after the other."""

from __future__ import annotations

import itertools
import tempfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.core.errors import MootError
from moot.engine import engine
from moot.views.project import project
from moot.views.store import Store
from tests.engine.harness import TABLES, Machine, add, join, rows_of
from tests.engine.histories import commands

if TYPE_CHECKING:
    from pathlib import Path

    from moot.core.event import Event

pytestmark = pytest.mark.in_memory


def history(directory: str, more: list[Any]) -> list[Event]:
    machine = Machine(directory, directory)
    for command in [join("Yeats"), *more]:
        try:
            machine.run(command)
        except MootError:
            continue  # a rule said no, and so nothing happened
    events = machine.events()
    machine.close()
    return events


@pytest.mark.promise(2)
@settings(max_examples=15, deadline=None)
@given(st.lists(commands, max_size=40), st.lists(st.integers(0, 80), max_size=4))
def test_many_at_once_come_to_the_same_rows(more: list[Any], cuts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        events = history(directory, more)
        one, many = Store(tempfile.mkdtemp(dir=directory)), Store(tempfile.mkdtemp(dir=directory))
        for event in events:
            project(one, [event])
        for start, end in itertools.pairwise(sorted({0, *(c for c in cuts if c < len(events)), len(events)})):
            project(many, events[start:end])
        assert rows_of(many) == rows_of(one)
        one.close()
        many.close()


def test_a_catching_up_of_many_is_undone_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_PAGE", 2)
    history(str(tmp_path), [add(f"task-{n:03}") for n in range(1, 9)])
    other = Machine(tmp_path, tmp_path / "other")
    pages = iter(range(3))
    other.engine._folder = lambda store, events: project(store, events) if next(pages, None) is not None else _break()
    with pytest.raises(KeyboardInterrupt):
        other.engine.read()
    assert not any(list(other.store.all_rows(table)) for table in TABLES)
    assert other.store.cursor() == 0
    other.engine._folder = None
    assert len(rows_of(other.engine.read())["task"]) == 8
    assert other.verify().sound
    other.close()


def _break() -> None:
    raise KeyboardInterrupt
