"""Blobs wherever a log goes: verify, backup, restore, export, import, redact, another worktree, the past."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from moot import Workspace
from moot.core.errors import MootError, Unavailable, Unknown
from moot.engine import blobs as module
from moot.engine.blobs import Blobs
from tests.surfaces.command import Command, new_command
from tests.surfaces.worlds import TO_DEVELOPER

SECRET = "sk-Ohn0es-4815162342"
TORN = f"{{ torn {SECRET}".encode() + b"\xff" * 3_000_000  # more than one piece
DIGEST = hashlib.sha256(TORN).hexdigest()


def torn(command: Command, data: bytes = TORN) -> str:
    """The id of a file that could not be read, and is a blob now."""
    path = command.repo / TO_DEVELOPER
    path.write_bytes(data)
    os.utime(path, (0, 0))
    command("mirror")
    digest = hashlib.sha256(data).hexdigest()
    (entry,) = [e for e in command("held", "--json").result if e["sha256"] == digest]
    return str(entry["id"])


@pytest.fixture
def town(bare: Command) -> Command:
    bare("init", "--pack", "orchestrator")
    bare("task", "add", "One")
    return bare


@pytest.fixture
def elsewhere(tmp_path: Path) -> Command:
    (tmp_path / "elsewhere").mkdir()
    other = new_command(tmp_path / "elsewhere")
    other("init")
    return other


def state(command: Command) -> Path:
    return command.repo / ".git" / "moot"


def blob(command: Command, digest: str = DIGEST) -> Path:
    return state(command) / "blobs" / digest


def holding(directory: Path) -> list[str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return sorted(path.name for path in files if SECRET.encode() in path.read_bytes())


def problems(command: Command) -> list[str]:
    ran = command("verify", "--json")
    return [] if ran.code == 0 else ran.error["details"]["problems"]


def warned(ran: Any) -> dict[str, str]:
    return {warning["code"]: warning["message"] for warning in json.loads(ran.out)["warnings"]}


# Keeping and reading


def test_a_program_keeps_bytes_and_reads_them_back_also_in_another_worktree_and_in_the_past(run: Command) -> None:
    with Workspace(run.repo, agent="Ada") as ada:
        digest = ada.put_blob(b"bytes")
        ada.emit("note:made", data={"it": digest})
    with Workspace(run.linked, agent="Bob") as bob, Workspace(run.repo, at=1) as then:
        assert bob.blob(digest) == then.blob(digest) == b"bytes"
        with pytest.raises(MootError) as caught:
            then.put_blob(b"more")
        assert caught.value.code == "past_is_read_only"
        with pytest.raises(Unknown):
            bob.blob("0" * 64)


def test_a_file_stays_as_it_is_while_its_bytes_cannot_be_kept(town: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    path = town.repo / TO_DEVELOPER
    path.write_bytes(TORN)
    os.utime(path, (0, 0))

    with Workspace(town.repo, person=True) as ws:
        with monkeypatch.context() as patched:
            patched.setattr(module, "BlobWriter", raises(OSError(28, "No space left on device")))
            ws.mirror()
            assert any("No space left" in warning.message for warning in ws.warnings)
            assert (path.read_bytes(), ws.held()) == (TORN, [])
        ws.mirror()
        assert [entry.sha256 for entry in ws.held()] == [DIGEST]


# Verifying


def test_verify_reports_what_is_missing_damaged_and_not_named(town: Command) -> None:
    entry = torn(town)
    (event,) = town("log", "--type", "file:quarantined", "--json").result
    assert "1 blob" in town("verify").out
    blob(town).write_bytes(TORN[:-1])
    assert problems(town) == [f"blob: {DIGEST}, referenced at position {event['position']}, is damaged"]
    assert town("held", "show", entry, "--json").error["error"] == "quarantine_unreadable"
    blob(town).unlink()
    assert problems(town) == [f"blob: {DIGEST}, referenced at position {event['position']}, is missing"]
    assert "moot redact" in town("verify", "--json").error["remedy"]
    assert town("held", "show", entry, "--json").error["error"] == "not_in_quarantine"
    town("redact", str(event["position"]))
    assert problems(town) == [], "what was given up is not missed"
    Blobs(str(state(town))).put(b"orphan")
    ran = town("verify", "--json").result
    assert (ran["blobs"], ran["unnamed"]) == (0, 1)


# Backing up and restoring


def test_a_backup_brings_its_blobs_back(town: Command, elsewhere: Command, tmp_path: Path) -> None:
    entry = torn(town)
    copy = str(tmp_path / "copy.db")
    assert town("backup", copy, "--json").result["blobs"] == 1
    restored = elsewhere("restore", copy, "--force", "--json").result
    assert (restored["blobs"], restored["lacking"]) == (1, [])
    assert blob(elsewhere).read_bytes() == TORN
    assert problems(elsewhere) == []
    shutil.rmtree(blob(town).parent)
    assert town("restore", copy, "--force", "--json").result["blobs"] == 1
    assert SECRET in town("held", "show", entry).out
    assert town("restore", copy, "--force", "--json").result["blobs"] == 0, "it is there"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE blob SET data = zeroblob(7) WHERE n = 2",
        "UPDATE blob SET n = n + 1 WHERE n = 3",
        "UPDATE blob SET data = 'text'",
        "DELETE FROM blob WHERE n = 1",
        "UPDATE blob SET digest = '../../evil'",
    ],
)
def test_damaged_blobs_of_a_backup_are_not_taken_and_its_events_are(
    town: Command, elsewhere: Command, tmp_path: Path, damage: str
) -> None:
    torn(town)
    town("backup", str(tmp_path / "copy.db"))
    with closing(apsw.Connection(str(tmp_path / "copy.db"))) as db:
        db.execute(damage)
    kept = damage.startswith("UPDATE blob SET n")  # the order is still the same
    ran = elsewhere("restore", str(tmp_path / "copy.db"), "--force", "--json")
    assert ran.result["lacking"] == ([] if kept else [DIGEST])
    assert ("blobs_missing" in warned(ran)) != kept
    assert elsewhere("held", "--json").result[0]["sha256"] == DIGEST
    left = os.listdir(blob(elsewhere).parent) if blob(elsewhere).parent.exists() else []
    assert left == ([DIGEST] if kept else [])
    assert elsewhere("log").code == 0


def test_a_backup_with_another_table_of_blobs_is_refused(town: Command, elsewhere: Command, tmp_path: Path) -> None:
    torn(town)
    for made in ("VIEW blob AS SELECT 1 AS digest, 2 AS n, 3 AS data", "TABLE blob (x)"):
        town("backup", str(tmp_path / "copy.db"), "--force")
        with closing(apsw.Connection(str(tmp_path / "copy.db"))) as db:
            db.execute(f"DROP TABLE blob; CREATE {made}")
        assert elsewhere("restore", str(tmp_path / "copy.db"), "--force", "--json").error["error"] == "no_backup", made


def test_only_blobs_that_events_name_are_restored(town: Command, elsewhere: Command, tmp_path: Path) -> None:
    torn(town)
    Blobs(str(state(town))).put(b"orphan")
    assert town("backup", str(tmp_path / "copy.db"), "--json").result["blobs"] == 2
    elsewhere("restore", str(tmp_path / "copy.db"), "--force")
    assert os.listdir(blob(elsewhere).parent) == [DIGEST]


def test_without_room_for_a_blob_nothing_is_restored(
    town: Command, elsewhere: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn(town)
    town("backup", str(tmp_path / "copy.db"))
    before = elsewhere("export").out
    monkeypatch.setattr(os, "replace", raises(OSError(28, "No space left on device")))
    with pytest.raises(Unavailable) as caught:
        Workspace.restore(tmp_path / "copy.db", elsewhere.repo, force=True, person=True)
    assert caught.value.code == "blob_unwritable"
    monkeypatch.undo()
    assert elsewhere("export").out == before
    assert os.listdir(blob(elsewhere).parent) == []


def raises(error: Exception) -> Callable[..., None]:
    def call(*_: object, **__: object) -> None:
        raise error

    return call


def test_a_damaged_blob_is_left_out_of_a_backup_and_told(town: Command, tmp_path: Path) -> None:
    torn(town)
    blob(town).write_bytes(b"other")
    ran = town("backup", str(tmp_path / "copy.db"), "--json")
    assert ran.result["blobs"] == 0
    assert "not in the backup" in warned(ran)["blob_damaged"]


# Redacting


def test_a_redacted_blob_is_gone_from_every_file_and_its_digest_stays(town: Command) -> None:
    entry = torn(town)
    (event,) = town("log", "--type", "file:quarantined", "--json").result
    ran = town("redact", entry, "--reason", "a key", "--json")
    assert ran.result["removed"] == [DIGEST]
    (tombstone,) = town("log", "--type", "event:redacted", "--json").result
    assert (tombstone["data"]["removed"], tombstone["data"]["position"]) == ([DIGEST], event["position"])
    assert not blob(town).exists()
    assert holding(state(town)) == []
    (left,) = town("log", "--type", "file:quarantined", "--json").result
    assert left["data"]["sha256"] == DIGEST
    assert "[redacted]" in town("held", "show", entry).out
    assert problems(town) == []
    assert town("redact", entry, "--json").code == 0, "twice is once"
    with Workspace(town.repo, person=True) as ws, pytest.raises(Unknown) as caught:
        ws.blob(DIGEST)
    assert caught.value.code == "blob_redacted"


def test_a_field_that_is_not_the_blobs_leaves_the_bytes(town: Command) -> None:
    entry = torn(town)
    assert town("redact", entry, "--field", "reason", "--json").result["removed"] == []
    assert blob(town).exists()
    assert town("redact", entry, "--field", "sha256", "--json").result["removed"] == [DIGEST]
    assert not blob(town).exists()
    assert problems(town) == []


def test_other_events_that_name_the_same_bytes_are_told(town: Command) -> None:
    first = torn(town)
    (town.repo / TO_DEVELOPER).write_bytes(TORN)
    os.utime(town.repo / TO_DEVELOPER, (0, 0))
    town("mirror")
    one, two = (event["position"] for event in town("log", "--type", "file:quarantined", "--json").result)
    ran = town("redact", first, "--json")
    assert ran.result["shared"] == [max(one, two)]
    assert "its bytes are gone too" in warned(ran)["blob_shared"]
    assert holding(state(town)) == []
    assert problems(town) == [], "the bytes were given up, whoever names them"


def test_bytes_that_come_again_after_a_redaction_are_kept_again(town: Command, tmp_path: Path) -> None:
    first = torn(town)
    town("redact", first)
    (town.repo / TO_DEVELOPER).write_bytes(TORN)
    os.utime(town.repo / TO_DEVELOPER, (0, 0))
    town("mirror")
    assert blob(town).read_bytes() == TORN
    assert problems(town) == []
    blob(town).unlink()
    assert "missing" in problems(town)[0], "now they are missed"


def test_bytes_that_a_killed_redaction_has_left_are_found_and_removed(
    town: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = torn(town)
    with Workspace(town.repo, person=True) as ws:
        monkeypatch.setattr(Blobs, "remove", raises(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            ws.redact(entry)
    monkeypatch.undo()
    assert "still exists" in problems(town)[0]
    town("redact", entry)
    assert holding(state(town)) == []
    assert problems(town) == []
