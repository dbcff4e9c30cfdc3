"""Whoever goes on without end outlives what fails for a moment: it says so once, and tries again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moot.core.errors import Unavailable
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON

if TYPE_CHECKING:
    from moot.api.answer import Answer
    from moot.api.call import Call

pytestmark = pytest.mark.in_memory


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    for module in ("api.following", "mirrors.watching"):
        monkeypatch.setattr(f"moot.{module}.PAUSE", 0.0)
    monkeypatch.setattr("moot.api.following.ROUND", 0.01)
    env = AS_A_PERSON
    Admin(str(tmp_path), env).create(("orchestrator",))
    session = open_call(str(tmp_path), env)
    yield session
    session.engine.log.close()
    session.engine.store.close()


def failing(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, times: int) -> list[int]:
    """Let something fail that often; what comes back counts the calls."""
    real, calls = getattr(owner, name), []

    def flaky(*args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) <= times:
            raise Unavailable("locked", "Another process has kept the log locked.", "Do it again.")
        return real(*args, **more)

    monkeypatch.setattr(owner, name, flaky)
    return calls


def stream(answer: Answer) -> Iterator[Answer]:
    assert answer.more is not None
    return answer.more


@pytest.mark.parametrize("fails", ["log.follow", "session.stamp", "mirrors.sync"])
def test_a_follower_outlives_trouble(session: Call, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    later = stream(session.run("log", {"follow": True, "type": "task:added"}))
    owner, _, name = fails.partition(".")
    owners = {"log": session.engine.log, "session": session, "mirrors": session.mirrors}
    with monkeypatch.context() as patch:
        calls = failing(patch, owners[owner], name, 3)
        told = next(later)
        assert told.result is None
        assert [warning.code for warning in told.warnings] == ["locked"]
        other = open_call(session.place.root, AS_A_PERSON)
        other.run("task add", {"title": "New"})
        assert next(later).result.data["title"] == "New"
        assert calls
        other.engine.log.close()
        other.engine.store.close()


@pytest.mark.parametrize("fails", ["follow", "sync"])
def test_a_watcher_outlives_trouble(session: Call, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    later = stream(session.run("mirror", {"watch": True}))
    owner = session.engine.log if fails == "follow" else session.mirrors
    with monkeypatch.context() as patch:
        calls = failing(patch, owner, fails, 3)
        told = next(later)
        assert (told.result.code, len(calls)) == ("locked", 1)
        (Path(session.place.root) / ".claude-orchestrator/tasks/messages/to-developer.json").write_text(
            '{"messages": [{"type": "nonsense"}], "lastRead": null}'
        )
        assert next(later).result.code == "entry_held"
        assert len(calls) > 3
