"""A process forks while another of its threads writes: both sides go on, and the views stay whole."""

from __future__ import annotations

import os
import threading

import pytest

from moot.core.errors import MootError
from tests.engine.harness import Machine, join, leave

PATIENCE = 20.0


@pytest.mark.timeout(60)
def test_a_fork_beside_a_thread_that_writes_harms_neither_side(machine: Machine, opened):
    writer, ended, failed = opened(machine), threading.Event(), []

    def write() -> None:
        try:
            while not ended.is_set():
                writer.does(join("Blake"), leave("Blake"))
        except (MootError, RuntimeError) as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert [_in_a_child(machine) for _ in range(20)] == [0] * 20
    finally:
        ended.set()
        thread.join(PATIENCE)
    assert failed == []
    assert machine.verify().sound


def _in_a_child(machine: Machine) -> int:
    """Leave and join again in a forked process; how that ended."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            machine.does(leave("Yeats"), join("Yeats"))
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
