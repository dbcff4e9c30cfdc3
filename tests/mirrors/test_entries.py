"""The form `entries` in a pack that exists in this file only: other names, numbers, no tasks, types without a file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from moot.api.protocol import MessageType, MirrorSpec, Pack, Packs, Protocol, Role
from moot.mirrors.forms import form_of
from moot.mirrors.sync import FileMirrors
from moot.views import queries
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON

TEXT = {"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}, "required": ["text"]}
ROLES = (Role(name="scout", delivery="one", also=("person",)), Role(name="base", delivery="one"))


def kind(name: str) -> MessageType:
    return MessageType(
        name=name, pack="fieldnotes", senders=("scout",), also=("person",), to=("base",), schema=TEXT, wants="ack"
    )


def mirror(**fields: str) -> MirrorSpec:
    return MirrorSpec(
        name="radio",
        pack="fieldnotes",
        path="radio.json",
        form="entries",
        mailbox="@base",
        types=("sighting", "sound"),
        emptied="restore",
        fields=fields,
    )


class Place:
    """A workspace with this pack and one file."""

    def __init__(self, root: Path, spec: MirrorSpec) -> None:
        subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=30)
        Admin(str(root), AS_A_PERSON).create(())
        types = (kind("sighting"), kind("sound"), kind("aside"))
        pack = Pack(name="fieldnotes", title="Field notes", roles=ROLES, messages=types, mirrors=(spec,))
        packs = Packs([pack], lambda _name: Protocol(pack))
        first = open_call(str(root), AS_A_PERSON)
        self.workspace, self.path = first.workspace, root / "radio.json"
        self.workspace.setup = self.workspace.setup.replace(packs=packs, mirrors=FileMirrors(packs))
        first.close()
        self.call = self.workspace.call(first.caller)
        self.sync()

    def sync(self) -> list[str]:
        return [notice.code for notice in self.call.mirrors.sync(self.call)]

    def write(self, content: object) -> list[str]:
        self.path.write_text(json.dumps(content))
        return self.sync()

    @property
    def shown(self) -> Any:
        return json.loads(self.path.read_text())

    @property
    def said(self) -> list[str]:
        sent = [event.data for event in self.call.engine.log.read(0, 1000) if event.type == "message:sent"]
        return [data["data"]["text"] for data in sent if data["kind"] != "note"]


@pytest.fixture
def place(tmp_path):
    places = []

    def make(**fields: str) -> Place:
        places.append(Place(tmp_path, mirror(**fields)))
        return places[-1]

    yield make
    for made in places:
        made.call.close()
        made.workspace.close()


def sighting(text: str, **more: object) -> dict[str, object]:
    return {"type": "sighting", "text": text, **more}


def test_a_file_can_be_a_plain_list(place):
    here = place()
    assert here.shown == []
    assert here.write([sighting("a fox"), sighting("a fox"), {"type": "sound", "text": "an owl"}]) == []
    assert here.said == ["a fox", "a fox", "an owl"]
    here.write([sighting("a hare")])
    assert [entry["text"] for entry in here.shown] == ["a fox", "a fox", "an owl", "a hare"]


def test_equal_entries_that_do_not_fit_into_one_commit_are_taken_once_each(place, monkeypatch):
    monkeypatch.setattr("moot.engine.unit_of_work._EVENT_LIMIT", 2)
    here = place()
    here.write([sighting("a fox")] * 5)
    assert here.said == ["a fox"] * 5
    assert [entry["text"] for entry in here.shown] == ["a fox"] * 5


def test_a_pack_names_the_type_and_the_list_as_it_likes(place):
    here = place(entries="calls", type="what")
    assert here.shown == {"calls": []}
    assert here.write({"calls": [{"what": "sound", "text": "an owl"}, {"type": "sound", "text": "a"}]}) == [
        "entry_held"
    ]
    assert here.shown == {"calls": [{"what": "sound", "text": "an owl"}]}
    here.write(here.shown)
    assert here.said == ["an owl"]


def test_an_emptied_list_is_written_again_where_the_mirror_says_so(place):
    here = place()
    here.write([sighting("a fox")])
    assert here.write([]) == []
    assert [entry["text"] for entry in here.shown] == ["a fox"]
    here.path.write_bytes(b"")
    assert here.sync() == []
    assert [entry["text"] for entry in here.shown] == ["a fox"]


# Numbers


def numbered(here: Place) -> list[tuple[int, str]]:
    return [(entry["id"], entry["text"]) for entry in here.shown]


def test_entries_get_numbers_and_keep_them(place):
    here = place(number="id")
    here.write([sighting("a fox"), sighting("a hare")])
    assert numbered(here) == [(1, "a fox"), (2, "a hare")]
    here.write(here.shown)
    here.write([sighting("a hare", id=2), sighting("an owl", id=3)])
    assert here.said == ["a fox", "a hare", "an owl"]
    assert numbered(here) == [(1, "a fox"), (2, "a hare"), (3, "an owl")]


def test_an_entry_written_back_before_it_had_a_number_is_not_new(place):
    """A filled-in field: the entry is known as it was received, and as it is rendered."""
    here = place(number="id")
    here.write([sighting("a fox")])
    here.write([sighting("a fox"), sighting("a hare")])
    assert here.said == ["a fox", "a hare"]


def test_the_same_said_again_is_new_beside_the_numbered_one(place):
    here = place(number="id")
    here.write([sighting("a fox")])
    here.write([sighting("a fox", id=1), sighting("a fox")])
    assert numbered(here) == [(1, "a fox"), (2, "a fox")]


def test_a_number_that_is_taken_by_another_content_is_given_anew(place):
    here = place(number="id")
    here.write([sighting("a fox"), sighting("a hare")])
    here.write([sighting("an owl", id=1), sighting("a rat", id=77), sighting("a bat", id=True)])
    assert numbered(here) == [(1, "a fox"), (2, "a hare"), (3, "an owl"), (4, "a rat"), (5, "a bat")]


# Which messages belong to a file


def test_whether_a_message_belongs_to_a_file_is_in_its_event(place):
    here = place()
    for what in ("sighting", "aside"):
        here.call.run("send", {"type": what, "data": {"text": what}})
    events = [event.data for event in here.call.engine.log.read(0, 100) if event.type == "message:sent"]
    assert [(data["kind"], data.get("mirror", "")) for data in events] == [("sighting", "radio"), ("aside", "")]
    assert [entry["text"] for entry in here.shown] == ["sighting"]
    store = here.call.engine.read()
    assert [d.message.kind for d in queries.shown_in_file(store, "@base", ("sighting", "aside"))] == ["sighting"]


def test_the_defects_of_a_file_are_told_without_storing_anything(place):
    here = place(entries="calls")
    form = form_of(here.call.packs.mirrors[0], here.call.packs)
    assert form.vet(b'{"calls": []}') == []
    content = {"calls": [sighting("a"), sighting(""), {"type": "smell"}, {"type": "aside", "text": "x"}]}
    assert [defect.path for defect in form.vet(json.dumps(content).encode())] == [
        "calls[1].text",
        "calls[2].type",
        "calls[3].type",
    ]
    assert [defect.found for defect in form.vet(b"[]")] == ['the file is not an object with the list "calls"']
    assert here.said == []
