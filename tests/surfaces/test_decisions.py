"""What runs inside a commit decides from states and facts. It touches no file, clock or presence.

`tests.sealing` stops a decision that tries, in every test that runs in this process. Here each verb is run once.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.api import catalogue
from moot.core.errors import Held
from moot.surfaces.cli.main import main
from tests.sealing import LookedOutsideError, deciding
from tests.surfaces.test_cli import CASES, words_of
from tests.surfaces.town import of_two, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.surfaces.command import Command


@pytest.mark.parametrize("name", catalogue.names())
def test_a_verb_decides_without_looking_outside(
    bare: Command, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    words = words_of(case, case.world(bare))
    monkeypatch.chdir(bare.repo)
    for variable, value in bare.environment.items():
        monkeypatch.setenv(variable, value)
    if case.agent:
        monkeypatch.setenv("MOOT_AGENT", case.agent)
        monkeypatch.delenv("MOOT_PERSON")
    assert main([*words, "--json"]) == 0, capsys.readouterr()


@pytest.mark.parametrize("look", [time.time, lambda: os.lstat("/"), lambda: open("/dev/null").close()])
def test_a_decision_that_looks_outside_is_stopped(bare: Command, look: Callable[[], Any]) -> None:
    Workspace.init(bare.repo).close()
    look()
    with deciding(), pytest.raises(LookedOutsideError):
        look()
    with Workspace(bare.repo) as ws, ws._call() as call, pytest.raises(LookedOutsideError):
        call.commit(lambda _work: look())


def test_an_incarnation_has_its_sign_of_life_before_it_joins_and_only_if_it_may(bare: Command) -> None:
    town = of_two(bare)
    refused(Held, "name_in_use", town, None, "join", name="Bob")
    assert [path.name for path in bare.repo.rglob("presence/*/bob.*")] == ["bob.1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moot.engine.engine.Engine._appended", _killed)
        with pytest.raises(KeyboardInterrupt):
            town.ask(None, "join", name="Bob", take_over=True)
    assert town.here() == ["Ada#1", "Bob#2"]
    assert sorted(path.name for path in bare.repo.rglob("presence/*/bob.*")) == ["bob.1", "bob.2"]


def _killed(*_: object) -> None:
    """As by a signal, when the log has the event and nothing else was done."""
    raise KeyboardInterrupt
