"""An agent that is a program with several threads: each thread asks for work, and exactly one gets each task."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from moot import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_of_several_threads_that_claim_a_task_only_one_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOOT_AGENT", raising=False)
    with Workspace.init(tmp_path, person=True) as anna:
        for title in ("One", "Two"):
            anna.task_add(title)
    with Workspace(tmp_path, agent="Ada") as ada:
        ada.join("Ada")
        for task in ("task-001", "task-002"):
            with ThreadPoolExecutor(8) as threads:
                answers = list(threads.map(lambda _, task=task: ada.task_claim(task), range(8)))
            assert {answer.holder for answer in answers} == {"Ada#1"}
            assert sorted(answer.again for answer in answers) == [False] + [True] * 7
        assert ada.task_claim("task-001", key="k").again
        ada.task_release("task-001")
        assert not ada.task_claim("task-001").again
