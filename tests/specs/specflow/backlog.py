"""A repository with the pack, and issues to plan: verbs are carried out in this process, as a person or an agent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moot.api.answer import Answer, plain
from moot.core.errors import MootError
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON

if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work


def issue(number: int, body: str | None = "", title: str = "", **more: Any) -> dict[str, Any]:
    """An issue as `gh issue list --json` writes it."""
    return {"number": number, "title": title or f"Page {number}", "body": body, "labels": [], "comments": [], **more}


class Site:
    """See the module."""

    def __init__(self, root: Path, settings: str = "") -> None:
        root.mkdir()
        self.root = root
        self._calls: dict[str | None, Call] = {}
        self.env = {**AS_A_PERSON, "PATH": os.environ["PATH"], "HOME": str(root.with_name("home"))}
        if settings:
            (root / "moot.toml").write_text(f'packs = ["specflow"]\n{settings}', encoding="utf-8")
        Admin(str(root), self.env).create(("specflow",))

    def close(self) -> None:
        for call in self._calls.values():
            call.close()

    def call(self, agent: str | None = None) -> Call:
        if agent not in self._calls:
            self._calls[agent] = open_call(str(self.root), self.env, agent=agent)
        return self._calls[agent]

    def run(self, verb: str, agent: str | None = None, **arguments: Any) -> Answer:
        return self.call(agent).run(verb, arguments)

    def ask(self, verb: str, agent: str | None = None, **arguments: Any) -> Any:
        """The answer's result as JSON-ready data."""
        return plain(self.run(verb, agent, **arguments).result)

    def refused(self, verb: str, agent: str | None = None, **arguments: Any) -> MootError:
        """The refusal that a verb must meet. Nothing may have been stored."""
        before = self.call().engine.log.head()
        with pytest.raises(MootError) as caught:
            self.run(verb, agent, **arguments)
        assert self.call().engine.log.head() == before
        return caught.value

    def commit(self, act: Callable[[Work], Any], agent: str | None = None) -> None:
        self.call(agent).commit(act)

    def write(self, issues: Sequence[dict[str, Any]] | str) -> str:
        path = self.root / "issues.json"
        path.write_text(issues if isinstance(issues, str) else json.dumps(issues), encoding="utf-8")
        return str(path)

    def plan(self, *issues: dict[str, Any], **options: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("specflow plan", file=self.write(issues) if issues else None, **options)
        return found

    def task(self, name: str | int) -> Task:
        found: Task = self.run("task show", task=f"issue-{name}" if isinstance(name, int) else name).result.task
        return found


def numbers(plan: dict[str, Any]) -> list[list[int]]:
    """The issues of each wave."""
    return [[one["number"] for one in wave["issues"]] for wave in plan["waves"]]
