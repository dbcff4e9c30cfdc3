"""The shared suite on SQLite, with its queue of writers and without; and what only this engine promises."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import apsw
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.logs.conformance import LogConformance
from tests.logs.engines import SqliteEngine
from tests.logs.machine import LogMachine


class TestSqlite(LogConformance):
    @pytest.fixture
    def engine(self, tmp_path):
        return SqliteEngine(str(tmp_path / "log"))


class TestSqliteWithoutQueue(LogConformance):
    """Writers meet in SQLite alone, so that conflicts really happen."""

    @pytest.fixture
    def engine(self, tmp_path):
        return SqliteEngine(str(tmp_path / "log"), exclusive=False)
