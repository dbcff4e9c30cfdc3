"""The record of the last commit that was seen, outside of the workspace: see `moot.engine.commit_record`.

A test that puts a workspace back to an earlier state does the same to the record: for moot that would be a log that
was cut off.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from moot.api import workspace
from moot.engine import commit_record
from moot.location import user_state
from tests.faults.worker import ENV


def path(state: str) -> str:
    """Where the record of the workspace with this state directory is, if there is one."""
    return os.path.join(user_state.home(ENV), *commit_record._name(os.path.realpath(state)))


def forget(state: str) -> None:
    commit_record.forget(ENV, os.path.realpath(state))


@contextmanager
def always() -> Iterator[None]:
    """Every command that writes renews it, so that each of them is met by what happens to the disk."""
    before = workspace._MINUTE, commit_record.SELDOM
    workspace._MINUTE = commit_record.SELDOM = 0.0
    try:
        yield
    finally:
        workspace._MINUTE, commit_record.SELDOM = before
