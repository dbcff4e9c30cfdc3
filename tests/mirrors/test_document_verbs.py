"""The verbs `doc …`: where documents and files differ, and how one leads to the other again."""

from __future__ import annotations

import os

import pytest

from moot.core.deciders.document import ShowDocument
from moot.core.errors import Held, Refused, Unknown, Usage
from tests.mirrors.test_yaml_documents import FIRST, Place


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.close()


def run(place, verb, **given):
    return place.call.run(verb, given)


def test_the_list_names_every_document_with_its_file_and_its_state(place):
    assert run(place, "doc list").say == ("There are no documents.",)
    names = [place.begin(subject) for subject in ("b", "bad", "gone")]
    hidden = place.begin("first", "tmp/metadata/metadata_both.yml", {"/n": 1})
    shown = place.begin("second", "tmp/metadata/metadata_both.yml", {"/n": 2})
    place.end_runs()
    place.path("bad").write_text("a: [\n")
    os.utime(place.path("bad"), (0, 0))
    place.path("gone").unlink()
    listed = {one.id: one for one in run(place, "doc list").result}
    states = {name: listed[name].state for name in (*names, hidden, shown)}
    assert list(states.values()) == ["in sync", "unreadable", "missing", "not shown", "in sync"]
    assert listed[names[1]].problem == "a value is missing (line 2, column 1)"
    assert listed[names[0]].path == str(place.path("b"))


def test_a_document_is_found_by_its_id_its_subject_or_its_path_and_shown_as_in_its_file(place):
    name = place.begin("a.process", "tmp/metadata/metadata_a.yml")
    for given in (name, "a.process", "tmp/metadata/metadata_a.yml", "metadata_a.yml"):
        shown = run(place, "doc show", id=given).result
        assert shown.id == name
        assert shown.text == place.path().read_text()
        assert shown.leaves == FIRST
    place.begin("a.refund", "tmp/metadata/metadata_a.yml")
    with pytest.raises(Usage, match="can mean 2 documents"):
        run(place, "doc show", id="metadata_a.yml")
    with pytest.raises(Unknown, match="There is no document") as caught:
        run(place, "doc show", id="a.proces")
    assert "moot doc list" in caught.value.remedy


def test_the_difference_between_log_and_file_is_shown_before_it_is_taken(place):
    name = place.begin()
    assert run(place, "doc diff", id=name).say == ("No difference.",)
    text = place.path().read_text()
    place.path().write_text(text.replace("extra: kept", "extra: edited") + "more: [1]\n")
    assert run(place, "doc diff", id=name).say == (
        "--- log",
        f"+++ {place.path()}",
        '- /extra: "kept"',
        '+ /extra: "edited"',
        "+ /more: [1]",
    )
    assert place.types() == ["opened"]


def test_two_versions_in_the_log_are_compared(place):
    name = place.begin()
    before = place.call.engine.log.head()
    place.change(name, extra="second")
    between = place.call.engine.log.head()
    place.change(name, extra="third", states=["on"])
    found = run(place, "doc diff", id=name, from_=before, to=between).result
    assert [(leaf.pointer, leaf.one, leaf.other) for leaf in found.leaves] == [("/extra", "kept", "second")]
    assert [leaf.pointer for leaf in run(place, "doc diff", id=name, from_=between).result.leaves] == [
        "/extra",
        "/states",
    ]
    with pytest.raises(Unknown, match="did not exist at position 0"):
        run(place, "doc diff", id=name, from_=0)
    with pytest.raises(Usage, match="--to requires --from"):
        run(place, "doc diff", id=name, to=between)


@pytest.mark.proves("S2-HARD-08")
@pytest.mark.proves("S1-HARD-09")
def test_a_broken_file_is_written_again_on_request_and_its_bytes_are_kept(place):
    name = place.begin()
    good = place.text()
    place.path().write_text("broken: [\n")
    with pytest.raises(Refused, match=r"cannot be read: .* \(line 2, column 1\)") as caught:
        run(place, "doc diff", id=name)
    assert "doc restore" in caught.value.remedy
    done = run(place, "doc restore", id=name).result
    assert done.paths == (str(place.path()),)
    assert place.text() == good
    held = [event.data for event in place.call.engine.log.read(0, 100) if event.stream.startswith("entry/")]
    assert place.call.blob(held[0]["sha256"]) == b"broken: [\n"
    assert "restored" in place.types()


def test_an_edit_in_the_file_survives_a_restore(place):
    name = place.begin()
    place.path().write_text(place.path().read_text() + "note: mine\n")
    run(place, "doc restore", id=name)
    assert place.shown()["note"] == "mine"


def test_a_reset_document_comes_back_with_an_earlier_position(place):
    name = place.begin()
    good, position = place.text(), place.call.engine.log.head()
    run(place, "doc reset", id=name, reason="start again")
    assert place.leaves(name) == {}
    assert place.text() == "{}\n"
    run(place, "doc restore", id=name, to=position)
    assert place.text() == good
    place.path().unlink()
    place.sync()
    assert place.leaves(name) == {}
    run(place, "doc restore", id=name, to=position)
    assert place.text() == good


def test_a_document_that_its_file_does_not_show_cannot_be_compared_with_it(place):
    one = place.begin("one", "tmp/metadata/metadata_both.yml", {"/n": 1})
    place.begin("two", "tmp/metadata/metadata_both.yml", {"/n": 2})
    place.end_runs()
    with pytest.raises(Refused, match="has no file now"):
        run(place, "doc restore", id=one)
    place.commit(one, ShowDocument())
    assert run(place, "doc diff", id=one).say == ("No difference.",)


def test_a_stage_that_works_on_a_document_is_not_disturbed(place):
    name = place.begin()
    position = place.call.engine.log.head()
    place.open_run(name, "review")
    for verb, given in (("doc reset", {"reason": "now"}), ("doc restore", {"to": position})):
        with pytest.raises(Held, match="The stage review of run-2 is working on"):
            run(place, verb, id=name, **given)
    assert run(place, "doc restore", id=name).result.paths == (str(place.path()),)
