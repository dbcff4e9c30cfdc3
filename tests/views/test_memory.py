"""What is known of the views without asking: only as long as nobody else has written, and what was written counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from moot.core.deciders.agent import Agent
from moot.views.store import Store

STREAM = "agent/yeats"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """The same views, opened twice."""
    one, other = Store(str(tmp_path)), Store(str(tmp_path))
    assert one.db is not other.db
    yield one, other
    one.close()
    other.close()


def put(store: Store, position: int, name: str) -> None:
    store.begin()
    store.put(STREAM, position, Agent(name=name))
    store.move(position, f"commit-{position}")
    store.commit()


def known(store: Store) -> tuple[int, str, int]:
    """Inside a transaction that may write: the cursor, and the agent with its version."""
    store.begin()
    try:
        state, version = store.state(STREAM, Agent) or (Agent(name=""), 0)
        return store.cursor(), state.name, version
    finally:
        store.commit()


def asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is asked of the file from here on."""
    names: list[str] = []
    real = store.row
    monkeypatch.setattr(store, "row", lambda query, *bindings: (names.append(query), real(query, *bindings))[1])
    return names


def test_what_one_wrote_oneself_is_not_asked_for_again(stores, monkeypatch):
    one, _ = stores
    put(one, 1, "Yeats")
    names = asked(one, monkeypatch)
    assert [known(one) for _ in range(3)] == [(1, "Yeats", 1)] * 3
    assert names == []


def test_what_another_wrote_is_seen_in_the_next_transaction(stores):
    one, other = stores
    for position in range(1, 7):
        put(one if position % 2 else other, position, f"Yeats{position}")
        assert known(one) == known(other) == (position, f"Yeats{position}", position)


def test_what_was_undone_was_never_known(stores):
    one, _ = stores
    put(one, 1, "Yeats")
    one.begin()
    one.put(STREAM, 2, Agent(name="Keats"))
    one.move(2, "commit-2")
    assert (one.cursor(), one.state(STREAM, Agent)) == (2, (Agent(name="Keats"), 2))
    one.rollback()
    assert known(one) == (1, "Yeats", 1)


def test_states_that_were_written_many_at_once_are_asked_for(stores):
    one, _ = stores
    put(one, 1, "Yeats")
    one.begin()
    one.run_many("put_entity", [(STREAM, 2, '{"name":"Keats"}')])
    assert one.state(STREAM, Agent) == (Agent(name="Keats"), 2)
    one.rollback()


def test_an_unknown_event_is_known_in_the_transaction_that_met_it_and_after_it(stores):
    one, other = stores
    put(one, 1, "Yeats")
    one.begin()
    one.met_newer("task:teleported v1")
    one.move(2, "commit-2")
    assert one.standing() == (2, "commit-2", "task:teleported v1")
    one.commit()
    for store in stores:
        store.begin()
        assert store.standing() == (2, "commit-2", "task:teleported v1")
        store.commit()
    assert other.standing()[2] == "task:teleported v1"


def test_outside_of_a_transaction_everything_is_asked_for(stores, monkeypatch):
    one, other = stores
    put(one, 1, "Yeats")
    put(other, 2, "Keats")
    names = asked(one, monkeypatch)
    assert (one.cursor(), one.state(STREAM, Agent)) == (2, (Agent(name="Keats"), 2))
    assert names == ["standing", "newer_entity"]


def test_views_made_anew_are_known_as_they_are(stores):
    one, other = stores
    put(one, 1, "Yeats")
    other.renew()
    assert one.exchanged()
    one.close()
    assert known(one) == (0, "", 0)
