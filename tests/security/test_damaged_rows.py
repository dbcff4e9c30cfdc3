"""One row that cannot be read does not take the rest with it: what comes before stays readable, and can be exported."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from moot import Workspace
from moot.core.errors import MootError, Unavailable
from tests.security.lines import moot, workspace
from tests.security.test_restores import FREE, log_of

pytestmark = pytest.mark.usefixtures("person")

SPOILS = {
    "no JSON": "UPDATE event SET data = '{\"text\":' WHERE position = 4",
    "no object": "UPDATE event SET data = '[1]' WHERE position = 4",
    "no UTF-8": "UPDATE event SET data = CAST(x'7b22fffe' AS TEXT) WHERE position = 4",
    "no UTF-8 in a name": "UPDATE event SET type = CAST(x'fffe' AS TEXT) WHERE position = 4",
    "too deep": f"UPDATE event SET data = '{'[' * 90_000}' WHERE position = 4",
    "a number beyond reading": f"UPDATE event SET data = '{{\"n\":{'9' * 5000}}}' WHERE position = 4",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Six events, the views no further than the third, and a good backup."""
    found = workspace(tmp_path / "w")
    with Workspace(found) as ws:
        ws.join("Ada")
        for number in range(5):
            ws.send("Ada", f"Message {number}")
        ws.backup(str(tmp_path / "good.db"), force=True)
    for views in (found / ".moot").glob("views*"):
        views.unlink()
    return found


@pytest.fixture(params=SPOILS)
def spoilt(place: Path, request: pytest.FixtureRequest) -> Path:
    connection = apsw.Connection(str(log_of(place)))
    connection.execute(FREE + SPOILS[request.param])
    connection.close()
    return place


def test_looks_go_as_far_as_the_log_can_be_read_and_say_so(spoilt: Path) -> None:
    for words in ("board", "agents", "log", "log --json", "search Message", "needs-me", "overdue", "explain Ada"):
        code, said = moot(spoilt, *words.split())
        assert code == 0, (words, said)
        if words != "log --json":
            assert "damaged at position 4" in said, (words, said)
    said = moot(spoilt, "log")[1]
    assert "Message 1" in said
    assert "Message 2" not in said


def test_what_comes_before_is_exported(spoilt: Path, tmp_path: Path) -> None:
    code, said = moot(spoilt, "export", str(tmp_path / "x.jsonl"), "--force")
    assert (code, "damaged at position 4" in said) == (0, True), said
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert [json.loads(line)["position"] for line in lines] == [1, 2, 3]


def test_an_export_into_a_pipe_ends_with_an_error(spoilt: Path) -> None:
    code, said = moot(spoilt, "export")
    assert code == Unavailable.exit_code
    assert said.count('"position"') == 3
    assert "[damaged_log]" in said


def test_nothing_is_written_on_top_of_it(spoilt: Path) -> None:
    for words in (["send", "Ada", "more"], ["task", "add", "more"]):
        code, said = moot(spoilt, *words)
        assert code == Unavailable.exit_code, said
        assert "[damaged_log]" in said


def test_verify_and_doctor_report_it(spoilt: Path) -> None:
    code, said = moot(spoilt, "verify")
    assert code != 0
    assert "position 4 cannot be read" in said
    assert moot(spoilt, "doctor")[0] != 0


def test_a_good_backup_can_be_restored_and_the_damaged_log_is_kept(spoilt: Path, tmp_path: Path) -> None:
    moot(spoilt, "board")
    code, said = moot(spoilt, "restore", str(tmp_path / "good.db"), "--force")
    assert code == 0, said
    assert moot(spoilt, "verify")[0] == 0
    assert moot(spoilt, "send", "Ada", "after")[0] == 0
    with Workspace(spoilt) as ws:
        assert len(ws.log()) == 7


def test_a_process_that_met_it_goes_on_after_the_restore(spoilt: Path, tmp_path: Path) -> None:
    with Workspace(spoilt) as ws:
        assert len(ws.log()) == 3
        with pytest.raises(MootError) as refused:
            ws.send("Ada", "more")
        assert refused.value.code == "damaged_log"
        Workspace.restore(tmp_path / "good.db", spoilt, force=True)
        ws.send("Ada", "after")
        assert len(ws.log()) == 7


def test_what_can_be_read_but_not_folded_is_called_damaged(place: Path, tmp_path: Path) -> None:
    connection = apsw.Connection(str(log_of(place)))
    connection.execute(FREE + "UPDATE event SET data = '{\"to\":1}' WHERE position = 4")
    connection.close()
    code, said = moot(place, "board")
    assert code == Unavailable.exit_code
    assert "[damaged_log]" in said
    assert moot(place, "verify")[0] != 0
    assert moot(place, "restore", str(tmp_path / "good.db"), "--force")[0] == 0
    assert moot(place, "verify")[0] == 0
