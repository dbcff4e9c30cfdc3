"""A state is found without reading the others, however long they are, and is not read again while it is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.core.deciders.agent import Agent
from moot.views.store import Store

IO = Path("/proc/self/io")
_LONG, _MANY = 20_000, 300


def bytes_read() -> int:
    return int(next(line.split()[1] for line in IO.read_text().splitlines() if line.startswith("rchar")))


@pytest.mark.promise(15)
@pytest.mark.skipif(not IO.exists(), reason="only Linux counts what a process reads")
def test_one_of_many_long_states_is_read_alone_and_once(tmp_path):
    store = Store(str(tmp_path))
    store.begin()
    for number in range(_MANY):
        store.put(f"agent/a{number:03}", 1, Agent(name="x" * _LONG))
    store.move(1, "commit-1")
    store.commit()
    store.close()
    later = Store(str(tmp_path))
    assert later.state("agent/none", Agent) is None
    before = bytes_read()
    assert later.state("agent/a150", Agent) is not None
    first = bytes_read() - before
    assert _LONG <= first < 5 * _LONG
    before = bytes_read()
    assert later.state("agent/a150", Agent) is not None
    again = bytes_read() - before
    assert again < _LONG / 2
    later.close()
