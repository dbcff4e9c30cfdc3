"""How far something long has come: told to a person at a terminal, on the error output, and gone at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.surfaces.cli import progress

if TYPE_CHECKING:
    from pathlib import Path

    from tests.surfaces.command import Command


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setattr(progress, "_EVERY", -1.0)


@pytest.mark.usefixtures("at_once")
def test_a_share_is_told_and_wiped_away(capsys: pytest.CaptureFixture[str]) -> None:
    for done in (1, 50, 100):
        progress.draw("copying", done, 100)
    assert capsys.readouterr().err == "\r\x1b[Kcopying: 1 %\r\x1b[Kcopying: 50 %\r\x1b[K"


@pytest.mark.usefixtures("at_once")
def test_where_nobody_knows_the_end_it_counts(capsys: pytest.CaptureFixture[str]) -> None:
    progress.draw("importing", 12_345, 0)
    assert capsys.readouterr().err == "\r\x1b[Kimporting: 12,345"


def test_what_is_done_at_once_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress.draw("resting", 1, 2)
    progress.draw("resting", 2, 2)
    assert capsys.readouterr().err == ""


def test_every_long_verb_tells_how_far_it_is(run: Command, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with Workspace(run.repo) as ws:
        assert ws._workspace is not None
        ws._workspace.progress = lambda *said: told.append(said)
        ws.export(str(tmp_path / "x.jsonl"), force=True)
        ws.backup(str(tmp_path / "x.db"))
    assert {what for what, _, _ in told} == {"exporting", "copying"}
    for what in ("exporting", "copying"):
        last = [said for said in told if said[0] == what][-1]
        assert last[1] == last[2] > 0


@pytest.mark.usefixtures("at_once")
def test_it_is_hidden_while_something_else_is_written_and_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    progress.draw("testing", 1, 4)
    progress.hide()
    progress.hide()
    progress.draw("testing", 2, 4)
    progress.draw("testing", 4, 4)
    shown = [f"\r\x1b[K{text}" for text in ("testing: 25 %", "", "testing: 50 %", "")]
    assert capsys.readouterr().err == "".join(shown)


@pytest.mark.usefixtures("at_once")
def test_a_line_that_does_not_fit_shows_its_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    progress.draw("src/shop/payments.py: test", 1, 4)
    progress.draw("src/shop/payments.py: test", 4, 4)
    assert capsys.readouterr().err == "\r\x1b[K…nts.py: test: 25 %\r\x1b[K"
