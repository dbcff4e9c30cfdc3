"""Ctrl-C at any single step of an append: whoever catches it goes on with the same handle, and nobody has to wait."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moot.log import Appended
from moot.logs import sqlite
from moot.logs.sqlite import SqliteLog
from tests.logs.conformance import check_chain, draft, everything
from tests.logs.roles import commit

if TYPE_CHECKING:
    from types import FrameType

HERE = os.path.dirname(sqlite.__file__)


def alone(log: SqliteLog, name: str) -> None:
    log.append(commit(name), {}, [draft("s")])


def in_a_turn(log: SqliteLog, name: str) -> None:
    with log.exclusive():
        log.head()
        log.append(commit(name), {}, [draft("s")])


def interrupted(work: Callable[[], None], step: int) -> bool:
    """Do it, and interrupt it at this step: a line, or the entry of a function. False if there are fewer."""
    steps = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Callable[..., Any] | None:
        nonlocal steps
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        if event in ("call", "line"):
            steps += 1
            if steps == step:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return steps >= step


@pytest.mark.promise(7)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one that ends what an interrupt ends
@pytest.mark.parametrize("work", [alone, in_a_turn])
def test_an_interrupt_at_any_step_keeps_nobody_from_writing(
    tmp_path: Path, work: Callable[[SqliteLog, str], None]
) -> None:
    SqliteLog.create(str(tmp_path))
    step, going = 0, True
    with closing(SqliteLog(str(tmp_path), lock_timeout=0.5)) as other:
        while going:
            step += 1
            with closing(SqliteLog(str(tmp_path), lock_timeout=0.5)) as log:
                head = log.head()
                going = interrupted(partial(work, log, f"{step} interrupted"), step)
                assert isinstance(other.append(commit(f"{step} other"), {}, [draft("s")]), Appended), step
                assert isinstance(log.append(commit(f"{step} after"), {}, [draft("s")]), Appended), step
                with log.exclusive():
                    assert log.head() in (head + 2, head + 3)
        check_chain(everything(other))
    assert step > 100
