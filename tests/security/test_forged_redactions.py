"""A redaction must not excuse a change: neither in the log itself, nor in a file that is imported or restored."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from moot import MootError, Workspace
from moot.core.integrity import chain, redaction
from moot.logs.sqlite import queries
from tests.security.test_tampering import Attack, imported, path_of, place, problems, tamper

__all__ = ["place"]

NOBODY = "a" * 64


def data_at(db: apsw.Connection, position: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(db.execute("SELECT data FROM event WHERE position = ?", (position,)).get)
    return found


def change(db: apsw.Connection, position: int, **fields: Any) -> dict[str, Any]:
    data = {**data_at(db, position), **fields}
    text = json.dumps(data, separators=(",", ":"))
    db.execute("UPDATE event SET data = ? WHERE position = ?", (text, position))
    return data


def bury(db: apsw.Connection, position: int, digest: str, *fields: Any, **more: Any) -> None:
    """Append a tombstone, with everything that the chain asks for."""
    commit, n = db.execute("SELECT commit_id, n FROM event WHERE position = ?", (position,)).fetchall()[0]
    said = {"position": position, "commit": commit, "n": n, "digest": digest, "fields": list(fields), **more}
    text = json.dumps(said, separators=(",", ":"))
    head, mark = db.execute("SELECT last, hash FROM commits ORDER BY last DESC LIMIT 1").fetchall()[0]
    prev = db.execute("SELECT coalesce(max(position), 0) FROM event WHERE stream = 'redactions'").get
    name, at, by, at_end = f"forged-{head}", "2030-01-01T00:00:00.000Z", "person:x", head + 1
    mine = chain.digest_of(text.encode())
    row = (at_end, "event:redacted", 1, "redactions", prev)
    db.execute(queries.SQL["add_event"], (*row, at, by, text, None, None, None, name, 0, mine))
    link: chain.Link = (*row, None, None, None, 0, mine.hex())
    db.execute(
        queries.SQL["add_commit"], (name, at_end, at_end, "cli", chain.hash_of(mark, name, at, by, "cli", [link]))
    )


def hide_an_edit_without_fields(db: apsw.Connection) -> None:
    bury(db, 4, redaction.digest_of(change(db, 4, text="FORGED")))


def hide_an_edit_behind_a_field_that_is_not_there(db: apsw.Connection) -> None:
    bury(db, 4, redaction.digest_of(change(db, 4, sender="Bob#1")), "note")


def hide_an_edit_behind_a_text_that_is_there(db: apsw.Connection) -> None:
    bury(db, 4, redaction.digest_of(change(db, 4, sender="Bob#1")), "text")


def hide_an_edit_under_the_mark(db: apsw.Connection) -> None:
    change(db, 4, text="FORGED", redacted=NOBODY)
    bury(db, 4, NOBODY, "text")


def hide_an_edit_of_an_agent(db: apsw.Connection) -> None:
    change(db, 1, name="Mallory", redacted=NOBODY)
    bury(db, 1, NOBODY, "name")


def contradict(db: apsw.Connection) -> None:
    bury(db, 4, "b" * 64, "text")


def name_no_field(db: apsw.Connection) -> None:
    bury(db, 4, redaction.digest_of(data_at(db, 4)))


def give_no_digest(db: apsw.Connection) -> None:
    bury(db, 4, "short", "text")


def say_something_else_of_the_rest(db: apsw.Connection) -> None:
    bury(db, 4, redaction.digest_of(data_at(db, 4)), "text", rest="c" * 64)


def copy(root: Path, target: Path) -> None:
    with closing(apsw.Connection(str(path_of(root)))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        target.write_bytes(path_of(root).read_bytes())


FORGERIES = {
    attack.__name__: attack
    for attack in (
        hide_an_edit_without_fields,
        hide_an_edit_behind_a_field_that_is_not_there,
        hide_an_edit_behind_a_text_that_is_there,
        hide_an_edit_under_the_mark,
        hide_an_edit_of_an_agent,
        contradict,
        name_no_field,
        give_no_digest,
        say_something_else_of_the_rest,
    )
}


@pytest.mark.parametrize("attack", FORGERIES.values(), ids=FORGERIES)
def test_verify_finds_a_forged_redaction_in_the_chain(place: Path, attack: Attack) -> None:
    tamper(place, attack)
    assert problems(place)


@pytest.mark.parametrize("attack", FORGERIES.values(), ids=FORGERIES)
def test_a_backup_with_a_forged_redaction_is_refused(place: Path, tmp_path: Path, attack: Attack) -> None:
    with Workspace(place) as ws:
        ws.backup(str(tmp_path / "good.db"))
    tamper(place, attack)
    copy(place, tmp_path / "evil.db")
    Workspace.restore(tmp_path / "good.db", place, force=True)
    with pytest.raises(MootError) as caught:
        Workspace.restore(tmp_path / "evil.db", place, force=True)
    assert (caught.value.code, "position" in caught.value.details) == ("no_backup", True)
    assert problems(place) == []


@pytest.mark.parametrize("attack", FORGERIES.values(), ids=FORGERIES)
def test_a_good_backup_heals_a_log_with_a_forged_redaction(place: Path, tmp_path: Path, attack: Attack) -> None:
    with Workspace(place) as ws:
        ws.redact("5", erase=True)
        ws.backup(str(tmp_path / "good.db"))
        ws.redact("6")
    tamper(place, attack)
    Workspace.restore(tmp_path / "good.db", place, force=True)
    assert problems(place) == []
    with Workspace(place) as ws:
        events = {event.position: event for event in ws.log(after=0, limit=500)}
    # One of them is right about what it names, but for the rest: it is buried again, with what is right.
    first = "[redacted]" if attack is say_something_else_of_the_rest else "Message 1"
    assert [events[position].data["text"] for position in (4, 5, 6)] == [first, "[redacted]", "[redacted]"]


def test_a_redaction_that_is_malformed_takes_nothing_out_of_sight(place: Path) -> None:
    tamper(place, give_no_digest)
    with Workspace(place) as ws:
        (event,) = ws.log(after=3, limit=1)
    assert event.data["text"] == "Message 1"


# What was redacted by a person


EDITS: dict[str, dict[str, Any]] = {
    "to whom it goes": {"to": ["Eve"]},
    "its text": {"text": "FORGED"},
    "a field that it never had": {"role": "owner"},
}


@pytest.mark.parametrize("fields", EDITS.values(), ids=EDITS)
def test_what_is_left_of_an_erased_event_cannot_be_changed(place: Path, fields: dict[str, Any]) -> None:
    with Workspace(place) as ws:
        ws.redact("4", erase=True)
    tamper(place, lambda db: change(db, 4, **fields))
    assert any("position 4 is not genuine" in problem for problem in problems(place))


@pytest.mark.parametrize("fields", EDITS.values(), ids=EDITS)
def test_an_event_that_was_only_redacted_cannot_be_changed_under_the_mark(place: Path, fields: dict[str, Any]) -> None:
    with Workspace(place) as ws:
        ws.redact("4")

    def attack(db: apsw.Connection) -> None:
        mark = db.execute("SELECT data ->> 'digest' FROM event WHERE stream = 'redactions'").get
        change(db, 4, redacted=mark, **fields)

    tamper(place, attack)
    assert any("position 4 is not genuine" in problem for problem in problems(place))


def test_spaces_in_the_row_of_an_erased_event_are_found(place: Path) -> None:
    with Workspace(place) as ws:
        ws.redact("4", erase=True)
    tamper(place, lambda db: db.execute("UPDATE event SET data = replace(data, '{', '{ ') WHERE position = 4"))
    assert any("position 4 was changed" in problem for problem in problems(place))


@pytest.mark.parametrize("erased", [(True, True), (True, False), (False, True), (False, False)])
def test_two_redactions_of_one_event_stay_clean_wherever_they_go(
    place: Path, tmp_path: Path, erased: tuple[bool, bool]
) -> None:
    with Workspace(place) as ws:
        ws.emit("build:finished", data={"summary": "secret one", "detail": "secret two", "code": 3})
        head = ws.log(after=0, limit=500)[-1].position
        ws.backup(str(tmp_path / "before.db"))
        for field, erase in zip(("summary", "detail"), erased, strict=True):
            ws.redact(str(head), field=[field], erase=erase)
        ws.export(str(place / "z.jsonl"))
        ws.backup(str(tmp_path / "after.db"))
    assert problems(place) == []
    lines = [json.loads(line) for line in (place / "z.jsonl").read_text().splitlines()]
    assert imported(place, tmp_path, lines) is None
    for name in ("after.db", "before.db"):
        Workspace.restore(tmp_path / name, place, force=True)
        assert problems(place) == [], name
        with Workspace(place) as ws:
            (event,) = ws.log(after=head - 1, limit=1)
        assert (event.data["summary"], event.data["detail"], event.data["code"]) == ("[redacted]", "[redacted]", 3)


# Files that are imported


@pytest.fixture
def lines(place: Path) -> list[dict[str, Any]]:
    with Workspace(place) as ws:
        ws.export(str(place / "x.jsonl"))
    return [json.loads(line) for line in (place / "x.jsonl").read_text().splitlines()]


def tombstone(lines: list[dict[str, Any]], named: int, **said: Any) -> dict[str, Any]:
    """One more line, that takes the text of another out of sight."""
    about, last = lines[named - 1], lines[-1]["mootposition"]
    commit = "01m7nfs550xms3zhf7jbvjvk99"
    line = {**about, "type": "event:redacted", "subject": "redactions", "mootposition": last + 1, "mootprev": 0}
    line |= {"mootcommit": commit, "id": f"{commit}.0", "mootn": 0, "mootof": 1, "mootby": "person:x"}
    for name in ("mootdigest", "mootthread", "mootcause", "mootpack"):
        line.pop(name, None)
    data = {"position": named, "commit": about["mootcommit"], "n": about["mootn"], "fields": ["text"]}
    return {**line, "data": {**data, "digest": redaction.digest_of(about["data"]), **said}}


def test_the_mark_of_a_redaction_does_not_switch_the_digest_off(place: Path, tmp_path: Path, lines: Any) -> None:
    lines[3]["data"] |= {"text": "FORGED", "redacted": NOBODY}
    error = imported(place, tmp_path, lines)
    assert error is not None
    assert (error.code, error.details["line"]) == ("digest_mismatch", 4)


def test_nor_does_a_redaction_that_leaves_the_text(place: Path, tmp_path: Path, lines: Any) -> None:
    lines[3]["data"] |= {"text": "FORGED", "redacted": NOBODY}
    error = imported(place, tmp_path, [*lines, tombstone(lines, 4, digest=NOBODY)])
    assert error is not None
    assert (error.code, error.details["line"]) == ("digest_mismatch", 4)


def test_nor_does_a_redaction_that_is_promised_and_cannot_come(place: Path, tmp_path: Path, lines: Any) -> None:
    lines[3]["data"] |= {"to": ["Eve"], "text": "[redacted]", "redacted": NOBODY}
    stone = tombstone(lines, 4, digest=NOBODY)
    error = imported(place, tmp_path, [*lines[:5], {"specversion": "none"}, *lines[5:], stone])
    assert error is not None
    assert (error.code, error.details["imported"]) == ("bad_import", 3)
    assert problems(tmp_path / "there") == []


@pytest.mark.parametrize(
    "said",
    [
        {"digest": "b" * 64},
        {"digest": "short"},
        {"fields": []},
        {"fields": ["to"]},
        {"fields": ["note"]},
        {"rest": "x"},
    ],
    ids=str,
)
def test_a_redaction_that_contradicts_what_it_names_is_not_imported(
    place: Path, tmp_path: Path, lines: Any, said: dict[str, Any]
) -> None:
    error = imported(place, tmp_path, [*lines, tombstone(lines, 4, **said)])
    assert error is not None
    assert (error.code, error.details["line"]) == ("bad_import", len(lines) + 1)
    assert problems(tmp_path / "there") == []


def test_a_redaction_of_an_earlier_version_is_imported(place: Path, tmp_path: Path, lines: Any) -> None:
    """It says nothing about the rest."""
    assert imported(place, tmp_path, [*lines, tombstone(lines, 4)]) is None


def test_a_way_of_two_lines_is_not_imported(place: Path, tmp_path: Path, lines: Any) -> None:
    """A backup of it could never be restored."""
    lines[3]["mootvia"] = "x\ny"
    error = imported(place, tmp_path, lines)
    assert error is not None
    assert (error.code, error.details["line"]) == ("bad_import", 4)


# Beside the events


SPANS = ["first = 1000, last = 1000", "first = -5, last = -7", "first = 3, last = 5", "last = last + 1", "first = 0"]


@pytest.mark.parametrize("span", SPANS)
def test_a_key_that_leads_elsewhere_is_found_and_not_restored(place: Path, tmp_path: Path, span: str) -> None:
    with Workspace(place, agent="Ada") as ada:
        ada.send("Bob", "Once", key="k")
    assert problems(place) == []
    tamper(place, lambda db: db.execute(f"UPDATE request SET {span}"))
    assert any("the key 'k' of 'Ada'" in problem for problem in problems(place))
    copy(place, tmp_path / "evil.db")
    with pytest.raises(MootError) as caught:
        Workspace.restore(tmp_path / "evil.db", place, force=True)
    assert caught.value.code == "no_backup"


def test_a_second_key_for_one_commit_is_found(place: Path) -> None:
    with Workspace(place, agent="Ada") as ada:
        ada.send("Bob", "Once", key="k")
    tamper(place, lambda db: db.execute("INSERT INTO request SELECT scope, 'k2', digest, first, last FROM request"))
    assert problems(place)
