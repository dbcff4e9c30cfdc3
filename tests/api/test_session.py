"""A stored command never answers with a failure, whatever goes wrong after its append."""

from __future__ import annotations

import subprocess

import pytest

from moot.api.session import Mirrors
from moot.core.errors import Unavailable
from moot.wiring import open_session
from moot.wiring.workshop import Workshop

ENV = {"USER": "ada"}


class FullDisk(Mirrors):
    """Mirrors whose disk fills up right after the first look."""

    def __init__(self):
        self.looks = 0

    def sync(self):
        self.looks += 1
        if self.looks > 1:
            raise Unavailable("disk_full", "The disk is full.", "Free some space.")
        return ()


@pytest.fixture
def session(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    Workshop(str(tmp_path), ENV).create(())
    opened = open_session(str(tmp_path), ENV)
    yield opened
    opened.engine.log.close()
    opened.engine.store.close()


@pytest.mark.promise(1)
def test_trouble_after_the_append_is_a_warning_and_the_answer_says_stored(session):
    session.mirrors = FullDisk()
    answer = session.run("task add", {"title": "Write the parser"})
    assert answer.result == {"position": 1}
    assert [warning.code for warning in answer.warnings] == ["disk_full"]
    assert [event.type for event in session.engine.log.read()] == ["task:added"]


def test_trouble_before_anything_was_stored_is_an_error(session):
    session.mirrors = FullDisk()
    session.mirrors.looks = 1
    with pytest.raises(Unavailable) as refusal:
        session.run("task add", {"title": "Write the parser"})
    assert refusal.value.code == "disk_full"
    assert session.engine.log.head() == 0
