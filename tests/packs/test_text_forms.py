"""A pack that agents speak in lines of text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from moot import Workspace
from moot.core.errors import Refused
from tests.packs.conftest import repository, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACK = """
name = "flow"
title = "A flow of migrations"
[roles.db]
does = "Hands out numbers."
delivery = "one"
[messages.REQUEST_MIGRATION]
to = "db"
schema = "request.json"
stamp = "at"
text = "REQUEST_MIGRATION #{issue:int} tables:[{tables:names}]"
[messages.MIGRATION]
from = "db"
to = "@all"
text = "MIGRATION {number:int} {why:text}"
[mirrors.requests]
path = ".flow/requests.json"
form = "entries"
fields = { entries = "requests" }
mailbox = "@db"
types = ["REQUEST_MIGRATION"]
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "type": {},
        "at": {"type": "string"},
        "issue": {"type": "integer", "minimum": 1},
        "tables": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "note": {"type": "string"},
    },
    "required": ["issue", "tables", "at"],
}
TEXT = "REQUEST_MIGRATION #50 tables:[users, teams]"


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[tuple[Workspace, Workspace]]:
    root = repository(tmp_path / "repo")
    (root / "flow").mkdir()
    (root / "flow" / "pack.toml").write_text(PACK)
    (root / "flow" / "request.json").write_text(json.dumps(SCHEMA))
    settings(root, 'packs = ["flow"]\n\n[pack.flow]\npath = "flow"\n')
    Workspace.init(root).close()
    with Workspace(root) as ada, Workspace(root) as dan:
        ada.join("Ada")
        dan.join("Dan", role="db")
        yield ada, dan


def test_a_day_of_lines(crew: tuple[Workspace, Workspace]) -> None:
    ada, dan = crew
    for to, text in (("@db", TEXT), ((), TEXT.replace("#", "")), ("@db", f"  {TEXT}\n")):
        assert ada.send(to, text).to == ("@db",)
    ada.send("Dan", "Request for a chat.")
    with pytest.raises(Refused) as near:
        ada.send("@db", "REQUEST_MIGRATION #50 table:[users]")
    assert (near.value.code, near.value.details["position"]) == ("not_the_text_form", 27)
    assert "tables:[{tables:names}]" in near.value.remedy
    with pytest.raises(Refused) as defects:
        ada.send("@db", "REQUEST_MIGRATION #0 tables:[]")
    assert [defect["path"] for defect in defects.value.details["defects"]] == ["issue", "tables"]
    with pytest.raises(Refused) as elsewhere:
        ada.send("Dan", TEXT)
    assert elsewhere.value.code == "wrong_mailbox"
    with pytest.raises(Refused):
        ada.send((), "MIGRATION 7 users")  # only the role may

    mail = dan.inbox().new
    assert [(letter.type, letter.text) for letter in mail] == [
        *[("REQUEST_MIGRATION", TEXT)] * 3, ("note", "Request for a chat.")
    ]  # fmt: skip
    assert mail[0].data is not None
    assert (mail[0].data["issue"], mail[0].data["tables"]) == (50, ["users", "teams"])
    dan.send((), "MIGRATION #7 users, then teams")
    (answer,) = ada.inbox().new
    assert (answer.text, answer.data) == (
        "MIGRATION 7 users, then teams", {"type": "MIGRATION", "number": 7, "why": "users, then teams"}
    )  # fmt: skip


def test_a_field_is_redacted_in_the_text_form_too(crew: tuple[Workspace, Workspace], tmp_path: Path) -> None:
    ada, dan = crew
    dan.send((), "MIGRATION 7 the password is hunter2")
    (sent,) = ada.inbox().new
    with Workspace(tmp_path / "repo", person=True) as person:
        person.redact(sent.id, field="data.why", reason="a password")
        assert "hunter2" not in str(person.thread(sent.id))


def test_lines_and_files_say_the_same(crew: tuple[Workspace, Workspace], tmp_path: Path) -> None:
    ada, dan = crew
    ada.send((), TEXT)
    path = tmp_path / "repo" / ".flow" / "requests.json"
    entry = json.loads(path.read_text())["requests"][0]
    assert entry["issue"] == 50
    more = {**entry, "issue": 51, "note": "soon"}
    path.write_text(json.dumps({"requests": [entry, {**entry, "issue": 52}, more]}))
    assert [letter.text for letter in dan.inbox().new] == [TEXT, TEXT.replace("50", "52"), ""]
    assert dan.brief("db").text.count("As text: `REQUEST_MIGRATION") == 1
